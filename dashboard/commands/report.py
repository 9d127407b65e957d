"""`calib report`: all results of the dashboard for a file, as one self-contained HTML file for reviewers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dashboard.commands import _failures, _help_sections, _outputs, _shared_options
from dashboard.commands._failures import careful

if TYPE_CHECKING:  # heavy: imported when the command runs
    from dashboard.report import Options, Progress, Report
    from dashboard.selection import Selection

_STEPS = 1000


@click.command("report", cls=_help_sections.Sectioned)
@click.argument("file")
@click.option("-o", "--output", type=_shared_options.OUTPUT, default=Path("report.html"),
              show_default=True, help="Output file.")  # fmt: skip
@_shared_options.of_page
@click.option("--slow", is_flag=True, help="Include intervals of slow estimators (minutes).")
@click.option("--style", type=click.Choice(["review", "validation"]), default="review", show_default=True,
              help="Arrangement: for reviewers, or for a paper on an external validation (TRIPOD+AI).")  # fmt: skip
@click.option("--threshold", type=_shared_options.Share(max_open=True),
              help="Risk above which someone would act. With --style validation, the report then has the net benefit, "
                   "which shows whether acting by the model does more good than harm.")  # fmt: skip
@click.option("--title", default="", help="Title of the report.")
@click.option("--author", default="", help="Author or other text below the title.")
@click.option("--date", default="", help="Date to print (default: today).")
@click.option(
    "--leave-out",
    "left_out",
    multiple=True,
    metavar="SECTION",
    help="Leave this section out (repeatable). A wrong name prints all names.",
)
@click.option(
    "--include",
    "added",
    multiple=True,
    metavar="SECTION",
    help="Add a section that is left out by default: planner; for two classes also: classes.",
)
@click.option("--only", "kept", multiple=True, metavar="SECTION", help="Include only this section (repeatable).")
@click.option("--like", type=click.Path(path_type=Path, exists=True, dir_okay=False),
              help="Repeat the settings of this earlier report, for the same data files.")  # fmt: skip
@click.option("--pdf", type=_shared_options.OUTPUT, help="Also write the report as PDF (needs Chromium).")
@click.option("--word", type=_shared_options.OUTPUT, help="Also write the report as a Word document (DOCX).")
@click.option("--latex", type=_shared_options.OUTPUT,
              help="Also write the whole report as a LaTeX file, with places for figure-01.pdf, ...")  # fmt: skip
@click.option("--tables", type=_shared_options.OUTPUT,
              help="Also write every table as CSV and LaTeX, into this ZIP file.")  # fmt: skip
@click.option("--figures", type=_shared_options.OUTPUT,
              help="Also write every figure as SVG, PDF and PNG, into this ZIP file (needs Chromium).")  # fmt: skip
@click.option("--model-card", "card", type=_shared_options.OUTPUT,
              help="Also write verdicts and scores as a section of a model card (Markdown, metadata).")  # fmt: skip
@click.option("--width", type=click.Choice(["single", "double"]), default="double", show_default=True,
              help="Width of the figures of --figures: 3.4 or 7 inches.")  # fmt: skip
@careful
def command(
    file: str,
    output: Path,
    slow: bool,
    style: str,
    threshold: float | None,
    title: str,
    author: str,
    date: str,
    left_out: tuple[str, ...],
    added: tuple[str, ...],
    kept: tuple[str, ...],
    like: Path | None,
    pdf: Path | None,
    word: Path | None,
    latex: Path | None,
    tables: Path | None,
    figures: Path | None,
    card: Path | None,
    width: str,
    **given: Any,
) -> None:
    """Write a calibration report as one HTML file.

    The report contains a verdict, a description of the data, and the diagrams and tables of the dashboard. It also has
    the methods with references, and how to reproduce the numbers. It needs no network. For two classes it is about the
    predicted risk of the event (--event). FILE may be demo:KEY for demo data.

    \b
    Examples:
      calib report predictions.csv
      calib report predictions.npz --calibrator temperature --calibrator top-label-hb -o report.html
      calib report demo:digits-naive-bayes --title "Digits" --pdf report.pdf
      calib report predictions.csv --like report.html -o again.html
      calib report predictions.csv --model-card card.md
      calib report risks.csv --style validation --threshold 0.2 --word validation.docx
    """
    from dashboard import session
    from dashboard.commands import _opened_models
    from dashboard.exhibits import EXHIBITS, doubt_words
    from dashboard.report import Options, chromium

    if threshold is not None and style != "validation":
        raise click.UsageError("--threshold goes with --style validation only.")
    if (pdf or figures) and chromium.found() is None:
        _failures.fail(chromium.MISSING)
    left_out, added = _sections(left_out, added, kept, style)
    options = Options(title, author, left_out, date, added, style)
    if like is not None:
        key = _opened_models.opened_file(file, given["read"]).key
        _no_choices(
            {**given, "read": tuple(given["read"].fields), "slow": slow or None, "style": style, "threshold": threshold}
        )
        for name in (*([given["test"]] if given["test"] else []), *given["others"]):
            _opened_models.opened_file(name)
        selection, options = _like(like, key, options)
    else:
        selection = _opened_models.selection(file, **given)
        selection = selection.with_exhibit(EXHIBITS.described("estimators", slow=True)) if slow else selection
        if style == "validation":
            selection = _opened_models.every_row(selection, given)
        if threshold is not None:
            selection = selection.with_exhibit(EXHIBITS.described("net-benefit", threshold=threshold))
    session.parts(selection.source)
    _outputs.warn(_opened_models.assumed(selection.source, _shared_options.named_fields(given)))
    _outputs.warn(f"doubt: {sentence}" for sentence in doubt_words.sentences(session.scene_of(selection)))
    report = _made(selection, options)
    _outputs.write(output, report.html)
    if pdf:
        _outputs.write(pdf, chromium.pdf(report.html))
    if word:
        _outputs.write(word, report.word())
    if latex:
        _outputs.write(latex, report.latex())
    if tables:
        _outputs.write(tables, report.table_files())
    if card:
        from dashboard.integrations import Handout

        _outputs.write(card, Handout(selection).model_card().encode())
    if figures:
        with _outputs.progress("Figures", _STEPS) as bar:
            archive = chromium.pictures(report.document, width, lambda s: bar.update(int(s * _STEPS) - bar.pos))
        _outputs.write(figures, archive)


def _sections(
    left_out: tuple[str, ...], added: tuple[str, ...], kept: tuple[str, ...], style: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the sections to leave out, and the optional sections to include."""
    from dashboard.report import chapters

    known = {chapter.key: chapter.on_request or chapter.of_predicted for chapter in chapters(style)}
    for key in (*left_out, *added, *kept):
        if key not in known:
            _failures.fail(f"there is no section {key!r}; sections: {', '.join(known)}.")
    less = tuple(key for key in known if key in left_out or (kept and key not in kept))
    return less, tuple(key for key, on_request in known.items() if on_request and key in (*added, *kept))


