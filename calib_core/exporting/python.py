"""A fitted calibrator as a Python module that needs nothing but Python."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from functools import singledispatch
from textwrap import indent
from typing import Any

import numpy as np

from calib_core.calibrators.base import Calibrator
from calib_core.calibrators.score_maps import Interpolated, LogOddsMap, Map, PiecewiseMap
from calib_core.exporting import module_text, runtime
from calib_core.exporting.describing import program, recipe_of
from calib_core.exporting.nodes import (
    Affine,
    Bent,
    Chosen,
    EachClass,
    Either,
    Finite,
    InputRow,
    Log,
    Mixed,
    Moved,
    Node,
    Normalised,
    Program,
    Ranked,
    Scaled,
    Softmax,
    Uniform,
    Unsure,
    in_order,
)
from calib_core.exporting.trial import ExportTrial, checked, checked_confidences, run_module
from calib_core.predictions.predictions import NotAnswerable

MOST_NUMBERS = 300_000
"""A module with more numbers takes seconds to import: JSON holds them better."""


def python_source(calibrator: Calibrator, *, logits: bool = False) -> str:
    """A fitted calibrator as the text of a Python module that imports nothing outside the standard library.

    The module has ``calibrate(row)`` and ``predict_proba(rows)`` on lists of probabilities, or of raw logits where
    the map was fitted on them or ``logits`` asks for it; what they return is what the calibrator's own
    ``predict_proba`` returns. ``abstains(row)`` stands beside them where it may, ``calibrate_confidence(confidence)``
    where a confidence is recalibrated without a look at the rest of its row. Run as a program it reads rows as
    JSON from standard input and writes results as JSON. Parameters are written to their last bit.

    Before the text is returned it is run, in a Python without any packages, on rows that provoke mistakes; a
    difference above 1e-6 raises NotAnswerable, as does a calibrator that cannot be written so.

    What can mislead: the text works in double precision. float32 rows, widened, can fall on another side of a bin's
    edge than they did as float32.

    >>> from calib_core import CALIBRATORS
    >>> cal = CALIBRATORS.make("temperature").fit([[0.9, 0.1]] * 5, [0, 0, 0, 0, 1])
    >>> [line for line in python_source(cal).splitlines() if line.startswith("    return")][-2:]
    ['    return x3', '    return [calibrate(row) for row in rows]']
    """
    steps = program(calibrator, logits=logits)
    writer = Module(steps, calibrator)
    text = writer.text(None)
    trial = checked(calibrator, steps, lambda rows: run_module(text, rows))
    if writer.takes_confidences:
        checked_confidences(calibrator, steps, lambda scores: run_module(text, scores, module_text.CONFIDENCE))
    return writer.text(trial)


class Module:
    """The parts of one module: constants met while its steps are written, and the functions they call."""

    def __init__(self, steps: Program, calibrator: Calibrator) -> None:
        self.steps = steps
        self.recipe = recipe_of(calibrator)
        self.title = type(calibrator).__name__ if self.recipe is None else self.recipe.title
        self.constants: dict[str, str] = {}
        self.called: dict[Callable[..., Any], None] = {}
        self.numbers = 0
        self._maps: dict[int, str] = {}
        self.functions = [self._function("calibrate", steps.result, "Recalibrates one row.", self._squeezed())]
        result = steps.result
        self.takes_confidences = (
            isinstance(result, Ranked) and len(result.maps) == len(result.maps[0]) == 1 and result.row is steps.given
        )
        if isinstance(result, Ranked) and self.takes_confidences:
            self.functions.append(module_text.CONFIDENCE_FUNCTION.format(map=self.map(result.maps[0][0])))
        if steps.abstained is not None:
            self.functions.append(self._function("abstains", steps.abstained, "Whether the model gives no answer."))

    def text(self, trial: ExportTrial | None) -> str:
        """The whole module."""
        functions = [inspect.getsource(function) for function in _with_needs(self.called)]
        constants = "\n".join(f"{name} = {value}" for name, value in self.constants.items())
        program = [*functions, constants, *self.functions]
        parts = [
            module_text.head(self.steps, self.title, trial, self.takes_confidences),
            module_text.stamp(self.recipe, "\n".join(program)),
        ]
        main = module_text.MAIN_OF_CONFIDENCES if self.takes_confidences else module_text.MAIN
        first, *rest = (part.strip("\n") for part in (*parts, *program, module_text.PREDICT, main) if part)
        return f"{first}\n\n" + "\n\n\n".join(rest) + "\n"

    def call(self, function: Callable[..., Any], *arguments: str) -> str:
        """The text of a call, remembering that the function is needed."""
        self.called[function] = None
        return f"{function.__name__}({', '.join(arguments)})"

    def constant(self, value: Any) -> str:
        """The name of a new constant: numbers and lists of them."""
        return self._named(self.literal(value))

    def literal(self, value: Any) -> str:
        """Numbers and lists of them, exact; arrays as lists."""
        numbers = np.asarray(value, dtype=np.float64)
        if np.isnan(numbers).any():
            raise NotAnswerable("a number of this calibrator is not a number (NaN); fit it again")
        self.numbers += numbers.size
        if self.numbers > MOST_NUMBERS:
            raise NotAnswerable(
                f"this calibrator holds more than {MOST_NUMBERS:,} numbers, too many for a text file: save it as JSON, "
                "which calib_core.load_calibrator reads back"
            )
        return _numbers(numbers.tolist())

    def map(self, score_map: Map) -> str:
        """The name of a map; maps that are shared are written once."""
        if id(score_map) not in self._maps:
            self._maps[id(score_map)] = self._named(self._map(score_map))
        return self._maps[id(score_map)]

    def maps(self, all_of_them: Iterable[Map]) -> str:
        return f"[{', '.join(self.map(score_map) for score_map in all_of_them)}]"

    def named_list(self, text: str) -> str:
        """The name of a new constant whose text is already written."""
        return self._named(text)

    def _map(self, score_map: Map) -> str:
        function, values = _parts(score_map)
        self.called[function] = None
        return f"({', '.join([function.__name__, *(self.literal(value) for value in values)])})"

    def _named(self, text: str) -> str:
        name = f"C{len(self.constants)}"
        self.constants[name] = text
        return name

    def _squeezed(self) -> str:
        single = isinstance(self.steps.result, Ranked) and len(self.steps.result.maps) == 1
        return "[0]" if single else ""

    def _function(self, name: str, last: Node, doc: str, ending: str = "") -> str:
        names: dict[Node, str] = {}
        lines = [f'"""{doc}"""']
        for node in in_order(last):
            names[node] = f"x{len(names)}"
            lines.append(f"{names[node]} = {written(node, self, [names[o] for o in node.operands])}")
        lines.append(f"return {names[last]}{ending}")
        return f"def {name}(row):\n" + indent("\n".join(lines), "    ")


@singledispatch
def written(node: Node, module: Module, rows: list[str]) -> str:
    """A step as a Python expression on the names of its operands; register a function here for a step of your own."""
    raise NotAnswerable(f"a step of this calibrator ({type(node).__name__}) cannot be written in Python yet")


@written.register
def _given(node: InputRow, module: Module, rows: list[str]) -> str:
    check = runtime.checked_probabilities if node.kind == "probabilities" else runtime.checked_logits
    return module.call(check, "row", repr(node.n_classes))


@written.register
def _uniform(node: Uniform, module: Module, rows: list[str]) -> str:
    return f"[{1.0 / node.n_classes!r}] * {node.n_classes!r}"


@written.register
def _log(node: Log, module: Module, rows: list[str]) -> str:
    return module.call(runtime.log, *rows)


@written.register
def _finite(node: Finite, module: Module, rows: list[str]) -> str:
    return module.call(runtime.finite, *rows)


@written.register
def _scaled(node: Scaled, module: Module, rows: list[str]) -> str:
    return module.call(runtime.scaled, *rows, module.literal(node.factor))


@written.register
def _affine(node: Affine, module: Module, rows: list[str]) -> str:
    function = runtime.diagonal if node.weights.ndim == 1 else runtime.affine
    return module.call(function, *rows, module.constant(node.weights), module.constant(node.intercepts))


@written.register
def _bent(node: Bent, module: Module, rows: list[str]) -> str:
    lines = (node.pieces.edges, node.pieces.slopes, node.pieces.offsets)
    return module.call(runtime.bent, *rows, *(module.constant(numbers) for numbers in lines))


@written.register
def _moved(node: Moved, module: Module, rows: list[str]) -> str:
    return module.call(runtime.moved, *rows, module.constant(node.curve.scores), module.constant(node.curve.values))


@written.register
def _softmax(node: Softmax, module: Module, rows: list[str]) -> str:
    return module.call(runtime.softmax, *rows)


@written.register
def _mixed(node: Mixed, module: Module, rows: list[str]) -> str:
    return module.call(runtime.mixed, f"[{', '.join(rows)}]", module.literal(node.weights))


@written.register
def _each_class(node: EachClass, module: Module, rows: list[str]) -> str:
    return module.call(runtime.each_class, *rows, module.named_list(module.maps(node.maps)))


@written.register
def _normalised(node: Normalised, module: Module, rows: list[str]) -> str:
    return module.call(runtime.normalised, *rows)


@written.register
def _ranked(node: Ranked, module: Module, rows: list[str]) -> str:
    by_rank = ", ".join(module.maps(of_rank) for of_rank in node.maps)
    return module.call(runtime.ranked, *rows, module.named_list(f"[{by_rank}]"))


@written.register
def _unsure(node: Unsure, module: Module, rows: list[str]) -> str:
    return module.call(runtime.unsure, *rows, module.literal(node.threshold))


@written.register
def _either(node: Either, module: Module, rows: list[str]) -> str:
    return " or ".join(rows)


@written.register
def _chosen(node: Chosen, module: Module, rows: list[str]) -> str:
    condition, row, other = rows
    return f"{row} if {condition} else {other}"


def _parts(score_map: Map) -> tuple[Callable[..., float], tuple[Any, ...]]:
    """The function that applies a map, and what it takes after the score."""
    if isinstance(score_map, PiecewiseMap):
        if not score_map.slopes.any():
            return runtime.steps, (score_map.edges, score_map.offsets)
        return runtime.pieces, (score_map.edges, score_map.slopes, score_map.offsets)
    if isinstance(score_map, Interpolated):
        return runtime.interpolated, (score_map.scores, score_map.values)
    assert isinstance(score_map, LogOddsMap)
    return runtime.log_odds, (score_map.yes, score_map.no, score_map.intercept)


def _numbers(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_numbers(item) for item in value)}]"
    if math.isinf(value):
        return "math.inf" if value > 0 else "-math.inf"
    return repr(value)


def _with_needs(called: Iterable[Callable[..., Any]]) -> list[Callable[..., Any]]:
    """The functions called, each after those it needs."""
    found: dict[Callable[..., Any], None] = {}
    for function in called:
        found.update(dict.fromkeys((*runtime.NEEDS.get(function, ()), function)))
    return list(found)
