"""Inspection of one file: its findings, obstacles to using it, how it is read, its first rows."""

from __future__ import annotations

import streamlit as st

from calib_core import InputError
from calib_core.readers import Finding
from calib_core.readers.messages import shown
from calib_core.readers.proposal.class_columns import outcome_columns
from calib_core.text import count
from dashboard import session, widgets
from dashboard.theme import markdown_plain
from dashboard.views import data_findings
from dashboard.views.data_trial import Role, Trial, amend, attempt, drop, found, in_use, trial

_MOST_OUTCOMES = 4


def findings(role: Role) -> None:
    """Draw the findings about the inspected file, and the obstacles if it is on trial."""
    candidate = trial(role)
    if candidate is None:
        _shown(role, *in_use(role))
        return
    _status(role, candidate)
    if candidate.reading is not None:
        _shown(role, candidate.key, candidate.changed)
    _outcomes_offered(role, candidate)
    _ways_out(role, candidate)


def first_rows(key: str) -> None:
    """Draw the first rows of a file's table."""
    table = session.file(key).table
    head = table.head()
    st.caption(f"{count(len(head))} of {count(table.n_rows)} rows, as in {markdown_plain(table.name)}.")
    # Numbers of columns, so that a column named like an attribute of the frame stays a column.
    st.dataframe(head, hide_index=True, height=36 + 35 * max(len(head), 1), alt="First rows of the file")


def _shown(role: Role, key: str, changed: str) -> None:
    def change(finding: Finding) -> None:
        amend(role, **dict(finding.change or {}))

    def accept(finding: Finding) -> None:
        known = session.reading(key, changed).accepted
        amend(role, accepted=(*known, finding.code))

    data_findings.show(found(role, key, changed), key=f"data.found.{role}", change=change, accept=accept)
    data_findings.all_checks(session.checks(key, changed), key=f"data.checks.{role}")


def _status(role: Role, candidate: Trial) -> None:
    """Draw the file on trial, the reason for that, and the data used meanwhile."""
    key, _ = in_use(role)
    name = markdown_plain(session.file(candidate.key).title)
    what = f"This reading of **{name}** is" if candidate.key == key else f"**{name}** is"
    meanwhile = " The earlier reading stays in use." if candidate.key == key else f" In use: {_title(key)}."
    if not key or widgets.selection().view == "start":
        meanwhile = ""  # nothing is in use, or the preloaded demo, which the user does not know of
    st.markdown(f"{what} not in use yet.{meanwhile}")
    if candidate.reason and not _problem_found(role, candidate):
        data_findings.sentence(candidate.reason)


def _problem_found(role: Role, candidate: Trial) -> bool:
    """Return True if the findings already describe the problem."""
    if candidate.reading is None:
        return False
    return any(finding.severity == "problem" for finding in found(role, candidate.key, candidate.changed))


def _outcomes_offered(role: Role, candidate: Trial) -> None:
    """Draw one button per two-valued column that may be the outcome, if no column is named as the labels."""
    if candidate.reading is not None or "label" in candidate.chosen:
        return
    names = outcome_columns(session.file(candidate.key).table)[:_MOST_OUTCOMES]
    with st.container(horizontal=True, gap="small"):
        for i, name in enumerate(names):
            label = f"Use “{markdown_plain(shown(name))}” as the outcome"
            st.button(label, key=f"data.outcome.{role}.{i}", on_click=amend, args=(role,), kwargs={"label": (name,)})


def _ways_out(role: Role, candidate: Trial) -> None:
    with st.container(horizontal=True, gap="small"):
        if not candidate.reason:
            st.button(
                "Use this reading",
                key=f"data.accept.{role}",
                on_click=lambda: attempt(role, candidate.key, candidate.chosen, accepted=True),
            )
        same = candidate.key == in_use(role)[0]
        label = "Keep the reading in use" if same else "Remove file"
        st.button(label, key=f"data.drop.{role}", on_click=drop, args=(role,))


def _title(key: str) -> str:
    try:
        return markdown_plain(session.file(key).title) if key else "no file"
    except InputError:
        return "no file"
