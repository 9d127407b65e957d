"""Pictures of the glossary terms: without text, in colors that are legible on light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from calib_core.palette import REFERENCE, outline, style
from calib_core.results.verdict_table import MISCALIBRATED, TOO_CLOSE, VERDICTS, WITHIN
from dashboard.hero.sparks import DASHED, diagram_spark, dot, line, svg

WIDE, HIGH = 120, 88
_BLUE, _ORANGE = style(0).colour, style(1).colour
_LEFT = 8.0


def calibration_error() -> str:
    """Draw points on both sides of the diagonal, with their distances from it."""
    return diagram_spark(((0.2, 0.36, 0.1), (0.42, 0.5, 0.1), (0.64, 0.46, 0.2), (0.88, 0.64, 0.5)), HIGH)


def over_confident() -> str:
    """Draw all points below the diagonal."""
    return diagram_spark(((0.3, 0.25, 0.05), (0.5, 0.36, 0.1), (0.7, 0.47, 0.2), (0.92, 0.6, 0.5)), HIGH)


def noise_floor() -> str:
    """Draw a hatched bar and twenty calibrated models, one of them outside it."""
    end, top, bottom = 84.0, 12.0, 40.0
    hatching = (line(x, bottom, min(x + 12, end), top, REFERENCE, 1.4) for x in range(int(_LEFT), int(end), 9))
    outer = f'<path d="M{_LEFT} {top}H{end}V{bottom}H{_LEFT}Z" stroke="{REFERENCE}" stroke-width="1.2"/>'
    models = (dot(_LEFT + 6 + 3.6 * i, 54 + 11 * (i * 7 % 3), 3, REFERENCE) for i in range(19))
    return _picture([*hatching, outer, *models, dot(end + 16, 65, 3.6, _ORANGE), _upright(end, REFERENCE)])


def raw_value() -> str:
    """Draw an estimate with its interval, and a tick beyond it: the value before the correction for noise."""
    middle = 44.0
    arrow = _arrow(92, middle - 22, 66, middle - 22)
    axis = line(_LEFT, 76, WIDE - _LEFT, 76, REFERENCE, 1.2)
    return _picture([axis, _bar(22, 80, middle, _BLUE), line(96, middle - 12, 96, middle + 12, _ORANGE, 3), *arrow])


def held_out_rows() -> str:
    """Draw rows of dots, of which the lower half are kept apart by a dashed line."""
    rows = ((y, _BLUE if y < HIGH / 2 else _ORANGE) for y in (14.0, 30.0, 58.0, 74.0))
    dots = [dot(x, y, 3.6, colour) for y, colour in rows for x in range(18, int(WIDE) - 10, 14)]
    return _picture([*dots, line(_LEFT, HIGH / 2, WIDE - _LEFT, HIGH / 2, REFERENCE, 1.6, DASHED)])


def auroc() -> str:
    """Draw a square with a curve above its diagonal, and the area below the curve."""
    box, place = _square(22, 4, 80)
    points = [place(x, x**0.35) for x in (0, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 1)]
    area = f'<path d="M{_joined([*points, place(1, 0), place(0, 0)])}Z" fill="{_BLUE}" fill-opacity=".18"/>'
    return _picture([*box, area, f'<path d="M{_joined(points)}" stroke="{_BLUE}" stroke-width="2"/>'])


def tolerance() -> str:
    """Draw the tolerance zone, with one interval inside it, one across its end, one outside."""
    end = 56.0
    words = ((WITHIN, 16, 44), (TOO_CLOSE, 38, 80), (MISCALIBRATED, 68, 112))
    fill = VERDICTS[WITHIN].colour
    zone = f'<rect x="{_LEFT}" y="6" width="{end - _LEFT}" height="76" fill="{fill}" fill-opacity=".18"/>'
    bars = (_bar(low, high, 20 + 24 * i, VERDICTS[word].colour) for i, (word, low, high) in enumerate(words))
    return _picture([zone, _upright(end, REFERENCE), *bars])


def interval() -> str:
    """Draw ten intervals, of which nine contain the true value."""
    middles = (62, 54, 68, 58, 50, 65, 92, 60, 71, 56)
    bars = (_bar(x - 17, x + 17, 8 + 8 * i, _ORANGE if x > 80 else _BLUE) for i, x in enumerate(middles))
    return _picture([_upright(60, REFERENCE), *bars])


def event() -> str:
    """Draw rows in a line from low to high risk, filled if the event happened."""
    risks = (0.1, 0.2, 0.25, 0.35, 0.5, 0.6, 0.7, 0.9)
    happened = (False, False, True, False, True, False, True, True)
    rails = (line(12 + 13 * i, 78, 12 + 13 * i, 78 - 62 * risk, REFERENCE, 2) for i, risk in enumerate(risks))
    marks = (
        dot(12 + 13 * i, 78 - 62 * risk, 4.5, _ORANGE) if yes else _ring(12 + 13 * i, 78 - 62 * risk)
        for i, (risk, yes) in enumerate(zip(risks, happened, strict=True))
    )
    return _picture([line(6, 78, 112, 78, REFERENCE, 1.6), *rails, *marks])


def in_the_large() -> str:
    """Draw the mean predicted risk as a vertical line, and an observed frequency with its interval left of it."""
    return _picture([_upright(86, REFERENCE), _bar(24, 60, 44, _BLUE), dot(42, 44, 6, _BLUE)])


def observed_expected() -> str:
    """Draw two columns: expected events, and half as many observed."""
    columns = ((30, 12, REFERENCE), (72, 46, _BLUE))
    bars = (f'<rect x="{x}" y="{top}" width="24" height="{78 - top}" fill="{color}"/>' for x, top, color in columns)
    return _picture([line(12, 78, 112, 78, REFERENCE, 1.6), *bars])


def intercept() -> str:
    """Draw two parallel lines: the diagonal, and one below it."""
    box, place = _square(16, 0, HIGH)
    return _picture([*box, line(*place(0.3, 0.05), *place(0.95, 0.7), _BLUE, 2.4)])


def slope() -> str:
    """Draw a line flatter than the diagonal that crosses it."""
    box, place = _square(16, 0, HIGH)
    return _picture([*box, line(*place(0.05, 0.3), *place(0.95, 0.7), _BLUE, 2.4)])


def smooth_gap() -> str:
    """Draw a curve below the diagonal, and the distances between them."""
    box, place = _square(16, 0, HIGH)
    risks = [0.1 * i for i in range(1, 10)]
    curve = [place(x, x**1.7) for x in risks]
    gaps = (line(*place(x, x), *place(x, x**1.7), _ORANGE, 1.2) for x in risks)
    pieces = (line(*a, *b, _BLUE, 2.4) for a, b in pairwise(curve))
    return _picture([*box, *gaps, *pieces])


def effective_rows() -> str:
    """Draw many dots above, fewer and larger ones below, and an arrow between them."""
    many = (dot(14 + 9.2 * i, 20 + 12 * (i % 2), 3, REFERENCE) for i in range(11))
    few = (dot(36 + 24 * i, 74, 6, _BLUE) for i in range(3))
    arrow = (
        line(60, 42, 60, 58, REFERENCE, 1.6),
        line(55, 53, 60, 58, REFERENCE, 1.6),
        line(65, 53, 60, 58, REFERENCE, 1.6),
    )
    return _picture([*many, *arrow, *few])


def _ring(x: float, y: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" stroke="{_BLUE}" stroke-width="2" fill="none"/>'


def confidence() -> str:
    """Draw two classes off to either side, and their mean on the diagonal."""
    box, place = _square(16, 0, HIGH)
    above, below, mean = place(0.68, 0.9), place(0.68, 0.46), place(0.68, 0.68)
    hollow = (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" stroke="{_BLUE}" stroke-width="2"/>' for x, y in (above, below))
    return _picture([*box, line(*above, *below, _BLUE, 1.4, DASHED), *hollow, dot(*mean, 6, _BLUE)])


def top_label() -> str:
    """Draw two classes, each with its own diagonal."""
    return _picture([*_small(2, 14, 56, _BLUE, 0.17), *_small(62, 14, 56, _ORANGE, -0.2)])


def class_wise() -> str:
    """Draw three classes, each over the whole range of its probability."""
    parts: list[str] = []
    for i, (colour, gap) in enumerate(((_BLUE, 0.14), (_ORANGE, -0.16), (style(2).colour, 0.06))):
        parts += _small(1 + 40 * i, 25, 38, colour, gap, (0.12, 0.5, 0.88))
    return _picture(parts)


def canonical() -> str:
    """Draw a triangle, and arrows from predicted probabilities to observed frequencies."""
    corners = f'<path d="M60 5L110 83H10Z" stroke="{REFERENCE}" stroke-width="1.4" stroke-linejoin="round"/>'
    arrows = ((56, 22, 58, 40), (34, 68, 46, 62), (86, 70, 72, 64), (66, 56, 62, 49))
    return _picture([corners, *(part for arrow in arrows for part in _arrow(*arrow))])


def bins() -> str:
    """Draw rows stacked in five parts of an axis."""
    floor, step = 76, (WIDE - 2 * _LEFT) / 5
    edges = (line(_LEFT + step * i, 10, _LEFT + step * i, floor + 6, REFERENCE, 1.2) for i in range(6))
    rows = [
        dot(_LEFT + step * (b + (0.3, 0.7)[i % 2]), floor - 7 - 9 * (i // 2), 3.2, _BLUE)
        for b, n in enumerate((2, 3, 5, 8, 12))
        for i in range(n)
    ]
    return _picture([*edges, line(_LEFT, floor, WIDE - _LEFT, floor, REFERENCE, 1.6), *rows])


def star_and_stem() -> str:
    """Draw a star below the diagonal, and its stem down to the plus."""
    box, place = _square(16, 0, HIGH)
    (x, y), (_, end) = place(0.66, 0.52), place(0.66, 0.2)
    corners = " ".join(f"{x + 10 * a:.1f},{y - 10 * b:.1f}" for a, b in outline(style(0).symbol))
    plus = (line(x - 5, end, x + 5, end, _BLUE, 2), line(x, end - 5, x, end + 5, _BLUE, 2))
    return _picture([*box, line(x, y, x, end, _BLUE, 2), *plus, f'<polygon points="{corners}" fill="{_BLUE}"/>'])


def calibrator() -> str:
    """Draw points below the diagonal, with arrows up to it."""
    box, place = _square(16, 0, HIGH)
    ways = ((0.42, 0.16), (0.64, 0.32), (0.88, 0.5))
    arrows = (part for says, right in ways for part in _arrow(*place(says, right), *place(says, says - 0.03)))
    return _picture([*box, *arrows])


def promise() -> str:
    """Draw ten fits, of which nine end below the guaranteed bound."""
    floor, limit = 78, 26
    heights = (18, 30, 24, 12, 36, 20, 64, 28, 16, 33)
    bars = (
        line(x, floor, x, floor - height, _ORANGE if floor - height < limit else _BLUE, 6)
        for x, height in zip(range(14, 120, 10), heights, strict=False)
    )
    level = (line(_LEFT, y, WIDE - _LEFT, y, REFERENCE, 1.6, dash) for y, dash in ((floor, ""), (limit, DASHED)))
    return _picture([*bars, *level])


def log_loss() -> str:
    """Draw minus the logarithm of the probability of the true class."""
    return _cost(lambda p: -math.log(p) / 3.4)


def brier_score() -> str:
    """Draw the squared difference to 1."""
    return _cost(lambda p: (1 - p) ** 2 / 1.7)


def prediction_file() -> str:
    """Draw a table with three scores per row, and a square at the true class."""
    parts = [line(_LEFT, 8 + 24 * i, WIDE - _LEFT, 8 + 24 * i, REFERENCE, 1.2) for i in range(4)]
    for row, (scores, true) in enumerate((((14, 7, 5), 0), ((5, 16, 5), 1), ((6, 8, 12), 1))):
        middle = 20 + 24 * row
        parts += [line(14 + 22 * k, middle, 14 + 22 * k + size, middle, _BLUE, 6) for k, size in enumerate(scores)]
        parts.append(f'<rect x="{84 + 10 * true}" y="{middle - 4}" width="8" height="8" fill="{_ORANGE}"/>')
    return _picture(parts)


def logits() -> str:
    """Draw scores of any sign, and their softmax."""
    zero, floor = 44, 78
    before = (line(14 + 13 * i, zero, 14 + 13 * i, zero - z, _ORANGE, 7) for i, z in enumerate((30, -22, 9)))
    after = (line(84 + 13 * i, floor, 84 + 13 * i, floor - p, _BLUE, 7) for i, p in enumerate((52, 3, 15)))
    axes = (line(_LEFT, zero, 48, zero, REFERENCE, 1.4), line(76, floor, 116, floor, REFERENCE, 1.4))
    return _picture([*axes, *before, *_arrow(52, 44, 70, 44), *after])


def class_order() -> str:
    """Draw columns and their classes, two of them crossed."""
    top, bottom = 16, 72
    lines = (line(a, top, b, bottom, colour, 1.8) for a, b, colour in
             ((24, 24, _BLUE), (60, 96, _ORANGE), (96, 60, _ORANGE)))  # fmt: skip
    ends = (dot(x, y, 6, REFERENCE) for x in (24, 60, 96) for y in (top, bottom))
    return _picture([*lines, *ends])


def row_group() -> str:
    """Draw rows in rings of one, three and five."""
    rings = ((22, 44, 14, ((0, 0),)), (52, 22, 18, ((-7, 4), (7, 4), (0, -7))),
             (86, 54, 26, ((-12, 0), (12, 0), (0, -12), (0, 12), (0, 0))))  # fmt: skip
    parts: list[str] = []
    for x, y, r, dots in rings:
        parts.append(f'<circle cx="{x}" cy="{y}" r="{r}" stroke="{REFERENCE}" stroke-width="1.6"/>')
        parts += [dot(x + a, y + b, 3.6, _BLUE) for a, b in dots]
    return _picture(parts)


def multicalibration() -> str:
    """Draw all rows on the line, and two groups of them off it on either side."""
    middle = 44
    parts = [line(_LEFT, middle, WIDE - _LEFT, middle, REFERENCE, 1.6, DASHED), dot(26, middle, 12, REFERENCE)]
    for x, y, colour in ((66, 16, _BLUE), (98, 72, _ORANGE)):
        parts += [line(x, middle, x, y, colour, 2), dot(x, y, 8, colour)]
    return _picture(parts)


def two_bins() -> str:
    """Draw two adjacent bins, the mean of each off the line, and other possible edges between them."""
    middle, meets = 44, 50
    others = (line(x, 12, x, 76, REFERENCE, 1, DASHED) for x in (26, 38, 64, 80, 98))
    bins = (line(_LEFT, 62, meets, 62, _ORANGE, 4), line(meets, 22, WIDE - _LEFT, 22, _BLUE, 4))
    axis = line(_LEFT, middle, WIDE - _LEFT, middle, REFERENCE, 1.4)
    return _picture([*others, axis, *bins, line(meets, 6, meets, HIGH - 6, _BLUE, 2)])


def row_weight() -> str:
    """Draw rows of different sizes on a line."""
    floor = 70
    sizes = ((12, 3), (28, 5), (62, 22), (94, 4), (108, 3))
    return _picture(
        [line(_LEFT, floor, WIDE - _LEFT, floor, REFERENCE, 1.6), *(dot(x, floor - r, r, _BLUE) for x, r in sizes)]
    )


def p_value() -> str:
    """Draw the errors of calibrated models as a hill, with the part beyond the observed error filled."""
    return _picture([*_hill(52, 22, lambda x: x >= 82), line(82, 20, 82, _FLOOR, _ORANGE, 2.2)])


def multiple_testing() -> str:
    """Draw twenty tests; one exceeds the ordinary limit, none the corrected one."""
    floor, limit, strict = 80, 46, 22
    heights = (10, 22, 6, 16, 28, 12, 20, 8, 25, 14, 44, 18, 9, 26, 13, 5, 21, 11, 17, 24)
    tests = (
        line(12 + 5 * i, floor, 12 + 5 * i, floor - height, _ORANGE if floor - height < limit else _BLUE, 3)
        for i, height in enumerate(heights)
    )
    lines = (line(_LEFT, y, WIDE - _LEFT, y, REFERENCE, 1.6, dash) for y, dash in ((limit, DASHED), (strict, "")))
    return _picture([*tests, *lines, line(_LEFT, floor, WIDE - _LEFT, floor, REFERENCE, 1.4)])


def spiegelhalter() -> str:
    """Draw the Brier scores of calibrated models as a hill, with both tails filled and the model's in one of them."""
    tails = (lambda x: x <= 30), (lambda x: x >= 90)
    return _picture([*_hill(60, 20, *tails), dot(100, _FLOOR, 5, _ORANGE)])


