"""Updates of a predicted risk: a new intercept, or intercept and slope, for all rows or by a column's values.

Log-odds of the event in a row of value v: eta + z . u_v, with eta the common update and u_v (k,) normal around 0 with
standard deviations tau (k,). The value of tau maximizes the marginal likelihood (Laplace's approximation, as for mixed
models), and u_v is the mode given tau. If the values agree within noise, tau and all offsets are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import expit

from calib_core._base.arrays import Bools, Codes, Float64s, safe_log
from calib_core._base.pandas_input import Column, coded_texts, rows_of, span_ends, span_words
from calib_core._base.parallel import Progress
from calib_core._base.sklearn_api import check_is_fitted
from calib_core.calibrators.base import CALIBRATORS, Calibrator, Contract
from calib_core.calibrators.calibration_rows import as_rows
from calib_core.calibrators.fitting.logistic import balanced_intercept, firth_intercept, firth_line, fit_increasing
from calib_core.calibrators.insides import Insides, Number, Profile, class_names
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.registry.registry import Text
from calib_core.text import count, score, several

_STEPS = 50
_NEAR, _ROUGH = 1e-10, 1e-5
_LOW, _HIGH = -5.0, 1.5
"""Range of the logarithms of standard deviations tried."""


@dataclass(frozen=True, eq=False)
class _Values:
    """Rows of one column: common log-odds (n,), design of the offsets (k, n), outcomes, weights, codes of values."""

    eta: Float64s
    design: Float64s
    outcomes: Bools
    rows: Float64s
    codes: Codes
    values: int

    def offsets(self, tau: Float64s, start: Float64s | None = None, near: float = _NEAR) -> tuple[Float64s, float]:
        """Modes (V, k) for these standard deviations, and the log marginal likelihood; a 0 drops its offset."""
        able = np.flatnonzero(tau > 0)
        found = np.zeros((self.values, len(tau)))
        if not len(able):
            return found, self._likelihood(self.eta)
        design, precision = self.design[able], np.diag(tau[able] ** -2.0)
        u = np.zeros((self.values, len(able))) if start is None else start[:, able].copy()
        for _ in range(_STEPS):
            score, information = self._curvature(design, u)
            step = np.linalg.solve(information + precision, (score - u @ precision)[:, :, None])[:, :, 0]
            u += np.clip(step, -1.0, 1.0)
            if np.abs(step).max() <= near:
                break
        information = self._curvature(design, u)[1]
        spread = np.eye(len(able)) + (tau[able] ** 2.0)[:, None] * information
        marginal = self._likelihood(self._at(design, u)) - 0.5 * float(np.sum(np.square(u / tau[able])))
        found[:, able] = u
        return found, marginal - 0.5 * float(np.linalg.slogdet(spread)[1].sum())

    def _at(self, design: Float64s, u: Float64s) -> Float64s:
        return np.asarray(self.eta + np.einsum("kn,nk->n", design, u[self.codes]))

    def _curvature(self, design: Float64s, u: Float64s) -> tuple[Float64s, Float64s]:
        """Score (V, k) and information (V, k, k) of each value's rows."""
        eta = self._at(design, u)
        p, q = expit(eta), expit(-eta)
        away, spread, k = self.rows * np.where(self.outcomes, q, -p), self.rows * p * q, len(design)
        score = np.stack([self._summed(away * z) for z in design], axis=1)
        pairs = [[self._summed(spread * design[i] * design[j]) for j in range(k)] for i in range(k)]
        return score, np.moveaxis(np.array(pairs), -1, 0)

    def _summed(self, terms: Float64s) -> Float64s:
        return np.bincount(self.codes, terms, self.values).astype(np.float64)

    def _likelihood(self, eta: Float64s) -> float:
        return -float(np.sum(self.rows * np.logaddexp(0.0, np.where(self.outcomes, -eta, eta))))

    def limited(self, fixed: Float64s, shifts: Float64s) -> Float64s:
        """Shifts (V,), each limited to one standard error around the estimate from its own rows."""
        nearer = shifts.copy()
        ends = np.cumsum(np.bincount(self.codes, minlength=self.values))[:-1]
        for v, mine in enumerate(np.split(np.argsort(self.codes, kind="stable"), ends)):
            own = firth_intercept(fixed[mine], self.outcomes[mine], self.rows[mine])
            around = fixed[mine] + own
            error = float(np.sum(self.rows[mine] * expit(around) * expit(-around))) ** -0.5
            nearer[v] = np.clip(shifts[v], own - error, own + error)
        return nearer


