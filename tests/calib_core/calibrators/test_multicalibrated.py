"""Multicalibration by columns: planted errors of overlapping columns shrink on new rows, calibrated rows stay."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit, softmax

from calib_core import CALIBRATORS, NotAnswerable, Predictions, load_calibrator, log_loss
from calib_core.calibrators import Multicalibrated
from calib_core.slices import multicalibration

BY = "site, age"


def risks(n, seed, planted=True):
    """Return risks, too low at one site and too high where high ages meet high risks, with both columns."""
    rng = np.random.default_rng(seed)
    x, site, age = rng.normal(-0.5, 1.3, n), rng.choice(list("abcd"), n), rng.integers(20, 90, n)
    off = 0.9 * (site == "b") - 1.0 * ((age >= 60) & (x > 0))
    died = rng.random(n) < expit(x + planted * off)
    columns = pd.DataFrame({"site": site, "age": age})
    return Predictions(np.column_stack([expit(-x), expit(x)]), died.astype(int), metadata=columns)


def worst(predictions):
    return multicalibration(predictions, ["site", "age"]).frame()["error"].max()


@pytest.mark.parametrize("seed", [0, 1])
def test_the_largest_error_of_a_group_falls_on_new_rows(seed):
    cal, new = Multicalibrated(BY).fit_on(risks(3000, seed)), risks(3000, 100 + seed)
    before, after = worst(new), worst(cal.apply(new))
    assert before > 0.12
    assert after < 0.6 * before
    # An update by one column sees neither the other column nor ranges of scores.
    many = risks(20_000, 200 + seed)
    shifted = CALIBRATORS.make("intercept", by="site").fit_on(risks(3000, seed))
    ours, other = (log_loss(many.labels, each.apply(many).probs) for each in (cal, shifted))
    assert ours < other - 0.001


def test_a_calibrated_model_stays_as_it_is_bit_for_bit():
    kept = 0
    for seed in range(8):
        p = risks(800, seed, planted=False)
        cal = Multicalibrated(BY).fit_on(p)
        after = cal.apply(p)
        if not len(cal.shifts_):
            kept += 1
            assert (after.probs == p.probs).all()
            assert "nothing is changed" in cal.note
    assert kept >= 7


def test_without_held_out_rows_it_would_fit_noise(monkeypatch):
    """The falsified twin: as many rounds as wanted, whatever held-out rows say."""
    monkeypatch.setattr("calib_core.calibrators.multicalibrated._wanted", lambda *_: 100)
    monkeypatch.setattr("calib_core.calibrators.multicalibrated.LEAST", 0.5)
    cal = Multicalibrated(BY).fit_on(risks(400, 0, planted=False))
    new = risks(3000, 50, planted=False)
    assert len(cal.shifts_) > 10
    assert worst(cal.apply(new)) > worst(new) + 0.02


def by_hand(p, done, columns, edges):
    """Return rows after the rounds, row by row, on the scale of log-odds."""
    out = []
    for row, values in zip(p, columns, strict=True):
        q = row.copy()
        for where, k, b, shift in done:
            inside = b == 5 or np.sum(edges[k] <= q[k]) == b
            if inside and (where is None or where(values)):
                to = expit(logit(q[k]) + shift)
                q = q * (1 - to) / (1 - q[k])
                q[k] = to
        out.append(q)
    return np.array(out)


def test_it_is_its_rounds_one_by_one_for_three_classes():
    rng = np.random.default_rng(4)
    z = rng.standard_normal((3000, 3))
    kind = rng.choice(["x", "y"], 3000)
    labels = (z + np.outer(kind == "y", [1.2, 0, 0]) + rng.gumbel(size=z.shape)).argmax(axis=1)
    p = Predictions(softmax(z, axis=1), labels, metadata=pd.DataFrame({"kind": kind}))
    cal = Multicalibrated("kind").fit_on(p)
    assert cal.slices_ == ("kind=x", "kind=y")
    tests = [None, lambda value: value == "x", lambda value: value == "y"]
    done = [(tests[n + 1], k, b, s) for (n, k, b), s in zip(cal.rounds_.tolist(), cal.shifts_.tolist(), strict=True)]
    assert len(done) > 1
    np.testing.assert_allclose(
        cal.apply(p).probs[:300], by_hand(p.probs[:300], done, kind[:300], cal.edges_), atol=1e-12
    )
    numbers = list(cal.insides().numbers())
    assert [number.value for number in numbers] == cal.shifts_.tolist()
    assert any("kind = y" in number.place for number in numbers)


def test_the_first_round_by_hand(monkeypatch):
    """One site of 400 rows says 1/2 and 80 came true: R = -120, V = 100, and the step is limited to 1."""
    monkeypatch.setattr("calib_core.calibrators.multicalibrated.MOST_ROUNDS", 1)
    site = pd.DataFrame({"site": ["a"] * 400 + ["b"] * 400})
    labels = [1] * 80 + [0] * 320 + [1] * 200 + [0] * 200
    cal = Multicalibrated("site").fit_on(Predictions([[0.5, 0.5]] * 800, labels, metadata=site))
    assert cal.rounds_.tolist() == [[0, 1, 4]]
    assert cal.shifts_.tolist() == [-1.0]
    milder = [1] * 160 + [0] * 240 + [1] * 200 + [0] * 200
    cal = Multicalibrated("site").fit_on(Predictions([[0.5, 0.5]] * 800, milder, metadata=site))
    z2 = 40**2 / 101
    assert cal.shifts_[0] == pytest.approx(-40 / 101 * (1 - 1 / z2))


def test_values_that_did_not_occur_are_left_and_said_and_it_survives_saving():
    p = risks(3000, 0)
    cal = load_calibrator(Multicalibrated(BY).fit_on(p).to_json())
    np.testing.assert_array_equal(cal.apply(p).probs, Multicalibrated(BY).fit_on(p).apply(p).probs)
    elsewhere = p.replace(metadata=p.metadata.assign(site="z", age=np.nan))
    after = cal.apply(elsewhere)
    assert any("3,000 rows have values of site, age that did not occur" in note for note in after.notes)
    if (cal.rounds_[:, 0] >= 0).all():
        np.testing.assert_allclose(after.probs, p.probs, atol=1e-15)
    assert not cal.apply(p).notes
    with pytest.raises(NotAnswerable, match="these rows have no column 'age'"):
        cal.apply(p.replace(metadata=p.metadata[["site"]]))


def test_groups_of_rows_share_a_fold_and_many_classes_are_refused():
    p = risks(600, 3)
    twice = Predictions(
        np.repeat(p.probs, 2, axis=0), np.repeat(p.labels, 2), metadata=p.metadata.loc[np.repeat(np.arange(600), 2)],
        groups=np.repeat(np.arange(600), 2),
    )  # fmt: skip
    Multicalibrated(BY).fit_on(twice).apply(twice)
    with pytest.raises(NotAnswerable, match="at most 100 classes; got 101"):
        Multicalibrated().fit(np.full((101, 101), 1 / 101), np.arange(101))
