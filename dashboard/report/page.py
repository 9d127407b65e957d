"""Report as one self-contained HTML file: text escaped, scripts and style allowed only by their hashes."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from plotly.offline import get_plotlyjs

from dashboard.exhibits.line_words import READING
from dashboard.report.document import Document, Figure, TypesetTable
from dashboard.report.picture import PARTS, as_json, printed, script_safe
from dashboard.theme import unbroken

_MAP_STYLES = re.compile(r'getElementById\("([0-9a-f]{64})"\)')
"""Pattern of plotly.js's check for the style sheet of its maps: an element of that name prevents adding it."""


def html_page(document: Document, version: str) -> bytes:
    """Return the report as a page that contains plotly.js once.

    Its content security policy forbids every request, and every script and style sheet except its own. Any text of the
    user stays text.
    """
    style, (plotly, draw) = _asset("page.css"), scripts()
    numbered = (*document.tables, *document.figures)
    text = _template().render(
        document=document,
        version=version,
        policy=policy((plotly, draw), (style, "")),
        style=style,
        draw=draw,
        plotly=plotly,
        kept_out=_MAP_STYLES.findall(plotly),
        recipe=script_safe(document.recipe),
        figures=as_json({str(i): printed(figure.drawn, PARTS[figure.width]) for i, figure in document.figures}),
        number={block: i for i, block in numbered},
        caption=_captions(document),
    )
    return text.encode()


def _captions(document: Document) -> dict[TypesetTable | Figure, str]:
    """Return the captions of tables and figures; the explanation of estimates precedes the first table of estimates."""
    figures: dict[TypesetTable | Figure, str] = {f: f.caption.replace(f" {READING}", "") for _, f in document.figures}
    tables: dict[TypesetTable | Figure, str] = {}
    for _, table in document.tables:
        first = not any(READING in text for text in tables.values())
        tables[table] = table.caption if first else table.caption.replace(f" {READING}", "")
    return {**figures, **tables}


def scripts() -> tuple[str, str]:
    """Return the scripts of a report: plotly.js, and the code that draws the figures with it."""
    return plotly_js(), _asset("page.js")


def policy(scripts: tuple[str, ...], styles: tuple[str, ...]) -> str:
    """Return a content security policy that allows only these inline scripts and styles, and images within the file.

    Plotly fills an empty style element rule by rule, so that the empty text is one of the styles. It also sets style
    attributes, which cannot fetch anything because images come from within the file.
    """
    script, style = (" ".join(_digest(text) for text in texts) for texts in (scripts, styles))
    return (
        f"default-src 'none'; script-src {script}; style-src {style}; style-src-elem {style}; "
        "style-src-attr 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


@cache
def plotly_js() -> str:
    """Return plotly.js for a script element: the small bundle that draws the charts on screen."""
    small = resources.files("dashboard") / "chart" / "assets" / "plotly-basic.min.js"
    # The whole library, four times as large, draws the same figures.
    text: Any = small.read_text(encoding="utf-8") if small.is_file() else get_plotlyjs()
    # The end tag of a script element inside the library's own strings would end it.
    return str(text).replace("</script", "<\\/script")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_printable
    )
    environment.filters["kept"] = unbroken
    return environment.from_string(_asset("page.html"))


def _printable(value: object) -> object:
    """Remove invisible characters that reorder text or end a line; our own parts stay unchanged."""
    return _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", value) if type(value) is str else value


_UNSEEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@cache
def _asset(name: str) -> str:
    return resources.files("dashboard.report").joinpath(name).read_text(encoding="utf-8")
