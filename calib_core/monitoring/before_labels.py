"""Scores before their labels arrive: expected accuracy, shares of the classes, drift of the scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, rel_entr

from calib_core._base.arrays import Float64s
from calib_core._base.distributions import norm
from calib_core._base.errors import InputError, as_share, as_whole
from calib_core._base.notebook_display import OneLine
from calib_core.calibrators.label_shift import LabelShift, prior_shift
from calib_core.defaults import LEVEL, SIGNIFICANCE
from calib_core.inference.intervals.influence_functions import ConfidenceRows
from calib_core.monitoring.e_processes import SHIFTS, PeriodSums, evidence
from calib_core.monitoring.watched_model import HORIZON, MOST_PERIODS, label_of, place_of
from calib_core.predictions.predictions import Predictions
from calib_core.text import several, short_percent

_ENDS = np.array([0.001, 0.002, 0.005, 0.01, 0.02, 0.05])
EDGES = np.concatenate([_ENDS, np.arange(1, 10) / 10, 1 - _ENDS[::-1]])
"""Inner edges of the bins of scores, declared for all models: fine near 0 and 1, where many scores are."""
_STEPS = 60


@dataclass(frozen=True, eq=False, repr=False)
class ScoreDrift(OneLine):
    """Evidence after each period (log_e) that scores have another distribution than the reference.

    ``alarm_period`` is the first period with evidence of at least ``needed``, None without one. ``since`` is the period
    from which on a change explains the evidence best.
    """

    periods: tuple[str, ...]
    log_e: Float64s
    needed: float
    alarm_period: str | None
    since: str | None

    @property
    def sentence(self) -> str:
        """The result in words."""
        if self.alarm_period is None:
            return "The distribution of the scores does not differ significantly from that of the reference."
        return (
            f"Since about {self.since}, the distribution of the scores differs from that of the reference (first "
            f"significant at {self.alarm_period})."
        )

    def _line(self) -> str:
        return self.sentence


def score_drift(
    reference: ArrayLike,
    later: Mapping[str, ArrayLike],
    alpha: float = SIGNIFICANCE,
    horizon: int = HORIZON,
) -> ScoreDrift:
    """Test whether scores of later periods have the distribution of the reference, valid at every look.

    Parameters
    ----------
    reference : (n,) scores in [0, 1], such as those of the first period.
    later : scores of each period, by its label; call it again with more periods as they arrive.
    alpha : chance of a false alarm in a year of ``horizon`` periods.

    The share of the reference in each of 22 declared bins has an interval, by Chernoff's bound, jointly with chance 1 -
    alpha / 2. The evidence is the mean over bins and shifts of likelihood ratios of the later counts. It compares
    shifted shares with the nearest end of the interval, from each start k, with the weights of ``Watch``. An alarm is
    evidence of 2 / alpha. So the chance of a false alarm is at most alpha, however often one looks.

    Raises InputError for scores outside [0, 1], no scores, or more periods than a year has.

    What can mislead: rows have to be independent. A change of the scores is no error of them: patients can become
    sicker while the predictions stay calibrated. Predictions can also become wrong without any change of the scores.

    >>> rng = np.random.default_rng(0)
    >>> weeks = {str(k): rng.beta(2, 5 if k < 5 else 3, 500) for k in range(1, 9)}
    >>> found = score_drift(rng.beta(2, 5, 2000), weeks)
    >>> found.since, found.alarm_period
    ('5', '6')
    """
    as_share(alpha, "alpha")
    as_whole(horizon, "horizon", 1, MOST_PERIODS)
    labels = sorted({label_of(label) for label in later}, key=place_of)
    if len(labels) < len(later) or len(labels) > horizon:
        raise InputError(f"{len(later)} periods are given; they need different labels, and a year has {horizon}")
    by_label = {label_of(label): scores for label, scores in later.items()}
    first = _counts(reference, "the reference")
    low, high = _share_ends(first, math.log(4 * len(first) / alpha))
    counts = np.array([_counts(by_label[label], f"period {label}") for label in labels]).reshape(len(labels), -1)
    sums = _sums(counts, low, high)
    found = evidence(sums, None, horizon)
    reached = np.flatnonzero(found.log_e >= math.log(2 / alpha))
    alarm = len(reached) > 0
    return ScoreDrift(
        tuple(labels),
        found.log_e,
        2 / alpha,
        labels[int(reached[0])] if alarm else None,
        labels[int(found.starts[reached[-1]])] if alarm else None,
    )


def _counts(scores: ArrayLike, whose: str) -> Float64s:
    """Number of scores in each bin, (bins,)."""
    values = np.asarray(scores, dtype=np.float64).ravel()
    if not len(values) or not ((values >= 0) & (values <= 1)).all():
        raise InputError(f"the scores of {whose} have to be one or more numbers from 0 to 1")
    found = np.bincount(np.searchsorted(EDGES, values, side="right"), minlength=len(EDGES) + 1)
    return found.astype(np.float64)


def _share_ends(counts: Float64s, bound: float) -> tuple[Float64s, Float64s]:
    """Ends of the share of each bin: where n kl(observed, share) reaches ``bound`` (Chernoff), by bisection."""
    n = counts.sum()
    observed = counts / n
    ends = []
    for outer in (0.0, 1.0):
        inside, outside = observed.copy(), np.full(len(counts), outer)
        for _ in range(_STEPS):
            middle = (inside + outside) / 2
            far = n * (rel_entr(observed, middle) + rel_entr(1 - observed, 1 - middle)) >= bound
            outside, inside = np.where(far, middle, outside), np.where(far, inside, middle)
        ends.append(outside)
    return ends[0], ends[1]


def _sums(counts: Float64s, low: Float64s, high: Float64s) -> PeriodSums:
    """Sums of periods (T,) whose log factors are those of each bin and shift, (T, bins * shifts)."""
    n = counts.sum(axis=1, keepdims=True)
    parts = []
    for shift in SHIFTS:
        base = high if shift > 0 else low
        inside = (base > 0) & (base < 1)
        p = np.where(inside, base, 0.5)
        shifted = logit(p) + shift
        happened = np.log(expit(shifted)) - np.log(p)
        not_happened = np.log(expit(-shifted)) - np.log1p(-p)
        parts.append(np.where(inside, counts * happened + (n - counts) * not_happened, 0.0))
    zeros = np.zeros(len(counts))
    return PeriodSums(n[:, 0], zeros, zeros, zeros, np.zeros((len(counts), 1)), np.concatenate(parts, axis=1))


@dataclass(frozen=True, eq=False, repr=False)
class BeforeLabels(OneLine):
    """Results for ``rows`` without labels under assumptions; none of it is a verdict on calibration.

    ``expected`` is the mean of the scores: the accuracy (or the share of the event) if the predictions are calibrated.
    ``low`` to ``high`` is where the observed one then is at ``level``. ``shift`` are the shares of the classes if only
    these have changed; None where they cannot be estimated, for the reason ``why``. ``drift`` compares the scores with
    those of the labeled rows.
    """

    rows: int
    event: bool
    expected: float
    low: float
    high: float
    level: float
    shift: LabelShift | None
    why: str
    drift: ScoreDrift

    @property
    def sentences(self) -> tuple[str, ...]:
        """The results with their assumptions, a sentence or two each."""
        what = "the event happens in" if self.event else "the predicted class is right in"
        ends = f"{short_percent(self.low)} to {short_percent(self.high)}"
        shares = self.why
        if self.shift is not None:
            shares = f"If only the shares of the classes have changed: {' '.join(self.shift.sentences)}"
        return (
            f"If the predictions are still calibrated, {what} {short_percent(self.expected)} of these rows ({ends}).",
            shares,
            self.drift.sentence,
            "Only outcomes show whether the predictions are still calibrated.",
        )

    def _line(self) -> str:
        return f"{several(self.rows)} without labels. {' '.join(self.sentences)}"


def before_labels(
    labeled: Predictions,
    later: Mapping[str, ArrayLike],
    level: float = LEVEL,
    alpha: float = SIGNIFICANCE,
    horizon: int = HORIZON,
) -> BeforeLabels:
    """Return what rows without labels show about a model, before their outcomes are known.

    Parameters
    ----------
    labeled : rows whose outcomes are known, with probabilities of every class, such as those of the release.
    later : probabilities (m, K) of rows without labels of each period, by its label.
    level : level of the intervals of the expected accuracy and of the shares.
    alpha, horizon : as in ``score_drift``.

    Expected accuracy: the mean score s, -+ z sqrt(sum s (1 - s)) / m. Shares of the classes: ``prior_shift``, from all
    later rows together. Raises InputError for other numbers of classes and as ``score_drift`` does.

    What can mislead: each sentence names its assumption, and none of them can be checked without labels.

    >>> rng = np.random.default_rng(0)
    >>> risk = rng.uniform(0.1, 0.5, 1500)
    >>> labeled = Predictions(np.column_stack([1 - risk, risk]), (rng.random(1500) < risk).astype(int))
    >>> found = before_labels(labeled, {"2026-10": labeled.probs[:400]})
    >>> print(found.sentences[0])
    If the predictions are still calibrated, the event happens in 31 % of these rows (28 % to 35 %).
    """
    as_share(level, "level")
    event = labeled.event
    parts = {label: np.asarray(probs, dtype=np.float64) for label, probs in later.items()}
    k = labeled.n_classes
    for label, probs in parts.items():
        if probs.ndim != 2 or probs.shape[1] != k or not len(probs):
            raise InputError(f"period {label} needs probabilities of {k} classes for one or more rows")
    if not parts:
        raise InputError("give the rows of at least one period")
    scores = {label: probs.max(axis=1) if event is None else probs[:, event] for label, probs in parts.items()}
    together = np.concatenate(list(scores.values()))
    half = float(norm.isf((1 - level) / 2)) * math.sqrt(float((together * (1 - together)).sum())) / len(together)
    expected, shift, why = float(together.mean()), None, ""
    try:
        shift = prior_shift(labeled, np.concatenate(list(parts.values())), level).shift
    except InputError as reason:
        why = f"Shares of the classes cannot be estimated: {reason}."
    return BeforeLabels(
        len(together),
        event is not None,
        expected,
        max(expected - half, 0.0),
        min(expected + half, 1.0),
        level,
        shift,
        why,
        score_drift(ConfidenceRows.ranked(labeled).h, scores, alpha, horizon),
    )
