"""False alarms of watches over 1,000 looks, coverage at all of them, and delay of an alarm beside other methods.

Run `python tests/simulations/watching.py [--runs 1000] [--only "K = 100"]` with the package installed. It writes
watching.csv line by line and reuses existing lines. 1,000 runs take an hour on one core. Each look has 50 rows.

false alarms: the share of runs with an alarm in 1,000 looks. Laws are calibrated and the tolerance is 0, except for one
law at the edge of a tolerance of 2 points. `ours` is at most 5 %. The falsified twins alarm in most runs: a z-test at
5 % of each look, and ours where groups or the tolerance are ignored. `bonferroni` is the z-test at 5 % / 1,000.
`cumulative` is that of all rows so far. `ece` is the calibration error of each look above a limit that is simulated for
this law.

coverage: the share of runs in which the confidence sequence of the mean gap contains the true one at every look. The
twin is a fixed 95 % interval, looked at as often.

delay: median number of looks from the start of a drift to the alarm, for runs without one before it; 1,000 if none
comes. CUSUM of observed less expected knows the size of a drift of 4 points, and has a limit that is simulated for the
law. So it is an oracle that nobody has. Beside `ours`, with a tolerance of 2 points, stands `cusum, tolerance`, whose
limit is simulated at the edge of the same tolerance. The drift is a step, a slope, a season of 52 looks, or a step in
one of five slices, which `ours, slices` watches, too.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import logsumexp
from scipy.stats import norm

from calib_core.monitoring.e_processes import IN_ONE_DIRECTION, SHIFT_WEIGHTS, SHIFTS, start_weights

TABLE = Path(__file__).with_suffix(".csv")
LOOKS, ROWS, BINS, ALPHA = 1000, 50, 10, 0.05
BETS = np.geomspace(0.005, 0.5, 14)
PSI = -np.log1p(-BETS) - BETS
COUNT_BETS = np.geomspace(0.01, 2.5, 16)
_BLOCK = 50
"""Looks whose bounds are in memory at once."""


# ---- laws -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Law:
    """Scores and true probabilities of the rows of all looks; groups of rows share one draw."""

    name: str
    shift: float = 0.0
    size: int = 1

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores, true probabilities and outcomes, (looks, rows)."""
        shape = (LOOKS, ROWS)
        if self.name.startswith("net"):
            # A Dirichlet law: gamma variables by their sum.
            parts = rng.standard_gamma(0.1, (*shape, int(self.name[3:])), dtype=np.float32)
            scores = (parts.max(axis=-1) / np.maximum(parts.sum(axis=-1), 1e-30)).astype(float)
        elif self.name == "ratings":
            scores = rng.choice([0.1, 0.3, 0.5, 0.7, 0.9], shape)
        elif self.name == "at 1":
            scores = rng.choice([0.9, 0.99, 1.0], shape)
        elif self.name == "rare":
            scores = rng.beta(0.5, 49.5, shape)
        else:
            scores = rng.beta(2, 5, shape)
        true = np.clip(scores + self.shift, 0, 1)
        # Rows of a group happen jointly: each is calibrated, and they are not independent.
        uniform = np.repeat(rng.random((LOOKS, ROWS // self.size)), self.size, axis=1)
        return scores, true, uniform < true


LAWS = {
    "K = 2": Law("risk"),
    "K = 10": Law("net10"),
    "K = 100": Law("net100"),
    "ratings": Law("ratings"),
    "scores at 1": Law("at 1"),
    "rare events": Law("rare"),
    "groups of 5": Law("risk", size=5),
    "edge of the tolerance": Law("risk", shift=0.02),
}


# ---- ours -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sums:
    """Sums of each look over its independent units: their number, log factors, differences by bin, squares."""

    units: np.ndarray
    factors: np.ndarray
    bins: np.ndarray
    squared: np.ndarray

    @classmethod
    def of(cls, scores: np.ndarray, happened: np.ndarray, tolerance: float, size: int) -> Sums:
        gaps = happened - scores
        cell = np.minimum((scores * BINS).astype(int), BINS - 1) + BINS * np.arange(LOOKS)[:, None]
        bins = np.bincount(cell.ravel(), gaps.ravel(), BINS * LOOKS).reshape(LOOKS, BINS) / size
        largest = np.abs(gaps).reshape(LOOKS, -1, size).mean(axis=2)
        return cls(
            np.full(LOOKS, scores.shape[1] / size),
            np.stack([_log_factors(scores, happened, tolerance, size, shift) for shift in SHIFTS], axis=1),
            bins,
            (largest**2).sum(axis=1),
        )


def _log_factors(scores: np.ndarray, happened: np.ndarray, tolerance: float, size: int, shift: float) -> np.ndarray:
    """Sums of log factors of one shift, (looks,): shift y - log(1 + p (exp(shift) - 1)) of each row."""
    base = np.minimum(scores + tolerance, 1) if shift > 0 else np.maximum(scores - tolerance, 0)
    inside = (base > 0) & (base < 1)
    below = 1 + np.where(inside, base, 0) * np.expm1(shift)
    if size == 1:
        return shift * (happened & inside).sum(axis=1) - np.log(below.prod(axis=1))
    factors = np.where(happened & inside, math.exp(shift), 1) / below
    return np.log(factors.reshape(LOOKS, -1, size).mean(axis=2)).sum(axis=1)


def first_alarm(sums: Sums, tolerance: float, limit: float = 1 / ALPHA) -> int:
    """The first look (from 0) at which the evidence is at least the limit; LOOKS if there is none.

    The part in bins is bounded by log cosh x <= min(|x|, x^2 / 2), in single precision and for many looks at once. It
    is computed where this bound does not exclude an alarm.
    """
    weights = start_weights(LOOKS, LOOKS)
    shifts, units, squared, bins = (
        np.concatenate([np.zeros((1, *each.shape[1:])), np.cumsum(each, axis=0)])
        for each in (sums.factors, sums.units, sums.squared, sums.bins)
    )
    log_a = shifts[1:] + np.logaddexp.accumulate(np.log(weights)[:, None] - shifts[:-1], axis=0)
    large = np.exp(np.minimum(logsumexp(log_a, axis=1, b=SHIFT_WEIGHTS), 700))
    known = IN_ONE_DIRECTION * large + np.maximum(1 - np.cumsum(weights), 0)
    # What the part in bins has to be at least for an alarm.
    needed = (limit - known) / (1 - IN_ONE_DIRECTION)
    for first in range(0, LOOKS, _BLOCK):
        looks = np.arange(first, min(first + _BLOCK, LOOKS))
        bounds = _bounds(units, squared, bins, looks, tolerance, weights)
        for t in looks[bounds * 1.01 >= needed[looks]]:
            n, v, s = units[t + 1] - units[: t + 1], squared[t + 1] - squared[: t + 1], bins[t + 1] - bins[: t + 1]
            x = np.abs(BETS[:, None, None] * s)
            exact = (x + np.log1p(np.exp(-2 * x)) - math.log(2)).sum(axis=2)
            exact -= BETS[:, None] * n * tolerance + PSI[:, None] * v
            if weights[: t + 1] @ np.exp(np.minimum(exact, 700)).mean(axis=0) >= needed[t]:
                return int(t)
    return LOOKS


def _bounds(
    units: np.ndarray, squared: np.ndarray, bins: np.ndarray, looks: np.ndarray, tolerance: float, weights: np.ndarray
) -> np.ndarray:
    """Bounds of the part in bins after each of some looks, (looks,)."""
    starts = looks[-1] + 1
    n, v = ((part[looks + 1, None] - part[None, :starts]).clip(0).astype(np.float32) for part in (units, squared))
    absolute, square = np.zeros_like(v), np.zeros_like(v)
    for column in bins.T:
        s = (column[looks + 1, None] - column[None, :starts]).astype(np.float32)
        absolute += np.abs(s)
        square += s * s
    total = np.zeros_like(v)
    for bet, psi in zip(BETS.astype(np.float32), PSI.astype(np.float32), strict=True):
        most = np.minimum(bet * absolute, bet * bet / 2 * square) - psi * v - bet * np.float32(tolerance) * n
        total += np.exp(np.minimum(most, np.float32(80)))
    total[np.arange(starts)[None, :] > looks[:, None]] = 0
    return total.astype(np.float64) @ weights[:starts] / len(BETS)


# ---- other methods --------------------------------------------------------------------------------------------


def z_alarm(scores: np.ndarray, happened: np.ndarray, level: float) -> int:
    """The first look whose z-test is significant."""
    z = (happened - scores).sum(axis=1) / np.sqrt(np.maximum((scores * (1 - scores)).sum(axis=1), 1e-12))
    return _first(np.abs(z) > norm.isf(level / 2))


def cumulative_alarm(scores: np.ndarray, happened: np.ndarray) -> int:
    """The first look at which the z-test of all rows so far is significant at 5 % / looks."""
    z = (happened - scores).sum(axis=1).cumsum() / np.sqrt((scores * (1 - scores)).sum(axis=1).cumsum() + 1e-12)
    return _first(np.abs(z) > norm.isf(ALPHA / LOOKS / 2))


def eces(scores: np.ndarray, happened: np.ndarray) -> np.ndarray:
    """The calibration error in ten bins of each look."""
    cell, gaps = np.minimum((scores * BINS).astype(int), BINS - 1), happened - scores
    return sum(np.abs((gaps * (cell == each)).sum(axis=1)) for each in range(BINS)) / ROWS


def cusum(scores: np.ndarray, happened: np.ndarray, allowance: float = 0.02) -> np.ndarray:
    """The larger one-sided sum of observed less expected after each look, less an allowance.

    The sum upwards is at most its present value less the smallest one before. Half of a drift is its best allowance.
    """
    gaps, allowed = (happened - scores).sum(axis=1), allowance * ROWS
    found = np.zeros(LOOKS)
    for sign in (1, -1):
        path = np.cumsum(sign * gaps - allowed)
        found = np.maximum(found, path - np.minimum(np.minimum.accumulate(path), 0))
    return found


@cache
def limits(law: Law, runs: int = 200) -> tuple[float, float]:
    """Limits of the ECE of a look and of CUSUM that 5 % of runs of this law without an untolerated error exceed."""
    largest = []
    for seed in range(runs):
        scores, _, happened = law.draw(np.random.default_rng([9, seed]))
        largest.append((eces(scores, happened).max(), cusum(scores, happened, 0.02 + law.shift / 2).max()))
    found = np.quantile(largest, 1 - ALPHA, axis=0)
    return float(found[0]), float(found[1])


def _first(alarms: np.ndarray) -> int:
    return int(alarms.argmax()) if alarms.any() else LOOKS


# ---- lines ----------------------------------------------------------------------------------------------------


def false_alarms(name: str, runs: int) -> dict[str, float]:
    """Shares of runs with a false alarm."""
    law, found = LAWS[name], []
    limit, _ = limits(law)
    for seed in range(runs):
        scores, _, happened = law.draw(np.random.default_rng([1, seed, *map(ord, name[:3])]))
        alarms = {"ours": first_alarm(Sums.of(scores, happened, law.shift, law.size), law.shift)}
        if law.size > 1 or law.shift:
            # The twin ignores what the promise needs: that rows belong together, or that an error is tolerated.
            alarms["ours, falsified"] = first_alarm(Sums.of(scores, happened, 0.0, 1), 0.0)
        alarms["each look"] = z_alarm(scores, happened, ALPHA)
        alarms["bonferroni"] = z_alarm(scores, happened, ALPHA / LOOKS)
        alarms["cumulative"] = cumulative_alarm(scores, happened)
        alarms["ece"] = _first(eces(scores, happened) > limit)
        found.append(alarms)
    return dict((pd.DataFrame(found) < LOOKS).mean())


def coverage(name: str, runs: int) -> dict[str, float]:
    """Shares of runs in which the true mean gap is in the interval at every look; the gap has a season."""
    law, inside = LAWS[name], []
    for seed in range(runs):
        rng = np.random.default_rng([2, seed, *map(ord, name[:3])])
        scores, true, _ = law.draw(rng)
        true = np.clip(true + 0.1 * scores * np.sin(np.arange(LOOKS) / 50)[:, None], 0, 1)
        happened = rng.random(true.shape) < true
        n = np.cumsum(np.full(LOOKS, ROWS))
        gap = (true - scores).sum(axis=1).cumsum()
        s, v, o, p = ((each.sum(axis=1)).cumsum() for each in (
            happened - scores, (happened - scores) ** 2, happened, true))  # fmt: skip
        worst = np.zeros(LOOKS)
        for sign in (1.0, -1.0):
            parts = [BETS[:, None] * sign * (s - gap) - PSI[:, None] * v]
            for count, mean, up in ((o, p, sign), (n - o, n - p, -sign)):
                parts.append(up * COUNT_BETS[:, None] * count - np.expm1(up * COUNT_BETS)[:, None] * mean)
            log_e = logsumexp([logsumexp(part, axis=0) - math.log(len(part)) for part in parts], axis=0) - math.log(3)
            worst = np.maximum(worst, log_e)
        half = norm.isf(0.025) * np.sqrt(np.maximum(v - s * s / n, 1e-12))
        inside.append((worst.max() < math.log(2 / ALPHA), bool((np.abs(s - gap) <= half)[1:].all())))
    ours, twin = np.mean(inside, axis=0)
    return {"ours": ours, "each look": twin}


DRIFTS = {"4 points from 0": (0, 0.04), "8 points from 0": (0, 0.08), "4 points from 200": (200, 0.04),
          "8 points from 200": (200, 0.08), "both ways from 200": (200, math.nan),
          "slope to 8 points over 200": (200, 0.08), "season of 8 points from 200": (200, 0.08),
          "8 points in one of five slices": (200, 0.08)}  # fmt: skip
SLICES = 5
"""Slices of equal size, in the law in which one of them drifts."""


def _drift(name: str, scores: np.ndarray) -> np.ndarray:
    """Return how far each true probability is above its score, (looks, rows)."""
    start, size = DRIFTS[name]
    since = np.maximum(np.arange(LOOKS)[:, None] - start, 0)
    if math.isnan(size):
        # An error in both directions: too low below the median score, too high above it.
        size = np.where(scores < np.median(scores), 0.08, -0.08)
    if name.startswith("slope"):
        size = size * np.minimum(since / 200, 1)
    elif name.startswith("season"):
        size = size * np.sin(2 * np.pi * since / 52)
    elif name.endswith("slices"):
        size = np.where(np.arange(ROWS) % SLICES == 0, size, 0.0)
    return np.where(np.arange(LOOKS)[:, None] >= start, size, 0.0) + 0 * scores


def _of_slices(scores: np.ndarray, happened: np.ndarray) -> int:
    """The first alarm of all rows or of a slice, each with half of the false alarms (all slices by Bonferroni)."""
    found = first_alarm(Sums.of(scores, happened, 0.0, 1), 0.0, 2 / ALPHA)
    for each in range(SLICES):
        part = slice(each, None, SLICES)
        alone = Sums.of(scores[:, part], happened[:, part], 0.0, 1)
        found = min(found, first_alarm(alone, 0.0, 2 * SLICES / ALPHA))
    return found


def delay(name: str, runs: int) -> dict[str, float]:
    """Median looks from the start of a drift to the alarm."""
    start, _ = DRIFTS[name]
    law, found = LAWS["K = 2"], []
    limit, most = limits(law)
    _, most_tolerated = limits(LAWS["edge of the tolerance"])
    for seed in range(runs):
        rng = np.random.default_rng([3, seed, *map(ord, name[:3])])
        scores, _, _ = law.draw(rng)
        true = np.clip(scores + _drift(name, scores), 0, 1)
        happened = rng.random(true.shape) < true
        found.append((
            first_alarm(Sums.of(scores, happened, 0.02, 1), 0.02),
            first_alarm(Sums.of(scores, happened, 0.0, 1), 0.0),
            z_alarm(scores, happened, ALPHA / LOOKS),
            cumulative_alarm(scores, happened),
            _first(eces(scores, happened) > limit),
            _first(cusum(scores, happened) > most),
            _first(cusum(scores, happened, 0.03) > most_tolerated),
            *([_of_slices(scores, happened)] if name.endswith("slices") else []),
        ))  # fmt: skip
    looks = np.array(found, dtype=float)
    # An alarm before the drift is false, and no delay.
    waited = np.where(looks < start, np.nan, np.where(looks == LOOKS, LOOKS, looks - start + 1))
    names = (
        "ours",
        "ours, tolerance 0",
        "bonferroni",
        "cumulative",
        "ece",
        "cusum",
        "cusum, tolerance",
        "ours, slices",
    )
    return dict(zip(names, np.nanmedian(waited, axis=0), strict=False))


LINES = (
    [("false alarms", name, false_alarms) for name in LAWS]
    + [("coverage", name, coverage) for name in ("K = 2", "K = 100", "ratings", "rare events")]
    + [("delay", name, delay) for name in DRIFTS]
)


def frame() -> pd.DataFrame:
    """The stored table."""
    return pd.read_csv(TABLE)


def main() -> None:
    """Simulate the lines that are not there yet."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--only", action="append", metavar="CASE", help="a case, such as 'K = 100' (repeatable)")
    given = parser.parse_args()
    runs = given.runs
    for kind, case, simulated in LINES:
        known = frame() if TABLE.exists() else pd.DataFrame(columns=["kind", "case"])
        if (given.only and case not in given.only) or ((known["kind"] == kind) & (known["case"] == case)).any():
            continue
        number = runs if kind != "delay" else max(runs // 4, 10)
        lines = [
            {"kind": kind, "case": case, "runs": number, "method": method, "value": round(float(value), 4)}
            for method, value in simulated(case, number).items()
        ]
        # Another process may have written other lines meanwhile.
        known = pd.concat([frame(), pd.DataFrame(lines)]) if TABLE.exists() else pd.DataFrame(lines)
        known.to_csv(TABLE, index=False)
        values = ", ".join(f"{line['method']} {line['value']}" for line in lines)
        sys.stderr.write(f"{kind}, {case}: {values}\n")


if __name__ == "__main__":
    sys.exit(main())
