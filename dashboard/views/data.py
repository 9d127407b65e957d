"""Data view: choose a file, check the findings about it, and set how it is read and how its rows are divided.

Labels in another file: joined with the scores on trial into one file, which is then read like any other.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import streamlit as st

from calib_core import InputError
from calib_core.readers.limits import FILE_BYTES
from calib_core.readers.messages import size
from dashboard import launch, session, uploads, widgets
from dashboard.navigation import view
from dashboard.selection import NONE
from dashboard.theme import markdown_plain
from dashboard.views import data_card, data_choice, data_findings, data_inspect, data_reading, data_rows
from dashboard.views.data_choice import take
from dashboard.views.data_trial import Role, destination, in_use, keep_wish, sentence, trial
from dashboard.views.exhibited import exhibited

_WIDGET = "data.labels"


def labels_of(key: str) -> None:
    """Draw the uploader for the file of labels; both together become a file named after them."""
    with st.expander("The labels are in another file", icon=":material/link:", key="data.labels.box"):
        in_order = st.checkbox(
            "Both files have the same rows in the same order, and no key column",
            key="data.labels.in_order",
            help="Otherwise rows are joined by a key column present in both files, such as id.",
        )
        file = uploads.uploader("Drop the labels file here", key=_WIDGET, types=uploads.endings())
    if file is None:
        return

    with st.spinner("Joining the files"):
        take("data", lambda: session.join(key, file.getvalue(), file.name, () if in_order else None))
    uploads.forget(file, key=_WIDGET)
    st.rerun()  # the page was drawn for the previous data


_OPENED = "calib.data.opened"


@view("data", "Data", 10, room="data", needs_data=False)
def render() -> None:
    """Draw the view for the current choices."""
    left, right = st.columns([2, 3], gap="large")
    with left:
        data_choice.draw()
    with right:
        candidate = trial("data")
        if candidate is not None and candidate.key != in_use("data")[0]:
            _on_trial(candidate.key)
        else:
            _in_use()


def open_launched() -> None:
    """Read the files named on the command line, once per session, and use them if the link names no data.

    They open in the view that the link names, otherwise in the overview.
    """
    paths = launch.launched_files()
    # The arguments of another program (a test runner) are not for us.
    if not paths or st.session_state.get(_OPENED) or Path(sys.argv[0]).name != launch.APP.name:
        return
    st.session_state[_OPENED] = True
    linked = "data" in st.query_params
    if linked and session.is_here(in_use("data")[0]):
        return
    if not linked and "view" in st.query_params:
        wanted = widgets.selection().view
        keep_wish("" if wanted == "start" else wanted)
    for i, path in enumerate(paths):
        role: Role = "more" if i else "data"
        data_choice.take(role, partial(_named, path), use=not linked)
        if not linked and (trial(role) or sentence(role)):
            # Show the first that needs a decision: the next would replace it.
            data_choice.to_settle(not i)
            return
    if not linked:
        widgets.change(view=destination())


def _named(path: Path) -> session.File:
    if str(path) in data_choice.demo_keys():
        return session.file(str(path))
    return session.hold_folder(path) if path.is_dir() else session.hold(_bytes(path), path.name)


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > FILE_BYTES:
            raise InputError(f"{path.name} has {size(path.stat().st_size)}; at most {size(FILE_BYTES)} are read.")
        return path.read_bytes()
    except OSError as why:
        raise InputError(f"{path.name} cannot be opened ({why.strerror or 'unknown reason'}): check the path.") from why


def _on_trial(key: str) -> None:
    """Draw a file that is not loaded yet."""
    _title(session.file(key).title)
    with st.container():
        data_inspect.findings("data")
        candidate = trial("data")
        if candidate is not None and candidate.reading is None:
            labels_of(key)
    reading, rows = st.tabs(["How it is read", "First rows"], key="data.tabs.trial")
    with reading:
        data_reading.draw("data")
    with rows:
        data_inspect.first_rows(key)


def _in_use() -> None:
    """Draw the current file: its findings, its card, its rows, how it is read."""
    key, changed = in_use("data")
    try:
        session.file(key)
        _title(session.title_read(key, changed))
    except InputError as why:
        if key == NONE:  # not an error: the outcome for a file is shown where it was dropped
            st.caption(markdown_plain(why))
        else:
            data_findings.sentence(str(why))
        return
    # One container, so that the tabs below stay in their positions, and the open tab stays open.
    with st.container():
        data_rows.line()
        readable = _found(key, changed)
    card, divided, models, reading, first = st.tabs(
        ["Summary", "Calibration and test rows", "Other models", "How it is read", "First rows"], key="data.tabs"
    )
    if readable:
        with card:
            data_card.draw(key, changed)
            exhibited("file", session.scene_of(widgets.selection().replace(calibrators=())), title=None, folded=True)
        with divided:
            data_rows.draw()
        with models:
            data_choice.other_models()
    with reading:
        data_reading.draw("data")
    with first:
        data_inspect.first_rows(key)


def _found(key: str, changed: str) -> bool:
    """Draw the findings; return True if the file can be read as selected."""
    try:
        session.whole(key, changed)
    except InputError as why:
        # Only a link can contain this: a choice on this page is tried first.
        data_findings.sentence(str(why))
        if trial("data"):
            data_inspect.findings("data")
        return False
    data_inspect.findings("data")
    return True


def _title(title: str) -> None:
    st.markdown(f"##### {markdown_plain(title)}")
