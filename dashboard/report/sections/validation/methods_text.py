"""Text on statistical methods, as a statistician reads it: what was computed here, with its levels and seeds."""

from __future__ import annotations

from collections.abc import Iterator

from calib_core.defaults import LEVEL, SEED, SIGNIFICANCE
from calib_core.inference.noise.noise_floor import RESAMPLES
from calib_core.inference.verdicts.verdict import tolerated_ratios
from calib_core.risk.smooth_curve import DRAWS
from calib_core.text import exact_tolerance, in_percent
from dashboard import session
from dashboard.report import recipe
from dashboard.report.document import Paragraph
from dashboard.report.request import Request

CITED = (
    *("Collins et al. 2024", "Van Calster et al. 2016", "Van Calster et al. 2019", "Clopper and Pearson 1934"),
    *("Cox 1958", "Firth 1993", "DeLong et al. 1988", "Austin and Steyerberg 2019", "Spiegelhalter 1986"),
    *("Vickers and Elkin 2006", "Holm 1979", "Vandenbroucke et al. 2007", "Steyerberg et al. 2010"),
)
"""References of every such report."""
OF_SITES = ("Debray et al. 2017", "Hartung and Knapp 2001", "Viechtbauer 2005", "Nagashima et al. 2019")
OF_SIZE, OF_UPDATES = ("Riley et al. 2021",), ("Vergouwe et al. 2017",)


def measures(request: Request) -> Iterator[Paragraph]:
    """Yield the text on measures, intervals, the verdict, and software."""
    scene = request.scene
    level = in_percent(LEVEL)
    yield Paragraph(
        "The mean predicted risk is compared with the observed frequency by the ratio of observed to expected events "
        "(O:E) and by the calibration intercept, the constant of a logistic model of the outcome with the log-odds of "
        "the risk as an offset (Cox, 1958). The calibration slope is the coefficient of the log-odds in a logistic "
        "model of the outcome. Both are fitted by maximum likelihood. A smooth curve, logistic regression on a natural "
        "cubic spline of the log-odds with at most four knots, gives the mean (ICI), median (E50) and 90 % point (E90) "
        "of the distances between risk and observed frequency (Austin and Steyerberg, 2019). Discrimination is the "
        "area under the ROC curve (AUROC). The Brier score, the scaled Brier score (Steyerberg et al., 2010) and the "
        "log loss describe overall performance.",
        lead="Measures.",
    )
    yield Paragraph(
        f"All intervals have a level of {level}, unless a table says otherwise. Those of O:E and of the intercept are "
        "exact for the number of events, with an effective number of rows that allows for the different risks of the "
        "rows (Clopper and Pearson, 1934). They are about the outcomes of these rows, given their risks. The interval "
        "of the slope is Firth's profile likelihood (Firth, 1993). That of the AUROC is the widest of the interval of "
        "DeLong et al. (1988) on the log-odds scale, a score interval and a limit for few events. Intervals of the "
        f"curve's distances use {DRAWS} draws from the distribution of the fitted coefficients, corrected for the "
        f"noise that raises every such distance (seed {SEED}).",
        lead="Intervals.",
    )
    yield Paragraph(
        f"The tolerances are {exact_tolerance(scene.tolerance)} for the calibration error, the mean distance between "
        "risk and observed frequency in bins of the risk, and "
        f"{tolerated_ratios(scene.ratio)} for O:E. The verdict is “within” if the intervals of both are inside, and "
        "“miscalibrated” if one of them is outside and the error is significant. Otherwise it is open. The noise "
        f"floor of an error is the 95 % point of {RESAMPLES:,} draws of the outcomes from the predicted risks (seed "
        f"{SEED}). Any error of the risks is tested by Spiegelhalter's test (1986). Tests of bins and subgroups are "
        "corrected by Holm's method (1979), so that the chance of any false alarm is at most "
        f"{in_percent(SIGNIFICANCE)}.",
        lead="Tolerances and tests.",
    )
    yield Paragraph(
        "Net benefit (Vickers and Elkin, 2006) is the share of rows correctly acted on, minus the share wrongly acted "
        "on, weighted by the odds of the threshold. It is compared with acting on all rows and on none. Its intervals "
        "are exact for the rows on each side of the threshold, and pointwise.",
        lead="Clinical utility.",
    )
    found = recipe.versions()
    yield Paragraph(
        f"calib {found['calib']}, Python {found['python']}, NumPy {found['numpy']}, SciPy {found['scipy']} and "
        f"scikit-learn {found['scikit-learn']} on {found['platform']}. The appendix has the command that repeats every "
        "number.",
        lead="Software.",
    )


def sites(by: str) -> Paragraph:
    """Return the text on clusters."""
    return Paragraph(
        f"Values of {by} are compared by O:E, calibration intercept and slope, each with simultaneous intervals "
        f"(Bonferroni, {in_percent(LEVEL)} jointly). Log O:E, intercept and slope are pooled by random effects: "
        "between-site variance by restricted maximum likelihood (Viechtbauer, 2005), intervals of Hartung and Knapp "
        "(2001) with a factor of at least 1, and prediction intervals for a new site (Nagashima et al., 2019). The "
        "approach follows Debray et al. (2017).",
    )


def updating(request: Request) -> Paragraph:
    """Return the text on updates."""
    fitted = [model.recipe.title for model in request.models.recalibrated]
    which = (
        f"Updates that were fitted and judged: {', '.join(dict.fromkeys(fitted))}."
        if fitted
        else "No update was judged."
    )
    divided = session.parts(request.selection.source)
    how = f" {divided.note}" if divided.note and fitted else ""
    return Paragraph(
        "The closed testing procedure (Vergouwe et al., 2017) chooses between no update, a new intercept, and a new "
        f"intercept and slope, each tested against the last at {in_percent(SIGNIFICANCE)}. {which}{how}"
    )
