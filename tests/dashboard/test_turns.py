"""Pages are drawn in turn: in the order they were asked for, so many at a time, and none is kept out by a long one."""

from __future__ import annotations

import threading
import time

import pytest

from dashboard.session.turns import Turns


def begun(turns: Turns, name: str, order: list[str], ended: threading.Event) -> threading.Thread:
    def run() -> None:
        with turns.taken():
            order.append(name)
            ended.wait(10)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def until(condition: object, seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.002)


def test_who_comes_first_is_served_first_and_so_many_at_a_time() -> None:
    turns, order, ended = Turns(2, patience=60), [], [threading.Event() for _ in range(6)]
    threads = []
    for i in range(6):
        threads.append(begun(turns, str(i), order, ended[i]))
        until(lambda i=i: len(turns._waiting) + len(turns._begun) == i + 1)
    assert sorted(order) == ["0", "1"]
    for i in range(4):
        ended[i].set()
        until(lambda i=i: len(order) == i + 3)
        assert len(turns._begun) == 2
    assert order[2:] == ["2", "3", "4", "5"]
    for event in ended:
        event.set()
    for thread in threads:
        thread.join()
    assert not turns._begun
    assert not turns._waiting


def test_what_takes_long_gives_its_place_away() -> None:
    now, order, ended = [0.0], [], threading.Event()
    turns = Turns(1, patience=0.05, clock=lambda: now[0])
    long = begun(turns, "long", order, ended)
    until(lambda: order == ["long"])
    short = begun(turns, "short", order, ended)
    time.sleep(0.1)
    assert order == ["long"], "its time is not over by the clock"
    now[0] = 0.06
    until(lambda: order == ["long", "short"])
    ended.set()
    long.join()
    short.join()


def test_a_place_is_given_back_whatever_ends_the_run() -> None:
    turns = Turns(1, patience=60)
    with pytest.raises(KeyError), turns.taken():
        raise KeyError
    with turns.taken():
        pass
    assert not turns._begun
