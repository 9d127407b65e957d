"""Form of a paper's table: one row per file, one column per method, ranks, averages, standard errors.

The module also has the measures for cells: errors, scores, fitted numbers, attained rates, seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calib_core._base.errors import InputError
from calib_core._base.notebook_display import OneLine
from calib_core.binning.base import BINNINGS
from calib_core.calibrators.base import Calibrator
from calib_core.estimators.base import estimate
from calib_core.evaluation.study import Counting, every_measure
from calib_core.inference.verdicts.estimate_line import unit_of
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.registry.registry import Recipe
from calib_core.text import Unit, count, latex_escaped, without_controls


@dataclass(frozen=True, eq=False)
class MethodTrial:
    """One method on one split: the fit, the test rows before and after, the rows of its table, and the seconds."""

    calibrator: Calibrator
    before: Predictions
    after: Predictions
    counted: Predictions
    seconds: float


@dataclass(frozen=True)
class TableMeasure:
    """Measure for cells: its name, its definition, and whether more is better (None: neither).

    ``estimator``, ``reduction`` and ``bins`` as for ``estimate``. Without an estimator it is ``special``, with its name
    in ``part``: "seconds", "coverage", "attained" (the rate of that name), "fitted" (the number of that name).
    """

    name: str
    unit: Unit = "share"
    higher_is_better: bool | None = False
    estimator: str = ""
    reduction: str | None = None
    bins: Recipe | None = None
    special: str = ""
    part: str = ""

    def value(self, trial: MethodTrial) -> float:
        """Return the number of one trial; NotAnswerable if it has none."""
        if self.estimator:
            bins = None if self.bins is None else self.bins.build()
            return float(estimate(trial.counted, self.reduction, self.estimator, bins).value)
        return float(_SPECIAL[self.special](trial, self.part))


def _attained(trial: MethodTrial, rate: str) -> float:
    method: Any = trial.calibrator
    if method.wanted != rate:
        raise NotAnswerable("this method has no such rate")
    return float(method.attained(trial.before, trial.after))


def _fitted(trial: MethodTrial, name: str) -> float:
    found = [number.value for number in trial.calibrator.insides().numbers() if number.name == name]
    if not found:
        raise NotAnswerable(f"this method does not fit a {name}")
    return found[-1]


_SPECIAL: dict[str, Callable[[MethodTrial, str], float]] = {
    "seconds": lambda trial, _: trial.seconds,
    "coverage": lambda trial, _: trial.after.coverage,
    "attained": _attained,
    "fitted": _fitted,
}

_EQUAL_MASS = BINNINGS.described("equal-mass", bins=15)

TABLE_MEASURES = {
    measure.name: measure
    for measure in (
        *(TableMeasure(m.name, unit_of(m.estimator), m.higher_is_better, m.estimator, m.reduction)
          for m in every_measure()),
        TableMeasure("conf-ECE, equal mass", estimator="ece", reduction="confidence", bins=_EQUAL_MASS),
        TableMeasure("CW-ECE, equal mass", estimator="ece", reduction="class-wise", bins=_EQUAL_MASS),
        TableMeasure("Coverage", higher_is_better=None, special="coverage"),
        TableMeasure("Miscoverage", higher_is_better=None, special="attained", part="miscoverage"),
        TableMeasure("Coverage accuracy", higher_is_better=None, special="attained", part="accuracy"),
        TableMeasure("Neighbors, share of rows", higher_is_better=None, special="fitted",
                     part="share of the calibration rows q"),
        TableMeasure("Threshold", "score", None, special="fitted", part="threshold t"),
        TableMeasure("Seconds", "score", special="seconds"),
    )
}  # fmt: skip
"""Measures by name: all errors and scores of ``study.every_measure``, and the additional ones of the papers' tables."""


def as_measure(measure: str | TableMeasure) -> TableMeasure:
    """Return a measure given by name (case-insensitive) or as an object; InputError lists the known names.

    >>> as_measure("tl-ece").reduction
    'top-label'
    """
    if isinstance(measure, TableMeasure):
        return measure
    by_name = {name.lower(): known for name, known in TABLE_MEASURES.items()}
    if measure.lower() not in by_name:
        raise InputError(f"there is no measure {measure[:80]!r}; choose one of {'; '.join(TABLE_MEASURES)}")
    return by_name[measure.lower()]


