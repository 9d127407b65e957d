"""Uploads that do not stay in memory: the raw bytes of a file are given back once it has been read.

Streamlit keeps every uploaded file for the life of its session and copies it on every run that draws the
uploader. Its public interface has no way to let go, so `forget` uses a private one: without it (another
release of Streamlit) the file stays and everything still works; tests/dashboard/test_uploads.py notices.
"""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

if TYPE_CHECKING:
    from streamlit.runtime.uploaded_file_manager import UploadedFile

_LOGGER = logging.getLogger(__name__)


def uploader(label: str, *, key: str, types: Sequence[str], help: str | None = None) -> "UploadedFile | None":
    """Draw a file uploader and return the file, if one was just uploaded.

    Read the file at once and call `forget`; the next run then draws a fresh, empty uploader.
    """
    return st.file_uploader(label, key=_current(key), type=list(types), help=help)


def forget(file: "UploadedFile", *, key: str) -> bool:
    """Release the bytes of an upload and give the uploader `key` a new start; tell whether they are gone.

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
        # `remove_file` rather than `remove_session_files`: another uploader of the page may hold a file unread.
        store: Any = context.uploaded_file_mgr
        store.remove_file(context.session_id, file_id)
    except (ImportError, AttributeError, TypeError):
        _LOGGER.warning("Streamlit kept an uploaded file: its upload store is not what it was.", exc_info=True)
        return False
    return True
