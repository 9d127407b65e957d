"""Slices of a summary equal those of its rows; missing parts are reported; rows sampled by several are the same."""

import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core import NotAnswerable, slices
from calib_core.summaries import kept_together
from calib_core.summaries.cells import Cells
from calib_core.summaries.counted_claims import LOSS_SUMS, claim_losses, counted_losses

N = 3000
NUMBERS = ["rows", "claimed", "right", "gap", "low", "high", "floor", "p", "adds", "beyond", "p_beyond"]


def predictions(seed: int = 1, dtype: type = np.float64) -> cc.Predictions:
    rng = np.random.default_rng(seed)
    h = rng.beta(5, 1, N).astype(dtype)
    age = rng.integers(20, 80, N).astype(float)
    age[:40] = np.nan
    columns = {"site": rng.choice(["a", "b", "007", None], N), "age": age, "few": rng.integers(0, 4, N)}
    return cc.Predictions.from_confidence(h, rng.random(N) < h**1.2, metadata=pd.DataFrame(columns))


@pytest.fixture(scope="module")
def rows() -> cc.Predictions:
    return predictions()


@pytest.fixture(scope="module")
def counted(rows: cc.Predictions) -> cc.Summary:
    parts = [rows.take(np.arange(start, start + N // 2)) for start in (0, N // 2)]
    return cc.Summary.of(parts[0], ["site", "age", "few"]).merge(
        cc.Summary.of(parts[1], ["site", "age", "few"], first_row=N // 2)
    )


@pytest.mark.parametrize("how", [{"by": "site"}, {"by": "age"}, {"by": "few"}, {"by": "age", "edges": [40, 65]}])
def test_tables_of_slices_are_those_of_the_rows(rows, counted, how):
    there, here = slices.table(rows, **how), slices.table(counted, **how)
    assert here["where"].tolist() == there["where"].tolist()
    known = [name for name in NUMBERS if name != "p"]
    np.testing.assert_allclose(here[known], there[known], rtol=1e-9, atol=1e-12)
    # A cell of a summary counts as its mean score, and the law of a count knows every score.
    np.testing.assert_allclose(here["p"], there["p"], rtol=1e-5)


def test_all_columns_and_panels_are_those_of_the_rows(rows, counted):
    there, here = slices.by_column(rows), slices.by_column(counted)
    assert here[["where", "stands_out"]].values.tolist() == there[["where", "stands_out"]].values.tolist()
    wanted = here["where"].head(3).tolist()
    pd.testing.assert_frame_equal(slices.panels(rows, wanted).frame(), slices.panels(counted, wanted).frame())


@pytest.mark.parametrize("where", ["site=a", "site=007", "site=", "age=40..60", "age=..30", "few=2", "age=41"])
def test_a_slice_is_judged_as_its_rows_are(rows, counted, where):
    there, here = slices.part(rows, where), slices.part(counted, where)
    a, b = (cc.estimate(each, "confidence", "ece", 15) for each in (there, here))
    assert (here.n_rows, b.value) == (there.n_rows, a.value)
    assert b.interval(0.9).low == pytest.approx(a.interval(0.9).low, abs=1e-12)
    assert cc.calls.within(cc.calls.divide(counted), where).test.n_rows == there.n_rows


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (lambda s: slices.part(s, "site=zz"), "site = zz; the column has 007, a, b; choose"),
        (lambda s: slices.part(s, "sit=a"), "did you mean 'site'. it has those of site, age, few"),
        (lambda s: slices.part(s, "site=a & few=1"), "one column at a time"),
        (lambda s: slices.table(s, ["site", "few"]), "one column at a time"),
        (lambda s: slices.part(s, "site=1..2"), "has no numbers"),
        (lambda s: slices.part(s, "site=a").sample, "slices of a summary have no sampled rows"),
        (lambda s: slices.scan(s), "needs rows"),
    ],
)
def test_what_is_not_kept_is_said_in_a_sentence(counted, asked, why):
    with pytest.raises(NotAnswerable, match=why):
        asked(counted)


def test_a_summary_without_slices_says_how_to_make_them(rows):
    with pytest.raises(NotAnswerable, match="calib summarise --column NAME"):
        slices.part(cc.Summary.of(rows), "site=a")


@pytest.mark.parametrize("law", ["spread", "sure", "certain", "half"])
def test_losses_of_counts_are_those_of_claims_and_never_too_little(law):
    rng = np.random.default_rng(2)
    h = {"spread": rng.random(999), "sure": rng.beta(50, 0.2, 999), "certain": np.ones(99), "half": np.full(99, 0.5)}[
        law
    ]
    right = rng.random(len(h)) < h
    exact, found = claim_losses(h, right), counted_losses(Cells.of(h, right))
    for name in ("seen", "expected", "variance", "least", "most"):
        assert found.mean(name) == pytest.approx(exact.mean(name), abs=1e-9), name
    assert set(LOSS_SUMS) >= {"third"}
    assert exact.mean("third") - 1e-9 <= found.mean("third") <= 1.003 * exact.mean("third") + 1e-9
    assert found.reach >= exact.reach - 1e-12
    assert found.highest >= exact.highest - 1e-12


# -- models given as summaries ---------------------------------------------------------------------------------


def model(temperature: float, n: int = N, seed: int = 0) -> cc.Predictions:
    """Return models of the same rows for one seed: the same labels."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 3))
    y = (np.log(rng.random((n, 3))) * -np.exp(-z)).argmin(axis=1)
    e = np.exp(temperature * z)
    return cc.Predictions(e / e.sum(axis=1, keepdims=True), y)


@pytest.mark.parametrize("estimator", ["debiased-l2", "ece"])
def test_unpaired_differences_hold_the_paired_ones(estimator):
    both = {"sharp": model(1.6), "true": model(1.0)}
    # The ends for the ECE depend on the random folds: their means over ten seeds are compared.
    every = [cc.compare(both, "confidence", estimator, 15, random_state=seed).iloc[0] for seed in range(10)]
    paired = {end: np.mean([line[end] for line in every]) for end in ("low", "high")}
    apart = cc.compare({name: cc.Summary.of(p) for name, p in both.items()}, "confidence", estimator, 15).iloc[0]
    assert apart["low"] <= paired["low"] < paired["high"] <= apart["high"]
    assert "for any overlap of rows" in apart["method"]


def test_equal_counts_of_unknown_rows_are_no_proof_that_models_do_not_differ():
    """For rows, the same claims have no difference; two equal summaries can be of different rows."""
    one = cc.Summary.of(model(1.0))
    found = cc.compare({"one": one, "other": one}, "confidence", "ece", 15).iloc[0]
    assert found["low"] < 0 < found["high"]


def test_unpaired_differences_cover_the_true_one():
    """Disjoint and shared rows, true errors by 200,000 rows: 90 % guaranteed; a quarter of the width covers less."""
    truth = [cc.estimate(model(t, 200_000, seed=9), "confidence", "ece", 15).value for t in (1.5, 1.0)]
    apart = truth[0] - truth[1]
    held, halved = 0, 0
    for seed in range(20):
        models = (model(1.5, 1000, seed), model(1.0, 1000, seed + 1000 * (seed % 2)))
        found = cc.inference.paired_difference(*map(cc.Summary.of, models), "confidence", "ece", 15)
        middle, half = (found.low + found.high) / 2, (found.high - found.low) / 2
        held += found.low <= apart <= found.high
        halved += abs(apart - middle) <= half / 4
    assert held >= 16  # P(binomial(20, .9) < 16) = 0.04, and Bonferroni is wide: nearly all cover
    assert halved < 16


def test_rows_kept_together_are_those_of_one_name_and_pair_as_rows_do():
    both = {"sharp": model(1.6), "true": model(1.0)}
    kept = kept_together({name: cc.Summary.of(p, source="test") for name, p in both.items()})
    order = [np.argsort(p.confidence, kind="stable") for p in (kept["sharp"], both["sharp"])]
    np.testing.assert_array_equal(kept["true"].probs[order[0]], both["true"].probs[order[1]])
    with pytest.raises(NotAnswerable, match="samples of different rows"):
        kept_together({name: cc.Summary.of(p, source=name) for name, p in both.items()})
    with pytest.raises(NotAnswerable, match="same numbers but are different rows: row"):
        kept_together({str(seed): cc.Summary.of(model(1.0, seed=seed), source="test") for seed in (0, 1)})
    with pytest.raises(NotAnswerable, match="some of these models are not summaries"):
        kept_together({"rows": both["true"], "counts": cc.Summary.of(both["true"])})


@pytest.mark.filterwarnings("ignore::UserWarning")  # of labels that are drawn, or of few rows
def test_what_is_summarised_under_one_name_keeps_the_same_rows(tmp_path, monkeypatch):
    for name in ("old", "new"):
        (tmp_path / f"{name}.csv").write_text("p,label\n" + "".join(f"0.{i % 9 + 1},{i % 2}\n" for i in range(200)))
    alike = [cc.summarise(tmp_path / f"{name}.csv", rows_of="test") for name in ("old", "new")]
    other = [cc.summarise(tmp_path / f"{name}.csv") for name in ("old", "new")]
    assert (alike[0].kept_rows.keys == alike[1].kept_rows.keys).all()
    assert not (other[0].kept_rows.keys == other[1].kept_rows.keys).all()
    twice = cc.summarise([tmp_path / "old.csv"] * 2, rows_of="test")
    assert len(np.unique(twice.kept_rows.keys)) == 400
