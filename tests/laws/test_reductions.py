"""Laws of every notion: its claims, their rows, strata and weights."""

from collections import Counter

import numpy as np
import pytest
from generated import KINDS, full_predictions, of_kind
from hypothesis import given
from hypothesis import strategies as st

from calib_core import REDUCTIONS, NotAnswerable, Predictions, estimate
from calib_core.binning import EqualWidth, tabulate

BINARY_NOTIONS = [key for key in REDUCTIONS if key != "canonical"]


def of_classes(notion):
    """Return predictions with the number of classes that the notion needs: an event needs two."""
    return full_predictions(classes=2) if REDUCTIONS[notion].flags.of == "event" else full_predictions()


PUBLISHED = ("confidence", "top-label", "class-wise", "class-specific", "top-k-confidence", "top-k-label")
"""Notions of P1 Table 1, whose claims are written by hand below."""


def answers(notion, kind):
    """Return True if a kind of predictions contains what a notion declares that it needs."""
    declared = REDUCTIONS[notion].flags
    if declared.of != "top":
        return kind in ("full", "per-class")
    return kind != "confidence" or not declared.by_class


def ranking(row):
    """Return classes by descending probability, the lowest index first on a tie."""
    return sorted(range(len(row)), key=lambda c: (-row[c], c))


def claims_by_hand(notion, predictions):
    """Return the claims of P1 Table 1: a list of (stratum, score, outcome) and the strata's weights."""
    rows, labels, names = predictions.probs.tolist(), predictions.labels.tolist(), predictions.class_names
    n, k = len(rows), len(names)
    w = [1.0] * n if predictions.weights is None else predictions.weights.tolist()
    ranks = min(3, k)
    claims, weight = [], Counter()
    for row, y, wi in zip(rows, labels, w, strict=True):
        order = ranking(row)
        if notion == "confidence":
            claims.append(("all rows", row[order[0]], y == order[0]))
            weight["all rows"] += wi
        elif notion == "top-label":
            claims.append((names[order[0]], row[order[0]], y == order[0]))
            weight[names[order[0]]] += wi
        elif notion == "class-wise":
            for c in range(k):
                claims.append((names[c], row[c], y == c))
                weight[names[c]] += 1.0
        elif notion == "class-specific":
            claims.append((names[0], row[0], y == 0))
            weight[names[0]] += 1.0
        elif notion == "top-k-confidence":
            for r in range(ranks):
                claims.append((f"rank {r + 1}", row[order[r]], y == order[r]))
                weight[f"rank {r + 1}"] += 1.0
        else:
            for r in range(ranks):
                stratum = f"rank {r + 1}, {names[order[r]]}"
                claims.append((stratum, row[order[r]], y == order[r]))
                weight[stratum] += wi
    total = sum(weight.values())
    return claims, {stratum: value / total for stratum, value in weight.items()}


@pytest.mark.parametrize("notion", PUBLISHED)
@given(predictions=full_predictions())
def test_claims_are_those_of_the_table_of_notions(notion, predictions):
    by_hand, weights = claims_by_hand(notion, predictions)
    made = REDUCTIONS.make(notion).split(predictions)
    listed = Counter()
    for s, name in enumerate(made.strata):
        stratum = made.stratum(s)
        pairs = zip(stratum.scores.tolist(), stratum.outcomes.tolist(), strict=True)
        listed.update((name, score, outcome) for score, outcome in pairs)
    assert listed == Counter(by_hand)
    shares = dict(zip(made.strata, made.shares.tolist(), strict=True))
    assert sum(shares.values()) == pytest.approx(1, abs=1e-12)
    for name, share in shares.items():
        assert share == pytest.approx(weights.get(name, 0.0), abs=1e-12)


