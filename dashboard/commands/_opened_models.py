"""Scenes from files and options, equal to those of the pages: files, models, and the evaluated rows."""

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
from calib_core.inference.gate_checks import OpenWarning
from calib_core.predictions.plausibility import Doubt, doubts
from calib_core.readers import Finding, Reading, Table, examine, file_bytes, limits
from calib_core.readers.checks.shuffled_labels import SAYS_NOTHING
from calib_core.readers.from_file import blocking_findings, findings_about, unrestated
from calib_core.readers.proposal.column_values import parts_in
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
"""Name of the file read from stdin (argument "-") in messages."""
EXAMPLE = "demo:"
"""Prefix of the names of examples, which every command accepts in place of a file name."""
UNCALIBRATED = BASE.title
"""Name of a file's only model before recalibration."""


# -- files ----------------------------------------------------------------------------------------------------


def opened_file(name: str | os.PathLike[str], given: ReadingOptions = NOTHING, *, joined: bool = True) -> File:
    """Read a file by name: a path, "-", a folder or an example; with the labels of another file if given.

    Unless ``joined``, they are added where the file cannot be read without.
    """
    scores = _opened_file(os.fspath(name))
    if given.labels is None or not (joined or scores.proposal is None):
        return scores
    return session.join(scores.key, _bytes_of(given.labels), _title(given.labels), given.key)


def whole_table(path: Path) -> Table:
    """Return the table of a file, of the files of a folder, or of stdin if the name is "-"."""
    return opened_file(path).table


def is_example(name: str) -> bool:
    """Return True for demo:KEY; InputError if there is no such demo data set."""
    if not name.startswith(EXAMPLE):
        return False
    if name.removeprefix(EXAMPLE) not in {each.key for each in DEMOS}:
        known = ", ".join(each.key for each in DEMOS)
        raise InputError(f"there is no example data set {name}; available: {known}")
    return True


def _opened_file(name: str) -> File:
    if is_example(name):
        return session.file(name)
    path = Path(name)
    if path.is_dir():
        return session.hold_folder(path)
    return session.hold(_bytes_of(path), _title(path))


def _bytes_of(path: Path) -> bytes:
    """Return the bytes of a file, or of stdin if the name is "-"."""
    if str(path) != _outputs.STDIO:
        return file_bytes(path)
    data: bytes = sys.stdin.buffer.read(limits.FILE_BYTES + 1)  # one byte more than is read of a file
    return data


def _title(path: Path) -> str:
    """Return the name of a file in messages."""
    return STDIN if str(path) == _outputs.STDIO else path.name


