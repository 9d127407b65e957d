"""First page of a report: accuracy at one confidence, the data card, and limitations."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace

import pandas as pd

from calib_core import NotAnswerable, Recipe
from calib_core.columns.conditions import Slice
from calib_core.defaults import LEVEL
from calib_core.diagrams import LocalAnswer
from calib_core.diagrams.reliability import FEW_ROWS
from calib_core.evaluation.splitting import Division
from calib_core.results.verdict_table import MISCALIBRATED, TOO_CLOSE, TOO_FEW, WITHIN
from calib_core.risk import InTheLarge
from calib_core.text import at_level, begun, called, in_percent, inside, listed, short_percent
from dashboard import session
from dashboard.exhibits import EXHIBITS, doubt_words, line_words
from dashboard.exhibits.hero import Hero, off_elsewhere
from dashboard.exhibits.verdict import VerdictExhibit
from dashboard.report.document import Block, FactList, Headline, Paragraph
from dashboard.report.exhibited import ExhibitParts, shown
from dashboard.report.request import Request
from dashboard.report.sections import for_event
from dashboard.session import Scene, in_sentence

HERO = "hero"
"""Exhibit with the answer."""
AFTER, OF_MANY = 2, 5
"""Number of recalibrated models in the lines below it; one from so many models on: the figure shows them all."""


@dataclass(frozen=True, eq=False)
class HeadlineAnswer:
    """Headline, and the exhibit of its numbers, if there is one."""

    block: Headline
    exhibit: ExhibitParts | None = None


def headline(request: Request) -> Generator[None, None, HeadlineAnswer]:
    """Build the sentence about the original model and its recalibration; otherwise the first verdict.

    Reasons to doubt labels or scores come first below it.
    """
    found = yield from _answer(request)
    doubted = doubt_words.sentences(request.scene)
    return replace(found, block=replace(found.block, below=(*doubted, *found.block.below)))


def _answer(request: Request) -> Generator[None, None, HeadlineAnswer]:
    if HERO in EXHIBITS:
        found = yield from shown(request.selection.exhibit(HERO), request.scene)
        if found.table is not None:
            return HeadlineAnswer(_among(request, _spoken(request, Hero().opening(request.scene))), found)
    return HeadlineAnswer(_among(request, _judged(request)))


def _among(request: Request, block: Headline) -> Headline:
    """Return the headline with the slice named first, if one is selected, and the model, if there are several."""
    within, text = request.selection.source.within, block.text
    if within:
        text = f"Where {Slice.read(within).clause}: {inside(text)}"
    if of_several(request.scene):
        text = f"Model {called(request.scene.titles[0])}: {inside(text)}"
    return replace(block, text=text)


def of_several(scene: Scene) -> bool:
    """Return True if several models are reported, not only one before and after recalibration."""
    return len({model.source for model in scene.models.shown}) > 1


def _spoken(request: Request, answers: dict[str, LocalAnswer]) -> Headline:
    """Return the overview's sentences, model by model."""
    first, own = next(iter(answers.items()))
    most = AFTER if len(request.models.shown) < OF_MANY else 1
    later = [model.title for model in request.models.recalibrated if model.title in answers][:most]
    large = for_event.large_of(request.scene)
    after = [f"After {inside(title)}: {inside(answers[title].headline)}" for title in later]
    small = [f"{title}: {_above(answers[title])}{answers[title].basis}." for title in (first, *later)]
    text = " ".join(filter(None, (own.headline, own.doubt)))
    off = off_elsewhere(request.scene, own)
    errors = (*_errors(request, later), *_other_errors(request.scene, (first, *later)))
    if large is not None:
        if own.gap is not None:  # the test of the very rows of the sentence
            text = f"{text} Such risks are too {'high' if own.gap > 0 else 'low'}."
        after = [" ".join((_expected(large, _proven(request)), *errors)), *after]
    else:
        after = [*after, *errors]
    if off and request.of_event and not later:
        text, small = off, []  # a gap at one risk that is not significant needs the slider that chooses the risk
    elif off:
        text, after = off, [text, *after]
    return Headline(text, tuple(after), " ".join(small))


