"""The tasks of five users, in as few clicks as documented."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, expect

from calib_core.palette import COLOURS
from tests.browser.test_app import drawn, own_file, rows_of
from tests.browser.waiting import settled, taken_home

CONFIDENT = "When it says 90"


class Person:
    """User with a mouse, whose clicks are counted."""

    def __init__(self, page: Page) -> None:
        self.page, self.clicks = page, 0

    def click(self, place: Locator) -> None:
        settled(self.page)
        place.click()
        self.clicks += 1

    def take_home(self, button: Locator) -> Path:
        self.clicks += 1
        return taken_home(self.page, button)

    def enter(self, room: str) -> None:
        self.click(self.page.get_by_role("radio", name=room, exact=True))

    def back_to_the_overview(self) -> None:
        """Return to the start of the count."""
        self.enter("Overview")
        expect(self.page.locator(".calib-hero h1")).to_contain_text(CONFIDENT)
        self.clicks = 0


def animals(folder: Path, *more: str, rows: int = 900) -> Path:
    """Write overconfident predictions, of owls most of all; ``more`` are lines at the start of the file."""
    rng = np.random.default_rng(0)
    names = ["cat", "dog", "owl"]
    predicted = rng.integers(0, 3, rows)
    confidence = rng.choice([0.55, 0.75, 0.9, 0.95], rows)
    right = rng.random(rows) < np.where(predicted == 2, confidence - 0.35, confidence - 0.1)
    probs = np.repeat(((1 - confidence) / 2)[:, None], 3, axis=1)
    probs[np.arange(rows), predicted] = confidence
    frame = pd.DataFrame(probs.round(4), columns=[f"p_{name}" for name in names])
    frame["label"] = np.array(names)[np.where(right, predicted, (predicted + 1) % 3)]
    frame["photo"] = [f"photo {i}.png" for i in range(rows)]
    header, *lines = frame.to_csv(index=False).splitlines()
    path = folder / "animals.csv"
    path.write_text("\n".join([header, *more, *lines]) + "\n")
    return path


def chosen(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


@pytest.mark.wide
def test_an_engineer_decides_from_a_file_of_their_own(open_page, served, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    page = open_page(served().url)
    person = Person(page)
    own_file(page).set_input_files(animals(tmp_path))
    expect(page.locator(".calib-hero h1")).to_contain_text(CONFIDENT)
    expect(page.locator(".calib-hero h1")).to_be_in_viewport()
    drawn(page, "verdict")
    expect(page.locator(".st-key-card-classes")).to_contain_text("owl")
    assert person.clicks == 0

    # The rows of the worst class.
    person.click(page.get_by_role("button", name="Open this class"))
    pane = page.locator(".st-key-detail")
    expect(pane).to_contain_text("owl")
    expect(pane.get_by_test_id("stDataFrame").first).to_be_visible()
    rows = pd.read_csv(person.take_home(rows_of(pane)))
    assert set(rows["predicted"]) == {"owl"}
    assert rows["photo"].str.startswith("photo").all()
    assert person.clicks == 2

    # Before and after the calibrator recommended.
    person.back_to_the_overview()
    person.click(page.get_by_role("button", name="Show me", exact=True))
    expect(page.locator(".st-key-view-calibrators")).to_be_visible()
    drawn(page, "movement")
    expect(page.locator("[data-calib-chart=movement]")).to_be_in_viewport()
    page.wait_for_url("**model=Dirichlet*")  # written when the page is whole
    assert chosen(page)["model"] == "Dirichlet calibration"
    assert person.clicks == 1
    # Its card has its name and its own color.
    expect(page.get_by_role("checkbox", name="Dirichlet calibration", exact=True)).to_be_checked()
    edge = "node => getComputedStyle(node).borderLeftColor"
    colour = tuple(bytes.fromhex(COLOURS[3][1:]))
    assert page.locator("[class*=st-key-calibrator-look-]").evaluate(edge) == f"rgb{colour}"

    # The report in hand.
    person.back_to_the_overview()
    person.enter("Report")
    report = person.take_home(page.get_by_role("button", name="Download the report", exact=True))
    assert "animals" in report.read_text("utf-8")
    assert person.clicks == 2


def test_a_file_that_leaves_a_choice_asks_one_question(open_page, served, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    page = open_page(served().url)
    person = Person(page)
    own_file(page).set_input_files(animals(tmp_path, ",0.5,0.5,dog,lost.png"))
    person.click(page.get_by_role("button", name="Leave out 1 row"))
    expect(page.locator(".calib-hero h1")).to_contain_text(CONFIDENT)
    assert person.clicks == 1


@pytest.mark.wide
def test_a_researcher_sends_a_link_to_what_they_look_at(open_page, served) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view=reliability&bin=9")
    drawn(page, "reliability", "detail-classes")
    page.get_by_role("button", name="Copy link", exact=True).click()
    link = page.get_by_test_id("stPopoverBody").get_by_test_id("stCode").inner_text().strip()
    other = open_page(link)
    drawn(other, "reliability", "detail-classes")
    settled(other)  # the last lines of the pane follow its chart
    here, there = (each.locator(".st-key-detail").inner_text() for each in (page, other))
    assert there == here
    assert "Clear" in here
    assert chosen(other)["bin"] == "9"


@pytest.mark.wide
def test_a_teacher_presents_a_picture_and_its_models(open_page, served) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view=reliability")
    person = Person(page)
    drawn(page, "reliability")
    person.click(page.get_by_role("button", name="Present", exact=True))
    expect(page.locator(".st-key-frame-settings")).to_be_hidden()
    drawn(page, "presented-picture")
    picture = page.locator("[data-calib-chart=presented-picture]")
    expect(picture).to_be_in_viewport(ratio=1)
    chips = page.locator(".st-key-presented-models")
    expect(chips).to_be_in_viewport()
    assert not any(each.is_visible() for each in page.get_by_test_id("stCaptionContainer").all())
    # A chip is all it takes to show what a calibrator does.
    before = picture.get_attribute("data-calib-revision")
    person.click(chips.get_by_role("radio").filter(has_text="calibration").first)
    page.wait_for_function(
        "old => document.querySelector('[data-calib-chart=presented-picture]')?.dataset.calibRevision !== old",
        arg=before,
    )
    assert person.clicks == 2


@pytest.mark.wide
def test_who_has_confidences_alone_finds_no_empty_tab(open_page, served, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(1)
    confidence = rng.uniform(0.4, 1, 500).round(3)
    path = tmp_path / "answers.csv"
    frame = pd.DataFrame({"confidence": confidence, "correct": (rng.random(500) < confidence - 0.15).astype(int)})
    frame.to_csv(path, index=False)
    page = open_page(served().url)
    own_file(page).set_input_files(path)
    expect(page.locator(".calib-hero h1")).to_contain_text(CONFIDENT)
    expect(page.get_by_text("No column to slice by")).to_be_visible()
    for room, view in (("Explore", "reliability"), ("Evidence", "estimators"), ("Recalibrate", "calibrators")):
        page.get_by_role("radio", name=room, exact=True).click()
        page.wait_for_url(re.compile(rf"view={view}\b"))
        settled(page)
        if room == "Recalibrate":
            page.get_by_role("button", name="Try the usual one", exact=True).click()
            drawn(page, "movement")
        tabs = page.locator(".st-key-frame-choices").get_by_role("radio")
        for name in tabs.all_inner_texts() or [""]:
            if name:
                tabs.filter(has_text=name).first.click()
                settled(page)
            shown = page.locator("[class*=st-key-view-]:visible")
            answer = shown.locator("[data-calib-chart], table, [data-testid=stDataFrame]")
            # Slow results are computed on request.
            expect(answer.or_(shown.get_by_role("button", name="Compute", exact=True)).first).to_be_visible()
            expect(page.get_by_test_id("stException")).to_have_count(0)
