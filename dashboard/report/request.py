"""What a report is about: the choices on screen, and what only the report is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from calib_core import Recipe
from dashboard import session
from dashboard.selection import Selection
from dashboard.session import Call, Model, Models, Scene


@dataclass(frozen=True)
class Options:
    """What only the report is told.

    ``title`` and ``author`` are printed as given, ``left_out`` are keys of sections, ``added`` those of sections that
    are made on request only, ``date`` is the one line that tells two reports made from the same things apart.
    """

    title: str = ""
    author: str = ""
    left_out: tuple[str, ...] = ()
    date: str = ""
    added: tuple[str, ...] = ()


@dataclass(frozen=True)
class Request:
    """The choices a report is made from, with what follows from them.

    ``calls`` are those that made the tables so far, by the tables' names.
    """

    selection: Selection
    options: Options
    calls: dict[str, Call[Any]] = field(default_factory=dict, compare=False)

    @cached_property
    def scene(self) -> Scene:
        """What exhibits are shown of."""
        return session.scene_of(self.selection)

    @cached_property
    def models(self) -> Models:
        """The models shown and those refused."""
        return self.scene.models

    @property
    def of_event(self) -> bool:
        """Whether it is about the predicted risk of an event rather than the confidence of the class predicted."""
        return self.scene.claims == "event"

    @property
    def chosen(self) -> Model:
        """The model that is looked at most closely: the one chosen on screen, else the first."""
        return self.models.titled(self.selection.model)

    @property
    def scheme(self) -> Recipe | None:
        """The bins chosen; None where each model is judged as its outputs are declared."""
        return self.selection.scheme

    @property
    def binned(self) -> str:
        """The bins in words, for the middle of a sentence."""
        return f"bins: {self.scene.in_bins}"

    @property
    def large(self) -> bool:
        """Whether every estimator in every notion would take minutes."""
        return self.scene.large

    def knows_classes(self, model: Model) -> bool:
        """Whether the model's predictions name the class they are about."""
        return self.scene.get(model.predictions).kind != "confidence"
