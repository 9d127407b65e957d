"""The calibrators view: all ticked calibrators in one table, their maps and their side effects."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from calib_core import CALIBRATORS, NotAnswerable, exporting, figures
from calib_core._text import percent
from calib_core.study import every_measure, ranks
from dashboard import compute, session, widgets
from dashboard.chart import chart
from dashboard.export import csv_bytes
from dashboard.navigation import view
from dashboard.selection import Selection, mixed
from dashboard.session import Model, Models
from dashboard.takeaway import onnx_bytes
from dashboard.theme import markdown_plain
from dashboard.views import paired
from dashboard.views.copied import copied

LEVEL = 0.1
"""Guarantees are stated with probability at least 1 - LEVEL."""


@view("calibrators", "Calibrators", 50)
def render() -> None:
    """Draw the view for the present choices."""
    selection = widgets.selection()
    models = session.models(selection)
    widgets.refusals(models.refused)
    counting(models)
    try:
        table = comparison(selection, models)
    except NotAnswerable as why:
        st.info(f"{markdown_plain(why)}.")
        return
    st.markdown("#### Every number of every ticked calibrator, on the test rows")
    st.dataframe(
        table,
        key="calibrators.table",
        width="stretch",
        column_config={name: _column(name) for name in table.columns},
        hide_index=True,
    )
    st.caption(
        "Average rank: over all errors and scores that every shown model has, 1 is best. Empty cells: the calibrator "
        "says nothing there, because it recalibrates only the claim it makes. Times are of this machine. "
        f"Bins: {compute.bins_said(selection.scheme)}. {compute.rows_said(selection, models)}"
    )
    with st.container(horizontal=True):
        widgets.download("Download this table (CSV)", "calibrators.csv", lambda: csv_bytes(table))
        call = "cc.study.summaries({}, [bins], cc.study.every_measure())[0]"
        copied(in_python(selection, models, call), section="calibrators", key="measures")
    paired.draw(selection, models)
    _guarantees(models)
    _side_effects(models)
    _constraints(models)
    _map(selection, models)
    _saved(models)


def counting(models: Models) -> None:
    """Where models abstain: which rows every number of a table is over."""
    if compute.abstaining(models):
        st.segmented_control(
            "Rows of the table",
            tuple(_COUNTING),
            format_func=_COUNTING.__getitem__,
            help="Some models abstain on rows. Every model is judged on the rows that all answer, or all of them on "
            "every row, where the vector given in place of an answer counts as the prediction.",
            **widgets.bound("counting"),
        )


def in_python(selection: Selection, models: Models, call: str) -> str:
    """A call on each model's rows, as the table of them counts them."""
    if not compute.abstaining(models):
        return call.format("model")
    alike = f"cc.study.over_same_rows([*models.values()], {selection.counting!r})"
    return f"{{name: {call.format('rows')} for name, rows in zip(models, {alike})}}"


_COUNTING = {"answered": "answered by all models", "all": "all rows"}


def comparison(selection: Selection, models: Models) -> pd.DataFrame:
    """One line per model: average rank, every measure, times, side effects and what its contract says."""
    frames = [compute.every_measure(m, selection, models) for m in models.shown]
    values = pd.DataFrame([frame.set_index("measure")["value"] for frame in frames]).reset_index(drop=True)
    shared = values.dropna(axis="columns")
    average = ranks(shared, every_measure()).mean(axis=1) if shared.shape[1] else np.nan
    fits = [compute.fit(m) for m in models.shown]
    flags = [CALIBRATORS[m.recipe.key].flags for m in models.shown]
    table = pd.DataFrame({"calibrator": [m.title for m in models.shown], "average rank": average})
    table = table.join(values)
    bins = [compute.bins_of_measures(frame) for frame in frames]
    if mixed(bins):
        table["bins"] = bins
    table["fit (ms)"] = [1000 * f.fit_seconds for f in fits]
    table["apply (ms)"] = [1000 * f.apply_seconds for f in fits]
    table["returns"] = [f.judged.kind for f in fits]
    table["keeps the class"] = [flag.keeps_argmax for flag in flags]
    table["rows sum to one"] = [flag.sums_to_one for flag in flags]
    return table


def _column(name: str) -> Any:
    if name in ("fit (ms)", "apply (ms)"):
        return st.column_config.NumberColumn(name, format="%.1f")
    if name == "average rank":
        return st.column_config.NumberColumn(name, format="%.2f")
    if name == "calibrator":
        return st.column_config.TextColumn(name, pinned=True)
    if name in ("bins", "returns", "keeps the class", "rows sum to one"):
        return name
    return st.column_config.NumberColumn(name, format="%.4f")


def _guarantees(models: Models) -> None:
    """The bound that holds for this data beside each calibrator that has one; the others are named."""
    st.markdown("#### What is promised")
    promises = {m.title: compute.fitted(m).guarantee(LEVEL) for m in models.shown}
    for title, promise in promises.items():
        if promise.holds:
            st.markdown(f"**{markdown_plain(title)}**: {markdown_plain(promise.sentence)}")
    for reason in dict.fromkeys(promise.sentence for promise in promises.values() if not promise.holds):
        titles = [
            markdown_plain(t) for t, promise in promises.items() if not promise.holds and promise.sentence == reason
        ]
        st.caption(f"**{', '.join(titles)}**: {markdown_plain(reason)}")


def _side_effects(models: Models) -> None:
    """What recalibration does to the decisions."""
    lines = []
    for model in models.recalibrated:
        effects = compute.side_effects(model)
        changed = "unknown" if effects.class_changed is None else percent(effects.class_changed, 2)
        lines.append(
            {
                "calibrator": markdown_plain(model.title),
                "accuracy change": f"{100 * effects.accuracy_change:+.2f} points",
                "rows whose class changed": changed,
                "rows it abstains on": percent(effects.abstained, 2),
            }
        )
    if lines:
        st.markdown("#### Side effects")
        st.table(pd.DataFrame(lines).set_index("calibrator"))
        pairs = {model.title: model.base.title for model in models.recalibrated}
        shown = f"{{a: cc.study.side_effects(models[b], models[a]) for a, b in {pairs}.items()}}"
        copied(shown, section="calibrators", key="effects")


def _constraints(models: Models) -> None:
    """For calibrators that abstain to keep a rate: did they keep it, over repeated splits of all rows."""
    able = [m for m in models.shown if compute.fitted(m).wanted]
    for model in able:
        st.markdown(f"#### {markdown_plain(model.title)}: is the rate kept?")
        held = compute.constraint(model, only_if_held=True)
        if held is None:
            _offer_constraint(model)
            continue
        left, right = st.columns([0.6, 0.4], gap="medium")
        with left:
            label = f"Attained against wanted {held.rate} over {held.repeats} splits."
            chart(figures.constraint(held), key=f"constraint-{model.key}", label=label)
        right.dataframe(held.frame().round(4), hide_index=True, key=f"constraint.table.{model.key}")
        shown = (
            f"cc.diagrams.constraint(whole, {model.recipe.python()}, {held.wanted.tolist()}, {held.repeats}).frame()"
        )
        copied(shown, section="calibrators", key=f"constraint.{model.key}", of=model)


def _offer_constraint(model: Model) -> None:
    def fit_often() -> None:
        compute.constraint(model)

    label = f"Fit it on {compute.REPEATS} random splits of all rows, for several wanted rates"
    st.button(label, key=f"constraint.{model.key}", on_click=fit_often)


def _map(selection: Selection, models: Models) -> None:
    """Score in, score out, for a calibrator made of binary maps."""
    able = [m for m in models.shown if compute.fitted(m).binary_maps]
    st.markdown("#### Score in, score out")
    if not able:
        st.info("Tick a calibrator made of binary maps, such as a histogram binning: its map appears here.")
        return
    model = next((m for m in able if m.title == selection.map_of), able[0])
    strata: tuple[str, ...] = compute.fitted(model).strata_
    stratum = min(selection.stratum, len(strata) - 1)
    left, right = st.columns([0.7, 0.3], gap="medium")
    with right:
        titles = [m.title for m in able]
        st.selectbox(
            "Calibrator",
            titles,
            **widgets.tied_to(titles, "map.of", model.title, lambda t: widgets.change(map_of=t, stratum=0)),
        )
        if len(strata) > 1:
            st.selectbox(
                "Map of",
                range(len(strata)),
                format_func=lambda s: strata[s],
                **widgets.tied_to(range(len(strata)), "map.stratum", stratum, lambda s: widgets.change(stratum=s)),
            )
        mapped = compute.binary_map(model, stratum)
        st.caption(_own(mapped.own, mapped.rows))
    with left:
        label = f"What {model.title} makes of a score in {strata[stratum]}."
        chart(figures.binary_map(mapped), key="binary-map", label=label)
        shown = f"cc.diagrams.binary_map(cal, test, {stratum}).frame()"
        copied(shown, section="calibrators", key="binary-map", of=model)


def _saved(models: Models) -> None:
    """The fitted calibrators as files: for this library, for any Python, for other languages."""
    st.markdown("#### Take a fitted calibrator home")
    st.caption(
        "JSON: `cc.load_calibrator(path).predict_proba(probs)` gives the numbers shown here, equal to the last bit. "
        "Python: a module that needs no packages. ONNX: for other languages and model servers. The last two are run "
        "beside the calibrator when you click, and refused where they differ from it by more than 0.000001."
    )
    for model in models.recalibrated:
        title, json, python, onnx = st.columns([0.55, 0.15, 0.15, 0.15], vertical_alignment="center")
        title.markdown(markdown_plain(model.title))
        name = model.recipe.key.replace("+", "-")
        with json:
            widgets.download("JSON", f"calibrator-{name}.json", partial(_json, model), key=f"saved.{model.key}")
        why = compute.no_export(model)
        if why:
            title.caption(markdown_plain(f"{why}."))
            continue
        module = f"calibrator_{name.replace('-', '_')}.py"
        with python:
            widgets.download("Python", module, partial(_python, model), key=f"python.{model.key}")
        with onnx:
            widgets.download("ONNX", f"calibrator-{name}.onnx", partial(_onnx, model), key=f"onnx.{model.key}")


def _json(model: Model) -> str:
    return compute.fitted(model).to_json()


def _python(model: Model) -> str:
    return exporting.python_source(compute.fitted(model))


def _onnx(model: Model) -> bytes:
    return onnx_bytes(compute.fitted(model))


def _own(own: str, rows: int) -> str:
    said = {
        "own": "A map of its own, fitted on its calibration rows.",
        "pooled": "Too few calibration rows: it shares one map with the other small classes.",
        "none": "Too few calibration rows: its scores stay as they are.",
    }[own]
    return f"{said} {rows} test rows; where no bar stands the map is extrapolation."
