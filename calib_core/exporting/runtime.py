"""The functions an exported module is put together from: their source text is copied into it.

They need nothing beyond ``bisect`` and ``math``, and each only what stands in ``NEEDS`` beside it. A row is a list of
numbers; a map is a tuple of a function and what it takes after the score.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Mapping
from typing import Any

FLOOR = 2.0**-52


def checked_probabilities(row: list[float], size: int) -> list[float]:
    """The row as floats, divided by its sum where that is slightly off; ValueError says what is wrong with it."""
    numbers = [float(p) for p in row]
    if len(numbers) != size:
        raise ValueError(f"the row has {len(numbers)} probabilities; {size} are needed")
    total = math.fsum(numbers)
    if not all(p >= 0.0 for p in numbers) or not abs(total - 1.0) <= 1e-3:
        raise ValueError(f"the row sums to {total:.6g}; probabilities are not negative and sum to 1 within 0.001")
    return numbers if abs(total - 1.0) <= 1e-6 and max(numbers) <= 1.0 else [p / total for p in numbers]


def checked_logits(row: list[float], size: int) -> list[float]:
    """The row as floats; ValueError says what is wrong with it."""
    numbers = [float(z) for z in row]
    if len(numbers) != size:
        raise ValueError(f"the row has {len(numbers)} logits; {size} are needed")
    if not all(z < math.inf for z in numbers) or max(numbers) == -math.inf:
        raise ValueError("logits are finite numbers; -inf is allowed, but not in the whole row")
    return numbers


def log(row: list[float]) -> list[float]:
    """Logarithms from the floor up."""
    return [math.log(p if p > FLOOR else FLOOR) for p in row]


def finite(row: list[float]) -> list[float]:
    """Minus infinity as far below the row's largest as the floor is below 1."""
    lowest = max(row) + math.log(FLOOR)
    return [lowest if z == -math.inf else z for z in row]


def scaled(row: list[float], factor: float) -> list[float]:
    """The row times one number."""
    return [factor * x for x in row]


def diagonal(row: list[float], weights: list[float], intercepts: list[float]) -> list[float]:
    """A weight and an intercept for each entry."""
    return [w * x + b for x, w, b in zip(row, weights, intercepts, strict=True)]


def affine(row: list[float], weights: list[list[float]], intercepts: list[float]) -> list[float]:
    """A weighted sum of all entries, and an intercept, for each entry."""
    return [sum(map(float.__mul__, line, row)) + b for line, b in zip(weights, intercepts, strict=True)]


def moved(row: list[float], places: list[float], moves: list[float]) -> list[float]:
    """Each entry moved by what the line between the points around it says."""
    return [x + interpolated(x, places, moves) for x in row]


def softmax(row: list[float]) -> list[float]:
    """Exponentials divided by their sum."""
    top = max(row)
    odds = [math.exp(z - top) for z in row]
    total = sum(odds)
    return [odd / total for odd in odds]


def mixed(rows: list[list[float]], weights: list[float]) -> list[float]:
    """A weighted sum of rows."""
    return [sum(w * x for w, x in zip(weights, column, strict=True)) for column in zip(*rows, strict=True)]


def steps(s: float, edges: list[float], values: list[float]) -> float:
    """A value for each bin; bins are closed on the left."""
    return values[bisect.bisect_right(edges, s)]


def pieces(s: float, edges: list[float], slopes: list[float], offsets: list[float]) -> float:
    """A line of its own in each bin; bins are closed on the left."""
    b = bisect.bisect_right(edges, s)
    return slopes[b] * s + offsets[b]


def bent(row: list[float], edges: list[float], slopes: list[float], offsets: list[float]) -> list[float]:
    """Every entry on the line of its bin."""
    return [pieces(x, edges, slopes, offsets) for x in row]


def interpolated(s: float, scores: list[float], values: list[float]) -> float:
    """The line between the points around s, constant beyond the outer ones."""
    b = bisect.bisect_right(scores, s)
    if b == 0 or b == len(scores):
        return values[max(0, b - 1)]
    return values[b - 1] + (values[b] - values[b - 1]) * ((s - scores[b - 1]) / (scores[b] - scores[b - 1]))


def log_odds(s: float, yes: float, no: float, intercept: float) -> float:
    """A logistic function of log s and log(1 - s)."""
    t = yes * math.log(max(s, FLOOR)) - no * math.log(max(1.0 - s, FLOOR)) + intercept
    odds = math.exp(-abs(t))
    return (1.0 if t >= 0 else odds) / (1.0 + odds)


def mapped(s: float, binary_map: tuple[Any, ...]) -> float:
    """A score through a map."""
    value: float = binary_map[0](s, *binary_map[1:])
    return min(max(value, 0.0), 1.0)


def each_class(row: list[float], maps: list[Any]) -> list[float]:
    """Every entry through its class's map."""
    return [mapped(s, binary_map) for s, binary_map in zip(row, maps, strict=True)]


def normalised(row: list[float]) -> list[float]:
    """The row divided by its sum."""
    total = sum(row)
    return [s / total for s in row] if total > 0 else [1.0 / len(row)] * len(row)


def ranked(row: list[float], maps: list[list[Any]]) -> list[float]:
    """The largest entries, each through the map of its rank and class; the lower class on a tie."""
    order = sorted(range(len(row)), key=lambda c: -row[c])[: len(maps)]
    chosen = [of_rank[c] if len(of_rank) > 1 else of_rank[0] for c, of_rank in zip(order, maps, strict=True)]
    return [mapped(row[c], binary_map) for c, binary_map in zip(order, chosen, strict=True)]


def unsure(row: list[float], threshold: float) -> bool:
    """Whether the row's entropy is above the threshold."""
    return -sum(p * math.log(p) for p in row if p > 0) > threshold


NEEDS: Mapping[Callable[..., Any], tuple[Callable[..., Any], ...]] = {
    bent: (pieces,),
    each_class: (mapped,),
    moved: (interpolated,),
    ranked: (mapped,),
}
"""The functions a function calls."""
