"""Next step: use the calibrator chosen on the calibration rows, or none; with a button that shows its effect."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import calib_core as cc
from calib_core import InputError, Recipe
from calib_core.evaluation.choice import CalibratorChoice
from calib_core.text import count, inside
from dashboard import session, widgets
from dashboard.exhibits.calibrators import first_named
from dashboard.exhibits.doubt_words import rules_out_advice
from dashboard.exhibits.event_words import beside_advice
from dashboard.exhibits.recommendation import Recommendation, chosen_on, own_update
from dashboard.session import Scene
from dashboard.theme import markdown_plain
from dashboard.views.exhibited import progress
from dashboard.views.on_request import wanted
from dashboard.workers.durations import about_seconds

_LONG = "Should the model be recalibrated, and how? With this many rows and classes, this takes {}."


_FINDING_OUT = "**Should the model be recalibrated, and how?** Comparing calibrators on the {} calibration rows{}."


def begun_step(scene: Scene) -> Callable[[], None]:
    """Draw a placeholder for the step, or its button if it takes long; return the function that computes and draws it.

    The rest of the page is drawn first: the advice takes longer than all of it together.
    """
    if rules_out_advice(scene):
        return lambda: None  # a doubt at the top of the page covers this
    exhibit = Recommendation.suited(scene)
    found = exhibit.found(scene)
    place = st.container()
    rows = scene.get(scene.models.shown[0].division.part("fit"))
    seconds = session.expected(found, rows)
    with place:
        until_then, bar = st.empty(), st.empty()
    if not exhibit.quick(scene):
        long = _LONG.format(about_seconds(seconds) or "about a minute")
        with until_then.container():
            if not wanted(f"choice {found.key}", long, "Find out"):
                return lambda: None
    elif not scene.knows(found):
        # As high as the final content, so that nothing below moves under the pointer.
        about = about_seconds(seconds)
        with until_then.container(border=True):
            st.markdown(_FINDING_OUT.format(count(rows.n_rows), f", {about}" if about else ""))
            bar = st.empty()
    return partial(_finished, exhibit, scene, place, until_then, bar)


def _finished(
    exhibit: Recommendation, scene: Scene, place: DeltaGenerator, until_then: DeltaGenerator, bar: DeltaGenerator
) -> None:
    known = scene.knows(exhibit.found(scene))
    with progress(scene, None if known else bar) as watched:
        choice = chosen(exhibit, watched)
    until_then.empty()
    if not known and choice is not None and choice.recalibrate and choice.recipe not in widgets.selection().calibrators:
        st.rerun()  # the chips at the top were drawn before it was known: it is the first of them
    if choice is not None:
        with place:
            _step(choice, scene)


def _step(choice: CalibratorChoice, scene: Scene) -> None:
    headline, effect, reason = words(choice, scene)
    with st.container(border=True, key="next-step", horizontal=True, wrap=False, vertical_alignment="center"):
        name = first_named(scene)
        first, then = markdown_plain(f"{name}: {headline}" if name else headline), markdown_plain(effect)
        st.markdown(f"**{first}** {then}", width="stretch")
        if reason:
            with st.popover("Why?", key="next.why", type="tertiary"):
                st.markdown(markdown_plain(reason))
        if choice.simple is not None:
            st.button(
                f"Show {inside(choice.simple.title)}", type="tertiary", key="next.simple", on_click=_lead,
                args=(choice.simple,),
            )  # fmt: skip
        if choice.recalibrate:
            blend = "Show the blend" if choice.simple is not None and choice.recipe.key == "blend" else "Show me"
            st.button(blend, type="primary", key="next.show", on_click=_lead, args=(choice.recipe,))


def chosen(exhibit: Recommendation, scene: Scene) -> CalibratorChoice | None:
    """Return the calibrator chosen for the first model; None if its rows are too few to choose on."""
    try:
        return scene.get(exhibit.found(scene))
    except InputError:
        return None


def words(found: CalibratorChoice, scene: Scene) -> tuple[str, str, str]:
    """Return the advice; its effect; the remaining error, the gain with its interval, and the evidence.

    With a simpler calibrator beside the recommended one, the effect is that of the simpler one.
    """
    error = "" if found.recalibrate else beside_advice(scene)
    headline = f"{cc.evaluation.advice.headline(found, error, own_update(scene))}."
    sentence, *more = Recommendation.suited(scene).advice(scene, found)
    effect = sentence.removeprefix(headline).strip()
    if found.simple is not None and found.beside in effect:
        before, _, after = effect.partition(found.beside)
        effect, more = f"{before}{found.beside}", [after.strip(), *more]
    return headline, effect, " ".join(filter(None, (*more, *found.price[:1], chosen_on(found, scene))))


def _lead(recipe: Recipe) -> None:
    """Go to the before and after of the calibrator, ticked."""
    ticked = widgets.selection().calibrators
    others = [other for other in ticked if other.key != recipe.key]
    same = next((other for other in ticked if other.key == recipe.key), recipe)
    widgets.change(view="calibrators", calibrators=(same, *others), model=same.title)
