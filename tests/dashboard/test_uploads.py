"""Uploads leave nothing behind once they have been read."""

import logging
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from calib_core.readers import all_endings
from dashboard import uploads

APP = Path(__file__).parents[2] / "dashboard" / "app.py"


def script() -> None:
    import streamlit as st
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    from dashboard import uploads

    for key in ("first", "second"):
        file = uploads.uploader(key, key=key, types=["csv"])
        if file is not None and (key == "first" or st.session_state.get("take_second")):
            st.session_state[f"read {key}"] = file.getvalue()
            st.session_state[f"gone {key}"] = uploads.forget(file, key=key)
    context = get_script_run_ctx()
    assert context is not None
    held = context.uploaded_file_mgr.file_storage.get(context.session_id, {})
    st.session_state["held"] = [record.name for record in held.values()]


@pytest.fixture
def app() -> AppTest:
    return AppTest.from_function(script).run()


def test_the_bytes_are_given_back(app: AppTest) -> None:
    app.file_uploader[0].set_value(("p.csv", b"a,b\n1,2", "text/csv")).run()
    assert app.session_state["read first"] == b"a,b\n1,2"
    assert app.session_state["gone first"] is True
    assert app.session_state["held"] == []


def test_only_the_file_that_was_read_is_forgotten(app: AppTest) -> None:
    app.file_uploader[1].set_value(("unread.csv", b"3", "text/csv"))
    app.file_uploader[0].set_value(("p.csv", b"1", "text/csv")).run()
    assert app.session_state["held"] == ["unread.csv"]


def test_the_next_run_draws_an_empty_uploader_that_takes_the_same_file_again(app: AppTest) -> None:
    first_id = app.file_uploader[0].id
    app.file_uploader[0].set_value(("p.csv", b"1", "text/csv")).run()
    app.run()
    assert app.file_uploader[0].id != first_id
    assert app.file_uploader[0].value is None
    app.file_uploader[0].set_value(("p.csv", b"2", "text/csv")).run()
    assert app.session_state["read first"] == b"2"
    assert not app.exception


def test_no_file_object_stays_in_the_session(app: AppTest) -> None:
    app.file_uploader[0].set_value(("p.csv", b"1", "text/csv")).run()
    app.run()
    assert app.session_state["first.1"] is None
    assert "first.0" not in app.session_state


def test_another_streamlit_keeps_the_file_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    context = SimpleNamespace(uploaded_file_mgr=object(), session_id="s")
    monkeypatch.setattr("streamlit.runtime.scriptrunner.get_script_run_ctx", lambda: context)
    with caplog.at_level(logging.WARNING):
        assert uploads._released("f") is False
    assert "Streamlit kept an uploaded file" in caplog.text


def test_without_a_running_script_there_is_nothing_to_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamlit.runtime.scriptrunner.get_script_run_ctx", lambda: None)
    assert uploads._released("f") is False


@pytest.mark.parametrize("link", [{"view": "estimators"}, {"view": "data", "eps": "a lot"}], ids=["chips", "a warning"])
def test_the_field_keeps_its_place_where_pages_differ_in_what_stands_above(link: dict[str, str]) -> None:
    """The browser recreates a field that moves, and the file being uploaded to it is lost."""
    assert _place(**link) == _place(view="start")


def _place(**link: str) -> int:
    app = AppTest.from_file(str(APP), default_timeout=60)
    for name, text in link.items():
        app.query_params[name] = text
    app.run()
    assert bool(app.warning) == ("eps" in link)
    ids = [getattr(getattr(block, "proto", None), "id", "") for block in app.main.children.values()]
    return next(i for i, name in enumerate(ids) if name.endswith("frame-opening"))


def test_markdown_can_be_dropped_but_describes_the_other_files_of_an_archive():
    assert "md" in uploads.endings()
    assert not set(uploads.endings()) - {"md"} - set(all_endings())
