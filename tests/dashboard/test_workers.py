"""Heavy work in worker processes: the same results, stopped at once, restarted if a process is killed."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing import Pipe
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import long_work
import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core import InputError, Recipe
from dashboard import session
from dashboard.selection import Selection, Source
from dashboard.session import Model, ResultCache
from dashboard.workers import pool, shared_arrays
from dashboard.workers.pool import Pool

SOON = 60.0
ROOT = Path(__file__).parents[2]


def became_true(what: Callable[[], bool]) -> bool:
    until = time.monotonic() + SOON
    while not what() and time.monotonic() < until:
        time.sleep(0.02)
    return what()


def silent(_: int) -> None:
    """Ignore the progress."""


@pytest.fixture(scope="module")
def one() -> Iterator[Pool]:
    """Yield a pool of one process, which receives all work at once."""
    opened = Pool(1, quick=0.0, loaded=False)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def rows() -> cc.Predictions:
    return cc.read_predictions(*cc.datasets.demo("wine-logistic"))


def gone(pid: int) -> bool:
    """Return True if a process has ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_process_gives_the_same_bits_and_tells_how_far_it_is(one: Pool, rows: cc.Predictions) -> None:
    divided, told = cc.calls.divide(rows), []
    for key in ("vector", "top-label-hb"):
        fresh = cc.CALIBRATORS.make(key)
        fitted = one.run(cc.calls.fitted, (divided, fresh), {}, told.append)
        found = one.run(cc.calls.recalibrated, (divided, fitted), {}, told.append)
        expected = cc.calls.recalibrated(divided, cc.calls.fitted(divided, fresh))
        assert np.array_equal(found.confidence, expected.confidence), key
        assert not found.confidence.flags.writeable
    chosen = one.run(cc.choose, (divided.fit, ["temperature", "vector"]), {}, told.append)
    assert chosen.frame().equals(cc.choose(divided.fit, ["temperature", "vector"]).frame())
    assert max(told) > 50


def test_refusals_come_back_in_the_same_words_and_the_process_goes_on(one: Pool, rows: cc.Predictions) -> None:
    before = one.processes
    with pytest.raises(InputError, match="score is 'x'; it must be one of log-loss, brier"):
        one.run(cc.choose, (rows,), {"score": "x"}, silent)
    assert one.run(cc.choose, (rows, ["temperature"]), {}, silent).frame().shape[0] == 2
    assert one.processes == before


def test_what_only_this_process_knows_is_computed_here(one: Pool) -> None:
    def known_here(progress: Any) -> int:
        return os.getpid()

    assert one.run(known_here, (), {}, silent) == os.getpid()
    assert one.run(long_work.process, (), {}, silent) == one.processes[0]


def test_what_is_quick_stays_here_and_what_is_not_goes_there_from_then_on() -> None:
    opened = Pool(1, quick=0.05, loaded=False)
    try:
        assert opened.run(long_work.busy, (0.0,), {}, silent) == os.getpid()
        assert opened.run(long_work.busy, (0.2,), {}, silent) == opened.processes[0]
        assert opened.run(long_work.busy, (0.0,), {}, silent) == opened.processes[0]
        # Work that never reports its progress is not moved; but it is remembered.
        assert opened.run(long_work.quiet, (0.2,), {}, silent) == os.getpid()
        assert opened.run(long_work.quiet, (0.0,), {}, silent) == opened.processes[0]
    finally:
        opened.close()


class Left(BaseException):
    """Signal that nobody waits."""


def test_a_stop_ends_the_process_and_the_next_job_has_a_new_one(one: Pool) -> None:
    (before,) = one.processes
    begun = time.monotonic()

    def leave(_: int) -> None:
        if time.monotonic() > begun + 0.3:
            raise Left

    with pytest.raises(Left):
        one.run(long_work.endless, (), {}, leave)
    assert gone(before)
    assert one.run(long_work.process, (), {}, silent) == one.processes[0] != before


def test_who_waits_for_a_process_and_leaves_begins_nothing(one: Pool) -> None:
    may_end, begun = threading.Event(), threading.Event()

    def working(_: int) -> None:
        begun.set()
        if may_end.is_set():
            raise Left

    def first() -> None:
        with pytest.raises(Left):
            one.run(long_work.endless, (), {}, working)

    def leave(_: int) -> None:
        raise Left

    thread = threading.Thread(target=first)
    thread.start()
    assert begun.wait(SOON)
    (before,) = one.processes
    with pytest.raises(Left):
        one.run(long_work.process, (), {}, leave)
    assert one.processes == (before,), "the work of somebody else goes on"
    may_end.set()
    thread.join(SOON)
    assert not thread.is_alive()


