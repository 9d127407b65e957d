"""Trial files and readings: tried out next to the current data, and used once they have no problem."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import streamlit as st

from calib_core import InputError
from calib_core.readers import Finding, Reading
from calib_core.readers.proposal.long_form import model_names
from dashboard import session, widgets
from dashboard.selection import MOST_OTHERS, NOWHERE, Source
from dashboard.session.reading_changes import differences, written_changes

Role = Literal["data", "test", "more"]
"""Current file, file of its test rows, or another model's file to compare with it."""

_FOLLOWERS: dict[str, tuple[str, ...]] = {
    "layout": (
        "kind",
        "scores",
        "label",
        "label_coding",
        "classes",
        "confidence",
        "predicted",
        "correct",
        "question",
        "score_sets",
        "model",
    ),
    "scores": ("label_coding", "classes", "score_sets", "model"),
    "score_sets": ("label_coding", "classes", "model", "models", "question"),
    "label": ("label_coding", "classes"),
    "label_coding": ("classes",),
    "predicted": ("label_coding", "classes"),
    "models": ("model", "question", "score_sets"),
    "weights": ("weighting",),
}
"""Fields that lose their meaning when another field changes."""

CONTROLS = {
    "label": "Label column",
    "scores": "Score columns, in the order of the classes",
    "score_sets": "Each of these columns belongs to another model",
    "confidence": "Confidence",
    "predicted": "Predicted class",
    "correct": "Whether it was right",
    "question": "Columns that identify a question",
}
"""Titles of the controls for columns."""


_WISH = "calib.data.wish"


@dataclass(frozen=True)
class Trial:
    """Trial of a file, or of another reading of one, that is not in use.

    - ``chosen`` are the fields of the reading that the user chose.
    - ``reading`` is the resulting reading, None if it failed.
    - ``reason`` is why it cannot be read, or empty if a finding is the only obstacle.
    """

    key: str
    chosen: Mapping[str, Any]
    reading: Reading | None
    reason: str = ""

    @property
    def changed(self) -> str:
        """Return the reading as it would be written in the selection."""
        return "" if self.reading is None else written_changes(session.file(self.key).proposal, self.reading)


def keep_wish(view: str) -> None:
    """Store the view that the user opened before there were data; an empty name clears it."""
    st.session_state[_WISH] = view


def destination() -> str:
    """Return the view that new data open: the one opened before there were data, otherwise the overview."""
    return str(st.session_state.get(_WISH) or "overview")


def trial(role: Role) -> Trial | None:
    """Return the trial, if there is one."""
    candidate: Trial | None = st.session_state.get(_slot(role))
    if candidate is None:
        return None
    try:
        session.file(candidate.key)
    except InputError:
        drop(role)
        return None
    return candidate


def drop(role: Role) -> None:
    """Discard the trial."""
    st.session_state.pop(_slot(role), None)


def in_use(role: Role) -> tuple[str, str]:
    """Return the key and the changed reading of the current file."""
    source = widgets.selection().source
    files = {"data": (source.data, source.reading), "test": (source.test, source.test_reading), "more": ("", "")}
    return files[role]


def looked_at(role: Role) -> str:
    """Return the key of the trial file, otherwise of the current file."""
    candidate = trial(role)
    return candidate.key if candidate else in_use(role)[0]


def chosen_so_far(role: Role) -> Mapping[str, Any]:
    """Return the fields in which the inspected reading differs from the proposal."""
    candidate = trial(role)
    if candidate is not None:
        return candidate.chosen
    key, changed = in_use(role)
    try:
        return differences(session.file(key).proposal, session.reading(key, changed))
    except InputError:
        return {}


def choose(role: Role, key: str) -> None:
    """Use a file with its proposed reading, or start a trial."""
    say(role, "")
    if key == in_use(role)[0]:
        # A link named it, or it is chosen again: its chosen reading stays.
        drop(role)
        return
    attempt(role, key, {})


def amend(role: Role, **changes: Any) -> None:
    """Change fields of the inspected reading; fields that depend on their old values are proposed again."""
    attempt(role, looked_at(role), amended(chosen_so_far(role), changes))


