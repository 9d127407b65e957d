"""Each step of a calibrator as ONNX operations."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from calib_core import NotAnswerable
from calib_core.exporting import LOG_FLOOR, nodes
from dashboard.onnx_export.graph import Graph, log_of
from dashboard.onnx_export.maps import interpolated, mapped, pieces


@singledispatch
def written(node: nodes.Node, graph: Graph, *rows: str) -> str:
    """A step as ONNX operations, given the names of its operands; returns the name of what it makes.

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
    # Not by TopK: runtimes differ in which of two equal entries it puts first.
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
