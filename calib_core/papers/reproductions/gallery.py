"""Figures and tables of the five papers that can be made here: each declared once, run when asked, kept as a table."""

from __future__ import annotations

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
from calib_core.text import count, score

Relation: TypeAlias = Literal["equal", "at most", "at least"]
WIDTH = 4.0
"""Standard errors that a tolerance allows: one table in 160 of a hundred that agree shows a line that does not."""
NOTHING = 1e-13
"""Below this a number is rounding of exactly none."""
ROUNDING = 1e-9
"""Allowed for rounding of float64 sums where nothing is random."""


@dataclass(frozen=True)
class ComputedNumber:
    """A number computed here: its value, its Monte-Carlo standard error, and over how many runs (0: nothing random)."""

    value: float
    error: float = 0.0
    runs: int = 0


def mean(runs: ArrayLike) -> ComputedNumber:
    """The mean over independent runs, with its standard error.

    >>> mean([1.0, 3.0])
    ComputedNumber(value=2.0, error=1.0, runs=2)
    """
    x = np.asarray(runs, dtype=np.float64)
    return ComputedNumber(float(x.mean()), float(x.std(ddof=1) / np.sqrt(len(x))), len(x))


def share(hits: ArrayLike) -> ComputedNumber:
    """The share of independent runs in which something happened; its standard error is never that of no doubt.

    >>> share([False] * 100).error
    0.01
    """
    x = np.asarray(hits, dtype=bool)
    p, n = float(x.mean()), len(x)
    return ComputedNumber(p, float(np.sqrt(max(p * (1 - p), 1 / n) / n)), n)


def ratio(over: ArrayLike, under: ArrayLike, paired: bool = False) -> ComputedNumber:
    """The ratio of two means over runs, its standard error by the delta method; ``paired``: of the same runs.

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
    """One number of a paper beside ours.

    ``place`` is where the paper has it: table and row, equation, figure. ``printed`` is the number as it stands there,
    empty where the paper shows a curve or states an order; ``target`` is what ours is compared with, ``relation`` how.
    ``tolerance`` is made from the standard errors of both and the last digit printed, and ``basis`` says so. ``why`` is
    the known reason for a difference.
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
        """Ours less what it is compared with."""
        return self.ours - self.target

    @property
    def within(self) -> bool:
        """Equal to within the tolerance; or below (above) a limit by more than it, so that noise is not the reason."""
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
    """Ours beside a number that the paper prints, given as it stands there.

    The tolerance is four standard errors, of ours and the paper's together, and half a unit of the last digit printed.
    The paper's is ``spread`` / sqrt(``runs``) for a mean over runs of that standard deviation, which is rounded as the
    number is and may be half a digit more, or ``plus_minus`` / 1.645
    where it prints a 90 % interval. A number that is ``exact`` was not rounded, nor is a limit ("at most").

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
    basis = " and ".join(parts) or "nothing is random"
    return PaperLine(what, place, found.value, float(number), relation, WIDTH * error + half, basis, number, why)


def stated(
    what: str,
    place: str,
    ours: ComputedNumber | float,
    relation: Relation,
    limit: ComputedNumber | float,
    why: str = "",
) -> PaperLine:
    """Ours beside what a paper states without a number of its own: an order, a limit, a formula's value.

    >>> stated("a share", "Prop. 4", 0.1, "at most", 0.2).within, stated("a share", "Prop. 4", 0.2, "equal", 0.1).within
    (True, False)
    """
    found, other = _found(ours), _found(limit)
    error = float(np.hypot(found.error, other.error))
    basis = _sampling(found, other.error) if error else "nothing is random"
    return PaperLine(what, place, found.value, other.value, relation, WIDTH * error, basis, "", why)


def _found(ours: ComputedNumber | float) -> ComputedNumber:
    """A number as one that was found; rounding of what is exactly nothing is taken off."""
    found = ours if isinstance(ours, ComputedNumber) else ComputedNumber(float(ours))
    return replace(found, value=0.0) if abs(found.value) < NOTHING else found


def _sampling(found: ComputedNumber, theirs: float) -> str:
    whose = f"{found.runs:,} runs here" if found.runs else "ours without noise"
    return f"four standard errors ({whose}{', and those compared with' if theirs else ''})"


Compare = Callable[[bool, Progress], Sequence[PaperLine]]
"""What an entry does: ``quick`` or at the full size, telling how far it is."""
COLUMNS = ("key", "what", "place", "published", "relation", "target", "ours", "apart", "tolerance", "within", "basis",
           "why")  # fmt: skip
"""Columns of the table of an entry, a line a comparison."""


@dataclass(frozen=True)
class Reproduction:
    """A figure, table or statement of a paper that is made again here.

    ``place`` is where it stands in the paper; ``seconds`` what its quick run and its full run take on one core;
    ``link`` opens it in the dashboard (a query string, empty where no data show it); ``version`` changes when it would
    find other numbers; ``caption`` says what is done, and what of it is ours; ``needs`` what has to be given, empty
    where it runs as it is; then ``printed`` makes the lines of what is published. ``also`` are further links, by what
    they show.
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
"""Every entry by its key, which begins with its paper; to add one, write its function and decorate it."""


