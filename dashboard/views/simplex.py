"""The simplex view: three classes as a triangle, its cells and their arrows, and what calibrators do to every point."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib_core import BINNINGS, NotAnswerable, Recipe
from calib_core.three_classes import OTHERS
from dashboard import session, widgets
from dashboard.chart import waiting
from dashboard.exhibits import EXHIBITS
from dashboard.navigation import view
from dashboard.selection import MIN_ROWS, MOST_PARTITIONS, Selection, read_corners, simplex_schemes, written_corners
from dashboard.session import Scene
from dashboard.theme import markdown_plain
from dashboard.views.exhibited import exhibited

_OTHERS = {"pool": "Pooled with the third", "condition": "Left out"}
_CORNERS = ("First corner, top", "Second corner, right", "Third corner, left")

AT_ONCE = 20_000
"""Up to so many test rows canonical errors, with intervals and noise floors, are made without being asked for."""


@view("simplex", "Simplex", 40)
def render() -> None:
    """Draw the view for the present choices."""
    selection = widgets.selection()
    try:
        source = session.triangle(selection.source, selection.three)
    except NotAnswerable as why:
        st.info(f"This view draws triangles: {markdown_plain(why)}.")
        return
    if source.corners:
        _corners(session.parts(selection.source).test.class_names or (), *read_corners(source.corners))
    try:
        scene = session.scene_of(selection).triangle
    except NotAnswerable as why:
        st.warning(f"There is no triangle to draw: {markdown_plain(why)}.", icon=":material/warning:")
        return
    widgets.refusals(scene.models.refused)
    _about_corners(session.parts(source).merging)
    _controls(selection, scene)
    if selection.partitions:
        _cells(scene)
    else:
        st.info("Tick a partition: the triangle cut into its cells appears here.")
    exhibited("calibration-maps", scene, name="simplex-maps", limits={"wrong": False}, folded=True)
    if scene.models.recalibrated and session.truth(source):
        title = "What is still wrong: each map minus the true one"
        exhibited("calibration-maps", scene, name="simplex-wrong", title=title, limits={"wrong": True}, folded=True)


def _corners(names: tuple[str, ...], three: tuple[int, int, int], others: str) -> None:
    """Which classes stand in the corners, and what becomes of the others."""

    def put(corner: int, code: int) -> None:
        # A class chosen twice changes places with the one that was here.
        swapped = {three[corner]: code, code: three[corner]}
        a, b, c = (swapped.get(old, old) for old in three)
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


def _about_corners(merging: str) -> None:
    """What was made of the file's classes, where it has more than three."""
    if merging:
        st.caption(
            f"{markdown_plain(merging[0].upper() + merging[1:])}. Calibrators in this view are fitted on calibration "
            "rows treated in the same way, on these three corners."
        )


def _controls(selection: Selection, scene: Scene) -> None:
    """Which partitions are drawn of whose predictions, and how many rows an arrow needs."""

    def tick(keys: list[str]) -> None:
        kept = [recipe for recipe in selection.partitions if recipe.key in keys]
        new = [Recipe("BINNINGS", key) for key in keys if key not in {recipe.key for recipe in kept}]
        every = sorted(kept + new, key=lambda recipe: simplex_schemes().index(recipe.key))
        widgets.change(partitions=tuple(every)[:MOST_PARTITIONS], cell=None)

    left, middle, right = st.columns([0.45, 0.28, 0.27], gap="medium", vertical_alignment="bottom")
    left.pills(
        "Partitions of the triangle into cells",
        simplex_schemes(),
        selection_mode="multi",
        format_func=lambda key: BINNINGS[key].title,
        **widgets.tied("simplex.partitions", list(dict.fromkeys(r.key for r in selection.partitions)), tick),
    )
    able = [model for model in scene.models.shown if scene.get(model.predictions).kind == "full"]
    widgets.model_box(middle, able, scene.model, "simplex.model", "Predictions of", cell=None)
    triangle = selection.exhibit("triangle")
    rows = EXHIBITS["triangle"].param("min_rows")

    def arrows(min_rows: int) -> None:
        chosen = {**dict(triangle.params), rows.name: min_rows}
        widgets.change_exhibit(EXHIBITS.described("triangle", **chosen))

    right.slider(
        "Rows a cell needs for an arrow",
        *MIN_ROWS,
        help="Of the test rows and of the calibration rows; cells with fewer are drawn hollow.",
        **widgets.tied("simplex.min-rows", dict(triangle.params).get(rows.name, rows.default), arrows),
    )


