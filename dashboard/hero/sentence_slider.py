"""The sentence with its slider in the browser: every answer is sent once, and nothing goes back while it is dragged."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import streamlit as st

from calib_core.diagrams import LocalAccuracy
from calib_core.figures.marks import numbers
from calib_core.inference.number_words import in_percent
from calib_core.palette import outline, style
from dashboard.theme import markdown_plain

_LOGGER = logging.getLogger(__name__)
_NUMBERS = ("claimed", "right", "low", "high")
_SEEN = 50
"""Rows of an answer that the axis makes room for; intervals of fewer are cut at its left end."""
WORDS = "hero-words"
"""Key of the plain sentence, which the component takes the place of."""


def hero(
    answers: Mapping[str, LocalAccuracy],
    confidence: float,
    *,
    key: str,
    chosen: Callable[[float], object],
    looks: Mapping[str, int] | None = None,
) -> None:
    """Show how often the first model is right where it says ``confidence``, and the others below it; and for any other.

    ``chosen`` is told the confidence that the slider was left at. ``looks`` are the numbers of their looks, by
    title.
    """
    data = payload(answers, confidence, looks)
    # Read by whoever has no component, and by tests; the component hides it, so that it is not read twice.
    with st.container(key=WORDS):
        for i, (title, local) in enumerate(answers.items()):
            answer = local.answer(confidence)
            st.markdown(f"# {markdown_plain(answer.headline)}" if not i else f"**{markdown_plain(title)}**")
            st.markdown(markdown_plain(("" if not i else f"{answer.headline} ") + f"{answer.basis}."))
    try:
        _renderer()(key=key, data=data, on_asked_change=partial(_arrived, key, chosen))
    except Exception:
        # Whatever a different Streamlit raises, the sentence without its slider is better than none.
        _LOGGER.warning("The slider of the overview is not available.", exc_info=True)


def payload(
    answers: Mapping[str, LocalAccuracy], confidence: float, looks: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """What is sent: for every model and whole percent the numbers of the picture and the words beside it."""
    places = numbers(answers, looks)
    models = [_model(title, local, places[title], i) for i, (title, local) in enumerate(answers.items())]
    return {"asked": round(100 * confidence), "low": _lowest(answers.values(), confidence), "models": models}


def _model(title: str, local: LocalAccuracy, look: int, place: int) -> dict[str, Any]:
    own, answers = style(look), local.answers
    numbers = {name: [round(float(value), 4) for value in getattr(local, name)] for name in _NUMBERS}
    words = {
        "brief": [answer.brief for answer in answers],
        "headline": [answer.headline for answer in answers],
        "basis": [answer.basis for answer in answers],
        "difference": [answer.difference for answer in answers],
        "share": [in_percent(answer.right) for answer in answers],
        "near": [int(answer.near) for answer in answers],
        "enough": [int(answer.enough) for answer in answers],
    }
    return {"title": title, "colour": own.colour, "outline": outline(own.symbol), "first": place == 0} | numbers | words


def _lowest(answers: Any, confidence: float) -> int:
    """Where the axis begins, in percent: low enough for every answer that rests on rows enough, a multiple of ten."""
    ends = [confidence]
    for local in answers:
        shown = [answer for answer in local.answers if answer.near and answer.rows >= _SEEN]
        ends += [min(answer.low, answer.confidence) for answer in shown]
    return max(0, min(50, 10 * math.floor(10 * min(ends) + 1e-9)))


def _arrived(key: str, chosen: Callable[[float], object]) -> None:
    """Before the run that a change causes; a browser can send anything."""
    state: Any = st.session_state[key]
    value = state.get("asked")
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 100:
        chosen(round(value) / 100)


@cache
def _asset(name: str) -> str:
    return Path(__file__).with_name(name).read_text("utf-8")


@cache
def _renderer() -> Any:
    return st.components.v2.component("calib.hero", css=_asset("hero.css"), js=_asset("hero.js"), isolate_styles=False)
