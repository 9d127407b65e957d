"""Methods fitted and evaluated on repeated splits of many files, with one file in memory and resumable results."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from calib_core._base import parallel
from calib_core._base.atomic_files import write_whole
from calib_core._base.errors import InputError
from calib_core._base.sklearn_api import clone
from calib_core.calibrators.base import CALIBRATORS, Calibrator
from calib_core.defaults import SEED
from calib_core.evaluation.study import Counting, over_same_rows
from calib_core.papers.tables.published import Method, PaperTable, as_method, as_paper_table
from calib_core.papers.tables.shapes import MethodTable, MethodTrial, TableMeasure, as_measure, method_table
from calib_core.predictions.predictions import Predictions
from calib_core.registry.registry import Recipe


class Cell(NamedTuple):
    """Number of one method on one split (NaN with a reason in the note), and the share of rows it answers."""

    calibrator: str
    measure: str
    value: float
    rows: int
    answered: float
    note: str


def content(predictions: Predictions) -> str:
    """Hash of all parts of predictions on which a fit or an error can depend."""
    whole = predictions.kind in ("full", "per-class")
    top = (predictions.confidence, None if predictions.kind == "confidence" else predictions.predicted)
    parts = (
        *((predictions.probs,) if whole else top),
        predictions.correct,
        predictions.labels,
        None if predictions.logits is None else predictions.logits.array(),
        predictions.weights,
        predictions.groups,
        predictions.abstained,
    )
    digest = hashlib.sha256(repr((predictions.kind, predictions.class_names, predictions.discrete)).encode())
    for part in parts:
        # The shape is included: the same bytes in other rows are different predictions.
        digest.update(b"-" if part is None else f"{part.dtype}{part.shape}".encode())
        digest.update(b"" if part is None else np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def key(*recipe: Any) -> str:
    """Name of a result: the hash of its inputs and of the versions of the code."""
    versions = [_version(name) for name in ("calib", "numpy", "scipy", "scikit-learn", "pandas")]
    return hashlib.sha256(repr((recipe, versions)).encode()).hexdigest()[:40]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "a checkout"


def read(path: Path, wanted: Sequence[tuple[str, str]]) -> list[Cell] | None:
    """Read the cells of a file; None if it is missing or does not have exactly the wanted (calibrator, measure)."""
    try:
        lines = json.loads(path.read_bytes())
        cells = [
            Cell(method, measure, math.nan if value is None else float(value), int(rows), float(share), str(note))
            for method, measure, value, rows, share, note in lines
        ]
    except (OSError, ValueError, TypeError):
        return None
    return cells if [(cell.calibrator, cell.measure) for cell in cells] == list(wanted) else None


def write(path: Path, cells: Sequence[Cell]) -> None:
    """Write the cells to a file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [[None if isinstance(x, float) and math.isnan(x) else x for x in cell] for cell in cells]
    write_whole(path, json.dumps(lines, ensure_ascii=True).encode())


Parts: TypeAlias = tuple[Predictions, Predictions]
"""Calibration rows and test rows."""
File: TypeAlias = Predictions | Parts | Callable[[], Predictions | Parts]
"""Predictions, or their two parts, or a function that reads either of these when needed."""
COLUMNS = ("file", "split", *Cell._fields)
SPLITS = 5
MEASURES = ("conf-ECE", "CW-ECE", "Log loss", "Accuracy")
"""Default measures of a table."""


