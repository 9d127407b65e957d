"""What exhibits about the bins of a reliability diagram share: the diagram, its words, the bin looked at."""

from __future__ import annotations

import calib_core as cc
from calib_core._text import count
from calib_core.diagrams import ReliabilityDiagram
from dashboard.session import Call, Model, Scene, call

STAR = (
    "Star: accuracy of the rows of a bin against their mean confidence; on the diagonal the claims hold. Plus: the "
    "same class by class, as far from the diagonal as the predicted classes are off on average, so that errors of "
    "classes do not cancel. Bars: share of rows. Hollow stars: fewer than 10 rows."
)
"""How to read the diagram."""


def stars(scene: Scene, model: Model | None = None) -> Call[ReliabilityDiagram]:
    """The reliability diagram of a model, by default the one looked at."""
    return call(cc.diagrams.reliability, (model or scene.model).predictions, bins=scene.bins)


def bin_of(scene: Scene) -> int | None:
    """The bin looked at, where it has rows; None stands for the one that adds most to the error."""
    b = scene.focus.bin
    return b if b in scene.get(stars(scene)).frame()["bin"].tolist() else None


def silences(scene: Scene) -> tuple[str, ...]:
    """Of which rows the marks of models that abstain are."""
    rows = {model.title: scene.get(model.predictions) for model in scene.abstaining}
    return tuple(
        f"{title}: marks are of the {count(int((~p.abstained).sum()))} of {count(p.n_rows)} test rows it answers."
        for title, p in rows.items()
        if p.abstained is not None
    )
