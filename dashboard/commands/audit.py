"""`calib audit`: every error of a file's predictions, with how sure each is."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from dashboard.commands import _each_model, _exhibit_forms, _outputs, _reading_options, _shared
from dashboard.commands._reading_options import ReadingOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from calib_core import Predictions
    from calib_core.inference import EstimateOrReason, PrimaryLine

_NOTHING_FITTED = "No calibrator is fitted: folds change nothing but which rows are judged, which are all."
NOTIONS = ("confidence", "top-label", "class-wise")


@click.command("audit")
@click.argument("file", type=_shared.FILE)
@click.option("--notion", "notions", multiple=True,
              help=f"Notion of calibration; by default {', '.join(NOTIONS)}; of two classes event first.")  # fmt: skip
@click.option(
    "--estimator",
    "keys",
    multiple=True,
    help="Estimator (repeatable). By default, all estimators that only need bin counts.",
)
@click.option("--slow", is_flag=True, help="Use every estimator. Slow ones take minutes for thousands of rows.")
@click.option("--unbinned", is_flag=True, help="Also print bounds on the error without bins, under stated assumptions.")
@_shared.tolerance_option
@click.option("--ratio", type=click.FloatRange(1, min_open=True), default=1.25, show_default=True,
              help="Two classes: tolerance of observed : expected events; 1.25 means 0.8 to 1.25.")  # fmt: skip
@_shared.level_option
@_shared.bins_options
@click.option("--counting", type=click.Choice(["answered", "all"]), default="answered", show_default=True,
              help="Where a calibrator abstains: every model on the rows that all answer, or on all rows.")  # fmt: skip
@click.option(
    "--calibrator",
    "calibrators",
    multiple=True,
    help="Also audit the predictions recalibrated by this calibrator: a key, or a recipe as JSON (repeatable).",
)
@_shared.judge_option
@_shared.split_options
@_shared.rows_option
@_shared.where_option
@_reading_options.reading_options
@_each_model.option
@click.option("--json", "as_json", is_flag=True, help="A JSON record: full precision, versions, hash, findings.")
@click.option("--csv", "as_csv", is_flag=True, help="The table as CSV.")
@_shared.careful
def command(
    file: Path,
    notions: tuple[str, ...],
    keys: tuple[str, ...],
    slow: bool,
    unbinned: bool,
    tolerance: float,
    ratio: float,
    level: float,
    bins: int | None,
    points: int | None,
    binning: str,
    counting: str,
    calibrators: tuple[str, ...],
    judge: str,
    share: float,
    folds: int | None,
    seed: int,
    rows: str,
    where: str,
    read: ReadingOptions,
    models_in: str | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """How far the predictions in FILE are from calibrated, and how sure that is.

    First the verdict, on one line chosen before outcomes are looked at, and whether an error of any size is shown. Then
    for every notion and estimator: the estimate that the interval is about, the interval, the value, the noise floor
    (the 95 % point of perfectly calibrated predictions), the p-value of calibration, and a verdict for the tolerance.

    \b
    Examples:
      calib audit predictions.csv
      calib audit predictions.npz --notion top-label --estimator ece --bins 10
      calib audit predictions.parquet --calibrator temperature --calibrator top-label-hb
      calib audit few-rows.csv --calibrator temperature --folds 5
      calib audit answers.jsonl --read confidence=conf --read correct=ok --json
      calib audit answers.jsonl --models-in model
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other.")

    from calib_core.inference import estimate_lines, primaries, unbinned_bounds, verdicts

    by_model = _each_model.load_models(file, models_in, read, where)
    loaded = next(iter(by_model.values()))
    if not as_json:
        _shared.warn(loaded)
    scheme = _shared.scheme_of(binning, bins, points)
    share_given = click.get_current_context().get_parameter_source("share") is not ParameterSource.DEFAULT
    if folds is not None and (rows != "auto" or share_given):
        raise click.UsageError("--folds does not go with --share or --rows: every row is judged.")
    if (judge == "all" and share_given) or (judge == "held-out" and folds is not None):
        raise click.UsageError("--judge all goes without --share, --judge held-out without --folds.")
    if judge == "auto" and share_given:
        judge = "held-out"
    judged, which, note = _models(by_model, calibrators, rows, judge=judge, share=share, seed=seed, folds=folds)
    models, over = _same_rows(judged, counting)
    built = None if scheme is None else scheme.build()
    questions = _questions(models, notions or _asked_of(models), keys, slow, bool(notions))
    lines = estimate_lines(_answers(models, questions, built, level, bool(keys) or slow), tolerance, level)
    if as_csv:
        _outputs.write_csv(lines.drop(columns="mark"))
        return
    first = primaries(models, tolerance, level, built, ratio)
    large = _in_the_large(models, built, level)
    bounds = unbinned_bounds(first, level) if unbinned else None
    if as_json:
        options = {
            "tolerance": tolerance,
            "ratio": ratio,
            "binning": _shared.binning_record(scheme),
            "share": share,
            "seed": seed,
            "rows": rows,
            "judged": which,
            **({} if folds is None else {"folds": folds}),
            **({"note": note} if note else {}),
        }
        _write_json(loaded, options, models, over, first, large, bounds, lines, level)
        return
    _show(loaded, models, over, which, verdicts(first, tolerance, level, ratio), large, bounds, lines, note)


