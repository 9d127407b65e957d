"""Steps of a calibrator as ONNX operations, and the graph that collects them.

Maps of one score as ONNX operations: tables of all maps at once, looked up by the number of each score's map.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib_core import NotAnswerable, exporting
from calib_core.exporting import LOG_FLOOR, CurveMap, Interpolated, LogOddsMap, Map, PiecewiseMap, nodes

OPSET = 17
"""Opset of 2022; every operator used has a double-precision kernel in onnxruntime."""

IR_VERSION = 8

MOST_NUMBERS = 20_000_000
"""Maximum number of constants, 160 MB of doubles; a model above 2 GB could not be written at all."""


def onnx_package() -> Any:
    """Return the package onnx; NotAnswerable explains how to install it if it is missing."""
    try:
        import onnx
        import onnx.checker
        import onnx.reference
    except ImportError:
        raise NotAnswerable(
            "writing ONNX needs the package onnx, which is not installed: pip install 'calib[onnx]'"
        ) from None
    return onnx


class Graph:
    """ONNX graph under construction: its operations and its constants."""

    def __init__(self, program: exporting.Program) -> None:
        self.program = program
        self.operations: list[Any] = []
        self.constants: list[Any] = []
        self._helper = onnx_package().helper
        self._numpy = onnx_package().numpy_helper
        self._numbers = 0

    def __call__(self, operation: str, *inputs: str, **attributes: Any) -> str:
        """Add an operation; return the name of its result."""
        name = f"x{len(self.operations)}"
        self.operations.append(self._helper.make_node(operation, list(inputs), [name], **attributes))
        return name

    def number(self, value: ArrayLike, dtype: Any = np.float64) -> str:
        """Return the name of a constant."""
        array = np.asarray(value, dtype=dtype)
        self._numbers += array.size
        if self._numbers > MOST_NUMBERS:
            raise NotAnswerable(f"this calibrator holds more than {MOST_NUMBERS:,} numbers, too many for an ONNX model")
        name = f"c{len(self.constants)}"
        self.constants.append(self._numpy.from_array(np.ascontiguousarray(array), name))
        return name

    def model(self, about: dict[str, str]) -> Any:
        """Return the finished model, with its metadata."""
        helper, given = self._helper, self.program.given
        double, boolean = 11, 9  # of TensorProto.DataType
        shape = ["n"] if self.single else ["n", self._columns()]
        outputs = [helper.make_tensor_value_info("calibrated", double, shape)]
        if self.program.abstained is not None:
            outputs.append(helper.make_tensor_value_info("abstained", boolean, ["n"]))
        inputs = [helper.make_tensor_value_info(given.kind, double, ["n", given.n_classes])]
        graph = helper.make_graph(self.operations, "calibrator", inputs, outputs, self.constants)
        opset = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION, producer_name="calib")
        helper.set_model_props(model, about)
        return model

    def output(self, name: str, value: str, squeezed: bool) -> None:
        """Add an output under a name, (n, 1) as (n,) if squeezed."""
        last = self("Squeeze", value, self.number([1], np.int64)) if squeezed else value
        self.operations.append(self._helper.make_node("Identity", [last], [name]))

    @property
    def single(self) -> bool:
        """Return True if a row becomes one number."""
        result = self.program.result
        return isinstance(result, nodes.Ranked) and len(result.maps) == 1

    def _columns(self) -> int:
        result = self.program.result
        return len(result.maps) if isinstance(result, nodes.Ranked) else self.program.given.n_classes


def log_of(graph: Graph, p: str) -> str:
    """Return the logarithm, clipped at the floor."""
    return graph("Log", graph("Max", p, graph.number(LOG_FLOOR)))


def mapped(graph: Graph, scores: str, own: str, maps: Sequence[Map]) -> str:
    """Map scores (n, m), each by the map whose number is at the same position of ``own``."""
    kinds = [kind for kind in _KINDS if any(isinstance(mapping, kind) for mapping in maps)]
    values = _KINDS[kinds[0]](graph, scores, own, maps)
    for kind in kinds[1:]:
        mine = graph.number([isinstance(mapping, kind) for mapping in maps], np.bool_)
        values = graph("Where", graph("Gather", mine, own), _KINDS[kind](graph, scores, own, maps), values)
    return graph("Min", graph("Max", values, graph.number(0.0)), graph.number(1.0))


def pieces(graph: Graph, scores: str, own: str, maps: Sequence[Map]) -> str:
    """Map scores of any size by the line of their bin, without clipping."""
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
    """Interpolate linearly between the last point at or below the score and the next point."""
    points = [(curve.scores, curve.values) if isinstance(curve, Interpolated) else ((0.0,), (0.0,)) for curve in maps]
    starts = _table([x for x, _ in points], np.inf)
    found = graph("Sub", _found(graph, scores, own, starts), graph.number(1, np.int64))
    index = graph("Max", found, graph.number(0, np.int64))
    size = starts.shape[1]
    # No next point: the distance is infinite, and the fraction 0.
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


def _curves(graph: Graph, scores: str, own: str, maps: Sequence[Map]) -> str:
    curves = [curve if isinstance(curve, CurveMap) else _FLAT for curve in maps]
    z = graph("Sub", log_of(graph, scores), log_of(graph, graph("Sub", graph.number(1.0), scores)))
    knots = _table([curve.knots for curve in curves], np.inf)
    index, width = _found(graph, z, own, knots), knots.shape[1] + 1
    t = graph("Sub", z, _entry(graph, [curve.origins for curve in curves], width, own, index))
    c0, c1, c2, c3 = (
        _entry(graph, [curve.coefficients[:, power] for curve in curves], width, own, index) for power in range(4)
    )
    for lower in (c2, c1, c0):
        c3 = graph("Add", graph("Mul", c3, t), lower)
    return graph("Sigmoid", c3)


_FLAT = CurveMap(np.empty(0), np.zeros((1, 4)))
"""Stand-in for maps of another form in the tables of curves."""

_KINDS: dict[type, Any] = {
    PiecewiseMap: pieces,
    Interpolated: interpolated,
    LogOddsMap: _log_odds,
    CurveMap: _curves,
}


def _found(graph: Graph, scores: str, own: str, edges: NDArray[np.float64]) -> str:
    """Count the edges of its map at or below each score, by bisection; edges (maps, 2^d - 1), ascending."""
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
    # Infinite edges fill the table: no score reaches them.
    return str(index)


def _table(rows: Sequence[ArrayLike], fill: float) -> NDArray[np.float64]:
    """Return rows of different length as one table, 2^d - 1 wide."""
    longest = max(1, *(len(np.asarray(row)) for row in rows))
    width = 2 ** int(longest).bit_length() - 1
    return np.array(
        [np.pad(np.asarray(row, float), (0, width - len(np.asarray(row))), constant_values=fill) for row in rows]
    )


def _entry(graph: Graph, rows: Sequence[ArrayLike], width: int, own: str, index: str) -> str:
    """Return the entry at a position of each score's own row."""
    arrays = [np.asarray(row, float) for row in rows]
    table = np.array([np.pad(row, (0, width - len(row)), mode="edge") for row in arrays])
    place = graph("Add", graph("Mul", own, graph.number(width, np.int64)), index)
    return graph("Gather", graph.number(table.ravel()), place)


