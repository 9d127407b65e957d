"""What decisions cost: costs to fill in, what every model expects to pay and pays, and the decision curve."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from calib_core import InputError
from calib_core.decisions import cost_matrix
from dashboard import widgets
from dashboard.exhibits import EXHIBITS
from dashboard.session import Scene
from dashboard.views.exhibited import exhibited

MOST_CLASSES = 20
"""Classes whose costs are filled in on screen at most; of more they are given as text."""


def draw(scene: Scene) -> None:
    """Draw the table of costs, and what follows from it."""
    _costs(scene.class_names)
    exhibited("decisions", scene)
    exhibited("decision-curve", scene)


def _costs(names: tuple[str, ...]) -> None:
    """A line for each decision, a column for each class that may be true; a cost typed in is used at once."""
    if not 2 <= len(names) <= MOST_CLASSES:
        return
    text = dict(widgets.selection().exhibit("decisions").params).get("costs", "")
    try:
        table = cost_matrix(str(text), len(names))
    except InputError:
        table = cost_matrix("", len(names))  # why the costs of the link do not fit stands below
    columns = {str(j): st.column_config.NumberColumn(f"true: {name}") for j, name in enumerate(names)}
    frame = pd.DataFrame(table, columns=list(columns))
    frame.insert(0, "decided", list(names))
    widget = f"decisions.costs.{zlib.crc32(repr((names, text)).encode()):08x}"

    def changed() -> None:
        put(table, st.session_state[widget]["edited_rows"])

    st.caption("What it costs to decide for a line where a column is true. A cost can be changed by a double click.")
    st.data_editor(frame, hide_index=True, disabled=["decided"], column_config=columns, key=widget, on_change=changed)


def put(table: NDArray[np.float64], edits: Mapping[int, Mapping[str, Any]]) -> None:
    """Use the costs that were typed in."""
    new = table.copy()
    for row, cells in edits.items():
        for column, value in cells.items():
            new[int(row), int(column)] = 0.0 if value is None else float(value)
    text = "; ".join(" ".join(f"{cost:.12g}" for cost in line) for line in new)
    same = np.array_equal(new, cost_matrix("", len(new)))
    widgets.change_exhibit(EXHIBITS.described("decisions", **({} if same else {"costs": text})))
