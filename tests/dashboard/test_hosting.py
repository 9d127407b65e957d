"""Middleware of the page: headers, closed addresses, visitors, names of the proxy, uploads."""

from __future__ import annotations

import asyncio
import dataclasses
import signal
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from own_loop import run_in_own_loop

from dashboard.hosting import application, ending, machine
from dashboard.hosting.application import UNREAD_FILES, Guard, Intake, Visits
from dashboard.session.server_limits import ServerLimits
from dashboard.session.visitors import Presence, known_cookie, new_cookie
from dashboard.uploads import Waiting

MANY = ServerLimits(private=True, base="/calib", sessions=2, file_bytes=1000, memory=4000)
Answer = tuple[int, dict[str, str], str]


def asked(app: Any, path: str = "/calib/", method: str = "GET", **headers: str | list[str]) -> Answer:
    """Return status, headers and text of a response."""
    messages: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    values = {"host": "calib.example.org", **headers}
    lines = [
        (name.replace("_", "-").encode(), value.encode())
        for name, value_or_several in values.items()
        for value in ([value_or_several] if isinstance(value_or_several, str) else value_or_several)
    ]
    scope = {"type": "http", "scheme": "http", "method": method, "path": path, "headers": lines, "query_string": b""}
    run_in_own_loop(app(scope, receive, send))
    answer = {name.decode().lower(): value.decode() for name, value in messages[0]["headers"]}
    return messages[0]["status"], answer, b"".join(m.get("body", b"") for m in messages[1:]).decode()


def opened(app: Any, path: str = "/calib/_stcore/stream", **headers: str) -> list[dict[str, Any]]:
    """Return the messages that a WebSocket receives."""
    messages: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    lines = [(n.replace("_", "-").encode(), v.encode()) for n, v in {"host": "h:81", **headers}.items()]
    run_in_own_loop(app({"type": "websocket", "scheme": "ws", "path": path, "headers": lines}, receive, send))
    return messages


