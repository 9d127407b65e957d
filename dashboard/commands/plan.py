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
    "rows": (int, "Number of rows: calibration rows or test rows, by the question."),
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


_QUESTION = "calib.plan.question"
"""Name under which a context stores the question that help is about."""


def _numbers(function: Any) -> Any:
    for name, (kind, text) in reversed(_NUMBERS.items()):
        function = click.option(f"--{name.replace('_', '-')}", type=kind, help=text)(function)
    return function


_ABSTAINS = "A model abstains if it gives no answer in rows in which it is too uncertain."
_ERROR = "The calibration error is the average gap between predicted probability and observed frequency."
_INTERVAL = "An interval contains the true value in the stated share of samples."
_NEED_FILE = ("error-interval", "within")
_FROM_SCORES = "The answer depends on how the scores are distributed, so this question needs a FILE."
_TERMS = {
    "histogram-binning": "Histogram binning replaces each probability by the observed frequency in its bin.",
    "balance": "Equal-mass bins are placed so that each has equally many calibration rows.",
    "scaling-binning": "Scaling-binning fits a smooth curve of the observed frequency, and averages it in bins.",
    "estimating": "The squared error is the mean squared gap between predicted probability and observed frequency.",
    "accuracy-interval": _INTERVAL,
    "error-interval": f"{_ERROR} {_INTERVAL}",
    "within": f"{_ERROR} A sample is a set of rows like these, drawn at random.",
    "verified": "Outputs are the different values that a calibrator returns, such as one per bin.",
    "miscoverage": _ABSTAINS,
    "abstaining-rates": _ABSTAINS,
    "abstaining-gain": _ABSTAINS,
    "validation": f"{_INTERVAL} O:E is the ratio of observed to expected events. The calibration slope is 1 for a "
    "calibrated model, and less if high risks are too high and low risks too low. The AUROC is the probability that a "
    "row with the event has a higher risk than a row without it. The net benefit is the share of rows that are true "
    "alarms minus the weighted share that are false alarms. The weight is the odds of the risk at which someone acts. "
    "Standardized: divided by the share of rows with the event.",
}
"""Meaning of the terms in a question's title and numbers."""


class OfQuestion(_shared_options.Listing):
    """Command whose help lists the questions, or after the name of a question the numbers of this question."""

    own_names = frozenset(f"--{name.replace('_', '-')}" for name in _NUMBERS)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Store the name of the question, because help is written before the arguments are known."""
        from calib_core.planning import PLANS

        ctx.meta[_QUESTION] = next((word for word in args if word in PLANS), None)
        return super().parse_args(ctx, args)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the question is about, or the help of the command and its questions."""
        from calib_core.planning import PLANS

        key = ctx.meta.get(_QUESTION)
        if key is None:
            super().format_help_text(ctx, formatter)
            super().format_epilog(ctx, formatter)
            return
        title = PLANS[key].title
        from_scores = _FROM_SCORES if key in _NEED_FILE else ""
        texts = (
            title if title.endswith("?") else f"{title}.",
            f"{PLANS[key].caption} {_TERMS.get(key, '')} {from_scores}",
        )
        with formatter.indentation():
            margin = " " * formatter.current_indent
            for text in texts:
                formatter.write_paragraph()
                formatter.write(f"{click.wrap_text(text.strip(), formatter.width, margin, margin)}\n")

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write nothing: the questions are above the options."""

    def own(self, ctx: click.Context) -> tuple[str, list[tuple[str, str]]]:
        """Return the numbers of the question; without one, where to find them."""
        if (key := ctx.meta.get(_QUESTION)) is not None:
            return f"Numbers of {key}", _numbers_of(key)
        text = "Set a number of QUESTION, such as --rows 5000. To list its numbers, run calib plan QUESTION --help."
        return "Options", [("--NAME VALUE", text)]


def _numbers_of(key: str) -> list[tuple[str, str]]:
    """Return the options that set the numbers of a question, each with its meaning and default."""
    from calib_core.defaults import RATIO, TOLERANCE
    from calib_core.planning import PLANS
    from calib_core.planning.question import FACTS
    from calib_core.registry.registry import Choice
    from calib_core.text import begun

    common, records = {"error": TOLERANCE, "ratio": RATIO}, []
    for param in PLANS[key].params:
        default = common.get(param.name) if param.default is None else param.default
        optional = param.name in _leaves(key) and param.name not in FACTS
        origin = "optional" if optional else "default: from FILE"
        end = origin if default is None else f"default: {_written(default)}"
        values = f": {' or '.join(map(str, param.domain.options))}" if isinstance(param.domain, Choice) else ""
        metavar = {int: "INTEGER", float: "FLOAT", str: "TEXT"}[_NUMBERS[param.name][0]]
        records.append((f"--{param.name.replace('_', '-')} {metavar}", f"{begun(param.help)}{values}.  [{end}]"))
    return records


def _written(default: object) -> str:
    return f"{default:g}" if isinstance(default, float) else str(default)


def _leaves(key: str) -> tuple[str, ...]:
    """Return the numbers that a question does not need."""
    from calib_core.planning import PLANS

    question = PLANS[key].cls
    return () if question is None else question.leaves


@click.command("plan", cls=OfQuestion)
@click.argument("question", cls=_shared_options.MemberArgument, family="PLANS", required=False)
@click.argument("file", required=False)
@_numbers
@_shared_options.member("BINNINGS", "--binning", help="How the rows of FILE are put in bins.")
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

    QUESTION is one of the names below. Its answer needs numbers, such as the number of rows. Most numbers are
    taken from a FILE of predictions, or set by options. To explain a question and list its options with their
    defaults, run calib plan QUESTION --help. Without QUESTION, every question is answered for which the numbers are
    known.

    The first example lists the options of the question "within". The next two need a file: one answers all
    questions, the other only "within", for an error of 0.02. The last two need no file. They show how
    wrong histogram binning can be with 50 rows in each bin, and how exact the validation of a risk is with 2,000 rows.

    \b
    Examples:
      calib plan within --help
      calib plan predictions.csv
      calib plan within predictions.csv --error 0.02
      calib plan histogram-binning --rows 5000 --points 50
      calib plan validation --event-rate 0.1 --auroc 0.8 --rows 2000
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
    """Return one paragraph per question: its title and name, its terms, its answer or why there is none, its basis."""
    lines: list[str] = []
    for line in frame.to_dict("records"):
        texts = [line["answer"], line["inverse"], line["basis"]] if line["answer"] else [f"No answer: {line['note']}."]
        lines += ([""] if lines else []) + [
            f"{line['question']} ({line['key']})",
            *filter(None, (_TERMS.get(line["key"]), *texts)),
        ]
    if hint and frame["note"].any():
        lines += [
            "",
            "The name in parentheses is that of the option: --rows 5000 sets “rows”. A FILE of predictions sets most "
            "numbers.",
        ]
    return lines
