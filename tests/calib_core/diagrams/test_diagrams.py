"""Diagrams as data: each number against a loop that follows its definition."""

from functools import partial

import numpy as np
import pytest
from generated import full_predictions, of_kind
from hypothesis import given
from hypothesis import strategies as st

from calib_core import CALIBRATORS, REDUCTIONS, InputError, NotAnswerable, Predictions, diagrams, estimate
from calib_core.binning import EqualWidth, tabulate
from calib_core.diagrams import class_panels, class_table, class_validity, reliability, validity, zoom
from calib_core.estimators import Binned
from calib_core.reductions import Confidence, TopLabel

bin_choices = st.sampled_from([1, 4, 10, "equal-mass", "distinct", "points-per-bin"])


def weights_of(p):
    return np.ones(p.n_rows) if p.weights is None else p.weights


def rows_in(p, diagram, b):
    """Return positions of the rows of bin b, by comparison with its two edges in the scores' own dtype."""
    h = p.confidence
    low, high = h.dtype.type(diagram.lower[b]), h.dtype.type(diagram.upper[b])
    above = h >= low if b else np.ones(len(h), bool)
    return np.flatnonzero(above & ((h < high) | (b == diagram.n_bins - 1)))


@given(p=full_predictions(), bins=bin_choices)
def test_reliability_stars_bars_and_plusses_are_their_definitions(p, bins):
    """P1 Fig. 1a: Delta_b = sum_l share(l|b) |acc_bl - conf_bl|, on the star's side of the diagonal."""
    d, w = reliability(p, bins, notion="confidence"), weights_of(p)
    h, correct, c = p.confidence.astype(float), p.correct, p.predicted
    for b in range(d.n_bins):
        at = rows_in(p, d, b)
        total = w[at].sum()
        assert d.count[b] == pytest.approx(total, abs=1e-12)
        assert d.share[b] == pytest.approx(total / w.sum(), abs=1e-12)
        if total == 0:
            assert np.isnan(d.confidence[b])
            continue
        conf, acc = (np.average(v[at], weights=w[at]) for v in (h, correct))
        assert d.confidence[b] == pytest.approx(conf, abs=1e-12)
        assert d.accuracy[b] == pytest.approx(acc, abs=1e-12)
        delta = 0.0
        for label in range(p.n_classes):
            mine = at[(c[at] == label) & (w[at] > 0)]
            if len(mine):
                gap = np.average(correct[mine], weights=w[mine]) - np.average(h[mine], weights=w[mine])
                delta += w[mine].sum() / total * abs(gap)
        assert d.delta[b] == pytest.approx(delta, abs=1e-12)
        assert abs(d.top_label[b] - d.confidence[b]) == pytest.approx(delta, abs=1e-12)
        assert (d.top_label[b] > d.confidence[b]) == (d.accuracy[b] > d.confidence[b]) or delta < 1e-12
        assert delta >= abs(acc - conf) - 1e-12, "classes can only cancel"


@given(p=full_predictions(), bins=st.integers(1, 15))
def test_the_diagram_adds_up_to_the_errors(p, bins):
    d = reliability(p, bins, notion="confidence")
    held = d.count > 0
    gap = np.abs(d.accuracy - d.confidence)[held]
    assert (d.share[held] * gap).sum() == pytest.approx(estimate(p, "confidence", "ece", bins).value, abs=1e-12)
    top = (d.share[held] * d.delta[held]).sum()
    assert top == pytest.approx(estimate(p, "top-label", "ece", bins).value, abs=1e-12)


@given(p=full_predictions(), bins=bin_choices)
def test_frames_hold_no_empty_bins_and_exactly_the_numbers(p, bins):
    d = reliability(p, bins, notion="confidence")
    frame = d.frame()
    assert (frame["count"] > 0).all()
    tested = ["class_difference", "class_edge", "class_p", "null_low", "null_high"]
    assert not frame.drop(columns=tested).isna().any().any()
    assert (frame[tested].isna().sum(axis=1).isin([0, len(tested)])).all(), "a bin is tested, or not"
    for name in ("lower", "upper", "count", "share", "confidence", "accuracy", "delta", "top_label", *tested):
        np.testing.assert_array_equal(frame[name], getattr(d, name)[d.count > 0])


def test_bare_confidences_have_stars_and_no_plusses():
    d = reliability(Predictions.from_confidence([0.55, 0.65, 0.95], [1, 0, 1]), 10)
    assert np.isnan(d.delta).all()
    assert d.frame()["accuracy"].tolist() == [1, 0, 1]


