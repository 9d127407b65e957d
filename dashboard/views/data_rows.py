"""Division of the rows into those that calibrators are fitted on and those that they are evaluated on."""

from __future__ import annotations

import streamlit as st

from calib_core import InputError
from calib_core.evaluation.splitting import FEW, Division
from calib_core.readers import Finding
from calib_core.text import count
from dashboard import session, widgets
from dashboard.selection import MOST_FOLDS, Source
from dashboard.theme import markdown_plain
from dashboard.views import data_findings, data_inspect, data_reading
from dashboard.views.data_choice import another, demo_keys, files_of_session
from dashboard.views.data_trial import SAME_FILE, drop, trial
from dashboard.views.exhibited import exhibited

_WORDS = {"share": "Split at random", "folds": "All rows, cross-fitted", "column": "Split column", "files": "Two files"}
_TWO = "calib.data.two-files"


def draw() -> None:
    """Draw the ways to divide rows, the controls of the current one, and the result."""
    source = widgets.selection().source
    by = _by(source)
    if not by:
        _result(source)
        return
    options = tuple(way for way in _WORDS if way != "column" or _has_column(source))
    st.segmented_control(
        "Calibration rows and test rows",
        options,
        format_func=_WORDS.__getitem__,
        required=True,
        **widgets.tied("data.rows.by", by, divide),
    )
    if by == "share":
        _share()
    elif by == "folds":
        _folds()
    result = st.container()
    if by == "files":
        _second_file()
    with result:
        _result(widgets.selection().source)


def line() -> None:
    """Draw the division of the rows in one line; if they are few, offer to evaluate all."""
    source = widgets.selection().source
    try:
        parts = session.parts(source)
    except InputError:
        # The message with the reason is where the rows are divided.
        return
    st.caption(f"{markdown_plain(sentence(source, parts))}.")
    if session.split_by(source) == "share" and parts.fit.n_rows + parts.test.n_rows <= FEW:
        st.button(
            "Judge all rows",
            help=f"Only {count(parts.test.n_rows)} rows are judged now. Cross-fitting judges all of them.",
            on_click=divide,
            args=("folds",),
            key="data.rows.offer",
        )


def divide(by: str | None) -> None:
    """Divide the rows in another way; a second file is requested before any change."""
    if by is None:
        return
    st.session_state[_TWO] = by == "files"
    if by != "files":
        drop("test")
        widgets.change(by=by, test="", test_reading="", bin=None, cell=None)


def sentence(source: Source, parts: Division) -> str:
    """Return the division of the rows in one line."""
    how = parts.rule
    if parts.undivided:
        return f"All {count(parts.test.n_rows)} rows are judged ({how})"
    by_share = session.split_by(source) == "share"
    if by_share or parts.note:
        how += f"{f', share {source.share:g}' if by_share else ''}, seed {source.seed}"
    fit, test = parts.fit, parts.test
    part = f" with {parts.where}" if parts.where else ""
    if parts.note:
        judged = f"{count(test.n_rows)} of {count(fit.n_rows)}" if part else f"All {count(fit.n_rows)}"
        return f"{judged} rows{part} are judged{test.worth_note} ({how})"
    return f"{count(fit.n_rows)} calibration rows ({how}), {count(test.n_rows)} test rows{test.worth_note}{part}"


def _by(source: Source) -> str:
    if source.test or st.session_state.get(_TWO) or trial("test"):
        return "files"
    return session.split_by(source)


def _has_column(source: Source) -> bool:
    return session.reading(source.data, source.reading).split is not None


def _share() -> None:
    a, b = st.columns([2, 1])
    a.slider("Share of calibration rows", 0.05, 0.95, step=0.05, **widgets.bound("share", bin=None, cell=None))
    b.number_input("Seed", 0, 2**31 - 1, step=1, **widgets.bound("seed", bin=None, cell=None))


def _folds() -> None:
    a, b = st.columns([2, 1])
    a.slider("Folds", 2, MOST_FOLDS, step=1, **widgets.bound("folds", bin=None, cell=None))
    b.number_input("Seed", 0, 2**31 - 1, step=1, **widgets.bound("seed", bin=None, cell=None))


def _result(source: Source) -> None:
    if source.test and source.test == source.data:
        data_findings.show([SAME_FILE], key="data.rows.same", change=lambda _: None)
    try:
        parts = session.parts(source)
    except InputError as why:
        data_findings.sentence(str(why))
        return
    if st.session_state.get(_TWO) and not source.test:
        st.info("Choose or upload the file with the test rows. Until then:", icon=data_findings.ICONS["note"])
    st.markdown(f"{markdown_plain(sentence(source, parts))}.")
    found = session.shared(source)
    if found is not None and found.severity == "warning":
        data_findings.show([found], key="data.rows.shared", change=lambda _: None)
    if parts.warning:
        both = Finding("warning", "groups", parts.warning)
        data_findings.show([both], key="data.rows.groups", change=lambda _: None)
    exhibited("rows", session.scene_of(widgets.selection().replace(calibrators=())), title=None)


def _second_file() -> None:
    """Draw the file of the test rows: chosen or uploaded, checked like the first."""
    value = another("test", "Test rows from", (*files_of_session(), *demo_keys()), "File of the test rows")
    if session.is_here(value):
        with st.expander("How the test file is read", expanded=trial("test") is not None):
            data_reading.draw("test")
            data_inspect.first_rows(value)
