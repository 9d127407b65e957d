"""First lines of every page: the current data, the five rooms, the views of the room.

Also the visibility of the current data, shown and changed next to the link that opens them.
"""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

from calib_core import InputError
from calib_core.columns.conditions import Slice
from calib_core.text import count
from dashboard import session, widgets
from dashboard.frame import event
from dashboard.navigation import DATA, LEARN, ROOMS, VIEWS, views_of
from dashboard.selection import Selection
from dashboard.session.server_limits import terms
from dashboard.session.visitors import user_name
from dashboard.theme import markdown_plain

_HERE = "Your rows stay on the computer this runs on."
_PRIVATE = "Nobody else sees your rows until you share them. They stay in this server's memory."
_SHARED = "Anybody who can reach this server and has this link sees your rows, labels, names and all results."


def promise() -> str:
    """Return one or two sentences on where opened rows are stored."""
    name = user_name()
    known = f" You are {markdown_plain(name)}." if name else ""
    return f"{_PRIVATE}{known}" if terms().private else _HERE


def sharing(selection: Selection) -> None:
    """Show who can see the data behind a link, and let an owner share it."""
    if not terms().private:
        st.caption("Opens this view on this computer, as long as the file is loaded.")
        return
    source = selection.source
    used = dict.fromkeys(key for key in (source.data, source.test, *selection.files) if key)
    uploads = [key for key in used if not key.startswith("demo:")]
    own = [key for key in uploads if key in session.own_keys()]
    if not uploads:
        st.caption("Opens this view for everybody: it uses example data.")
    elif not own:
        st.caption(
            "Another person shared these data with you. Anyone with the link sees them as long as they are shared."
        )
    else:
        files = "this file" if len(own) == 1 else f"these {count(len(own))} files"
        shared = all(map(session.is_shared, own))

        def chosen() -> None:
            for key in own:
                session.share(key, not shared)

        st.toggle(f"Share {files}", value=shared, key=f"frame.share.{shared}", on_change=chosen)
        st.caption(f"{_SHARED} Turn this off to make them private again." if shared else "Only you can open it now.")


_LAST = "calib.frame.last"
"""Last view shown of each room, restored when the user returns."""


def header(selection: Selection) -> None:
    """Draw the frame's first lines; without data only the page title."""
    view = VIEWS[selection.view]
    st.session_state.setdefault(_LAST, {})[view.room] = view.key
    with st.container(
        key="frame-top", horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", gap="small"
    ):
        if view.key == "start":
            st.markdown("**:material/target: Calibration**")
            st.caption(f":material/lock: {promise()}")
            _learn()
            return
        with st.container(key="frame-file", width="content", horizontal=True, gap="small"):
            label, note = _data_in_use(selection)
            st.button(label, help=note, on_click=lambda: widgets.change(view=DATA), key="frame.data")
            _event(selection)
            _kept_rows(selection)
            _slice(selection)
        _rooms(view.room)
        with st.container(horizontal=True, width="content", gap="small"):
            _learn()
            _link(selection)
            present = {"present": not selection.present}
            st.button(
                "Exit presentation" if selection.present else "Present",
                on_click=lambda: widgets.change(**present),
                help="Show the chart large, for an audience.",
                key="frame.present",
            )


def tabs(selection: Selection) -> None:
    """Draw the views of the room as tabs, if it has several."""
    every = views_of(VIEWS[selection.view].room)
    if len(every) < 2:
        return
    # For a summary, a view that needs rows shows that instead, with a button for sampled rows.
    counted = session.is_summary(selection.source)
    unseen = {v.key for v in every if counted and v.reads == "rows" and not v.rare}
    why = {v.key: v.missing() if v.missing and v.key not in unseen else "" for v in every}
    keys = [each.key for each in every if not why[each.key] or each.key == selection.view]
    st.segmented_control(
        "View",
        keys,
        format_func=lambda key: f"{VIEWS[key].title}{' (needs rows)' * (counted and VIEWS[key].reads == 'rows')}",
        label_visibility="collapsed",
        **widgets.tied_to(keys, "choice.view", selection.view, lambda key: widgets.change(view=key)),
    )
    absent = [each for each in every if each.key not in keys and not each.rare]
    if absent:  # in one line: more would push the next elements down
        reasons = "\n\n".join(f"{each.title}: {markdown_plain(why[each.key])}." for each in absent)
        words = f"{len(absent)} view{'s' if len(absent) > 1 else ''} not available"
        with st.container(key="frame-absent", width="content"):
            st.caption(words, help=reasons, width="content")