def test_bins_are_labelled_as_intervals():
    d = reliability(Predictions([[0.7, 0.3]], [0]), 4, notion="confidence")
    assert [d.label(b) for b in range(4)] == ["[0, 0.25)", "[0.25, 0.5)", "[0.5, 0.75)", "[0.75, 1]"]


@given(p=full_predictions(), bins=bin_choices, data=st.data())
def test_the_zoom_takes_a_bin_apart_by_predicted_class(p, bins, data):
    d = reliability(p, bins, notion="confidence")
    b = data.draw(st.sampled_from(np.flatnonzero(d.count > 0).tolist()))
    z, w = zoom(p, d, b), weights_of(p)
    at = rows_in(p, d, b)
    assert z.rows.tolist() == at.tolist()
    classes = sorted({int(c) for c in p.predicted[at] if w[at][p.predicted[at] == c].sum() > 0})
    assert sorted(z.classes.tolist()) == classes
    beyond = np.maximum(z.low - z.confidence, z.confidence - z.high)
    assert (np.diff(beyond) <= 1e-12).all(), "the class furthest beyond its interval first"
    assert z.names == tuple(p.class_names[c] for c in z.classes)
    for i, label in enumerate(z.classes):
        mine = at[p.predicted[at] == label]
        assert z.count[i] == pytest.approx(w[mine].sum(), abs=1e-12)
        said = np.average(p.confidence[mine].astype(float), weights=w[mine])
        assert z.confidence[i] == pytest.approx(said, abs=1e-12)
        assert z.accuracy[i] == pytest.approx(np.average(p.correct[mine], weights=w[mine]), abs=1e-12)
    np.testing.assert_array_equal(z.star, (d.confidence[b], d.accuracy[b]))
    np.testing.assert_array_equal(z.frame()["gap"], z.accuracy - z.confidence)
    assert z.label == d.label(b)


def test_a_bin_that_does_not_exist_and_predictions_without_classes_are_refused():
    p = Predictions([[0.7, 0.3], [0.4, 0.6]], [0, 0])
    d = reliability(p, 5, notion="confidence")
    for b in (-1, 5):
        with pytest.raises(InputError) as why:
            zoom(p, d, b)
        assert str(why.value) == f"bin {b} does not exist; the diagram's bins are 0..4"
    with pytest.raises(NotAnswerable, match="predicted classes are unknown"):
        zoom(of_kind(p, "confidence"), d, 3)


@given(p=full_predictions(), bins=st.sampled_from([1, 5, 10, "equal-mass"]))
def test_validity_is_the_share_of_rows_within_epsilon(p, bins):
    """P1 App. F: V(eps), rows counted by the distance of their own bin."""
    binning = EqualWidth(bins) if isinstance(bins, int) else bins
    table = tabulate(TopLabel().split(p), [EqualWidth(10) if isinstance(binning, str) else binning])[0]
    v = validity(table)
    assert (np.diff(v.eps) > 0).all()
    assert (np.diff(v.share) > 0).all()
    assert v.share[-1] == 1
    weight, gap = table.weight.ravel(), np.abs(table.gap.ravel())
    for eps in (-0.1, 0.0, 0.05, 0.2, 0.5, 1.0):
        expected = sum(w for w, g in zip(weight, gap, strict=True) if w > 0 and g <= eps)
        assert v.share_within(eps) == pytest.approx(expected, abs=1e-9)
    assert v.frame()["share"].tolist() == v.share.tolist()
    mean = (np.diff(np.append(0, v.share)) * v.eps).sum()
    assert mean == pytest.approx(Binned().of_table(table).value, abs=1e-12), "the area above V is the error"


def test_validity_of_one_stratum_and_of_an_empty_one():
    p = Predictions([[0.6, 0.4, 0.0], [0.6, 0.4, 0.0], [0.3, 0.7, 0.0]], [0, 1, 1])
    table = tabulate(TopLabel().split(p), [EqualWidth(10)])[0]
    assert validity(table, 0).frame().round(12).values.tolist() == [[0.1, 1.0]]
    assert validity(table, 1).frame().round(12).values.tolist() == [[0.3, 1.0]]
    empty = validity(table, 2)
    assert empty.share_within(1.0) == 0
    assert len(empty.frame()) == 0


