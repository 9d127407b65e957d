"""Every exhibit on every set of data that has it, and its frame; all twins are known once this is imported."""

from __future__ import annotations

import pytest
import twins_of_bins  # noqa: F401  # each registers its twins
import twins_of_cells  # noqa: F401
import twins_of_classes  # noqa: F401
import twins_of_lines  # noqa: F401
import twins_of_models  # noqa: F401
import twins_of_slices  # noqa: F401
import twins_of_use  # noqa: F401
from compared import TWINS

from calib_core import NotAnswerable
from dashboard.exhibits import EXHIBITS

DATA = ("three", "risk", "levels")
ASKED = {"rates": {"refit": True}, "score-parts": {"slow": True}}
"""What takes long is shown where it is asked for."""
OF_NO_DATA = ("lab-curve", "lab-errors", "lab-distances", "papers", "reproduction", "coverage", "rejection")
"""Exhibits that are the same whatever the file."""
OWN = {"judged-answers": ("judged",), "score-parts": ("three",), "rates": ("three",)}
"""Exhibits that are looked at on other data, or on one set of them because they take long."""


def cases():
    for key in TWINS:
        for name in OWN.get(key, DATA[:1] if key in OF_NO_DATA else DATA):
            yield pytest.param(key, name, id=f"{key}-{name}")


def frame_of(data, key):
    """The frame of an exhibit, or None where these data have none."""
    exhibit = EXHIBITS.make(key, **ASKED.get(key, {}))
    try:
        return data.scene.get(exhibit.table(data.scene))
    except NotAnswerable:
        return None
