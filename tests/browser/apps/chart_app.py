"""Page of charts for the browser tests: one toggle redraws them, every click is recorded."""

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from calib_core.figures.look import DIVERGING, REFERENCE, style
from dashboard.chart import Click, chart


def scatter(shift: float) -> go.Figure:
    x = np.linspace(0, 1, 11)
    traces = [
        go.Scatter(
            x=x,
            y=x ** (1 + i / 6 + shift),
            name=name,
            mode="lines+markers",
            customdata=np.arange(11) * 10 + i,
            marker={"symbol": style(i).symbol, "color": style(i).colour, "size": 10},
            line={"dash": style(i).dash, "color": style(i).colour},
        )
        for i, name in enumerate(("before", "after", "third", "fourth", "fifth", "sixth", "seventh"))
    ]
    diagonal = go.Scatter(
        x=[0, 1], y=[0, 1], mode="lines", line={"color": REFERENCE, "dash": "dot"}, hoverinfo="skip", name="ideal"
    )
    return go.Figure([*traces, diagonal]).update_layout(
        xaxis_title="mean confidence", yaxis_title="accuracy", title="A reliability diagram"
    )


def bars(shift: float) -> go.Figure:
    return go.Figure(
        go.Bar(
            x=["a", "b", "c"],
            y=np.array([0.3, 0.6, 0.9]) - shift,
            customdata=np.array([[7, 1], [8, 2], [9, 3]]),
            marker={"color": style(0).colour},
        )
    )


def cells(shift: float) -> go.Figure:
    z = np.linspace(-1, 1, 12).reshape(3, 4) + shift
    return go.Figure(go.Heatmap(z=z, customdata=np.arange(12).reshape(3, 4) + 100, colorscale=DIVERGING, zmid=0))


def points(shift: float) -> go.Figure:
    x = np.random.default_rng(0).random((2, 5000), dtype=np.float32)
    return go.Figure(go.Scattergl(x=x[0], y=x[1] + shift, mode="markers", marker={"color": style(2).colour}))


def square(shift: float) -> go.Figure:
    x = np.linspace(0, 1, 30)
    figure = go.Figure(go.Scatter(x=x, y=x**2 + shift, mode="markers"))
    return figure.update_layout(yaxis={"scaleanchor": "x", "scaleratio": 1})


st.set_page_config(layout="wide")
after = st.toggle("after", key="after")
st.button("another control")
shift = 0.05 if after else 0.0
shown = st.radio("show", ["all", "none"], horizontal=True)
clicks: dict[str, Click | None] = {}
if shown == "all":
    for name, build in (("scatter", scatter), ("bars", bars), ("cells", cells), ("points", points), ("square", square)):
        clicks[name] = chart(build(shift), key=name, label=f"The {name} of the test page.", height=320)
st.session_state.runs = st.session_state.get("runs", 0) + 1
for name, click in clicks.items():
    if click is not None:
        st.session_state.setdefault("log", []).append(
            f"{name} {click.trace} {click.point} {click.customdata} {click.x} {click.y}"
        )
st.code("\n".join(st.session_state.get("log", ["no click"])), language=None)
st.text(f"run {st.session_state.runs}")
