"""Sentence with its slider in the browser: all answers are sent once, and dragging sends nothing back."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from calib_core.diagrams import LocalAccuracy, LocalAnswer
from calib_core.figures.marks import numbers
from calib_core.palette import ON_DARK, outline, style
from calib_core.text import begun, in_percent, inside
from dashboard.theme import markdown_plain

_LOGGER = logging.getLogger(__name__)
_NUMBERS = ("claimed", "right", "low", "high")
_SEEN = 50
"""Minimum number of rows of an answer that the axis includes; other intervals are cut at its left end."""
_OF_CONFIDENCE = {
    "track": "Confidence",
    "drag": "drag to see another confidence",
    "none": "never says",
    "section": "Accuracy at a confidence",
    "slider": "Confidence, in percent",
}
_OF_EVENT = {
    "track": "Predicted risk",
    "drag": "drag to see another risk",
    "none": "no risk near",
    "section": "Observed frequency at a predicted risk",
    "slider": "Predicted risk",
}
MOST_TICKS = 6
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
"""Possible steps in percent between two ticks of a risk's axis."""
WORDS = "hero-words"
"""Key of the plain sentence that the component replaces."""


def hero(
    answers: Mapping[str, LocalAccuracy],
    confidence: float,
    *,
    key: str,
    chosen: Callable[[float], object],
    looks: Mapping[str, int] | None = None,
    explained: str = "",
    left_out: str = "",
) -> None:
    """Show the observed frequency where the first model predicts ``confidence``, or such a risk; other models below.

    - ``chosen`` receives the risk or confidence at which the slider was released.
    - ``looks`` are the numbers of the models' looks, by title.
    - ``explained`` explains the texts next to the bars.
    - ``left_out`` lists the models without a line.
    """
    data = payload(answers, confidence, looks) | {"explained": explained, "left_out": left_out}
    # Read by users without the component, and by tests; the component hides it, so that screen readers do not read it
    # twice.
    with st.container(key=WORDS):
        for i, (title, local) in enumerate(answers.items()):
            answer = local.answer(confidence)
            st.markdown(f"# {markdown_plain(answer.headline)}" if not i else f"**{markdown_plain(title)}**")
            st.markdown(markdown_plain(("" if not i else f"{answer.headline} ") + f"{begun(answer.basis)}."))
        for text in filter(None, (left_out, explained)):
            st.markdown(markdown_plain(text))
    try:
        places = tuple(data["places"])
        _renderer()(key=key, data=data, on_asked_change=partial(_arrived, key, places, chosen))
    except Exception:
        # Another release of Streamlit may raise anything; the sentence without its slider is better than none.
        _LOGGER.warning("The slider of the Overview is not available.", exc_info=True)