AVERAGE, AVERAGE_RANK = "average", "average rank"
ERROR, RANK = "{}, standard error", "{}, rank"
"""Names of a method's additional columns."""
NOT_KNOWN = "–"


@dataclass(frozen=True, eq=False, repr=False)
class MethodTable(OneLine):
    """Table of files by methods: mean over splits, standard error, and rank among the methods.

    ``lines`` is the result of ``frame``, ``names`` are the methods' columns, ``notes`` explain empty cells and
    the files of averages.
    """

    title: str
    names: tuple[str, ...]
    lines: pd.DataFrame
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """One row per file and measure, then the averages of the measure; three columns per method.

        Columns: measure, line ("file", "average" or "average rank"), file, splits, unit. Then, for each method, come
        its value, the standard error over the splits and its rank, 1 is best, with averaged tied ranks. NaN if there is
        none. What can mislead: splits of one file share rows. The standard error is therefore the variation of this
        file's numbers with the split, not over new data. Ranks ignore both, and are not recommendations.
        """
        return self.lines


def method_table(
    frame: pd.DataFrame,
    measures: Sequence[str | TableMeasure] = (),
    names: Mapping[str, str] | None = None,
    title: str = "Methods by files",
    rows: Counting = "answered",
) -> MethodTable:
    """Return the numbers of ``method_tables`` in a paper's form: methods in columns, files in rows.

    ``measures`` and ``names`` (column names by calibrator of the frame) choose and order; by default all.
    ``rows`` is that of the frame, for a note if there are methods that abstain. Averages and average ranks are over the
    files for which all methods with any results have one, as reported in a note. Averages over different files would
    not be comparable. Files keep their order; a single file has no average.

    >>> frame = pd.DataFrame({"file": ["a", "a"], "split": 0, "calibrator": ["x", "y"], "measure": "Accuracy",
    ...                       "value": [0.9, 0.8], "rows": 10, "answered": 1.0, "note": ""})
    >>> method_table(frame).frame()[["file", "x", "x, rank", "y", "y, rank"]].values.tolist()
    [['a', 0.9, 1.0, 0.8, 2.0]]
    """
    known = list(dict.fromkeys(frame["calibrator"]))
    titles = dict(zip(known, known, strict=True)) if names is None else dict(names)
    if len(set(titles.values())) < len(titles):
        raise InputError("two methods have the same name; give distinct names")
    wanted = [as_measure(m) for m in measures or dict.fromkeys(frame["measure"])]
    parts, notes = [], []
    for measure in wanted:
        part = frame[(frame["measure"] == measure.name) & frame["calibrator"].isin(titles)]
        lines, more = _of_measure(part, measure, titles)
        parts.append(lines)
        notes += more
    if (frame["answered"] < 1).any() and any(measure.estimator for measure in wanted):
        notes.append(_COUNTED[rows])
    return MethodTable(title, tuple(titles.values()), pd.concat(parts, ignore_index=True), tuple(dict.fromkeys(notes)))


_COUNTED: dict[str, str] = {
    "answered": "Some methods abstain. On each file every error and score is over the rows that all methods of this "
    "run answer.",
    "all": "Some methods abstain. Every error and score is over all rows, and the uniform vector of an abstained row "
    "counts as a prediction.",
}


