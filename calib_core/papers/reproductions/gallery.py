"""Figures and tables of the five papers that can be made here: each declared once, run when asked, kept as a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from inspect import cleandoc
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pandas as pd

from calib_core._base.errors import InputError, NotAnswerable
from calib_core._base.parallel import Progress
from calib_core.papers.reproductions.paper_lines import PaperLine
from calib_core.registry.citations import PAPERS

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