async def page(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answer as the application behind: a page, or a WebSocket that is accepted."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
    await send({"type": "http.response.body", "body": b"page"})


CARRIED = {
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
}


@pytest.mark.parametrize("path", ["/calib/", "/calib/media/x.csv", "/calib/_stcore/metrics", "/calib/_stcore/health"])
def test_every_answer_carries_the_headers(path: str) -> None:
    _, headers, _ = asked(Guard(page, MANY), path)
    assert CARRIED.items() <= headers.items()
    rules = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
    assert rules["default-src"] == "'self'"
    assert rules["frame-ancestors"] == rules["object-src"] == "'none'"
    assert "unsafe" not in rules["script-src"]
    assert rules["connect-src"] == "'self' ws://calib.example.org wss://calib.example.org"


def test_pages_that_are_named_may_frame_it_and_keep_a_cookie_of_their_own() -> None:
    framed = dataclasses.replace(MANY, framed_by=("https://a.example", "https://b.example:81"))
    _, headers, _ = asked(Guard(page, framed))
    assert "; frame-ancestors https://a.example https://b.example:81" in headers["content-security-policy"]
    assert "x-frame-options" not in headers
    cookie = asked(Visits(page, framed, Presence()), x_forwarded_proto="https")[1]["set-cookie"]
    assert cookie.endswith("; HttpOnly; SameSite=None; Secure; Partitioned")
    assert asked(Visits(page, framed, Presence()))[1]["set-cookie"].endswith("; HttpOnly; SameSite=Lax")


@pytest.mark.parametrize("host", ["a b", "x; script-src *", "", "a\nb", "evil.org/x"])
def test_a_host_that_is_none_says_nothing_in_the_policy(host: str) -> None:
    assert "connect-src 'self'; worker-src" in application.policy(host)
    assert host == "" or host not in application.policy(host)


@pytest.mark.parametrize(
    "path",
    ["/calib/_stcore/metrics", "/calib/_stcore/metrics/", "/calib/_stcore/agent/mcp", "/calib/_stcore/agent/interact"],
)
def test_what_nobody_needs_is_closed(path: str) -> None:
    assert asked(Guard(page, MANY), path)[0] == 404


@pytest.mark.parametrize(
    ("origin", "told"),
    [
        ("http://h:81", "websocket.accept"),
        ("https://h:81", "websocket.accept"),
        ("http://evil.org", "websocket.close"),
        ("http://h", "websocket.close"),
        ("null", "websocket.close"),
    ],
)
def test_no_other_page_opens_a_websocket(origin: str, told: str) -> None:
    assert [message["type"] for message in opened(Guard(page, MANY), origin=origin)] == [told]


def test_every_browser_gets_a_cookie_that_scripts_cannot_read_and_keeps_it() -> None:
    app = Visits(page, MANY, Presence())
    cookie = asked(app)[1]["set-cookie"]
    assert cookie.endswith("; Path=/calib; HttpOnly; SameSite=Lax")
    assert asked(app, x_forwarded_proto="https")[1]["set-cookie"].endswith("; Secure")
    value = cookie.split(";")[0].partition("=")[2]
    assert known_cookie({"calib_visitor": value}) == value
    assert "set-cookie" not in asked(app, cookie=f"calib_visitor={value}")[1]
    assert "set-cookie" in asked(app, cookie="calib_visitor=mine")[1]
    assert asked(app)[1]["set-cookie"] != cookie
    assert "set-cookie" not in asked(Visits(page, ServerLimits(), Presence()), "/")[1]


def test_without_the_proxys_word_nobody_comes_in() -> None:
    app = Visits(page, ServerLimits(private=True, user_header="X-User", base="/calib"), Presence())
    assert asked(app)[0] == 403
    assert asked(app)[2] == application.NO_NAME
    assert asked(app, x_user="ann")[0] == 200
    assert asked(app, x_user=["ann", "bob"])[0] == 403, "a second name could be the visitor's own"
    assert asked(app, x_user=" ")[0] == 403
    assert asked(app, "/calib/_stcore/health")[0] == 200
    assert [m["type"] for m in opened(app)] == ["websocket.close"]
    assert [m["type"] for m in opened(app, x_user="ann")] == ["websocket.accept"]


def test_more_tabs_than_agreed_are_sent_away_in_a_sentence() -> None:
    present = Presence()
    app = Visits(page, MANY, present)
    for _ in range(2):
        assert present.arrive("browser:a", 2)
    status, headers, text = asked(app)
    assert (status, headers["retry-after"]) == (503, "60")
    assert text == "This server is full: 2 tabs are open, the maximum. Try again in a minute."
    assert [m["type"] for m in opened(app)] == ["websocket.close"]
    present.leave("browser:a")
    assert asked(app)[0] == 200
    assert [m["type"] for m in opened(app)] == ["websocket.accept"]
    assert present.tabs == 1, "a WebSocket that ended is no open tab"


def test_who_has_left_is_absent_after_a_while_and_forgotten_when_nothing_is_kept() -> None:
    now = [0.0]
    present = Presence(lambda: now[0])
    present.arrive("a", 9)
    assert not present.absent("a", 0)
    present.leave("a")
    now[0] = 100.0
    assert present.absent("a", 100)
    assert not present.absent("a", 101)
    assert not present.absent("never seen", 1)
    present.arrive("a", 9)
    assert not present.absent("a", 0)
    present.leave("a")
    present.forget(lambda who: False)
    assert present._left == {}


@pytest.mark.parametrize(
    ("code", "seconds"), [(1001, application.RELOADING), (1000, application.RELOADING), (1006, 120.0)]
)
def test_who_closes_the_tab_has_left_sooner_than_one_whose_line_broke(code: int, seconds: float) -> None:
    async def left(scope: dict[str, Any], receive: Any, send: Any) -> None:
        while (await receive())["type"] != "websocket.disconnect":
            pass

    async def gone() -> dict[str, Any]:
        return {"type": "websocket.disconnect", "code": code}

    async def unheard(_: dict[str, Any]) -> None:
        raise AssertionError

    for absence in (120.0, float("inf")):
        now = [0.0]
        present = Presence(lambda now=now: now[0])
        app = Visits(left, ServerLimits(private=True, user_header="X-User", absence=absence), present)
        scope = {"type": "websocket", "path": application.STREAM, "headers": [(b"x-user", b"ann"), (b"host", b"h")]}
        run_in_own_loop(app(scope, gone, unheard))
        now[0] = seconds - 0.1
        assert not present.absent("user:ann", absence)
        now[0] = seconds
        assert present.absent("user:ann", absence) == (absence == 120.0)


UPLOAD = "/calib/_stcore/upload_file/{}/{}"


async def received(scope: dict[str, Any], receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def put(app: Intake, session: str, file: str, length: str = "600") -> int:
    return asked(app, UPLOAD.format(session, file), "PUT", content_length=length)[0]


def test_files_of_a_session_wait_for_their_turn_to_be_read() -> None:
    waiting = Waiting()
    app = Intake(received, MANY, waiting, patience=0.0)
    assert [put(app, "s", str(i), "10") for i in range(UNREAD_FILES + 1)] == [204] * UNREAD_FILES + [429]
    assert put(app, "other", "1", "10") == 204
    waiting.gone("s", "0")
    assert put(app, "s", "more", "10") == 204


def test_bytes_wait_for_room_and_one_file_always_has_it() -> None:
    waiting = Waiting()
    app = Intake(received, MANY, waiting, patience=0.0)
    assert [put(app, "a", "1", "900"), put(app, "b", "1")] == [204, 503]
    waiting.gone("a", "1")
    assert put(app, "b", "1") == 204


def test_a_file_that_did_not_arrive_takes_no_room() -> None:
    async def refused(scope: dict[str, Any], receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 400, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    waiting = Waiting()
    assert put(Intake(refused, MANY, waiting), "a", "1") == 400
    assert waiting.files("a") == 0


def test_a_sender_who_leaves_in_the_middle_is_no_error_and_takes_no_room() -> None:
    from starlette.requests import ClientDisconnect

    waiting, sent = Waiting(), []

    async def left(scope: dict[str, Any], receive: Any, send: Any) -> None:
        sent.append(waiting.files("a"))
        raise ClientDisconnect

    async def unheard(_: dict[str, Any]) -> None:
        raise AssertionError("nobody is there to be answered")

    scope = {"type": "http", "method": "PUT", "path": UPLOAD.format("a", "1"), "headers": [(b"content-length", b"600")]}
    run_in_own_loop(Intake(left, MANY, waiting)(scope, unheard, unheard))
    assert sent == [1]
    assert waiting.files("a") == 0


@pytest.mark.parametrize(("grace", "heard"), [(0.0, "http.disconnect"), (60.0, "http.request")])
def test_a_file_that_arrives_too_slowly_is_given_up(grace: float, heard: str) -> None:
    waiting, parts = Waiting(), list[str]()

    async def reads(scope: dict[str, Any], receive: Any, send: Any) -> None:
        parts.append((await receive())["type"])

    async def drips() -> dict[str, Any]:
        await asyncio.sleep(0.001)
        return {"type": "http.request", "body": b"1", "more_body": True}

    async def unheard(_: dict[str, Any]) -> None:
        raise AssertionError

    scope = {"type": "http", "method": "PUT", "path": UPLOAD.format("a", "1"), "headers": [(b"content-length", b"600")]}
    run_in_own_loop(Intake(reads, MANY, waiting, grace=grace)(scope, drips, unheard))
    assert parts == [heard]
    assert waiting.files("a") == 0


def test_large_arrays_go_back_to_the_system_where_it_can() -> None:
    assert machine.give_back() == machine.keep_memory_whole() == (sys.platform == "linux")


@pytest.mark.parametrize(("length", "status"), [("", 411), ("-1", 411), ("99999999", 413)])
def test_a_length_is_said_and_kept_to(length: str, status: int) -> None:
    assert put(Intake(received, MANY, Waiting()), "a", "1", length) == status


def test_cookies_are_long_and_differ() -> None:
    assert len({new_cookie() for _ in range(100)}) == 100


def test_at_home_answers_carry_what_those_of_a_server_for_many_do() -> None:
    _, headers, _ = asked(Guard(page, ServerLimits()), "/")
    assert CARRIED.items() <= headers.items()
    assert headers["content-security-policy"] == application.policy("calib.example.org")


def test_sessions_whose_time_is_over_are_looked_for_and_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from streamlit import runtime

    here = [1, 2, 3]
    manager = SimpleNamespace(list_sessions=lambda: here)
    monkeypatch.setattr(runtime, "exists", lambda: True)
    monkeypatch.setattr(runtime, "get_instance", lambda: SimpleNamespace(_session_mgr=manager))
    monkeypatch.setattr(ending, "_counted", {})
    assert not ending._sessions_over()
    here.pop()
    assert ending._sessions_over()
    assert not ending._sessions_over()
    del manager.list_sessions
    assert not ending._sessions_over(), "another release of Streamlit"


def test_a_server_that_is_told_to_end_waits_for_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "_LOOK", 0.01)
    told: list[int] = []
    earlier = signal.signal(signal.SIGTERM, lambda number, frame: told.append(number))
    parts: list[str] = []

    async def half(scope: dict[str, Any], receive: Any, send: Any) -> None:
        while parts[-1:] != ["http.disconnect"]:
            parts.append((await receive())["type"])
            if len(parts) == 1:
                signal.raise_signal(signal.SIGTERM)

    async def sender() -> dict[str, Any]:
        if parts:
            await asyncio.sleep(60)
        return {"type": "http.request", "body": b"1", "more_body": True}

    async def unheard(_: dict[str, Any]) -> None:
        raise AssertionError

    scope = {"type": "http", "method": "PUT", "path": UPLOAD.format("a", "1"), "headers": [(b"content-length", b"9")]}
    try:
        with ending.watched():
            run_in_own_loop(Intake(half, MANY, Waiting())(scope, sender, unheard))
            assert parts == ["http.request", "http.disconnect"]
            assert told == [signal.SIGTERM], "it ends as it would have"
        signal.raise_signal(signal.SIGTERM)
        assert told == [signal.SIGTERM] * 2
    finally:
        signal.signal(signal.SIGTERM, earlier)
        ending.ENDING.clear()
