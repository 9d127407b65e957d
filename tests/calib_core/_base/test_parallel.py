"""Threads: as many as allowed, none at import, the same bits for any number, and a fork that does not hang."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import calib_core as cc
from calib_core import Predictions
from calib_core._base import parallel
from calib_core._base.parallel import chunks, one_blas_thread, run, shared_out
from calib_core.inference import sharpen

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="forks, and CPUs allowed to a process, are Linux's")


def in_a_process(code, seconds=60, **environment):
    """Return what a fresh interpreter prints; fail if it takes longer."""
    given = {**os.environ, **environment}
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=seconds, env=given)
    assert made.returncode == 0, made.stderr[-2000:]
    return made.stdout.split()


# ---- counts ------------------------------------------------------------------------------------------------


def test_threads_are_the_cpus_allowed_unless_the_variable_says_otherwise(monkeypatch):
    monkeypatch.delenv("CALIB_THREADS", raising=False)
    for cpus, expected in ((1, 1), (3, 3), (64, parallel.MOST)):
        monkeypatch.setattr(parallel, "_cpus", lambda cpus=cpus: cpus)
        assert parallel.threads() == expected
    for given, expected in (("1", 1), ("12", 12), ("", parallel.MOST)):
        monkeypatch.setenv("CALIB_THREADS", given)
        assert parallel.threads() == expected


@pytest.mark.parametrize("given", ["0", "-1", "two", "1.5", "x" * 200])
def test_a_number_of_threads_that_is_none_is_refused(monkeypatch, given):
    monkeypatch.setenv("CALIB_THREADS", given)
    with pytest.raises(ValueError, match=r"CALIB_THREADS is .*; it must be a whole number"):
        parallel.threads()


@LINUX
def test_cpus_are_those_this_process_may_use_and_none_are_taken_at_import():
    code = """
