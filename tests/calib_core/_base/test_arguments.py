"""Numbers that callers choose have an effect, or are refused by name: a law over the functions that take them."""

import inspect

import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core import InputError, NotAnswerable, Predictions

H, RIGHT = [0.9, 0.7] * 100, [True, False, True, True] * 50
P = Predictions.from_confidence(H, RIGHT, metadata=pd.DataFrame({"site": ["a"] * 90 + ["b"] * 110}))
FULL = Predictions(np.column_stack([H, 1 - np.array(H)]), [0 if right else 1 for right in RIGHT])
ASKED = {
    cc.findings: lambda **given: cc.findings(P, **given),
    cc.slices.cut: lambda **given: cc.slices.cut(P, "site", **given),
    cc.slices.table: lambda **given: cc.slices.table(P, "site", **given),
    cc.slices.by_column: lambda **given: cc.slices.by_column(P, **given),
    cc.slices.scan: lambda **given: cc.slices.scan(P, **given),
    cc.diagrams.class_bias: lambda **given: cc.diagrams.class_bias(FULL, **given),
    cc.diagrams.levels: lambda **given: cc.diagrams.levels(P, **given),
    cc.diagrams.selective: lambda **given: cc.diagrams.selective(P, **given),
    cc.diagrams.slice_dots: lambda **given: cc.diagrams.slice_dots(cc.slices.table(P, "site"), **given),
    cc.inference.skills: lambda **given: cc.inference.skills({"a": P}, **given),
    cc.inference.skill_differences: lambda **given: cc.inference.skill_differences({"a": P, "b": P}, **given),
}
SHARES = {"level", "confirm"}
COUNTS = {"fewest", "min_rows", "parts", "most"}
NO_SHARE = [-1, 0, 1, 1.5, float("nan"), "high", None, True]
NO_COUNT = [-1, 0, 1.5, float("nan"), "many", None, True]
CASES = [
    (function, name, value)
    for function in ASKED
    for name in sorted(set(inspect.signature(function).parameters) & (SHARES | COUNTS))
    for value in (NO_SHARE if name in SHARES else NO_COUNT)
]


@pytest.mark.parametrize(("function", "name", "value"), CASES)
def test_what_says_nothing_is_refused_by_name(function, name, value):
    with pytest.raises(InputError, match=f"^{name} is {value!r}") as refusal:
        ASKED[function](**{name: value})
    assert not isinstance(refusal.value, NotAnswerable)


def test_the_law_looks_at_each_kind_and_all_defaults_are_answered():
    assert {name for _, name, _ in CASES} == SHARES | COUNTS
    for ask in ASKED.values():
        ask()


@pytest.mark.parametrize("value", [0, -0.5, 1.1, float("nan"), "half"])
def test_a_coverage_lies_above_0_up_to_1(value):
    with pytest.raises(InputError, match="coverage is "):
        cc.inference.skills({"a": P}, value)
    assert len(cc.inference.skills({"a": P}, 1))


def test_numbers_of_numpy_are_numbers():
    assert cc.slices.cut(P, "site", parts=np.int64(3))
    assert len(cc.findings(P, level=np.float32(0.9)))
