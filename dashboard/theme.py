"""How the dashboard looks: colours, markers, templates, number formats and the two text escapers.

Figures carry no theme of their own: `dashboard.chart` dresses them in the template of the page they are shown
on, and an export dresses them with `figure_template(dark=False)`. So one figure serves both themes, and a
switch of theme needs no new computation.
"""

import html
import math
import re
from dataclasses import dataclass
from functools import cache

import plotly.graph_objects as go
import plotly.io as pio

__all__ = [
    "CELLS",
    "DIVERGING",
    "HOLDS",
    "REFERENCE",
    "SEQUENTIAL",
    "Style",
    "count",
    "error",
    "figure_template",
    "markdown_plain",
    "percent",
    "plain",
    "style",
]

# Okabe and Ito's palette without black (near-black literals vanish on the dark page) and without yellow
# (1.3:1 on white). The first four keep 2.9:1 or better on both pages; the later ones lean on marker and dash.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C8C8C")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")

HOLDS = {
    "full": "a probability for every class",
    "per-class": "a probability for every class, rows need not sum to one",
    "top-label": "the predicted class and its confidence only",
    "confidence": "confidence and whether it was right only",
}
"""What each kind of predictions holds, in words."""

CELLS = (*_COLOURS, "#8F6BD9", "#999933", "#A65E3A")
"""Ten colours for the cells of a partition, taken round: neighbours are told apart, ten cells on may look the same."""

REFERENCE = "#808080"
"""Colour of what is not data (the diagonal, zero lines): 3.9:1 or better on both pages."""

SEQUENTIAL = "Cividis"
"""Plotly's name of the colour scale for ordered, unsigned values."""

DIVERGING = ((0.0, "#0072B2"), (0.25, "#7FB6D8"), (0.5, "#F0F0F0"), (0.75, "#EBA27A"), (1.0, "#D55E00"))
"""Colour scale for signed gaps: blue below zero, vermillion above. Draw with the middle at 0 (`zmid=0`)."""

_THIN_SPACE = "\u202f"
_NOT_DEFINED = "not defined"


@dataclass(frozen=True)
class Style:
    """The look of series `i`: colour, marker and dash say the same thing, for readers who see few colours."""

    colour: str
    symbol: str
    dash: str


def style(i: int) -> Style:
    """Return the look of series `i`; equal numbers look equal in every figure.

    The three lists have lengths without a small common multiple, so the first 168 series all differ.

    >>> style(0)
    Style(colour='#0072B2', symbol='circle', dash='solid')
    >>> style(7).colour == style(0).colour, style(7) == style(0)
    (True, False)
    """
    return Style(_COLOURS[i % len(_COLOURS)], _SYMBOLS[i % len(_SYMBOLS)], _DASHES[i % len(_DASHES)])


@dataclass(frozen=True)
class _Page:
    background: str
    text: str
    grid: str
    line: str


# The backgrounds and text colours are Streamlit's own; on the page they are read again from its style sheet.
_LIGHT = _Page(background="#ffffff", text="#2f2d2b", grid="#e4e4e2", line="#8a8a88")
_DARK = _Page(background="#171614", text="#edebe8", grid="#3a3936", line="#8a8a88")
_NAMES = {False: "calib_light", True: "calib_dark"}


@cache
def figure_template(dark: bool) -> go.layout.Template:
    """Return the Plotly template of the light or the dark page.

    It is registered in `plotly.io.templates` as `calib_light` or `calib_dark`.
    """
    template = _template(_DARK if dark else _LIGHT)
    pio.templates[_NAMES[dark]] = template
    return template


def error(value: float) -> str:
    """Format a calibration error or another small number in probability units: four decimals.

    >>> error(0.01234), error(-0.0000001), error(float("nan"))
    ('0.0123', '0.0000', 'not defined')
    """
    if not math.isfinite(value):
        return _NOT_DEFINED
    return f"{value:.4f}".replace("-0.0000", "0.0000")


def p_value(value: float) -> str:
    """Format a p-value: three decimals, or that it is smaller than they can say.

    >>> p_value(0.04), p_value(1e-9)
    ('0.040', '< 0.001')
    """
    return f"{value:.3f}" if value >= 0.0005 else "< 0.001"


