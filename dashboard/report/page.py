"""A report as one HTML file that needs no other: text escaped, scripts and style allowed by their hashes only."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from plotly.offline import get_plotlyjs

from dashboard.report.document import Document
from dashboard.report.picture import DOUBLE, as_json, printed, script_safe

_MAP_STYLES = re.compile(r'getElementById\("([0-9a-f]{64})"\)')
"""Where plotly.js looks for the style sheet of its maps: it adds none where an element of that name is."""


def html_page(document: Document, version: str) -> bytes:
    """The report as a page, plotly.js in it once.

    Its content security policy forbids every request, and every script and style sheet but those it was made with:
    user text in it stays text, whatever it says.
    """
    style, draw, plotly = _asset("page.css"), _asset("page.js"), plotly_js()
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
        figures=as_json({str(i): printed(figure.drawn, DOUBLE) for i, figure in document.figures}),
        number={block: i for i, block in numbered},
    )
    return text.encode()


def policy(scripts: tuple[str, ...], styles: tuple[str, ...]) -> str:
    """A content security policy that allows these inline scripts and styles, images within the file, and nothing else.

    Plotly fills an empty style element rule by rule, so that the empty text is one of the styles, and sets style
    attributes, which can fetch nothing where images come from within.
    """
    script, style = (" ".join(_digest(text) for text in texts) for texts in (scripts, styles))
    return (
        f"default-src 'none'; script-src {script}; style-src {style}; style-src-elem {style}; "
        "style-src-attr 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


@cache
def plotly_js() -> str:
    """plotly.js as the plotly package ships it, fit for a script element."""
    # The end of a script element inside the library's own strings would end it.
    text: Any = get_plotlyjs()
    return str(text).replace("</script", "<\\/script")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_printable
    )
    return environment.from_string(_asset("page.html"))


def _printable(value: object) -> object:
    """Text without characters that are not seen and reorder or end a line; our own parts as they are."""
    return _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", value) if type(value) is str else value


_UNSEEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@cache
def _asset(name: str) -> str:
    return resources.files("dashboard.report").joinpath(name).read_text(encoding="utf-8")
