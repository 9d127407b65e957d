"""Names that could become code in any output, next to harmless ones in the same places.

Both outputs must have the same structure for any parser. Structure means elements of a page, tokens of Markdown, the
tree of a Python module, or macros of a LaTeX file. Readers see each name, except for characters that must be hidden.
"""

from __future__ import annotations

import io
import json
import re
import tempfile
import unicodedata
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from tests.support import text_structures as structures

Names: TypeAlias = tuple[str, ...]

NAMES: Names = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    '<a href="javascript:alert(1)">a</a>',
    "[b](javascript:alert(1))",
    "![c](http://x.example/c.png)",
    "javascript:alert(1)",
    "http://x.example/d",
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)",
    "+1+cmd",
    "-2+3+cmd",
    '"""+__import__("os").getcwd()+"""',
    "'); import os; ('",
    "e\\",
    r"\input{secret} 50% & #1_f^2",
    r"$\href{javascript:alert(1)}{g}$",
    ":red[h] :smile: $x$ `y` **z** ~~w~~",
    "%{y}<extra></extra>",
    "{{7*7}} ${7*7} {% raw %}",
    "\x1b[31mi\x1b]0;t\x07",
    "cat\u202egod",
    "::error file=a,title=b::%0Aj",
    "##[error]k",
    "|l|",
    "--- - m: n # o",
    "null",
    "NaN",
    "p--q ''r'' ?`s",
    "_t",
    "u" * 150,
)
TWINS: Names = tuple(f"name {'abcdefghijklmnopqrstuvwxyz'[j % 26] * (1 + j // 26)}" for j in range(len(NAMES)))
"""The same number of harmless names."""


@dataclass(frozen=True)
class Outlet:
    """Output that contains names of classes (or files, ``of_files``), its structure, and its visible text."""

    written: Callable[[Names], str]
    structure: Callable[[str], Any]
    seen: Callable[[str], str]
    shows: bool = True
    """True if the names are visible in it."""


def faults(outlet: Outlet) -> dict[str, str]:
    """Return the fault for each of the names in an output; empty if there is none."""
    page, twin = outlet.written(NAMES), outlet.written(TWINS)
    if outlet.structure(page) != outlet.structure(twin):
        return dict.fromkeys(NAMES, "what is written has another structure than with harmless names")
    seen = _readable(outlet.seen(page))
    missing = [name for name in NAMES if outlet.shows and _readable(name)[:30] not in seen]
    return dict.fromkeys(missing, "is not what a reader sees")


def _readable(text: str) -> str:
    """Return the text without control characters, direction marks and blanks, and without their replacements."""
    plain = re.sub(r"\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\N{REPLACEMENT CHARACTER}", "", text)
    return "".join(c for c in plain if unicodedata.category(c) not in ("Cc", "Cf", "Zs"))


# -- output ---------------------------------------------------------------------------------------------------


@lru_cache(2)
def predictions(names: Names) -> Any:
    """Return rows whose classes have these names, and a column with such values."""
    import calib_core as cc

    rng = np.random.default_rng(0)
    z = 2 * rng.standard_normal((300, len(names)))
    labels = (z - np.log(rng.standard_exponential(z.shape))).argmax(1)
    probs = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    values = np.array(names, dtype=object)[np.arange(300) % len(names)]
    return cc.Predictions(probs, labels, class_names=names, metadata=pd.DataFrame({"site": values}))


def frame(names: Names) -> pd.DataFrame:
    """Return the same as a table: one column per class, labels by name."""
    rows = predictions(names)
    columns = {name: rows.probs[:, j] for j, name in enumerate(names)}
    return pd.DataFrame({**columns, "label": np.array(names, dtype=object)[rows.true_labels], **rows.metadata})


