"""Models have stable looks when others come and go, and no two shown look equal."""

from __future__ import annotations

import base64
import itertools
import re

import pytest

from calib_core import CALIBRATORS, Recipe
from calib_core.palette import style
from dashboard import session
from dashboard.selection import Selection, Source, model_keys
from dashboard.session.model_looks import FIRST, mark, numbered, order


class Shown:
    def __init__(self, key: str, title: str = "") -> None:
        self.recipe = Recipe("CALIBRATORS", key)
        self.title = title or CALIBRATORS[key].title
        self.is_base = key == "identity"


def looks(*keys: str) -> dict[str, int]:
    return numbered((0, Shown(key)) for key in ("identity", *keys))


def test_those_often_shown_together_keep_their_looks_in_every_company() -> None:
    alone = {key: looks(key)[CALIBRATORS[key].title] for key in FIRST}
    assert len({style(number).colour for number in (0, *alone.values())}) == 7
    for n in range(1, len(FIRST) + 1):
        for keys in itertools.permutations(FIRST, n) if n < 4 else itertools.combinations(FIRST, n):
            found = looks(*keys)
            assert found == {"Original model": 0, **{CALIBRATORS[key].title: alone[key] for key in keys}}


def test_all_calibrators_together_look_different() -> None:
    found = looks(*model_keys())
    assert set(order()) == set(model_keys())
    assert len({style(number) for number in found.values()}) == len(found) == len(model_keys()) + 1
    assert found["Original model"] == 0


def test_up_to_seven_models_have_colours_and_symbols_of_their_own() -> None:
    for keys in itertools.islice(itertools.combinations(model_keys(), 6), 0, 5000, 37):
        seven = [style(number) for number in looks(*keys).values()]
        assert len({look.colour for look in seven}) == len({look.symbol for look in seven}) == 7, keys


def test_models_of_a_second_file_do_not_change_those_of_the_first() -> None:
    first = [(0, Shown("identity", "a")), (0, Shown("temperature", "a, scaled"))]
    second = [(1, Shown("identity", "b")), (1, Shown("temperature", "b, scaled"))]
    alone, both = numbered(first), numbered([*second, *first])
    assert {title: both[title] for title in alone} == alone
    assert len({style(number).colour for number in both.values()}) == 4


def test_a_scene_has_the_looks_of_its_models_in_their_order() -> None:
    ticked = tuple(Recipe("CALIBRATORS", key) for key in ("vector", "temperature"))
    scene = session.scene_of(Selection(source=Source(data="demo:wine-logistic"), calibrators=ticked))
    assert scene.looks == {"Original model": 0, "Vector scaling": 2, "Temperature scaling": 1}


@pytest.mark.parametrize("number", range(8))
def test_a_mark_in_text_has_the_models_colour_and_lies_within_its_picture(number: int) -> None:
    svg = base64.b64decode(mark(number).partition("base64,")[2].rstrip(")")).decode()
    assert style(number).colour in svg
    places = [float(text) for text in re.findall(r"-?\d+\.\d+", svg)]
    assert len(places) >= 8
    assert all(0 <= place <= 16 for place in places)


def test_models_as_they_are_of_further_files_take_the_colours_that_calibrators_take_last() -> None:
    bases = numbered((file, Shown("identity", f"base of {file}")) for file in range(4))
    assert bases == {"base of 0": 0, "base of 1": 6, "base of 2": 5, "base of 3": 4}