def _above(answer: LocalAnswer) -> str:
    """Return what the interval in an answer's basis is for, if the answer above it contains this number."""
    return f"{in_percent(answer.right)}, " if answer.enough and not answer.updated else ""


def _proven(request: Request) -> str:
    """Return what the first model's verdict adds to a significant gap of the risk: it can be within the tolerance."""
    try:
        lines = request.scene.get(line_words.primaries(request.scene))
    except NotAnswerable:
        return ""
    first = request.scene.titles[0]
    word = lines[first].line.verdict if first in lines else None
    if word is None or word == MISCALIBRATED:
        return ""
    return ", but within the tolerance" if word == WITHIN else ", but perhaps within the tolerance"


def _expected(large: InTheLarge, proven: str) -> str:
    """Return expected and observed events over all rows, and their direction if test and interval show it."""
    expected, observed = for_event.in_numbers(large.expected), for_event.in_numbers(large.events)
    numbers = f"{expected} events were expected and {observed} observed."
    if not large.differs or large.gap_low <= 0 <= large.gap_high:
        return f"Over all rows, {numbers}"
    return f"Over all rows, predicted risks are too {'high' if large.gap < 0 else 'low'}{proven}: {numbers}"


def _errors(request: Request, later: list[str]) -> tuple[str, ...]:
    """Return the estimated errors behind the verdicts, before and after."""
    try:
        lines = request.scene.get(line_words.primaries(request.scene))
    except NotAnswerable:
        return ()
    first = request.scene.titles[0]
    if first not in lines:
        return ()
    texts = {}
    for title in (first, *later):
        line = lines[title].line if title in lines else None
        if line is not None and line.point is not None:
            most = f" and at most {short_percent(line.high)}" if line.point == 0 and line.high is not None else ""
            texts[title] = f"{short_percent(line.point)}{most}"
    after = [f"after {inside(title)}, {text}" for title, text in texts.items() if title != first]
    between = "risk and observed frequency" if request.of_event else "confidence and accuracy"
    what = f"The calibration error (mean distance of {between})"
    return (f"{what} is estimated at {'; '.join([texts[first], *after])}.",) if first in texts else ()


def _other_errors(scene: Scene, titles: Iterable[str]) -> tuple[str, ...]:
    """Return errors in other measures if the primary one shows none, by model; its name unless it is the first."""
    try:
        found = scene.get(VerdictExhibit().other_errors(scene)).set_index("model")["sentence"]
    except NotAnswerable:
        return ()
    return tuple(
        found[title] if title == scene.titles[0] else f"After {inside(title)}: {inside(found[title])}"
        for title in titles
        if title in found.index
    )


def _judged(request: Request) -> Headline:
    """Return the first model's verdict, if its accuracy at one confidence is unknown."""
    scene = request.scene
    try:
        frame = scene.get(Recipe("EXHIBITS", "verdict").build().table(scene)).set_index("model")
    except NotAnswerable as why:
        return Headline("These rows are too few to say whether the model is calibrated.", (f"{begun(str(why))}.",))
    first, *others = [title for title in scene.titles if title in frame.index]
    after = (f"After {inside(title)}: {frame.loc[title, 'headline']}." for title in others[:AFTER])
    beside = _other_errors(scene, (first, *others[:AFTER]))
    return Headline(f"{first}: {frame.loc[first, 'headline']}.", (*after, *beside))


