"""Costs of decisions: costs to fill in, expected and actual costs of every model, and the decision curve."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from calib_core import InputError, RegistryError
from calib_core.evaluation.decisions import cost_matrix, implied_costs
from calib_core.readers import cost_table
from dashboard import uploads, widgets
from dashboard.exhibits import EXHIBITS, event_words
from dashboard.exhibits.decisions import COSTS, acted_on, at_these_costs
from dashboard.session import Scene
from dashboard.theme import markdown_plain
from dashboard.views.exhibited import by_model, exhibited

MOST_CLASSES = 20
"""Maximum number of classes whose costs are filled in on screen; for more they are given as text."""
_FILE = "decisions.file"


def draw(scene: Scene) -> None:
    """Draw the table of costs, and its consequences."""
    names = scene.class_names
    _costs(names, event_words.named_classes(scene))
    # Costs are in the table above; as text if there are too many classes for one.
    exhibited("decisions", scene, controls=not 2 <= len(names) <= MOST_CLASSES, turned=by_model(scene))
    st.markdown(f"#### {EXHIBITS['decision-curve'].title}")
    limits = at_these_costs(widgets.selection(), scene)
    _acted_on(scene, limits)
    exhibited("decision-curve", scene, title=None, controls=False, folded=True, limits=limits)
    exhibited("net-benefit", scene, controls=False, limits=limits, turned=by_model(scene))


def _acted_on(scene: Scene, limits: Mapping[str, float]) -> None:
    """Draw the choice of the class acted on, and the threshold, if the costs do not determine them."""
    names, codes = event_words.named_classes(scene), range(len(scene.class_names))
    if not names:
        return
    first, second = st.columns(2)
    code = acted_on(scene)
    tied = widgets.tied_to(codes, "decisions.class", code if code in codes else None, lambda c: widgets.change(code=c))
    first.selectbox("Act on", codes, None, names.__getitem__, placeholder="Choose a class", **tied)
    if limits:
        second.caption(f"Threshold: {100 * limits['threshold']:.4g} %, where the costs chosen above turn.")
    else:
        with second:
            recipe = widgets.selection().exhibit("decision-curve")
            widgets.recipe_controls(recipe, key="exhibit.decision-curve", changed=widgets.change_exhibit)
    threshold = limits.get("threshold", widgets.selection().exhibit("net-benefit").build().threshold)
    second.caption(markdown_plain(implied_costs(threshold)))


def _costs(names: tuple[str, ...], titles: tuple[str, ...]) -> None:
    """Draw a line for each decision, a column for each true class; a typed cost is used at once."""
    if len(names) < 2:
        return
    text = dict(widgets.selection().exhibit("decisions").params).get("costs", "")
    try:
        table = cost_matrix(str(text), len(names))
    except InputError:
        table = cost_matrix("", len(names))  # the reason why the costs of the link do not fit is below
    if len(names) <= MOST_CLASSES:
        _editor(titles, table, f"decisions.costs.{zlib.crc32(repr((names, text)).encode()):08x}")
    left, right = st.columns([0.3, 0.7], vertical_alignment="bottom")
    with left:
        frame = pd.DataFrame(table, pd.Index(names, name="decided"), list(names))
        widgets.download("Download these costs (CSV)", "costs.csv", frame.to_csv)
    with right.expander("Costs from a file"):
        _from_file(names)


def _editor(names: tuple[str, ...], table: NDArray[np.float64], widget: str) -> None:
    columns = {str(j): st.column_config.NumberColumn(f"true: {name}") for j, name in enumerate(names)}
    frame = pd.DataFrame(table, columns=list(columns))
    frame.insert(0, "decided", list(names))

    def changed() -> None:
        put(table, st.session_state[widget]["edited_rows"])

    st.caption(
        "The cost of each decision (row) for each true class (column), in any unit. Double-click a cost to change it."
    )
    st.data_editor(frame, hide_index=True, disabled=["decided"], column_config=columns, key=widget, on_change=changed)


def _from_file(names: tuple[str, ...]) -> None:
    """Draw the upload of a file of costs, checked against the names of the classes."""
    st.caption(
        "A CSV file like the one downloaded here: true classes in the header, decided classes in the first column."
    )
    file = uploads.uploader("Costs (CSV)", key=_FILE, types=("csv", "tsv", "txt"))
    if file is not None:
        data, name = file.getvalue(), file.name
        uploads.forget(file, key=_FILE)
        try:
            chosen(cost_table(data, names, name))
            st.session_state.pop(_PROBLEM, None)
        except InputError as why:
            st.session_state[_PROBLEM] = str(why)
        except RegistryError:
            st.session_state[_PROBLEM] = (
                f"the link has room for {COSTS.most:,} characters, and costs of {len(names):,} classes need more. Use "
                "calib_core.evaluation.decisions in Python"
            )
        st.rerun()
    if _PROBLEM in st.session_state:
        st.error(markdown_plain(f"These costs are not used: {st.session_state[_PROBLEM]}."))


_PROBLEM = "calib.decisions.problem"


def put(table: NDArray[np.float64], edits: Mapping[int, Mapping[str, Any]]) -> None:
    """Use the typed costs."""
    new = table.copy()
    for row, cells in edits.items():
        for column, value in cells.items():
            new[int(row), int(column)] = 0.0 if value is None else float(value)
    chosen(new)


def chosen(table: NDArray[np.float64]) -> None:
    """Use these costs; the default ones are not written into the link."""
    text = "; ".join(" ".join(f"{cost:.12g}" for cost in line) for line in table)
    same = np.array_equal(table, cost_matrix("", len(table)))
    widgets.change_exhibit(EXHIBITS.described("decisions", **({} if same else {"costs": text})))
