"""`calib judge`: accuracy of answers that a judge marked completely and people marked in part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dashboard.commands import _help_sections, _outputs, _shared_options
from dashboard.commands._failures import careful


@click.command("judge", cls=_help_sections.Sectioned)
@click.argument("file", type=_shared_options.FILE)
@click.option(
    "--judge",
    required=True,
    metavar="COLUMN",
    help="Column with the judge's rating of every row: yes or no, 1 or 0, C (correct) or I (incorrect), or a number "
    "from 0 to 1.",
)
@click.option("--human", required=True, metavar="COLUMN", help="Column with the human label of a few rows drawn "
                                                               "at random; empty in all others.")  # fmt: skip
@click.option("--confidence", metavar="COLUMN", help="Column with the confidence in each answer (0 to 1): adds "
                                                     "how far confidence exceeds accuracy.")  # fmt: skip
@click.option("--group", metavar="COLUMN", help="Column that groups dependent rows, such as attempts at one question.")
@_shared_options.level
@_shared_options.form(json="Print JSON with full precision and versions.", csv="Print the estimates as CSV.")
@careful
def command(
    file: Path,
    judge: str,
    human: str,
    confidence: str | None,
    group: str | None,
    level: float,
    form: str,
) -> None:
    """Estimate accuracy from an AI judge and a few human labels.

    Each row of FILE is an answer of a model, with a rating by the AI judge; a few rows also have a human label. The
    judge may be biased. The human labels correct for this bias. The interval is valid if the rows with human labels
    were drawn at random. For comparison, the output also has the accuracy according to the judge, and the accuracy in
    the human-labeled rows. It then states how often the judge accepts right answers and wrong answers. The last
    estimate is the accuracy corrected for these two rates.

    \b
    Examples:
      calib judge answers.csv --judge gpt_says --human checked
      calib judge answers.csv --judge gpt_says --human checked --group question --confidence confidence
    """
    import pandas as pd

    import calib_core as cc
    from calib_core.readers import verdicts
    from calib_core.readers.proposal.label_codes import label_texts
    from dashboard.commands import _opened_models

    table = _opened_models.whole_table(file)
    marks = (verdicts(table, judge), verdicts(table, human))
    groups = None if group is None else pd.Series(label_texts(table.column(group)), name=group)
    found = {"share": cc.judged.judged_share(*marks, groups, level)}
    if confidence is not None:
        found["gap"] = cc.judged.judged_gap(table.numeric(confidence), *marks, groups, level)
    frame = pd.concat([each.frame().assign(of=name) for name, each in found.items()])
    frame = frame[["of", "by", "value", "low", "high", "rows", "tested"]]
    options = {"judge": judge, "human": human, "confidence": confidence, "group": group, "level": level}
    _outputs.answer(
        form,
        text=lambda: [each.sentence for each in found.values()],
        frame=frame,
        record=lambda: {
            "file": file.name,
            "options": options,
            "lines": frame.to_dict("records"),
            **{name: _record(each) for name, each in found.items()},
        },
    )


def _record(found: Any) -> dict[str, Any]:
    """Return one estimate with all its inputs."""
    return {
        "value": found.interval.point,
        "low": found.interval.low,
        "high": found.interval.high,
        "tested": found.interval.tested,
        "method": found.interval.method,
        "judge_alone": found.judge,
        "people_alone": {"value": found.alone.point, "low": found.alone.low, "high": found.alone.high},
        "power": found.power,
        "standard_error": found.standard_error,
        "rows": found.rows,
        "marked_by_people": found.labelled,
        "judge_errors": None if found.errors is None else _errors(found.errors),
        "note": found.note,
        "sentence": found.sentence,
    }


def _errors(found: Any) -> dict[str, Any]:
    """Return the error rates of the judge, and the accuracy corrected for them or the reason why there is none."""
    ends = found.interval
    share = {} if ends is None else {"value": ends.point, "low": ends.low, "high": ends.high, "tested": ends.tested}
    return {
        "passes_right": found.passes_right,
        "passes_wrong": found.passes_wrong,
        "people_say_right": found.right,
        "people_say_wrong": found.wrong,
        **share,
        "why_not": found.why,
    }
