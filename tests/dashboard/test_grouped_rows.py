"""Grouped rows on screen: chosen where the file is read, not divided, and mentioned next to the numbers."""

from __future__ import annotations

import pytest

from calib_core.diagrams import local_accuracy
from dashboard import session
from dashboard.selection import Selection, Source
from tests.dashboard.test_views import opened

PATIENTS = Source(data="demo:patients", reading='{"group":"patient"}')


def said(app):
    written = (element.value for kind in (app.markdown, app.caption) for element in kind)
    return " ".join(written).replace("\\", "")


def test_the_group_is_chosen_where_the_file_is_read_and_said_beside_the_rows():
    app = opened(Selection(source=PATIENTS, view="data"))
    (chosen,) = [box for box in app.selectbox if box.label.startswith("Group of a row")]
    assert chosen.value == "patient"
    assert "each group (patient) on one side" in said(app)
    assert "test rows in 150 groups (patient)" in said(app)


def test_the_first_answer_counts_rows_in_groups():
    rows = session.parts(PATIENTS).test
    answer = local_accuracy(rows).answer(0.9)
    alone = local_accuracy(rows.replace(groups=None)).answer(0.9)
    assert answer.high - answer.low > alone.high - alone.low
    assert "in groups (patient)" in answer.basis
    app = opened(Selection(source=PATIENTS, view="overview", confidence=0.9))
    assert "in groups (patient)" in said(app)


@pytest.mark.parametrize("view", ["estimators", "tests", "classes"])
def test_views_of_grouped_rows_open_and_say_what_is_not_answered(view):
    assert "requires independent rows" in said(opened(Selection(source=PATIENTS, view=view)))
