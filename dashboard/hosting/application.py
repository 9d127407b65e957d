"""The dashboard as an ASGI application: its page, plotly.js, and the middleware around both."""

import asyncio
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import streamlit as st

from calib_core._base import atomic_files, parallel
from dashboard.chart import component, page_head
from dashboard.hosting import ending
from dashboard.hosting.guard import Guard
from dashboard.hosting.intake import Intake
from dashboard.hosting.visits import Visits
from dashboard.session.result_cache import RESULTS
from dashboard.session.server_limits import LOCAL, ServerLimits, agree
from dashboard.workers.pool import close_pool, open_pool


def application(script: Path, *, opens: bool = False, under: ServerLimits = LOCAL) -> st.App:
    """Return the dashboard with these limits; with ``opens`` it opens a browser once it runs."""
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.routing import Route

    agree(under)
    RESULTS.resize(under.result_bytes)
    known = [Middleware(TrustedHostMiddleware, allowed_hosts=list(under.hosts), www_redirect=False)]
    return st.App(
        script,
        routes=[Route(f"{under.base}/{page_head.address()}", page_head.bundle)],
        middleware=[
            Middleware(Guard, under=under),
            *(known if under.hosts else []),
            Middleware(Visits, under=under),
            Middleware(Intake, under=under),
            Middleware(page_head.Head, links=page_head.links(), base=under.base),
        ],
        lifespan=partial(_running, opens=opens, processes=under.processes),
    )


@asynccontextmanager
async def _running(app: st.App, opens: bool, processes: int) -> AsyncIterator[None]:
    atomic_files.sweep()
    # Declared before the first page requests them; otherwise the first chart declares them.
    component.declare_assets()
    if opens:
        # The address is bound by now, and answers as soon as this has returned.
        asyncio.get_running_loop().run_in_executor(None, webbrowser.open, _url())
    tidying = asyncio.create_task(ending.tidied())
    if processes:
        open_pool(processes, max(1, parallel.threads() // processes))
    try:
        with ending.watched():
            yield
    finally:
        tidying.cancel()
        close_pool()


def _url() -> str:
    scheme = "https" if st.get_option("server.sslCertFile") else "http"
    host = st.get_option("server.address") or "localhost"
    path = (st.get_option("server.baseUrlPath") or "").strip("/")
    return f"{scheme}://{host}:{st.get_option('server.port')}/{path}"
