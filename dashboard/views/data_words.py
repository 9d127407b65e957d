"""What the words of a confidence stand for, as a table whose numbers can be changed in place."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from calib_core import InputError
from calib_core.readers import Reading, Table
from calib_core.readers.proposal.answer_words import PHRASES, SOURCES, phrases, stands_for
from calib_core.registry.citations import bibliography
from dashboard.theme import markdown_plain
from dashboard.views.data_trial import Role, amend

MOST = 200
"""Different phrases that are listed at most."""
_STANDS = "stands for ✎"


@dataclass(frozen=True)
class Phrases:
    """The phrases of one reading."""

    role: Role
    table: Table
    reading: Reading

    def draw(self) -> None:
        """Draw the table; a number typed in is tried at once."""
        try:
            frame = self.frame()
        except InputError:
            return  # the sentence stands above
        content = zlib.crc32(repr((self.table.name, self.reading.confidence, self.reading.words)).encode())
        widget = f"data.{self.role}.words.{content:08x}"
        st.caption(
            "What each phrase stands for, which you can change by a double click. " + markdown_plain(SOURCES),
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
        """Each phrase of the file, how many rows say it, and what it stands for: nothing where that must be chosen."""
        counts = phrases(self.table.column(str(self.reading.confidence))).head(MOST)
        known = stands_for(self.reading)
        numbers = [known.get(phrase) for phrase in counts.index]
        return pd.DataFrame(
            {"phrase": counts.index.to_list(), "rows": counts.to_numpy(), _STANDS: pd.Series(numbers, dtype="float64")}
        )

    def changed(self, edits: Mapping[int, Mapping[str, Any]]) -> None:
        """Use the numbers that were typed in; one taken away is that of the library again."""
        frame = self.frame()
        known = {phrase: value for phrase, value in stands_for(self.reading).items() if PHRASES.get(phrase) != value}
        for row, edit in edits.items():
            phrase, value = str(frame["phrase"].iloc[int(row)]), edit.get(_STANDS)
            known.pop(phrase, None)
            if value is not None and float(value) != PHRASES.get(phrase):
                known[phrase] = float(value)
        amend(self.role, words=tuple(f"{phrase}={value:.10g}" for phrase, value in sorted(known.items())))