def reproduction(
    key: str,
    title: str,
    place: str,
    seconds: tuple[float, float],
    link: str = "",
    version: int = 1,
    also: Mapping[str, str] | None = None,
) -> Callable[[Compare], Compare]:
    """Decorator that adds an entry; the function's docstring says what it does."""

    def add(compare: Compare) -> Compare:
        caption = " ".join(cleandoc(compare.__doc__ or "").split())
        REPRODUCTIONS[key] = Reproduction(key, title, place, compare, seconds, link, version, caption, also=also or {})
        return compare

    return add


def lab_link(experiment: str, truth: str = "") -> str:
    """The query string that opens an experiment of the laboratory, and one sample of its ``truth`` where it has one."""
    law = {"truth": {"key": truth}} if truth else {}
    chosen = [{"key": "lab-curve", "params": law}] if truth else []
    chosen += [{"key": "lab-errors", "params": {"experiment": experiment, **law}}]
    return urlencode({"view": "lab", "exhibits": json.dumps(chosen, separators=(",", ":"))})


def steps(count: int, progress: Progress, start: float = 0.0, end: float = 1.0) -> Iterator[int]:
    """The numbers below ``count``, telling before each how much is done of the part from ``start`` to ``end``.

    >>> told = []
    >>> list(steps(2, told.append)), told
    ([0, 1], [0, 50, 100])
    """
    for i in range(count):
        progress(int(100 * (start + (end - start) * i / count)))
        yield i
    progress(int(100 * end))


def duration(seconds: float) -> str:
    """How long something takes, in words.

    >>> duration(0.1), duration(12), duration(200)
    ('a second or less', 'about 12 seconds', 'about 3 minutes')
    """
    if seconds <= 1:
        return "a second or less"
    return f"about {seconds:.0f} seconds" if seconds < 100 else f"about {seconds / 60:.0f} minutes"


def entry_of(key: str) -> Reproduction:
    """An entry by its key; InputError names those there are."""
    if key not in REPRODUCTIONS:
        raise InputError(f"there is no reproduction {key[:80]!r}; those there are: {', '.join(REPRODUCTIONS)}")
    return REPRODUCTIONS[key]


def reproduced(key: str, quick: bool = True, progress: Progress | None = None) -> pd.DataFrame:
    """One figure, table or statement of a paper made again: what is published, what is found here, how far apart.

    One line a comparison: ``what`` is compared, ``place`` in the paper (table and row, equation), ``published`` as it
    is printed (empty where a curve or a statement has no number), ``ours``, how it should be (``relation``) to the
    ``target``, ``apart`` = ours - target, the ``tolerance``, whether it is ``within`` it, the tolerance's ``basis``,
    and ``why`` it differs where that is known. Everything is computed when this is called, with fixed seeds; ``quick``
    takes fewer runs, and wider tolerances follow from them. ``progress`` is told percent. InputError where no entry has
    this key. What can mislead: within tolerance means not told apart from what is printed, by so many runs.

    >>> frame = reproduced("p1-example-1")
    >>> frame[["what", "published", "within"]].values.tolist()[0]
    ['Error of confidences', '0', True]
    """
    found = entry_of(key).compare(quick, progress or (lambda _: None))
    return as_frame(key, found)


