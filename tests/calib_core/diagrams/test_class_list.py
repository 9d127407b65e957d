"""Classes of several models in one table: its content, its order, and its refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calib_core import CALIBRATORS, NotAnswerable, Predictions, estimate
from calib_core.diagrams import class_list, class_panels, class_table, class_validity, ranked_classes, validity_pair
from calib_core.diagrams.class_list import PAGE, SORTS
from calib_core.inference import per_class_tests, standing_out


def sample(k: int = 30, n: int = 400, seed: int = 0) -> Predictions:
    """Return rows over many classes, some of which are never predicted."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.1), n)
    labels = (rng.random(n)[:, None] > p.cumsum(1)[:, :-1]).sum(1)
    return Predictions(p, labels, class_names=[f"Class {j}" for j in range(k)])


@pytest.mark.parametrize("notion", ["top-label", "class-wise"])
@pytest.mark.parametrize("sort", SORTS)
def test_every_model_has_the_errors_and_tests_of_its_own(notion: str, sort: str) -> None:
    models = {"a, b": sample(), "c": sample(seed=1)}
    frame = class_list(models, notion, 5, sort)
    tested = per_class_tests(models["a, b"], notion, 5)
    order = list(ranked_classes(class_table(models["a, b"], notion, 5), sort, tests=tested))
    names = np.asarray(models["c"].class_names, dtype=object)
    assert frame["class"].tolist() == names[order].tolist()
    for name, p in models.items():
        error = estimate(p, notion, "ece", bins=5).per_stratum
        np.testing.assert_array_equal(frame[f"error, {name}"], error[order])
        tests = per_class_tests(p, notion, 5)
        for column in ("calibrated", "p", "p_holm"):
            np.testing.assert_array_equal(frame[f"{column}, {name}"], tests[column].to_numpy()[order])
    first = class_table(models["a, b"], notion, 5).frame()
    for column in ("rows", "share", "true_share", "mean_score", "mean_outcome", "gap"):
        np.testing.assert_array_equal(frame[column], first[column].to_numpy()[order])
    assert set(frame["note"]) == {""}


def test_classes_are_ranked_by_what_is_chosen_and_those_without_claims_come_last() -> None:
    table = class_table(sample(n=60))
    empty = np.flatnonzero(table.count == 0).tolist()
    assert empty
    values = {"error": -table.error, "share": -table.share, "rows": table.count}
    for sort, value in values.items():
        order = list(ranked_classes(table, sort))
        assert sorted(order) == list(range(30))
        assert (np.diff(value[order[: 30 - len(empty)]]) >= 0).all()
        assert order[30 - len(empty) :] == empty
    assert ranked_classes(table, "name") == tuple(range(30))
    with pytest.raises(ValueError, match="it must be one of beyond, error, share, rows, name"):
        ranked_classes(table, "size")


