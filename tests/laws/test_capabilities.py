"""Declared capabilities of methods are true, and no module of the library infers them from a method's type."""

import ast
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from generated import asked_of

import calib_core
from calib_core import BINNINGS, CALIBRATORS, ESTIMATORS, REDUCTIONS, Predictions
from calib_core.calibrators import BINARY_CALIBRATORS
from calib_core.claims.probability_vectors import Vectors
from calib_core.inference.noise.redrawn_errors import of_counts
from calib_core.reductions import scope
from calib_core.registry.registry import FAMILIES
from tests.support.source_trees import nodes_of, tree_of

ROOT = Path(calib_core.__file__).parent
PROTOCOLS = {"Estimator", "Reduction", "IntervalScheme", "SimplexScheme", "PoolingScheme", "NormOfResiduals", "Claims"}
ALLOWED = {
    ("calibrators/base.py", "_predictions", "getattr"): "what people give as probabilities: a frame has columns",
    ("estimators/base.py", "judged_notion", "getattr"): "a tally has the one notion that it counts, rows have many",
    ("estimators/base.py", "estimate", "hasattr"): "what people give as predictions, whatever it is",
    ("binning/base.py", "_is_scheme", "getattr"): "what people give as bins, whatever it is",
    ("evaluation/candidates.py", "rows_needed", "isinstance"): "parameters of a recipe: a part counts with its own",
    (
        "inference/intervals/binned_errors.py",
        "_by_variance",
        "isinstance",
    ): "groups by variance or by rows: one scheme has both",
    ("_base/parallel.py", "shared_out", "getattr"): "a thread's own note that it is a worker",
    ("_base/sklearn_api.py", "get_params", "hasattr"): "scikit-learn's rule: what has parameters has get_params",
    ("_base/sklearn_api.py", "clone", "hasattr"): "scikit-learn's rule: what has parameters has get_params",
    ("_base/sklearn_api.py", "clone", "isinstance"): "parameters of our own parts are copied without scikit-learn",
    ("calibrators/composed.py", "_after_default_temperature", "isinstance"): "a prefix knows its own composition",
    ("calibrators/saving.py", "member", "isinstance"): "a tree of saved values: which of two registries wrote the part",
    ("calibrators/saving.py", "value", "isinstance"): "a tree of saved values: parts are told from arrays and numbers",
    ("calibrators/saving.py", "_binaries", "isinstance"): "a tree of saved values: parts are told from lists",
    ("calibrators/saving.py", "member", "hasattr"): "a saved state must not overwrite what a class has",
    ("calibrators/saving.py", "member", "except"): "a damaged file, whatever is wrong with it",
    ("evaluation/decisions.py", "_numbers", "except"): "what people give as costs, whatever it is",
    ("papers/tables/runs.py", "read", "except"): "a damaged file, whatever is wrong with it",
    (
        "diagrams/matplotlib_display.py",
        "from_estimator",
        "hasattr",
    ): "scikit-learn's rule: what has probabilities has predict_proba",
    ("registry/registry.py", "value", "hasattr"): "a parameter is the member's own or its lifted part's",
    (
        "diagrams/forest.py",
        "family_of",
        "getattr",
    ): "bins that are no parameter: where a line stands",
    ("inference/verdicts/verdict.py", "_event_ratio", "getattr"): "bins that were asked for: only errors have them",
    ("lab/true_errors.py", "_binning", "getattr"): "bins that are no parameter: errors have them, scores do not",
    ("registry/registry.py", "_domain", "getattr"): "the marks of a type hint, which a plain one has none of",
}


def method_names():
    """Return the names of every registered class and of its bases in the library."""
    classes = {registry[key].cls for registry in FAMILIES.values() for key in registry}
    bases = {base for cls in classes for base in cls.__mro__ if base.__module__.startswith("calib_core")}
    return {base.__name__ for base in bases} | PROTOCOLS


def type_tests(source, names):
    """Yield (line, function, kind) of every type test: isinstance, type(x) is, hasattr, getattr, except."""
    owner = {}
    nodes = nodes_of(tree_of(source))
    for node in nodes:  # outer functions come first, so that the innermost has the last word
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            owner |= {id(inner): node.name for inner in ast.walk(node)}

    def named(node):
        return {
            n.id if isinstance(n, ast.Name) else n.attr
            for n in ast.walk(node)
            if isinstance(n, (ast.Name, ast.Attribute))
        }

    for node in nodes:
        kind = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ("isinstance", "issubclass") and named(node.args[1]) & names:
                kind = "isinstance"
            elif node.func.id == "hasattr" or (node.func.id == "getattr" and len(node.args) == 3):
                kind = node.func.id
        elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Call) and named(node.left.func) == {"type"}:
            kind = "isinstance" if any(named(other) & names for other in node.comparators) else None
        elif isinstance(node, ast.ExceptHandler) and node.type is not None:
            kind = "except" if named(node.type) & {"AttributeError", "TypeError"} else None
        if kind is not None:
            yield node.lineno, owner.get(id(node), ""), kind


@cache
def found_in_the_library():
    """Return module, line, function and kind of every type test outside the readers, which know no method."""
    names = method_names()
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith("readers/"):
            found += [(name, *test) for test in type_tests(path.read_text("utf-8"), names)]
    return found


def test_no_module_tests_a_methods_type():
    wrong = [
        f"{n}:{at} {kind} in {where}"
        for n, at, where, kind in found_in_the_library()
        if (n, where, kind) not in ALLOWED
    ]
    assert not wrong, "\n".join(wrong)


