"""Numbers and names as people read them: fixed digits for tables and axes, and text that stays text in a figure."""

import html
import math
import re

_THIN_SPACE = "\u202f"
_NOT_DEFINED = "not defined"


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
    return html.escape(without_controls(text), quote=False)


# Those that reorder what stands around them count too.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


def without_controls(text: object) -> str:
    """The text with control characters, line breaks and marks of direction as spaces."""
    return _CONTROLS.sub(" ", str(text))