import os, threading
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
os.environ.pop("CALIB_THREADS", None)
import calib_core as cc, numpy as np
from calib_core._base import parallel as _parallel
before = threading.active_count()
cc.Predictions(np.full((20000, 50), 0.02), np.zeros(20000, dtype=int))
alone = threading.active_count()
os.environ["CALIB_THREADS"] = "3"
cc.Predictions(np.full((20000, 50), 0.02), np.zeros(20000, dtype=int))
print(before, _parallel._pool.cache_info().misses, _parallel.threads(), alone, threading.active_count())
"""
    before, pools, chosen, alone, many = map(int, in_a_process(code))
    assert (before, alone, pools, chosen) == (1, 1, 1, 3)
    assert 1 < many <= 4


# ---- the same bits -----------------------------------------------------------------------------------------


def digest():
    """Return numbers from everything that shares work among threads, over more rows than one chunk contains."""
    rng = np.random.default_rng(0)
    rows = Predictions(rng.dirichlet(np.full(3, 0.5), 10_000), rng.integers(3, size=10_000))
    near = rows.take(np.arange(5_000))
    rows.top(3)
    estimates = [cc.estimate(rows, "top-label", key) for key in ("ece", "rmsce")]
    sharpen(estimates)
    sums = cc.REDUCTIONS.make("class-wise").split(rows).tally(np.linspace(0.1, 0.9, 9))
    fitted = cc.CALIBRATORS.make("temperature").fit_on(rows)
    local = cc.CALIBRATORS.make("lece").fit_on(near.take(np.arange(500)))
    return [
        rows.confidence.tobytes(),
        sums.score.tobytes(),
        *(one.interval() for one in estimates),
        *(one.noise_floor.draws.tobytes() for one in estimates),
        fitted.apply(rows).probs.tobytes(),
        local.apply(near).confidence.tobytes(),
    ]


def test_the_same_bits_for_any_number_of_threads(monkeypatch):
    monkeypatch.setenv("CALIB_THREADS", "1")
    alone = digest()
    for many in ("2", "5"):
        monkeypatch.setenv("CALIB_THREADS", many)
        assert digest() == alone


# ---- allocation --------------------------------------------------------------------------------------------


def test_results_come_in_order_and_by_several_threads(monkeypatch):
    monkeypatch.setenv("CALIB_THREADS", "3")
    met = threading.Barrier(3, timeout=20)

    def work(part):
        met.wait()  # only three threads at once can pass
        return part.start, threading.current_thread().name

    found = list(shared_out(work, chunks(30, 10)))
    assert [start for start, _ in found] == [0, 10, 20]
    assert len({name for _, name in found}) == 3


def test_work_within_work_does_not_wait_for_itself(monkeypatch):
    monkeypatch.setenv("CALIB_THREADS", "2")
    inner = list(shared_out(lambda _: sum(shared_out(lambda i: i, range(10))), range(8)))
    assert inner == [45] * 8


def test_short_work_does_not_wait_behind_long_jobs(monkeypatch):
    monkeypatch.setenv("CALIB_THREADS", "2")
    free = threading.Event()
    long = threading.Thread(target=run, args=([lambda: free.wait(20)] * 4,))
    long.start()
    start = time.monotonic()
    assert list(shared_out(abs, [-1, -2])) == [1, 2]
    assert time.monotonic() - start < 10
    free.set()
    long.join()


@pytest.mark.parametrize("many", ["1", "2"])
def test_jobs_are_counted_and_dropped_after_one_that_fails(monkeypatch, many):
    monkeypatch.setenv("CALIB_THREADS", many)
    told, ran = [], []
    run([lambda: ran.append(1)] * 5, told.append)
    assert (told, len(ran)) == ([1, 2, 3, 4, 5], 5)

    def fail():
        raise KeyError

    def later():
        time.sleep(0.01)
        ran.append(1)

    with pytest.raises(KeyError):
        run([fail, *[later] * 100])
    assert len(ran) < 50


# ---- BLAS --------------------------------------------------------------------------------------------------


def blas_threads():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def test_blas_has_one_thread_until_the_last_of_overlapping_blocks_ends():
    before = threadpool_limits(2, user_api="blas")
    try:
        inside, leave = threading.Event(), threading.Event()

        def second():
            with one_blas_thread():
                inside.set()
                leave.wait(20)

        other = threading.Thread(target=second)
        with one_blas_thread(), one_blas_thread():
            other.start()
            inside.wait(20)
            assert blas_threads() == {1}
        assert blas_threads() == {1}, "the other block still holds it"
        leave.set()
        other.join()
        assert blas_threads() == {2}
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {2}
    finally:
        before.restore_original_limits()


# ---- forks -------------------------------------------------------------------------------------------------

FORK = """
import multiprocessing, os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)
sys.path[:0] = {path!r}
from test_parallel import digest
from calib_core._base import parallel as _parallel
from calib_core._base.parallel import one_blas_thread, shared_out

def answer(_=None):
    return digest()

if {how!r} == "pool":
    here = digest()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        there = pool.apply(answer)
    print(there == here)
elif {how!r} == "lock":
    _parallel._blas.lock.acquire()  # as another thread may at the moment of the fork
    child = os.fork()
    if not child:
        with one_blas_thread():
            os._exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7)
else:
    def forks(part):
        child = os.fork()
        if not child:
            found = list(shared_out(lambda i: i, range(5)))
            os._exit(7 if found == list(range(5)) and _parallel._pool.cache_info().currsize else 8)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(set(shared_out(forks, range(2))) == {{7}})
"""


@LINUX
@pytest.mark.parametrize("how", ["pool", "lock", "worker"])
def test_a_process_that_forks_after_use_does_not_hang(how):
    """Fork after use, while another thread has the lock, and from a worker itself."""
    code = FORK.format(path=[os.path.dirname(__file__)], how=how)
    assert in_a_process(code, CALIB_THREADS="2") == ["True"]


def test_an_interrupt_does_not_wait_for_jobs_that_nobody_will_read(monkeypatch):
    """The command line ends at once by the name of these threads, which it cannot load."""
    from dashboard import cli

    assert cli._JOBS == parallel.JOBS
    monkeypatch.setenv(parallel.VARIABLE, "2")
    release, names, finished = threading.Event(), [], []

    def stop(done):
        raise KeyboardInterrupt

    def slow():
        names.append(threading.current_thread().name)
        release.wait(30)
        finished.append(1)

    with pytest.raises(KeyboardInterrupt):
        parallel.run([lambda: None, slow, slow, slow], stop)
    assert not finished
    release.set()
    assert len(names) < 3
    assert all(name.startswith(parallel.JOBS) for name in names)
