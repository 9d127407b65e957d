"""No displayed text names a paper by a code, or an object by its name in the code."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest

from calib_core.registry.citations import WORKS, bibliography
from calib_core.registry.registry import FAMILIES, Choice, Entry, Key, Param
from dashboard.cli import main

ENTRIES = [(family, key) for family in FAMILIES for key in FAMILIES[family]]
PARAMS = [(family, key, param) for family, key in ENTRIES for param in FAMILIES[family][key].params]
NAMES = {param.name for _, _, param in PARAMS if not param.name.isalpha()}
"""Names of parameters that are no plain word."""
CODE = re.compile(rf"\bP[1-5]\b|`|\b[a-z]+_[a-z_]+\b|\bn_|{'|'.join(sorted(NAMES))}")


def code_in(text: str) -> list[str]:
    """Return paper codes and names of the code in a text."""
    return [found[0] for found in CODE.finditer(text)]


def test_the_law_can_fail() -> None:
    for text in ("after P1 eq. 3", "set random_state", "the `bins`", "n_bins of them", "points_per_bin"):
        assert code_in(text), text
    assert not code_in("Gupta and Ramdas (2022), eq. 3; P10; one-vs-rest; 90 % of the rows")


def words_of(entry: Entry[object]) -> Iterator[str]:
    yield from (entry.title, entry.caption, entry.reference)
    for param in entry.params:
        yield from (param.label, param.help)
        if isinstance(param.domain, (Choice, Key)):
            yield from (param.domain.title(option) for option in param.domain.options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("family", "key"), ENTRIES)
def test_members_speak_plainly(family: str, key: str) -> None:
    for text in words_of(FAMILIES[family][key]):
        assert not code_in(text), text


@pytest.mark.parametrize(("family", "key", "param"), PARAMS, ids=lambda value: getattr(value, "name", value))
def test_a_parameter_has_a_name_for_people(family: str, key: str, param: Param) -> None:
    assert param.label[0].isupper()
    assert "_" not in param.label
    assert param.label != param.name
    plain = re.fullmatch(r"[a-z]{4,}", param.name)
    assert plain or param.label != param.name.replace("_", " ").capitalize()
    assert param.help
    assert param.help[0].islower() or not param.help[0].isalpha() or param.help[0] in "λμ"
    assert not param.help.endswith(".")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_reference_is_in_the_list_of_works(family: str) -> None:
    for key in FAMILIES[family]:
        for reference in filter(None, FAMILIES[family][key].reference.split(";")):
            assert bibliography([reference]), f"{reference!r} of {key} has no entry"


def test_works_are_cited_by_author_and_year() -> None:
    for name, entry in WORKS.items():
        year = re.search(r" \((\d{4})\)$", name)
        assert year, name
        assert year[1] in entry
        assert entry.endswith(".")
        assert entry.startswith(name.split()[0].rstrip(","))


def commands(group: click.Group) -> Iterator[click.Command]:
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        yield from commands(command) if isinstance(command, click.Group) else [command]


@pytest.mark.parametrize("command", [main, *commands(main)], ids=lambda command: command.name)
def test_help_speaks_plainly(command: click.Command) -> None:
    # Examples are code, to be copied.
    assert not code_in((command.help or "").partition("\b")[0])
    for option in command.params:
        assert not code_in(getattr(option, "help", None) or ""), option.name
