"""Frames of every exhibit on every set of data that has it; importing this module registers all twins."""

from __future__ import annotations

import pytest
import twins_of_arena  # noqa: F401  # each registers its twins
import twins_of_bins  # noqa: F401
import twins_of_cells  # noqa: F401
import twins_of_classes  # noqa: F401
import twins_of_lines  # noqa: F401
import twins_of_models  # noqa: F401
import twins_of_slices  # noqa: F401
import twins_of_use  # noqa: F401
from compared import TWINS
from no_data import OF_NO_DATA

from calib_core import NotAnswerable
from dashboard.exhibits import EXHIBITS

DATA = ("three", "risk", "levels")
ASKED = {"rates": {"refit": True}, "score-parts": {"slow": True}}
"""Slow exhibits, requested with these options."""
OWN = {
    "judged-answers": ("judged",),
    "score-parts": ("three",),
    "rates": ("three",),
    "over-time": ("year",),
    "after-alarm": ("year",),
}
"""Exhibits with special data, or with one set of data because they are slow."""


def cases():
    for key in TWINS:
        for name in OWN.get(key, DATA[:1] if key in OF_NO_DATA else DATA):
            yield pytest.param(key, name, id=f"{key}-{name}")


def frame_of(data, key):
    """Return the frame of an exhibit, or None if these data have none."""
    exhibit = EXHIBITS.make(key, **ASKED.get(key, {}))
    try:
        return data.scene.get(exhibit.table(data.scene))
    except NotAnswerable:
        return None
