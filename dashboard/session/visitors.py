"""Identity of visitors: a name that a proxy vouches for, or a browser's cookie; and their open tabs."""

from __future__ import annotations

import re
import secrets
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from dashboard.session.server_limits import ServerLimits, terms

COOKIE = "calib_visitor"
EVERYBODY = ""
"""Visitor if one person has everything."""
_KEPT = "calib.visitor"
_SHAPE = re.compile(r"[A-Za-z0-9_-]{22}")


def new_cookie() -> str:
    """Return a cookie that nobody can guess.

    >>> len(new_cookie())
    22
    """
    return secrets.token_urlsafe(16)


def known_cookie(cookies: Mapping[str, str]) -> str:
    """Return the visitor's cookie; empty if there is none or it is not ours.

    >>> known_cookie({"calib_visitor": "short"})
    ''
    """
    value = cookies.get(COOKIE, "")
    return value if _SHAPE.fullmatch(value) else ""


def visitor_of(under: ServerLimits, names: Sequence[str], cookies: Mapping[str, str]) -> str:
    """Return the visitor of a request, by its headers and cookies; empty if unknown.

    ``names`` are the values of the proxy's header. If there are several, one could be set by the visitor, so none
    counts.

    >>> visitor_of(ServerLimits(private=True, user_header="X-User"), ["ann"], {})
    'user:ann'
    >>> visitor_of(ServerLimits(private=True, user_header="X-User"), ["ann", "bob"], {"calib_visitor": "A" * 22})
    ''
    """
    if under.user_header:
        name = names[0].strip() if len(names) == 1 else ""
        return f"user:{name}" if name else ""
    cookie = known_cookie(cookies)
    return f"browser:{cookie}" if cookie else ""


def visitor() -> str | None:
    """Return the visitor whose page is drawn, `EVERYBODY` on one's own machine; None outside a page."""
    under = terms()
    if not under.private:
        return EVERYBODY
    session = tab()
    if session is None:
        return None
    import streamlit as st

    if _KEPT not in st.session_state:
        headers = st.context.headers.get_all(under.user_header) if under.user_header else []
        # A client without a cookie is a visitor for as long as its session lasts.
        st.session_state[_KEPT] = visitor_of(under, headers, st.context.cookies.to_dict()) or f"session:{session}"
    return str(st.session_state[_KEPT])


def user_name() -> str:
    """Return the name that the proxy gave, empty if it gives none."""
    kind, _, name = (visitor() or "").partition(":")
    return name if kind == "user" else ""


def tab() -> str | None:
    """Return the session of the tab whose page is drawn; None outside a page."""
    if "streamlit" not in sys.modules:  # in a command: Streamlit takes as long to load as many commands do to answer
        return None
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    context = get_script_run_ctx(suppress_warning=True)
    return None if context is None else context.session_id


def is_open(session: str) -> bool:
    """Return True if a tab is connected, or if this is not a tab, such as a command."""
    from streamlit import runtime

    return not session or not runtime.exists() or bool(runtime.get_instance().is_active_session(session))


def stop_if_closed() -> None:
    """Stop drawing a page whose tab was closed, as Streamlit does while something is drawn."""
    if is_open(tab() or ""):
        return
    import streamlit as st

    st.stop()


class Presence:
    """Open tabs by visitor, and the last time that each visitor was present."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tabs: Counter[str] = Counter()
        self._left: dict[str, float] = {}
        self._lock = threading.Lock()

    @property
    def tabs(self) -> int:
        """Return the number of open tabs."""
        with self._lock:
            return self._tabs.total()

    def arrive(self, who: str, most: int) -> bool:
        """Register an opened tab; False if ``most`` are open already."""
        with self._lock:
            if self._tabs.total() >= most:
                return False
            self._tabs[who] += 1
            self._left.pop(who, None)
            return True

    def leave(self, who: str, ago: float = 0.0) -> None:
        """Register a closed tab, closed this many seconds ``ago``."""
        with self._lock:
            self._tabs[who] -= 1
            if self._tabs[who] <= 0:
                del self._tabs[who]
                self._left[who] = self._clock() - ago

    def absent(self, who: str, seconds: float) -> bool:
        """Return True if a visitor's last tab was closed this long ago; False for unknown visitors."""
        with self._lock:
            return who not in self._tabs and self._clock() - self._left.get(who, self._clock()) >= seconds

    def forget(self, kept: Callable[[str], bool]) -> None:
        """Forget visitors who have left, except those ``kept``, so that the list does not grow."""
        with self._lock:
            self._left = {who: when for who, when in self._left.items() if kept(who)}


PRESENT = Presence()
"""Present visitors of this process."""