def _rooms(room: str) -> None:
    def enter(chosen: str | None) -> None:
        if chosen in ROOMS:
            first = views_of(chosen)[0].key
            widgets.change(view=st.session_state.get(_LAST, {}).get(chosen, first))

    st.segmented_control(
        "Room",
        tuple(ROOMS),
        format_func=ROOMS.__getitem__,
        label_visibility="collapsed",
        width="content",
        **widgets.tied("frame.room", room if room in ROOMS else None, enter),
    )


def _data_in_use(selection: Selection) -> tuple[str, str | None]:
    """Return the label of the data button (name, number of evaluated rows), and a note on these rows."""
    try:
        names = session.file_names(selection)
        parts = session.parts(selection.source)
    except InputError:
        return ":material/database: **No data** · choose a file", None
    title = " and ".join(names[:1] if len(names) == 1 else session.short_names(selection))
    classes = f"{count(parts.test.n_classes)} classes · " if parts.test.n_classes else ""
    if event.named(selection) is not None:  # the event is next to it, and leaves no room for more words
        folds = ", cross-fitted" if parts.note and not selection.source.within else ""  # a slice takes the room
        rows = f"{count(parts.test.n_rows)} rows{folds}"
        return f":material/database: **{markdown_plain(title)}** · {rows}{_warnings(selection)}", parts.note or None
    rows = f"judged on {count(parts.test.n_rows)} rows{', cross-fitted' if parts.note else ''}"
    label = f":material/database: **{markdown_plain(title)}** · {classes}{rows}{_warnings(selection)}"
    return label, parts.note or None


def _event(selection: Selection) -> None:
    """Draw the event of two classes, on a button that opens the choice between them."""
    found = event.named(selection)
    if found is None:
        return
    with widgets.popover(st, f"event: **{markdown_plain(found.title)}**", key="frame.event"):
        st.radio(
            "The event, whose predicted risk is judged",
            found.classes,
            format_func=lambda name: markdown_plain(found.titled(name)),
            **widgets.tied_to(
                found.classes,
                "choice.event",
                found.name,
                lambda name: widgets.change(**event.of_another(selection, name)),
            ),
        )


def _slice(selection: Selection) -> None:
    """Draw the selected slice of the test rows, on a button that clears it."""
    if selection.source.within:
        st.button(
            markdown_plain(Slice.read(selection.source.within).title),
            icon=":material/close:",
            icon_position="right",
            help="All numbers are for these rows only; calibrators are also fitted on rows outside the slice. "
            "Click to return to all rows.",
            on_click=lambda: widgets.change(within="", bin=None, between=None, cell=None),
            key="frame.slice",
        )


def _kept_rows(selection: Selection) -> None:
    """Draw a note that only rows sampled in a summary are shown, on a button that returns to its counts."""
    try:
        how = session.reading(selection.source.data, selection.source.reading)
    except InputError:
        return
    if how.layout == "kept-rows":
        st.button(
            "Rows sampled in the summary",
            icon=":material/close:",
            icon_position="right",
            help="All numbers are for the rows sampled in the summary. Click to return to the counts of all rows.",
            on_click=lambda: widgets.choose(session.of_kept_rows(widgets.selection(), kept=False)),
            key="frame.kept",
        )


def _warnings(selection: Selection) -> str:
    """Return the number of warnings about how the file was read, if any; a click opens them."""
    number = sum(f.severity == "warning" for f in session.findings(selection.source.data, selection.source.reading))
    return f" · :material/warning: {number} warning{'s' if number > 1 else ''}" if number else ""


def _learn() -> None:
    st.button(
        "Learn",
        type="tertiary",
        icon=":material/school:",
        help="A tour of eight stops with example data, and the glossary of all terms.",
        on_click=lambda: widgets.change(view=views_of(LEARN)[0].key),
        key="frame.learn",
    )


def _link(selection: Selection) -> None:
    with st.popover("Copy link", key="frame.link"):
        sharing(selection)
        base = (st.context.url or "").split("?")[0]
        query = widgets.link_query(selection)
        st.code(base + (f"?{urlencode(query)}" if query else ""), language=None, wrap_lines=True)
