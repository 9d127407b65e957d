"""Named distributions of claims and truths: typical scores of users, with known true probabilities.

``sample("beta 200", "shift .0204", 400, 10, seed)`` is predictions together with the true probabilities, from which
outcomes are drawn as often as wanted. There are two kinds of distributions: CLAIMS give the confidence of the predicted
class only (classes are drawn evenly), ROWS whole probability vectors. RECALIBRATED ones are rows after a calibrator
fitted on other rows.

Truths are one word or two or three. They are "calibrated", "over-confident", "flat" (the mean claim whatever was
claimed), or a kind of error, its amount, and (for rows) the class that gains what the top class loses. Examples are
"shift .0204" and ``shift .1 neighbour``. The amount is the binned confidence error (15 bins of equal width) that this
truth has, to 1e-9:

- shift: all claims off by the same;
- region: the middle tenth of the scores;
- wave: up and down in four waves over [0, 1];
- class: claims of class 0 only.
"""

import zlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calib_core import CALIBRATORS, Predictions

BINS = 15
_FITTED_ON = 2000


@dataclass(frozen=True, eq=False)
class Sample:
    """Predictions and the truth about them: (n, K) probabilities of all classes, or (n,) of the predicted one."""

    predictions: Predictions
    truth: np.ndarray

    def drawn(self, rng):
        """Return the predictions with outcomes drawn from the truth; a wrong claim's label is the class after it."""
        return self.predictions.relabelled(self.labels(rng))

    def labels(self, rng):
        """Return drawn labels (n,)."""
        u, n = rng.random(len(self.truth)), len(self.truth)
        if self.truth.ndim == 1:
            said = self.predictions.predicted
            return np.where(u < self.truth, said, (said + 1) % self.predictions.n_classes)
        k = self.truth.shape[1]
        at = np.searchsorted(self._stairs, u + np.arange(n), side="right")
        return np.clip(at - k * np.arange(n), 0, k - 1)

    @cached_property
    def _stairs(self):
        """Return cumulative probabilities of row i raised by i: one ascending line for all rows."""
        upto = np.cumsum(self.truth, axis=1)
        return (upto / upto[:, -1:] + np.arange(len(upto))[:, None]).ravel()

    @property
    def top_truth(self):
        """Return the true probability of the predicted class, (n,)."""
        if self.truth.ndim == 1:
            return self.truth
        return self.truth[np.arange(len(self.truth)), self.predictions.predicted]


# -- claims ---------------------------------------------------------------------------------------------------


def _mixed(rng, n, *parts):
    """Return rows of several distributions, each with its share."""
    which = rng.choice(len(parts), size=n, p=[share for share, _ in parts])
    return np.choose(which, [np.broadcast_to(law, n) for _, law in parts])


CLAIMS = {
    "certain": lambda n, rng: np.ones(n),
    "all .995": lambda n, rng: np.full(n, 0.995),
    "all .999": lambda n, rng: np.full(n, 0.999),
    "all .97": lambda n, rng: np.full(n, 0.97),
    "beta 200": lambda n, rng: rng.beta(200, 1, n),
    "beta 5": lambda n, rng: rng.beta(5, 1.3, n),
    "uniform": lambda n, rng: rng.random(n),
    "two decimals": lambda n, rng: np.round(rng.beta(5, 1.3, n), 2),
    "60 % at 1": lambda n, rng: _mixed(rng, n, (0.6, 1.0), (0.4, rng.beta(5, 1.3, n))),
    "atoms at 0 and 1": lambda n, rng: _mixed(rng, n, (0.4, 0.0), (0.4, 1.0), (0.2, rng.random(n))),
    "tiny": lambda n, rng: rng.beta(1, 200, n),
    "forest": lambda n, rng: rng.binomial(10, rng.beta(5, 1.3, n)) / 10,
    "three levels": lambda n, rng: rng.choice([0.7, 0.9, 0.99], n),
}
"""Confidences (n,); "tiny" ones are claims of rare events rather than of top classes."""


