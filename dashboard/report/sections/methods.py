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
    "Risk of an event. For two classes the probability of the event is judged as a risk, on all rows. The verdict is "
    "“within” only if both the calibration error and the ratio of observed to expected events are within their "
    "tolerances. The interval of this ratio is exact (Clopper and Pearson, 1934), for the effective sample size if "
    "rows have weights or belong to groups. That of the calibration slope uses Firth's penalized profile likelihood "
    "(Cox, 1958); that of the AUROC is the wider of the interval of DeLong et al. (1988) and a score interval. ICI, "
    "E50 and E90 are the mean, the median and the 90 % quantile of the distance between the smooth curve and the "
    "diagonal (Austin and Steyerberg, 2019)."
)
"""Methods for the measures of an event's risk."""
INTERVALS = (
    "Subject of an interval. The interval of a binned error is for the error in the bins of the raw value. The "
    "predictions are taken as fixed; only the labels vary. If bins contain few rows and no bins were chosen, the "
    "interval is for the error in larger groups of rows with similar predictions. Errors that cancel within a bin, "
    "or within such a group, are not measured. Kernel, smooth, convex, swept and cumulative errors are defined in "
    "“Estimators” below. Their interval is for the value of the estimator without noise.",
    "Computation of an interval. Cells are the bins, or these groups of rows. In cells with many expected outcomes, "
    "the interval of a mean absolute error contains the errors that a test does not reject (Casella and Berger, 2002). "
    "In the other cells it is the observed error plus a Poisson limit for outcomes that did not occur (Garwood, 1936; "
    "Fay and Feuer, 1997). Lower ends use only the cells whose error is clearly above the noise (Donoho and Johnstone, "
    "1994). Squared errors in bins of few rows use pairs of rows. Largest errors use Clopper-Pearson bounds that are "
    "valid for all cells at once.",
    "Estimate. The estimate is the end of a one-sided 50 % interval of the error. The true error is about as often "
    "above this end as below, so the estimate is about median-unbiased. If this end is outside the interval, the "
    f"estimate is the nearest value in it. The raw value is the result of the estimator's formula. {INFLATED}",
    "Error of any size. The evidence comes from one test: Spiegelhalter's Z with the Brier score of the whole "
    "prediction (Spiegelhalter, 1986; Seillier-Moiseiwitsch and Dawid, 1993). The test uses the normal distribution "
    "if a bound on the error of this approximation (Berry-Esseen) allows (Shevtsova, 2010), otherwise simulated "
    "outcomes (Dufour, 2006).",
    "Primary measure. It is chosen by a rule fixed in advance, which uses the predicted probabilities but no "
    "outcome. For two classes it is the error of the risk. For more classes it is the top-label error under two "
    "conditions. First, most rows are in classes that the top-label interval treats separately. Second, a calibrated "
    f"model would have a mean error below {short_percent(MOST_NOISE)} in the groups of this interval. Otherwise it is "
    "the confidence error. The rule has one exception that uses outcomes: if only the top-label error is clearly "
    "above the tolerance, this error decides. Classes with too few predictions below full confidence are pooled. All "
    f"classes are pooled if the upper end would otherwise be over {BUDGET:g} times that of the confidence error. "
    "Other results are not corrected for multiple testing unless this is stated.",
    "Rough guide. An interval is called so if no simulation covers a case like it.",
)
SCALE = caption(on_scale_of).partition(". ")[2]
"""Scale of class-wise tolerances, as in the library's documentation."""


def blocks(request: Request) -> Iterator[Block | None]:
    """Yield text first, then definitions, and the references."""
    divided = "Calibrators are fitted only on the calibration rows and judged only on the test rows."
    note = request.scene.get(request.scene.models.shown[0].division).note or divided
    yield Paragraph(
        f"{f'{note} ' if request.models.recalibrated else ''}Common terms are in the list “Terms used in this report” "
        "after the verdict. A score is the predicted probability that is judged: a risk, a confidence, or the "
        "probability of a class."
    )
    yield Paragraph(
        f"Labels are drawn {RESAMPLES:,} times at random with exactly the predicted probabilities, as if the model "
        "were perfectly calibrated, and the error is computed each time. The noise floor is the 95 % quantile of these "
        f"errors. The p-value is (1 + the number of draws with an error at least as large) / ({RESAMPLES:,} + 1).",
        "Noise floor.",
    )
    yield Paragraph(
        "A bin includes its left edge, and the last bin also its right edge. Empty bins are left out; equal scores are "
        "always in one bin. The predicted class is the one with the largest probability, and the first such class if "
        "several have it.",
        "Bins and ties.",
    )
    yield Heading("Intervals and verdicts")
    yield Bullets(
        (*((EVENT,) if request.of_event else ()), *INTERVALS, WORDS, *((OF_ERROR,) if request.of_event else ()), SCALE),
        small=True,
    )
    tables = simulated_coverage(coverage_table()), simulated_rejection(rejection_table())
    yield Paragraph(
        f"{' '.join(tables)} Coverage is the share of samples in which the interval contains the true error. The "
        "documentation lists all cases.",
        "Simulations.",
    )
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
