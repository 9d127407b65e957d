"""What predictions known by counts answer as rows do, and how they say what needs rows."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from calib_core._base.errors import NotAnAttribute, NotAnswerable
from calib_core.predictions.predictions import Grain, Predictions, event_among
from calib_core.summaries.counted_claims import NEEDS_ROWS


class CountedRows:
    """Rows of which counts are left: they weigh alike, stand alone, and none is declined."""

    kind: Any
    class_names: tuple[str, ...] | None
    outcome: str = ""
    n_rows: Any
    grain: ClassVar[Grain] = "counts"
    weights: ClassVar[None] = None
    row_groups: ClassVar[None] = None
    grouping: ClassVar[None] = None
    groups: ClassVar[None] = None
    abstained: ClassVar[None] = None
    metadata: ClassVar[None] = None
    logits: ClassVar[None] = None
    labels: ClassVar[None] = None
    discrete: ClassVar[bool] = False
    coverage: ClassVar[float] = 1.0
    worth_note: ClassVar[str] = ""

    @property
    def effective_rows(self) -> float:
        """How many rows there are: they weigh alike."""
        return float(self.n_rows)

    @property
    def n_classes(self) -> int | None:
        """Number of classes K, None where only (confidence, correct) is known."""
        return None if self.class_names is None else len(self.class_names)

    @property
    def event(self) -> int | None:
        """The class of two whose predicted risk is judged, by its name; None where there are not two."""
        return event_among(self.kind, self.class_names, None)

    @property
    def answered(self) -> Self:
        """The same: no row is declined."""
        return self

    def in_own_notion(self, notion: Any) -> Any:
        """The claims in this notion, where they are what was counted; None where the notion is to make them."""
        return None

    def written_out(self) -> Self:
        """The same: rows weigh alike."""
        return self

    def as_discrete(self, discrete: bool = True) -> Self:
        """The same; NotAnswerable where one bin a value is asked for."""
        if discrete:
            raise NotAnswerable(NEEDS_ROWS.format("one bin a value"))
        return self

    def __getattr__(self, name: str) -> Any:
        # Only what is not found comes here: what predictions have and counts cannot.
        if not name.startswith("_") and name in _OF_ROWS:
            raise NotAnAttribute(NEEDS_ROWS.format("this"))
        raise AttributeError(f"a {type(self).__name__} has no {name}")


_OF_ROWS = frozenset(dir(Predictions)) | frozenset(Predictions.__dataclass_fields__)
