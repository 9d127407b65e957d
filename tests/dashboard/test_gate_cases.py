"""`calib gate` on an audit's cases: four words, three exit codes, and a pass only with evidence."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.special import softmax
from score_laws import sample
from verdict_shares import more_than

import calib_core as cc
from calib_core.inference import gate_check
from calib_core.results.verdict_table import in_full
from dashboard.cli import main

WITHIN, NOT_WITHIN, COULD_NOT_RUN = 0, 1, 2
TOO_FEW, TOO_CLOSE = "too few rows to tell", "too close to call"


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def gate(frame, limit, *more):
    """Return exit code, standard output and standard error of the gate on a table."""
    frame.to_csv("g.csv", index=False)
    result = CliRunner().invoke(main, ["gate", "g.csv", "--max-ece", str(limit), *more], prog_name="calib")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def claims(confidence, correct, **columns):
    return pd.DataFrame({"confidence": confidence, "correct": np.asarray(correct).astype(int), **columns})


def matrix(p, labels, **columns):
    frame = pd.DataFrame(p, columns=[f"p_{j}" for j in range(p.shape[1])])
    return frame.assign(label=labels, **columns)


CONFIDENCE = ("--notion", "confidence")


@pytest.mark.parametrize(
    ("n", "off", "limit", "code", "word"),
    [
        (4000, 0.0, 0.05, WITHIN, "within"),
        (4000, 0.2, 0.05, NOT_WITHIN, "miscalibrated"),
        (60, 0.0, 0.05, NOT_WITHIN, TOO_FEW),
        (4000, 0.05, 0.05, NOT_WITHIN, TOO_CLOSE),
    ],
)
def test_four_words_two_codes(n, off, limit, code, word):
    rng = np.random.default_rng(0)
    h = rng.uniform(0.5, 0.95, n)
    ended, said, _ = gate(claims(h, rng.random(n) < h - off), limit, *CONFIDENCE)
    assert ended == code
    assert said.startswith(f"{'FAIL' if code else 'PASS'}: {in_full(word)}:")


@pytest.mark.parametrize("limit", ["0.001", "0.02", "0.09"])
def test_thirty_certain_rows_pass_no_small_limit(limit):
    ended, said, _ = gate(claims(np.ones(30), np.ones(30)), limit, *CONFIDENCE)
    assert ended == NOT_WITHIN
    assert said.startswith(f"FAIL: {TOO_FEW}")


@pytest.mark.parametrize("weight", ["1e305", "1e308"])
def test_weights_that_overflow_could_not_run(weight):
    """A model that is off by .169 passed with `weight,1e305` in every row."""
    rng = np.random.default_rng(0)
    h = rng.uniform(0.5, 0.95, 300)
    frame = claims(h, rng.random(300) < h - 0.17, weight=[weight] * 300)
    ended, said, why = gate(frame, 0.02, *CONFIDENCE, "--read", "weights=weight")
    assert (ended, said) == (COULD_NOT_RUN, "")
    assert "weight" in why
    assert "a mistake of the program" not in why


@pytest.mark.parametrize("weight", ["1e155", "1e-300"])
def test_weights_that_can_be_rescaled_are_or_could_not_run(weight):
    rng = np.random.default_rng(0)
    h = rng.uniform(0.5, 0.95, 300)
    frame = claims(h, rng.random(300) < h - 0.17, weight=[weight] * 300)
    ended, _, why = gate(frame, 0.02, *CONFIDENCE, "--read", "weights=weight")
    assert ended in (NOT_WITHIN, COULD_NOT_RUN)
    assert "a mistake of the program" not in why


@pytest.mark.parametrize("huge", [1e6, 1e12, 1e200])
def test_one_row_of_nearly_all_the_weight_passes_nothing(huge):
    weights = np.linspace(0.5, 1.5, 300)
    weights[0] = huge
    ended, _, why = gate(claims(np.full(300, 0.99), np.ones(300), weight=weights), 0.02, *CONFIDENCE,
                         "--read", "weights=weight")  # fmt: skip
    assert ended in (NOT_WITHIN, COULD_NOT_RUN)
    assert "a mistake of the program" not in why


def test_half_right_and_sure_of_it_in_a_hundred_classes_does_not_pass():
    rng = np.random.default_rng(0)
    n, said = 1000, rng.integers(100, size=1000)
    p = np.full((n, 100), 0.01 / 99)
    p[np.arange(n), said] = 0.99
    frame = matrix(p, np.where(rng.random(n) < 0.53, said, (said + 1) % 100))
    for notion in ("class-wise", "confidence", "top-label"):
        ended, text, _ = gate(frame, 0.02, "--notion", notion)
        assert ended == NOT_WITHIN, text


def test_one_group_of_different_scores_passes_nothing():
    """Nineteen rows of 50 % are all right, nineteen are certain and ten of them right: their mean cancels this."""
    right = [True] * 29 + [False] * 9
    code, out, _ = gate(claims([0.5] * 19 + [1.0] * 19, right), 0.25)
    assert (code, out.split(":")[0]) == (NOT_WITHIN, "FAIL")
    assert out.split(": ")[1] == TOO_FEW
    assert "0 to 22 %" in out
    assert "About 40 judged rows would be needed" in out
    # More rows are still one group if few of them differ: eight of 53 need 133 rows to count as twenty.
    code, out, _ = gate(claims([0.1] * 8 + [0.9] * 45, [1] + [0] * 7 + [1] * 41 + [0] * 4), 0.3)
    assert (code, out.split(":")[0]) == (NOT_WITHIN, "FAIL")
    assert out.split(": ")[1] == TOO_FEW
    assert "About 140 judged rows would be needed" in out
    code, out, _ = gate(claims([0.75] * 38, right), 0.25, "--accept", "constant")
    assert (code, *out.split(": ")[:2]) == (WITHIN, "PASS", in_full("within"))


def test_a_curve_inside_the_bins_is_an_open_warning():
    rng = np.random.default_rng(0)
    h = rng.random(8000)
    true = np.clip(h + 0.1 * np.sign(np.sin(2 * np.pi * 15 * h)), 0, 1)
    frame = claims(h, rng.random(8000) < true)
    ended, said, _ = gate(frame, 0.05, *CONFIDENCE)
    assert (ended, said.split(":")[0]) == (COULD_NOT_RUN, "UNDECIDED")
    assert "in 15 equal-width bins" in said
    assert "In 60 bins of equal width, the error is larger. Miscalibrated:" in said
    assert gate(frame, 0.05, *CONFIDENCE, "--bins", "60")[0] == NOT_WITHIN
    assert gate(frame, 0.05, *CONFIDENCE, "--accept", "within-bins")[0] == WITHIN
    # A summary has not all bins: finer ones are the nearest that it has.
    for off in (0.1, 0.0):
        true = np.clip(h + off * np.sign(np.sin(2 * np.pi * 10 * h)), 0, 1)
        kept = cc.Summary.of(cc.Predictions.from_confidence(h, rng.random(8000) < true))
        found = gate_check(kept, 0.05, "confidence", bins=10)
        assert [each.code for each in found.open] == (["few-bins", "within-bins"] if off else [])


def test_one_bin_in_which_errors_cancel_is_an_open_warning():
    """Confidences below .75 are .1 too low and those above .1 too high: one bin has no error."""
    rng = np.random.default_rng(0)
    h = rng.uniform(0.55, 0.95, 4000)
    off = claims(h, rng.random(4000) < h + np.where(h < 0.75, 0.1, -0.1))
    ended, said, _ = gate(off, 0.05, *CONFIDENCE, "--bins", "1")
    assert (ended, said.split(":")[0]) == (COULD_NOT_RUN, "UNDECIDED")
    assert "In the automatic bins, the result would be another. Miscalibrated:" in said
    assert "To judge in these bins, leave out --bins. To accept the warning, add --accept few-bins." in said
    right = claims(h, rng.random(4000) < h)
    assert gate(right, 0.05, *CONFIDENCE, "--bins", "1")[0] == WITHIN


def test_bins_give_no_false_alarm():
    """Errors of .02 everywhere, below the maximum of .06: no sample of 20 has a warning about its bins."""
    rng, warned = np.random.default_rng(0), 0
    for _ in range(20):
        h = rng.uniform(0.5, 0.95, 1500)
        rows = cc.Predictions.from_confidence(h, rng.random(1500) < h - 0.02)
        warned += len(gate_check(rows, 0.06, "confidence").open)
    assert warned == 0


@pytest.mark.wide
def test_a_thousand_classes_far_off_are_called_miscalibrated():
    drawn = sample("network", "shift .37", 1500, 1000, 0).drawn(np.random.default_rng(0))
    frame = matrix(drawn.probs, drawn.labels)
    for more in ((), CONFIDENCE):
        ended, said, _ = gate(frame, 0.02, *more)
        assert ended == NOT_WITHIN
        assert said.startswith("FAIL: miscalibrated:")


@pytest.mark.parametrize("limit", ["nan", "0", "-1", "inf", "-inf", "2", "x"])
def test_limits_that_are_none_are_refused(limit):
    ended, said, why = gate(claims([0.9] * 50, [1] * 45 + [0] * 5), limit, *CONFIDENCE)
    assert (ended, said) == (COULD_NOT_RUN, "")
    assert "--max-ece" in why


def test_no_rows_could_not_run():
    ended, said, why = gate(claims([], []), 0.1, *CONFIDENCE)
    assert (ended, said) == (COULD_NOT_RUN, "")
    assert why


@pytest.mark.wide
def test_two_hundred_calibrated_models_raise_few_alarms():
    alarms = 0
    one = sample("beta 5", "calibrated", 150, 10, 0)
    h = one.predictions.confidence
    for seed in range(200):
        ended, said, _ = gate(claims(h, one.drawn(np.random.default_rng(seed)).correct), 0.02, *CONFIDENCE)
        assert ended != COULD_NOT_RUN
        alarms += said.startswith("FAIL: miscalibrated")
    assert not more_than(alarms / 200, 200)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("n", [30, 100, 400])
@pytest.mark.parametrize("score", [1.0, 0.995])
def test_an_error_just_above_the_limit_rarely_passes(n, score):
    """For equal rows only the number of outcomes counts: the gate runs once per number."""
    rng, passed, known = np.random.default_rng(0), 0, {}
    for right in rng.binomial(n, score - 0.0204, 2000):
        if right not in known:
            known[right] = gate(claims(np.full(n, score), np.arange(n) < right), 0.02, *CONFIDENCE)[0]
        passed += known[right] == WITHIN
    assert not more_than(passed / 2000, 2000), passed / 2000


def test_a_ratio_that_cannot_be_judged_is_no_check():
    rng = np.random.default_rng(0)
    scores = rng.dirichlet(np.ones(3), 300)
    three = matrix(scores, [rng.choice(3, p=row) for row in scores])
    code, _, error = gate(three, 0.9, "--max-ratio", "1.25")
    assert code == COULD_NOT_RUN
    assert "--max-ratio" in error
    assert gate(three, 0.9)[0] != COULD_NOT_RUN
    risk = rng.random(300)
    two = pd.DataFrame({"risk": risk, "died": (rng.random(300) < risk).astype(int)})
    assert gate(two, 0.9, "--max-ratio", "1.9")[0] == WITHIN
    assert gate(two, 0.9, "--max-ratio", "1.9", *CONFIDENCE)[0] == COULD_NOT_RUN


def test_a_subset_that_is_far_off_is_named_beside_a_pass():
    """All rows pass at .1; class 3 is 15 points too likely, and the gate says so with its finding, also as JSON."""
    rng = np.random.default_rng(1)
    logits = 2 * rng.normal(size=(4000, 4))
    third = logits.argmax(axis=1) == 3
    true = softmax(logits - 0.8 * np.where(third[:, None], np.eye(4)[3], 0.0), axis=1)
    cases = {}
    for name, chances in (("off", true), ("right", softmax(logits, axis=1))):
        labels = np.array([rng.choice(4, p=row) for row in chances])
        frame = matrix(softmax(logits, axis=1), labels)
        _, text, _ = gate(frame, 0.1, "--judge", "all")
        record = json.loads(gate(frame, 0.1, "--judge", "all", "--format", "json")[1])
        cases[name] = text, record["checks"][0]["subset"], labels
    text, subset, labels = cases["off"]
    assert text.startswith("PASS")
    table = cc.findings(cc.Predictions(softmax(logits, axis=1), labels), by=())
    off = table[table["stands_out"] & (table["kind"] != "direction")]
    assert off["kind"].iloc[0] == "predicted class"
    assert subset == off["finding"].iloc[0]
    assert f"has a significant error: {subset} " in " ".join(text.split())
    assert "run calib show findings FILE." in text
    assert cases["right"][1] is None
    assert "with a significant error" not in cases["right"][0]
