"""Reasons to doubt a file's labels or scores, in sentences for the first screen and the first page of a report."""

from __future__ import annotations

import calib_core as cc
from calib_core.predictions.plausibility import Doubt
from dashboard.session import Scene, call


def doubts_of(scene: Scene) -> tuple[tuple[str, Doubt], ...]:
    """The doubts about the rows judged, of every file before recalibration, with its name where there are several."""
    base = [model for model in scene.models.shown if model.is_base]
    return tuple(
        (model.name if len(base) > 1 else "", doubt)
        for model in base
        for doubt in scene.get(call(cc.predictions.plausibility.doubts, model.predictions, stem="doubts"))
    )


def sentences(scene: Scene) -> tuple[str, ...]:
    """The same as sentences."""
    return tuple(f"{name}: {doubt.sentence}" if name else doubt.sentence for name, doubt in doubts_of(scene))


def rules_out_advice(scene: Scene) -> bool:
    """Is there a doubt about the first file that rules out advice on a calibrator?"""
    first = scene.models.shown[0]
    if not first.is_base:
        return False
    found = scene.get(call(cc.predictions.plausibility.doubts, first.predictions, stem="doubts"))
    return any(doubt.blocks_advice for doubt in found)
