"""Fitted calibrators as ONNX models for other languages and model servers, checked before they are returned.

This needs the package `onnx`, which comes with the extra `calib[onnx]`.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib_core import exporting
from calib_core.calibrators import Calibrator
from calib_core.exporting import nodes
from dashboard.onnx_export.steps import Graph, onnx_package, written

__all__ = ["installed", "onnx_bytes"]


def installed() -> bool:
    """Return True if the package onnx is there; nothing is loaded."""
    return find_spec("onnx") is not None


def onnx_bytes(calibrator: Calibrator, *, logits: bool = False) -> bytes:
    """Return a fitted calibrator as an ONNX model of opset 17, on rows of doubles (n, K).

    Its input is named `probabilities`, or `logits` if the map was fitted on them or ``logits`` is set. Its output
    `calibrated` equals ``predict_proba``; a second output `abstained` (n,) is present if the model may abstain. Rows
    are not checked: they should sum to one. NotAnswerable if the calibrator cannot be written as ONNX, or the model,
    run by ONNX's own reference implementation, differs by more than 1e-6.
    """
    onnx = onnx_package()
    program = exporting.program(calibrator, logits=logits)
    graph = drawn(program)
    trial = exporting.checked(calibrator, program, lambda rows: _run(graph.model({}), rows))
    recipe = exporting.recipe_of(calibrator)
    about = {
        **({} if recipe is None else {"recipe": recipe.to_json()}),
        "check": trial.sentence,
        **({"rounding": exporting.ROUNDING} if exporting.bins_computed(program) else {}),
    }
    model = graph.model(about)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def drawn(program: exporting.Program) -> Graph:
    """Return the graph of a program, every step after its operands."""
    graph = Graph(program)
    names: dict[nodes.Node, str] = {}
    for node in program.nodes():
        names[node] = written(node, graph, *(names[operand] for operand in node.operands))
    graph.output("calibrated", names[program.result], graph.single)
    if program.abstained is not None:
        graph.output("abstained", names[program.abstained], True)
    return graph


def _run(model: Any, rows: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    onnx = onnx_package()
    # Logarithms of values that are masked afterwards may warn.
    with np.errstate(all="ignore"):
        outputs = onnx.reference.ReferenceEvaluator(model).run(["calibrated"], {model.graph.input[0].name: rows})
    return np.asarray(outputs[0])
