"""Of several models on the same rows: which of them is better, and how sure that is, in a sentence a pair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import calib_core as cc
from calib_core import ESTIMATORS, NotAnswerable
from calib_core.defaults import LEVEL
from calib_core.inference import unit_of
from calib_core.inference.comparison.model_differences import DEFAULT
from calib_core.text import at_level, chance, difference, inside, measured
from dashboard.session import Scene, call

QUESTIONS = ((None, "log-loss"), ("confidence", DEFAULT))
"""Notion and estimator of the comparison: whole predictions by their log loss, else the error of the confidence."""
MOST = 3
"""Models that the first is compared with; all pairs are a table."""


def better(scene: Scene) -> tuple[str, ...]:
    """The first file's model beside each other file's, as they are; empty where there is one file."""
    models = scene.bases[: MOST + 1]
    if len(models) < 2:
        return ()
    rows = {model.title: model.predictions for model in models}
    for notion, key in QUESTIONS:
        try:
            found = scene.get(call(cc.compare, rows, notion, key))
        except NotAnswerable:
            continue
        lines = [line for line in found.to_dict("records") if line["first"] == models[0].title]
        if lines and not any(line["note"] for line in lines):
            return tuple(_sentence(line, key) for line in lines)
    return ()


def _sentence(line: Mapping[Any, Any], key: str) -> str:
    """What a line of a comparison says of the first beside the second."""
    first, second, name, unit = line["first"], line["second"], inside(ESTIMATORS[key].title), unit_of(key)
    low, high = difference(line["low"], unit), difference(line["high"], unit)
    sure = f"{at_level(LEVEL)} interval of the difference {low} to {high}, {chance(line['p'])}"
    values = f"{name} {measured(line['first_value'], unit)} against {measured(line['second_value'], unit)}"
    if line["verdict"] == "better":
        return f"{first} is better than {second}: {values} ({sure})."
    if line["verdict"] == "worse":
        values = f"{name} {measured(line['second_value'], unit)} against {measured(line['first_value'], unit)}"
        return f"{second} is better than {first}: {values} ({sure}, {first} less {second})."
    if line["verdict"] == "equivalent":
        return f"{first} and {second} are as good as each other within the margin: {values} ({sure})."
    if line["verdict"] == "not worse":
        return f"{first} is not shown to be better than {second}, nor to be worse by the margin: {values} ({sure})."
    return f"Whether {first} or {second} is better cannot be told from these rows: {values} ({sure})."


def first_named(scene: Scene) -> str:
    """The first file's name, where there are others that could be meant; else empty."""
    return scene.bases[0].title if len(scene.bases) > 1 else ""
