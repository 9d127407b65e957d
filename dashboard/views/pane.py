"""Detail pane: the focused place in words, its models, its classes, its rows, and the way back."""

from __future__ import annotations

import streamlit as st

from calib_core import NotAnswerable
from calib_core.text import begun
from dashboard import widgets
from dashboard.chart import chart
from dashboard.exhibits import EXHIBITS, Exhibit
from dashboard.exhibits.stars import ends_said, is_picked, stars
from dashboard.selection import NOWHERE
from dashboard.session import Scene
from dashboard.session.model_looks import mark
from dashboard.theme import markdown_plain
from dashboard.views import place_detail, risk_summary
from dashboard.views.exhibited import exhibited

CLASSES, MODELS = "detail-classes", "detail-models"
"""Keys of the pictures of the classes and of the models in the focused place, whose marks can be clicked."""
ACROSS = 2
"""Number of models up to which they are in a table with buttons; more are chosen from a list."""


def draw(scene: Scene) -> None:
    """Draw the pane for the focus of the scene, in the open view."""
    view, focus = widgets.selection().view, scene.focus
    by_class = view in ("classes", "findings")  # there a class in a bin is focused as a class
    try:
        if view == "simplex" and focus.cell is not None and scene.partitions:
            _cell(scene)
        elif focus.code is not None and focus.between is None and (by_class or not is_picked(scene)):
            _head(_class_name(scene))
            if view == "findings":
                place_detail.of_finding(scene)
            place_detail.of_class(scene)
        elif view != "simplex" and is_picked(scene):
            _place(scene)
        else:
            _nothing(view, scene)
    except NotAnswerable as why:
        st.caption(markdown_plain(f"{begun(str(why))}."))


def _head(title: str, hint: str = "") -> None:
    """Draw the title of the focused place, and the button that clears the focus."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(f"**{markdown_plain(title)}**" + (f" :small[{markdown_plain(hint)}]" if hint else ""))
        st.button("Clear", on_click=lambda: widgets.change(**NOWHERE), key="detail.clear", icon=":material/close:")


def _place(scene: Scene) -> None:
    """Draw a bin, or a range of the confidence."""
    ranged = scene.focus.between is not None
    of_event = scene.claims == "event"
    what = "Predicted risk" if of_event else "Confidence" if ranged else "Bin"
    _head(f"{what} {ends_said(scene)}", "" if ranged else "← → to step")
    if widgets.selection().view == "findings":
        place_detail.of_finding(scene)
    if scene.undivided and not ranged:
        place_detail.of_counts(scene)
        return
    models: Exhibit = EXHIBITS.make("bin-models")
    frame, words = scene.get(models.table(scene)), models.words(scene)
    st.markdown(markdown_plain(words.caption))
    if len(scene.titles) > ACROSS:
        _many(models, scene)
    else:
        place_detail.lines(models, scene, frame)
        for note in words.notes:
            st.caption(markdown_plain(note))
    if scene.get(scene.model.predictions).kind != "confidence" and not of_event:
        _classes(scene)
    _rows(scene)


def _many(exhibit: Exhibit, scene: Scene) -> None:
    """Draw each model's interval in a picture, and its cost, for many models."""
    words, wanted = exhibit.words(scene), exhibit.figure(scene)
    assert wanted is not None
    figure = scene.get(wanted)
    chart(figure, key=MODELS, label=words.alt, height=figure.layout.height)
    st.caption(markdown_plain(words.key))
    costs: Exhibit = EXHIBITS.make("costs")
    st.markdown("**Cost**")
    place_detail.lines(costs, scene, scene.get(costs.table(scene)))
    st.caption(markdown_plain(costs.words(scene).caption))


