"""Methods behind every number: notions, estimators, bins, calibrators with their references."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from calib_core import BINNINGS, CALIBRATORS, ESTIMATORS, REDUCTIONS
from calib_core.binning import bins_of
from calib_core.inference import coverage_table, on_scale_of, rejection_table
from calib_core.inference.intervals.bins_of_interval import BUDGET
from calib_core.inference.noise.noise_floor import RESAMPLES
from calib_core.inference.verdicts.primary_measure import MOST_NOISE
from calib_core.registry.citations import bibliography
from calib_core.registry.registry import Entry
from calib_core.text import short_percent
from dashboard.exhibits.line_words import INFLATED, OF_ERROR, WORDS, caption
from dashboard.exhibits.tests import simulated_coverage, simulated_rejection
from dashboard.report.document import Block, Bullets, Folded, Heading, Paragraph
from dashboard.report.request import Request

INFERENCE = (
    *("Bröcker & Smith 2007", "Spiegelhalter 1986", "Arrieta-Ibarra et al. 2022", "Holm 1979"),
    *("Dimitriadis et al. 2021", "Clopper & Pearson 1934", "Garwood 1936", "Fay & Feuer 1997", "Casella & Berger 2002"),
    *("Donoho & Johnstone 1994", "Seillier-Moiseiwitsch & Dawid 1993", "Shevtsova 2010", "Dufour 2006"),
)
"""References for the intervals, bands, tests and curves of every report."""
OF_RISKS = (
    *("Austin and Steyerberg 2019", "Cox 1958", "DeLong et al. 1988", "Van Calster et al. 2016"),
    "Van Calster et al. 2019",
)
"""References for the measures of an event's risk."""
EVENT = (
    "For two classes the probability of the event is judged as a risk, on all rows. The verdict is “within” only if "
    "both the calibration error and the ratio of observed to expected events are within their tolerances. Intervals: "
    "observed to expected, exact for the effective sample size (Clopper and Pearson, 1934); calibration slope, Firth's "
    "profile likelihood (Cox, 1958). AUROC: the wider of the interval of DeLong et al. (1988) and a score interval. "
    "ICI, E50 and E90: Austin and Steyerberg (2019)."
)
"""Methods for the measures of an event's risk."""
INTERVALS = (
    "The interval of a binned error is for the error in the bins of the raw value. It takes the predictions as "
    "fixed; only the labels vary. If bins contain few rows and no bins were chosen, it is for the error in larger "
    "groups of rows with similar predictions. Errors that cancel within a bin, or within such a group, are not "
    "measured. The interval of a kernel, smooth, convex, swept or cumulative error is for the value of the estimator "
    "without noise.",
    "Cells are bins, or groups of rows with similar predictions. The interval of a mean absolute error inverts a "
    "test in cells with many expected outcomes (Casella and Berger, 2002). In the others it is the observed error "
    "plus a Poisson limit for unseen outcomes (Garwood, 1936; Fay and Feuer, 1997). For lower ends, "
    "only cells with an error clearly above the noise are used (Donoho and Johnstone, 1994). Squared errors in bins "
    "of few rows use pairs of rows. Largest errors use simultaneous Clopper-Pearson bounds for all cells.",
    "The estimate is the end of a one-sided 50 % interval of the error: the true error is about as often above it as "
    "below. If this end is outside the interval, the estimate is the nearest value in it. The raw value is that of "
    f"the estimator's formula. {INFLATED}",
    "The evidence for an error of any size comes from one test: Spiegelhalter's Z with the Brier score of the "
    "whole prediction (Spiegelhalter, 1986; Seillier-Moiseiwitsch and Dawid, 1993). It uses the normal "
    "distribution if the Berry-Esseen bound allows (Shevtsova, 2010), otherwise simulated outcomes (Dufour, "
    "2006).",
    "The primary measure is chosen from the scores, before the outcomes are used. For two classes it is the risk of "
    "the event. For more classes it is the top-label error under two conditions. First, most rows are in classes "
    "that its interval treats separately. Second, a calibrated model would have a mean error below "
    f"{short_percent(MOST_NOISE)} in the groups of its interval. Otherwise it is the confidence error. One exception "
    "is also fixed in advance: if only the top-label error is clearly above the tolerance, it decides. Classes with "
    "too few predictions below full confidence are pooled. All classes are pooled if the upper end would otherwise "
    f"be over {BUDGET:g} times that of the confidence error. Other results are not corrected for multiple testing "
    "unless they say so.",
    "A “rough guide” is an interval in a case that no simulation covers.",
)
SCALE = caption(on_scale_of).partition(". ")[2]
"""Scale of class-wise tolerances, as in the library's documentation."""