def amended(chosen: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chosen fields after changes, without those that depend on the changed ones.

    Warnings were accepted about the earlier reading, so that a change of another field forgets them.
    """
    followers = {name for changed in changes for name in _FOLLOWERS.get(changed, ())} | {"accepted"}
    return {**{name: value for name, value in chosen.items() if name not in followers}, **changes}


def attempt(role: Role, key: str, chosen: Mapping[str, Any], *, accepted: bool = False) -> None:
    """Read a file this way; use it if it has no problem, or if problems are accepted."""
    reading = None
    try:
        reading = session.proposed(key, chosen)
        each = _one_a_model(role, key, reading)
        reading = each[0]
        changed, *more = (written_changes(session.file(key).proposal, of_model) for of_model in each)
        source = _source(role, key, changed)
        if not accepted and any(f.severity == "problem" for f in found(role, key, changed)):
            # Computed now, so that the message exists if it cannot be read at all.
            session.whole(key, changed)
            raise _Problem
        _check(role, source)
        for beside in more:
            _check("more", Source(key, beside, like=source.like or source))
    except InputError as why:
        st.session_state[_slot(role)] = Trial(key, dict(chosen), reading, _with_controls(why))
        return
    drop(role)
    _take(source, tuple((key, beside) for beside in more))


def _with_controls(why: InputError) -> str:
    """Return the message with the titles of controls in place of arguments of functions."""
    titles = [f"“{CONTROLS[name]}”" for name in why.reading if name in CONTROLS]
    return str(why).replace(why.advice, f"use the control {', '.join(titles)}") if titles else str(why)


def found(role: Role, key: str, changed: str) -> tuple[Finding, ...]:
    """Return the findings about a file, with the problems of using it in this role."""
    same = role == "test" and key == widgets.selection().source.data
    return ((SAME_FILE,) if same else ()) + session.findings(key, changed)


def say(role: Role, sentence: str) -> None:
    """Store a message about the last file that could not be read; an empty one clears it."""
    st.session_state[f"calib.data.sentence.{role}"] = sentence


def sentence(role: Role) -> str:
    """Return the stored message."""
    return str(st.session_state.get(f"calib.data.sentence.{role}", ""))


SAME_FILE = Finding(
    "problem",
    "same-file",
    "The test file is also the calibration file. On the rows it was fitted on, a calibrator looks better than it "
    "is. Choose another test file, or split this one.",
)


class _Problem(InputError):
    """Signal for a readable file with a problem that the user has not settled."""

    def __str__(self) -> str:
        return ""


def _slot(role: Role) -> str:
    return f"calib.data.trial.{role}"


def _source(role: Role, key: str, changed: str) -> Source:
    """Return the source of rows with a file in a role; another data file starts with a plain split."""
    old = widgets.selection().source
    if role == "test":
        return dataclasses.replace(old, test=key, test_reading=changed)
    if role == "more":
        return Source(key, changed, like=old)
    if key == old.data:
        # A slice of the rows of all models may have no rows of one model.
        within = old.within if _models_by(key, changed) == _models_by(key, old.reading) else ""
        return dataclasses.replace(old, reading=changed, within=within)
    return _split(Source(key, changed, share=old.share, seed=old.seed))


def _split(source: Source) -> Source:
    """Return a random split if the values of the split column do not identify the parts."""
    if session.split_by(source) in ("share", ""):
        return source
    session.whole(source.data, source.reading)
    try:
        session.parts(source)
    except InputError:
        return dataclasses.replace(source, by="share")
    return source


def _check(role: Role, source: Source) -> None:
    """Check that the file can be read, and that a second file has the same classes, or the same rows.

    The reverse is not checked: if both files need a change, one of them has to come first.
    """
    session.whole(source.data, source.reading)
    if role != "data":
        session.parts(source)


def _one_a_model(role: Role, key: str, reading: Reading) -> tuple[Reading, ...]:
    """Return one reading per model if a column names them: of the models shown, with the reading's first, or of all."""
    if not reading.several or role == "test" or (role == "more" and reading.model):
        return (reading,)
    readings = widgets.selection().readings
    shown = (
        [str(session.reading(*each).model) for each in readings if _same_models(each, key, reading.models_by)]
        if role == "data"
        else []
    )
    names = dict.fromkeys(
        (*([reading.model] if reading.model else []), *(shown or model_names(session.file(key).table, reading)))
    )
    beside = len(readings) if role == "more" else len(readings) - max(len(shown), 1)
    if len(names) + beside > MOST_OTHERS + 1:
        return (reading,)  # more than can be shown: one is chosen, or the message requests a choice
    return tuple(reading.replace(model=name) for name in names)


def _same_models(read: tuple[str, str], key: str, by: tuple[str, ...]) -> bool:
    return read[0] == key and _models_by(*read) == by


def _models_by(key: str, changed: str) -> tuple[str, ...]:
    """Return the columns that identify models as a file is read; empty if there are none, or it cannot be read so."""
    try:
        return session.reading(key, changed).models_by
    except InputError:
        return ()


def _take(source: Source, more: tuple[tuple[str, str], ...]) -> None:
    selection = widgets.selection()
    if source.like is not None:
        widgets.change(others=(*selection.others, (source.data, source.reading), *more))
        return
    nothing: dict[str, Any] = {**NOWHERE, "three": ""}
    if source.data != selection.source.data:  # questions about other data
        nothing |= {"confidence": None, "risk": None}
    key, now = selection.source.data, _models_by(selection.source.data, selection.source.reading)
    kept = [each for each in selection.others if not now or not _same_models(each, key, now)]
    # For other data, or for models previously read as one, show the answer first.
    first = {} if source.data == key and (now or not more) else {"view": destination()}
    others = (*more, *(kept if source.data == key else ()))
    widgets.change(**vars(source), **nothing, **first, others=others)
    widgets.change_exhibit(widgets.selection().exhibit("class-panels").without("page", "search"))
