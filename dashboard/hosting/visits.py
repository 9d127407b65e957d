"""Admission of visitors: a cookie for every browser, a name from the proxy, and a limit on tabs."""

from math import isfinite
from typing import TYPE_CHECKING

from dashboard.session.server_limits import ServerLimits
from dashboard.session.visitors import COOKIE, EVERYBODY, PRESENT, Presence, known_cookie, new_cookie, visitor_of

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

STREAM, HEALTH = "/_stcore/stream", "/_stcore/health"
CLOSED = (1000, 1001)
"""Close codes of a browser whose tab is closed or reloaded; a broken connection sends none."""
RELOADING = 20.0
"""Seconds after closing the last tab until a visitor counts as absent; a reload takes a moment."""
NO_NAME = "This server can only be reached through its proxy. Open the address you were given."
FULL = "This server is full: {tabs} tabs are open, the maximum. Try again in a minute."


class Visits:
    """Middleware that admits visitors by the limits ``under``, and updates ``present``."""

    def __init__(self, app: "ASGIApp", under: ServerLimits, present: Presence = PRESENT) -> None:
        self.app = app
        self.under = under
        self.present = present

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer one request."""
        from starlette.requests import HTTPConnection

        if scope["type"] == "http":
            await self._answer(HTTPConnection(scope), scope, receive, send)
        elif scope["type"] == "websocket" and scope["path"].endswith(STREAM):
            await self._stream(HTTPConnection(scope), scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _who(self, request: "HTTPConnection") -> str:
        names = request.headers.getlist(self.under.user_header) if self.under.user_header else []
        return visitor_of(self.under, names, request.cookies)

    async def _answer(self, request: "HTTPConnection", scope: "Scope", receive: "Receive", send: "Send") -> None:
        path = scope["path"].removeprefix(self.under.base)
        refusal = None if path == HEALTH else self._refusal(request, path)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        fresh = self.under.private and path in ("", "/", "/index.html") and not known_cookie(request.cookies)

        async def with_cookie(message: "Message") -> None:
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

    def _refusal(self, request: "HTTPConnection", path: str) -> "Response | None":
        from starlette.responses import PlainTextResponse

        if self.under.user_header and not self._who(request):
            return PlainTextResponse(NO_NAME, 403)
        if path in ("", "/", "/index.html") and self.present.tabs >= self.under.sessions:
            return PlainTextResponse(FULL.format(tabs=self.present.tabs), 503, {"Retry-After": "60"})
        return None

    async def _stream(self, request: "HTTPConnection", scope: "Scope", receive: "Receive", send: "Send") -> None:
        who = self._who(request) if self.under.private else EVERYBODY
        if (self.under.user_header and not who) or not self.present.arrive(who, self.under.sessions):
            await send({"type": "websocket.close", "code": 1013})
            return
        closed = False

        async def noticed() -> "Message":
            nonlocal closed
            message = await receive()
            closed = closed or (message["type"] == "websocket.disconnect" and message.get("code") in CLOSED)
            return message

        try:
            await self.app(scope, noticed, send)
        finally:
            early = closed and isfinite(self.under.absence)
            self.present.leave(who, max(0.0, self.under.absence - RELOADING) if early else 0.0)
