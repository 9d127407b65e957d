"""Every figure on paper, read from its SVG: no two texts meet, none leaves the canvas, and type has 7 to 9 pt.

Each is drawn for 7 models of four classes, one model of an event, and both widths (``make wide``: for 1, 2, 3 and
7 models of each). A figure that more models do not change is drawn once.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from calib_core import InputError, NotAnswerable, Recipe
from calib_core.figures.paper import LEGEND
from calib_core.fonts import WIDTHS
from dashboard import session
from dashboard.exhibits import EXHIBITS
from dashboard.report import chromium
from dashboard.report.picture import as_json, on_paper
from dashboard.selection import Selection, Source

pytestmark = [
    pytest.mark.law,
    pytest.mark.skipif(not any(map(shutil.which, chromium.NAMES)), reason="figures are drawn by Chromium"),
]
MODELS = {"classes": (7,), "event": (1,)}
EVERY = {"classes": (1, 2, 3, 7), "event": (1, 2, 3, 7)}
CALIBRATORS = {
    "classes": ("temperature", "top-label-hb", "class-wise-hb", "vector", "isotonic-ovr", "confidence"),
    "event": ("intercept", "logistic-recalibration", "isotonic-ovr", "venn-abers", "scaling-binning", "temperature"),
}
LEFT_OUT = {"papers", "paper-tables", "reproduction", "lab-errors"}
"""Figures of the papers and of experiments, which have no models and take long."""

MEASURED = """<!DOCTYPE html><meta charset="utf-8"><body style="margin: 0">
<script type="application/json" id="svgs">%s</script><script>
(async () => {
  const found = {};
  for (const [name, svg] of Object.entries(JSON.parse(document.getElementById("svgs").textContent))) {
    document.body.innerHTML = svg;
    await document.fonts.load("12px Arimo", "a");
    await document.fonts.load("bold 12px Arimo", "a");
    await document.fonts.ready;
    const canvas = document.querySelector("svg");
    const texts = [...canvas.querySelectorAll("text")].filter((t) => t.textContent.trim()).flatMap((text) => {
      const size = parseFloat(getComputedStyle(text).fontSize);
      const lines = text.querySelectorAll("tspan.line");
      return (lines.length ? [...lines] : [text]).filter((line) => line.textContent.trim()).map((line) => {
        const box = line.getBBox(), turned = line.getScreenCTM();
        const corner = (x, y) => {
          const point = new DOMPoint(x, y).matrixTransform(turned);
          return [point.x, point.y];
        };
        const [left, right, top, foot] = [box.x, box.x + box.width, box.y + 0.13 * size, box.y + box.height];
        return {
          text: line.textContent, size: size * Math.hypot(turned.a, turned.b),
          box: [corner(left, top), corner(right, top), corner(right, foot), corner(left, foot)],
        };
      });
    });
    found[name] = { texts, width: canvas.width.baseVal.value, height: canvas.height.baseVal.value };
  }
  document.body.innerHTML = "";
  const pre = document.createElement("pre");
  pre.id = "found";
  pre.textContent = btoa(unescape(encodeURIComponent(JSON.stringify(found))));
  document.body.append(pre);
})();
</script></body>
"""


def table(kind: str) -> str:
    """Return the key of small data: four classes with a column of slices, or risks of an event."""
    rng = np.random.default_rng(4)
    n = 240
    if kind == "event":
        risk = rng.uniform(0.02, 0.9, n)
        died = (rng.random(n) < risk / 1.5).astype(int)
        site = rng.choice(["North", "South", "West"], n)
        lines = [f"{a:.4f},{b},{c}" for a, b, c in zip(risk, died, site, strict=True)]
        return session.hold("\n".join(["risk,died,site", *lines]).encode(), "event.csv").key
    logits = rng.normal(size=(n, 4)) * 2
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = [rng.choice(4, p=(p + 0.2) / (p + 0.2).sum()) for p in probs]
    names = ("a long-haired cat", "dog", "goose", "horse")
    lines = [
        ",".join([*(f"{v:.4f}" for v in p / p.sum()), names[y]]) for p, y in zip(probs.round(4), labels, strict=True)
    ]
    return session.hold("\n".join([",".join((*names, "label")), *lines]).encode(), "classes.csv").key


def figures(models: dict[str, tuple[int, ...]]) -> Iterator[tuple[str, go.Figure]]:
    """Yield every figure that differs from those before, with its name."""
    seen = set()
    for kind, keys in CALIBRATORS.items():
        for n in models[kind]:
            chosen = tuple(Recipe("CALIBRATORS", key) for key in keys[: n - 1])
            selection = Selection(source=Source(data=table(kind)), calibrators=chosen, code=1)
            scene = session.scene_of(selection)
            for key in EXHIBITS:
                if key in LEFT_OUT:
                    continue
                try:
                    exhibit = EXHIBITS.make(key)
                    exhibit.check(scene)
                    call = exhibit.figure(scene)
                    drawn = None if call is None else scene.get(call)
                except (NotAnswerable, InputError):
                    continue
                digest = "" if drawn is None else hashlib.sha256(drawn.to_json().encode()).hexdigest()
                if digest and digest not in seen:
                    seen.add(digest)
                    yield f"{key} of {kind}, {n} models", drawn


def measured(svgs: dict[str, str]) -> dict[str, Any]:
    """Return the size of every SVG, and the text, size and corners of every line of text in it."""
    with chromium.scratch() as folder:
        (folder / "page.html").write_text(MEASURED % as_json(svgs), encoding="utf-8")
        text = chromium._run(folder, "--dump-dom", "page.html")
    found = re.search(r'<pre id="found">([^<]+)</pre>', text)
    assert found, "the page was measured"
    return json.loads(chromium.base64.b64decode(found[1]))


@pytest.fixture(scope="module", params=[MODELS, pytest.param(EVERY, marks=pytest.mark.wide)], ids=["some", "all"])
def drawn(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return all SVGs as measured, by name and width."""
    every = {f"{name}, {width}": on_paper(one, width) for name, one in figures(request.param) for width in WIDTHS}
    files = chromium._drawn({str(i): spec for i, spec in enumerate(every.values())}, pngs=False)
    svgs = {name: files["svg", str(i)].decode() for i, name in enumerate(every)}
    found = measured(svgs)
    for name, spec in every.items():
        found[name] |= {"svg": svgs[name], "layout": spec["layout"]}
    return found


