"""Results that come with the package: the held-back experiments of `make arena`, on which no method was tuned."""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
import pandas as pd

from calib_core._base.atomic_files import write_whole
from calib_core.arena.result_files import results_in
from calib_core.predictions.predictions import InputError
from calib_core.readers import read_table

BENCHMARKS = ("binary", "multiclass")
"""Groups of experiments: two classes, and more."""
FOLDER = Path(__file__).with_name("kept")
_NAMES = ("dataset", "model", "method")
_SIZES = ("cal_size", "test_size", "n_classes")
_DIGITS = {"brier": 10, "accuracy": 10, "log_loss_error": 4, "fit_seconds": 4, "apply_seconds": 4}
"""Significant digits that are stored; log losses have all, because a tie depends on the last."""


def project_results(benchmark: str) -> pd.DataFrame:
    """Return the results of this project's held-back experiments, one line per experiment and method.

    ``benchmark`` is "binary" or "multiclass". The columns are those that ``table`` and ``mean_ranks`` read. No default
    of this package was chosen on these experiments. Raises InputError for another name.

    What can mislead: seconds are those of one machine. Many data sets are simulated, so other collections can rank the
    methods differently.

    >>> found = project_results("binary")
    >>> found["n_classes"].unique().tolist(), "identity" in set(found["method"])
    ([2], True)
    """
    if benchmark not in BENCHMARKS:
        raise InputError(f"benchmark is {benchmark!r:.80}; it must be one of {', '.join(BENCHMARKS)}")
    lines = read_table(lzma.decompress(_path(FOLDER, benchmark).read_bytes()), f"{benchmark}.csv")
    names = {name: list(map(str, lines.column(name).tolist())) for name in _NAMES}
    sizes = {name: lines.numeric(name).astype(np.intp) for name in _SIZES}
    scores = {name: lines.numeric(name) for name in ("log_loss", *_DIGITS)}
    return pd.DataFrame(names | sizes | scores)


def write_project_results(results: Path, *, folder: Path = FOLDER) -> None:
    """Store the results of a finished run, whose folder ``results`` has a folder of CSV files per benchmark."""
    for benchmark in BENCHMARKS:
        lines = results_in(results / benchmark)
        short = {name: [float(f"{value:.{digits}g}") for value in lines[name]] for name, digits in _DIGITS.items()}
        text = lines.assign(**short)[[*_NAMES, *_SIZES, "log_loss", *_DIGITS]].to_csv(index=False)
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(_path(folder, benchmark), lzma.compress(text.encode(), preset=9))


def _path(folder: Path, benchmark: str) -> Path:
    return folder / f"{benchmark}.csv.xz"
