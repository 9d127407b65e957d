"""The overview's list of what stands out: the largest significant gaps, with the way to each and to all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from calib_core import NotAnswerable
from calib_core.slices import Slice
from calib_core.slices.findings import BIN, OVERALL, SLICE
from dashboard import widgets
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.findings import Findings
from dashboard.navigation import VIEWS
from dashboard.selection import NOWHERE
from dashboard.session import Scene
from dashboard.theme import markdown_plain
from dashboard.views.card import named

LISTED = 5
"""Sentences on the overview."""


def draw(scene: Scene) -> None:
    """Draw the list for the model in focus; nothing where no place can be looked at."""
    seen, exhibit = scene.focused(model=scene.model.title), Findings()
    try:
        worst, words = exhibit.worst(seen, LISTED), exhibit.words(seen)
    except NotAnswerable:
        return
    first, counts = words.headline
    with st.container(border=True, key="card-places"):
        st.caption(f"{named('What stands out', scene)}, the largest significant gap first")
        if not len(worst):
            st.markdown(f"**{markdown_plain(first)}**")
        for i, line in enumerate(worst.to_dict("records")):
            sentence, way = st.columns([0.85, 0.15], vertical_alignment="center")
            sentence.markdown(markdown_plain(line["finding"]))
            where = place(line, seen)
            if where["view"] in VIEWS:
                with way:
                    leading(f"place-{i}", "Look closer", **where)
        st.markdown(markdown_plain(counts))
        leading("findings", "All findings", **NOWHERE, view="findings", model=seen.model.title)


def place(line: Mapping[Any, Any], scene: Scene) -> dict[str, Any]:
    """The choices that look at the place of a finding."""
    view = {BIN: "reliability", OVERALL: "reliability", SLICE: "slices"}.get(line["kind"], "findings")
    b = line["bin"] if line["kind"] == BIN or Findings().same_bins(scene) else None
    where: dict[str, Any] = {"view": view, "model": scene.model.title, "code": line["code"], "bin": b}
    if line["kind"] == SLICE:
        # The filter stays as it is: the slice stands among those of its column.
        (condition, *_) = Slice.read(str(line["slice"])).conditions
        by = EXHIBITS.described("slices", by=condition.column)
        where["exhibits"] = widgets.selection().with_exhibit(by).exhibits
    return {**NOWHERE, **where}


def leading(key: str, label: str, /, **where: Any) -> None:
    """A button that leads to exactly these choices."""
    button(key, label, lambda: widgets.change(**where))


def button(key: str, label: str, lead: Callable[[], None]) -> None:
    """A button that looks like a way elsewhere."""
    st.button(
        label,
        key=f"way.{key}",
        type="tertiary",
        icon=":material/arrow_forward:",
        icon_position="right",
        on_click=lead,
    )