@dataclass(frozen=True, eq=False)
class Opened:
    """Model of a file that was read: its path, its rows, their reading, and the evaluated rows (``source``)."""

    path: Path
    file: File
    source: Source
    chosen: frozenset[str] = frozenset()

    @property
    def reading(self) -> Reading:
        """Return how the file is read."""
        return session.reading(self.source.data, self.source.reading)

    @property
    def whole(self) -> Predictions:
        """Return all rows of the file; InputError describes the problem and the options that solve it."""
        try:
            return session.whole(self.source.data, self.source.reading)
        except InputError as why:
            found = examine(self.file.table, self.reading)
            # Which class a column of scores is for solves no problem of its values.
            settled = [_as_options(each) for each in found if each.change and each.code != "binary"]
            stated = _failures.in_options(str(why))
            settled = [each for each in settled if each[each.index("--") :] not in stated]
            message = f"{why} {' Or: '.join(settled)}" if settled else str(why)
            raise InputError(message, why.advice, why.reading) from why

    @property
    def marked(self) -> bool:
        """Return True if a column marks calibration rows."""
        return self.reading.split is not None

    @cached_property
    def doubts(self) -> tuple[Doubt, ...]:
        """Return the doubts about all rows of the file."""
        return doubts(self.whole)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the findings about the file, problems first, after a note if only one of several models is read."""
        found = findings_about(self.file.table, self.reading, self.chosen, session.findings(*self._read))
        if self.source.within and any(parts_in(self.file.table, name) for name in self._sliced):
            found = tuple(each for each in found if each.code != "split")  # one part is judged
        return unrestated(found, self.doubts)

    @property
    def _sliced(self) -> list[str]:
        """Return the columns of the slice that the file itself has."""
        columns = cc.slices.as_slice(self.source.within).columns
        return [name for name in columns if name in self.file.table.columns]

    @property
    def open_warnings(self) -> tuple[OpenWarning, ...]:
        """Return the warnings that the options do not settle, with the options that would."""
        return tuple(
            OpenWarning(each.code, each.message, _as_options(self._of_one_model(each)))
            for each in blocking_findings(self.findings, self.chosen)
        )

    def _of_one_model(self, finding: Finding) -> Finding:
        """Return the finding; if its change makes several models of one, with the first of them chosen."""
        change = dict(finding.change or {})
        if finding.code != "models" or "models" not in change or "model" in change:
            return finding
        first = model_names(self.file.table, self.reading.replace(**change))[0]
        return dataclasses.replace(
            finding, change=change | {"model": first}, change_label=f"Evaluate only the model {first}"
        )

    @property
    def remarks(self) -> list[str]:
        """Return the findings as lines, after the doubts about labels or scores (``remarks``)."""
        return remarks(self.file.table, self.doubts, self.findings, self.chosen)

    @property
    def among(self) -> str:
        """Return a suffix that names the evaluated rows, to follow their number; empty if all rows are evaluated."""
        return f" with {cc.slices.as_slice(self.source.within).title}" if self.source.within else ""

    def of_all(self, judged: Predictions) -> str:
        """Return the number of rows in the file, if not all are evaluated, and the option to evaluate all."""
        return of_all(self.source, judged.n_rows, self.whole.n_rows)

    def warn(self, *, open_warnings: bool = True) -> None:
        """Write the findings about the file, and the assumptions about it, to stderr; open warnings only if wanted."""
        if open_warnings:
            _outputs.warn(self.remarks)
            return
        others = [each for each in self.findings if not each.blocks(self.chosen)]
        _outputs.warn(remarks(self.file.table, (), others, self.chosen))

    def record(self) -> dict[str, Any]:
        """Return the identity of the file for a record: name, hash, how it was read, findings."""
        table, rows = self.file.table, self.whole
        return {
            "name": self.path.name,
            "sha256": self.file.digest,
            "rows": rows.n_rows,
            "classes": rows.n_classes,
            "kind": rows.kind,
            "reading": self.reading.to_json(),
            **({} if (met := table.joined) is None else {"labels": {"name": met.labels, "key": met.key}}),
            "findings": list(map(_record_of, self.findings)),
            "doubts": [vars(doubt) for doubt in self.doubts],
            "checks": [
                {"title": each.title, "outcome": each.outcome, "why": each.why} for each in session.checks(*self._read)
            ],
            "notes": list(rows.notes),
            **({"where": self.source.within} if self.source.within else {}),
        }

    @property
    def _read(self) -> tuple[str, str]:
        return self.source.data, self.source.reading


def _record_of(found: Finding) -> dict[str, Any]:
    rule = found.rule
    return {"severity": found.severity, "code": found.code, "title": rule.title, "message": found.message,
            "remedy": rule.remedy, "term": rule.term}  # fmt: skip


def of_all(source: Source, judged: int, every: int) -> str:
    """Return the number of rows in a file if not all are evaluated, and the option for all; empty after a choice."""
    if judged >= every or source.within or session.reading(source.data, source.reading).split is not None:
        return ""
    return f" of {every:,}, drawn at random (the others are kept for recalibration; --judge all judges all rows)"


def opened(path: Path, given: ReadingOptions = NOTHING, where: str = "") -> Opened:
    """Return the only model of a file, read as suggested except for given options; InputError describes a problem."""
    return _opened(path, opened_file(path, given), given, {}, where)


def opened_models(
    path: Path, column: str | None, given: ReadingOptions = NOTHING, where: str = ""
) -> dict[str, Opened]:
    """Return every model of a file by name, over the same questions; the only or the chosen model if there is one.

    ``column`` names the model of each row; without it, the file's shape may show that it contains several.
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
    chosen = (
        frozenset(given.fields) | ({"model"} if model is not None else set()) | ({"key"} if given.by_place else set())
    )
    found = Opened(path, file, source, chosen)
    assert found.whole  # problems of the file are reported before anything is computed
    return found


