"""The packages under their names in a wheel: no import statement and no text names one by its name here."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="nothing here builds a wheel")
ROOT = Path(__file__).parents[2]


def build_hook():
    found = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


HOOK = build_hook()
ELSEWHERE = {name for name, shipped in HOOK.SHIPPED_AS.items() if name != shipped}
WORDS = tuple(ELSEWHERE)
SOURCES = {path: path.read_text("utf-8") for name in HOOK.SHIPPED_AS for path in sorted((ROOT / name).rglob("*.py"))}


def imported(source):
    """Return every module that a source imports, and those that it binds by their first name."""
    nodes = list(ast.walk(ast.parse(source)))
    froms = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    plain = [alias for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return froms | {each.name for each in plain}, {each.name.partition(".")[0] for each in plain if not each.asname}


def names_used(source):
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}


def faults(source):
    """Yield what would not work in a wheel."""
    renamed = HOOK.renamed(source)
    modules, bound = imported(renamed)
    yield from (f"imports {each}" for each in modules if each and each.partition(".")[0] in ELSEWHERE)
    was_bound = imported(source)[1]
    yield from (f"uses {each}, which is bound by another name" for each in was_bound & ELSEWHERE & names_used(source))
    yield from (f"is no package of a wheel: {each}" for each in (bound - was_bound) - set(HOOK.SHIPPED_AS.values()))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            parts = node.value.split(".")
            if len(parts) > 1 and parts[0] in ELSEWHERE and all(part.isidentifier() for part in parts[1:]):
                yield f"names {node.value} in a text, which is not changed"


def test_every_module_finds_its_packages_in_a_wheel():
    assert len(SOURCES) > 600
    named = {path: source for path, source in SOURCES.items() if any(word in source for word in WORDS)}
    found = {str(path): what for path, source in named.items() if (what := list(faults(source)))}
    assert found == {}
    # Tracebacks name the lines of the repository.
    assert [path for path, source in named.items() if source.count("\n") != HOOK.renamed(source).count("\n")] == []


@pytest.mark.parametrize(
    "source",
    ["import dashboard.exhibits\ndashboard.exhibits.EXHIBITS", "x = import_module('dashboard.report.build')"],
)
def test_what_would_not_work_in_a_wheel_is_seen(source):
    assert list(faults(source))


@pytest.mark.parametrize(
    ("source", "shipped"),
    [
        ("from dashboard import a as b, c", "from calib.dashboard import a as b, c"),
        ("import demo_data as examples", "import calib_core.demo_data as examples"),
        (
            "if x:\n    from dashboard.a import (\n        b,\n    )",
            "if x:\n    from calib.dashboard.a import (\n        b,\n    )",
        ),
        ("from dashboards import dashboard", "from dashboards import dashboard"),
        ("import calib_core as cc, numpy", "import calib_core as cc, numpy"),
        ("'''\n>>> from dashboard import a\n'''", "'''\n>>> from dashboard import a\n'''"),
    ],
)
def test_import_statements_and_nothing_else_are_changed(source, shipped):
    assert HOOK.renamed(source) == shipped


def test_every_package_of_the_repository_is_shipped():
    tracked = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert tracked == set(HOOK.SHIPPED_AS)
    assert set(HOOK.SHIPPED_AS.values()) & sys.stdlib_module_names == set()


def test_the_command_is_a_module_too():
    for name in ("calib", "calib_core"):
        assert importlib.util.find_spec(f"{name}.__main__") is not None


def test_the_library_by_the_name_of_the_distribution_is_one_sentence():
    import calib

    with pytest.raises(AttributeError, match=r"^calib has no 'ece': the library is calib_core"):
        _ = calib.ece
    assert calib.__version__
