"""Faster first chart: plotly.js is cacheable by browsers, and preloaded in the head of the page.

Streamlit's own route for components forbids caching. Every page then fetches and compiles plotly.js again, and requests
it last, with the first chart. The function `application` returns the same dashboard with a separate route for plotly.js
and with links in the head of the page. If the dashboard is started in another way, charts still work without it.
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
    """Return the version of the bundled plotly.js, from the first lines of its file.

    >>> bundle_version().count(".")
    2
    """
    with BUNDLE.open(encoding="utf-8") as file:
        found = re.search(r"v(\d+\.\d+\.\d+)", file.read(300))
    if found is None:
        raise ValueError(f"{BUNDLE.name} does not say its version")
    return found[1]


async def bundle(request: "Request") -> "Response":
    """Return plotly.js as a response that a browser may cache permanently."""
    from starlette.responses import Response

    packed = "gzip" in request.headers.get("accept-encoding", "")
    headers = _FOREVER | ({"Content-Encoding": "gzip"} if packed else {})
    return Response(_compressed() if packed else BUNDLE.read_bytes(), media_type=_SCRIPT, headers=headers)


@cache
def _compressed() -> bytes:
    """Return the compressed bundle; compressed once, since that takes a tenth of a second."""
    return gzip.compress(BUNDLE.read_bytes(), 6)


def address() -> str:
    """Return the address of plotly.js, below the page."""
    return f"calib/{bundle_version()}/plotly-basic.min.js"


def links() -> bytes:
    """Return the lines for the head of the page that preload the first chart; relative because of prefixes."""
    where = address()
    modules = sorted(file.name for file in ASSETS.glob("*.js") if file != BUNDLE)
    lines = [
        f'<link rel="preload" as="script" href="./{where}">',
        *(f'<link rel="modulepreload" href="./_stcore/bidi-components/calib.chart/{name}">' for name in modules),
        f"<script>{script()}</script>",
    ]
    return "".join(lines).encode()


def script() -> str:
    """Return the inline line of JavaScript among them; a server that forbids scripts in pages has to know it.

    >>> script()[:26]
    'window.CALIB_PLOTLY=new UR'
    """
    return f'window.CALIB_PLOTLY=new URL("./{address()}",document.baseURI).href'


class Head:
    """Middleware that adds lines to the head of the page below ``base``; other responses pass unchanged."""

    def __init__(self, app: "ASGIApp", links: bytes, base: str = "") -> None:
        self.app = app
        self.links = links
        self.pages = {f"{base}/", f"{base}/index.html"}

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["method"] != "GET" or scope["path"] not in self.pages:
            await self.app(scope, receive, send)
            return
        # The page is modified in transit, so it must arrive whole, uncompressed, and never as "not modified".
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
