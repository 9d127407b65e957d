"""Reading: the meaning of a table's columns, as proposed and as changed by the user."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, TypedDict, cast, get_args

from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.messages import listed, meant, quoted
from calib_core.readers.table_findings import RULES

Layout = Literal["wide", "top-label", "confidence", "samples", "summary", "kept-rows"]
OF_SUMMARIES: tuple[Layout, ...] = ("summary", "kept-rows")
"""Layouts of summaries; other files cannot have them."""
ScoreKind = Literal["probabilities", "logits", "log-probabilities", "percentages", "words"]
LabelCoding = Literal["0-based", "1-based", "names", "one-hot"]
Missing = Literal["error", "exclude"]
Weighting = Literal["copies", "sampling"]


class Fields(TypedDict, total=False):
    """Some fields of a ``Reading``, chosen or proposed."""

    layout: Layout
    kind: ScoreKind
    scores: tuple[str, ...]
    confidence: str | None
    correct: str | None
    predicted: str | None
    label: tuple[str, ...]
    label_coding: LabelCoding
    classes: tuple[str, ...]
    weights: str | None
    weighting: Weighting | None
    split: str | None
    group: str | None
    metadata: tuple[str, ...]
    missing: Missing
    words: tuple[str, ...]
    models: str | None
    model: str | None
    question: tuple[str, ...]
    score_sets: tuple[str, ...]
    event: str | None
    predicted_coding: LabelCoding | None
    accepted: tuple[str, ...]


_CHOICES: dict[str, tuple[str, ...]] = {
    "layout": get_args(Layout),
    "kind": get_args(ScoreKind),
    "label_coding": get_args(LabelCoding),
    "missing": get_args(Missing),
}
_TUPLES = ("scores", "label", "classes", "metadata", "words", "question", "score_sets", "accepted")
_NAMES = ("confidence", "correct", "predicted", "split", "weights", "group", "models", "model")


@dataclass(frozen=True)
class Reading:
    """Interpretation of a table: the columns of scores and labels, and the meaning of their values.

    Parameters
    ----------
    layout : "wide": one score per class. "top-label": confidence, predicted class and label. "confidence": confidence
        and whether it was correct. "samples": several rows per question; the share with the most frequent answer is its
        confidence. "summary": the counts of ``calib summarise``, which need no further fields. "kept-rows": the sample
        of rows that such a summary stores next to its counts.
    kind : type of the scores (or the confidence); "words" are phrases such as "very likely".
    scores : names of the score columns in class order, or of one matrix; one column is P(the second class).
    label : the label column, or one column (or one matrix) per class for one-hot labels.
    label_coding : how labels name classes.
    predicted_coding : how predicted classes name classes, if differently from labels.
    confidence, correct, predicted : column names, for the layouts that have them.
    split : column that marks calibration and test rows.
    weights : column of row weights; only used if chosen.
    weighting : meaning of whole-number weights: "copies" (a row is that many independent rows) or "sampling" (scaled to
        mean 1 like other weights). None is "copies" with a warning.
    group : column of related rows (a patient, a question, an author). It is proposed only if a tool's own log numbers
        the attempts at a question. It is also proposed if boxes of an image compete for its true boxes.
    classes : class names in the order of the score columns.
    missing : how missing values are handled: an error, or leave out their rows.
    metadata : columns retained as metadata.
    question : columns that identify questions, for samples (``predicted`` is then a sample's answer) and to join the
        rows of several models.
    models, model : column of the model names, if several answered the same questions, and the model to read.
    score_sets : names of models with adjacent score columns. ``scores`` then lists the columns of the first, of the
        second and so on, equally many each; ``model`` is the one to read.
    event : name of the class of two that is the event, whose predicted risk is evaluated; None: the one that names
        suggest (``Predictions.event``). The label column itself, if it contains 0 and 1, means class 1.
    words : numbers for phrases that differ from ``verbal.PHRASES``, such as ("quite sure=0.8",).
    accepted : codes of warnings about this reading that the user has checked, such as "named-columns". They become
        notes, and no longer keep a gate from passing.

    >>> r = Reading(scores=("p_cat", "p_dog"), label=("y",), classes=("cat", "dog"))
    >>> Reading.from_json(r.to_json()) == r
    True
    """

    layout: Layout = "wide"
    kind: ScoreKind = "probabilities"
    scores: tuple[str, ...] = ()
    label: tuple[str, ...] = ()
    label_coding: LabelCoding = "0-based"
    confidence: str | None = None
    correct: str | None = None
    predicted: str | None = None
    split: str | None = None
    weights: str | None = None
    group: str | None = None
    classes: tuple[str, ...] = ()
    missing: Missing = "error"
    metadata: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    question: tuple[str, ...] = ()
    models: str | None = None
    model: str | None = None
    predicted_coding: LabelCoding | None = None
    score_sets: tuple[str, ...] = ()
    event: str | None = None
    weighting: Weighting | None = None
    accepted: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in (field.name for field in dataclasses.fields(self)):
            object.__setattr__(self, name, _checked(name, getattr(self, name)))
        if len(set(self.classes)) < len(self.classes):
            twice = next(c for c in self.classes if self.classes.count(c) > 1)
            raise InputError(f"class {quoted(twice)} occurs twice; every class needs its own name")
        if len(set(self.scores)) < len(self.scores):
            twice = next(c for c in self.scores if self.scores.count(c) > 1)
            raise InputError(f"score column {quoted(twice)} is chosen twice; choose one column per class")
        outcome = self.label if set(self.classes) == {"0", "1"} else ()
        if (self.event,) == outcome:
            object.__setattr__(self, "event", "1")
        if self.event is not None and self.classes and self.event not in self.classes:
            hint = meant(self.event, (*self.classes, *outcome))
            also = (
                f'; the label column\'s name, {quoted(outcome[0])}, also selects class "1"' if len(outcome) == 1 else ""
            )
            known = f"the classes are {listed(self.classes)}{also}"
            raise InputError(f"event {quoted(self.event)} is not a class; {hint}{known}")
        if self.score_sets:
            self._check_score_sets()
        elif self.model is not None and self.models is None:
            raise InputError(
                f"model {quoted(self.model)} is chosen without a column of model names; choose models (the name of "
                "that column), too"
            )
        self._check_words()
        self._check_layout()

    def _check_layout(self) -> None:
        needed = {
            "wide": (("scores", self.scores), ("label", self.label)),
            "top-label": (("confidence", self.confidence), ("predicted", self.predicted), ("label", self.label)),
            "confidence": (("confidence", self.confidence), ("correct", self.correct)),
            "samples": (("question", self.question), ("predicted", self.predicted), ("label", self.label)),
            "summary": (),
            "kept-rows": (),
        }
        for name, value in needed[self.layout]:
            if not value:
                raise InputError(f"layout {quoted(self.layout)} needs a {name} column; choose one")

    def _check_score_sets(self) -> None:
        names = self.score_sets
        if self.layout != "wide" or self.models is not None:
            raise InputError('score_sets need layout "wide" and no column of models; change one of them')
        if len(set(names)) < max(2, len(names)):
            raise InputError(f"score_sets are {listed(names)}; name at least two different models")
        if len(self.scores) % len(names):
            raise InputError(
                f"{len(self.scores)} score columns cannot be divided equally among {len(names)} models; give the "
                "columns of the first model, then those of the second and so on"
            )
        if self.model not in (None, *names):
            raise InputError(f"model {quoted(self.model)} is not one of the score_sets, {listed(names)}; choose one")

    def _check_words(self) -> None:
        if self.kind == "words" and self.layout not in ("top-label", "confidence"):
            raise InputError('kind "words" needs one confidence per row; choose layout "top-label" or "confidence"')
        for entry in self.words:
            phrase, _, number = entry.rpartition("=")
            try:
                good = bool(phrase.strip()) and 0 <= float(number) <= 1
            except ValueError:
                good = False
            if not good:
                raise InputError(f"words contain {quoted(entry)}; write a phrase and a number from 0 to 1: likely=0.8")

    def replace(self, **changes: Any) -> Self:
        """Return the reading with some fields changed; InputError for unknown fields."""
        return dataclasses.replace(self, **checked_fields(changes))

    @property
    def several(self) -> bool:
        """True for several models, distinguished by a column or in adjacent columns."""
        return bool(self.models_by)

    @property
    def models_by(self) -> tuple[str, ...]:
        """The column of model names, or the models in adjacent columns; empty if there is one model."""
        return self.score_sets if self.models is None else (self.models,)

    @property
    def of_set(self) -> Reading:
        """Return the reading of the chosen one of ``score_sets``, else of the first; unchanged if there are none."""
        if not self.score_sets:
            return self
        k = len(self.scores) // len(self.score_sets)
        first = k * (0 if self.model is None else self.score_sets.index(self.model))
        return self.replace(scores=self.scores[first : first + k], score_sets=(), model=None)

    @property
    def of_predicted(self) -> Reading:
        """Return the reading with the column of predicted classes in place of the labels."""
        coding = self.predicted_coding or self.label_coding
        return self.replace(label=(str(self.predicted),), label_coding=coding)

    @property
    def used(self) -> tuple[str, ...]:
        """Every column or matrix with a role, except metadata."""
        named = (self.confidence, self.correct, self.predicted, self.split, self.weights, self.group, self.models)
        return (*self.scores, *self.label, *self.question, *(name for name in named if name is not None))

    def to_json(self) -> str:
        """Return the fields that differ from their defaults, as JSON with sorted keys."""
        fields = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        }
        return json.dumps(fields, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Parse a reading written by to_json; InputError for anything else."""
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError) as e:
            raise InputError("the reading is not valid JSON; choose the columns again") from e
        if not isinstance(fields, dict):
            raise InputError("the reading is not a JSON object; choose the columns again")
        unknown = set(fields) - {field.name for field in dataclasses.fields(cls)}
        if unknown:
            raise InputError(f"there is no reading option {quoted(sorted(unknown)[0])}; choose the columns again")
        return cls(**fields)