def _cost(of: Callable[[float], float]) -> str:
    """Draw the loss of a probability from 0.035 to 1 as a curve over its axis."""
    span = WIDE - 2 * _LEFT
    points = ((_LEFT + span * p, _FLOOR - 70 * of(p)) for p in (0.035 + 0.965 * i / 40 for i in range(41)))
    axes = (line(_LEFT, 6, _LEFT, _FLOOR, REFERENCE, 1.4), line(_LEFT, _FLOOR, WIDE - _LEFT, _FLOOR, REFERENCE, 1.4))
    return _picture([*axes, f'<path d="M{_joined(points)}" stroke="{_BLUE}" stroke-width="2.4"/>'])


_FLOOR = 78.0


def _hill(middle: float, width: float, *tails: Callable[[float], bool]) -> Iterator[str]:
    """Draw a distribution over its axis, with its tails filled."""
    hill = [(x, _FLOOR - 62 * math.exp(-(((x - middle) / width) ** 2))) for x in range(int(_LEFT), 113, 2)]
    for tail in tails:
        part = [(x, y) for x, y in hill if tail(x)]
        yield f'<path d="M{part[0][0]} {_FLOOR}L{_joined(part)}V{_FLOOR}Z" fill="{_ORANGE}" fill-opacity=".7"/>'
    yield f'<path d="M{_joined(hill)}" stroke="{REFERENCE}" stroke-width="2"/>'
    yield line(_LEFT, _FLOOR, WIDE - _LEFT, _FLOOR, REFERENCE, 1.4)


