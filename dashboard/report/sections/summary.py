"""The answer first: are the models calibrated within the tolerance, as far as these rows can tell?"""

from __future__ import annotations

from collections.abc import Iterator

from calib_core import Recipe
from calib_core._text import count
from calib_core._text import percent as of_rows
from calib_core.inference.number_words import percent
from dashboard.report import exhibited
from dashboard.report.document import Block, Paragraph
from dashboard.report.request import Request
from dashboard.session import scene_of


def blocks(request: Request) -> Iterator[Block | None]:
    """What was judged, a verdict for every model on its primary line, and the lines beside it."""
    scene = scene_of(request.selection)
    test = scene.get(scene.models.shown[0].predictions)
    yield Paragraph(
        f"Judged on {count(test.n_rows)} test rows{test.worth_note} that no calibrator was fitted on; accuracy of the "
        f"base model {of_rows(test.accuracy)}. Tolerance: a calibration error of {percent(scene.tolerance)}; "
        f"{request.binned}.",
        lead="Question. Do the probabilities mean what they say?",
    )
    yield from exhibited.blocks(Recipe("EXHIBITS", "verdict"), scene, name="verdicts", title=None)
    yield from exhibited.blocks(Recipe("EXHIBITS", "notions"), scene)
    for model, why in scene.models.refused:
        yield Paragraph(f"{why}.", lead=f"{model.title} is not reported.")