def as_frame(key: str, found: Sequence[PaperLine]) -> pd.DataFrame:
    """Comparisons as the table of an entry."""
    lines = [
        (key, c.what, c.place, c.printed, c.relation, c.target, c.ours, c.apart, c.tolerance, c.within, c.basis, c.why)
        for c in found
    ]
    return pd.DataFrame(lines, columns=list(COLUMNS)).astype({"within": bool})


def gallery(key: str = "") -> pd.DataFrame:
    """Published values beside ours as ``make reproduce`` found them, for one entry or for all.

    The table is part of the package, so that it is there at once; its columns are those of ``reproduced``, and
    ``version``, ``size`` ("quick" or "full") and ``seconds`` of the run. An entry that needs files, given by its
    key, has its published values alone: ``ours`` is NaN, and none is ``within``. NotAnswerable where the entry has not
    been run yet; InputError where there is none of this key.

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
    """Every figure, table and statement of the papers that is made again here, one line each.

    Columns: ``key``, ``paper``, ``place``, ``title``, how many ``numbers`` are compared, how many agree (``within``
    their tolerances), how many differ (``differ``), ``why``, what it ``needs`` (empty: nothing), the ``seconds`` a full
    run takes, and the ``link`` that opens it in the dashboard. Numbers are NaN for what has not been run.

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
"""Columns of the kept table."""
_TEXT = ("key", "what", "place", "published", "relation", "basis", "why", "size")


@cache
def _kept() -> pd.DataFrame:
    return read_kept(resources.files("calib_core.papers.reproductions").joinpath(TABLE).read_text(encoding="utf-8"))


def read_kept(text: str) -> pd.DataFrame:
    """The kept table from its text: a line a comparison, tabs between the columns.

    >>> len(read_kept("\\t".join(KEPT)))
    0
    """
    lines = [line.split("\t") for line in text.splitlines()[1:]]
    table = pd.DataFrame(lines, columns=list(KEPT))
    numbers = {name: pd.to_numeric(table[name]) for name in KEPT if name not in (*_TEXT, "within")}
    return table.assign(**numbers, within=table["within"] == "yes")


def write_kept(table: pd.DataFrame) -> str:
    """The text that ``read_kept`` reads: numbers in ten digits, whole ones plain."""
    rows = [
        [("yes" if value else "no") if name == "within" else value if name in _TEXT else f"{value:.10g}"
         for name, value in zip(KEPT, line, strict=True)]
        for line in table[list(KEPT)].itertuples(index=False)
    ]  # fmt: skip
    return "".join("\t".join(row) + "\n" for row in [list(KEPT), *rows])


HEADINGS = ("Compared", "Place", "Published", "Should be", "Ours", "Apart", "Tolerance", "")
HOW_TO_READ = (
    "Published stands as it is printed; where a paper shows a curve or states an order, there is none, and what is "
    "stated is computed as it should be: equal, at most, at least. Equal means to within the tolerance; a limit has to "
    "be kept by more than the tolerance, so that noise is not the reason. The tolerance is four standard errors of "
    "both numbers and the rounding of the printed digits."
)
"""What the columns mean, for screen and page."""
AGREES, DIFFERS = "agrees", "differs"


def expected(relation: str, target: float) -> str:
    """How ours should be, in words.

    >>> expected("equal", 0.4), expected("at most", 1.0)
    ('0.4', 'at most 1')
    """
    return score(target) if relation == "equal" else f"{relation} {score(target)}"


def page(table: pd.DataFrame) -> str:
    """The page for a kept table; entries that were not run are left to what they need."""
    lines = ["# The five papers made again", "", "Written by `make reproduce`.", "", HOW_TO_READ, ""]
    numbers, agreeing = len(table), int(table["within"].sum())
    lines += [f"{count(agreeing)} of {count(numbers)} comparisons agree; each that does not has its reason below.", ""]
    for entry in REPRODUCTIONS.values():
        found = table[table["key"] == entry.key]
        if len(found):
            lines += _section(entry, found)
    lines += ["## What needs predictions of the authors' networks", ""]
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
