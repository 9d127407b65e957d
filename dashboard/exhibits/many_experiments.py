"""Calibrators compared over many experiments: the leaderboard, and mean ranks with their critical difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.arena import ArenaResults, Leaderboard, MeanRanks
from calib_core.arena.leaderboard import ORDERS
from calib_core.arena.stored_results import BENCHMARKS
from calib_core.registry.registry import Choice
from calib_core.text import at_level, begun, count, in_percent, inside, rounded, several
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call, division, file

if TYPE_CHECKING:
    import plotly.graph_objects as go


FILES, FITTING = "files", "fitting"
"""The benchmark of the loaded files, and the stored one with as many classes as the first of them: two, or more."""
_BENCHMARKS = Choice(
    (FITTING, *BENCHMARKS, FILES),
    titles=(
        "Experiments of this project, two or more classes as in your file",
        *(f"Experiments of this project, {kind}" for kind in BENCHMARKS),
        "These files",
    ),
)
_HELP = "experiments of this project, or the loaded files"
_ORDER = Choice(tuple(ORDERS), titles=tuple(map(begun, ORDERS.values())))


def results(benchmark: str, scene: Scene) -> Call[Any]:
    """Return the results of a benchmark: stored ones, or those of all methods on the loaded files."""
    if benchmark == FITTING:
        classes = scene.get(scene.bases[0].predictions).n_classes if scene.bases else 2
        benchmark = BENCHMARKS[(classes or 2) > 2]
    if benchmark != FILES:
        return call(cc.arena.project_results, benchmark)
    if not scene.bases:
        raise NotAnswerable("no file is loaded; choose a file or an example first")
    files = {model.name or file(model.source.data).title: division(model.source) for model in scene.bases}
    return call(cc.arena.run, call(cc.arena.divided_experiments, files))


def _remarks(found: pd.DataFrame | ArenaResults) -> tuple[str, ...]:
    return () if isinstance(found, pd.DataFrame) else tuple(f"{name}: {why}" for name, why in found.remarks)


@EXHIBITS.register("arena", "Calibrators over many experiments", reference="Berta et al. 2026")
@dataclass(frozen=True)
class Arena(Exhibit):
    """Win rate, improvement of the log loss, and share of experiments made worse of each calibrator."""

    reads = "counts"
    printed = 40

    benchmark: Annotated[str, _BENCHMARKS, "Benchmark", _HELP] = FITTING
    order: Annotated[str, _ORDER, "Sort", "the column by which methods are sorted"] = next(iter(ORDERS))

    meanings = of.Meanings(
        {
            "method": "key of the calibrator",
            "title": "title of the calibrator",
            "win_rate": "share of the other methods with a larger log loss, a tie as half; mean over experiments",
            "improvement": "mean fall of the log loss, in 0.001 nats",
            "ratio": "relative fall of the log loss: 1 minus the geometric mean of ratios, each from 0.5 to 2",
            "share_of_best": "fall of the log loss over that of the best method of each experiment",
            "worse": "share of experiments with a larger log loss than without calibration",
            "brier_improvement": "mean fall of the Brier score, summed over classes, in 0.001",
            "accuracy_change": "mean change of accuracy",
            "rank": "mean rank by log loss; 1 is best, and ties share their mean rank",
            "worse_beyond_noise": "share of experiments in which it is larger by 2 standard errors or more",
            "mean_harm": "mean rise of the log loss, 0 where it falls, in 0.001 nats",
            "regret": "mean log loss minus that of the best method of each experiment, in 0.001 nats",
            "seconds": "median seconds to fit and apply",
            "failed": "experiments without a result, which count as no calibration",
        }
    )

    def board(self, scene: Scene) -> Call[Leaderboard]:
        """Return the leaderboard with its notes."""
        return call(cc.arena.table, results(self.benchmark, scene), by=self.order, stem="board")

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.board(scene).part("frame()")

    def figure(self, scene: Scene) -> Call[go.Figure]:
        return call("figures.leaderboard", self.board(scene))

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("method", "title"),
            of.share("win rate", "win_rate"),
            of.between("interval, win rate", "win_rate_low", "win_rate_high"),
            of.error("relative improvement", "ratio"),
            of.between("interval, relative improvement", "ratio_low", "ratio_high"),
            of.share("made worse", "worse"),
            of.between("interval, made worse", "worse_low", "worse_high"),
            of.share("worse beyond noise", "worse_beyond_noise"),
            of.number("seconds"),
            of.number("improvement, 0.001 nats", "improvement"),
            of.number_between("interval, improvement", "improvement_low", "improvement_high"),
            of.share("share of the best", "share_of_best"),
            of.between("interval, share of the best", "share_of_best_low", "share_of_best_high"),
            of.number("mean harm, 0.001 nats", "mean_harm"),
            of.number("regret, 0.001 nats", "regret"),
            of.number("Brier improvement, 0.001", "brier_improvement"),
            of.number_between("interval, Brier improvement", "brier_improvement_low", "brier_improvement_high"),
            of.points("accuracy change", "accuracy_change"),
            of.difference_between("interval, accuracy change", "accuracy_change_low", "accuracy_change_high", "share"),
            of.number("mean rank", "rank"),
            of.number_between("interval, mean rank", "rank_low", "rank_high"),
            of.whole("failed"),
        )

    def words(self, scene: Scene) -> Words:
        board = scene.get(self.board(scene))
        sizes = f"{several(board.n_experiments, 'experiments')} on {several(board.n_datasets, 'data sets')}"
        known = board.lines[board.lines["win_rate"].notna()]
        pairs = zip(known["title"], known["win_rate"], strict=True)
        shares = "; ".join(f"{title} {in_percent(share)}" for title, share in pairs)
        return Words(
            "An experiment is one model on one data set. In each, all methods are fitted on the calibration rows and "
            "evaluated on its test rows. A method that fails counts as no calibration there. The recommended "
            "calibrator is the advice of calib choose in each experiment, which can be none.",
            alt=f"Win rates over {sizes}: {shares}.",
            headline=board.headline,
            key=f"{sizes}. {_marks(board)} Seconds: to fit and apply.",
        ).also(*board.notes, *_remarks(scene.get(results(self.benchmark, scene))), *_read(self.benchmark))


def _marks(board: Leaderboard) -> str:
    if board.n_datasets < 2:
        return "Open marks: there is no interval, because all experiments are on one data set."
    return (
        f"Lines: {at_level(board.level)} bootstrap intervals over data sets. Filled: the interval excludes 50 % "
        "(win rate) or 0 (improvement)."
    )


def _read(benchmark: str) -> tuple[str, ...]:
    own = (
        "These experiments come with the program: they are not your files, and no default was chosen on them. Seconds "
        "are those of one machine."
        if benchmark != FILES
        else "Each file is an experiment. With cross-fitting, each fold is one: its rows are the test rows."
    )
    return (
        own,
        "Win rate: share of the other methods with a larger log loss; it depends on which others are compared. "
        "Relative improvement: fall of the log loss, as a geometric mean of ratios, each limited to 0.5 to 2. Made "
        "worse: share of experiments with a larger log loss than without calibration.",
    )


@EXHIBITS.register("arena-ranks", "Mean ranks of calibrators", reference="Demšar 2006; Nemenyi 1963")
@dataclass(frozen=True)
class ArenaRanks(Exhibit):
    """Mean rank of each calibrator by log loss, and the difference that two ranks need to be significant."""

    reads = "counts"
    printed = 40

    benchmark: Annotated[str, _BENCHMARKS, "Benchmark", _HELP] = FITTING

    meanings = of.Meanings(
        {
            "method": "key of the calibrator",
            "title": "title of the calibrator",
            "rank": "mean rank by log loss over data sets; 1 is best",
            "low": "rank minus half the critical difference",
            "high": "rank plus half the critical difference",
        }
    )

    def ranks(self, scene: Scene) -> Call[MeanRanks]:
        """Return the ranks with the critical difference."""
        return call(cc.arena.mean_ranks, results(self.benchmark, scene), stem="ranks")

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.ranks(scene).part("frame()")

    def figure(self, scene: Scene) -> Call[go.Figure]:
        return call("figures.mean_ranks", self.ranks(scene))

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("method", "title"),
            of.number("mean rank", "rank"),
            of.number_between("rank ± half the critical difference", "low", "high"),
        )

    def words(self, scene: Scene) -> Words:
        ranks = scene.get(self.ranks(scene))
        best = ranks.lines.iloc[0]
        clear = int((ranks.lines["low"] > best["high"]).sum())
        return Words(
            f"Two methods differ significantly if their lines do not overlap: by more than "
            f"{rounded(ranks.critical_difference, 2)} ranks (Nemenyi's test). Ranks are means over "
            f"{count(ranks.n_datasets)} data sets.",
            alt=f"Mean ranks; the best is {best['title']}, {rounded(best['rank'], 2)}.",
            headline=(
                f"Best mean rank: {inside(best['title'])}. It is significantly better than {count(clear)} of "
                f"{count(len(ranks.lines) - 1)} other methods ({at_level(ranks.level)} level).",
            ),
        ).also(
            "A rank ignores by how much a method is better. The difference between two methods depends on which "
            "others are ranked."
        )