def _of_measure(part: pd.DataFrame, measure: TableMeasure, titles: Mapping[str, str]) -> tuple[pd.DataFrame, list[str]]:
    files = list(dict.fromkeys(part["file"]))
    by_cell = part.groupby(["file", "calibrator"], sort=False)["value"]

    def wide(values: pd.Series) -> pd.DataFrame:
        table: pd.DataFrame = values.unstack("calibrator").reindex(index=files, columns=list(titles))
        return table.set_axis(list(titles.values()), axis=1)

    answered = by_cell.count()
    value, error = wide(by_cell.mean()), wide(by_cell.std() / np.sqrt(answered))
    ranks = ranked(value, measure.higher_is_better)
    splits = part.groupby("file")["split"].nunique().reindex(files)
    columns: dict[str, pd.Series] = {}
    for name in titles.values():
        columns |= {name: value[name], ERROR.format(name): error[name], RANK.format(name): ranks[name]}
    lines = pd.DataFrame(columns)
    lines.insert(0, "splits", splits)
    lines = lines.rename_axis("file").reset_index()
    lines.insert(0, "line", "file")
    notes = _why_empty(part, titles)
    if len(files) > 1:
        whole = _comparable(value)
        means = {AVERAGE: value[whole].mean(), AVERAGE_RANK: ranks[whole].mean()}
        if measure.higher_is_better is None:
            del means[AVERAGE_RANK]
        if not whole.any():
            notes.append(f"{measure.name} has no averages: no file has results of all methods.")
            means = {}
        elif not whole.all():
            over = f"{count(int(whole.sum()))} of {count(len(files))} files"
            notes.append(f"Averages of {measure.name} are over the {over} with results of all methods.")
        added = pd.DataFrame([{"line": name, "file": name, **line} for name, line in means.items()])
        lines = pd.concat([lines, added], ignore_index=True).reindex(columns=lines.columns)
    lines.insert(0, "measure", measure.name)
    lines.insert(4, "unit", measure.unit)
    return lines.astype({"splits": "Int64"}), notes


def ranked(values: pd.DataFrame, higher_is_better: bool | None) -> pd.DataFrame:
    """Return ranks along each row, 1 is best, with averaged ties; NaN stays NaN, and all are NaN without an order.

    Values that differ only by rounding are tied.

    >>> ranked(pd.DataFrame({"a": [0.2], "b": [0.1], "c": [0.1]}), False).values.tolist()
    [[3.0, 1.5, 1.5]]
    """
    if higher_is_better is None:
        return values * float("nan")
    return values.round(12).rank(axis=1, ascending=not higher_is_better)


def _comparable(value: pd.DataFrame) -> pd.Series:
    """Mask of rows with a number in every column that has any; all False if no column has."""
    known = value.notna()
    answering = known.loc[:, known.any()]
    return answering.all(axis=1) & bool(answering.shape[1])


def _why_empty(part: pd.DataFrame, titles: Mapping[str, str]) -> list[str]:
    """One sentence per reason for empty cells or fewer splits, with methods and files.

    If reasons of one method on one file differ only by numbers between splits, it reports the first.
    """
    splits = part.groupby("file")["split"].nunique()
    files: dict[tuple[str, str, str], list[str]] = {}
    for (calibrator, file), lines in part[part["note"] != ""].groupby(["calibrator", "file"], sort=False):
        every = int(splits[str(file)])
        some = f" in {len(lines)} of {every} splits" if len(lines) < every else ""
        note = str(lines["note"].iloc[0]).rstrip(".")
        files.setdefault((titles[str(calibrator)], some, note), []).append(str(file))
    found: dict[tuple[str, str, str], list[str]] = {}
    for (title, some, note), names in files.items():
        where = _files(names) if len(names) < len(splits) else ""
        found.setdefault((where, some, note), []).append(title)
    return [f"{_subject(methods, where, len(titles))}{some}: {note}." for (where, some, note), methods in found.items()]


def _subject(methods: Sequence[str], where: str, every: int) -> str:
    if len(methods) == every:
        return where or "Every method"
    return ", ".join(methods) + (f" on {where}" if where else "")


def _files(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) < 5 else f"{', '.join(names[:3])} and {len(names) - 3} more files"


# -- format of cells ------------------------------------------------------------------------------------


def decimals(values: Iterable[float], unit: str) -> int:
    """Decimals for three significant digits of the median of these values, in percent for shares.

    >>> decimals([0.0118, 0.02, 0.5], "share"), decimals([0.924], "share"), decimals([0.222], "score")
    (2, 1, 3)
    """
    sizes = [abs(value) for value in values if math.isfinite(value) and value != 0]
    middle = float(np.median(sizes)) * (100 if unit == "share" else 1) if sizes else 1.0
    return min(6, max(0, 2 - math.floor(math.log10(middle))))


def numbers(value: float, error: float, unit: str, digits: int) -> tuple[str, str]:
    """Format a value and its standard error for a table, shares in percent without the sign; empty if unknown.

    >>> numbers(0.0118, 0.0004, "share", 2), numbers(0.5, float("nan"), "score", 3)
    (('1.18', '0.04'), ('0.500', ''))
    """
    scale = 100 if unit == "share" else 1
    first, second = (f"{scale * x:.{digits}f}" if math.isfinite(x) else "" for x in (value, error))
    return first, second


