"""Sentences about the risk of an event agree with the rows, bins and tests next to them."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core import Recipe
from calib_core.text import in_percent, short_percent
from dashboard import session
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.columns import written
from dashboard.exhibits.event_words import on_average
from dashboard.exhibits.recommendation import Recommendation
from dashboard.exhibits.risk import RiskGroups
from dashboard.report.document import Heading, Paragraph, within
from dashboard.report.request import Options, Request
from dashboard.report.sections import summary
from dashboard.selection import Selection, Source
from dashboard.session import Scene
from dashboard.views import next_step


def held(risk: Any, died: Any, name: str, **columns: Any) -> Source:
    frame = pd.DataFrame({"risk": risk, "died": died, **columns})
    key = session.hold(frame.to_csv(index=False).encode(), name).key
    return Source(data=key, test=key)


@pytest.fixture(scope="module")
def rare() -> Scene:
    """Return a calibrated risk of a rare event."""
    rng = np.random.default_rng(7)
    risk = np.round(rng.beta(1, 60, 5000), 5)
    return session.scene_of(
        Selection(source=held(risk, (rng.random(5000) < risk).astype(int), "rare.csv"), calibrators=())
    )


@pytest.fixture(scope="module")
def too_high() -> Selection:
    """Return a risk that is too high on average, with too few rows to correct it."""
    rng = np.random.default_rng(1)
    risk = np.round(rng.beta(3, 6, 80), 3)
    return Selection(source=held(risk, (rng.random(80) < 0.7 * risk).astype(int), "high.csv"))


def table(scene: Scene, key: str) -> pd.DataFrame:
    exhibit: Any = EXHIBITS.make(key)
    frame = scene.get(exhibit.table(scene))
    columns = exhibit.columns(frame)
    cells = zip(*written(frame, columns), strict=True)
    return pd.DataFrame({column.heading: list(values) for column, values in zip(columns, cells, strict=True)})


def findings(scene: Scene) -> pd.DataFrame:
    exhibit: Any = EXHIBITS.make("findings")
    frame: pd.DataFrame = scene.get(exhibit.table(scene))
    return frame


def test_a_finding_rounds_a_small_risk_as_its_row_does(rare: Scene) -> None:
    frame = findings(rare)
    bins = frame[frame["kind"] == "bin"]
    assert len(bins) == 10
    for line in bins.to_dict("records"):
        right = re.search(r"given a risk of .*?, ([\d.]+ %)", line["finding"])
        says = re.search(r"mean risk ([\d.]+ %)", line["finding"])
        assert right
        assert says
        pairs = ((right[1], line["right"]), (says[1], line["says"]))
        for told, value in pairs:
            # Two digits that count, or more where the two of a sentence would look alike.
            assert float(told.removesuffix(" %")) == pytest.approx(100 * value, rel=0.06)
        assert right[1] == short_percent(line["right"]) or len(right[1]) > len(short_percent(line["right"]))


def test_findings_name_the_bins_of_the_diagram_and_the_bins_used(rare: Scene) -> None:
    exhibit: Any = EXHIBITS.make("findings")
    bins = findings(rare)
    bins = bins[bins["kind"] == "bin"].sort_values("bin")
    notes = " ".join(exhibit.words(rare).notes)
    assert f"Bins: {cc.diagrams.risk_diagram(rare.get(rare.model.predictions)).bins}" in notes
    drawn = table(rare, "reliability")["bin"]
    given = [re.search(r"given a risk of (.*?),", finding) for finding in bins["finding"]]
    assert [found[1] for found in given if found] == drawn.tolist()


def test_the_sentence_says_where_its_gap_can_be_chance(rare: Scene, too_high: Selection) -> None:
    doubts = set()
    for scene in (rare, session.scene_of(too_high)):
        every = cc.diagrams.local_frequency(scene.get(scene.model.predictions)).answers
        for answer in every:
            doubts.add(bool(answer.doubt))
            if answer.doubt:
                assert answer.gap is None
                assert in_percent(answer.right) != answer.stated
            if answer.gap is not None:
                assert not answer.doubt
    assert doubts == {True, False}


def next_step_of(request: Request) -> Paragraph:
    """Return the text below the heading "Next step" of page one."""
    parts = list(within(block for block in summary.blocks(request) if block is not None))
    (place,) = [i for i, part in enumerate(parts) if isinstance(part, Heading) and part.text == "Next step"]
    text = parts[place + 1]
    assert isinstance(text, Paragraph)
    return text


def test_the_next_step_leads_to_its_calibrator_and_keeps_those_that_are_ticked(monkeypatch: pytest.MonkeyPatch) -> None:
    choices = (("structured", ()), ("structured", (("mixing", False),)), ("vector", ()))
    structured, changed, vector = (Recipe("CALIBRATORS", key, params) for key, params in choices)
    for ticked, wanted in (((vector,), (structured, vector)), ((vector, changed), (changed, vector))):
        led: dict[str, object] = {}
        monkeypatch.setattr(next_step.widgets, "selection", lambda ticked=ticked: SimpleNamespace(calibrators=ticked))
        monkeypatch.setattr(next_step.widgets, "change", lambda led=led, **choices: led.update(choices))
        next_step._lead(structured)
        assert led == {"view": "calibrators", "calibrators": wanted, "model": wanted[0].title}


def test_the_next_step_says_what_was_found_before_what_it_does_not_show(too_high: Selection) -> None:
    request = Request(too_high, Options())
    step = next_step_of(request)
    scene = request.scene
    exhibit = Recommendation.suited(scene)
    found = scene.get(exhibit.found(scene))
    first, *_, gap = exhibit.advice(scene, found)
    assert step.text == (first if found.recalibrate else f"{first} {gap}")


def test_the_report_of_many_classes_gives_the_next_step_of_the_overview() -> None:
    request = Request(Selection(source=Source(data="demo:synthetic-three-class")), Options())
    step = next_step_of(request)
    exhibit = Recommendation.suited(request.scene)
    found = request.scene.get(exhibit.found(request.scene))
    headline, effect, reason = next_step.words(found, request.scene)
    whole = exhibit.advice(request.scene, found)[0]
    assert step.text == whole
    # The overview has the rest of it behind "Why?".
    assert whole == f"{headline} {effect} {reason}"[: len(whole)]


def test_explore_opens_with_the_statement_of_the_overview_about_all_rows(too_high: Selection) -> None:
    scene = session.scene_of(too_high)
    found = cc.risk.in_the_large(scene.get(scene.model.predictions))
    assert found.differs
    first, *of_bins = EXHIBITS.make("reliability").words(scene).headline
    assert first.startswith(f"{on_average(found)} (")
    assert of_bins[0].startswith(RiskGroups().words(scene).headline[0].rstrip("."))


@pytest.mark.parametrize("classes", [True, False])
def test_stems_are_explained_where_they_are_drawn(classes: bool) -> None:
    frame = pd.DataFrame({"confidence": [0.9, 0.7] * 40, "correct": [1, 1, 1, 0] * 20})
    key = session.hold(frame.to_csv(index=False).encode(), "sure.csv").key
    source = Source(data="demo:synthetic-three-class") if classes else Source(data=key, test=key)
    scene = session.scene_of(Selection(source=source, calibrators=()))
    exhibit = EXHIBITS.make("reliability")
    assert scene.get(exhibit.table(scene))["delta"].notna().any() == classes
    assert ("plus" in exhibit.words(scene).key.casefold()) == classes
    assert ("star-and-stem" in exhibit.terms_in(scene)) == classes
