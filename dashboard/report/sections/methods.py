"""How every number was made: notions, estimators, bins, calibrators with their references, settings and seeds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from calib_core import BINNINGS, CALIBRATORS, ESTIMATORS, REDUCTIONS
from calib_core.binning import bins_of
from calib_core.inference import coverage_table, on_scale_of, paired_table, rejection_table
from calib_core.inference.null import RESAMPLES
from calib_core.registry import Entry
from dashboard import session
from dashboard.exhibits.line_words import WORDS, caption
from dashboard.report import recipe, tables
from dashboard.report.citations import bibliography, cited
from dashboard.report.document import Block, Bullets, Heading, Paragraph
from dashboard.report.request import Request
from dashboard.report.tables import Table
from dashboard.selection import Source

INFERENCE = (
    *("Wilson 1927", "Broecker & Smith 2007", "Spiegelhalter 1986", "Arrieta-Ibarra et al. 2022", "Holm 1979"),
    *("Dimitriadis et al. 2021", "Clopper & Pearson 1934", "Garwood 1936", "Fay & Feuer 1997", "Casella & Berger 2002"),
    *("Donoho & Johnstone 1994", "Seillier-Moiseiwitsch & Dawid 1993", "Shevtsova 2010", "Dufour 2006"),
)
"""Works behind the intervals, bands, tests and curves that every report has."""
INTERVALS = (
    "Intervals are about what stands with them: of binned errors the error in these bins, given these predictions, or "
    "in groups of enough rows chosen from the scores, where bins hold few rows and none were asked for; finer errors "
    "are not seen. Of kernel, smooth, convex, swept and cumulative errors: this estimator's noiseless value.",
    "Mean absolute errors: test inversion where cells are rich in outcomes, by what the scores claim (Casella & Berger "
    "2002); elsewhere the observed error plus a Poisson limit of what unseen outcomes can hide (Garwood 1936; Fay & "
    "Feuer 1997). Lower ends: only cells that stand out from noise carry the error (Donoho & Johnstone 1994). Squared "
    "errors in bins of few rows: pairs of rows. Largest errors: Clopper-Pearson bounds for all cells at once.",
    "The estimate is where the law of the error puts half its mass, or the nearest value in the interval; the value is "
    "what the estimator's formula says, which noise pushes up.",
    "Whether an error of any size is shown is decided by one test: Spiegelhalter's Z with the Brier score of the whole "
    "prediction (Spiegelhalter 1986; Seillier-Moiseiwitsch & Dawid 1993), normal where the Berry-Esseen bound allows "
    "(Shevtsova 2010), else by drawn outcomes (Dufour 2006).",
    "The line that decides is chosen from the scores, before outcomes are looked at: top-label where noise alone would "
    "show less than the tolerance in its cells, else confidence. All other lines stand each alone.",
    "A rough guide is an interval in a case that simulations do not cover; the others are within the domain of the "
    "tables below.",
)
SCALE = caption(on_scale_of)
"""The scale of class-wise tolerances, as the library's documentation says it."""


