"""The manual page of `calib`, in the language of man: commands with their options, and the glossary."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping

import click

from calib_core import __version__
from dashboard.commands._topics import GLOSSARY, Topic


def lines(context: click.Context, found: Mapping[str, Topic]) -> Iterator[str]:
    """Yield the page of the running program line by line."""
    yield f'.TH CALIB 1 "" "calib {__version__}" "User Commands"'
    yield from (".SH NAME", f"calib \\- {_escaped(_begun_small(context.command.get_short_help_str(99)))}")
    yield from (".SH SYNOPSIS", ".B calib", ".I COMMAND", "[options] [arguments]")
    yield from (
        ".SH DESCRIPTION",
        "calib COMMAND \\-\\-help prints the options of a command, and",
        ".B calib help TOPIC",
    )
    yield "explains a task, a method or a term."
    yield ".SH COMMANDS"
    group = context.command
    assert isinstance(group, click.Group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield from _command(name, command, click.Context(command, context, name))
    yield ".SH GLOSSARY"
    for topic in found.values():
        if topic.heading == GLOSSARY:
            yield from (".TP", f".B {_escaped(topic.title)}", *map(_escaped, topic.text.split()))


def _command(name: str, command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield what the help of a command contains."""
    yield f".SS calib {name} {_escaped(' '.join(command.collect_usage_pieces(context)))}"
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        # Click marks lines that stay as they are.
        kept = paragraph.startswith("\b\n")
        text = map(_escaped, paragraph.removeprefix("\b\n").splitlines())
        yield from (".PP", *([".nf", *text, ".fi"] if kept else text))
    for param in command.get_params(context):
        record = param.get_help_record(context)
        if record is not None and record[1]:
            yield from (".TP", f".B {_escaped(record[0])}", *map(_escaped, record[1].split("\n")))


def _begun_small(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:].rstrip(".")


def _escaped(text: str) -> str:
    r"""Return a line of text in which nothing is a command of the language, in ASCII.

    >>> print(_escaped(".csv or --bins"), _escaped(r"a\b"), _escaped("3–4"))
    \&.csv or \-\-bins a\eb 3\[u2013]4
    """
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    plain = "".join(c if c.isascii() else f"\\[u{ord(c):04X}]" for c in plain)
    return "\\&" + plain if plain.startswith((".", "'")) else plain
