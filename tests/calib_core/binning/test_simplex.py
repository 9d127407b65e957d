"""Canonical calibration on the simplex: errors, floors, intervals, bounds, calibrators and diagrams by hand."""

import numpy as np
import pandas as pd
import pytest
from generated import full_predictions, of_kind, rows
from hypothesis import given, settings

from calib_core import CALIBRATORS, ESTIMATORS, NotAnswerable, Predictions, RegistryError, estimate, guarantees
from calib_core.binning import EqualWidth, Grid, Projection, Sierpinski
from calib_core.calibrators import SimplexBinning
from calib_core.diagrams import canonical_validity, cell_rows, recalibration, validity_by_cell
from calib_core.estimators import Binned, DebiasedECE, DebiasedL2
from calib_core.inference import coverage_table
from calib_core.inference.intervals.simulated_domain import CANONICAL
from calib_core.inference.noise import simplex_draws

KEYS = ("sierpinski", "grid", "projection")
SOME = settings(max_examples=20)


def drawn(n, seed=0, k=3, confidence=1.0):
    """Return a model with a known truth: labels from q, predictions moved from q towards the first class."""
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.ones(k), n)
    labels = (rng.random(n)[:, None] > q.cumsum(1)[:, :-1]).sum(1)
    return Predictions(confidence * q + (1 - confidence) * np.eye(k)[0], labels), q


# -- errors ------------------------------------------------------------------------------------------------------


@SOME
@given(predictions=full_predictions(max_classes=4))
def test_errors_are_what_a_loop_over_cells_finds(predictions):
    k = predictions.n_classes
    w = np.ones(predictions.n_rows) if predictions.weights is None else predictions.weights
    for key in KEYS:
        made = estimate(predictions, "canonical", "ece", bins=key)
        cells = made.cells.partition.codes(predictions.rows)
        gaps, share = [], []
        for cell in np.unique(cells[w > 0]):
            mine = cells == cell
            said = np.average(predictions.probs[mine].astype(float), axis=0, weights=w[mine])
            came = np.average(np.eye(k)[predictions.labels[mine]], axis=0, weights=w[mine])
            gaps.append(came - said)
            share.append(w[mine].sum() / w.sum())
        norms = np.abs(gaps).sum(1)
        root = np.sqrt(share @ np.square(gaps).sum(1))
        wanted = {"ece": share @ norms, "mce": norms.max(), "rmsce": root}
        for estimator, value in wanted.items():
            assert estimate(predictions, "canonical", estimator, bins=key).value == pytest.approx(value, abs=1e-9)
        assert made.per_stratum.tolist() == [made.value]
        assert len(made.table) == len(norms)


def test_two_classes_have_twice_the_error_of_one():
    p, _ = drawn(300, k=2, confidence=0.8)
    for order, factor in ((1, 2), ("max", 2), (2, np.sqrt(2))):
        whole = estimate(p, "canonical", Binned(Grid(10), order)).value
        one = estimate(p, "class-specific", Binned(EqualWidth(10), order)).value
        assert whole == pytest.approx(factor * one, rel=1e-9)
    exact = Predictions([[0.7, 0.3]] * 10, [0] * 4 + [1] * 6)
    assert estimate(exact, "canonical", "ece", bins="grid").value == pytest.approx(0.6)
    assert estimate(exact, "class-specific", "ece").value == pytest.approx(0.3)


def test_the_debiased_error_is_right_on_average_where_the_plug_in_is_not():
    """Rows of one vector, labels from another: the truth is the squared distance, noise adds the covariance's trace."""
    said, true = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.4, 0.2])
    rng = np.random.default_rng(0)
    values = []
    for _ in range(1000):
        p = Predictions(np.tile(said, (20, 1)), rng.choice(3, 20, p=true))
        values.append(
            [estimate(p, "canonical", e).value for e in (DebiasedL2(Sierpinski(1)), Binned(Sierpinski(1), 2))]
        )
    debiased, plug_in = np.array(values).T
    truth = np.square(said - true).sum()
    error = debiased.std() / np.sqrt(1000)
    assert abs(debiased.mean() - truth) < 4 * error
    noise = (1 - np.square(true).sum()) / 20
    assert np.square(plug_in).mean() == pytest.approx(truth + noise, abs=4 * error)
    shown = DebiasedL2(Sierpinski(1), root=True)
    assert estimate(p, "canonical", shown).value == pytest.approx(max(debiased[-1], 0) ** 0.5)


