"""ONNX graph under construction: its operations, constants, inputs and outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calib_core import NotAnswerable, exporting
from calib_core.exporting import LOG_FLOOR, nodes

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
