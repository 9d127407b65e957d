"""What is wrong with these probabilities, in plain sentences: every place looked at, tested and put worst first."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from calib_core._arrays import Bools, Codes, Float64s
from calib_core._text import begun
from calib_core.binning import BinningScheme, bins_of, cuts, tabulate
from calib_core.defaults import LEVEL
from calib_core.diagrams import edges_said
from calib_core.inference import benjamini_hochberg, benjamini_yekutieli, share_ends, share_test
from calib_core.inference.multiple import harmonic
from calib_core.inference.number_words import at_level, in_percent, share_range, told_apart
from calib_core.predictions import InputError, Predictions, whole
from calib_core.reductions import claims_of

FALSE = 0.05
"""Share of false findings among all, on average, that is put up with."""
FEWEST = 10
"""Rows below which a place is counted, not tested."""
SHOWN = 12
"""Places that a picture shows, the worst of those tested."""
CELL, BIN, OVERALL, CLASS = "class and bin", "bin", "direction", "class"
"""Kinds: a predicted class in a bin, a bin where classes are not known, all rows, one class's probability."""


def findings(
    predictions: Predictions,
    bins: int | str | BinningScheme | None = None,
    level: float = LEVEL,
    false_discoveries: float = FALSE,
    fewest: int = FEWEST,
) -> pd.DataFrame:
    """Where these probabilities are off beyond chance, a plain sentence a line, worst first.

    Looked at are three families: "class and bin", the rows of each predicted class in each bin of the confidence
    ("bin" where classes are not known); "direction", the confidence of all rows; "class", the probability of each class
    over all rows, where it is known. Each line sets what is said on average (``says``) against the share that came true
    (``right``) of its ``rows``; p is exact (``share_test``). ``stands_out``: p_corrected is at most
    ``false_discoveries``, so that on average at most this share of all that stand out are false. With F families p is
    multiplied by F and corrected within its family: by Benjamini and Hochberg's rule where rows are disjoint (class and
    bin), by Benjamini and Yekutieli's where they are shared (class). A share q / F of false findings in each makes at
    most q of all, whatever families share: V / R <= sum_f V_f / R_f.

    ``low`` to ``high`` is the exact interval of the mean chance behind ``right``, at the ``level`` of its line. Places
    picked for their outcomes are off by luck too: with R of m that stand out in a family, their intervals are at level
    1 - (1 - level) R / (m F), for shared rows divided by 1 + ... + 1/m as well, so that of the intervals of all that
    stand out at most 1 - level miss on average. The others stand alone. ``rows_off``: rows times
    the smallest gap the interval leaves, by which lines are in order. Places of fewer than ``fewest`` rows are listed
    last, without p. Discrete outputs have one bin a value. Rows that a model abstains on are left out; weights that are
    no counts of copies count as the fewer equal rows they are worth, by Hoeffding's bound. What can mislead: gaps that
    cancel within a place do not show; what does not stand out is not shown to be right; rows are taken to be
    independent.

    References: Benjamini & Hochberg 1995; Benjamini & Yekutieli 2001, and 2005 for intervals of what was picked;
    Clopper & Pearson 1934; Hoeffding 1956, 1963.

    >>> right = [True] * 36 + [False] * 4 + [True] * 90 + [False] * 10
    >>> p = Predictions.from_confidence([0.55] * 40 + [0.9] * 100, right)
    >>> findings(p, bins=10)["finding"][0]
    'When it says 50 to 60 %, it is right 90 % of the time (36 of 40 rows; 98 % interval 74 to 98 %; it says 55 %).'
    """
    if not 0 < level < 1 or not 0 < false_discoveries < 1:
        raise InputError(
            f"level is {level:g} and false_discoveries {false_discoveries:g}; both must lie between 0 and 1"
        )
    rows = predictions.answered
    counted = rows.weights is None or whole(rows.weights)
    families = [family for family in _families(rows, bins_of(predictions, bins)) if len(family.lines)]
    enough = [family.lines["rows"].to_numpy() >= fewest for family in families]
    tested = sum(bool(these.any()) for these in enough)
    parts = [
        _judged(family, these, tested, counted, level, false_discoveries)
        for family, these in zip(families, enough, strict=True)
    ]
    table = pd.concat(parts, ignore_index=True)
    order = np.lexsort((table["p"], -table["rows_off"], ~table["stands_out"]))
    table = table.iloc[order].reset_index(drop=True)
    single = bool(cuts(bins_of(predictions, bins)).one_a_value)
    lines = list(table.itertuples(index=False))
    table.insert(0, "finding", [_sentence(line, counted, single) for line in lines])
    table.insert(1, "place", [_place(line, single) for line in lines])
    return table


