"""`calib choose`: whether to recalibrate a file's predictions, and with what."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from dashboard.commands import _each_model, _exhibit_forms, _outputs, _reading_options, _shared
from dashboard.commands._reading_options import ReadingOptions

if TYPE_CHECKING:
    from calib_core import Predictions
    from calib_core.evaluation.choice import CalibratorChoice, Remaining
    from calib_core.evaluation.update_gains import UpdateGains


@click.command("choose")
@click.argument("file", type=_shared.FILE)
@click.option("--candidate", "keys", multiple=True, help="Calibrator to try: a key, or a recipe as JSON; as often as "
              "needed. By default the usual ones for such rows.")  # fmt: skip
@click.option("--score", type=click.Choice(["log-loss", "brier"]), default="log-loss", show_default=True,
              help="What they are chosen by.")  # fmt: skip
@click.option("--folds", type=click.IntRange(3, 20), default=None, show_default="7", help="Parts of the rows.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the folds.")
@_shared.level_option
@click.option(
    "--rows",
    type=click.Choice(["auto", "all", "calibration"]),
    default="auto",
    show_default="the calibration rows, as on the dashboard",
    help="Rows to choose on.",
)
@_shared.judge_option
@_reading_options.reading_options
@_each_model.option
@click.option("--json", "as_json", is_flag=True, help="A JSON record: full precision, versions, hash, findings.")
@click.option("--csv", "as_csv", is_flag=True, help="The table as CSV.")
@_shared.careful
def command(
    file: Path,
    keys: tuple[str, ...],
    score: str,
    folds: int | None,
    seed: int,
    level: float,
    rows: str,
    judge: str,
    read: ReadingOptions,
    models_in: str | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Should FILE be recalibrated, and how? Keeps the model unchanged unless recalibrating is shown to help.

    Every calibrator is fitted and judged on different rows, by cross-validation. Where a column marks calibration and
    test rows, the calibrator is chosen on the former and its gain judged on the latter. The first lines say what to do,
    with the gain, its interval and the side effects. A table with one line per calibrator follows.

    \b
    Examples:
      calib choose validation.csv
      calib choose validation.npz --candidate temperature --candidate dirichlet --score brier
      calib choose answers.jsonl --models-in model --json
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other.")
    if rows != "auto" and judge != "auto":
        raise click.UsageError("--judge does not go with --rows.")

    import pandas as pd

    import calib_core as cc

    by_model = _each_model.load_models(file, models_in, read, "")
    first = next(iter(by_model.values()))
    if not as_json:
        _shared.warn(first)
    recipes = [_shared.recipe_of(cc.CALIBRATORS, key) for key in keys]
    how = {"candidates": recipes or None, "score": score, "folds": folds, "random_state": seed, "level": level}
    given = {name: _rows(loaded, "all" if judge == "all" else rows, judge) for name, loaded in by_model.items()}
    found = {name: _chosen(name, on, judging, **how) for name, (on, judging, _) in given.items()}
    advice = {} if as_csv else {name: _advice(found[name], by_model[name], *given[name][:2]) for name in found}
    if as_csv:
        frames = [choice.frame() for choice in found.values()]
        if models_in is not None:
            frames = [frame.assign(model=name)[["model", *frame]] for name, frame in zip(found, frames, strict=True)]
        _outputs.write_csv(pd.concat(frames, ignore_index=True))
        return
    if as_json:
        sentence = next(iter(given.values()))[-1]
        options = {"score": score, "folds": folds, "seed": seed, "level": level, "rows": rows, "chosen_on": sentence}
        records = {
            name: choice.record()
            | advice[name].record()
            | {"sentences": list(advice[name].sentences(choice)), "lines": choice.frame().to_dict("records")}
            for name, choice in found.items()
        }
        what = records[""] if models_in is None else {"models": records}
        _outputs.write_json("choose", {"file": _shared.file_record(first), "options": options} | what)
        return
    for i, (name, choice) in enumerate(found.items()):
        head = ([""] if i else []) + ([f"{name}:"] if name else [])
        _show(choice, score, [*head, f"{first.table.name}: {given[name][-1]}"], advice[name])


def _rows(loaded: _shared.Loaded, rows: str, judge: str) -> tuple[Predictions, Predictions | None, str]:
    """The rows it is chosen on, as on the dashboard; the held-out rows that judge the choice; and both in words."""
    from calib_core.text import count

    if rows != "auto":
        given = loaded.rows(rows)
        return given, None, f"chosen on {'all' if rows == 'all' else 'the'} {count(given.n_rows)} rows"
    parts = loaded.judged(judge, share=0.5, seed=0, folds=None)
    given = parts.fit
    if parts.folds is not None or parts.undivided:
        return given, None, f"chosen on all {count(given.n_rows)} rows"
    all_rows = "" if loaded.marked is not None else " (--judge all uses all rows)"
    return given, parts.test, f"chosen on {count(given.n_rows)} calibration rows, judged on {parts.judged}{all_rows}"


def _chosen(name: str, given: Predictions, held_out: Predictions | None, **how: Any) -> CalibratorChoice:
    """What is chosen for a model, on the rows given."""
    import calib_core as cc
    from dashboard.session.call import work_on
    from dashboard.workers.durations import COSTS, about_seconds

    about = "" if how["candidates"] else about_seconds(COSTS.seconds(work_on(given, "choose")))
    with _outputs.progress(", ".join(filter(None, ("Candidates", name, about))), 100) as bar:
        return cc.choose(given, **how, progress=lambda percent: bar.update(percent - bar.pos), held_out=held_out)


class _Advice(NamedTuple):
    """What remains after the calibrator recommended, one value's own update, and the gap that is shown all the same."""

    left: Remaining | None
    update: UpdateGains | None
    gap: str

    def record(self) -> dict[str, Any]:
        """All of it in plain values."""
        left, update = self.left, self.update
        return {
            "remaining": None if left is None else {"sentence": left.sentence, "line": left.line.line.record()},
            "own_update": None
            if update is None
            else {"sentence": update.sentence, "column": update.column, "lines": update.frame().to_dict("records")},
            "gap": self.gap or None,
        }

    def sentences(self, found: CalibratorChoice) -> tuple[str, ...]:
        """The advice, as on the dashboard, and its price."""
        from calib_core.evaluation.advice import sentences

        return (*sentences(found, *self), *found.price)


