"""The report of a validation: every item of TRIPOD+AI, numbers of the library, marked gaps; the same as Word."""

from __future__ import annotations

import io
import math
import re
from base64 import b64decode
from pathlib import Path

import docx
import pandas as pd
import pytest
from click.testing import CliRunner
from docx.enum.text import WD_COLOR_INDEX

import calib_core as cc
from calib_core import InputError, Recipe
from calib_core.defaults import LEVEL, SEED
from calib_core.inference.noise.noise_floor import RESAMPLES
from calib_core.registry.citations import WORKS
from calib_core.risk.smooth_curve import DRAWS
from calib_core.text import in_percent, latex_escaped, score
from dashboard import report, session
from dashboard.cli import main
from dashboard.exhibits import EXHIBITS
from dashboard.report import Options, Report
from dashboard.report.chromium import Picture
from dashboard.report.document import (
    Blank,
    Bullets,
    Code,
    Document,
    FlowChart,
    FlowStep,
    Heading,
    Paragraph,
    Section,
    TypesetTable,
    within,
)
from dashboard.report.latex import latex_file
from dashboard.report.page import html_page
from dashboard.report.sections.validation.items import flow_chart
from dashboard.report.sections.validation.tripod import ANSWERED, AUTHOR, SECTIONS
from dashboard.report.word import word_file
from dashboard.selection import Selection, Source
from dashboard.session.shell import report_line
from dashboard.theme import unbroken
from tests.support.named import HOSTILE

ITEMS = [item for items in SECTIONS.values() for item in items]
HOSPITALS = Selection(
    source=Source(data="demo:hospital-risk", by="folds"),
    calibrators=(),
    exhibits=(EXHIBITS.described("net-benefit", threshold=0.2),),
)
PIXEL = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


@pytest.fixture(scope="module")
def made() -> Report:
    return report.build(HOSPITALS, Options(author="A. Author", date="A day", style="validation"))


def blocks(made: Report, kind: type) -> list:
    return [block for section in made.document.sections for block in within(section.blocks) if isinstance(block, kind)]


def text_of(made: Report, key: str) -> str:
    section = next(section for section in made.document.sections if section.key == key)
    return " ".join(block.text for block in within(section.blocks) if isinstance(block, Paragraph))


def test_every_item_has_a_heading_and_what_the_author_fills_in(made: Report) -> None:
    headings = [block.text for block in blocks(made, Heading)]
    assert [text for text in headings if "(item " in text] == [f"{item.topic} (item {item.number})" for item in ITEMS]
    assert len({item.number for item in ITEMS}) == len(ITEMS) == 44
    assert [(gap.item, gap.text) for gap in blocks(made, Blank)] == [(i.number, i.blank) for i in ITEMS if i.blank]
    page = made.html.decode()
    assert page.count('<p class="gap">') == len(blocks(made, Blank))


def test_the_checklist_says_what_is_left(made: Report) -> None:
    (table,) = (table.frame for table in blocks(made, TypesetTable) if table.name == "tripod")
    assert table["item"].tolist() == [item.number for item in ITEMS]
    answered = dict(zip(table["item"], table["answered"], strict=True))
    assert {answered[number] for number in ("12e", "21", "23a", "23b", "24")} == {ANSWERED}
    assert {answered[number] for number in ("3a", "5b", "17", "18a", "20c")} == {AUTHOR}


def test_its_numbers_are_those_of_the_library(made: Report) -> None:
    rows = cc.read_predictions(*cc.datasets.demo("hospital-risk"), rows="all")
    summary = cc.risk.summary(rows).set_index("measure")
    abstract = text_of(made, "abstract")
    assert "Of 4,000 rows, 580 (14.5 %) died; 603 were expected." in abstract
    for measure in ("ratio", "intercept", "slope", "auroc", "brier"):
        assert f" {score(summary.loc[measure, 'value'])}" in abstract, measure
    tables = {table.name: table.frame for table in blocks(made, TypesetTable)}
    assert tables["row-flow"]["rows"].tolist() == [4000, 4000, 4000]
    assert tables["characteristics-by"].equals(cc.slices.characteristics(rows, "hospital", event="“died”").wide())
    sites = cc.slices.between(rows, "hospital").frame()
    assert tables["sites"]["ratio"].tolist() == sites["ratio"].tolist()
    assert tables["net-benefit"]["acted"].tolist()[0] == (rows.probs[:, 1] > 0.2).mean()


