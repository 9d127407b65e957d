"""The first chart, sooner: plotly.js where browsers may keep it, and named in the page before anybody asks for it.

Streamlit's own route for components lets a browser keep nothing, so that plotly.js is fetched and compiled anew with
every page; and it is asked for last, when the first chart is there. `application` is the same dashboard with a route
of its own for plotly.js and with links in the head of the page. Started in another way, charts do without.
"""

import gzip
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

ASSETS = Path(__file__).parent / "assets"
BUNDLE = ASSETS / "plotly-basic.min.js"
_FOREVER = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
_SCRIPT = "text/javascript"


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


async def bundle(request: "Request") -> "Response":
    """Answer with plotly.js, which a browser may keep for good."""
    from starlette.responses import Response

    packed = "gzip" in request.headers.get("accept-encoding", "")
    headers = _FOREVER | ({"Content-Encoding": "gzip"} if packed else {})
    return Response(_compressed() if packed else BUNDLE.read_bytes(), media_type=_SCRIPT, headers=headers)


@cache
def _compressed() -> bytes:
    """The bundle as it is sent; compressed once, for it takes a tenth of a second."""
    return gzip.compress(BUNDLE.read_bytes(), 6)


def address() -> str:
    """Where plotly.js is, below the page."""
    return f"calib/{bundle_version()}/plotly-basic.min.js"


def links() -> bytes:
    """Lines for the head of the page: what the first chart will need; relative, so that a prefix does no harm."""
    where = address()
    modules = sorted(file.name for file in ASSETS.glob("*.js") if file != BUNDLE)
    lines = [
        f'<link rel="preload" as="script" href="./{where}">',
        *(f'<link rel="modulepreload" href="./_stcore/bidi-components/calib.chart/{name}">' for name in modules),
        f"<script>{script()}</script>",
    ]
    return "".join(lines).encode()


def script() -> str:
    """The line of JavaScript among them; a server that forbids scripts in pages has to know it.

    >>> script()[:26]
    'window.CALIB_PLOTLY=new UR'
    """
    return f'window.CALIB_PLOTLY=new URL("./{address()}",document.baseURI).href'


class Head:
    """Puts lines into the head of the page below ``base`` as it passes; everything else passes untouched."""

    def __init__(self, app: "ASGIApp", links: bytes, base: str = "") -> None:
        self.app = app
        self.links = links
        self.pages = {f"{base}/", f"{base}/index.html"}

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["method"] != "GET" or scope["path"] not in self.pages:
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