@singledispatch
def written(node: nodes.Node, graph: Graph, *rows: str) -> str:
    """Add a step as ONNX operations, given the names of its operands; return the name of its result.

    Rows are (n, K), conditions (n, 1). Register a function here for a step of your own.
    """
    raise NotAnswerable(f"a step of this calibrator ({type(node).__name__}) cannot be written as ONNX yet")


@written.register
def _given(node: nodes.InputRow, graph: Graph, *rows: str) -> str:
    return node.kind


@written.register
def _uniform(node: nodes.Uniform, graph: Graph, *rows: str) -> str:
    return graph.number(np.full((1, node.n_classes), 1.0 / node.n_classes))


@written.register
def _log(node: nodes.Log, graph: Graph, *rows: str) -> str:
    return log_of(graph, rows[0])


@written.register
def _finite(node: nodes.Finite, graph: Graph, *rows: str) -> str:
    top = graph("ReduceMax", rows[0], axes=[1], keepdims=1)
    below = graph("Add", top, graph.number(np.log(LOG_FLOOR)))
    impossible = graph("Equal", rows[0], graph.number(-np.inf))
    return graph("Where", impossible, below, rows[0])


@written.register
def _scaled(node: nodes.Scaled, graph: Graph, *rows: str) -> str:
    return graph("Mul", rows[0], graph.number(node.factor))


