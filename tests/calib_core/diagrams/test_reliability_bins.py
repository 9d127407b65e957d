"""Reliability diagrams of a base model in the bins of a recalibrated one (P1 App. F, Fig. 4 and 9), by a slow twin."""

import numpy as np
import pytest
from null_rates import gumbel_labels, spread_rows

from calib_core import CALIBRATORS, NotAnswerable, Predictions
from calib_core.diagrams import class_panels, reliability, validity_pair


def sample(n, seed, **more):
    rng = np.random.default_rng(seed)
    p = spread_rows(n, 3, rng, 1.5)
    sharp = p**1.6
    return Predictions(sharp / sharp.sum(1, keepdims=True), gumbel_labels(p, rng), **more)


WEIGHTS = [None, 1.0 + np.arange(300) % 4]


@pytest.mark.parametrize("weights", WEIGHTS)
def test_a_bin_holds_the_rows_that_share_a_recalibrated_value(weights):
    base = sample(300, 1, weights=weights)
    after = CALIBRATORS.make("top-label-hb", points_per_bin=40).fit_on(sample(400, 0)).apply(base)
    mass = np.ones(300) if weights is None else weights
    was, now = (reliability(p, grouped_by=after) for p in (base, after))
    values = np.unique(after.confidence)
    assert len(was.frame()) == len(now.frame()) == len(values)
    for b, value in enumerate(values):
        rows = np.flatnonzero(after.confidence == value)
        assert was.rows(base, b).tolist() == now.rows(after, b).tolist() == rows.tolist()
        w = mass[rows]
        for diagram, p in ((was, base), (now, after)):
            s, z = p.confidence[rows], p.correct[rows]
            delta = sum(abs(np.sum((w * (z - s))[p.predicted[rows] == c])) for c in range(3)) / w.sum()
            np.testing.assert_allclose(
                [diagram.count[b], diagram.share[b], diagram.confidence[b], diagram.accuracy[b], diagram.delta[b]],
                [w.sum(), w.sum() / mass.sum(), w @ s / w.sum(), w @ z / w.sum(), delta],
                atol=1e-12,
            )
        assert (was.lower[b], was.upper[b]) == (base.confidence[rows].min(), base.confidence[rows].max())


def test_panels_of_classes_are_in_the_bins_of_validity_plots():
    base = sample(300, 1)
    after = CALIBRATORS.make("top-label-hb", points_per_bin=40).fit_on(sample(400, 0)).apply(base)
    pair = validity_pair(base, after, "top-label", stratum=1)
    for p, plot in ((base, pair.before), (after, pair.after)):
        panels = class_panels(p, [1], grouped_by=after)
        frame = panels.frame()
        gaps = np.abs(frame["mean_outcome"] - frame["mean_score"])
        assert sorted(set(gaps.round(12))) == pytest.approx(sorted(set(plot.eps.round(12))))
        assert panels.error[0] == pytest.approx((gaps * frame["count"]).sum() / frame["count"].sum())


def test_other_bins_and_withheld_rows():
    base = sample(300, 1)
    after = CALIBRATORS.make("temperature").fit_on(sample(400, 0)).apply(base)
    found = reliability(base, 10, grouped_by=after)
    assert found.n_bins == 10
    np.testing.assert_allclose(found.count, np.histogram(after.confidence, np.arange(11) / 10)[0])
    silent = np.arange(300) < 50
    holding = Predictions(after.probs, after.labels, abstained=silent)
    quiet = reliability(base, 10, grouped_by=holding)
    assert quiet.count.sum() == 250
    assert not np.isin(np.flatnonzero(silent), np.concatenate([quiet.rows(base, b) for b in range(10)])).any()


def test_models_that_predict_other_classes_have_no_bins_in_common():
    base = sample(300, 1)
    other = Predictions(base.probs[:, ::-1], base.labels)
    for found in (lambda: reliability(base, grouped_by=other), lambda: class_panels(base, [0], grouped_by=other)):
        with pytest.raises(NotAnswerable, match="recalibration changed predicted classes"):
            found()


def test_bins_are_shared_over_the_same_rows_only():
    base = sample(300, 1)
    with pytest.raises(NotAnswerable, match="of 300 and of 5 rows, but only models on the same rows"):
        reliability(base, grouped_by=base.take(np.arange(5)))


def test_ten_rows_and_confidences_alone():
    p = Predictions.from_confidence(np.r_[np.ones(5), np.full(5, 0.5)], np.arange(10) % 2 == 0)
    better = Predictions.from_confidence(np.full(10, 0.5), np.arange(10) % 2 == 0).as_discrete()
    found = reliability(p, grouped_by=better)
    assert found.frame()[["count", "confidence", "accuracy"]].values.tolist() == [[10.0, 0.75, 0.5]]
    assert np.isnan(found.delta).all()
