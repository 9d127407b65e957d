"""Findings about a file: problems, warnings and notes with their name and icon, and one click that settles each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import streamlit as st

from calib_core.readers import Checked, Finding
from calib_core.readers.checks.examination import Outcome
from dashboard.glossary.popover import explained
from dashboard.theme import markdown_plain

_WORDS = {"problem": "Problem", "warning": "Warning", "note": "Note"}
_OUTCOMES: dict[Outcome, tuple[str, str]] = {
    "found": ("see the note", ":material/flag:"),
    "passed": ("passed", ":material/check:"),
    "skipped": ("skipped", ":material/skip_next:"),
    "not applicable": ("not applicable", ":material/remove:"),
}
ICONS = {"problem": ":material/error:", "warning": ":material/warning:", "note": ":material/info:"}
_BOXES: dict[str, Callable[..., Any]] = {"problem": st.error, "warning": st.warning}

ACCEPT = "This reading is right"
"""Label of the button that accepts an assumption about the file."""

Change = Callable[[Finding], None]


def show(findings: Iterable[Finding], *, key: str, change: Change, accept: Change | None = None) -> None:
    """Draw findings, problems first, notes collapsed; ``change`` receives the finding whose button is clicked.

    ``accept`` receives a warning that the user accepts; without it, warnings have no button for that.
    """
    groups = grouped(findings)
    notes = [group for group in groups if group[0].severity == "note"]
    for i, group in enumerate(groups):
        if group not in notes:
            _box(group, f"{key}.{i}", change, accept)
    if not groups:
        # No tick: a readable file is no evidence about calibration.
        st.info("The checks of the file found nothing unusual.", icon=ICONS["note"])
    if notes:
        many = f"{len(notes)} notes" if len(notes) > 1 else "1 note"
        with st.expander(many, icon=ICONS["note"], key=f"{key}.notes"):
            for i, group in enumerate(notes):
                st.markdown(f"**Note.** {markdown_plain(group[0].message)}")
                _buttons(group, f"{key}.note.{i}", change)


def sentence(message: str) -> None:
    """Draw one sentence about a failure."""
    st.error(f"**Problem.** {markdown_plain(message)}", icon=ICONS["problem"])


def grouped(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Group adjacent findings that are alternative ways to settle one question, in their order."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        what = finding.code if finding.change is not None else finding.message
        groups.setdefault((finding.severity, what), []).append(finding)
    return list(groups.values())


def _box(group: list[Finding], key: str, change: Change, accept: Change | None) -> None:
    first = group[0]
    message = " ".join(dict.fromkeys(finding.message for finding in group))
    with st.container(gap="xsmall"):
        box = _BOXES.get(first.severity, st.info)
        box(f"**{_WORDS[first.severity]}.** {markdown_plain(message)}", icon=ICONS[first.severity])
        _buttons(group, key, change, accept if first.severity == "warning" else None)


def _buttons(group: list[Finding], key: str, change: Change, accept: Change | None = None) -> None:
    offers = [finding for finding in group if finding.change is not None]
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        for i, finding in enumerate(offers):
            label = markdown_plain(finding.change_label or "Change")
            # A file with a problem is used once it is settled, so its first remedy is the next step.
            settles = finding.severity == "problem" and not i
            look: Literal["primary", "secondary"] = "primary" if settles else "secondary"
            st.button(label, key=f"{key}.{i}", on_click=change, args=(finding,), type=look)
        if accept is not None:
            st.button(
                ACCEPT if offers or group[0].rule.settled_by else "Accept this warning",
                key=f"{key}.accept",
                help="The warning becomes a note, also in the report and in the copied commands.",
                on_click=accept,
                args=(group[0],),
            )
        with st.popover("What to do", type="tertiary", key=f"{key}.rule"):
            _rule(group[0], key)


def _rule(finding: Finding, key: str) -> None:
    """Draw the name of findings with this code, their remedy, and the term that explains them."""
    rule = finding.rule
    st.markdown(f"**{markdown_plain(rule.title)}**  \n{markdown_plain(rule.remedy)}")
    explained(rule.term, place=key.replace(".", "-"))
    st.caption(f"Rule: {rule.code}")


def all_checks(done: Sequence[Checked], *, key: str) -> None:
    """Draw every check, collapsed; passed checks count as much as findings."""
    counts = Counter(each.outcome for each in done)
    head = ", ".join(f"{counts[outcome]} {_OUTCOMES[outcome][0]}" for outcome in _OUTCOMES if counts[outcome])
    with st.expander(f"Checks: {head}", icon=":material/checklist:", key=key):
        st.markdown("  \n".join(_line(each) for each in done))


def _line(each: Checked) -> str:
    word, icon = _OUTCOMES[each.outcome]
    codes = ", ".join(dict.fromkeys(finding.code for finding in each.findings))
    why = each.why or codes
    return f"{icon} {markdown_plain(each.title)}: {word}{markdown_plain(f' ({why})') if why else ''}"
