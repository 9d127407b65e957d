"""Export a fitted calibrator as a Python module without dependencies.

The module consists of a docstring, imports, functions whose source is copied from here, and the steps.

The copied functions need only ``bisect`` and ``math``, and other functions only as listed in ``NEEDS``. A row is a list
of numbers; a map is a tuple of a function and its arguments after the score.
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

from calib_core.calibrators.base import Calibrator, CurveMap, Interpolated, LogOddsMap, Map, PiecewiseMap
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
    """Return the row as floats, divided by its sum if that is slightly off; ValueError for invalid rows."""
    numbers = [float(p) for p in row]
    if len(numbers) != size:
        raise ValueError(f"the row has {len(numbers)} probabilities instead of {size}")
    total = math.fsum(numbers)
    if not all(p >= 0.0 for p in numbers) or not abs(total - 1.0) <= 1e-3:
        raise ValueError(
            f"the row sums to {total:.6g}; probabilities must not be negative and must sum to 1 within 0.001"
        )
    return numbers if abs(total - 1.0) <= 1e-6 and max(numbers) <= 1.0 else [p / total for p in numbers]


def checked_logits(row: list[float], size: int) -> list[float]:
    """Return the row as floats; ValueError for invalid rows."""
    numbers = [float(z) for z in row]
    if len(numbers) != size:
        raise ValueError(f"the row has {len(numbers)} logits instead of {size}")
    if not all(z < math.inf for z in numbers) or max(numbers) == -math.inf:
        raise ValueError("logits must be finite; -inf is allowed, but not in the whole row")
    return numbers


def log(row: list[float]) -> list[float]:
    """Logarithms, with a floor."""
    return [math.log(p if p > FLOOR else FLOOR) for p in row]


def finite(row: list[float]) -> list[float]:
    """Replace minus infinity by a value as far below the row's largest as the floor is below 1."""
    lowest = max(row) + math.log(FLOOR)
    return [lowest if z == -math.inf else z for z in row]


def scaled(row: list[float], factor: float) -> list[float]:
    """Multiply the row by one factor."""
    return [factor * x for x in row]


def diagonal(row: list[float], weights: list[float], intercepts: list[float]) -> list[float]:
    """Apply a weight and an intercept to each entry."""
    return [w * x + b for x, w, b in zip(row, weights, intercepts, strict=True)]


def affine(row: list[float], weights: list[list[float]], intercepts: list[float]) -> list[float]:
    """Weighted sum of all entries, plus an intercept, for each entry."""
    return [sum(map(float.__mul__, line, row)) + b for line, b in zip(weights, intercepts, strict=True)]


def moved(row: list[float], places: list[float], moves: list[float]) -> list[float]:
    """Shift each entry by an amount interpolated between the points around it."""
    return [x + interpolated(x, places, moves) for x in row]


def softmax(row: list[float]) -> list[float]:
    """Exponentials divided by their sum."""
    top = max(row)
    odds = [math.exp(z - top) for z in row]
    total = sum(odds)
    return [odd / total for odd in odds]


def mixed(rows: list[list[float]], weights: list[float]) -> list[float]:
    """Weighted sum of rows."""
    return [sum(w * x for w, x in zip(weights, column, strict=True)) for column in zip(*rows, strict=True)]


def steps(s: float, edges: list[float], values: list[float]) -> float:
    """Value of the score's bin; bins are closed on the left."""
    return values[bisect.bisect_right(edges, s)]


def pieces(s: float, edges: list[float], slopes: list[float], offsets: list[float]) -> float:
    """Linear function of the score's bin; bins are closed on the left."""
    b = bisect.bisect_right(edges, s)
    return slopes[b] * s + offsets[b]


def bent(row: list[float], edges: list[float], slopes: list[float], offsets: list[float]) -> list[float]:
    """Linear function of each entry's bin."""
    return [pieces(x, edges, slopes, offsets) for x in row]


def interpolated(s: float, scores: list[float], values: list[float]) -> float:
    """Linear interpolation between the points around s, constant beyond the outer ones."""
    b = bisect.bisect_right(scores, s)
    if b == 0 or b == len(scores):
        return values[max(0, b - 1)]
    return values[b - 1] + (values[b] - values[b - 1]) * ((s - scores[b - 1]) / (scores[b] - scores[b - 1]))