@cache
def folder(names: Names) -> tempfile.TemporaryDirectory[str]:
    """Return a folder with the table, its labels, its scores, and a calibrator fitted on it."""
    made = tempfile.TemporaryDirectory()
    table = frame(names).assign(id=range(300))
    table.to_csv(f"{made.name}/a.csv", index=False)
    table[["label", "id"]].to_csv(f"{made.name}/labels.csv", index=False)
    table.drop(columns="label").to_csv(f"{made.name}/scores.csv", index=False)
    _run(made.name, "fit", "a.csv", "--calibrator", "top-label-hb", "-o", "cal.json")
    return made


def _run(here: str, *words: str) -> str:
    from click.testing import CliRunner

    from dashboard.cli import main

    with chdir(here):
        # Lines are wrapped by the length of names: in a terminal as wide as this, none is.
        ended = CliRunner(env={"COLUMNS": "100000"}).invoke(main, words, prog_name="calib")
    assert ended.exit_code == 0, ended.output
    return ended.stdout


def command(*words: str) -> Callable[[Names], str]:
    """Return a function that returns a command's printed output."""
    return lambda names: _run(folder(names).name, *words)


def output(file: str, *words: str) -> Callable[[Names], str]:
    """Return a function that returns the file that a command writes."""

    def written(names: Names) -> str:
        here = folder(names).name
        _run(here, *words, "-o", file)
        return Path(here, file).read_bytes().decode("utf-8", "backslashreplace")

    return written


def passages(names: Names) -> list[Any]:
    """Return results for files with these names, none of which the gate could read."""
    from dashboard.commands._passages import Passage

    return [Passage(Path(name), name, 0.0, why=f"{name} is no table of {name}") for name in names]


@lru_cache(2)
def handout(names: Names) -> Any:
    """Return the handout of a file with the first name that contains the table."""
    from dashboard import session
    from dashboard.integrations.handout import Handout
    from dashboard.selection import Selection

    key = session.hold(frame(names).to_csv(index=False).encode(), f"{names[0]} {names[3]} {names[15]}.csv").key
    return Handout(Selection().replace(data=key, by="folds", folds=2))


def classes(names: Names) -> Any:
    """Return the table of classes as the report prints it."""
    from dashboard.report.document import TypesetTable

    shown, found = handout(names).exhibit("classes")
    return TypesetTable("classes", f"Of {names[14]} and {names[7]}", found, shown.columns(found))


def copied(names: Names) -> str:
    """Return the table of classes as Python that reads the file."""
    from dashboard.exhibits import EXHIBITS

    return str(EXHIBITS.make("classes").python(handout(names).scene))


def display(names: Names) -> str:
    """Return the reliability diagram of models with these names, drawn by Matplotlib."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    import calib_core as cc

    rows = predictions(TWINS)
    figure = Figure(figsize=(6, 12))
    axes = figure.subplots()
    bands = cc.diagrams.reliability_bands(rows, 5)
    for name in names:
        cc.diagrams.matplotlib_display.ReliabilityDisplay(bands, name=name, says=name, right=name).plot(
            axes, bands=False, intervals=False, ref_line=False
        )
    page = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "one"}):
        figure.savefig(page, format="svg", metadata={"Date": None})
    return page.getvalue()


def gate(names: Names) -> str:
    """Return the gate's output for missing files."""
    from click.testing import CliRunner

    from dashboard.cli import main

    return CliRunner().invoke(main, ["gate", "--max-ece", "0.1", "--", *names], prog_name="calib").output


def diagram(names: Names) -> Any:
    """Return a diagram with each class as a line."""
    import calib_core as cc

    return cc.diagrams.class_table(predictions(names))


def figure(names: Names) -> str:
    """Return the same drawn, as JSON."""
    from calib_core import figures

    return str(figures.class_table({name: diagram(names) for name in names[:3]}, classes=range(len(names))).to_json())


def on_github(names: Names) -> str:
    """Return a line for each file."""
    from dashboard.commands._passages import annotation

    return "\n".join(map(annotation, passages(names)))


def report(names: Names) -> Any:
    """Return a report whose title and author are also such names."""
    from dashboard.report import Options

    left_out = ("estimators", "calibrators")
    return handout(names).report(Options(title=names[0], author=names[3], date="A day", left_out=left_out))