def remarks(table: Table, doubted: Iterable[Doubt], findings: Iterable[Finding], chosen: frozenset[str]) -> list[str]:
    """Return findings, assumptions and omissions, one line each with the option that settles it.

    Reasons to doubt labels or scores come first; a finding about the same doubt only adds its remedy.
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
    """Return the remarks about a file of which only the first rows were read."""
    return remarks(table, doubts(rows), findings_about(table, how, chosen), chosen)


_OWN_OPTION = ("label", "event")
"""Fields of the reading that have their own option."""
_STATEMENTS = ("It is ", "The ", "Rows ", "Attempts ", "Labels ", "Predicted ")
"""Prefixes of labels of changes that state a fact about the file; other labels are instructions."""


def _as_options(finding: Finding) -> str:
    """Return the changes that a finding offers, as options of the command line."""
    texts = []
    for name, value in (finding.change or {}).items():
        each = [str(item) for item in value] if isinstance(value, tuple) else [str(value)]
        if name in _OWN_OPTION and len(each) == 1:
            texts.append(f"--{name} {shlex.quote(each[0])}")
            continue
        whole = [",".join(each)] if not any("," in item for item in each) or len(each) == 1 else each
        texts += [f"--read {shlex.quote(f'{name}={item}')}" for item in whole]
    if finding.code == "outcome" and not texts:
        return "If the outcome is another column, add --label COLUMN"
    label, how = finding.change_label or "", " ".join(texts)
    if not texts:
        return ""
    # A button may state a fact; among sentences it would contradict the previous one.
    purpose = "If" if label.startswith(_STATEMENTS) else "To"
    label = label.replace("Read as ", "read them as ")
    offer = f"{purpose} {label[0].lower()}{label[1:]}, add {how}"
    # The name of the scores is doubted: the reading may be right, too.
    return offer if finding.code != "called" else f"{offer}. If they are probabilities, add --read kind=probabilities"


_NOT_MARKED = "{} has no column that marks calibration and test rows; leave --rows out"


# -- rows -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _NamedRows(Model):
    """Predictions of a file on the rows named by --rows, without held-out rows: nothing is fitted."""

    which: str = "all"

    @cached_property
    def predictions(self) -> Call[Predictions]:
        """Return the predictions for these rows."""
        rows: Call[Any] = self.whole
        if self.which != "all":
            rows = session.division(dataclasses.replace(self.source, by="column", within=""))
            rows = rows.part("fit" if self.which == "calibration" else "test")
        return call(cc.slices.part, rows, self.source.within) if self.source.within else rows


def rows_named(opened: Opened, which: str, name: str = UNCALIBRATED) -> Model:
    """Return the model on "all" rows of its file, or on those that a column marks "test" or "calibration"."""
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
    """Divide the rows of the models as on the pages; all other models as the first one."""
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
    """Return how rows are divided (``Source.by``): a given share holds rows out, folds evaluate all of them."""
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
    """Return the scene of these models, uncalibrated and after calibrators, on the evaluated rows of each.

    ``rows`` names other rows than ``divided`` does; ``choices`` are further fields of the scene. If a model cannot be
    computed, this raises InputError: a command shows everything requested, or the reason.
    """
    shown: list[Model] = []
    for name, model in models.items():
        if rows != "auto":
            shown.append(rows_named(model, rows, name or UNCALIBRATED))
            continue
        shown.append(Model(model.source, BASE, name or UNCALIBRATED))
        shown += [Model(model.source, recipe, name) for recipe in calibrators]
    found = Scene(Models(tuple(shown)), **choices)
    for each in shown:
        with _shared_options.of_confidences(each.recipe, found.get(each.base.predictions)):
            found.get(each.predictions)
    return found


def every_row(selection: Selection, given: Mapping[str, Any]) -> Selection:
    """Return the choices with all rows judged, unless options or a column divide them."""
    from calib_core import InputError
    from dashboard import session

    chosen = any(not _shared_options.by_default(name) for name in ("judge", "rows", "share", "folds") if name in given)
    if chosen or selection.source.by != "auto" or session.split_by(selection.source) != "share":
        return selection
    every = selection.replace(by="folds")
    try:
        session.parts(every.source)
    except InputError:  # fewer groups of rows than folds
        return selection
    return every


def judged_rows(scene: Scene, rows: str = "auto", *, fitted: bool = False) -> str:
    """Describe the evaluated rows; ``fitted``: after calibrators, which may have used these rows."""
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
    """Return the choices of a page that the options make; the first impossible one ends the command.

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
    # Return keys and recipes as the JSON list that a link contains.
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
        # Omitted for the default division, so that the printed command is the one that was given.
        meant = by != "folds" and "by" not in query and (marked or share not in (None, Source().share))
        if not meant:
            query["by"] = query.get("by", by) if judge == "auto" and folds is None else by
    more: list[str] = []
    if fields or (found.proposal is not None and found.proposal.several):
        query["reading"], *more = _readings(found, fields)
    keys = [opened_file(name, read, joined=False).key for name in others]
    # Changes to how they are read come with --choices, by the same keys.
    query.setdefault("others", json.dumps([[found.key, so] for so in more] + [[other, ""] for other in keys]))
    chosen, faults = Selection.parsed(query)
    for name, why in faults[:1]:
        _failures.fail(_failures.about(_shared_options.flag(name), why))
    session.parts(chosen.source)  # problems of the file are reported before anything is computed
    return chosen


