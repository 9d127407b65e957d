"""Options of fitted calibrators that fitting does not read: changed, the same fit answers."""

from __future__ import annotations

from copy import copy
from typing import Any

from calib_core._base.sklearn_api import check_is_fitted
from calib_core.calibrators.base import CALIBRATORS, Calibrator
from calib_core.registry.registry import RegistryError


def with_options(calibrator: Calibrator, **options: Any) -> Calibrator:
    """A fitted calibrator with other values of options that it reads when it is applied, without fitting again.

    Such options are declared with the mark ``registry.NO_REFIT``; RegistryError for any other parameter. The calibrator
    given stays as it is. What can mislead: compositions such as ``ts+KEY`` declare none, and are fitted again.

    >>> fitted = CALIBRATORS.make("temperature").fit([[0.9, 0.1]] * 20, [0] * 15 + [1] * 5)
    >>> with_options(fitted, tempo=2)
    Traceback (most recent call last):
    calib_core.registry.params.RegistryError: 'temperature' has no parameter 'tempo'; its parameters: none
    """
    check_is_fitted(calibrator)
    entry = CALIBRATORS[CALIBRATORS.recipe(calibrator).key]
    changed = copy(calibrator)
    for name, value in options.items():
        param = entry.param(name)
        if param.refits:
            raise RegistryError(f"{name} is read when {entry.key!r} is fitted: fit it again")
        param.check(value)
        setattr(changed, name, value)
    return changed