def on_paper(page: bytes) -> str:
    """Return a page printed to PDF, its bytes as characters."""
    from dashboard.report import chromium

    return chromium.pdf(page).decode("latin-1")


def screen(names: Names) -> str:
    """Return names in the Markdown of a page, as labels and in a table of the step's summary."""
    from dashboard.theme import label_plain, markdown_plain

    return "\n\n".join([*map(markdown_plain, names), *map(label_plain, names)])


def _summary(names: Names) -> str:
    from dashboard.commands._passages import summary

    return summary(passages(names))


def _junit(names: Names) -> str:
    from dashboard.commands._passages import junit

    return junit(passages(names)).decode()


def _shown_in_a_notebook(names: Names) -> str:
    return str(predictions(names)._repr_mimebundle_()["text/html"])


def _lines_of_record(text: str) -> Any:
    """Return the kinds of values in a record; what it states about odd names of its file has no harmless twin."""
    return structures.values(json.dumps({**json.loads(text), "findings": []}))


OUTLETS: dict[str, Outlet] = {
    "terminal": Outlet(command("show", "classes", "a.csv"), structures.terminal, str),
    "terminal, slices": Outlet(command("slices", "a.csv"), structures.terminal, str, shows=False),
    "terminal, files": Outlet(gate, structures.terminal, str, shows=False),
    "JSON of a command": Outlet(command("slices", "a.csv", "--json"), _lines_of_record, structures.strings),
    "JSON of a calibrator": Outlet(output("again.json", "fit", "a.csv", "--calibrator", "top-label-hb"),
                                   structures.values, structures.strings, shows=False),
    "JSON of a handout": Outlet(lambda names: handout(names).json(), structures.values, structures.strings,
                                shows=False),
    "JSON Lines": Outlet(output("out.jsonl", "apply", "cal.json", "a.csv"), structures.values, structures.strings),
    "CSV, recalibrated": Outlet(output("out.csv", "apply", "cal.json", "a.csv"), structures.cells,
                                structures.cell_texts),
    "CSV, joined": Outlet(output("both.csv", "join", "scores.csv", "labels.csv", "--key", "id"), structures.cells,
                                structures.cell_texts),
    "CSV of the report": Outlet(lambda names: classes(names).csv().decode(), structures.cells,
                                structures.cell_texts),
    "LaTeX": Outlet(lambda names: classes(names).latex(), structures.macros, structures.typeset),
    "Python module": Outlet(output("c.py", "export", "cal.json"), structures.tree, str, shows=False),
    "Python, copied": Outlet(copied, structures.tree, str, shows=False),
    "ONNX": Outlet(output("c.onnx", "export", "cal.json"), str, str, shows=False),
    "notebook": Outlet(_shown_in_a_notebook, structures.notebook, structures.texts, shows=False),
    "notebook, diagram": Outlet(lambda names: diagram(names)._repr_mimebundle_()["text/html"], structures.notebook,
                                structures.texts, shows=False),
    "figure and hover": Outlet(figure, structures.marks, structures.figure_texts),
    "Matplotlib": Outlet(display, structures.drawn, structures.texts),
    "model card": Outlet(lambda names: handout(names).model_card(), structures.card, str, shows=False),
    "trackers": Outlet(lambda names: "\n".join(handout(names).numbers()), structures.terminal, str, shows=False),
    "GitHub": Outlet(on_github, structures.annotations, structures.annotated),
    "Markdown": Outlet(_summary, structures.tokens, structures.rendered),
    "JUnit": Outlet(_junit, structures.xml, structures.xml_texts),
    "screen": Outlet(screen, structures.tokens, structures.rendered),
}  # fmt: skip
"""Outputs that contain names."""
REPORT = Outlet(lambda names: report(names).html.decode(), structures.kinds_of_elements, structures.texts)
"""Page of a report, which takes seconds."""
PDF = Outlet(lambda names: on_paper(report(names).html), structures.actions, str, shows=False)
"""That page on paper, which needs a browser."""
