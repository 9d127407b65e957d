"""Pytest plug-in with the marker and the fixture `calibration`; it loads the library only when one is used.

    @pytest.mark.calibration(max_ece=0.05, notion="confidence")
    def test_the_model_is_calibrated(calibration):
        calibration(y_true, y_prob)

The test fails unless the error is shown to be below the limit. Inconclusive results and too few rows fail, too, as in
`calib gate`. What can mislead: with few rows, the test fails for a good model, and reports the number of rows needed.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # heavy: imported only when a test uses it
    from calib_core.inference.gate_checks import GateCheck, OpenWarning
    from calib_core.predictions.predictions import Predictions
    from calib_core.readers.table_findings import Finding

MARKER = "calibration"
_GIVEN = ("notion", "estimator", "level", "bins", "overlap")
"""Options that the check has by the same name."""
_OPTIONS = ("max_ece", *_GIVEN, "baseline", "max_increase", "max_ratio", "accept", "read")


@dataclass
class CalibrationCheck:
    """Type of the fixture ``calibration``: a call with predictions fails the test unless they pass."""

    node: pytest.Item
    options: dict[str, Any]
    checks: list[GateCheck] = field(default_factory=list)

    def __call__(self, y_true: Any, y_prob: Any = None, **options: Any) -> GateCheck:
        """Check predictions and return the result; fail the test, with a message, unless they pass.

        ``y_true`` are labels 0 to K - 1; ``y_prob`` are probabilities (n, K), or for two classes (n,) for class 1.
        Without ``y_prob``, ``y_true`` is a ``Predictions`` object, or the path of a file. ``options`` override those of
        the marker: max_ece, max_ratio, notion, estimator, level, bins, baseline (the JSON of a gate), max_increase,
        overlap, accept, read. ``accept`` has codes of warnings that do not fail the test, such as "constant". ``read``
        has fields of Reading, such as {"split": "part"}.

        What can mislead: the warnings about a file fail the test only if its path is given. Predictions that were read
        before have only doubts about their rows.
        """
        __tracebackhide__ = True
        whole = self.options | _known(options)
        if isinstance(y_true, (str, os.PathLike)) and y_prob is None:
            check = _check(*_read(y_true, whole.get("read") or {}), whole)
        else:
            check = _check(_predictions(y_true, y_prob), (), whole)
        self.checks.append(check)
        self.node.user_properties.append((MARKER, check.headline))
        if not check.passed:
            warned = "".join(f"Open warning ({each.code}): {each.message}\n" for each in check.open)
            pytest.fail(f"{check.headline}\n{warned}{check.sentence}\n{check.about}")
        return check


def _read(path: str | os.PathLike[str], changes: dict[str, Any]) -> tuple[Predictions, tuple[Finding, ...]]:
    from calib_core._base.errors import InputError
    from calib_core.readers.from_file import read_blocked

    __tracebackhide__ = True
    try:
        return read_blocked(path, changes)
    except InputError as why:
        pytest.fail(f"calibration could not be checked: {why}")


def _check(rows: Predictions, found: Sequence[Finding], options: dict[str, Any]) -> GateCheck:
    from calib_core._base.errors import InputError
    from calib_core.inference.gate_checks import OpenWarning, gate_check
    from calib_core.registry.registry import RegistryError

    __tracebackhide__ = True
    given = {name: options[name] for name in _GIVEN if options.get(name) is not None}
    try:
        before = None if options.get("baseline") is None else _baseline(options["baseline"])
        allowed = {} if options.get("max_increase") is None else {"allowed": options["max_increase"]}
        ratio: dict[str, Any] = {} if options.get("max_ratio") is None else {"ratio": float(options["max_ratio"])}
        codes = options.get("accept", ())
        accept = (codes,) if isinstance(codes, str) else tuple(codes)
        accept += tuple((options.get("read") or {}).get("accepted", ()))
        limit = options.get("max_ece")
        warned = [OpenWarning(each.code, each.message, each.rule.remedy) for each in found]
        warned += () if limit is None else _of_groups(rows, limit, options.get("level"))
        return gate_check(rows, limit, before=before, accept=accept, warnings=warned, **allowed, **ratio, **given)
    except (InputError, RegistryError) as why:
        pytest.fail(f"calibration could not be checked: {why}")


def _of_groups(rows: Predictions, limit: float, level: float | None) -> tuple[OpenWarning, ...]:
    """Return the warning about groups of rows, by the columns next to the predictions."""
    from calib_core.defaults import LEVEL
    from calib_core.slices.findings import MOST_TESTED, findings, group_warnings

    if rows.metadata is None or rows.metadata.size > MOST_TESTED:
        return ()
    return group_warnings(findings(rows, level=level or LEVEL), limit)


def _baseline(path: Any) -> Any:
    from calib_core.inference.gate_baselines import baseline_for, read_baselines, signing_key
    from calib_core.readers.formats.detection import file_bytes

    return baseline_for(str(path), read_baselines(file_bytes(path), str(path), signing_key()))


def _predictions(y_true: Any, y_prob: Any) -> Predictions:
    """Convert the arguments to validated predictions."""
    import numpy as np

    from calib_core.predictions.predictions import Predictions

    __tracebackhide__ = True
    if y_prob is None:
        if not isinstance(y_true, Predictions):
            pytest.fail("calibration(...) needs y_true and y_prob, or only predictions of this library")
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
        pytest.fail(f"calibration has no option {unknown[0]!r}; its options are {', '.join(_OPTIONS)}")
    return options


def _marked(item: pytest.Item) -> dict[str, Any]:
    """Return the options of the markers; those of a test override those of its class."""
    found: dict[str, Any] = {}
    for mark in reversed(list(item.iter_markers(MARKER))):
        if mark.args:
            pytest.fail(f"the marker {MARKER} needs named options, such as max_ece=0.05")
        found |= _known(dict(mark.kwargs))
    return found


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    text = "options of the fixture with this name"
    config.addinivalue_line("markers", f"{MARKER}(max_ece, notion, estimator, ...): {text}")


@pytest.fixture
def calibration(request: pytest.FixtureRequest) -> CalibrationCheck:
    """Call it with labels and probabilities: the test fails unless calibration within max_ece is shown."""
    return CalibrationCheck(request.node, _marked(request.node))


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Fail a marked test that checks nothing, because it could never fail."""
    answer = yield
    mark = pyfuncitem.get_closest_marker(MARKER)
    # Another plug-in's marker with this name has other options.
    if mark is None or not set(mark.kwargs) & {"max_ece", "baseline"}:
        return answer
    check = pyfuncitem.funcargs.get(MARKER)
    if check is None or (isinstance(check, CalibrationCheck) and not check.checks):
        pytest.fail("this test is marked calibration but checked nothing; call the fixture calibration in it")
    return answer
