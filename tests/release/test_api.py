"""The public interface is the listed one, and old names go with the version that says so."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import calib_core
from calib_core._base.deprecation import deprecated
from tests.release import api

ROOT = Path(__file__).parents[2]
SHIPPED = ("calib", "calib_core", "dashboard")


def test_the_interface_is_the_listed_one():
    """In a process of its own: other tests register methods, and these would be part of it."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.release.api"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "", (
        "intended? python -m tests.release.api --write; breaking lines need a major version"
    )


@pytest.mark.parametrize(
    ("old", "new", "broken"),
    [
        ("f(a, b=1)", "f(a, b=1, c=2)", False),
        ("f(a, *, b=1)", "f(a, *, b=1, c=2)", False),
        ("f(a, *b, c=1, **d)", "f(a, *b, c=1, **d)", False),
        ("f(a, b=1)", "f(a, b=1, *, c=(1, 2))", False),
        ("f(a, b=1)", "f(a, b=1, *, c)", True),
        ("f(a, b=1)", "f(a, c=2, b=1)", True),
        ("f(a, b=1)", "f(a, b=2)", True),
        ("f(a, b=1)", "f(a)", True),
        ("f(a)", "g(a)", True),
        ("calib_core.a: int", "calib_core.a: str", True),
    ],
)
def test_what_breaks_code_is_told_from_what_adds(old, new, broken):
    assert bool(api.breaking([old], [new])) == broken
    assert ("(breaks code)" in api.changes([old], [new])) == broken
    assert api.changes([old], [old]) == ""


def removals(source):
    """Yield the versions that a module names as those without an old name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.keyword) and node.arg == "removed_in" and isinstance(node.value, ast.Constant):
            yield node.value.value
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "REMOVED_IN":
            yield ast.literal_eval(node.value)


def numbers(version):
    return tuple(map(int, re.findall(r"\d+", version.partition(".dev")[0])))


def test_no_old_name_outlives_its_version():
    """Removal versions are keywords or REMOVED_IN, so that this test finds them."""
    paths = [path for name in SHIPPED for path in sorted((ROOT / name).rglob("*.py"))]
    found = {
        path: list(removals(path.read_text("utf-8")))
        for path in paths
        if "emoved_in" in path.read_text("utf-8").lower()
    }
    assert found[ROOT / "calib_core/_base/lazy_modules.py"] == ["1.0"]
    late = {
        str(path) for path, all_ in found.items() for each in all_ if numbers(each) <= numbers(calib_core.__version__)
    }
    assert late == set(), "this version was to be without them"


def test_a_deprecated_function_warns_where_it_is_called_and_works():
    @deprecated("calib_core.ece", removed_in="1.2")
    def error(a, *, b=1):
        """Return a sum."""
        return a + b

    with pytest.warns(DeprecationWarning, match=r"error is now calib_core\.ece; .* removed in 1\.2$") as caught:
        assert error(1, b=2) == 3
    assert caught[0].filename == __file__
    assert error.__doc__ == "Return a sum."
