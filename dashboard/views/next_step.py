"""What to do next: what the calibrator recommended first changed on the test rows, and the way to see it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import streamlit as st

import calib_core as cc
from calib_core import CALIBRATORS, InputError, NotAnswerable, Recipe
from calib_core._text import begun, inside
from calib_core.inference import EstimateLine, PairedDifference
from calib_core.inference.number_words import in_percent, percent
from dashboard import widgets
from dashboard.exhibits.standing_out import ClassesStandingOut
from dashboard.selection import recommended
from dashboard.session import Model, Scene, call
from dashboard.theme import markdown_plain, unbroken
from dashboard.views.exhibited import progress


@dataclass(frozen=True)
class Step:
    """One step: what it is, what it does, and why it is this one; where it leads, if anywhere."""

    headline: str
    effect: str
    reason: str
    recipe: Recipe | None = None


def draw(scene: Scene) -> None:
    """Draw the step under a bar that says what is being made."""
    with progress(scene) as watched:
        step = step_of(watched)
    if step is None:
        return
    with st.container(border=True, key="next-step", horizontal=True, wrap=False, vertical_alignment="center"):
        reason = f"  \n{markdown_plain(step.reason)}" if step.reason else ""
        first, effect = markdown_plain(unbroken(step.headline)), markdown_plain(unbroken(step.effect))
        st.markdown(
            f"**{first}** {effect}{reason}",
            width="stretch",
        )
        if step.recipe is not None:
            st.button("Show me", type="primary", key="next.show", on_click=_lead, args=(step.recipe,))


def _lead(recipe: Recipe) -> None:
    """To the before and after of a calibrator, ticked."""
    ticked = widgets.selection().calibrators
    others = [other for other in ticked if other.key != recipe.key]
    chosen = next((other for other in ticked if other.key == recipe.key), recipe)
    widgets.change(view="calibrators", calibrators=(chosen, *others), model=chosen.title)


def step_of(scene: Scene) -> Step | None:
    """The step for the first model; None where nothing can be judged."""
    base = scene.models.shown[0]
    model = first_fitted(scene, base)
    if model is None:
        return None
    both = call(
        cc.inference.primaries,
        {base.title: base.predictions, model.title: model.predictions},
        bins=scene.bins,
        stem="primaries",
    )
    try:
        first = scene.get(both)
        before, after = (dataclasses.replace(line, eps=scene.tolerance).line for line in first.values())
    except NotAnswerable:
        return None
    standing = _cancelling(scene)
    if standing and before.verdict != "miscalibrated":
        return by_class(standing, _kind(scene, base), model.recipe.title)
    paired = call(cc.inference.paired_difference, base.predictions, model.predictions, before.notion, before.estimator)
    try:
        gain = None if before.notion != after.notion else scene.get(paired)
    except InputError:
        gain = None
    reason = f"Recommended first: {CALIBRATORS[model.recipe.key].flags.profile.why_first}."
    return Step(*words(before, after, gain, model.recipe.title, reason, scene.tolerance), recipe=model.recipe)


def words(
    before: EstimateLine, after: EstimateLine, gain: PairedDifference | None, title: str, reason: str, eps: float
) -> tuple[str, str, str]:
    """Headline, effect and reason; a change only where ``gain``, the difference on the same rows, shows one."""
    if before.low is None or before.high is None or after.low is None or after.high is None:
        return f"Next: see what {inside(title)} changes.", "", reason
    numbers = f"on the test rows the error goes from {_number(before)} to {_number(after)}"
    if before.verdict == "within":
        return f"Nothing has to be mended for a tolerance of {percent(eps)}.", f"With {inside(title)}, {numbers}.", ""
    if gain is not None and gain.low > 0:
        return f"Next: {inside(title)}.", f"{begun(numbers)}.", reason
    if gain is not None and gain.high < 0:
        return f"{title} does not help here.", f"{begun(numbers)}.", "Others may: compare them."
    more = _rows_needed(before)
    if more:
        effect = f"{more} With {inside(title)}, {numbers}: no difference that these rows can show."
        return "Next: more rows.", effect, ""
    effect = f"{begun(numbers)}: no difference that these rows can show."
    return f"Next: see what {inside(title)} changes.", effect, reason


def by_class(standing: int, kind: str, title: str) -> Step:
    """The step where single classes are off and the error over all rows is not shown to be."""
    effect = (
        f"{standing:,} classes stand out by themselves, some over-confident and some under-confident, and "
        f"{inside(title)} treats all classes alike."
    )
    keys = (key for key in recommended(kind) if CALIBRATORS[key].flags.profile.needs_classes)
    recipe = Recipe("CALIBRATORS", next(keys))
    return Step("Next: a map for each class.", effect, f"{recipe.title} has one for each predicted class.", recipe)


def _cancelling(scene: Scene) -> int:
    """How many classes of the first model stand out, where their gaps go both ways; else 0."""
    exhibit = ClassesStandingOut()
    try:
        found = scene.get(exhibit.found(scene))
    except NotAnswerable:
        return 0
    return int(found.stands_out.sum()) if found.cancel else 0


def first_fitted(scene: Scene, base: Model) -> Model | None:
    """The first model of those recommended that can be made of these predictions."""
    for key in recommended(_kind(scene, base)):
        ticked = next((m for m in scene.models.recalibrated if m.recipe.key == key and m.source == base.source), None)
        model = ticked or dataclasses.replace(base, recipe=Recipe("CALIBRATORS", key))
        try:
            scene.get(model.predictions)
        except InputError:
            continue
        return model
    return None


def _kind(scene: Scene, base: Model) -> str:
    return scene.get(base.base.predictions).kind


def _rows_needed(line: EstimateLine) -> str:
    if line.verdict != "too few rows to tell":
        return ""
    text = line.sentence.partition("it would take about ")[2].partition(" rows")[0]
    return f"About {text} test rows would tell whether the error is within the tolerance." if text else ""


def _number(line: EstimateLine) -> str:
    """The estimate with its interval; where it is 0, what the interval leaves possible instead."""
    assert line.point is not None
    if line.point == 0 and line.high is not None:
        return f"at most {percent(line.high)}"
    return f"{in_percent(line.point) if line.point >= 0.1 else percent(line.point)} ({line.interval})"
