"""Which label and which score column stand for which class, as a table whose names can be changed in place."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from calib_core import InputError
from calib_core.readers import Reading, Table
from calib_core.text import count
from dashboard import session
from dashboard.views.data_trial import Role, amend


@dataclass(frozen=True)
class Mapped:
    """The classes of one reading."""

    role: Role
    key: str
    table: Table
    reading: Reading

    def draw(self) -> None:
        """Draw the table; a name typed in is tried at once."""
        try:
            frame, note = self.frame()
        except InputError:
            # The sentence stands above: there is no mapping to show.
            return
        fixed = [name for name in frame.columns if name != "class"]
        content = zlib.crc32(repr((self.key, self.reading.classes, self.reading.label_coding)).encode())
        widget = f"data.{self.role}.classes.{content:08x}"
        st.caption("Classes and their labels. A class name can be changed by a double click." + note)
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
        """Score column, label, class and rows of each class, and a sentence about labels that are no class."""
        counts, unknown, missing = session.label_counts(self.key, self.reading)
        names = self.reading.classes
        columns: dict[str, Any] = {}
        if self.reading.layout == "wide":
            columns["scores"] = _score_names(self.table, self.reading.of_set)
        columns |= {"label": self._labels(), "class": list(names), "rows": list(counts)}
        note = f" {count(unknown)} rows have a label that is no class." if unknown else ""
        note += f" {count(missing)} rows have no label." if missing else ""
        return pd.DataFrame(columns), note

    def renamed(self, edits: Mapping[int, Mapping[str, Any]]) -> None:
        """Use the names that were typed in."""
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
        # Only a link says so; why such columns cannot be read stands above.
        raise InputError(f"{table.name} has {k} classes and {len(reading.scores)} score columns; choose one a class")
    if name not in table.matrices:
        return [f"1 − {name}", name]
    return [f"{name}[:, {j}]" for j in range(k)]