def test_bins_and_claims_that_do_not_fit_are_told_apart_in_a_sentence():
    p, _ = drawn(50)
    with pytest.raises(NotAnswerable, match=r"canonical .*\(bins= one of grid, projection, sierpinski\)"):
        estimate(p, "canonical", "ece", bins=15)
    for notion in ("confidence", "class-wise"):
        with pytest.raises(NotAnswerable, match=r"equal-width.* canonical notion"):
            estimate(p, notion, "ece", bins="grid")
    with pytest.raises(NotAnswerable, match="Choose bins of single scores"):
        estimate(p, "confidence", DebiasedECE(Grid(3)))
    with pytest.raises(RegistryError, match="binning is Grid"):
        estimate(p, "confidence", "debiased-ece", bins="grid")
    names = {p.name: p.domain.keys for p in ESTIMATORS["debiased-ece"].params}
    assert not set(KEYS) & set(names["binning"])


# -- noise floors and intervals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, "real"])
def test_labels_counted_class_by_class_are_those_written_down(weights, monkeypatch):
    p, _ = drawn(200, k=4)
    if weights:
        p = Predictions(p.probs, p.labels, weights=np.random.default_rng(0).random(200))
    for estimator in ("ece", "mce", "debiased-l2"):
        counted = estimate(p, "canonical", estimator, bins="sierpinski").noise_floor.draws
        with monkeypatch.context() as patch:
            patch.setattr(simplex_draws, "_FEW_CLASSES", 1)
            written = estimate(p, "canonical", estimator, bins="sierpinski").noise_floor.draws
            patch.setattr(simplex_draws, "_AT_ONCE", 60)
            in_parts = estimate(p, "canonical", estimator, bins="sierpinski").noise_floor.draws
        np.testing.assert_allclose(counted, written, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(in_parts, written, rtol=1e-12, atol=1e-15)


def test_the_floor_is_what_the_estimator_says_of_drawn_labels():
    p, _ = drawn(150, confidence=0.7)
    floor = estimate(p, "canonical", "ece", bins="grid").noise_floor
    rng = np.random.default_rng(1)
    redrawn = (rng.random((400, 150, 1)) > p.probs.cumsum(1)[:, :-1]).sum(2)
    by_hand = [estimate(p.relabelled(y), "canonical", "ece", bins="grid").value for y in redrawn]
    assert floor.mean == pytest.approx(np.mean(by_hand), abs=4 * np.std(by_hand) / 20)
    assert np.std(floor.draws) == pytest.approx(np.std(by_hand), rel=0.2)


@pytest.mark.wide
def test_a_calibrated_model_is_rejected_as_often_as_the_level_says():
    rejected = 0
    for seed in range(120):
        p, _ = drawn(150, seed)
        rejected += estimate(p, "canonical", "ece", bins="sierpinski").p_value <= 0.1
    assert 3 <= rejected <= 24  # binomial(120, 0.1) exceeds this with probability 0.0007


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("confidence", "n"), [(1.0, 400), (0.9, 400), (0.6, 400)])
def test_intervals_hold_the_true_error_of_the_cells(confidence, n):
    held = dict.fromkeys(("ece", "rmsce", "mce"), 0)
    runs = 40
    for seed in range(runs):
        p, q = drawn(n, seed, confidence=confidence)
        for key in held:
            made = estimate(p, "canonical", key, bins="sierpinski")
            # The truth given the predictions: every label's distribution in the place of the label.
            codes, cells = made.cells.codes, len(made.cells.cells)
            sums = np.column_stack([np.bincount(codes, q[:, j], cells) for j in range(3)])
            truth = made.question.estimator.of_labels(made.cells, sums[None])[0]
            held[key] += truth - 1e-9 in made.interval() or truth in made.interval()
    assert min(held.values()) >= 0.8 * runs, held


