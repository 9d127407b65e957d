"""Every choice behind the numbers, seeds included, and the versions they were made with."""

from __future__ import annotations

import pandas as pd

from calib_core import ESTIMATORS, REDUCTIONS
from calib_core.inference.noise.noise_floor import RESAMPLES
from calib_core.text import short_percent
from dashboard import session
from dashboard.report import recipe, typeset
from dashboard.report.request import Request
from dashboard.report.typeset import TypesetTable
from dashboard.selection import Source


def settings_table(request: Request) -> TypesetTable:
    """Every choice behind the numbers, seeds included."""
    selection = request.selection
    source, curve = selection.source, selection.exhibit("kernel-curve").build()
    pairs = selection.exhibit("pairs").build()
    claims = REDUCTIONS[pairs.notion].title if pairs.notion in REDUCTIONS else "whole predictions"
    chosen = {
        "calibrators": ", ".join(dict.fromkeys(m.recipe.title for m in request.models.recalibrated)) or "none",
        "bins": request.binned,
        "tolerance": short_percent(selection.eps),
        "model looked at most closely": request.chosen.title,
        "notion of the curves": REDUCTIONS[request.scene.notion].title,
        "notion of the classes": REDUCTIONS[selection.exhibit("class-panels").build().notion].title,
        "paired differences": ", ".join([ESTIMATORS[pairs.estimator].title, claims]),
        "kernel curves": ESTIMATORS.recipe(curve.kernel).title,
        "band of curves": curve.band.replace("-", " "),
        "partitions of the triangle": ", ".join(recipe.title for recipe in selection.partitions) or "none",
        "fewest rows for an arrow": f"{selection.exhibit('triangle').build().min_rows}",
        "slow estimators": "with intervals and floors" if selection.exhibit("estimators").params else "values only",
        **_division(source),
        **({"test rows judged": part} if (part := session.parts(source).where) else {}),
        "seed of resampling": "0",
        "redraws and resamples": f"{RESAMPLES:,}",
    }
    frame = pd.DataFrame({"setting": list(chosen), "value": list(chosen.values())})
    return TypesetTable(
        "settings", "Every choice behind the numbers.", frame, (typeset.text("setting"), typeset.text("value"))
    )


def _division(source: Source) -> dict[str, str]:
    """How the rows were divided."""
    by = session.split_by(source)
    seed = {"seed of the split": str(source.seed)} if by in ("share", "folds") else {}
    if by == "share":
        return {"share of calibration rows": f"{source.share:g}", **seed}
    return {"calibration and test rows": session.parts(source).rule, **seed}


def versions_table() -> TypesetTable:
    packages = recipe.versions()
    frame = pd.DataFrame({"package": list(packages), "version": list(packages.values())})
    return TypesetTable(
        "versions", "What the numbers were made with.", frame, (typeset.text("package"), typeset.text("version"))
    )
