"""Known distributions of risks and outcomes, and miss rates of the ends of a risk's measures."""

import warnings

import numpy as np
from scipy.special import expit, logit

from calib_core.inference.intervals.event_rows import Trials, log_odds
from calib_core.inference.intervals.observed_expected import intercept_at, maximum_likelihood
from calib_core.predictions.predictions import Predictions
from calib_core.risk import in_the_large, smooth_curve
from calib_core.risk.smooth_curve import Spline, places

SCORES = {
    "two groups": lambda rng, n: expit(np.where(rng.random(n) < 0.7, rng.normal(-3, 0.6, n), rng.normal(0, 1, n))),
    "Beta(2, 18)": lambda rng, n: rng.beta(2, 18, n),
    "Beta(.4, .8)": lambda rng, n: rng.beta(0.4, 0.8, n).clip(1e-4, 1 - 1e-4),
}
RARE = {"Beta(1, 32)": lambda rng, n: rng.beta(1, 32, n).clip(1e-5)}
"""An event of 3 % of the rows: of 300 rows the curve is a line, of 1,000 it has three knots."""
TRUTHS = {
    "calibrated": lambda s, member: s,
    "odds x 1.7": lambda s, member: expit(logit(s) + np.log(1.7)),
    "slope .7": lambda s, member: expit(0.7 * logit(s)),
    "slope 1.3": lambda s, member: expit(1.3 * logit(s)),
    "a fifth x 3": lambda s, member: expit(logit(s) + np.log(3) * member),
}
LARGE = ("ratio", "intercept", "slope")
SMOOTH = ("ici", "e50", "e90")


def cases(law, truth, n, runs, seed):
    """Yield predictions and the true chances of their rows."""
    for run in range(runs):
        rng = np.random.default_rng([seed, run, n])
        s = (SCORES | RARE)[law](rng, n)
        chance = TRUTHS[truth](s, rng.random(n) < 0.2)
        yield Predictions(np.column_stack([1 - s, s]), (rng.random(n) < chance).astype(int)), s, chance


def true_slope(s, chance):
    x = log_odds(s)
    fit = maximum_likelihood(np.column_stack([np.ones_like(x), x]), np.ones_like(x), chance)
    return fit.coefficients[1]


def true_distances(s, chance, outcomes):
    """Return distances of the same spline fitted to the true chances, with the knots that the sample chose."""
    order = np.argsort(s)
    trials = Trials(s[order], np.ones(len(s)), chance[order])
    spline = Spline.of(trials, Spline.of(Trials.of(s, outcomes)).knots_used)
    scores = places(trials)
    distance = np.abs(expit(spline.line(scores)) - scores)
    return np.array([distance.mean(), *np.quantile(distance, [0.5, 0.9])])


def shares(law, truth, n, runs, seed=1, smooth=False, level=0.9):
    """Return for each measure the shares of runs with low above the truth, high below it, and those of half ends."""
    measures = SMOOTH if smooth else LARGE
    missed = {measure: np.zeros(4) for measure in measures}
    for predictions, s, chance in cases(law, truth, n, runs, seed):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            if smooth:
                table = smooth_curve(predictions, level).distances.set_index("measure")
                targets = dict(zip(SMOOTH, true_distances(s, chance, predictions.labels == 1), strict=True))
                points = table["value"]
            else:
                table = in_the_large(predictions, level).frame().set_index("measure")
                trials = Trials.of(s, predictions.labels == 1)
                truths = (chance.sum() / s.sum(), intercept_at(trials, chance.sum()), true_slope(s, chance))
                targets, points = dict(zip(LARGE, truths, strict=True)), table["value"]
        for measure in measures:
            low, high, point = table.loc[measure, "low"], table.loc[measure, "high"], points[measure]
            if not np.isfinite(point):
                point = (low + high) / 2 if np.isfinite(low + high) else np.nan
            half = not (point + low) / 2 <= targets[measure] <= (point + high) / 2
            missed[measure] += [low > targets[measure], high < targets[measure], half, np.isnan(low)]
    return {measure: counts / runs for measure, counts in missed.items()}
