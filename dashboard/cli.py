"""The `calib` command. Each subcommand is one module of `dashboard.commands`, imported on demand."""

import importlib
import io
import os
import pkgutil
import sys
import threading
from importlib.metadata import PackageNotFoundError, version

import click

from dashboard import commands
from dashboard.commands import _extras

_JOBS = "calib-job"  # name prefix of the library's threads for long jobs; the library is not loaded here
_NOT_INSTALLED = 2
_INTERRUPTED, _PIPE_CLOSED = 130, 141  # what a shell reports for a process ended by these signals


class Commands(click.Group):
    """Command group of `dashboard.commands`: module `name` contains the command `name` as `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the name of every module of the package, in alphabetical order."""
        return sorted(m.name for m in pkgutil.iter_modules(commands.__path__) if not m.name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command = importlib.import_module(f"{commands.__name__}.{cmd_name}").command
        assert isinstance(command, click.Command)
        importlib.import_module(f"{commands.__name__}._shared_options").add_with(command)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; end without further messages if the user interrupts it or closes its pipe."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                # A character that the console's code page lacks (the minus sign on Windows) is escaped.
                stream.reconfigure(errors="backslashreplace")
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            if any(thread.name.startswith(_JOBS) for thread in threading.enumerate()):
                # Python would wait for jobs whose result nobody reads.
                sys.stdout.flush()
                os._exit(_INTERRUPTED)
            raise SystemExit(_INTERRUPTED) from None
        except BrokenPipeError:
            # Python would report an error again when it flushes the closed pipe on exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(_PIPE_CLOSED) from None
        except ImportError as why:
            # A command needs more than this installation has, and failed before it could report that itself.
            if (sentence := _extras.missing(why)) is None:
                raise
            click.echo(f"{ctx.command_path} {ctx.invoked_subcommand or ''}".rstrip() + f": {sentence}", err=True)
            raise SystemExit(_NOT_INSTALLED) from None


def _version() -> str:
    try:
        return version("calib")
    except PackageNotFoundError:
        return "(a checkout that is not installed)"


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(_version(), prog_name="calib", message="%(prog)s %(version)s")
@click.option(
    "--with",
    "packages",
    multiple=True,
    metavar="PACKAGE",
    help="Load this extension package (repeatable).",
)
def main(packages: tuple[str, ...]) -> None:
    """Find out whether a classifier's probabilities mean what they say.

    FILE is a table with one prediction per row and the true outcome. A calibrator corrects predicted probabilities; it
    is fitted to rows with known outcomes. To start, run calib audit FILE.
    """


if __name__ == "__main__":
    main()