def _joined(points: Iterable[tuple[float, float]]) -> str:
    return "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


Place = Callable[[float, float], tuple[float, float]]


def _square(left: float, top: float, size: float) -> tuple[list[str], Place]:
    """Draw a square with its diagonal, and return the position of two probabilities in it."""
    margin = 3
    span = size - 2 * margin

    def place(across: float, up: float) -> tuple[float, float]:
        return left + margin + span * across, top + margin + span * (1 - up)

    (x, y), width = place(0, 1), f'width="{span}" height="{span}"'
    box = f'<rect x="{x:.1f}" y="{y:.1f}" {width} stroke="{REFERENCE}" stroke-opacity=".5"/>'
    return [box, line(*place(0, 0), *place(1, 1), REFERENCE, 1.2, DASHED)], place


def log_odds() -> str:
    """Draw the curve that leads from log-odds to probabilities: flat at both ends, steep in the middle."""
    places = [(_LEFT + (WIDE - 2 * _LEFT) * i / 24, 74 - 60 / (1 + math.exp(-(i - 12) / 2.2))) for i in range(25)]
    ends = (line(_LEFT, y, WIDE - _LEFT, y, REFERENCE, 1.2, DASHED) for y in (14, 74))
    return _picture(
        [*ends, f'<path d="M{_joined(places)}" stroke="{_BLUE}" stroke-width="2"/>', dot(60, 44, 3.6, _ORANGE)]
    )


