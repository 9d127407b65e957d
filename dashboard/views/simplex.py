"""Simplex view: three classes as a triangle, its cells and their arrows, and the calibrators' map of every point."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib_core import BINNINGS, InputError, NotAnswerable, Recipe
from calib_core.evaluation.splitting import Division
from calib_core.predictions.three_classes import OTHERS, largest_three
from calib_core.text import begun
from dashboard import session, widgets
from dashboard.chart import waiting
from dashboard.exhibits import EXHIBITS
from dashboard.navigation import view
from dashboard.schemes import simplex_schemes
from dashboard.selection import MIN_ROWS, MOST_PARTITIONS, Selection, Source, read_corners, written_corners
from dashboard.session import Scene
from dashboard.theme import markdown_plain
from dashboard.views.exhibited import exhibited
from dashboard.views.workspace import workspace

_OTHERS = {"pool": "Pooled with the third", "condition": "Left out"}
_CORNERS = ("First corner, top", "Second corner, right", "Third corner, left")

AT_ONCE = 20_000
"""Number of test rows up to which canonical errors, with intervals and noise floors, are computed automatically."""


def missing() -> str:
    """Return why no triangle can be drawn of these data; empty if one can."""
    try:
        largest_three(session.parts(widgets.selection().source).test)
    except NotAnswerable as why:
        return str(why)
    except InputError:
        return ""  # unusable data: reported in place of the view
    return ""


@view("simplex", "Simplex", 40, room="explore", missing=missing, reads="rows")
def render() -> None:
    """Draw the view for the current choices."""
    selection = widgets.selection()
    try:
        source = session.triangle(selection.source, selection.three)
    except NotAnswerable as why:
        st.info(f"This view draws triangles: {markdown_plain(why)}.")
        return
    try:
        scene = session.scene_of(selection).triangle
    except NotAnswerable as why:
        _about(selection, source)
        st.warning(f"There is no triangle to draw: {markdown_plain(why)}.", icon=":material/warning:")
        return
    _follow_click(scene)
    selection = widgets.selection()
    scene = scene.focused(cell=selection.cell)
    part = min(selection.part, max(len(selection.partitions) - 1, 0))
    with workspace(scene):
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            _about(selection, source)
        _about_corners(session.parts(source), chosen=bool(selection.three))
        bases = session.scene_of(selection).bases
        if len(bases) > 1:
            st.caption(f"Only {markdown_plain(bases[0].title)}: the triangle shows one file.")
        widgets.refusals(scene.models.failed)
        left, right = st.columns(2, gap="small")
        with left:
            if selection.partitions:
                _triangle(selection, scene, part)
            else:
                st.info("Tick a partition below: the triangle cut into its cells appears here.")
            # Not in a popover: sliders in one were seen to report their minimum when it opened.
            with st.container(key="simplex-settings"):
                _controls(selection, scene)
        with right:
            limits = {"wrong": False, "across": 1}
            exhibited("calibration-maps", scene, name="simplex-maps", title=None, limits=limits, folded=True)
        if len(selection.partitions) > 1:
            with st.container(key="simplex-others"):
                _others(selection, scene, part)
        else:
            st.empty()  # a removed one disappears at once, not when all below it is computed
        if scene.models.recalibrated and session.truth(source):
            title = "Remaining error: each calibrator minus the true map"
            exhibited("calibration-maps", scene, name="simplex-wrong", title=title, limits={"wrong": True}, folded=True)
        if selection.partitions:
            _errors(scene)
            exhibited("canonical-validity", scene, name="simplex-validity", folded=True)


def _about(selection: Selection, source: Source) -> None:
    """Draw the choice of corner classes, if the file has more than three."""
    if source.corners:
        _corners(session.parts(selection.source).test.class_names or (), *read_corners(source.corners))


def _corners(names: tuple[str, ...], three: tuple[int, int, int], others: str) -> None:
    """Draw the choice of the classes in the corners, and the treatment of the others."""

    def put(corner: int, code: int) -> None:
        # A class chosen twice changes places with the one that was here.
        swapped = {three[corner]: code, code: three[corner]}
        a, b, c = (swapped.get(old, old) for old in three)
        widgets.change(three=written_corners((a, b, c), others), cell=None)

    codes = range(len(names))
    for corner, label in enumerate(_CORNERS):
        st.selectbox(
            label,
            codes,
            format_func=names.__getitem__,
            **widgets.tied_to(codes, f"simplex.corner.{corner}", three[corner], partial(put, corner)),
        )

    def treat(way: str | None) -> None:
        if way is not None:
            widgets.change(three=written_corners(three, way), cell=None)

    st.selectbox(
        "The other classes",
        OTHERS,
        format_func=_OTHERS.__getitem__,
        help="Pooled: the third corner is its class or any other class. Left out: only rows of the three classes, "
        "with their probabilities divided by their sum.",
        **widgets.tied("simplex.others", others, treat),
    )


def _about_corners(rows: Division, *, chosen: bool) -> None:
    """Draw how the file's classes were combined, if it has more than three."""
    if rows.merging:
        where = "the rows that are judged" if rows.note else "the calibration rows"
        found = "" if chosen else f" By default, the corners are the classes that are confused most often in {where}."
        st.caption(
            f"{markdown_plain(begun(rows.merging))}. In this view, calibrators are fitted to the same three "
            f"corners.{found}"
        )


