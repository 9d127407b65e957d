"""Uploads that are released from memory: the raw bytes of a file are freed once it has been read.

Streamlit retains every uploaded file for the life of its session and copies it on every run that draws the uploader.
Its public interface cannot release a file, so `forget` uses a private one. Without it (another release of Streamlit)
the file stays and everything still works; tests/dashboard/test_uploads.py notices.
"""

import logging
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from calib_core.readers import all_endings

if TYPE_CHECKING:
    from streamlit.runtime.uploaded_file_manager import UploadedFile

_LOGGER = logging.getLogger(__name__)


class Waiting:
    """Files received or in transfer that have not been read yet: bytes by session and file."""

    def __init__(self) -> None:
        self._bytes: dict[tuple[str, str], int] = {}
        self._lock = threading.Lock()

    def files(self, session: str) -> int:
        """Return the number of files of a session."""
        with self._lock:
            return sum(of == session for of, _ in self._bytes)

    def come(self, session: str, file: str, size: int, room: int) -> bool:
        """Register a file about to be sent; False if there is no room for it. A single file always has room."""
        with self._lock:
            if self._bytes and sum(self._bytes.values()) + size > room:
                return False
            self._bytes[session, file] = size
            return True

    def gone(self, session: str, file: str) -> None:
        """Remove a file that was read or did not arrive."""
        with self._lock:
            self._bytes.pop((session, file), None)

    def tidy(self) -> None:
        """Remove the files of sessions that have ended."""
        from streamlit import runtime

        if not runtime.exists():
            return
        here = runtime.get_instance().is_active_session
        with self._lock:
            self._bytes = {(session, file): size for (session, file), size in self._bytes.items() if here(session)}


WAITING = Waiting()
"""Waiting files of this process."""


def endings() -> tuple[str, ...]:
    """Return the endings of files with predictions or labels: those of all formats, and Markdown, which has tables.

    In folders and archives, a Markdown file describes the others.
    """
    return (*all_endings(), "md")


def uploader(label: str, *, key: str, types: Sequence[str], help: str | None = None) -> "UploadedFile | None":
    """Draw a file uploader and return the file, if one was just uploaded.

    Read the file at once and call `forget`; the next run then draws a fresh, empty uploader.
    """
    return st.file_uploader(label, key=_current(key), type=list(types), help=help)


def forget(file: "UploadedFile", *, key: str) -> bool:
    """Release the bytes of an upload and reset the uploader `key`; return True if they are released.

    The file object must not be used afterwards.
    """
    st.session_state.pop(_current(key), None)
    st.session_state[_round(key)] = st.session_state.get(_round(key), 0) + 1
    gone = _released(file.file_id)
    file.close()
    return gone


def _round(key: str) -> str:
    return f"calib.uploads.{key}"


def _current(key: str) -> str:
    return f"{key}.{st.session_state.get(_round(key), 0)}"


def _released(file_id: str) -> bool:
    try:
        from streamlit.runtime.scriptrunner import get_script_run_ctx

        context = get_script_run_ctx()
        if context is None:
            return False
        # `remove_file` rather than `remove_session_files`: another uploader of the page may contain an unread file.
        WAITING.gone(context.session_id, file_id)
        store: Any = context.uploaded_file_mgr
        store.remove_file(context.session_id, file_id)
    except (ImportError, AttributeError, TypeError):
        _LOGGER.warning("Streamlit kept an uploaded file: its upload store is not what it was.", exc_info=True)
        return False
    return True
