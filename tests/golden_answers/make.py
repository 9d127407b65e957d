"""Golden answers: everything that is shown on fixed data, computed, checked, and accepted after changes.

``answers.txt`` next to this file has one line per number, column or sentence. Most of its subjects are scenes. A scene
has each exhibit with table, printed cells, emphasis, words and figure, the chapters of the report, and rooms of the
dashboard. The others are what the options of exhibits change, the commands, and answers of the library with its
refusals. A sentence has a line for its numbers and one for its words. So a new wording is accepted without any number.

Options are those of golden bits, and ``--accept-words PREFIX...`` accepts words only::

    python -m tests.golden_answers.make --check

Read what moved before it is accepted, as for golden bits, which this shares its comparison with
(``tests.golden_bits.make``). Numbers have six digits. On another machine they have to agree to five, and hashes of
long lines are ignored.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from unittest import mock

from tests.golden_bits import make
from tests.golden_bits.make import Bits, Net

FILE = Path(__file__).with_name("answers.txt")
SUBJECTS = (
    "tested",
    "grouped",
    "several",
    "stated",
    "risky",
    "quiet",
    "judged",
    "counted",
    "options",
    "commands",
    "library",
)
"""Subjects, each one test: they are divided among the workers."""


def computed(only: Sequence[str] = ()) -> Bits:
    """Return all current lines, or those of some subjects."""
    sys.path[:0] = [str(Path(__file__).parents[1] / name) for name in ("support", "meaning")]
    from streamlit.components.v2 import manifest_scanner as components
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    from tests.golden_answers import subjects

    found: Bits = {}
    searched_once = mock.patch.object(
        components, "scan_component_manifests", cache(components.scan_component_manifests)
    )
    with warnings.catch_warnings(), threadpool_limits(1), searched_once:  # AppTest would search in every room
        warnings.simplefilter("ignore")
        for subject in only or SUBJECTS:
            for key, value in subjects.OF[subject]():
                if key in found:
                    raise ValueError(f"two lines are called {key}")
                found[key] = value
    return found


def close_to(key: str) -> float:
    """Return how close a number has to be on another machine: a cost moves by a row whose score is at the threshold."""
    return 5e-3 if "/decisions/" in key else 1e-5


ANSWERS = Net("tests.golden_answers.make", __doc__.partition("\n")[0], FILE, lambda: SUBJECTS, computed, close_to)

if __name__ == "__main__":
    sys.exit(make.main(net=ANSWERS))
