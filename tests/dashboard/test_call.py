"""Calls: equal expressions are identical, print themselves as Python that runs, and refuse private names."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import calib_core as cc
from calib_core import InputError, NotAnswerable, Recipe
from dashboard import session
from dashboard.selection import Selection, Source
from dashboard.session import RESULTS, Model, call, python
from dashboard.session.call import public

SOURCE = Source(data="demo:wine-logistic")
ROWS = session.division(SOURCE)


def ran(text: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(text, "copied", "exec"), names)
    return names


def test_a_call_is_what_it_prints() -> None:
    plain, given = (
        call(cc.diagrams.reliability, ROWS.part("test")),
        call(cc.diagrams.reliability, ROWS.part("test"), None),
    )
    assert plain == given
    assert plain.key == given.key
    assert plain.text(lambda part: "x") == "cc.diagrams.reliability(x)"
    other = call(cc.diagrams.reliability, ROWS.part("test"), 7)
    assert plain != other
    assert call(cc.diagrams.reliability, ROWS.part("fit")) != plain


def test_the_same_rows_of_another_file_or_seed_are_another_thing() -> None:
    keys = {
        session.division(Source(data=f"demo:{key}", seed=seed)).key
        for key in ("wine-logistic", "example-1")
        for seed in (0, 1)
    }
    assert len(keys) == 4


def test_a_parameter_of_a_calibrator_tells_models_apart() -> None:
    recipes = [Recipe("CALIBRATORS", "top-label-hb", (("points_per_bin", n),)) for n in (20, 30)]
    one, two = (Model(SOURCE, recipe) for recipe in recipes)
    assert one.fitted != two.fitted
    assert one.division == two.division


def test_only_public_functions_with_their_own_arguments_are_called() -> None:
    def private() -> None: ...

    with pytest.raises(InputError, match="cannot be imported"):
        call(private)
    with pytest.raises(KeyError):
        public("os.system")
    with pytest.raises(KeyError):
        public("study.__doc__")
    with pytest.raises(TypeError):
        call(cc.diagrams.reliability, ROWS.part("test"), colour="red")
    with pytest.raises(TypeError, match="no argument of a call"):
        call(cc.diagrams.reliability, object()).key  # noqa: B018


def test_what_is_used_twice_gets_a_line_of_its_own_and_the_rest_none() -> None:
    models = session.models(Selection(source=SOURCE, calibrators=(Recipe("CALIBRATORS", "temperature"),))).shown
    diagrams = {model.title: call(cc.diagrams.reliability, model.predictions) for model in models}
    text = python(table=call(cc.calls.stacked, diagrams))
    assert text.splitlines()[0] == "import calib_core as cc"
    assert text.count("cc.read_table") == text.count("cc.calls.divide") == text.count("cc.calls.fitted") == 1
    assert "cc.diagrams.reliability(rows.test)" in text
    pd.testing.assert_frame_equal(ran(text)["table"], RESULTS.get(call(cc.calls.stacked, diagrams)), check_exact=True)


def test_two_names_for_one_result_are_both_there() -> None:
    names = ran(python(first=ROWS.part("test"), second=ROWS.part("test")))
    assert names["first"] is names["second"]


@pytest.mark.parametrize(
    ("name", "written"), [("it's.csv", 'cc.read_table("it\'s.csv")'), ("a\\b\n.csv", r"cc.read_table('a\\b\n.csv')")]
)
def test_names_of_files_are_written_so_that_they_are_read_back(name: str, written: str) -> None:
    held = session.hold(b"a,b,label\n0.7,0.3,0\n0.4,0.6,1\n" * 9 + name.encode()[:0], name)
    assert held.python() == written


def test_text_in_a_call_stays_text() -> None:
    wild = 'x")\nimport os\n#'
    text = python(table=call(cc.calls.stacked, {wild: call(cc.diagrams.reliability, ROWS.part("test"))}, wild))
    assert ran(text)["table"].columns[0] == wild
    assert "\nimport os" not in text


def test_a_part_of_a_result_is_not_kept_apart() -> None:
    test = RESULTS.get(ROWS.part("test"))
    assert RESULTS.get(ROWS).test is test
    assert not RESULTS.knows(ROWS.part("test"))


def test_refusals_come_out_of_calls_within_calls() -> None:
    model = Model(Source(data="demo:language-model"), Recipe("CALIBRATORS", "temperature"))
    with pytest.raises(NotAnswerable, match="probabilities of other classes are unknown"):
        RESULTS.get(call(cc.diagrams.reliability, model.predictions))


def test_a_function_that_tells_how_far_it_is_is_listened_to() -> None:
    heard: list[tuple[str, int]] = []
    RESULTS.get(session.division(Source(data="demo:wine-logistic", seed=991)), lambda *told: heard.append(told))
    assert ("divide", 0) in heard


def test_numbers_are_written_to_the_last_digit() -> None:
    """Two tolerances that differ in the fifth digit are two results, and copied code has the number in use."""
    rows = ROWS.part("test")
    ends = (0.012344, 0.01234, 14 / 15)
    near = [call(cc.diagrams.reliability, rows, (0.0, end, 1.0)) for end in ends]
    assert len({each.key for each in near}) == 3
    for each, end in zip(near, ends, strict=True):
        assert repr(end) in each.text(lambda part: "x")
