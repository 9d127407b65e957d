"""What exhibits about the bins of a reliability diagram share: the diagram, its words, the place looked at."""

from __future__ import annotations

import calib_core as cc
from calib_core import BINNINGS, NotAnswerable, Predictions
from calib_core.diagrams import ReliabilityDiagram
from calib_core.registry.registry import Choice
from calib_core.text import count, inside
from dashboard.exhibits import event_words
from dashboard.session import Call, Model, Scene, call

_STAR = "Star: the rows of one bin, their mean confidence and accuracy; on the diagonal the two are equal."
_STEM = (
    "Plus: as far from the diagonal as the classes predicted in the bin are on average, so that their errors do not "
    "cancel."
)
_HOLLOW = "Hollow: fewer than 10 rows, not joined."


def how_to_read(*, stems: bool) -> str:
    """How to read the diagram; ``stems`` are explained where any is drawn."""
    return " ".join((_STAR, *((_STEM,) if stems else ()), _HOLLOW))


BINS_OF = Choice(("own", "recalibrated"), titles=("Each model's own", "Those of the recalibrated model, for all"))
"""Whose bins models are judged in."""
BINS_OF_WORDS = "own bins, or for all the rows that share one of the recalibrated model looked at, else of the first"


def stars(scene: Scene, model: Model | None = None) -> Call[ReliabilityDiagram]:
    """The reliability diagram of a model, by default the one looked at."""
    return call(cc.diagrams.reliability, (model or scene.model).predictions, bins=scene.bins, notion=scene.claims)


def grouping(scene: Scene) -> Model:
    """The recalibrated model whose bins are meant: the one looked at, or the first; NotAnswerable without any."""
    recalibrated = scene.models.recalibrated
    if not recalibrated:
        raise NotAnswerable("no recalibrated model is shown whose bins could be taken: tick a calibrator")
    return scene.model if scene.model in recalibrated else recalibrated[0]


def grouped(title: str) -> str:
    """What bins of another model's are, in a sentence."""
    return (
        f"A bin holds the rows that {title} puts into one bin, one a value where its outputs are discrete: models are "
        "compared on the same rows."
    )


def claimed(model: Model, notion: str) -> Call[Predictions]:
    """A model's rows as claims: confidence and whether it is right, or of "event" its risk and whether it happened."""
    return model.predictions if notion == "confidence" else call(cc.inference.claimed_rows, model.predictions, notion)


def event_of(scene: Scene) -> str | None:
    """What the event is called whose predicted risk is looked at; None where that is the confidence."""
    return event_words.of_scene(scene) if scene.claims == "event" else None


def bin_of(scene: Scene) -> int | None:
    """The bin looked at, where it has rows; None stands for the one that adds most to the error."""
    b = scene.focus.bin
    return b if b in scene.get(stars(scene)).frame()["bin"].tolist() else None


def is_picked(scene: Scene) -> bool:
    """Whether a bin with rows, or a range of the confidence, is looked at."""
    return scene.focus.between is not None or bin_of(scene) is not None


def place(scene: Scene) -> tuple[Call[ReliabilityDiagram], int | None]:
    """A diagram and the bin of it that is looked at: a range of the confidence is a bin between given edges."""
    between = scene.focus.between
    if between is None:
        return stars(scene), bin_of(scene)
    edges = tuple(sorted({0.0, *between, 1.0}))
    recipe = BINNINGS.described("edges", values=edges)
    cut = call(cc.diagrams.reliability, scene.model.predictions, bins=recipe, notion=scene.claims)
    return cut, edges.index(between[0])


def ends(scene: Scene) -> tuple[float, float]:
    """The range of the confidence that is looked at; without a choice, of the bin that adds most to the error."""
    if scene.focus.between is not None:
        return scene.focus.between
    diagram, chosen = scene.get(stars(scene)), bin_of(scene)
    b = diagram.worst if chosen is None else chosen
    # Bins of discrete outputs end between values; the first and the last are cut at 0 and 1.
    return max(0.0, float(diagram.lower[b])), min(1.0, float(diagram.upper[b]))


def ends_said(scene: Scene) -> str:
    """That range in percent."""
    return cc.diagrams.edges_said(*ends(scene))


def called(model: Model) -> str:
    """What a model is called in the middle of a sentence."""
    if model.is_base:
        return model.name or "the base model"
    return model.title if model.name else inside(model.title)


def silences(scene: Scene) -> tuple[str, ...]:
    """Of which rows the marks of models that abstain are."""
    rows = {model.title: scene.get(model.predictions) for model in scene.abstaining}
    return tuple(
        f"{title}: marks are of the {count(int((~p.abstained).sum()))} of {scene.counted(p.n_rows)} it answers."
        for title, p in rows.items()
        if p.abstained is not None
    )
