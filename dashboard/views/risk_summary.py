"""Summary next to the diagram of a risk: gap from the smooth curve, calibration-in-the-large, and the verdict."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import streamlit as st

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.inference.verdicts.verdict import ratio_range, tolerated_ratios
from calib_core.text import begun, between, score, short_percent
from dashboard.exhibits import EXHIBITS, Exhibit, line_words
from dashboard.exhibits.fitted_curves import CURVE, LARGE
from dashboard.exhibits.risk import ENDS, GIVEN, MEASURES
from dashboard.session import Scene, call
from dashboard.theme import markdown_plain
from dashboard.views.card_words import verdict_badge
from dashboard.views.exhibited import progress

_NONE = "\u2013"


def draw(scene: Scene) -> None:
    """Draw the verdict and both tables of the focused model."""
    exhibit: Exhibit = EXHIBITS.make("curve-gaps")
    with progress(scene) as watched:
        try:
            found = watched.get(exhibit.table(watched)).set_index("measure")
        except NotAnswerable as why:
            st.caption(markdown_plain(f"{begun(str(why))}."))
            return
    _verdict(scene)
    st.markdown("**Gap from the smooth curve**")
    lines: list[tuple[str, ...]] = [
        (str(line["title"]), _points(line["value"]), _ends(line, _points), _points(line["floor"]))
        for _, line in _lines(found, CURVE)
    ]
    _table(lines, ("distance, %", "90 % interval", "noise floor"))
    st.markdown(f"**{MEASURES}**")
    large: list[tuple[str, ...]] = [
        (str(line["title"]), _number(line["value"]), _ends(line, _number)) for _, line in _lines(found, LARGE)
    ]
    _table(large, ("value", "90 % interval"))
    st.caption(GIVEN, help=ENDS)
    for text in _reasons(found):
        st.caption(markdown_plain(text))


def _lines(found: pd.DataFrame, keys: tuple[str, ...]) -> list[tuple[str, Any]]:
    return [(key, found.loc[key]) for key in keys if key in found.index]


def _reasons(found: pd.DataFrame) -> list[str]:
    """Return why numbers of both tables are missing, each reason once."""
    noted: dict[str, list[str]] = {}
    for _, line in _lines(found, CURVE + LARGE):
        if line["note"] and not math.isfinite(line["low"]):
            noted.setdefault(str(line["note"]), []).append(str(line["title"]))
    return [f"{', '.join(titles)}: {note}." for note, titles in noted.items()]


def _verdict(scene: Scene) -> None:
    """Draw the verdict on the primary measure for the focused model."""
    try:
        wanted = call(cc.inference.verdicts, line_words.primaries(scene), eps=scene.tolerance, ratio=scene.ratio)
        found = scene.get(wanted).set_index("model")
    except NotAnswerable:
        return
    if scene.model.title in found.index:
        line = found.loc[scene.model.title]
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown("**Verdict**", width="content")
            if badge := verdict_badge(str(line["verdict"])):
                st.markdown(badge, width="content")
            with st.popover("Why?", key="risk-verdict.why"):
                st.markdown(markdown_plain(str(line["sentence"])))
        st.markdown(markdown_plain(_in_short(line, scene)))


def _in_short(line: Any, scene: Scene) -> str:
    """Return both measures of the verdict with their tolerances."""
    ends = between(line["low"], line["high"], scene.tolerance).removesuffix(" %")
    error = f"Calibration error {short_percent(line['point'])} ({ends}); tolerance {short_percent(scene.tolerance)}."
    if not all(math.isfinite(line.get(key) or math.nan) for key in ("ratio", "ratio_low", "ratio_high", "ratio_limit")):
        return error
    limit = float(line["ratio_limit"])
    ratio = ratio_range(float(line["ratio_low"]), float(line["ratio_high"]), limit)
    return f"{error} Observed : expected {score(line['ratio'])} ({ratio}); tolerance {tolerated_ratios(limit)}."


def _points(value: float) -> str:
    return _NONE if not math.isfinite(value) else short_percent(value).removesuffix(" %")


def _number(value: float) -> str:
    return score(value) if math.isfinite(value) else _NONE


def _ends(line: Any, write: Any) -> str:
    ends = (line["low"], line["high"])
    return f"{write(ends[0])} to {write(ends[1])}" if all(map(math.isfinite, ends)) else _NONE


def _table(lines: list[tuple[str, ...]], headings: tuple[str, ...]) -> None:
    cells = [[markdown_plain(cell) for cell in line[1:]] for line in lines]
    table = pd.DataFrame(cells, [markdown_plain(line[0]) for line in lines], list(headings))
    st.table(table.rename_axis("measure"))  # no heading is empty, for those who hear it before each line
