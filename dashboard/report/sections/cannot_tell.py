"""Limitations of a report's rows: open verdicts, thin bins, and other data."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from calib_core.figures.marks import FEW_ROWS
from calib_core.results.verdict_table import TOO_CLOSE, TOO_FEW
from calib_core.text import short_percent
from dashboard.report.document import Block, Paragraph
from dashboard.report.exhibited import ExhibitParts
from dashboard.report.sections import for_event
from dashboard.session import Scene

HIGH = 0.9
"""From here on a bin that holds most rows leaves little to judge the others by."""
OPEN = (TOO_CLOSE, TOO_FEW)
"""Verdicts that leave the question open."""
ELSEWHERE = "Data of another kind, and errors that cancel within a bin, are not judged."


def limits(scene: Scene, verdicts: ExhibitParts, stars: ExhibitParts) -> Iterator[Block]:
    """A sentence for each thing that stays open."""
    thin = for_event.limits(scene, stars) if scene.claims == "event" else _thin(scene, stars)
    sentences = [*_open(scene, verdicts), *thin, ELSEWHERE]
    yield Paragraph(" ".join(sentences))


def _open(scene: Scene, verdicts: ExhibitParts) -> Iterator[str]:
    if verdicts.table is None:
        yield f"Whether an error is within {short_percent(scene.tolerance)}."
        return
    frame = verdicts.table.frame
    for word in OPEN:
        models = frame.loc[frame["verdict"] == word, "model"].tolist()
        if models:
            within = (
                "is within both tolerances"
                if scene.claims == "event"
                else f"errs by less than {short_percent(scene.tolerance)}"
            )
            yield f"Whether {_listed(models)} {within}: {word}."


def _thin(scene: Scene, stars: ExhibitParts) -> Iterator[str]:
    """How much of the axis rests on bins of few rows, for the model before recalibration."""
    if stars.table is None:
        return
    every: pd.DataFrame = stars.table.frame
    frame = every[every["model"] == scene.titles[0]]
    few = frame[frame["count"] < FEW_ROWS]
    if len(few):
        n = float(few["count"].sum())
        bins = "1 bin holds" if len(few) == 1 else f"{len(few)} bins hold"
        all_of_them = f"{n:,.0f} {'row' if n == 1 else 'rows'} in all, hollow marks"
        yield f"{bins} fewer than {FEW_ROWS} rows ({all_of_them}): too few to say how often it is right there."
    total = float(frame["count"].sum())
    top = frame.iloc[-1]
    if top["count"] > total / 2 and top["lower"] >= HIGH:
        rest = f"{total - float(top['count']):,.0f}"
        above = f"{short_percent(top['count'] / total)} of the rows say above {short_percent(top['lower'], 0)}"
        yield f"{above}; all lower confidence rests on the other {rest}."


def _listed(models: list[str]) -> str:
    return models[0] if len(models) == 1 else f"{', '.join(models[:-1])} or {models[-1]}"
