"""Choices survive the address bar, and a link cannot request anything that does not exist."""

from __future__ import annotations

import dataclasses
import json
import random
import re
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dashboard.exhibits  # links name its members
from calib_core import CALIBRATORS, Recipe
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.classes import NOTIONS
from dashboard.schemes import AUTO, interval_schemes
from dashboard.selection import PLACES, SHARED, Focus, Selection, Source, model_keys
from dashboard.views import VIEWS


def panels(**options: object) -> Recipe:
    """Return the small diagrams of classes with these options."""
    return EXHIBITS.described("class-panels", **options)


texts = st.text(max_size=20)
sources = st.builds(
    Source,
    data=texts,
    reading=texts,
    test=texts,
    by=st.sampled_from(["auto", "column", "share"]),
    share=st.floats(0.05, 0.95),
    seed=st.integers(0, 2**31 - 1),
)
recipes = st.sampled_from(model_keys()).map(lambda key: Recipe("CALIBRATORS", key))
selections = st.builds(
    Selection,
    source=sources,
    view=st.sampled_from(list(VIEWS)),
    calibrators=st.lists(recipes, unique=True, max_size=4).map(tuple),
    binning=st.sampled_from((AUTO, *interval_schemes())),
    points=st.integers(2, 2000),
    counting=st.sampled_from(("answered", "all")),
    bins=st.integers(5, 25),
    bin=st.none() | st.integers(0, 24),
    model=texts,
    exhibits=st.builds(
        lambda notion, search, page: Selection().with_exhibit(panels(notion=notion, search=search, page=page)).exhibits,
        st.sampled_from(NOTIONS),
        texts,
        st.integers(1, 100),
    ),
)


@given(selections)
def test_every_choice_survives_the_query_string(selection: Selection) -> None:
    assert Selection.from_query(selection.to_query()) == (selection, ())


def test_the_default_picture_needs_only_its_calibrators() -> None:
    """A link without them is one in which nobody chose any."""
    assert Selection().to_query() == {"calibrators": '[{"key":"temperature"}]'}
    assert Selection(calibrators=()).to_query() == {"calibrators": "[]"}


def test_parameters_of_a_calibrator_survive() -> None:
    recipe = CALIBRATORS.described("top-label-hb", points_per_bin=70)
    selection = Selection(calibrators=(recipe,))
    assert Selection.from_query(selection.to_query())[0].calibrators == (recipe,)


def test_a_part_of_a_calibrator_survives() -> None:
    recipe = CALIBRATORS.described("class-wise", binary="isotonic")
    again = Selection.from_query(Selection(calibrators=(recipe,)).to_query())[0].calibrators[0]
    assert again == recipe
    assert again.build().binary.__class__.__name__ == "Isotonic"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("view", "nowhere"),
        ("bins", "4"),
        ("bins", "many"),
        ("share", "1.5"),
        ("share", "nan"),
        ("seed", "-1"),
        ("calibrators", "["),
        ("calibrators", '[{"key": "no-such"}]'),
        ("calibrators", '[{"key": "top-label-hb", "params": {"points_per_bin": -1}}]'),
        ("calibrators", "[" * 100_000),
        ("binning", "edges"),
        ("bin", "x"),
        ("notion", "mood"),
        ("asked", "mood"),
        ("one", "-1"),
    ],
)
def test_what_a_link_cannot_ask_for_is_left_out_and_said(name: str, text: str) -> None:
    selection, problems = Selection.from_query({name: text})
    assert selection == Selection()
    assert len(problems) == 1
    assert problems[0].startswith(f"The link's {name} was left out: ")


def test_unknown_parameters_are_ignored() -> None:
    assert Selection.from_query({"utm_source": "mail"}) == (Selection(), ())


def test_places_have_the_same_names_in_links_records_and_the_browser() -> None:
    text = Path(dashboard.__file__).with_name("chart").joinpath("assets", "records.js").read_text("utf-8")
    (listed,) = re.findall(r"PLACES = (\[.*\]);", text)
    assert tuple(json.loads(listed)) == PLACES
    looked_at = Focus(model="net", notion="confidence", bin=3, between=(0.1, 0.4), code=2, label=1, cell=5)
    chosen = Selection().replace(**vars(looked_at))
    assert chosen.focus == looked_at
    assert Selection.from_query(chosen.to_query()) == (chosen, ())
    assert Focus.chosen({"model": "net", **looked_at.place, "between": None}) == {
        "model": "net", "bin": 3, "between": None, "code": 2, "label": 1, "cell": 5,
    }  # fmt: skip
    assert dict(Focus.chosen({"clear": True})) == dict.fromkeys(PLACES)