def _models(
    by_model: Mapping[str, _shared.Loaded], calibrators: tuple[str, ...], rows: str, **divided: Any
) -> tuple[dict[str, Predictions], str, str]:
    """The predictions to judge by name, as they are and after each calibrator; which rows they are; and a note."""
    from calib_core import CALIBRATORS
    from calib_core.calls import fitted, recalibrated
    from calib_core.evaluation.cross_fitting import COLUMN_UNUSED
    from calib_core.text import begun, count

    if rows != "auto":
        if calibrators:
            raise click.UsageError("--rows does not go with --calibrator: models are judged on the test rows.")
        judged = {name or "as given": loaded.rows(rows) for name, loaded in by_model.items()}
        which = f"{count(next(iter(judged.values())).n_rows)} rows"
        return judged, f"all {which}" if rows == "all" else which, ""

    recipes = [_shared.recipe_of(CALIBRATORS, key) for key in calibrators]
    models, first = {}, None
    for name, loaded in by_model.items():
        parts = loaded.judged(**divided, like=first)
        first = first or parts
        models[name or "as given"] = parts.test
        for recipe in recipes:
            calibrator = recipe.build()
            with _shared.of_confidences(recipe, parts.test):
                ready = calibrator if parts.folds is not None else fitted(parts, calibrator)
                models[f"{name}, {recipe.title}" if name else recipe.title] = recalibrated(parts, ready)
    assert first is not None
    if first.folds is None:
        return models, first.judged, ""
    note = f"{begun(first.rule)}, seed {divided['seed']}. {first.note}" if calibrators else ""
    if not calibrators and divided["folds"] is not None:
        note = _NOTHING_FITTED
    column = next(iter(by_model.values())).reading.split
    unused = COLUMN_UNUSED.format(column) if column else ""
    return (
        models,
        first.judged if calibrators else first.judged.removesuffix(", cross-fitted"),
        f"{note} {unused}".strip(),
    )


def _same_rows(models: dict[str, Predictions], counting: str) -> tuple[dict[str, Predictions], dict[str, float]]:
    """The models on the rows that the table is over, and the share of rows that each of them answers."""
    from calib_core.evaluation.study import over_same_rows_by_name

    rows = over_same_rows_by_name(models, "all" if counting == "all" else "answered")
    return rows, {name: model.coverage for name, model in models.items()}


def _asked_of(models: Mapping[str, Predictions]) -> tuple[str, ...]:
    """The notions that are asked by default: the event first, where there are two classes."""
    from calib_core.inference import notion_looked_at

    events = any(notion_looked_at(model) == "event" for model in models.values())
    return ("event", *NOTIONS) if events else NOTIONS


def _questions(
    models: Mapping[str, Predictions], notions: tuple[str, ...], keys: tuple[str, ...], slow: bool, chosen: bool
) -> list[tuple[str | None, str]]:
    """Pairs of notion and estimator; without choices also the scores of whole predictions, or of the claims made."""
    from calib_core.estimators import takes_bins
    from calib_core.evaluation.study import SCORES, error_keys, notion_of_score

    every = keys or tuple(key for key in error_keys() if slow or takes_bins(key))
    scores = {key: notion_of_score(key, *models.values()) for key in SCORES}
    if any(model.kind in ("confidence", "top-label") for model in models.values()):
        # What files of one number a row know: whether the claim is right.
        scores |= dict.fromkeys(("log-loss", "brier"), "confidence")
    whole = [] if keys or chosen else [(notion, key) for key, notion in scores.items()]
    return whole + [(notion, key) for notion in notions for key in every]


def _answers(
    models: Mapping[str, Predictions], questions: list[tuple[str | None, str]], bins: Any, level: float, slow: bool
) -> list[EstimateOrReason]:
    """The estimates, without those whose intervals take minutes where these were not asked for."""
    from calib_core.inference import estimates

    with _outputs.progress("Intervals and noise floors", 100) as bar:
        found = estimates(models, questions, bins, level, slow, lambda percent: bar.update(percent - bar.pos))
    return [answer for answer in found if answer.whole or isinstance(answer.estimate, str)]


def _in_the_large(models: Mapping[str, Predictions], bins: Any, level: float) -> dict[str, pd.DataFrame]:
    """Every measure of the event's risk by model, where there is an event: what the page shows, to the last digit."""
    from calib_core import NotAnswerable, risk
    from calib_core.inference import notion_looked_at

    found = {}
    for name, model in models.items():
        if notion_looked_at(model) != "event":
            continue
        with suppress(NotAnswerable):
            found[name] = risk.summary(model, level, bins)
    return found


