"""Format numbers and names for readers: fixed digits for tables and axes, and escaped text for figures."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Literal, TypeAlias

from calib_core.defaults import SIGNIFICANCE

_NOT_DEFINED = "not defined"


_HALF = 0.5 + 1e-9
"""Added before truncation: a half, plus a margin for rounding errors such as in 100 * 0.285."""


def rounded(number: float, decimals: int = 0) -> str:
    """Format a number with a fixed number of decimals; halves are rounded away from 0.

    All shares and differences of shares are printed with this rule, in sentences, tables and figures.
    Python's own formatting rounds 50.5 to 50, but 51.5 to 52.

    >>> rounded(50.5), rounded(51.5), rounded(-50.5), rounded(100 * 0.285), rounded(3.25, 1)
    ('51', '52', '-51', '29', '3.3')
    """
    if not math.isfinite(number) or abs(number) >= _EXACT or decimals > _MOST_DECIMALS:
        return f"{number:.{decimals}f}"
    unit = 10**decimals
    return f"{math.copysign(math.floor(abs(number) * unit + _HALF) / unit, number):.{decimals}f}"


_EXACT = 1e6
_MOST_DECIMALS = 6
"""Beyond these limits, rounding errors of a number are as large as the digit to be rounded."""


def percent(value: float, digits: int = 1) -> str:
    """Format a fraction as a percentage.

    >>> percent(0.9371), percent(0.505, digits=0), percent(-0.1), percent(float("nan"))
    ('93.7 %', '51 %', '−10.0 %', 'not defined')
    """
    return f"{with_minus(rounded(100 * value, digits))} %" if math.isfinite(value) else _NOT_DEFINED


def with_minus(number: str) -> str:
    """Replace the hyphen of a negative number by a minus sign, for readers.

    >>> with_minus("-1.26"), with_minus("1.26")
    ('−1.26', '1.26')
    """
    return number.replace("-", "−")


def count(number: int) -> str:
    """Format a count with commas between the thousands.

    >>> count(1234567), count(42)
    ('1,234,567', '42')
    """
    return f"{number:,}"


_LONGEST_NAME = 80


def listed(names: Sequence[str], last: str = "and") -> str:
    """List names in a sentence, with ``last`` ("and" or "or") before the last one.

    >>> listed(["a", "b", "c"]), listed(["a", "b"], "or"), listed(["a"]), listed([])
    ('a, b and c', 'a or b', 'a', '')
    """
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def first_few(names: Sequence[str], most: int = 3) -> str:
    """List the first few names, each cut at 80 characters, and the number of further ones.

    >>> first_few(["a", "b", "c"], most=2), first_few(["a"])
    ('a, b and 1 more', 'a')
    """
    more = len(names) - most
    return ", ".join(name[:_LONGEST_NAME] for name in names[:most]) + (f" and {count(more)} more" if more > 0 else "")


def several(number: int, things: str = "rows") -> str:
    """Format a number of things, with the singular for one.

    >>> several(1234), several(1, "correct rows"), several(0)
    ('1,234 rows', '1 correct row', '0 rows')
    """
    return f"{number:,} {things.removesuffix('s') if number == 1 else things}"


def points_of(percentage: str) -> str:
    """Convert a text in percent to percentage points.

    >>> points_of("2.5 %"), points_of("1 %")
    ('2.5 points', '1 point')
    """
    number = percentage.removesuffix(" %")
    return f"{number} point" if number == "1" else f"{number} points"


def begun(text: str) -> str:
    """Capitalize the first letter of a sentence.

    >>> begun("no row is wrong.")
    'No row is wrong.'
    """
    return text[:1].upper() + text[1:]


def called(name: str) -> str:
    """Format the name of a class for a sentence.

    >>> called("8"), called("cat")
    ('class 8', '\u201ccat\u201d')
    """
    return f"class {name}" if name.isdigit() else f"\u201c{name}\u201d"


_NAMES = ("Brier", "Dirichlet", "Gaussian", "Meta-Cal", "Platt", "Sierpinski", "Silverman", "Venn-ABERS")


def inside(title: object) -> str:
    """Format a title for the middle of a sentence: lower case, unless it begins with a name or an abbreviation.

    >>> [inside(title) for title in ("Temperature scaling", "ECE by kernel densities", "Dirichlet calibration")]
    ['temperature scaling', 'ECE by kernel densities', 'Dirichlet calibration']
    """
    text = str(title)
    return text if text[:2].isupper() or text.startswith(_NAMES) else text[:1].lower() + text[1:]


def plain(text: object) -> str:
    """Escape text for a Plotly figure, which reads texts as HTML: tags, links and styles become plain text.

    Control characters and newlines become spaces. A name that goes into a hover text must travel through
    `customdata` or `text`, never inside `hovertemplate`, where `%{...}` would be interpreted.

    >>> plain('<a href="https://example.org">cat</a>')
    '&lt;a href="https://example.org"&gt;cat&lt;/a&gt;'
    >>> plain("two\\nlines & more")
    'two lines &amp; more'
    """
    return html.escape(without_controls(text), quote=False)


# Characters that reorder the surrounding text count, too.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


def without_controls(text: object) -> str:
    """Replace control characters, line breaks and direction marks by spaces."""
    return _CONTROLS.sub(" ", str(text))


_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def inert(value: object) -> object:
    """Return a text cell, with an apostrophe in front if a spreadsheet would compute it.

    >>> inert("=1+1"), inert("cat"), inert(-0.5)
    ("'=1+1", 'cat', -0.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA_STARTS) else value


