"""The classes view: some classes as small diagrams, all of them in a table, usable with a thousand."""

from __future__ import annotations

import streamlit as st

from calib_core import NotAnswerable, Recipe
from dashboard import session, widgets
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.by_class import together
from dashboard.exhibits.class_kernel import ClassKernel
from dashboard.navigation import view
from dashboard.session import Scene
from dashboard.theme import markdown_plain
from dashboard.views.exhibited import exhibited

_CHOSEN = ("notion", "sort", "search", "page", "curve")
"""Options of the small diagrams that are chosen here; how curves are smoothed is chosen with the one curve."""


@view("classes", "Classes", 30)
def render() -> None:
    """Draw the view for the present choices."""
    selection = widgets.selection()
    scene, fixed = session.scene_of(selection), together(selection)
    panels = selection.exhibit("class-panels")
    with st.container(horizontal=True):
        widgets.recipe_controls(panels, key="exhibit.class-panels", changed=_from_the_first, only=_CHOSEN)
    try:
        panels.build().table(scene)
    except NotAnswerable as why:
        sentence = markdown_plain(why)
        st.info(f"{sentence[:1].upper()}{sentence[1:]}.")
        return
    exhibited("class-panels", scene, title=None, controls=False, folded=True, limits=fixed["class-panels"])
    if panels.build().curve == "kernel":
        _one_class(scene)
    exhibited("class-errors", scene, folded=True, limits=fixed["class-errors"])
    exhibited("classes", scene, limits=fixed["classes"])


def _from_the_first(recipe: Recipe) -> None:
    """Other options of the small diagrams; where they put other classes first, from the first page."""
    before = widgets.selection().exhibit(recipe.key).build()
    after = recipe.build()
    if any(getattr(before, name) != getattr(after, name) for name in ("notion", "sort", "search")):
        recipe = EXHIBITS.described(recipe.key, **{**dict(recipe.params), "page": 1})
    widgets.change_exhibit(recipe)


def _one_class(scene: Scene) -> None:
    """The kernel curve of one class of one model, with its band."""
    selection, fixed = widgets.selection(), together(widgets.selection())["class-kernel"]
    curve = ClassKernel(**fixed)
    names, able = scene.class_names, list(curve.predictions(scene))
    st.markdown(f"#### {EXHIBITS['class-kernel'].title}")
    first, second = st.columns(2)
    codes = range(len(names))
    tied = widgets.tied_to(codes, "classes.one", curve.code(scene), lambda c: widgets.change(code=c))
    first.selectbox("Class", codes, format_func=names.__getitem__, **tied)
    shown = [model for model in scene.models.shown if model.title in able]
    widgets.model_box(second, shown, scene.models.titled(curve.title(scene)), "classes.model")
    # How curves are smoothed is chosen once: here and below the reliability diagram.
    recipe, changed = selection.exhibit("kernel-curve"), widgets.change_exhibit
    with st.expander("Kernel, bandwidth, scale and band"):
        widgets.recipe_controls(recipe, key="exhibit.kernel-curve", changed=changed)
    exhibited("class-kernel", scene, title=None, folded=True, limits=fixed)