def cell(line: Mapping[str, object] | pd.Series, name: str, digits: int) -> str:
    """Format a method's cell of one row of the frame: value, standard error, rank in parentheses.

    >>> line = {"line": "file", "unit": "share", "x": 0.0118, "x, standard error": 0.0004, "x, rank": 1.5}
    >>> cell(line, "x", 2), cell({**line, "line": "average rank", "x": 2.25}, "x", 2)
    ('1.18 ± 0.04 (1.5)', '2.25')
    """
    value, error, rank = (float(line[key]) for key in (name, ERROR.format(name), RANK.format(name)))  # type: ignore[arg-type]
    if math.isnan(value):
        return NOT_KNOWN
    if line["line"] == AVERAGE_RANK:
        return f"{value:.2f}"
    first, second = numbers(value, error, str(line["unit"]), digits)
    return first + (f" ± {second}" if second else "") + (f" ({rank:g})" if math.isfinite(rank) else "")


def digits_by_measure(frame: pd.DataFrame, names: Sequence[str]) -> dict[str, int]:
    """Return the number of decimals of each measure of a table."""
    shown = frame[frame["line"] != AVERAGE_RANK]
    return {
        str(name): decimals(part[list(names)].to_numpy(dtype=float).ravel(), str(part["unit"].iloc[0]))
        for name, part in shown.groupby("measure", sort=False)
    }


def names_of(frame: pd.DataFrame) -> tuple[str, ...]:
    """Return the methods' columns of such a frame.

    >>> names_of(pd.DataFrame(columns=["measure", "x", "x, standard error", "x, rank"]))
    ('x',)
    """
    return tuple(str(name) for name in frame if RANK.format(name) in frame)


def latex(table: MethodTable) -> str:
    """Return the table as LaTeX for ``\\usepackage{booktabs}``: a tabular, with its notes as comments below.

    Values have standard errors, ranks are subscripts, the best value of each row is bold; shares are in percent.

    >>> frame = pd.DataFrame({"file": ["a_1"] * 2, "split": 0, "calibrator": ["x", "y"], "measure": "Accuracy",
    ...                       "value": [0.9, 0.8], "rows": 10, "answered": 1.0, "note": ""})
    >>> from calib_core.papers.tables import method_table
    >>> print(latex(method_table(frame)).splitlines()[-3])
    a\\_1 & $\\mathbf{90.0}_{1}$ & $80.0_{2}$ \\\\
    """
    frame = table.frame()
    digits = digits_by_measure(frame, table.names)
    lines = [f"% {without_controls(table.title)}", rf"\begin{{tabular}}{{l{'r' * len(table.names)}}}", r"\toprule"]
    lines.append(" & ".join(["", *map(latex_escaped, table.names)]).strip() + r" \\")
    for measure, part in frame.groupby("measure", sort=False):
        unit = r" (\%)" if part["unit"].iloc[0] == "share" else ""
        lines += [
            r"\midrule",
            rf"\multicolumn{{{len(table.names) + 1}}}{{l}}{{{latex_escaped(str(measure))}{unit}}} \\",
        ]
        above = "file"
        for _, line in part.iterrows():
            if line["line"] != above == "file":
                lines.append(r"\midrule")
            above = str(line["line"])
            cells = [_cell(line, name, table.names, digits[str(measure)]) for name in table.names]
            lines.append(" & ".join([latex_escaped(str(line["file"])), *cells]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*lines, *(f"% {without_controls(note)}" for note in table.notes), ""])


def _cell(line: pd.Series, name: str, names: tuple[str, ...], digits: int) -> str:
    value, error, rank = (float(line[key]) for key in (name, ERROR.format(name), RANK.format(name)))
    if math.isnan(value):
        return "--"
    if line["line"] == AVERAGE_RANK:
        return f"{value:.2f}"
    first, second = numbers(value, error, str(line["unit"]), digits)
    best = rank == line[[RANK.format(other) for other in names]].min()  # among known ranks
    shown = rf"\mathbf{{{first}}}" if best else first
    return f"${shown}" + (rf" \pm {second}" if second else "") + (f"_{{{rank:g}}}$" if not math.isnan(rank) else "$")
