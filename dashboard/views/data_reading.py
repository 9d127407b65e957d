"""Meaning of a file: its columns, the names of its classes, and the meaning of its words and phrases."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import pandas as pd
import streamlit as st

from calib_core import InputError
from calib_core.readers import Reading, Table, usual_layout
from calib_core.readers.messages import shown
from calib_core.readers.proposal.answer_words import PHRASES, SOURCES, phrases, stands_for
from calib_core.readers.proposal.long_form import model_names
from calib_core.readers.reading import OF_SUMMARIES, LabelCoding, Layout, Missing, ScoreKind, Weighting
from calib_core.readers.text_encoding import numbers
from calib_core.registry.citations import bibliography
from calib_core.text import count
from dashboard import session, widgets
from dashboard.theme import markdown_plain
from dashboard.views.data_trial import CONTROLS, Role, amend, attempt, chosen_so_far, in_use, trial


@dataclass(frozen=True)
class Mapped:
    """Classes of one reading."""

    role: Role
    key: str
    table: Table
    reading: Reading

    def draw(self) -> None:
        """Draw the table; a typed name is tried at once."""
        try:
            frame, note = self.frame()
        except InputError:
            # The message is above: there is no mapping to show.
            return
        fixed = [name for name in frame.columns if name != "class"]
        content = zlib.crc32(repr((self.key, self.reading.classes, self.reading.label_coding)).encode())
        widget = f"data.{self.role}.classes.{content:08x}"
        st.caption("Classes and their labels. Double-click a class name to change it." + note)
        st.data_editor(
            frame,
            hide_index=True,
            disabled=fixed,
            height=min(36 + 35 * len(frame), 400),
            column_config={"class": st.column_config.TextColumn("class ✎", required=True)},
            key=widget,
            on_change=lambda: self.renamed(st.session_state[widget]["edited_rows"]),
        )

    def frame(self) -> tuple[pd.DataFrame, str]:
        """Return score column, label, class and rows of each class, and a sentence about labels that are no class."""
        counts, unknown, missing = session.label_counts(self.key, self.reading)
        names = self.reading.classes
        columns: dict[str, Any] = {}
        if self.reading.layout == "wide":
            columns["scores"] = _score_names(self.table, self.reading.of_set)
        columns |= {"label": self._labels(), "class": list(names), "rows": list(counts)}
        note = f" {count(unknown)} rows have a label that is not a class." if unknown else ""
        note += f" {count(missing)} rows have no label." if missing else ""
        return pd.DataFrame(columns), note

    def renamed(self, edits: Mapping[int, Mapping[str, Any]]) -> None:
        """Use the typed names."""
        names = list(self.reading.classes)
        for row, edit in edits.items():
            names[int(row)] = str(edit.get("class", names[int(row)]))
        amend(self.role, classes=tuple(names), label_coding=self.reading.label_coding)

    def _labels(self) -> list[str]:
        names, coding = self.reading.classes, self.reading.label_coding
        if coding == "one-hot":
            many = len(self.reading.label) == len(names)
            return list(self.reading.label) if many else [f"{self.reading.label[0]}[:, {j}]" for j in range(len(names))]
        if coding == "names":
            return list(names)
        first = int(coding[0])
        return [str(j + first) for j in range(len(names))]


def _score_names(table: Table, reading: Reading) -> list[str]:
    k = len(reading.classes)
    if len(reading.scores) == k:
        return list(reading.scores)
    name = reading.scores[0]
    if name not in table.matrices and k != 2:
        # Only a link can contain this; the reason why such columns cannot be read is above.
        raise InputError(f"{table.name} has {k} classes and {len(reading.scores)} score columns; choose one per class")
    if name not in table.matrices:
        return [f"1 − {name}", name]
    return [f"{name}[:, {j}]" for j in range(k)]


MOST = 200
"""Maximum number of different phrases listed."""
_STANDS = "means ✎"


@dataclass(frozen=True)
class Phrases:
    """Phrases of one reading."""

    role: Role
    table: Table
    reading: Reading

    def draw(self) -> None:
        """Draw the table; a typed number is tried at once."""
        try:
            frame = self.frame()
        except InputError:
            return  # the message is above
        content = zlib.crc32(repr((self.table.name, self.reading.confidence, self.reading.words)).encode())
        widget = f"data.{self.role}.words.{content:08x}"
        st.caption(
            "The probability of each phrase. Double-click to change it. " + markdown_plain(SOURCES),
            help="\n\n".join(map(markdown_plain, bibliography([SOURCES]))),
        )
        st.data_editor(
            frame,
            hide_index=True,
            disabled=["phrase", "rows"],
            column_config={_STANDS: st.column_config.NumberColumn(min_value=0.0, max_value=1.0, format="percent")},
            key=widget,
            on_change=lambda: self.changed(st.session_state[widget]["edited_rows"]),
        )

    def frame(self) -> pd.DataFrame:
        """Return each phrase of the file, its number of rows, and its meaning; empty if that must be chosen."""
        counts = phrases(self.table.column(str(self.reading.confidence))).head(MOST)
        known = stands_for(self.reading)
        numbers = [known.get(phrase) for phrase in counts.index]
        return pd.DataFrame(
            {"phrase": counts.index.to_list(), "rows": counts.to_numpy(), _STANDS: pd.Series(numbers, dtype="float64")}
        )

    def changed(self, edits: Mapping[int, Mapping[str, Any]]) -> None:
        """Use the typed numbers; a removed one returns to the library's."""
        frame = self.frame()
        known = {phrase: value for phrase, value in stands_for(self.reading).items() if PHRASES.get(phrase) != value}
        for row, edit in edits.items():
            phrase, value = str(frame["phrase"].iloc[int(row)]), edit.get(_STANDS)
            known.pop(phrase, None)
            if value is not None and float(value) != PHRASES.get(phrase):
                known[phrase] = float(value)
        amend(self.role, words=tuple(f"{phrase}={value:.10g}" for phrase, value in sorted(known.items())))