def _no_choices(given: Mapping[str, Any]) -> None:
    """Exit if an option would change what an earlier report fixes."""
    for name, value in given.items():
        if name not in ("test", "others") and value not in (None, "", ()) and not _shared_options.by_default(name):
            _failures.fail(f"--like takes every choice from the earlier report: leave {_shared_options.flag(name)} out")


def _like(path: Path, key: str, options: Options) -> tuple[Selection, Options]:
    """Return the choices and options of an earlier report of this same file."""
    from dashboard import session
    from dashboard.report import Options, read_recipe

    earlier = read_recipe(path.read_bytes())
    wanted = earlier.files.get(earlier.selection.source.data, "")
    if session.file(key).digest != wanted:
        _failures.fail(f"{path.name} is about another file: its SHA-256 begins with {wanted[:8]}.")
    for other, digest in earlier.files.items():
        if other != earlier.selection.source.data and not session.is_here(other):
            also = f"{path.name} is also about a file whose SHA-256 begins with {digest[:8]}"
            _failures.fail(f"{also}: name it with --test or --other")
    same = earlier.selection.replace(data=key)
    before = earlier.options
    title, author = options.title or before.title, options.author or before.author
    left_out, added = options.left_out or before.left_out, options.added or before.added
    return same, Options(title, author, left_out, options.date, added, before.style)


def _made(selection: Selection, options: Options) -> Report:
    """Build the report, with its progress on stderr if that is a terminal."""
    from dashboard.report import build

    with _outputs.progress("Report", _STEPS) as bar:

        def tell(step: Progress) -> None:
            bar.label = step.what
            bar.update(int(step.share * _STEPS) - bar.pos)

        return build(selection, options, progress=tell)
