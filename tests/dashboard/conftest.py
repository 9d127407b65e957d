"""Settings that the dashboard ships with, for apps that run inside the test process."""

import gc
from collections.abc import Iterator
from functools import cache

import pytest
from streamlit import config
from streamlit.components.v2 import manifest_scanner

from calib_core.evaluation import choice


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


SLOW = {"gp", "spline", "structured"}
"""Candidates that take most of the time of a choice."""


@pytest.fixture(autouse=True, scope="session")
def candidates_that_are_quick() -> Iterator[None]:
    """Choose among the quick candidates: nearly every view makes a choice, and tests of the library are about it."""
    every = choice.candidates_for
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choice, "candidates_for", lambda rows: tuple(one for one in every(rows) if one.key not in SLOW))
        yield
