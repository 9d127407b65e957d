"""The report view: what a report holds, making it step by step, and taking it home."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import streamlit as st

from calib_core import InputError
from dashboard import session, widgets
from dashboard.exhibits import EXHIBITS
from dashboard.navigation import view
from dashboard.report import CHAPTERS, Options, Progress, Report, Request, chromium, steps
from dashboard.report.picture import WIDTHS
from dashboard.selection import COLUMNS, Selection
from dashboard.theme import markdown_plain

_JOB, _MADE = "calib.report.job", "calib.report.made"


@dataclass(eq=False)
class Job:
    """A report being made: for which choices, and what makes it."""

    choices: tuple[Selection, Options]
    steps: Generator[Progress, None, Report]


@view("report", "Report", 70)
def render() -> None:
    """Draw the view for the present choices."""
    selection = widgets.selection()
    st.markdown("#### A report for reviewers")
    st.caption(
        "One HTML file with the data card, the verdict, every diagram and table of the choices on the left, the "
        "methods with their references, and what is needed to get the same numbers again. It needs no network and no "
        "program but a browser, and prints well."
    )
    _options(selection)
    # The width is of the figures' files, not of the report.
    choices = (selection.replace(column=COLUMNS[0]), Options(selection.title, selection.author, selection.left_out))
    report = _held(choices)
    with st.expander("The command that makes this report"):
        st.code(session.report_line(selection), language="sh", wrap_lines=True)
    if report is not None:
        _take_home(selection, report)
    else:
        _make(choices)


def _options(selection: Selection) -> None:
    """Title, author, sections; slow estimators."""
    left, right = st.columns(2, gap="medium")
    left.text_input("Title", placeholder="Calibration of …", **widgets.bound("title"))
    right.text_input("Line below the title", placeholder="who made it, for what", **widgets.bound("author"))
    titles, refused = _sections(selection)
    keys = list(titles)
    ticked = [key for key in keys if key not in selection.left_out]

    def tick(chosen: list[str]) -> None:
        unseen = tuple(key for key in selection.left_out if key not in keys)
        widgets.change(left_out=(*unseen, *(key for key in keys if key not in chosen)))

    st.pills(
        "Sections",
        keys,
        selection_mode="multi",
        format_func=titles.__getitem__,
        **widgets.tied("report.sections", ticked, tick),
    )
    for why in refused:
        st.caption(markdown_plain(why))
    estimators = selection.exhibit("estimators")

    def slow(on: bool) -> None:
        widgets.change_exhibit(EXHIBITS.described("estimators", **{**dict(estimators.params), "slow": on}))

    st.toggle(
        "Intervals and noise floors of slow estimators too",
        help="Kernel, smooth, convex and sweep estimators: minutes for thousands of rows.",
        **widgets.tied("report.slow", bool(dict(estimators.params).get("slow")), slow),
    )


def _sections(selection: Selection) -> tuple[dict[str, str], list[str]]:
    """Titles of the sections that can be made, by key, and a sentence for each that cannot."""
    request = Request(selection, Options())
    if not request.models.shown:
        return {chapter.key: chapter.title for chapter in CHAPTERS}, []
    why = {chapter.key: chapter.why_not(request) for chapter in CHAPTERS}
    refused = [f"No section “{chapter.title}”: {why[chapter.key]}." for chapter in CHAPTERS if why[chapter.key]]
    return {chapter.key: chapter.title for chapter in CHAPTERS if not why[chapter.key]}, refused


def _held(choices: tuple[Selection, Options]) -> Report | None:
    """The report made for these very choices, if there is one."""
    for_choices, report = st.session_state.get(_MADE, (None, None))
    return report if for_choices == choices else None


def _make(choices: tuple[Selection, Options]) -> None:
    """The button that starts, then the bar with the one that stops.

    Any click runs the page again: the steps are kept, and go on from where they were.
    """
    job: Job | None = st.session_state.get(_JOB)
    if job is not None and job.choices != choices:
        _stop()
        job = None
    with st.container(horizontal=True):
        going = job is not None
        st.button(
            "Make the report", type="primary", on_click=_start, args=(choices,), key="report.make", disabled=going
        )
        if going:
            st.button("Cancel", on_click=_stop, key="report.cancel")
    if job is None:
        return
    bar = st.progress(0.0, text="Models")
    try:
        for step in job.steps:
            bar.progress(step.share, text=markdown_plain(step.what))
        st.rerun()
    except InputError as why:
        _stop()
        st.error(markdown_plain(why), icon=":material/error:")


def _start(choices: tuple[Selection, Options]) -> None:
    st.session_state[_JOB] = Job(choices, _kept(choices))


def _kept(choices: tuple[Selection, Options]) -> Generator[Progress, None, Report]:
    """The steps of a report, which is kept when it is there."""
    report = yield from steps(*choices)
    st.session_state[_MADE] = (choices, report)
    st.session_state.pop(_JOB, None)
    return report


def _stop() -> None:
    st.session_state.pop(_JOB, None)


def _take_home(selection: Selection, report: Report) -> None:
    """Downloads of a made report; pictures and PDF are made when they are asked for."""
    document = report.document
    st.success(
        f"{len(document.sections)} sections, {len(document.tables)} tables, {len(document.figures)} figures, "
        f"{len(report.html) / 1e6:.1f} MB.",
        icon=":material/check:",
    )
    with st.container(horizontal=True):
        widgets.download("HTML", f"{report.stem}.html", lambda: report.html)
        widgets.download("Tables (CSV and LaTeX)", f"{report.stem}-tables.zip", report.table_files)
        if chromium.found():
            widgets.download("PDF", f"{report.stem}.pdf", lambda: chromium.pdf(report.html))
            width = WIDTHS[selection.column]
            name = f"{report.stem}-figures-{width.name}.zip"
            widgets.download("Figures (SVG, PDF, PNG)", name, lambda: chromium.pictures(document, width))
    if not chromium.found():
        st.caption(markdown_plain(chromium.MISSING))
        return
    st.segmented_control(
        "Width of the figures",
        COLUMNS,
        format_func=lambda name: f"{name} column, {WIDTHS[name].inches:g} in",
        help="PDF and figures are made when they are asked for, and take a second or two each.",
        **widgets.bound("column"),
    )
