"""Oldest dependencies that pyproject.toml declares, one `name==version` per word: the input of `make oldest`."""

import re
import sys
import tomllib
from pathlib import Path

EXTRAS = ("parquet", "onnx")
TOOLS = {"pytest", "pytest-timeout", "hypothesis"}
"""Packages that run the unit tests; these do not need the rest of the extra `dev`."""


def oldest(text: str) -> list[str]:
    """Return every lower bound as the version itself; refuse a dependency without one."""
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *(name for extra in EXTRAS for name in extras[extra])]
    needed += [name for name in extras["dev"] if name.partition(">")[0] in TOOLS]
    bounds = [re.match(r"([\w-]+)>=([\w.]+)", name) for name in needed]
    if not all(bounds):
        raise SystemExit(f"no lower bound in one of {needed}")
    return ["==".join(bound.groups()) for bound in bounds if bound]


if __name__ == "__main__":
    pyproject = Path(__file__).parents[1] / "pyproject.toml"
    sys.stdout.write(" ".join(oldest(pyproject.read_text(encoding="utf-8"))) + "\n")
