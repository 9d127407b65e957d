"""Uploads to a server are private until shared, and are removed on request or when their owner leaves."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core import CALIBRATORS, InputError
from calib_core.readers.file_format import unpacked_bytes
from dashboard import session
from dashboard.navigation import ROOMS
from dashboard.selection import Selection, Source
from dashboard.session import files, server_limits, visitors
from dashboard.session.call import call
from dashboard.session.files import AT_A_TIME, Full, Uploads
from dashboard.session.server_limits import LOCAL, ServerLimits, agree
from dashboard.session.visitors import PRESENT, visitor
from dashboard.views import VIEWS

APP = Path(__file__).parents[2] / "dashboard" / "app.py"
MARKERS = ("markername", "markerclass", "markergroup", "markervalue")
SHOWN = {key: view for key, view in VIEWS.items() if view.needs_data or view.room == "data"}
FIRST = {next(key for key, view in SHOWN.items() if view.room == room) for room in (*ROOMS, "data")} - {"report"}
"""One view of each room, except the report, which has the content of the others and takes ten seconds."""


def table(rows: int = 60) -> bytes:
    """Return a table with a marker at every place for a user's own words."""
    lines = ["p_markerclass,p_other,label,markergroup"]
    for i in range(rows):
        p = (i * 37 % 97 + 1) / 99
        lines.append(f"{p:.4f},{1 - p:.4f},{'markerclass' if i % 3 else 'other'},{'markervalue' if i % 2 else 'b'}")
    return "\n".join(lines).encode()