LISTED = 50
"""Maximum number of columns chosen individually; more are chosen as a range."""

_NONE = ""

_WORDS = {
    "wide": "One score per class",
    "top-label": "Confidence, predicted class and label",
    "confidence": "Confidence and whether it was right",
    "samples": "Several sampled answers per question, and its label",
    "summary": "The counts, of all rows",
    "kept-rows": "The sampled rows",
    "probabilities": "Probabilities",
    "logits": "Logits",
    "log-probabilities": "Log-probabilities",
    "percentages": "Percentages",
    "words": "Words, such as very likely",
    "0-based": "Numbers counted from 0",
    "1-based": "Numbers counted from 1",
    "names": "Names of classes",
    "one-hot": "One column per class",
    "error": "Stop and name the place",
    "exclude": "Leave their rows out",
    "copies": "Numbers of identical rows",
    "sampling": "Sampling weights",
}


def draw(role: Role) -> None:
    """Draw the controls of the inspected reading; a valid change is used at once, any other stays on trial."""
    candidate = trial(role)
    key = candidate.key if candidate else in_use(role)[0]
    panel = _Panel(role, key, session.file(key).table, _reading(role), chosen_so_far(role))
    if panel.value("layout") in OF_SUMMARIES:
        panel.choice("layout", "Part of the summary", OF_SUMMARIES)
        st.caption("This file contains counts written by `calib summarise`; it has no columns to choose.")
        return
    left, right = st.columns(2)
    with left:
        panel.choice("layout", "Layout", [layout for layout in get_args(Layout) if layout not in OF_SUMMARIES])
        panel.scores()
        panel.columns()
        panel.label_columns()
        panel.choice("missing", "Missing values", get_args(Missing))
    with right:
        if panel.value("layout") != "samples":
            wide = panel.value("layout") == "wide"
            panel.choice("kind", "Kind of scores", [k for k in get_args(ScoreKind) if not (wide and k == "words")])
            if panel.reading is not None and panel.reading.kind == "words":
                Phrases(role, panel.table, panel.reading).draw()
            panel.coding()
        panel.column("split", "Split column", optional=True)
        panel.weights()
        panel.column("group", "Group of a row (patient, question, author)", optional=True)
        panel.models()
    panel.metadata()
    if panel.reading is not None and panel.reading.layout in ("wide", "top-label"):
        Mapped(role, key, panel.table, panel.reading).draw()
    st.button(
        "Back to the proposed reading",
        key=f"data.{role}.propose",
        disabled=not panel.chosen,
        on_click=lambda: attempt(role, key, {}),
    )


