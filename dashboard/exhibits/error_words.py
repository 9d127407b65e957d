"""Tests for an error over all rows of a model, with one correction for their number on every page."""

from __future__ import annotations

from typing import Any

import calib_core as cc
from dashboard.session import Call, Model, Scene, call


def error_tests(scene: Scene, model: Model) -> Call[str]:
    """Return the tests of one model, from which the advice names the first significant one."""
    return call(cc.evaluation.advice.error_tests, scene.among_all(model), **_judged(scene), stem="tests")


def error_beyond_places(scene: Scene, model: Model) -> str:
    """Sentence on the first significant test besides the mean gap; empty if there is none."""
    rows = scene.among_all(model)
    wanted = call(cc.evaluation.advice.error_beyond_places, rows, **_judged(scene), stem="error")
    return "" if scene.refusal(wanted) else scene.get(wanted)


def _judged(scene: Scene) -> dict[str, Any]:
    return {"eps": scene.tolerance, "ratio": scene.ratio, "bins": scene.bins}
