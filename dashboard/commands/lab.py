"""`calib lab`: test estimators and calibrators on samples of known distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dashboard.commands import _outputs, _shared_options
from dashboard.commands._failures import careful

if TYPE_CHECKING:
    import pandas as pd


@click.command("lab", cls=_shared_options.Listing)
@click.argument("truth", cls=_shared_options.MemberArgument, family="TRUTHS", required=False)
@click.option(
    "--set",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="Parameter of TRUTH (repeatable). A wrong name prints all.",
)
@click.option("--experiment", help="Experiment to run (default: estimators). A wrong name prints all names.")
@_shared_options.member(
    "ESTIMATORS",
    "--estimator",
    "estimators",
    multiple=True,
    help="Estimator to test instead of an experiment (repeatable).",
)
@_shared_options.member(
    "REDUCTIONS",
    "--notion",
    "notions",
    multiple=True,
    help="With --estimator: notion of calibration (default: that of the distribution).",
)
@_shared_options.member(
    "CALIBRATORS",
    "--calibrator",
    "calibrators",
    multiple=True,
    help="With --estimator: calibrator to fit on each sample (repeatable).",
)
@click.option("--rows", "sizes", multiple=True, type=click.IntRange(1, 10_000_000),
              help="With --estimator: sample size (repeatable).")  # fmt: skip
@click.option("--intervals", is_flag=True, help="With --estimator: also measure the coverage of the intervals.")
@click.option("--draws", type=click.IntRange(1, 100_000), help="Number of samples of each size.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed.")
@_shared_options.form(json="Print JSON with full precision.", csv=_shared_options.TABLE)
@careful
def command(
    truth: str | None,
    options: tuple[str, ...],
    experiment: str | None,
    estimators: tuple[str, ...],
    notions: tuple[str, ...],
    calibrators: tuple[str, ...],
    sizes: tuple[int, ...],
    intervals: bool,
    draws: int | None,
    seed: int,
    form: str,
) -> None:
    """Test estimators and calibrators on known distributions.

    TRUTH is a distribution of predictions and outcomes with a known error (listed below; default: drawn). The command
    draws many samples from it, and compares the estimates with the known error. It runs an experiment of the papers,
    or estimators of your choice. Every number has a 90 % interval for its simulation error.

    \b
    Examples:
      calib lab drawn --set "shares=[0.1, 0.3, 0.8]" --experiment estimators
      calib lab sigmoid --experiment bins --draws 100 --csv
      calib lab mixture --estimator ece --estimator ece-kde --rows 100 --rows 1000 --draws 200 --json
    """
    if experiment and estimators:
        raise click.UsageError("--experiment and --estimator exclude each other.")
    for option, given in (("rows", sizes), ("notion", notions), ("calibrator", calibrators), ("intervals", intervals)):
        if given and not estimators:
            raise click.UsageError(f"--{option} goes with --estimator: an experiment has its own.")
    from calib_core import lab

    what = None if estimators else lab.EXPERIMENTS.get(experiment or "estimators")
    own = what is not None and bool(what.truths)
    if own and (truth or options):
        raise click.UsageError(f"The experiment {experiment} has truths of its own: leave out TRUTH and --set.")
    recipe = _shared_options.recipe_of(lab.TRUTHS, truth or "drawn", options)
    with _outputs.percent("Lab") as tell:
        how: dict[str, Any] = {"random_state": seed, "progress": tell}
        if estimators:
            run = lab.repeated(
                recipe, sizes or lab.SIZES, draws or lab.DRAWS, list(dict.fromkeys(estimators)),
                list(dict.fromkeys(notions)), list(dict.fromkeys(calibrators)), intervals=intervals, **how,
            )  # fmt: skip
            frame = run.frame()
        else:
            frame = lab.error_curves(experiment or "estimators", recipe, draws or 0, **how).frame()
    about = f"{what.title}: {what.caption}" if own and what else f"{recipe.title}: {lab.TRUTHS[recipe.key].caption}"
    chosen = {"truth": None if own else recipe.to_dict(), "experiment": experiment, "draws": draws, "seed": seed}
    _outputs.answer(
        form,
        text=lambda: [about, *_lines(frame, before=what is not None and bool(what.binary))],
        frame=frame,
        record=lambda: {"options": chosen, "lines": frame.to_dict("records")},
    )


def _lines(frame: pd.DataFrame, before: bool) -> list[str]:
    """Return the table, and the reasons for missing numbers."""
    from calib_core.text import begun
    from dashboard.exhibits.lab import table_columns

    notes = dict.fromkeys(filter(None, frame["note"]))
    return [*_outputs.aligned(table_columns(frame, before), frame), *(begun(f"{note}.") for note in notes)]
