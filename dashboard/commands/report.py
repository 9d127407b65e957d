"""`calib report`: everything the dashboard shows of a file, as one self-contained HTML file for reviewers."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

import click

from dashboard.commands import _shared

if TYPE_CHECKING:  # heavy: imported when the command runs
    from dashboard.report import Options, Progress, Report
    from dashboard.selection import Selection

_STEPS = 1000
_FLAGS = {"eps": "--tolerance", "calibrators": "--calibrator", "others": "--other", "reading": "--read"}


@click.command("report")
@click.argument("file")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), default=Path("report.html"),
              show_default=True, help="Where the report is written.")  # fmt: skip
@click.option("--calibrator", "calibrators", multiple=True,
              help="Calibrator to be shown too: a key, or a recipe as JSON; as often as needed.")  # fmt: skip
@click.option("--bins", type=int, help="Number of bins, 5 to 25; equal-width where nothing else is said.")
@click.option("--points", type=int, help="Rows per bin, for --binning points-per-bin.")
@click.option("--binning", help="Where the bins lie; by default auto: one bin a value where a calibrator's outputs are "
              "discrete, else 15 of equal width.")  # fmt: skip
@click.option("--counting", type=click.Choice(["answered", "all"]),
              help="Where a model abstains: tables over the rows all answer, by default, or over all.")  # fmt: skip
@click.option("--share", type=float, help="Share of the rows calibrators are fitted on; by default 0.5.")
@click.option("--seed", type=int, help="Seed of that division; by default 0.")
@click.option(
    "--tolerance",
    type=float,
    help="The error that would not matter, for the verdicts; by default as in the other commands.",
)
@click.option("--test", type=_shared.FILE, help="File of the test rows; FILE then holds the calibration rows.")
@click.option("--other", "others", multiple=True, help="File of another model on the same rows; as often as needed.")
@click.option("--slow", is_flag=True, help="Intervals and noise floors of slow estimators too: minutes.")
@click.option("--choices", default="", metavar="QUERY",
              help="Further choices, written as in a link of the dashboard: asked=class-wise&zoom=9.")  # fmt: skip
@_shared.reading_options
@click.option("--title", default="", help="Title of the report.")
@click.option("--author", default="", help="Line below the title.")
@click.option("--date", default="", help="The date line, instead of today's.")
@click.option("--leave-out", "left_out", multiple=True, metavar="SECTION", help="A section to be left out, by its key.")
@click.option("--only", "kept", multiple=True, metavar="SECTION", help="Only this section, by its key; repeatable.")
@click.option("--like", type=click.Path(path_type=Path, exists=True, dir_okay=False),
              help="An earlier report: its choices are taken; FILE, --test, --other have to be its files.")  # fmt: skip
@click.option("--pdf", type=click.Path(path_type=Path, dir_okay=False), help="Write the report as PDF too (Chromium).")
@click.option("--tables", type=click.Path(path_type=Path, dir_okay=False),
              help="Write every table as CSV and LaTeX too, into this ZIP file.")  # fmt: skip
@click.option("--figures", type=click.Path(path_type=Path, dir_okay=False),
              help="Write every figure as SVG, PDF and PNG too, into this ZIP file (Chromium).")  # fmt: skip
@click.option("--width", type=click.Choice(["single", "double"]), default="double", show_default=True,
              help="Column width of those figures: 3.4 or 7 inches.")  # fmt: skip
@_shared.careful
def command(
    file: str,
    output: Path,
    calibrators: tuple[str, ...],
    bins: int | None,
    points: int | None,
    binning: str | None,
    counting: str | None,
    share: float | None,
    seed: int | None,
    tolerance: float | None,
    test: Path | None,
    others: tuple[str, ...],
    slow: bool,
    choices: str,
    read: tuple[str, ...],
    title: str,
    author: str,
    date: str,
    left_out: tuple[str, ...],
    kept: tuple[str, ...],
    like: Path | None,
    pdf: Path | None,
    tables: Path | None,
    figures: Path | None,
    width: str,
) -> None:
    """Write a calibration report on the predictions in FILE: one HTML file that needs no network.

    It holds the data card, a verdict, every diagram and table of the dashboard, the methods with their references,
    and what is needed to get the same numbers again. FILE may be demo:KEY for demo data.

    \b
    Examples:
      calib report predictions.csv
      calib report predictions.npz --calibrator temperature --calibrator top-label-hb -o report.html
      calib report demo:digits-naive-bayes --title "Digits" --pdf report.pdf
      calib report predictions.csv --like report.html -o again.html
    """
    # Its caches are used outside a running app, which it would remark on.
    logging.getLogger("streamlit").setLevel(logging.ERROR)
    from dashboard import session
    from dashboard.report import Options, chromium
    from dashboard.report.picture import WIDTHS

    if (pdf or figures) and chromium.found() is None:
        _shared.fail(chromium.MISSING)
    flags = {
        "bins": bins,
        "points": points,
        "binning": binning,
        "counting": counting,
        "share": share,
        "seed": seed,
        "eps": tolerance,
        "slow": slow or None,
    }
    query = dict(parse_qsl(choices)) | {name: str(value) for name, value in flags.items() if value is not None}
    query["calibrators"] = _recipes(calibrators)
    options = Options(title, author, _sections(left_out, kept), date)
    key = _held(file)
    if like is not None:
        _no_choices(calibrators, choices, read, flags)
        for name in (*([str(test)] if test else []), *others):
            _held(name)
        selection, options = _like(like, key, options)
    else:
        selection = _selection(query, key, test, others, read)
    session.parts(selection.source)
    report = _made(selection, options)
    output.write_bytes(report.html)
    if pdf:
        pdf.write_bytes(chromium.pdf(report.html))
    if tables:
        tables.write_bytes(report.table_files())
    if figures:
        with _shared.progress("Figures", _STEPS) as bar:
            made = chromium.pictures(report.document, WIDTHS[width], lambda s: bar.update(int(s * _STEPS) - bar.pos))
        figures.write_bytes(made)


def _held(name: str) -> str:
    """The key of a file that is read now, or of demo data."""
    from calib_core.readers import file_bytes
    from dashboard import session

    if name.startswith("demo:"):
        return session.file(name).key
    path = Path(name)
    return session.hold(file_bytes(path), path.name).key


def _selection(
    query: dict[str, str], key: str, test: Path | None, others: Sequence[str], read: Sequence[str]
) -> Selection:
    """The choices the options make; the first that is not possible ends the command."""
    from dashboard import session
    from dashboard.selection import Selection, written_changes

    query["data"] = key
    if test is not None:
        query["test"] = _held(str(test))
    if read:
        given = _shared.reading_fields(read)
        query["reading"] = written_changes(session.file(key).proposal, session.proposed(key, given))
    keys = [_held(name) for name in others]
    # What was changed in how they are read comes with --choices, by the same keys.
    query.setdefault("others", json.dumps([[key, ""] for key in keys]))
    selection, problems = Selection.from_query(query)
    if problems:
        name, _, why = problems[0].removeprefix("The link's ").partition(" was left out: ")
        _shared.fail(f"{_FLAGS.get(name, '--' + name)}: {why}")
    return selection


def _recipes(calibrators: Sequence[str]) -> str:
    """Keys and recipes as the JSON list a link holds."""
    return "[" + ",".join(text if text.startswith("{") else json.dumps(text) for text in calibrators) + "]"


def _sections(left_out: tuple[str, ...], kept: tuple[str, ...]) -> tuple[str, ...]:
    """The sections to leave out."""
    from dashboard.report import CHAPTERS

    known = [chapter.key for chapter in CHAPTERS]
    for key in (*left_out, *kept):
        if key not in known:
            _shared.fail(f"there is no section {key!r}; sections: {', '.join(known)}.")
    return tuple(key for key in known if key in left_out or (kept and key not in kept))


def _no_choices(calibrators: Sequence[str], choices: str, read: Sequence[str], flags: Mapping[str, object]) -> None:
    """End the command where an option would change what an earlier report fixes."""
    given = {"calibrators": calibrators, "choices": choices, "reading": read, **flags}
    for name, value in given.items():
        if value not in (None, "", ()):
            _shared.fail(
                f"--like takes every choice from the earlier report: leave {_FLAGS.get(name, '--' + name)} out"
            )


def _like(path: Path, key: str, options: Options) -> tuple[Selection, Options]:
    """The choices and options of an earlier report, whose file this has to be."""
    from dashboard import session
    from dashboard.report import Options, read_recipe

    held = read_recipe(path.read_bytes())
    wanted = held.files.get(held.selection.source.data, "")
    if session.file(key).digest != wanted:
        _shared.fail(f"{path.name} is about another file: its SHA-256 begins with {wanted[:8]}.")
    for other, digest in held.files.items():
        if other != held.selection.source.data and not session.is_here(other):
            also = f"{path.name} is also about a file whose SHA-256 begins with {digest[:8]}"
            _shared.fail(f"{also}: name it with --test or --other")
    same = held.selection.replace(data=key)
    told = held.options
    title, author = options.title or told.title, options.author or told.author
    return same, Options(title, author, options.left_out or told.left_out, options.date)


def _made(selection: Selection, options: Options) -> Report:
    """The report, with its progress on a terminal's stderr."""
    from dashboard.report import build

    with _shared.progress("Report", _STEPS) as bar:

        def tell(at: Progress) -> None:
            bar.label = at.what
            bar.update(int(at.share * _STEPS) - bar.pos)

        return build(selection, options, progress=tell)
