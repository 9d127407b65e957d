"""`calib arena`: calibrators compared over many experiments, as in the benchmark CalArena."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dashboard.commands import _help_sections, _outputs, _shared_options
from dashboard.commands._failures import careful

if TYPE_CHECKING:
    from calib_core.arena import ArenaResults, Leaderboard

MOST_REMARKS = 10
"""Number of remarks on files that are printed."""
NOTE = (
    "Win rate: share of the other methods with a larger log loss. Improvement: fall of the log loss, in 0.001 nats. "
    "Worse: share of experiments with a larger log loss than without calibration, and beyond test noise (2 standard "
    "errors). Intervals: bootstrap over data sets. Seconds: median of fitting and applying."
)


@click.command("arena", cls=_help_sections.Sectioned)
@click.argument("path", metavar="FOLDER|FILE.h5", type=click.Path(exists=True, path_type=Path))
@_shared_options.member(
    "CALIBRATORS",
    "--method",
    "methods",
    multiple=True,
    help="Method to compare (repeatable): a calibrator's key, a recipe as JSON, or choose, the calibrator that calib "
    "choose recommends. Default: choose and all smooth calibrators (scaling methods and blends). "
    "No calibration is always included.",
)
@click.option("--out", "-o", type=click.Path(file_okay=False, path_type=Path),
              help="Folder for the results (one CSV per method), to continue from.")  # fmt: skip
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Number of processes.")
@_shared_options.level
@click.option("--format", "form", type=click.Choice(["text", "csv", "json"]), default="text", show_default=True,
              help="Output format: text, the table as CSV, or a JSON record.")  # fmt: skip
@careful
def command(path: Path, methods: tuple[str, ...], out: Path | None, jobs: int, level: float, form: str) -> None:
    """Compare calibrators over many experiments.

    An experiment is one model on one data set. In each, all methods are fitted on the calibration rows and judged on
    the test rows. FOLDER contains a folder DATASET/MODEL for each experiment, with the files calibration.csv and
    test.csv (or any other format for predictions). FILE.h5 has the layout of the benchmark CalArena: a group
    dataset/model for each experiment, with the probabilities and labels of both parts.

    The table has one row per method. The first has the highest win rate: the share of its comparisons with another
    method in which its loss is lower. A method that fails in an experiment counts as no calibration there. Experiments
    that cannot be read are listed, and the others are used. With --out, an interrupted run continues where it stopped,
    and only missing results are computed.

    \b
    Examples:
      calib arena experiments --method temperature --method vector
      calib arena experiments --method choose -o results --jobs 2
      calib arena benchmark.h5 --method temperature --format csv > table.csv
    """
    from calib_core import arena

    recipes = [_method(text) for text in dict.fromkeys(methods)] or None
    with _outputs.percent("Arena") as tell:
        found = arena.run(arena.experiments(path), recipes, folder=out, jobs=jobs, progress=tell)
    _outputs.warn(f"skipped: {why if name in why else f'{name}: {why}'}" for name, why in found.damaged)
    _outputs.warn(f"{name}: {remark}" for name, remark in found.remarks[:MOST_REMARKS])
    if (more := len(found.remarks) - MOST_REMARKS) > 0:
        _outputs.warn([f"{more:,} more remarks on files"])
    board = arena.table(found, level=level)
    options = {"method": list(methods), "out": None if out is None else str(out), "jobs": jobs, "level": level}
    _outputs.answer(
        form,
        text=lambda: _text(board),
        frame=board.frame(),
        record=lambda: {"file": path.name, "options": options, **_record(found, board)},
    )


def _method(text: str) -> Any:
    """Return a method in the form that the library takes: a recipe, or the name of the recommendation."""
    from calib_core import CALIBRATORS
    from calib_core.arena.contenders import RECOMMENDED

    return text if text == RECOMMENDED.name else _shared_options.recipe_of(CALIBRATORS, text)


def _record(found: ArenaResults, board: Leaderboard) -> dict[str, Any]:
    return {
        "lines": board.frame().to_dict("records"),
        "by_size": board.by_size.to_dict("records"),
        "experiments": board.n_experiments,
        "data_sets": board.n_datasets,
        "damaged": [{"experiment": name, "reason": why} for name, why in found.damaged],
        "notes": list(board.notes),
    }


def _text(board: Leaderboard) -> list[str]:
    from calib_core.text import at_level, several
    from dashboard.exhibits import columns as of

    frame = board.frame()
    columns = [
        of.text("method", "title"),
        of.share("win rate", "win_rate"),
        of.between(f"{at_level(board.level)} interval", "win_rate_low", "win_rate_high"),
        of.number("improvement"),
        of.number_between("interval", "improvement_low", "improvement_high"),
        of.share("worse"),
        of.share("beyond noise", "worse_beyond_noise"),
        of.number("mean harm", "mean_harm"),
        of.number("seconds"),
    ]
    sizes = f"{several(board.n_experiments, 'experiments')} on {several(board.n_datasets, 'data sets')}."
    return [sizes, *_outputs.aligned(columns, frame), *board.notes, NOTE]