def test_the_methods_name_levels_and_seeds_in_use_and_cite_works_that_are_listed(made: Report) -> None:
    methods = text_of(made, "study-methods")
    assert f"Intervals have a level of {in_percent(LEVEL)}" in methods
    assert f"{RESAMPLES:,} draws of the outcomes from the predicted risks (seed {SEED})" in methods
    assert f"{DRAWS} draws of the fitted coefficients (seed {SEED})" in methods
    assert "tolerance is 2 %; that of O:E is 0.8 to 1.25" in methods
    assert "Method: Clopper and Pearson's ends at the effective sample size." in methods
    cited = {
        f"{name} ({year})"
        for name, year in re.findall(r"([A-Z][\w.]+(?: (?:and [A-Z]\w+|et al\.))?),? \(?(\d{4})\)", methods)
    }
    assert len(cited) >= 10
    names = [name for name in WORKS if any(name.endswith(each) for each in cited)]
    (listed,) = [b for s in made.document.sections if s.key == "references" for b in s.blocks if isinstance(b, Bullets)]
    assert {WORKS[name] for name in names} <= set(listed.items)
    assert len(names) >= len(cited) - 3, "names of people that are no citation"


def test_its_recipe_makes_it_again(made: Report) -> None:
    assert report.again(made.html, "A day").html == made.html
    assert "--style validation" in made.html.decode()


def test_other_choices_are_named_in_it() -> None:
    chosen = HOSPITALS.replace(exhibits=(), calibrators=(Recipe("CALIBRATORS", "intercept"),), within="hospital=River")
    kept = ("abstract", "study-methods", "results")
    left_out = tuple(key for key in (*SECTIONS, "references", "checklist", "again") if key not in kept)
    made = report.build(chosen, Options(style="validation", left_out=left_out, date="A day"))
    methods = text_of(made, "study-methods")
    assert "Only rows with hospital = River are evaluated." in methods
    assert "Updates that were fitted and judged: Intercept update." in methods
    results = [gap.text for gap in blocks(made, Blank) if gap.item == "23a"]
    assert len(results) == 1
    assert "calib report --threshold" in results[0]


def test_weighted_rows_are_said_to_be_weighted() -> None:
    n = 600
    risk = [0.1 + 0.8 * i / n for i in range(n)]
    lines = [f"{p:.4f},{int(i % 10 < 10 * p)},{1 + i % 3 / 2}" for i, p in enumerate(risk)]
    key = session.hold("\n".join(["risk,died,w", *lines]).encode(), "weighted.csv").key
    source = Source(data=key, reading='{"weights":"w"}', by="folds")
    left_out = tuple(key for key in (*SECTIONS, "references", "checklist", "again") if key not in ("abstract",))
    options = Options(style="validation", left_out=left_out, date="A day")
    made = report.build(Selection(source=source, calibrators=()), options)
    assert "With their weights, of 600 rows, " in text_of(made, "abstract")


def test_it_is_about_an_event() -> None:
    with pytest.raises(InputError, match="A validation by TRIPOD\\+AI is about the risk of an event of two classes"):
        report.build(Selection(source=Source(data="demo:wine-logistic"), calibrators=()), Options(style="validation"))


