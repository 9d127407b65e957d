"""Reasons to doubt a file's labels or scores, in sentences for every page, a report's first page and commands."""

from __future__ import annotations

from dataclasses import replace

import calib_core as cc
from calib_core.predictions.plausibility import Doubt
from dashboard.session import Call, Model, Scene, call


def doubts_of(scene: Scene) -> tuple[tuple[str, Doubt], ...]:
    """Return the doubts about each file's rows before recalibration, with the file's name if there are several.

    They are about all rows, even if a slice is selected: a small slice without an event gives no reason for doubt.
    """
    base = scene.bases
    return tuple((model.name if len(base) > 1 else "", doubt) for model in base for doubt in scene.get(_asked(model)))


def _asked(model: Model) -> Call[tuple[Doubt, ...]]:
    every = replace(model, source=model.source.everywhere)
    return call(cc.predictions.plausibility.doubts, every.predictions, stem="doubts")


def sentences(scene: Scene) -> tuple[str, ...]:
    """Return the doubts as sentences."""
    return tuple(f"{name}: {doubt.sentence}" if name else doubt.sentence for name, doubt in doubts_of(scene))


def rules_out_advice(scene: Scene) -> bool:
    """True if a doubt about the first file rules out advice on a calibrator."""
    first = scene.models.shown[0]
    if not first.is_base:
        return False
    return any(doubt.blocks_advice for doubt in scene.get(_asked(first)))