def latex_escaped(text: str) -> str:
    r"""Escape text for LaTeX, so that it contains no commands, comments, column separators or line ends.

    A bracket or a star at the start would be read as an argument of the preceding line end; braces prevent this. Braces
    also separate consecutive hyphens and apostrophes, which would be printed as one character.

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


Unit: TypeAlias = Literal["share", "square", "score"]
"""Unit of a number: a share of rows or of probability, a squared share, or a score."""


def short_percent(share: float, decimals: int | None = None) -> str:
    """Format a share in percent: two significant digits of it or of its distance from 100 %, or fixed ``decimals``.

    >>> [short_percent(x) for x in (0.0512, 0.00434, 0.123, 0.97456, 0.0, 1.0, 0.00004, 0.99996)]
    ['5.1 %', '0.43 %', '12 %', '97.5 %', '0 %', '100 %', '0.004 %', '99.996 %']
    """
    number = 100.0 * share
    if number == 0 or not math.isfinite(number):
        return f"{number:g} %"
    text = rounded(number, _decimals(share) if decimals is None else decimals)
    return f"{with_minus(text.rstrip('0').rstrip('.') if '.' in text else text)} %"


def _decimals(share: float) -> int:
    number = 100.0 * share
    near = min(abs(number), abs(100.0 - number)) or abs(number)
    return 0 if near >= 10 else min(8, max(1, 1 - math.floor(math.log10(near))) if near < 1 else 1)


def between(low: float, high: float, apart: float | None = None) -> str:
    """Format a range in percent, with enough digits to distinguish its ends, and both from ``apart`` if given.

    Near 100, the digits of an end are limited by the width of the range, and by those of the other end.

    >>> between(0.004, 0.0123), between(0.0062, 0.99985), between(0.999, 0.99985), between(0.986, 0.9927)
    ('0.4 to 1.2 %', '0.62 to 100 %', '99.9 to 99.985 %', '98.6 to 99.3 %')
    >>> between(0.01997, 0.13451, apart=0.02)
    '1.997 to 13 %'
    """
    width = 100 * abs(high - low)
    enough = max(1, 1 - math.floor(math.log10(width))) if 0 < width < math.inf else 8
    own = [min(_decimals(end), enough if end > 0.5 else 8) if end else 0 for end in (low, high)]
    if min(low, high) > 0.5 and (fewest := min(own)) and all(short_percent(e, fewest) != "100 %" for e in (low, high)):
        own = [fewest, fewest]
    for decimals in range(9):
        first, last = (_clear(end, max(decimals, least), apart) for end, least in zip((low, high), own, strict=True))
        if first != last or low == high:
            break
    return f"{first.removesuffix(' %')} to {last}"


def _clear(end: float, decimals: int, apart: float | None) -> str:
    """Format an end with this many decimals, or more if it would otherwise look equal to ``apart``."""
    if apart is not None and end != apart:
        marks = range(decimals, 9)
        decimals = next(
            (d for d in marks if short_percent(end, d) != short_percent(apart, max(d, _decimals(apart)))), decimals
        )
    return short_percent(end, decimals)


def in_percent(share: float) -> str:
    """Format a share for sentences: whole percent, with decimals near 0 and 100 %.

    >>> [in_percent(x) for x in (0.685, 0.9954, 0.99952, 1.0, 0.004)]
    ['69 %', '99.5 %', '99.95 %', '100 %', '0.4 %']
    """
    number = 100 * share
    if 2 <= number <= 98:
        return f"{rounded(number)} %"
    for decimals in (1, 2):
        text = rounded(number, decimals)
        if 0 < float(text) < 100:
            return f"{float(text):g} %"
    return short_percent(share)


def exact_range(low: float, high: float) -> str:
    """Format a range of confidences in percent with enough digits to be exact, so that no row between is excluded.

    Ends are exact if two decimals of a percent suffice. Otherwise they have one decimal, or more if they would be off
    by over a tenth of the range.

    >>> exact_range(0.87, 0.93), exact_range(13 / 15, 14 / 15), exact_range(0.985, 0.99), exact_range(14 / 15, 1.0)
    ('87 to 93 %', '86.7 to 93.3 %', '98.5 to 99 %', '93.3 to 100 %')
    >>> exact_range(0.0, 0.00044), exact_range(0.00044, 0.00129)
    ('0 to 0.04 %', '0.04 to 0.13 %')
    """
    texts: list[str] = []
    for least in range(1, 9):
        decimals = [_exact_decimals(end, least) for end in (low, high)]
        texts = [short_percent(end, places) for end, places in zip((low, high), decimals, strict=True)]
        off = (abs(round(100.0 * end, d) - 100.0 * end) for end, d in zip((low, high), decimals, strict=True))
        if low == high or max(off) <= _EDGE_OFF * 100.0 * (high - low):
            break
    return f"{texts[0].removesuffix(' %')} to {texts[1]}"


_EDGE_OFF = 0.1
"""Largest error of a printed end, as a share of its range."""


def exact_end(end: float) -> str:
    """Format one end of such a range.

    >>> exact_end(0.8), exact_end(2 / 3)
    ('80 %', '66.7 %')
    """
    return short_percent(end, _exact_decimals(end, 1))


def exact_tolerance(eps: float) -> str:
    """Format a tolerance in percent as given: up to two decimals, or more for very small ones.

    >>> exact_tolerance(0.02), exact_tolerance(0.105), exact_tolerance(0.00005)
    ('2 %', '10.5 %', '0.005 %')
    """
    return exact_end(eps) if eps >= 1e-4 else short_percent(eps)


def _exact_decimals(end: float, least: int) -> int:
    """Smallest number of decimals of a percent, at most two, that is exact; ``least`` if there is none."""
    return next((d for d in range(3) if abs(round(100.0 * end, d) - 100.0 * end) < 1e-6), least)


_SMALL_ENDS = 0.1
"""Share below which whole percents are too coarse."""


def share_range(low: float, high: float) -> str:
    """Format both ends of a range of shares as ``in_percent`` does, with enough digits to distinguish them.

    Ends nearer to 0 or 100 than two decimals can show are rounded outwards. Two ends below 10 % have two significant
    digits each.

    >>> share_range(0.568, 0.986), share_range(0.501, 0.502), share_range(0.981, 0.999987), share_range(0.029, 0.046)
    ('57 to 98.6 %', '50.1 to 50.2 %', '98.1 to 100 %', '2.9 to 4.6 %')
    """
    first, last = _outwards(low, math.floor), _outwards(high, math.ceil)
    small = 0.0 < low < high < _SMALL_ENDS
    return between(low, high) if first == last or small else f"{first.removesuffix(' %')} to {last}"


def _outwards(end: float, rounded: Callable[[float], int]) -> str:
    text = in_percent(end)
    decimals = text.removesuffix(" %").partition(".")[2]
    return f"{rounded(10_000 * end) / 100:g} %" if len(decimals) > 2 else text


def with_ratio(share: float, other: float) -> tuple[str, str]:
    """Format two shares as ``in_percent`` does; below 10 %, with enough digits for their ratio to be right to .25 %.

    >>> with_ratio(0.34524, 0.36667), with_ratio(0.034524, 0.036667), with_ratio(0.04, 0.02), with_ratio(0.05, 0.0)
    (('35 %', '37 %'), ('3.45 %', '3.67 %'), ('4.0 %', '2.0 %'), ('5 %', '0 %'))
    """
    if not 0.0 < min(share, other) < _SMALL_ENDS:
        return in_percent(share), in_percent(other)
    least = max(_decimals(share), _decimals(other))
    every = [(percent(share, decimals), percent(other, decimals)) for decimals in range(least, 9)]
    numbers = ([float(text.removesuffix(" %")) for text in texts] for texts in every)
    right = (
        texts for texts, (a, b) in zip(every, numbers, strict=True) if a and abs(b / a * share / other - 1) < 0.0025
    )
    return next(right, every[-1])


def told_apart(share: float, other: float, written: Callable[[float], str] = in_percent) -> tuple[str, str]:
    """Format two different shares as ``in_percent`` does, with equally many digits, enough to show the difference.

    For risks, which can be small, use ``short_percent`` as ``written``: two significant digits.

    >>> told_apart(0.704, 0.63), told_apart(0.704, 0.698), told_apart(0.70403, 0.704)
    (('70 %', '63 %'), ('70.4 %', '69.8 %'), ('70.403 %', '70.400 %'))
    >>> told_apart(0.0254, 0.022), told_apart(0.0254, 0.022, short_percent)
    (('3 %', '2 %'), ('2.5 %', '2.2 %'))
    """
    places = ((percent(share, decimals), percent(other, decimals)) for decimals in range(1, 9))
    usual = written(share), written(other)
    return next((texts for texts in chain((usual,), places) if texts[0] != texts[1]), usual)


def in_points(numbers: Sequence[float], apart: float | None = None) -> list[str]:
    """Format shares in percentage points, all with the same digits, so that their order is visible.

    The largest has two significant digits. There are more if the smallest and the largest would look equal, or if one
    of them would look like ``apart``. A dash replaces values that are not numbers.

    >>> in_points([0.0317, 0.0386, 0.0442], apart=0.02), in_points([0.0, 0.004, 0.01996], apart=0.02)
    (['3.2', '3.9', '4.4'], ['0.000', '0.400', '1.996'])
    """
    known = [number for number in numbers if math.isfinite(number)]
    least, largest = min(known, default=0.0), max(known, default=0.0)
    size = 100 * max(abs(least), abs(largest))
    fewest = 1 if size == 0 or size >= 1 else min(8, 1 - math.floor(math.log10(size)))

    def written(number: float, digits: int) -> str:
        return with_minus(rounded(100 * number, digits)) if math.isfinite(number) else "–"

    def clear(digits: int) -> bool:
        ends = {written(end, digits) for end in (least, largest)}
        marks = set() if apart is None or apart in (least, largest) else {written(apart, digits)}
        return (least == largest or len(ends) == 2) and not ends & marks

    digits = next((digits for digits in range(fewest, 9) if clear(digits)), fewest)
    return [written(number, digits) for number in numbers]


def points(difference: float) -> str:
    """Format a difference of two shares in percentage points: two significant digits, and its sign.

    >>> [points(x) for x in (0.0041, -0.0345, -0.123, 0.0, 0.01)]
    ['+0.41 points', '−3.5 points', '−12 points', '0 points', '+1 point']
    """
    sign = "+" if difference > 0 else "−" if difference < 0 else ""
    return f"{sign}{points_of(short_percent(abs(difference)))}"


def score(number: float) -> str:
    """Format a score or another number without a unit: three significant digits.

    >>> [score(x) for x in (0.42345, 12.3456, 1234.5, 0.0000123456, -0.05)]
    ['0.423', '12.3', '1,234', '0.0000123', '−0.05']
    """
    if number == 0 or not math.isfinite(number):
        return f"{number:g}"
    decimals = min(12, max(0, 2 - math.floor(math.log10(abs(number)))))
    text = with_minus(f"{number:,.{decimals}f}")
    return text.rstrip("0").rstrip(".") if "." in text else text


def score_apart(number: float, marks: Sequence[float]) -> str:
    """Format a score with enough digits to be on the right side of each of these marks.

    >>> score_apart(0.79961, [0.8, 1.25]), score_apart(0.42, [0.8]), score_apart(0.99987, [1.0])
    ('0.7996', '0.42', '0.9999')
    """
    text, decimals = score(number), 3
    while decimals < 12 and not _on_its_side(text, number, marks):
        text, decimals = with_minus(f"{number:.{decimals}f}").rstrip("0").rstrip("."), decimals + 1
    return text


def _on_its_side(text: str, number: float, marks: Sequence[float]) -> bool:
    """True if a number, as written, is on the right side of each mark."""
    shown = float(text.replace(",", "").replace("−", "-"))
    return all((shown > mark) == (number > mark) and (shown < mark) == (number < mark) for mark in marks)


def measured(number: float, unit: Unit) -> str:
    """Format a number in its unit: shares in percent, others with three significant digits.

    >>> measured(0.0512, "share"), measured(0.0512, "score")
    ('5.1 %', '0.0512')
    """
    return short_percent(number) if unit == "share" else score(number)


def measured_between(low: float, high: float, unit: Unit, apart: float | None = None) -> str:
    """Format a range with its unit once; ``apart`` as in `between`.

    >>> measured_between(0.0512, 0.063, "share"), measured_between(0.31, 0.42, "score")
    ('5.1 to 6.3 %', '0.31 to 0.42')
    >>> measured_between(0.0002, 0.00040004, "square", apart=0.0004)
    '0.0002 to 0.00040004'
    """
    if unit == "share":
        return between(low, high, apart)
    marks = [] if apart is None else [apart]
    return f"{score_apart(low, marks)} to {score_apart(high, marks)}"


def difference(number: float, unit: Unit) -> str:
    """Format a difference in its unit: shares in points, others with three significant digits.

    >>> difference(-0.0345, "share"), difference(0.0345, "score")
    ('−3.5 points', '+0.0345')
    """
    return points(number) if unit == "share" else f"{'+' * (number > 0)}{score(number)}"


def of_rows(number: float, worth: float | None = None, groups: float | None = None) -> str:
    """Format a number of rows, with their effective sample size if they are grouped or weighted.

    >>> of_rows(1), of_rows(361, 361.0), of_rows(361, 48.2, 14), of_rows(1000, 623.1)
    ('1 row', '361 rows', '361 rows in 14 groups, effective sample size 48', '1,000 rows, effective sample size 623')
    """
    text = f"{number:,.0f} {'row' if number == 1 else 'rows'}"
    if worth is None or not math.isfinite(worth) or math.isclose(worth, number, rel_tol=1e-6):
        return text
    size = f"{worth:,.0f}" if worth >= 10 else f"{worth:.2g}"
    if groups is None:
        return f"{text}, effective sample size {size}"
    together = f"{groups:,.0f} {'group' if groups == 1 else 'groups'}"
    return f"{text} in {together}, effective sample size {size}"


def rows(number: float, digits: int = 2) -> str:
    """Format an approximate number of rows: two digits, or as many as given, rounded up.

    >>> rows(1234), rows(87.2), rows(1234, 1)
    ('1,300', '88', '2,000')
    """
    return f"{rounded_up(number, digits):,}"


def rounded_up(number: float, digits: int = 2) -> int:
    """Round an approximate number of rows up to two digits, or as many as given.

    >>> rounded_up(1234)
    1300
    """
    unit = 10.0 ** max(0, math.floor(math.log10(max(number, 1.0))) + 1 - digits)
    return int(math.ceil(number / unit - 1e-9) * unit)


def events(number: float) -> str:
    """Format a number of expected events: whole numbers below 1,000, so that they agree with the rows they need.

    >>> events(121.3), events(12345)
    ('122', '13,000')
    """
    return rows(number) if number > 999 else str(math.ceil(number - 1e-9))


def chance(p: float) -> str:
    """Format a p-value: two significant digits, and none below one in ten thousand.

    There are more digits near the significance level, so that a value above .05 never looks like one that is at most
    .05.

    >>> chance(0.0321), chance(0.0), chance(0.5)
    ('p = 0.032', 'p < 0.0001', 'p = 0.5')
    >>> chance(0.05), chance(0.0504), chance(0.0496), chance(0.050004)
    ('p = 0.05', 'p = 0.0504', 'p = 0.0496', 'p = 0.050004')
    """
    if p < 1e-4:
        return "p < 0.0001"
    texts = (f"{p:.{digits}g}" for digits in range(2, 18))
    return f"p = {next(text for text in texts if float(text) != SIGNIFICANCE or p == SIGNIFICANCE)}"


def jointly(p: float) -> str:
    """The end of a sentence that no class is significantly off: the test of all of them; empty without one.

    >>> jointly(0.0003), jointly(0.4), jointly(float("nan"))
    (', but jointly they are (p = 0.0003)', ', nor are they jointly (p = 0.4)', '')
    """
    if math.isnan(p):
        return ""
    return f", {'but jointly they are' if p <= SIGNIFICANCE else 'nor are they jointly'} ({chance(p)})"


def at_level(level: float) -> str:
    """Format a confidence level.

    >>> at_level(0.9), at_level(0.995)
    ('90 %', '99.5 %')
    """
    return f"{100 * level:.6g} %"