def test_the_exceptions_are_still_needed():
    used = {(name, where, kind) for name, _, where, kind in found_in_the_library()}
    assert used == set(ALLOWED)


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("def f(e):\n    return isinstance(e, (int, Binned))", "isinstance"),
        ("def f(e):\n    return isinstance(e, binning.Groups)", "isinstance"),
        ("def f(e):\n    return issubclass(e, IntervalScheme)", "isinstance"),
        ("def f(e):\n    return type(e) is Temperature", "isinstance"),
        ("def f(e):\n    return hasattr(e, 'of')", "hasattr"),
        ("def f(e):\n    return getattr(e, 'squared', False)", "getattr"),
        ("def f(e):\n    try:\n        e.of()\n    except (KeyError, AttributeError):\n        pass", "except"),
        ("def f(e):\n    return isinstance(e, str), getattr(e, name)", None),
    ],
)
def test_the_scan_sees_a_type_test(source, kind):
    assert [found for *_, found in type_tests(source, method_names())] == ([kind] if kind else [])


# -- truth of declarations ------------------------------------------------------------------------------------

NEEDS = {
    "vectors": lambda t: "vectors" in t.takes,
    "predictions": lambda t: "predictions" in t.takes,
    "image": lambda t: t.judged == "residuals",
    "smoother": lambda t: t.judged == "smoothed",
    "losses": lambda t: t.judged == "losses",
    "labels": lambda t: t.judged == "bins" and "vectors" in t.takes,
    "pairs": lambda t: t.judged == "pairs",
    "blocks": lambda t: t.judged == "pairs" and "vectors" in t.takes,
    "counts": lambda t: t.counts != "never",
    "bins": lambda t: t.judged == "bins",
}
OFFERS = {
    "vectors": {"of_vectors"},
    "predictions": {"of", "losses"},
    "image": {"image"},
    "smoother": {"smoother"},
    "losses": {"label_losses", "claim_losses"},
    "labels": {"of_labels"},
    "pairs": {"with_self", "paired", "pairs"},
    "blocks": {"blocks"},
    "counts": {"of_table", "of_outcomes"},
}


@pytest.mark.parametrize("key", list(ESTIMATORS))
def test_an_estimator_offers_what_it_declares_and_declares_what_it_offers(key):
    declared, has = ESTIMATORS[key].flags, set(dir(ESTIMATORS.make(key)))
    for what, names in OFFERS.items():
        assert (names <= has) == NEEDS[what](declared), what
    assert "binning" in has or not NEEDS["bins"](declared)


@pytest.mark.parametrize("key", [key for key in ESTIMATORS if ESTIMATORS[key].flags.counts != "never"])
@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise"])
def test_counts_in_bins_are_all_it_looks_at(key, notion):
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(3), size=200)
    weights = rng.uniform(0.2, 3.0, 200)
    for w in (None, weights):
        claims = REDUCTIONS.make(notion).split(Predictions(p, rng.integers(3, size=200), weights=w))
        estimator = ESTIMATORS.make(key)
        counted = of_counts(estimator, claims)
        assert (counted is None) == (w is not None and ESTIMATORS[key].flags.counts == "unweighted")
        if counted is not None:
            value = estimator(claims).value
            assert counted.value(counted.table) == pytest.approx(value, abs=1e-12)
            assert counted.values(counted.table.tally.outcome[None]) == pytest.approx([value], abs=1e-12)


@pytest.mark.parametrize("key", list(BINNINGS))
def test_a_binning_cuts_what_it_declares(key):
    declared, has = BINNINGS[key].flags, set(dir(BINNINGS[key].cls))
    assert ({"placed", "partition"} <= has) == (declared.of == "simplex")
    assert ({"fixed_edges", "edges"} <= has) == (declared.of == "interval")
    assert ("table" in has) == declared.pools


@pytest.mark.parametrize("key", list(REDUCTIONS))
def test_a_notion_speaks_of_what_it_declares(key):
    notion = REDUCTIONS.make(key)
    declared, k = scope(notion), 3
    made = notion.split(asked_of(key, Predictions([[0.6, 0.3, 0.1]] * 4, [0, 1, 2, 0])))
    assert (type(made) is Vectors) == (declared.of == "vector")
    assert ("k" in dir(notion)) == (declared.of == "ranks")
    assert ("cls" in dir(notion)) == (declared.of == "class")
    if declared.of == "other":
        return
    ranks = k if declared.of == "ranks" else 1
    strata = {"event": 1, "top": 1, "ranks": ranks, "class": 1, "classes": k, "vector": 1}[declared.of]
    assert len(made.strata) == strata * (k if declared.by_class else 1)


@pytest.mark.parametrize("key", list(CALIBRATORS))
def test_a_calibrator_offers_what_it_declares(key):
    made = CALIBRATORS.make(key)
    assert ("attained" in dir(made)) == bool(made.wanted)
    assert not made.wanted or made.wanted in made.get_params()
    assert ("_columns" in dir(made)) == made.binary_maps  # the one class with a map a stratum


@pytest.mark.parametrize("key", list(BINARY_CALIBRATORS))
def test_steps_are_the_thresholds(key):
    s = np.linspace(0.02, 0.98, 600)
    made = BINARY_CALIBRATORS.make(key).fit(s, (np.arange(600) * 7919) % 600 < 600 * s)
    assert (made.steps.size > 0) == ("thresholds_" in vars(made))
