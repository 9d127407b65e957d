"""`calib dashboard`: open the dashboard, on a file if one is given."""

import os
import sys
import webbrowser
from pathlib import Path

import click

from dashboard import launch


@click.command("dashboard")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--port", type=click.IntRange(1, 65535), help="Port to listen on; the first free one from 8501 on.")
@click.option("--browser/--no-browser", "browser", default=None, help="Open a browser; by default if there is one.")
@click.option("--headless", is_flag=True, help="The same as --no-browser.")
def command(file: Path | None, port: int | None, browser: bool | None, headless: bool) -> None:
    """Open the dashboard in the browser, on FILE if one is given.

    FILE holds predictions: .csv, .parquet, .npz, .npy or .jsonl. It is read where it lies and sent nowhere.
    """
    path = _existing(file)
    show = _has_browser() if browser is None else browser
    # The option parser of Streamlit ends the process when the server stops.
    sys.argv = launch.arguments(path, port=port, headless=headless or not show)
    launch.preload()
    launch.collect_on_a_timer()

    from streamlit.web.cli import main

    main()


def _existing(file: Path | None) -> Path | None:
    if file is None:
        return None
    if not file.is_file():
        # One sentence without a usage text; exit code 2.
        click.echo(f"calib dashboard: there is no file {str(file)!r}.", err=True)
        raise SystemExit(2)
    return file.resolve()


def _has_browser() -> bool:
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True