@pytest.mark.parametrize("notion", ["top-label", "class-wise"])
@given(p=full_predictions(), bins=st.sampled_from([1, 10, "equal-mass"]))
def test_the_class_table_has_each_class_alone(notion, p, bins):
    table, w = class_table(p, notion, bins), weights_of(p)
    made = estimate(p, notion, "ece", bins=bins)
    np.testing.assert_array_equal(table.error, made.per_stratum)
    for c in range(p.n_classes):
        mine = p.predicted == c if notion == "top-label" else np.ones(p.n_rows, bool)
        scores = (p.confidence if notion == "top-label" else p.probs[:, c]).astype(float)
        hits = p.correct if notion == "top-label" else p.labels == c
        assert table.count[c] == pytest.approx(w[mine].sum(), abs=1e-12)
        assert table.share[c] == pytest.approx(w[mine].sum() / w.sum(), abs=1e-12)
        assert table.true_share[c] == pytest.approx(w[p.labels == c].sum() / w.sum(), abs=1e-12)
        if w[mine].sum() == 0:
            assert np.isnan([table.score[c], table.outcome[c], table.error[c]]).all()
            continue
        assert table.score[c] == pytest.approx(np.average(scores[mine], weights=w[mine]), abs=1e-12)
        assert table.outcome[c] == pytest.approx(np.average(hits[mine], weights=w[mine]), abs=1e-12)
    frame = table.frame()
    assert frame["class"].tolist() == list(p.class_names)
    np.testing.assert_array_equal(frame["gap"], table.outcome - table.score)


@given(p=full_predictions(), data=st.data())
def test_panels_are_the_chosen_classes_of_the_table(p, data):
    chosen = data.draw(st.lists(st.integers(0, p.n_classes - 1), unique=True, min_size=1))
    panels, table = class_panels(p, chosen, bins=5), class_table(p, bins=5)
    assert panels.names == tuple(p.class_names[c] for c in chosen)
    np.testing.assert_array_equal(panels.error, table.error[chosen])
    np.testing.assert_array_equal(panels.share, table.share[chosen])
    frame = panels.frame()
    assert set(frame["class"]) <= set(panels.names)
    plots = class_validity(p, chosen, bins=5).plots
    for name, curve, share in zip(panels.names, plots, panels.share, strict=True):
        assert (len(curve.eps) > 0) == (share > 0) == (name in set(frame["class"]))


@given(p=full_predictions())
def test_top_label_tables_draw_the_same_diagrams(p):
    known = of_kind(p, "top-label")
    for draw in (partial(reliability, notion="confidence"), class_table):
        one, two = draw(p).frame(), draw(known).frame()
        assert one.equals(two)


def test_a_diagram_of_confidence_claims_and_of_predictions_is_the_same_table():
    p = Predictions([[0.7, 0.3], [0.4, 0.6]], [0, 0])
    table = tabulate(Confidence().split(p), [EqualWidth(10)])[0].frame()
    assert reliability(p, 10, notion="confidence").frame()["accuracy"].tolist() == table["mean_outcome"].tolist()


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise"])
def test_validity_before_and_after_is_on_the_recalibrated_models_values(notion):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([0.5] * 3, 300)
    before = Predictions(probs, (rng.random(300)[:, None] > probs.cumsum(1)).sum(1))
    key = "class-wise-hb" if notion == "class-wise" else "top-label-hb"
    after = CALIBRATORS.make(key, points_per_bin=25).fit_on(before).apply(before)
    pair = diagrams.validity_pair(before, after, notion)
    old, new = (REDUCTIONS.make(notion).split(p) for p in (before, after))
    for eps in (0.01, 0.05, 0.1, 0.3):
        expected = {"before": 0.0, "after": 0.0}
        for s in range(len(new.strata)):
            a, b = old.stratum(s), new.stratum(s)
            for value in set(b.scores.tolist()):
                mine = b.scores == value
                share = new.shares[s] * mine.mean() if len(new.strata) > 1 else mine.mean()
                outcome = b.outcomes[mine].mean()
                expected["before"] += share * (abs(outcome - a.scores[mine].mean()) <= eps)
                expected["after"] += share * (abs(outcome - value) <= eps)
        assert pair.before.share_within(eps) == pytest.approx(expected["before"], abs=1e-9)
        assert pair.after.share_within(eps) == pytest.approx(expected["after"], abs=1e-9)


def test_validity_refuses_models_that_make_different_claims():
    p = Predictions([[0.6, 0.4], [0.6, 0.4]], [0, 1])
    q = Predictions([[0.4, 0.6], [0.4, 0.6]], [0, 1])
    with pytest.raises(NotAnswerable, match="recalibration changed predicted classes"):
        diagrams.validity_pair(p, q, "confidence")
