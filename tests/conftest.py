"""Shared setup of all tests: Hypothesis profiles, and the folder of test helpers on the import path."""

import gc
import os
import sys
from collections import Counter
from collections.abc import Generator
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Test modules are imported by path (importlib mode), so helpers shared by several folders need a place of their own.
sys.path.insert(0, str(Path(__file__).parent / "support"))

# A package that registers methods of its own: every law then runs over them too.
if "CALIB_EXTENSION" in os.environ:
    import_module(os.environ["CALIB_EXTENSION"])

# The same examples on every run, so that a change cannot pass or fail by luck; `--hypothesis-profile=deep` searches
# with new ones. No deadline: the first call of a numerical routine can take much longer than the rest.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": False}
settings.register_profile("ci", max_examples=20, derandomize=True, database=None, **_COMMON)
settings.register_profile("deep", max_examples=1000, database=None, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for garbage, which takes a third of the time: what is collected stays until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most cases of a test with `sampled(n)` to `make wide`: every n-th case runs in each check."""
    seen: Counter[str] = Counter()
    for item in items:
        if mark := item.get_closest_marker("sampled"):
            test = item.nodeid.partition("[")[0]
            if seen[test] % mark.args[0]:
                item.add_marker("wide")
            seen[test] += 1


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Restore the main module after each test: AppTest replaces it, and processes of a pool load it again."""
    main = sys.modules["__main__"]
    try:
        return (yield)
    finally:
        sys.modules["__main__"] = main


def pytest_collection_finish() -> None:
    """Exclude thousands of collected tests from later garbage collection, and run it less often than by default."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)
