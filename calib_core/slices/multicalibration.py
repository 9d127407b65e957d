"""Multicalibration: calibration error within groups of rows, the worst group, and significant groups."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from calib_core._base.arrays import Codes, Float64s
from calib_core._base.diagram import Diagram
from calib_core._base.distributions import norm
from calib_core._base.errors import InputError, NotAnswerable, as_share, as_whole
from calib_core.claims.binary_claims import Claims
from calib_core.columns.cut import PARTS, divided_by
from calib_core.defaults import LEVEL, SEED, SIGNIFICANCE
from calib_core.estimators.base import judged_notion
from calib_core.inference.intervals.clustered_rows import few_groups, normals, poor, together, widened
from calib_core.inference.intervals.elementary import around, beyond
from calib_core.inference.intervals.grouped_row_noise import widest
from calib_core.inference.intervals.simulated_domain import within_groups
from calib_core.inference.intervals.wild_bootstrap import excess
from calib_core.inference.noise import outcome_draws
from calib_core.predictions.predictions import Predictions, whole
from calib_core.predictions.row_groups import FEWEST_GROUPS, RowGroups
from calib_core.reductions.base import Reduction, claims_of, counts
from calib_core.results.uncertainty import Interval, NoiseFloor
from calib_core.slices.gaps import MOST_SLICES
from calib_core.text import at_level, between, chance, short_percent


@dataclass(frozen=True, eq=False)
class GroupFamily:
    """Groups that share no row: the number of each row's, (n,), -1 where it is in none, and what they are called."""

    codes: Codes
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Walks:
    """One family: its rows by group and score, where runs of equal scores end, and the first such of each group."""

    order: Codes
    ends: Codes
    first: Codes

    @property
    def starts(self) -> Codes:
        """Start positions of the rows of each group."""
        return np.asarray(np.append(0, self.ends + 1)[self.first])

    def squares(self, amounts: Float64s, clusters: Codes) -> Float64s:
        """Squares of what rows of one cluster (n,) add up to in each group, added up, (groups,)."""
        group = np.repeat(np.arange(len(self.first)), np.diff(np.append(self.starts, len(self.order))))
        size = int(clusters.max()) + 1
        pairs, place = np.unique(group * size + clusters[self.order], return_inverse=True)
        sums = np.square(np.bincount(place, amounts[self.order]))
        return np.bincount(pairs // size, sums, len(self.first)).astype(np.float64)

    def ranges(self, moved: Float64s) -> Float64s:
        """Largest |sum| over runs of each group, (draws, groups), of numbers (draws, n) in order of the scores."""
        path = np.cumsum(moved[:, self.order], axis=1)[:, self.ends]
        before = np.column_stack([np.zeros(len(moved)), path])[:, self.first]
        above, below = np.maximum.reduceat(path, self.first, axis=1), np.minimum.reduceat(path, self.first, axis=1)
        return np.asarray(np.maximum(above, before) - np.minimum(below, before))


@dataclass(frozen=True, eq=False)
class Runs:
    """Groups of rows in order of their scores: ``names``, ``rows`` in each and their ``weight``, all (groups,).

    ``skipped`` are groups that contain rows, but too few.
    """

    walks: tuple[_Walks, ...]
    names: tuple[str, ...]
    rows: Codes
    weight: Float64s
    skipped: tuple[str, ...]

    @classmethod
    def of(
        cls,
        scores: Float64s,
        weights: Float64s,
        families: Sequence[GroupFamily],
        fewest: int,
        clusters: Codes | None = None,
        fewest_clusters: int = 0,
    ) -> Runs:
        """Families of groups of at least ``fewest`` rows, from rows by ascending score (n,).

        For rows in groups, ``clusters`` (n,), they also have at least ``fewest_clusters`` of these.
        """
        walks, names, skipped = [], list[str](), list[str]()
        rows, weight = list[Codes](), list[Float64s]()
        for family in families:
            known = family.codes >= 0
            size = len(family.names)
            count = np.bincount(family.codes[known], minlength=size)
            enough = count >= fewest
            if clusters is not None:
                pairs = np.unique(np.column_stack([family.codes[known], clusters[known]]), axis=0)
                enough &= np.bincount(pairs[:, 0], minlength=size) >= fewest_clusters
            kept = np.flatnonzero(enough)
            skipped += [family.names[g] for g in np.flatnonzero((count > 0) & ~enough).tolist()]
            if not len(kept):
                continue
            names += [family.names[g] for g in kept.tolist()]
            rows.append(count[kept])
            weight.append(np.bincount(family.codes[known], weights[known], size)[kept].astype(np.float64))
            mine = np.flatnonzero(np.isin(family.codes, kept))
            order = mine[np.argsort(family.codes[mine], kind="stable")]
            code, score = family.codes[order], scores[order]
            last = np.append((code[1:] != code[:-1]) | (score[1:] != score[:-1]), True)
            ends = np.flatnonzero(last)
            first = np.searchsorted(code[ends], kept)
            walks.append(_Walks(order, ends, first))
        if not names:
            return cls((), (), np.empty(0, dtype=np.intp), np.empty(0), tuple(skipped))
        return cls(tuple(walks), tuple(names), np.concatenate(rows), np.concatenate(weight), tuple(skipped))

    def errors(self, moved: Float64s) -> Float64s:
        """The error of each group, (draws, groups), of weighted residuals (draws, n)."""
        return np.concatenate([walk.ranges(moved) for walk in self.walks], axis=1) / self.weight

    def sums(self, amounts: Float64s) -> Float64s:
        """Sums of numbers (n,) over each group, (groups,)."""
        parts = [np.add.reduceat(amounts[walk.order], walk.starts) for walk in self.walks]
        return np.concatenate(parts)

    def squares(self, amounts: Float64s, clusters: Codes | None) -> Float64s:
        """Squares of what rows of one cluster (n,) add up to in each group, added up, (groups,); of rows without."""
        if clusters is None:
            return self.sums(np.square(amounts))
        return np.concatenate([walk.squares(amounts, clusters) for walk in self.walks])


RESAMPLES = 1000
"""Draws of outcomes; half as many of residuals times standard normals."""
_FEWEST_DRAWS, _MOST_NUMBERS = 200, 50_000_000
"""Fewest draws, and largest count of drawn numbers: with more rows there are fewer draws."""
_AT_ONCE = 4_000_000
"""Drawn numbers in memory at a time."""
_TAIL = 0.05
"""Level at which Student's point is compared with the normal one, to widen noise estimated from few clusters."""


@dataclass(frozen=True, eq=False)
class WeighedClaims:
    """Scores, weights and weighted residuals (n,) by ascending score, in an order that no order of rows decides.

    ``clusters``: groups of dependent rows; None where all are independent.
    """

    scores: Float64s
    weights: Float64s
    moved: Float64s
    families: tuple[GroupFamily, ...]
    clusters: RowGroups | None

    @classmethod
    def of(cls, rows: Predictions, claims: Claims, families: Sequence[GroupFamily]) -> WeighedClaims:
        """The claims of a notion, which has to make one of each row."""
        if claims.same_rows or len(claims.strata) != 1 or len(claims.stratum(0).scores) != rows.n_rows:
            raise NotAnswerable(
                "multicalibration needs one claim per row, all of one kind; use confidence, or one class "
                "(class-specific)"
            )
        stratum, each = claims.stratum(0), np.ones(rows.n_rows) if rows.weights is None else rows.weights
        # Whole weights are copies, each with an outcome of its own; a row of weight 0 is no row.
        index = np.repeat(np.arange(rows.n_rows), each.astype(np.intp)) if whole(each) else np.flatnonzero(each > 0)
        codes = [family.codes[index] for family in families]
        weight = np.ones(len(index)) if whole(each) else each[index]
        score, outcome = stratum.scores.astype(np.float64)[index], stratum.outcomes[index]
        order = np.lexsort((outcome, weight, *codes, score))
        score, outcome, weight = score[order], outcome[order], weight[order]
        sorted_families = tuple(GroupFamily(c[order], family.names) for c, family in zip(codes, families, strict=True))
        clusters = None if rows.row_groups is None else rows.row_groups.take(index[order])
        return cls(score, weight, weight * (outcome - score), sorted_families, clusters)

    @property
    def tested(self) -> bool:
        """True if rows are independent and of equal weight."""
        return self.clusters is None and bool((self.weights == self.weights[0]).all())

    def laws(self, runs: Runs, random_state: int) -> tuple[list[Float64s], list[Float64s]]:
        """Errors of groups that noise makes, (draws, groups), by each law for calibrated claims, and for any claims.

        Outcomes drawn from the scores, and residuals multiplied by standard normals, one per row. For grouped rows
        there are up to three laws. The first is as much wider, group by group, as the second is with one normal per
        cluster. The second has one normal per cluster, for calibrated and for any claims. If surprises are rare,
        outcomes that are equal within clusters are the third. All are widened by Student's point for this number of
        clusters.
        """
        null = np.concatenate([runs.errors(part) for part in self._calibrated(random_state)])
        single = np.concatenate([runs.errors(part) for part in self._multiplied(random_state, None)])
        if self.clusters is None:
            return [null], [null, single]
        room = widened(self.clusters, _TAIL)
        wild = np.concatenate([runs.errors(part) for part in self._multiplied(random_state, self.clusters)])
        usual = single.mean(axis=0)
        wider = np.divide(wild.mean(axis=0), usual, out=np.ones(len(usual)), where=usual > 0)
        found = [null * room * np.maximum(wider, 1.0), wild * room]
        if poor(self.clusters, self.scores):
            found.append(np.concatenate([runs.errors(part) for part in self._alike(random_state)]))
        return found, found

    def hidden(self, tail: float) -> float:
        """Largest part of a sum over all claims that one-sided noise can hide, as a share of all weight."""
        total = float(self.weights.sum())
        moved = together(np.abs(self.moved), self.clusters) / total
        return widened(self.clusters, tail) * excess(moved, self._most / total, tail)

    def hidden_in(self, runs: Runs, tail: float) -> Float64s:
        """The same of each group's error, (groups,)."""
        squares = np.maximum(
            runs.squares(np.abs(self.moved) / self._most, None if self.clusters is None else self.clusters.codes), 0.0
        )
        limits = np.asarray([beyond(float(square), tail) for square in squares])
        return widened(self.clusters, tail) * limits * self._most / runs.weight

    @property
    def _most(self) -> float:
        """The most that one row, or cluster, weighs."""
        return float(together(self.weights, self.clusters).max())

    def _calibrated(self, random_state: int) -> Iterator[Float64s]:
        """Weighted residuals of outcomes drawn from the scores, (draws, n) at a time."""
        for count, rng in outcome_draws.streams(self._draws, random_state):
            for part in self._parts(count):
                yield self.weights * ((rng.random((part, len(self.scores))) < self.scores) - self.scores)

    def _multiplied(self, random_state: int, clusters: RowGroups | None) -> Iterator[Float64s]:
        """Weighted residuals times standard normals, one per row or one per cluster, (draws, n) at a time."""
        rng = np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(1,)))
        for part in self._parts(max(self._draws // 2, _FEWEST_DRAWS)):
            if clusters is None:
                yield self.moved * rng.standard_normal((part, len(self.scores)))
            else:
                yield self.moved * normals(clusters, self.moved, rng, part)[clusters.codes].T

    def _alike(self, random_state: int) -> Iterator[Float64s]:
        """Weighted residuals where all rows of a cluster follow one uniform number, (draws, n) at a time."""
        assert self.clusters is not None
        rng = np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(9,)))
        for part in self._parts(_FEWEST_DRAWS):
            uniform = norm.cdf(normals(self.clusters, self.moved, rng, part))[self.clusters.codes].T
            yield self.weights * ((uniform < self.scores) - self.scores)

    @property
    def _draws(self) -> int:
        return min(RESAMPLES, max(_FEWEST_DRAWS, _MOST_NUMBERS // len(self.scores)))

    def _parts(self, count: int) -> Iterator[int]:
        most = max(1, _AT_ONCE // len(self.scores))
        return (min(most, count - start) for start in range(0, count, most))


FEWEST = 20
"""Rows below which a group is left out and named."""

ALL = "all rows"
_SLACK = 1e-3
"""A lower end below this share of the error is rounding."""
ABOUT = "the largest error of a group, by its share of all rows, without noise and given these predictions"


@dataclass(frozen=True, eq=False, repr=False)
class Multicalibration(Diagram):
    """Calibration error within the worst of several groups, and within every group.

    ``value`` is the largest error of a group times the group's share of all rows; ``interval`` and ``noise_floor`` are
    of it. ``deviations`` is the largest error of a group in standard deviations of its noise, ``rescaled`` the same in
    units of the error of all rows. ``found`` has one line per group; ``skipped`` names those of too few rows.
    """

    drawn: ClassVar[bool] = False

    value: float
    interval: Interval
    noise_floor: NoiseFloor
    deviations: float
    rescaled: float
    found: pd.DataFrame
    skipped: tuple[str, ...]

    @property
    def p_value(self) -> float:
        """Probability that any group of a calibrated model exceeds this many standard deviations of its noise.

        It is valid for all groups jointly, so that examining many makes no false alarm likelier.
        """
        return float(self.found["p"].min())

    @property
    def headline(self) -> str:
        """The most significant group, or a sentence that there is none."""
        worst = self.found.iloc[0]
        if not worst["stands_out"]:
            return f"None of {len(self.found):,} groups has a significant error (tested jointly)."
        return (
            f"Most significant group: {worst['group']} ({worst['rows']:,} rows; {chance(float(worst['p']))}, corrected "
            f"for {len(self.found):,} groups)."
        )

    @property
    def sentence(self) -> str:
        """The value with its interval and noise floor, in a sentence."""
        ends, floor = between(self.interval.low, self.interval.high), short_percent(self.noise_floor.high)
        beyond = "above" if self.value > self.noise_floor.high else "within"
        place = int((self.found["share"] * self.found["error"]).argmax())
        worst = self.found.iloc[place]
        many = len(self.found)
        of_many = f", the largest such product of {many:,} groups" if many > 1 else ""
        rough = "" if self.interval.tested else ", a rough guide"
        alone = ""
        if many > 1 and (place or not worst["stands_out"]):
            significant = "significant" if worst["stands_out"] else "not significant"
            alone = (
                f" The error of this group is {significant} ({chance(float(worst['p']))}, all groups tested jointly)."
            )
        return (
            f"The multicalibration error is {short_percent(self.value)} ({at_level(self.interval.level)} interval "
            f"{ends}{rough}), {beyond} its noise floor of {floor}. It is the error of {worst['group']} times the share "
            f"of this group in all rows{of_many}.{alone}"
        )

    def frame(self) -> pd.DataFrame:
        """One line per group, the group that exceeds its noise most first."""
        return self.found

    def _line(self) -> str:
        low, high = self.interval.low, self.interval.high
        return (
            f"{self.value:.4f}, {low:.4f} to {high:.4f}; groups: {len(self.found):,}, smallest {chance(self.p_value)}"
        )


def multicalibration(
    predictions: Predictions,
    groups: Sequence[str] | Mapping[str, ArrayLike] | None = None,
    reduction: str | Reduction | None = None,
    crossings: bool = False,
    parts: int = PARTS,
    fewest: int = FEWEST,
    level: float = LEVEL,
    random_state: int = SEED,
) -> Multicalibration:
    """Return the calibration error within the worst group of rows, so that errors of groups do not cancel.

    Parameters
    ----------
    groups : names of metadata columns, each of whose values is a group, by default all (numbers are cut into ``parts``
        ranges, as by ``cut``). Or groups by name, each (n,) True where a row is in it, which may overlap. All rows
        together are always one of the groups.
    reduction : a notion in which each row makes one claim of one kind: confidence, or one class. None: the event of two
        classes, else the confidence.
    crossings : whether values of two columns that meet are groups, too.
    fewest : groups of fewer rows (with weights that are no counts: of fewer rows with a weight) are left out and named.

    With scores s_i, outcomes z_i, weights w_i, all of which sum to W, and W_g of group g:

        error_g = max over intervals I of |sum of w_i (z_i - s_i) over rows of g with s_i in I| / W_g
        value = max_g W_g / W error_g,  sup over groups and intervals of |E[(z - s) 1{in g, s in I}]| on these rows
        deviations_g = error_g / sigma_g,  sigma_g^2 = sum of w_i^2 s_i (1 - s_i) over g / W_g^2

    error_g is the key ``max-deviation`` within the group, in [0, 1], as ``value`` is, which is at least that of all
    rows. ``rescaled`` is the largest deviations_g times sigma of all rows (MCGrad's ``mce``); deviations_g is infinite
    where scores of 0 and 1 are contradicted.

    The value is a norm of the residuals. Its interval is max(0, value - q) to value + X, with q the (1 + level)/2 point
    of noise. The part that one-sided noise can hide is X (``inference.wild.bounds``). It is valid for any number of
    groups, and was simulated for independent rows of one weight (``inference.domain``). For rows in clusters, noise is
    that of whole clusters (``WeighedClaims.laws``), and groups with rows of fewer than ten clusters are left out, too.
    Columns of the frame:

    - group, rows, share (of all weight), error;
    - low, high (at ``level`` for all groups jointly: low by the largest of all groups' noise, in units of each one's,
      high by a union bound);
    - deviations, p, stands_out.

    The p-value of a group is about its distance beyond its mean noise, in units of its own deviation. It is the chance
    that in a calibrated model any group is as far off. It is exact up to 1,000 draws (200 of millions of rows), however
    the groups overlap (single-step maxT).

    NotAnswerable for rows of fewer than ten clusters, summaries, notions of several claims a row, and where no group
    has rows enough. What can mislead: ``value`` gives a small group little weight, and so does its noise floor. The
    group's own line shows whether a small group is off. Errors of two directions in one group and one interval cancel.
    The correction does not cover groups chosen after looking at the outcomes.

    References: Hébert-Johnson et al. 2018 (by mass: a small group may be further off); Tax et al. 2025
    (MCGrad); Westfall & Young 1993 (maxT); Wu 1986.

    >>> site = np.repeat(["a", "b"], 100)
    >>> right = np.r_[np.arange(100) % 10 < 9, np.arange(100) % 10 < 7]  # says .8: too low in a, too high in b
    >>> p = Predictions.from_confidence([0.8] * 200, right, metadata=pd.DataFrame({"site": site}))
    >>> found = multicalibration(p)
    >>> round(found.value, 3), found.frame()[["group", "error"]].round(3).values.tolist()
    (0.05, [['site = a', 0.1], ['site = b', 0.1], ['all rows', 0.0]])
    """
    as_whole(fewest, "fewest", 1)
    as_share(level, "level")
    rows = _of_rows(predictions)
    everybody = GroupFamily(np.zeros(rows.n_rows, dtype=np.intp), (ALL,))
    families = [everybody, *_families(predictions, rows, groups, crossings, parts)]
    claims = WeighedClaims.of(rows, claims_of(rows, judged_notion(reduction, rows)), families)
    clusters = None if claims.clusters is None else claims.clusters.codes
    runs = Runs.of(claims.scores, claims.weights, claims.families, fewest, clusters, FEWEST_GROUPS)
    if not runs.names:
        raise NotAnswerable(f"no group has {fewest:,} rows; give more rows, or lower fewest")
    return _judged(claims, runs, level, random_state)


def _of_rows(predictions: Predictions) -> Predictions:
    if counts(predictions) is not None:
        raise NotAnswerable("multicalibration needs row-level data; a summary contains only counts")
    rows = predictions.answered
    if rows.row_groups is not None and len(rows.row_groups.values) < FEWEST_GROUPS:
        raise NotAnswerable(few_groups(rows.row_groups))
    return rows


# -- groups ---------------------------------------------------------------------------------------------------


def _families(
    given: Predictions,
    rows: Predictions,
    groups: Sequence[str] | Mapping[str, ArrayLike] | None,
    crossings: bool,
    parts: int,
) -> list[GroupFamily]:
    if isinstance(groups, Mapping):
        return [_masked(given, str(name), mask) for name, mask in groups.items()]
    names = [groups] if isinstance(groups, str) else groups
    cuts = [
        GroupFamily(cut.codes.astype(np.intp), tuple(condition.title for condition in cut.conditions))
        for cut in divided_by(rows, names, parts)[0].values()
    ]
    crossed = [_crossing(*pair) for pair in itertools.combinations(cuts, 2)] if crossings else []
    found = [*cuts, *crossed]
    if (many := sum(len(family.names) for family in found)) > MOST_SLICES:
        raise NotAnswerable(
            f"these columns make {many:,} groups, more than the {MOST_SLICES:,} that can be read; name fewer columns, "
            "or leave crossings out"
        )
    return found


def _masked(given: Predictions, name: str, mask: ArrayLike) -> GroupFamily:
    inside = np.asarray(mask)
    if inside.shape != (given.n_rows,) or inside.dtype != bool:
        raise InputError(
            f"the group {name[:80]!r} has shape {inside.shape} and type {inside.dtype}; it must be True or False "
            f"for each of the {given.n_rows:,} rows"
        )
    if name == ALL or not inside.any():
        why = "is always included" if name == ALL else "has no rows"
        raise InputError(f"the group {name[:80]!r} {why}; leave it out")
    kept = inside if given.abstained is None else inside[~given.abstained]
    return GroupFamily(np.where(kept, 0, -1), (name,))


def _crossing(first: GroupFamily, second: GroupFamily) -> GroupFamily:
    size = len(second.names)
    names = tuple(f"{left}, {right}" for left, right in itertools.product(first.names, second.names))
    return GroupFamily(first.codes * size + second.codes, names)


# -- noise ----------------------------------------------------------------------------------------------------


def _judged(claims: WeighedClaims, runs: Runs, level: float, random_state: int) -> Multicalibration:
    total, tail = float(claims.weights.sum()), (1.0 - level) / 2
    share = runs.weight / total
    error = runs.errors(claims.moved[None])[0]
    calibrated, noise = claims.laws(runs, random_state)
    value = float((share * error).max())
    floor = NoiseFloor(value, widest([(share * law).max(axis=1) for law in calibrated], RESAMPLES))
    low = value - max(float(np.quantile((share * law).max(axis=1), 1.0 - tail)) for law in noise)
    ends = _noticed(low, value), min(value + claims.hidden(tail), 1.0)
    tested = claims.tested and within_groups(len(claims.scores), level)
    about = ABOUT + ("" if claims.clusters is None else claims.clusters.together)
    interval = around(value, ends, level, "bounds for a norm of residuals", tested, about)
    variance = np.square(claims.weights) * claims.scores * (1.0 - claims.scores)
    sigma = np.sqrt(np.maximum(runs.sums(variance), 0.0)) / runs.weight
    deviations = np.where(error > 0, np.inf, 0.0)
    np.divide(error, sigma, out=deviations, where=sigma > 0)
    lows = error - np.maximum.reduce([_furthest(law, tail) for law in noise])
    highs = error + claims.hidden_in(runs, tail / len(runs.names))
    found = pd.DataFrame(
        {
            "group": pd.Series(runs.names, dtype=object),
            "rows": runs.rows,
            "share": share,
            "error": error,
            "low": np.where(lows > _SLACK * error, lows, 0.0),
            "high": np.minimum(highs, 1.0),
            "deviations": deviations,
            "p": np.maximum.reduce([_single_step(error, law) for law in calibrated]),
        }
    )
    found["stands_out"] = found["p"] <= SIGNIFICANCE
    found = found.sort_values(["p", "deviations", "rows"], ascending=[True, False, False], kind="stable")
    every = float(np.sqrt(variance.sum())) / total
    worst = float(deviations.max())
    rescaled = worst * every if every > 0 else worst
    return Multicalibration(value, interval, floor, worst, rescaled, found.reset_index(drop=True), runs.skipped)


def _noticed(low: float, value: float) -> float:
    """A lower end, 0 where it is rounding."""
    return low if low > _SLACK * value else 0.0


def _furthest(noise: Float64s, tail: float) -> Float64s:
    """Simultaneous noise limits of the groups' errors, (groups,): a share 1 - ``tail`` of draws is within all of them.

    Mean plus a number of deviations, the same number for all groups.
    """
    mean, spread = noise.mean(axis=0), noise.std(axis=0)
    beyond = _standard(noise, mean, spread).max(axis=1)
    return np.asarray(mean + float(np.quantile(beyond, 1.0 - tail)) * spread)


def _standard(errors: Float64s, mean: Float64s, spread: Float64s) -> Float64s:
    """Errors less their mean in units of their deviation; 0 where noise leaves no choice."""
    away = errors - mean
    return np.divide(away, spread, out=np.zeros(away.shape), where=spread > 0)


def _single_step(error: Float64s, null: Float64s) -> Float64s:
    """The p-value of each group, corrected for all (groups,): the observed errors are one draw among the others."""
    every = np.vstack([error, null])
    standard = _standard(every, every.mean(axis=0), every.std(axis=0))
    most = np.sort(standard[1:].max(axis=1))
    # Sums in another order may differ in the last bit: what differs by less is equal.
    ahead = len(most) - np.searchsorted(most, standard[0] - 1e-9, side="left")
    return np.asarray((1 + ahead) / (len(most) + 1))