def test_links_of_release_0_3_open_as_they_did() -> None:
    for old, new in (({"zoom": "7"}, {"bin": "7"}), ({"reduction": "top-label"}, {"notion": "top-label"})):
        assert Selection.from_query(old) == Selection.from_query(new)


def test_links_of_release_0_2_say_the_notion_and_the_class_looked_at() -> None:
    selection, problems = Selection.from_query({"asked": "class-wise", "one": "3"})
    assert (selection, problems) == (Selection(notion="class-wise", code=3), ())
    assert selection.to_query() == {"notion": "class-wise", "code": "3", **Selection().to_query()}


def test_replace_reaches_into_the_source() -> None:
    changed = Selection().replace(seed=3, bins=7)
    assert changed == dataclasses.replace(Selection(), source=dataclasses.replace(Source(), seed=3), bins=7)


PAGE = Path(__file__).parents[2] / "docs/how-to/three-classes.md"
LINKS = re.findall(r"\[([^\]]+)\]\(http://localhost:8501/\?([^)]+)\)", PAGE.read_text(encoding="utf-8"))


def test_the_page_has_links() -> None:
    assert len(LINKS) >= 11


@pytest.mark.parametrize(("title", "query"), LINKS, ids=[title for title, _ in LINKS])
def test_links_of_the_page_reopen_a_picture(title: str, query: str) -> None:
    selection, problems = Selection.from_query(dict(parse_qsl(query)))
    assert problems == ()
    assert selection.view == "simplex"
    assert selection.calibrators or selection.partitions
    # A link with defaults, or with redundant parts, would come back shorter.
    assert Selection.from_query(selection.to_query()) == (selection, ())


@pytest.mark.parametrize(
    ("name", "longest"),
    [
        ("reading", "x" * 30_000),
        ("view", "x" * 100),
        ("others", json.dumps([[f"sha256:{i}", ""] for i in range(7)])),
        ("calibrators", json.dumps([{"key": key} for key in model_keys()[:12]])),
        ("partitions", json.dumps([{"key": "grid", "params": {"cells": n}} for n in range(2, 8)])),
        ("bins", "25"),
        ("points", "2000"),
        ("seed", str(2**31 - 1)),
        ("share", "0.95"),
        ("bin", "10000"),
        ("code", "1000000"),
        ("eps", "0.5"),
        ("confidence", "1"),
        ("part", "6"),
        ("cell", str(2**63 - 1)),
    ],
    ids=lambda text: text[:12],
)
def test_a_link_reaches_every_limit_and_not_beyond(name: str, longest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.navigation.VIEWS", {})
    assert Selection.from_query({name: longest})[1] == ()
    if longest.startswith("["):
        listed = json.loads(longest)
        beyond = json.dumps([*listed, listed[0]])
    else:
        beyond = (
            longest + "x"
            if longest.startswith("x")
            else repr(json.loads(longest) + (1 if "." not in longest else 0.01))
        )
    assert Selection.from_query({name: beyond}) == (Selection(), Selection.from_query({name: beyond})[1])
    assert len(Selection.from_query({name: beyond})[1]) == 1


def test_an_option_that_exhibits_share_is_chosen_in_all_of_them() -> None:
    chosen = Selection().with_exhibit(Recipe("EXHIBITS", "skills", (("coverage", 0.5),)))
    assert {recipe.key: dict(recipe.params) for recipe in chosen.exhibits} == {
        "selective": {"coverage": 0.5},
        "skills": {"coverage": 0.5},
    }
    assert chosen.with_exhibit(Recipe("EXHIBITS", "selective")) == Selection()
    for name, keys in SHARED.items():
        defaults = {EXHIBITS[key].param(name).default for key in keys}
        assert len(defaults) == 1, name


STRANGE = (
    *(
        '["ab"]',
        '{"scores":["x"]}',
        '[[["a"]]]',
        "[[1,2]]",
        '[["demo:x",{}]]',
        "nan",
        "1e999",
        "null",
        "[]",
        "{}",
        "true",
    ),
    *("[" * 2000, '["' + "ts+" * 900 + '"]', '["' + "ts+" * 900 + 'temperature"]', "\x1b[31m", "\ud800"),
)


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Selection)] + ["data", "reading", "test"])
def test_no_link_ends_in_an_error(name: str) -> None:
    """Each part of a link is used or left out with a sentence; so are 100 seeded strings of its characters."""
    draw = random.Random(name)
    signs = '[]{}",:0123456789abcts+.-en\u00e9\0'
    for text in (*STRANGE, *("".join(draw.choices(signs, k=draw.randrange(40))) for _ in range(100))):
        _, problems = Selection.from_query({name: text})
        assert all(problem.endswith((".", "?")) and "\n" not in problem for problem in problems)
