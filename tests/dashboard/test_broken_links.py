"""Broken links: the page opens, reports in a sentence what it left out, and uses the rest of the link."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from calib_core.datasets import DEMOS
from dashboard.selection import Selection
from dashboard.views import VIEWS

APP = Path(__file__).parents[2] / "dashboard" / "app.py"
DEMO = f"demo:{DEMOS[0].key}"
NESTED = json.dumps([{"key": "ts+" * 900 + "temperature"}])
BROKEN = (
    {"view": "data", "reading": '{"scores":["x"]}'},
    {"view": "reliability", "others": '["ab"]', "calibrators": NESTED},
)
FOUND_BY_CHANCE = 60


def opened(query: dict[str, str]) -> AppTest:
    """Return the page of a link, which must not show an error."""
    app = AppTest.from_file(str(APP), default_timeout=120)
    for name, text in query.items():
        app.query_params[name] = text
    app.run()
    assert not app.exception, (query, [e.value for e in app.exception])
    return app


def told(app: AppTest) -> str:
    """Return the text of all warnings."""
    return " ".join(message.value.replace("\\", "") for message in (*app.warning, *app.error))


@pytest.mark.parametrize("query", BROKEN, ids=lambda query: query["view"])
def test_a_broken_part_is_told_and_the_rest_is_kept(query: dict[str, str]) -> None:
    app = opened(query | {"data": DEMO, "bins": "7"})
    assert told(app)
    chosen, _ = Selection.from_query({name: value[0] for name, value in app.query_params.items()})
    assert (chosen.source.data, chosen.bins) == (DEMO, 7)


def mutant(seed: int) -> dict[str, str]:
    """Return a good link, of any view, with one to three parts damaged."""
    rng = random.Random(seed)
    query = Selection(view=rng.choice(list(VIEWS))).replace(data=DEMO, bins=7, notion="confidence").to_query()
    query |= {"reading": '{"label":["label"]}', "others": "[]", "calibrators": '[{"key":"temperature"}]', "bin": "3"}
    query |= {"between": "[0.2,0.4]", "code": "1", "label": "2", "three": "0,1,2,pool", "within": "label=1"}
    for name in rng.sample(sorted(query), rng.randint(1, 3)):
        query[name] = _damaged(query[name], rng)
    return {name: text for name, text in query.items() if text}


def _damaged(text: str, rng: random.Random) -> str:
    out = list(text)
    for _ in range(rng.choice((1, 1, 2, 5))):
        place = rng.randrange(len(out) + 1)
        kind = rng.randrange(3)
        out[place : place + (kind != 1)] = [] if kind == 0 else [rng.choice('[]{}",:0189-.entf\u00e9\u202e<&=+')]
    return "".join(out) * rng.choice((1, 1, 1, 2))


@pytest.mark.wide
@pytest.mark.parametrize("seed", range(FOUND_BY_CHANCE))
def test_no_damaged_link_ends_in_an_error_page(seed: int) -> None:
    opened(mutant(seed))
