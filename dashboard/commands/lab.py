"""`calib lab`: test estimators and calibrators on samples of known distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dashboard.commands import _help_sections, _outputs, _shared_options
from dashboard.commands._failures import careful

if TYPE_CHECKING:
    import pandas as pd


class OfTruths(_help_sections.Sectioned):
    """Command whose help ends with the distributions and the experiments, each with its description."""

    own_names = frozenset({"--rows", "--seed"})

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write keys, titles and descriptions."""
        from calib_core import lab

        with formatter.section("TRUTH"):
            formatter.write_dl([(key, lab.TRUTHS[key].caption) for key in lab.TRUTHS])
        with formatter.section("Experiments"):
            formatter.write_dl([(key, lab.EXPERIMENTS[key].caption) for key in lab.EXPERIMENTS])


@click.command("lab", cls=OfTruths)
@click.argument("truth", cls=_shared_options.MemberArgument, family="TRUTHS", required=False)
@click.option(
    "--set",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a parameter of TRUTH (repeatable), such as slope=2. A wrong name prints all names.",
)
@click.option("--experiment", help="Experiment to run, listed at the end (default: estimators).")
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
    help="With --estimator: notion of calibration, that is, which probability is compared with what happens "
    "(default: that of TRUTH).",
)
@_shared_options.member(
    "CALIBRATORS",
    "--calibrator",
    "calibrators",
    multiple=True,
    help="With --estimator: calibrator to fit on each sample (repeatable).",
)
@click.option("--rows", "sizes", multiple=True, type=click.IntRange(1, 10_000_000),
              help="With --estimator: rows of each sample (repeatable; default: 100, 300, 1,000, 3,000).")  # fmt: skip
@click.option(
    "--intervals", is_flag=True, help="With --estimator: also measure how often intervals include the known error."
)
@click.option(
    "--draws",
    type=click.IntRange(1, 100_000),
    help="Number of samples of each size (default: 100, or that of the experiment).",
)
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

    TRUTH is a distribution of predictions and outcomes whose calibration error is known. The distributions are listed
    at the end; the default is "drawn", a curve of the true frequency by predicted probability. The command draws many
    samples from TRUTH, and compares the error estimated from each sample with the known one. Every number has a 90 %
    interval, because the number of samples is limited.

    An experiment is a comparison with fixed estimators, calibrators and sample sizes; they are listed at the end,
    too. With --estimator, you choose your own instead.

    The first example compares estimators on a curve through three points, the second one calibrators with different
    numbers of bins. The third one compares two estimators on 200 samples of 100 and of 1,000 rows.

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
