"""Text on statistical methods, as a statistician reads it: what was computed here, with its levels and seeds."""

from __future__ import annotations

from collections.abc import Iterator

from calib_core.defaults import LEVEL, SEED, SIGNIFICANCE
from calib_core.inference.noise.noise_floor import RESAMPLES
from calib_core.inference.verdicts.verdict import tolerated_ratios
from calib_core.predictions.predictions import whole
from calib_core.risk.smooth_curve import DRAWS
from calib_core.text import exact_tolerance, in_percent
from dashboard import session
from dashboard.report import recipe
from dashboard.report.document import Paragraph
from dashboard.report.request import Request
from dashboard.report.sections import for_event

CITED = (
    *("Collins et al. 2024", "Van Calster et al. 2016", "Van Calster et al. 2019", "Clopper and Pearson 1934"),
    *("Cox 1958", "Firth 1993", "DeLong et al. 1988", "Austin and Steyerberg 2019", "Spiegelhalter 1986"),
    *("Vickers and Elkin 2006", "Holm 1979", "Vandenbroucke et al. 2007", "Steyerberg et al. 2010"),
)
"""References of every such report."""
OF_SITES = ("Debray et al. 2017", "Hartung and Knapp 2001", "Viechtbauer 2005", "Nagashima et al. 2019")
OF_WEIGHTS, OF_GROUPS = ("Binder 1983",), ("Korn and Graubard 1998",)
OF_SIZE, OF_UPDATES = ("Riley et al. 2021",), ("Vergouwe et al. 2017",)


def measures(request: Request) -> Iterator[Paragraph]:
    """Yield the text on measures, intervals, the verdict, and software."""
    scene = request.scene
    level = in_percent(LEVEL)
    yield Paragraph(
        "Calibration in the large is measured by the ratio of observed to expected events (O:E) and by the calibration "
        "intercept. The intercept is the constant of a logistic model of the outcome with the log-odds of the risk as "
        "an offset (Cox, 1958). The calibration slope is the coefficient of the log-odds in a logistic model. Both "
        "are fitted by maximum likelihood. A smooth curve of the observed frequency is fitted by logistic regression. "
        "It uses a natural cubic spline of the log-odds with at most four knots. The distances between risk and curve "
        "have a mean (ICI), a median (E50) and a 90 % point (E90) (Austin and Steyerberg, 2019). Discrimination is "
        "measured by the area under the ROC curve (AUROC). Overall performance is measured by the log loss, the Brier "
        "score and the scaled Brier score (Steyerberg et al., 2010).",
        lead="Measures.",
    )
    yield Paragraph(
        f"Intervals have a level of {level}, unless a table gives another. Those of O:E and of the intercept are "
        "exact for the number of events (Clopper and Pearson, 1934). They take these rows and their risks as "
        f"fixed.{_rows_counted(request)} The interval of the slope uses the profile likelihood with Firth's "
        "correction (1993). The interval of the AUROC is the widest of three: DeLong et al. (1988) on the log-odds "
        f"scale, a score interval, and a limit for few events. Intervals of the distances use {DRAWS} draws of the "
        f"fitted coefficients (seed {SEED}). They are corrected for the noise that raises such "
        f"distances.{_design(request)}",
        lead="Intervals.",
    )
    yield Paragraph(
        "The calibration error is the expected calibration error (ECE) of the risk. It is the mean absolute "
        "difference between risk and observed frequency over bins of the risk. Its tolerance is "
        f"{exact_tolerance(scene.tolerance)}; that of O:E is {tolerated_ratios(scene.ratio)}. The verdict is “within” "
        "if both intervals are inside their tolerances. It is “miscalibrated” if one is outside and the error is "
        f"significant. Otherwise it is undecided. Noise floors are 95 % points of {RESAMPLES:,} draws of the outcomes "
        f"from the predicted risks (seed {SEED}). Any error of the risks is tested by Spiegelhalter's test (1986). "
        "Tests of bins and subgroups are corrected by Holm's method (1979): the chance of any false alarm is at most "
        f"{in_percent(SIGNIFICANCE)}.",
        lead="Tolerances and tests.",
    )
    yield Paragraph(
        "Net benefit (Vickers and Elkin, 2006) is the share of rows correctly acted on, minus a weighted share of "
        "those wrongly acted on. The weight is the odds of the threshold. It is compared with acting on all rows and "
        "on none. Its intervals are exact for the rows on each side of the threshold, and pointwise.",
        lead="Clinical utility.",
    )
    found = recipe.versions()
    yield Paragraph(
        f"calib {found['calib']}, Python {found['python']}, NumPy {found['numpy']}, SciPy {found['scipy']} and "
        f"scikit-learn {found['scikit-learn']} on {found['platform']}. The appendix has the command that repeats every "
        "number.",
        lead="Software.",
    )


def _rows_counted(request: Request) -> str:
    """Return how rows count in the intervals of these rows; the method in use, as in their table."""
    found = for_event.large_of(request.scene)
    return "" if found is None else f" Method: {found.method}."


def _design(request: Request) -> str:
    """Return how weights and groups enter intervals; empty for independent rows of one weight."""
    rows = request.scene.get(request.chosen.predictions)
    parts = []
    if rows.weights is not None and not whole(rows.weights):
        parts.append(
            "Weights are treated as known inverse sampling fractions, which can depend on the outcome. Variances of "
            "O:E, slope, AUROC and net benefit are linearized with these weights (Binder, 1983)."
        )
    if rows.row_groups is not None:
        parts.append(
            f"Rows belong to {rows.row_groups.words}. Their sums are taken as independent, not single rows (Korn and "
            "Graubard, 1998)."
        )
    return "".join(f" {part}" for part in parts)


def sites(by: str) -> Paragraph:
    """Return the text on clusters."""
    return Paragraph(
        f"Values of {by} are compared by O:E, calibration intercept and slope. Their intervals are simultaneous "
        f"(Bonferroni, {in_percent(LEVEL)} jointly). Log O:E, intercept and slope are pooled by random effects "
        "(Debray et al., 2017). The variance between sites is estimated by restricted maximum likelihood "
        "(Viechtbauer, 2005). Intervals of the means are those of Hartung and Knapp (2001), never narrower than those "
        "of a fixed-effect model. Prediction intervals are for a new site (Nagashima et al., 2019).",
    )


def updating(request: Request) -> Paragraph:
    """Return the text on updates."""
    fitted = [model.title for model in request.models.recalibrated]
    which = f"Updates that were fitted and judged: {', '.join(fitted)}." if fitted else "No updated model was judged."
    note = session.parts(request.selection.source).note
    return Paragraph(
        "The closed testing procedure (Vergouwe et al., 2017) chooses between no update, a new intercept, and a new "
        f"intercept and slope. The first two are tested against the third at {in_percent(SIGNIFICANCE)}. "
        + " ".join(filter(None, (which, note if fitted else "")))
    )
