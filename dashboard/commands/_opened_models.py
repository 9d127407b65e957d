"""From files and options to a scene, the same that pages are drawn of: files, models, and the rows that are judged."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import click

import calib_core as cc
from calib_core import InputError, Predictions, Recipe
from calib_core.datasets import DEMOS
from calib_core.predictions.plausibility import Doubt, doubts
from calib_core.readers import Finding, Reading, Table, by_severity, examine, file_bytes, limits, unchosen_model
from calib_core.readers.checks.shuffled_labels import SAYS_NOTHING
from calib_core.readers.proposal.long_form import model_names
from calib_core.text import count
from dashboard import session
from dashboard.commands import _failures, _outputs, _shared_options
from dashboard.commands._shared_options import NOTHING, ReadingOptions
from dashboard.selection import Selection, Source
from dashboard.session import BASE, Call, File, Model, Models, Scene, call
from dashboard.session.reading_changes import written_changes

# Streamlit would remark on pages that are never drawn.
logging.getLogger("streamlit").setLevel(logging.ERROR)

STDIN = "standard input"
"""What messages call the file that is read from stdin, where its name is "-"."""
EXAMPLE = "demo:"
"""How the name of an example begins, which every command takes in place of a file's."""
AS_GIVEN = "as given"
"""What a file's only model is called before recalibration."""


# -- files ----------------------------------------------------------------------------------------------------


def opened_file(name: str | os.PathLike[str], given: ReadingOptions = NOTHING, *, joined: bool = True) -> File:
    """The file of a name, read now: a path, "-", a folder or an example; with the labels of another file if given.

    Unless ``joined``, they are added where the file cannot be read without.
    """
    scores = _opened_file(os.fspath(name))
    if given.labels is None or not (joined or scores.proposal is None):
        return scores
    return session.join(scores.key, _bytes_of(given.labels), _title(given.labels), given.key)


def whole_table(path: Path) -> Table:
    """The table of a file, of the files of a folder, or of stdin where its name is "-"."""
    return opened_file(path).table


def _opened_file(name: str) -> File:
    if name.startswith(EXAMPLE):
        if name.removeprefix(EXAMPLE) not in {each.key for each in DEMOS}:
            known = ", ".join(each.key for each in DEMOS)
            raise InputError(f"there is no example data set {name}; available: {known}")
        return session.file(name)
    path = Path(name)
    if path.is_dir():
        return session.hold_folder(path)
    return session.hold(_bytes_of(path), _title(path))


def _bytes_of(path: Path) -> bytes:
    """The bytes of a file, or of stdin where its name is "-"."""
    if str(path) != _outputs.STDIO:
        return file_bytes(path)
    data: bytes = sys.stdin.buffer.read(limits.FILE_BYTES + 1)  # one byte more than is read of a file
    return data


def _title(path: Path) -> str:
    """What messages call a file."""
    return STDIN if str(path) == _outputs.STDIO else path.name


