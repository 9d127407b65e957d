"""`calib compare`: compare several models' predictions of the same rows in pairs."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from dashboard.commands import _help_sections, _outputs, _shared_options
from dashboard.commands._failures import careful
from dashboard.commands._shared_options import ReadingOptions

if TYPE_CHECKING:
    import pandas as pd

    from calib_core import Predictions, Recipe

NOTIONS = ("confidence", "top-label")
PAIRED = (
    "Sampled, paired: the {rows} that all these summaries sampled at random. They count as the same rows: "
    "the numbers, the names of the sources and, if known, the labels are the same."
)
"""Note on the comparison of summaries."""
COLUMNS = ("notion", "estimator", "first", "second", "first_value", "second_value", "difference", "low", "high", "p",
           "p_holm", "verdict", "method", "tested", "about", "note")  # fmt: skip


def _of_calibrators(context: click.Context, param: click.Parameter, keys: tuple[str, ...]) -> None:
    """Refuse calibrators, which another command compares."""
    if keys:
        raise click.UsageError(
            "calib compare compares files. To compare calibrators of one model, use calib show pairs FILE "
            f"{' '.join(f'--calibrator {shlex.quote(key)}' for key in keys)}"
        )


@click.command("compare", cls=_help_sections.Sectioned)
@click.argument("files", metavar="FILE FILE...", nargs=-1, required=True, type=_shared_options.FILE)
@_shared_options.member(
    "REDUCTIONS",
    "--notion",
    "notions",
    multiple=True,
    help=f"Notion of calibration (repeatable). By default {', '.join(NOTIONS)}; two classes: event.",
)
@_shared_options.member(
    "ESTIMATORS",
    "--estimator",
    "keys",
    multiple=True,
    help="Estimator (repeatable). By default, the debiased squared error (a calibration error without the part that "
    "noise adds), accuracy, log loss and Brier score.",
)
@click.option(
    "--margin",
    type=click.FloatRange(0, 0.5, min_open=True),
    default=0.01,
    show_default=True,
    help="Largest difference that does not matter.",
)
@_shared_options.level
@_shared_options.bins
@_shared_options.judge_unfitted
@_shared_options.rows
@_shared_options.where
@_shared_options.reading
@_shared_options.models_in
@_shared_options.details
@_shared_options.form(json=_shared_options.RECORD, csv=_shared_options.TABLE)
@click.option("--calibrator", multiple=True, hidden=True, expose_value=False, callback=_of_calibrators)
@careful
def command(
    files: tuple[Path, ...],
    notions: tuple[str, ...],
    keys: tuple[str, ...],
    margin: float,
    level: float,
    bins: int | None,
    points: int | None,
    binning: str,
    judge: str,
    rows: str,
    where: str,
    read: ReadingOptions,
    models_in: str | None,
    details: bool,
    form: str,
) -> None:
    """Compare models on the same rows.

    Each FILE contains one model's predictions for the same rows in the same order. Alternatively, one FILE contains all
    models: the column of --models-in names the model. Or each model has columns of its own, such as two risks of one
    event.

    For every pair, the table has both values and their difference, the first minus the second. A difference below 0
    means that the first model is better; for accuracy, a difference above 0. The difference has an interval. With
    --details, it also has a p-value, and one that is corrected for the number of pairs (Holm). The verdict is better,
    worse, equivalent, not worse, or cannot tell; the lines below the table define these words. Errors by class are
    measured in groups of rows with similar predictions, or in the bins that you choose.

    FILE can also be a summary written by calib summarise: exact counts and a sample of rows. For summaries, two results
    are printed. The first is for all rows and uses each model's own interval. It is valid whether or not the models
    were judged on the same rows. The second is for the sampled rows and compares the models row by row. It needs the
    same sample for all models (calib summarise --rows-of NAME).

    To compare calibrators of one model, use calib show pairs FILE --calibrator KEY.

    \b
    Examples:
      calib compare old.csv new.csv
      calib compare a.npz b.npz c.npz --notion confidence --estimator debiased-l2 --estimator ece
      calib compare before.parquet after.parquet --json
      calib compare answers.jsonl --models-in model
    """
    _shared_options.check_rows(judge, rows)

    from dashboard.commands import _opened_models

    opened = {
        ", ".join(filter(None, (file if len(files) > 1 or not name else "", name))): model
        for path, file in zip(files, _names(files), strict=True)
        for name, model in _opened_models.opened_models(path, models_in, read, where).items()
    }
    if len(opened) < 2:
        raise click.UsageError("give two files or more, or --models-in with the column that names the model.")
    if form != "json":
        for model in opened.values():
            model.warn()
    scene = _opened_models.scene(_opened_models.divided(opened, judge), rows=rows)
    models, which = (
        {name: scene.get(given) for name, given in scene.predictions().items()},
        _opened_models.judged_rows(scene, rows),
    )
    how = _How(keys, _shared_options.scheme_of(binning, bins, points), level, margin)
    found = _compared(models, notions, how)
    first = next(iter(opened.values()))
    head = f"Compared on {which}{first.among}{first.of_all(next(iter(models.values())))}."
    _outputs.answer(
        form,
        text=lambda: [head, *_conclusions(found.frame, level), *_table(found.frame, how, details), *found.pairing],
        reading=lambda: _reading(found.frame, margin),
        details=details,
        frame=found.frame,
        record=lambda: {
            "files": [model.record() for model in opened.values()],
            "names": list(models),
            "options": {
                "binning": _shared_options.binning_record(how.scheme),
                "judge": judge,
                "rows": rows,
                "judged": which,
            },
            "level": level,
            "margin": margin,
            "resamples_seed": 0,
            "lines": found.frame.to_dict("records"),
        },
    )


def _kept(models: dict[str, Predictions]) -> tuple[dict[str, Predictions], str]:
    """Return the rows sampled in the summaries of all models, or the reason why these cannot be paired."""
    from calib_core import NotAnswerable
    from calib_core.summaries import kept_together

    try:
        return kept_together(models), ""
    except NotAnswerable as why:
        return {}, str(why)


def _rows(kept: dict[str, Predictions]) -> str:
    return f"{next(iter(kept.values())).n_rows:,} rows"


def _names(files: tuple[Path, ...]) -> list[str]:
    """Return file names, or full paths if names repeat, numbered if those do."""
    names = [file.name for file in files]
    names = names if len(set(names)) == len(names) else [str(file) for file in files]
    return [name if names.count(name) == 1 else f"{name} ({i + 1})" for i, name in enumerate(names)]


class _How(NamedTuple):
    """Settings of a comparison: estimators, bins, level, and the difference that would not matter."""

    estimators: tuple[str, ...]
    scheme: Recipe | None
    level: float
    margin: float


class _Compared(NamedTuple):
    """Line for every question and pair; for summaries also sentences on which of them are paired."""

    frame: pd.DataFrame
    pairing: tuple[str, ...] = ()


def _compared(models: dict[str, Predictions], notions: tuple[str, ...], how: _How) -> _Compared:
    """Compare every pair of models; summaries as a whole, and paired if they contain the same rows."""
    import pandas as pd

    from calib_core.inference import notion_looked_at
    from dashboard.exhibits.pairs import NOT_PAIRED

    of_event = all(notion_looked_at(model) == "event" for model in models.values())
    chosen, notions = bool(notions), notions or (("event",) if of_event else NOTIONS)
    frame = _differences(models, notions, chosen, how)
    if not any(each.grain == "counts" for each in models.values()):
        return _Compared(frame)
    kept, why_not = _kept(models)
    frame["of"] = "all, unpaired"
    unpaired = f"All, unpaired: {NOT_PAIRED}"
    if not kept:
        return _Compared(frame, (unpaired, f"Not paired: {why_not}."))
    paired = _differences(kept, notions, chosen, how)
    frame = pd.concat([frame, paired.assign(of=f"{_rows(kept)} sampled, paired")], ignore_index=True)
    return _Compared(frame, (unpaired, PAIRED.format(rows=_rows(kept))))


def _differences(models: dict[str, Predictions], notions: tuple[str, ...], chosen: bool, how: _How) -> pd.DataFrame:
    import pandas as pd

    from calib_core import NotAnswerable
    from calib_core.inference import compare

    parts = []
    questions = _questions(models, notions, chosen, how.estimators)
    with _outputs.progress("Paired differences", len(questions)) as bar:
        for notion, key in questions:
            of = {"notion": notion, "estimator": key}
            bins = _shared_options.bins_for(key, notion, how.scheme)
            try:
                parts.append(compare(models, notion, key, bins, level=how.level, margin=how.margin).assign(**of))
            except NotAnswerable as why:
                parts.append(pd.DataFrame([of | {"note": str(why)}]))
            bar.update(1)
    every = [part.reindex(columns=list(COLUMNS)).astype(object) for part in parts]
    return pd.concat(every, ignore_index=True)


def _questions(
    models: dict[str, Predictions], notions: tuple[str, ...], chosen: bool, keys: tuple[str, ...]
) -> list[tuple[str | None, str]]:
    """Return pairs of notion and estimator; without a choice, the scores of these rows first."""
    from calib_core.evaluation.study import asked_once, notions_of_scores
    from calib_core.inference.comparison.model_differences import DEFAULT

    scores = notions_of_scores(*models.values())
    whole = [] if keys or chosen else [(notion, key) for key, notion in scores.items()]
    return asked_once(whole + [(notion, key) for notion in notions for key in keys or (DEFAULT,)])


_ONLY_DETAILS = ("p", "p_holm", "about")
"""First columns of a line that are printed with ``--details``."""


def _table(frame: pd.DataFrame, how: _How, details: bool) -> list[str]:
    """Return a table per pair of models, with marks for ``details``, and the reasons for missing lines."""
    from calib_core.inference import unit_of
    from calib_core.text import at_level
    from dashboard.exhibits import columns as of
    from dashboard.exhibits.line_words import definitions, marks_in, score_definitions, starred
    from dashboard.exhibits.pairs import P_VALUE, words_of

    answered = frame[frame["note"] == ""]
    marks, rough = marks_in(answered, details)
    columns: tuple[of.Column, ...] = (
        of.text("error or score", "title"),
        *([of.text("rows", "of")] if "of" in frame else []),
        of.measured("value of the first", "first_value"),
        of.measured("value of the second", "second_value"),
        of.difference("difference"),
        of.difference_between(f"{at_level(how.level)} interval", "low", "high"),
        of.text("the first is", "verdict"),
        of.text("mark", "about"),
        of.probability("p"),
        of.probability("p (corrected)", "p_holm"),
    )
    columns = tuple(column for column in columns if details or column.made_of[0] not in _ONLY_DETAILS)
    units = [unit_of(key) for key in answered["estimator"]]
    titles = [_title(*question) for question in zip(answered["notion"], answered["estimator"], strict=True)]
    titles = titles if details else starred(titles, marks)
    lines: list[str] = []
    for (first, second), pair in answered.assign(about=marks, unit=units, title=titles).groupby(
        ["first", "second"], sort=False
    ):
        lines += ["", f"First: {first}. Second: {second}. Difference: the first minus the second."]
        lines += _outputs.aligned(columns, pair)
    refused = (
        f"{_question(line)}{_rows_of(line)}: {line['note']}." for line in frame[frame["note"] != ""].to_dict("records")
    )
    words = [] if details or answered.empty else [P_VALUE, words_of(answered["verdict"], how.margin)]
    return [*lines, *refused, *rough, *score_definitions(answered), *definitions(answered), *words]


def _reading(frame: pd.DataFrame, margin: float) -> list[str]:
    """Return what the marks, columns and verdicts of the table mean."""
    from dashboard.exhibits.line_words import intervals
    from dashboard.exhibits.pairs import IN_GROUPS, P_VALUES, VALUES_DIFFER, five_words

    answered = frame[frame["note"] == ""]
    if answered.empty:
        return []
    grouped = [IN_GROUPS] if answered["about"].str.contains("groups of at least").any() else []
    return [*intervals(answered), VALUES_DIFFER, P_VALUES, *grouped, five_words(margin)]


_FEW_PAIRS = 3
"""Largest number of pairs that have a sentence each; for more, the table has the verdicts."""


def _conclusions(frame: pd.DataFrame, level: float) -> list[str]:
    """Describe each pair by the log loss if it is compared, else by the first measure; then what others call better."""
    from dashboard.exhibits.pairs import conclusion, other_conclusions

    lines = frame[frame["note"] == ""]
    titles = [_title(*question) for question in zip(lines["notion"], lines["estimator"], strict=True)]
    pairs = [each for _, each in lines.assign(title=titles).groupby(["first", "second"], sort=False)]
    if len(pairs) > _FEW_PAIRS:
        return []
    found: list[str] = []
    for pair in pairs:
        ordered = sorted(pair.to_dict("records"), key=lambda line: line["estimator"] != "log-loss")
        found += [conclusion(ordered[0], ordered[0]["estimator"], level), other_conclusions(ordered)]
    return list(filter(None, found))


def _title(notion: str | None, estimator: str) -> str:
    """Return the title of a line: a score by what it scores, or an error with its notion."""
    from calib_core import ESTIMATORS, REDUCTIONS
    from calib_core.estimators import titled

    return titled(None if notion is None else REDUCTIONS.recipe(notion), ESTIMATORS.recipe(estimator))


def _question(line: dict[Any, Any]) -> str:
    """Return the subject of a line: notion and estimator, and the pair if others are compared."""
    pair = f", {line['first']} and {line['second']}" if isinstance(line["first"], str) else ""
    return f"{line['notion'] or ''} {line['estimator']}{pair}".strip()


def _rows_of(line: dict[Any, Any]) -> str:
    """Return the rows behind a line, if some lines are over sampled rows of summaries."""
    return f" ({line['of']})" if "of" in line else ""
