"""The calibration maps of the simplex view: what every ticked calibrator does to every point of the triangle."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from calib_core import NotAnswerable, figures
from calib_core._text import error
from calib_core.diagrams import CalibrationMap, map_difference
from calib_core.figures.calibration_map import shared_scale
from dashboard import compute, widgets
from dashboard.chart import chart
from dashboard.export import csv_bytes
from dashboard.session import Models
from dashboard.theme import markdown_plain
from dashboard.views.copied import copied


def draw(models: Models) -> None:
    """The calibration maps of all ticked calibrators side by side, and the true one where it is known."""
    st.markdown("#### Calibration maps: where predictions go")
    maps = []
    for model in models.recalibrated:
        try:
            maps.append(compute.calibration_map(model))
        except NotAnswerable as why:
            st.caption(f"**{markdown_plain(model.title)}** has no map: {markdown_plain(why)}.")
    if not maps:
        st.info("Tick a calibrator that answers for all classes, such as one that scales: its map appears here.")
        return
    truth = compute.true_map(models.shown[0].source)
    drawn = maps if truth is None else [*maps, truth]
    wrong = [] if truth is None else [map_difference(one, truth) for one in maps]
    scale = shared_scale([*drawn, *wrong])
    chart(figures.calibration_map(drawn, scale=scale), key="simplex-maps", label=_in_words(drawn))
    if wrong:
        st.markdown("##### What is still wrong: each map minus the true one, in the same colours")
        chart(figures.calibration_map(wrong, scale=scale), key="simplex-differences", label=_in_words(wrong))
    a, b, c = (markdown_plain(name) for name in drawn[0].class_names)
    st.caption(
        f"An arrow leads from a prediction to the calibrator's answer. Grey: nothing changes; redder: {a} gains, "
        f"greener: {b}, bluer: {c}. All maps share one scale: full colour is a change of {error(scale)}."
    )
    for one in maps:
        if one.note:
            st.caption(f"**{markdown_plain(one.title)}**: {markdown_plain(one.note)}.")
    with st.container(horizontal=True):
        every = [*drawn, *wrong]
        widgets.download("Download these maps (CSV)", "calibration-maps.csv", lambda: csv_bytes(_frames(every)))
        names = [one.title for one in maps]
        shown = f"{{name: cc.diagrams.calibration_map(cals[name]).frame() for name in {names}}}"
        source = models.shown[0].source
        triangle = dataclasses.replace(widgets.selection(), source=source, three=source.corners)
        copied(shown, section="simplex", key="simplex.maps", selection=triangle)


def _in_words(maps: Sequence[CalibrationMap]) -> str:
    """Maps for people who do not see them."""
    return "Calibration maps: " + "; ".join(f"{m.title}, largest change {error(m.largest)}" for m in maps) + "."


def _frames(maps: Sequence[CalibrationMap]) -> pd.DataFrame:
    return pd.concat([one.frame().assign(map=one.title) for one in maps], ignore_index=True)
