"""The settings the dashboard ships with, for apps that run inside the test process."""

import gc
from collections.abc import Iterator

import pytest
from streamlit import config


@pytest.fixture(autouse=True, scope="module")
def shipped_collection() -> Iterator[None]:
    """No garbage collection after every script run: among the objects of a whole test session one takes a second."""
    gc.freeze()
    config.set_option("runner.postScriptGC", False)
    yield
    gc.unfreeze()
