"""Numbers and names as people read them: fixed digits for tables and axes, and text that stays text in a figure."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from calib_core.defaults import SIGNIFICANCE

_NOT_DEFINED = "not defined"


_HALF = 0.5 + 1e-9
"""Added before a number is cut: a half, and the noise that leaves a product such as 100 * 0.285 just below one."""


def rounded(number: float, decimals: int = 0) -> str:
    """Format a number with a fixed number of decimals; halves are rounded away from 0.

    Every share and every difference of shares is printed by this rule, in sentences, tables and figures alike.
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
"""From here on digits are fewer than a half can be told by: a number of this size has noise in them."""


def percent(value: float, digits: int = 1) -> str:
    """Format a fraction as a percentage.

    >>> percent(0.9371), percent(0.505, digits=0), percent(float("nan"))
    ('93.7 %', '51 %', 'not defined')
    """
    return f"{rounded(100 * value, digits)} %" if math.isfinite(value) else _NOT_DEFINED


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


Unit: TypeAlias = Literal["share", "square", "score"]
"""How a number is read: as a share of rows or of probability, as a square of one, or as a score."""


def short_percent(share: float, decimals: int | None = None) -> str:
    """A share in percent: two digits that count, of what it is or of what it lacks to all; or so many ``decimals``.

    >>> [short_percent(x) for x in (0.0512, 0.00434, 0.123, 0.97456, 0.0, 1.0, 0.00004, 0.99996)]
    ['5.1 %', '0.43 %', '12 %', '97.5 %', '0 %', '100 %', '0.004 %', '99.996 %']
    """
    number = 100.0 * share
    if number == 0 or not math.isfinite(number):
        return f"{number:g} %"
    text = rounded(number, _decimals(share) if decimals is None else decimals)
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def _decimals(share: float) -> int:
    number = 100.0 * share
    near = min(abs(number), abs(100.0 - number)) or abs(number)
    return 0 if near >= 10 else min(8, max(1, 1 - math.floor(math.log10(near))) if near < 1 else 1)


def between(low: float, high: float, apart: float | None = None) -> str:
    """A range in percent, the unit once; with digits enough to tell its ends apart, and from ``apart`` where given.

    Near 100 an end has no more digits than the width of the range makes worth telling.

    >>> between(0.004, 0.0123), between(0.0062, 0.99985), between(0.999, 0.99985)
    ('0.4 to 1.2 %', '0.62 to 100 %', '99.9 to 99.985 %')
    >>> between(0.01997, 0.13451, apart=0.02)
    '1.997 to 13 %'
    """
    width = 100 * abs(high - low)
    enough = max(1, 1 - math.floor(math.log10(width))) if 0 < width < math.inf else 8
    own = [min(_decimals(end), enough if end > 0.5 else 8) if end else 0 for end in (low, high)]
    for decimals in range(9):
        first, last = (_clear(end, max(decimals, least), apart) for end, least in zip((low, high), own, strict=True))
        if first != last or low == high:
            break
    return f"{first.removesuffix(' %')} to {last}"


def _clear(end: float, decimals: int, apart: float | None) -> str:
    """An end with so many decimals, and more where it would look like what it is not."""
    if apart is not None and end != apart:
        marks = range(decimals, 9)
        decimals = next(
            (d for d in marks if short_percent(end, d) != short_percent(apart, max(d, _decimals(apart)))), decimals
        )
    return short_percent(end, decimals)


