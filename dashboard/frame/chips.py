"""Chips for the models on show, a button for all others, and the settings of those ticked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import streamlit as st

from calib_core import CALIBRATORS, InputError, NotAnswerable, Recipe
from dashboard import session, widgets
from dashboard.exhibits.recommendation import Recommendation
from dashboard.selection import Selection, model_keys, recommended
from dashboard.session import model_looks
from dashboard.session.model_looks import mark
from dashboard.theme import markdown_plain

OFFERED = 5
"""Maximum number of chips; further calibrators are behind a button. Those ticked always have a chip."""


def model_chips(selection: Selection) -> None:
    """Draw a chip for each ticked calibrator and the first few others, and a button for all of them.

    The recommended calibrator is the first of the others, once it is known (``settle_chips``). For a summary, a
    sentence explains that no calibrator can be fitted on it. Without rows, nothing is drawn.
    """
    try:
        parts = session.parts(selection.source)
    except InputError:
        return
    if none := session.unfitted(selection):
        st.caption(markdown_plain(none))
        return
    usable = session.usable(selection, dict.fromkeys((*model_keys(), *(r.key for r in selection.calibrators))))
    ticked, first = _offered(selection, usable, of_event=parts.test.event is not None)
    best = _best(selection)
    with st.container(key="frame-models", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"{mark(0)} **{markdown_plain(session.BASE.title)}**", width="content")
        label, marks = "Calibrators to compare with the original model", _marks(selection)
        _pills(label, [*ticked, *first], ticked, "calibrators", marks, best)
        with widgets.popover(st, "More calibrators", key="frame.calibrators"):
            _pills("Calibrators, fitted on the calibration rows", usable, ticked, "calibrators.all", {})
            for place, recipe in enumerate(selection.calibrators):
                if recipe.key in usable:
                    settings_of(selection, place)


def _offered(selection: Selection, usable: Collection[str], *, of_event: bool) -> tuple[list[str], list[str]]:
    """Return the keys of the ticked calibrators, and of the first few others."""
    ticked = [key for key in dict.fromkeys(recipe.key for recipe in selection.calibrators) if key in usable]
    best = _best(selection)
    updates = recommended("", event=True) if of_event else ()
    order = dict.fromkeys((*([] if best is None else [best.key]), *updates, *model_looks.order()))
    first = [key for key in order if key in usable and key not in ticked]
    return ticked, first[: max(OFFERED - len(ticked), 0)]


def one_chip(selection: Selection, shown: str) -> None:
    """Draw the same chips, of which one is on: the calibrator with the key ``shown``; nothing if none can be fitted."""
    try:
        parts = session.parts(selection.source)
    except InputError:
        return
    if session.unfitted(selection):
        return
    usable = session.usable(selection, dict.fromkeys((*model_keys(), *(r.key for r in selection.calibrators))))
    ticked, first = _offered(selection, usable, of_event=parts.test.event is not None)
    # In one order whichever is on, so that arrow keys reach every one.
    keys = [key for key in model_looks.order() if key in (*ticked, *first)]
    marks, best = _marks(selection), _best(selection)

    def show(key: str | None) -> None:
        if key is None:
            return
        old = widgets.selection().calibrators
        fresh = best if best is not None and best.key == key else Recipe("CALIBRATORS", key)
        recipe = next((recipe for recipe in old if recipe.key == key), fresh)
        widgets.change(calibrators=(*(each for each in old if each != recipe), recipe), model=recipe.title)

    st.pills(
        "Calibrator",
        keys,
        format_func=lambda key: marks.get(key, "") + markdown_plain(CALIBRATORS[key].title),
        label_visibility="collapsed",
        width="content",
        required=bool(shown),
        **widgets.tied("presented.model", shown or None, show),
    )


def settle_chips(selection: Selection) -> None:
    """Find the recommended calibrator after the page is drawn, if that is quick, and update the chips.

    So a link to a picture shows the same chips as a way over the overview does.
    """
    try:
        scene = session.scene_of(selection)
        if session.unfitted(selection) or Recommendation.known(scene) is not None:
            return
        exhibit = Recommendation.suited(scene)
        wanted = exhibit.found(scene)
        if scene.knows(wanted) or not exhibit.quick(scene) or scene.refusal(wanted):
            return
    except (InputError, NotAnswerable):
        return
    if scene.get(wanted).recalibrate:
        st.rerun()


def settings_of(selection: Selection, place: int) -> None:
    """Draw the parameters of one ticked calibrator; a link may contain one several times, with different settings."""
    recipe = selection.calibrators[place]
    before = [other.key for other in selection.calibrators[:place]].count(recipe.key)
    entry = CALIBRATORS[recipe.key]

    def changed(new: Recipe) -> None:
        old = widgets.selection().calibrators
        widgets.change(calibrators=tuple(dict.fromkeys((*old[:place], new, *old[place + 1 :]))))

    with st.expander(markdown_plain(entry.title + (f" ({before + 1})" if before else ""))):
        st.caption(markdown_plain(entry.caption) + (f" {markdown_plain(entry.reference)}." if entry.reference else ""))
        key = f"set.{recipe.key}.{before}"
        widgets.recipe_controls(recipe, key=key, changed=changed, class_names=_class_names(selection))


def _best(selection: Selection) -> Recipe | None:
    """Return the recommended calibrator for these rows, if it is known."""
    try:
        return Recommendation.known(session.scene_of(selection))
    except InputError:
        return None


def _marks(selection: Selection) -> dict[str, str]:
    """Return the symbol of each ticked calibrator's model, by key, in its color, as in every picture."""
    # All models shown are numbered, as the pictures do: if two would look alike, one gets another look.
    usable = session.usable(selection, [recipe.key for recipe in selection.calibrators])
    recipes = [session.BASE, *(recipe for recipe in selection.calibrators if recipe.key in usable)]
    names = session.short_names(selection) if selection.others else [""]
    files = enumerate(zip(selection.sources, names, strict=True))
    models = [(i, session.Model(source, recipe, name)) for i, (source, name) in files for recipe in recipes]
    looks = model_looks.numbered(models)
    first = [model for i, model in models if not i]
    return {model.recipe.key: f"{mark(looks[model.title])} " for model in reversed(first)}


