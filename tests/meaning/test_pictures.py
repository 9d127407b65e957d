"""Pictures use the same tolerances and bins as their tables."""

from __future__ import annotations

import pytest
from compared import data_of
from exhibits_shown import ASKED, cases

from calib_core import NotAnswerable
from dashboard import session
from dashboard.exhibits import EXHIBITS

pytestmark = pytest.mark.law
CHOSEN = {"eps": 0.07, "ratio": 1.7}


def asked(made):
    """Return the options of a call, and of those inside it, as it prints them."""
    return session.python(made=made)


@pytest.mark.parametrize(("key", "name"), list(cases()))
def test_tolerances_that_a_table_is_made_by_are_those_of_its_picture(key, name):
    scene = data_of(name, **CHOSEN).scene
    exhibit = EXHIBITS.make(key, **ASKED.get(key, {}))
    try:
        table, figure = exhibit.table(scene), exhibit.figure(scene)
    except NotAnswerable:
        pytest.skip("not of these data")
    for option, value in CHOSEN.items():
        written = f"{option}={value}"
        if figure is not None and written in asked(table):
            assert written in asked(figure)


def test_there_are_pictures_of_tolerances():
    """Otherwise the rule above could not fail."""
    scene = data_of("risk", **CHOSEN).scene
    figure = asked(EXHIBITS.make("verdict").figure(scene))
    assert all(f"{option}={value}" in figure for option, value in CHOSEN.items())
