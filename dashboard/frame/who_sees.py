"""Who sees the data in use: said, and chosen, beside the link that opens them."""

from __future__ import annotations

import streamlit as st

from calib_core.text import count
from dashboard import session
from dashboard.selection import Selection
from dashboard.session.server_limits import terms
from dashboard.session.visitors import user_name
from dashboard.theme import markdown_plain

_HERE = "Your rows stay on the computer this runs on."
_PRIVATE = "Nobody else sees your rows until you share them. They stay in this server's memory."
_SHARED = "Anybody who can reach this server and has this link sees your rows, labels, names and all results."


def promise() -> str:
    """Where rows stay that are opened here, in a sentence or two."""
    name = user_name()
    known = f" You are {markdown_plain(name)}." if name else ""
    return f"{_PRIVATE}{known}" if terms().private else _HERE


def sharing(selection: Selection) -> None:
    """Say who sees what a link opens, and let an owner share it."""
    if not terms().private:
        st.caption("Whoever opens it on this computer sees what you see now, as long as the file is here.")
        return
    source = selection.source
    used = dict.fromkeys(key for key in (source.data, source.test, *selection.files) if key)
    uploads = [key for key in used if not key.startswith("demo:")]
    own = [key for key in uploads if key in session.own_keys()]
    if not uploads:
        st.caption("Whoever opens it sees what you see now: example data, which everybody has.")
    elif not own:
        st.caption("These data are another person's, shared with you. Whoever has the link sees them while they are.")
    else:
        files = "this file" if len(own) == 1 else f"these {count(len(own))} files"
        shared = all(map(session.is_shared, own))

        def chosen() -> None:
            for key in own:
                session.share(key, not shared)

        st.toggle(f"Share {files}", value=shared, key=f"frame.share.{shared}", on_change=chosen)
        st.caption(f"{_SHARED} Turn it off and nobody else does." if shared else "Only you can open it now.")