def _reading(role: Role) -> Reading | None:
    candidate = trial(role)
    if candidate is not None:
        return candidate.reading
    try:
        return session.reading(*in_use(role))
    except InputError:
        return None


@dataclass(frozen=True)
class _Panel:
    """Fields of one reading as controls; without a reading, of the choices so far."""

    role: Role
    key: str
    table: Table
    reading: Reading | None
    chosen: Mapping[str, Any]

    def value(self, name: str) -> Any:
        """Return the field as chosen, otherwise as in the reading."""
        if name in self.chosen:
            return self.chosen[name]
        if name == "layout" and self.reading is None:
            return usual_layout(self.table)
        default = Reading.__dataclass_fields__[name].default
        return getattr(self.reading, name, default)

    def choice(self, name: str, label: str, options: Sequence[str]) -> None:
        """Draw a choice among a few words."""
        st.selectbox(label, options, format_func=_WORDS.__getitem__, **self._tied(name, self.value(name)))

    def column(self, name: str, label: str, *, optional: bool = False) -> None:
        """Draw the choice of one column of the table, or none."""
        value = self.value(name)
        names = self._names(value)
        st.selectbox(
            label,
            (_NONE, *names) if optional else names,
            # Without a value there is no fallback: the field stays empty.
            index=0 if optional or value else None,
            format_func=lambda option: "none" if option == _NONE else shown(option),
            **self._tied(name, value or (_NONE if optional else None), lambda new: new or None),
        )

    def weights(self) -> None:
        """Draw the choice of the column of weights, and of the meaning of whole numbers in it."""
        self.column("weights", "Weights", optional=True)
        if self.value("weights") is None:
            return
        options, weighting = get_args(Weighting), self.value("weighting")
        st.selectbox(
            "Weights that are whole numbers",
            options,
            index=options.index(weighting) if weighting else None,
            format_func=_WORDS.__getitem__,
            placeholder="Not chosen: numbers of identical rows",
            **self._tied("weighting", weighting),
        )

    def scores(self) -> None:
        """Draw the choice of score columns: individually, or a range if there are many."""
        if self.value("layout") != "wide":
            return
        scores = tuple(self.value("scores"))
        numeric = [name for name in self._all if _numeric(self.table, name)]
        options = tuple(dict.fromkeys((*numeric, *scores)))
        if len(options) <= LISTED:
            self._several("scores", CONTROLS["scores"], options, scores)
            self._side_by_side(scores)
            return
        first, last = (scores[0], scores[-1]) if scores else (options[0], options[0])
        a, b = st.columns(2)
        with a:
            self._end("first", "Scores from", options, first, lambda new: (new, last))
        with b:
            self._end("last", "to", options, last, lambda new: (first, new))
        st.caption(f"{count(len(scores))} columns of scores." if len(scores) > 1 else "One matrix of scores.")

    def _side_by_side(self, scores: tuple[str, ...]) -> None:
        """Draw the choice of one model per score column."""
        if len(scores) > 1:
            st.toggle(
                CONTROLS["score_sets"],
                **self._tied("score_sets", bool(self.value("score_sets")), lambda on: scores if on else ()),
            )

    def columns(self) -> None:
        """Draw the choice of the single columns that the layout needs."""
        layout = self.value("layout")
        if layout in ("top-label", "confidence"):
            self.column("confidence", CONTROLS["confidence"])
        if layout == "top-label":
            self.column("predicted", CONTROLS["predicted"])
        if layout == "samples":
            self.questions()
            self.column("predicted", "Answer of a sample")
        if layout == "confidence":
            self.column("correct", CONTROLS["correct"])

    def questions(self) -> None:
        """Draw the choice of the columns that identify rows of one question."""
        chosen = tuple(self.value("question"))
        self._several("question", CONTROLS["question"], self._names(*chosen), chosen)

    def models(self) -> None:
        """Draw the choices of the column with each row's model, of the first model, and of how rows are joined."""
        self.column("models", "This column names the model", optional=True)
        if self.reading is None or not self.reading.several:
            return
        try:
            names = model_names(self.table, self.reading)
        except InputError:
            return  # the message is above
        first = self.reading.model
        st.selectbox(
            "Model shown first",
            names,
            index=names.index(first) if first in names else None,
            format_func=shown,
            **self._tied("model", first),
        )
        if self.reading.models is not None and self.value("layout") != "samples":
            self.questions()

    def coding(self) -> None:
        """Draw the choice of how labels name classes."""
        if self.value("layout") != "confidence":
            self.choice("label_coding", "Labels are", get_args(LabelCoding))

    def label_columns(self) -> None:
        """Draw the choice of the label column or columns."""
        if self.value("layout") == "confidence":
            return
        labels, coding = tuple(self.value("label")), self.value("label_coding")
        options = self._names(*labels)
        if coding == "one-hot" and len(options) <= LISTED:
            self._several("label", "Label columns, in the order of the classes", options, labels)
        elif len(labels) > 1:
            st.caption(
                f"{count(len(labels))} label columns: {markdown_plain(labels[0])} to {markdown_plain(labels[-1])}."
            )
        else:
            st.selectbox(
                CONTROLS["label"],
                options,
                index=0 if labels else None,
                format_func=shown,
                **self._tied("label", labels[0] if labels else None, lambda new: (new,)),
            )

    def metadata(self) -> None:
        """Draw the choice of metadata columns."""
        carried = tuple(self.value("metadata"))
        used = set(self.reading.used) - {self.reading.split, self.reading.group} if self.reading else set()
        free = [name for name in self.table.columns if name not in used]
        options = tuple(dict.fromkeys((*free, *carried)))
        if not options:
            return
        if len(options) <= LISTED:
            self._several("metadata", "Metadata columns, to look rows up", options, carried)
            return
        st.toggle(
            f"Include {count(len(carried) or len(options))} other columns, to look rows up",
            **self._tied("metadata", bool(carried), lambda on: options[:100] if on else ()),
        )

    # -- parts -------------------------------------------------------------------------------------------------

    @property
    def _all(self) -> tuple[str, ...]:
        return (*self.table.matrices, *self.table.columns)

    def _names(self, *also: str | None) -> tuple[str, ...]:
        """Return the columns without scores, and those in use."""
        scores = set(self.value("scores")) if self.value("layout") == "wide" else set()
        free = [name for name in self._all if name not in scores]
        return tuple(dict.fromkeys((*free, *(name for name in also if name is not None))))

    def _several(self, name: str, label: str, options: Sequence[str], value: tuple[str, ...]) -> None:
        st.multiselect(label, options, format_func=shown, **self._tied(name, list(value), tuple))

    def _end(self, end: str, label: str, options: tuple[str, ...], value: str, pair: Any) -> None:
        def scores(new: str) -> tuple[str, ...]:
            low, high = sorted(options.index(name) for name in pair(new))
            return options[low : high + 1]

        st.selectbox(label, options, format_func=shown, **self._tied("scores", value, scores, part=end))

    def _tied(self, name: str, value: Any, convert: Any = None, part: str = "") -> dict[str, Any]:
        def changed(new: Any) -> None:
            if new is None:
                return
            amend(self.role, **{name: new if convert is None else convert(new)})

        return widgets.tied(f"data.{self.role}.{name}{part}", value, changed)


def _numeric(table: Table, name: str) -> bool:
    array = table.matrices[name] if name in table.matrices else table.column(name)
    if array.dtype == object:
        # A numeric column with a few words in it can be intended: the message then lists their positions.
        return bool(np.mean(~np.isnan(numbers(array[:200]))) >= 0.5)
    return array.dtype.kind in "iuf"
