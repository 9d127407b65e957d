"""Choice of data: a file of the user's, an earlier upload of this session, a demo, and other models' files."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from functools import cache

import streamlit as st

from calib_core import InputError
from calib_core.datasets import DEMOS
from calib_core.readers import usual_endings
from calib_core.readers.messages import size
from calib_core.text import count
from dashboard import session, uploads, widgets
from dashboard.hero import TILES, diagram_spark
from dashboard.navigation import DATA
from dashboard.selection import MOST_OTHERS, NONE, Selection
from dashboard.session.server_limits import terms
from dashboard.theme import markdown_plain
from dashboard.views import data_findings, data_inspect
from dashboard.views.data_trial import Role, choose, looked_at, say, sentence, trial

_UPLOADS = "calib.data.uploads"
_STAYS = ("calib.visitor", "calib.data.opened", "calib.uploads")
_SAMPLE = """
| p_cat | p_dog | p_bird | label |
| ---: | ---: | ---: | :--- |
| 0.90 | 0.07 | 0.03 | cat |
| 0.12 | 0.85 | 0.03 | cat |
| 0.04 | 0.01 | 0.95 | bird |
"""


def opening() -> None:
    """Draw the field that opens a file, on every page, so that an upload in progress survives a change of view."""
    field, sample = st.columns([1.9, 1], gap="small")
    with sample, st.container(border=True, height="stretch", key="sample"):
        st.markdown("**A file looks like this**")
        st.markdown(_SAMPLE)
        st.caption("Also accepted: one risk and an outcome (0 or 1), one confidence and right or wrong, or logits.")
    with field:
        arrived = upload("data", "Drop a predictions file here. You can check and correct how each column is read.")
    if arrived:
        if trial("data") or sentence("data"):
            to_settle(widgets.selection().view == "start")
        st.rerun()  # the page was drawn for the previous data


def to_settle(first: bool) -> None:
    """Go to the open choice of a file; for the ``first`` file, no data are loaded meanwhile."""
    widgets.change(view=DATA, **({"data": NONE} if first else {}))


def draw() -> None:
    """Draw the files of this session and the demo data sets."""
    key = looked_at("data")
    mine = files_of_session()
    if mine:
        _list("Uploaded in this session", mine, key, "mine")
        st.button(
            "Delete my uploads",
            icon=":material/delete:",
            type="tertiary",
            help="Deletes the files you uploaded and all results from them. Links to them stop working.",
            on_click=_delete,
            key="data.delete",
        )
    st.markdown("##### Demo data")
    _list("Demo data", demo_keys(), key, "demo", hidden=True)


def _delete() -> None:
    """Delete the visitor's uploads, their results, and every choice about them."""
    session.delete_own()
    # Trials, reports and messages quote the files; the values of widgets are set again from the choices.
    for name in list(st.session_state):
        if str(name).startswith("calib.") and not str(name).startswith(_STAYS):
            del st.session_state[name]
    widgets.choose(Selection(view=DATA).replace(data=NONE))
    widgets.tick_unasked(())


def upload(role: Role, label: str) -> bool:
    """Draw an uploader, read an upload at once and release its bytes; return True after an upload."""
    widget = f"data.upload.{role}"
    file = uploads.uploader(label, key=widget, types=uploads.endings())
    endings = ", ".join(ending.upper() for ending in usual_endings())
    st.caption(f"{endings}; up to {size(terms().file_bytes)}. Save very large ones as float32 NPZ.")
    if sentence(role):
        data_findings.sentence(sentence(role))
    if file is None:
        return False
    with st.spinner("Reading the file"):
        take(role, lambda: session.hold(file.getvalue(), file.name))
    uploads.forget(file, key=widget)
    return True


def take(role: Role, read: Callable[[], session.File], *, use: bool = True) -> None:
    """Read a file and use it, or store the error message; the previous file stays loaded until then."""
    source = widgets.selection().source
    keys = (source.data, source.test, *(key for key, _ in widgets.selection().others))
    awaited = [key for key in keys if key and not session.is_here(key)]
    try:
        file = read()
    except InputError as why:
        say(role, str(why))
        return
    except MemoryError:
        say(role, "The file does not fit into the memory of this computer: save float32 in an NPZ, or fewer rows.")
        return
    say(role, "")
    if file.key not in _DEMOS:
        st.session_state[_UPLOADS] = tuple(dict.fromkeys((*st.session_state.get(_UPLOADS, ()), file.key)))
    # A file that the link requested is used once it is available.
    if use and file.key not in awaited:
        choose(role, file.key)