def logistic(t: float) -> float:
    """Probability with these log-odds."""
    odds = math.exp(-abs(t))
    return (1.0 if t >= 0 else odds) / (1.0 + odds)


def log_odds(s: float, yes: float, no: float, intercept: float) -> float:
    """Logistic function of log s and log(1 - s)."""
    return logistic(yes * math.log(max(s, FLOOR)) - no * math.log(max(1.0 - s, FLOOR)) + intercept)


def curve(s: float, knots: list[float], origins: list[float], coefficients: list[list[float]]) -> float:
    """Logistic function of a cubic polynomial in the score's log-odds, one for each piece between knots."""
    z = math.log(max(s, FLOOR)) - math.log(max(1.0 - s, FLOOR))
    b = bisect.bisect_right(knots, z)
    t = z - origins[b]
    c0, c1, c2, c3 = coefficients[b]
    return logistic(((c3 * t + c2) * t + c1) * t + c0)


def mapped(s: float, binary_map: tuple[Any, ...]) -> float:
    """Apply a map to a score."""
    value: float = binary_map[0](s, *binary_map[1:])
    return min(max(value, 0.0), 1.0)


def each_class(row: list[float], maps: list[Any]) -> list[float]:
    """Apply each class's map to its entry."""
    return [mapped(s, binary_map) for s, binary_map in zip(row, maps, strict=True)]


def normalised(row: list[float]) -> list[float]:
    """Divide the row by its sum."""
    total = sum(row)
    return [s / total for s in row] if total > 0 else [1.0 / len(row)] * len(row)


def ranked(row: list[float], maps: list[list[Any]]) -> list[float]:
    """Largest entries, each through the map of its rank and class; the lower class on a tie."""
    order = sorted(range(len(row)), key=lambda c: -row[c])[: len(maps)]
    chosen = [of_rank[c] if len(of_rank) > 1 else of_rank[0] for c, of_rank in zip(order, maps, strict=True)]
    return [mapped(row[c], binary_map) for c, binary_map in zip(order, chosen, strict=True)]


def unsure(row: list[float], threshold: float) -> bool:
    """True if the row's entropy is above the threshold."""
    return -sum(p * math.log(p) for p in row if p > 0) > threshold


NEEDS: Mapping[Callable[..., Any], tuple[Callable[..., Any], ...]] = {
    bent: (pieces,),
    curve: (logistic,),
    each_class: (mapped,),
    log_odds: (logistic,),
    moved: (interpolated,),
    ranked: (mapped,),
}
"""Functions that each function calls."""


FORMAT, VERSION = "calib-python", 1


def head(steps: Program, title: str, trial: ExportTrial | None, confidences: bool) -> str:
    """Return the module's docstring."""
    k, kind = steps.given.n_classes, steps.given.kind
    checked_on = "" if trial is None else f"\n\n{trial.sentence}"
    rounding = f"\n{ROUNDING}" if bins_computed(steps) else ""
    more = "    calibrate_confidence(c)  # the largest probability without its row\n" if confidences else ""
    more += "    abstains(row)        # True if the model gives no answer\n" if steps.abstained else ""
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
    """Describe the result for a row."""
    result = steps.result
    if isinstance(result, Ranked) and len(result.maps) == 1:
        return "The result is one number, the probability of the predicted class: the largest, the first on a tie."
    if isinstance(result, Ranked):
        return f"The result is the probabilities of the row's {len(result.maps)} largest classes, largest first."
    if isinstance(result, EachClass):
        return "The result is a row of probabilities, which need not sum to one."
    return "The result is a row of probabilities that sum to one."


def _harmless(text: str) -> str:
    """Escape text so that it cannot end the surrounding docstring."""
    return text.replace("\\", "/").replace('"', "'")


def stamp(recipe: Recipe | None, program: str) -> str:
    """Return the imports that the program needs, and the module's metadata."""
    modules = [f"import {name}" for name in ("bisect", "math") if f"{name}." in program]
    typing = ["from typing import Any"] if re.search(r"\bAny\b", program) else []
    imports = "\n".join([*modules, *typing])
    floor = f"\nFLOOR = {FLOOR!r}" if "FLOOR" in program else ""
    made_by = None if recipe is None else recipe.to_json()
    facts = f"FORMAT, VERSION = {FORMAT!r}, {VERSION!r}\nRECIPE = {made_by!r}{floor}"
    return f"from __future__ import annotations\n\n{imports}\n\n{facts}"


