"""Calibrators compared over many experiments, as in the benchmark CalArena: win rates, improvements and harm."""

from calib_core.arena.average_ranks import MeanRanks, mean_ranks
from calib_core.arena.contenders import default_methods
from calib_core.arena.divided_files import divided_experiments
from calib_core.arena.experiment_files import ArenaExperiment, experiments
from calib_core.arena.leaderboard import Leaderboard, table
from calib_core.arena.result_files import results_in
from calib_core.arena.stored_results import project_results
from calib_core.arena.tournament import ArenaResults, run

__all__ = [
    "ArenaExperiment",
    "ArenaResults",
    "Leaderboard",
    "MeanRanks",
    "default_methods",
    "divided_experiments",
    "experiments",
    "mean_ranks",
    "project_results",
    "results_in",
    "run",
    "table",
]
