"""The option --with of every command: packages of other people, loaded before the command runs."""

from __future__ import annotations

import click

from dashboard import extensions
from dashboard.commands import _outputs, _shared

_FOR_STRANGERS = "serve"
"""The command whose server loads what is installed, and nothing else."""


class _With(click.Option):
    """The option, once in a command."""


def add_to(command: click.Command) -> None:
    """Give a command the option; once its words are read, installed extensions and the packages named are loaded."""
    if any(isinstance(param, _With) for param in command.params):
        return
    option = _With(
        ["--with", "packages"],
        multiple=True,
        metavar="PACKAGE",
        expose_value=False,
        callback=_load,
        hidden=command.name == _FOR_STRANGERS,
        help="Load this package of methods or exhibits (repeatable).",
    )
    command.params.append(option)


def _load(context: click.Context, _: click.Parameter, packages: tuple[str, ...]) -> None:
    if context.resilient_parsing:
        return
    packages = (*context.find_root().params.get("packages", ()), *packages)
    if packages and context.command.name == _FOR_STRANGERS:
        _shared.fail("A server for many people loads installed extensions only. Install the package; omit --with.")
    for sentence in extensions.load_installed():
        click.echo(f"{context.command_path}: {_outputs.plain(sentence)}", err=True)
    for name in packages:
        try:
            extensions.load(name)
        except extensions.ExtensionError as why:
            _shared.fail(str(why))