def _controls(selection: Selection, scene: Scene) -> None:
    """Draw the choice of partitions and models, and of the minimum number of rows for an arrow."""

    def tick(keys: list[str]) -> None:
        kept = [recipe for recipe in selection.partitions if recipe.key in keys]
        new = [Recipe("BINNINGS", key) for key in keys if key not in {recipe.key for recipe in kept}]
        every = sorted(kept + new, key=lambda recipe: simplex_schemes().index(recipe.key))
        widgets.change(partitions=tuple(every)[:MOST_PARTITIONS], cell=None)

    st.pills(
        "Partitions of the simplex into cells",
        simplex_schemes(),
        selection_mode="multi",
        format_func=lambda key: BINNINGS[key].title,
        **widgets.tied("simplex.partitions", list(dict.fromkeys(r.key for r in selection.partitions)), tick),
    )
    able = [model for model in scene.models.shown if scene.get(model.predictions).kind == "full"]
    widgets.model_box(st.container(), able, scene.model, "simplex.model", "Predictions of", cell=None)
    triangle = selection.exhibit("triangle")
    rows = EXHIBITS["triangle"].param("min_rows")

    def arrows(min_rows: int) -> None:
        chosen = {**dict(triangle.params), rows.name: min_rows}
        widgets.change_exhibit(EXHIBITS.described("triangle", **chosen))

    st.slider(
        "Minimum rows per cell for an arrow",
        *MIN_ROWS,
        help="Applies to test rows and to calibration rows; cells with fewer are hollow.",
        **widgets.tied("simplex.min-rows", dict(triangle.params).get(rows.name, rows.default), arrows),
    )
    for part in range(len(selection.partitions)):
        _settings(selection, part)


def _triangle(selection: Selection, scene: Scene, part: int) -> None:
    """Draw one partition of the triangle, with its rows, arrows and settings."""
    recipe = selection.partitions[part]
    cell = selection.cell if part == selection.part else None
    title = recipe.title if len(selection.partitions) > 1 else None
    limits, focused = {"partition": recipe}, scene.focused(cell=cell)
    exhibited("triangle", focused, name=_key(part), title=title, controls=False, folded=True, limits=limits)


def _others(selection: Selection, scene: Scene, first: int) -> None:
    """Draw the triangles of the other ticked partitions, two in a row."""
    rest = [part for part in range(len(selection.partitions)) if part != first]
    for start in range(0, len(rest), 2):
        for part, place in zip(rest[start : start + 2], st.columns(2, gap="small"), strict=False):
            with place:
                _triangle(selection, scene, part)


def _follow_click(scene: Scene) -> None:
    """Choose the partition and cell of a clicked mark."""
    for part in range(len(widgets.selection().partitions)):
        click = waiting(_key(part))
        cell = None if click is None else click.record.get("cell")
        if isinstance(cell, int) and cell < len(_places_of(scene, part)):
            widgets.change(part=part, cell=cell)


def _key(part: int) -> str:
    return f"simplex-{part}"


def _places_of(scene: Scene, part: int) -> tuple[str, ...]:
    """Return the positions of one partition's cells with rows, in words; empty if it is not answered."""
    triangle = EXHIBITS.described("triangle", partition=scene.partitions[part]).build()
    table = triangle.table(scene)
    return () if scene.refusal(table) else tuple(scene.get(table)["place"])


def _settings(selection: Selection, part: int) -> None:
    """Draw the parameters of one partition."""
    recipe = selection.partitions[part]

    def changed(new: Recipe) -> None:
        kept = widgets.selection().partitions
        widgets.change(partitions=tuple(dict.fromkeys((*kept[:part], new, *kept[part + 1 :]))), cell=None)

    with st.expander(f"Settings of {markdown_plain(recipe.title)}", key=f"simplex.settings.{part}"):
        entry = BINNINGS[recipe.key]
        st.caption(markdown_plain(entry.caption) + (f" ({markdown_plain(entry.reference)})" if entry.reference else ""))
        widgets.recipe_controls(recipe, key=f"simplex.{part}.{recipe.key}", changed=changed)


def _errors(scene: Scene) -> None:
    """Draw the canonical errors; for many rows on request."""
    table = EXHIBITS.make("canonical-errors").table(scene)
    many = scene.get(scene.model.predictions).n_rows > AT_ONCE and not scene.knows(table)
    if many and not st.button("Canonical errors, with intervals and noise floors", key="simplex.errors"):
        return
    exhibited("canonical-errors", scene)