def method_tables(
    files: Mapping[str, File],
    calibrators: Sequence[str | Recipe | Calibrator | Method],
    measures: Sequence[str | TableMeasure] = MEASURES,
    *,
    splits: int = SPLITS,
    fit_share: float = 0.5,
    seed: int = SEED,
    rows: Counting = "answered",
    folder: str | Path | None = None,
    jobs: int = 1,
    progress: Callable[[int], object] | None = None,
) -> pd.DataFrame:
    """Fit every calibrator on one part of each file and evaluate it on the other, on repeated splits.

    One row per number: file, split, calibrator, measure, value, its rows, and the share of rows that the calibrator
    answers. A note follows if there is no value. ``files`` are predictions by name, or functions that read them when
    needed, so one file at a time is in memory. Each is split ``splits`` times at random, stratified by class, with
    whole groups and a share ``fit_share`` of calibration rows. The seeds are ``seed``, ``seed + 1``, ...; a pair
    (calibration rows, test rows) is used once without a split. ``measures`` by name (``TABLE_MEASURES``). ``rows`` as
    in ``study.over_same_rows``.

    With a ``folder`` every split's results are stored there, under the hash of data, settings and versions. An
    interrupted run can be resumed, with the same bits (except measured seconds). ``jobs`` splits run in parallel;
    ``progress`` gets the percentage done, and an exception in it stops the work. Raises InputError if nothing is given,
    or a calibrator is given twice. What can mislead: splits of one file share rows, so numbers vary less over them than
    over new data.

    References: P1 Tables 2-5; P3 Tables 3-11; P4 Tables 1-2.

    >>> p = Predictions([[0.9, 0.1], [0.2, 0.8]] * 20, [0, 1] * 20)
    >>> frame = method_tables({"net": p}, ["identity", "temperature"], ["Accuracy"], splits=2)
    >>> frame["calibrator"].tolist(), frame["value"].tolist()
    (['identity', 'temperature', 'identity', 'temperature'], [1.0, 1.0, 1.0, 1.0])
    """
    methods = [as_method(calibrator) for calibrator in calibrators]
    wanted = [as_measure(measure) for measure in measures]
    texts = [method.text for method in methods]
    if not (files and methods and wanted) or splits < 1:
        raise InputError("give at least one file, one calibrator, one measure and one split")
    if len(set(texts)) < len(texts) or len(set(wanted)) < len(wanted):
        raise InputError("a calibrator or a measure is given twice")
    if not 0 < fit_share < 1:
        raise InputError(f"fit_share is {fit_share}; it must be between 0 and 1, exclusive")
    found: list[tuple[object, ...]] = []
    for i, (name, file) in enumerate(files.items()):
        tell = partial(_tell, progress, i, len(files))
        by_split = _of_file(file, methods, wanted, (splits, fit_share, seed), rows, folder, jobs, tell)
        found += [(name, split, *cell) for split, cells in enumerate(by_split) for cell in cells]
        tell(1.0)
    return pd.DataFrame(found, columns=list(COLUMNS))


def _tell(progress: Callable[[int], object] | None, file: int, files: int, share: float) -> None:
    if progress is not None:
        progress(int(100 * (file + share) / files))


def _of_file(
    file: File,
    methods: Sequence[Method],
    measures: Sequence[TableMeasure],
    splitting: tuple[int, float, int],
    rows: Counting,
    folder: str | Path | None,
    jobs: int,
    tell: Callable[[float], object],
) -> list[list[Cell]]:
    """Cells of every split of one file; if it cannot be read or split, all have the reason."""
    splits, share, seed = splitting
    try:
        given = file() if callable(file) else file
    except InputError as why:
        return [_refused(methods, measures, str(why))]
    parts = given if isinstance(given, tuple) else (given,)
    if any(part.grain == "counts" for part in parts):
        return [_refused(methods, measures, "a summary has no rows to fit methods on")]
    data = [content(part) for part in parts]
    # The key includes whether a method is known, so that its reason for an empty cell is not reused later.
    recipe = (data, tuple((method.text, method.key in CALIBRATORS) for method in methods), tuple(measures), rows)
    seeds: list[int | None] = [None] if len(parts) == 2 else [seed + s for s in range(splits)]
    paths = [None if folder is None else Path(folder) / f"{key(recipe, share, s)}.json" for s in seeds]
    pairs = [(method.text, measure.name) for method in methods for measure in measures]
    cells = [None if path is None else read(path, pairs) for path in paths]
    left = [s for s, known in enumerate(cells) if known is None]
    tell(1 - len(left) / len(seeds))
    fresh: dict[int, list[Cell]] = {}

    def work(s: int) -> None:
        fresh[s] = _trials(parts, share, seeds[s], methods, measures, rows)

    def done(_: int) -> None:
        # Written by the thread that is interrupted, which can clean up, so no partial file remains.
        for s in [s for s in fresh if cells[s] is None]:
            path, cells[s] = paths[s], fresh[s]
            if path is not None:
                write(path, fresh[s])
        tell(sum(known is not None for known in cells) / len(seeds))

    if jobs > 1:
        parallel.run([partial(work, s) for s in left], done)
    else:
        for s in left:
            work(s)
            done(s)
    return [known or [] for known in cells]


def _trials(
    parts: Sequence[Predictions],
    share: float,
    seed: int | None,
    methods: Sequence[Method],
    measures: Sequence[TableMeasure],
    rows: Counting,
) -> list[Cell]:
    """Cells of one split."""
    try:
        fit, test = parts if seed is None else parts[0].split(share, random_state=seed)
    except InputError as why:
        return _refused(methods, measures, str(why))
    outcomes = [_fitted(method, fit, test) for method in methods]
    afters = [outcome[1] for outcome in outcomes if not isinstance(outcome, str)]
    try:
        counted = iter(over_same_rows(afters, rows))
    except InputError as why:
        return _refused(methods, measures, str(why))
    cells: list[Cell] = []
    for method, outcome in zip(methods, outcomes, strict=True):
        if isinstance(outcome, str):
            cells += _refused([method], measures, outcome)
        else:
            calibrator, after, seconds = outcome
            trial = MethodTrial(calibrator, test, after, next(counted), seconds)
            cells += [_cell(method, measure, trial) for measure in measures]
    return cells


