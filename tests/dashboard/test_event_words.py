"""Of two classes: how often the event is said to happen beside how often it does, in the words of the file."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from dashboard import session
from dashboard.exhibits.event_words import beside_advice, event
from dashboard.selection import Selection, Source
from dashboard.session import Scene
from dashboard.views import next_step


def scene_of(risks: list[float], events: list[int], header: str = "risk,event") -> Scene:
    lines = [f"{risk},{happened}" for risk, happened in zip(risks, events, strict=True)]
    data = "\n".join([header, *lines]).encode()
    return session.scene_of(Selection(source=Source(data=session.hold(data, "risk.csv").key), calibrators=()))


@pytest.fixture(scope="module")
def halved() -> Scene:
    rng = np.random.default_rng(0)
    risks = np.round(rng.uniform(0.05, 0.6, 300), 3)
    return scene_of(risks.tolist(), (rng.uniform(size=300) < risks / 2).astype(int).tolist())


def test_the_event_is_told_by_the_columns_that_say_it_and_its_test_is_exact(halved: Scene) -> None:
    rows, found = session.parts(halved.sources[0]).test, event(halved)
    assert found is not None
    assert found.shown
    says, happened = rows.probs[:, 1].mean(), int(rows.true_labels.sum())
    assert found.headline == (
        f"\u201crisk\u201d says {says:.0%} on average, and \u201cevent\u201d is 1 in {happened / rows.n_rows:.0%} of "
        "the rows."
    ).replace("%", " %")
    assert found.basis.startswith(f"{happened} of {rows.n_rows} rows; ")
    twin = 2 * min(binomtest(happened, rows.n_rows, says, side).pvalue for side in ("less", "greater"))  # type: ignore[arg-type]
    assert f"exact test: p = {twin:.2g} alone" in found.basis or twin < 1e-4
    assert found.basis.endswith("What it says is higher than chance explains.")


def test_advice_to_leave_the_model_says_that_the_gap_is_shown(halved: Scene) -> None:
    found: Any = SimpleNamespace(recalibrate=False, sentence="Leave the model as it is: none helps.", price=(), among=9)
    headline, effect, rests = next_step.words(found, halved)
    assert (headline, effect) == ("No calibrator is shown to help.", "None helps.")
    assert rests.startswith(beside_advice(halved))
    assert "this gap is shown" in rests
    found.recalibrate = True
    assert "this gap" not in next_step.words(found, halved)[2]


def test_a_gap_that_can_be_chance_changes_no_advice() -> None:
    scene = scene_of([0.25, 0.75] * 60, [0, 0, 0, 1, 1, 1, 0, 1] * 15)
    found = event(scene)
    assert found is not None
    assert not found.shown
    assert found.basis.endswith("This can be chance.")
    assert beside_advice(scene) == ""
    leave: Any = SimpleNamespace(recalibrate=False, sentence="Leave the model as it is: x.", price=(), among=9)
    assert next_step.words(leave, scene)[0] == "Leave the model as it is."


def test_more_classes_than_two_have_no_event() -> None:
    assert event(session.scene_of(Selection(calibrators=()))) is None
