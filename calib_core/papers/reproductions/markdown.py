"""The kept table for readers: a page of Markdown, an entry a section."""

from __future__ import annotations

import pandas as pd

from calib_core.papers.reproductions.gallery import REPRODUCTIONS, Reproduction
from calib_core.text import count, score

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