def _fitted(method: Method, fit: Predictions, test: Predictions) -> tuple[Calibrator, Predictions, float] | str:
    """Fitted calibrator, test rows after it and the seconds of both; or the reason if it cannot be fitted."""
    start = time.perf_counter()
    try:
        calibrator: Calibrator = clone(method.recipe(fit.n_classes).build())
        after = calibrator.fit_on(fit).apply(test)
    except InputError as why:
        return str(why)
    return calibrator, after, time.perf_counter() - start


def _cell(method: Method, measure: TableMeasure, trial: MethodTrial) -> Cell:
    try:
        value, note = measure.value(trial), ""
    except InputError as why:
        value, note = float("nan"), str(why)
    return Cell(method.text, measure.name, value, trial.counted.n_rows, trial.after.coverage, note)


def _refused(methods: Iterable[Method], measures: Sequence[TableMeasure], why: str) -> list[Cell]:
    return [Cell(method.text, measure.name, float("nan"), 0, 1.0, why) for method in methods for measure in measures]


def paper_tables(
    files: Mapping[str, File],
    tables: Sequence[str | PaperTable],
    *,
    splits: int = SPLITS,
    seed: int = SEED,
    folder: str | Path | None = None,
    jobs: int = 1,
    progress: Callable[[int], object] | None = None,
) -> dict[str, MethodTable]:
    """Return the papers' tables of methods for other files: rows are files, columns are methods.

    ``tables`` are entries of ``PAPER_TABLES``, or their keys; a method in several of them is fitted once. ``splits`` is
    the number of divisions of each file (in the papers: 1 or 40). As in the papers, a third of the rows is for
    calibration; other parameters as in ``method_tables``. The form is that of the papers, and the numbers are for these
    files.

    References: P1 Tables 2-5; P3 Tables 3-11; P4 Tables 1-2.

    >>> p = Predictions([[0.9, 0.1], [0.2, 0.8], [0.8, 0.2]] * 40, [0, 1, 1] * 40)
    >>> table = paper_tables({"net": p}, ["p4-figure-1"], splits=2)["p4-figure-1"]
    >>> table.names
    ('MetaMis',)
    """
    chosen = list({table.key: table for table in map(as_paper_table, tables)}.values())
    alike = list(dict.fromkeys((table.fit_share, table.rows) for table in chosen))
    found: dict[str, MethodTable] = {}
    for i, (share, rows) in enumerate(alike):
        group = [table for table in chosen if (table.fit_share, table.rows) == (share, rows)]
        # By identity: two papers have different names for the same method.
        methods = {method.text: method for table in group for method in table.methods}
        measures = dict.fromkeys(measure for table in group for measure in table.measures)
        frame = method_tables(
            files, list(methods.values()), list(measures), splits=splits, fit_share=share, seed=seed, rows=rows,
            folder=folder, jobs=jobs, progress=partial(_part, progress, i, len(alike)),
        )  # fmt: skip
        for table in group:
            names = {method.text: method.name for method in table.methods}
            title = f"{table.title} (as {table.reference})"
            found[table.key] = method_table(frame, table.measures, names, title, rows)
    return {table.key: found[table.key] for table in chosen}


def paper_table(
    files: Mapping[str, File],
    table: str | PaperTable,
    *,
    splits: int = SPLITS,
    seed: int = SEED,
    folder: str | Path | None = None,
    jobs: int = 1,
    progress: Callable[[int], object] | None = None,
) -> MethodTable:
    """Return one of the papers' tables of methods for other files (``paper_tables``).

    >>> p = Predictions([[0.9, 0.1], [0.2, 0.8], [0.8, 0.2]] * 40, [0, 1, 1] * 40)
    >>> paper_table({"net": p}, "p4-figure-2", splits=2).names
    ('MetaAcc',)
    """
    key = as_paper_table(table).key
    return paper_tables(files, [table], splits=splits, seed=seed, folder=folder, jobs=jobs, progress=progress)[key]


def _part(progress: Callable[[int], object] | None, part: int, parts: int, percent: int) -> None:
    if progress is not None:
        progress((100 * part + percent) // parts)