CONFIDENCE = "--confidence"
"""Command-line option of a module: the input consists of numbers instead of rows."""

CONFIDENCE_FUNCTION = '''
def calibrate_confidence(confidence):
    """Recalibrates the probability of a predicted class, independently of the other classes."""
    if not 0.0 <= confidence <= 1.0:
        raise ValueError(f"the confidence is {{confidence}}; it must be in [0, 1]")
    return mapped(float(confidence), {map})
'''

PREDICT = '''
def predict_proba(rows):
    """Recalibrates rows, one at a time."""
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
"""A module with more numbers takes seconds to import; JSON is better for them."""


def python_source(calibrator: Calibrator, *, logits: bool = False) -> str:
    """Export a fitted calibrator as the text of a Python module that imports only the standard library.

    The module has ``calibrate(row)`` and ``predict_proba(rows)`` on lists of probabilities, or of raw logits if the map
    was fitted on them or ``logits`` is True. Results equal those of the calibrator's own ``predict_proba``. The module
    also has ``abstains(row)`` if the model can abstain, and ``calibrate_confidence(confidence)`` if a confidence can be
    recalibrated without the rest of its row. Run as a program, it reads rows as JSON from standard input and writes
    results as JSON. Parameters are written exactly.

    Before the text is returned, it is run in a Python without packages, on rows that are prone to errors. A difference
    above 1e-6 raises NotAnswerable, as does a calibrator that cannot be exported.

    What can mislead: the module computes in double precision. A float32 row, converted to double, can be on another
    side of a bin's edge than in float32.

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
    """Parts of a module: constants that occur in its steps, and the functions they call."""

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
            self.functions.append(self._function("abstains", steps.abstained, "True if the model gives no answer."))

    def text(self, trial: ExportTrial | None) -> str:
        """Return the whole module as text."""
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
        """Return the text of a call, and record the function as needed."""
        self.called[function] = None
        return f"{function.__name__}({', '.join(arguments)})"

    def constant(self, value: object) -> str:
        """Return the name of a new constant: numbers, or lists of them."""
        return self._named(self.literal(value))

    def literal(self, value: object) -> str:
        """Write numbers and lists of them exactly; arrays as lists."""
        numbers = np.asarray(value, dtype=np.float64)
        if np.isnan(numbers).any():
            raise NotAnswerable("a parameter of this calibrator is not a number (NaN); fit it again")
        self.numbers += numbers.size
        if self.numbers > MOST_NUMBERS:
            raise NotAnswerable(
                f"this calibrator has more than {MOST_NUMBERS:,} numbers, too many for a text file. Save it as JSON, "
                "which calib_core.load_calibrator reads"
            )
        return _numbers(numbers.tolist())

    def map(self, score_map: Map) -> str:
        """Return the name of a map; shared maps are written once."""
        if id(score_map) not in self._maps:
            self._maps[id(score_map)] = self._named(self._map(score_map))
        return self._maps[id(score_map)]

    def maps(self, all_of_them: Iterable[Map]) -> str:
        return f"[{', '.join(self.map(score_map) for score_map in all_of_them)}]"

    def named_list(self, text: str) -> str:
        """Return the name of a new constant whose text is already written."""
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
    """Write a step as a Python expression of its operands' names; register a function here for a custom step."""
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
    """Return the function that applies a map, and its arguments after the score."""
    if isinstance(score_map, PiecewiseMap):
        if not score_map.slopes.any():
            return steps, (score_map.edges, score_map.offsets)
        return pieces, (score_map.edges, score_map.slopes, score_map.offsets)
    if isinstance(score_map, Interpolated):
        return interpolated, (score_map.scores, score_map.values)
    if isinstance(score_map, CurveMap):
        return curve, (score_map.knots, score_map.origins, score_map.coefficients)
    assert isinstance(score_map, LogOddsMap)
    return log_odds, (score_map.yes, score_map.no, score_map.intercept)


def _numbers(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_numbers(item) for item in value)}]"
    if math.isinf(value):
        return "math.inf" if value > 0 else "-math.inf"
    return repr(value)


def _with_needs(called: Iterable[Callable[..., Any]]) -> list[Callable[..., Any]]:
    """Return the called functions, each after those it needs."""
    found: dict[Callable[..., Any], None] = {}
    for function in called:
        found.update(dict.fromkeys((*NEEDS.get(function, ()), function)))
    return list(found)