def pooled_offsets(
    eta: Float64s, design: Float64s, outcomes: Bools, rows: Float64s, codes: Codes, values: int
) -> tuple[Float64s, Float64s]:
    """Partially pooled offsets (V, k) of the values, and their standard deviations tau (k,).

    ``design`` is (k, n), with ones in its first row: a shift first, then (for k = 2) a change of slope. Every shift is
    limited to one standard error around the estimate from the value's own rows (with Jeffreys' prior). Many values
    without an error therefore do not mask one with a large error (Efron & Morris 1972).

    References: Efron & Morris 1972, JASA 67 (limited translation); Breslow & Clayton 1993, JASA 88.
    """
    column = _Values(eta, design, outcomes, rows, codes, values)
    k = len(design)
    tau, best = np.zeros(k), column.offsets(np.zeros(k))[1]

    modes = np.zeros((values, k))

    def minus(logs: Float64s) -> float:
        # The modes for the last standard deviations are near those for the next, a step or two away.
        tried = np.exp(np.clip(np.append(logs, np.full(k - len(logs), -np.inf)), None, _HIGH))
        modes[:], marginal = column.offsets(tried, modes, _ROUGH)
        return -marginal

    shift = scipy.optimize.minimize_scalar(
        lambda log: minus(np.array([log])), bounds=(_LOW, _HIGH), method="bounded", options={"xatol": 1e-4}
    )
    if -shift.fun > best:
        tau, best = np.append(np.exp(shift.x), np.zeros(k - 1)), -shift.fun
    if k > 1:
        start = np.array([shift.x, -1.0])
        both = scipy.optimize.minimize(
            minus, start, method="Nelder-Mead", options={"xatol": 1e-2, "fatol": 1e-5, "maxfev": 80}
        )
        if -both.fun > best:
            tau = np.exp(np.minimum(both.x, _HIGH))
    offsets = column.offsets(tau)[0]
    if tau[0] > 0:
        fixed = eta + np.einsum("kn,nk->n", design[1:], offsets[codes, 1:])
        offsets[:, 0] = column.limited(fixed, offsets[:, 0])
    return offsets, tau


MOST_VALUES = 1000
"""Maximum number of values with separate updates; a column with more values identifies rows."""

NOTES = {
    "separated": "all outcomes are equal, or the risks separate them, so the likelihood has no maximum: the fit uses "
    "Jeffreys' prior (Firth) and depends on few events.",
    "constrained": "higher risks came true less often, and the slope cannot be negative: all rows get the same risk.",
}
"""Caveats by ``status_``, for fits without a regular maximum."""


def _contract(sentence: str, rows: int) -> Contract:
    profile = Profile("scaling", sentence, rows=(rows, 0, 0), candidate_for=("full",), most_classes=2,
                      first_for_event=True)  # fmt: skip
    return Contract("full", keeps_argmax=False, sums_to_one=True, monotone=True, profile=profile, classes=2)


