"""Every column of every exhibit is declared: its name, its unit, and its meaning."""

from __future__ import annotations

import re

import pytest
from compared import TWINS, data_of
from exhibits_shown import ASKED, DATA, OWN, cases, frame_of

from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.columns import COMMON

pytestmark = pytest.mark.law
OF_THE_FILE = {"site", "age"}
"""Columns of the file itself, which cannot be declared here."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("key", "name"), list(cases()))
def test_every_column_is_declared(key, name):
    data = data_of(name)
    if (frame := frame_of(data, key)) is None:
        pytest.skip("not of these data")
    exhibit = EXHIBITS.make(key, **ASKED.get(key, {}))
    declared = exhibit.declared(frame)
    assert [each.name for each in declared] == list(frame.columns)
    missing = [each.name for each in declared if not each.meaning and each.name not in OF_THE_FILE]
    assert missing == []
    printed = {heading for column in exhibit.columns(frame) for heading in column.headings().values()}
    assert printed <= {each.heading for each in declared}
    assert all(each.unit for each in declared)
    # Otherwise an interval would print one of its ends twice.
    assert all(len(set(column.made_of)) == len(column.made_of) for column in exhibit.columns(frame))


def test_declarations_are_lines_and_none_is_of_a_column_that_is_nowhere():
    seen = {}
    for key in TWINS:
        for name in OWN.get(key, DATA):
            frame = frame_of(data_of(name), key)
            seen.setdefault(key, set()).update(() if frame is None else frame.columns)
    every = set().union(*seen.values())
    assert [name for name in COMMON if not any(fits(name, column) for column in every)] == []
    for key, columns in seen.items():
        for name, text in EXHIBITS[key].factory.meanings.items():
            assert "\n" not in text
            assert 3 <= len(text) <= 120, (key, name, text)
            assert not text.endswith("."), (key, name)
            elsewhere = name in ELSEWHERE.get(key, ()) or key in SHARED
            assert elsewhere or any(fits(name, column) for column in columns), (key, name)


def fits(pattern, column):
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".+"), column) is not None or any(
        column == f"{pattern}_{end}" for end in ("low", "high")
    )


SHARED = {
    "slices",
    "slice-columns",
    "slice-scan",
    "findings",
    "classes",
    "class-errors",
    "class-kernel",
    "kernel-curve",
}
"""Exhibits that share declarations with others, or have some columns only for grouped rows."""
ELSEWHERE = {
    "class-panels": ("eps", "share", "plot", "score", "curve", "density"),
    "trade": ("upper", "plug_in", "bins"),
    "binary-map": ("lower", "upper"),
    "over-time": ("groups",),
}
"""Columns that exist if another option is chosen, or for rows in groups."""
