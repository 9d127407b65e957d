"""Operators plant the fault they are named after, and the sample is the same every time."""

import ast

import fault_operators as operators
import pytest
from executed import around, nearness

PLANTED = {
    "swapped name": ("lower + upper", "upper + upper"),
    "swapped arguments": ("draw(base, recalibrated)", "draw(recalibrated, base)"),
    "another column": ('t["p"] + t["share"]', 't["share"] + t["share"]'),
    "another attribute": ("f(e.floor, e.value)", "f(e.value, e.value)"),
    "another key": ('f(by="ece") + f(by="mce")', 'f(by="mce") + f(by="mce")'),
    "sign": ("a - b", "a + b"),
    "off by one": ("a[2:]", "a[3:]"),
    "threshold times 100": ("p < 0.05", "p < 5.0"),
    "best for worst": ("t.sort(ascending=False)", "t.sort(ascending=True)"),
    "percent for share": ('f"ä {p:.1%}"', 'f"ä {p:.1f}"'),
    "another model": ("style(model)", "style(model + 1)"),
    "other branch": ("a if shown else b", "a if (not (shown)) else b"),
}


@pytest.mark.parametrize("operator", [operator.__name__.replace("_", " ") for operator in operators.OPERATORS])
def test_the_operator_plants_its_fault(operator):
    before, after = PLANTED[operator]
    module = operators.Module("m.py", f"z = {before}\n".encode())
    found = [fault.planted(module.source).decode() for fault in module.faults() if fault.operator == operator]
    assert f"z = {after}\n" in found


def test_nothing_is_planted_in_docstrings_annotations_and_what_is_written_to():
    module = operators.Module("m.py", b'"""lower"""\ndef f(lower: upper) -> lower:\n    """upper"""\n    upper = 1\n')
    assert not list(module.faults())


def test_the_sample_is_spread_and_survives_a_shift_of_lines():
    source = "".join(f"z = {before}\n" for before, _ in PLANTED.values())
    modules = [operators.Module(path, source.encode()) for path in ("a.py", "b.py")]
    shifted = [operators.Module(path, b"\n\n" + source.encode()) for path in ("a.py", "b.py")]
    taken = operators.sample(modules, 24)
    assert [fault.name for fault in taken] == [fault.name for fault in operators.sample(shifted, 24)]
    assert {fault.operator for fault in taken[:12]} == set(PLANTED)
    assert {fault.module for fault in taken[:2]} == {"a.py", "b.py"}
    assert len({fault.name for fault in taken}) == 24
    assert all(module.changes(fault) for module in modules for fault in taken if fault.module == module.path)


def test_the_sample_is_spread_over_folders_before_modules():
    source = "".join(f"z = {before}\n" for before, _ in PLANTED.values()).encode()
    taken = operators.sample([operators.Module(path, source) for path in ("a/x.py", "a/y.py", "b/z.py")], 24)
    # 8 of 24 would be those of one module in three; some operators find no other fault in it.
    assert sum(fault.module == "b/z.py" for fault in taken) >= 11


SOURCE = """\
MOST = 3

def shown(rows, most=MOST):
    if rows > most:
        return (
            most
        )
    return rows

class Table:
    head = 1

    def lines(self):
        return self.head
"""


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        (4, [[4]]),
        (6, [[5, 6, 7]]),
        (3, [[4, 5, 6, 7, 8]]),
        (11, [[], [14], [4, 5, 6, 7, 8, 14]]),
        (1, [[], [4, 5, 6, 7, 8, 14]]),
    ],
)
def test_a_fault_is_seen_by_who_executes_its_statement_or_what_it_is_for(line, lines):
    """A statement that runs only at import belongs to the functions of its class, or else of its module."""
    assert [list(found) for found in around(ast.parse(SOURCE), line)] == lines


def test_files_of_a_module_are_nearer_than_those_that_name_it():
    module, files = (
        "dashboard/views/pane.py",
        (("test_pane.py", ""), ("test_x.py", "pane.draw"), ("test_x.py", "panes")),
    )
    assert [nearness(module, file, text) for file, text in files] == [0, 1, 2]
