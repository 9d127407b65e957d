"""How every number was made: notions, estimators, bins, calibrators with their references."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from calib_core import BINNINGS, CALIBRATORS, ESTIMATORS, REDUCTIONS
from calib_core.binning import bins_of
from calib_core.inference import coverage_table, on_scale_of, paired_table, rejection_table
from calib_core.inference.noise.noise_floor import RESAMPLES
from calib_core.registry.citations import bibliography
from calib_core.registry.registry import Entry
from dashboard.exhibits.line_words import OF_ERROR, WORDS, caption
from dashboard.report.document import Block, Bullets, Folded, Heading, Paragraph
from dashboard.report.request import Request

INFERENCE = (
    *("Wilson 1927", "Bröcker & Smith 2007", "Spiegelhalter 1986", "Arrieta-Ibarra et al. 2022", "Holm 1979"),
    *("Dimitriadis et al. 2021", "Clopper & Pearson 1934", "Garwood 1936", "Fay & Feuer 1997", "Casella & Berger 2002"),
    *("Donoho & Johnstone 1994", "Seillier-Moiseiwitsch & Dawid 1993", "Shevtsova 2010", "Dufour 2006"),
)
"""Works behind the intervals, bands, tests and curves that every report has."""
OF_RISKS = (
    *("Austin and Steyerberg 2019", "Cox 1958", "DeLong et al. 1988", "Van Calster et al. 2016"),
    "Van Calster et al. 2019",
)
"""Works behind the measures of an event's risk."""
EVENT = (
    "Two classes: the probability of the event is judged as a risk, on all rows. Its verdict needs the average error "
    "and the ratio of observed to expected events to be within their tolerances. Observed to expected: exact ends for "
    "the effective sample size (Clopper and Pearson, 1934). Calibration slope: Firth's profile likelihood (Cox, 1958). "
    "AUROC: DeLong et al. (1988). ICI, E50 and E90: Austin and Steyerberg (2019)."
)
"""How the measures of an event's risk are computed."""
INTERVALS = (
    "Intervals are about what stands with them: of binned errors the error in these bins, given these predictions, or "
    "in groups of enough rows chosen from the scores, where bins hold few rows and none were asked for; finer errors "
    "are not seen. Of kernel, smooth, convex, swept and cumulative errors: this estimator's noiseless value.",
    "Mean absolute errors: test inversion where cells are rich in outcomes, by what the scores claim (Casella and "
    "Berger, 2002); elsewhere the observed error plus a Poisson limit of what unseen outcomes can hide (Garwood, 1936; "
    "Fay and Feuer, 1997). Lower ends: only cells that stand out from noise carry the error (Donoho and Johnstone, "
    "1994). Squared errors in bins of few rows: pairs of rows. Largest errors: Clopper-Pearson bounds for all cells at "
    "once.",
    "The estimate is where the law of the error puts half its mass, or the nearest value in the interval; the value is "
    "what the estimator's formula says, which noise pushes up.",
    "Whether an error of any size is shown is decided by one test: Spiegelhalter's Z with the Brier score of the whole "
    "prediction (Spiegelhalter, 1986; Seillier-Moiseiwitsch and Dawid, 1993), normal where the Berry-Esseen bound "
    "allows (Shevtsova, 2010), else by drawn outcomes (Dufour, 2006).",
    "The line that decides is chosen from the scores, before outcomes are looked at: the risk of the event for two "
    "classes; else top-label where noise alone would show less than the tolerance in its cells, else confidence. All "
    "other lines stand each alone.",
    "A rough guide is an interval in a case that simulations do not cover; the others are within the domain of the "
    "tables below.",
)
SCALE = caption(on_scale_of)
"""The scale of class-wise tolerances, as the library's documentation says it."""


def blocks(request: Request) -> Iterator[Block | None]:
    """Words first, then what is defined, and the works cited."""
    divided = "Calibrators are fitted on the calibration rows only and judged on the test rows only."
    yield Paragraph(
        f"{request.scene.get(request.scene.models.shown[0].division).note or divided} A noise floor is the "
        f"95 % quantile of the same estimator over {RESAMPLES:,} redraws of the labels from the predictions "
        "themselves, as if the model were perfectly calibrated; its p-value is (1 + the number of redraws at least as "
        f"large) / ({RESAMPLES:,} + 1). Bins hold their scores from the left edge on, the last also its "
        "right edge; empty bins are left out; equal scores are never parted. The predicted class is the one with the "
        "largest probability, the first of equals."
    )
    yield Heading("Intervals, verdicts and what they are about")
    yield Bullets(
        (*((EVENT,) if request.of_event else ()), *INTERVALS, WORDS, *((OF_ERROR,) if request.of_event else ()), SCALE),
        small=True,
    )
    simulated = (("coverage", coverage_table), ("rejection", rejection_table), ("pairs", paired_table))
    yield Folded("What was simulated", tuple(Paragraph(caption(table), f"{name}:") for name, table in simulated))
    yield Heading("Notions of calibration")
    yield _described(REDUCTIONS[key] for key in REDUCTIONS)
    yield Heading("Estimators")
    yield _described(ESTIMATORS[key] for key in ESTIMATORS)
    elsewhere = (f"{ESTIMATORS[key].title}: {ESTIMATORS[key].elsewhere}" for key in ESTIMATORS)
    yield Folded("What other programs call them", (Bullets(tuple(t for t in elsewhere if not t.endswith(": "))),))
    yield Heading("Bins and calibrators")
    recipes = dict.fromkeys(model.recipe.key for model in request.models.shown)
    binnings = [BINNINGS[key] for key in _binnings(request)]
    yield _described([*binnings, *(CALIBRATORS[key] for key in recipes)])
    yield Heading("Works cited")
    references = [entry.reference for family in (REDUCTIONS, ESTIMATORS) for entry in (family[k] for k in family)]
    references += [CALIBRATORS[key].reference for key in recipes]
    inference = (*INFERENCE, *(OF_RISKS if request.of_event else ()))
    yield Bullets(bibliography([*references, *inference, *(entry.reference for entry in binnings)]), small=True)


def _binnings(request: Request) -> list[str]:
    """Keys of the binnings in which something was judged."""
    given = None if request.scheme is None else request.scheme.build()
    models = (request.scene.get(model.predictions) for model in request.models.shown)
    return list(dict.fromkeys(BINNINGS.recipe(bins_of(model, given)).key for model in models))


def _described(entries: Iterable[Entry[Any]]) -> Bullets:
    lines = []
    for entry in entries:
        reference = f" ({entry.reference})" if entry.reference else ""
        lines.append(f"{entry.title}: {entry.caption.removesuffix('.')}{reference}.")
    return Bullets(tuple(lines), small=True)
