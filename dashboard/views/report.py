"""Report room: the first page at once, the whole report as soon as it is ready, and its export."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TypeAlias
from urllib.parse import quote

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib_core import InputError
from calib_core.fonts import WIDTHS
from dashboard import session, widgets
from dashboard.exhibits import EXHIBITS
from dashboard.navigation import view
from dashboard.report import Options, Progress, Report, Request, chapters, chromium, steps, wanted
from dashboard.selection import COLUMNS, STYLES, Selection
from dashboard.session.call import work_on
from dashboard.theme import markdown_plain
from dashboard.workers.durations import COSTS, Work, about_seconds

Choices: TypeAlias = tuple[Selection, Options]
_JOB, _MADE, _FIRST, _STOPPED = (f"calib.report.{name}" for name in ("job", "made", "first", "stopped"))
_TALL = 1040
"""Height of the preview in pixels: about one page."""
_LONGEST = 2_000_000
"""Maximum length of an address that browsers open."""
_SAFE = " !\"$&'()*+,/:;<=>?@[\\]^`{|}~"
"""Characters that need no escape in an address; each escape makes it longer."""


@dataclass(eq=False)
class Job:
    """Report in progress: its choices and its generator."""

    choices: Choices
    steps: Generator[Progress, None, Report]


@view("report", "Report", 70, room="report")
def render() -> None:
    """Draw the view for the current choices: the page at the left, its options at the right."""
    selection = widgets.selection()
    # The width is of the figures' files, not of the report.
    choices = (selection.replace(column=COLUMNS[0]), _told(selection))
    paper, side = st.columns((9, 4), gap="medium")
    with side:
        _options(selection)
        with st.expander("The command that writes this report"):
            st.code(session.report_line(selection), language="sh", wrap_lines=True)
    with paper:
        report = _kept_for(_MADE, choices)
        job = None
        if report is not None:
            _take_home(selection, report)
        else:
            job, bar = _at_work(choices)
        first = _first_page(choices)
        if first is not None:
            _preview(first)
        if job is not None:
            _go_on(job, bar)


def _told(selection: Selection) -> Options:
    style = selection.style if Request(selection, Options()).of_event else STYLES[0]
    return Options(selection.title, selection.author, selection.left_out, added=selection.added, style=style)


_STYLES = {"review": "For reviewers", "validation": "External validation (TRIPOD+AI)"}


def _options(selection: Selection) -> None:
    """Draw style, title, author, sections; slow estimators; the width of files of figures."""
    of_event = Request(selection, Options()).of_event
    if of_event:
        st.segmented_control(
            "Style",
            STYLES,
            format_func=_STYLES.__getitem__,
            required=True,
            wrap=True,
            help="For a paper, sections follow the items of TRIPOD+AI. What the file cannot answer is marked as a gap.",
            **widgets.bound("style"),
        )
    st.text_input("Title", placeholder="Calibration of …", **widgets.bound("title"))
    st.text_input("Subtitle", placeholder="author, purpose", **widgets.bound("author"))
    titles, refused = _sections(selection)
    keys = list(titles)
    options = _told(selection)
    ticked = [chapter.key for chapter in wanted(options, of_event=of_event) if chapter.key in keys]
    on_request = {chapter.key for chapter in chapters(options.style) if chapter.only_asked(of_event)}

    def tick(chosen: list[str]) -> None:
        unseen = tuple(key for key in selection.left_out if key not in keys)
        less = (key for key in keys if key not in chosen and key not in on_request)
        other = (key for key in selection.added if key not in keys)
        widgets.change(left_out=(*unseen, *less), added=(*other, *(key for key in chosen if key in on_request)))

    st.pills(
        "Sections",
        keys,
        selection_mode="multi",
        format_func=titles.__getitem__,
        wrap=True,
        **widgets.tied("report.sections", ticked, tick),
    )
    for why in refused:
        st.caption(markdown_plain(why))
    estimators = selection.exhibit("estimators")

    def slow(on: bool) -> None:
        widgets.change_exhibit(EXHIBITS.described("estimators", **{**dict(estimators.params), "slow": on}))

    st.toggle(
        "Include slow intervals",
        help="For kernel, smooth, convex and sweep estimators, with noise floors. Takes minutes for thousands of rows.",
        **widgets.tied("report.slow", bool(dict(estimators.params).get("slow")), slow),
    )
    if chromium.found():
        st.segmented_control(
            "Width of the figures' files",
            COLUMNS,
            format_func=lambda name: f"{name}, {WIDTHS[name].inches:g} in",
            help="One or two columns of a journal. Each file takes a second or two to write.",
            **widgets.bound("column"),
        )


def _sections(selection: Selection) -> tuple[dict[str, str], list[str]]:
    """Return titles of the available sections, by key, and a sentence for each missing one that readers expect."""
    request = Request(selection, _told(selection))
    every = chapters(request.options.style)
    if not request.models.shown:
        return {chapter.key: chapter.title for chapter in every}, []
    why = {chapter.key: chapter.why_not(request) for chapter in every}
    missed = [chapter for chapter in every if why[chapter.key] and not chapter.rare]
    refused = [f"No section “{chapter.title}”: {why[chapter.key]}." for chapter in missed]
    return {chapter.key: chapter.title_of(request) for chapter in every if not why[chapter.key]}, refused


def _kept_for(name: str, choices: Choices) -> Report | None:
    """Return the report stored under this name for exactly these choices, if there is one."""
    for_choices, report = st.session_state.get(name, (None, None))
    return report if for_choices == choices else None


def _first_page(choices: Choices) -> Report | None:
    """Return only the report's first section: it mostly needs what the overview has already shown."""
    selection, options = choices
    first = next((chapter.key for chapter in wanted(options)), "")
    bar = st.empty()
    if _kept_for(_FIRST, choices) is None:
        alone = replace(
            options,
            left_out=tuple(chapter.key for chapter in chapters(options.style) if chapter.key != first),
            added=(first,),
        )
        try:
            st.session_state[_FIRST] = choices, _made(steps(selection, alone), bar, "the first page")
        except InputError:
            return None  # building the whole report gives the reason
        finally:
            bar.empty()
    return _kept_for(_FIRST, choices)


