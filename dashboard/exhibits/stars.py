"""Shared by exhibits about the bins of a reliability diagram: the diagram, its words, the selected place."""

from __future__ import annotations

import calib_core as cc
from calib_core import BINNINGS, NotAnswerable, Predictions
from calib_core.defaults import LEVEL, SIGNIFICANCE
from calib_core.diagrams import ReliabilityDiagram
from calib_core.registry.registry import Choice
from calib_core.text import at_level, chance, count, inside
from dashboard.exhibits import event_words
from dashboard.session import Call, Model, Scene, call, in_sentence

IN_BINS = "Mean confidence and accuracy of the rows in each bin."
BY_CLASS = (
    "A gap is accuracy minus confidence. Error by predicted class: mean absolute gap of the bin's predicted classes. "
    "Difference of classes: mean distance of their gaps from the gap of the whole bin. At most by noise: if the "
    "classes do not differ, the difference is below this in 95 % of samples (corrected for the number of bins)."
)
_STAR = "Star: one bin{}."
_INTERVAL = f" with its {at_level(LEVEL)} interval"
_BAND = f"Gray: range of {at_level(LEVEL)} of the stars of calibrated models."
_STEM = (
    "Strong plus: the predicted classes of the bin differ significantly. Its distance from the star is their mean "
    "difference; noise can explain the dotted part."
)
_PALE = (
    "Pale plus: the classes do not clearly differ. Its distance from the diagonal is their mean error. Bracket: where "
    "noise would put the plus."
)
_PRINTED = (
    "Plus, as printed by Gupta and Ramdas: its distance from the diagonal is the error by predicted class. With few "
    "rows of each class, most of it is noise."
)
_HOLLOW = "Hollow: neighboring bins of fewer than 10 rows, pooled; with an interval if they have 10 rows together."
_PLUSSES = {"all": (_STEM, _PALE), "significant": (_STEM,), "printed": (_PRINTED,), "none": ()}


def how_to_read(plusses: str, banded: bool) -> str:
    """Explain the marks of the diagram with these ``plusses``; ``banded`` if it has intervals and a band."""
    star = _STAR.format(_INTERVAL if banded else "")
    band = (_BAND,) if banded else ()
    return " ".join((star, *band, *_PLUSSES[plusses], _HOLLOW))


def differences(diagram: ReliabilityDiagram) -> str:
    """State in which bins the classes differ significantly, or that there are none; empty if no bin is tested."""
    frame = diagram.frame()
    tested, found = int(frame["class_p"].notna().sum()), frame[frame["class_p"] <= SIGNIFICANCE]
    if not tested:
        return ""
    if found.empty:
        joint = diagram.class_p_joint
        still = ", but all together they do" if joint <= SIGNIFICANCE else ""
        how = f"bins tested: {tested}, corrected; all together {chance(joint)}"
        return f"in no bin do classes differ significantly{still} ({how})."
    where = [cc.diagrams.edges_said(low, high) for low, high in zip(found["lower"], found["upper"], strict=True)]
    more = f" and {len(where) - 3} more" if len(where) > 3 else ""
    listed = f"{', '.join(where[:3])}{more}"
    return f"classes differ significantly at {listed} (bins tested: {tested}, corrected)."


BINS_OF = Choice(("own", "recalibrated"), titles=("Each model's own", "The recalibrated model's, for all"))
"""Model whose bins are used."""
BINS_OF_WORDS = "each model's own bins, or the bins of the selected recalibrated model (else the first) for all models"


def stars(scene: Scene, model: Model | None = None) -> Call[ReliabilityDiagram]:
    """Return the reliability diagram of a model, by default the selected one."""
    return call(cc.diagrams.reliability, (model or scene.model).predictions, bins=scene.bins, notion=scene.claims)


def grouping(scene: Scene) -> Model:
    """Return the recalibrated model whose bins are used: the selected one or the first; NotAnswerable without any."""
    recalibrated = scene.models.recalibrated
    if not recalibrated:
        raise NotAnswerable("there is no recalibrated model whose bins could be used; tick a calibrator")
    return scene.model if scene.model in recalibrated else recalibrated[0]


def grouped(title: str) -> str:
    """Explain in one sentence that models are compared in the bins of another model."""
    return (
        f"Bins are those of {in_sentence(title)} (one per value if its outputs are discrete), so all "
        "models are compared on the same rows."
    )


def claimed(model: Model, notion: str) -> Call[Predictions]:
    """Return a model's rows as binary claims: confidence and correctness, or for "event" its risk and the outcome."""
    return model.predictions if notion == "confidence" else call(cc.inference.claimed_rows, model.predictions, notion)


def event_of(scene: Scene) -> str | None:
    """Return the name of the event whose predicted risk is shown; None for the confidence."""
    return event_words.of_scene(scene) if scene.claims == "event" else None


def bin_of(scene: Scene) -> int | None:
    """Return the selected bin if it has rows; None means the bin that contributes most to the error."""
    b = scene.focus.bin
    return b if b in scene.get(stars(scene)).frame()["bin"].tolist() else None


def is_picked(scene: Scene) -> bool:
    """True if a bin with rows or a range of the confidence is selected."""
    return scene.focus.between is not None or bin_of(scene) is not None


def place(scene: Scene) -> tuple[Call[ReliabilityDiagram], int | None]:
    """Return a diagram and its selected bin; a range of the confidence is a bin with these edges."""
    between = scene.focus.between
    if between is None:
        return stars(scene), bin_of(scene)
    edges = tuple(sorted({0.0, *between, 1.0}))
    recipe = BINNINGS.described("edges", values=edges)
    cut = call(cc.diagrams.reliability, scene.model.predictions, bins=recipe, notion=scene.claims)
    return cut, edges.index(between[0])


def ends(scene: Scene) -> tuple[float, float]:
    """Return the selected range of the confidence; by default the bin that contributes most to the error."""
    if scene.focus.between is not None:
        return scene.focus.between
    diagram, chosen = scene.get(stars(scene)), bin_of(scene)
    b = diagram.worst if chosen is None else chosen
    # Bins of discrete outputs end between values; the first and the last are cut at 0 and 1.
    return max(0.0, float(diagram.lower[b])), min(1.0, float(diagram.upper[b]))


def ends_said(scene: Scene) -> str:
    """Return the selected range in percent."""
    return cc.diagrams.edges_said(*ends(scene))


def called(model: Model) -> str:
    """Return a model's name for the middle of a sentence."""
    if model.is_base:
        return in_sentence(model.title)
    return model.title if model.name else inside(model.title)


def silences(scene: Scene) -> tuple[str, ...]:
    """Notes on which rows the marks of abstaining models represent."""
    rows = {model.title: scene.get(model.predictions) for model in scene.abstaining}
    return tuple(
        f"{title}: marks represent the {count(int((~p.abstained).sum()))} of {scene.counted(p.n_rows)} that it answers."
        for title, p in rows.items()
        if p.abstained is not None
    )
