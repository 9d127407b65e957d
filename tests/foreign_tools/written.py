"""Files written by a tool, and their reported content: truth.json next to the files. Each tool's own Python runs it."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


class Written:
    """Folder of one tool's files.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tool = Written(folder, "scales", "1.0")
    ...     _ = tool.path("p.csv").write_text("p,y")
    ...     tool.has("p.csv", probs=[[0.5, 0.5]], labels=[1])
    ...     json.loads((Path(folder) / "scales" / "truth.json").read_text())["files"]
    [{'file': 'p.csv', 'shape': '', 'probs': [[0.5, 0.5]], 'labels': [1]}]
    """

    def __init__(self, folder: str | Path, tool: str, version: str) -> None:
        self.folder = Path(folder) / tool
        self.folder.mkdir(parents=True, exist_ok=True)
        self.tool, self.version = tool, version
        self._files: list[dict[str, Any]] = []

    def path(self, name: str) -> Path:
        """Return the path of a file of this name."""
        return self.folder / name

    def has(self, name: str, shape: str = "", **truth: Any) -> None:
        """Record a file's content, in the terms of `test_what_tools_wrote.Truth`; ``kept``: for the repository."""
        self._files.append({"file": name, "shape": shape, **plain(truth)})
        truths = {"tool": self.tool, "version": self.version, "files": self._files}
        self.path("truth.json").write_text(json.dumps(truths) + "\n")


def keep(folder: Path, kept: Path) -> None:
    """Copy the files to be stored, none larger than 10 kB, with their content record."""
    for path in sorted(folder.glob("*/truth.json")):
        truths = json.loads(path.read_text())
        truths["files"] = [each for each in truths["files"] if each.pop("kept", False)]
        if not truths["files"]:
            continue
        there = kept / path.parent.name
        shutil.rmtree(there, ignore_errors=True)
        there.mkdir(parents=True)
        for name in {each[key] for each in truths["files"] for key in ("file", "labels_file") if key in each}:
            if (size := (path.parent / name).stat().st_size) > 10_000:
                raise ValueError(f"{path.parent.name}/{name} has {size:,} bytes: write fewer rows")
            shutil.copy(path.parent / name, there)
        (there / "truth.json").write_text(json.dumps(truths) + "\n")


def plain(value: Any) -> Any:
    """Return a value as JSON has it, arrays as lists."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def drawn(n: int = 40, k: int = 3, seed: int = 7) -> tuple[np.ndarray, np.ndarray]:
    """Return two features and classes that depend on them, for training."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    return rng.normal(labels[:, None], 1.0, (n, 2)).round(3), labels


if __name__ == "__main__":
    keep(*map(Path, sys.argv[1:]))
