"""The report: equal inputs give equal bytes, its recipe gives equal numbers, and no text of a user is code."""

from __future__ import annotations

import html
import io
import json
import math
import os
import re
import subprocess
import sys
import zipfile
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from shown_models import judged

import calib_core as cc
from calib_core import ESTIMATORS, REDUCTIONS, InputError, NotAnswerable, Recipe
from calib_core.diagrams.reliability import FEW_ROWS
from calib_core.evaluation.study import error_keys
from calib_core.figures.direct_labels import DIRECT
from calib_core.registry.citations import bibliography
from calib_core.registry.registry import FAMILIES
from calib_core.text import begun, inside, measured_between, score
from dashboard import report, session
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.hero import off_elsewhere
from dashboard.exhibits.line_words import READING
from dashboard.hosting import application
from dashboard.report import CHAPTERS, Options, Progress, Report, chromium, document, page, recipe
from dashboard.report.document import Beside, FactList, Figure, Folded, Headline, Paragraph, TypesetTable, within
from dashboard.report.exhibited import ExhibitParts
from dashboard.report.picture import PARTS, as_json, on_paper, printed
from dashboard.report.request import Request
from dashboard.report.sections import data as data_section
from dashboard.report.sections import for_event, front_page, slices
from dashboard.report.sections.again import settings_table
from dashboard.report.sections.front_page import HeadlineAnswer, _judged, _rows, _score, headline
from dashboard.selection import Selection, Source
from tests.support.named import HOSTILE, hostile_csv
from tests.support.sentences import in_sentences, where_measured

DATE = "Made on a day"
PAPER = Recipe("ESTIMATORS", "ece-kde")
SHORT = ("estimators", "calibrators")
"""Sections left out of tests about other sections."""


def chosen(*keys: str, **more: object) -> Selection:
    return Selection(calibrators=tuple(Recipe("CALIBRATORS", key) for key in keys), **more)


@pytest.fixture(scope="module")
def made() -> Report:
    """Return a whole report of three models."""
    return report.build(chosen("temperature", "top-label-hb"), Options(title="Digits", author="A. Reviewer", date=DATE))


@pytest.fixture(scope="module")
def hostile() -> Report:
    """Return a report in which every name tries to be code."""
    key = session.hold(hostile_csv(), "=1+<b>x</b>.csv").key
    told = Options(
        title="<script>alert(3)</script>", author="![](http://z.example)", date=DATE, left_out=("estimators",)
    )
    return report.build(chosen("top-label-hb", source=Source(data=key)), told)


def text_of(made: Report) -> str:
    """Return the visible text of a report: the page without its scripts and styles."""
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", made.html.decode(), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def table(made: Report, name: str) -> pd.DataFrame:
    return next(held.frame for _, held in made.document.tables if held.name == name)


# -- repetition -----------------------------------------------------------------------------------------------

ELSEWHERE = """
import logging, sys
logging.getLogger("streamlit").setLevel(logging.ERROR)
from calib_core import Recipe
from dashboard import report
from dashboard.selection import Selection
keys = ("temperature", "top-label-hb")
chosen = Selection(calibrators=tuple(Recipe("CALIBRATORS", key) for key in keys))
made = report.build(chosen, report.Options(title="Digits", author="A. Reviewer", date="Made on a day"))
sys.stdout.buffer.write(made.html)
"""


@pytest.mark.wide
def test_another_process_makes_the_same_bytes(made: Report) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    ended = subprocess.run([sys.executable, "-c", ELSEWHERE], stdout=subprocess.PIPE, env=environment, check=True)
    assert ended.stdout == made.html


def test_only_one_line_knows_the_date() -> None:
    first, second = (
        report.build(Selection(), Options(date=date, left_out=SHORT)).html.decode().splitlines()
        for date in ("Made on Monday", "Made on Tuesday")
    )
    different = [a for a, b in zip(first, second, strict=True) if a != b]
    assert different == ['<p class="date">Made on Monday</p>']


def test_its_own_recipe_makes_the_same_report(made: Report) -> None:
    again = report.again(made.html, DATE)
    assert again.html == made.html
    assert report.read_recipe(made.html).selection == chosen("temperature", "top-label-hb")


@pytest.mark.parametrize(
    "broken",
    [
        b"<html></html>",
        b'<script type="application/json" id="calib-recipe">{"format": 1</script>',
        b'<script type="application/json" id="calib-recipe">[]</script>',
        b'<script type="application/json" id="calib-recipe">{"format": 99, "choices": {}}</script>',
        b'<script type="application/json" id="calib-recipe">{"format": 1, "choices": {"bins": "3"}, "files": {}, '
        b'"versions": {}, "title": "", "author": ""}</script>',
    ],
)
def test_a_file_that_is_no_report_is_refused_in_a_sentence(broken: bytes) -> None:
    with pytest.raises(InputError, match="recipe"):
        report.read_recipe(broken)


# -- contents -------------------------------------------------------------------------------------------------


