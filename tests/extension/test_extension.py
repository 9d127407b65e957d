"""A method is one file and one import line: the documented examples, as a package, obey every law and are used."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FILES = sorted((HERE / "files").glob("*.py"))
PAGE = (ROOT / "docs/how-to/add-a-method.md").read_text(encoding="utf-8")

NAMES = {
    "towards-shares": "",
    "in-the-large": "not exhibits",  # an exhibit of this key is the project's own
    "alving": "",
    "runner-up": "",
    # Files of three classes and summaries of them take most of the time: the law looks at two others.
    "Sure and wrong": "not synthetic-three-class and not summaries",
}
"""Names of the examples in tests over the registries; the format is no method and has a law in `in_use.py`."""
SELECTED = " or ".join(f"({' and '.join(filter(None, (name, but)))})" for name, but in NAMES.items())


def install(folder: Path) -> None:
    """Write the examples to this folder as a package, with one import line each."""
    (folder / "scratch_calib").mkdir()
    for file in FILES:
        (folder / "scratch_calib" / file.name).write_bytes(file.read_bytes())
    lines = "".join(f"from scratch_calib import {file.stem}\n" for file in FILES)
    (folder / "scratch_calib" / "__init__.py").write_text(lines, encoding="utf-8")
    about = folder / "scratch_calib-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: scratch-calib\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text("[calib.extensions]\nscratch = scratch_calib\n", encoding="utf-8")


def written(package: Path) -> list[str]:
    """Return pytest's output for the laws and `in_use.py`, with the package imported before collection."""
    path = os.pathsep.join([str(package), str(ROOT), os.environ.get("PYTHONPATH", "")])
    words = ["tests/laws", "tests/extension/in_use.py", "-k", f"{SELECTED} or in_use.py"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:randomly", "-p", "no:xdist", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "CALIB_EXTENSION": "scratch_calib"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    return run.stdout.splitlines()


@pytest.mark.wide
def test_every_law_holds_and_the_app_the_commands_and_the_readers_take_them(tmp_path: Path) -> None:
    """One test, because two workers would each run all laws for one of two."""
    install(tmp_path)
    lines = written(tmp_path)
    passed = [line for line in lines if "PASSED" in line and "tests/laws/" in line]
    for name in NAMES:
        assert sum(name in line for line in passed) >= 2, f"no law looked at {name}"
    in_use = [line for line in lines if "extension/in_use.py" in line]
    assert len(in_use) > 20
    assert all("PASSED" in line for line in in_use), in_use


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_page_shows_the_very_files(file: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert file.read_text(encoding="utf-8") in blocks
