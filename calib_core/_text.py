"""Numbers and names as people read them: fixed digits for tables and axes, and text that stays text in a figure."""

import html
import math
import re
from collections.abc import Sequence

_NOT_DEFINED = "not defined"


def percent(value: float, digits: int = 1) -> str:
    """Format a fraction as a percentage.

    >>> percent(0.9371), percent(0.5, digits=0), percent(float("nan"))
    ('93.7 %', '50 %', 'not defined')
    """
    return f"{100 * value:.{digits}f} %" if math.isfinite(value) else _NOT_DEFINED


def count(number: int) -> str:
    """Format a count with commas between the thousands.

    >>> count(1234567), count(42)
    ('1,234,567', '42')
    """
    return f"{number:,}"


def first_few(names: Sequence[str], most: int = 3) -> str:
    """The first few names, and how many more there are.

    >>> first_few(["a", "b", "c"], most=2), first_few(["a"])
    ('a, b and 1 more', 'a')
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {count(more)} more" if more > 0 else "")


def several(number: int, things: str = "rows") -> str:
    """How many of something that is said in the plural where there are more than one, or none.

    >>> several(1234), several(1, "correct rows"), several(0)
    ('1,234 rows', '1 correct row', '0 rows')
    """
    return f"{number:,} {things.removesuffix('s') if number == 1 else things}"


def points_of(percentage: str) -> str:
    """What is written in percent, as percentage points.

    >>> points_of("2.5 %"), points_of("1 %")
    ('2.5 points', '1 point')
    """
    number = percentage.removesuffix(" %")
    return f"{number} point" if number == "1" else f"{number} points"


def begun(text: str) -> str:
    """A sentence begun: the first letter large.

    >>> begun("no row is wrong.")
    'No row is wrong.'
    """
    return text[:1].upper() + text[1:]


def called(name: str) -> str:
    """A class in a sentence.

    >>> called("8"), called("cat")
    ('class 8', '\u201ccat\u201d')
    """
    return f"class {name}" if name.isdigit() else f"\u201c{name}\u201d"


_NAMES = ("Brier", "Dirichlet", "Gaussian", "Meta-Cal", "Platt", "Sierpinski", "Silverman")


def inside(title: object) -> str:
    """A title in the middle of a sentence: the first letter small, unless a name or an abbreviation begins it.

    >>> [inside(title) for title in ("Temperature scaling", "ECE by kernel densities", "Dirichlet calibration")]
    ['temperature scaling', 'ECE by kernel densities', 'Dirichlet calibration']
    """
    text = str(title)
    return text if text[:2].isupper() or text.startswith(_NAMES) else text[:1].lower() + text[1:]


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


_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def inert(value: object) -> object:
    """A text cell as it is, unless a spreadsheet would compute it: then with an apostrophe in front.

    >>> inert("=1+1"), inert("cat"), inert(-0.5)
    ("'=1+1", 'cat', -0.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA_STARTS) else value


def latex_escaped(text: str) -> str:
    r"""Text as LaTeX prints it: no character of it is a command, a comment, a column or a line's end.

    A bracket or a star at the start would be read as an argument of the line's end before it: braces part them, and
    hyphens and apostrophes in a row, which would be printed as one sign.

    >>> print(latex_escaped(r"50% of $\input{x}$"), latex_escaped("[1] a_b"))
    50\% of \$\textbackslash{}input\{x\}\$ {}[1] a\_b
    """
    plain = _LIGATURES.sub("{}", without_controls(text).translate(_LATEX)).replace(_DASH, "--")
    return "{}" + plain if plain.startswith(("[", "*")) else plain


_DASH = "\0"
_LIGATURES = re.compile(r"(?<=-)(?=-)|(?<=')(?=')")
_LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"{\char34}",
        "`": r"{\char96}",
        "–": _DASH,
        "−": "$-$",
        "\u202f": r"\,",
        "\u00a0": "~",
    }
)
