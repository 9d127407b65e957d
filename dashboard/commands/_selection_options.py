"""The choices on screen as options of a command: data, calibrators, bins, tolerance, and whatever a link can hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl

import click

from dashboard.commands import _each_model, _outputs, _reading_options, _shared
from dashboard.commands._reading_options import ReadingOptions

if TYPE_CHECKING:  # heavy: imported when the command runs
    from dashboard.selection import Selection
    from dashboard.session import File

_NOTHING = ReadingOptions()
Command = TypeVar("Command", bound=Callable[..., Any])
_FLAGS = {"eps": "tolerance", "calibrators": "calibrator", "others": "other", "reading": "read", "reduction": "notion",
          "within": "where"}  # fmt: skip

_OF_ROWS = (
    click.option("--calibrator", "calibrators", multiple=True, help="Calibrator to be shown too: a key, or a recipe as "
                 "JSON; as often as needed."),
    click.option("--judge", type=click.Choice(["auto", "held-out", "all"]), default="auto",
                 show_default="all rows up to 1,000, half of them beyond",
                 help="Judge held-out rows, or all rows, cross-fitted."),
    click.option("--share", type=float, help="Share of the rows to fit calibrators on (default: 0.5)."),
    click.option("--folds", type=int, help="Judge every row instead, in so many folds, each after maps fitted on the "
                 "others."),
    click.option("--seed", type=int, help="Seed of the split (default: 0)."),
    click.option("--where", "within", help="Judge a slice of the test rows alone: subject=law, age=40..60, two joined "
                 "by &."),
    click.option("--test", type=_shared.FILE, help="File of the test rows; FILE then holds the calibration rows."),
    click.option("--other", "others", multiple=True,
                 help="File of another model on the same rows; as often as needed."),
    click.option("--choices", default="", metavar="QUERY",
                 help="Further choices, written as in a link of the dashboard: reduction=class-wise&zoom=9."),
)  # fmt: skip
_OF_ERRORS = (
    click.option("--bins", type=int, help="Number of bins, 5 to 25 (default: equal width)."),
    click.option("--points", type=int, help="Rows per bin, for --binning points-per-bin."),
    click.option("--binning", help="Where the bins lie; by default auto: one bin a value where a calibrator's outputs "
                 "are discrete, else 15 of equal width."),
    click.option("--counting", type=click.Choice(["answered", "all"]),
                 help="Where a model abstains: tables over the rows all answer, by default, or over all."),
    click.option("--tolerance", type=float,
                 help="Error tolerance of the verdicts (default: 0.02)."),
    click.option("--ratio", type=float,
                 help="Largest ratio of observed to expected events that would not matter, for two classes: 1.25 means "
                 "0.8 to 1.25."),
)  # fmt: skip


def options(function: Command) -> Command:
    """Add the options that say what is looked at."""
    for option in reversed(_OF_ERRORS):
        function = option(function)
    return of_rows(function)


def of_rows(function: Command) -> Command:
    """Add those that say of which models and rows, for what neither bins nor tolerances change."""
    for option in reversed(_OF_ROWS):
        function = option(function)
    return _reading_options.reading_options(_each_model.option(function))


def flag(name: str) -> str:
    """What the option for a choice is called."""
    return f"--{_FLAGS.get(name, name).replace('_', '-')}"


def selection(
    file: str,
    *,
    calibrators: Sequence[str] = (),
    tolerance: float | None = None,
    test: Path | None = None,
    others: Sequence[str] = (),
    choices: str = "",
    read: ReadingOptions = _NOTHING,
    models_in: str | None = None,
    judge: str = "auto",
    **numbers: Any,
) -> Selection:
    """The choices the options make; the first that is not possible ends the command."""
    from calib_core.readers.proposal.long_form import model_names
    from dashboard import session
    from dashboard.selection import Selection, Source
    from dashboard.session.reading_changes import written_changes

    if numbers.get("folds") is not None and (test is not None or numbers.get("share") is not None):
        raise click.UsageError("--folds does not go with --test or --share: every row is judged.")
    if (judge == "all" and numbers.get("share") is not None) or (judge == "held-out" and numbers.get("folds")):
        raise click.UsageError("--judge all goes without --share, --judge held-out without --folds.")
    if judge != "auto" and test is not None:
        raise click.UsageError("--judge does not go with --test: the rows of that file are judged.")
    key = read_file(file, read)
    given = {"eps": tolerance, **numbers}
    query = dict(parse_qsl(choices)) | {name: str(value) for name, value in given.items() if value is not None}
    folded, shared = numbers.get("folds") is not None or judge == "all", numbers.get("share") is not None
    # Keys and recipes as the JSON list a link holds.
    recipes = (text if text.startswith("{") else json.dumps(text) for text in calibrators)
    query |= {"calibrators": f"[{','.join(recipes)}]", "data": key}
    if test is not None:
        query["test"] = read_file(str(test))
    fields = read.fields | ({} if models_in is None else {"models": models_in})
    more = []
    found = session.file(key)
    if folded or shared or judge == "held-out":
        marked = found.proposal is not None and session.proposed(key, fields).split is not None
        by = "folds" if folded else "column" if marked else "share"
        # Not where rows are divided so without a word, so that the command that is printed is the one that was given.
        meant = not folded and "by" not in query and (marked or numbers.get("share") not in (None, Source().share))
        if not meant:
            query["by"] = query.get("by", by) if judge == "auto" and not folded else by
    if fields or (found.proposal is not None and found.proposal.several):
        how = session.proposed(key, fields)
        names = model_names(found.table, how) if how.several and "model" not in fields else ()
        each = [how.replace(model=name) for name in names] or [how]
        query["reading"], *more = (written_changes(found.proposal, one_model) for one_model in each)
    keys = [read_file(name, read, always=False) for name in others]
    # What was changed in how they are read comes with --choices, by the same keys.
    query.setdefault("others", json.dumps([[key, read_so] for read_so in more] + [[other, ""] for other in keys]))
    chosen, problems = Selection.from_query(query)
    if problems:
        name, _, why = problems[0].removeprefix("The link's ").partition(" was left out: ")
        _shared.fail(f"{flag(name)}: {why}")
    session.parts(chosen.source)  # what is wrong with the file is said before anything is asked of it
    return chosen


def read_file(name: str, given: ReadingOptions = _NOTHING, *, always: bool = True) -> str:
    """The key of a file that is read now, or of demo data, with the labels of another file where one is given.

    Unless ``always``, they are joined where the file can not be read without.
    """
    from dashboard import session

    scores = _held(name)
    if given.labels is None or not (always or scores.proposal is None):
        return scores.key
    labels = given.labels
    return session.join(scores.key, _reading_options.bytes_of(labels), _reading_options.name_of(labels), given.key).key


def _held(name: str) -> File:
    from dashboard import session

    if name.startswith("demo:"):
        return session.file(name)
    path = Path(name)
    if path.is_dir():
        return session.hold_folder(path)
    return session.hold(
        _reading_options.bytes_of(path), path.name if name != _outputs.STDIO else _reading_options.STDIN
    )
