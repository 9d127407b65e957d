"""`calib compare`: several models' predictions of the same rows, pair by pair."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dashboard.commands import _each_model, _exhibit_forms, _outputs, _reading_options, _shared
from dashboard.commands._reading_options import ReadingOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from calib_core import Predictions, Recipe

NOTIONS = ("confidence", "top-label")
PAIRED = (
    "Kept, paired: the {rows} that all these summaries keep, chosen at random; they are taken to be the same as they "
    "have the same numbers in sources of one name, and the same labels where these are known."
)
"""What is to be known of summaries that are compared."""
COLUMNS = ("notion", "estimator", "first", "second", "first_value", "second_value", "difference", "low", "high", "p",
           "p_holm", "verdict", "method", "tested", "about", "note")  # fmt: skip


@click.command("compare")
@click.argument("files", metavar="FILE FILE...", nargs=-1, required=True, type=_shared.FILE)
@click.option("--notion", "notions", multiple=True,
              help=f"Notion of calibration; by default {', '.join(NOTIONS)}; of two classes event.")  # fmt: skip
@click.option(
    "--estimator", "keys", multiple=True, help="Estimator; by default the debiased square, and proper scores."
)
@click.option(
    "--margin",
    type=click.FloatRange(0, 0.5, min_open=True),
    default=0.01,
    show_default=True,
    help="The difference that would not matter.",
)
@_shared.level_option
@_shared.bins_options
@_shared.judge_option
@_shared.rows_option
@_shared.where_option
@_reading_options.reading_options
@_each_model.option
@click.option("--json", "as_json", is_flag=True, help="A JSON record: full precision, versions, hashes, findings.")
@click.option("--csv", "as_csv", is_flag=True, help="The table as CSV.")
@_shared.careful
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
    as_json: bool,
    as_csv: bool,
) -> None:
    """Which of several models errs less, on the same rows, and how sure that is.

    Of summaries two answers: over all rows by each model's own interval, which holds whatever rows they have in common,
    and paired over the rows that all of them keep, where these are the same (calib summarise --rows-of NAME).

    Each FILE holds one model's predictions of the same rows in the same order; or one FILE holds all of them, and the
    column of --models-in names the model, or the models' columns stand side by side, as two risks beside one event.
    For every pair: both errors, the first less the second (of errors and losses below 0 is better, of accuracy above
    0; the estimate that its interval is about, which the difference of two plug-in values need not be), its interval,
    the p-value of no difference, and the p-value corrected for the number of pairs (Holm); and in a word whether the
    first is shown to be better, worse, or not worse by the margin. Without bins of your choice claims by class are
    judged in groups of rows: the output says so.

    \b
    Examples:
      calib compare old.csv new.csv
      calib compare a.npz b.npz c.npz --notion confidence --estimator debiased-l2 --estimator ece
      calib compare before.parquet after.parquet --json
      calib compare answers.jsonl --models-in model
    """
    import pandas as pd

    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other.")
    _shared.judge_clash(judge, rows)
    by_name = {
        ", ".join(filter(None, (file if len(files) > 1 or not name else "", name))): each
        for path, file in zip(files, _names(files), strict=True)
        for name, each in _each_model.load_models(path, models_in, read, where).items()
    }
    if len(by_name) < 2:
        raise click.UsageError("give two files or more, or --models-in with the column that names the model.")
    loaded = list(by_name.values())
    if not as_json:
        for each in loaded:
            _shared.warn(each)
    scheme = _shared.scheme_of(binning, bins, points)
    models, which = _judged(by_name, judge, rows)
    notions, chosen = notions or _asked_of(models), bool(notions)
    counted = any(each.grain == "counts" for each in models.values())
    kept, why_not = _kept(models) if counted else ({}, "")
    frame = _compared(models, notions, chosen, keys, scheme, level, margin)
    if counted:
        frame["of"] = "all, unpaired"
    if kept:
        paired = _compared(kept, notions, chosen, keys, scheme, level, margin)
        frame = pd.concat([frame, paired.assign(of=f"{_rows(kept)} kept, paired")], ignore_index=True)
    if as_json:
        options = {"binning": _shared.binning_record(scheme), "judge": judge, "rows": rows, "judged": which}
        judged = {"files": [_shared.file_record(each) for each in loaded], "names": list(models), "options": options}
        _outputs.write_json(
            "compare",
            judged | {"level": level, "margin": margin, "resamples_seed": 0, "lines": frame.to_dict("records")},
        )
        return
    if not as_csv:
        click.echo(
            _outputs.plain(f"Compared on {which}{loaded[0].among}{loaded[0].of_all(next(iter(models.values())))}.")
        )
    _show(frame, as_csv, level)
    if counted and not as_csv:
        from dashboard.exhibits.pairs import NOT_PAIRED

        click.echo(f"All, unpaired: {NOT_PAIRED}")
        click.echo(PAIRED.format(rows=_rows(kept)) if kept else _outputs.plain(f"Not paired: {why_not}."))


def _judged(by_name: Mapping[str, _shared.Loaded], judge: str, rows: str) -> tuple[dict[str, Predictions], str]:
    """The same rows of every model, by name, and which they are."""
    models, first, which = {}, None, ""
    for name, each in by_name.items():
        models[name], words, parts = each.judged_rows(judge, rows, first)
        first, which = first or parts, which or words
    return models, which


def _kept(models: dict[str, Predictions]) -> tuple[dict[str, Predictions], str]:
    """The rows that summaries of all models keep, or why these cannot be paired."""
    from calib_core import NotAnswerable
    from calib_core.summaries import kept_together

    try:
        return kept_together(models), ""
    except NotAnswerable as why:
        return {}, str(why)


def _rows(kept: dict[str, Predictions]) -> str:
    return f"{next(iter(kept.values())).n_rows:,} rows"


def _names(files: tuple[Path, ...]) -> list[str]:
    """File names, or whole paths where names repeat, numbered where those do."""
    names = [file.name for file in files]
    names = names if len(set(names)) == len(names) else [str(file) for file in files]
    return [name if names.count(name) == 1 else f"{name} ({i + 1})" for i, name in enumerate(names)]


def _compared(
    models: dict[str, Predictions],
    notions: tuple[str, ...],
    chosen: bool,
    keys: tuple[str, ...],
    scheme: Recipe | None,
    level: float,
    margin: float,
) -> pd.DataFrame:
    import pandas as pd

    from calib_core import NotAnswerable
    from calib_core.inference import compare

    parts = []
    questions = _questions(models, notions, keys, chosen)
    with _outputs.progress("Paired differences", len(questions)) as bar:
        for notion, key in questions:
            of = {"notion": notion, "estimator": key}
            try:
                frame = compare(models, notion, key, _shared.bins_for(key, notion, scheme), level=level, margin=margin)
                parts.append(frame.assign(**of))
            except NotAnswerable as why:
                parts.append(pd.DataFrame([of | {"note": str(why)}]))
            bar.update(1)
    every = [part.reindex(columns=list(COLUMNS)).astype(object) for part in parts]
    return pd.concat(every, ignore_index=True)


def _asked_of(models: dict[str, Predictions]) -> tuple[str, ...]:
    """The notions that are asked by default: the event of two classes alone, where all models speak of it."""
    from calib_core.inference import notion_looked_at

    return ("event",) if all(notion_looked_at(model) == "event" for model in models.values()) else NOTIONS


def _questions(
    models: dict[str, Predictions], notions: tuple[str, ...], keys: tuple[str, ...], chosen: bool
) -> list[tuple[str | None, str]]:
    from calib_core.evaluation.study import SCORES, notion_of_score
    from calib_core.inference.comparison.model_differences import DEFAULT

    whole = [] if keys or chosen else [(notion_of_score(key, *models.values()), key) for key in SCORES]
    return whole + [(notion, key) for notion in notions for key in keys or (DEFAULT,)]


def _show(frame: pd.DataFrame, as_csv: bool, level: float) -> None:
    from calib_core import ESTIMATORS, REDUCTIONS
    from calib_core.inference import marked, unit_of
    from calib_core.text import at_level
    from dashboard.exhibits import columns as of
    from dashboard.exhibits.pairs import FIVE_WORDS, VALUES_DIFFER

    if as_csv:
        _outputs.write_csv(frame)
        return
    answered = frame[frame["note"] == ""]
    marks, below = marked(zip(answered["about"], answered["tested"], strict=True))
    columns: tuple[of.Column, ...] = (
        of.titled("notion", REDUCTIONS),
        of.titled("error or score", ESTIMATORS, "estimator"),
        *map(of.text, ("first", "second")),
        *([of.text("rows", "of")] if "of" in frame else []),
        of.difference("difference"),
        of.difference_between(f"{at_level(level)} interval", "low", "high"),
        of.probability("p"),
        of.probability("p, Holm", "p_holm"),
        of.measured("value of the first", "first_value"),
        of.measured("value of the second", "second_value"),
        of.text("the first is", "verdict"),
        *([of.text("about")] if any(marks) else []),
    )
    units = [unit_of(key) for key in answered["estimator"]]
    for text in _exhibit_forms.aligned(columns, answered.assign(about=marks, unit=units)):
        click.echo(text)
    for line in frame[frame["note"] != ""].to_dict("records"):
        which = f" ({line['of']})" if "of" in line else ""
        click.echo(_outputs.plain(f"{_question(line)}{which}: {line['note']}."))
    for text in (*below, *([VALUES_DIFFER, FIVE_WORDS] if len(answered) else [])):
        click.echo(_outputs.plain(text))


def _question(line: dict[Any, Any]) -> str:
    """What a line is about: notion and estimator, and the pair where others of them are compared."""
    pair = f", {line['first']} and {line['second']}" if isinstance(line["first"], str) else ""
    return f"{line['notion'] or ''} {line['estimator']}{pair}".strip()
