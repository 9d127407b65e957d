"""Hostile class names in every kind of element and in every place of a figure that takes text."""

import plotly.graph_objects as go
import streamlit as st

from calib_core.text import plain
from dashboard.chart import chart
from dashboard.theme import markdown_plain

NAMES = [
    "<b>cat</b>",
    '<a href="https://example.org">x</a>',
    '<span style="fill:url(http://example.org)">x</span>',
    "![x](http://example.org/x.png)",
    "[x](https://example.org)",
    "https://example.org/x?a=b",
    "www.example.org",
    "someone@example.org",
    "mailto:someone@example.org",
    "xmpp:someone@example.org/x",
    "ftp://example.org",
    ":red[x] :material/home: :smile: :streamlit: :red-badge[x]",
    "$\\frac{1}{2}$",
    "# 1. - * > `x` <- -> -- <-> >= <= ~=",
    "a|b~~x~~ __y__ **z** &amp; &lt;",
    "back\\slash",
]

place = st.sidebar.radio("sink", ["markdown", "error", "metric", "selectbox", "tabs", "button", "caption", "chart"])
shown = [markdown_plain(name) for name in NAMES]
if place in {"markdown", "error", "caption", "button"}:
    for i, name in enumerate(shown):
        with st.container(key=f"name-{i}"):
            getattr(st, place)(name)
if place == "metric":
    for i, name in enumerate(shown):
        with st.container(key=f"name-{i}"):
            st.metric(name, "1")
if place == "selectbox":
    for i, name in enumerate(shown):
        with st.container(key=f"name-{i}"):
            st.selectbox(name, ["x"], key=str(i))
if place == "tabs":
    for i, name in enumerate(shown):
        with st.container(key=f"name-{i}"):
            st.tabs([name])
if place == "chart":
    texts = [plain(name) for name in NAMES]
    figure = go.Figure(
        [go.Scatter(x=[0, 1], y=[i, i], name=text, text=[text, ""], mode="lines+text") for i, text in enumerate(texts)]
    )
    figure.update_layout(title=texts[1], xaxis_title=texts[2], legend={"orientation": "v"}, showlegend=True)
    chart(figure, key="names", label=NAMES[1], height=900)
# The last to arrive: then nothing of the choice before is left.
st.container(key=f"sink-{place}").text(place)