def softmax(z):
    p = np.exp(z - z.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def _sure(n, k, rng, top=0.999):
    p = np.full((n, k), (1 - top) / (k - 1))
    p[np.arange(n), rng.integers(k, size=n)] = top
    return p


ROWS = {
    "network": lambda n, k, rng: softmax((9.0 if k < 50 else 6.0) * rng.standard_t(2.5, (n, k))),
    "spread rows": lambda n, k, rng: softmax((2.0 + np.log10(k)) * rng.standard_normal((n, k))),
    "one-hot .999": _sure,
    "votes": lambda n, k, rng: np.array([rng.multinomial(10, p) for p in rng.dirichlet(np.full(k, 0.3), n)]) / 10,
}
"""Probability rows (n, K); most confidences of "network" are above .95."""

RECALIBRATED = {f"network after {key}": key for key in ("temperature", "top-label-hb")}


# -- true values ----------------------------------------------------------------------------------------------


def _away(h):
    """Return the direction with room for a shift: down for claims that are mostly high."""
    return np.full(len(h), -1.0 if h.mean() >= 0.5 else 1.0)


def _middle_tenth(h):
    low, high = np.quantile(h, [0.45, 0.55])
    return (h >= low) & (h <= high)


WAYS = {
    "shift": lambda h, said: _away(h),
    "region": lambda h, said: _away(h) * _middle_tenth(h),
    "wave": lambda h, said: np.sin(8 * np.pi * h),
    "class": lambda h, said: _away(h) * (said == 0),
}


def confidence_error(h, true, bins=BINS):
    """Return sum_b n_b/n |mean true probability - mean claim| over bins of equal width."""
    at = np.searchsorted(np.arange(1, bins) / bins, h, side="right")
    return float(np.abs(np.bincount(at, true - h)).sum() / len(h))


def top_truth(h, said, truth):
    """Return true probabilities (n,) of claims h about classes ``said`` under the named truth."""
    kind, *amount = truth.split()
    if kind == "calibrated":
        return h.copy()
    if kind == "over-confident":
        with np.errstate(divide="ignore"):
            return 1 / (1 + ((1 - h) / h) ** 0.6)
    if kind == "flat":
        return np.full(len(h), h.mean())
    if kind == "ripple":
        return _rippled(h, said, float(amount[0]))
    way, wanted = WAYS[kind](h, said), float(amount[0])

    def moved(step):
        return np.clip(h + step * way, 0.0, 1.0)

    low, high = 0.0, 1.0
    if confidence_error(h, moved(high)) < wanted:
        raise ValueError(f"{truth!r} cannot be reached by these {len(h)} claims")
    while high - low > 1e-12:
        step = (low + high) / 2
        low, high = (low, step) if confidence_error(h, moved(step)) >= wanted else (step, high)
    return moved(high)


def _rippled(h, said, deviations, bins=BINS):
    """Return a truth with each (class, bin) cell off by this many standard deviations, which noise hides best."""
    cell = said * bins + np.searchsorted(np.arange(1, bins) / bins, h, side="right")
    rows, mean = np.bincount(cell)[cell], (np.bincount(cell, h) / np.maximum(np.bincount(cell), 1))[cell]
    return np.clip(h - deviations * np.sqrt(mean * (1 - mean) / rows), 0.0, 1.0)


def row_truth(p, truth):
    """Return true probabilities (n, K) of rows p under the named truth."""
    kind, *rest = truth.split()
    if kind == "calibrated":
        return p
    if kind == "over-confident":
        return p**0.6 / (p**0.6).sum(1, keepdims=True)
    if kind == "flat":
        return np.broadcast_to(p.mean(0) / p.mean(0).sum(), p.shape).copy()
    said = p.argmax(1)
    at, h = (np.arange(len(p)), said), p.max(1)
    top = top_truth(h, said, f"{kind} {rest[0]}")
    if rest[1:] == ["neighbour"]:
        q = p.copy()
        q[at] = np.minimum(top, h)
        q[at[0], (said + 1) % p.shape[1]] += np.maximum(h - top, 0.0)
        return q
    others = p.copy()
    others[at] = 0.0
    total = others.sum(1, keepdims=True)
    even = np.full(p.shape, 1 / (p.shape[1] - 1))
    q = np.divide(others, total, out=even, where=total > 0) * (1 - top)[:, None]
    q[at] = top
    return q


# -- both together --------------------------------------------------------------------------------------------


def seed_of(*name):
    """Return a seed determined by the name, the same on every machine."""
    return zlib.crc32(repr(name).encode())


def sample(law, truth, n, k, seed, weighted=False):
    """Return predictions with their true probabilities; ``weighted`` rows have log-normal weights."""
    rng = np.random.default_rng([seed, seed_of(law, truth, n, k)])
    if law in RECALIBRATED:
        return _recalibrated(RECALIBRATED[law], truth, n, k, rng)
    w = rng.lognormal(0.0, 0.7, n) if weighted else None
    if law in ROWS:
        p = ROWS[law](n, k, rng)
        q = row_truth(p, truth)
        return Sample(Predictions(p, p.argmax(1), weights=w), q)
    h, said = CLAIMS[law](n, rng), rng.integers(k, size=n)
    return Sample(_claimed(h, said, k, w), top_truth(h, said, truth))


def _claimed(h, said, k, weights=None):
    names = [str(j) for j in range(k)]
    return Predictions.from_confidence(h, predicted=said, labels=said, class_names=names, weights=weights)


def _recalibrated(key, truth, n, k, rng):
    """Return rows of a network with the named truth, after a calibrator fitted on 2,000 other rows."""
    p = ROWS["network"](n + _FITTED_ON, k, rng)
    q = row_truth(p, truth)
    whole = Sample(Predictions(p, p.argmax(1)), q)
    drawn = whole.drawn(rng)
    fitted = CALIBRATORS.make(key).fit_on(drawn.take(np.arange(n, n + _FITTED_ON)))
    after = fitted.apply(drawn.take(np.arange(n)))
    true = q[:n]
    return Sample(after, true if after.kind == "full" else true[np.arange(n), after.predicted])