def test_only_what_was_simulated_is_called_tested():
    table = coverage_table()
    cells = table[(table["notion"] == "canonical") & table["binning"].isin(["sierpinski", "grid"])]
    assert set(cells["estimator"]) == {"ece", "rmsce", "debiased-l2"}
    asked = {(bins, rows) for bins in (4, 13, 9, 25) for rows in (500, 2000)}
    assert set(zip(cells["bins"], cells["rows"], strict=True)) == asked
    assert set(cells["truth"]) >= {"calibrated", "over-confident"}
    assert (cells["runs"] >= 200).all()
    assert (cells["coverage"] >= 0.85).all()
    assert cells["classes"].max() == CANONICAL.classes == 3
    p, _ = drawn(600)
    for key in set(cells["estimator"]):
        assert estimate(p, "canonical", key, bins="sierpinski").interval().tested
    weighted = Predictions(p.probs, p.labels, weights=np.linspace(0.5, 1.5, 600))
    many = np.random.default_rng(0).dirichlet(np.ones(4), 2000)
    for other in (weighted, Predictions(many, many.argmax(1))):
        assert not estimate(other, "canonical", "ece", bins="sierpinski").interval().tested


def test_verdicts_and_limits():
    p, _ = drawn(3000, confidence=0.5)
    made = estimate(p, "canonical", "ece", bins="sierpinski")
    assert made.verdict(0.02).word == "miscalibrated"
    assert made.p_value == pytest.approx(1 / 1001)
    assert estimate(drawn(20_000)[0], "canonical", "rmsce", bins="sierpinski").verdict(0.1).word == "within"
    assert estimate(p, "canonical", "mce", bins="grid").interval().tested
    few = estimate(drawn(30)[0], "canonical", "ece", bins="grid").interval()
    assert few.low == 0
    assert "upper end only" in few.method
    assert not few.tested
    wide = Predictions(np.random.default_rng(0).dirichlet(np.full(300, 0.003), 900), np.arange(900) % 300)
    with pytest.raises(NotAnswerable, match="occupied cells of 300 classes are too many for an interval"):
        estimate(wide, "canonical", "ece", bins="sierpinski").interval()
    per_class = of_kind(p, "per-class")
    with pytest.raises(NotAnswerable, match="not points of the simplex"):
        estimate(per_class, "canonical", "ece", bins="grid")


# -- bounds ----------------------------------------------------------------------------------------------------------


def violations(eps_of, pi, n, runs=4000):
    """Return how often the frequencies of n labels are further from pi than the bound."""
    drawn_ = np.random.default_rng(0).multinomial(n, pi, runs) / n
    return float((np.abs(drawn_ - pi).sum(1) > eps_of(n)).mean())


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_multinomial_bounds_hold_at_their_level_and_a_smaller_constant_would_not(classes, alpha):
    pi = np.full(classes, 1 / classes)
    for bound in (guarantees.weissman_eps, guarantees.bretagnolle_huber_carol_eps, guarantees.cell_eps):
        assert violations(lambda n, f=bound: f(n, classes, alpha), pi, 60) <= alpha
    # sqrt((1 / (2 n)) ...), the constant of one share instead of a sum of differences, is half of it.
    assert violations(lambda n: guarantees.weissman_eps(n, classes, alpha) / 2, pi, 60) > alpha


def test_the_subsets_that_matter_make_the_better_bound():
    for classes in (2, 3, 10, 1000):
        weissman, carol = (
            f(100, classes, 0.1) for f in (guarantees.weissman_eps, guarantees.bretagnolle_huber_carol_eps)
        )
        assert weissman <= carol
        assert guarantees.cell_eps(100, classes, 0.1) == min(2, weissman)
    # Two classes: twice the two-sided Hoeffding bound of one of them, P1 eq. 10 with k - 1 = n.
    assert guarantees.weissman_eps(49, 2, 0.1) == pytest.approx(2 * guarantees.marginal_eps(50, 0.1))
    n = guarantees.rows_for_cell(0.2, 3, 0.1, cells=13)
    assert guarantees.cell_eps(n, 3, 0.1, 13) <= 0.2 < guarantees.cell_eps(n - 1, 3, 0.1, 13)


