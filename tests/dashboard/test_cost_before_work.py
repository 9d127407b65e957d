"""Limits and forecasts of work before it begins: room for its bytes, its turn, and its estimated duration."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import long_work
import numpy as np
import pytest

import calib_core as cc
from calib_core import InputError, Recipe
from dashboard import session
from dashboard.frame import fitting as page
from dashboard.hosting import machine
from dashboard.selection import Source
from dashboard.session import Model, ResultCache, expected, files, result_cache
from dashboard.session.call import work_on
from dashboard.session.fits_under_way import Fit
from dashboard.session.result_cache import WorkRoom
from dashboard.session.server_limits import GB, LOCAL, ServerLimits, agree
from dashboard.workers import durations, turns
from dashboard.workers.durations import COSTS, Costs, Work
from dashboard.workers.pool import Pool

SOON = 60.0
MB = 1 << 20


def became_true(what: Callable[[], bool]) -> bool:
    until = time.monotonic() + SOON
    while not what() and time.monotonic() < until:
        time.sleep(0.01)
    return what()


# -- memory ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("gb", "processes", "file_mb"), [(4, 2, 512), (1, 1, 60), (0.75, 2, 20), (64, 8, 1024)])
def test_all_shares_and_the_processes_together_are_the_memory_that_was_stated(
    gb: float, processes: int, file_mb: int
) -> None:
    under = ServerLimits(memory=int(gb * GB), own=machine.own_bytes(processes), file_bytes=file_mb * MB)
    shares = (under.arriving_bytes, under.kept_bytes, under.result_bytes, under.work_bytes)
    assert min(shares) > 0
    assert gb * GB - 8 <= under.own + sum(shares) <= gb * GB
    assert under.arriving_bytes >= min(file_mb * MB, (under.memory - under.own) // 4)


@pytest.fixture
def room_for_100_mb() -> Iterator[WorkRoom]:
    agree(ServerLimits(memory=8 * 7 * 100 * MB // 6, file_bytes=0))
    yield WorkRoom()
    agree(LOCAL)


def test_work_on_large_files_begins_where_there_is_room_and_small_work_waits_for_nobody(
    room_for_100_mb: WorkRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Computed by hand: 40 MB of files take 80 MB while in use, and two of these are more than 100."""
    monkeypatch.setattr(result_cache, "_LOOK", 0.01)
    order, ends, places = [], {name: threading.Event() for name in "abc"}, []

    def at_work(name: str, size: int) -> None:
        with room_for_100_mb.room(size * MB, lambda: places.append(turns.place())), room_for_100_mb.room(size * MB):
            order.append(name)
            ends[name].wait(SOON)

    def begun(name: str, size: int) -> threading.Thread:
        thread = threading.Thread(target=at_work, args=(name, size))
        thread.start()
        return thread

    threads = [begun("a", 40)]
    assert became_true(lambda: order == ["a"])
    threads.append(begun("b", 40))
    assert became_true(lambda: bool(places))
    threads.append(begun("c", 5))
    assert became_true(lambda: order == ["a", "c"]), "what takes 10 MB waits for nobody"
    assert {place.sentence for place in places if place} == {"waits for 1 other"}
    ends["a"].set()
    assert became_true(lambda: order == ["a", "c", "b"])
    for end in ends.values():
        end.set()
    for thread in threads:
        thread.join(SOON)
    assert room_for_100_mb._taken == room_for_100_mb._queue == []


def test_one_alone_has_room_whatever_it_takes_and_who_stops_waiting_leaves_no_trace(
    room_for_100_mb: WorkRoom,
) -> None:
    def stop() -> None:
        raise InputError("stopped")

    with room_for_100_mb.room(1000 * MB):
        waited: list[BaseException] = []

        def other() -> None:
            try:
                with room_for_100_mb.room(1000 * MB, stop):
                    raise AssertionError("there was no room")
            except InputError as why:
                waited.append(why)

        thread = threading.Thread(target=other)
        thread.start()
        thread.join(SOON)
        assert [str(why) for why in waited] == ["stopped"]
    assert room_for_100_mb._taken == room_for_100_mb._queue == []


