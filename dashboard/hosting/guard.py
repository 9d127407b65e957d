"""Security headers of every response, closed addresses, and refused WebSockets from other origins."""

import base64
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import streamlit as st

from dashboard.chart import page_head
from dashboard.report import page
from dashboard.session.server_limits import ServerLimits

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

CLOSED = ("/_stcore/metrics", "/_stcore/agent/", "/_stcore/script-health-check")
"""Addresses that users of the dashboard do not need: metrics about all sessions, and entries other than pages."""
_POLICY = {
    "default-src": "'self'",
    "script-src": "'self' blob: {scripts}",
    # Streamlit's page writes its styles at run time.
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "connect-src": "'self' ws://{host} wss://{host}",
    "worker-src": "'self' blob:",
    "frame-src": "data:",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "{frames}",
}
_HOST = re.compile(r"[A-Za-z0-9.-]+(?::\d{1,5})?|\[[0-9A-Fa-f:.]+\](?::\d{1,5})?")


@cache
def _scripts() -> str:
    """Return the hashes of the inline scripts: Streamlit's, the line that `page_head` adds, a report's.

    The frame a report is previewed in has this policy in addition to the report's own.
    """
    shell = (Path(st.__file__).parent / "static" / "index.html").read_text("utf-8")
    inline = [*re.findall(r"<script>(.*?)</script>", shell, re.DOTALL), page_head.script(), *page.scripts()]
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in inline)
    return " ".join(f"'sha256-{digest}'" for digest in digests)


def policy(host: str, framed_by: tuple[str, ...] = ()) -> str:
    """Return the Content-Security-Policy of a response for this host; pages of ``framed_by`` may frame it.

    >>> policy("calib.example.org").split("; ")[5]
    "connect-src 'self' ws://calib.example.org wss://calib.example.org"
    """
    frames = " ".join(framed_by) or "'none'"
    named = {name: text.format(scripts=_scripts(), host=host, frames=frames) for name, text in _POLICY.items()}
    if not _HOST.fullmatch(host):
        named["connect-src"] = "'self'"
    return "; ".join(f"{name} {text}" for name, text in named.items())


class Guard:
    """Middleware that adds security headers, closes ``CLOSED``, and refuses WebSockets from other origins."""

    def __init__(self, app: "ASGIApp", under: ServerLimits) -> None:
        self.app = app
        self.base = under.base
        self.framed_by = under.framed_by

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer one request."""
        from starlette.datastructures import Headers, MutableHeaders
        from starlette.responses import PlainTextResponse

        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        request = Headers(scope=scope)
        host, origin = request.get("host", ""), request.get("origin")
        if scope["type"] == "websocket":
            # Streamlit would request this server's address from another server before it refuses.
            if origin is not None and urlsplit(origin).netloc != host:
                await send({"type": "websocket.close", "code": 1008})
            else:
                await self.app(scope, receive, send)
            return

        async def with_headers(message: "Message") -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = policy(host, self.framed_by)
                if not self.framed_by:  # which has no pages of others
                    headers["X-Frame-Options"] = "DENY"
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "same-origin"
                headers["Cross-Origin-Opener-Policy"] = "same-origin"
            await send(message)

        path = scope["path"].removeprefix(self.base)
        if path.rstrip("/").startswith(tuple(closed.rstrip("/") for closed in CLOSED)):
            await PlainTextResponse("Not here.", 404)(scope, receive, with_headers)
        else:
            await self.app(scope, receive, with_headers)
