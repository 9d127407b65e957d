"""Page with one reliability diagram for the browser tests: models come and go, every choice is recorded."""

import json

import numpy as np
import plotly.graph_objects as go
import streamlit as st

import calib_core as cc
from calib_core.figures.look import style
from calib_core.figures.marks import taken, taken_from, with_gaps
from dashboard.chart import chart, live_path, waiting

BINS = 10
FEW = 120
"""Number of rows below which marks are hollow here, so that lines break."""


@st.cache_data
def rows(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    logits = generator.normal(size=(4000, 5)) * 1.5
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (p.cumsum(axis=1) > generator.random((4000, 1))).argmax(axis=1)
    return logits * 1.8, labels


def predictions(temperature: float) -> cc.Predictions:
    logits, labels = rows()
    return cc.Predictions.from_logits(logits / temperature, labels)


MODELS = {"base": 1.0, "one": 1.8, "two": 2.4, "three": 3.0}


def figure(shown: list[str], panels: bool, temperature: float) -> go.Figure:
    figure, columns = go.Figure(), {}
    for place, name in enumerate(shown):
        at = "" if place == 0 or not panels else str(place + 1)
        look = style(list(MODELS).index(name))
        frame = cc.diagrams.reliability(predictions(MODELS[name] * temperature), BINS).frame()
        records = [
            {"model": name, "bin": int(b), "count": float(n), "share": float(s), "interval": ""}
            for b, n, s in zip(frame["bin"], frame["count"], frame["share"], strict=True)
        ]
        colour = look.colour
        hollow = frame["count"].to_numpy() < FEW
        places = with_gaps(~hollow)
        symbols = np.where(hollow, "star-open", "star")[places].tolist()
        stars = go.Scatter(
            x=taken(frame["confidence"], places), y=taken(frame["accuracy"], places),
            mode="lines+markers", name=name, uid=f"stars{name}",
            marker={"symbol": symbols, "size": 14, "color": colour}, line={"color": colour, "width": 1},
            customdata=taken_from(records, places), xaxis=f"x{at}", yaxis=f"y{at}",
            meta={"title": name, "from": "starsbase"},
        )  # fmt: skip
        gap = [None] * len(frame)
        stems = go.Scatter(
            x=np.column_stack([frame["confidence"], frame["confidence"], gap]).ravel(),
            y=np.column_stack([frame["accuracy"], frame["top_label"], gap]).ravel(),
            mode="lines", name=f"{name}: stem", uid=f"stems{name}", line={"color": colour, "width": 2},
            customdata=[record for record in records for _ in range(3)], xaxis=f"x{at}", yaxis=f"y{at}",
            showlegend=False,
        )  # fmt: skip
        width = (frame["upper"] - frame["lower"]) * 0.8 / (1 if panels else len(shown))
        bars = go.Bar(
            x=frame["lower"] + 0.01 + width * ((0 if panels else place) + 0.5), y=frame["share"], width=width,
            name=f"{name}: rows", uid=f"bars{name}", customdata=records, marker={"color": colour}, showlegend=False,
            xaxis=f"x{at}", yaxis=f"y{place + 11 if panels else 11}",
        )  # fmt: skip
        figure.add_traces([stars, stems, bars])
        for b, low, high, n in zip(frame["bin"], frame["lower"], frame["upper"], frame["count"], strict=True):
            record = {"bin": int(b)} if len(shown) == 1 else {"bin": int(b), "model": name}
            columns[name, b] = {
                "axis": f"x{at}", "low": low, "high": high, "record": record,
                "says": f"Confidence {low:.1f} to {high:.1f}: {n:.0f} rows.",
            }  # fmt: skip
    layout: dict[str, object] = {}
    for place in range(len(shown) if panels else 1):
        at, n = "" if place == 0 else str(place + 1), len(shown) if panels else 1
        left, right = place / n, (place + 1) / n - 0.04
        layout[f"xaxis{at}"] = {"domain": [left, right], "range": [0, 1], "anchor": f"y{at}"}
        layout[f"yaxis{at}"] = {"domain": [0.3, 1], "range": [-0.05, 1.05], "anchor": f"x{at}"}
        layout[f"yaxis{place + 11}"] = {"domain": [0, 0.15], "range": [0, 1], "anchor": f"x{at}"}
    return figure.update_layout(
        **layout,
        barmode="overlay",
        uirevision="looking",
        height=460,
        meta={"columns": list(columns.values()), "range": True},
    )


st.set_page_config(layout="wide")
look = st.session_state.setdefault("look", {})
click = waiting("diagram")
if click is not None:
    record = dict(click.record)
    st.session_state.setdefault("log", []).append(record)
    if record.get("clear"):
        look = {}
    elif "low" in record:
        look = {"between": (record["low"], record["high"])}
    elif "bin" in record:
        look = {"bin": record["bin"]}
    if "temperature" in record:
        st.session_state["temperature"] = record["temperature"]
    st.session_state["look"] = look
shown = ["base", *[name for name in list(MODELS)[1:] if st.checkbox(name)]]
panels = st.checkbox("side by side")
follows = st.checkbox("follow the slider", value=True)
elsewhere = st.checkbox("elsewhere")
temperature = st.session_state.get("temperature", 1.0) if follows else 1.0
if not elsewhere:
    live = live_path(
        cc.diagrams.temperature_path(predictions(1.0), BINS), "starsbase", bars="barsbase", hides=("stemsbase",),
        value=temperature, marks={1.0: "as it is", 1.8: "fitted"},
    ) | {"few": FEW}  # fmt: skip
    chart(
        figure(shown, panels, temperature), key="diagram", label="A diagram with columns.", focus=look,
        live=live if shown == ["base"] else None,
    )  # fmt: skip
st.code("\n".join(json.dumps(entry) for entry in st.session_state.get("log", [])) or "nothing", language=None)