def headline(table: pd.DataFrame) -> tuple[str, ...]:
    """What a table of `findings` lets one claim: the worst of what stands out, and how many places were looked at.

    >>> p = Predictions.from_confidence([0.9] * 100, [True] * 88 + [False] * 12)
    >>> headline(findings(p))
    ('Nothing stands out.',
     'Of 2 places looked at, none is off beyond chance. With few rows a place hardly can be: this is no proof that the
     rest is right.')
    """
    tests, found = int(table["p"].notna().sum()), int(table["stands_out"].sum())
    small = len(table) - tests
    more = f" {small:,} more {'holds' if small == 1 else 'hold'} too few rows to be tested." if small else ""
    if not tests:
        return "Too few rows everywhere to tell.", more.strip()
    of = f"Of {tests:,} {'place' if tests == 1 else 'places'} looked at"
    if not found:
        why = "With few rows a place hardly can be: this is no proof that the rest is right."
        return "Nothing stands out.", f"{of}, none is off beyond chance.{more} {why}"
    be = "is" if found == 1 else "are"
    return table["finding"].iloc[0], f"{of}, {found:,} {be} off beyond chance, corrected for their number.{more}"


class _Family(NamedTuple):
    """Places that are tested together: whether their rows are disjoint, and a line each."""

    disjoint: bool
    lines: pd.DataFrame


def _families(rows: Predictions, scheme: BinningScheme) -> Iterator[_Family]:
    yield _Family(True, _cells(rows, scheme))
    yield _Family(True, _overall(rows))
    if rows.kind in ("full", "per-class"):
        yield _Family(False, _classes(rows))


def _cells(rows: Predictions, scheme: BinningScheme) -> pd.DataFrame:
    """Every predicted class in every bin that has rows."""
    known = rows.kind != "confidence"
    claims = claims_of(rows, "top-label" if known else "confidence")
    table = tabulate(claims, [scheme], pooled=False)[0]
    stratum, b = np.nonzero(table.count > 0)
    code = stratum if known else np.full(len(b), -1)
    ends = table.lower[stratum, b], table.upper[stratum, b]
    worth = table.count[stratum, b]
    if rows.weights is not None and not whole(rows.weights):
        cell = table.cells(claims.scores, claims.codes)
        squares = np.bincount(cell, np.square(rows.weights), table.count.size).reshape(table.count.shape)
        worth = worth**2 / squares[stratum, b]
    says, right = table.mean_score[stratum, b], table.mean_outcome[stratum, b]
    return _lines(CELL if known else BIN, rows, code, b, ends, worth, says, right)


def _overall(rows: Predictions) -> pd.DataFrame:
    """All rows as one place."""
    says, right = np.array([rows.mean_confidence]), np.array([rows.accuracy])
    nowhere = np.array([-1])
    ends = np.array([np.nan]), np.array([np.nan])
    return _lines(OVERALL, rows, nowhere, nowhere, ends, np.array([rows.effective_rows]), says, right)


def _classes(rows: Predictions) -> pd.DataFrame:
    """The probability of every class over all rows; of two that add up to 1 one says it all."""
    tally = claims_of(rows, "class-wise").tally(np.empty(0))
    code = np.arange(1 if rows.kind == "full" and rows.n_classes == 2 else 0, rows.n_classes or 0)
    total = tally.count[code, 0]
    ends, nowhere = (np.full(len(code), np.nan),) * 2, np.full(len(code), -1)
    worth = np.full(len(code), rows.effective_rows)
    says, right = tally.score[code, 0] / total, tally.outcome[code, 0] / total
    return _lines(CLASS, rows, code, nowhere, ends, worth, says, right)


