"""What to do next: the calibrator chosen on the rows that are not judged, or none; and the way to see it."""

from __future__ import annotations

import streamlit as st

from calib_core import InputError
from calib_core._text import begun
from calib_core.choice import Choice
from dashboard import widgets
from dashboard.exhibits.event_words import beside_advice
from dashboard.exhibits.recommendation import Recommendation, chosen_on
from dashboard.exhibits.which_is_better import first_named
from dashboard.session import Scene
from dashboard.theme import markdown_plain
from dashboard.views.exhibited import progress
from dashboard.views.on_request import wanted

_LONG = "Recalibrate at all, and with what? With so many rows and classes, finding out takes about a minute."


def draw(scene: Scene) -> None:
    """Draw the step under a bar that says what is being made; where that takes long, when it is asked for."""
    exhibit = Recommendation.suited(scene)
    if not exhibit.quick(scene) and not wanted(f"choice {exhibit.found(scene).key}", _LONG, "Find out"):
        return
    with progress(scene) as watched:
        found = chosen(exhibit, watched)
    if found is None:
        return
    headline, effect, reason = words(found, scene)
    with st.container(border=True, key="next-step", horizontal=True, wrap=False, vertical_alignment="center"):
        name = first_named(scene)
        first, then = markdown_plain(f"{name}: {headline}" if name else headline), markdown_plain(effect)
        st.markdown(f"**{first}** {then}  \n{markdown_plain(reason)}", width="stretch")
        if found.recalibrate:
            st.button("Show me", type="primary", key="next.show", on_click=_lead, args=(found,))


def chosen(exhibit: Recommendation, scene: Scene) -> Choice | None:
    """What is chosen for the first model; None where its rows are too few to choose on."""
    try:
        return scene.get(exhibit.found(scene))
    except InputError:
        return None


def words(found: Choice, scene: Scene) -> tuple[str, str, str]:
    """What to do; the gain with its interval; and what it costs, or would take to show."""
    headline, _, effect = found.sentence.partition(": ")
    despite = "" if found.recalibrate else beside_advice(scene)
    rests = " ".join(filter(None, (despite, *found.price[:1], chosen_on(found.among, scene))))
    return f"{'No calibrator is shown to help' if despite else headline}.", begun(effect), rests


def _lead(found: Choice) -> None:
    """To the before and after of the calibrator, ticked."""
    recipe = found.recipe
    ticked = widgets.selection().calibrators
    others = [other for other in ticked if other.key != recipe.key]
    same = next((other for other in ticked if other.key == recipe.key), recipe)
    widgets.change(view="calibrators", calibrators=(same, *others), model=same.title)