def test_every_section_table_and_figure_is_there_in_order(made: Report) -> None:
    page_text = made.html.decode()
    keys = [section.key for section in made.document.sections]
    rooms = ["summary", "reliability", "classes", "simplex", "calibrators", "estimators"]
    assert keys == [*rooms, "data", "methods", "again"], "what is looked up comes last"
    for section in made.document.sections:
        assert f'<a href="#{section.key}">' in page_text
        assert f'<section id="{section.key}"' in page_text
    pictures = {figure.name for _, figure in made.document.figures}
    assert {"verdicts", "reliability", "bins-1", "bins-2", "bins-3", "map-1"} <= pictures
    numbers = [int(n) for n in re.findall(r"<b>Figure (\d+)\.</b>", page_text)]
    assert numbers == list(range(1, len(made.document.figures) + 1))
    tables = re.findall(r"<b>Table (S?\d+)\.</b>", page_text)
    for folded in ("", "S"):
        own = [int(n.removeprefix("S")) for n in tables if n.startswith("S") == bool(folded)]
        assert own == list(range(1, len(own) + 1)), "no gap on paper, where collapsed tables are absent"
    collapsed = {b for s in made.document.sections for f in s.blocks if isinstance(f, Folded) for b in within(f.blocks)}
    assert all((b in collapsed or not b.cells) == n.startswith("S") for n, b in made.document.tables)
    assert len(tables) == len(made.document.tables)
    assert page_text.count('role="img" aria-label="') == len(numbers)
    assert page_text.count("<h1>") == 1


def test_the_first_page_is_the_verdict(made: Report) -> None:
    first = made.document.sections[0].blocks
    assert isinstance(first[0], Headline)
    beside = next(block for block in first if isinstance(block, Beside | Folded))
    before = first[: first.index(beside) + 1]
    pictures = [block.name for block in within(before) if isinstance(block, Figure)]
    assert pictures[-1] == "reliability"
    assert not [block for block in within(before) if isinstance(block, TypesetTable)], "ten seconds are not for tables"
    text = text_of(made)
    for heading in ("Data card", "Limitations"):
        assert text.index(heading) < text.index("Basis of the verdicts") < text.index("Results by class", 2000)


def test_a_report_says_what_is_so_and_never_what_to_do(made: Report) -> None:
    assert not re.search(r"\b(ship|deploy|you should)\b", text_of(made), re.IGNORECASE)


def test_no_line_ends_between_a_number_and_its_percent_sign(made: Report) -> None:
    body = re.sub(r"<(script|style|pre)\b.*?</\1>", " ", made.html.decode(), flags=re.DOTALL)
    assert "\N{NO-BREAK SPACE}%" in body
    assert re.findall(r"[^<>]{0,60}\d %", re.sub(r"<[^>]+>", "|", body)) == []


def test_what_is_a_click_away_holds_no_figure(made: Report) -> None:
    # A figure that is drawn while it is folded away has no size.
    closed = [b for section in made.document.sections for b in within(section.blocks) if isinstance(b, Folded)]
    assert closed
    assert not [block for block in within(closed) if isinstance(block, Figure)]


def test_how_tables_are_read_is_said_once(made: Report) -> None:
    assert text_of(made).count(READING) == 1
    captions = [table.caption for _, table in made.document.tables]
    assert sum(READING in caption for caption in captions) > 1, "each table taken elsewhere says it"


def test_plotly_is_in_it_once_and_nothing_is_fetched(made: Report) -> None:
    page_text = made.html.decode()
    assert page_text.count(page.plotly_js()) == 1
    assert len(made.html) < len(page.plotly_js()) + 2_000_000
    outside = page_text.replace(page.plotly_js(), "")
    assert not re.search(r"""(src|href|action)\s*=\s*["'](?!#)|@import|url\((?!data:font/)""", outside)
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page_text)[1])  # type: ignore[index]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in rules["script-src"]
    assert "unsafe" not in rules["style-src-elem"]


def test_the_policy_of_the_page_lets_a_preview_draw(made: Report) -> None:
    """A frame without an origin also has the policy of the page around it."""
    run = re.findall(r"<script>(.*?)</script>", made.html.decode(), re.DOTALL)
    assert len(run) == 2
    allowed = next(rule for rule in application.policy("h").split("; ") if rule.startswith("script-src "))
    for text in run:
        assert f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" in allowed


def test_the_numbers_are_those_of_the_screen(made: Report) -> None:
    selection = chosen("temperature", "top-label-hb")
    verdicts = table(made, "verdicts")
    bold = next(held.bold for _, held in made.document.tables if held.name == "verdicts")
    shown = session.models(selection).shown
    assert len(bold) == len(shown)
    page_text = text_of(made)
    lines = cc.inference.primaries({model.title: judged(model) for model in shown}, selection.eps)
    for model, place in zip(shown, bold, strict=True):
        first, line = lines[model.title], verdicts.iloc[place]
        assert line["model"] == model.title
        assert list(verdicts["model"]).index(model.title) == place, "the primary line stands first"
        told = first.line.record() | {"sentence": first.sentence}
        told.pop("limit")
        # A frame has NaN where a record has none.
        assert {name: None if pd.isna(line[name]) else line[name] for name in told} == told
        assert f"{model.title}. {first.sentence}" in page_text
        estimate = cc.estimate(judged(model), first.notion, "ece")
        assert (line["value"], line["point"]) == (estimate.value, estimate.point)
    printed_bold = sum(place < len(held.cells) for _, held in made.document.tables for place in held.bold)
    assert made.html.count(b'<tr class="decides">') == printed_bold
    assert made.latex_files()[next(n for n in made.latex_files() if "verdicts" in n)].count(b"textbf{miscal") >= 1
    drawn = cc.diagrams.reliability(judged(session.models(selection).shown[0])).frame()
    assert np.array_equal(table(made, "bins-1")["accuracy"], drawn["accuracy"])


def below(made: Report, table: TypesetTable) -> str:
    """Return the caption of a table and the notes right below it."""
    every = [block for section in made.document.sections for block in within(section.blocks)]
    rest = every[every.index(table) + 1 :]
    notes = takewhile(lambda block: isinstance(block, Paragraph) and block.aside, rest)
    return " ".join([table.caption, *(note.text for note in notes if isinstance(note, Paragraph))])


