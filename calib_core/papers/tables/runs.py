"""Methods fitted and judged on repeated splits of many files, one file in memory, continued where it was stopped."""

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
    """A number of one method on one split: NaN with a note that says why; the share of rows the method answers."""

    calibrator: str
    measure: str
    value: float
    rows: int
    answered: float
    note: str


def content(predictions: Predictions) -> str:
    """The hash of everything in predictions that a fit or an error can depend on."""
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
        # The shape goes in too: the same bytes in other rows are other predictions.
        digest.update(b"-" if part is None else f"{part.dtype}{part.shape}".encode())
        digest.update(b"" if part is None else np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def key(*recipe: Any) -> str:
    """The name of a result: the hash of what it is made of and of the versions that make it."""
    versions = [_version(name) for name in ("calib", "numpy", "scipy", "scikit-learn", "pandas")]
    return hashlib.sha256(repr((recipe, versions)).encode()).hexdigest()[:40]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "a checkout"


def read(path: Path, wanted: Sequence[tuple[str, str]]) -> list[Cell] | None:
    """The cells in a file, None where there is none or it does not hold just the (calibrator, measure) wanted."""
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
    """The cells as a file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [[None if isinstance(x, float) and math.isnan(x) else x for x in cell] for cell in cells]
    write_whole(path, json.dumps(lines, ensure_ascii=True).encode())


Parts: TypeAlias = tuple[Predictions, Predictions]
"""Calibration rows and test rows, divided already."""
File: TypeAlias = Predictions | Parts | Callable[[], Predictions | Parts]
"""Predictions, or their two parts, or what reads either when its turn comes."""
COLUMNS = ("file", "split", *Cell._fields)
SPLITS = 5
MEASURES = ("conf-ECE", "CW-ECE", "Log loss", "Accuracy")
"""What a table is about where nothing else is said."""


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
    """Every calibrator on every file, fitted on one part of its rows and judged on the other, several times over.

    One line a number: file, split, calibrator, measure, value, the rows it is over, the share of rows that the
    calibrator answers, and a note in place of a value that it cannot give here. ``files`` are predictions by name, or
    functions that read them when their turn comes, so that one file is in memory. Each is split ``splits`` times at
    random, class by class, groups kept together, ``fit_share`` of the rows to fit on, with the seeds ``seed``,
    ``seed + 1``, ...; a pair (calibration rows, test rows) is taken as it is, once. ``measures`` by name
    (``TABLE_MEASURES``). ``rows`` as in ``study.over_same_rows``.

    With a ``folder`` every split's results are kept there, under the hash of the data, of what was done and of the
    versions; stopped and run again, it goes on where it was, with the same bits (but for measured seconds). ``jobs``
    splits are worked on together; ``progress`` is told percent, and what it raises stops the work. InputError where
    nothing was given, or a calibrator twice. What can mislead: splits of one file share rows, so that numbers vary
    less over them than over new data.

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
        raise InputError(f"fit_share is {fit_share}; it must lie between 0 and 1, both excluded")
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
    """The cells of every split of one file; a file that cannot be read or split has the reason in all of them."""
    splits, share, seed = splitting
    try:
        given = file() if callable(file) else file
    except InputError as why:
        return [_refused(methods, measures, str(why))]
    parts = given if isinstance(given, tuple) else (given,)
    if any(part.grain == "counts" for part in parts):
        return [_refused(methods, measures, "a summary has no rows to fit methods on")]
    data = [content(part) for part in parts]
    # Whether a method is known goes in: its reason for an empty cell is not kept for when there is one.
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
        # Written by the thread that is interrupted, which can clean up: nothing stays half-written.
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
    """The cells of one split."""
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
    """The fitted calibrator, the test rows after it and the seconds both took; why not, where it cannot."""
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
    """The papers' tables of methods, made of other files: rows are files, columns the papers' methods.

    ``tables`` are of ``PAPER_TABLES``, or keys of it; a method that several of them have is fitted once. ``splits`` is
    how often each file is divided (the papers: once, or 40 times), a third of the rows to fit on as theirs were; the
    rest as in ``method_tables``. The papers' networks are not these files: the shape is theirs, the numbers are these
    files'.

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
        # By what they do: two papers call the same method differently.
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
    """One of the papers' tables of methods, made of other files (``paper_tables``).

    >>> p = Predictions([[0.9, 0.1], [0.2, 0.8], [0.8, 0.2]] * 40, [0, 1, 1] * 40)
    >>> paper_table({"net": p}, "p4-figure-2", splits=2).names
    ('MetaAcc',)
    """
    key = as_paper_table(table).key
    return paper_tables(files, [table], splits=splits, seed=seed, folder=folder, jobs=jobs, progress=progress)[key]


def _part(progress: Callable[[int], object] | None, part: int, parts: int, percent: int) -> None:
    if progress is not None:
        progress((100 * part + percent) // parts)