@written.register
def _affine(node: nodes.Affine, graph: Graph, *rows: str) -> str:
    diagonal = node.weights.ndim == 1
    product = graph("Mul" if diagonal else "MatMul", rows[0], graph.number(node.weights.T))
    return graph("Add", product, graph.number(node.intercepts))


@written.register
def _bent(node: nodes.Bent, graph: Graph, *rows: str) -> str:
    own = graph.number(np.zeros((1, graph.program.given.n_classes)), np.int64)
    return pieces(graph, rows[0], own, [node.pieces])


@written.register
def _moved(node: nodes.Moved, graph: Graph, *rows: str) -> str:
    own = graph.number(np.zeros((1, graph.program.given.n_classes)), np.int64)
    return graph("Add", rows[0], interpolated(graph, rows[0], own, [node.curve]))


@written.register
def _softmax(node: nodes.Softmax, graph: Graph, *rows: str) -> str:
    return graph("Softmax", rows[0], axis=1)


@written.register
def _mixed(node: nodes.Mixed, graph: Graph, *rows: str) -> str:
    parts = [graph("Mul", row, graph.number(weight)) for row, weight in zip(rows, node.weights, strict=True)]
    total = parts[0]
    for part in parts[1:]:
        total = graph("Add", total, part)
    return str(total)


@written.register
def _normalised(node: nodes.Normalised, graph: Graph, *rows: str) -> str:
    total = graph("ReduceSum", rows[0], graph.number([1], np.int64), keepdims=1)
    empty = graph("Equal", total, graph.number(0.0))
    divided = graph("Div", rows[0], graph("Where", empty, graph.number(1.0), total))
    k = graph.program.given.n_classes
    return graph("Where", empty, graph.number(np.full((1, k), 1.0 / k)), divided)


@written.register
def _unsure(node: nodes.Unsure, graph: Graph, *rows: str) -> str:
    least = graph.number(np.finfo(np.float64).tiny)
    terms = graph("Mul", rows[0], graph("Log", graph("Max", rows[0], least)))
    total = graph("ReduceSum", terms, graph.number([1], np.int64), keepdims=1)
    return graph("Less", total, graph.number(-node.threshold))


@written.register
def _either(node: nodes.Either, graph: Graph, *rows: str) -> str:
    return graph("Or", *rows)


@written.register
def _chosen(node: nodes.Chosen, graph: Graph, *rows: str) -> str:
    return graph("Where", *rows)


@written.register
def _each_class(node: nodes.EachClass, graph: Graph, *rows: str) -> str:
    own = graph.number(np.arange(len(node.maps))[None, :], np.int64)
    return mapped(graph, rows[0], own, node.maps)


@written.register
def _ranked(node: nodes.Ranked, graph: Graph, *rows: str) -> str:
    k, left = graph.program.given.n_classes, rows[0]
    places = graph.number(np.arange(k)[None, :], np.int64)
    scores, classes = [], []
    # Not by TopK: runtimes differ in the order of equal entries.
    for _ in node.maps:
        classes.append(graph("ArgMax", left, axis=1, keepdims=1, select_last_index=0))
        scores.append(graph("ReduceMax", left, axes=[1], keepdims=1))
        left = graph("Where", graph("Equal", places, classes[-1]), graph.number(-1.0), left)
    first, alike = np.arange(len(node.maps)) * len(node.maps[0]), len(node.maps[0]) == 1
    chosen = graph("Concat", *classes, axis=1)
    own = graph(
        "Add", graph("Mul", chosen, graph.number(0 if alike else 1, np.int64)), graph.number(first[None, :], np.int64)
    )
    maps = tuple(mapping for of_rank in node.maps for mapping in of_rank)
    return mapped(graph, graph("Concat", *scores, axis=1), own, maps)