def terms(request: Request) -> tuple[str, ...]:
    """Return short definitions of the terms in every chapter."""
    level = at_level(LEVEL)
    meant: tuple[str, ...]
    if request.of_event:
        meant = (
            "Calibrated model: the event is as frequent as predicted. For example, among the rows with a risk of 30 %, "
            "30 % have the event.",
            "Calibration error of the risk: the mean distance between predicted risk and observed frequency, over bins "
            "(ranges of the risk). Its name in the tables is ECE, the expected calibration error.",
            "Observed : expected: the number of events divided by the sum of the risks, 1 in a calibrated model. "
            "Intercept: 0 if calibrated, below 0 if risks are too high. Slope: 1 if calibrated, below 1 if high risks "
            "are too high and low ones too low.",
            "Confidence: the probability of the predicted class, here of the event or of its absence.",
        )
        ranked = "a row with the event has a higher risk than a row without it"
    else:
        meant = (
            "Confidence: the probability of the predicted class. Accuracy: the share of correct predictions.",
            "Calibrated model: predictions are right as often as their confidence states. Overconfident: the accuracy "
            "is lower than the confidence.",
            "Calibration error: the mean distance between confidence and accuracy, over bins (ranges of the "
            "confidence). Its name in the tables is ECE, the expected calibration error. Top-label ECE: the same "
            "within each predicted class.",
        )
        ranked = "a correct prediction has higher confidence than a wrong one"
    held_out = (
        ()
        if session.parts(request.scene.sources[0]).note
        else (
            "Held-out rows (test rows): rows on which no calibrator is fitted. All results are for them, unless a text "
            "names other rows.",
        )
    )
    return (
        f"{request.scene.titles[0]}: the predictions as they are in the file. Calibrator: a function that corrects "
        "them. Blend: a weighted average of what several calibrators return. Log-odds: the logarithm of p / (1 - p); "
        "many calibrators shift or scale them.",
        *held_out,
        *meant,
        "Noise: the effect of chance, which is largest where rows are few. Raw value: an error by its formula. Noise "
        "inflates it. Estimate: the error after correction for noise.",
        f"{begun(level)} interval: the range that contains the true value with {level} confidence.",
        "Noise floor: the raw value that a perfectly calibrated model stays below in 95 % of samples.",
        "p: the probability that a perfectly calibrated model shows at least as large an error. Up to 0.05, the error "
        "is called significant.",
        "Tolerance: the largest error that does not matter, as chosen for this report.",
        "Log loss and Brier score: penalties for low probabilities of what happened; lower is better. AUROC: the "
        f"probability that {ranked}.",
    )


LISTED = 3
"""Maximum number of models whose scores are listed individually."""


def card(request: Request) -> Generator[None, None, FactList]:
    """Build the data card: names and facts, each a line or two."""
    scene = request.scene
    source = scene.sources[0]
    file, rows = session.file(source.data), session.parts(source)
    classes = f", {rows.test.n_classes:,} classes" if rows.test.n_classes and not request.of_event else ""
    items = [
        *(for_event.event_facts(scene) if request.of_event else [("Predictions", f"{file.title}{classes}")]),
        ("File", f"{file.table.name}, SHA-256 {file.digest[:8]}"),
        ("Rows", "; ".join(filter(None, (_rows(rows), _split(request))))),
        *([("Only rows with", rows.where)] if rows.where else []),
    ]
    yield None
    if not request.of_event:  # whose scores are with calibration-in-the-large
        items += [(title, text) for title, text in (_score(request, "accuracy"), _score(request, "log-loss")) if text]
    return FactList((*items, *_measure(request)))


def _rows(rows: Division) -> str:
    if rows.undivided:
        return f"{rows.test.n_rows:,} to judge"
    judged = f"{rows.test.n_rows:,}{rows.test.worth_note}"
    return f"{judged}, all judged" if rows.note else f"{rows.fit.n_rows:,} to fit calibrators, {judged} to judge"


def _split(request: Request) -> str:
    """Return how rows are divided; if all are judged, this concerns calibrators only, and is empty without any."""
    source = request.scene.sources[0]
    seeded = f", seed {source.seed}" if session.split_by(source) in ("share", "folds") else ""
    rows = session.parts(source)
    rule = f"{rows.rule}{seeded}".removeprefix("split ")
    if not rows.note or rows.undivided:
        return rule
    return f"calibrators are {rule}" if request.models.recalibrated else ""


