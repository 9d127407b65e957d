"""Frequencies of verdicts over distributions of scores and truths on either side of the tolerance."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import sample_sizes
from scipy.stats import binom
from score_laws import sample, seed_of

from calib_core import estimate
from calib_core.inference import on_scale_of, spiegelhalter

WORDS = ("within", "miscalibrated", "too close to call", "too few rows to tell")
SETS = 4


@dataclass
class Shares:
    """Counts of words over ``runs``, and 5 % rejection rates of the line's own test and of Spiegelhalter's.

    ``half_within`` counts runs that an interval of half the width would have called within: the falsified twin.
    """

    runs: int = 0
    words: Counter = field(default_factory=Counter)
    rejected: int = 0
    spiegelhalter: int = 0
    alarms: int = 0
    half_within: int = 0
    by_set: dict = field(default_factory=dict)

    def share(self, word):
        """Return the share of runs with this word."""
        return self.words[word] / self.runs


def judge(law, truth, n, k=10, notion="confidence", key="ece", eps=0.02, runs=300, tests=True):
    """Return verdicts of ``runs`` models of one distribution and truth, over four sets of predictions in turn.

    If all claims are equal, a verdict depends only on the number of outcomes: it is computed once per number.
    """
    seed, found, known = seed_of("verdict", law, truth, n, k, notion, key, eps), Shares(), {}
    sets = [sample(law, truth, n, k, i) for i in range(SETS)]
    for run in range(runs):
        s = run % SETS
        drawn = sets[s].drawn(np.random.default_rng([seed, run]))
        alike = notion == "confidence" and np.ptp(drawn.confidence) == 0
        what = int(drawn.correct.sum()) if alike else run
        if what not in known:
            with sample_sizes.left_out():
                known[what] = _judged(drawn, notion, key, eps, tests)
        word, rejected, scored, half = known[what]
        found.runs += 1
        found.words[word] += 1
        found.rejected += rejected
        found.spiegelhalter += scored
        found.alarms += word == "miscalibrated" or rejected
        found.half_within += half
        found.by_set.setdefault(s, Counter())[word] += 1
    return found


def _judged(predictions, notion, key, eps, tests):
    made = estimate(predictions, notion, key)
    span, limit = made.interval(), on_scale_of(made, eps)
    half = span.point + (span.high - span.point) / 2 < limit
    rejected = tests and made.noise_floor.p_value <= 0.05
    # With top labels only, the whole prediction is the claim.
    scored = tests and predictions.kind == "full" and spiegelhalter(predictions).p_value <= 0.05
    return made.verdict(eps).word, bool(rejected), bool(scored), bool(half)


def more_than(share, runs, allowed=0.05, chance=0.01):
    """Return True if ``runs`` show (up to an error of ``chance``) that a frequency exceeds the allowed one."""
    return binom.sf(round(share * runs) - 1, runs, allowed) < chance


def less_than(share, runs, wanted, chance=0.01):
    """Return True if ``runs`` show (up to an error of ``chance``) that a frequency is below the wanted one."""
    return wanted > 0 and binom.cdf(round(share * runs), runs, min(wanted, 1.0)) < chance