def percent(value: float, digits: int = 1) -> str:
    """Format a fraction as a percentage.

    >>> percent(0.9371), percent(0.5, digits=0), percent(float("nan"))
    ('93.7%', '50%', 'not defined')
    """
    return f"{100 * value:.{digits}f}%" if math.isfinite(value) else _NOT_DEFINED


def count(number: int) -> str:
    """Format a count with narrow no-break spaces between the thousands.

    >>> count(1234567).split("\\u202f"), count(42)
    (['1', '234', '567'], '42')
    """
    return f"{number:,}".replace(",", _THIN_SPACE)


def plain(text: object) -> str:
    """Escape text for a Plotly figure, whose texts are read as HTML: tags, links and styles lose their force.

    Control characters and newlines become spaces. A name that goes into a hover text must travel through
    `customdata` or `text`, never inside `hovertemplate`, where `%{...}` would be interpreted.

    >>> plain('<a href="https://example.org">cat</a>')
    '&lt;a href="https://example.org"&gt;cat&lt;/a&gt;'
    >>> plain("two\\nlines & more")
    'two lines &amp; more'
    """
    return html.escape(_without_controls(text), quote=False)


def markdown_plain(text: object) -> str:
    r"""Escape text for a Streamlit element that reads Markdown (labels, captions, metrics, messages, options).

    Every ASCII punctuation mark is escaped, so that images, links, colours and formulas are shown as they were
    written. What is replaced after the escapes are read (bare addresses, `:icon:` names, `->` and its like) is
    broken by a zero-width space.

    >>> print(markdown_plain("![x](y) $a$"))
    \!\[x\]\(y\) \$a\$
    >>> "://" in markdown_plain("https://example.org").replace("\\", "")
    False
    """
    broken = _LATE_MARKUP.sub("\u200b", _without_controls(text))
    return _PUNCTUATION.sub(r"\\\g<0>", broken)


# Those that reorder what stands around them count too.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
# Places inside `scheme://`, `mailto:`, `:icon:`, `www.`, `a@b`, and the signs that Streamlit makes one arrow of.
_LATE_MARKUP = re.compile(r"(?<=:)(?=[\w/+-])|(?<=[wW]{3})(?=\.)|(?=@)|(?<=[<>~-])(?=[-=>])")


def _without_controls(text: object) -> str:
    return _CONTROLS.sub(" ", str(text))


def _template(page: _Page) -> go.layout.Template:
    axis = {
        "gridcolor": page.grid,
        "linecolor": page.line,
        "zerolinecolor": page.grid,
        "tickcolor": page.line,
        "ticks": "outside",
        "showline": True,
        "automargin": True,
        "title": {"standoff": 8, "font": {"size": 14}},
    }
    return go.layout.Template(
        layout={
            "paper_bgcolor": page.background,
            "plot_bgcolor": page.background,
            "font": {"family": '"Source Sans", "Source Sans 3", sans-serif', "size": 14, "color": page.text},
            "colorway": list(_COLOURS),
            "colorscale": {"sequential": SEQUENTIAL, "sequentialminus": SEQUENTIAL, "diverging": DIVERGING},
            "coloraxis": {"colorbar": {"outlinewidth": 0, "thickness": 14}},
            "xaxis": axis,
            "yaxis": axis,
            "hovermode": "closest",
            "hoverlabel": {
                "bgcolor": page.background,
                "bordercolor": page.line,
                "font": {"color": page.text},
                "align": "left",
            },
            # Below and measured from the picture's edge: Plotly then makes room for it under the axis title.
            "legend": {"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0, "x": 0},
            "margin": {"l": 56, "r": 16, "t": 24, "b": 40},
            "title": {
                "x": 0,
                "xanchor": "left",
                "yref": "container",
                "y": 1,
                "yanchor": "top",
                "pad": {"t": 6, "b": 10},
                "automargin": True,
                "font": {"size": 16},
            },
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": page.line, "activecolor": page.text},
        },
        data={
            "heatmap": [{"colorscale": SEQUENTIAL, "colorbar": {"outlinewidth": 0, "thickness": 14}}],
            "bar": [{"marker": {"line": {"width": 0}}}],
        },
    )


for _dark in _NAMES:
    figure_template(_dark)