def test_every_estimate_has_its_interval_and_floor(made: Report) -> None:
    text = text_of(made)
    for _, held in made.document.tables:
        if {"floor", "point"} <= set(held.frame) and held.name != "calibrators-scores":
            whole = held.frame[held.frame["note"] == ""] if "note" in held.frame else held.frame
            assert whole[["value", "point", "low", "high", "floor", "p"]].notna().all(axis=None), held.name
            assert whole["point"].between(whole["low"], whole["high"]).all(), held.name
            for about in whole["about"].unique():
                told = in_sentences(where_measured(about)).replace("in its own bins", "in the bins of its raw value")
                forms = where_measured(about), told
                assert any(form in below(made, held) or f" {form}" in text for form in forms), held.name


def test_it_says_what_everything_rests_on(made: Report) -> None:
    text = text_of(made)
    data = session.file(Selection().source.data)
    for said in ("Digits", "A. Reviewer", data.digest, "seed of the split", np.__version__, "Gupta C, Ramdas A."):
        assert said in text
    for finding in session.findings(data.key, ""):
        assert " ".join(finding.message.split()) in text
    for family in (REDUCTIONS, ESTIMATORS):
        assert all(family[key].caption.removesuffix(".").split("  ")[0] in text for key in family)


FIGURES = {
    "corp": {},
    "kernel-curve": {},
    "bin": {},
    "class-curves": {"exhibits": (EXHIBITS.described("class-panels", curve="validity"),)},
    "class-kernel": {"exhibits": (EXHIBITS.described("class-panels", curve="kernel"),), "code": 1},
    "triangle-validity": {"partitions": (Recipe("BINNINGS", "grid"),)},
}


@pytest.mark.parametrize("name", FIGURES)
def test_what_is_chosen_on_screen_is_drawn(name: str) -> None:
    source = Source(data="demo:wine-logistic", by="share")  # cross-fitted rows leave none to learn cells from
    made = report.build(chosen("temperature", source=source, **FIGURES[name]), Options(date=DATE, left_out=SHORT))
    assert name in [figure.name for _, figure in made.document.figures]


def test_curves_have_the_numbers_of_the_library() -> None:
    selection = chosen("temperature", source=Source(data="demo:wine-logistic"), code=1)
    for key, options in (
        ("class-panels", {"curve": "kernel"}),
        ("kernel-curve", {"kernel": PAPER, "band": "whole-curve"}),
        ("corp", {"band": "whole-curve"}),
    ):
        selection = selection.with_exhibit(EXHIBITS.described(key, **options))
    made = report.build(selection, Options(date=DATE, left_out=SHORT))
    model = session.models(selection).shown[0]
    score = cc.estimate(judged(model), "confidence", "brier").value
    parts = table(made, "corp").set_index("model").loc[model.title]
    assert parts["brier"] == pytest.approx(score, abs=1e-12)
    sides = parts["miscalibration"] - parts["discrimination"] + parts["uncertainty"]
    assert sides == pytest.approx(score, abs=1e-12)
    curve = cc.diagrams.kernel_curve(judged(model), "top-label", 1, PAPER.build(), "whole-curve")
    drawn = next(figure.drawn for _, figure in made.document.figures if figure.name == "class-kernel")
    line = next(trace for trace in drawn.data if (trace.name or "").startswith("kernel curve"))
    assert np.array_equal(line.y, curve.curve, equal_nan=True)
    assert "90 % band for the whole curve" in [trace.name for trace in drawn.data]
    assert curve.about in text_of(made)
    steps = cc.diagrams.corp_band(judged(model), band="whole-curve")
    assert steps.about in text_of(made)


def test_an_estimator_of_two_names_has_one_line_and_scores_have_none(made: Report) -> None:
    for notion in ("confidence", "class-wise"):
        frame = table(made, f"estimators-{notion}")
        assert frame["estimator"].tolist() == [*error_keys(notion)]


def test_curves_that_cannot_be_made_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise NotAnswerable("half of two rows is one")

    call = import_module("dashboard.session.call")
    known = call.public
    monkeypatch.setattr(call, "public", lambda name: refuse if name == "diagrams.trade_off" else known(name))
    rows = "p_a,p_b,label\n" + "0.7,0.3,a\n0.4,0.6,b\n" * 5
    selection = chosen(source=Source(data=session.hold(rows.encode(), "few.csv").key))
    selection = selection.with_exhibit(EXHIBITS.described("trade", curves=True))
    made = report.build(selection, Options(date=DATE, left_out=("summary", "classes", "calibrators")))
    assert "No curves over numbers of bins: half of two rows is one." in text_of(made)


def test_references_are_cited_in_full() -> None:
    for family in FAMILIES.values():
        for key in family:
            for reference in filter(None, family[key].reference.split(";")):
                assert bibliography([reference]), f"{reference!r} of {key} has no entry"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("demo", ["breast-cancer-svm", "example-1", "synthetic-three-class", "language-model"])
def test_every_kind_of_data_has_a_report(demo: str) -> None:
    made = report.build(
        chosen("top-label-hb", source=Source(data=f"demo:{demo}")),
        Options(date=DATE, left_out=("estimators", "calibrators")),
    )
    assert {"summary", "data", "reliability"} <= {section.key for section in made.document.sections}
    assert made.document.figures


def test_a_section_can_be_left_out(made: Report) -> None:
    less = report.build(Selection(), Options(date=DATE, left_out=("estimators", "classes", "methods")))
    assert {section.key for section in less.document.sections} == {
        section.key for section in made.document.sections
    } - {"estimators", "classes", "methods"}