@dataclass(frozen=True, eq=False)
class Opened:
    """One model in a file that was read: where it lay, and its rows, read how and judged on which (``source``)."""

    path: Path
    file: File
    source: Source
    chosen: frozenset[str] = frozenset()

    @property
    def reading(self) -> Reading:
        """How the file is read."""
        return session.reading(self.source.data, self.source.reading)

    @property
    def whole(self) -> Predictions:
        """All its rows; InputError says what is wrong, with the options that settle it."""
        try:
            return session.whole(self.source.data, self.source.reading)
        except InputError as why:
            settled = [_as_options(each) for each in examine(self.file.table, self.reading) if each.change]
            raise InputError(f"{why} {' Or: '.join(settled)}" if settled else str(why)) from why

    @property
    def marked(self) -> bool:
        """Whether a column says which rows are calibration rows."""
        return self.reading.split is not None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What stands out in the file, problems first; and before it that one of several models is read alone."""
        return _findings(self.file.table, self.reading, self.chosen, session.findings(*self._read))

    @property
    def remarks(self) -> list[str]:
        """The same in lines, after the reasons to doubt its labels or scores (``remarks``)."""
        return remarks(self.file.table, doubts(self.whole), self.findings, self.chosen)

    @property
    def among(self) -> str:
        """Which rows are judged, to follow their number; nothing where all are."""
        return f" with {cc.slices.as_slice(self.source.within).title}" if self.source.within else ""

    def of_all(self, judged: Predictions) -> str:
        """How many rows the file has where not all are judged, and how all would be."""
        return of_all(self.source, judged.n_rows, self.whole.n_rows)

    def warn(self) -> None:
        """Write what stands out in the file, and what was assumed, to stderr."""
        _outputs.warn(self.remarks)

    def record(self) -> dict[str, Any]:
        """What identifies the file in a record: name, hash, how it was read, what was found."""
        table, rows = self.file.table, self.whole
        return {
            "name": self.path.name,
            "sha256": self.file.digest,
            "rows": rows.n_rows,
            "classes": rows.n_classes,
            "kind": rows.kind,
            "reading": self.reading.to_json(),
            **({} if (met := table.joined) is None else {"labels": {"name": met.labels, "key": met.key}}),
            "findings": [
                {
                    "severity": found.severity,
                    "code": found.code,
                    "title": found.rule.title,
                    "message": found.message,
                    "remedy": found.rule.remedy,
                    "term": found.rule.term,
                }
                for found in self.findings
            ],
            "doubts": [vars(doubt) for doubt in doubts(rows)],
            "checks": [
                {"title": each.title, "outcome": each.outcome, "why": each.why} for each in session.checks(*self._read)
            ],
            "notes": list(rows.notes),
            **({"where": self.source.within} if self.source.within else {}),
        }

    @property
    def _read(self) -> tuple[str, str]:
        return self.source.data, self.source.reading


def of_all(source: Source, judged: int, every: int) -> str:
    """How many rows a file has where not all are judged, and how all would be; empty where a choice says which are."""
    if judged >= every or source.within or session.reading(source.data, source.reading).split is not None:
        return ""
    return f" of {every:,} (--judge all judges all of them)"


def opened(path: Path, given: ReadingOptions = NOTHING, where: str = "") -> Opened:
    """The only model of a file, read as the file suggests but for what is given; InputError says what is wrong."""
    return _opened(path, opened_file(path, given), given, {}, where)


def opened_models(
    path: Path, column: str | None, given: ReadingOptions = NOTHING, where: str = ""
) -> dict[str, Opened]:
    """Every model of a file by name, over the same questions; where it holds one, or one is chosen, it.

    ``column`` names the model of each row; without it the file's shape may say that it holds several.
    """
    file = opened_file(path, given)
    named: dict[str, Any] = {} if column is None else {"models": column}
    first = session.proposed(file.key, given.fields | named)
    if column is None and (not first.several or "model" in given.fields):
        return {"": _opened(path, file, given, named, where)}
    names = model_names(file.table, first)
    return {name: _opened(path, file, given, named, where, name) for name in names}


def _opened(
    path: Path, file: File, given: ReadingOptions, named: dict[str, Any], where: str, model: str | None = None
) -> Opened:
    how = session.proposed(file.key, given.fields | named)
    how = how if model is None else how.replace(model=model)
    source = Source(file.key, written_changes(file.proposal, how), within=where)
    chosen = frozenset(given.fields) | ({"model"} if model is not None else frozenset())
    found = Opened(path, file, source, chosen)
    assert found.whole  # what is wrong with the file is said before anything is asked of it
    return found


def remarks(table: Table, doubted: Iterable[Doubt], findings: Iterable[Finding], chosen: frozenset[str]) -> list[str]:
    """What stands out, what was assumed and what was left out, one line each with the option that settles it.

    Reasons to doubt labels or scores come first; a finding that says the same adds to them how to mend it.
    """
    worth = [finding for finding in findings if finding.worth_saying(chosen)]
    mending = {finding.code: finding.message.partition(SAYS_NOTHING)[2] for finding in worth}
    doubted = tuple(doubted)
    seen = {doubt.key for doubt in doubted if mending.get(doubt.key)}
    return [f"{table.name}: doubt: {doubt.sentence} {mending.get(doubt.key, '')}".rstrip() for doubt in doubted] + [
        f"{table.name}: {finding.severity}: {finding.message} {_as_options(finding)}".rstrip()
        for finding in worth
        if finding.code not in seen
    ]


def remarks_on_part(table: Table, how: Reading, rows: Predictions, chosen: frozenset[str]) -> list[str]:
    """The same of a file whose first rows alone were read."""
    found = _findings(table, how, chosen, by_severity(cc.readers.checks(table, how)))
    return remarks(table, doubts(rows), found, chosen)


def _findings(table: Table, how: Reading, chosen: frozenset[str], others: Iterable[Finding]) -> tuple[Finding, ...]:
    alone = unchosen_model(table, how, chosen)
    return (*([] if alone is None else [alone]), *others)


_OWN_OPTION = ("label", "event")
"""Fields of the reading that have an option of their own name."""
_STATEMENTS = ("It is ", "The ", "Rows ", "Attempts ", "Labels ", "Predicted ")
"""How the label of a change begins that states something about the file; others say what to do."""


def _as_options(finding: Finding) -> str:
    """What a finding offers, as options of the command line."""
    texts = []
    for name, value in (finding.change or {}).items():
        each = [str(item) for item in value] if isinstance(value, tuple) else [str(value)]
        if name in _OWN_OPTION and len(each) == 1:
            texts.append(f"--{name} {shlex.quote(each[0])}")
            continue
        whole = [",".join(each)] if not any("," in item for item in each) or len(each) == 1 else each
        texts += [f"--read {shlex.quote(f'{name}={item}')}" for item in whole]
    if finding.code == "outcome" and not texts:
        return "If the outcome is another column, give --label COLUMN"
    label, how = finding.change_label or "", " ".join(texts)
    if texts and label.startswith(_STATEMENTS):
        # A button may state what is so; among sentences it would contradict the one before it.
        return f"If {label[0].lower()}{label[1:]}, give {how}"
    return f"{label}: {how}" if texts else ""


_NOT_MARKED = "{} has no column that marks calibration and test rows; leave --rows out"


# -- rows -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _NamedRows(Model):
    """A file's predictions on rows that --rows names, whatever would be held out of them: nothing is fitted."""

    which: str = "all"

    @cached_property
    def predictions(self) -> Call[Predictions]:
        """What it says of these rows."""
        rows: Call[Any] = self.whole
        if self.which != "all":
            rows = session.division(dataclasses.replace(self.source, by="column", within=""))
            rows = rows.part("fit" if self.which == "calibration" else "test")
        return call(cc.slices.part, rows, self.source.within) if self.source.within else rows