def blend() -> str:
    """Draw three dots of different sizes, each joined to one dot at the right."""
    starts = ((14.0, 6.5), (44.0, 4.0), (74.0, 2.5))
    ways = [line(20, y, 96, 32, REFERENCE, 1.4) for y, _ in starts]
    return _picture([*ways, *(dot(20, y, size, _BLUE) for y, size in starts), dot(98, 32, 6, _ORANGE)])


def net_benefit() -> str:
    """Draw a curve that falls to the line of no benefit, and a dashed line that falls below it earlier."""
    places = [(14 + 90 * i / 20, 56 - 44 * (1 - i / 20) ** 1.6) for i in range(21)]
    axis, every = line(_LEFT, 56, WIDE - _LEFT, 56, REFERENCE, 1.2), line(14, 12, 60, 82, _ORANGE, 1.8, DASHED)
    return _picture([axis, every, f'<path d="M{_joined(places)}" stroke="{_BLUE}" stroke-width="2"/>'])


def rows_of_a_slice() -> str:
    """Draw rows of dots, with a box around those of one column's value."""
    inside = range(58, 87, 14)
    dots = [
        dot(x, y, 3.6, _ORANGE if x in inside else _BLUE) for y in (20.0, 36.0, 52.0, 68.0) for x in range(16, 106, 14)
    ]
    return _picture(
        [*dots, f'<rect x="50" y="11" width="44" height="66" rx="5" stroke="{REFERENCE}" stroke-width="1.6"/>']
    )