def _cells(scene: Scene) -> None:
    """Every ticked partition, then what can be said about the cells of all and the rows of one."""
    _follow_click(scene)
    selection = widgets.selection()
    for part, place in enumerate(_places(len(selection.partitions))):
        recipe = selection.partitions[part]
        cell = selection.cell if part == selection.part else None
        with place:
            title, limits = recipe.title, {"partition": recipe}
            focused = scene.focused(cell=cell)
            exhibited("triangle", focused, name=_key(part), title=title, controls=False, folded=True, limits=limits)
            _settings(selection, part)
    _errors(scene)
    _taken_apart(selection, scene)
    exhibited("canonical-validity", scene, name="simplex-validity", folded=True)


def _follow_click(scene: Scene) -> None:
    """A click on a mark chooses its partition and cell."""
    for part in range(len(widgets.selection().partitions)):
        click = waiting(_key(part))
        cell = None if click is None else click.record.get("cell")
        if isinstance(cell, int) and cell < len(_places_of(scene, part)):
            widgets.change(part=part, cell=cell)


def _key(part: int) -> str:
    return f"simplex-{part}"


def _places_of(scene: Scene, part: int) -> tuple[str, ...]:
    """Where the cells with rows of one partition lie, in words; none where it is not answered."""
    triangle = EXHIBITS.described("triangle", partition=scene.partitions[part]).build()
    table = triangle.table(scene)
    return () if scene.refusal(table) else tuple(scene.get(table)["place"])


def _places(n: int) -> Iterator[DeltaGenerator]:
    """Where each of n diagrams stands: two in a row."""
    if n == 1:
        yield st.columns([0.62, 0.38])[0]
        return
    for start in range(0, n, 2):
        yield from st.columns(2, gap="medium")[: n - start]


def _settings(selection: Selection, part: int) -> None:
    """The parameters of one partition."""
    recipe = selection.partitions[part]

    def changed(new: Recipe) -> None:
        kept = widgets.selection().partitions
        widgets.change(partitions=tuple(dict.fromkeys((*kept[:part], new, *kept[part + 1 :]))), cell=None)

    with st.expander("Settings"):
        entry = BINNINGS[recipe.key]
        st.caption(markdown_plain(entry.caption) + (f" ({markdown_plain(entry.reference)})" if entry.reference else ""))
        widgets.recipe_controls(recipe, key=f"simplex.{part}.{recipe.key}", changed=changed)


def _errors(scene: Scene) -> None:
    """The canonical errors; of many rows once they are asked for."""
    table = EXHIBITS.make("canonical-errors").table(scene)
    many = scene.get(scene.model.predictions).n_rows > AT_ONCE and not scene.knows(table)
    if many and not st.button("Canonical errors, with intervals and noise floors", key="simplex.errors"):
        return
    exhibited("canonical-errors", scene)


def _taken_apart(selection: Selection, scene: Scene) -> None:
    """The rows of one cell of one partition, chosen by a click or here."""
    part = min(selection.part, len(selection.partitions) - 1)
    places = _places_of(scene, part)
    cell = selection.cell if part == selection.part and (selection.cell or 0) < len(places) else None
    st.markdown(f"#### {EXHIBITS['cell-rows'].title}")
    first, second, _ = st.columns([0.3, 0.4, 0.3])
    parts, cells = range(len(selection.partitions)), range(len(places))
    first.selectbox(
        "Partition",
        parts,
        format_func=lambda i: f"{i + 1}: {selection.partitions[i].title}",
        **widgets.tied_to(parts, "simplex.part", part, lambda i: widgets.change(part=i, cell=None)),
    )
    second.selectbox(
        "Cell",
        cells,
        format_func=lambda b: f"{b}: {places[b]}",
        placeholder="click into one above, or choose",
        **widgets.tied_to(cells, "simplex.cell", cell, lambda b: widgets.change(part=part, cell=b)),
    )
    limits = {"partition": selection.partitions[part]}
    exhibited("cell-rows", scene.focused(cell=cell), title=None, controls=False, limits=limits)