def _pills(
    label: str,
    keys: Sequence[str],
    ticked: list[str],
    key: str,
    marks: Mapping[str, str],
    best: Recipe | None = None,
) -> None:
    """Draw chips, those ticked with their symbols; with symbols they are in one line without their label."""
    hidden = bool(marks)
    # A wrapper is named by its content; one that is ticked several times, by its own name.
    chosen = widgets.selection().calibrators
    named = {} if best is None or best.key in ticked else {best.key: best.title}
    named |= {r.key: r.title for r in chosen if CALIBRATORS[r.key].filled and [c.key for c in chosen].count(r.key) == 1}

    def tick(chosen: list[str]) -> None:
        # Ticked chips stay in their positions, and calibrators that are not offered here stay unchanged.
        old = widgets.selection().calibrators
        stay = [recipe for recipe in old if recipe.key in chosen or recipe.key not in keys]
        fresh = [each for each in chosen if each not in {recipe.key for recipe in old}]
        as_advised = {} if best is None else {best.key: best}
        new = [as_advised.get(each, Recipe("CALIBRATORS", each)) for each in fresh]
        widgets.change(calibrators=(*stay, *new))

    st.pills(
        label,
        keys,
        selection_mode="multi",
        format_func=lambda each: marks.get(each, "") + markdown_plain(named.get(each, CALIBRATORS[each].title)),
        label_visibility="collapsed" if hidden else "visible",
        width="content" if hidden else "stretch",
        **widgets.tied(key, [each for each in ticked if each in keys], tick),
    )


def _class_names(selection: Selection) -> tuple[str, ...]:
    try:
        return session.parts(selection.source).test.class_names or ()
    except InputError:
        return ()
