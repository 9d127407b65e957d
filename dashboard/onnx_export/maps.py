"""Maps of one score as ONNX operations: tables of all maps at once, looked up by the number of each score's map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib_core.exporting import Interpolated, LogOddsMap, Map, PiecewiseMap
from dashboard.onnx_export.graph import Graph, log_of


def mapped(graph: Graph, scores: str, own: str, maps: Sequence[Map]) -> str:
    """Scores (n, m), each through the map whose number stands at the same place of ``own``."""
    kinds = [kind for kind in _KINDS if any(isinstance(mapping, kind) for mapping in maps)]
    values = _KINDS[kinds[0]](graph, scores, own, maps)
    for kind in kinds[1:]:
        mine = graph.number([isinstance(mapping, kind) for mapping in maps], np.bool_)
        values = graph("Where", graph("Gather", mine, own), _KINDS[kind](graph, scores, own, maps), values)
    return graph("Min", graph("Max", values, graph.number(0.0)), graph.number(1.0))


def pieces(graph: Graph, scores: str, own: str, maps: Sequence[Map]) -> str:
    """Scores of any size on the line of their bin, not clipped."""
    mine = [lines if isinstance(lines, PiecewiseMap) else None for lines in maps]
    edges = _table([() if lines is None else lines.edges for lines in mine], np.inf)
    index = _found(graph, scores, own, edges)
    slopes = _entry(
        graph, [(0.0,) if lines is None else lines.slopes for lines in mine], edges.shape[1] + 1, own, index
    )
    offsets = _entry(
        graph, [(0.0,) if lines is None else lines.offsets for lines in mine], edges.shape[1] + 1, own, index
    )
    return graph("Add", graph("Mul", slopes, scores), offsets)


def interpolated(graph: Graph, scores: str, own: str, maps: Sequence[Map]) -> str:
    """From the last point at or below the score, the share of the way to the next that the score has gone."""
    points = [(curve.scores, curve.values) if isinstance(curve, Interpolated) else ((0.0,), (0.0,)) for curve in maps]
    starts = _table([x for x, _ in points], np.inf)
    found = graph("Sub", _found(graph, scores, own, starts), graph.number(1, np.int64))
    index = graph("Max", found, graph.number(0, np.int64))
    size = starts.shape[1]
    # No next point: an infinite way, of which nothing is gone.
    ways = [np.append(np.diff(x), np.inf) for x, _ in points]
    rises = [np.append(np.diff(y), 0.0) for _, y in points]
    gone = graph(
        "Div",
        graph("Sub", scores, _entry(graph, [x for x, _ in points], size, own, index)),
        _entry(graph, ways, size, own, index),
    )
    gone = graph("Min", graph("Max", gone, graph.number(0.0)), graph.number(1.0))
    risen = graph("Mul", gone, _entry(graph, rises, size, own, index))
    return graph("Add", _entry(graph, [y for _, y in points], size, own, index), risen)


def _log_odds(graph: Graph, scores: str, own: str, maps: Sequence[Map]) -> str:
    numbers = [
        (line.yes, -line.no, line.intercept) if isinstance(line, LogOddsMap) else (0.0, 0.0, 0.0) for line in maps
    ]
    yes, no, intercept = (graph("Gather", graph.number(column), own) for column in np.array(numbers).T)
    other = graph("Sub", graph.number(1.0), scores)
    total = graph("Add", graph("Mul", yes, log_of(graph, scores)), graph("Mul", no, log_of(graph, other)))
    return graph("Sigmoid", graph("Add", total, intercept))


_KINDS: dict[type, Any] = {PiecewiseMap: pieces, Interpolated: interpolated, LogOddsMap: _log_odds}


def _found(graph: Graph, scores: str, own: str, edges: NDArray[np.float64]) -> str:
    """How many of its map's edges lie at or below each score, by halving; edges (maps, 2^d - 1), ascending."""
    flat = graph.number(edges.ravel())
    size = edges.shape[1]
    start = graph("Mul", own, graph.number(size, np.int64))
    index = graph("Mul", own, graph.number(0, np.int64))
    step = (size + 1) // 2
    while step >= 1:
        place = graph("Add", graph("Add", start, index), graph.number(step - 1, np.int64))
        beyond = graph("GreaterOrEqual", scores, graph("Gather", flat, place))
        index = graph("Add", index, graph("Mul", graph("Cast", beyond, to=7), graph.number(step, np.int64)))
        step //= 2
    # Infinite edges fill the table up: no score reaches them.
    return str(index)


def _table(rows: Sequence[ArrayLike], fill: float) -> NDArray[np.float64]:
    """Rows of different length as one table, 2^d - 1 wide."""
    longest = max(1, *(len(np.asarray(row)) for row in rows))
    width = 2 ** int(longest).bit_length() - 1
    return np.array(
        [np.pad(np.asarray(row, float), (0, width - len(np.asarray(row))), constant_values=fill) for row in rows]
    )


def _entry(graph: Graph, rows: Sequence[ArrayLike], width: int, own: str, index: str) -> str:
    """The entry at a place of each score's own row."""
    arrays = [np.asarray(row, float) for row in rows]
    table = np.array([np.pad(row, (0, width - len(row)), mode="edge") for row in arrays])
    place = graph("Add", graph("Mul", own, graph.number(width, np.int64)), index)
    return graph("Gather", graph.number(table.ravel()), place)