@pytest.fixture
def people(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Yield a server for many; the page is drawn for the first name in the list."""
    who = ["ann"]
    monkeypatch.setattr(visitors, "tab", lambda: who[0])
    monkeypatch.setattr(files, "visitor", lambda: f"session:{who[0]}")
    agree(ServerLimits(private=True))
    yield who
    for name in ("ann", "bob"):
        who[0] = name
        session.delete_own()
    agree(LOCAL)


def page(view: str, key: str) -> AppTest:
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.query_params["view"], app.query_params["data"] = view, key
    return app.run()


def sent(app: AppTest) -> str:
    """Return every text of every element."""
    found: list[bytes] = []

    def walk(node: object) -> None:
        proto = getattr(node, "proto", None)
        if proto is not None:
            found.append(proto.SerializeToString())
        for child in getattr(node, "children", {}).values():
            walk(child)

    walk(app._tree)
    return b"\n".join(found).decode(errors="replace")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("view", SHOWN)
def test_nothing_of_one_session_is_seen_by_another(people: list[str], view: str) -> None:
    key = session.hold(table(), "markername.csv").key
    if view in FIRST:  # its results are here then
        text = sent(page(view, key))
        assert all(marker in text for marker in MARKERS[: 4 if view == "data" else 1]), "its owner sees it"
    people[0] = "bob"
    text = sent(page(view, key))
    assert not [marker for marker in MARKERS if marker in text]
    assert "not shared with you" in text
    assert "More calibrators" not in text, "nothing is offered that has no rows to act on"
    if view in FIRST:
        other = session.hold(table(), "bobs.csv")
        assert other.key != key
        assert "markername" not in sent(page(view, other.key)), "one content, two names"


def test_what_is_shared_is_seen_until_it_is_not(people: list[str]) -> None:
    key = session.hold(table(), "markername.csv").key
    shown = page("data", key)
    toggle = next(each for each in shown.toggle if each.label == "Share this file")
    assert not toggle.value
    people[0] = "bob"
    session.share(key, True)
    assert not session.is_here(key), "nobody shares what is another's"
    people[0] = "ann"
    toggle.set_value(True).run()
    assert session.is_shared(key)
    people[0] = "bob"
    text = sent(page("data", key))
    assert "markername" in text
    assert "Another person" in text
    session.delete_own()
    assert session.is_here(key), "nobody deletes what is another's"
    people[0] = "ann"
    session.share(key, False)
    people[0] = "bob"
    assert "markername" not in sent(page("data", key))


def test_files_are_shared_together_and_count_as_shared_only_if_all_are(people: list[str]) -> None:
    keys = [session.hold(table(rows), f"{rows}.csv").key for rows in (60, 61)]
    session.share(keys[1], True)
    app = AppTest.from_file(str(APP), default_timeout=60)
    for name, text in Selection(view="data", source=Source(data=keys[0], test=keys[1])).to_query().items():
        app.query_params[name] = text
    app.run()
    assert not app.exception
    toggle = next(each for each in app.toggle if each.label == "Share these 2 files")
    assert not toggle.value, "one is private"
    toggle.set_value(True).run()
    assert all(map(session.is_shared, keys))


def test_the_same_person_comes_back_to_the_same_file_and_nobody_guesses_its_key(people: list[str]) -> None:
    first = session.hold(table(), "a.csv")
    assert session.hold(table(), "a.csv") is first
    assert session.hold(table(), "b.csv").key != first.key
    assert first.digest not in first.key
    assert first.digest[:12] not in session.own_keys()[0]
    session.delete_own()
    assert session.hold(table(), "a.csv").key == first.key, "the link works again"


def test_a_calibrator_chosen_in_one_tab_is_in_the_link_of_that_tab_only(people: list[str]) -> None:
    keys = [session.hold(table(rows), name).key for rows, name in ((60, "a.csv"), (62, "b.csv"))]
    one, two = (page("glossary", key) for key in keys)  # the glossary needs no model, so that none is recommended
    one.session_state["calib.selection"] = one.session_state["calib.selection"].replace(
        calibrators=(CALIBRATORS.recipe("temperature"),)
    )
    one.run()
    two.run()
    assert ["temperature" in str(dict(tab.query_params)) for tab in (one, two)] == [True, False]
    assert all(key in str(dict(tab.query_params)) for tab, key in zip((one, two), keys, strict=True))


def test_what_is_deleted_is_gone_with_all_that_was_made_of_it(people: list[str]) -> None:
    key = session.hold(table(), "markername.csv").key
    app = page("data", key)
    assert key in session.RESULTS.files
    app.button(key="data.delete").click().run()
    assert not app.exception
    assert not [marker for marker in MARKERS if marker in sent(app)]
    assert session.own_keys() == ()
    assert key not in session.RESULTS.files
    assert dict(app.query_params) == {"view": "data", "data": ""}


def test_what_is_made_after_it_was_deleted_goes_with_the_next_round(people: list[str]) -> None:
    file = session.hold(table(), "a.csv")
    wanted = call(cc.calls.read_as, file, None)
    session.delete_own()
    session.RESULTS.get(wanted)
    assert file.key in session.RESULTS.files
    session.expire()
    assert not session.RESULTS.knows(wanted)


def test_demo_data_are_everybodys(people: list[str]) -> None:
    for name in ("ann", "bob"):
        people[0] = name
        assert session.parts(Source()).test.n_rows
    assert session.delete_own() == 0
    session.expire()
    assert session.RESULTS.knows(session.division(Source()))


def test_uploads_of_those_who_left_and_unused_ones_go(people: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(PRESENT, "_clock", lambda: now[0])
    monkeypatch.setattr(files.UPLOADS, "_clock", lambda: now[0])
    agree(ServerLimits(private=True, absence=120, expiry=1000))
    key = session.hold(table(), "a.csv").key
    PRESENT.arrive("session:ann", 9)
    now[0] = 900
    session.expire()
    assert session.is_here(key), "it was looked at"
    PRESENT.leave("session:ann")
    now[0] = 1019
    session.expire()
    assert files.UPLOADS.has(key), "a page that is loaded again finds it"
    now[0] = 1020
    session.expire()
    assert not files.UPLOADS.has(key)
    key = session.hold(table(), "a.csv").key
    now[0] = 2021
    session.expire()
    assert not files.UPLOADS.has(key), "never looked at"


@pytest.fixture
def little() -> Iterator[None]:
    """Set low limits: two files and 1,000 bytes per person, 1,500 in all."""
    agree(ServerLimits(private=True, files=2, bytes=1000, memory=3000))
    yield
    agree(LOCAL)


def test_too_many_files_or_bytes_of_one_person_are_refused_in_a_sentence(little: None) -> None:
    kept: Uploads[str] = Uploads()
    with pytest.raises(Full, match=r"this one about .* more; .* for one person. Delete some first"):
        kept.put("x", lambda: "x", "ann", 1001)
    for key in "ab":
        kept.put(key, lambda: "x", "ann", 10)
    with pytest.raises(Full, match="You have 2 uploads here"):
        kept.put("c", lambda: "x", "ann", 10)
    assert kept.put("a", lambda: "y", "ann", 10) == "x", "what is here already needs no room"
    assert kept.put("c", lambda: "x", "bob", 10) == "x"


def test_nothing_kept_goes_to_make_room_and_the_refusal_says_what_to_do(little: None) -> None:
    kept: Uploads[bytes] = Uploads()
    import numpy as np

    for name in ("ann", "bob"):
        kept.put(name, lambda: np.zeros(90), name, 720)  # type: ignore[arg-type,return-value]
    with pytest.raises(Full, match=r"more than is free now: .* are in use. Delete your uploads, upload a smaller"):
        kept.put("c", lambda: b"", "cleo", 720)
    assert kept.find("ann", "ann") is not None
    assert kept.find("bob", "bob") is not None
    kept.delete("ann")
    kept.put("c", lambda: b"", "cleo", 720)


def test_two_are_read_at_a_time_and_the_others_wait(little: None) -> None:
    kept: Uploads[int] = Uploads()
    at_work, most, lock = [0], [0], threading.Lock()

    def make() -> int:
        with lock:
            at_work[0] += 1
            most[0] = max(most[0], at_work[0])
        time.sleep(0.02)
        with lock:
            at_work[0] -= 1
        return 1

    threads = [threading.Thread(target=kept.put, args=(str(i), make, str(i), 10)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [AT_A_TIME]
    assert not kept._coming


def test_a_wait_has_an_end_and_a_file_that_cannot_be_read_takes_no_room(
    little: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "QUEUE_SECONDS", 0.05)
    kept: Uploads[int] = Uploads()
    ended = threading.Event()

    def long() -> int:
        ended.wait(10)
        return 1

    thread = threading.Thread(target=kept.put, args=("a", long, "ann", 900))
    thread.start()
    while not kept._coming:
        time.sleep(0.005)
    with pytest.raises(Full, match="more than is free now"):
        kept.put("b", lambda: 1, "bob", 900)
    ended.set()
    thread.join()

    def broken() -> int:
        raise InputError("broken")

    with pytest.raises(InputError, match="broken"):
        kept.put("b", broken, "bob", 10)
    assert not kept._coming
    assert not kept.has("b")


def test_at_home_one_person_has_everything() -> None:
    assert visitor() == visitors.EVERYBODY
    assert server_limits.terms() is LOCAL
    key = session.hold(table(), "a.csv").key
    assert key.startswith("sha256:")
    PRESENT.leave("")
    session.expire()
    assert session.is_here(key), "nothing goes by itself"
    assert session.delete_own() >= 1


def test_what_turns_out_larger_than_there_is_room_for_is_not_kept(little: None) -> None:
    kept: Uploads[bytes] = Uploads()
    import numpy as np

    with pytest.raises(Full, match=r"takes 1.6 kB of memory once it is read, more than is free"):
        kept.put("a", lambda: np.zeros(200), "ann", 10)  # type: ignore[arg-type,return-value]
    assert not kept.has("a")
    assert not kept._coming


@pytest.mark.parametrize("form", ["npz", "csv", "npy", "jsonl", "json", "parquet"])
def test_memory_is_predicted_by_what_a_file_holds(form: str) -> None:
    """Computed by hand: 2,000 rows of four scores and a label are 80,000 bytes."""
    import io

    import numpy as np
    import pandas as pd

    probs = np.full((2000, 4), 0.25)
    frame = pd.DataFrame(probs, columns=list("abcd")).assign(label=np.arange(2000) % 4)
    buffer = io.BytesIO()
    if form == "npz":
        np.savez_compressed(buffer, probs=probs, label=frame.label.to_numpy())
    elif form == "npy":
        np.save(buffer, frame.to_numpy())
    elif form == "parquet":
        frame.to_parquet(buffer)
    else:
        text = frame.to_csv(index=False) if form == "csv" else frame.to_json(orient="records", lines=form == "jsonl")
        buffer.write(text.encode())
    data = buffer.getvalue()
    predicted = unpacked_bytes(data)
    if form in ("jsonl", "json"):  # Python's objects, more of them where all is decoded at once
        assert predicted == (len(data) * 4 // 3 if form == "jsonl" else 2 * len(data))
    else:
        assert 80_000 <= predicted < 81_000
    assert unpacked_bytes(data[: len(data) // 2]) >= 0, "a damaged file is refused when it is read"
