"""The reliability view: the diagram with its numbers, and the bin that was clicked, taken apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from calib_core import NotAnswerable, figures
from calib_core._text import count, error, percent
from calib_core.diagrams import BinZoom, ReliabilityDiagram
from calib_core.study import MEASURES, Measure
from dashboard import compute, session, widgets
from dashboard.chart import chart, waiting
from dashboard.navigation import view
from dashboard.selection import OVERLAYS, Selection, mixed
from dashboard.session import Model, Models
from dashboard.theme import markdown_plain
from dashboard.views import calibrators, kernel_notes, rows
from dashboard.views.copied import copied

BESIDE = 3
"""Up to this many models the numbers stand beside the diagram, a column each; more get a line each below it."""

_OVERLAY_TITLES = {
    "none": "Nothing",
    "wilson": "Wilson intervals",
    "consistency": "Consistency bands",
    "corp": "CORP curve",
    "kernel": "Kernel curve",
}


@view("reliability", "Reliability", 20)
def render() -> None:
    """Draw the view for the present choices."""
    selection = widgets.selection()
    models = session.models(selection)
    _follow_click(models)
    selection = widgets.selection()
    diagrams = [(model.title, compute.reliability(model, selection.scheme)) for model in models.shown]
    left, right = st.columns([0.6, 0.4], gap="medium") if len(models.shown) <= BESIDE else (st.container(), None)
    with left:
        overlay = _overlay(selection, models.titled(selection.model))
        figure = figures.reliability(dict(diagrams), over=overlay)
        chart(figure, key="reliability", label=_in_words(diagrams), height=560)
        copied(_in_python(selection), section="reliability", key="reliability")
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
    b, title = (None, None) if click is None else (click.record.get("bin"), click.record.get("model"))
    if isinstance(b, int) and title in [model.title for model in models.shown]:
        widgets.change(zoom=b, model=title)


def _overlay(selection: Selection, model: Model) -> list[Any]:
    """The figures of what is laid over the diagram of the chosen model."""
    scheme = selection.scheme
    draw: dict[str, Callable[[], list[Any]]] = {
        "none": list,
        "wilson": lambda: [figures.wilson_intervals(compute.bands(model, scheme))],
        "consistency": lambda: [figures.consistency_bands(compute.bands(model, scheme))],
        "corp": lambda: _corp(selection, model),
        "kernel": lambda: [figures.kernel_band(compute.kernel_curve(model, selection.kernel, selection.band))],
    }
    return draw[selection.overlay]()


def _corp(selection: Selection, model: Model) -> list[Any]:
    """The isotonic curve over its band, where it has one."""
    band = compute.corp_band(model, selection.band)
    return [*([] if isinstance(band, str) else [figures.corp_band(band)]), figures.corp(compute.corp(model))]


def _in_python(selection: Selection) -> str:
    """What is drawn, of one model."""
    over = {
        "wilson": "cc.diagrams.reliability_bands(model, bins)",
        "consistency": "cc.diagrams.reliability_bands(model, bins)",
        "corp": "cc.diagrams.corp(model)",
        "kernel": f"cc.diagrams.kernel_curve(model, method={selection.kernel.python()}, band={selection.band!r})",
    }
    drawn = ["cc.diagrams.reliability(model, bins)", *([over[selection.overlay]] if selection.overlay in over else [])]
    if selection.overlay == "corp" and selection.band != "none":
        drawn.append(f"cc.diagrams.corp_band(model, band={selection.band!r})")
    return f"[{', '.join(f'{diagram}.frame()' for diagram in drawn)}]"


def _about_overlay(selection: Selection, model: Model) -> None:
    """What the overlay says in numbers."""
    title = markdown_plain(model.title)
    if selection.overlay in ("wilson", "consistency"):
        held = compute.bands(model, selection.scheme)
        stars = f"{held.outside} of {len(held.frame())} stars"
        by_chance = f"{percent(1 - held.level, 0)} are by chance"
        st.caption(f"{title}: {stars} outside the {percent(held.level, 0)} consistency band; {by_chance}.")
    elif selection.overlay == "corp":
        curve = compute.corp(model)
        st.caption(
            f"{title}: Brier score {error(curve.score)} = miscalibration {error(curve.miscalibration)} "
            f"− discrimination {error(curve.discrimination)} + uncertainty {error(curve.uncertainty)}."
        )
        kernel_notes.band_box()
        band = compute.corp_band(model, selection.band)
        st.caption(markdown_plain(band if isinstance(band, str) else band.about))
    elif selection.overlay == "kernel":
        kernel_notes.show(title, compute.kernel_curve(model, selection.kernel, selection.band), selection)


def _in_words(diagrams: list[tuple[str, ReliabilityDiagram]]) -> str:
    """The diagram for people who do not see it."""
    gaps = [
        f"{name}: largest distance of a bin from the diagonal {error(float((d.accuracy - d.confidence).abs().max()))}"
        for name, d in ((name, diagram.frame()) for name, diagram in diagrams)
    ]
    return "Reliability diagram, accuracy against confidence. " + "; ".join(gaps) + "."


def _numbers(selection: Selection, models: Models, *, transposed: bool) -> None:
    """The summary of every model, one column (or line) each, and why some numbers are missing."""
    calibrators.counting(models)
    try:
        frames = {m.title: compute.summary(m, selection, models) for m in models.shown}
    except NotAnswerable as why:
        st.info(f"{markdown_plain(why)}.")
        return
    st.markdown("##### Before and after, on the test rows")
    table = before_and_after(frames)
    st.table(table.T if transposed else table)
    call = "cc.study.summaries({}, [bins])[0]"
    copied(calibrators.in_python(selection, models, call), section="calibrators", key="numbers")
    st.caption(
        f"Bins: {compute.bins_said(selection.scheme)}; plug-in estimates, which noise pushes up. "
        f"{compute.rows_said(selection, models)}"
    )
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
    bins = [compute.bins_of_measures(frame) for frame in frames.values()]
    if mixed(bins):
        cells["Bins"] = bins
    return pd.DataFrame.from_dict(cells, orient="index", columns=[markdown_plain(title) for title in values.columns])


def _coverage(model: Model) -> None:
    """What share of the rows a model that abstains still answers."""
    judged = compute.judged(model)
    if judged.abstained is not None:
        st.caption(
            f"**{markdown_plain(model.title)}** abstains on {percent(1 - judged.coverage)} of the test rows "
            f"({count(int(judged.abstained.sum()))}): stars and plusses are of the rest."
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
    if fitted.note:
        st.caption(f"**{markdown_plain(model.title)}**: {markdown_plain(fitted.note)}")


def _taken_apart(selection: Selection, models: Models) -> None:
    """The chosen bin of the chosen model: class by class, then row by row."""
    model = models.titled(selection.model)
    diagram = compute.reliability(model, selection.scheme)
    held = [int(b) for b in diagram.frame()["bin"]]
    st.markdown("#### One bin, taken apart")
    first, second, _ = st.columns([0.3, 0.3, 0.4])
    widgets.model_box(first, models.shown, model, "zoom.model")
    chosen = selection.zoom if selection.zoom in held else None
    second.selectbox(
        "Bin of the confidence",
        held,
        format_func=diagram.label,
        placeholder="click a bin above, or choose one",
        **widgets.tied_to(held, "zoom.bin", chosen, lambda b: widgets.change(zoom=b)),
    )
    if chosen is None:
        st.info("Click a star, a plus or a bar of the diagram: its classes and its rows appear here.")
        return
    predictions = compute.judged(model)
    if predictions.kind == "confidence":
        st.info("These predictions hold confidence and correctness only: a bin cannot be taken apart by class.")
        there = compute.bin_rows(model, selection.scheme, chosen)
    else:
        zoom = compute.zoom(model, selection.scheme, chosen)
        _classes(zoom, model, chosen)
        there = zoom.rows
    table = rows.row_table(session.parts(model.source), predictions, there)
    rows.show(table, f"Rows of bin {diagram.label(chosen)}", key="zoom.rows", file_name="rows-of-bin.csv")
    in_bin = f"cc.diagrams.reliability(cal.apply(test), bins).rows(cal.apply(test), {chosen})"
    copied(in_bin, section="reliability", key="rows", of=model)


def _classes(zoom: BinZoom, model: Model, b: int) -> None:
    left, right = st.columns([0.66, 0.34], gap="medium")
    worst = zoom.frame().sort_values("gap", key=np.abs, ascending=False)
    worst = worst[["class", "gap", "count", "accuracy", "confidence"]]
    with left:
        label = f"Bin {zoom.label}: accuracy against confidence of {len(zoom.names)} predicted classes."
        chart(figures.zoom(zoom), key="zoom", label=label, height=440)
        st.caption("A point per predicted class, larger with more rows; blue claims too much, orange too little.")
        shown = f"cc.diagrams.zoom(cal.apply(test), cc.diagrams.reliability(cal.apply(test), bins), {b}).frame()"
        copied(shown, section="reliability", key="zoom", of=model)
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
