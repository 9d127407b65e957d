"""The answer first: are the models calibrated within the tolerance, as far as these rows can tell?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from calib_core import REDUCTIONS
from dashboard import compute
from dashboard.report import measured, tables
from dashboard.report.asked import Asked
from dashboard.report.document import Block, Bullets, Paragraph
from dashboard.report.tables import Table
from dashboard.theme import count, percent

ESTIMATOR = "ece"


def blocks(asked: Asked) -> Iterator[Block | None]:
    """A verdict for every model, and the numbers it rests on."""
    eps = asked.selection.eps
    lines: list[dict[str, Any]] = []
    said: list[str] = []
    for model in asked.models.shown:
        notion = compute.main_notion(model)
        made = compute.estimate(model, notion, ESTIMATOR, asked.scheme)
        verdict = made.verdict(eps)
        lines.append(
            {"model": model.title, "notion": REDUCTIONS[notion].title, **measured.line(made), "verdict": verdict.word}
        )
        said.append(f"{model.title}: {verdict.sentence}")
        yield None
    test = compute.judged(asked.models.shown[0])
    yield Paragraph(
        f"Judged on {count(test.n_rows)} test rows{test.worth_note} that no calibrator was fitted on; accuracy of the "
        f"base model {percent(test.accuracy)}. Tolerance: an expected calibration error of {eps:g}.",
        lead="Question. Do the probabilities mean what they say?",
    )
    yield Bullets(tuple(said))
    frame = pd.DataFrame(lines)
    yield Table(
        "verdicts",
        f"Verdict for a tolerance of {eps:g}; {asked.binned}. {measured.READING}",
        frame,
        (tables.text("model"), tables.text("notion"), *measured.columns(frame), tables.text("verdict")),
    )
    yield Paragraph(
        "Within: the upper end of the interval is below the tolerance. Miscalibrated: the error stands out of the "
        "noise (p at most 0.05) and the interval lies above 0. Not shown: these rows do not tell, which does not mean "
        "calibrated.",
        aside=True,
    )
    for model, why in asked.models.refused:
        yield Paragraph(f"{why}.", lead=f"{model.title} is not reported.")
