"""The simplex view: three classes as a triangle, its cells and their arrows, and what calibrators do to every point."""

from __future__ import annotations

import dataclasses
from functools import partial

import streamlit as st

from calib_core import BINNINGS, NotAnswerable, Recipe
from calib_core.three_classes import OTHERS
from dashboard import compute, session, widgets
from dashboard.navigation import view
from dashboard.selection import MIN_ROWS, MOST_PARTITIONS, Selection, read_corners, simplex_schemes, written_corners
from dashboard.session import Model
from dashboard.theme import markdown_plain
from dashboard.views import simplex_cells, simplex_maps

_OTHERS = {"pool": "Pooled with the third", "condition": "Left out"}
_CORNERS = ("First corner, top", "Second corner, right", "Third corner, left")


@view("simplex", "Simplex", 40)
def render() -> None:
    """Draw the view for the present choices."""
    selection = widgets.selection()
    try:
        source = session.triangle(selection.source, selection.three)
    except NotAnswerable as why:
        st.info(f"This view draws triangles: {markdown_plain(why)}.")
        return
    names = session.parts(selection.source).test.class_names or ()
    if source.corners:
        _corners(names, *read_corners(source.corners))
    models = session.models(dataclasses.replace(selection, source=source))
    widgets.refusals(models.refused)
    able = [m for m in models.shown if compute.judged(m).kind == "full"]
    if not able:
        return
    _about_corners(session.parts(able[0].source).merging)
    model = next((m for m in able if m.title == selection.model), able[0])
    _controls(selection, able, model)
    simplex_cells.draw(model)
    simplex_maps.draw(models)


def _corners(names: tuple[str, ...], three: tuple[int, int, int], others: str) -> None:
    """Which classes stand in the corners, and what becomes of the others."""

    def put(corner: int, code: int) -> None:
        # A class chosen twice changes places with the one that was here.
        held = {three[corner]: code, code: three[corner]}
        a, b, c = (held.get(old, old) for old in three)
        widgets.change(three=written_corners((a, b, c), others), cell=None)

    codes = range(len(names))
    *columns, last = st.columns([0.25, 0.25, 0.25, 0.25], vertical_alignment="bottom")
    for corner, (column, label) in enumerate(zip(columns, _CORNERS, strict=True)):
        column.selectbox(
            label,
            codes,
            format_func=names.__getitem__,
            **widgets.tied_to(codes, f"simplex.corner.{corner}", three[corner], partial(put, corner)),
        )

    def treat(way: str | None) -> None:
        if way is not None:
            widgets.change(three=written_corners(three, way), cell=None)

    last.selectbox(
        "The other classes",
        OTHERS,
        format_func=_OTHERS.__getitem__,
        help="Pooled: the third corner is its class or any other. Left out: rows of the three classes only, "
        "with their three probabilities divided by their sum.",
        **widgets.tied("simplex.others", others, treat),
    )


def _controls(selection: Selection, able: list[Model], model: Model) -> None:
    """Which partitions are drawn of whose predictions, and how many rows an arrow needs."""

    def tick(keys: list[str]) -> None:
        held = [recipe for recipe in selection.partitions if recipe.key in keys]
        new = [Recipe("BINNINGS", key) for key in keys if key not in {recipe.key for recipe in held}]
        every = sorted(held + new, key=lambda recipe: simplex_schemes().index(recipe.key))
        widgets.change(partitions=tuple(every)[:MOST_PARTITIONS], cell=None)

    left, middle, right = st.columns([0.45, 0.28, 0.27], gap="medium", vertical_alignment="bottom")
    left.pills(
        "Partitions of the triangle into cells",
        simplex_schemes(),
        selection_mode="multi",
        format_func=lambda key: BINNINGS[key].title,
        **widgets.tied("simplex.partitions", list(dict.fromkeys(r.key for r in selection.partitions)), tick),
    )
    widgets.model_box(middle, able, model, "simplex.model", "Predictions of", cell=None)
    right.slider(
        "Rows a cell needs for an arrow",
        *MIN_ROWS,
        help="Of the test rows and of the calibration rows; cells with fewer are drawn hollow.",
        **widgets.bound("min_rows"),
    )


def _about_corners(said: str) -> None:
    """What was made of the file's classes, where it has more than three."""
    if said:
        st.caption(
            f"{markdown_plain(said[0].upper() + said[1:])}. Calibrators in this view are fitted on calibration rows "
            "treated in the same way, on these three corners."
        )
