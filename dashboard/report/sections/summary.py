"""The answer first: are the models calibrated within the tolerance, as far as these rows can tell?"""

from __future__ import annotations

from collections.abc import Iterator

from calib_core import Estimate, InputError
from calib_core._text import count
from calib_core._text import percent as of_rows
from calib_core.inference import EstimateLine, PrimaryLine
from calib_core.inference.number_words import percent
from dashboard import compute
from dashboard.lines import WORDS
from dashboard.report import measured, tables
from dashboard.report.asked import Asked
from dashboard.report.document import Block, Bullets, Paragraph
from dashboard.report.tables import Table
from dashboard.session import Model

ESTIMATOR = "ece"
NOTIONS = ("top-label", "confidence", "class-wise")
"""What a verdict is about beside the primary line, each alone."""


def blocks(asked: Asked) -> Iterator[Block | None]:
    """A verdict for every model on its primary line, whether any error is shown, and the lines beside it."""
    models: list[str] = []
    lines: list[EstimateLine] = []
    primary: list[int] = []
    said: list[str] = []
    for model in asked.models.shown:
        try:
            first = compute.primary(model, asked.selection)
        except InputError as reason:
            said.append(f"{model.title}: no verdict could be made: {reason}.")
            continue
        said.append(f"{model.title}: {first.sentence}")
        yield None
        primary.append(len(lines))
        of_model = [first.line, *_beside(asked, model, first)]
        models += [model.title] * len(of_model)
        lines += of_model
        yield None
    test = compute.judged(asked.models.shown[0])
    yield Paragraph(
        f"Judged on {count(test.n_rows)} test rows{test.worth_note} that no calibrator was fitted on; accuracy of the "
        f"base model {of_rows(test.accuracy)}. Tolerance: a calibration error of {percent(asked.selection.eps)}.",
        lead="Question. Do the probabilities mean what they say?",
    )
    yield Bullets(tuple(said))
    frame = measured.framed(lines, model=models)
    yield Table(
        "verdicts",
        f"Verdicts for a tolerance of {percent(asked.selection.eps)}; {asked.binned}. Bold: the line that decides, "
        "chosen before outcomes are looked at; the others stand beside it. "
        f"{measured.READING}{measured.reading(lines)}",
        frame,
        (tables.text("model"), tables.text("error", "title"), *measured.columns(frame), measured.VERDICT),
        bold=tuple(primary),
    )
    yield Paragraph(WORDS, aside=True)
    for model, why in asked.models.refused:
        yield Paragraph(f"{why}.", lead=f"{model.title} is not reported.")


def _beside(asked: Asked, model: Model, first: PrimaryLine) -> list[EstimateLine]:
    """The same error in the other notions that the model answers."""
    made = (measured.estimated(asked, model, notion, ESTIMATOR) for notion in NOTIONS if notion != first.notion)
    return [compute.line(one, asked.selection) for one in made if isinstance(one, Estimate)]