@dataclass(eq=False, repr=False)
class RiskUpdate(Calibrator):
    """Base class of risk updates; see ``InterceptUpdate`` and ``LogisticRecalibration``."""

    by: Annotated[
        str, Text(200), "By column", "metadata column with a separate update per value; empty: one for all"
    ] = ""
    only: Annotated[
        str,
        Text(200),
        "Only",
        "the one value, or number range such as 75.., whose rows are updated; empty: all rows",
    ] = ""

    slopes: ClassVar[bool]
    """True if the update also fits a slope."""

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.by,) if self.by else ()

    def _fit(self, predictions: Predictions, progress: Progress) -> None:
        event = self._event(predictions)
        x = _log_odds(predictions, event)
        y = predictions.true_labels == event
        weights = predictions.weights
        weighed = np.arange(len(y)) if weights is None else np.flatnonzero(weights > 0)
        rows = np.ones(len(y)) if weights is None else as_rows(weights)[weighed]
        x, y = x[weighed], y[weighed]
        self.event_ = event
        if self.only:
            self._fit_only(predictions, x, y, rows, weighed)
            return
        self.slope_, self.intercept_, self.status_ = self._line(x, y, rows)
        self.values_: tuple[str, ...] = ()
        self.intercepts_, self.slopes_, self.deviations_ = np.empty(0), np.empty(0), np.empty(0)
        if self.by:
            codes, texts = coded_texts(self._column(predictions).iloc[weighed])
            self._fit_values(x, y, rows, codes, texts)

    def _line(self, x: Float64s, y: Bools, rows: Float64s) -> tuple[float, float, str]:
        """Slope, intercept and status of the update for all rows."""
        raise NotImplementedError

    def _fit_only(
        self, predictions: Predictions, x: Float64s, y: Bools, rows: Float64s, weighed: NDArray[np.intp]
    ) -> None:
        """Fit the update of one value; the common update changes nothing."""
        if not self.by:
            raise NotAnswerable(f"{self._title} for {self.only!r} only needs the name of its column: set by")
        mine = rows_of(self._column(predictions).iloc[weighed], self.only)
        if not mine.any():
            raise NotAnswerable(f"no calibration row has {self.only!r} in the column {self.by!r}")
        slope, intercept, self.status_ = self._line(x[mine], y[mine], rows[mine])
        self.slope_, self.intercept_, self.values_ = 1.0, 0.0, (self.only,)
        self.slopes_, self.intercepts_ = np.array([slope]), np.array([intercept])
        self.deviations_ = np.zeros(1 + self.slopes)

    def _fit_values(self, x: Float64s, y: Bools, rows: Float64s, codes: NDArray[np.intp], texts: Sequence[str]) -> None:
        if len(texts) > MOST_VALUES:
            raise NotAnswerable(
                f"the column {self.by!r} has {count(len(texts))} values; an update by value allows at most "
                f"{count(MOST_VALUES)}"
            )
        known = np.flatnonzero(codes >= 0)
        eta = self.intercept_ + self.slope_ * x
        informed = rows * expit(eta) * expit(-eta)
        centre = float(np.sum(informed * x) / informed.sum())
        design = np.ones((1 + self.slopes, len(x)))
        if self.slopes:
            design[1] = x - centre
        offsets, self.deviations_ = (
            pooled_offsets(eta[known], design[:, known], y[known], rows[known], codes[known], len(texts))
            if len(known)
            else (np.zeros((len(texts), len(design))), np.zeros(len(design)))
        )
        tilts = offsets[:, 1] if self.slopes else np.zeros(len(texts))
        self.values_ = tuple(texts)
        self.slopes_ = np.maximum(self.slope_ + tilts, 0.0)
        self.intercepts_ = self.intercept_ + offsets[:, 0] - (self.slopes_ - self.slope_) * centre

    def _apply(self, predictions: Predictions, progress: Progress) -> Predictions:
        self._event(predictions)
        x = _log_odds(predictions, self.event_)
        lines = np.array([np.append(self.intercepts_, self.intercept_), np.append(self.slopes_, self.slope_)], float)
        if lines.shape[1] != len(self.values_) + 1 or not np.isfinite(lines).all() or lines[1].min() < 0:
            raise ValueError("values, intercepts and slopes have different lengths")
        codes = np.full(len(x), -1, dtype=np.intp)
        if self.only:
            codes[rows_of(self._column(predictions), self.only)] = 0
        elif self.by:
            mine, texts = coded_texts(self._column(predictions))
            place = {text: i for i, text in enumerate(self.values_)}
            codes = np.array([*(place.get(text, -1) for text in texts), -1], dtype=np.intp)[mine]
        eta = lines[0, codes] + lines[1, codes] * x
        probs = np.empty((len(x), 2), dtype=predictions.rows.dtype)
        probs[:, self.event_], probs[:, 1 - self.event_] = expit(eta), expit(-eta)
        if self.only:
            probs[codes < 0] = predictions.probs[codes < 0]  # bit for bit
            return predictions.with_probs(probs)
        updated = predictions.with_probs(probs)
        new = int((codes < 0).sum()) if self.by else 0
        if not new:
            return updated
        which = f"{several(new)} {'has a value' if new == 1 else 'have values'}"
        note = f"{which} of {self.by!r} that did not occur in the calibration rows: the common update is used there"
        return updated.with_parts([updated], [np.arange(len(x))], note)

    def _event(self, predictions: Predictions) -> int:
        """Code of the event; NotAnswerable if there are not two classes."""
        if predictions.n_classes != 2:
            k = predictions.n_classes
            has = "no classes" if k is None else f"{count(k)} classes"
            raise NotAnswerable(
                f"{self._title} changes the predicted risk of one event, which needs 2 classes; these rows have {has}"
            )
        return 1 if predictions.event is None else predictions.event

    def _column(self, predictions: Predictions) -> Column:
        metadata = predictions.metadata
        if metadata is None or self.by not in metadata:
            raise NotAnswerable(
                f"{self._title} needs the metadata column {self.by!r}, which these rows do not have: use fit_on and "
                "apply with predictions that have it"
            )
        return metadata[self.by]

    @property
    def _title(self) -> str:
        return str(CALIBRATORS.recipe(self).without("by", "only").title)

    @property
    def note(self) -> str:
        check_is_fitted(self)
        alike = f"there is no evidence that the values of {self.by!r} differ: all of them get the common update."
        same = self.by and not self.only and not self.deviations_.any()
        return " ".join(part for part in (NOTES.get(self.status_, ""), alike if same else "") if part)

    def insides(self, names: Sequence[str] = ()) -> Insides:
        check_is_fitted(self)
        event = class_names(names, 2)[self.event_]
        line = (
            f"slope {score(self.slope_)}, shift {score(self.intercept_)}"
            if self.slopes
            else f"shift {score(self.intercept_)}"
        )
        if self.only:
            line = f"shift {score(self.intercepts_[0])}"
            line = f"slope {score(self.slopes_[0])}, {line}" if self.slopes else line
        by = f"; {several(len(self.values_), 'values')} of {self.by}" if self.by and not self.only else ""
        does = "multiplies the log-odds of the risk by a slope and adds a shift" if self.slopes else "adds a shift"
        where = f", with a separate update for each value of {self.by}" if self.by else ""
        if self.only:
            ends = span_ends(self.only)
            named = self.only if ends is None else span_words(*ends)
            where = f", in the rows whose {self.by} is {named}; all other rows are unchanged"
        what = does if self.slopes else f"{does} to the log-odds of the risk"
        return Insides(line + by, f"For the event {event}, {what}{where}.", self._numbers, unit="update")

    def _numbers(self) -> list[Number]:
        of = [("all other rows" if self.only else "common update" if self.by else "", self.intercept_, self.slope_)]
        of += list(zip(self.values_, self.intercepts_, self.slopes_, strict=True))
        lines = [(name, Number("shift", float(a), name), Number("slope", float(b), name)) for name, a, b in of]
        return [number for _, shift, slope in lines for number in ((slope, shift) if self.slopes else (shift,))]