def rows_named(opened: Opened, which: str, name: str = AS_GIVEN) -> Model:
    """The model on "all" rows of its file, or on those that a column marks "test" or "calibration"."""
    if which != "all" and not opened.marked:
        raise InputError(_NOT_MARKED.format(opened.file.table.name))
    return _NamedRows(opened.source, BASE, name, which)


def divided(
    models: Mapping[str, Opened],
    judge: str = "auto",
    share: float | None = None,
    folds: int | None = None,
    seed: int | None = None,
) -> dict[str, Opened]:
    """Models whose rows are divided as on the pages, those of all others as the first one's."""
    first: Source | None = None
    found = {}
    for name, model in models.items():
        source = dataclasses.replace(model.source, like=first, within="")
        if first is None:
            given: dict[str, Any] = {"share": share, "folds": folds, "seed": seed}
            given = {name: value for name, value in given.items() if value is not None}
            by = how_divided(judge, share, folds, model.marked)
            first = source = dataclasses.replace(model.source, by=by, **given)
        found[name] = dataclasses.replace(model, source=source)
    return found


def how_divided(judge: str, share: float | None, folds: int | None, marked: bool) -> str:
    """How rows are divided (``Source.by``): a share that is given holds rows out, folds judge all of them."""
    if folds is not None or judge == "all":
        return "folds"
    if judge == "held-out" or share is not None:
        return "column" if marked else "share"
    return "auto"


def scene(
    models: Mapping[str, Opened],
    calibrators: Sequence[Recipe] = (),
    rows: str = "auto",
    **choices: Any,
) -> Scene:
    """The scene of these models, as they are and after calibrators, on the rows that are judged of each.

    ``rows`` names other rows than ``divided`` does; ``choices`` are further fields of the scene. What cannot be made
    is an InputError: a command shows all that it was asked for, or says why not.
    """
    shown: list[Model] = []
    for name, model in models.items():
        if rows != "auto":
            shown.append(rows_named(model, rows, name or AS_GIVEN))
            continue
        shown.append(Model(model.source, BASE, name or AS_GIVEN))
        shown += [Model(model.source, recipe, name) for recipe in calibrators]
    found = Scene(Models(tuple(shown)), **choices)
    for each in shown:
        with _shared_options.of_confidences(each.recipe, found.get(each.base.predictions)):
            found.get(each.predictions)
    return found


