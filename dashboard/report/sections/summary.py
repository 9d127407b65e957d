"""Verdict: the answer in a sentence, errors on one axis, the diagram, the data, and the limitations."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from calib_core import InputError, Recipe
from calib_core.text import begun, called, inside
from dashboard.exhibits import doubt_words, event_words
from dashboard.exhibits.findings import Findings
from dashboard.exhibits.line_words import WORDS
from dashboard.exhibits.recommendation import Recommendation
from dashboard.exhibits.risk import GIVEN, MEASURES
from dashboard.report import exhibited
from dashboard.report.document import Beside, Block, Bullets, Folded, Heading, Headline, Paragraph
from dashboard.report.exhibited import NUMBERS, ExhibitParts, shown
from dashboard.report.request import Request
from dashboard.report.sections import for_event, front_page
from dashboard.report.sections.front_page import card, headline, limits, of_several
from dashboard.session import Scene

OVERLAID = 2
"""Number of models in the diagram next to the data card; the others are in the chapter on reliability."""
LISTED = 1
"""Number of sentences about significant bins; the others are in the chapter on reliability."""


def blocks(request: Request) -> Iterator[Block | None]:
    """Yield page one, in the order of a reader with ten seconds; its numbers are collapsed."""
    answers: dict[str, ExhibitParts] = {}
    hero = yield from _answer(request, answers)
    yield hero
    scene, titles = request.scene, request.scene.titles
    few = scene.among(scene.models.shown[:OVERLAID])
    verdicts = yield from shown(Recipe("EXHIBITS", "verdict"), scene, "verdicts")
    # The two axes of an event need twice the room: there the verdicts of further models are on page two.
    all_first = not request.of_event or len(titles) <= OVERLAID
    first_ones = verdicts if all_first else (yield from shown(Recipe("EXHIBITS", "verdict"), few, "verdicts-first"))
    yield from _strip(first_ones, "Verdict" if request.of_event else "Calibration error")
    stars = yield from shown(request.selection.exhibit("reliability"), few)
    facts = (Heading("Data card"), (yield from card(request)))
    cannot = (Heading("Limitations"), *limits(scene, verdicts, stars))
    heading = Heading(_diagram(scene))
    places, first = Findings(), scene.focused(model=titles[0])
    # Counts of a summary do not show where: the other parts of the page are shown without it.
    found = [] if first.refusal(places.table(first)) else places.worst(first, LISTED)["finding"].tolist()
    repeated = any(inside(text.rpartition(" (")[0]) in hero.text for text in found)
    worst: tuple[Block, ...] = (Heading("Main findings"), Paragraph(" ".join(found))) if found and not repeated else ()
    step = _next_step(scene)
    # With a second model the page has no room for both, nor for the finding in an event's diagram; the next chapter
    # opens with the significant bins.
    worst = step if step and len(titles) > 1 else (*step, *worst)
    if request.of_event and len(titles) > 1:
        stars = replace(stars, finding=())
    # The narrow column has the measures of an event, and otherwise the facts.
    measures = tuple(_large(request))
    given = [Paragraph(GIVEN, aside=True)] if measures else []
    diagram = (heading, *(stars.drawn("main") or stars.everything), *given)
    narrow, left = (measures, facts) if measures else (facts, worst)
    yield Beside(diagram, narrow, main=True)
    yield from [Beside(left, cannot, worst if measures else ())] if left else cannot
    yield Folded(NUMBERS, tuple(block for found in (*answers.values(), stars) for block in found.numbers))
    yield Heading("Terms used in this report", page=True)
    yield Bullets(front_page.terms(request), small=True)
    yield Heading("Basis of the verdicts")
    yield from _basis(verdicts, scene.titles, all_first)
    if request.of_event:
        large = yield from shown(Recipe("EXHIBITS", "in-the-large"), scene)
        yield from exhibited.folded(large, width="full")
    # On paper those of every model are in the table of all errors.
    yield from exhibited.folded((yield from shown(Recipe("EXHIBITS", "notions"), scene)))
    for model, why in request.models.refused:
        yield Paragraph(f"{begun(str(why))}.", lead=f"{model.title} is not reported.")


BASIS = (
    "A verdict compares the interval of the error with the tolerance. The raw value is the same error before the "
    "correction for noise; it does not decide. A name in parentheses after p is that of the tested error."
)
"""Explanation of the columns of the verdicts' table."""


def _basis(verdicts: ExhibitParts, titles: Sequence[str], drawn: bool) -> Iterator[Block]:
    """Yield what the four verdicts mean, then the table and a paragraph for each model; the figure if not ``drawn``."""
    parts = (verdicts.numbers if drawn else verdicts.everything) or verdicts.everything
    if verdicts.table is not None:
        yield Paragraph(BASIS, aside=True)
        yield Bullets(tuple(re.split(r"(?<=\.) (?=Miscalibrated|Too )", WORDS)), small=True)
    for part in parts:
        if not isinstance(part, Paragraph) or part.text != WORDS:
            yield _led(part, titles)


def _led(part: Block, titles: Sequence[str]) -> Block:
    """Return a paragraph that begins with a model's name with this name in bold."""
    if isinstance(part, Paragraph) and not part.lead:
        for title in titles:
            if part.text.startswith(f"{title}. "):
                return replace(part, text=part.text.removeprefix(f"{title}. "), lead=f"{title}.")
    return part


def _next_step(scene: Scene) -> tuple[Block, ...]:
    """Return the advice in a sentence, if it is known or quickly found; none if labels or scores are doubted."""
    exhibit = Recommendation.suited(scene)
    if doubt_words.rules_out_advice(scene) or not exhibit.quick(scene):
        return ()
    try:
        found = scene.get(exhibit.found(scene))
    except InputError:
        return ()
    sentence, *_ = exhibit.advice(scene, found)
    despite = "" if found.recalibrate else event_words.beside_advice(scene)
    return (Heading(_lead(scene)), Paragraph(" ".join(filter(None, (sentence, despite)))))


def _lead(scene: Scene) -> str:
    """Name the model of the advice if several are reported."""
    return f"Next step for model {called(scene.titles[0])}" if of_several(scene) else "Next step"


def _answer(request: Request, answers: dict[str, ExhibitParts]) -> Generator[None, None, Headline]:
    """Build the sentence; its exhibit is stored for its numbers."""
    found = yield from headline(request)
    if found.exhibit is not None:
        answers["hero"] = found.exhibit
    return found.block


def _diagram(scene: Scene) -> str:
    """Return the heading of the reliability diagram."""
    if scene.claims != "event":
        return "Confidence and accuracy"
    return f"Predicted risk and observed frequency of {called(event_words.of_scene(scene))}"


def _large(request: Request) -> Iterator[Block]:
    """Yield calibration-in-the-large of the first model, if there is an event."""
    lines = for_event.in_the_large(request.scene) if request.of_event else None
    if lines is not None:
        several = len(request.scene.titles) > 1
        yield Heading(f"{MEASURES}{f': {request.scene.titles[0]}' if several else ''}")
        yield lines


def _strip(verdicts: ExhibitParts, title: str) -> Iterator[Block]:
    """Yield every model's error next to the tolerance, or a table if it cannot be drawn."""
    yield Heading(title)
    if verdicts.figure is not None:
        yield from verdicts.drawn()
    elif verdicts.refused:
        yield verdicts.refused
