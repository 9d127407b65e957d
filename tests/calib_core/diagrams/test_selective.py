"""Selective prediction: every point against counting, and the figure against the frame."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib_core import Predictions, figures
from calib_core.diagrams import selective
from calib_core.diagrams.selective import MOST_POINTS
from calib_core.inference import share_ends


@given(st.lists(st.tuples(st.integers(0, 8), st.booleans(), st.integers(1, 3)), min_size=1, max_size=30))
def test_every_point_is_its_rows(rows: list[tuple[int, bool, int]]) -> None:
    h, right, weight = (np.array(part) for part in zip(*rows, strict=True))
    frame = selective(Predictions.from_confidence(h / 8, right, weights=weight)).frame()
    assert frame["threshold"].tolist() == sorted({x / 8 for x in h}, reverse=True)
    for line in frame.to_dict("records"):
        mine = h / 8 >= line["threshold"]
        n, wrong = weight[mine].sum(), weight[mine & ~right].sum()
        assert line["coverage"] == pytest.approx(n / weight.sum())
        assert (line["rows"], line["risk"]) == (n, pytest.approx(wrong / n))
        low, high = share_ends(np.array([wrong / n]), np.array([float(n)]), counted=True)
        assert (line["low"], line["high"]) == pytest.approx((low[0], high[0]))


def test_many_confidences_are_thinned_and_points_stay_points() -> None:
    rng = np.random.default_rng(0)
    h = rng.random(5000)
    right = rng.random(5000) < h
    found = selective(Predictions.from_confidence(h, right))
    assert 0.9 * MOST_POINTS < len(found.risk) <= MOST_POINTS
    assert found.coverage[-1] == 1.0
    assert np.diff(found.coverage).max() < 2 / MOST_POINTS
    for t, risk in zip(found.threshold[::50], found.risk[::50], strict=True):
        assert risk == pytest.approx(1 - right[h >= t].mean())


def test_the_headline_is_of_the_surest_rows() -> None:
    found = selective(Predictions.from_confidence([0.9] * 60 + [0.5] * 40, [True] * 54 + [False] * 46))
    assert found.headline(0.5) == (
        "error rate 10 % among the most confident 60 % of rows (4 to 19 %, 90 % interval), 46 % over all rows"
    )
    assert found.headline(0.61).startswith("error rate 46 % over all rows (")


def test_the_figure_draws_the_frame() -> None:
    p = Predictions.from_confidence([0.9, 0.9, 0.6, 0.5], [True, True, True, False])
    figure = figures.selective({"a": selective(p)}, coverage=0.5, looks={"a": 2})
    frame = selective(p).frame()
    (line,) = [trace for trace in figure.data if trace.name == "a"]
    np.testing.assert_array_equal(line.x, frame["coverage"])
    np.testing.assert_array_equal(line.y, frame["risk"])
    assert figure.layout.shapes[0].x0 == 0.5
