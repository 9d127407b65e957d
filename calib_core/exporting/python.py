"""A fitted calibrator as a Python module that needs nothing but Python.

The text around an exported module's steps: what it says of itself, its imports, and what every module ends with.

The functions an exported module is put together from: their source text is copied into it.

They need nothing beyond ``bisect`` and ``math``, and each only what stands in ``NEEDS`` beside it. A row is a list of
numbers; a map is a tuple of a function and what it takes after the score.
"""

from __future__ import annotations

import bisect
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import singledispatch
from textwrap import indent
from typing import Any

import numpy as np

from calib_core.calibrators.base import Calibrator, Interpolated, LogOddsMap, Map, PiecewiseMap
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
from calib_core.exporting.trial import ROUNDING, ExportTrial, bins_computed, checked, checked_confidences, run_module
from calib_core.predictions.predictions import NotAnswerable
from calib_core.registry.registry import Recipe

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


FORMAT, VERSION = "calib-python", 1


def head(steps: Program, title: str, trial: ExportTrial | None, confidences: bool) -> str:
    """The module's docstring."""
    k, kind = steps.given.n_classes, steps.given.kind
    checked_on = "" if trial is None else f"\n\n{trial.sentence}"
    rounding = f"\n{ROUNDING}" if bins_computed(steps) else ""
    more = "    calibrate_confidence(c)  # the largest probability without its row\n" if confidences else ""
    more += "    abstains(row)        # whether the model gives no answer\n" if steps.abstained else ""
    option = "\n    python this_module.py --confidence < numbers.json > calibrated.json" if confidences else ""
    doc = f"""{title}.

Fitted and exported by calib; it needs Python 3.10 or newer and no packages.

    from this_module import calibrate, predict_proba
    calibrate(row)       # a list of {k} {kind}
    predict_proba(rows)  # a list of rows
{more}
    python this_module.py < rows.json > calibrated.json{option}

{_returned(steps)}
It works in double precision.{rounding}{checked_on}
"""
    return f'"""{_harmless(doc)}"""'


def _returned(steps: Program) -> str:
    """What a row becomes."""
    result = steps.result
    if isinstance(result, Ranked) and len(result.maps) == 1:
        return "A row becomes one number, the probability of its predicted class: the largest, the first on a tie."
    if isinstance(result, Ranked):
        return f"A row becomes the probabilities of its {len(result.maps)} largest classes, largest first."
    if isinstance(result, EachClass):
        return "A row stays a row of probabilities, which need not sum to one."
    return "A row stays a row of probabilities that sum to one."


def _harmless(text: str) -> str:
    """Text that cannot end the docstring it stands in."""
    return text.replace("\\", "/").replace('"', "'")


def stamp(recipe: Recipe | None, program: str) -> str:
    """Imports of what the program uses, and what the module is."""
    modules = [f"import {name}" for name in ("bisect", "math") if f"{name}." in program]
    typing = ["from typing import Any"] if re.search(r"\bAny\b", program) else []
    imports = "\n".join([*modules, *typing])
    floor = f"\nFLOOR = {FLOOR!r}" if "FLOOR" in program else ""
    made_by = None if recipe is None else recipe.to_json()
    facts = f"FORMAT, VERSION = {FORMAT!r}, {VERSION!r}\nRECIPE = {made_by!r}{floor}"
    return f"from __future__ import annotations\n\n{imports}\n\n{facts}"


CONFIDENCE = "--confidence"
"""Option of a module run as a program: numbers come in instead of rows."""

CONFIDENCE_FUNCTION = '''
def calibrate_confidence(confidence):
    """Recalibrates the probability of a predicted class, whatever the other classes had."""
    if not 0.0 <= confidence <= 1.0:
        raise ValueError(f"the confidence is {{confidence}}; it must lie in [0, 1]")
    return mapped(float(confidence), {map})
'''

PREDICT = '''
def predict_proba(rows):
    """Recalibrates rows, each by itself."""
    return [calibrate(row) for row in rows]
'''

MAIN = """
if __name__ == "__main__":
    import json
    import sys

    json.dump(predict_proba(json.load(sys.stdin)), sys.stdout)
"""

