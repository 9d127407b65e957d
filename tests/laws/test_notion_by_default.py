"""Without a given notion, every public function is about the event of two classes."""

import inspect
import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calib_core as cc

EXCEPTIONS = {
    "evaluate.reductions": "a table of several notions, each named in its lines; the event first",
    "diagrams.slice_dots.notion": "says what a table that is given is about",
    "lab.repeated.reductions": "lines of several notions, each named",
    "lab.true_error.reduction": "None is the whole prediction, of truths of any number of classes",
    "lab.truth_curve.reduction": "None is the truth's own notion",
    "inference.per_class_tests.notion": "a table of classes",
    "summaries.tally.notion": "counts of one notion, which what reads them has to name",
} | {
    f"diagrams.{name}.reduction": "one line or panel a class"
    for name in (
        "class_curves",
        "class_gaps",
        "class_list",
        "class_panels",
        "class_table",
        "class_validity",
        "kernel_curves",
        "trade_off",
        "trade_points",
        "validity_against",
        "validity_of",
        "validity_pair",
    )
}


def _rows(seed: int) -> cc.Predictions:
    rng = np.random.default_rng(seed)
    true = np.random.default_rng(9).beta(1, 4, 400)
    died = np.random.default_rng(8).random(400) < true
    risk = np.clip(true * rng.uniform(0.8, 1.6, 400) * np.repeat([1.0, 2.5], 200), 0.001, 0.999).round(2)
    site = pd.DataFrame({"site": np.repeat(["a", "b"], 200), "week": np.arange(400) // 80})
    return cc.Predictions(np.column_stack([1 - risk, risk]), died.astype(int), metadata=site)


ONE, OTHER = _rows(0), _rows(1)
MODELS = {"one": ONE, "other": OTHER}
OTHER_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "compare": (MODELS,),
    "ece": ([int(label) for label in ONE.true_labels], ONE.probs),
    "mce": ([int(label) for label in ONE.true_labels], ONE.probs),
    "diagrams.bins_standing_out": (MODELS,),
    "diagrams.bin_rows": (ONE, cc.diagrams.reliability(ONE, 5), 0),
    "diagrams.models_in_range": (MODELS, 0.1, 0.4),
    "diagrams.movement": (ONE, OTHER),
    "monitoring.over_time": (ONE, "week"),
    "monitoring.update_after_alarm": (ONE, "week"),
    "inference.gate_check": (ONE, 0.05),
    "inference.not_worse": (ONE, OTHER),
    "inference.paired_difference": (ONE, OTHER),
    "inference.primaries": (MODELS,),
    "inference.unbinned_tests": (MODELS,),
    "slices.panels": (ONE, ["site=a"]),
    "slices.table": (ONE, "site"),
}
"""Arguments of functions that take more than the predictions."""
MORE: dict[str, dict[str, Any]] = {
    "diagrams.error_sweep": {"bins": [5, 10], "floor": False},
    "inference.unbinned_bound": {"assumption": "lipschitz", "constant": 1.0},
}


def _public() -> Iterator[tuple[str, Callable[..., Any], str]]:
    """Yield every public function by name, and the option that names a notion."""
    seen = set()
    rooms = ["calib_core", *(f"calib_core.{found.name}" for found in pkgutil.iter_modules(cc.__path__))]
    for room in rooms:
        module = import_module(room)
        for name in getattr(module, "__all__", ()):
            found = getattr(module, name)
            if not inspect.isfunction(found) or found in seen:
                continue
            seen.add(found)
            for option, given in inspect.signature(found).parameters.items():
                if option.removesuffix("s") in ("notion", "reduction") and given.default is not given.empty:
                    yield f"{room}.{name}".removeprefix("calib_core."), found, option


PUBLIC = {f"{name}.{option}": (name, found, option) for name, found, option in _public()}


def test_exceptions_are_public_options():
    assert EXCEPTIONS.keys() <= PUBLIC.keys()
    assert len(PUBLIC) > len(EXCEPTIONS) + 20


def _shown(answer: Any) -> str:
    """Return a result with all its numbers, from its table or fields."""
    table = answer.frame() if hasattr(answer, "frame") else answer
    return table.to_csv() if isinstance(table, pd.DataFrame) else f"{getattr(table, 'value', '')} {table}"


@pytest.mark.parametrize("key", sorted(PUBLIC.keys() - EXCEPTIONS.keys()))
def test_no_notion_is_the_event_of_two_classes(key: str) -> None:
    name, function, option = PUBLIC[key]
    given, more = OTHER_ARGUMENTS.get(name, (ONE,)), MORE.get(name, {})
    several = option.endswith("s")
    by_default = _shown(function(*given, **more))
    for notion in ("event", "confidence"):
        named = _shown(function(*given, **more, **{option: [notion] if several else notion}))
        assert (named == by_default) == (notion == "event")


ABSTAINED = np.abs(ONE.probs[:, 1] - 0.5) < 0.1


def test_rows_without_an_answer_leave_the_event_the_default() -> None:
    """A row on which the model abstains is left out of every number; the notion stays the same."""
    silent = ONE.with_probs(ONE.probs, abstained=ABSTAINED)
    rest = ONE.take(np.flatnonzero(~ABSTAINED))
    assert 0 < ABSTAINED.sum() < ONE.n_rows
    assert cc.inference.primary(silent).notion == "event"
    risk, died = rest.probs[:, 1], rest.true_labels == 1
    by_bin = pd.DataFrame({"bin": np.minimum((risk * 15).astype(int), 14), "gap": died - risk}).groupby("bin")["gap"]
    assert cc.estimate(silent).value == pytest.approx(by_bin.sum().abs().sum() / len(risk))
    assert cc.estimate(silent, None, "brier").value == pytest.approx(2 * np.square(risk - died).mean())
    for key in ("log-loss", "brier", "accuracy"):
        one, other = (cc.estimate(rows, None, key) for rows in (silent, rest))
        assert one.value == other.value
        assert (one.interval().low, one.interval().high) == (other.interval().low, other.interval().high)
    assert _shown(cc.inference.unbinned_tests({"one": silent})) == _shown(cc.inference.unbinned_tests({"one": rest}))
    both = (cc.inference.paired_difference(*pair, None, "brier") for pair in _pairs(silent, rest))
    assert len({(found.point, found.low, found.high) for found in both}) == 1


def _pairs(silent: cc.Predictions, rest: cc.Predictions) -> Iterator[tuple[cc.Predictions, cc.Predictions]]:
    yield silent, OTHER.with_probs(OTHER.probs, abstained=ABSTAINED)
    yield rest, OTHER.take(np.flatnonzero(~ABSTAINED))


def test_a_table_of_calibrators_begins_with_the_event() -> None:
    """Its Brier score, too, is that of the event, as everywhere; recomputed."""
    fit, test = ONE.split(0.5, random_state=0)
    table = cc.evaluate(fit, test, ["identity"], estimators=["ece"])
    assert [*table["reduction"].fillna("")] == ["", "", "event", "event", "confidence", "top-label", "class-wise"]
    risk, died = test.probs[:, 1], test.true_labels == 1
    by_key = table.set_index(["reduction", "estimator"])["value"]
    assert by_key["event", "brier"] == pytest.approx(np.square(risk - died).mean())
    assert by_key["event", "ece"] == cc.estimate(test).value
    three = cc.Predictions(np.eye(3)[[0, 1, 2] * 20] * 0.7 + 0.1, [0, 1, 1] * 20)
    lines = cc.evaluate(*three.split(0.5, random_state=0), ["identity"], estimators=["ece"])
    assert [*lines["reduction"].fillna("")] == ["", "", "", "confidence", "top-label", "class-wise"]
    assert cc.diagrams.error_sweep(three, bins=[5], floor=False).notions == ("confidence", "top-label")


def test_one_brier_score_of_two_classes_has_one_name() -> None:
    """For rows and summary, the event's score is "Brier score", and the sum over both classes has its own name."""
    risk, died = ONE.probs[:, 1], ONE.true_labels == 1
    event = np.square(risk - died).mean()
    whole = np.square(ONE.probs - np.column_stack([~died, died])).sum(axis=1).mean()
    titles = set()
    for rows in (ONE, cc.Summary.of(ONE)):
        of_event, of_both = (cc.estimate(rows, notion, "brier") for notion in ("event", None))
        assert (of_event.value, of_both.value) == pytest.approx((event, whole))
        half, ends = of_event.interval(), of_both.interval()
        assert (half.low, half.high) == pytest.approx((ends.low / 2, ends.high / 2))
        titles.add((of_event.title, of_both.title))
        assert cc.inference.estimate_line(of_both).title == of_both.title
    assert titles == {("Brier score", "Brier score, summed over classes")}


def test_none_is_the_whole_prediction_in_four_functions_and_the_default_in_all_others() -> None:
    whole = {"compare.reduction", "estimate.reduction", "inference.not_worse.reduction"}
    whole |= {"inference.paired_difference.reduction"}
    none = {
        key
        for key, (_, function, option) in PUBLIC.items()
        if key not in EXCEPTIONS and inspect.signature(function).parameters[option].default is not None
    }
    assert none == whole
    pair = (ONE, OTHER)
    by_hand = [np.square(p.probs - np.eye(2)[p.true_labels]).sum(axis=1).mean() for p in pair]
    assert cc.estimate(ONE, None, "brier").value == pytest.approx(by_hand[0])
    found = cc.inference.paired_difference(*pair, None, "brier")
    assert (found.first, found.second) == pytest.approx(tuple(by_hand))
    assert cc.inference.not_worse(*pair, None, "brier").difference.value == found.value
    assert cc.compare(MODELS, None, "brier")["first_value"].item() == found.first
    half = cc.inference.paired_difference(*pair, estimator="brier")
    assert (half.first, half.second) == pytest.approx((by_hand[0] / 2, by_hand[1] / 2))
