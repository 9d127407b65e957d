"""Request for a report: the choices on screen, and options of the report only."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from calib_core import Recipe
from dashboard import session
from dashboard.selection import STYLES, Selection
from dashboard.session import Call, Model, Models, Scene


@dataclass(frozen=True)
class Options:
    """Options that only a report has.

    - ``title`` and ``author`` are printed as given.
    - ``left_out`` are keys of omitted sections, ``added`` those of sections included on request only.
    - ``style`` is the arrangement: "review", or "validation" by the items of TRIPOD+AI.
    - ``date`` is the only line in which two reports from the same inputs differ.
    """

    title: str = ""
    author: str = ""
    left_out: tuple[str, ...] = ()
    date: str = ""
    added: tuple[str, ...] = ()
    style: str = STYLES[0]


@dataclass(frozen=True)
class Request:
    """Choices behind a report, with the objects that follow from them.

    ``calls`` are those of the tables so far, by the tables' names.
    """

    selection: Selection
    options: Options
    calls: dict[str, Call[Any]] = field(default_factory=dict, compare=False)

    @cached_property
    def scene(self) -> Scene:
        """Return the scene of its exhibits."""
        return session.scene_of(self.selection)

    @cached_property
    def models(self) -> Models:
        """Return the models shown and those refused."""
        return self.scene.models

    @property
    def of_event(self) -> bool:
        """Return True if it is about the predicted risk of an event rather than confidence."""
        return self.scene.claims == "event"

    @property
    def chosen(self) -> Model:
        """Return the main model: the one chosen on screen, otherwise the first."""
        return self.models.titled(self.selection.model)

    @property
    def scheme(self) -> Recipe | None:
        """Return the chosen bins; None for the default binning of each model."""
        return self.selection.scheme

    @property
    def large(self) -> bool:
        """Return True if every estimator in every notion would take minutes."""
        return self.scene.large

    def knows_classes(self, model: Model) -> bool:
        """Return True if the model's predictions name the class they are about."""
        return self.scene.get(model.predictions).kind != "confidence"