def test_a_fitted_calibrator_promises_what_its_cells_hold():
    missed = 0
    for seed in range(40):
        p, _ = drawn(600, seed)
        calibrator = CALIBRATORS.make("sierpinski", depth=1).fit_on(p)
        promise = calibrator.guarantee(0.3)
        many, truth = drawn(4000, 1000)
        cells = calibrator.partition.codes(many.rows)
        for cell, value in zip(calibrator.cells_, calibrator.values_, strict=True):
            if np.abs(value - truth[cells == cell].mean(0)).sum() > promise["conditional"].eps:
                missed += 1
                break
    assert missed <= 12  # at most a share 0.3 of the runs
    assert (
        promise["marginal"].eps
        < promise["conditional"].eps
        == guarantees.cell_eps(int(calibrator.counts_.min()), 3, 0.3, 4)
    )
    weighed = Predictions(p.probs, p.labels, weights=np.arange(1.0, 601))
    assert "weighted" in CALIBRATORS.make("grid").fit_on(weighed).guarantee().sentence
    tied = Predictions(np.round(p.probs, 1) / np.round(p.probs, 1).sum(1, keepdims=True), p.labels)
    assert "tied on a plane" in CALIBRATORS.make("projection").fit_on(tied).guarantee().sentence
    assert "directions" in CALIBRATORS.make("projection", directions="shares").fit_on(p).guarantee().sentence
    partial = CALIBRATORS.make("sierpinski", depth=2).fit_on(drawn(60)[0]).guarantee()
    assert partial.left_out
    assert partial.left_out[0] in partial.sentence
    assert not CALIBRATORS.make("sierpinski").fit_on(drawn(2)[0]).guarantee().holds


# -- calibrators -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", [Sierpinski(2), Grid(4), Projection(6), Projection(6, "random")], ids=repr)
def test_a_prediction_becomes_the_class_frequencies_of_its_cell(scheme):
    (fit, _), (test, _) = drawn(12, 1), drawn(200, 2)
    calibrator = SimplexBinning(scheme).fit_on(fit)
    cells, new = (calibrator.partition.codes(p.rows) for p in (fit, test))
    on_plane = np.zeros(12, bool)
    for plane in calibrator.planes_:
        on_plane |= np.isclose(fit.probs @ plane[:-1], plane[-1], rtol=0, atol=1e-15) & ~on_plane
    made = calibrator.apply(test).probs
    assert set(new) - set(cells[~on_plane]) or isinstance(scheme, Projection), "some cells hold no calibration row"
    for i in range(200):
        mine = (cells == new[i]) & ~on_plane
        wanted = np.eye(3)[fit.labels[mine]].mean(0) if mine.any() else np.full(3, 1 / 3)
        np.testing.assert_allclose(made[i], wanted, atol=1e-12)


def test_a_thousand_classes_can_be_binned():
    rng = np.random.default_rng(0)
    p = Predictions(rows("confident", 300, 1000, rng), rng.integers(1000, size=300))
    for key in KEYS:
        made = CALIBRATORS.make(key).fit_on(p).apply(p).probs
        np.testing.assert_allclose(made.sum(1), 1)


# -- diagrams ----------------------------------------------------------------------------------------------------------