def checked_fields(changes: Mapping[str, object]) -> Fields:
    """Return fields of a reading with checked types; InputError for unknown fields and wrong types."""
    known = [field.name for field in dataclasses.fields(Reading)]
    unknown = sorted(set(changes) - set(known))
    if unknown:
        hint = meant(unknown[0], known)
        raise InputError(
            f"there is no reading option {quoted(unknown[0])} (--read); {hint}the options are {', '.join(known)}"
        )
    return cast(Fields, {name: _checked(name, value) for name, value in changes.items()})


def _checked(name: str, value: Any) -> Any:
    if name == "accepted":
        return _codes(_strings(name, value))
    if name in _TUPLES:
        return _strings(name, value)
    if name in _CHOICES and value not in _CHOICES[name]:
        options = _CHOICES[name]
        raise InputError(f"{name} is {quoted(value)}; {meant(value, options)}choose one of {', '.join(options)}")
    if name == "predicted_coding" and value not in (None, "0-based", "1-based", "names"):
        raise InputError(f"predicted_coding is {quoted(value)}; choose 0-based, 1-based or names")
    if name == "weighting" and value not in (None, *get_args(Weighting)):
        options = get_args(Weighting)
        raise InputError(f"weighting is {quoted(value)}; {meant(value, options)}choose one of {', '.join(options)}")
    if name == "event" and not isinstance(value, str | None):
        raise InputError("event must be the name of a class, or none")
    if name in _NAMES and not isinstance(value, str | None):
        raise InputError(f"{name} must be the name of a column, or none")
    return value


def _codes(accepted: tuple[str, ...]) -> tuple[str, ...]:
    for code in accepted:
        if code not in RULES:
            hint = meant(code, RULES) or f"the codes are {', '.join(sorted(RULES))}"
            raise InputError(f"accepted contains {quoted(code)}, which no warning has; {hint}")
    return tuple(dict.fromkeys(accepted))


def _strings(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Iterable):
        raise InputError(f"{name} must be a list of names")
    names = tuple(value)
    if not all(isinstance(item, str) for item in names) or len(names) > limits.COLUMNS:
        raise InputError(f"{name} must be a list of at most {limits.COLUMNS:,} names")
    return names