def test_the_word_file_has_the_same_text_tables_and_figures(made: Report) -> None:
    figures = {number: Picture(PIXEL, 5.0) for number, _ in made.document.figures[:1]}
    data = word_file(made.document, figures)
    assert data == word_file(made.document, figures)
    opened = docx.Document(io.BytesIO(data))
    texts = [paragraph.text.replace("\N{NO-BREAK SPACE}", " ") for paragraph in opened.paragraphs]
    for block in (*blocks(made, Heading), *(b for b in blocks(made, Paragraph) if not b.aside)):
        own = unbroken(block.text).replace("\N{NO-BREAK SPACE}", " ")
        assert any(own in text for text in texts), own
    yellow = [p.text for p in opened.paragraphs if any(r.font.highlight_color == WD_COLOR_INDEX.YELLOW for r in p.runs)]
    assert yellow == [f"{gap.lead} {gap.text}" for gap in blocks(made, Blank)]
    printed = [table for number, table in made.document.tables if table.cells and not number.startswith("S")]
    cells = {cell.text.replace("\N{NO-BREAK SPACE}", " ") for t in opened.tables for r in t.rows for cell in r.cells}
    wanted = {unbroken(cell) for table in printed for line in table.cells for cell in line}
    assert {cell.replace("\N{NO-BREAK SPACE}", " ") for cell in wanted} <= cells
    assert len(opened.inline_shapes) == 1
    assert sum("is in the HTML file" in text for text in texts) == len(made.document.figures) - 1
    assert (opened.core_properties.author, opened.core_properties.language) == ("A. Author", "en-US")


def test_no_text_of_a_user_breaks_the_word_file() -> None:
    title = f"{HOSTILE} \x00\x1b\u202e <b>&amp;"
    small = Selection(source=Source(data="demo:wine-logistic"), calibrators=())
    left_out = tuple(chapter.key for chapter in report.CHAPTERS if chapter.key != "data")
    made = report.build(small, Options(title=title, left_out=left_out, date="A day"))
    opened = docx.Document(io.BytesIO(word_file(made.document, {})))
    shown = opened.paragraphs[0].text
    assert "<b>&amp;" in shown
    assert not any(letter in shown for letter in "\x00\x1b\u202e")


@pytest.mark.parametrize(("options", "rows"), [((), "--folds 7"), (("--judge", "held-out"), "--choices by=share")])
def test_the_command_judges_every_row_unless_told_otherwise(
    options: tuple[str, ...], rows: str, tmp_path: Path
) -> None:
    page = tmp_path / "r.html"
    words = ["demo:hospital-risk", "--style", "validation", "--only", "again", *options, "-o", str(page)]
    assert CliRunner().invoke(main, ["report", *words]).exit_code == 0
    assert f"calib report demo:hospital-risk -o report.html {rows} --style validation" in page.read_text("utf-8")


def test_groups_fewer_than_folds_are_divided_as_ever(tmp_path: Path) -> None:
    lines = [f"0.{i % 9 + 1},{i % 2},{'abcd'[i % 4]}" for i in range(1200)]
    file = tmp_path / "few.csv"
    file.write_text("\n".join(["risk,died,site", *lines]), "utf-8")
    words = [str(file), "--read", "group=site", "--style", "validation", "--only", "again"]
    result = CliRunner().invoke(main, ["report", *words, "-o", str(tmp_path / "r.html")])
    assert result.exit_code == 0, result.output


def test_the_command_has_the_threshold_as_an_option() -> None:
    chosen = Selection(style="validation").with_exhibit(EXHIBITS.described("net-benefit", threshold=0.2))
    assert "--threshold 0.2 --style validation" in report_line(chosen)
    assert "--choices" not in report_line(chosen)
    also = chosen.with_exhibit(EXHIBITS.described("estimators", slow=True))
    assert "--choices" in report_line(also)
    assert "--threshold" not in report_line(also)
    assert "--threshold" not in report_line(chosen.replace(style="review"))


# -- flow and LaTeX -------------------------------------------------------------------------------------------


