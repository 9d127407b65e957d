"""Methods compared over many experiments: win rates, improvements, harm and regret, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from calib_core._base.arrays import LOG_FLOOR, Bools, Codes, Float64s
from calib_core._base.diagram import Diagram
from calib_core._base.errors import as_share, as_whole
from calib_core.arena.contenders import BASE, title_of
from calib_core.arena.leaderboard_words import headline
from calib_core.arena.tournament import ArenaResults
from calib_core.defaults import LEVEL, SEED
from calib_core.predictions.predictions import InputError
from calib_core.text import count, listed, several

SAMPLES = 1000
"""Bootstrap samples of data sets."""
NOISE = 2.0
"""A larger log loss is beyond the noise of the test rows if it is larger by this many standard errors."""
LIMITS = (0.5, 2.0)
"""Ends of the ratio of two log losses in one experiment, so that no single experiment determines the mean."""
ROWS = (200, 1_000, 5_000)
CLASSES = (2, 10)
"""Upper ends of groups of experiments by calibration rows and by classes; a last group has the rest."""
MNAT = 1000.0
_WITH_ENDS = ("win_rate", "improvement", "ratio", "share_of_best", "worse", "brier_improvement", "accuracy_change",
              "rank")  # fmt: skip
ORDERS = {"win_rate": "win rate", "ratio": "relative improvement", "worse": "share made worse"}
"""Columns by which methods can be sorted, the best first."""
_WITHOUT_ENDS = ("worse_beyond_noise", "mean_harm", "regret")


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(Diagram):
    """Methods in ``lines``, the best first, and ``by_size`` in groups of calibration rows and classes.

    ``notes`` are remarks about methods and experiments that were left out or failed.
    """

    lines: pd.DataFrame
    by_size: pd.DataFrame
    n_experiments: int
    n_datasets: int
    level: float
    notes: tuple[str, ...] = ()

    def frame(self) -> pd.DataFrame:
        """One line per method."""
        return self.lines

    @property
    def headline(self) -> tuple[str, ...]:
        """Sentences on the share of experiments made worse, and on the highest win rate."""
        return headline(self.lines, self.n_experiments)


def table(
    results: pd.DataFrame | ArenaResults,
    *,
    by: str = "win_rate",
    level: float = LEVEL,
    samples: int = SAMPLES,
    random_state: int = SEED,
) -> Leaderboard:
    """Compare methods over experiments: how often each one wins, how much it gains, and how often it harms.

    With L_em the log loss of method m on the test rows of experiment e, and identity for no calibration:

    - ``win_rate``: share of the other methods whose L_ej is larger than L_em, a tie as half; mean over e.
    - ``improvement``: mean of L_e,identity - L_em over e, in 0.001 nats. It is the post-hoc improvement (PHI) of
      CalArena, as its published code averages it.
    - ``ratio``: 1 - exp(mean over e of ln(L_em / L_e,identity)), each ratio limited to 0.5 to 2. It is a relative
      improvement that no single experiment determines.
    - ``share_of_best``: sum of L_e,identity - L_em over e, divided by the same sum for the best method of each e. The
      best is known only afterwards, so 1 is the most possible.
    - ``worse``: share of experiments with L_em > L_e,identity. ``worse_beyond_noise``: those where the difference is
      above 2 standard errors. ``mean_harm``: mean of max(0, L_em - L_e,identity), in 0.001 nats.
    - ``regret``: mean of L_em - min over j of L_ej, in 0.001 nats. ``Leaderboard.by_size`` has it by calibration rows
      and classes.
    - ``brier_improvement``: as ``improvement``, of Brier scores summed over classes, in 0.001.
    - ``accuracy_change``: mean change of accuracy; it is positive if accuracy rises.
    - ``rank``: mean rank by log loss; 1 is best, and ties share their mean rank.
    - ``seconds``: median over e of the seconds to fit and apply. ``failed``: experiments without numbers.

    A method that fails in an experiment counts as no calibration there, as a user would then do. Intervals
    (``_low``, ``_high``) are percentiles of ``samples`` bootstrap means. Whole data sets are drawn, because experiments
    on one data set are alike. They are empty with fewer than two data sets.

    ``results`` are those of ``run``, ``results_in`` or ``project_results``. Methods are sorted ``by`` win_rate, ratio
    or worse, the best first, and then by win rate. Raises InputError if the results lack the method identity.

    What can mislead: win rates depend on which other methods are in the table. Where the others harm, a method wins by
    leaving the model unchanged. ``share_of_best`` and ``improvement`` are dominated by the experiments with the
    largest gains. The best method of each experiment is partly best by noise of the test rows, so ``share_of_best`` is
    too low and ``regret`` too high.

    References: Berta, Holzmüller, Bach & Jordan 2026 (win rate, post-hoc improvement, bootstrap of data sets).

    >>> lines = [("a", 0.5, "identity"), ("a", 0.4, "x"), ("b", 0.5, "identity"), ("b", 0.6, "x")]
    >>> frame = pd.DataFrame(lines, columns=["dataset", "log_loss", "method"]).assign(
    ...     model="net", brier=0.2, accuracy=0.9, log_loss_error=0.01, fit_seconds=0.0, apply_seconds=0.0, reason="",
    ...     cal_size=100, test_size=1000, n_classes=2)
    >>> board = table(frame).frame().set_index("method")
    >>> board.loc["x", ["win_rate", "improvement", "worse", "mean_harm"]].round(6).tolist()
    [0.5, 0.0, 0.5, 50.0]
    """
    if by not in ORDERS:
        raise InputError(f"by is {by!r:.80}; it must be one of {', '.join(ORDERS)}")
    as_share(level, "level")
    as_whole(samples, "samples", 1)
    field = Field.of(results)
    values = field.values()
    drawn = _drawn(field.datasets, samples, random_state)
    columns: dict[str, object] = {"method": list(field.methods), "title": [title_of(name) for name in field.methods]}
    for name in _WITH_ENDS:
        value = values[name]
        columns[name] = value.point()
        columns[f"{name}_low"], columns[f"{name}_high"] = value.ends(drawn, level)
    columns |= {name: values[name].point() for name in _WITHOUT_ENDS}
    columns["seconds"] = field.seconds
    columns["failed"] = field.failed.sum(axis=0)
    lines = pd.DataFrame(columns).sort_values("win_rate", ascending=False, kind="stable")
    lines = lines.sort_values(by, ascending=by == "worse", kind="stable", ignore_index=True)
    return Leaderboard(
        lines, field.by_size(values), len(field.losses), int(field.datasets.max()) + 1, level, field.notes
    )


@dataclass(frozen=True, eq=False)
class Mean:
    """Mean of the rows of ``above`` (E, M) over those of ``below`` (E, 1 or M), as a ratio of sums, then mapped."""

    above: Float64s
    below: Float64s
    then: Callable[[Float64s], Float64s] = np.asarray

    def point(self, where: Bools | slice = slice(None)) -> Float64s:
        """Value of each method, in all or some of the experiments; NaN if there is nothing to divide by."""
        return self._ratio(self.above[where].sum(axis=0), self.below[where].sum(axis=0))

    def ends(self, drawn: tuple[Codes, Float64s], level: float) -> tuple[Float64s, Float64s]:
        """Percentile interval over samples of data sets; NaN with fewer than two."""
        datasets, copies = drawn
        if copies.shape[1] < 2:
            return (np.full(self.above.shape[1], np.nan),) * 2
        above, below = (_by_dataset(values, datasets) for values in (self.above, self.below))
        found = self._ratio(copies @ above, copies @ below)
        low, high = np.quantile(found, ((1 - level) / 2, (1 + level) / 2), axis=0)
        return low, high

    def _ratio(self, above: Float64s, below: Float64s) -> Float64s:
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.then(np.where(below == 0, np.nan, above / below))


@dataclass(frozen=True, eq=False)
class Field:
    """Scores of all methods (E, M) in every experiment, no calibration in column ``base``, failures as that column.

    ``datasets`` (E,) are codes of data sets; ``rows`` and ``classes`` (E,) are sizes. ``seconds`` (M,) are medians.
    """

    methods: tuple[str, ...]
    datasets: Codes
    rows: Codes
    classes: Codes
    losses: Float64s
    briers: Float64s
    accuracies: Float64s
    errors: Float64s
    seconds: Float64s
    failed: Bools
    notes: tuple[str, ...]

    @classmethod
    def of(cls, results: pd.DataFrame | ArenaResults) -> Field:
        """Arrange results by experiment and method; InputError without results of no calibration."""
        lines = results if isinstance(results, pd.DataFrame) else results.frame()
        lines = lines.assign(seconds=lines["fit_seconds"] + lines["apply_seconds"])
        names = list(dict.fromkeys(lines["method"]))
        if BASE.name not in names:
            raise InputError(f"the results have no method {BASE.name!r}, with which all others are compared")
        wide = lines.pivot(
            index=["dataset", "model"],
            columns="method",
            values=["log_loss", "brier", "accuracy", "log_loss_error", "seconds"],
        )
        known = wide["log_loss"][BASE.name].notna()
        wide = wide[known]
        answered = wide["log_loss"].notna()
        used = [name for name in names if answered[name].any()]
        if not used:
            raise InputError("no experiment has a log loss without calibration")
        sizes = lines.drop_duplicates(["dataset", "model"]).set_index(["dataset", "model"]).loc[wide.index]
        scores = [wide[name][used].to_numpy(dtype=float) for name in ("log_loss", "brier", "accuracy")]
        failed, base = ~answered[used].to_numpy(), used.index(BASE.name)
        losses, briers, accuracies = (np.where(failed, score[:, [base]], score) for score in scores)
        errors = np.where(failed, 0.0, wide["log_loss_error"][used].to_numpy(dtype=float))
        errors[:, base] = 0.0
        return cls(
            tuple(used),
            pd.factorize(wide.index.get_level_values("dataset"))[0].astype(np.intp),
            sizes["cal_size"].to_numpy(dtype=np.intp),
            sizes["n_classes"].to_numpy(dtype=np.intp),
            losses,
            briers,
            accuracies,
            errors,
            wide["seconds"][used].median().to_numpy(dtype=float),
            failed,
            _notes(names, used, failed, int((~known).sum())),
        )

    @cached_property
    def base(self) -> int:
        """Column of no calibration."""
        return self.methods.index(BASE.name)

    @cached_property
    def changes(self) -> Float64s:
        """Log loss minus that without calibration (E, M); negative where a method gains."""
        return self.losses - self.losses[:, [self.base]]

    @cached_property
    def ranks(self) -> Float64s:
        """Ranks by log loss in every experiment (E, M); 1 is best, and ties share their mean."""
        return pd.DataFrame(self.losses).rank(axis=1).to_numpy()

    def values(self) -> dict[str, Mean]:
        """Columns of a leaderboard, before they are averaged."""
        n, m = self.losses.shape
        each, gains, harm = np.ones((n, 1)), -self.changes, np.maximum(self.changes, 0.0)
        ratios = np.maximum(self.losses, LOG_FLOOR) / np.maximum(self.losses[:, [self.base]], LOG_FLOOR)
        noisy = np.isnan(self.errors)
        beyond = (self.changes > NOISE * np.where(noisy, np.inf, self.errors)) & (self.changes > 0)
        # With rank r among m methods, ties halved, r - 1 of the m - 1 others are better.
        wins = (m - self.ranks) / (m - 1) if m > 1 else np.full((n, 1), np.nan)
        return {
            "win_rate": Mean(wins, each),
            "improvement": Mean(MNAT * gains, each),
            "ratio": Mean(np.log(np.clip(ratios, *LIMITS)), each, lambda mean: 1 - np.exp(mean)),
            "share_of_best": Mean(gains, gains.max(axis=1, keepdims=True)),
            "worse": Mean((self.changes > 0).astype(float), each),
            "worse_beyond_noise": Mean(beyond.astype(float), (~noisy).astype(float)),
            "mean_harm": Mean(MNAT * harm, each),
            "regret": Mean(MNAT * (self.losses - self.losses.min(axis=1, keepdims=True)), each),
            "brier_improvement": Mean(MNAT * (self.briers[:, [self.base]] - self.briers), each),
            "accuracy_change": Mean(self.accuracies - self.accuracies[:, [self.base]], each),
            "rank": Mean(self.ranks, each),
        }

    def by_size(self, values: dict[str, Mean]) -> pd.DataFrame:
        """Regret, win rate and share made worse of each method in groups by calibration rows and by classes."""
        found = []
        rows, classes = np.searchsorted(ROWS, self.rows), np.searchsorted(CLASSES, self.classes)
        for i, j in sorted(set(zip(rows.tolist(), classes.tolist(), strict=True))):
            where = (rows == i) & (classes == j)
            found.append(
                pd.DataFrame(
                    {
                        "rows": _between(ROWS, i),
                        "classes": _between(CLASSES, j),
                        "experiments": int(where.sum()),
                        "method": self.methods,
                        **{name: values[name].point(where) for name in ("regret", "win_rate", "worse")},
                    }
                )
            )
        return pd.concat(found, ignore_index=True)


def _between(ends: Sequence[int], i: int) -> str:
    """Name of the group of integers above ends[i - 1] and up to ends[i].

    >>> [_between((2, 10), i) for i in range(3)]
    ['up to 2', '3 to 10', 'above 10']
    """
    if i == 0:
        return f"up to {count(ends[0])}"
    return f"above {count(ends[-1])}" if i == len(ends) else f"{count(ends[i - 1] + 1)} to {count(ends[i])}"


def _drawn(datasets: Codes, samples: int, random_state: int) -> tuple[Codes, Float64s]:
    """Codes of data sets, and how often each is in every bootstrap sample (samples, D)."""
    n = int(datasets.max()) + 1
    copies = np.random.default_rng(random_state).multinomial(n, np.full(n, 1 / n), size=samples)
    return datasets, copies.astype(np.float64)


def _by_dataset(values: Float64s, datasets: Codes) -> Float64s:
    """Sums (D, M) of values (E, M) over the experiments of each data set."""
    sums = np.zeros((int(datasets.max()) + 1, values.shape[1]))
    np.add.at(sums, datasets, values)
    return sums


def _notes(names: Sequence[str], used: Sequence[str], failed: Bools, unknown: int) -> tuple[str, ...]:
    without = [title_of(name) for name in names if name not in used]
    some = [f"{title_of(name)} ({count(int(n))})" for name, n in zip(used, failed.sum(axis=0), strict=True) if n]
    notes = (
        f"Without any number, and left out: {listed(without)}." if without else "",
        f"Failed in some experiments, where they count as no calibration: {listed(some)}." if some else "",
        f"{several(unknown, 'experiments')} without a log loss before calibration, left out." if unknown else "",
    )
    return tuple(note for note in notes if note)