def _advice(
    choice: CalibratorChoice, loaded: _shared.Loaded, given: Predictions, held_out: Predictions | None
) -> _Advice:
    """The rest of the advice, as on the dashboard."""
    from calib_core import NotAnswerable
    from calib_core.evaluation import advice

    left, judged = None, given if held_out is None else held_out
    if choice.recalibrate:
        with suppress(NotAnswerable):
            left = choice.remaining(given, held_out)
        return _Advice(left, advice.own_update(given, level=choice.level), "")
    update = advice.own_update(given, level=choice.level)
    return _Advice(None, update, advice.shown_gap(judged, _event(loaded, judged)))


def _event(loaded: _shared.Loaded, judged: Predictions) -> str:
    """What the event is called on the dashboard."""
    from calib_core.predictions.event_names import event_title

    if judged.event is None:
        return ""
    label = loaded.reading.label
    return event_title((judged.class_names or ())[judged.event], label[0] if len(label) == 1 else judged.outcome)


def _show(found: CalibratorChoice, score: str, head: list[str], also: _Advice) -> None:
    """What to do, with its price, and a line a calibrator."""
    from dashboard.exhibits.recommendation import Recommendation, about_table

    frame = found.frame()
    lines = _exhibit_forms.aligned(Recommendation(score).columns_at(found.level, frame), frame)
    then: tuple[str, ...] = ()
    if found.recalibrate:
        option = _shared.calibrator_option(found.recipe)
        then = (f"To audit the result, add to calib audit, or to calib fit to keep it: --calibrator {option}",)
    for text in (*head, *also.sentences(found), "", *lines, about_table(found), *found.notes, *then):
        click.echo(_outputs.plain(text))