def test_the_flow_has_boxes_with_and_without_the_event_and_reasons_to_their_right() -> None:
    flow = pd.DataFrame(
        [
            ("rows in the file", "", 10, math.nan),
            ("left out", "no value in p", 1, math.nan),
            ("left out", "no value in died", 2, math.nan),
            ("rows with a prediction and an outcome", "", 7, 3.0),
            ("left out", "other than age=40..", 3, 1.0),
            ("judged", "", 4, 2.0),
        ],
        columns=["step", "reason", "rows", "events"],
    )
    found = flow_chart(flow, "“died”")
    assert [step.title for step in found.steps] == [
        "Rows in the file",
        "Rows with a prediction and an outcome",
        "Judged",
    ]
    assert [step.lines for step in found.steps] == [
        ("10 rows",),
        ("7 rows", "with “died”: 3; without: 4"),
        ("4 rows", "with “died”: 2; without: 2"),
    ]
    assert [step.left_out for step in found.steps] == [
        ("no value in p: 1 row", "no value in died: 2 rows"),
        ("other than age=40..: 3 rows",),
        (),
    ]
    made = Document("T", "", "", "", (Section("flow", "Flow", (found,)),))
    page = html_page(made, "0").decode()
    assert page.count('<p class="box') == 5
    assert "<b>Left out</b><br>no value in p: 1 row<br>no value in died: 2 rows" in page.replace("\u00a0", " ")
    (table,) = docx.Document(io.BytesIO(word_file(made, {}))).tables
    cells = [[cell.text for cell in row.cells] for row in table.rows]
    assert cells[1] == ["\N{DOWNWARDS ARROW}", "Left out\nno value in p: 1 row\nno value in died: 2 rows"]
    assert cells[2][0] == "Rows with a prediction and an outcome\n7 rows\nwith “died”: 3; without: 4"
    assert len(cells) == 5


KNOWN = """
documentclass usepackage setlength setcounter newcommand DeclareUnicodeCharacter begin end par gap drawn section
subsection textbf small Large bfseries footnotesize scriptsize ttfamily item toprule midrule bottomrule endhead
endfoot raggedright raggedleft arraybackslash linewidth tabcolsep fbox parbox centering hspace downarrow rightarrow
nopagebreak ensuremath ge le approx tau colorbox IfFileExists includegraphics parindent parskip emergencystretch
textless textgreater textbackslash textbar textasciitilde textasciicircum char
"""


def test_the_latex_file_has_the_text_the_gaps_and_every_table(made: Report) -> None:
    text = made.latex().decode()
    plain = re.sub(r"\\[{}]", "", text)
    assert plain.count("{") == plain.count("}")
    opened, closed = (re.findall(rf"\\{word}\{{(\w+)\}}", text) for word in ("begin", "end"))
    assert sorted(opened) == sorted(closed)
    assert set(re.findall(r"\\([a-zA-Z]+)", text)) <= set(KNOWN.split())
    # What pdfTeX's input encoding lacks is declared in the file.
    declared = {chr(int(code, 16)) for code in re.findall(r"DeclareUnicodeCharacter\{(\w+)\}", text)}
    assert {letter for letter in text if ord(letter) > 126} <= declared | set("“”‘’…²·×±é")
    assert text.count(r"\gap{") == len(blocks(made, Blank))
    for item in ITEMS:
        assert f"(item {item.number})}}" in text
    printed = [number for number, table in made.document.tables if table.cells and not number.startswith("S")]
    assert re.findall(r"\\textbf\{Table (\w+)\.\}", text) == printed
    assert re.findall(r"\\drawn\{figure-(\d+)\.pdf\}", text) == [f"{i:02d}" for i, _ in made.document.figures]
    for table in re.findall(r"\\begin\{longtable\}(.*?)\\end\{longtable\}", text, re.DOTALL):
        columns = table.splitlines()[0].count("p{")
        lines = [line for line in table.splitlines() if line.endswith(r" \\")]
        assert {len(re.findall(r"(?<!\\)&", line)) + 1 for line in lines} == {columns}
        widths = [float(width) for width in re.findall(r"p\{([\d.]+)", table.splitlines()[0])]
        assert 0.6 < sum(widths) < 1


def test_names_are_text_in_the_latex_file() -> None:
    evil = "\\input{x} $1 & 50 % #_^~"
    parts = (Heading(evil), Paragraph(evil, evil), Bullets((evil,)), Code(evil, evil), Blank(evil, "1"))
    steps = FlowChart(evil, (FlowStep(evil, (evil,), (evil,)), FlowStep(evil, (evil,))))
    text = latex_file(Document(evil, evil, evil, evil, (Section("k", evil, (*parts, steps)),)))
    assert text.count(latex_escaped(evil)) == 4 + 1 + 2 + 1 + 1 + 2 + 1 + 6
    assert not re.search(r"\\(?!text)input", text.split("begin{document}")[1])
