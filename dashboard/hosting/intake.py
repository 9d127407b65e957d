"""Admission of uploads: limits on bytes in transfer and on unread files per session, checked before receiving any."""

import asyncio
import re
import time
from functools import partial
from typing import TYPE_CHECKING

from dashboard.hosting.ending import ENDING
from dashboard.session.server_limits import ServerLimits
from dashboard.uploads import WAITING, Waiting

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_PATH = re.compile(r"/_stcore/upload_file/([^/]+)/([^/]+)")
UNREAD_FILES = 4
"""Maximum number of unread files of a session: a page has fewer fields for files."""
PATIENCE = 300.0
"""Seconds until a file that waits for room is refused."""


_LOOK = 1.0
"""Seconds between two checks for shutdown: a file that takes minutes to arrive would delay it."""


async def _arriving(receive: "Receive") -> "Message":
    """Return the next part of a file; none any more once the server is about to end."""
    part = asyncio.ensure_future(receive())
    while not part.done():
        await asyncio.wait({part}, timeout=_LOOK)
        if ENDING.is_set() and not part.done():
            part.cancel()
            return {"type": "http.disconnect"}
    return part.result()


class Intake:
    """Middleware that admits a file once there is room for its bytes; until then the browser waits."""

    def __init__(
        self, app: "ASGIApp", under: ServerLimits, waiting: Waiting = WAITING, patience: float = PATIENCE
    ) -> None:
        self.app = app
        self.under = under
        self.waiting = waiting
        self.patience = patience

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
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

        async def noticed(message: "Message") -> None:
            nonlocal taken
            if message["type"] == "http.response.start":
                taken = message["status"] < 300
            await send(message)

        from starlette.requests import ClientDisconnect

        try:
            await self.app(scope, partial(_arriving, receive), noticed)
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