def _preview(report: Report) -> None:
    """Draw the report's own page, in a frame without an origin: nothing in it can reach the dashboard around it."""
    address = f"data:text/html;charset=utf-8,{quote(report.html, safe=_SAFE)}"
    if len(address) <= _LONGEST:
        with st.container(border=True):
            st.iframe(address, height=_TALL, alt="The first page of the report")


def _at_work(choices: Choices) -> tuple[Job | None, DeltaGenerator]:
    """Return the report in progress, and the place that shows its progress.

    It starts automatically if it takes seconds. Any click reruns the page: the steps are stored and continue where they
    were.
    """
    job: Job | None = st.session_state.get(_JOB)
    if job is not None and job.choices != choices:
        _stop()
        job = None
    large = _large(choices)
    if job is None and not large and st.session_state.get(_STOPPED) != choices:
        _start(choices)
        job = st.session_state[_JOB]
    with st.container(horizontal=True, vertical_alignment="center"):
        if job is None:
            st.button("Write the report", type="primary", on_click=_start, args=(choices,), key="report.make")
        else:
            st.button("Stop", on_click=_stop, args=(choices,), key="report.cancel")
        bar = st.empty()
    if large and job is None:
        work = _work(choices)
        about = about_seconds(work and COSTS.seconds(work)) or "minutes"
        st.caption(f"With this many rows and classes it takes {about}; it can be stopped.")
    return job, bar


def _large(choices: Choices) -> bool:
    request = Request(*choices)
    return bool(request.models.shown) and request.large


def _work(choices: Choices) -> Work | None:
    """Return a report as work: of this many models, with rows like the first's; None if it cannot be computed."""
    shown = Request(*choices).models.shown
    return work_on(session.RESULTS.get(shown[0].predictions), f"report of {len(shown)}") if shown else None


def _go_on(job: Job, bar: DeltaGenerator) -> None:
    """Build the remaining steps, then draw the page with the report."""
    try:
        _made(job.steps, bar, "the report")
    except InputError as why:
        _stop(job.choices)
        bar.error(markdown_plain(why), icon=":material/error:")
        return
    st.rerun()


def _made(making: Generator[Progress, None, Report], bar: DeltaGenerator, what: str) -> Report | None:
    """Run the remaining steps of a report, each announced as it begins; None if the report is already finished."""
    while True:
        try:
            step = next(making)
        except StopIteration as end:
            report: Report | None = end.value
            return report
        bar.progress(step.share, text=f"Writing {what}: {markdown_plain(step.what)}")


def _start(choices: Choices) -> None:
    st.session_state.pop(_STOPPED, None)
    st.session_state[_JOB] = Job(choices, _kept(choices))


def _kept(choices: Choices) -> Generator[Progress, None, Report]:
    """Yield the steps of a report, and store the report when it is finished."""
    with COSTS.learning(_work(choices)):
        report = yield from steps(*choices)
    st.session_state[_MADE] = (choices, report)
    st.session_state.pop(_JOB, None)
    return report


def _stop(choices: Choices | None = None) -> None:
    """Drop the report in progress; for these choices it does not start automatically again."""
    st.session_state.pop(_JOB, None)
    st.session_state[_STOPPED] = choices


def _take_home(selection: Selection, report: Report) -> None:
    """Draw downloads of a finished report; pictures and PDF are produced on request."""
    document = report.document
    with st.container(horizontal=True, vertical_alignment="center"):
        widgets.download("Download the report", f"{report.stem}.html", lambda: report.html, primary=True)
        if chromium.found():
            widgets.download("PDF", f"{report.stem}.pdf", lambda: chromium.pdf(report.html))
        if find_spec("docx"):
            widgets.download("Word", f"{report.stem}.docx", report.word)
        widgets.download("LaTeX", f"{report.stem}.tex", report.latex)
        widgets.download("Tables (CSV and LaTeX)", f"{report.stem}-tables.zip", report.table_files)
        if chromium.found():
            width = selection.column
            name = f"{report.stem}-figures-{width}.zip"
            widgets.download("Figures (SVG, PDF, PNG)", name, lambda: chromium.pictures(document, width))
    st.caption(
        f"One HTML file of {len(report.html) / 1e6:.1f} MB: {len(document.sections)} sections, "
        f"{len(document.tables)} tables, {len(document.figures)} figures. It opens in any browser without a "
        "network and prints on A4."
    )
    if not chromium.found():
        st.caption(markdown_plain(chromium.MISSING))
