"""Settings that the dashboard ships with, for apps that run inside the test process."""

import gc
from collections.abc import Iterator
from functools import cache

import pytest
from streamlit import config
from streamlit.components.v2 import manifest_scanner


@pytest.fixture(autouse=True, scope="module")
def shipped_collection() -> Iterator[None]:
    """Disable garbage collection after script runs: among the objects of a whole test session one takes a second."""
    gc.freeze()
    config.set_option("runner.postScriptGC", False)
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True, scope="session")
def components_searched_once() -> Iterator[None]:
    """Search components of installed packages once, like a server; AppTest would do it in every run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield
