"""The reliability view: the diagram with its numbers, and the bin that was clicked, taken apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from calib_core import Predictions
from calib_core.diagrams import BinZoom, ReliabilityDiagram
from calib_core.study import MEASURES, Measure
from dashboard import compute, widgets
from dashboard.chart import chart, waiting
from dashboard.compute import Model, Models, Parts
from dashboard.export import csv_bytes
from dashboard.figures import (
    consistency_bands,
    corp_curve,
    draw_reliability,
    draw_zoom,
    kernel_band,
    wilson_intervals,
)
from dashboard.selection import OVERLAYS, Selection
from dashboard.theme import count, error, markdown_plain, percent

BESIDE = 3
"""Up to this many models the numbers stand beside the diagram, a column each; more get a line each below it."""

_OVERLAY_TITLES = {
    "none": "Nothing",
    "wilson": "Wilson intervals",
    "consistency": "Consistency bands",
    "corp": "CORP curve",
    "kernel": "Kernel curve",
}

ROWS_SHOWN = 5000
"""Rows of a bin put on screen; the download has all of them."""


def render() -> None:
    """Draw the view for the present choices."""
    selection = widgets.selection()
    models = compute.models(selection)
    _follow_click(models)
    selection = widgets.selection()
    diagrams = [(model.title, compute.reliability(model, selection.scheme)) for model in models.shown]
    left, right = st.columns([0.6, 0.4], gap="medium") if len(models.shown) <= BESIDE else (st.container(), None)
    with left:
        overlay = _overlay(selection, models.titled(selection.model))
        chart(draw_reliability(diagrams, overlay), key="reliability", label=_in_words(diagrams), height=560)
        st.selectbox(
            "Lay over it",
            OVERLAYS,
            format_func=_OVERLAY_TITLES.__getitem__,
            help="For the model chosen below: how far stars may lie by chance, or a curve without bins.",
            **widgets.bound("overlay"),
        )
        _about_overlay(selection, models.titled(selection.model))
        st.caption(
            "★ accuracy of the bin's rows against their mean confidence. **+** the same, class by class: as far from "
            "the diagonal as the predicted classes are off on average. Bars: share of rows. Hollow: fewer than 10 "
            "rows. Click a bin to take it apart."
        )
    with right or st.container():
        _numbers(selection, models, transposed=right is None)
    _taken_apart(selection, models)


def _follow_click(models: Models) -> None:
    """A click on a mark chooses its bin and model."""
    click = waiting("reliability")
    if click is None or not isinstance(click.customdata, list) or len(click.customdata) < 9:
        return
    index = int(click.customdata[8])
    if index < len(models.shown):
        widgets.change(zoom=int(click.customdata[0]), model=models.shown[index].title)


def _overlay(selection: Selection, model: Model) -> list[Any]:
    """The traces of what is laid over the diagram of the chosen model."""
    scheme = selection.scheme
    draw: dict[str, Callable[[], list[Any]]] = {
        "none": list,
        "wilson": lambda: wilson_intervals(compute.bands(model, scheme)),
        "consistency": lambda: consistency_bands(compute.bands(model, scheme)),
        "corp": lambda: corp_curve(compute.corp(model)),
        "kernel": lambda: kernel_band(compute.kernel_curve(model)),
    }
    return draw[selection.overlay]()


def _about_overlay(selection: Selection, model: Model) -> None:
    """What the overlay says in numbers."""
    title = markdown_plain(model.title)
    if selection.overlay in ("wilson", "consistency"):
        held = compute.bands(model, selection.scheme)
        stars = f"{held.outside} of {len(held.frame())} stars"
        st.caption(f"{title}: {stars} outside the 90 % consistency band; one in ten is by chance.")
    elif selection.overlay == "corp":
        curve = compute.corp(model)
        st.caption(
            f"{title}: Brier score {error(curve.score)} = miscalibration {error(curve.miscalibration)} "
            f"− discrimination {error(curve.discrimination)} + uncertainty {error(curve.uncertainty)}."
        )
    elif selection.overlay == "kernel":
        kernel = compute.kernel_curve(model)
        st.caption(f"{title}: bandwidth {kernel.bandwidth:.2g}, ECE by kernel densities {error(kernel.error)}.")
        st.slider("Local calibration error at a confidence of", 0.0, 1.0, step=0.01, **widgets.bound("at"))
        there = kernel.local_error(selection.at)
        st.caption(
            f"At {selection.at:.2f}: {error(there)}."
            if np.isfinite(there)
            else f"At {selection.at:.2f} no data lie: the local calibration error is not defined there."
        )
        if kernel.warning:
            st.warning(markdown_plain(kernel.warning), icon=":material/warning:")


def _in_words(diagrams: list[tuple[str, ReliabilityDiagram]]) -> str:
    """The diagram for people who do not see it."""
    gaps = [
        f"{name}: largest distance of a bin from the diagonal {error(float((d.accuracy - d.confidence).abs().max()))}"
        for name, d in ((name, diagram.frame()) for name, diagram in diagrams)
    ]
    return "Reliability diagram, accuracy against confidence. " + "; ".join(gaps) + "."


def _numbers(selection: Selection, models: Models, *, transposed: bool) -> None:
    """The summary of every model, one column (or line) each, and why some numbers are missing."""
    frames = {m.title: compute.measures(m, selection.scheme) for m in models.shown}
    st.markdown("##### Before and after, on the test rows")
    table = before_and_after(frames)
    st.table(table.T if transposed else table)
    scheme = selection.scheme.title[0].lower() + selection.scheme.title[1:]
    st.caption(f"Errors with {markdown_plain(scheme)}; plug-in estimates, which noise pushes up.")
    for title, frame in frames.items():
        for note, missing in frame[frame["note"] != ""].groupby("note", sort=False)["measure"]:
            st.caption(f"**{markdown_plain(title)}**, {', '.join(missing)} not defined: {markdown_plain(note)}.")
    widgets.refusals(models.refused)
    for model in models.shown:
        _coverage(model)
        _set_aside(model)


def before_and_after(frames: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Measures as rows, models as columns, formatted; the best number of a row is bold, missing ones a dash."""
    values = pd.DataFrame({title: frame.set_index("measure")["value"] for title, frame in frames.items()})
    cells = {measure.name: _cells(values.loc[measure.name].to_numpy(), measure) for measure in MEASURES}
    return pd.DataFrame.from_dict(cells, orient="index", columns=[markdown_plain(title) for title in values.columns])


def _coverage(model: Model) -> None:
    """What share of the rows a model that abstains still answers."""
    judged = compute.judged(model)
    if judged.abstained is not None:
        st.caption(
            f"**{markdown_plain(model.title)}** abstains on {percent(1 - judged.coverage)} of the test rows "
            f"({count(int(judged.abstained.sum()))}): accuracy, stars, plusses, conf- and TL- errors are of the rest."
        )


def _cells(values: NDArray[np.float64], measure: Measure) -> list[str]:
    if np.isnan(values).all():
        return ["–"] * len(values)
    best = np.nanmax(values) if measure.higher_is_better else np.nanmin(values)
    shown = [error(v) if np.isfinite(v) else "–" for v in values]
    return [f"**{text}**" if len(values) > 1 and v == best else text for text, v in zip(shown, values, strict=True)]


def _set_aside(model: Model) -> None:
    """Groups too small to calibrate on their own, and fits that found no answer, by name."""
    fitted = compute.fitted(model)
    for attribute, verb in (("pooled_", "calibrated together as one"), ("left_alone_", "left as they were")):
        names = getattr(fitted, attribute, ())
        if names:
            listed = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
            st.caption(f"**{markdown_plain(model.title)}**: too few rows, {verb}: {markdown_plain(listed)}.")
    if getattr(fitted, "status_", "converged") != "converged":
        st.caption(f"**{markdown_plain(model.title)}**: the fit ended {markdown_plain(fitted.status_)}.")


def _taken_apart(selection: Selection, models: Models) -> None:
    """The chosen bin of the chosen model: class by class, then row by row."""
    model = models.titled(selection.model)
    diagram = compute.reliability(model, selection.scheme)
    held = [int(b) for b in diagram.frame()["bin"]]
    st.markdown("#### One bin, taken apart")
    first, second, _ = st.columns([0.3, 0.3, 0.4])
    titles = [one.title for one in models.shown]
    first.selectbox(
        "Model", titles, **widgets.tied("zoom.model", model.title, lambda title: widgets.change(model=title))
    )
    chosen = selection.zoom if selection.zoom in held else None
    second.selectbox(
        "Bin of the confidence",
        held,
        format_func=diagram.label,
        placeholder="click a bin above, or choose one",
        **widgets.tied("zoom.bin", chosen, lambda b: widgets.change(zoom=b)),
    )
    if chosen is None:
        st.info("Click a star, a plus or a bar of the diagram: its classes and its rows appear here.")
        return
    predictions = compute.judged(model)
    if predictions.kind == "confidence":
        st.info("These predictions hold confidence and correctness only: a bin cannot be taken apart by class.")
        rows = compute.bin_rows(model, selection.scheme, chosen)
    else:
        zoom = compute.zoom(model, selection.scheme, chosen)
        _classes(zoom)
        rows = zoom.rows
    _rows(compute.parts(model.source), predictions, rows, diagram.label(chosen))


def _classes(zoom: BinZoom) -> None:
    left, right = st.columns([0.66, 0.34], gap="medium")
    worst = zoom.frame().sort_values("gap", key=np.abs, ascending=False)
    worst = worst[["class", "gap", "count", "accuracy", "confidence"]]
    with left:
        label = f"Bin {zoom.label}: accuracy against confidence of {len(zoom.names)} predicted classes."
        chart(draw_zoom(zoom), key="zoom", label=label, height=440)
        st.caption("A point per predicted class, larger with more rows; blue claims too much, orange too little.")
    with right:
        star = f"confidence {error(zoom.star[0])}, accuracy {error(zoom.star[1])}"
        st.markdown(f"**Bin {markdown_plain(zoom.label)}**: {count(len(zoom.rows))} rows, {star}")
        st.dataframe(
            worst,
            key="zoom.classes",
            hide_index=True,
            height=400,
            width="stretch",
            column_config={
                name: st.column_config.NumberColumn(name, format="%.4f") for name in ("confidence", "accuracy", "gap")
            },
        )


def _rows(parts: Parts, predictions: Predictions, rows: NDArray[np.intp], label: str) -> None:
    """The rows of the bin: sortable, with the upload's own columns, downloadable."""
    table = row_table(parts, predictions, rows)
    right = percent(float(table["correct"].mean()))
    st.markdown(f"**Rows of bin {markdown_plain(label)}**: {count(len(table))}, {right} right")
    st.dataframe(
        table.head(ROWS_SHOWN),
        key="zoom.rows",
        hide_index=True,
        width="stretch",
        height=min(36 * (len(table) + 1), 360),
        column_config={"confidence": st.column_config.NumberColumn("confidence", format="%.4f")},
    )
    if len(table) > ROWS_SHOWN:
        st.caption(f"The first {count(ROWS_SHOWN)} rows are shown; the download has all {count(len(table))}.")
    widgets.download("Download these rows (CSV)", "rows-of-bin.csv", lambda: csv_bytes(table))


def row_table(parts: Parts, predictions: Predictions, rows: NDArray[np.intp]) -> pd.DataFrame:
    """What is known of some test rows: where they stand in their file, what was said, what was true."""
    names = np.asarray(predictions.class_names or (), dtype=object)
    columns: dict[str, object] = {"row": parts.test_rows[rows]}
    if predictions.kind != "confidence":
        columns |= {"predicted": names[predictions.predicted[rows]], "label": names[predictions.true_labels[rows]]}
    columns |= {"confidence": predictions.confidence[rows], "correct": predictions.correct[rows]}
    table = pd.DataFrame(columns)
    if predictions.metadata is not None:
        extra = predictions.metadata.iloc[rows].reset_index(drop=True)
        table = table.join(extra.rename(columns=lambda name: f"{name} (file)" if name in columns else name))
    return table
