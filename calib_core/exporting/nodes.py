"""A fitted calibrator as a few steps on a row: what every export writes down in its own language.

A step is a frozen node that holds the nodes it works on, so that a calibrator is the graph behind its last step.
Rows have K numbers; a step's docstring gives what it makes of a row x. To add one, write it here (or in a file of
your own), say how each writer writes it, and use it in the description of a calibrator.
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
    """One step; two steps are the same only if they are one object."""

    @property
    def operands(self) -> tuple[Node, ...]:
        """The steps it works on."""
        return ()


@dataclass(frozen=True, eq=False)
class OnRow(Node):
    """A step on the row another step made."""

    row: Node

    @property
    def operands(self) -> tuple[Node, ...]:
        return (self.row,)


@dataclass(frozen=True, eq=False)
class InputRow(Node):
    """The row that comes in: probabilities that sum to one, or raw logits."""

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
    """x, with minus infinity put as far below the row's largest as the floor of the logarithm is below log 1."""


@dataclass(frozen=True, eq=False)
class Scaled(OnRow):
    """factor * x."""

    factor: float


@dataclass(frozen=True, eq=False)
class Bent(OnRow):
    """The line of its piece at every entry of x, of any size and not clipped."""

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
    """The largest entries of x, each through a map: maps[r][c] of the r-th largest, x[c]; the lower class on a tie.

    ``maps[r]`` has one map for each class, or a single one for all of them.
    """

    maps: tuple[tuple[Map, ...], ...]


@dataclass(frozen=True, eq=False)
class Unsure(OnRow):
    """Whether the entropy -sum x log x is above the threshold."""

    threshold: float


@dataclass(frozen=True, eq=False)
class Either(Node):
    """Whether one or the other holds."""

    first: Node
    second: Node

    @property
    def operands(self) -> tuple[Node, ...]:
        return (self.first, self.second)


@dataclass(frozen=True, eq=False)
class Chosen(Node):
    """One row where the condition holds, the other elsewhere."""

    condition: Node
    row: Node
    other: Node

    @property
    def operands(self) -> tuple[Node, ...]:
        return (self.condition, self.row, self.other)


@dataclass(frozen=True, eq=False)
class Program:
    """A fitted calibrator in steps: the row that comes in, the one that goes out, and whether the model abstains."""

    given: InputRow
    result: Node
    abstained: Node | None

    def nodes(self) -> Iterator[Node]:
        """Every step behind the result and the abstention."""
        yield from in_order(self.result, *(() if self.abstained is None else (self.abstained,)))


def in_order(*last: Node) -> tuple[Node, ...]:
    """The steps behind these, each after those it works on.

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
