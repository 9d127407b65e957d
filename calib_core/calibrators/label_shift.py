"""Prior shift: probabilities for other shares of the classes, which are known, or estimated from unlabeled rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import chdtrc

from calib_core._base.arrays import Float64s, safe_log
from calib_core._base.distributions import norm
from calib_core._base.errors import as_share
from calib_core._base.notebook_display import OneLine
from calib_core._base.parallel import Progress, one_blas_thread
from calib_core._base.sklearn_api import check_is_fitted
from calib_core.calibrators import linear_maps
from calib_core.calibrators.base import CALIBRATORS, Calibrator, Contract
from calib_core.calibrators.calibration_rows import as_rows
from calib_core.calibrators.fitting.softmax_loss import LogRows
from calib_core.calibrators.insides import Insides, Number, NumberGrid, Profile, class_names
from calib_core.defaults import LEVEL, SIGNIFICANCE
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.registry.registry import Distribution
from calib_core.summaries.counted_claims import NEEDS_ROWS
from calib_core.summaries.mergeable import Summary
from calib_core.text import chance, first_few, points, short_percent

_STEPS, _FURTHEST, _NEAR, _REACHED = 200, 5.0, 1e-13, 1e-9
"""Newton steps, the largest move of an offset in one of them, and gaps of shares at which to stop and to be content."""
_EM_STEPS, _STILL = 100_000, 1e-11
_SINGULAR = 1e-10

NOTES = {
    "absent": "a class never occurs, so its share has no estimate: half a row was added to each class.",
    "not converged": "the fit stopped before the mean probabilities equaled the shares of the classes.",
}
"""Caveats by ``status_``."""


@dataclass(frozen=True, eq=False, repr=False)
class LabelShift(OneLine):
    """Shares of the classes among unlabeled rows, estimated in two ways, and whether these agree.

    ``source`` are the shares among the labeled rows, ``target`` those estimated by maximum likelihood, with intervals
    ``low`` to ``high`` at ``level``, all (K,). ``by_predicted`` (K,) is the check by predicted classes, NaN if there is
    none; it can be below 0. ``confusion`` (K, K) is the share of labeled rows of each class (column) with each
    predicted class (row). ``smallest`` is its smallest singular value, ``noise`` how large that is by chance if the
    true one is 0, ``condition`` its condition number. ``p`` is that of the difference between both estimates.
    """

    source: Float64s
    target: Float64s
    low: Float64s
    high: Float64s
    by_predicted: Float64s
    confusion: Float64s
    smallest: float
    noise: float
    condition: float
    p: float
    level: float
    names: tuple[str, ...]

    @property
    def identified(self) -> bool:
        """True if predicted classes can show the shares: the confusion matrix is farther from singular than noise."""
        return self.smallest > self.noise

    @property
    def distance(self) -> float:
        """Total variation distance between both estimates, in [0, 1] for proper shares; NaN without the check."""
        return float(0.5 * np.abs(self.target - self.by_predicted).sum())

    @property
    def sentences(self) -> tuple[str, ...]:
        """The largest change of a share, and the result of the check, as two sentences."""
        k = int(np.abs(self.target - self.source).argmax())
        ends = f"{short_percent(self.low[k])} to {short_percent(self.high[k])}"
        change = (
            f"The share of {self.names[k]} changes from {short_percent(self.source[k])} to "
            f"{short_percent(self.target[k])} ({ends})."
        )
        never = [self.names[i] for i in np.flatnonzero(self.confusion.sum(axis=1) <= 0)]
        if never:
            return change, (
                f"No labeled row is predicted as {first_few(never)}, so predicted classes cannot check the shares."
            )
        if not self.identified:
            return change, (
                f"Predicted classes cannot check the shares: the smallest singular value of the confusion matrix, "
                f"{self.smallest:.2g}, could be noise (up to {self.noise:.2g})."
            )
        apart = f"{points(self.distance)} apart ({chance(self.p)})"
        if self.p <= SIGNIFICANCE:
            return change, (
                f"The check by predicted classes contradicts it, {apart}. Either more than the shares changed, or the "
                "probabilities are not calibrated on the labeled rows."
            )
        return change, f"The check by predicted classes agrees with it, {apart}."

    def frame(self) -> pd.DataFrame:
        """One line per class: its share in the source, in the target with interval, and by predicted classes."""
        return pd.DataFrame(
            {
                "class": pd.Series(self.names, dtype=object),
                "source": self.source,
                "target": self.target,
                "low": self.low,
                "high": self.high,
                "by_predicted": self.by_predicted,
            }
        )

    def _line(self) -> str:
        return " ".join(self.sentences)


@CALIBRATORS.register(
    "prior-shift",
    "Prior shift",
    reference="Saerens et al. 2002",
    flags=Contract(
        "full",
        keeps_argmax=False,
        sums_to_one=True,
        profile=Profile("scaling", "Changes the shares of the classes that the model assumes.", rows=(0, 50, 0)),
    ),
)
@dataclass(eq=False, repr=False)
class PriorShift(Calibrator):
    """Multiplies each class's probability by the ratio of its new share to its old one, and divides by the sum.

    q_k = (p_k t_k / s_k) / sum_j p_j t_j / s_j. Here s are the shares of the classes the model was made for, t those of
    the rows it is used on. If only the shares change, and not how rows of a class look, calibrated p become calibrated
    q (Bayes' rule). The odds of two classes change by one factor for all rows, so their order among rows stays.

    - With ``target``, t is as given, one share per class, and s are the label frequencies of the calibration rows.
    - Without it, t are the label frequencies of the calibration rows. The ratio t / s is the one for which the mean of
      q equals t, which has the largest likelihood. For two classes it is the intercept update. If a class never
      occurs, half a row is added to each class (``status_`` is then "absent").
    - ``prior_shift`` estimates t from unlabeled rows, and returns this calibrator with ``shift``, the evidence.

    ``source_`` and ``target_`` (K,) are s and t. Probabilities below 2^-52 count as that number. Raises InputError if
    ``target`` does not have one share per class, or has one for a class without calibration rows. Raises NotAnswerable
    above 2,000 classes without ``target``.

    What can mislead: with ``target``, p has to be calibrated on rows with the shares s; put temperature scaling first
    if it is not (``ts+prior-shift``). It corrects a change of the shares only: if rows of a class look different now,
    the result is wrong by an unknown amount.

    References: Saerens, Latinne & Decaestecker 2002, eq. 4 (known shares).

    >>> cal = PriorShift(target=(0.5, 0.5)).fit([[0.8, 0.2]] * 10, [0] * 8 + [1] * 2)
    >>> cal.predict_proba([[0.8, 0.2], [0.5, 0.5]]).round(6).tolist()
    [[0.5, 0.5], [0.2, 0.8]]
    >>> PriorShift().fit([[0.5, 0.5]] * 10, [0] * 8 + [1] * 2).predict_proba([[0.5, 0.5]]).round(6).tolist()
    [[0.8, 0.2]]
    """

    target: Annotated[
        tuple[float, ...], Distribution(), "New shares", "share of each class where the model is used; empty: as here"
    ] = ()

    def _fit(self, predictions: Predictions, progress: Progress) -> None:
        for name in _EVIDENCE:
            self.__dict__.pop(name, None)  # of an earlier fit
        k = predictions.rows.shape[1]
        weights = np.ones(predictions.n_rows) if predictions.weights is None else as_rows(predictions.weights)
        counts = np.bincount(predictions.true_labels, weights, k).astype(np.float64)
        self.status_ = "known"
        if self.target:
            self.source_, self.target_ = counts / counts.sum(), _known(self.target, counts)
            return
        if k > linear_maps.MOST_CLASSES:
            raise NotAnswerable(
                f"{k:,} classes are too many to match the shares of all (at most {linear_maps.MOST_CLASSES:,}); give "
                "the new shares as target"
            )
        absent = bool((counts == 0).any())
        counts = counts + 0.5 * absent
        self.target_ = counts / counts.sum()
        with one_blas_thread():
            offsets, gap = _matched(predictions, weights / weights.sum(), self.target_, progress)
        source = np.log(self.target_) - offsets
        self.source_ = np.exp(source - np.logaddexp.reduce(source))
        self.status_ = "not converged" if gap > _REACHED else "absent" if absent else "converged"

    @property
    def shift(self) -> LabelShift | None:
        """The evidence for the shares, if ``prior_shift`` estimated them from unlabeled rows."""
        check_is_fitted(self)
        if "low_" not in vars(self):
            return None
        names = tuple(map(str, self.names_))
        spread = np.linalg.svd(self.confusion_, compute_uv=False)
        condition = float(spread[0] / spread[-1]) if spread[-1] > 0 else np.inf
        return LabelShift(
            self.source_, self.target_, self.low_, self.high_, self.by_predicted_, self.confusion_, float(spread[-1]),
            float(self.noise_), condition, float(self.p_), float(self.level_), names,
        )  # fmt: skip

    @property
    def note(self) -> str:
        shift = self.shift
        return NOTES.get(self.status_, "") if shift is None else shift.sentences[-1]

    def insides(self, names: Sequence[str] = ()) -> Insides:
        check_is_fitted(self)
        classes = class_names(names, len(self.target_))
        k = int(np.abs(self.target_ - self.source_).argmax())
        changed = f"{short_percent(self.source_[k])} to {short_percent(self.target_[k])}"
        factors = self.offsets
        return Insides(
            f"{classes[k]}: {changed}",
            "Multiplies the probability of each class by its new share over its old one, and divides by the sum.",
            lambda: [
                Number(name, float(value), of)
                for name, values in (("old share", self.source_), ("new share", self.target_), ("offset", factors))
                for of, value in zip(classes, values, strict=True)
            ],
            (NumberGrid("Offsets", factors[:, None], "class", classes, "", ("",), 0.0),),
        )

    @property
    def offsets(self) -> Float64s:
        """Numbers added to log-probabilities, (K,): log(t / s), kept finite so that every export can state them."""
        tiny = np.finfo(np.float64).tiny
        return np.asarray(
            np.log(np.maximum(self.target_, tiny)) - np.log(np.where(self.target_ > 0, self.source_, 1.0))
        )

    def _apply(self, predictions: Predictions, progress: Progress) -> Predictions:
        source, offsets = LogRows.log_probabilities(predictions), self.offsets
        return predictions.with_probs(linear_maps.mapped(source, predictions, lambda x: x + offsets, progress))


_EVIDENCE = ("low_", "high_", "by_predicted_", "confusion_", "noise_", "p_", "level_", "names_")


def _known(target: Sequence[float], counts: Float64s) -> Float64s:
    shares = np.asarray(target, dtype=np.float64)
    if len(shares) != len(counts):
        raise InputError(f"target has {len(shares)} shares, but there are {len(counts)} classes; give one per class")
    unseen = np.flatnonzero((counts == 0) & (shares > 0))
    if len(unseen):
        raise InputError(
            f"class {unseen[0]} has no calibration rows, so its old share is unknown; give it the target share 0, or "
            "add rows of it"
        )
    return np.asarray(shares / shares.sum())


def _matched(
    predictions: Predictions, weights: Float64s, shares: Float64s, progress: Progress
) -> tuple[Float64s, float]:
    """Offsets (K,) for which the weighted mean of softmax(log p + offsets) equals these shares, and the largest gap.

    They maximize the concave function shares . b - sum_i w_i log sum_k p_ik exp(b_k), by Newton's method.
    """
    k = len(shares)

    def expanded(b: Float64s) -> tuple[float, Float64s, Float64s]:
        value, mean, square = float(shares @ b), np.zeros(k), np.zeros((k, k))
        for where, block in predictions.rows.blocks():
            z = safe_log(block.astype(np.float64)) + b
            top = z.max(axis=1, keepdims=True)
            q = np.exp(z - top)
            sums = q.sum(axis=1, keepdims=True)
            q /= sums
            w = weights[where]
            value -= float(w @ (top + np.log(sums))[:, 0])
            mean += w @ q
            square += q.T @ (q * w[:, None])
        progress(0)
        return value, mean, np.diag(mean) - square

    offsets = np.zeros(k)
    value, mean, curvature = expanded(offsets)
    for _ in range(_STEPS):
        gap = shares - mean
        if np.abs(gap).max() <= _NEAR:
            break
        # All offsets moved together change nothing: the ones take that direction away.
        step = np.linalg.solve(curvature + 1.0 / k + 1e-14 * np.eye(k), gap)
        step *= min(1.0, _FURTHEST / np.abs(step).max())
        for _ in range(40):
            found = expanded(offsets + step)
            if found[0] >= value - 1e-15 * (1.0 + abs(value)):
                break
            step /= 2.0
        else:
            break
        moved = np.abs(shares - found[1]).max() < np.abs(gap).max() or found[0] > value
        offsets, (value, mean, curvature) = offsets + step, found
        if not moved:
            break
    return offsets, float(np.abs(shares - mean).max())


# -- unlabeled rows ---------------------------------------------------------------------------------------------


def prior_shift(source: Predictions, target: Predictions | ArrayLike, level: float = LEVEL) -> PriorShift:
    """Return a prior shift fitted on labeled rows, to the shares of the classes estimated from unlabeled rows.

    Parameters
    ----------
    source : labeled rows with probabilities of every class, calibrated, which give the old shares s.
    target : unlabeled rows, as probabilities (m, K) or predictions, whose labels are not read.
    level : level of the intervals of the shares.

    The shares t have the largest likelihood sum_j log sum_k p_jk t_k / s_k, found by expectation maximization. In each
    step t becomes the mean of q, until it no longer moves. No step lowers the likelihood. Intervals are normal ones,
    from the curvature of the likelihood and the noise of s.

    The check counts predicted classes instead: C t = mu. C are the shares of predicted classes among labeled rows of
    each class, mu those among the target rows. Both estimates are consistent if only the shares changed and p is
    calibrated on the source. The check does not need the latter. If they differ by more than noise (a Wald test that
    knows that both use the same rows), the shift is doubtful. C shows nothing if it is nearly singular. Then its
    smallest singular value is below what noise makes of 0, for example because a class is never predicted.

    ``shift`` of the result has the shares, their intervals, the check and its p-value (``LabelShift``), ``note`` says
    the latter in a sentence. Raises InputError for other numbers of classes, and for a class without labeled rows.

    What can mislead: agreement leaves changes possible that predicted classes do not show, such as a class that looks
    like another one now. Intervals of shares near 0 are rough, and rows of a group count as independent.

    References: Saerens, Latinne & Decaestecker 2002, §2.2 (EM); Lipton, Wang & Smola 2018, §3-4 (check).

    >>> rows = np.array([[0.9, 0.1], [0.1, 0.9]])
    >>> labeled = Predictions(np.repeat(rows, 50, axis=0), [0] * 45 + [1] * 5 + [0] * 5 + [1] * 45)
    >>> moved = prior_shift(labeled, np.repeat(rows, [140, 60], axis=0))
    >>> moved.shift.target.round(3).tolist(), moved.shift.by_predicted.round(3).tolist()
    ([0.75, 0.25], [0.75, 0.25])
    >>> moved.predict_proba(rows).round(3).tolist()
    [[0.964, 0.036], [0.25, 0.75]]
    """
    as_share(level, "level")
    if source.grain == "counts" or isinstance(target, Summary):
        raise NotAnswerable(NEEDS_ROWS.format("estimating the shares of the classes"))
    labeled, rows = source.answered, _target_rows(target)
    if labeled.kind != "full":
        raise NotAnswerable("a prior shift needs the probability of every class of the labeled rows")
    k = labeled.rows.shape[1]
    if rows.rows.shape[1] != k:
        raise InputError(f"the unlabeled rows have {rows.rows.shape[1]} classes, and the labeled rows {k}")
    classes = class_names(labeled.class_names or (), k)
    weights = _weights(labeled)
    shares = np.bincount(labeled.true_labels, weights, k).astype(np.float64)
    if not shares.all():
        absent = [classes[i] for i in np.flatnonzero(shares == 0)]
        raise InputError(f"no labeled row is of class {first_few(absent)}, so its share cannot be estimated")
    p, w = rows.rows.array().astype(np.float64), _weights(rows)
    with one_blas_thread():
        target_shares = estimated_shares(p, w, shares)
        shifted = PriorShift(target=tuple(target_shares.tolist())).fit_on(source)
        found = _evidence(shifted, labeled, weights, p, w, level)
    vars(shifted).update(found, names_=classes)
    return shifted


def _target_rows(target: Predictions | ArrayLike) -> Predictions:
    if isinstance(target, Predictions):
        if target.kind != "full":
            raise NotAnswerable("a prior shift needs the probability of every class of the unlabeled rows")
        return target.answered
    values = np.asarray(target)
    return Predictions(values, np.zeros(len(values), dtype=np.intp))


def _weights(rows: Predictions) -> Float64s:
    """Weights of rows that sum to 1."""
    w = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    return np.asarray(w / w.sum())


def estimated_shares(rows: Float64s, weights: Float64s, source: Float64s) -> Float64s:
    """Shares (K,) of largest likelihood sum_j w_j log sum_k p_jk t_k / s_k, by expectation maximization.

    >>> estimated_shares(np.eye(2)[[0, 0, 0, 1]], np.full(4, 0.25), np.array([0.5, 0.5])).tolist()
    [0.75, 0.25]
    """
    shares = source
    for _ in range(_EM_STEPS):
        ratio = shares / source
        following = ratio * ((weights / (rows @ ratio)) @ rows)
        following /= following.sum()
        still = bool(np.abs(following - shares).max() <= _STILL)
        shares = following
        if still:
            break
    return np.asarray(shares)


def _evidence(
    shifted: PriorShift, labeled: Predictions, weights: Float64s, p: Float64s, w: Float64s, level: float
) -> dict[str, object]:
    """Return the intervals, the check by predicted classes and the test that both agree, by attribute.

    First-order influences of single rows. With r = t / s the likelihood's equation is E[v] = s, v = p / (p . r).
    Then dr = H^-1 (dv - ds) with H = E[v v'], and dt = s dr + r ds. The check has dt = C^-1 (dmu - dC t).
    """
    s, t = np.asarray(shifted.source_), np.asarray(shifted.target_)
    k, ratio = len(s), t / s
    label, predicted = labeled.true_labels, labeled.predicted
    confusion = np.bincount(predicted * k + label, weights, k * k).reshape(k, k) / s
    squares = np.bincount(label, np.square(weights), k) / np.square(s)
    noise = float(np.sqrt(np.maximum(1.0 - np.square(confusion).sum(axis=0), 0.0) @ squares))
    v = p / (p @ ratio)[:, None]
    onto = s[:, None] * np.linalg.pinv(v.T @ (v * w[:, None]), rcond=_SINGULAR, hermitian=True)
    of_target, of_source = (v - s) @ onto.T, (np.eye(k)[label] - s) @ (np.diag(ratio) - onto).T
    spread = _covariance(of_target, w) + _covariance(of_source, weights)
    half = float(norm.isf((1.0 - level) / 2)) * np.sqrt(np.diag(spread))
    found = {
        "low_": np.clip(t - half, 0.0, 1.0), "high_": np.clip(t + half, 0.0, 1.0), "confusion_": confusion,
        "noise_": noise, "level_": float(level), "by_predicted_": np.full(k, np.nan), "p_": float("nan"),
    }  # fmt: skip
    if np.linalg.svd(confusion, compute_uv=False)[-1] <= _SINGULAR:
        return found
    classes, back = p.argmax(axis=1), np.linalg.inv(confusion)
    seen = np.bincount(classes, w, k).astype(np.float64)
    checked = back @ seen
    of_target = of_target - (np.eye(k)[classes] - seen) @ back.T
    of_source = of_source + ((np.eye(k)[predicted] - confusion.T[label]) * (checked / s)[label][:, None]) @ back.T
    apart = np.linalg.pinv(_covariance(of_target, w) + _covariance(of_source, weights), rcond=1e-8, hermitian=True)
    p_value = float(chdtrc(k - 1, float((t - checked) @ apart @ (t - checked))))
    return found | {"by_predicted_": checked, "p_": p_value}


def _covariance(influences: Float64s, weights: Float64s) -> Float64s:
    """Covariance (K, K) of a weighted mean of independent rows' influences (n, K)."""
    mine = influences * weights[:, None]
    return np.asarray(mine.T @ mine)
