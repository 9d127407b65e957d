"""A report opened offline, as a reviewer does: every figure is there, and nothing else happens."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pandas as pd
import pypdfium2
import pytest
from playwright.sync_api import Browser, Page, expect

import calib_core as cc
from calib_core.inference import paired_difference, primaries, primary, verdicts
from calib_core.inference.comparison.model_differences import DEFAULT
from calib_core.text import short_percent
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.columns import written
from dashboard.report import CHAPTERS
from tests.browser.test_app import own_file
from tests.browser.waiting import settled, taken_home
from tests.support.named import HOSTILE, hostile_csv

MADE = """
import logging, sys
logging.getLogger("streamlit").setLevel(logging.ERROR)
from pathlib import Path
from calib_core import Recipe
from dashboard import report, session
from dashboard.report import chromium
from dashboard.selection import Selection, Source
data, page, figures = map(Path, sys.argv[1:])
key = session.hold(data.read_bytes(), "=1+<b>x</b>.csv").key
chosen = Selection(source=Source(data=key), calibrators=(Recipe("CALIBRATORS", "top-label-hb"),))
told = report.Options(title="<script>alert(3)</script>", left_out=("estimators", "calibrators"))
made = report.build(chosen, told)
page.write_bytes(made.html)
figures.write_bytes(chromium.pictures(made.document, "single", pdfs=False))
page.with_suffix(".pdf").write_bytes(chromium.pdf(made.html))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a report whose names try to be code, created by a separate process."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "data.csv").write_bytes(hostile_csv())
    files = [str(folder / name) for name in ("data.csv", "report.html", "figures.zip")]
    subprocess.run([sys.executable, "-c", MADE, *files], check=True, timeout=120)
    return folder


@pytest.fixture
def opened(browser: Browser, made: Path) -> Iterator[tuple[Page, list[str]]]:
    """Yield the report in an offline browser, and every action that it should not do."""
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    page, seen = context.new_page(), []
    page.on("console", lambda message: seen.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: seen.append(str(error)))
    page.on("dialog", lambda dialog: (seen.append(dialog.message), dialog.dismiss()))
    here = (made / "report.html").as_uri()
    page.on(
        "request", lambda r: seen.append(r.url) if r.url != here and not r.url.startswith(("data:", "blob:")) else None
    )
    page.goto(here)
    page.wait_for_function("document.documentElement.dataset.drawn", timeout=30_000)
    yield page, seen
    context.close()


def test_every_figure_is_drawn_names_are_texts_and_nothing_else_happens(opened: tuple[Page, list[str]]) -> None:
    page, seen = opened
    places = page.locator("[data-figure]")
    assert places.count() >= 4
    for i in range(places.count()):
        place = places.nth(i)
        assert place.evaluate("node => node._fullData.length") > 0
        assert place.locator(".main-svg").count() > 0
        assert place.get_attribute("aria-label")
    place = page.locator("[data-figure]").first
    place.hover()
    page.wait_for_timeout(100)
    names_are_shown_as_they_are(page)
    assert seen == []
    the_policy_stops_what_is_put_into_the_page(page, seen)


def names_are_shown_as_they_are(page: Page) -> None:
    text = page.locator("main").inner_text()
    assert all(name.replace("\u202e", "\ufffd") in text for name in HOSTILE)
    assert page.locator("h1").inner_text() == "<script>alert(3)</script>"
    # No element came out of a name: in the page no picture and no link but the contents', in figures no link.
    assert page.locator("main img, main iframe, main a[href]").count() == 0
    assert page.locator("svg a").count() == 0
    classes = page.evaluate("""() => Array.from(document.querySelectorAll('[data-figure]'))
        .flatMap(node => node._fullData.flatMap(t => [t.x, t.y, t.hovertext].flatMap(v => Array.from(v || []))))
        .filter(x => typeof x === 'string')""")
    assert any("&lt;img src=x onerror" in name for name in classes)


def the_policy_stops_what_is_put_into_the_page(page: Page, seen: list[str]) -> None:
    page.evaluate("""() => {
        document.body.insertAdjacentHTML('beforeend', '<img src="https://x.example/a.png" onerror="alert(1)">');
        const script = document.createElement('script');
        script.textContent = 'window.harmed = true';
        document.body.append(script);
    }""")
    page.wait_for_timeout(200)
    assert page.evaluate("window.harmed") is None
    # The browser reports the address before it refuses it.
    refused = [said for said in seen if said != "https://x.example/a.png"]
    assert all("Content Security Policy" in said for said in refused)
    assert len(refused) == 3