def blocks(request: Request) -> Iterator[Block | None]:
    """Words first, then the settings as a table, versions, and the works cited."""
    yield Paragraph(
        "Calibrators are fitted on the calibration rows only and judged on the test rows only. A noise floor is the "
        f"95 % quantile of the same estimator over {RESAMPLES:,} redraws of the labels from the predictions "
        "themselves, as if the model were perfectly calibrated; its p-value is (1 + the number of redraws at least as "
        f"large) / ({RESAMPLES:,} + 1). Bins hold their scores from the left edge on, the last also its "
        "right edge; empty bins are left out; equal scores are never parted. The predicted class is the one with the "
        "largest probability, the first of equals."
    )
    yield Heading("Intervals, verdicts and what they are about")
    yield Bullets((*INTERVALS, WORDS, SCALE))
    for name, table in (("coverage", coverage_table), ("rejection", rejection_table), ("paired", paired_table)):
        yield Paragraph(caption(table), lead=f"Simulated: {name}.", aside=True)
    yield Heading("Notions of calibration")
    yield _described(REDUCTIONS[key] for key in REDUCTIONS)
    yield Heading("Estimators")
    yield _described(ESTIMATORS[key] for key in ESTIMATORS)
    yield Heading("Bins and calibrators")
    recipes = dict.fromkeys(model.recipe.key for model in request.models.shown)
    binnings = [BINNINGS[key] for key in _binnings(request)]
    yield _described([*binnings, *(CALIBRATORS[key] for key in recipes)])
    yield Heading("Settings")
    yield _settings(request)
    yield _versions()
    yield Heading("Works cited")
    references = [entry.reference for family in (REDUCTIONS, ESTIMATORS) for entry in (family[k] for k in family)]
    references += [CALIBRATORS[key].reference for key in recipes]
    yield Bullets(bibliography([*references, *INFERENCE, *(entry.reference for entry in binnings)]))


def _binnings(request: Request) -> list[str]:
    """Keys of the binnings in which something was judged."""
    given = None if request.scheme is None else request.scheme.build()
    models = (request.scene.get(model.predictions) for model in request.models.shown)
    return list(dict.fromkeys(BINNINGS.recipe(bins_of(model, given)).key for model in models))


def _described(entries: Iterable[Entry[Any]]) -> Bullets:
    lines = []
    for entry in entries:
        reference = f" ({cited(entry.reference)})" if entry.reference else ""
        also = f" {entry.elsewhere}" if entry.elsewhere else ""
        lines.append(f"{entry.title}: {entry.caption.removesuffix('.')}{reference}.{also}")
    return Bullets(tuple(lines))


def _settings(request: Request) -> Table:
    """Every choice behind the numbers, seeds included."""
    selection = request.selection
    source, curve = selection.source, selection.exhibit("kernel-curve").build()
    pairs = selection.exhibit("pairs").build()
    claims = REDUCTIONS[pairs.notion].title if pairs.notion in REDUCTIONS else "whole predictions"
    settings = {
        "calibrators": ", ".join(dict.fromkeys(m.recipe.title for m in request.models.recalibrated)) or "none",
        "bins": request.binned,
        "tolerance": f"{selection.eps:g}",
        "model looked at most closely": request.chosen.title,
        "notion of the curves": REDUCTIONS[selection.reduction].title,
        "notion of the classes": REDUCTIONS[selection.exhibit("class-panels").build().notion].title,
        "paired differences": ", ".join([ESTIMATORS[pairs.estimator].title, claims]),
        "kernel curves": ESTIMATORS.recipe(curve.kernel).title,
        "band of curves": curve.band.replace("-", " "),
        "partitions of the triangle": ", ".join(recipe.title for recipe in selection.partitions) or "none",
        "fewest rows for an arrow": f"{selection.exhibit('triangle').build().min_rows}",
        "slow estimators": "with intervals and floors" if selection.exhibit("estimators").params else "values only",
        **_division(source),
        "seed of resampling": "0",
        "redraws and resamples": f"{RESAMPLES:,}",
    }
    frame = pd.DataFrame({"setting": list(settings), "value": list(settings.values())})
    return Table("settings", "Settings and seeds.", frame, (tables.text("setting"), tables.text("value")))


def _division(source: Source) -> dict[str, str]:
    """How the rows were divided."""
    if session.split_by(source) != "share":
        return {"calibration and test rows": session.parts(source).rule}
    return {"share of calibration rows": f"{source.share:g}", "seed of the split": str(source.seed)}


def _versions() -> Table:
    packages = recipe.versions()
    frame = pd.DataFrame({"package": list(packages), "version": list(packages.values())})
    return Table("versions", "Versions.", frame, (tables.text("package"), tables.text("version")))
