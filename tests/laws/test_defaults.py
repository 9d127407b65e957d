"""Each default has one home: a level changed in ``calib_core.defaults`` changes every result."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from calib_core import InputError, Predictions, choose, defaults, estimate
from calib_core.diagrams.bins_that_stand_out import bins_standing_out
from calib_core.guarantees.bounds import marginal_eps
from calib_core.inference import unbinned_bound
from calib_core.inference.comparison.model_differences import paired_difference
from tests.support.source_trees import nodes_of, tree_of

ROOT = Path(__file__).parents[2]
HELD = {
    "level": "LEVEL",
    "alpha": "ALPHA",
    "random_state": "SEED",
    "seed": "SEED",
    "eps": "TOLERANCE",
    "ratio": "RATIO",
}


def literals(source: str) -> Iterator[tuple[int, str, object]]:
    """Yield parameters of functions, and fields of classes, that repeat values of ``defaults``."""
    for node in nodes_of(tree_of(source)):
        pairs: list[tuple[str, ast.expr | None]] = []
        if isinstance(node, ast.FunctionDef):
            given = [*node.args.posonlyargs, *node.args.args]
            pairs = list(
                zip([a.arg for a in given][len(given) - len(node.args.defaults) :], node.args.defaults, strict=True)
            )
            pairs += list(zip([a.arg for a in node.args.kwonlyargs], node.args.kw_defaults, strict=True))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            pairs = [(node.target.id, node.value)]
        for name, value in pairs:
            if name in HELD and isinstance(value, ast.Constant) and value.value == getattr(defaults, HELD[name]):
                yield node.lineno, name, value.value


def test_a_literal_is_found():
    assert list(literals("def f(level=0.9, *, seed: int = 0): ...")) == [(1, "level", 0.9), (1, "seed", 0)]
    assert not list(literals("def f(level=LEVEL, seed=1): ..."))


def test_no_signature_repeats_a_default():
    found = [
        f"{path.relative_to(ROOT)}:{line} {name}={value}"
        for room in ("calib_core", "dashboard")
        for path in sorted((ROOT / room).rglob("*.py"))
        for line, name, value in literals(path.read_text())
    ]
    assert not found


@pytest.mark.parametrize("level", [0, 1, 90, float("nan"), "0.9"])
def test_a_level_that_is_none_is_refused_in_one_sentence(level):
    p = Predictions([[0.9, 0.1], [0.2, 0.8]] * 20, [0, 1, 1, 1] * 10)
    asked = [
        lambda: estimate(p).interval(level),
        lambda: estimate(p).verdict(level=level),
        lambda: choose(p, ["temperature"], level=level),
        lambda: paired_difference(p, p, level=level),
        lambda: bins_standing_out({"net": p}, 5, level=level),
        lambda: marginal_eps(50, alpha=level),
        lambda: unbinned_bound(p, assumption="lipschitz", constant=1.0, level=level),
    ]
    for ask in asked:
        with pytest.raises(InputError, match=r"(level|alpha) is .*; it must"):
            ask()
