"""Failures of commands: one sentence on stderr, with exit code 2."""

from __future__ import annotations

import functools
import re
import shlex
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from dashboard.commands import _extras, _outputs

if TYPE_CHECKING:
    from calib_core import InputError
    from calib_core.registry.registry import UnknownKey

Command = TypeVar("Command", bound=Callable[..., Any])

COULD_NOT_RUN = 2


def careful(function: Command) -> Command:
    """Report failures of a command as one sentence on stderr with exit code 2; add --debug for tracebacks.

    Use it below all other decorators of a command, next to the function.
    """

    @click.option("--debug", is_flag=True, help="Print the traceback of an error.")
    @functools.wraps(function)
    def checked(*args: Any, debug: bool, **options: Any) -> Any:
        try:
            _outputs.check(click.get_current_context())
            return function(*args, **options)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except Exception as why:
            trace()
            fail(sentence_of(why))

    return checked  # type: ignore[return-value]


def trace() -> None:
    """Print the traceback of the error being reported, if --debug is given."""
    if click.get_current_context().params.get("debug"):
        traceback.print_exc()


def fail(sentence: str) -> NoReturn:
    """Print why the command could not run, in one sentence, and exit with code 2."""
    context = click.get_current_context(silent=True)
    click.echo(f"{context.command_path if context else 'calib'}: {_outputs.plain(sentence)}", err=True)
    raise SystemExit(COULD_NOT_RUN)


def _with_options(why: InputError) -> str:
    """Return the message with options of the command line in place of arguments of functions."""
    fields = {name: value if isinstance(value, str) else ",".join(value) for name, value in why.reading.items()}
    options = " ".join(
        f"--label {shlex.quote(value)}" if name == "label" else f"--read {shlex.quote(f'{name}={value}')}"
        for name, value in fields.items()
    )
    message = str(why).replace(why.advice, f"give {options}") if options else str(why)
    return in_options(message)


def in_options(message: str) -> str:
    """Return a message with options of the command line in place of controls of the dashboard.

    >>> in_options('If they are logits, choose kind "logits".')
    'If they are logits, add --read kind=logits.'
    """
    fields = {"kind": "kind", "label coding": "label_coding", "missing": "missing"}
    return re.sub(
        f'choose ({"|".join(fields)}) "([^"]+)"',
        lambda found: f"add --read {fields[found[1]]}={found[2]}",
        message,
    )


def _named(why: UnknownKey) -> str:
    """Return the option or argument of the running command that contains the key; empty if none does."""
    context = click.get_current_context()
    given = [param for param in context.command.params if why.key in str(context.params.get(param.name or ""))]
    given.sort(key=lambda param: getattr(param, "family", None) != why.family)
    for param in given:
        if isinstance(param, click.Option) or hasattr(param, "family"):
            return param.opts[0] if isinstance(param, click.Option) else param.human_readable_name
    return ""


def about(option: str, why: Exception) -> str:
    """Return the message about an option's value; an unknown key with the place of the whole list.

    >>> about("--bins", ValueError("'3' is not possible"))
    "--bins: '3' is not possible."
    """
    from calib_core.registry.registry import UnknownKey

    if not isinstance(why, UnknownKey):
        return f"{option}: {why}."
    context = click.get_current_context()
    listed = any(getattr(param, "family", None) == why.family for param in context.command.params) and not why.hint
    return (
        f"{option} {why.brief} {context.command_path} --help lists all." if listed else f"{option}: {why}".strip(": ")
    )


def sentence_of(why: Exception) -> str:
    """Return the message to print for an exception."""
    from calib_core import InputError, RegistryError
    from calib_core.registry.registry import UnknownKey

    if isinstance(why, InputError):
        return _with_options(why)
    if isinstance(why, UnknownKey):
        return about(_named(why), why)
    if isinstance(why, RegistryError):
        return str(why)
    if isinstance(why, OSError):
        return f"{why.filename or 'the output'}: {why.strerror or why}"
    if (sentence := _extras.missing(why)) is not None:
        return sentence
    text = f"{type(why).__name__}: {why}" if str(why) else type(why).__name__
    return f"this is a mistake of the program ({text}); --debug prints the traceback"
