"""Calibration in a test suite of pytest: the marker and the fixture `calibration`; loads nothing until one is used.

    @pytest.mark.calibration(max_ece=0.05, notion="confidence")
    def test_the_model_means_what_it_says(calibration):
        calibration(y_true, y_prob)

The test fails unless the error is shown to lie below the limit: too close to call and too few rows to tell fail too,
as in `calib gate`. What can mislead: a test on few rows fails for a good model, and says how many rows it would take.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # heavy: imported when a test asks
    from calib_core.inference.gates.gate_checks import GateCheck
    from calib_core.predictions.predictions import Predictions

MARKER = "calibration"
_OPTIONS = ("max_ece", "notion", "estimator", "level", "bins", "baseline", "max_increase", "max_ratio")


@dataclass
class CalibrationCheck:
    """What the fixture ``calibration`` is: called with predictions it fails the test unless they pass."""

    node: pytest.Item
    options: dict[str, Any]
    checks: list[GateCheck] = field(default_factory=list)

    def __call__(self, y_true: Any, y_prob: Any = None, **options: Any) -> GateCheck:
        """The check of these predictions, where they pass; the test fails with its sentence where they do not.

        ``y_true`` are labels 0 to K - 1, or a ``Predictions`` by itself; ``y_prob`` probabilities (n, K), of two
        classes also (n,), those of class 1. ``options`` are those of the marker and win over it: max_ece, max_ratio,
        notion, estimator, level, bins, baseline (the JSON of a gate), max_increase.
        """
        __tracebackhide__ = True
        whole = self.options | _known(options)
        rows = _predictions(y_true, y_prob)
        check = _check(rows, whole)
        self.checks.append(check)
        self.node.user_properties.append((MARKER, check.headline))
        if not check.passed:
            pytest.fail(f"{check.headline}\n{check.sentence}\n{check.about}")
        return check


def _check(rows: Predictions, options: dict[str, Any]) -> GateCheck:
    from calib_core._base.errors import InputError
    from calib_core.inference.gates.gate_checks import gate_check
    from calib_core.registry.registry import RegistryError

    __tracebackhide__ = True
    given = {name: options[name] for name in ("notion", "estimator", "level", "bins") if options.get(name) is not None}
    try:
        before = None if options.get("baseline") is None else _baseline(options["baseline"])
        allowed = {} if options.get("max_increase") is None else {"allowed": options["max_increase"]}
        ratio: dict[str, Any] = {} if options.get("max_ratio") is None else {"ratio": float(options["max_ratio"])}
        return gate_check(rows, options.get("max_ece"), before=before, **allowed, **ratio, **given)
    except (InputError, RegistryError) as why:
        pytest.fail(f"calibration could not be checked: {why}")


def _baseline(path: Any) -> Any:
    from calib_core.inference.gates.baselines import baseline_for, read_baselines
    from calib_core.readers.formats.detection import file_bytes

    return baseline_for(str(path), read_baselines(file_bytes(path), str(path)))


def _predictions(y_true: Any, y_prob: Any) -> Predictions:
    """The rows, checked where they enter."""
    import numpy as np

    from calib_core.predictions.predictions import Predictions

    __tracebackhide__ = True
    if y_prob is None:
        if not isinstance(y_true, Predictions):
            pytest.fail("calibration(...) takes y_true and y_prob, or predictions of this library by themselves")
        return y_true
    try:
        scores = np.asarray(y_prob, dtype=np.float64)
        return Predictions(np.column_stack([1 - scores, scores]) if scores.ndim == 1 else scores, y_true)
    except ValueError as why:  # an InputError among them
        pytest.fail(f"calibration could not be checked: {why}")


def _known(options: dict[str, Any]) -> dict[str, Any]:
    __tracebackhide__ = True
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        pytest.fail(f"calibration knows no option {unknown[0]!r}; it knows {', '.join(_OPTIONS)}")
    return options


def _marked(item: pytest.Item) -> dict[str, Any]:
    """The options of the markers, the nearest last: that of a test wins over its class's."""
    found: dict[str, Any] = {}
    for mark in reversed(list(item.iter_markers(MARKER))):
        if mark.args:
            pytest.fail(f"the marker {MARKER} takes options by name, such as max_ece=0.05")
        found |= _known(dict(mark.kwargs))
    return found


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    text = "the options with which the fixture of this name checks predictions"
    config.addinivalue_line("markers", f"{MARKER}(max_ece, notion, estimator, ...): {text}")


@pytest.fixture
def calibration(request: pytest.FixtureRequest) -> CalibrationCheck:
    """Call it with labels and probabilities: the test fails unless they are shown to be calibrated within max_ece."""
    return CalibrationCheck(request.node, _marked(request.node))


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """A test that is marked and checks nothing fails: it would be green for ever."""
    answer = yield
    mark = pyfuncitem.get_closest_marker(MARKER)
    # Somebody else's marker of this name has other options.
    if mark is None or not set(mark.kwargs) & {"max_ece", "baseline"}:
        return answer
    check = pyfuncitem.funcargs.get(MARKER)
    if check is None or (isinstance(check, CalibrationCheck) and not check.checks):
        pytest.fail("this test is marked calibration and checked nothing: call the fixture calibration in it")
    return answer
