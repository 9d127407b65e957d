"""Context of an exhibit: the models, their bins, the focus, and access to cached results."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import calib_core as cc
from calib_core import NotAnswerable, Predictions, Recipe
from calib_core.binning import bins_said
from calib_core.defaults import BINS, RATIO, TOLERANCE
from calib_core.evaluation.cross_fitting import OF_ALL_ROWS
from calib_core.inference import notion_looked_at
from calib_core.text import count
from dashboard.selection import ADVICE, Focus, Selection, Source
from dashboard.session import model_looks
from dashboard.session.call import Call, call
from dashboard.session.models import Model, Models, models, over, triangle
from dashboard.session.result_cache import EVERYBODY, RESULTS, Progress, ResultCache

T = TypeVar("T")
DECLARED = f"one bin per value if a calibrator's outputs are discrete, otherwise {BINS} of equal width"
"""Description of the default binning."""
_NOTHING, _NO_USE = Focus(), Recipe("EXHIBITS", ADVICE)
LARGE = 2_000_000
"""Number of probabilities above which one notion is evaluated instead of all."""


@dataclass(frozen=True)
class Scene:
    """Models on show, their bins (None: by declared outputs), the tolerance, and the focus.

    - ``confidence`` or ``risk`` is the level in the overview's sentence (None: the default).
    - ``ratio`` is the tolerance of the ratio of observed to expected events.
    - ``counting`` selects the rows of a table of several models if some abstain.
    - ``looks_of_all`` are the looks if this is a part of a scene (`among`).
    - ``partitions`` cut the triangle of ``three`` classes into cells (``written_corners``).
    - ``use`` is the exhibit of the advice with the stated use of the probabilities, which every page follows.
    """

    models: Models
    bins: Recipe | None = None
    focus: Focus = _NOTHING
    tolerance: float = TOLERANCE
    confidence: float | None = None
    counting: str = "answered"
    partitions: tuple[Recipe, ...] = ()
    three: str = ""
    progress: Progress | None = None
    shelf: ResultCache = field(default=RESULTS, repr=False)
    scope: str = EVERYBODY
    risk: float | None = None
    ratio: float = RATIO
    looks_of_all: tuple[tuple[str, int], ...] = ()
    use: Recipe = _NO_USE

    def get(self, wanted: Call[T]) -> T:
        """Return the result of a call, computed once."""
        return self.shelf.get(wanted, self.progress, self.scope)

    def knows(self, wanted: Call[Any]) -> bool:
        """Return True if the result of a call is cached."""
        return self.shelf.knows(wanted, self.scope)

    def refusal(self, wanted: Call[Any]) -> str:
        """Return why a call cannot be answered; empty if it can."""
        try:
            self.get(wanted)
        except NotAnswerable as why:
            return str(why)
        return ""

    @property
    def model(self) -> Model:
        """Return the focused model, otherwise the first."""
        return self.models.titled(self.focus.model)

    @property
    def notion(self) -> str:
        """Return the focused notion: the chosen one, otherwise the primary one of the first model that answers."""
        if self.focus.notion or self.asked_notion:
            return self.focus.notion or str(self.asked_notion)
        for model in self.models.shown:
            try:
                return self.get(call(cc.inference.primary, self.among_all(model), bins=self.bins)).notion
            except NotAnswerable:
                continue
        return "confidence"

    @property
    def claims(self) -> Literal["event", "confidence"]:
        """Return the subject of every page: the event's risk for two classes, unless confidence is requested."""
        return "event" if self._two and not self._of_predicted else "confidence"

    @property
    def asked_notion(self) -> Literal["confidence"] | None:
        """Return the requested notion of verdicts, if not the library's default: confidence for two classes."""
        return "confidence" if self._two and self._of_predicted else None

    @property
    def _two(self) -> bool:
        """Return True if the first model's rows have an event."""
        if not self.models.shown:
            return False
        return notion_looked_at(self.get(self.models.shown[0].predictions)) == "event"

    @property
    def _of_predicted(self) -> bool:
        """Return True if the predicted class is requested, by its notion or by one confidence."""
        chosen = self.focus.notion
        return chosen in ("confidence", "top-label") or (
            not chosen and self.confidence is not None and self.risk is None
        )

    @property
    def asked_about(self) -> float:
        """Return the risk or the confidence in the overview's sentence."""
        given = self.risk if self.claims == "event" else self.confidence
        if given is not None:
            return given
        return self.get(call(cc.diagrams.opening, self.models.shown[0].predictions, notion=self.asked_notion))

    @property
    def titles(self) -> tuple[str, ...]:
        """Return the titles of the models shown, which are distinct."""
        return tuple(model.title for model in self.models.shown)

    @property
    def looks(self) -> dict[str, int]:
        """Return the number of every model's look by title (`calib_core.palette.style`): the same in every picture."""
        if self.looks_of_all:
            every = dict(self.looks_of_all)
            return {title: every[title] for title in self.titles}
        files = list(dict.fromkeys(model.source for model in self.models.shown))
        found = model_looks.numbered((files.index(model.source), model) for model in self.models.shown)
        return {title: found[title] for title in self.titles}

    def among(self, shown: tuple[Model, ...]) -> Scene:
        """Return the scene with only these of its models, which keep their looks."""
        some = dataclasses.replace(self.models, shown=shown)
        return dataclasses.replace(self, models=some, looks_of_all=tuple(self.looks.items()))

    @property
    def class_names(self) -> tuple[str, ...]:
        """Return the names of the classes, if they are known."""
        return self.get(self.models.shown[0].predictions).class_names or ()

    @property
    def triangle(self) -> Scene:
        """Return the first file's models over three classes, with a focused model that answers for all of them.

        NotAnswerable if rows are no points of a triangle.
        """
        source = triangle(self.models.shown[0].source, self.three)
        shown = over(self.models, source)
        if not shown.shown:
            raise NotAnswerable(shown.refused[0][1])
        whole = [model.title for model in shown.shown if self.get(model.predictions).kind == "full"]
        looked_at = shown.titled(self.focus.model).title
        return dataclasses.replace(self, models=shown).focused(model=looked_at if looked_at in whole else whole[0])

    @property
    def cross_fitted(self) -> bool:
        """Return True if every row is evaluated by cross-fitting."""
        return self.get(self.models.shown[0].division).folds is not None

    @property
    def undivided(self) -> bool:
        """Return True if the first file is a summary, for which some analyses lack rows."""
        return self.get(self.models.shown[0].division).undivided

    @property
    def rows_kept(self) -> int:
        """Return the number of rows sampled in the current summary; 0 for rows or without a sample."""
        if not self.undivided:
            return 0
        summary: Any = self.get(self.models.shown[0].predictions)
        return len(summary.kept_rows.keys)

    @property
    def of_all_rows(self) -> str:
        """Return a note on fitted maps for cross-fitted rows; empty for rows divided in two."""
        return OF_ALL_ROWS if self.cross_fitted else ""

    @property
    def _whole(self) -> bool:
        """Return True if every row of the file is evaluated."""
        return self.cross_fitted or self.undivided

    @property
    def judged_rows(self) -> str:
        """Return which rows all numbers are about, for the middle of a sentence."""
        return "all rows" if self._whole else "the held-out rows"

    def counted(self, rows: int) -> str:
        """Return the number of these rows, for the middle of a sentence."""
        return f"{count(rows)} {'' if self._whole else 'held-out '}rows"

    def unseen(self, rows: int) -> str:
        """Return which rows maps are evaluated on, for the middle of a sentence."""
        none = "cross-fitted" if self.cross_fitted else "that no calibrator was fitted on"
        return f"{count(rows)} rows{',' if self.cross_fitted else ''} {none}"

    @property
    def bases(self) -> tuple[Model, ...]:
        """Return the models before recalibration, one per file."""
        return tuple(model for model in self.models.shown if model.is_base)

    @property
    def sources(self) -> tuple[Source, ...]:
        """Return the rows of every file, those of the current file first."""
        return tuple(model.source for model in self.bases)

    def focused(self, **changes: Any) -> Scene:
        """Return the same scene with another focus."""
        return dataclasses.replace(self, focus=dataclasses.replace(self.focus, **changes))

    def predictions(self) -> dict[str, Call[Predictions]]:
        """Return every model's test rows by title, each over all the rows it answers."""
        return {model.title: model.predictions for model in self.models.shown}

    @property
    def recalibrations(self) -> tuple[dict[str, Call[Predictions]], dict[str, Call[Predictions]], dict[str, Call[Any]]]:
        """Return, by title, each recalibrated model's test rows before and after, and its fitted calibrator."""
        models = self.models.recalibrated
        before = {model.title: model.base.predictions for model in models}
        return before, {m.title: m.predictions for m in models}, {m.title: m.fitted for m in models}

    def among_all(self, model: Model) -> Call[Predictions]:
        """Return a model's test rows for verdict, errors and scores: the same rows for every model shown."""
        if not self.abstaining:
            return model.predictions
        others = tuple(other.predictions for other in self.abstaining if other != model)
        return call(cc.evaluation.study.rows_among, model.predictions, others, rows=self.counting, stem="rows")

    def over_same_rows(self) -> dict[str, Call[Predictions]]:
        """Return every model's test rows by title, all over the same rows, as a table of several models needs."""
        return self.each(self.among_all)

    @property
    def rows_judged(self) -> dict[str, Predictions]:
        """Return the rows of ``over_same_rows``."""
        return {title: self.get(rows) for title, rows in self.over_same_rows().items()}

    @property
    def rows_counted(self) -> str:
        """Return a sentence on which rows those are; empty if every model answers all."""
        rows = [self.get(model.predictions) for model in self.models.shown]
        return cc.evaluation.study.rows_said(rows, "all" if self.counting == "all" else "answered")

    @property
    def in_bins(self) -> str:
        """Return the bins in words, for the middle of a sentence."""
        return DECLARED if self.bins is None else bins_said(self.bins.build())

    @property
    def large(self) -> bool:
        """Return True if evaluating every model in every notion would take minutes."""
        rows = self.get(self.models.shown[0].predictions)
        return rows.n_rows * (rows.n_classes or 1) > LARGE

    @property
    def abstaining(self) -> tuple[Model, ...]:
        """Return the models that abstain on some rows."""
        return tuple(m for m in self.models.shown if self.get(m.predictions).abstained is not None)

    def each(self, make: Callable[[Model], Call[T]]) -> dict[str, Call[T]]:
        """Return a call for every model, by title."""
        return {model.title: make(model) for model in self.models.shown}

    def answered(self, calls: Mapping[str, Call[T]]) -> tuple[dict[str, Call[T]], tuple[str, ...]]:
        """Return the calls that answer, and a sentence for each that does not; NotAnswerable if none does."""
        kept: dict[str, Call[T]] = {}
        refused: dict[str, str] = {}
        for name, wanted in calls.items():
            try:
                self.get(wanted)
                kept[name] = wanted
            except NotAnswerable as why:
                refused[name] = str(why)
        if not kept:
            raise NotAnswerable("; ".join(dict.fromkeys(refused.values())) or "there is no model to show")
        return kept, tuple(f"{name}: {why}." for name, why in refused.items())


def scene_of(selection: Selection, progress: Progress | None = None) -> Scene:
    """Return the scene for the choices on screen."""
    return Scene(
        models(selection),
        selection.scheme,
        selection.focus,
        selection.eps,
        selection.confidence,
        selection.counting,
        selection.partitions,
        selection.three,
        progress,
        risk=selection.risk,
        ratio=selection.ratio,
        use=selection.exhibit(ADVICE),
    )
