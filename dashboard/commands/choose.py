"""`calib choose`: whether to recalibrate a file's predictions, and with what."""

from __future__ import annotations

from pathlib import Path

import click

from dashboard.commands import _exhibited, _shared


@click.command("choose")
@click.argument("file", type=_shared.FILE)
@click.option("--candidate", "keys", multiple=True, help="Calibrator to try, such as temperature; as often as needed. "
              "By default the usual ones for such rows.")  # fmt: skip
@click.option("--score", type=click.Choice(["log-loss", "brier"]), default="log-loss", show_default=True,
              help="What they are chosen by.")  # fmt: skip
@click.option("--folds", type=click.IntRange(3, 20), default=5, show_default=True, help="Parts of the rows.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the folds.")
@_shared.level_option
@click.option(
    "--rows",
    type=click.Choice(["auto", "all", "calibration"]),
    default="auto",
    show_default="calibration rows where a column marks them, else all",
    help="Which rows it is chosen on.",
)
@_shared.reading_options
@click.option("--json", "as_json", is_flag=True, help="A JSON record: full precision, versions, hash, findings.")
@click.option("--csv", "as_csv", is_flag=True, help="The table as CSV.")
@_shared.careful
def command(
    file: Path,
    keys: tuple[str, ...],
    score: str,
    folds: int,
    seed: int,
    level: float,
    rows: str,
    read: tuple[str, ...],
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
      calib choose answers.jsonl --json
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other.")

    import calib_core as cc
    from dashboard.exhibits.recommendation import Recommendation

    loaded = _shared.load(file, read)
    if not as_json:
        _shared.warn(loaded)
    given = loaded.rows("calibration" if rows == "auto" and loaded.marked else "all" if rows == "auto" else rows)
    with _shared.progress("Candidates", 100) as bar:
        candidates = list(keys) or None
        found = cc.choose(given, candidates, score, folds, seed, level, lambda percent: bar.update(percent - bar.pos))
    frame = found.frame()
    if as_csv:
        _shared.write_csv(frame)
        return
    if as_json:
        options = {"score": score, "folds": folds, "seed": seed, "level": level, "rows": rows}
        record = {"file": _shared.file_record(loaded), "options": options} | found.record()
        _shared.write_json("choose", record | {"lines": frame.to_dict("records")})
        return
    for text in (found.sentence, *found.price, ""):
        click.echo(_shared.plain(text))
    for text in (*_exhibited.aligned(Recommendation(score).columns(frame), frame), *found.notes):
        click.echo(_shared.plain(text))