def payload(
    answers: Mapping[str, LocalAccuracy], confidence: float, looks: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """Return the data sent: for every model and slider position, the numbers of the picture and its text.

    ``asked`` and ``low`` are indices of slider positions; those of a confidence are whole percents.
    """
    looked = numbers(answers, looks)
    first = next(iter(answers.values()))
    models = [_model(title, local, looked[title], first) for title, local in answers.items()]
    chosen = int(np.abs(first.confidence - confidence).argmin())
    places = [round(float(place), 4) for place in first.confidence]
    of_event = first.event is not None
    low = 0 if of_event else _lowest(answers.values(), confidence)
    last = _last(answers.values(), chosen) if of_event else len(places) - 1
    top = 100 * places[last]
    step = next(step for step in _STEPS if top / step <= MOST_TICKS or step == _STEPS[-1])
    ticks = [round(i * step, 4) for i in range(math.floor(top / step + 1e-9) + 1)]
    return {
        "asked": chosen, "low": low, "last": last, "places": places, "models": models,
        "percents": [_label(answer) for answer in first.answers],
        "knob": [round(_place(answer), 6) for answer in first.answers],
        # The label can be the mean of rows near a place: a model without any is not near the place itself.
        "wanted": [in_percent(answer.confidence) for answer in first.answers],
        "ticks": ticks if of_event else None,
        "words": _OF_EVENT if of_event else _OF_CONFIDENCE,
    }  # fmt: skip


def _label(answer: LocalAnswer) -> str:
    """Return the number above the slider: the one in the sentence, or the position if no row is near."""
    return answer.stated if answer.near and answer.enough else in_percent(answer.confidence)


def _place(answer: LocalAnswer) -> float:
    """Return the place of the knob on the axis: that of the number above it."""
    return answer.claimed if answer.by_mean and answer.near and answer.enough else answer.confidence


def _model(title: str, local: LocalAccuracy, look: int, first: LocalAccuracy) -> dict[str, Any]:
    own, answers = style(look), local.answers
    others = [_own_confidence(answer, base) for answer, base in zip(answers, first.answers, strict=True)]
    digits = 4 if local.event is None else 6  # for a rare event a point is much
    numbers = {name: [round(float(value), digits) for value in getattr(local, name)] for name in _NUMBERS}
    words = {
        "brief": [
            f"{a.brief} where it says {mine}" if mine else a.brief for a, mine in zip(answers, others, strict=True)
        ],
        "headline": [answer.headline for answer in answers],
        "basis": [begun(answer.basis) for answer in answers],
        "stated": [answer.stated for answer in answers],
        "difference": [
            f"{a.difference} than {mine}" if mine and a.gap is not None else a.difference
            for a, mine in zip(answers, others, strict=True)
        ],
        "shown": [int(answer.gap is not None) for answer in answers],
        "share": [in_percent(answer.right) for answer in answers],
        "near": [int(answer.near) for answer in answers],
        "enough": [int(answer.enough) for answer in answers],
    }
    lead = f"{title}: "
    if local.updated:
        noun = "rows" if local.event is None else local.event.noun
        after = lead if ", " in title else f"After {inside(title)}, "
        lead = f"{after}the mean risk of the same {noun} is "
    return (
        {
            "title": title,
            "lead": lead,
            "updated": local.updated,
            "colour": f"light-dark({own.colour}, {ON_DARK[own.colour]})",
            "outline": outline(own.symbol),
            "first": local is first,
        }
        | numbers
        | words
    )


def _own_confidence(answer: LocalAnswer, first: LocalAnswer) -> str:
    """Return the confidence of a model near a position if it differs from the one in the sentence; otherwise empty."""
    if answer.event is not None or not (answer.near and answer.enough and first.near and first.enough):
        return ""
    return answer.stated if answer.stated != first.stated else ""


def _lowest(answers: Any, confidence: float) -> int:
    """Return the start of the axis in percent, a multiple of ten: low enough for every answer with enough rows."""
    ends = [confidence]
    for local in answers:
        shown = [answer for answer in local.answers if answer.near and answer.rows >= _SEEN]
        ends += [min(answer.low, answer.confidence) for answer in shown]
    return max(0, min(50, 10 * math.floor(10 * min(ends) + 1e-9)))


def _last(answers: Iterable[LocalAccuracy], chosen: int) -> int:
    """Return the last position of a risk's slider: above all intervals with enough rows."""
    every = list(answers)
    ends = [every[0].confidence[chosen]]
    for local in every:
        shown = (answer for answer in local.answers if answer.near and answer.enough)
        ends += [max(answer.confidence, answer.claimed) for answer in shown]
    places = every[0].confidence
    return min(len(places) - 1, int(np.searchsorted(places, max(ends) - 1e-9)) + 1)


def _arrived(key: str, places: Sequence[float], chosen: Callable[[float], object]) -> None:
    """Handle a change before the run that it causes; a browser can send anything."""
    state: Any = st.session_state[key]
    value = state.get("asked")
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= len(places) - 1:
        chosen(places[round(value)])


@cache
def _asset(name: str) -> str:
    return Path(__file__).with_name(name).read_text("utf-8")


@cache
def _renderer() -> Any:
    return st.components.v2.component("calib.hero", css=_asset("hero.css"), js=_asset("hero.js"), isolate_styles=False)