def in_percent(share: float) -> str:
    """A share as sentences give it: whole percent, one decimal within two of 0 and of 100, where it must, more.

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
    """A range of confidences in percent, with as many digits as make it exact: no row between the two is left out.

    Both ends as they are where two decimals of a percent say them; else one decimal, or more where ends would look
    alike.

    >>> exact_range(0.87, 0.93), exact_range(13 / 15, 14 / 15), exact_range(0.985, 0.99), exact_range(14 / 15, 1.0)
    ('87 to 93 %', '86.7 to 93.3 %', '98.5 to 99 %', '93.3 to 100 %')
    """
    texts: list[str] = []
    for least in range(1, 9):
        texts = [short_percent(end, _exact_decimals(end, least)) for end in (low, high)]
        if texts[0] != texts[1] or low == high:
            break
    return f"{texts[0].removesuffix(' %')} to {texts[1]}"


def exact_end(end: float) -> str:
    """One end of such a range.

    >>> exact_end(0.8), exact_end(2 / 3)
    ('80 %', '66.7 %')
    """
    return short_percent(end, _exact_decimals(end, 1))


def exact_tolerance(eps: float) -> str:
    """A tolerance in percent as it was given: up to two decimals, more where it is smaller than they can show.

    >>> exact_tolerance(0.02), exact_tolerance(0.105), exact_tolerance(0.00005)
    ('2 %', '10.5 %', '0.005 %')
    """
    return exact_end(eps) if eps >= 1e-4 else short_percent(eps)


def _exact_decimals(end: float, least: int) -> int:
    """The fewest decimals of a percent, at most two, that say a number as it is; ``least`` where none do."""
    return next((d for d in range(3) if abs(round(100.0 * end, d) - 100.0 * end) < 1e-6), least)


def share_range(low: float, high: float) -> str:
    """Both ends of a range of shares as ``in_percent`` gives them, with digits enough to tell them apart.

    Ends nearer to 0 or 100 than two decimals can say are rounded outwards.

    >>> share_range(0.568, 0.986), share_range(0.501, 0.502), share_range(0.981, 0.999987)
    ('57 to 98.6 %', '50.1 to 50.2 %', '98.1 to 100 %')
    """
    first, last = _outwards(low, math.floor), _outwards(high, math.ceil)
    return between(low, high) if first == last else f"{first.removesuffix(' %')} to {last}"


def _outwards(end: float, rounded: Callable[[float], int]) -> str:
    text = in_percent(end)
    decimals = text.removesuffix(" %").partition(".")[2]
    return f"{rounded(10_000 * end) / 100:g} %" if len(decimals) > 2 else text


def told_apart(share: float, other: float, written: Callable[[float], str] = in_percent) -> tuple[str, str]:
    """Two shares that differ, as ``in_percent`` gives them, with digits enough, and equally many, to see that they do.

    Of risks, which can be small, ``written`` is ``short_percent``: two digits that count.

    >>> told_apart(0.704, 0.63), told_apart(0.704, 0.698), told_apart(0.70403, 0.704)
    (('70 %', '63 %'), ('70.4 %', '69.8 %'), ('70.403 %', '70.400 %'))
    >>> told_apart(0.0254, 0.022), told_apart(0.0254, 0.022, short_percent)
    (('3 %', '2 %'), ('2.5 %', '2.2 %'))
    """
    places = ((percent(share, decimals), percent(other, decimals)) for decimals in range(1, 9))
    usual = written(share), written(other)
    return next((texts for texts in (usual, *places) if texts[0] != texts[1]), usual)


def in_points(numbers: Sequence[float], apart: float | None = None) -> list[str]:
    """Shares in percentage points, all with the same digits, so that what lies between others is printed between them.

    Two digits count of the largest; more where the least and the largest would look alike, or one of them like
    ``apart``. A dash stands for what is not a number.

    >>> in_points([0.0317, 0.0386, 0.0442], apart=0.02), in_points([0.0, 0.004, 0.01996], apart=0.02)
    (['3.2', '3.9', '4.4'], ['0.000', '0.400', '1.996'])
    """
    known = [number for number in numbers if math.isfinite(number)]
    least, largest = min(known, default=0.0), max(known, default=0.0)
    size = 100 * max(abs(least), abs(largest))
    fewest = 1 if size == 0 or size >= 1 else min(8, 1 - math.floor(math.log10(size)))

    def written(number: float, digits: int) -> str:
        return rounded(100 * number, digits) if math.isfinite(number) else "–"

    def clear(digits: int) -> bool:
        ends = {written(end, digits) for end in (least, largest)}
        marks = set() if apart is None or apart in (least, largest) else {written(apart, digits)}
        return (least == largest or len(ends) == 2) and not ends & marks

    digits = next((digits for digits in range(fewest, 9) if clear(digits)), fewest)
    return [written(number, digits) for number in numbers]


def points(difference: float) -> str:
    """A difference of two shares, in percentage points: two digits that count, and its sign.

    >>> [points(x) for x in (0.0041, -0.0345, -0.123, 0.0, 0.01)]
    ['+0.41 points', '−3.5 points', '−12 points', '0 points', '+1 point']
    """
    sign = "+" if difference > 0 else "−" if difference < 0 else ""
    return f"{sign}{points_of(short_percent(abs(difference)))}"


def score(number: float) -> str:
    """A score or another number without a unit: three digits that count.

    >>> [score(x) for x in (0.42345, 12.3456, 1234.5, 0.0000123456, -0.05)]
    ['0.423', '12.3', '1,234', '0.0000123', '−0.05']
    """
    if number == 0 or not math.isfinite(number):
        return f"{number:g}"
    decimals = min(12, max(0, 2 - math.floor(math.log10(abs(number)))))
    text = f"{number:,.{decimals}f}".replace("-", "−")
    return text.rstrip("0").rstrip(".") if "." in text else text


def score_apart(number: float, marks: Sequence[float]) -> str:
    """A score with digits enough to lie on the side of each of these marks that it lies on.

    >>> score_apart(0.79961, [0.8, 1.25]), score_apart(0.42, [0.8]), score_apart(0.99987, [1.0])
    ('0.7996', '0.42', '0.9999')
    """
    text, decimals = score(number), 3
    while decimals < 12 and not _on_its_side(text, number, marks):
        text, decimals = f"{number:.{decimals}f}".replace("-", "−").rstrip("0").rstrip("."), decimals + 1
    return text


def _on_its_side(text: str, number: float, marks: Sequence[float]) -> bool:
    """Whether a number as it is written lies on the side of each mark that it lies on."""
    shown = float(text.replace(",", "").replace("−", "-"))
    return all((shown > mark) == (number > mark) and (shown < mark) == (number < mark) for mark in marks)


def measured(number: float, unit: Unit) -> str:
    """A number in its unit: shares in percent, all else in three digits.

    >>> measured(0.0512, "share"), measured(0.0512, "score")
    ('5.1 %', '0.0512')
    """
    return short_percent(number).replace("-", "−") if unit == "share" else score(number)


def measured_between(low: float, high: float, unit: Unit, apart: float | None = None) -> str:
    """A range in its unit, which stands once; ``apart`` as in `between`.

    >>> measured_between(0.0512, 0.063, "share"), measured_between(0.31, 0.42, "score")
    ('5.1 to 6.3 %', '0.31 to 0.42')
    >>> measured_between(0.0002, 0.00040004, "square", apart=0.0004)
    '0.0002 to 0.00040004'
    """
    if unit == "share":
        return between(low, high, apart).replace("-", "−")
    marks = [] if apart is None else [apart]
    return f"{score_apart(low, marks)} to {score_apart(high, marks)}"


def difference(number: float, unit: Unit) -> str:
    """A difference in its unit: of shares in points, of all else in three digits.

    >>> difference(-0.0345, "share"), difference(0.0345, "score")
    ('−3.5 points', '+0.0345')
    """
    return points(number) if unit == "share" else f"{'+' * (number > 0)}{score(number)}"


def of_rows(number: float, worth: float | None = None, groups: float | None = None) -> str:
    """So many rows, and what they are worth where they hang together in groups, or carry weights.

    >>> of_rows(1), of_rows(361, 361.0), of_rows(361, 48.2, 14), of_rows(1000, 623.1)
    ('1 row', '361 rows', '361 rows in 14 groups, worth 48 independent ones', '1,000 rows, worth 623 of equal weight')
    """
    text = f"{number:,.0f} {'row' if number == 1 else 'rows'}"
    if worth is None or not math.isfinite(worth) or math.isclose(worth, number, rel_tol=1e-6):
        return text
    tells = f"{worth:,.0f}" if worth >= 10 else f"{worth:.2g}"
    if groups is None:
        return f"{text}, worth {tells} of equal weight"
    together = f"{groups:,.0f} {'group' if groups == 1 else 'groups'}"
    return f"{text} in {together}, worth {tells} independent {'one' if tells == '1' else 'ones'}"


def rows(number: float) -> str:
    """A number of rows that is known roughly: two digits, rounded up.

    >>> rows(1234), rows(87.2)
    ('1,300', '88')
    """
    unit = 10.0 ** max(0, math.floor(math.log10(max(number, 1.0))) - 1)
    return f"{int(math.ceil(number / unit - 1e-9) * unit):,}"


def chance(p: float) -> str:
    """A p-value: two digits that count, none below one in ten thousand.

    More digits near the level of significance, so that a number above .05 never looks like one that is at most .05.

    >>> chance(0.0321), chance(0.0), chance(0.5)
    ('p = 0.032', 'p < 0.0001', 'p = 0.5')
    >>> chance(0.05), chance(0.0504), chance(0.0496), chance(0.050004)
    ('p = 0.05', 'p = 0.0504', 'p = 0.0496', 'p = 0.050004')
    """
    if p < 1e-4:
        return "p < 0.0001"
    texts = (f"{p:.{digits}g}" for digits in range(2, 18))
    return f"p = {next(text for text in texts if float(text) != SIGNIFICANCE or p == SIGNIFICANCE)}"


def at_level(level: float) -> str:
    """A level of confidence.

    >>> at_level(0.9), at_level(0.995)
    ('90 %', '99.5 %')
    """
    return f"{100 * level:.6g} %"