def test_the_planner_answers_only_where_it_is_asked_for() -> None:
    plan = cc.planning.PLANS.described("accuracy-interval", width=0.02)
    asked = chosen().with_exhibit(cc.Recipe("EXHIBITS", "plan", (("plan", plan),)))
    others = tuple(chapter.key for chapter in CHAPTERS if chapter.key not in ("planner", "again"))
    without = report.build(asked, Options(date=DATE, left_out=others))
    assert [section.key for section in without.document.sections] == ["again"]
    made = report.build(asked, Options(date=DATE, left_out=others, added=("planner", "nowhere")))
    assert [section.key for section in made.document.sections] == ["planner", "again"]
    rows = session.parts(asked.source)
    found = cc.planning.answer(plan, rows.fit, rows.test)
    assert found.title in text_of(made)
    assert found.inverse in text_of(made)
    assert set(cc.planning.answers(None, rows.fit, rows.test)["question"]) <= set(_lines(made, "plans")["question"])
    assert "--include planner" in text_of(made)
    assert report.again(made.html, DATE).html == made.html


def _lines(made: Report, name: str) -> pd.DataFrame:
    return next(table.frame for _, table in made.document.tables if table.name == name)


def test_a_report_without_a_section_is_refused_with_the_reason() -> None:
    others = tuple(chapter.key for chapter in CHAPTERS if chapter.key != "simplex")
    with pytest.raises(InputError, match=r"^There is nothing to report\. Simplex: .* only two"):
        report.build(chosen(source=Source(data="demo:breast-cancer-svm")), Options(left_out=others))


def test_of_more_classes_the_triangle_is_that_of_the_screen() -> None:
    others = tuple(chapter.key for chapter in CHAPTERS if chapter.key != "simplex")
    made = report.build(chosen(), Options(left_out=others))
    source = session.triangle(Source(), "")
    assert begun(session.parts(source).merging) in text_of(made)
    rows = session.parts(source)
    value = cc.estimate(rows.test, "canonical", "ece", Selection().partitions[0].build()).value
    assert table(made, "canonical")["value"][0] == value
    cells = cc.diagrams.recalibration(Selection().partitions[0].build(), rows.fit, rows.test).frame()
    pd.testing.assert_frame_equal(table(made, "triangle-1").drop(columns="model"), cells, check_exact=True)


# -- progress and stopping -------------------------------------------------------------------------------------


class Stop(Exception):
    """Exception that a progress callable raises to stop."""


def test_progress_never_goes_back_and_names_the_sections() -> None:
    seen: list[Progress] = []
    report.build(Selection(), Options(date=DATE, left_out=SHORT), progress=seen.append)
    shares = [at.share for at in seen]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert "Reliability diagrams" in [at.what for at in seen]


def test_it_can_be_stopped_between_pieces() -> None:
    seen: list[Progress] = []

    def stop(at: Progress) -> None:
        seen.append(at)
        if at.what == "Results by class":
            raise Stop

    with pytest.raises(Stop):
        report.build(Selection(), progress=stop)
    wanted = {"Models", "The verdict", "Reliability diagrams", "Results by class"}
    assert {at.what for at in seen} == wanted


# -- names that resemble code ----------------------------------------------------------------------------------


def test_names_are_text_in_the_page(hostile: Report) -> None:
    page_text = hostile.html.decode().replace(page.plotly_js(), "")
    assert len(re.findall("<script", page_text)) == 4
    assert len(re.findall("</script", page_text)) == 4
    for tag in ("<img", '<a href="http', "<b>x", "<script>alert"):
        assert tag not in page_text
    text = text_of(hostile)
    assert all(name.replace("\u202e", "\ufffd") in text for name in HOSTILE)
    assert "\u202e" not in text
    assert "<script>alert(3)</script>" in text


def test_names_are_text_in_figures(hostile: Report) -> None:
    text = as_json([printed(figure.drawn) for _, figure in hostile.document.figures])
    assert "<" not in text
    assert ">" not in text
    # Plotly reads texts as HTML once more: what it is given is escaped.
    assert "\\u0026lt;img src=x onerror=alert(1)\\u0026gt;" in text
    assert '"\\u003cimg' not in text


def test_names_are_text_in_spreadsheets(hostile: Report) -> None:
    for name, data in hostile.csv_files().items():
        back = pd.read_csv(io.BytesIO(data), dtype=str, keep_default_na=False)
        for column in back.columns[back.map(lambda cell: cell.lstrip("'").startswith("=")).any()]:
            assert all(not cell.startswith("=") for cell in back[column]), name
    assert b"'=cmd()" in hostile.csv_files()[next(n for n in hostile.csv_files() if n.endswith("-classes.csv"))]


def test_names_are_text_in_latex(hostile: Report) -> None:
    known = r"(textbackslash|textless|textgreater|textasciitilde|textasciicircum|textbar|textbf|char\d+|usepackage|"
    known += r"begin|end|centering|caption|label|toprule|midrule|bottomrule)"
    for name, data in hostile.latex_files().items():
        lines = data.decode().splitlines()
        rows = [line.removesuffix(r" \\") for line in lines if line.endswith(r" \\")]
        assert len({len(re.findall(r"(?<!\\)&", row)) for row in rows}) == 1, name
        for line in [*rows, *(line for line in lines[1:] if not line.endswith(r" \\"))]:
            assert not re.search(rf"\\(?!{known}\b|[&%$#_{{}},])", line), (name, line)
            assert not line.startswith(("[", "*"))
    tex = next(data.decode() for name, data in hostile.latex_files().items() if name.endswith("-classes.tex"))
    assert r"\$\textbackslash{}input\{secret\}\$ 50\% \& \#1\_a" in tex


