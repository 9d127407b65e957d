"""State shared by the launching command and the dashboard."""

import gc
import importlib
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dashboard.session.server_limits import ServerLimits

APP = Path(__file__).with_name("app.py")

_HEAVY = (
    f"{__package__}.hosting.application",
    "pandas",
    "plotly.graph_objects",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.base",
    "streamlit.web.bootstrap",
    "streamlit.web.server.starlette.starlette_server",
)


def launched_files() -> tuple[Path, ...]:
    """Return the files named on the command line of the running dashboard.

    Streamlit passes the arguments after the script as `sys.argv[1:]`.
    """
    return tuple(map(Path, sys.argv[1:]))


def settings(*, port: int | None, headless: bool) -> dict[str, Any]:
    """Return Streamlit's options for the dashboard.

    >>> settings(port=8600, headless=True)
    {'server.headless': True, 'server.port': 8600}
    """
    chosen: dict[str, Any] = {"server.headless": headless}
    return chosen if port is None else {**chosen, "server.port": port}


def hosted(address: str, port: int, under: "ServerLimits") -> dict[str, Any]:
    """Return Streamlit's options for a server with these limits."""
    return {
        **settings(port=port, headless=True),
        "server.address": address,
        "server.allowedHosts": list(under.hosts),
        "server.baseUrlPath": under.base.strip("/"),
        "server.maxUploadSize": under.file_bytes >> 20,
        "server.trustedUserHeaders": {under.user_header: "name"} if under.user_header else {},
    }


def preload() -> None:
    """Import what the first visitor would wait for, and exclude it from garbage collection."""
    for module in _HEAVY:
        importlib.import_module(module)
    library = importlib.import_module("calib_core")
    for name in library.__all__:
        getattr(library, name)  # modules that the library loads on demand
    gc.collect()
    gc.freeze()


class Collector(threading.Thread):
    """Thread that collects garbage periodically until ``ended`` is set."""

    def __init__(self, seconds: float) -> None:
        super().__init__(name="calib-collector", daemon=True)
        self.seconds = seconds
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(self.seconds):
            gc.collect()


def collect_on_a_timer(seconds: float = 60.0) -> Collector:
    """Collect garbage every minute in a background thread, since `runner.postScriptGC` is off.

    Calling it again returns the thread that runs already.
    """
    running = next((thread for thread in threading.enumerate() if isinstance(thread, Collector)), None)
    if running is not None:
        return running
    thread = Collector(seconds)
    thread.start()
    return thread