def judged_rows(scene: Scene, rows: str = "auto", *, fitted: bool = False) -> str:
    """Which rows are judged, in words; ``fitted``: after calibrators, so that it matters whether they saw them."""
    first = scene.models.shown[0]
    if rows == "auto":
        judged = scene.get(first.division).judged
        return judged if fitted else judged.removesuffix(", cross-fitted")
    number = scene.get(first.predictions).n_rows
    text = f"{count(number)} rows"
    return f"all {text}" if rows == "all" and number == scene.get(first.whole).n_rows else text


# -- pages ----------------------------------------------------------------------------------------------------


def selection(
    file: str,
    *,
    calibrators: Sequence[str] = (),
    tolerance: float | None = None,
    test: Path | None = None,
    others: Sequence[str] = (),
    choices: str = "",
    read: ReadingOptions = NOTHING,
    models_in: str | None = None,
    judge: str = "auto",
    rows: str = "auto",
    where: str = "",
    **numbers: Any,
) -> Selection:
    """The choices of a page that the options make; the first that is not possible ends the command.

    ``rows`` names the rows that are judged, as for an audit; a page judges calibration rows never.
    """
    _shared_options.check_rows(judge, rows)
    numbers |= {"tolerance": tolerance, "where": where or None}
    given = {
        name: value for name, value in numbers.items() if value is not None and not _shared_options.by_default(name)
    }
    share, folds = given.get("share"), given.get("folds")
    _shared_options.check_division(judge, share, folds, rows, test)
    _check_named(rows, calibrators, test)
    found = opened_file(file, read)
    query = dict(parse_qsl(choices)) | {_shared_options.choice(name): str(value) for name, value in given.items()}
    # Keys and recipes as the JSON list a link holds.
    recipes = (text if text.startswith("{") else json.dumps(text) for text in calibrators)
    query |= {"calibrators": f"[{','.join(recipes)}]", "data": found.key}
    if test is not None:
        query["test"] = opened_file(test).key
    fields = read.fields | ({} if models_in is None else {"models": models_in})
    if share is not None or folds is not None or judge != "auto" or rows != "auto":
        marked = found.proposal is not None and session.proposed(found.key, fields).split is not None
        if rows == "test" and not marked:
            raise InputError(_NOT_MARKED.format(found.title))
        judge = {"auto": judge, "all": "all", "test": "held-out"}[rows]
        by = how_divided(judge, share, folds, marked)
        # Not where rows are divided so without a word, so that the command that is printed is the one that was given.
        meant = by != "folds" and "by" not in query and (marked or share not in (None, Source().share))
        if not meant:
            query["by"] = query.get("by", by) if judge == "auto" and folds is None else by
    more: list[str] = []
    if fields or (found.proposal is not None and found.proposal.several):
        query["reading"], *more = _readings(found, fields)
    keys = [opened_file(name, read, joined=False).key for name in others]
    # What was changed in how they are read comes with --choices, by the same keys.
    query.setdefault("others", json.dumps([[found.key, so] for so in more] + [[other, ""] for other in keys]))
    chosen, problems = Selection.from_query(query)
    if problems:
        name, _, why = problems[0].removeprefix("The link's ").partition(" was left out: ")
        _failures.fail(f"{_shared_options.flag(name)}: {why}")
    session.parts(chosen.source)  # what is wrong with the file is said before anything is asked of it
    return chosen


def assumed(source: Source, named: Iterable[str]) -> list[str]:
    """What stands out in a file, and was assumed of it, where the options did not ``name`` it."""
    table, chosen = session.file(source.data).table, frozenset(named)
    if table is None:
        return []
    how, found = session.reading(source.data, source.reading), session.findings(source.data, source.reading)
    return remarks(table, (), _findings(table, how, chosen, found), chosen)


def _check_named(rows: str, calibrators: Sequence[str], test: Path | None) -> None:
    """A usage error where rows that are named are not those of a page."""
    if rows == "calibration":
        raise click.UsageError(
            "a page judges rows that no calibrator was fitted on: give --rows test or all, or use calib audit."
        )
    if rows != "auto" and calibrators:
        raise click.UsageError("--rows does not go with --calibrator: models are judged on the test rows.")
    if rows != "auto" and test is not None:
        raise click.UsageError("--rows does not go with --test: the rows of that file are judged.")


def _readings(found: File, fields: Mapping[str, Any]) -> list[str]:
    """How a file is read otherwise than it suggests, once for each of its models where it holds several."""
    how = session.proposed(found.key, fields)
    names = model_names(found.table, how) if how.several and "model" not in fields else ()
    each = [how.replace(model=name) for name in names] or [how]
    return [written_changes(found.proposal, one_model) for one_model in each]