def _small(
    left: float, top: float, size: float, colour: str, gap: float, scores: Iterable[float] = (0.45, 0.75)
) -> Iterator[str]:
    """Draw a small diagram whose points are this far above or below the diagonal."""
    box, place = _square(left, top, size)
    yield from box
    for says in scores:
        right = min(max(says + gap, 0.06), 0.94)
        yield line(*place(says, says), *place(says, right), colour, 1.4)
        yield dot(*place(says, right), size / 15, colour)


def _bar(low: float, high: float, y: float, colour: str) -> str:
    """Draw an interval with its point."""
    return line(low, y, high, y, colour, 2.2) + dot((low + high) / 2, y, 3.4, colour)


def _upright(x: float, colour: str) -> str:
    """Draw a dashed line from top to bottom."""
    return line(x, 4, x, HIGH - 4, colour, 1.6, DASHED)


def _arrow(x1: float, y1: float, x2: float, y2: float) -> Iterator[str]:
    """Draw a dot, and an arrow that starts there."""
    way = math.atan2(y2 - y1, x2 - x1)
    yield dot(x1, y1, 3, _BLUE)
    yield line(x1, y1, x2, y2, _BLUE, 2)
    for turn in (2.6, -2.6):
        yield line(x2, y2, x2 + 6 * math.cos(way + turn), y2 + 6 * math.sin(way + turn), _BLUE, 2)


def _picture(parts: Iterable[str]) -> str:
    return svg(WIDE, HIGH, parts)
