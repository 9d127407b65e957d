"""`calib dashboard`: open the dashboard on the given files."""

import os
import sys
import webbrowser
from pathlib import Path
from typing import NoReturn

import click

from dashboard import extensions, launch

MOST = 8
"""Maximum number of files compared at once, as on screen; repeated here so that a start does not load the library."""


class NamesFormats(click.Command):
    """Command whose help lists the endings of readable files, for which it loads the library."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help."""
        from calib_core.readers import FILE_FORMATS

        extensions.load_installed()  # they may add formats
        *others, last = (f".{each.endings[0]}" for each in FILE_FORMATS.values())
        self.help = (self.help or "").replace("{endings}", f"{', '.join(others)} or {last}")
        super().format_help_text(ctx, formatter)


@click.command("dashboard", cls=NamesFormats)
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path))
@click.option(
    "--port", type=click.IntRange(1, 65535), help="Port to listen on (default: the first free one from 8501)."
)
@click.option("--browser/--no-browser", "browser", default=None, help="Open a browser (default: if there is one).")
@click.option("--headless", is_flag=True, help="Same as --no-browser.")
def command(files: tuple[Path, ...], port: int | None, browser: bool | None, headless: bool) -> None:
    """Open the dashboard in the browser.

    FILE contains predictions: {endings}, or a folder of files with the same columns. It is read in place
    and sent nowhere. FILE may be demo:KEY for demo data. Further files contain other models' predictions for the same
    rows, to compare with the first.

    \b
    Examples:
      calib dashboard
      calib dashboard predictions.csv
      calib dashboard old.csv new.csv --port 8600
    """
    paths = list(dict.fromkeys(_existing(file) for file in files))
    if len(paths) > MOST:
        _refuse(f"at most {MOST} files are compared, not {len(paths)}.")
    show = _has_browser() if browser is None else browser
    show = show and not headless
    sys.argv = [str(launch.APP), *map(str, paths)]
    launch.preload()
    launch.collect_on_a_timer()

    from dashboard.hosting.application import application

    application(launch.APP, opens=show).run(config=launch.settings(port=port, headless=not show))


def _existing(file: Path) -> Path:
    if str(file).startswith("demo:"):
        from calib_core import InputError
        from dashboard.commands._opened_models import is_example

        try:
            is_example(str(file))
        except InputError as why:
            _refuse(f"{why}.")
        return file
    if not (file.is_file() or file.is_dir()):
        _refuse(f"there is no file {str(file)!r}.")
    return file.resolve()


def _refuse(sentence: str) -> NoReturn:
    """Print one sentence without a usage text; exit with code 2."""
    click.echo(f"calib dashboard: {sentence}", err=True)
    raise SystemExit(2)


def _has_browser() -> bool:
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True
