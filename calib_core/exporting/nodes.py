"""A fitted calibrator as steps on a row, which every export writes in its own language.

A step is a frozen node that contains its operands, so a calibrator is the graph behind its last step. Rows have K
numbers; a step's docstring is its result for a row x. To add a step, define it here (or in a separate module) and
register it with each writer. Then use it in the description of a calibrator.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from calib_core._base.arrays import Float64s
from calib_core.calibrators.base import Interpolated, Map, PiecewiseMap

Input: TypeAlias = Literal["probabilities", "logits"]


@dataclass(frozen=True, eq=False)
class Node:
    """A step; two steps are equal only if they are the same object."""

    @property
    def operands(self) -> tuple[Node, ...]:
        """Steps whose results it uses."""
        return ()


@dataclass(frozen=True, eq=False)
class OnRow(Node):
    """A step on the result of one other step."""

    row: Node

    @property
    def operands(self) -> tuple[Node, ...]:
        return (self.row,)


@dataclass(frozen=True, eq=False)
class InputRow(Node):
    """The input row: probabilities that sum to one, or raw logits."""

    kind: Input
    n_classes: int


@dataclass(frozen=True, eq=False)
class Uniform(Node):
    """The row (1/K, ..., 1/K)."""

    n_classes: int


@dataclass(frozen=True, eq=False)
class Log(OnRow):
    """log max(x, floor)."""


@dataclass(frozen=True, eq=False)
class Finite(OnRow):
    """x, with minus infinity at the same distance below the row's largest as the log floor is below log 1."""


@dataclass(frozen=True, eq=False)
class Scaled(OnRow):
    """factor * x."""

    factor: float


@dataclass(frozen=True, eq=False)
class Bent(OnRow):
    """Piecewise linear function of every entry of x, of any size, without clipping."""

    pieces: PiecewiseMap


@dataclass(frozen=True, eq=False)
class Affine(OnRow):
    """weights * x + intercepts entry by entry for weights (K,), weights @ x + intercepts for weights (K, K)."""

    weights: Float64s
    intercepts: Float64s


@dataclass(frozen=True, eq=False)
class Moved(OnRow):
    """x + curve(x), entry by entry; the curve's values are not clipped."""

    curve: Interpolated


@dataclass(frozen=True, eq=False)
class Softmax(OnRow):
    """exp(x) / sum exp(x)."""


@dataclass(frozen=True, eq=False)
class Mixed(Node):
    """sum_m weights[m] * rows[m]."""

    rows: tuple[Node, ...]
    weights: tuple[float, ...]

    @property
    def operands(self) -> tuple[Node, ...]:
        return self.rows


@dataclass(frozen=True, eq=False)
class EachClass(OnRow):
    """maps[c](x[c]) for every class c."""

    maps: tuple[Map, ...]


@dataclass(frozen=True, eq=False)
class Normalised(OnRow):
    """x / sum x; a row of zeros becomes uniform."""


@dataclass(frozen=True, eq=False)
class Ranked(OnRow):
    """Largest entries of x, each through a map: maps[r][c] of the r-th largest, x[c]; the lower class on a tie.

    ``maps[r]`` has one map for each class, or a single one for all of them.
    """

    maps: tuple[tuple[Map, ...], ...]


@dataclass(frozen=True, eq=False)
class Unsure(OnRow):
    """True if the entropy -sum x log x is above the threshold."""

    threshold: float


@dataclass(frozen=True, eq=False)
class Either(Node):
    """True if one of two conditions is true."""

    first: Node
    second: Node

    @property
    def operands(self) -> tuple[Node, ...]:
        return (self.first, self.second)


@dataclass(frozen=True, eq=False)
class Chosen(Node):
    """One row if the condition is true, else the other."""

    condition: Node
    row: Node
    other: Node

    @property
    def operands(self) -> tuple[Node, ...]:
        return (self.condition, self.row, self.other)


@dataclass(frozen=True, eq=False)
class Program:
    """A fitted calibrator in steps: the input row, the output row, and the condition for abstaining."""

    given: InputRow
    result: Node
    abstained: Node | None

    def nodes(self) -> Iterator[Node]:
        """Yield every step behind the result and the abstention."""
        yield from in_order(self.result, *(() if self.abstained is None else (self.abstained,)))


def in_order(*last: Node) -> tuple[Node, ...]:
    """Return the steps behind these, each after its operands.

    >>> row = InputRow("logits", 2)
    >>> [type(node).__name__ for node in in_order(Mixed((Softmax(row), row), (0.5, 0.5)))]
    ['InputRow', 'Softmax', 'Mixed']
    """
    found: dict[Node, None] = {}

    def visit(node: Node) -> None:
        if node in found:
            return
        for operand in node.operands:
            visit(operand)
        found[node] = None

    for node in last:
        visit(node)
    return tuple(found)
