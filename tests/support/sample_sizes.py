"""Verdicts without the numbers of rows that would be enough, which take most of their time: for tests of words."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from calib_core.inference.verdicts import verdict


@contextmanager
def left_out() -> Iterator[None]:
    """Name 1,000 rows in every verdict of too few; the four words are the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdict, "rows_to_tell", lambda *asked: 1000.0)
        patch.setattr(verdict, "rows_with_error", lambda *asked: None)
        patch.setattr(verdict, "event_sample_size", lambda *asked: None)
        yield
