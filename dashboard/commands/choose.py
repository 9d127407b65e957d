"""`calib choose`: decide whether to recalibrate a file's predictions, and with what."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from dashboard.commands import _help_sections, _outputs, _shared_options
from dashboard.commands._failures import careful
from dashboard.commands._shared_options import ReadingOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from calib_core import Predictions, Recipe
    from calib_core.evaluation.choice import CalibratorChoice, Remaining
    from calib_core.evaluation.update_gains import UpdateGains
    from calib_core.evaluation.update_test import UpdateTest
    from dashboard.commands._opened_models import Opened
    from dashboard.session import Scene


@click.command("choose", cls=_help_sections.Sectioned)
@click.argument("file", type=_shared_options.FILE)
@_shared_options.member(
    "CALIBRATORS",
    "--candidate",
    "keys",
    multiple=True,
    help="Calibrator to try: a key, or a recipe as JSON (repeatable). By default, the usual ones for such data.",
)
@click.option(
    "--score",
    type=click.Choice(["log-loss", "brier", "confidence", "cost"]),
    default=None,
    show_default="log-loss, or cost with --costs",
    help="Score to minimize: log loss, Brier score, log loss of the confidence, or mean cost of decisions.",
)
@click.option("--costs", default="", metavar="COSTS", help="Costs of decisions. For two classes, the risk above "
              "which you act, such as 0.2. Or one row per decision, one cost per true class: '0 5; 1 0'.")  # fmt: skip
@click.option(
    "--worst-of", default="", metavar="COLUMN", help="Do not recommend a calibrator that harms a group of this column."
)
@click.option(
    "--folds", type=click.IntRange(3, 20), default=None, show_default="7", help="Number of cross-validation folds."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed of the folds.")
@_shared_options.level
@click.option(
    "--rows",
    type=click.Choice(["auto", "all", "calibration"]),
    default="auto",
    show_default="all rows except held-out rows",
    help="Rows to choose on.",
)
@_shared_options.judge
@_shared_options.reading
@_shared_options.models_in
@_shared_options.details
@_shared_options.form(json=_shared_options.RECORD, csv=_shared_options.TABLE)
@careful
def command(
    file: Path,
    keys: tuple[str, ...],
    score: str | None,
    costs: str,
    worst_of: str,
    folds: int | None,
    seed: int,
    level: float,
    rows: str,
    judge: str,
    read: ReadingOptions,
    models_in: str | None,
    details: bool,
    form: str,
) -> None:
    """Decide whether to recalibrate, and with what.

    Calibrators are compared by cross-validation: each row is scored after a fit to other rows. The gain of a calibrator
    is the decrease of the score. By default, the score is the log loss: a penalty for low probabilities of what
    happened, so lower is better. Unless the rows clearly show a gain, the advice is to leave the model unchanged. The
    advice comes first, with the gain, its interval and the side effects. A table with one line per calibrator follows.

    If a column marks test rows, the gain is measured on these; they play no part in the choice. Without such a column,
    a random half of the rows is held out to measure the gain, if there are more than 1,000. In smaller files, all rows
    are used, by cross-validation. In Python, cc.choose(predictions) uses all rows, like --judge all here. It can
    therefore recommend another calibrator.

    \b
    Examples:
      calib choose validation.csv
      calib choose validation.npz --candidate temperature --candidate dirichlet --score brier
      calib choose answers.jsonl --models-in model --json
      calib choose risks.csv --costs 0.2
    """
    _shared_options.check_rows(judge, rows)
    score = score or ("cost" if costs else "log-loss")
    if costs and score != "cost":
        raise click.UsageError("--costs goes with --score cost only.")

    import calib_core as cc
    from dashboard.commands import _opened_models

    opened = _opened_models.opened_models(file, models_in, read)
    first = next(iter(opened.values()))
    if form != "json":
        first.warn()
    recipes = [_shared_options.recipe_of(cc.CALIBRATORS, key) for key in keys]
    use = {name: value for name, value in (("costs", costs), ("worst_of", worst_of)) if value}
    how = {"candidates": recipes or None, "score": score, "folds": folds, "random_state": seed, "level": level, **use}
    given = {name: _given(model, "all" if judge == "all" else rows, judge) for name, model in opened.items()}
    found = {name: _chosen(name, on, **how) for name, on in given.items()}
    options = {"score": score, "folds": folds, "seed": seed, "level": level, "rows": rows, **use,
               "chosen_on": next(iter(given.values())).sentence}  # fmt: skip

    @cache
    def advised(name: str) -> tuple[str, ...]:
        return _advice(found[name], given[name]).sentences(found[name])

    _outputs.answer(
        form,
        text=lambda: _text(found, given, advised, first.file.title, score, details),
        reading=lambda: _reading(found, advised),
        details=details,
        frame=_frame(found),
        record=lambda: {"file": first.record(), "options": options} | _record(found, given),
    )


class _Given(NamedTuple):
    """Selection rows, held-out evaluation rows, descriptions of both, and their scene."""

    rows: Predictions
    held_out: Predictions | None
    sentence: str
    scene: Scene


def _given(opened: Opened, rows: str, judge: str) -> _Given:
    """Return the selection rows, as on the dashboard."""
    from calib_core.text import count
    from dashboard.commands import _opened_models

    if rows != "auto":
        scene = _opened_models.scene({"": opened}, rows=rows)
        on = scene.get(scene.models.shown[0].predictions)
        return _Given(on, None, f"chosen on {'all' if rows == 'all' else 'the'} {count(on.n_rows)} rows", scene)
    scene = _opened_models.scene(_opened_models.divided({"": opened}, judge))
    parts = scene.get(scene.models.shown[0].division)
    if parts.folds is not None or parts.undivided:
        return _Given(parts.fit, None, f"chosen on all {count(parts.fit.n_rows)} rows", scene)
    all_rows = "" if opened.marked else " (--judge all uses all rows and can recommend another calibrator)"
    sentence = f"chosen on {count(parts.fit.n_rows)} calibration rows, judged on {parts.judged}{all_rows}"
    return _Given(parts.fit, parts.test, sentence, scene)


def _chosen(name: str, given: _Given, **how: Any) -> CalibratorChoice:
    """Return the choice of a calibrator for a model on the given rows."""
    import calib_core as cc
    from dashboard.session.call import work_on
    from dashboard.workers.durations import COSTS, about_seconds

    about = "" if how["candidates"] else about_seconds(COSTS.seconds(work_on(given.rows, "choose")))
    with _outputs.percent(", ".join(filter(None, ("Candidates", name, about)))) as tell:
        return cc.choose(given.rows, **how, progress=tell, held_out=given.held_out)


def _frame(found: Mapping[str, CalibratorChoice]) -> pd.DataFrame:
    """Return one line per calibrator, for each model if the file has several."""
    from calib_core.evaluation.study import stacked

    return next(iter(found.values())).frame() if "" in found else stacked({n: c.frame() for n, c in found.items()})


def _record(found: Mapping[str, CalibratorChoice], given: Mapping[str, _Given]) -> dict[str, Any]:
    """Return every choice with its advice as plain values, by model if the file has several."""
    advised = {name: _advice(choice, given[name]) for name, choice in found.items()}
    records = {
        name: choice.record()
        | advised[name].record()
        | {"sentences": list(advised[name].sentences(choice)), "lines": choice.frame().to_dict("records")}
        for name, choice in found.items()
    }
    return records.get("", {"models": records})


class _Advice(NamedTuple):
    """Advice on a choice: the error left after recalibration, the update of one group, and any errors found anyway."""

    left: Remaining | None
    update: UpdateGains | None
    error: str
    held_out: str
    how_far: UpdateTest | None

    def record(self) -> dict[str, Any]:
        """Return the advice as plain values."""
        left, update = self.left, self.update
        return {
            "remaining": _record_of(left),
            "remaining_simple": None if left is None else _record_of(left.simpler),
            "own_update": None
            if update is None
            else {"sentence": update.sentence, "column": update.column, "lines": update.frame().to_dict("records")},
            "shown_error": self.error or None,
            "held_out_slice": self.held_out or None,
            "update_test": None
            if self.how_far is None
            else {"sentence": self.how_far.sentence, "lines": self.how_far.frame().to_dict("records")},
        }

    def sentences(self, found: CalibratorChoice) -> tuple[str, ...]:
        """Return the advice, as on the dashboard, and its side effects."""
        from calib_core.evaluation.advice import sentences

        advice = sentences(found, *self[:3], all_rows="--judge all", held_out=self.held_out)
        how_far = () if self.how_far is None else (self.how_far.sentence,)
        return (*advice, *found.price, *how_far)


def _record_of(left: Remaining | None) -> dict[str, Any] | None:
    return None if left is None else {"sentence": left.sentence, "line": left.line.line.record()}


def _advice(choice: CalibratorChoice, given: _Given) -> _Advice:
    """Return the remaining advice, as on the dashboard."""
    from calib_core import NotAnswerable
    from calib_core.evaluation import advice
    from calib_core.evaluation.update_test import CALIBRATORS_OF, update_test
    from dashboard.exhibits import event_words

    update = advice.own_update(given.rows, level=choice.level)
    held_out = "" if given.held_out is None or update is not None else advice.held_out_slice(given.held_out)
    how_far = None
    # Next to other candidates that the user named, the procedure would be about updates that nobody compared.
    if given.rows.event is not None and any(recipe.key in CALIBRATORS_OF for recipe in choice.recipes):
        with suppress(NotAnswerable):
            how_far = update_test(given.rows)
    if choice.recalibrate:
        left = None
        with suppress(NotAnswerable):
            left = choice.remaining(given.rows, given.held_out)
            smaller = advice.smaller_error(choice, left, partial(_remaining, choice, given))
            simpler = None if choice.simple is None else _remaining(choice, given, choice.simple)
            left = replace(left, smaller=smaller, simpler=simpler)
        return _Advice(left, update, "", held_out, how_far)
    judged = given.rows if given.held_out is None else given.held_out
    event = "" if judged.event is None else event_words.of_scene(given.scene)
    return _Advice(None, update, advice.shown_error(judged, event, level=choice.level), held_out, how_far)


def _remaining(choice: CalibratorChoice, given: _Given, recipe: Recipe) -> Remaining | None:
    """Return the error that another calibrator leaves; None if it cannot be judged."""
    from calib_core import InputError, NotAnswerable

    with suppress(InputError, NotAnswerable):
        return choice.remaining(given.rows, given.held_out, recipe=recipe)
    return None


_MAIN = ("title", "score", "gain", "low")
"""First columns of the frame that are printed without ``--details``, and the weights of a recommended blend."""


def _text(
    found: Mapping[str, CalibratorChoice],
    given: Mapping[str, _Given],
    advised: Callable[[str], tuple[str, ...]],
    file: str,
    score: str,
    details: bool,
) -> list[str]:
    """Return the advice for each model, with side effects, and one line per calibrator."""
    from dashboard.exhibits.recommendation import Recommendation

    lines: list[str] = []
    for name, choice in found.items():
        frame = choice.frame()
        lines += ([""] if lines else []) + ([f"{name}:"] if name else []) + [f"{file}: {given[name].sentence}"]
        lines += ["", *advised(name)]
        main = (*_MAIN, "weight") if choice.recipe.key == "blend" else _MAIN
        columns = [
            column
            for column in Recommendation(score).columns_at(choice.level, frame)
            if (details and column.made_of != ("note",)) or column.made_of[0] in main
        ]
        lines += ["", *_terms(choice, advised(name)), "", _of_columns(choice), *_outputs.aligned(columns, frame)]
        if not details:  # with them, the notes of all calibrators are below the table
            unknown = frame[frame["gain"].isna() & (frame["note"] != "")]
            lines += [f"{title}: {note}." for title, note in zip(unknown["title"], unknown["note"], strict=True)]
        if choice.recalibrate:
            options = [_shared_options.calibrator_option(each) for each in (choice.simple, choice.recipe) if each]
            which = "this option" if len(options) == 1 else "one of these options"
            lines.append(f"To audit the result or save the calibrator, add {which} to calib audit or calib fit:")
            lines += [f"  --calibrator {option}" for option in options]
    return lines


def _of_columns(choice: CalibratorChoice) -> str:
    """Return what the score and the gain in the table are, in short."""
    from calib_core.evaluation.row_losses import name_of_score

    name = name_of_score(choice.score)
    meaning = ", the mean of -ln(predicted probability of what happened)" if choice.score == "log-loss" else ""
    return f"Table, on {choice.judged_on}. Gain: the decrease of the {name}{meaning}."


def _terms(choice: CalibratorChoice, advice: Sequence[str]) -> list[str]:
    """Return what the recommended calibrators do, and the meanings of terms in the advice."""
    from calib_core.registry.registry import FAMILIES, Recipe
    from calib_core.text import inside
    from dashboard.exhibits.line_words import terms_in

    recipes = [recipe for recipe in (choice.simple, choice.recipe) if recipe and choice.recalibrate]
    inner = [(recipe, dict(recipe.params).get("binary")) for recipe in recipes]
    applied = [binary if isinstance(binary, Recipe) else recipe for recipe, binary in inner]
    entries = [FAMILIES[recipe.family][recipe.key] for recipe in applied]
    return [
        "Calibrator: a correction of predicted probabilities that is fitted to rows with known outcomes.",
        *(f"{entry.title}: {inside(entry.caption)}" for entry in entries),
        *terms_in(advice, choice.level),
    ]


def _reading(found: Mapping[str, CalibratorChoice], advised: Callable[[str], tuple[str, ...]]) -> list[str]:
    """Return what the columns and the advice mean, and how each choice was made."""
    from dashboard.exhibits.line_words import definitions_in
    from dashboard.exhibits.recommendation import about_table

    lines: list[str] = []
    for name, choice in found.items():
        lines += ["", f"{name}: columns" if name else "Columns", *_indented(about_table(choice))]
        lines += ["", f"{name}: choice" if name else "How the calibrator was chosen", *_indented(*choice.notes)]
    terms = definitions_in([*(text for name in found for text in advised(name)), *lines])
    return [*lines, *(["", "Errors", *_indented(*terms)] if terms else [])]


def _indented(*texts: str) -> list[str]:
    return [f"  {text}" for text in texts]