def test_it_is_printed_and_drawn_by_the_same_browser(made: Path) -> None:
    assert (made / "report.pdf").read_bytes().startswith(b"%PDF-")
    shutil.unpack_archive(made / "figures.zip", made / "figures")
    drawn = sorted((made / "figures").iterdir())
    assert {path.suffix for path in drawn} == {".svg", ".png"}
    for path in drawn:
        start = path.read_bytes()[:200]
        assert start.startswith(b"\x89PNG" if path.suffix == ".png" else b"<svg"), path
        if path.suffix == ".svg":
            assert b'width="326"' in start


# -- paper ------------------------------------------------------------------------------------------------------

PRINTED = """
import sys
from dashboard.cli import main
main(["report", "demo:digits-naive-bayes", "--calibrator", "temperature", *sys.argv[1:]])
"""
SCROLLED = """() => Array.from(document.querySelectorAll('.figure'))
    .filter(figure => figure.scrollWidth > figure.clientWidth)
    .map(figure => figure.id)"""
SCALES = """() => Array.from(document.querySelectorAll('.plot'), plot => {
    const svg = plot.querySelector('.main-svg'), caption = plot.parentElement.querySelector('figcaption');
    const drawn = svg.getBoundingClientRect();
    return [drawn.width / parseFloat(svg.getAttribute('width')), caption.getBoundingClientRect().top - drawn.bottom];
})"""


def test_figures_fit_the_preview_of_a_narrow_page_and_keep_their_size_on_paper(opened: tuple[Page, list[str]]) -> None:
    page, seen = opened
    page.set_viewport_size({"width": 544, "height": 900})  # the space that the dashboard leaves for it on 900 pixels
    page.wait_for_function("getComputedStyle(document.querySelector('.plot')).transform !== 'none'")
    assert page.evaluate(SCROLLED) == []
    scales = page.evaluate(SCALES)
    assert min(scale for scale, _ in scales) == pytest.approx(512 / 672, abs=0.01)
    assert all(0 <= gap < 30 for _, gap in scales), "no caption on a figure, and none far below it"
    page.emulate_media(media="print")
    assert all(scale == pytest.approx(1, abs=0.001) for scale, _ in page.evaluate(SCALES))
    assert not seen


BROKEN_WORDS = """() => {
    const broken = [], shown = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = shown.nextNode(); node; node = shown.nextNode()) {
        if (!node.parentElement.closest('p, li, td, th, dt, dd, h1, h2, h3, figcaption')) continue;
        for (const word of node.data.matchAll(/[^\\s\\u200b/–—-]{2,40}/g)) {
            const range = document.createRange();
            range.setStart(node, word.index);
            range.setEnd(node, word.index + word[0].length);
            const lines = new Set(Array.from(range.getClientRects(), (box) => Math.round(box.top)));
            if (lines.size > 1 && word[0].length < 40) broken.push(word[0]);
        }
    }
    return broken;
}"""
CUT = """() => Array.from(document.querySelectorAll('table, .plot, pre, h2, dl'))
    .filter(node => node.getBoundingClientRect().width > 0)
    .filter(node => node.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
    .map(node => node.closest('[id]')?.id)"""
TOO_WIDE = """() => Array.from(document.querySelectorAll('.wide, .plot, pre, dl, .beside > div'))
    .filter(node => node.clientWidth && node.scrollWidth > node.clientWidth)
    .map(node => [node.className, node.closest('[id]')?.id])"""