def _classes(scene: Scene) -> None:
    """Draw the predicted classes in it, of the focused model."""
    of_model = f" · {mark(scene.looks[scene.model.title])} {markdown_plain(scene.model.title)}"
    st.markdown(f"**Predicted classes in it**{of_model if len(scene.titles) > 1 else ''}")
    exhibit: Exhibit = EXHIBITS.make("bin", marks="intervals")
    try:
        words, wanted = exhibit.words(scene), exhibit.figure(scene)
    except NotAnswerable as why:
        st.caption(markdown_plain(f"{begun(str(why))}."))
        return
    assert wanted is not None
    figure = scene.get(wanted)
    chart(figure, key=CLASSES, label=words.alt, height=figure.layout.height, focus={"code": scene.focus.code})
    st.caption(markdown_plain(" ".join(words.headline)), help=markdown_plain(" ".join(words.notes)))


def _rows(scene: Scene) -> None:
    """Draw its rows, perhaps of one predicted class only."""
    title = "Rows in it"
    if scene.focus.code is not None and scene.class_names and scene.claims != "event":
        title = f"Rows predicted {_class_name(scene)}"
        st.button("All rows", on_click=lambda: widgets.change(code=None), key="detail.all-classes", type="tertiary")
    exhibited("bin-rows", scene, title=title, least=place_detail.ROWS)


def _cell(scene: Scene) -> None:
    """Draw a cell of the triangle."""
    _head("Simplex cell")
    place_detail.of_cell(scene)


def _nothing(view: str, scene: Scene) -> None:
    """Draw the summary of a risk if no place is focused, otherwise a marker by which the page folds the pane."""
    if _summarised(view, scene):
        risk_summary.draw(scene)
        st.caption(_ways(view, scene))
    else:
        st.container(key="detail-empty").empty()


def hint(scene: Scene) -> None:
    """Draw a hint on how to focus a place, and a way to the worst bin, below the picture while the pane is folded."""
    view = widgets.selection().view
    if picked(view, scene) or _summarised(view, scene):
        return
    with st.container(horizontal=True, wrap=False, vertical_alignment="center", key="detail-ways"):
        st.caption(_ways(view, scene), width="stretch")
        if view == "reliability":
            st.button(
                "Open the bin that contributes most",
                key="detail.open",
                type="tertiary",
                icon=":material/arrow_forward:",
                icon_position="right",
                on_click=_open_worst,
                args=(scene,),
            )


def _open_worst(scene: Scene) -> None:
    """Focus the bin that contributes most to the error of the focused model."""
    widgets.change(**{**NOWHERE, "bin": int(scene.get(stars(scene)).worst), "model": scene.model.title})


def picked(view: str, scene: Scene) -> bool:
    """Return True if the focused place is one that the pane of this view describes."""
    focus = scene.focus
    if view == "simplex":
        return bool(focus.cell is not None and scene.partitions)
    return (focus.code is not None and focus.between is None) or is_picked(scene)


def _summarised(view: str, scene: Scene) -> bool:
    """Return True if the pane of this view summarizes a risk while no place is focused."""
    return scene.claims == "event" and view == "reliability" and not scene.undivided


def _ways(view: str, scene: Scene) -> str:
    """Return the places that can be focused in this view, and how."""
    if scene.undivided and view == "reliability":
        return _COUNTED
    ways = {
        "reliability": "Click a bin to see its models, classes and rows. Drag along the numbers of the "
        "confidence axis to pick a range. Arrow keys step from bin to bin; Escape clears.",
        "levels": "Click a point to see its models, classes and rows. Escape clears.",
        "classes": "Click a class to see its confidence and accuracy, the classes it is confused with, and its rows.",
        "findings": "Click a line in the chart to see its numbers and its rows.",
        "simplex": "Click an arrow or a cell to see its rows.",
    }
    text = ways.get(view, ways["reliability"])
    if scene.claims == "event":
        text = text.replace("models, classes and rows", "models and rows").replace("confidence axis", "risk axis")
    return text


_COUNTED = (
    "Click a bin to see its number of rows, their mean confidence and their accuracy. Arrow keys step from bin to "
    "bin; Escape clears."
)
"""Hint for a summary, which has no rows to show."""


def _class_name(scene: Scene) -> str:
    names, code, label = scene.class_names, scene.focus.code, scene.focus.label
    if code is None or code >= len(names):
        return "class"
    return names[code] if label is None or label >= len(names) else f"{names[code]} predicted, {names[label]} true"
