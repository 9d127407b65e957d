"""Classes view: a dozen small diagrams, significant classes first, and a table of all; usable with a thousand."""

from __future__ import annotations

import streamlit as st

from calib_core import InputError, NotAnswerable, Recipe
from calib_core.diagrams.class_list import PAGE
from calib_core.risk.multinomial import FEWEST_CLASSES, MOST_CLASSES
from calib_core.text import begun
from dashboard import session, widgets
from dashboard.chart import waiting
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.classes import ClassErrors, ClassPanelsExhibit, together
from dashboard.exhibits.single_class import ClassKernel
from dashboard.navigation import view
from dashboard.session import Scene
from dashboard.theme import markdown_plain
from dashboard.views import place_detail
from dashboard.views.exhibited import exhibited, follow
from dashboard.views.on_request import on_request
from dashboard.views.workspace import workspace

_CHOSEN = ("notion", "sort", "search", "page", "curve")
"""Options of the small diagrams that are chosen here; smoothing is chosen with the single curve."""
_PICTURES = ("class-errors", "class-panels", "class-bias")
"""Pictures whose marks represent classes."""


def missing() -> str:
    """Return why there are no classes to show; empty if there are."""
    try:
        rows = session.parts(widgets.selection().source).test
    except InputError:
        return ""
    if rows.kind == "confidence":
        return "these confidences have no predicted class"
    selection = widgets.selection()
    if session.models(selection).shown and session.scene_of(selection).claims == "event":
        return "two classes have one risk, that of the event: see Reliability and Slices"
    return ""


@view("classes", "Classes", 30, room="explore", missing=missing, reads="rows")
def render() -> None:
    """Draw the view for the current choices."""
    for key in _PICTURES:
        _follow(key)
    place_detail.follow_bins(session.scene_of(widgets.selection()).titles)
    selection = widgets.selection()
    scene, fixed = session.scene_of(selection), together(selection)
    panels = selection.exhibit("class-panels")
    exhibit: ClassPanelsExhibit = panels.build()
    try:
        exhibit.tables(scene)
    except NotAnswerable as why:
        sentence = markdown_plain(why)
        st.info(f"{begun(sentence)}.")
        _options(panels, scene)
        return
    with workspace(scene):
        _headline(exhibit, panels, scene)
        try:
            exhibit.table(scene)
        except NotAnswerable as why:
            sentence = markdown_plain(why)
            st.info(f"{begun(sentence)}.")
            return
        if ClassErrors.has_many(scene):
            exhibited("class-errors", scene, folded=True, controls=False, limits=fixed["class-errors"])
            with st.expander("Small diagrams", key="classes.panels", on_change="rerun") as box:
                if box.open:
                    exhibited("class-panels", scene, title=None, controls=False, limits=fixed["class-panels"])
        else:
            exhibited("class-panels", scene, controls=False, folded=True, limits=fixed["class-panels"])
            exhibited("class-errors", scene, folded=True, controls=False, limits=fixed["class-errors"])
        if exhibit.curve == "kernel":
            _one_class(scene)
        exhibited("classes", scene, controls=False, limits=fixed["classes"])
        if FEWEST_CLASSES <= len(scene.class_names) <= MOST_CLASSES:
            with st.expander(EXHIBITS["class-slopes"].title, key="classes.slopes", on_change="rerun") as box:
                if box.open:
                    exhibited("class-slopes", scene, title=None)
        with st.expander(EXHIBITS["class-bias"].title, key="classes.bias", on_change="rerun") as box:
            if box.open:
                on_request("class-bias", scene, title=None, folded=True)


def _follow(key: str) -> None:
    """Focus the clicked class; one without a bin leaves the focused bin unchanged."""
    click = waiting(key)
    record = {} if click is None else click.record
    if "code" in record and "bin" not in record:
        widgets.change(bin=None, between=None)
    follow(key, [model.title for model in session.models(widgets.selection()).shown])


def _headline(exhibit: ClassPanelsExhibit, panels: Recipe, scene: Scene) -> None:
    """Draw the number of significant classes, the worst of them in words, and the choice of display."""
    with st.container(key="exhibit-head-classes-view", horizontal=True, wrap=False, gap="small"):
        left, right = st.container(width="stretch"), st.container(width="content")
    outstanding, worst = exhibit.outstanding(scene), exhibit.worst(scene)
    finding, *more = [markdown_plain(line) for line in (outstanding, worst) if line] or [""]
    left.markdown("\n\n".join((f"##### {finding}", *more)))
    with widgets.popover(right, "Classes", key="class-options", type="tertiary", icon=":material/tune:"):
        _options(panels, scene)


def _options(panels: Recipe, scene: Scene) -> None:
    """Draw the choices of classes, order and content of the small diagrams; ineffective options are left out."""
    rows, chosen = scene.get(scene.models.shown[0].predictions), dict(panels.params)
    useless = set() if len(scene.class_names) > PAGE else {"search", "page"}
    if rows.kind not in ("full", "per-class"):
        useless.add("notion")  # there are claims about the predicted class only
    offered = [name for name in _CHOSEN if name not in useless or name in chosen]
    widgets.recipe_controls(panels, key="exhibit.class-panels", changed=_from_the_first, only=offered)


def _from_the_first(recipe: Recipe) -> None:
    """Set options of the small diagrams; return to the first page if they change the order."""
    before = widgets.selection().exhibit(recipe.key).build()
    after = recipe.build()
    if any(getattr(before, name) != getattr(after, name) for name in ("notion", "sort", "search")):
        recipe = EXHIBITS.described(recipe.key, **{**dict(recipe.params), "page": 1})
    widgets.change_exhibit(recipe)


def _one_class(scene: Scene) -> None:
    """Draw the kernel curve of one class of one model, with its band."""
    selection, fixed = widgets.selection(), together(widgets.selection())["class-kernel"]
    curve = ClassKernel(**fixed)
    names, able = scene.class_names, list(curve.predictions(scene))
    st.markdown(f"#### {EXHIBITS['class-kernel'].title}")
    first, second = st.columns(2)
    codes = range(len(names))
    tied = widgets.tied_to(codes, "classes.one", curve.code(scene), lambda c: widgets.change(code=c, label=None))
    first.selectbox("Class", codes, format_func=names.__getitem__, **tied)
    shown = [model for model in scene.models.shown if model.title in able]
    widgets.model_box(second, shown, scene.models.titled(curve.title(scene)), "classes.model")
    # Smoothing is chosen once: here and below the reliability diagram.
    recipe, changed = selection.exhibit("kernel-curve"), widgets.change_exhibit
    with st.expander("Kernel, bandwidth, scale and band"):
        widgets.recipe_controls(recipe, key="exhibit.kernel-curve", changed=changed)
    exhibited("class-kernel", scene, title=None, folded=True, limits=fixed)