def _log_odds(predictions: Predictions, event: int) -> Float64s:
    """Log-odds of the event (n,), both probabilities clipped at the floor."""
    probs = predictions.probs
    return safe_log(probs[:, event]) - safe_log(probs[:, 1 - event])


@CALIBRATORS.register(
    "intercept",
    "Intercept update",
    reference="Cox 1958; Van Calster et al. 2016",
    flags=_contract("Shifts the log-odds of a risk by one number: for all rows, or for each value of a column.", 50),
)
@dataclass(eq=False, repr=False)
class InterceptUpdate(RiskUpdate):
    """Shifts the log-odds of a predicted risk so that expected and observed numbers of events agree.

    logit p' = a + logit p, p the probability of the event of two classes (``Predictions.event``), p from 2^-52 up and
    1 - p likewise. The intercept a is the maximum likelihood estimate: sum p' = number of events over the calibration
    rows, so the ratio of observed to expected becomes 1. The ranking of the rows does not change. If all outcomes are
    equal, a has no maximum and is Firth's (Jeffreys' prior): (events + 1/2) / (n + 1) for equal risks; ``status_`` is
    then "separated".

    ``by`` names a metadata column whose values are updated separately: value v has the intercept a + u_v. Here u_v is
    normal around 0, with a standard deviation that maximizes the marginal likelihood. This is partial pooling: a value
    is nearer to the common update if it has fewer events and if the values differ less. It is limited to one standard
    error around the estimate from its own rows. One site with a large error therefore gets its own update although many
    others need none. A value that is missing or was not seen in fitting gets the common update, and the predictions'
    ``notes`` report it. Such a map needs ``fit_on`` and ``apply``, since a matrix of probabilities has no column.
    ``only`` names one value of that column, or a range of its numbers ("40..60" from 40 to below 60, "75..", "..40").
    Only its rows are used and updated, and all others keep their risk bit for bit.

    ``intercept_`` is a, ``event_`` the event's code; ``values_``, ``intercepts_`` (V,) and ``deviations_`` (1,), the
    standard deviation of u, belong to the column. Weighted rows count as their effective sample size, whole weights as
    copies. Raises NotAnswerable if there are not two classes.

    What can mislead: a new intercept corrects the mean risk, not risks that are too extreme or too similar (see
    logistic recalibration). By a column, values with few events can stay far from their own frequency, and grouped rows
    are treated as independent.

    References: Cox 1958, Biometrika 45; Van Calster et al. 2016, J Clin Epidemiol 74; Firth 1993; Efron & Morris 1972.

    >>> cal = InterceptUpdate().fit([[0.5, 0.5]] * 10, [1] * 2 + [0] * 8)
    >>> cal.predict_proba([[0.5, 0.5], [0.2, 0.8]]).round(6).tolist()
    [[0.8, 0.2], [0.5, 0.5]]
    >>> import pandas as pd
    >>> site = pd.DataFrame({"site": ["a"] * 400 + ["b"] * 400})
    >>> p = Predictions([[0.5, 0.5]] * 800, ([1] * 80 + [0] * 320) + ([1] * 200 + [0] * 200), metadata=site)
    >>> InterceptUpdate(by="site").fit_on(p).apply(p).probs[[0, 400], 1].round(2).tolist()
    [0.2, 0.5]
    """

    slopes: ClassVar[bool] = False

    def _line(self, x: Float64s, y: Bools, rows: Float64s) -> tuple[float, float, str]:
        if y.all() or not y.any():
            return 1.0, firth_intercept(x, y, rows), "separated"
        return 1.0, balanced_intercept(x, y, rows), "converged"


