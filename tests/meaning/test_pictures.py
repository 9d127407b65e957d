"""Pictures use the same tolerances and bins as their tables, and what is told at a mark is its own number."""

from __future__ import annotations

import base64
import re
from contextlib import suppress
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from compared import data_of
from exhibits_shown import ASKED, cases

from calib_core import NotAnswerable
from dashboard import session
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.watched_periods import ByPeriod

pytestmark = pytest.mark.law
CHOSEN = {"eps": 0.07, "ratio": 1.7}


def asked(made):
    """Return the options of a call, and of those inside it, as it prints them."""
    return session.python(made=made)


@pytest.mark.parametrize(("key", "name"), list(cases()))
def test_tolerances_that_a_table_is_made_by_are_those_of_its_picture(key, name):
    scene = data_of(name, **CHOSEN).scene
    exhibit = EXHIBITS.make(key, **ASKED.get(key, {}))
    try:
        table, figure = exhibit.table(scene), exhibit.figure(scene)
    except NotAnswerable:
        pytest.skip("not of these data")
    for option, value in CHOSEN.items():
        written = f"{option}={value}"
        if figure is not None and written in asked(table):
            assert written in asked(figure)


def test_there_are_pictures_of_tolerances():
    """Otherwise the rule above could not fail."""
    scene = data_of("risk", **CHOSEN).scene
    figure = asked(EXHIBITS.make("verdict").figure(scene))
    assert all(f"{option}={value}" in figure for option, value in CHOSEN.items())


# ---- hover texts -----------------------------------------------------------------------------------------------

NAMED = {
    "accuracy": {"accuracy", "right"},
    "confidence": {"claimed", "confidence"},
    "events among": {"rows"},
    "false alarms in": {"false_alarms"},
    "mean confidence": {"claimed", "confidence"},
    "mean error of classes": {"delta"},
    "mean gap so far": {"mean_gap"},
    "mean risk": {"claimed"},
    "met in": {"kept"},
    "noise floor": {"noise"},
    "observed": {"right", "observed"},
    "observed : expected": {"ratio"},
    "observed frequency": {"accuracy"},
    "of rows (confidence": {"threshold"},
    "predicted": {"says", "predicted"},
    "predicted risk": {"confidence"},
    "raw value": {"measured"},
    "rows": {"share"},
    "from the true squared error": {"draws"},
    "relative improvement": {"ratio"},
    "share made worse": {"worse"},
    "to": {"high", "mean_high", "right_high"},
    "win rate": {"win_rate"},
    "wrong": {"low"},
}
"""Words before a field of a mark's record in a hover text, and the fields that they name."""
_FIELD = re.compile(r"([^%>{}]*)%\{customdata\.(\w+)")
_PERCENT = re.compile(r"(?<![\w.])(\d[\d,]*(?:\.\d+)?)(?= %| to | points?)")
ELSEWHERE = {
    "class-bias": "marks stand at two classes",
    "coverage": "cells stand at an estimator and a range of rows",
    "rejection": "cells stand at an estimator and a notion",
    "in-the-large": "measures of different units share an axis without numbers",
}
"""Pictures whose marks do not stand at the number that is told, with the reason."""


SETS = tuple(dict.fromkeys(case.values[1] for case in cases()))


@cache
def pictures(name):
    """Return the figures of all exhibits of these data, by key."""
    scene, found = data_of(name).scene, {}
    for key in (case.values[0] for case in cases() if case.values[1] == name):
        exhibit = EXHIBITS.make(key, **ASKED.get(key, {}))
        with suppress(NotAnswerable):
            if (figure := exhibit.figure(scene)) is not None:
                found[key] = scene.get(figure)
    return found


@pytest.mark.parametrize("name", SETS)
def test_words_of_a_hover_text_name_the_field_that_follows(name):
    for key, figure in pictures(name).items():
        for trace in figure.data:
            for words, field in _FIELD.findall(str(getattr(trace, "hovertemplate", None) or "")):
                told = words.strip(" ,(;:→")
                assert not told or field in NAMED[told], (key, trace.hovertemplate)


@pytest.mark.parametrize("name", SETS)
def test_a_mark_tells_the_number_at_which_it_stands(name):
    """Among the percentages of its hover text is the place of the mark, which an end of its interval is not."""
    for key, figure in pictures(name).items():
        for trace in () if key in ELSEWHERE else figure.data:
            texts = getattr(trace, "hovertext", None)
            texts = [texts] if isinstance(texts, str) else texts
            for text, *at in zip(texts or (), _numbers(trace.x), _numbers(trace.y), strict=False):
                told = [float(number.replace(",", "")) for number in _PERCENT.findall(text or "")]
                if told and all(place == place for place in at):
                    near = [abs(scale * abs(place) - number) for number in told for place in at for scale in (1, 100)]
                    assert min(near) <= 0.51, (key, text, at)


def _numbers(values):
    if isinstance(values, dict):  # as Plotly sends them to a browser
        return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"]).tolist()
    return [np.nan if value is None else value for value in (() if values is None else values)]


def test_over_time_a_ratio_is_tolerated_only_where_it_is_the_smaller_error():
    """A ratio of 1.25 is an error of 9 points at this mean risk of 37 %."""
    assert not ByPeriod.by_ratio(data_of("year", eps=0.02, ratio=1.25).scene)
    assert ByPeriod.by_ratio(data_of("year", eps=0.2, ratio=1.25).scene)


@pytest.mark.parametrize(
    ("eps", "said"), [(0.02, "errors of up to 2 points"), (0.2, "a ratio of observed to expected")]
)
def test_over_time_the_words_name_the_tolerance_that_is_used(eps, said):
    assert f"Tolerated: {said}" in ByPeriod().words(data_of("year", eps=eps, ratio=1.25).scene).caption


def test_over_time_rows_without_a_date_and_groups_in_several_periods_are_counted(monkeypatch):
    scene = data_of("year").scene
    found = replace(scene.get(ByPeriod().found(scene)), without_date=31, linked=17)
    monkeypatch.setattr(type(scene), "get", lambda self, call: found)
    monkeypatch.setattr(ByPeriod, "found", lambda self, scene: None)
    monkeypatch.setattr(ByPeriod, "by_ratio", lambda self, scene: False)
    notes = ByPeriod(by="seen").words(scene).notes
    assert "31 rows without a date are left out." in notes
    assert any(note.startswith("17 groups have rows in several periods.") for note in notes)
