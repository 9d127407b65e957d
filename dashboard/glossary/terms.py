"""Terms: what each is called, what it is in a sentence, and a picture of it with words for those who do not see it.

Popovers show these; the page of all terms adds the formula, who defined it, and a state of the dashboard to see it in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from calib_core import ESTIMATORS, REDUCTIONS, Recipe
from calib_core.defaults import LEVEL
from calib_core.diagrams import ReliabilityDiagram
from calib_core.text import percent
from dashboard.glossary import sketches
from dashboard.selection import Selection


@dataclass(frozen=True)
class Term:
    """A word, its sentence, its picture as SVG and what is seen on it.

    ``formula`` is in TeX, ``reference`` who defined it, ``live`` where to see it at work.
    """

    key: str
    title: str
    sentence: str
    picture: str
    alt: str
    formula: str = ""
    reference: str = ""
    live: Selection | None = None


def _on(demo: str, view: str, **choices: Any) -> Selection:
    """An example in a view."""
    return Selection().replace(data=f"demo:{demo}", view=view, **choices)


_BINNED = Recipe("CALIBRATORS", "top-label-hb")


TERMS = {
    term.key: term
    for term in (
        Term(
            "calibration-error",
            "Calibration error",
            "The average gap between what the model says and how often it is right, bin by bin: 0 where its "
            "probabilities mean what they say.",
            sketches.calibration_error(),
            "Points beside a diagonal, with the distance of each from it.",
            ESTIMATORS["ece"].formula,
            ESTIMATORS["ece"].reference,
            _on("digits-naive-bayes", "estimators"),
        ),
        Term(
            "noise-floor",
            "Noise floor",
            "The noise level of a calibrated model: the error it shows by chance with these predictions. 95 % of such "
            "models stay within it.",
            sketches.noise_floor(),
            "A hatched bar from zero; nineteen of twenty dots lie within its length, one beyond.",
            r"\inf\bigl\{t : P(T^* \le t) \ge 0.95\bigr\}, \quad z^*_i \sim \mathrm{Bernoulli}(s_i)",
            "Bröcker and Smith 2007",
            _on("wine-logistic", "overview", calibrators=()),
        ),
        Term(
            "tolerance",
            "Tolerance",
            "The error you could live with: an interval below it is within tolerance, one above it miscalibrated, one "
            "across it decides nothing.",
            sketches.tolerance(),
            "A dashed line; one interval ends before it, one lies across it, one lies beyond it.",
            r"\text{within: } u < \varepsilon \qquad \text{miscalibrated: } \ell > \varepsilon",
            live=_on("imbalanced-forest", "overview"),
        ),
        Term(
            "interval",
            "Interval",
            f"Where the error lies as far as these rows can tell: made to hold it {percent(LEVEL, 0)} of the time. "
            "More rows make it narrower.",
            sketches.interval(),
            "Ten intervals one below the other; nine hold the dashed line, one misses it.",
            rf"P(\ell \le \theta \le u) \approx {LEVEL}",
            live=_on("digits-mlp", "estimators"),
        ),
        Term(
            "event",
            "Event",
            "Of two classes, the one whose predicted probability is judged as a risk: “died”, “yes”, “1”. The other "
            "class can be chosen instead.",
            sketches.event(),
            "Eight rows from low to high risk; four filled dots where the event happened, four rings where it did not.",
            REDUCTIONS["event"].formula,
            REDUCTIONS["event"].reference,
            _on("breast-cancer-svm", "overview"),
        ),
        Term(
            "in-the-large",
            "Calibration in the large",
            "Whether risks are right on average: the mean predicted risk beside the observed frequency of the event. "
            "Errors of opposite sign cancel here.",
            sketches.in_the_large(),
            "An upright for the mean predicted risk; the observed frequency with its interval lies to the left of it.",
            r"\bar s = \tfrac{1}{n} \textstyle\sum_i s_i \quad \text{and} \quad \bar z = \tfrac{1}{n} \sum_i z_i",
            "Van Calster et al. 2019",
            _on("breast-cancer-svm", "overview"),
        ),
        Term(
            "observed-expected",
            "Observed : expected",
            "Events that happened, divided by the sum of the predicted risks: 1 when right on average, below 1 when "
            "risks are too high.",
            sketches.observed_expected(),
            "Two columns: the events observed are half of the events expected.",
            r"\mathrm{O{:}E} = \textstyle\sum_i z_i \big/ \sum_i s_i",
            "Van Calster et al. 2019",
            _on("breast-cancer-svm", "overview"),
        ),
        Term(
            "calibration-intercept",
            "Calibration intercept",
            "The shift of all log-odds that makes the mean risk right: 0 when calibrated, below 0 when risks are too "
            "high.",
            sketches.intercept(),
            "A line below the diagonal and parallel to it.",
            r"\textstyle\sum_i \sigma\bigl(\operatorname{logit} s_i + a\bigr) = \sum_i z_i",
            "Cox 1958; Van Calster et al. 2019",
            _on("breast-cancer-svm", "overview"),
        ),
        Term(
            "calibration-slope",
            "Calibration slope",
            "How far the log-odds of risks should be spread: 1 when calibrated. Below 1, high risks are too high and "
            "low risks too low.",
            sketches.slope(),
            "A line flatter than the diagonal, which it crosses in the middle.",
            r"\operatorname{logit} P(z_i = 1) = a + b \operatorname{logit} s_i",
            "Cox 1958; Van Calster et al. 2019",
            _on("breast-cancer-svm", "overview"),
        ),
        Term(
            "smooth-gap",
            "ICI, E50 and E90",
            "Distances between the predicted risk and a smooth curve of the observed frequency: their mean (ICI), "
            "median (E50) and 90 % point (E90) over the rows.",
            sketches.smooth_gap(),
            "A curve below the diagonal; thin lines show its distance at nine risks.",
            r"\mathrm{ICI} = \tfrac{1}{n} \textstyle\sum_i \bigl| \hat c(s_i) - s_i \bigr|",
            "Austin and Steyerberg 2019",
            _on("breast-cancer-svm", "reliability"),
        ),
        Term(
            "effective-rows",
            "Effective sample size",
            "How many independent rows of equal weight carry as much information as these, where weights differ or "
            "rows belong together.",
            sketches.effective_rows(),
            "Eleven small dots; an arrow leads to three larger ones.",
            r"n_\text{eff} = p (1 - p) \big/ \widehat{\mathrm{Var}}(\hat p)",
            "Kish 1965",
            _on("patients", "overview"),
        ),
        Term(
            "confidence",
            "Confidence calibration",
            "Of all rows that say 90 %, 90 % should be right, whatever class they predict. Errors of different classes "
            "can cancel here.",
            sketches.confidence(),
            "Two hollow points, one above and one below the diagonal; their mean lies on it.",
            REDUCTIONS["confidence"].formula,
            REDUCTIONS["confidence"].reference,
            _on("example-1", "reliability", calibrators=(), bin=9),
        ),
        Term(
            "top-label",
            "Top-label calibration",
            "Every predicted class is judged by itself: of the rows called cat with 90 %, 90 % should be cats.",
            sketches.top_label(),
            "Two diagrams side by side: the points of one lie above its diagonal, those of the other below.",
            REDUCTIONS["top-label"].formula,
            REDUCTIONS["top-label"].reference,
            _on("example-1", "classes", calibrators=()),
        ),
        Term(
            "class-wise",
            "Class-wise calibration",
            "The probability of every class is judged on all rows, also where another class is predicted; the errors "
            "are averaged over the classes.",
            sketches.class_wise(),
            "Three diagrams, one a class, each with points from low to high probability.",
            REDUCTIONS["class-wise"].formula,
            REDUCTIONS["class-wise"].reference,
            _on("imbalanced-forest", "estimators", notion="class-wise"),
        ),
        Term(
            "canonical",
            "Canonical calibration",
            "The whole list of probabilities is judged at once: among rows given the same list, every class should "
            "come true as often as the list says.",
            sketches.canonical(),
            "A triangle of three classes; arrows lead from what is said to what comes true.",
            REDUCTIONS["canonical"].formula,
            REDUCTIONS["canonical"].reference,
            _on("synthetic-three-class", "simplex"),
        ),
        Term(
            "bins",
            "Bins",
            "Groups of rows with similar probabilities, in which what is said is compared with how often it comes "
            "true; placed without looking at outcomes.",
            sketches.bins(),
            "An axis cut into five parts, with the rows of each stacked above it.",
            r"B_b = \{i : e_{b-1} \le s_i < e_b\}",
            live=_on("digits-mlp", "curves", about="sweep", calibrators=()),
        ),
        Term(
            "star-and-stem",
            "Star and stem",
            "The star shows how often the rows of a bin are right. Its stem reaches as far from the diagonal as the "
            "predicted classes are off on average.",
            sketches.star_and_stem(),
            "A star below the diagonal, and a stem from it down to a plus.",
            ReliabilityDiagram.formula,
            "P1 Fig. 1a",
            _on("imbalanced-forest", "reliability", calibrators=()),
        ),
        Term(
            "over-confident",
            "Over-confident",
            "Right less often than it says: below the diagonal. Above it the model is under-confident, right more "
            "often than it says.",
            sketches.over_confident(),
            "All points lie below the diagonal, further the more is said.",
            r"P\bigl(Y = c(X) \mid h(X)\bigr) < h(X)",
            live=_on("language-model", "reliability", calibrators=()),
        ),
        Term(
            "log-loss",
            "Log loss",
            "Minus the logarithm of the probability given to what came true, averaged over the rows: lower is better; "
            "being sure and wrong costs most.",
            sketches.log_loss(),
            "A curve that rises without end where the probability of what came true goes to zero.",
            ESTIMATORS["log-loss"].formula,
            ESTIMATORS["log-loss"].reference,
            _on("digits-naive-bayes", "calibrators", question="gains"),
        ),
        Term(
            "brier-score",
            "Brier score",
            "The squared distance between the probabilities and what came true, averaged over the rows: lower is "
            "better; no single row costs without bound.",
            sketches.brier_score(),
            "A curve that rises gently where the probability of what came true goes to zero.",
            ESTIMATORS["brier"].formula,
            ESTIMATORS["brier"].reference,
            _on("digits-naive-bayes", "calibrators", question="numbers"),
        ),
        Term(
            "calibrator",
            "Calibrator",
            "A map fitted on rows set aside, from what a model says to what it should have said: one number, a table "
            "of frequencies, or more.",
            sketches.calibrator(),
            "Arrows lead points from below the diagonal up to it.",
            r"p \mapsto g(p), \quad \text{temperature scaling: } g(p)_k = p_k^{1/T} \big/ \textstyle\sum_j p_j^{1/T}",
            "Guo et al. 2017",
            _on("imbalanced-forest", "calibrators"),
        ),
        Term(
            "promise",
            "Promise",
            "A bound on the error on new rows, true whatever the data are like in nine of ten fits; a worst case, "
            "usually far above the error that is measured.",
            sketches.promise(),
            "Ten bars of different heights; nine end below a dashed line, one ends above it.",
            r"P(\theta \le \varepsilon) \ge 1 - \alpha \text{ over the calibration rows}",
            "P1 Theorem 1; Gupta and Ramdas 2021",
            _on("synthetic-three-class", "calibrators", calibrators=(_BINNED,), question="promises"),
        ),
        Term(
            "prediction-file",
            "A file of predictions",
            "One row for each prediction: what the model said, as a score for every class or one confidence, and what "
            "came true.",
            sketches.prediction_file(),
            "A table; in each row bars of different lengths, and a filled square where what came true stands.",
            r"(p_{i1}, \dots, p_{iK}), \; y_i \qquad \text{or} \qquad s_i, \; z_i \in \{0, 1\}",
            live=_on("wine-logistic", "data"),
        ),
        Term(
            "logits",
            "Logits and probabilities",
            "Logits are scores of any size; softmax makes positive numbers of them that sum to 1, the probabilities "
            "which are judged here.",
            sketches.logits(),
            "Bars up and down from a line; an arrow leads to bars that stand on it and fill one height together.",
            r"p_k = e^{z_k} \big/ \textstyle\sum_j e^{z_j}",
            live=_on("digits-mlp", "data"),
        ),
        Term(
            "class-order",
            "Order of the classes",
            "Which score column is which class: where the file does not say it, names are sorted and numbers counted, "
            "and a wrong guess moves every number.",
            sketches.class_order(),
            "Columns above and classes below; two of the lines between them cross.",
            live=_on("synthetic-three-class", "data"),
        ),
        Term(
            "row-group",
            "Rows that belong together",
            "Rows of one patient, question or author err together: they count as one piece of evidence, and stay on "
            "one side of every split.",
            sketches.row_group(),
            "Dots in three rings of different sizes.",
            r"\widehat{\mathrm{Var}} = \textstyle\sum_g \bigl(\sum_{i \in g} r_i\bigr)^2",
            live=_on("patients", "data"),
        ),
        Term(
            "multicalibration",
            "Multicalibration",
            "Being calibrated within every group of rows, not only over all of them, where the errors of groups can "
            "cancel.",
            sketches.multicalibration(),
            "A large dot on a dashed line; two smaller ones, as far above it as below.",
            r"\max_{g,\, I} \; \Bigl| \tfrac{1}{n} \textstyle\sum_{i \in g,\; s_i \in I} (z_i - s_i) \Bigr|",
            "Hébert-Johnson et al. 2018",
            _on("language-model", "slices"),
        ),
        Term(
            "two-bin-error",
            "Averaged two-bin error",
            "The squared errors of two bins, averaged over every place where they could meet: no scores do better on "
            "average than the true chances.",
            sketches.two_bins(),
            "An upright parts a line; on one side a bar lies below it, on the other above; dashed uprights beside it.",
            ESTIMATORS["two-bin"].formula,
            ESTIMATORS["two-bin"].reference,
            _on("digits-mlp", "estimators"),
        ),
        Term(
            "row-weight",
            "Row weights",
            "How much each row counts, where some stand for more than others; unequal weights make the same number "
            "of rows worth less.",
            sketches.row_weight(),
            "A line of dots of very different sizes.",
            r"n_\text{eff} = \bigl(\textstyle\sum_i w_i\bigr)^2 \big/ \sum_i w_i^2",
            "Kish 1965",
            _on("breast-cancer-svm", "data"),
        ),
    )
}
"""By key; a notion of calibration has that of its reduction."""