"""Tables and figures that are wider than their own part of the page."""
OVERPRINTED = """() => Array.from(document.querySelectorAll('.plot')).flatMap(plot => {
    const notes = Array.from(plot.querySelectorAll('.infolayer .annotation-text-g text'))
        .map(node => [node.textContent, node.getBoundingClientRect()]);
    return notes.flatMap(([text, a], i) => notes.slice(i + 1)
        .filter(([, b]) => a.right > b.left + 1 && b.right > a.left + 1 && a.bottom > b.top + 4 && b.bottom > a.top + 4)
        .map(([other]) => [plot.dataset.figure, text, other]));
})"""
"""Pairs of words in figures that are drawn over each other."""
PAGE, SIDE = 1016, 672
"""Height and width of a printed page between its margins in CSS pixels, as page.css and page.js have them."""
FOOT = 15
"""Millimeters below the content of a page of 297, where its number is."""
BLANK = 0.25
"""Largest part that is empty of a page but the last."""
CALIBRATORS = ("temperature", "vector", "dirichlet", "matrix", "isotonic-ovr", "top-label-hb")
OF_RISK = ("intercept", "logistic-recalibration", "temperature", "venn-abers", "isotonic-ovr", "vector")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a whole report of ten classes and one calibrator, next to its PDF file."""
    page = tmp_path_factory.mktemp("whole") / "report.html"
    files = ["-o", str(page), "--pdf", str(page.with_suffix(".pdf"))]
    subprocess.run([sys.executable, "-c", PRINTED, *files], check=True, timeout=300)
    return page


@pytest.mark.wide
def test_ten_classes_and_one_calibrator_are_fewer_than_twelve_pages(browser: Browser, whole: Path) -> None:
    assert 1 < pages(whole.with_suffix(".pdf")) < 12
    fits_its_pages(browser, whole)


@pytest.mark.wide
@pytest.mark.parametrize("only_one_site", [False, pytest.param(True, marks=pytest.mark.wide)])
def test_a_risk_fits_its_pages(browser: Browser, tmp_path: Path, only_one_site: bool) -> None:
    page = tmp_path / "risk.html"
    printed(risks(tmp_path / "risk.csv", only_one_site), page, "--pdf", str(page.with_suffix(".pdf")))
    fits_its_pages(browser, page)


@pytest.mark.wide
@pytest.mark.parametrize("models", [1, 3, 7])
@pytest.mark.parametrize("classes", [2, 10, 100, "levels"])
def test_every_number_of_models_and_classes_fits_its_pages(
    browser: Browser, tmp_path: Path, classes: int | str, models: int
) -> None:
    page = tmp_path / "report.html"
    data = Path("demo:language-model") if classes == "levels" else in_slices(tmp_path / "rows.csv", int(classes))
    chosen = OF_RISK if classes == 2 else ("confidence-hb", "confidence") if classes == "levels" else CALIBRATORS
    options = [text for key in chosen[: models - 1] for text in ("--calibrator", key)]
    printed(data, page, "--pdf", str(page.with_suffix(".pdf")), *options)
    fits_its_pages(browser, page)


def in_slices(file: Path, classes: int) -> Path:
    """Write over-confident predictions of so many classes, better at one of three sites."""
    rng = np.random.default_rng(classes)
    rows = 1200 if classes < 100 else 4000
    truth, site = rng.dirichlet(np.full(classes, 2.5 / classes), rows), rng.choice(["east", "north", "west"], rows)
    labels = (truth.cumsum(axis=1) > rng.random(rows)[:, None]).argmax(axis=1)
    power = np.where(site == "north", 1.0, 1.8)[:, None]
    probs = (truth + 1e-4) ** power
    frame = pd.DataFrame(probs / probs.sum(axis=1, keepdims=True), columns=[f"class {i}" for i in range(classes)])
    frame.round(6).assign(label=[f"class {i}" for i in labels], site=site).to_csv(file, index=False)
    return file


def fits_its_pages(browser: Browser, report: Path) -> None:
    """Assert that a report and its PDF are typeset well: widths, sizes, numbers, pages."""
    page = browser.new_page(viewport={"width": SIDE, "height": PAGE})
    page.emulate_media(media="print")
    page.goto(report.as_uri())
    page.wait_for_function("document.documentElement.dataset.drawn", timeout=30_000)
    assert page.evaluate("document.documentElement.scrollWidth") == SIDE
    for wrong in (BROKEN_WORDS, CUT, TOO_WIDE, OVERPRINTED):
        assert page.evaluate(wrong) == []
    assert page.locator(".beside table").count() == 0
    assert page.evaluate("document.fonts.check('12px Arimo') && document.fonts.check('bold 12px Arimo')")
    sizes = page.evaluate("""() => Array.from(document.querySelectorAll('main p:not(.aside, .below)'))
        .filter(node => node.getClientRects().length).map(node => parseFloat(getComputedStyle(node).fontSize))""")
    assert 9 <= 0.75 * min(sizes) <= 0.75 * max(sizes) <= 10
    captions = page.locator("figure.table figcaption b").all()
    numbers = [caption.inner_text() for caption in captions if caption.is_visible()]
    assert numbers == [f"Table {i}." for i in range(1, len(numbers) + 1)]
    has_a_wide_diagram(page)
    headings = page.locator("h2, h3").all_inner_texts()
    firsts = [" ".join(text.split()) for text in page.locator("h2 + p").all_inner_texts()]
    page.close()
    in_pdf(report.with_suffix(".pdf"), set(headings), firsts)


def has_a_wide_diagram(page: Page) -> None:
    """Assert that the diagram of page one takes four fifths of the printed width, and is not flat."""
    drawn, plot = page.locator(".beside.main [data-figure]").evaluate("""node => [node.getBoundingClientRect().width,
        node._fullLayout.yaxis._length / node._fullLayout.xaxis._length]""")
    assert drawn / SIDE == pytest.approx(0.8, abs=0.01)
    assert plot >= 0.2


def in_pdf(file: Path, headings: set[str], firsts: list[str]) -> None:
    """Assert that page one is complete, that no page is blank at its end, and that none ends with a heading.

    Nor does a page end with the first sentences of a chapter (``firsts``).
    """
    pdf = pypdfium2.PdfDocument(file)
    texts = [page.get_textpage().get_text_bounded() for page in pdf]
    first = " ".join(texts[0].split())
    assert all(text in first for text in ("Figure 1.", "Figure 2.", "Data card", "errors that cancel within a bin."))
    assert "Basis of the verdicts" not in first
    assert [empty for empty in map(blank, list(pdf)[:-1]) if empty > BLANK] == []
    lines = list(map(last_line, pdf))
    assert [line for line in lines if line in headings] == []
    # A last line of one or two words can be the end of any text.
    long = [line for line in lines if len(line.split()) > 2]
    assert [line for line in long for first in firsts if first.endswith(line)] == []
    pdf.close()


def last_line(page: pypdfium2.PdfPage) -> str:
    """Return the lowest line of a page above its foot; a file has texts in the order in which they were painted."""
    text, width, foot = page.get_textpage(), page.get_width(), page.get_height() * FOOT / 297
    boxes = [text.get_rect(i) for i in range(text.count_rects())]
    _, bottom, _, top = min((box for box in boxes if box[1] > foot), key=lambda box: box[1])
    return " ".join(text.get_text_bounded(0, bottom, width, top).split())


def blank(page: pypdfium2.PdfPage) -> float:
    """Return the part of a page below its last ink, between the margins."""
    ink = page.render(scale=0.5, grayscale=True).to_numpy().reshape(int(0.5 * page.get_height() + 0.99), -1) < 200
    top, bottom = (round(mm / 297 * len(ink)) for mm in (13, 297 - FOOT))
    rows = np.flatnonzero(ink[top:bottom].any(axis=1))
    return 1 - (rows.max() + 1) / (bottom - top) if len(rows) else 1.0


def test_page_one_is_read_in_ten_seconds(opened: tuple[Page, list[str]]) -> None:
    page, _ = opened
    page.set_viewport_size({"width": SIDE, "height": PAGE})
    page.emulate_media(media="print")
    # The answer is the largest text, and all of page one is above the start of page two.
    sizes = page.evaluate("""() => Array.from(document.querySelectorAll('h1, h2, h3, p, td'),
        node => [parseFloat(getComputedStyle(node).fontSize), node.innerText])""")
    assert max(sizes)[1] == page.locator(".headline h2").inner_text()
    bottom = page.locator("h3.page").evaluate("node => node.getBoundingClientRect().top + window.scrollY")
    assert 600 < bottom < PAGE - 10
    for text in ("Data card", "Limitations"):
        assert page.get_by_role("heading", name=text).bounding_box()["y"] < bottom  # type: ignore[index]
    has_a_wide_diagram(page)


def test_the_first_sentences_of_a_chapter_are_printed_with_what_follows(opened: tuple[Page, list[str]]) -> None:
    page, _ = opened
    page.emulate_media(media="print")
    firsts = page.locator("section > h2 + p")
    assert firsts.count() >= 3
    assert set(firsts.evaluate_all("nodes => nodes.map(node => getComputedStyle(node).breakAfter)")) == {"avoid"}


@pytest.mark.wide
def test_text_of_page_one_that_needs_more_room_is_not_alone_on_page_two(browser: Browser, tmp_path: Path) -> None:
    files = tmp_path / "risk.html", tmp_path / "risk.pdf"
    title = "The risk of death of patients at four sites " * 12
    options = ("--only", "summary", "--title", title, "--pdf", str(files[1]))
    printed(risks(tmp_path / "risk.csv", True), files[0], *options)
    assert pages(files[1]) == 2
    page = browser.new_page(viewport={"width": SIDE, "height": PAGE})
    page.emulate_media(media="print")
    page.goto(files[0].as_uri())
    second = page.locator("h3.page")
    assert second.evaluate("node => node.getBoundingClientRect().top") > PAGE - 10
    # A headline and the sentence below it stay with their figure.
    parted = """() => Array.from(document.querySelectorAll('h2, h3, p:has(+ .figure)'))
        .filter(node => getComputedStyle(node).breakAfter !== 'avoid' && !node.closest('.headline'))"""
    assert page.locator("p + .figure").count() > 0
    assert page.evaluate(parted) == []
    page.close()


def pages(pdf: Path) -> int:
    """Return the number of pages of a PDF file."""
    return len(re.findall(rb"/Type\s*/Page\b", pdf.read_bytes()))


def risks(file: Path, only_one_site: bool) -> Path:
    """Write risks that are twice too high: everywhere, or at one of four sites."""
    rng = np.random.default_rng(4)
    rows = 1500 if only_one_site else 400
    risk, site = rng.beta(2, 5, rows), rng.choice(list("ABCD"), rows)
    died = rng.random(rows) < np.where((site == "C") | (not only_one_site), risk / 2, risk)
    frame = pd.DataFrame(
        {"risk": risk.round(4), "died": died.astype(int), "site": site, "age": rng.integers(20, 90, rows)}
    )
    frame.to_csv(file, index=False)
    return file


def printed(data: Path, page: Path, *options: str) -> Path:
    """Write a report of a file."""
    command = [sys.executable, "-m", "dashboard.cli", "report", str(data), "-o", str(page), *options]
    subprocess.run(command, check=True, timeout=300, stdin=subprocess.DEVNULL)
    return page


def test_from_the_overview_the_report_is_two_clicks_away(open_page, served) -> None:  # type: ignore[no-untyped-def]
    left_out = json.dumps([c.key for c in CHAPTERS if c.key not in ("summary", "calibrators")])
    page = open_page(f"{served().url}/?view=overview&data=demo:wine-logistic&left_out={quote(left_out)}")
    settled(page)
    page.get_by_role("radio", name="Report", exact=True).click()
    button = page.get_by_role("button", name="Download the report")
    button.wait_for()
    preview = page.frame_locator("iframe[title='The first page of the report']")
    expect(preview.locator("[data-figure] .main-svg").first).to_be_visible()
    assert "<!DOCTYPE html>" in taken_home(page, button).read_text("utf-8")[:200]


@pytest.mark.wide
def test_upload_compare_report_open_and_read_a_number(  # type: ignore[no-untyped-def]
    open_page, served, browser: Browser, tmp_path: Path
) -> None:
    files = {"old.csv": 1.0, "new.csv": 0.5}
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([0.4, 0.4, 0.4], 400)
    labels = np.array([rng.choice(3, p=row) for row in np.sqrt(probs) / np.sqrt(probs).sum(axis=1, keepdims=True)])
    for name, power in files.items():
        flat = probs**power / (probs**power).sum(axis=1, keepdims=True)
        pd.DataFrame(flat, columns=["cat", "dog", "owl"]).assign(label=labels).to_csv(tmp_path / name, index=False)
    left_out = json.dumps([c.key for c in CHAPTERS if c.key not in ("summary", "calibrators")])
    page = open_page(f"{served().url}/?view=data&calibrators=[]&left_out={quote(left_out)}", height=1400)
    page.get_by_text("Demo data").first.wait_for()
    in_use = page.locator(".st-key-frame-file")
    own_file(page).set_input_files(tmp_path / "old.csv")
    expect(in_use).to_contain_text("old.csv")
    settled(page)
    in_use.get_by_role("button").first.click()
    page.get_by_role("tab", name="Other models").click()
    settled(page)
    page.get_by_role("tabpanel", name="Other models").locator("input[type=file]").set_input_files(tmp_path / "new.csv")
    expect(in_use).to_contain_text("new.csv")
    settled(page)
    page.get_by_role("radio", name="Report", exact=True).click()
    button = page.get_by_role("button", name="Download the report")
    button.wait_for()
    (tmp_path / "report.html").write_bytes(taken_home(page, button).read_bytes())

    context = browser.new_context(offline=True)
    report = context.new_page()
    report.goto((tmp_path / "report.html").as_uri())
    tests = {name: cc.read_predictions(tmp_path / name) for name in files}  # all are judged: they are few
    # In the library's words, formatted as in every table.
    frame = verdicts(primaries(tests))
    lines = report.locator("#summary tr.decides")
    for name, line in zip(frame["model"], written(frame, EXHIBITS.make("verdict").columns(frame)), strict=True):
        cells = lines.filter(has_text=name).first.locator("td").all_text_contents()
        value = cells[2].replace("\N{NO-BREAK SPACE}", " ")
        assert value == line[2]
        assert value == short_percent(primary(tests[name]).line.point)
    pairs = cc.compare(tests, "confidence", DEFAULT)
    cells = report.get_by_role("row", name="old.csv new.csv").locator("td").all_text_contents()
    assert cells[2] == written(pairs, EXHIBITS.make("pairs").columns(pairs))[0][2]
    assert float(pairs["difference"].iloc[0]) == paired_difference(*tests.values(), "confidence", DEFAULT).point
    context.close()
