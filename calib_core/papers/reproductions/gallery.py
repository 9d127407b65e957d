"""Registry of reproduced figures and tables of the five papers, with their stored results."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from inspect import cleandoc
from typing import Any, Literal, TypeAlias
from urllib.parse import urlencode

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from calib_core._base.errors import InputError, NotAnswerable
from calib_core._base.parallel import Progress
from calib_core.registry.citations import PAPERS
from calib_core.text import count, listed, score

Relation: TypeAlias = Literal["equal", "at most", "at least"]
WIDTH = 4.0
"""Standard errors in a tolerance: a hundred true comparisons include a false alarm in one of 160 tables."""
NOTHING = 1e-13
"""Absolute value below which a number is 0 up to rounding."""
ROUNDING = 1e-9
"""Tolerance for rounding of float64 sums without randomness."""


@dataclass(frozen=True)
class ComputedNumber:
    """Number computed here: value, Monte Carlo standard error, and number of runs (0: no randomness)."""

    value: float
    error: float = 0.0
    runs: int = 0


def mean(runs: ArrayLike) -> ComputedNumber:
    """Return the mean over independent runs, with its standard error.

    >>> mean([1.0, 3.0])
    ComputedNumber(value=2.0, error=1.0, runs=2)
    """
    x = np.asarray(runs, dtype=np.float64)
    return ComputedNumber(float(x.mean()), float(x.std(ddof=1) / np.sqrt(len(x))), len(x))


def share(hits: ArrayLike) -> ComputedNumber:
    """Return the share of independent runs with an event; its standard error is never 0.

    >>> share([False] * 100).error
    0.01
    """
    x = np.asarray(hits, dtype=bool)
    p, n = float(x.mean()), len(x)
    return ComputedNumber(p, float(np.sqrt(max(p * (1 - p), 1 / n) / n)), n)


def ratio(over: ArrayLike, under: ArrayLike, paired: bool = False) -> ComputedNumber:
    """Return the ratio of two means over runs, with its standard error by the delta method; ``paired``: same runs.

    >>> ratio([2.0, 2.0], [1.0, 1.0])
    ComputedNumber(value=2.0, error=0.0, runs=2)
    """
    a, b = np.asarray(over, dtype=np.float64), np.asarray(under, dtype=np.float64)
    value = float(a.mean() / b.mean())
    if paired:
        return ComputedNumber(value, float((a - value * b).std(ddof=1) / np.sqrt(len(a)) / b.mean()), len(a))
    first, second = mean(a), mean(b)
    return ComputedNumber(value, value * float(np.hypot(first.error / a.mean(), second.error / b.mean())), len(a))


@dataclass(frozen=True)
class PaperLine:
    """Comparison of one number of a paper with the number computed here.

    ``place`` is its place in the paper: table and row, equation, figure. ``printed`` is the published number, empty if
    the paper shows a curve or states an order. ``target`` is the number for the comparison, and ``relation`` its kind.
    ``tolerance`` follows from the standard errors of both and the last printed digit, as described in ``basis``.
    ``why`` is the known reason for a difference.
    """

    what: str
    place: str
    ours: float
    target: float
    relation: Relation
    tolerance: float
    basis: str
    printed: str = ""
    why: str = ""

    @property
    def apart(self) -> float:
        """Difference between the number computed here and the target."""
        return self.ours - self.target

    @property
    def within(self) -> bool:
        """True if equal within the tolerance, or below (above) a limit by more than the tolerance."""
        room = {
            "equal": self.tolerance - abs(self.apart),
            "at most": -self.tolerance - self.apart,
            "at least": self.apart - self.tolerance,
        }
        return room[self.relation] >= -ROUNDING


def printed(
    what: str,
    place: str,
    number: str,
    ours: ComputedNumber | float,
    *,
    spread: float = 0.0,
    runs: int = 1,
    plus_minus: float = 0.0,
    exact: bool = False,
    relation: Relation = "equal",
    why: str = "",
) -> PaperLine:
    """Return the comparison with a number as printed in the paper.

    The tolerance is four standard errors, of both numbers combined, plus half a unit of the last printed digit. The
    paper's standard error is ``spread`` / sqrt(``runs``) for a mean over runs with that standard deviation. That is
    rounded like the number and may be half a digit more. If the paper prints a 90 % interval it is ``plus_minus`` /
    1.645. A number that is ``exact`` was not rounded, nor is a limit ("at most").

    >>> printed("ECE", "Table 1, row 1", "0.40", 0.404).within, printed("ECE", "Table 1, row 1", "0.40", 0.406).within
    (True, False)
    """
    found = _found(ours)
    digit = 0.5 * 10.0 ** -len(number.partition(".")[2])
    theirs = plus_minus / 1.645 if plus_minus else (spread + digit) / np.sqrt(runs) if spread else 0.0
    error = float(np.hypot(found.error, theirs))
    half = digit if relation == "equal" and not exact else 0.0
    parts = [_sampling(found, theirs)] if error else []
    parts += ["rounding of the printed digits"] if half else []
    basis = listed(parts) or "nothing is random"
    return PaperLine(what, place, found.value, float(number), relation, WIDTH * error + half, basis, number, why)


def stated(
    what: str,
    place: str,
    ours: ComputedNumber | float,
    relation: Relation,
    limit: ComputedNumber | float,
    why: str = "",
) -> PaperLine:
    """Return the comparison with a statement of a paper without a number: an order, a limit, a formula's value.

    >>> stated("a share", "Prop. 4", 0.1, "at most", 0.2).within, stated("a share", "Prop. 4", 0.2, "equal", 0.1).within
    (True, False)
    """
    found, other = _found(ours), _found(limit)
    error = float(np.hypot(found.error, other.error))
    basis = _sampling(found, other.error) if error else "nothing is random"
    return PaperLine(what, place, found.value, other.value, relation, WIDTH * error, basis, "", why)


def _found(ours: ComputedNumber | float) -> ComputedNumber:
    """Convert to a computed number, with rounding errors around 0 removed."""
    found = ours if isinstance(ours, ComputedNumber) else ComputedNumber(float(ours))
    return replace(found, value=0.0) if abs(found.value) < NOTHING else found


def _sampling(found: ComputedNumber, theirs: float) -> str:
    whose = f"{found.runs:,} runs here" if found.runs else "ours without noise"
    return f"four standard errors ({whose}{', and those compared with' if theirs else ''})"


Compare = Callable[[bool, Progress], Sequence[PaperLine]]
"""Function of an entry: ``quick`` or at full size, with progress."""
COLUMNS = ("key", "what", "place", "published", "relation", "target", "ours", "apart", "tolerance", "within", "basis",
           "why")  # fmt: skip
"""Columns of the table of an entry, with one row per comparison."""


@dataclass(frozen=True)
class Reproduction:
    """Reproduced figure, table or statement of a paper.

    ``place`` is its place in the paper. ``seconds`` are the times of its quick run and its full run on one core.
    ``link`` opens it in the dashboard (a query string, empty if no data show it), and ``version`` changes with its
    numbers. ``caption`` describes the method and our choices. ``needs`` is the required input, empty if there is none;
    with an input, ``printed`` returns the published lines. ``also`` are further links, by title.
    """

    key: str
    title: str
    place: str
    compare: Compare
    seconds: tuple[float, float]
    link: str = ""
    version: int = 1
    caption: str = ""
    needs: str = ""
    printed: Callable[[], Sequence[PaperLine]] = tuple
    also: Mapping[str, str] = field(default_factory=dict)

    @property
    def paper(self) -> str:
        """Authors and year."""
        return PAPERS[self.key[:2].upper()]


REPRODUCTIONS: dict[str, Reproduction] = {}
"""Entries by key, which begins with the paper; to add one, decorate its function."""


def reproduction(
    key: str,
    title: str,
    place: str,
    seconds: tuple[float, float],
    link: str = "",
    version: int = 1,
    also: Mapping[str, str] | None = None,
) -> Callable[[Compare], Compare]:
    """Decorate a function as an entry; its docstring is the caption."""

    def add(compare: Compare) -> Compare:
        caption = " ".join(cleandoc(compare.__doc__ or "").split())
        REPRODUCTIONS[key] = Reproduction(key, title, place, compare, seconds, link, version, caption, also=also or {})
        return compare

    return add


def lab_link(experiment: str, truth: str = "") -> str:
    """Return the query string of an experiment of the laboratory, with one sample of its ``truth`` if it has one."""
    law = {"truth": {"key": truth}} if truth else {}
    chosen = [{"key": "lab-curve", "params": law}] if truth else []
    chosen += [{"key": "lab-errors", "params": {"experiment": experiment, **law}}]
    return urlencode({"view": "lab", "exhibits": json.dumps(chosen, separators=(",", ":"))})


def steps(count: int, progress: Progress, start: float = 0.0, end: float = 1.0) -> Iterator[int]:
    """Yield the numbers below ``count``, with progress from ``start`` to ``end``.

    >>> told = []
    >>> list(steps(2, told.append)), told
    ([0, 1], [0, 50, 100])
    """
    for i in range(count):
        progress(int(100 * (start + (end - start) * i / count)))
        yield i
    progress(int(100 * end))


def duration(seconds: float) -> str:
    """Format a duration in words.

    >>> duration(0.1), duration(12), duration(200)
    ('a second or less', 'about 12 seconds', 'about 3 minutes')
    """
    if seconds <= 1:
        return "a second or less"
    return f"about {seconds:.0f} seconds" if seconds < 100 else f"about {seconds / 60:.0f} minutes"


def entry_of(key: str) -> Reproduction:
    """Return an entry by its key; InputError names similar keys and the list of all."""
    if key not in REPRODUCTIONS:
        near = difflib.get_close_matches(key, REPRODUCTIONS, n=3)
        hint = f"; did you mean {' or '.join(map(repr, near))}? The" if near else "; the"
        raise InputError(f"there is no reproduction {key[:80]!r}{hint} command calib reproduce lists all keys")
    return REPRODUCTIONS[key]


def reproduced(key: str, quick: bool = True, progress: Progress | None = None) -> pd.DataFrame:
    """Reproduce one figure, table or statement of a paper, and compare with the published values.

    One row per comparison. Columns:

    - ``what`` is compared, and its ``place`` in the paper (table and row, equation);
    - the ``published`` value as printed (empty for a curve or a statement without a number);
    - ``ours``, its expected ``relation`` to the ``target``, and ``apart`` = ours - target;
    - the ``tolerance``, whether the value is ``within`` it, and its ``basis``;
    - the reason ``why`` for a difference, if known.

    Everything is computed on the call, with fixed seeds; ``quick`` has fewer runs and wider tolerances. ``progress``
    gets the percentage done. Raises InputError for an unknown key. What can mislead: within tolerance means no
    significant difference with this number of runs.

    >>> frame = reproduced("p1-example-1")
    >>> frame[["what", "published", "within"]].values.tolist()[0]
    ['Error of confidences', '0', True]
    """
    found = entry_of(key).compare(quick, progress or (lambda _: None))
    return as_frame(key, found)


def as_frame(key: str, found: Sequence[PaperLine]) -> pd.DataFrame:
    """Table of an entry from its comparisons."""
    lines = [
        (key, c.what, c.place, c.printed, c.relation, c.target, c.ours, c.apart, c.tolerance, c.within, c.basis, c.why)
        for c in found
    ]
    return pd.DataFrame(lines, columns=list(COLUMNS)).astype({"within": bool})


def gallery(key: str = "") -> pd.DataFrame:
    """Return the stored comparisons of ``make reproduce``, for one entry or for all.

    The table is part of the package, so no computation is needed. Its columns are those of ``reproduced``, and
    ``version``, ``size`` ("quick" or "full") and ``seconds`` of the run. An entry that needs files has only its
    published values: ``ours`` is NaN, and none is ``within``. Raises NotAnswerable if the entry has not been run yet,
    and InputError for an unknown key.

    >>> bool(gallery()["place"].ne("").all())
    True
    """
    table = _kept()
    if key:
        entry = entry_of(key)
        if entry.needs:
            unknown: dict[str, Any] = {"tolerance": np.nan, "basis": "", "size": "", "seconds": np.nan}
            return as_frame(key, entry.printed()).assign(version=entry.version, **unknown)
        table = table[table["key"] == key].reset_index(drop=True)
        if table.empty:
            raise NotAnswerable(f"{entry.paper}, {entry.place}, has not been run yet: run it at full size")
    return table.copy()


def overview() -> pd.DataFrame:
    """Return a list of all reproduced figures, tables and statements of the papers, one row each.

    Columns: ``key``, ``paper``, ``place``, ``title``, the number of ``numbers`` compared, of those that agree
    (``within`` their tolerances) and of those that ``differ``. Further columns are ``why``, the required input
    ``needs`` (empty: none), the ``seconds`` of a full run, and the ``link`` that opens it in the dashboard. Numbers are
    NaN for entries that have not been run.

    >>> int(overview().set_index("key").loc["p1-example-1", "differ"])
    0
    """
    by_key = _kept().groupby("key")
    lines = pd.DataFrame(
        [(e.key, e.paper, e.place, e.title, e.needs, e.seconds[1], e.link) for e in REPRODUCTIONS.values()],
        columns=["key", "paper", "place", "title", "needs", "seconds", "link"],
    )
    counts = pd.DataFrame({"numbers": by_key["within"].size(), "within": by_key["within"].sum().astype(float)})
    why = by_key["why"].agg(lambda reasons: "; ".join(dict.fromkeys(filter(None, reasons))))
    lines = lines.join(counts, on="key").join(why, on="key").fillna({"why": ""})
    lines["differ"] = lines["numbers"] - lines["within"]
    order = ["key", "paper", "place", "title", "numbers", "within", "differ", "why", "needs", "seconds", "link"]
    lines = lines.astype({"numbers": float, "within": float, "differ": float})[order]
    return lines.sort_values("paper", key=lambda names: names.map(_PAPERS), kind="stable", ignore_index=True)


_PAPERS = {name: i for i, name in enumerate(PAPERS.values())}
TABLE = "table.tsv"
KEPT = (*COLUMNS, "version", "size", "seconds")
"""Columns of the stored table."""
_TEXT = ("key", "what", "place", "published", "relation", "basis", "why", "size")


@cache
def _kept() -> pd.DataFrame:
    return read_kept(resources.files("calib_core.papers.reproductions").joinpath(TABLE).read_text(encoding="utf-8"))


def read_kept(text: str) -> pd.DataFrame:
    """Read the stored table from its text: one row per comparison, tab-separated columns.

    >>> len(read_kept("\\t".join(KEPT)))
    0
    """
    lines = [line.split("\t") for line in text.splitlines()[1:]]
    table = pd.DataFrame(lines, columns=list(KEPT))
    numbers = {name: pd.to_numeric(table[name]) for name in KEPT if name not in (*_TEXT, "within")}
    return table.assign(**numbers, within=table["within"] == "yes")


def write_kept(table: pd.DataFrame) -> str:
    """Write the text for ``read_kept``, with ten digits and plain whole numbers."""
    rows = [
        [("yes" if value else "no") if name == "within" else value if name in _TEXT else f"{value:.10g}"
         for name, value in zip(KEPT, line, strict=True)]
        for line in table[list(KEPT)].itertuples(index=False)
    ]  # fmt: skip
    return "".join("\t".join(row) + "\n" for row in [list(KEPT), *rows])


HEADINGS = ("Comparison", "Place", "Published", "Expected", "Here", "Difference", "Tolerance", "")
HOW_TO_READ = (
    "Published values are as printed. If a paper shows a curve or states an order, there is no published number, and "
    "the expected relation is equal, at most or at least. Equal means within the tolerance. A limit must be met by "
    "more than the tolerance, so that noise is not the reason. The tolerance is four standard errors of both numbers "
    "plus the rounding of the printed digits."
)
"""Explanation of the columns, for screen and page."""
AGREES, DIFFERS = "agrees", "differs"


def expected(relation: str, target: float) -> str:
    """Expected relation to the target, in words.

    >>> expected("equal", 0.4), expected("at most", 1.0)
    ('0.4', 'at most 1')
    """
    return score(target) if relation == "equal" else f"{relation} {score(target)}"


def page(table: pd.DataFrame) -> str:
    """Return the page for a stored table; entries without results are listed with their required input."""
    lines = ["# Reproductions of the five papers", "", "Written by `make reproduce`.", "", HOW_TO_READ, ""]
    numbers, agreeing = len(table), int(table["within"].sum())
    lines += [f"{count(agreeing)} of {count(numbers)} comparisons agree; the others have a reason below.", ""]
    for entry in REPRODUCTIONS.values():
        found = table[table["key"] == entry.key]
        if len(found):
            lines += _section(entry, found)
    lines += ["## Tables that need predictions of the authors' networks", ""]
    lines += [f"- `calib reproduce {entry.key} --files FOLDER`: {entry.paper}, {entry.place}. {entry.title}."
              for entry in REPRODUCTIONS.values() if entry.needs]  # fmt: skip
    return "\n".join(lines) + "\n"


def _section(entry: Reproduction, found: pd.DataFrame) -> list[str]:
    lines = [f"## {entry.paper}, {entry.place}: {entry.title}", "", entry.caption, ""]
    lines += [_row(HEADINGS), _row(["---"] * len(HEADINGS))]
    for line in found.to_dict("records"):
        how = expected(str(line["relation"]), float(line["target"]))
        numbers = [score(float(line[name])) for name in ("ours", "apart", "tolerance")]
        verdict = AGREES if line["within"] else f"**{DIFFERS}**"
        lines.append(_row([line["what"], line["place"], line["published"] or "–", how, *numbers, verdict]))
    lines += ["", *(f"- {reason[:1].upper()}{reason[1:]}." for reason in dict.fromkeys(found["why"]) if reason)]
    size, seconds = found["size"].iloc[0], float(found["seconds"].iloc[0])
    how = f"`calib reproduce {entry.key}`, {size} size, {seconds:.0f} s."
    return [*lines, *([""] if lines[-1] else []), how + (f" In the dashboard: `?{entry.link}`" * bool(entry.link)), ""]


def _row(cells: list[object] | tuple[str, ...]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
