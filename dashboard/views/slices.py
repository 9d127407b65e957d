"""Slices view: subgroups of a chosen column, ranked, with their diagrams, and a scan of all columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import streamlit as st

import calib_core as cc
from calib_core import InputError, NotAnswerable
from calib_core.columns.conditions import Slice, no_columns
from calib_core.text import begun
from dashboard import session, widgets
from dashboard.chart import waiting
from dashboard.chart.click import take
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.slices import ADDED, BySlice, columns_of
from dashboard.navigation import view
from dashboard.selection import NOWHERE
from dashboard.session import Scene
from dashboard.theme import markdown_plain
from dashboard.views.exhibited import exhibited, progress
from dashboard.views.on_request import on_request
from dashboard.views.workspace import model_in_focus

_PICTURES = ("slices", "slice-panels", "slice-scan", "sites")
"""Pictures whose marks represent slices."""
_NONE = "no second column"
_SHARED = ("by", "crossed", "parts", "edges")


def missing() -> str:
    """Return why there is nothing to slice by; empty if there is."""
    try:
        test = session.parts(widgets.selection().source).test
    except InputError:
        return ""
    return "" if cc.slices.columns_of(test) else str(no_columns(test))


@view("slices", "Slices", 35, room="explore", missing=missing)
def render() -> None:
    """Draw the view for the current choices."""
    opened = with_columns("slices", columns_of, _PICTURES, ADDED)
    if opened is None:
        return
    scene, names = opened
    split: BySlice = widgets.selection().exhibit("slices").build()
    _choose(split, names, scene)
    exhibited("slices", scene, title=None, controls=False, folded=True)
    st.caption("Click a slice to filter every page to its rows; clear the filter at the top.")
    limits = {name: getattr(split, name) for name in _SHARED}
    with st.expander("Reliability by slice", key="slices.panels", on_change="rerun") as box:
        if box.open:
            exhibited("slice-panels", scene, title=None, controls=False, folded=True, limits=limits)
    if scene.claims == "event" and not scene.undivided:
        with st.expander("Differences between sites", key="slices.sites", on_change="rerun") as box:
            if box.open:
                for key in ("sites", "pooled-sites"):
                    exhibited(key, scene, title=None, controls=False, limits=limits)
    with st.expander("All columns", key="slices.columns", on_change="rerun") as box:
        if box.open:
            exhibited("slice-columns", scene, title=None)
    if not scene.undivided:
        with st.expander("Error in the worst group", key="slices.within", on_change="rerun") as box:
            if box.open:
                chosen = {name: getattr(split, name) for name in ("by", "crossed", "parts")}
                on_request("multicalibration", scene, title=None, controls=False, limits=chosen)
        with st.expander("Search in all columns and crossings", key="slices.scan", on_change="rerun") as box:
            if box.open:
                on_request("slice-scan", scene, title=None)


def with_columns(
    key: str, columns: Callable[[Scene], tuple[str, ...]], pictures: Sequence[str], hint: str = ""
) -> tuple[Scene, tuple[str, ...]] | None:
    """Begin a view of slices: follow a click, and return the scene and its columns, or draw why there are none."""
    for picture in pictures:
        follow_slice(picture)
    scene = session.scene_of(widgets.selection())
    with progress(scene) as watched:
        try:
            names = columns(watched)
        except NotAnswerable as why:
            st.info(markdown_plain(f"{begun(str(why))}. {hint}".rstrip()))
            return None
    model_in_focus(scene, key)
    return scene, names


def follow_slice(picture: str) -> None:
    """Filter to the clicked slice, or return to all rows."""
    click, within = waiting(picture), widgets.selection().source.within
    record = {} if click is None else click.record
    if not record.keys() & {"slice", "clear"}:
        return
    take(picture)
    # A browser can send anything.
    with suppress(InputError):
        new = Slice.read(str(record["slice"])) if "slice" in record else None
        where = new if new is None or not within else Slice.read(within).narrowed(new)
        widgets.change(within="" if where is None else str(where), **NOWHERE)
        st.rerun()  # the page was drawn for the previous rows


def _choose(split: BySlice, names: tuple[str, ...], scene: Scene) -> None:
    """Draw the choice of the column, of a second one, and of how numbers are cut."""

    def chosen(**options: object) -> None:
        kept = {name: getattr(split, name) for name in _SHARED} | options
        widgets.change_exhibit(EXHIBITS.described("slices", **kept))

    first, second, cut = st.columns([0.36, 0.36, 0.28], vertical_alignment="bottom")
    by = split.by if split.by in names else names[0]
    first.selectbox(
        "Split by", names, **widgets.tied_to(names, "slices.by", by, lambda name: chosen(by=name, edges=""))
    )
    # A summary does not know how many rows have two values at once.
    others = (_NONE, *(() if scene.undivided else (name for name in names if name != by)))
    crossed = split.crossed if split.crossed in others else _NONE
    if len(others) > 1:
        second.selectbox(
            "Crossed with",
            others,
            **widgets.tied_to(
                others,
                "slices.crossed",
                crossed,
                lambda name: chosen(by=by, crossed="" if name == _NONE else name, edges=""),
            ),
        )
    with widgets.popover(cut, "Number ranges", key="slices.cut", width="stretch", icon=":material/tune:"):
        recipe = widgets.selection().exhibit("slices")
        widgets.recipe_controls(recipe, key="exhibit.slices", changed=widgets.change_exhibit, only=("parts", "edges"))