def another(role: Role, label: str, keys: Sequence[str], uploaded: str) -> str:
    """Draw the choice of a second file, chosen or uploaded and checked like the first; return its key."""
    value = looked_at(role)

    def chosen(new: str | None) -> None:
        if new is not None:
            choose(role, new)

    st.selectbox(
        label,
        keys,
        index=None,
        format_func=titled,
        placeholder="Choose a file, or upload one",
        **widgets.tied_to(keys, f"data.{role}", value if value in keys else None, chosen),
    )
    if upload(role, uploaded):
        st.rerun()  # the page was drawn for the previous data
    if session.is_here(value):
        data_inspect.findings(role)
    return value


def files_of_session() -> tuple[str, ...]:
    """Return the keys of the files that this session read and that are still stored, and the visitor's earlier ones."""
    own = session.own_keys() if terms().private else ()
    return tuple(key for key in dict.fromkeys((*own, *st.session_state.get(_UPLOADS, ()))) if session.is_here(key))


def demo_keys() -> tuple[str, ...]:
    """Return the keys of the demo data sets."""
    return tuple(f"demo:{demo.key}" for demo in DEMOS)


def titled(key: str) -> str:
    """Return the title of a file, unescaped; not safe for Markdown."""
    demo = _DEMOS.get(key)
    return demo.title if demo else session.file(key).title


_DEMOS = {f"demo:{demo.key}": demo for demo in DEMOS}


def _list(label: str, keys: Sequence[str], key: str, name: str, *, hidden: bool = False) -> None:
    def chosen(new: str | None) -> None:
        if new is not None:
            choose("data", new)

    st.radio(
        label,
        keys,
        index=None,
        format_func=lambda choice: markdown_plain(titled(choice)),
        captions=[_caption(choice) for choice in keys],
        label_visibility="collapsed" if hidden else "visible",
        **widgets.tied(f"data.choice.{name}", key if key in keys else None, chosen),
    )


@cache
def tiles_style() -> str:
    """Return the style that gives each example its tiny diagram; names and lessons of the examples are text."""
    tiles = '.st-key-data-choice-demo [role="radiogroup"] > div:nth-child({}) {{ background-image: url("{}"); }}'
    pictures = (diagram_spark(TILES[demo.key].points).encode() for demo in DEMOS)
    urls = (f"data:image/svg+xml;base64,{base64.b64encode(picture).decode()}" for picture in pictures)
    return "\n".join(tiles.format(i, url) for i, url in enumerate(urls, start=1))


def _caption(key: str) -> str:
    """Return size, origin and lesson of a demo data set; the size of a file."""
    demo = _DEMOS.get(key)
    if demo is None:
        found = session.file(key)
        if found.proposal is not None and found.proposal.layout == "summary":
            return "a summary: counts of rows"
        return f"{count(found.table.n_rows)} rows"
    origin = "real classifier" if demo.real else "made up"
    return f"{count(demo.rows)} rows × {demo.classes} classes, {origin}. {markdown_plain(demo.lesson)}"


def other_models() -> None:
    """Draw the models compared and the ways to add one."""
    selection = widgets.selection()
    st.caption(
        "Files with other models' predictions for the same rows in the same order. Every view then shows all "
        "models, and the Recalibrate room their paired differences. One file may contain all models: choose the "
        "column with the model's name under “How it is read”."
    )
    for i in range(len(selection.others)):
        _other_model(selection, i)
    if len(selection.others) >= MOST_OTHERS:
        st.caption(f"At most {MOST_OTHERS + 1} models can be compared at once.")
        return
    keys = [key for key in (*files_of_session(), *demo_keys()) if key not in selection.files]
    another("more", "Another model from", keys, "File of another model")


def _other_model(selection: Selection, i: int) -> None:
    """Draw one model compared, a button to remove it, and why it cannot be compared, if so."""
    left, right = st.columns([0.7, 0.3], vertical_alignment="center")
    left.markdown(f"**{markdown_plain(session.file_names(selection)[i + 1])}**")
    right.button("Remove model", key=f"data.more.drop.{i}", on_click=leave_out, args=(i,))
    try:
        session.parts(selection.sources[i + 1])
    except InputError as why:
        data_findings.sentence(str(why))


def leave_out(place: int) -> None:
    """Remove a model from the comparison."""
    others = widgets.selection().others
    widgets.change(others=(*others[:place], *others[place + 1 :]), model="")
