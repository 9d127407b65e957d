"""`calib plan`: required sample sizes, and guarantees for the existing rows, in sentences."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dashboard.commands import _exhibit_output, _failures, _outputs, _shared_options
from dashboard.commands._failures import careful
from dashboard.commands._shared_options import ReadingOptions

if TYPE_CHECKING:
    import pandas as pd

_NUMBERS = {
    "rows": (int, "Number of calibration rows, or of rows to judge."),
    "points": (int, "Rows per bin."),
    "bins": (int, "Number of bins, or of distinct outputs."),
    "classes": (int, "Number of classes."),
    "error": (float, "Largest acceptable error. The question determines which error is meant."),
    "ratio": (float, "Two classes: tolerance for observed / expected events; 1.25 allows 0.8 to 1.25."),
    "width": (float, "Target width of the interval."),
    "level": (float, "Confidence level of an interval or bound."),
    "risk": (
        float,
        "Accepted probability that the result is worse than planned (questions balance, estimating, miscoverage).",
    ),
    "rate": (
        float,
        "Share of correct rows that may be withheld (miscoverage), or the true rate of --share (abstaining-rates).",
    ),
    "accuracy": (
        float,
        "Expected accuracy. For accuracy-interval: the expected share of whatever is estimated, such as accuracy.",
    ),
    "rarest": (float, "Share of rows in which the rarest class is predicted."),
    "tied": (float, "Share of calibration rows whose score also occurs in another row."),
    "withheld": (float, "Share of correct predictions that are withheld."),
    "missed": (float, "Share of wrong predictions that are answered."),
    "notion": (
        str,
        "Notion in which the recalibrated model has to be calibrated: top-label, confidence or class-wise.",
    ),
    "event_rate": (float, "Validation: expected share of rows with the event."),
    "auroc": (float, "Validation: expected AUROC (C statistic)."),
    "alpha": (
        float,
        "Validation, instead of --event-rate and --auroc: first parameter of a Beta distribution of risks.",
    ),
    "beta": (float, "Validation, with --alpha: second parameter of this distribution."),
    "threshold": (
        float,
        "Validation: risk above which someone acts. Adds the net benefit: true alarms, minus false alarms weighted by "
        "the odds of this risk.",
    ),
    "ratio_width": (float, "Validation: target width of the interval of observed : expected (O:E)."),
    "slope_width": (float, "Validation: target width of the interval of the calibration slope."),
    "auroc_width": (float, "Validation: target width of the interval of the AUROC."),
    "benefit_width": (float, "Validation: target width of the interval of the standardized net benefit."),
    "share": (
        str,
        "Rate that is measured (abstaining-rates): withheld (share of correct rows withheld) or right (share of given "
        "answers that are right).",
    ),
}


def _numbers(function: Any) -> Any:
    for name, (kind, text) in reversed(_NUMBERS.items()):
        function = click.option(f"--{name.replace('_', '-')}", type=kind, help=text)(function)
    return function


@click.command("plan", cls=_shared_options.Listing)
@click.argument("question", cls=_shared_options.MemberArgument, family="PLANS", required=False)
@click.argument("file", required=False)
@_numbers
@_shared_options.member("BINNINGS", "--binning", help="Binning scheme that the rows of FILE are judged in.")
@_shared_options.reading
@_shared_options.form(json="Print JSON with full precision and versions.", csv="Print CSV with one row per question.")
@careful
def command(
    question: str | None,
    file: str | None,
    binning: str | None,
    read: ReadingOptions,
    form: str,
    **numbers: Any,
) -> None:
    """Find a sample size, or what a sample size guarantees.

    QUESTION is one of the names listed below. Without it, all questions are answered whose numbers are known; the
    others name the number that is missing. Options set the numbers of a question. With a FILE of predictions, its
    numbers of rows and classes and its scores are used.

    \b
    Examples:
      calib plan
      calib plan histogram-binning --rows 5000 --points 50
      calib plan within predictions.csv --error 0.02
      calib plan validation --event-rate 0.1 --auroc 0.8 --rows 2000
      calib plan predictions.csv --json
    """
    from calib_core.planning import PLANS, answers

    if question is not None and file is None and question not in PLANS and _is_file(question):
        question, file = None, question
    given = {name: value for name, value in numbers.items() if value is not None}
    known = {param.name for key in ([question] if question else PLANS) for param in PLANS[key].params}
    for name in given.keys() - known:
        raise click.UsageError(f"--{name.replace('_', '-')} does not go with {question}.")
    plans = [
        PLANS.described(key, **{name: value for name, value in given.items() if PLANS[key].has(name)})
        for key in ([question] if question else PLANS)
    ]
    frame, found = (answers(plans), []) if file is None else _of_file(plans, file, binning, read, form)
    if question is not None and frame["note"][0]:
        _failures.fail(frame["note"][0])
    _outputs.answer(
        form,
        text=lambda: _lines(frame, hint=file is None),
        frame=frame,
        record=lambda: {
            "options": given,
            "file": file,
            "findings": found,
            "lines": [
                {**line, "plan": plan.to_dict()} for line, plan in zip(frame.to_dict("records"), plans, strict=True)
            ],
        },
    )


def _is_file(name: str) -> bool:
    return name.startswith("demo:") or Path(name).exists()


def _of_file(
    plans: list[Any], file: str, binning: str | None, read: ReadingOptions, form: str
) -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    """Return the plans filled in from a file, divided as on screen, and what a record says was assumed of the file.

    Stderr names the evaluated rows, and if there is no record the assumptions.
    """
    import calib_core as cc
    from dashboard.commands import _opened_models
    from dashboard.exhibits.plan_answers import data_in_use
    from dashboard.session import call, scene_of

    scene = scene_of(_opened_models.selection(file, read=read, binning=binning))
    _exhibit_output.tell_doubts(scene)
    source, named = scene.models.shown[0].source, _shared_options.named_fields({"read": read})
    if form != "json":
        _outputs.warn(_opened_models.assumed(source, named))
    if form == "text":
        _exhibit_output.tell_rows(scene, "; --rows plans for another number")
    answered: pd.DataFrame = scene.get(call(cc.planning.answers, plans=plans, **data_in_use(scene)))
    return answered, _opened_models.assumed_record(source, named)


def _lines(frame: pd.DataFrame, hint: bool) -> list[str]:
    """Return one paragraph per question: its title and name, its answer or why there is none, and the evidence."""
    lines: list[str] = []
    for line in frame.to_dict("records"):
        texts = [line["answer"], line["inverse"], line["basis"]] if line["answer"] else [f"No answer: {line['note']}."]
        lines += ([""] if lines else []) + [f"{line['question']} ({line['key']})", *filter(None, texts)]
    if hint and frame["note"].any():
        lines += ["", "Give numbers as options, such as --rows 5000 for “rows”, or give a FILE."]
    return lines