def thousand(temperature: float) -> Predictions:
    """Return 2,000 rows over 1,000 classes, overconfident if the temperature is below 1."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2000, 1000))
    logits[np.arange(2000), rng.integers(0, 1000, 2000)] += rng.gamma(3, 3.2, 2000)
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    labels = (rng.random(2000)[:, None] > p.cumsum(1)[:, :-1]).sum(1)
    said = p ** (1 / temperature)
    return Predictions((said / said.sum(1, keepdims=True)).astype(np.float32), labels)


@pytest.mark.parametrize("temperature", [0.6, 1.0])
def test_the_worst_of_a_thousand_classes_are_not_those_of_a_single_row(temperature: float) -> None:
    p = thousand(temperature)
    table, tests = class_table(p), per_class_tests(p, "top-label")
    assert (table.count == 1).sum() > 100
    # As it was: the largest errors are those of single rows.
    assert (table.count[list(ranked_classes(table, "error", page=1))] == 1).sum() > 6
    for tested in (tests, None):
        first = list(ranked_classes(table, page=1, tests=tested))
        assert (table.count[first] > 1).all()
    outstanding = standing_out(tests)
    assert ranked_classes(table, tests=tests)[: len(outstanding)] == outstanding
    assert bool(outstanding) == (temperature < 1)


def test_worst_first_is_what_a_class_adds_beyond_noise() -> None:
    """Classes of 60 rows with a gap of 12 points, of 12 rows with a gap due to noise, and of 2 rows far off."""
    predicted = [0] * 60 + [1] * 12 + [2] * 2
    right = [1] * 30 + [0] * 30 + [1, 0] * 6 + [0] * 2
    said = [0.62] * 60 + [0.5] * 12 + [0.7] * 2
    labels = [p if r else 3 for p, r in zip(predicted, right, strict=True)]
    p = Predictions.from_confidence(said, predicted=predicted, labels=labels, class_names=list("abcd"))
    table, tests = class_table(p), per_class_tests(p, "top-label")
    assert standing_out(tests) == ()
    assert ranked_classes(table, tests=tests) == (0, 1, 2, 3)
    assert ranked_classes(table, "error") == (2, 0, 1, 3)
    row = tests.iloc[0]
    assert row["beyond"] == pytest.approx((row["error"] - row["calibrated"]) * 60 / 74)
    # A significant class comes first, even with few rows.
    sure = tests.assign(p_holm=[1.0, 1.0, 0.01, np.nan])
    assert ranked_classes(table, tests=sure) == (2, 0, 1, 3)


def test_tests_that_are_there_already_are_used() -> None:
    models = {"a": sample(), "b": sample(seed=1)}
    tests = {name: per_class_tests(p, "top-label") for name, p in models.items()}
    pd.testing.assert_frame_equal(class_list(models, tests=tests), class_list(models))
    only = class_list(models, tests={"a": tests["a"]})
    assert only["p, b"].isna().all()
    assert only["p, a"].notna().any()


def test_a_page_is_a_dozen_of_those_found_and_the_last_page_stands_for_all_after_it() -> None:
    table = class_table(sample())
    every = ranked_classes(table, "error")
    pages = [ranked_classes(table, "error", page=page) for page in (1, 2, 3)]
    assert [len(page) for page in pages] == [PAGE, PAGE, 30 - 2 * PAGE]
    assert sum(pages, ()) == every
    assert ranked_classes(table, "error", page=99) == pages[-1]
    found = ranked_classes(table, "name", " CLASS 2 ".lower())
    assert found == (2, *range(20, 30))
    assert len(class_list({"net": sample()}, search="class 2", page=1, tests=False)) == 11
    with pytest.raises(NotAnswerable, match=r"^no class has 'owl' in its name; change the search$"):
        class_list({"net": sample()}, search="owl")


def test_a_search_changes_no_correction() -> None:
    p = sample()
    whole = class_list({"net": p}).set_index("class")
    part = class_list({"net": p}, search="class 2").set_index("class")
    np.testing.assert_array_equal(part["p_holm, net"], whole["p_holm, net"].loc[part.index])


def test_a_model_without_tests_says_why_in_every_line_and_takes_nothing_down() -> None:
    p = sample()
    weighted = Predictions(p.probs, p.true_labels, class_names=p.class_names, weights=np.tile([0.5, 1.25], 200))
    frame = class_list({"plain": p, "weighted": weighted})
    (note,) = set(frame["note"])
    assert note.startswith("weighted: per-class tests count rows")
    assert frame[["calibrated, weighted", "p, weighted", "p_holm, weighted"]].isna().all(axis=None)
    assert frame["p_holm, plain"].notna().any()
    assert frame["error, weighted"].notna().any()


def test_models_about_other_classes_share_no_line() -> None:
    with pytest.raises(NotAnswerable, match=r"^b is about other classes than a"):
        class_list({"a": sample(), "b": sample(k=5)})


def test_progress_is_told_and_may_stop_the_work() -> None:
    seen: list[int] = []
    class_list({"a": sample(), "b": sample()}, progress=seen.append)
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (1, 100)

    def stop(percent: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        per_class_tests(sample(), progress=stop)


@pytest.mark.parametrize("notion", ["top-label", "class-wise"])
def test_small_validity_plots_are_those_of_each_class(notion: str) -> None:
    before = sample(k=5)
    after = CALIBRATORS.make("class-wise-hb").fit_on(before).apply(before)
    if notion == "top-label":
        after = CALIBRATORS.make("top-label-hb").fit_on(before).apply(before)
    small = class_validity(after, [3, 0], notion, None, before)
    panels = class_panels(after, [3, 0], notion)
    np.testing.assert_array_equal(small.error, panels.error)
    np.testing.assert_array_equal(small.share, panels.share)
    frame = small.frame()
    for c in (3, 0):
        pair = validity_pair(before, after, notion, None, c)
        for plot, wanted in (("before", pair.before), ("model", pair.after)):
            mine = frame[(frame["class"] == f"Class {c}") & (frame["plot"] == plot)]
            np.testing.assert_array_equal(mine["eps"], wanted.eps)
            np.testing.assert_array_equal(mine["share"], wanted.share)
