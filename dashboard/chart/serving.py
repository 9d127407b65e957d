"""The first chart, sooner: plotly.js where browsers may keep it, and named in the page before anybody asks for it.

Streamlit's own route for components lets a browser keep nothing, so that plotly.js is fetched and compiled anew with
every page; and it is asked for last, when the first chart is there. `application` is the same dashboard with a route
of its own for plotly.js and with links in the head of the page. Started in another way, charts do without.
"""

import asyncio
import gzip
import re
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard.chart import component

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

ASSETS = Path(__file__).parent / "assets"
BUNDLE = ASSETS / "plotly-basic.min.js"
_FOREVER = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
_SCRIPT = "text/javascript"
_PAGES = {"/", "/index.html"}


@cache
def bundle_version() -> str:
    """The version of plotly.js that is shipped, from the first lines of its file.

    >>> bundle_version().count(".")
    2
    """
    with BUNDLE.open(encoding="utf-8") as file:
        found = re.search(r"v(\d+\.\d+\.\d+)", file.read(300))
    if found is None:
        raise ValueError(f"{BUNDLE.name} does not say its version")
    return found[1]


def application(script: Path, *, opens: bool = False) -> st.App:
    """The dashboard as an application that serves plotly.js itself, and ``opens`` a browser once it runs."""
    from starlette.middleware import Middleware
    from starlette.routing import Route

    return st.App(
        script,
        routes=[Route(f"/{_address()}", _bundle)],
        middleware=[Middleware(Head, links=links())],
        lifespan=partial(_running, opens=opens),
    )


@asynccontextmanager
async def _running(app: st.App, opens: bool) -> AsyncIterator[None]:
    # Declared before the first page asks for them; otherwise the first chart declares them.
    component.declare_assets()
    if opens:
        # The address is bound by now, and answers as soon as this has returned.
        asyncio.get_running_loop().run_in_executor(None, webbrowser.open, _url())
    yield


def _url() -> str:
    scheme = "https" if st.get_option("server.sslCertFile") else "http"
    host = st.get_option("server.address") or "localhost"
    path = (st.get_option("server.baseUrlPath") or "").strip("/")
    return f"{scheme}://{host}:{st.get_option('server.port')}/{path}"


async def _bundle(request: "Request") -> "Response":
    from starlette.responses import Response

    packed = "gzip" in request.headers.get("accept-encoding", "")
    headers = _FOREVER | ({"Content-Encoding": "gzip"} if packed else {})
    return Response(_compressed() if packed else BUNDLE.read_bytes(), media_type=_SCRIPT, headers=headers)


@cache
def _compressed() -> bytes:
    """The bundle as it is sent; compressed once, for it takes a tenth of a second."""
    return gzip.compress(BUNDLE.read_bytes(), 6)


def _address() -> str:
    return f"calib/{bundle_version()}/plotly-basic.min.js"


def links() -> bytes:
    """Lines for the head of the page: what the first chart will need; relative, so that a prefix does no harm."""
    address = _address()
    modules = sorted(file.name for file in ASSETS.glob("*.js") if file != BUNDLE)
    lines = [
        f'<link rel="preload" as="script" href="./{address}">',
        *(f'<link rel="modulepreload" href="./_stcore/bidi-components/calib.chart/{name}">' for name in modules),
        f'<script>window.CALIB_PLOTLY=new URL("./{address}",document.baseURI).href</script>',
    ]
    return "".join(lines).encode()


class Head:
    """Puts lines into the head of the page as it passes; everything else passes untouched."""

    def __init__(self, app: "ASGIApp", links: bytes) -> None:
        self.app = app
        self.links = links

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["method"] != "GET" or scope["path"] not in _PAGES:
            await self.app(scope, receive, send)
            return
        # The page is changed on its way: whole, unpacked, and never "as you have it already".
        refused = {b"if-none-match", b"if-modified-since", b"accept-encoding", b"range"}
        headers = [(name, value) for name, value in scope["headers"] if name not in refused]
        start: dict[str, Any] = {}
        parts: list[bytes] = []

        async def changed(message: "Message") -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            elif message["type"] == "http.response.body":
                parts.append(message.get("body", b""))
                if not message.get("more_body", False):
                    await self._send(send, start, b"".join(parts))
            else:
                await send(message)

        await self.app({**scope, "headers": headers}, receive, changed)

    async def _send(self, send: "Send", start: dict[str, Any], body: bytes) -> None:
        if start.get("status") == 200:
            body = body.replace(b"<head>", b"<head>" + self.links, 1)
        changed = {b"content-length", b"etag", b"last-modified"}
        headers = [(name, value) for name, value in start["headers"] if name.lower() not in changed]
        headers.append((b"content-length", str(len(body)).encode()))
        await send({**start, "headers": headers})
        await send({"type": "http.response.body", "body": body})