@pytest.mark.parametrize("times", [1, 2])
def test_a_killed_process_is_replaced_and_twice_is_a_sentence(one: Pool, times: int, tmp_path: Path) -> None:
    (count := tmp_path / "times").write_text(str(times))
    if times == 1:
        assert one.run(long_work.fatal, (str(count),), {}, silent) == one.processes[0]
    else:
        with pytest.raises(InputError, match="stopped twice: it ran out of memory or was ended"):
            one.run(long_work.fatal, (str(count),), {}, silent)
        assert one.run(long_work.process, (), {}, silent) == one.processes[0]


def test_a_process_killed_between_two_jobs_is_not_noticed(one: Pool) -> None:
    one.run(long_work.process, (), {}, silent)
    (before,) = one.processes
    os.kill(before, signal.SIGKILL)
    assert became_true(lambda: Path(f"/proc/{before}/stat").read_text().split()[2] == "Z")
    assert one.run(long_work.process, (), {}, silent) == one.processes[0] != before


def test_processes_end_with_a_server_that_is_killed_in_the_middle_of_work() -> None:
    lines = (
        "import long_work; from dashboard.workers.pool import Pool; p = Pool(1, quick=0.0, loaded=False)",
        "print(p.run(long_work.process, (), {}, print), flush=True); p.run(long_work.endless, (), {}, lambda _: None)",
    )
    paths = os.pathsep.join((str(ROOT), str(ROOT / "tests" / "support")))
    environment = {**os.environ, "PYTHONPATH": paths}
    server = subprocess.Popen([sys.executable, "-c", "; ".join(lines)], stdout=subprocess.PIPE, env=environment)
    assert server.stdout is not None
    pid = next(int(line) for line in server.stdout if line.strip() not in (b"", b"0"))
    server.kill()
    server.wait()
    server.stdout.close()
    assert became_true(lambda: gone(pid))


def test_a_model_of_a_page_is_made_by_the_pool(
    one: Pool, rows: cc.Predictions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_pool", [one])
    computed: list[str] = []
    run = one.run
    monkeypatch.setattr(one, "run", lambda *given: computed.append(given[0].__name__) or run(*given))
    model = Model(Source(data="demo:wine-logistic"), Recipe("CALIBRATORS", "vector"))
    found = ResultCache(1 << 28).get(model.predictions)
    assert computed == ["fitted", "recalibrated"], "what takes no progress is quick, and stays"
    monkeypatch.undo()
    assert np.array_equal(found.probs, ResultCache(1 << 28).get(model.predictions).probs)


def test_a_page_whose_work_was_lost_is_a_sentence_with_data_and_choices_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_: Any) -> None:
        raise pool.Lost(pool.LOST)

    monkeypatch.setattr(importlib.import_module("dashboard.session.call"), "compute", lost)
    session.RESULTS.clear()
    app = AppTest.from_file(str(ROOT / "dashboard" / "app.py"), default_timeout=60)
    given = {"view": "calibrators", "data": "demo:wine-logistic", "calibrators": '[{"key":"temperature"}]'}
    for name, value in given.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    assert "Your data and choices are still here" in app.error[0].value
    assert app.session_state["calib.selection"] == Selection.from_query(given)[0]
    monkeypatch.undo()
    app.button(key="lost.again").click().run()
    assert not app.error


def test_a_parcel_keeps_what_may_be_written_to_and_what_may_not() -> None:
    fixed = np.arange(5.0)
    fixed.flags.writeable = False
    here, there = Pipe()
    given = {"fixed": fixed, "free": np.arange(7), "none": np.empty(0), "big": np.ones((600, 600))}
    thread = threading.Thread(target=shared_arrays.send, args=(here, shared_arrays.packed(given)))
    thread.start()
    found = shared_arrays.received(there)
    thread.join()
    assert {name: array.flags.writeable for name, array in found.items() if array.size} == {
        "fixed": False,
        "free": True,
        "big": True,
    }
    assert all(np.array_equal(found[name], given[name]) for name in given)
    shared_arrays.send(here, shared_arrays.packed("nothing mapped"))
    assert shared_arrays.received(there) == "nothing mapped"
    here.close()
    with pytest.raises(EOFError):
        shared_arrays.received(there)
    there.close()


def test_work_that_was_lost_is_tried_again_and_a_refusal_is_kept() -> None:
    for why, times in ((pool.Lost(pool.LOST), 2), (InputError("no"), 1)):
        cache, tried = ResultCache(1 << 20), list[int]()

        def run(*_: Any, why: InputError = why, tried: list[int] = tried) -> None:
            tried.append(1)
            raise why

        call: Any = SimpleNamespace(is_part=False, key="a", step="a", leaves=(), run=run)
        for _ in range(2):
            with pytest.raises(type(why)):
                cache.get(call)
        assert len(tried) == times