def test_a_result_takes_room_for_its_files_while_it_is_made_and_counts_what_is_its_own() -> None:
    upload = np.zeros(1000)
    shelf = ResultCache(1 << 20, lambda keys: {id(upload): upload.nbytes} if "file" in keys else {})
    asked = []
    shelf._room.room = lambda size, waits=None: asked.append(size) or WorkRoom().room(0)  # type: ignore[method-assign]
    shelf.put("whole", lambda: [upload[::2], np.zeros(10)], of=("file",))
    shelf.put("other", lambda: np.zeros(10))
    shelf.put("whole", list, of=("file",))
    assert asked == [8000, 0], "what is here needs no room"
    assert shelf._bytes == 64 + 80 + 80


def test_labels_of_another_file_are_read_in_their_turn_and_within_what_one_person_may_keep() -> None:
    """Computed by hand: 100 rows of two columns of 8 bytes, and thrice as much for the labels and their line."""
    scores = session.hold(b"id,p\n" + b"".join(b"%d,0.5\n" % i for i in range(100)), "scores.csv")
    labels = b"id,y\n" + b"".join(b"%d,%d\n" % (i, i % 2) for i in range(100))
    try:
        kept = sum(each.bytes for each in files.UPLOADS._kept.values())
        agree(ServerLimits(bytes=kept + 6000))
        with pytest.raises(InputError, match=r"Your uploads take .* and this one about 6.45 kB more"):
            session.join(scores.key, labels, "labels.csv")
        assert not files.UPLOADS._coming
    finally:
        agree(LOCAL)
    assert session.join(scores.key, labels, "labels.csv").table.n_rows == 100


# -- queue -----------------------------------------------------------------------------------------------------


class Left(BaseException):
    """Signal that nobody waits."""