def test_no_two_texts_of_a_figure_meet(drawn: dict[str, Any]) -> None:
    met = {
        name: [(a["text"], b["text"]) for a, b in combinations(one["texts"], 2) if meet(a["box"], b["box"])]
        for name, one in drawn.items()
    }
    assert not {name: pairs for name, pairs in met.items() if pairs}


def test_no_text_of_a_figure_leaves_the_canvas(drawn: dict[str, Any]) -> None:
    outside = {
        name: [
            each["text"]
            for each in one["texts"]
            if not all(-0.5 <= x <= one["width"] + 0.5 and -0.5 <= y <= one["height"] + 0.5 for x, y in each["box"])
        ]
        for name, one in drawn.items()
    }
    assert not {name: texts for name, texts in outside.items() if texts}


def test_type_has_seven_to_nine_points_and_figures_the_width_asked_for(drawn: dict[str, Any]) -> None:
    for name, one in drawn.items():
        width = WIDTHS[name.rpartition(", ")[2]]
        assert one["width"] == width.pixels, name
        points = [each["size"] * 0.75 for each in one["texts"]]
        assert min(points) > 6.95, name
        assert max(points) < 9.05, name


def test_a_legend_is_above_the_axes_and_at_most_an_eighth_of_the_height(drawn: dict[str, Any]) -> None:
    seen = 0
    for name, one in drawn.items():
        notes = [note for note in one["layout"].get("annotations", ()) if note.get("name") == LEGEND]
        if notes:
            ups, size = [note["yshift"] for note in notes], notes[0]["font"]["size"]
            assert min(ups) - size / 2 > 0, name
            assert max(ups) - min(ups) + 1.4 * size <= 0.12 * one["height"], name
            seen += 1
        assert one["layout"]["showlegend"] is False, name
    assert seen >= 40, seen


def test_the_files_contain_their_typeface_and_need_nothing_else(drawn: dict[str, Any]) -> None:
    for name, one in drawn.items():
        assert "@font-face { font-family: Arimo; font-weight: 400; src: url(data:font/ttf;base64," in one["svg"], name
        assert not re.search(r'(href|src)="(?!data:|#)', one["svg"]), name


def test_every_number_of_models_and_every_room_is_drawn(drawn: dict[str, Any]) -> None:
    assert {int(re.search(r", (\d) models", name)[1]) for name in drawn} >= {1, 7}
    assert len({name.partition(" of ")[0] for name in drawn}) >= 25


def meet(a: list[list[float]], b: list[list[float]], slack: float = 0.5) -> bool:
    """Return True if two rectangles, also turned ones, overlap: no side of either separates them."""
    for box in (a, b):
        for start, end in zip(box, box[1:] + box[:1], strict=True):
            normal = np.array([start[1] - end[1], end[0] - start[0]])
            length = np.linalg.norm(normal)
            if not length:
                continue
            first, second = (np.array(each) @ normal / length for each in (a, b))
            if first.max() - slack <= second.min() or second.max() - slack <= first.min():
                return False
    return True


TURNED = [[6.0, -3.0], [13.0, 4.0], [12.0, 5.0], [5.0, -2.0]]


@pytest.mark.parametrize(
    ("other", "expected"),
    [([[9, 2], [20, 2], [20, 9], [9, 9]], True), ([[10, 0], [20, 0], [20, 5], [10, 5]], False), (TURNED, True),
     ([[x + 6, y - 1] for x, y in TURNED], False)],
)  # fmt: skip
def test_boxes_that_meet_are_seen(other: list[list[float]], expected: bool) -> None:
    assert meet([[0, 0], [10, 0], [10, 5], [0, 5]], other) is expected
