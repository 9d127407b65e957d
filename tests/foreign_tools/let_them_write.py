"""Runner of every tool that writes files, each family in its own environment: the target `make foreign-tools`.

A tool that cannot be installed or run here is named, and the others go on.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TOOLS = (
    "caret", "h2o", "helm", "lighteval", "lightgbm", "lm-evaluation-harness", "mlflow", "scikit-learn", "transformers",
    "uqlm", "wandb", "weka", "xgboost",
)  # fmt: skip
"""Folders that exist when all tools have written."""


@dataclass(frozen=True)
class Environment:
    """Packages, and the modules that run with them.

    ``alone``: packages without their dependencies, of which we use a part that does not need them; ``program``: further
    requirements, such as Java.
    """

    packages: Sequence[str]
    writers: Sequence[Sequence[str]]
    alone: Sequence[str] = ()
    program: str = ""


ENVIRONMENTS = {
    "tables": Environment(
        ["scikit-learn", "lightgbm", "xgboost", "pandas", "pillow", "mlflow", "wandb"],
        [["boosted", "scikit"], ["boosted", "lightgbm"], ["boosted", "xgboost"], ["tracked", "mlflow"],
         ["tracked", "wandb"]],
    ),
    "java": Environment(["h2o", "pandas"], [["boosted", "h2o"]], program="java"),
    "weka": Environment(["numpy"], [["weka"]], alone=["python-weka-wrapper3"], program="java"),
    "r": Environment(["numpy"], [["caret"]], program="Rscript"),
    # lighteval 0.13 passes texts to xxhash, which only takes bytes from version 4 on.
    "models": Environment(
        ["torch", "transformers", "accelerate", "lm_eval", "lighteval", "xxhash<4"],
        [["transformers"], ["lm_eval"], ["lighteval"]],
    ),
    "serialisers": Environment(
        ["cattrs", "dacite", "numpy", "pandas", "filelock", "scipy", "nltk", "sqlitedict", "zstandard", "pyhocon",
         "retrying", "pyyaml", "colorlog", "mako"],
        [["of_dataclasses", "helm"], ["of_dataclasses", "uqlm"]],
        alone=["crfm-helm", "uqlm"],
    ),
}  # fmt: skip


def main(folder: str, environments: str, *names: str) -> None:
    """Write files to ``folder``, with all environments or the named ones, in paths that begin with ``environments``."""
    if not names:
        shutil.rmtree(folder, ignore_errors=True)
    for name in names or ENVIRONMENTS:
        environment = ENVIRONMENTS[name]
        if environment.program and shutil.which(environment.program) is None:
            say(f"{name}: {environment.program} is not installed")
            continue
        python = Path(f"{environments}-{name}").resolve() / "bin" / "python"
        try:
            _install(python, environment)
        except subprocess.CalledProcessError as e:
            say(f"{name}: not installed ({e})")
            continue
        for writer, *which in environment.writers:
            command = [str(python), "-W", "ignore", "-m", f"tests.foreign_tools.writes_{writer}", folder, *which]
            log = Path(folder, f"{'_'.join([writer, *which])}.log")
            log.parent.mkdir(parents=True, exist_ok=True)
            try:
                with log.open("w") as out:
                    subprocess.run(command, check=True, stdout=out, stderr=out, timeout=900, env=_variables())
                say(f"{' '.join([writer, *which])}: wrote")
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
                say(f"{' '.join([writer, *which])}: did not write, see {log}")


def say(words: str) -> None:
    print(words, flush=True)  # noqa: T201


def _install(python: Path, environment: Environment) -> None:
    if not python.exists():
        venv.create(python.parent.parent, with_pip=True)
    pip = [str(python), "-m", "pip", "install", "-q"]
    subprocess.run([*pip, *environment.packages], check=True)
    if environment.alone:
        subprocess.run([*pip, "--no-deps", *environment.alone], check=True)


def _variables() -> dict[str, str]:
    """Return variables that forbid downloads by tools, and set one thread for BLAS."""
    return {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


if __name__ == "__main__":
    main(*sys.argv[1:])