def _score(request: Request, key: str) -> tuple[str, str]:
    """Return a score of every model by its name, or once if it is the same for all."""
    scene = request.scene
    try:
        frame: pd.DataFrame = scene.get(Recipe("EXHIBITS", "scores").build().table(scene))
    except NotAnswerable:
        return "", ""
    lines = frame[(frame["estimator"] == key) & frame["point"].notna()].head(LISTED)
    if not len(lines):
        return "", ""
    texts = [_written(key, value) for value in lines["value"]]
    title = str(lines["title"].iloc[0])
    if len(set(texts)) == 1:
        return title, texts[0] + (", the same before and after" if len(texts) > 1 else "")
    return title, "; ".join(f"{model}: {text}" for model, text in zip(lines["model"], texts, strict=True))


def _written(key: str, value: float) -> str:
    return short_percent(value) if key == "accuracy" else f"{value:.3f}"


def _measure(request: Request) -> list[tuple[str, str]]:
    """Return the primary measure, fixed before looking at outcomes, and the tolerance."""
    scene = request.scene
    if request.of_event:
        return for_event.measures(scene)
    within = f"tolerance {short_percent(scene.tolerance)}"
    try:
        line = next(iter(scene.get(line_words.primaries(scene)).values())).line
    except NotAnswerable:
        return [("Measure", within)]
    return [("Measure", f"{line.title} ({line.cells}), fixed before the outcomes were used; {within}")]


HIGH = 0.9
"""Confidence above which a bin with most of the rows leaves few for the others."""
OPEN = (TOO_CLOSE, TOO_FEW)
"""Inconclusive verdicts."""
ELSEWHERE = "Not covered: other data, and errors that cancel within a bin."


def limits(scene: Scene, verdicts: ExhibitParts, stars: ExhibitParts) -> Iterator[Block]:
    """Yield a sentence for each limitation."""
    thin = for_event.limits(scene, stars) if scene.claims == "event" else _thin(scene, stars)
    sentences = [*_open(scene, verdicts), *thin, ELSEWHERE]
    yield Paragraph(" ".join(sentences))


def _open(scene: Scene, verdicts: ExhibitParts) -> Iterator[str]:
    if verdicts.table is None:
        yield f"It is open whether an error is within {short_percent(scene.tolerance)}."
        return
    frame = verdicts.table.frame
    for word in OPEN:
        models = [in_sentence(title) for title in frame.loc[frame["verdict"] == word, "model"]]
        if models:
            within = (
                "is within both tolerances"
                if scene.claims == "event"
                else f"has an error below {short_percent(scene.tolerance)}"
            )
            yield f"It is open whether {listed(models, 'or')} {within} ({word})."


def _thin(scene: Scene, stars: ExhibitParts) -> Iterator[str]:
    """Yield the part of the axis with few rows per bin, for the original model."""
    if stars.table is None:
        return
    every: pd.DataFrame = stars.table.frame
    frame = every[every["model"] == scene.titles[0]]
    few = frame[frame["count"] < FEW_ROWS]
    if len(few):
        n = float(few["count"].sum())
        bins = "1 bin contains" if len(few) == 1 else f"{len(few)} bins contain"
        all_of_them = f"{n:,.0f} {'row' if n == 1 else 'rows'} in all, hollow marks"
        yield f"{bins} fewer than {FEW_ROWS} rows ({all_of_them}): too few to tell the accuracy there."
    total = float(frame["count"].sum())
    top = frame.iloc[-1]
    if top["count"] > total / 2 and top["lower"] >= HIGH:
        rest = f"{total - float(top['count']):,.0f}"
        share, above = short_percent(top["count"] / total), short_percent(top["lower"], 0)
        yield f"{share} of the rows have a confidence above {above}; only {rest} rows have a lower confidence."