def _lines(
    kind: str,
    rows: Predictions,
    code: Codes,
    b: Codes,
    ends: tuple[Float64s, Float64s],
    worth: Float64s,
    says: Float64s,
    right: Float64s,
) -> pd.DataFrame:
    """A line a place; codes and bins are whole numbers, or None where there is none."""
    names = rows.class_names or ()
    listed = {
        "kind": kind,
        "class": pd.Series([names[c] if c >= 0 else None for c in code], dtype=object),
        "code": pd.Series([c if c >= 0 else None for c in code.tolist()], dtype=object),
        "bin": pd.Series([i if i >= 0 else None for i in b.tolist()], dtype=object),
    }
    numbers = {"lower": ends[0], "upper": ends[1], "rows": worth, "says": says, "right": right}
    return pd.DataFrame(listed | numbers)


def _judged(family: _Family, enough: Bools, families: int, counted: bool, level: float, false: float) -> pd.DataFrame:
    """The lines of a family with p-values, corrected among so many families, and intervals."""
    lines = family.lines
    rows, says, right = (lines[name].to_numpy(dtype=np.float64) for name in ("rows", "says", "right"))
    p = np.where(enough, share_test(right, says, rows, counted), np.nan)
    correct = benjamini_hochberg if family.disjoint else benjamini_yekutieli
    corrected = np.minimum(families * correct(p), 1.0)
    outstanding = corrected <= false
    tests, picked = int(enough.sum()), int(outstanding.sum())
    price = families * (1.0 if family.disjoint else harmonic(tests))
    levels = np.where(outstanding, _rounded_up(level, picked / (tests * price)) if picked else level, level)
    low, high = share_ends(right, rows, counted, levels)
    least = np.maximum(np.maximum(low - says, says - high), 0.0)
    return lines.assign(
        gap=right - says,
        low=low,
        high=high,
        level=levels,
        p=p,
        p_corrected=corrected,
        stands_out=outstanding,
        rows_off=np.where(enough, rows * least, 0.0),
    )


def _rounded_up(level: float, share: float) -> float:
    """The level that misses this share of what another misses, at most: one digit that counts, as it is written."""
    miss = (1 - level) * share
    unit = 10.0 ** math.floor(math.log10(miss) + 1e-9)
    return 1 - math.floor(miss / unit + 1e-9) * unit


def _sentence(line: Any, counted: bool, single: bool) -> str:
    """What a line says; never more than its test shows."""
    says, right = told_apart(line.says, line.right)
    rows = f"{line.rows:,.0f} {'row' if round(line.rows) == 1 else 'rows'}"
    name = "" if line.code is None else _name(line)
    confidence = "" if line.bin is None else _confidence(line, single)
    when = f"{name} is predicted with confidence {confidence}" if name else f"it says {confidence}"
    if math.isnan(line.p):
        return f"Too few rows to tell{f' when {when}' if confidence else ''}: {rows}."
    of = f"{round(line.right * line.rows):,} of {rows}" if counted else f"worth {rows}"
    basis = f"{of}; {at_level(line.level)} interval {share_range(line.low, line.high)}"
    chance = "" if line.stands_out else " This can be chance."
    if line.kind == CLASS:
        return begun(f"{name} is given {says} on average, and {right} of the rows are of it ({basis}).{chance}")
    if line.kind == OVERALL:
        return f"Over all rows it says {says} on average and is right {right} of the time ({basis}).{chance}"
    beside = "" if single else f"; it says {says}"
    return f"When {when}, it is right {right} of the time ({basis}{beside}).{chance}"


def _place(line: Any, single: bool) -> str:
    """Where a line looks, in a few words."""
    if line.kind == OVERALL:
        return "all rows"
    if line.kind == CLASS:
        return f"{_name(line)}, all rows"
    return ", ".join(([] if line.code is None else [_name(line)]) + [_confidence(line, single)])


def _confidence(line: Any, single: bool) -> str:
    """The confidences of a place in percent."""
    return in_percent(line.says) if single else edges_said(line.lower, line.upper)


def _name(line: Any) -> str:
    """A class in a sentence."""
    name = line[1]  # its column is called "class", which no attribute can be
    return f"class {name}" if name.isdigit() else f"\u201c{name}\u201d"