def test_archives_are_the_same_bytes_and_named_by_us(hostile: Report) -> None:
    first, second = hostile.table_files(), hostile.table_files()
    assert first == second
    names = zipfile.ZipFile(io.BytesIO(first)).namelist()
    assert all(re.fullmatch(r"table-S?\d\d-[a-z0-9-]+\.(csv|tex)", name) for name in names)
    assert re.fullmatch(r"calibration-report-[0-9a-f]{8}", hostile.stem)
    assert {name.rpartition(".")[0] for name in names if name.endswith(".tex")} == {
        name.rpartition(".")[0] for name in hostile.latex_files()
    }
    assert {name for name in names if name.endswith(".csv")} == set(hostile.csv_files())


HALF = PARTS["half"]


# -- paper ----------------------------------------------------------------------------------------------------


def test_figures_are_printed_at_the_width_of_a_column(made: Report) -> None:
    for _, figure in made.document.figures:
        for name, pixels, points in (("single", 326, 7.5), ("double", 672, 8.0)):
            layout = on_paper(figure.drawn, name)["layout"]
            assert layout["width"] == pixels
            assert layout["font"]["size"] * 72 / 96 == pytest.approx(points)


def test_printing_changes_no_figure(made: Report) -> None:
    figure: Figure = made.document.figures[0][1]
    before = figure.drawn.to_json()
    printed(figure.drawn, HALF)
    on_paper(figure.drawn, "single")
    assert figure.drawn.to_json() == before


def test_without_chromium_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch, made: Report) -> None:
    monkeypatch.setattr(chromium.shutil, "which", lambda name: None)
    with pytest.raises(InputError, match="apt-get install chromium"):
        chromium.pdf(made.html)