def test_the_recalibration_diagram_shows_means_and_frequencies_of_every_cell():
    (fit, _), (test, _) = drawn(200, 1, confidence=0.8), drawn(300, 2, confidence=0.8)
    made = recalibration("grid", fit, test, alpha=0.2)
    frame = made.frame()
    ends = [f"{end} {j}" for end in ("mean", "target") for j in range(3)]
    assert frame.columns.tolist() == ["cell", "place", "count", "fit_count", "length", *ends, "bound"]
    assert frame["place"].tolist() == list(made.places)
    assert made.title == "Grid"
    np.testing.assert_array_equal(made.points, test.probs)
    calibrator = CALIBRATORS.make("grid").fit_on(fit)
    fit_cells, test_cells = (calibrator.partition.codes(p.rows) for p in (fit, test))
    for b, line in frame.iterrows():
        mine = made.rows(b)
        np.testing.assert_array_equal(made.cells[mine], b)
        assert line["count"] == len(mine)
        np.testing.assert_allclose(line[ends[:3]].astype(float), test.probs[mine].mean(0))
        others = fit_cells == test_cells[mine[0]]
        assert line["fit_count"] == others.sum()
        target = np.eye(3)[fit.labels[others]].mean(0) if others.any() else np.full(3, 1 / 3)
        np.testing.assert_allclose(line[ends[3:]].astype(float), target)
        assert line["length"] == pytest.approx(np.abs(target - test.probs[mine].mean(0)).sum())
        np.testing.assert_array_equal(cell_rows(made, b), mine)
        rows_ = int(others.sum())
        assert line["bound"] == (guarantees.cell_eps(rows_, 3, 0.2) if rows_ else 2.0)
    np.testing.assert_allclose(made.target[made.cells], calibrator.apply(test).probs)
    enough = (frame["count"] >= 12) & (frame["fit_count"] >= 12)
    assert 0 < enough.sum() < len(frame)
    np.testing.assert_array_equal(made.holding(12), enough)
    for cell in (-1, len(frame)):
        with pytest.raises(NotAnswerable, match=f"there is no cell {cell} here"):
            cell_rows(made, cell)
    assert len(made.outlines) == len(made.places) == len(frame) <= len(made.all_outlines) == 25
    assert recalibration("grid", drawn(50, k=4)[0], drawn(50, k=4)[0]).outlines == ()


def test_rows_that_do_not_count_are_left_out_of_the_diagram():
    p, _ = drawn(40)
    silent, weights = np.arange(40) % 4 == 0, (np.arange(40) % 5 > 0).astype(float)
    thin = Predictions(p.probs, p.labels, weights=weights, abstained=silent)
    made = recalibration(Sierpinski(1), p, thin)
    shown = np.concatenate([made.rows(b) for b in range(len(made.count))])
    assert sorted(shown) == np.flatnonzero(~silent & (weights > 0)).tolist()
    assert not np.isnan(recalibration(Sierpinski(1), thin, p).bound).any(), "a row of weight 0 is no row"
    uneven = Predictions(p.probs, p.labels, weights=1 + weights)
    assert np.isnan(recalibration(Sierpinski(1), uneven, p).bound).all()


def test_validity_of_base_and_recalibrated_model_on_the_same_cells():
    (fit, _), (test, _) = drawn(400, 1, confidence=0.6), drawn(400, 2, confidence=0.6)
    after = CALIBRATORS.make("projection", bins=5).fit_on(fit).apply(test)
    pair = canonical_validity(test, after, Projection(5), fit)
    pd.testing.assert_frame_equal(validity_by_cell(Projection(5), fit, test).frame(), pair.frame(), check_exact=True)
    cells = SimplexBinning(Projection(5)).fit_on(fit).partition.codes(test.rows)
    for plot, model in ((pair.before, test), (pair.after, after)):
        gaps = np.empty(400)
        for cell in np.unique(cells):
            mine = cells == cell
            gaps[mine] = np.abs(np.eye(3)[test.labels[mine]].mean(0) - model.probs[mine].mean(0)).sum()
        for eps in (0.05, 0.3, 0.8, 2.0):
            assert plot.share_within(eps) == pytest.approx((gaps <= eps).mean())
    assert pair.after.share_within(0.3) > pair.before.share_within(0.3)
    with pytest.raises(NotAnswerable, match="the same rows"):
        canonical_validity(test, drawn(400, 3)[0], "grid")
