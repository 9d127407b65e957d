"""P5 §5 scaled down: estimators judged on models whose calibration error is known.

Each class is a mixture of four Gaussians; a model is fitted on 300 rows and scores a large holdout; every estimator is
applied to rows drawn from the holdout with replacement, and its error |estimate - truth| / truth noted. Of the errors
of one model the 95th percentile is kept, of those of all models the median.

Ours where the paper's text leaves it open: K and d in {2, 5, 10}, means uniform in [-2, 2], A uniform in [-1, 1] for
the covariance A A^T. Ours on purpose: the truth takes the known P(y | x) in place of the label, and holds at least 100
rows in the mean bin: the paper's 2,000 bins from 200,000 rows on, fewer on a smaller holdout. Otherwise noise alone
raises it: with 2,000 bins of 5 rows it came out nearly twice as large.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from calib_core._arrays import Rows
from calib_core.claims import ColumnClaims, FlatClaims

SHAPES = tuple((k, d) for k in (2, 5, 10) for d in (2, 5, 10))
TRAIN, MODES = 300, 4
TRUTH_BINS, ROWS_PER_BIN = 2000, 100


@dataclass(frozen=True, eq=False)
class Mixture:
    """P(x | class) is a mean of four Gaussians; classes are equally frequent."""

    means: np.ndarray
    roots: np.ndarray

    @classmethod
    def random(cls, k, d, rng):
        return cls(rng.uniform(-2, 2, (k, MODES, d)), rng.uniform(-1, 1, (k, MODES, d, d)))

    def rows(self, n, rng):
        k, _, d = self.means.shape
        labels, mode = rng.integers(k, size=n), rng.integers(MODES, size=n)
        noise = np.einsum("nij,nj->ni", self.roots[labels, mode], rng.standard_normal((n, d)))
        return self.means[labels, mode] + noise, labels

    def posterior(self, x):
        """P(class | x), shape (n, K)."""
        log = np.stack([logsumexp([self._log(x, k, m) for m in range(MODES)], axis=0) for k in range(len(self.means))])
        return softmax(log, axis=0).T

    def _log(self, x, k, m):
        """Log density of one mode, up to a constant all share."""
        root = self.roots[k, m]
        return -np.square(np.linalg.solve(root, (x - self.means[k, m]).T)).sum(0) / 2 - np.linalg.slogdet(root)[1]


def families(seed):
    """The paper's four model families; the support vector machine gets its probabilities by Platt scaling."""
    return {
        "logistic": LogisticRegression(max_iter=2000),
        "naive Bayes": GaussianNB(),
        "support vectors": CalibratedClassifierCV(SVC(), ensemble=False, cv=3),
        "random forest": RandomForestClassifier(100, random_state=seed),
    }


@dataclass(frozen=True, eq=False)
class Scored:
    """A model's probabilities on the holdout, with labels and true posteriors."""

    probs: np.ndarray
    labels: np.ndarray
    posterior: np.ndarray

    def claims(self, notion, at):
        """Claims of the rows drawn."""
        k = self.probs.shape[1]
        if notion == "class-wise":
            return ColumnClaims(Rows(self.probs[at]), self.labels[at], tuple(map(str, range(k))), np.full(k, 1 / k))
        top = self.probs[at].argmax(1)
        codes = np.zeros(len(at), dtype=np.intp)
        scores = self.probs[at, top]
        return FlatClaims(scores, self.labels[at] == top, codes, ("all rows",), np.ones(1), floor=1 / k)

    def truth(self, notion):
        if notion == "class-wise":
            return np.mean([binned(p, t) for p, t in zip(self.probs.T, self.posterior.T, strict=True)])
        rows, top = np.arange(len(self.probs)), self.probs.argmax(1)
        return binned(self.probs[rows, top], self.posterior[rows, top])


def binned(scores, truths):
    """sum_b |sum (P(y | x) - s)| / n over equally wide bins."""
    bins = min(TRUTH_BINS, len(scores) // ROWS_PER_BIN)
    at = np.minimum((scores * bins).astype(int), bins - 1)
    return np.abs(np.bincount(at, truths - scores)).sum() / len(scores)


def models(holdout, seed, shapes=SHAPES):
    """Every family fitted on rows of one mixture a shape."""
    for i, (k, d) in enumerate(shapes):
        rng = np.random.default_rng([seed, i])
        mixture = Mixture.random(k, d, rng)
        x, y = mixture.rows(TRAIN, rng)
        x_held, y_held = mixture.rows(holdout, rng)
        posterior = mixture.posterior(x_held)
        for model in families(seed).values():
            yield Scored(model.fit(x, y).predict_proba(x_held), y_held, posterior)


def percentiles(estimators, notion, sizes, *, draws, holdout, seed=0, shapes=SHAPES):
    """Median over models of the 95th percentile of the relative error, shape (estimators, sizes)."""
    found = []
    for number, scored in enumerate(models(holdout, seed, shapes)):
        rng, truth = np.random.default_rng([seed, 1000 + number]), scored.truth(notion)
        errors = np.empty((len(estimators), len(sizes), draws))
        for j, size in enumerate(sizes):
            for draw in range(draws):
                claims = scored.claims(notion, rng.integers(holdout, size=size))
                errors[:, j, draw] = [abs(estimator(claims).value - truth) / truth for estimator in estimators]
        found.append(np.percentile(errors, 95, axis=2))
    return np.median(found, axis=0)
