"""Composition of two calibrators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from calib_core._base.parallel import Progress
from calib_core._base.sklearn_api import check_is_fitted, clone
from calib_core.calibrators.base import CALIBRATORS, Calibrator
from calib_core.calibrators.identity import Identity
from calib_core.calibrators.insides import Insides
from calib_core.calibrators.temperature import Temperature
from calib_core.predictions.predictions import Predictions
from calib_core.registry.registry import Prefix


@dataclass(eq=False, repr=False)
class Composed(Calibrator):
    """Calibrator that fits one calibrator, then another one on its output.

    References: P3 §2.5 (``TS+X``).

    >>> cal = Composed(Temperature(), Identity()).fit([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]], [0, 1, 0])
    >>> cal.predict_proba([[0.5, 0.5]]).tolist()
    [[0.5, 0.5]]
    """

    first: Calibrator = field(default_factory=Temperature)
    then: Calibrator = field(default_factory=Identity)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.first.columns, *self.then.columns)))

    def discrete(self, given: bool = False) -> bool:
        return self.then.discrete(self.first.discrete(given))

    def _fit(self, predictions: Predictions, progress: Progress) -> None:
        def at_work(_: int) -> None:
            progress(0)  # the first step's share of the work is unknown

        self.first_: Calibrator = clone(self.first).fit_on(predictions, at_work)
        self.then_: Calibrator = clone(self.then).fit_on(self.first_.apply(predictions, at_work), progress)

    @property
    def note(self) -> str:
        check_is_fitted(self)
        return " ".join(part.note for part in (self.first_, self.then_) if part.note)

    def remarks(self, most: int | None = None) -> tuple[str, ...]:
        check_is_fitted(self)
        return *self.first_.remarks(most), *self.then_.remarks(most)

    def insides(self, names: Sequence[str] = ()) -> Insides:
        check_is_fitted(self)
        first, then = self.first_.insides(names), self.then_.insides(names)
        return Insides(
            "; ".join(filter(None, (first.short, then.short))),
            " Then: ".join(filter(None, (first.sentence, then.sentence))),
            lambda: [*first.numbers(), *then.numbers()],
            (*first.grids, *then.grids),
        )

    def _apply(self, predictions: Predictions, progress: Progress) -> Predictions:
        return self.then_.apply(self.first_.apply(predictions, lambda _: progress(0)), progress)


def _after_default_temperature(calibrator: object) -> Calibrator | None:
    if not isinstance(calibrator, Composed):
        return None
    plain = type(calibrator.first) is Temperature and calibrator.first.get_params() == {}
    return calibrator.then if plain else None


CALIBRATORS.compose(
    Prefix(
        "ts+",
        "Temperature scaling",
        lambda calibrator: Composed(Temperature(), calibrator),
        _after_default_temperature,
        "P3 §2.5",
    )
)