@pytest.fixture
def failing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a browser that ends with an error."""
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\necho 'no display' >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setattr(chromium.shutil, "which", lambda name: str(program))


@pytest.mark.usefixtures("failing")
def test_a_browser_that_fails_is_a_sentence() -> None:
    with pytest.raises(InputError, match=r"^Chromium ended with an error \(no display\)\.$"):
        chromium.pdf(b"<p>x</p>")


def test_a_score_that_recalibration_leaves_as_it_is_stands_once() -> None:
    assert _score(Request(chosen("temperature"), Options()), "accuracy")[1].endswith(" %, the same before and after")
    assert "same" not in _score(Request(chosen(), Options()), "accuracy")[1]
    assert "; Temperature scaling: " in _score(Request(chosen("temperature"), Options()), "log-loss")[1]


def test_the_headline_says_what_becomes_of_it_after_the_first_calibrators() -> None:
    ended: list[HeadlineAnswer] = []

    def run() -> Iterator[None]:
        ended.append((yield from headline(Request(chosen("temperature", "vector", "isotonic-ovr"), Options()))))

    list(run())
    request = Request(chosen("temperature", "vector", "isotonic-ovr"), Options())
    for block in (ended[0].block, _judged(request)):
        after = [text.partition(":")[0] for text in block.below if text.startswith("After ")]
        assert after == ["After temperature scaling", "After vector scaling"]


def test_the_first_page_has_the_sentences_of_the_overview() -> None:
    """Digits after temperature scaling: no confidence is near the one of the first sentence."""
    selection = chosen("temperature", source=Source(data="demo:digits-naive-bayes"))
    scene, ended = session.scene_of(selection), []

    def run() -> Iterator[None]:
        ended.append((yield from headline(Request(selection, Options()))))

    list(run())
    block = ended[0].block
    base, after = (
        scene.get(wanted).answer(scene.asked_about) for wanted in EXHIBITS.make("hero").answers(scene).values()
    )
    assert not after.near
    assert block.text.startswith(base.headline)
    assert f"After temperature scaling: {inside(after.headline)}" in block.below
    assert base.basis in block.small
    assert after.basis in block.small
    (model,) = scene.models.recalibrated
    assert after.upper <= judged(model).confidence.max() < scene.asked_about - 0.03


def test_the_lines_of_a_legend_take_no_room_from_the_picture() -> None:
    inner, heights = set(), []
    for n in (2, 5, 8):
        names = go.Figure([go.Scatter(x=[1], y=[1], name=f"a model, number {i}") for i in range(n)])
        layout = printed(names, HALF)["layout"]
        heights.append(layout["height"])
        inner.add(round(layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]))
    assert max(inner) - min(inner) <= 1
    assert heights[0] < heights[1] < heights[2]


def tables_of(columns: int, words: int = 0) -> TypesetTable:
    """Return a table with this many columns of numbers, after columns of words."""
    names = [f"name {i}" for i in range(words)]
    numbers = [f"number {i}" for i in range(columns)]
    frame = pd.DataFrame({name: ["Original model"] * 2 for name in names} | dict.fromkeys(numbers, [0.123456] * 2))
    return TypesetTable("x", "x", frame, (*map(document.text, names), *map(document.share, numbers)))


@pytest.mark.parametrize(("columns", "words"), [(3, 1), (9, 2), (40, 1), (40, 2), (1, 0)])
def test_a_table_wider_than_the_page_is_divided_between_columns(columns: int, words: int) -> None:
    table = tables_of(columns, words)
    parts = page.table_parts(table).columns
    naming = parts[0][: max(words, 1)]
    assert [i for part in parts for i in part if i not in naming or part is parts[0]] == [*range(columns + words)]
    assert all(part[: len(naming)] == naming for part in parts)
    assert (len(parts) > 1) == (columns == 40)
    lengths = [len(part) for part in parts]
    assert max(lengths) - min(lengths) <= len(parts)


def test_a_sentence_next_to_a_long_one_gets_the_width_that_the_page_allows() -> None:
    sentence, between = "This calibrator has no guarantee for new rows.", "about as wide as 150 pixels"
    frame = pd.DataFrame({"name": ["a"], "why": [sentence], "note": ["one of many classes, " * 20]})
    names = tuple(map(document.text, frame.columns))
    parts = page.table_parts(TypesetTable("x", "x", frame, names))
    assert parts.sentence == parts.least[1] - (parts.least[2] - parts.sentence) == 220
    assert [parts.look(cell, False) for cell in ("no", between, sentence)] == ["line", "", "words"]
    full = frame.assign(**dict.fromkeys("bcdef", 0.123))
    crowded = page.table_parts(TypesetTable("x", "x", full, (*names, *map(document.share, "bcdef"))))
    assert crowded.sentence < 220
    assert sum(crowded.least) <= 672


def test_the_recipe_names_every_file_that_is_read() -> None:
    table = b"p,label\n0.5,1\n"
    first, second, third = (session.hold(table + b"0.4,0\n" * (3 + i), f"{name}.csv") for i, name in enumerate("abc"))
    selection = Selection(source=Source(data=first.key, test=second.key), others=((third.key, "c"),))
    files = json.loads(recipe.written(selection, Options()))["files"]
    assert files == {file.key: file.digest for file in (first, second, third)}


@pytest.mark.parametrize(("part", "in_the_legend"), [("full", False), ("flat", True)])
def test_a_plot_too_low_for_labels_next_to_marks_has_a_legend_for_them(part: str, in_the_legend: bool) -> None:
    rng = np.random.default_rng(0)
    risks = rng.random(400)
    rows = cc.Predictions(np.column_stack([1 - risks, risks]), rng.random(400) < risks)
    spec = printed(cc.figures.draw(cc.diagrams.reliability(rows)), PARTS[part])
    labels = [note for note in spec["layout"].get("annotations", ()) if note.get("name") == DIRECT]
    named = [trace for trace in spec["data"] if isinstance(trace.get("meta"), dict) and trace["meta"].get(DIRECT)]
    assert named
    assert bool(labels) != in_the_legend
    assert {bool(trace.get("showlegend")) for trace in named} == {in_the_legend}


def test_where_no_model_can_be_shown_the_report_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = SimpleNamespace(shown=(), refused=(("Original model", "these rows cannot be judged"),))
    monkeypatch.setattr(Request, "models", refused)
    with pytest.raises(InputError, match="these rows cannot be judged"):
        report.build(chosen(), Options())


def test_progress_of_pictures_ends_at_the_end(made: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chromium, "_drawn", lambda specs: {(kind, i): b"" for kind in ("svg", "png") for i in specs})
    monkeypatch.setattr(chromium, "_sheet", lambda *_: "")
    monkeypatch.setattr(chromium, "pdf", lambda _: b"")
    shares: list[float] = []
    chromium.pictures(made.document, "double", pdfs=True, progress=shares.append)
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.5, 1.0)


@pytest.mark.parametrize("part", ["half", "main", "low"])
def test_the_strip_of_rows_keeps_room_for_its_title_however_low_a_figure_is(part) -> None:
    rows = cc.Predictions([[0.7, 0.3]] * 30 + [[0.9, 0.1]] * 30, [0, 1] * 30)
    layout = printed(cc.figures.reliability(cc.diagrams.reliability(rows, 10)), PARTS[part])["layout"]
    size = layout["font"]["size"]
    inner = layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]
    gap = (layout["yaxis"]["domain"][0] - layout["yaxis2"]["domain"][1]) * inner
    # Numbers of the axis below its line, and above the strip its title; in between they do not touch.
    assert gap > 3 + (size - 1) * 1.2 + 6 + size * 1.3


@pytest.mark.parametrize("part", ["half", "main", "low"])
def test_the_number_of_events_is_below_the_stars_of_a_risk_without_events(part) -> None:
    rows = cc.Predictions([[0.7, 0.3]] * 30 + [[0.9, 0.1]] * 30, [0, 1] * 30)
    spec = printed(cc.figures.risk_diagram(cc.diagrams.risk_diagram(rows)), PARTS[part])
    layout, stars = spec["layout"], next(trace for trace in spec["data"] if "star" in str(trace.get("marker")))
    inner = layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]
    low, high = layout["yaxis"]["domain"]
    below_zero = -layout["yaxis"]["range"][0] / np.ptp(layout["yaxis"]["range"]) * (high - low)
    gap = (low - layout["yaxis2"]["domain"][1] + below_zero) * inner
    assert gap > layout["font"]["size"] * 1.3 + np.max(stars["marker"]["size"]) / 2


# -- two classes ----------------------------------------------------------------------------------------------


def risks(times: float, n: int = 600) -> str:
    """Return a file of risks that are too high by this factor."""
    rng = np.random.default_rng(5)
    risk = rng.uniform(0.05, 0.6, n)
    died = rng.random(n) < risk / times
    lines = (f"{a:.4f},{int(b)}" for a, b in zip(risk, died, strict=True))
    return session.hold("\n".join(["risk,died", *lines]).encode(), f"risk-{times:g}.csv").key


@pytest.fixture(scope="module")
def of_risk() -> Report:
    """Return a report on risks twice too high."""
    selection = Selection(calibrators=(), source=Source(data=risks(2)))
    return report.build(selection, Options(date=DATE, left_out=("calibrators", "methods", "again", "data")))


def test_page_one_of_two_classes_is_about_the_event(of_risk: Report) -> None:
    first, *_ = of_risk.document.sections
    page_one = list(within(first.blocks))
    headline = next(block for block in page_one if isinstance(block, Headline))
    assert headline.text.startswith("Of rows given a risk of about ")
    assert headline.text.endswith(" died. Such risks are too high.")
    assert "event: died" in of_risk.document.about
    session_rows = session.scene_of(Selection(source=Source(data=risks(2)))).models.shown[0]
    found = cc.risk.in_the_large(judged(session_rows))
    numbers = f"{found.expected:,.0f} events were expected and {found.events:,.0f} observed."
    assert headline.below[0].startswith(f"Over all rows, predicted risks are too high: {numbers}")
    facts = {name: text for block in page_one if isinstance(block, FactList) for name, text in block.items}
    assert facts["Event"].startswith(f"“died”: {found.events:,.0f} of 600 rows")
    assert facts["Observed : expected"].startswith(f"{score(found.ratio)} (")
    for name, value in (("Intercept", found.intercept), ("Slope", found.slope)):
        low, high = (getattr(found, f"{name.lower()}_{end}") for end in ("low", "high"))
        assert facts[name] == f"{score(value)} ({measured_between(low, high, 'score')})"
    few = f"These rows contain only {found.events:,.0f} events."
    assert any(isinstance(block, Paragraph) and few in block.text for block in page_one)
    printed_now = [block for block in first.blocks if not isinstance(block, Folded)]
    said = " ".join(getattr(block, "text", "") + getattr(block, "caption", "") for block in within(printed_now))
    assert "confidence" not in said.replace("confidence interval", "")


@pytest.mark.parametrize("part", [0.6, 0.95, 1.05])
def test_an_interval_is_called_wider_than_its_tolerance_where_it_is(part: float) -> None:
    """On a log scale, an interval from 0.8 to 1.25 has the width of the tolerance of 1.25."""
    large = cc.risk.in_the_large(judged(session.scene_of(Selection(source=Source(data=risks(1)))).models.shown[0]))
    width = math.log(large.ratio_high) - math.log(large.ratio_low)
    scene = session.scene_of(Selection(source=Source(data=risks(1)), ratio=math.exp(width / 2 / part)))
    texts = for_event.limits(scene, SimpleNamespace(table=None))  # type: ignore[arg-type]
    assert any("wider than its tolerance" in text for text in texts) == (part > 1)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("low", "high"), [(1, 1), (2, 1), (1, 2), (0.6, 1), (1, 0.7)])
def test_a_headline_calls_risks_too_high_only_where_its_own_rows_show_it(low: float, high: float) -> None:
    rng = np.random.default_rng(8)
    risk = rng.uniform(0.02, 0.65, 900)
    died = rng.random(900) < risk / np.where(risk < 0.5, low, high)
    lines = (f"{a:.4f},{int(b)}" for a, b in zip(risk, died, strict=True))
    key = session.hold("\n".join(["risk,died", *lines]).encode(), f"risk-{low:g}-{high:g}.csv").key
    selection = Selection(calibrators=(), source=Source(data=key))
    scene = session.scene_of(selection)
    title = scene.models.shown[0].title
    answer = scene.get(EXHIBITS.make("hero").answers(scene)[title]).answer(scene.asked_about)
    large = cc.risk.in_the_large(judged(scene.models.shown[0]))
    others = tuple(chapter.key for chapter in CHAPTERS if chapter.key != "summary")
    block = report.build(selection, Options(date=DATE, left_out=others)).document.sections[0].blocks[0]
    assert isinstance(block, Headline)
    # Where these rows show no gap and others do, the page opens with the others.
    opening = off_elsewhere(scene, answer)
    found = scene.get(EXHIBITS.make("findings").table(scene))
    assert bool(opening) == (answer.gap is None and bool(found["stands_out"].any()))
    # On paper no slider chooses the risk, so rows without a significant gap have no sentence then.
    of_rows, of_all = "" if opening else block.text, block.below[0]
    assert not opening or block.text == opening
    for text, low_end, claimed, high_end in (
        (of_rows, answer.low, answer.claimed, answer.high),
        (of_all, large.observed_low, large.mean_predicted, large.observed_high),
    ):
        assert not (low_end <= claimed <= high_end and ("too high" in text or "too low" in text)), text
        assert "too high" not in text or claimed > high_end
        assert "too low" not in text or claimed < low_end
    assert ("too" in of_rows) == (answer.gap is not None) == (high != 1)
    assert ("too" in of_all) == large.differs == ((low, high) != (1, 1))


def test_chapters_about_the_class_predicted_are_made_on_request(of_risk: Report) -> None:
    assert "classes" not in [section.key for section in of_risk.document.sections]
    selection = Selection(calibrators=(), source=Source(data=risks(2)))
    others = tuple(chapter.key for chapter in CHAPTERS if chapter.key != "classes")
    asked = report.build(selection, Options(date=DATE, left_out=others, added=("classes",)))
    assert [section.title for section in asked.document.sections] == ["Confidence by predicted class"]


def test_risks_that_are_right_are_not_called_too_high() -> None:
    others = tuple(chapter.key for chapter in CHAPTERS if chapter.key != "summary")
    selection = Selection(calibrators=(), source=Source(data=risks(1)))
    made = report.build(selection, Options(date=DATE, left_out=others))
    assert "too high" not in made.document.sections[0].blocks[0].text


def test_the_settings_say_the_share_of_the_rows_that_calibrators_are_fitted_on() -> None:
    selection = chosen("temperature", source=Source("demo:wine-logistic", share=0.3, by="share"))
    frame = settings_table(Request(selection, Options())).frame.set_index("setting")["value"]
    parts = session.parts(selection.source)
    share = float(frame["share of calibration rows"])
    assert share == 0.3
    assert parts.fit.n_rows == pytest.approx(share * (parts.fit.n_rows + parts.test.n_rows), abs=2)


def test_the_data_card_tells_rows_to_fit_from_rows_to_judge() -> None:
    rows = cc.calls.divide(judged(session.scene_of(chosen()).models.shown[0]), share=0.2)
    assert _rows(rows) == f"{rows.fit.n_rows:,} to fit calibrators, {rows.test.n_rows:,} to judge"
    assert rows.fit.n_rows < rows.test.n_rows


def test_a_slope_that_is_off_leads_every_page_where_no_place_is_off() -> None:
    rng = np.random.default_rng(1)
    logit = rng.normal(-0.9, 1.3, 500)
    risk, died = 1 / (1 + np.exp(-logit)), rng.random(500) < 1 / (1 + np.exp(-0.7 * logit))
    lines = (f"{a:.12f},{int(b)}" for a, b in zip(risk, died, strict=True))
    key = session.hold("\n".join(["risk,died", *lines]).encode(), "slope.csv").key
    scene = session.scene_of(Selection(calibrators=(), source=Source(data=key)))
    model = scene.models.shown[0]
    answer = next(iter(EXHIBITS.make("hero").opening(scene).values()))
    assert not scene.get(EXHIBITS.make("findings").table(scene))["stands_out"].any()
    slope = cc.text.score(cc.risk.in_the_large(judged(model)).slope)
    firsts = [EXHIBITS.make(name).words(scene).headline[0] for name in ("findings", "reliability")]
    for text in (*firsts, off_elsewhere(scene, answer)):
        assert text.startswith("The risks are too extreme")
        assert slope in text


@pytest.mark.parametrize(("events", "few"), [(150, "150 events"), (450, "150 rows without the event"), (300, "")])
def test_few_events_and_few_rows_without_one_are_named(events: int, few: str) -> None:
    died = np.arange(600) < events
    lines = [f"{0.3 + 0.4 * d + i / 6000:.5f},{int(d)}" for i, d in enumerate(died)]
    key = session.hold("\n".join(["risk,died", *lines]).encode(), f"events-{events}.csv").key
    scene = session.scene_of(Selection(calibrators=(), source=Source(data=key, folds=2, by="folds")))
    said = [text for text in for_event.limits(scene, ExhibitParts("Reliability"))
            if text.startswith("These rows contain only")]  # fmt: skip
    assert [few in text for text in said] == ([True] if few else [])


def test_a_test_file_is_described_by_its_own_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(data_section, "found", lambda key, changed: asked.append((key, changed)) or iter(()))
    monkeypatch.setattr(data_section, "exhibited", lambda *of: iter(()))
    monkeypatch.setattr(data_section.session, "scene_of", lambda selection: None)
    source = Source(data="a", reading="r", test="b", test_reading="s")
    list(data_section.blocks(SimpleNamespace(selection=Selection(source=source))))
    assert asked == [("a", "r"), ("b", "s")]


def test_weighted_rows_with_dates_have_a_report_without_periods() -> None:
    rng = np.random.default_rng(0)
    risk, day = rng.uniform(0.1, 0.6, 200), np.datetime64("2026-01-01") + np.arange(200)
    frame = pd.DataFrame({"risk": risk, "died": (rng.random(200) < risk).astype(int), "w": rng.uniform(0.5, 2, 200)})
    key = session.hold(frame.assign(seen=day.astype(str)).to_csv(index=False).encode(), "weighted.csv").key
    request = Request(chosen(source=Source(data=key, reading='{"weights":"w"}')), Options())
    told = [block.text for block in slices.blocks(request) if isinstance(block, Paragraph)]
    assert "Periods are compared for rows without weights, as they arrive." in told


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        ("within", ", but within the tolerance"),
        ("too close to call", ", but perhaps within the tolerance"),
        ("too few rows to tell", ", but perhaps within the tolerance"),
        ("miscalibrated", ""),
        (None, ""),
    ],
)
def test_a_significant_gap_is_only_said_to_be_tolerated_if_the_verdict_shows_it(monkeypatch, verdict, said):
    monkeypatch.setattr(front_page.line_words, "primaries", lambda scene: None)
    primary = SimpleNamespace(line=SimpleNamespace(verdict=verdict))
    scene = SimpleNamespace(titles=["a", "b"], get=lambda call: {"b": None, "a": primary})
    assert front_page._proven(SimpleNamespace(scene=scene)) == said


def test_few_rows_per_bin_are_counted_and_so_are_those_below_a_bin_of_most_rows():
    frame = pd.DataFrame({"model": "a", "count": [7.0, 0.0, FEW_ROWS, 5.0, 300.0], "lower": [0.5, 0.6, 0.7, 0.8, 0.95]})
    frame = pd.concat([frame, frame.assign(model="b", count=1.0)])
    stars = SimpleNamespace(table=SimpleNamespace(frame=frame[frame["count"] > 0]))
    few, most = front_page._thin(SimpleNamespace(titles=["a", "b"]), stars)
    assert few.startswith(f"2 bins contain fewer than {FEW_ROWS} rows (12 rows in all, hollow marks)")
    rest = 12 + FEW_ROWS
    assert most.endswith(f"a confidence above 95 %; only {rest} rows have a lower confidence.")
