"""The eight stops as data: a question, its answer for the rows on show, what to try, the state of the page, the terms.

Every number in an answer is computed from the example when it is shown, by the same calls as the pictures, once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import calib_core as cc
from calib_core import Recipe
from calib_core.defaults import LEVEL, SIGNIFICANCE
from calib_core.text import called, count, in_percent, short_percent
from dashboard import session
from dashboard.exhibits import event_words, line_words
from dashboard.exhibits.estimators import Sweep
from dashboard.exhibits.slices import BySlice
from dashboard.exhibits.stars import bin_of, stars
from dashboard.exhibits.verdict import Overall
from dashboard.selection import Selection
from dashboard.session import Scene, call


@dataclass(frozen=True)
class Stop:
    """Stop of the tour: ``answer`` returns a few sentences, ``look`` suggests what to try, ``terms`` explain.

    ``choices`` are those of the page that differ from the defaults.
    """

    title: str
    question: str
    answer: Callable[[Scene], str]
    look: str
    terms: tuple[str, ...]
    choices: Mapping[str, Any]

    @cached_property
    def selection(self) -> Selection:
        """Return the state of the page."""
        return Selection().replace(**self.choices)

    @property
    def words(self) -> str:
        """Return the answer, with the numbers of this example."""
        return self.answer(session.scene_of(self.selection))


def _diagram(scene: Scene) -> str:
    frame = scene.get(stars(scene)).frame()
    star = frame[frame["bin"] == bin_of(scene)].iloc[0]
    return (
        f"Every star is a group of rows. The marked one has {count(int(star['count']))}: their mean confidence is "
        f"{in_percent(star['confidence'])}, their accuracy {in_percent(star['accuracy'])}. On the dashed line the two "
        "agree; below it the model is overconfident."
    )


def _blind(scene: Scene) -> str:
    gap = next(iter(Overall().gaps(scene).values()))
    every = scene.get(gap)
    found = scene.get(call(cc.diagrams.classes_standing_out, scene.model.predictions))
    classes = sorted(zip(found.code, found.names, found.right, strict=True))
    shares = [(called(name), in_percent(right)) for _, name, right in classes]
    (first, few), (second, many) = shares[0], shares[-1]
    return (
        f"The star is on the line: confidence is {in_percent(every.claimed)}, accuracy {in_percent(every.right)}. Yet "
        f"of the rows predicted {first}, {few} are right, and of those predicted {second}, {many}. The errors cancel: "
        "confidence calibration cannot see them."
    )


def _chance(scene: Scene) -> str:
    primary = scene.get(line_words.primaries(scene))[scene.model.title]
    noise, other = primary.estimate.noise_floor, primary.shown
    rows = scene.get(scene.model.predictions).n_rows
    return (
        f"The raw error is {short_percent(noise.observed)}. But on {count(rows)} rows a perfectly calibrated "
        f"model with the same predictions shows {short_percent(noise.mean)} on average, by chance only. One in "
        f"twenty such models shows more than {short_percent(noise.high)}."
        + (
            " Spiegelhalter's test, which needs no bins, still finds some error."
            if other.p_value <= SIGNIFICANCE
            else ""
        )
    )


def _bins(scene: Scene) -> str:
    frame = scene.get(Sweep().table(scene))
    few, many = (frame[frame["notion"] == "confidence"].sort_values("bins").iloc[i] for i in (0, -1))
    return (
        f"The same rows and the same model: the confidence error is {short_percent(few['value'])} in {few['bins']} "
        f"bins and {short_percent(many['value'])} in {many['bins']}. Smaller groups scatter more, and scatter counts "
        f"as error. The noise floor grows too, from {short_percent(few['floor'])} to {short_percent(many['floor'])}. "
        "Compare errors only in the same bins."
    )


def _moved(scene: Scene) -> str:
    rows = [scene.model.predictions, session.Model(scene.model.source, _TEMPERATURE).predictions]
    before, after = (scene.get(call(cc.diagrams.overall_gap, each, notion="confidence")) for each in rows)
    errors = [scene.get(call(cc.estimate, each, "confidence")).value for each in rows]
    return (
        f"The mean confidence of this model is {in_percent(before.claimed)}, its accuracy {in_percent(before.right)}. "
        "Temperature scaling divides all logits by one number, fitted on other rows. The mean confidence becomes "
        f"{in_percent(after.claimed)}, and no predicted class changes. The raw confidence error changes from "
        f"{short_percent(errors[0])} to {short_percent(errors[1])}."
    )


def _promised(scene: Scene) -> str:
    model = next(model for model in scene.models.recalibrated if scene.get(model.fitted).guarantee(1 - LEVEL).holds)
    bound = scene.get(model.fitted).guarantee(1 - LEVEL)["conditional"]
    measured = scene.get(call(cc.estimate, model.predictions, "top-label"))
    return (
        f"Histogram binning has a guarantee for any data: in {in_percent(LEVEL)} of all fits, its top-label error on "
        f"new rows of the same kind is at most {short_percent(bound.eps)}. That is the worst case; on these rows the "
        f"raw error is {short_percent(measured.value)}. Temperature scaling has no guarantee: only held-out rows can "
        "judge it."
    )


def _event(scene: Scene) -> str:
    found = scene.get(event_words.in_the_large(scene))
    predicted, observed = event_words.predicted_and_observed(found)
    event = called(event_words.of_scene(scene))
    return (
        f"A file of two classes has an event, here {event}. By default every page compares the predicted risk of the "
        f"event with its observed frequency: here the mean risk is {predicted}, and the event is observed in "
        f"{observed} of the rows."
    )


def _sites(scene: Scene) -> str:
    found = scene.get(event_words.in_the_large(scene))
    observed, expected = round(found.events), round(found.expected)
    line = scene.get(BySlice("hospital").lines(scene)).iloc[0]
    return (
        f"Over all {count(round(found.rows))} rows, {count(observed)} deaths were observed and {count(expected)} "
        f"expected. Where {line['slice'].replace(' = ', ' is ')}, the mean risk is {in_percent(line['claimed'])}, and "
        f"{in_percent(line['right'])} died. Errors can cancel, so a fine total does not show that each hospital is "
        "fine."
    )


_TEMPERATURE = Recipe("CALIBRATORS", "temperature")
_BINNED = Recipe("CALIBRATORS", "top-label-hb")
_BY_HOSPITAL = Recipe("EXHIBITS", "slices", (("by", "hospital"),))
TOUR = (
    Stop(
        "How to read a reliability diagram",
        "When it says 90 %, how often is it right?",
        _diagram,
        "Click other columns: the pane shows the confidence and accuracy of each group. Does any star reach the "
        "diagonal?",
        ("star-and-stem", "bins", "overconfident"),
        {"data": "demo:language-model", "view": "reliability", "calibrators": (), "bin": 13},
    ),
    Stop(
        "Why confidence calibration can be blind",
        "Can two wrongs look right?",
        _blind,
        "Compare the classes in the pane. The length of the stem is the average distance of the classes from the star.",
        ("confidence", "top-label", "star-and-stem"),
        {"data": "demo:example-1", "view": "reliability", "calibrators": (), "bin": 9},
    ),
    Stop(
        "The noise floor",
        "Is it off, or is that chance?",
        _chance,
        "Find the hatched bar (noise floor), its tick (raw value), and the star: the error corrected for noise.",
        ("noise-floor", "calibration-error", "interval", "tolerance"),
        {"data": "demo:wine-logistic", "view": "overview", "calibrators": ()},
    ),
    Stop(
        "Why more bins look worse",
        "Why does the same model look worse in more bins?",
        _bins,
        "Dashed: confidence error. Solid: error by predicted class. Does the dashed line leave its darker band?",
        ("bins", "noise-floor", "calibration-error"),
        {"data": "demo:digits-mlp", "view": "curves", "about": "sweep", "calibrators": ()},
    ),
    Stop(
        "What a calibrator changes",
        "What does recalibration do to the stars?",
        _moved,
        "Click “Temperature scaling” above the chart: the stars move to the line. Click it again: they move back.",
        ("calibrator", "overconfident", "calibration-error"),
        {"data": "demo:imbalanced-forest", "view": "reliability", "calibrators": ()},
    ),
    Stop(
        "Guarantee",
        "Will it stay calibrated on new rows?",
        _promised,
        "Read “Guarantee”; then open “Before and after” on the card of temperature scaling.",
        ("promise", "calibrator", "interval"),
        {
            "data": "demo:synthetic-three-class",
            "view": "calibrators",
            "calibrators": (_BINNED, _TEMPERATURE),
        },
    ),
    Stop(
        "The event of two classes",
        "What is judged if there are two classes?",
        _event,
        "Click the event at the top, next to the file's name, and choose the other class. The headline changes "
        "with it.",
        ("event", "in-the-large", "observed-expected"),
        {"data": "demo:breast-cancer-svm", "view": "overview", "calibrators": ()},
    ),
    Stop(
        "A risk in several hospitals",
        "Fine over all patients: fine in every hospital?",
        _sites,
        "Open “Differences between sites”: which hospital is shown to be off, and what is predicted for a new one?",
        ("event", "observed-expected", "multiple-testing"),
        {"data": "demo:hospital-risk", "view": "slices", "calibrators": (), "exhibits": (_BY_HOSPITAL,)},
    ),
)
"""Stops in the order of the tour. Links name a stop by its number, so append new ones."""