def assumed(source: Source, named: Iterable[str]) -> list[str]:
    """Return the findings and assumptions about a file that the options did not ``name``."""
    chosen = frozenset(named)
    table = session.file(source.data).table
    return [] if table is None else remarks(table, (), _found(source, chosen), chosen)


def assumed_record(source: Source, named: Iterable[str]) -> list[dict[str, Any]]:
    """Return the same findings for a record."""
    chosen = frozenset(named)
    return [_record_of(each) for each in _found(source, chosen) if each.worth_saying(chosen)]


def _found(source: Source, chosen: frozenset[str]) -> tuple[Finding, ...]:
    table = session.file(source.data).table
    if table is None:
        return ()
    found = session.findings(source.data, source.reading)
    return findings_about(table, session.reading(source.data, source.reading), chosen, found)


def _check_named(rows: str, calibrators: Sequence[str], test: Path | None) -> None:
    """Raise a usage error if named rows are not those of a page."""
    if rows == "calibration":
        raise click.UsageError(
            "a page judges rows that no calibrator was fitted on: give --rows test or all, or use calib audit."
        )
    if rows != "auto" and calibrators:
        raise click.UsageError("--rows does not go with --calibrator: models are judged on the test rows.")
    if rows != "auto" and test is not None:
        raise click.UsageError("--rows does not go with --test: the rows of that file are judged.")


def _readings(found: File, fields: Mapping[str, Any]) -> list[str]:
    """Return the changes to how a file is read, once for each of its models if it contains several."""
    how = session.proposed(found.key, fields)
    names = model_names(found.table, how) if how.several and "model" not in fields else ()
    each = [how.replace(model=name) for name in names] or [how]
    return [written_changes(found.proposal, one_model) for one_model in each]
