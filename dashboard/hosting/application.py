"""The dashboard as an ASGI application: its page, plotly.js, and the guard, visits and intake of files around them."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
import time
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache, partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import streamlit as st

from calib_core._base import atomic_files, parallel
from dashboard.chart import component, page_head
from dashboard.hosting import ending
from dashboard.hosting.ending import ENDING
from dashboard.report import page
from dashboard.session.result_cache import RESULTS
from dashboard.session.server_limits import LOCAL, ServerLimits, agree
from dashboard.session.visitors import COOKIE, EVERYBODY, PRESENT, Presence, known_cookie, new_cookie, visitor_of
from dashboard.uploads import WAITING, Waiting
from dashboard.workers.pool import close_pool, open_pool

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


STREAM, HEALTH = "/_stcore/stream", "/_stcore/health"
_GOOD_BYES = (1000, 1001)
"""Close codes of a browser whose tab is closed or reloaded; a broken connection sends none."""
RELOADING = 20.0
"""Seconds after closing the last tab until a visitor counts as absent; a reload takes a moment."""
NO_NAME = "This server can only be reached through its proxy. Open the address you were given."
FULL = "This server is full: {tabs} tabs are open, the maximum. Try again in a minute."


class Visits:
    """Middleware that admits visitors by the limits ``under``, and updates ``present``."""

    def __init__(self, app: ASGIApp, under: ServerLimits, present: Presence = PRESENT) -> None:
        self.app = app
        self.under = under
        self.present = present

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        from starlette.requests import HTTPConnection

        if scope["type"] == "http":
            await self._answer(HTTPConnection(scope), scope, receive, send)
        elif scope["type"] == "websocket" and scope["path"].endswith(STREAM):
            await self._stream(HTTPConnection(scope), scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _who(self, request: HTTPConnection) -> str:
        names = request.headers.getlist(self.under.user_header) if self.under.user_header else []
        return visitor_of(self.under, names, request.cookies)

    async def _answer(self, request: HTTPConnection, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].removeprefix(self.under.base)
        refusal = None if path == HEALTH else self._refusal(request, path)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        fresh = self.under.private and path in ("", "/", "/index.html") and not known_cookie(request.cookies)

        async def with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start" and fresh:
                from starlette.datastructures import MutableHeaders

                # Behind a proxy, only its header shows whether the browser's side is encrypted.
                safe = "https" in (scope["scheme"], request.headers.get("x-forwarded-proto", ""))
                # In another page's frame, a browser sends only the cookies of that page.
                lax = f"SameSite=Lax{'; Secure' if safe else ''}"
                site = "SameSite=None; Secure; Partitioned" if safe and self.under.framed_by else lax
                attributes = f"Path={self.under.base or '/'}; HttpOnly; {site}"
                MutableHeaders(scope=message).append("Set-Cookie", f"{COOKIE}={new_cookie()}; {attributes}")
            await send(message)

        await self.app(scope, receive, with_cookie)

    def _refusal(self, request: HTTPConnection, path: str) -> Response | None:
        from starlette.responses import PlainTextResponse

        if self.under.user_header and not self._who(request):
            return PlainTextResponse(NO_NAME, 403)
        if path in ("", "/", "/index.html") and self.present.tabs >= self.under.sessions:
            return PlainTextResponse(FULL.format(tabs=self.present.tabs), 503, {"Retry-After": "60"})
        return None

    async def _stream(self, request: HTTPConnection, scope: Scope, receive: Receive, send: Send) -> None:
        who = self._who(request) if self.under.private else EVERYBODY
        if (self.under.user_header and not who) or not self.present.arrive(who, self.under.sessions):
            await send({"type": "websocket.close", "code": 1013})
            return
        closed = False

        async def noticed() -> Message:
            nonlocal closed
            message = await receive()
            closed = closed or (message["type"] == "websocket.disconnect" and message.get("code") in _GOOD_BYES)
            return message

        try:
            await self.app(scope, noticed, send)
        finally:
            early = closed and isfinite(self.under.absence)
            self.present.leave(who, max(0.0, self.under.absence - RELOADING) if early else 0.0)


_PATH = re.compile(r"/_stcore/upload_file/([^/]+)/([^/]+)")
UNREAD_FILES = 4
"""Maximum number of unread files of a session: a page has fewer fields for files."""
PATIENCE = 300.0
"""Seconds until a file that waits for room is refused."""


_LOOK = 1.0
"""Seconds between two checks for shutdown: a file that takes minutes to arrive would delay it."""


SLOWEST = 1000.0
"""Bytes per second below which a file that is being sent is given up: its room is for others."""
_GRACE = 60.0
"""Seconds that a connection may stand still."""


async def _arriving(receive: Receive, until: float) -> Message:
    """Return the next part of a file; none any more after ``until``, or once the server is about to end."""
    part = asyncio.ensure_future(receive())
    while time.monotonic() < until and not part.done():
        await asyncio.wait({part}, timeout=_LOOK)
        if ENDING.is_set():
            break
    if part.done():
        return part.result()
    part.cancel()
    return {"type": "http.disconnect"}


class Intake:
    """Middleware that admits a file once there is room for its bytes; until then the browser waits.

    A sender slower than ``SLOWEST`` is cut off after ``grace`` seconds, so that its room is for others.
    """

    def __init__(
        self,
        app: ASGIApp,
        under: ServerLimits,
        waiting: Waiting = WAITING,
        patience: float = PATIENCE,
        grace: float = _GRACE,
    ) -> None:
        self.app = app
        self.under = under
        self.waiting = waiting
        self.patience = patience
        self.grace = grace

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path = _PATH.fullmatch(scope["path"].removeprefix(self.under.base)) if scope["type"] == "http" else None
        if path is None or scope["method"] != "PUT":
            await self.app(scope, receive, send)
            return
        session, file = path.groups()
        refusal = await self._refusal(dict(scope["headers"]).get(b"content-length", b""), session, file)
        if refusal is not None:
            from starlette.responses import PlainTextResponse

            status, sentence = refusal
            await PlainTextResponse(sentence, status)(scope, receive, send)
            return
        taken = False

        async def noticed(message: Message) -> None:
            nonlocal taken
            if message["type"] == "http.response.start":
                taken = message["status"] < 300
            await send(message)

        from starlette.requests import ClientDisconnect

        begun, received = time.monotonic(), 0

        async def arriving() -> Message:
            nonlocal received
            message = await _arriving(receive, begun + self.grace + received / SLOWEST)
            received += len(message.get("body", b""))
            return message

        try:
            await self.app(scope, arriving, noticed)
        except ClientDisconnect:
            pass  # the sender has left: nobody needs an answer, and there is no error
        finally:
            if not taken:
                self.waiting.gone(session, file)

    async def _refusal(self, length: bytes, session: str, file: str) -> tuple[int, str] | None:
        """Return the reason for refusing a file, as a status and a sentence; None once there is room for it."""
        if not length.isdigit():
            return 411, "The upload did not state the length of the file."
        if int(length) > self.under.file_bytes + (1 << 20):
            return 413, "The file is larger than this server accepts."
        until = time.monotonic() + self.patience
        while True:
            if self.waiting.files(session) >= UNREAD_FILES:
                return 429, f"{UNREAD_FILES} files of this session are waiting to be read: one after the other."
            if self.waiting.come(session, file, int(length), self.under.arriving_bytes):
                return None
            if time.monotonic() > until:
                return 503, "Too many uploads are in progress. Try again in a minute."
            await asyncio.sleep(0.1)


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

    def __init__(self, app: ASGIApp, under: ServerLimits) -> None:
        self.app = app
        self.base = under.base
        self.framed_by = under.framed_by

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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

        async def with_headers(message: Message) -> None:
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
