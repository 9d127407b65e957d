"""One file looked at: what was found in it, what stands in the way of using it, how it is read, its first rows."""

from __future__ import annotations

import streamlit as st

from calib_core import InputError
from calib_core._text import count
from calib_core.readers import Finding
from dashboard import session
from dashboard.theme import markdown_plain
from dashboard.views import data_findings
from dashboard.views.data_trial import Role, Trial, amend, attempt, drop, found, in_use, trial


def findings(role: Role) -> None:
    """Draw the findings of what is looked at, and what stands in the way when it is on trial."""
    held = trial(role)
    if held is None:
        _shown(role, *in_use(role))
        return
    _status(role, held)
    if held.reading is not None:
        _shown(role, held.key, held.changed)
    _ways_out(role, held)


def first_rows(key: str) -> None:
    """Draw the first rows of a file's table."""
    table = session.file(key).table
    head = table.head()
    st.caption(f"{count(len(head))} of {count(table.n_rows)} rows, as they stand in {markdown_plain(table.name)}.")
    # Numbers of columns, so that a column called like another thing of the frame stays a column.
    st.dataframe(head, hide_index=True, height=36 + 35 * max(len(head), 1), alt="First rows of the file")


def _shown(role: Role, key: str, changed: str) -> None:
    def change(finding: Finding) -> None:
        amend(role, **dict(finding.change or {}))

    data_findings.show(found(role, key, changed), key=f"data.found.{role}", change=change)


def _status(role: Role, held: Trial) -> None:
    """What is on trial, why it is, and what is in use meanwhile."""
    key, _ = in_use(role)
    name = markdown_plain(session.file(held.key).title)
    what = f"This reading of **{name}** is" if held.key == key else f"**{name}** is"
    meanwhile = "The reading of before stays in use." if held.key == key else f"In use: {_title(key)}."
    st.markdown(f"{what} not in use yet. {meanwhile}")
    if held.said and not _problem_found(role, held):
        data_findings.sentence(held.said)


def _problem_found(role: Role, held: Trial) -> bool:
    """Whether the findings say what is wrong, so that it need not be said twice."""
    if held.reading is None:
        return False
    return any(finding.severity == "problem" for finding in found(role, held.key, held.changed))


def _ways_out(role: Role, held: Trial) -> None:
    with st.container(horizontal=True, gap="small"):
        if not held.said:
            st.button(
                "Use it as it is",
                key=f"data.accept.{role}",
                on_click=lambda: attempt(role, held.key, held.chosen, accepted=True),
            )
        same = held.key == in_use(role)[0]
        label = "Keep the reading in use" if same else "Put it away"
        st.button(label, key=f"data.drop.{role}", on_click=drop, args=(role,))


def _title(key: str) -> str:
    try:
        return markdown_plain(session.file(key).title) if key else "no file"
    except InputError:
        return "no file"
