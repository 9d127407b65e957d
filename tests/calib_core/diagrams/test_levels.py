"""Stated confidences without bins: against counting by hand, and guarantees of the tests and intervals."""

from math import comb

import numpy as np
import pytest
from generated import of_kind
from hypothesis import given
from hypothesis import strategies as st

from calib_core import NotAnswerable, Predictions, figures
from calib_core.diagrams import levels
from calib_core.diagrams.levels import MOST_LEVELS
from calib_core.inference import share_ends

STATED = np.array([0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.99])


def tails(k: int, n: int, h: float) -> float:
    """Return twice the smaller tail, outcome by outcome."""
    chance = [comb(n, j) * h**j * (1 - h) ** (n - j) for j in range(n + 1)]
    return min(1.0, 2 * min(sum(chance[: k + 1]), sum(chance[k:])))


@given(st.lists(st.tuples(st.integers(0, 10), st.booleans(), st.integers(1, 4)), min_size=1, max_size=40))
def test_every_level_is_its_rows(rows: list[tuple[int, bool, int]]) -> None:
    h, right, weight = (np.array(part) for part in zip(*rows, strict=True))
    frame = levels(Predictions.from_confidence(h / 10, right, weights=weight)).frame()
    assert frame["confidence"].tolist() == sorted({x / 10 for x in h})
    for line in frame.to_dict("records"):
        mine = [(z, w) for x, z, w in rows if x / 10 == line["confidence"]]
        n, k = sum(w for _, w in mine), sum(w for z, w in mine if z)
        assert (line["rows"], line["right"]) == (n, pytest.approx(k / n))
        assert line["share"] == pytest.approx(n / weight.sum())
        assert line["p"] == pytest.approx(tails(k, n, line["confidence"]), abs=1e-12)
        low, high = share_ends(np.array([k / n]), np.array([float(n)]), counted=True)
        assert (line["low"], line["high"]) == pytest.approx((low[0], high[0]))
        # The test and the interval of the same level agree.
        assert (line["p"] <= 0.1) == (not low[0] <= line["confidence"] <= high[0]) or line["p"] == pytest.approx(0.1)


def test_copies_are_rows_and_other_weights_are_worth_fewer() -> None:
    p = Predictions.from_confidence([0.5, 0.9, 0.9], [True, True, False], weights=[1, 2, 3])
    assert levels(p).frame().equals(levels(p.written_out()).frame())
    found = levels(Predictions.from_confidence([0.9] * 40, [True] * 10 + [False] * 30, weights=[1.5, 0.5] * 20))
    worth = 40**2 / (20 * (1.5**2 + 0.5**2))
    assert found.rows.tolist() == pytest.approx([worth])
    assert found.p.tolist() == pytest.approx([2 * np.exp(-2 * worth * (found.right[0] - 0.9) ** 2)])
    assert found.stands_out == ("overconfident",)


def drawn(rng: np.random.Generator, truth: np.ndarray, n: int = 400) -> tuple[Predictions, np.ndarray]:
    """Return rows that state the levels, right with the chances ``truth``; and those chances by level."""
    which = rng.choice(len(STATED), n, p=[0.02, 0.05, 0.08, 0.1, 0.2, 0.3, 0.2, 0.05])
    return Predictions.from_confidence(STATED[which], rng.random(n) < truth[which]), truth[np.unique(which)]


def test_a_calibrated_model_rarely_stands_out_and_intervals_hold() -> None:
    """The falsified twins are uncorrected p-values, and intervals of half the width."""
    rng, runs = np.random.default_rng(0), 500
    alarms, uncorrected, kept, halved, every = 0, 0, 0, 0, 0
    for _ in range(runs):
        p, truth = drawn(rng, STATED)
        found = levels(p)
        alarms += any(found.stands_out)
        uncorrected += bool((found.p <= 0.05).any())
        half = (found.high - found.low) / 4
        kept += ((found.low <= truth) & (truth <= found.high)).sum()
        halved += (np.abs(truth - (found.low + found.high) / 2) <= half).sum()
        every += len(truth)
    assert alarms / runs < 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs) < uncorrected / runs
    assert halved / every < 0.9 - 3 * np.sqrt(0.09 / every) < kept / every


def test_the_level_that_is_off_is_found_and_told() -> None:
    truth = STATED.copy()
    truth[5] = 0.6
    found = levels(drawn(np.random.default_rng(1), truth, 2000)[0])
    assert found.stands_out == ("",) * 5 + ("overconfident",) + ("",) * 2
    assert found.headline == "1 of 8 levels is significantly off: confidence 90 %, accuracy 64 %"


def test_every_kind_answers_and_many_values_are_refused() -> None:
    p = Predictions([[0.75, 0.25]] * 6 + [[0.5, 0.5]] * 4, [0, 1] * 5)
    for kind in ("full", "top-label", "confidence"):
        assert levels(of_kind(p, kind)).frame().equals(levels(p).frame())
    n = MOST_LEVELS + 1
    with pytest.raises(NotAnswerable, match=f"confidences take {n} values; with more than 50, few have enough rows"):
        levels(Predictions.from_confidence(np.linspace(0.5, 1, n), [True] * n))
    levels(Predictions.from_confidence(np.linspace(0.5, 1, n - 1), [True] * (n - 1)))
    with pytest.raises(NotAnswerable, match="the model abstains on every row"):
        levels(Predictions([[0.5, 0.5]], [0], abstained=[True]))


def test_the_figure_draws_the_frame() -> None:
    rng = np.random.default_rng(2)
    found = {title: levels(drawn(rng, STATED)[0]) for title in ("a", "b")}
    figure = figures.levels(found, looks={"b": 0, "a": 3})
    for trace, (title, diagram) in zip(figure.data[1:3], found.items(), strict=True):
        frame = diagram.frame()
        assert trace.name == title
        np.testing.assert_array_equal(trace.x, frame["confidence"])
        np.testing.assert_array_equal(trace.y, frame["right"])
        np.testing.assert_allclose(trace.y + trace.error_y.array, frame["high"])
        np.testing.assert_allclose(trace.y - trace.error_y.arrayminus, frame["low"])
        assert [shade == 1 for shade in trace.marker.opacity] == [side != "" for side in frame["stands_out"]]
        assert trace.text is None
    assert figures.levels(found["a"]).data[1].text == tuple(str(int(n)) for n in found["a"].rows)