@pytest.mark.parametrize("notion", BINARY_NOTIONS)
@given(data=st.data())
def test_each_stratum_alone_is_what_the_count_of_all_says(notion, data):
    predictions = data.draw(of_classes(notion))
    claims = REDUCTIONS.make(notion).split(predictions)
    table = tabulate(claims, [EqualWidth(7)])[0]
    for s in range(len(claims.strata)):
        stratum = claims.stratum(s)
        w = np.ones(len(stratum.scores)) if stratum.weights is None else stratum.weights
        assert table.count[s].sum() == pytest.approx(w.sum(), rel=1e-12, abs=1e-12)
        assert table.count[s].sum() == pytest.approx(stratum.total, rel=1e-12, abs=1e-12)
        assert table.tally.outcome[s].sum() == pytest.approx((w * stratum.outcomes).sum(), rel=1e-12, abs=1e-12)
        assert table.tally.score[s].sum() == pytest.approx((w * stratum.scores.astype(float)).sum(), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("notion", REDUCTIONS)
def test_a_kind_answers_or_says_in_a_sentence_why_not(notion, kind):
    full = Predictions([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]], [0, 2, 2])
    if REDUCTIONS[notion].flags.of == "event":
        full = Predictions([[0.75, 0.25], [0.25, 0.75], [0.375, 0.625]], [0, 1, 1])
    predictions = of_kind(full, kind)
    if not answers(notion, kind):
        with pytest.raises(NotAnswerable) as why:
            REDUCTIONS.make(notion).split(predictions)
        assert len(str(why.value).split()) >= 6

        return
    claims = REDUCTIONS.make(notion).split(predictions)
    if notion == "canonical":
        with pytest.raises(NotAnswerable, match=r"canonical .*partition of the simplex"):
            estimate(predictions, notion, "ece")
        return
    assert estimate(predictions, notion, "ece").value == estimate(full, notion, "ece").value
    assert len(claims.strata) == len(claims.shares)


@pytest.mark.parametrize("notion", ["confidence", "top-label"])
@given(predictions=full_predictions())
def test_top_label_tables_give_the_same_numbers_as_the_full_matrix(notion, predictions):
    known = of_kind(predictions, "top-label")
    for estimator in ("ece", "rmsce", "mce"):
        assert estimate(known, notion, estimator).value == estimate(predictions, notion, estimator).value


@given(predictions=full_predictions(max_classes=2))
def test_with_two_classes_both_class_wise_strata_mirror_each_other(predictions):
    """P(class 0) = 1 - P(class 1): one bin per stratum has the same gap in both, up to the row sums."""
    made = estimate(predictions, "class-wise", "ece", bins=1)
    tolerance = 1e-12 if predictions.probs.dtype == np.float64 else 1e-6
    assert made.per_stratum[0] == pytest.approx(made.per_stratum[1], abs=tolerance)


def test_ranks_beyond_the_number_of_classes_are_left_out():
    two = Predictions([[0.7, 0.3], [0.4, 0.6]], [0, 0])
    assert REDUCTIONS.make("top-k-confidence", k=5).split(two).strata == ("rank 1", "rank 2")
    assert len(REDUCTIONS.make("top-k-label", k=5).split(two).strata) == 4


@pytest.mark.parametrize("notion", list(REDUCTIONS))
@given(st.data())
def test_claims_are_alike_only_with_the_same_scores_classes_and_outcomes(notion, data):
    """Two models may be equally sure of other classes: their claims differ although their scores are the same."""
    p = data.draw(of_classes(notion))
    row = data.draw(st.integers(0, p.n_rows - 1))
    claimed = REDUCTIONS.make(notion).split(p)
    assert claimed.alike(REDUCTIONS.make(notion).split(Predictions(p.probs, p.labels)))
    for changed in (_another_label(p, row), _classes_turned(p, row)):
        other = REDUCTIONS.make(notion).split(changed)
        assert claimed.alike(other) == (_listed(claimed) == _listed(other))


def _another_label(p, row):
    labels = p.labels.copy()
    labels[row] = (labels[row] + 1) % p.n_classes
    return Predictions(p.probs, labels)


def _classes_turned(p, row):
    """Return the model that is as sure in this row, of other classes."""
    probs = p.probs.copy()
    probs[row] = np.roll(probs[row], 1)
    return Predictions(probs, p.labels)


def _listed(claims):
    """Return the claims of each stratum in the order of the rows, as (score, outcome); or the whole vectors."""
    if not hasattr(claims, "stratum"):
        return claims.rows.array().tolist(), claims.labels.tolist()
    strata = [claims.stratum(s) for s in range(len(claims.strata))]
    codes = claims.codes.tolist() if hasattr(claims, "codes") else []
    return codes, [(each.scores.tolist(), each.outcomes.tolist()) for each in strata]
