"""Names of the package are loaded on demand."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import calib_core
from calib_core.registry.registry import FAMILIES


def for_type_checkers():
    """Return the imports of the block for type checkers: name -> module."""
    tree = ast.parse(Path(calib_core.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {alias.name: node.module for node in block.body for alias in node.names}


def test_type_checkers_read_what_the_interpreter_finds():
    read = for_type_checkers()
    assert set(read) - {"figures"} == set(calib_core.__all__)
    for name, module in read.items():
        whole = importlib.import_module(f"{module}.{name}" if module == "calib_core" else module)
        assert getattr(calib_core, name) is (whole if module == "calib_core" else vars(whole)[name])


def test_what_is_no_public_name_is_refused():
    with pytest.raises(AttributeError, match="no attribute 'calibrate'"):
        _ = calib_core.calibrate
    assert {*calib_core.__all__, "figures", "__version__"} == set(dir(calib_core))


def test_an_estimate_needs_neither_scikit_learn_nor_scipy_stats():
    """scikit-learn takes longer to load than `calib gate` may take on a small file."""
    ask = """import sys, calib_core as cc
p = cc.Predictions([[0.9, 0.1], [0.7, 0.3]] * 50, [0, 1, 0, 0, 0] * 20)
cc.estimate(p).interval(), cc.estimate(p).noise_floor
print([name for name in ("sklearn", "scipy.stats", "scipy.optimize") if name in sys.modules])"""
    assert fresh(ask) == "[]\n"


def test_what_lists_the_calibrators_loads_no_scikit_learn():
    """Every command but `calib gate` lists them, and the dashboard before its first visitor."""
    heavy = ("sklearn", "scipy.stats", "scipy.optimize", "scipy.spatial")
    ask = f"import sys, dashboard.exhibits, dashboard.session; print([m for m in {heavy} if m in sys.modules])"
    assert fresh(ask) == "[]\n"


def fresh(ask):
    """Return what a new interpreter prints."""
    return subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("family", ["BINNINGS", "CALIBRATORS", "KERNELS", "PLANS", "TRUTHS"])
def test_a_recipe_is_read_where_nothing_of_its_family_was_loaded(family):
    key = next(iter(FAMILIES[family]))
    ask = f"from calib_core import Recipe; print(Recipe.from_dict({family!r}, {key!r}).build() is not None)"
    assert fresh(ask) == "True\n"


def test_a_family_that_there_is_not_is_a_key_error():
    # A name no other test and no doctest registers: families live as long as the interpreter.
    with pytest.raises(KeyError, match="A_FAMILY_NOBODY_REGISTERS"):
        calib_core.Recipe("A_FAMILY_NOBODY_REGISTERS", "cat").build()


def test_what_the_first_visitor_would_wait_for_is_loaded_before():
    ask = "import sys; from dashboard import launch; launch.preload(); print(sorted(sys.modules))"
    assert "'calib_core.evaluation.choice'" in fresh(ask)


@pytest.mark.parametrize(("old", "new"), calib_core._MOVED.items())
def test_an_old_name_is_handed_on_with_a_warning(old, new):
    module = importlib.import_module(f"calib_core.{new}")
    name = next(name for name, value in vars(module).items() if callable(value) and not name.startswith("_"))
    with pytest.warns(DeprecationWarning, match=rf"calib_core\.{old} is now calib_core\.{new}"):
        assert getattr(importlib.import_module(f"calib_core.{old}"), name) is getattr(module, name)
    if "." not in old:
        with pytest.warns(DeprecationWarning, match="removed in 1.0"):
            assert getattr(calib_core, old) is module
        assert old not in dir(calib_core)


def test_old_names_load_nothing_and_answer_nobody_who_looks_through_all_modules():
    ask = """import sys, warnings
warnings.simplefilter("error")
import calib_core
print(sorted({m.partition(".")[0] for m in sys.modules} & {"numpy", "pandas", "scipy"}))
print([getattr(m, "__file__", 1) for n, m in sys.modules.items() if n == "calib_core." + "study"])"""
    assert fresh(ask) == "[]\n[1]\n"
