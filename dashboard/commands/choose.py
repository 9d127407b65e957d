"""`calib choose`: whether to recalibrate a file's predictions, and with what."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dashboard.commands import _each_model, _exhibited, _given, _outputs, _shared
from dashboard.commands._given import Given

if TYPE_CHECKING:
    from calib_core.choice import Choice


@click.command("choose")
@click.argument("file", type=_shared.FILE)
@click.option("--candidate", "keys", multiple=True, help="Calibrator to try, such as temperature; as often as needed. "
              "By default the usual ones for such rows.")  # fmt: skip
@click.option("--score", type=click.Choice(["log-loss", "brier"]), default="log-loss", show_default=True,
              help="What they are chosen by.")  # fmt: skip
@click.option("--folds", type=click.IntRange(3, 20), default=None, show_default="7", help="Parts of the rows.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the folds.")
@_shared.level_option
@click.option(
    "--rows",
    type=click.Choice(["auto", "all", "calibration"]),
    default="auto",
    show_default="calibration rows where a column marks them, else all",
    help="Which rows it is chosen on.",
)
@_given.reading_options
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
    read: Given,
    models_in: str | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Recalibrate the predictions in FILE at all, and with what? The model as it is stays unless a gain is shown.

    Every calibrator is fitted and judged on different rows, in folds; what comes first on some folds is judged on
    another that had no say. First what to do, with the gain, its interval and what it costs; then a line a calibrator.

    \b
    Examples:
      calib choose validation.csv
      calib choose validation.npz --candidate temperature --candidate dirichlet --score brier
      calib choose answers.jsonl --models-in model --json
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other.")

    import pandas as pd

    by_model = _each_model.load_models(file, models_in, read, "")
    first = next(iter(by_model.values()))
    if not as_json:
        _shared.warn(first)
    how = {"candidates": list(keys) or None, "score": score, "folds": folds, "random_state": seed, "level": level}
    found = {name: _chosen(name, loaded, rows, **how) for name, loaded in by_model.items()}
    if as_csv:
        frames = [choice.frame() for choice in found.values()]
        if models_in is not None:
            frames = [frame.assign(model=name)[["model", *frame]] for name, frame in zip(found, frames, strict=True)]
        _outputs.write_csv(pd.concat(frames, ignore_index=True))
        return
    if as_json:
        options = {"score": score, "folds": folds, "seed": seed, "level": level, "rows": rows}
        records = {
            name: choice.record() | {"lines": choice.frame().to_dict("records")} for name, choice in found.items()
        }
        what = records[""] if models_in is None else {"models": records}
        _outputs.write_json("choose", {"file": _shared.file_record(first), "options": options} | what)
        return
    for i, (name, choice) in enumerate(found.items()):
        _show(choice, score, ([""] if i else []) + ([f"{name}:"] if name else []))


def _chosen(name: str, loaded: _shared.Loaded, rows: str, **how: Any) -> Choice:
    """What is chosen for a model, on the rows asked for."""
    import calib_core as cc
    from dashboard.session.call import work_on
    from dashboard.workers.durations import COSTS, about_seconds

    given = loaded.rows("calibration" if rows == "auto" and loaded.marked else "all" if rows == "auto" else rows)
    about = "" if how["candidates"] else about_seconds(COSTS.seconds(work_on(given, "choice.choose")))
    with _outputs.progress(", ".join(filter(None, ("Candidates", name, about))), 100) as bar:
        return cc.choose(given, **how, progress=lambda percent: bar.update(percent - bar.pos))


def _show(found: Choice, score: str, head: list[str]) -> None:
    """What to do, with its price, and a line a calibrator."""
    from dashboard.exhibits.recommendation import Recommendation

    frame = found.frame()
    lines = _exhibited.aligned(Recommendation(score).columns(frame), frame)
    for text in (*head, found.sentence, *found.price, "", *lines, *found.notes):
        click.echo(_outputs.plain(text))
