"""Fits continue while somebody waits, end when nobody does, and the page shows their names and progress."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.delta_generator import DeltaGenerator
from streamlit.testing.v1 import AppTest

from calib_core import CALIBRATORS, InputError, Recipe
from dashboard.frame import fitting as page
from dashboard.selection import Selection, Source
from dashboard.session import Model, ResultCache, fits_under_way, visitors
from dashboard.session.fits_under_way import Abandoned, Fit, Fits

WINE = Source(data="demo:wine-logistic", seed=11)
MATRIX = Recipe("CALIBRATORS", "matrix")
SOON = 5.0
"""Seconds after which an expected event counts as missing."""


class Work:
    """Work that continues until it is told to end, or stopped."""

    def __init__(self) -> None:
        self.begun, self.stopped = 0, 0
        self.may_end = threading.Event()

    def __call__(self, progress: Callable[[str, int], object]) -> None:
        self.begun += 1
        try:
            while not self.may_end.wait(0.005):
                progress("fitted", 0)
        except Abandoned:
            self.stopped += 1
            raise


def became_true(what: Callable[[], bool]) -> bool:
    until = time.monotonic() + SOON
    while not what() and time.monotonic() < until:
        time.sleep(0.005)
    return what()


def test_two_pages_share_a_fit_and_it_ends_when_both_have_left() -> None:
    both, work = Fits(), Work()
    one = both.wait("key", work, "one", 0.01)
    assert one is both.wait("key", work, "two", 0.01)
    both.leave("key", "one")
    assert both.wait("key", work, "two", 0.05) is one
    both.leave("key", "two")
    assert became_true(lambda: work.stopped == 1)
    assert work.begun == 1


def test_what_was_stopped_begins_anew_and_what_ended_is_done() -> None:
    some, work = Fits(), Work()
    some.wait("key", work, "one", 0.01)
    some.leave("key", "one")
    assert became_true(lambda: work.stopped == 1)
    assert some.wait("key", work, "one", 0.01) is not None
    assert work.begun == 2
    work.may_end.set()
    assert some.wait("key", work, "one", SOON) is None
    assert became_true(lambda: not some._made)


def test_a_page_that_asks_no_more_is_waited_for_a_while() -> None:
    now = [0.0]
    fit = Fit(grace=10.0, clock=lambda: now[0])
    fit.expect("closed", 1.0)
    now[0] = 10.9
    fit.tell("fitted", 0)
    assert not fit.abandoned
    now[0] = 11.1
    with pytest.raises(Abandoned):
        fit.tell("fitted", 0)
    assert fit.abandoned


def test_a_closed_tab_is_waited_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    now, is_open = [0.0], {"tab": True, "other": True}
    monkeypatch.setattr(fits_under_way, "is_open", is_open.__getitem__)
    fit = Fit(grace=10.0, clock=lambda: now[0])
    for who in is_open:
        fit.expect(who, 1.0)
    now[0] = 1.0 + fits_under_way.CLOSED_GRACE
    is_open["tab"] = False
    fit.tell("fitted", 0)
    is_open["other"] = False
    with pytest.raises(Abandoned):
        fit.tell("fitted", 0)


def computing_page() -> None:
    import streamlit as st

    from calib_core import Recipe
    from dashboard.selection import Source
    from dashboard.session import Model, ResultCache

    shelf, model = (
        ResultCache(1 << 28),
        Model(Source(data="demo:wine-logistic", seed=5), Recipe("CALIBRATORS", "matrix")),
    )
    shelf.get(model.division)
    st.text("begun")
    shelf.get(model.predictions)
    st.text("done")


def test_a_page_computes_no_further_once_its_tab_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    app = AppTest.from_function(computing_page, default_timeout=60).run()
    assert [text.value for text in app.text] == ["begun", "done"]
    monkeypatch.setattr(visitors, "is_open", lambda session: False)
    app = AppTest.from_function(computing_page, default_timeout=60).run()
    assert [text.value for text in app.text] == ["begun"]
    assert not app.exception


def test_a_share_that_is_not_known_leaves_the_one_that_was() -> None:
    fit, seen = Fit(), []
    fit.expect("one", SOON)
    for step, percent in (("fitted", 0), ("fitted", 40), ("fitted", 0), ("recalibrated", 0), ("recalibrated", 20)):
        fit.tell(step, percent)
        seen.append(fit.percent)
    assert seen == [0, 40, 40, 0, 20]


def test_a_fault_is_raised_where_it_is_waited_for_and_a_refusal_is_left_to_the_shelf() -> None:
    def wrong(_: Any) -> None:
        raise ZeroDivisionError("a fault")

    def refused(_: Any) -> None:
        raise InputError("refused")

    with pytest.raises(ZeroDivisionError, match="a fault"):
        Fits().wait("key", wrong, "one", SOON)
    assert Fits().wait("key", refused, "one", SOON) is None


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> ResultCache:
    """Replace the cache for fits by an empty one."""
    own = ResultCache(1 << 28)
    monkeypatch.setattr(fits_under_way, "RESULTS", own)
    return own


def test_a_stopped_fit_leaves_nothing_on_the_shelf(shelf: ResultCache, monkeypatch: pytest.MonkeyPatch) -> None:
    model, work = Model(WINE, MATRIX), Work()
    cls = CALIBRATORS["matrix"].cls
    real = cls._fit
    monkeypatch.setattr(
        cls, "_fit", lambda self, rows, progress: (work(lambda _, p: progress(p)), real(self, rows, progress))
    )
    running = fits_under_way.wait(model, 0.2)
    assert running is not None
    assert running.step == "fitted"
    fits_under_way.leave(model)
    assert became_true(lambda: work.stopped == 1)
    assert not shelf.knows(model.fitted)
    assert not shelf.knows(model.predictions)
    work.may_end.set()
    assert fits_under_way.wait(model, 30.0) is None
    assert shelf.knows(model.predictions)


@pytest.mark.parametrize(
    ("step", "percent", "said"),
    [
        ("", 0, "Preparing the rows for Matrix scaling: 12 s"),
        ("fitted", 0, "Fitting Matrix scaling: 12 s"),
        ("fitted", 40, "Fitting Matrix scaling: 12 s, 40 % done"),
        ("recalibrated", 20, "Recalibrating the rows with Matrix scaling: 12 s, 20 % done"),
    ],
)
def test_the_words_name_the_calibrator_the_time_and_a_share_only_where_it_is_known(
    step: str, percent: int, said: str
) -> None:
    now = [0.0]
    fit = Fit(clock=lambda: now[0])
    fit.expect("one", 20.0)
    now[0] = 12.0
    fit.tell(step, percent)
    assert page.doing("Matrix scaling", fit) == said


def waiting_page() -> None:
    import streamlit as st

    from dashboard import widgets
    from dashboard.frame import await_models
    from dashboard.session import models

    await_models(widgets.selection())
    st.text(", ".join(model.title for model in models(widgets.selection()).shown))


def test_a_slow_fit_is_watched_and_a_quick_one_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    words, bars, bar = page.doing, [], DeltaGenerator.progress
    monkeypatch.setattr(DeltaGenerator, "progress", lambda at, value, text: bars.append(value) or bar(at, value, text))
    monkeypatch.setattr(page, "doing", lambda *given: said.append(words(*given)) or words(*given))
    ticked = (Recipe("CALIBRATORS", "temperature"), MATRIX)
    app = AppTest.from_function(waiting_page, default_timeout=60)
    app.session_state["calib.selection"] = Selection(source=WINE, calibrators=ticked[:1])
    assert app.run().text[0].value == "Original model, Temperature scaling"
    assert said == []
    cls, slow = CALIBRATORS["matrix"].cls, 0.4
    real = cls._fit

    def fit(self: Any, rows: Any, progress: Any) -> None:
        until = time.monotonic() + slow
        while (left := until - time.monotonic()) > 0:
            progress(0 if left > slow / 2 else 40)
            time.sleep(0.01)
        real(self, rows, progress)

    monkeypatch.setattr(cls, "_fit", fit)
    monkeypatch.setattr(page, "PATIENCE", 0.02)
    monkeypatch.setattr(page, "_LOOK", 0.02)
    app.session_state["calib.selection"] = Selection(source=WINE, calibrators=ticked)
    app.run()
    assert not app.exception
    assert said[0].startswith("Fitting Matrix scaling: 0 s")
    # The bar is as long as the sentence states.
    assert bars
    assert bars == [int(percent) / 100 for text in said for percent in re.findall(r"(\d+) % done", text)]
    # When it is done nothing of that is left, and the model is among those shown.
    assert not app.button
    assert app.text[0].value == "Original model, Temperature scaling, Matrix scaling"


def stopping_page() -> None:
    import streamlit as st

    from calib_core import Recipe
    from dashboard import widgets
    from dashboard.frame import fitting
    from dashboard.selection import Selection, Source
    from dashboard.session import Model

    if "ticked" not in st.session_state:
        st.session_state.ticked = tuple(Recipe("CALIBRATORS", key) for key in ("temperature", "matrix"))
        widgets.choose(Selection(source=Source(data="demo:wine-logistic"), calibrators=st.session_state.ticked))
    model = Model(widgets.selection().source, st.session_state.ticked[1])
    st.button("Stop", key="stop", on_click=fitting._stop, args=(model,))
    fitting.await_models(widgets.selection())
    st.text(" ".join(recipe.key for recipe in widgets.selection().calibrators))


def test_a_stop_takes_the_chip_away_says_so_once_and_leaves_the_others() -> None:
    app = AppTest.from_function(stopping_page).run()
    assert app.text[0].value == "temperature matrix"
    app.button(key="stop").click().run()
    assert app.text[0].value == "temperature"
    (caption,) = app.caption
    assert caption.value.replace("\\", "") == "Stopped; no result of Matrix scaling was saved."
    app.run()
    assert not app.caption
