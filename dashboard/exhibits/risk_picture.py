"""Reliability diagram of a predicted risk: its models, numbers and words."""

from __future__ import annotations

from typing import Any

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.defaults import LEVEL
from calib_core.diagrams import RiskDiagram
from calib_core.text import at_level, begun, in_percent
from dashboard.exhibits import columns as of
from dashboard.exhibits import event_words
from dashboard.exhibits.error_words import error_beyond_places
from dashboard.exhibits.exhibit import Words
from dashboard.exhibits.slices import bins_counted, own_interval
from dashboard.session import Call, Model, Scene, call

LAID_OVER = 2
"""Up to this many models are overlaid; more have one panel each."""
TERMS = ("bins", "noise-floor", "tolerance")
"""Glossary terms that a newcomer needs."""


def drawn(scene: Scene) -> dict[str, Call[RiskDiagram]]:
    """Return the diagrams of all models by title; of two, the model in focus is first and drawn in full."""
    shown = scene.models.shown
    models: list[Model] = list(shown if len(shown) > LAID_OVER else dict.fromkeys((scene.model, *shown)))
    found, _ = scene.answered({model.title: of_model(scene, model) for model in models})
    return found


def of_model(scene: Scene, model: Model | None = None) -> Call[RiskDiagram]:
    """Return the diagram of a model, by default the one in focus."""
    return call(cc.diagrams.risk_diagram, (model or scene.model).predictions, bins=scene.bins)


def figure(scene: Scene) -> Call[Any]:
    """Return the figure."""
    rows, happened = event_words.in_words(scene)
    return call(
        "figures.risk_diagram",
        drawn(scene),
        looks=scene.looks,
        tolerance=scene.tolerance,
        rows=rows,
        happened=happened,
        event=event_words.of_scene(scene),
    )


def columns() -> tuple[of.Column, ...]:
    """Return the printed columns."""
    return (
        of.text("model"),
        of.bin_ends("bin", "lower", "upper"),
        of.whole("rows", "count"),
        of.share("mean risk", "risk"),
        of.share("observed frequency", "observed"),
        of.between(f"{at_level(LEVEL)} interval", "low", "high"),
        of.between("calibrated models", "band_low", "band_high"),
    )


def words(scene: Scene) -> Words:
    """Return caption, text alternative, headline and notes for the model in focus."""
    rows, happened = event_words.in_words(scene)
    title, name = scene.model.title, event_words.of_scene(scene)
    frame = scene.get(call(cc.calls.stacked, drawn(scene)))
    tested = call(
        cc.diagrams.bins_standing_out, {title: scene.model.predictions}, bins=scene.bins, notion="event", stem="bins"
    )
    mine = scene.get(of_model(scene))
    note = f"{begun(mine.note)}." if mine.note else ""
    return Words(
        f"For each bin (range of the risk): mean risk of its {rows}, and the share that {happened}, with its "
        f"{own_interval(scene)}.",
        f"Observed frequency against predicted risk of {name}. {_largest(frame, title)}",
        headline=_headline(scene, scene.get(tested), happened),
        key=f"Star: one bin. Gray band: range of {at_level(LEVEL)} of calibrated models. Line: smooth curve with its "
        "band, drawn where the rows near a risk count as at least 20. Spikes (square-root scale) count "
        f"{rows}: up with the event, down without it. Hollow: fewer than 10 rows. Triangle: outside the chart.",
    ).also(
        f"Bins: {mine.bins}{'' if scene.bins else ', fixed before looking at the outcomes'}.",
        bins_counted(scene),
        "The intervals in the diagram are for one bin each.",
        note,
    )


def _headline(scene: Scene, bins: pd.DataFrame, happened: str) -> tuple[str, ...]:
    """Return the headline: mean risk over all rows (first, if significantly off) and the bins.

    If neither is significantly off, a significant error over all rows is first.
    """
    of_bins = cc.diagrams.headline(bins, happened=happened)
    wanted = event_words.in_the_large(scene)
    if scene.refusal(wanted):
        return of_bins
    found = scene.get(wanted)
    mean = event_words.on_average(found)
    if found.differs:
        predicted, observed = event_words.predicted_and_observed(found)
        return f"{mean} ({predicted} predicted, {observed} observed).", *of_bins
    error = "" if (bins["stands_out"] != "").any() else error_beyond_places(scene, scene.model)
    return (*((error,) if error else ()), *of_bins, f"{mean}.")


def _largest(frame: pd.DataFrame, title: str) -> str:
    mine = frame[frame["model"] == title]
    if mine.empty:
        raise NotAnswerable("there is no bin to show")
    worst = mine.iloc[int((mine["observed"] - mine["risk"]).abs().to_numpy().argmax())]
    return (
        f"{title}: largest distance of a bin from the diagonal at a mean risk of {in_percent(worst['risk'])}, observed "
        f"{in_percent(worst['observed'])}."
    )