MAIN_OF_CONFIDENCES = f"""
if __name__ == "__main__":
    import json
    import sys

    given = json.load(sys.stdin)
    alone = {CONFIDENCE!r} in sys.argv
    json.dump([calibrate_confidence(c) for c in given] if alone else predict_proba(given), sys.stdout)
"""


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
        checked_confidences(calibrator, steps, lambda scores: run_module(text, scores, CONFIDENCE))
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
            self.functions.append(CONFIDENCE_FUNCTION.format(map=self.map(result.maps[0][0])))
        if steps.abstained is not None:
            self.functions.append(self._function("abstains", steps.abstained, "Whether the model gives no answer."))

    def text(self, trial: ExportTrial | None) -> str:
        """The whole module."""
        functions = [inspect.getsource(function) for function in _with_needs(self.called)]
        constants = "\n".join(f"{name} = {value}" for name, value in self.constants.items())
        program = [*functions, constants, *self.functions]
        parts = [
            head(self.steps, self.title, trial, self.takes_confidences),
            stamp(self.recipe, "\n".join(program)),
        ]
        main = MAIN_OF_CONFIDENCES if self.takes_confidences else MAIN
        first, *rest = (part.strip("\n") for part in (*parts, *program, PREDICT, main) if part)
        return f"{first}\n\n" + "\n\n\n".join(rest) + "\n"

    def call(self, function: Callable[..., object], *arguments: str) -> str:
        """The text of a call, remembering that the function is needed."""
        self.called[function] = None
        return f"{function.__name__}({', '.join(arguments)})"

    def constant(self, value: object) -> str:
        """The name of a new constant: numbers and lists of them."""
        return self._named(self.literal(value))

    def literal(self, value: object) -> str:
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
    check = checked_probabilities if node.kind == "probabilities" else checked_logits
    return module.call(check, "row", repr(node.n_classes))


@written.register
def _uniform(node: Uniform, module: Module, rows: list[str]) -> str:
    return f"[{1.0 / node.n_classes!r}] * {node.n_classes!r}"


@written.register
def _log(node: Log, module: Module, rows: list[str]) -> str:
    return module.call(log, *rows)


@written.register
def _finite(node: Finite, module: Module, rows: list[str]) -> str:
    return module.call(finite, *rows)


@written.register
def _scaled(node: Scaled, module: Module, rows: list[str]) -> str:
    return module.call(scaled, *rows, module.literal(node.factor))


@written.register
def _affine(node: Affine, module: Module, rows: list[str]) -> str:
    function = diagonal if node.weights.ndim == 1 else affine
    return module.call(function, *rows, module.constant(node.weights), module.constant(node.intercepts))


@written.register
def _bent(node: Bent, module: Module, rows: list[str]) -> str:
    lines = (node.pieces.edges, node.pieces.slopes, node.pieces.offsets)
    return module.call(bent, *rows, *(module.constant(numbers) for numbers in lines))


@written.register
def _moved(node: Moved, module: Module, rows: list[str]) -> str:
    return module.call(moved, *rows, module.constant(node.curve.scores), module.constant(node.curve.values))


@written.register
def _softmax(node: Softmax, module: Module, rows: list[str]) -> str:
    return module.call(softmax, *rows)


@written.register
def _mixed(node: Mixed, module: Module, rows: list[str]) -> str:
    return module.call(mixed, f"[{', '.join(rows)}]", module.literal(node.weights))


@written.register
def _each_class(node: EachClass, module: Module, rows: list[str]) -> str:
    return module.call(each_class, *rows, module.named_list(module.maps(node.maps)))


@written.register
def _normalised(node: Normalised, module: Module, rows: list[str]) -> str:
    return module.call(normalised, *rows)


@written.register
def _ranked(node: Ranked, module: Module, rows: list[str]) -> str:
    by_rank = ", ".join(module.maps(of_rank) for of_rank in node.maps)
    return module.call(ranked, *rows, module.named_list(f"[{by_rank}]"))


@written.register
def _unsure(node: Unsure, module: Module, rows: list[str]) -> str:
    return module.call(unsure, *rows, module.literal(node.threshold))


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
            return steps, (score_map.edges, score_map.offsets)
        return pieces, (score_map.edges, score_map.slopes, score_map.offsets)
    if isinstance(score_map, Interpolated):
        return interpolated, (score_map.scores, score_map.values)
    assert isinstance(score_map, LogOddsMap)
    return log_odds, (score_map.yes, score_map.no, score_map.intercept)


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
        found.update(dict.fromkeys((*NEEDS.get(function, ()), function)))
    return list(found)