@CALIBRATORS.register(
    "logistic-recalibration",
    "Logistic recalibration",
    reference="Cox 1958; Van Calster et al. 2016",
    flags=_contract("Scales and shifts the log-odds of a risk, for all rows or by the values of a column.", 100),
)
@dataclass(eq=False, repr=False)
class LogisticRecalibration(RiskUpdate):
    """Scales and shifts the log-odds of a predicted risk: a new intercept and a new calibration slope.

    logit p' = a + b logit p, p the probability of the event of two classes (``Predictions.event``), p from 2^-52 up and
    1 - p likewise. The numbers a and b are the maximum likelihood estimates of Cox's calibration intercept and slope.
    The ranking of the rows does not change, since b >= 0. A slope b < 1 moderates risks that were too extreme. If the
    risks separate the outcomes, or all outcomes are equal, a and b are Firth's (Jeffreys' prior) and ``status_`` is
    "separated". It is "constrained" if b is 0 because higher risks came true less often, and "not identified" if all
    risks are equal, with b = 1.

    ``by`` names a metadata column whose values are updated separately, as in the intercept update. Value v has log-odds
    a + b x + u_v + w_v (x - m), with m the mean of x = logit p weighted by p' (1 - p'). Here u and w are normal around
    0 with standard deviations that maximize the marginal likelihood. The shift u_v is limited to one standard error
    around the estimate from the value's own rows. A slope below 0 becomes 0. A value that was not seen gets the common
    update, with a note. ``only`` names one value, or number range, and only its rows are updated.

    ``intercept_`` and ``slope_`` are a and b, ``event_`` the event's code; ``values_``, ``intercepts_`` (V,),
    ``slopes_`` (V,) and ``deviations_`` (2,) belong to the column. Raises NotAnswerable if there are not two classes.

    What can mislead: with few events the slope is uncertain, and an intercept update often does better on new rows.

    References: Cox 1958, Biometrika 45; Van Calster et al. 2016, J Clin Epidemiol 74; Firth 1993.

    >>> risks = [[0.8, 0.2]] * 4 + [[0.2, 0.8]] * 4
    >>> cal = LogisticRecalibration().fit(risks, [0, 0, 0, 1] + [0, 1, 1, 1])
    >>> cal.predict_proba([[0.8, 0.2], [0.5, 0.5]]).round(6).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """

    slopes: ClassVar[bool] = True

    def _line(self, x: Float64s, y: Bools, rows: Float64s) -> tuple[float, float, str]:
        fitted = fit_increasing(x[None, :], y, rows)
        if fitted.status != "at bound":
            return float(fitted.slopes[0]), fitted.intercept, fitted.status
        if x.min() == x.max():
            return 1.0, firth_intercept(x, y, rows), "separated"
        slope, intercept = firth_line(x, y, rows)
        if slope > 0:
            return slope, intercept, "separated"
        return 0.0, firth_intercept(np.zeros_like(x), y, rows), "separated"
