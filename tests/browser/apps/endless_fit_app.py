"""Dashboard with a vector scaling that never ends by itself; the end of each fit is written to a file."""

import os
import runpy
import time
from pathlib import Path

from calib_core.calibrators import VectorScaling

ROOT = Path(__file__).parents[3]


def note(word: str) -> None:
    with Path(os.environ["CALIB_FIT_NOTES"]).open("a") as file:
        file.write(f"{word}\n")


def endless(calibrator: VectorScaling, predictions: object, progress) -> None:  # type: ignore[no-untyped-def]
    """Fit until stopped."""
    note("begun")
    try:
        while True:
            progress(0)
            time.sleep(0.02)
    finally:
        note("ended")


if __name__ == "__main__":  # a mere import, as for a search for doctests, leaves the real vector scaling in place
    VectorScaling._fit = endless  # type: ignore[method-assign]
    runpy.run_path(str(ROOT / "dashboard" / "app.py"))