def _large_lines(large: Mapping[str, pd.DataFrame], first: pd.DataFrame) -> list[str]:
    """Calibration in the large as text, with the verdict on observed : expected, and why numbers are missing."""
    from calib_core.evaluation.study import stacked
    from dashboard.exhibits import columns as of
    from dashboard.exhibits.mean_risk import DISTANCES

    if not large:
        return []
    frame = stacked(large)
    words = first.set_index("model")["ratio_word"].to_dict()
    frame["word"] = [
        words.get(model) if measure == "ratio" else None
        for model, measure in zip(frame["model"], frame["measure"], strict=True)
    ]
    limits = first.set_index("model")["ratio_limit"].to_dict()
    frame["most"] = frame["model"].map(limits).where(frame["word"].notna())
    frame["least"] = 1 / frame["most"].astype(float)
    level = f"{100 * first['level'].iloc[0]:g} % interval"
    columns = (
        *([of.text("model")] if len(large) > 1 else []),
        of.text("calibration in the large", "title"),
        of.number("value"),
        of.number_between(level, "low", "high", ("reference", "least", "most")),
        of.number("noise level", "floor"),
        of.number("calibrated model", "reference"),
        *([of.text("tolerance", "word")] if frame["word"].notna().any() else []),
    )
    noted = frame[frame["note"].astype(bool)].groupby("note", sort=False)["title"].unique()
    missing = (f"{', '.join(titles)}: {note}." for note, titles in noted.items())
    return [*_exhibit_forms.aligned(columns, frame), *missing, DISTANCES, ""]


def _write_json(
    loaded: _shared.Loaded,
    options: dict[str, Any],
    models: Mapping[str, Predictions],
    over: Mapping[str, float],
    first: Mapping[str, PrimaryLine],
    large: Mapping[str, pd.DataFrame],
    bounds: pd.DataFrame | None,
    lines: pd.DataFrame,
    level: float,
) -> None:
    from calib_core.defaults import SEED

    judged = {
        name: {
            "rows": model.n_rows,
            "effective_rows": model.effective_rows,
            "coverage": over[name],
            "primary": {
                "notion": first[name].notion,
                "reason": first[name].reason,
                "line": first[name].line.record(),
                "shown": vars(first[name].shown),
            },
            "in_the_large": large[name].to_dict("records") if name in large else None,
            "unbinned": _bounds(bounds, name),
        }
        for name, model in models.items()
    }
    table = lines.drop(columns="mark").to_dict("records")
    record = {"file": _shared.file_record(loaded), "options": options, "models": judged, "lines": table}
    _outputs.write_json("audit", record | {"level": level, "resamples_seed": SEED})


def _bounds(bounds: pd.DataFrame | None, model: str) -> list[str]:
    """The sentences about a model's error without bins, where they were asked for."""
    from dashboard.exhibits.unbinned import ASSUMED

    return [] if bounds is None else [*bounds.loc[bounds["model"] == model, "sentence"], ASSUMED]


def _show(
    loaded: _shared.Loaded,
    models: Mapping[str, Predictions],
    over: Mapping[str, float],
    which: str,
    first: pd.DataFrame,
    large: Mapping[str, pd.DataFrame],
    bounds: pd.DataFrame | None,
    lines: pd.DataFrame,
    note: str,
) -> None:
    from calib_core.evaluation.study import SCORES
    from dashboard.exhibits import columns as of
    from dashboard.exhibits import line_words

    judged = next(iter(models.values()))
    head = f"{loaded.table.name}: judged on {which}{loaded.among}{judged.worth_note}{loaded.of_all(judged)}"
    texts = [head + (f", {judged.n_classes} classes" if judged.n_classes else "")]
    for name, sentence in zip(first["model"], first["sentence"], strict=True):
        sentences = (sentence, *_bounds(bounds, name))
        texts += [f"{name}: {text}" if len(models) > 1 else text for text in sentences]
    texts += _large_lines(large, first)
    answered = lines[lines["value"].notna()]
    names = (*([of.text("model")] if len(models) > 1 else []), of.text("error", "title"))
    texts += _exhibit_forms.aligned((*names, *line_words.columns(answered)), answered)
    for name, coverage in over.items():
        if coverage < 1:
            texts.append(f"{name} answers {100 * coverage:.1f} % of the rows; every line is over the same rows.")
    scores = [line_words.OF_SCORES] if answered["estimator"].isin(list(SCORES)).any() else []
    for text in (*texts, *filter(None, [note]), line_words.VALUE, line_words.FLOOR, *scores, *line_words.notes(lines)):
        click.echo(_outputs.plain(text))