def test_jobs_come_in_turn_and_say_for_how_many_and_how_long_they_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Computed by hand: of work that takes 10 s, one job has just begun and one is waiting, on one process: 20 s."""
    monkeypatch.setattr(COSTS, "seconds", lambda work: 10.0)
    opened, work = Pool(1, quick=0.0, loaded=False), Work("long", 1, 1)
    seen: dict[int, list[str]] = {0: [], 1: [], 2: []}
    over, ended = threading.Event(), []

    def told(i: int) -> Callable[[int], None]:
        def tell(_: int) -> None:
            if over.is_set():
                raise Left
            if place := turns.place():
                seen[i].append(place.sentence)

        return tell

    def person(i: int) -> None:
        try:
            opened.run(long_work.endless, (), {}, told(i), work)
        except Left:
            ended.append(i)

    threads = [threading.Thread(target=person, args=(i,)) for i in range(3)]
    try:
        for i, thread in enumerate(threads):
            thread.start()
            assert became_true(lambda i=i: bool(seen[i]) or (bool(opened._at_work) and i == 0))  # type: ignore[misc]
        assert set(seen[1]) == {"waits for 1 other (about 10 s)"}
        assert set(seen[2]) == {"waits for 2 others (about 20 s)"}
        over.set()
        for thread in threads:
            thread.join(SOON)
        assert sorted(ended) == [0, 1, 2]
        assert opened._queue == opened._at_work == []
        assert turns._places == {}
    finally:
        opened.close()


def test_whoever_waits_for_a_fit_reads_what_it_waits_for_and_how_long_it_takes() -> None:
    now = [0.0]
    fit = Fit(clock=lambda: now[0])
    fit.expect("one", 20.0)
    turns.stand(2, 31.0)
    fit.tell("fitted", 0)
    assert page.doing("Matrix scaling", fit) == "Matrix scaling waits for 2 others (about 30 s)"
    with turns.waiting():
        pass
    fit.expected, now[0] = 12.0, 3.0
    fit.tell("fitted", 0)
    assert page.doing("Matrix scaling", fit) == "Fitting Matrix scaling: 3 s of about 10 s"
    now[0] = 13.0
    fit.tell("fitted", 90)
    assert page.doing("Matrix scaling", fit) == "Fitting Matrix scaling: 13 s, 90 % done", "what was told is over"


# -- seconds ---------------------------------------------------------------------------------------------------


def test_times_of_a_law_are_told_at_other_sizes_and_here_counts_more_than_elsewhere() -> None:
    """Durations of n^1.2 K^1.6 / 50,000 seconds, observed at six sizes, are predicted at others within a fifth."""
    costs_ = Costs()
    law = lambda n, k: n**1.2 * k**1.6 / 50_000  # noqa: E731
    for n, k in ((1000, 2), (1000, 20), (5000, 5), (20_000, 2), (20_000, 20), (5000, 50)):
        costs_.learn(Work("w", n, k), law(n, k))
    for n, k in ((2000, 10), (50_000, 10), (10_000, 3)):
        assert costs_.seconds(Work("w", n, k)) == pytest.approx(law(n, k), rel=0.2)
    assert costs_.seconds(Work("w", 10 * 20_000, 20)) is not None
    assert costs_.seconds(Work("w", 11 * 20_000, 20)) is None, "nothing nearly as large was ever done"
    slow = Costs({"w": [(1000, 10, 1.0), (10_000, 10, 10.0)]})
    first = slow.seconds(Work("w", 5000, 10))
    assert first == pytest.approx(5 * durations.unit(), rel=1e-6)
    once = Costs({"w": [(5000, 10, 5.0)]})
    once.learn(Work("w", 5000, 10), 8 * first)
    assert once.seconds(Work("w", 5000, 10)) > 5 * first, "one time measured here says more than a line of the table"
    for _ in range(6):
        slow.learn(Work("w", 5000, 10), 8 * first)
    assert slow.seconds(Work("w", 5000, 10)) == pytest.approx(8 * first, rel=0.25)


def test_what_fails_or_is_stopped_teaches_nothing() -> None:
    costs_ = Costs()
    with pytest.raises(InputError), costs_.learning(Work("w", 1, 1)):
        raise InputError("refused")
    assert costs_.seconds(Work("w", 1, 1)) is None


def test_every_calibrator_of_the_library_has_times_to_begin_with() -> None:
    table = durations.shipped()  # other tests teach the durations of this process
    untold = [key for key in cc.CALIBRATORS if table.seconds(Work(f"fitted {key}", 1000, 10)) is None]
    assert untold == [], "make them with tests/benchmarks/work_times.py"
    kind = session.call(cc.choose, Model(Source(data="demo:wine-logistic")).division.part("fit")).kind
    quick, slow = (table.seconds(Work(kind, 5000, classes)) for classes in (10, 400))
    assert quick is not None
    assert slow is not None
    assert slow > 10 * quick


def test_rows_that_are_not_looked_at_take_no_time() -> None:
    """Computed by hand: a choice samples a million of 20,000 x 100 numbers, 10,000 rows."""
    rows = cc.Predictions(np.full((20_000, 100), 0.01), np.zeros(20_000, dtype=int))
    assert work_on(rows, "choose") == Work("choose", 10_000, 100)
    assert work_on(rows, "fitted temperature").rows == 20_000


def test_what_is_here_takes_no_time_and_the_rest_is_told_by_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"fitted vector": 5.0, "recalibrated vector": 2.0}
    monkeypatch.setattr(COSTS, "seconds", lambda work: known.get(work.kind))
    shelf, model = ResultCache(1 << 28), Model(Source(data="demo:wine-logistic"), Recipe("CALIBRATORS", "vector"))
    rows = shelf.get(model.division.part("fit"))
    assert expected(model.predictions, rows, shelf) == 7.0
    shelf.get(model.fitted)
    assert expected(model.predictions, rows, shelf) == 2.0
    shelf.get(model.predictions)
    assert expected(model.predictions, rows, shelf) == 0.0
    del known["fitted vector"]
    assert expected(model.predictions, rows, ResultCache(1 << 28)) is None
