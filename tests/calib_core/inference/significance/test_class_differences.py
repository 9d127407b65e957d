"""Differences of classes within bins: the law beside sums and draws, false alarms, and what is found."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from calib_core import Predictions, diagrams
from calib_core.inference import jointly_off
from calib_core.inference.significance.class_differences import class_differences, differ, distance_law

BINS, CLASSES, ROWS = 15, 10, 2000


def test_the_law_is_that_of_the_binomial_sums():
    rng = np.random.default_rng(0)
    n = np.append(rng.integers(1, 60, 300), [1, 7, 3, 40])
    q = np.append(rng.random(300), [1.0, 0.0, 0.5, 0.1])
    c = np.append(rng.uniform(0, 1, 300) * n[:300], [0.4, 2.0, 3.0, 4.0])
    mean, variance = distance_law(n.astype(float), q, c)
    for i, size in enumerate(n):
        k = np.arange(size + 1)
        mass, away = binom.pmf(k, size, q[i]), np.abs(k - c[i])
        assert mean[i] == pytest.approx(mass @ away, abs=1e-10)
        assert variance[i] == pytest.approx(mass @ away**2 - (mass @ away) ** 2, abs=1e-9)


def test_numbers_of_bins_are_their_definitions_row_by_row():
    """The slow twin sums binomial laws over cells; drawn outcomes of its model agree."""
    rows = rows_of(0.1 * np.where(np.arange(CLASSES) % 2, 1, -1), 3, shift=-0.1)
    frame = diagrams.reliability(rows, BINS).frame()
    tested = frame[frame["class_p"].notna()]
    z = norm.isf(0.05 / len(tested))
    rng = np.random.default_rng(1)
    for line in tested.to_dict("records"):
        here = np.minimum((rows.confidence * BINS).astype(int), BINS - 1) == line["bin"]
        score, hit, code = rows.confidence[here], rows.correct[here], rows.predicted[here]
        gap, n = np.mean(hit - score), here.sum()
        cells = [(code == c).nonzero()[0] for c in np.unique(code)]
        own = sum(abs(np.sum(hit[i] - score[i]) - len(i) * gap) for i in cells) / n
        sizes = np.array([len(i) for i in cells])
        says = np.array([score[i].mean() for i in cells])
        true = np.clip(says + gap, 0, 1)
        drawn = rng.binomial(sizes, true, (20_000, len(cells)))
        for about, low, high in ((true, None, line["class_edge"]), (says, line["null_low"], line["null_high"])):
            distance = np.abs(drawn - sizes * about).sum(axis=1) / n
            noise = 6 * distance.std() / np.sqrt(len(distance))
            assert high == pytest.approx(distance.mean() + z * distance.std(), abs=4 * noise)
            assert low is None or low == pytest.approx(max(0, distance.mean() - z * distance.std()), abs=4 * noise)
        assert line["class_difference"] == pytest.approx(own, abs=1e-12)
    assert len(tested) >= 8


def rows_of(by_class, seed, shift=0.0, n=ROWS):
    """Return a model of confidences like a network's, off by ``shift``, and by ``by_class`` in each class."""
    rng = np.random.default_rng(seed)
    score = rng.beta(5, 1.5, n) * 0.95
    code = rng.integers(0, len(by_class), n)
    hit = rng.random(n) < np.clip(score + shift + np.asarray(by_class)[code], 0, 1)
    return Predictions.from_confidence(score, predicted=code, labels=np.where(hit, code, (code + 1) % len(by_class)))


def alarms(by_class, shift, runs):
    """Return the share of runs with a bin whose classes differ significantly."""
    found = (diagrams.reliability(rows_of(by_class, seed, shift), BINS).frame()["class_p"] for seed in range(runs))
    return np.mean([differ(p.to_numpy()).any() for p in found])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("shift", [0.0, -0.08, -0.3])
def test_bins_without_differences_rarely_have_a_stem(shift):
    """5 % and three standard errors of 200 runs, calibrated and evenly overconfident."""
    assert alarms(np.zeros(CLASSES), shift, 200) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


def test_classes_off_by_8_points_are_found():
    assert alarms(np.where(np.arange(3) % 2, 0.08, -0.08), -0.1, 60) > 0.9


def test_without_a_correction_or_the_bins_own_error_there_would_be_false_alarms():
    """The falsified twins: a point for each bin alone, and the null of a calibrated model."""
    single, calibrated = [], []
    for seed in range(100):
        rows = rows_of(np.zeros(CLASSES), seed, -0.08)
        frame = diagrams.reliability(rows, BINS).frame()
        tested = frame["class_p"].notna()
        single.append((frame["class_p"] / tested.sum() <= 0.05).any())
        bins = np.minimum((rows.confidence * BINS).astype(int), BINS - 1)
        place = rows.predicted * BINS + bins
        n, s, o = (
            np.bincount(place, part, CLASSES * BINS).reshape(CLASSES, BINS)
            for part in (np.ones(ROWS), rows.confidence, rows.correct)
        )
        mean, variance = distance_law(n, np.divide(s, n, out=np.zeros(n.shape), where=n > 0), s)
        whole = np.abs(o - s).sum(axis=0)
        calibrated.append((whole > mean.sum(axis=0) + 2.8 * np.sqrt(variance.sum(axis=0))).any())
    assert np.mean(single) > 0.2
    assert np.mean(calibrated) > 0.2


def test_bins_of_one_class_or_few_rows_and_rows_in_groups_are_not_tested():
    score = np.repeat([0.55, 0.95, 0.75], [40, 9, 40])
    code = np.repeat([0, 1, 2], [40, 9, 40])
    code[40:45] = 0
    code[60:] = 1
    hit = np.arange(89) % 3 > 0
    rows = Predictions.from_confidence(score, predicted=code, labels=np.where(hit, code, (code + 1) % 3))
    diagram = diagrams.reliability(rows, 10)
    frame = diagram.frame().set_index("bin")
    assert frame["class_p"].notna().to_dict() == {5: False, 7: True, 9: False}
    assert not np.isnan(diagram.class_p_joint)


def test_a_fractional_weight_counts_as_effective_rows():
    """Weights that make single rows count for many have a wider null."""
    n = np.full((3, 1), 200.0)
    score, outcome = 0.7 * n, np.array([[160.0], [140.0], [120.0]])
    full, half = (class_differences(n, score, outcome, rows) for rows in (n, n / 2))
    assert full.difference == half.difference
    assert half.edge[0] > 1.3 * full.edge[0]
    assert half.p[0] > full.p[0]


def test_many_small_errors_of_classes_are_off_jointly():
    """None of 100 classes alone, all of them together; calibrated models are not off."""
    by_class = np.where(np.arange(100) % 2, 0.07, -0.07)
    joint = [jointly_off(rows_of(by_class, seed, -0.1, 5000)) for seed in range(10)]
    assert np.median(joint) < 1e-3
    calm = [jointly_off(rows_of(np.zeros(100), seed, 0, 5000)) for seed in range(200)]
    assert np.mean(np.array(calm) <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)
    found = diagrams.classes_standing_out(rows_of(np.where(np.arange(100) % 2, 0.06, -0.06), 1, 0.0, 5000))
    assert not found.stands_out.any()
    assert found.p_joint <= 0.05
    assert "jointly they are" in found.basis