def blocks(request: Request) -> Iterator[Block | None]:
    """Yield text first, then definitions, and the references."""
    divided = "Calibrators are fitted only on the calibration rows and judged only on the test rows."
    note = request.scene.get(request.scene.models.shown[0].division).note or divided
    yield Paragraph(
        f"{f'{note} ' if request.models.recalibrated else ''}A noise floor is the 95 % quantile of the same estimator "
        f"over {RESAMPLES:,} redraws of the labels from the predictions themselves, as if the model were perfectly "
        f"calibrated. Its p-value is (1 + the number of redraws at least as large) / ({RESAMPLES:,} + 1). A bin "
        "includes its left edge, and the last bin also its right edge. Empty bins are left out; equal scores are "
        "always in one bin. The predicted class is the one with the largest probability, and the first such class if "
        "several have it."
    )
    yield Heading("Intervals and verdicts")
    yield Bullets(
        (*((EVENT,) if request.of_event else ()), *INTERVALS, WORDS, *((OF_ERROR,) if request.of_event else ()), SCALE),
        small=True,
    )
    tables = simulated_coverage(coverage_table()), simulated_rejection(rejection_table())
    yield Paragraph(f"{' '.join(tables)} The documentation lists all cases.", "Simulations.")
    yield Heading("Notions of calibration")
    yield _described(REDUCTIONS[key] for key in REDUCTIONS)
    yield Heading("Estimators")
    yield _described(ESTIMATORS[key] for key in ESTIMATORS)
    elsewhere = (f"{ESTIMATORS[key].title}: {ESTIMATORS[key].elsewhere}" for key in ESTIMATORS)
    yield Folded("Names in other programs", (Bullets(tuple(t for t in elsewhere if not t.endswith(": "))),))
    yield Heading("Bins and calibrators")
    recipes = dict.fromkeys((*(model.recipe.key for model in request.models.shown), *_tried(request)))
    binnings = [BINNINGS[key] for key in _binnings(request)]
    yield _described([*binnings, *(CALIBRATORS[key] for key in recipes)])
    yield Heading("Works cited")
    references = [entry.reference for family in (REDUCTIONS, ESTIMATORS) for entry in (family[k] for k in family)]
    references += [CALIBRATORS[key].reference for key in recipes]
    inference = (*INFERENCE, *(OF_RISKS if request.of_event else ()))
    yield Bullets(bibliography([*references, *inference, *(entry.reference for entry in binnings)]), small=True)


def _tried(request: Request) -> list[str]:
    """Return the keys of the calibrators in the table of the recommendation, if the report has it."""
    if "recommendation" not in request.calls:
        return []
    return list(request.scene.get(request.calls["recommendation"])["calibrator"])


def _binnings(request: Request) -> list[str]:
    """Return the keys of the binnings used."""
    given = None if request.scheme is None else request.scheme.build()
    models = (request.scene.get(model.predictions) for model in request.models.shown)
    return list(dict.fromkeys(BINNINGS.recipe(bins_of(model, given)).key for model in models))


def _described(entries: Iterable[Entry[Any]]) -> Bullets:
    lines = []
    for entry in entries:
        reference = f" ({entry.reference})" if entry.reference else ""
        lines.append(f"{entry.title}: {entry.caption.removesuffix('.')}{reference}.")
    return Bullets(tuple(lines), small=True)
