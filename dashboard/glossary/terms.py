"""Glossary terms: name, definition in one sentence, and a picture with a text for screen readers.

Popovers show these; the page of all terms adds the formula, who defined it, and a state of the dashboard to see it in.
"""

from __future__ import annotations

import re
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
    """Term with its definition, its picture as SVG, and a description of the picture.

    ``formula`` is in TeX, ``reference`` is its source, ``live`` is an example of its use. ``named`` is a regular
    expression of the technical names for it: a text that contains one needs the definition.
    """

    key: str
    title: str
    sentence: str
    picture: str
    alt: str
    formula: str = ""
    reference: str = ""
    live: Selection | None = None
    named: str = ""


def _on(demo: str, view: str, **choices: Any) -> Selection:
    """Return an example in a view."""
    return Selection().replace(data=f"demo:{demo}", view=view, **choices)


_BINNED = Recipe("CALIBRATORS", "top-label-hb")


TERMS = {
    term.key: term
    for term in (
        Term(
            "calibration-error",
            "Calibration error",
            "The average gap, over bins, between predicted probability and observed frequency. It is 0 if the "
            "probabilities mean what they say.",
            sketches.calibration_error(),
            "Points near a diagonal, with the distance of each from it.",
            ESTIMATORS["ece"].formula,
            ESTIMATORS["ece"].reference,
            _on("digits-naive-bayes", "estimators"),
        ),
        Term(
            "noise-floor",
            "Noise floor",
            "With the same predictions, 95 % of perfectly calibrated models show, by chance, a raw error below the "
            "noise floor. An error below it can be chance.",
            sketches.noise_floor(),
            "A hatched bar from zero; nineteen of twenty dots are within its length, one is beyond.",
            r"\inf\bigl\{t : P(T^* \le t) \ge 0.95\bigr\}, \quad z^*_i \sim \mathrm{Bernoulli}(s_i)",
            "Bröcker and Smith 2007",
            _on("wine-logistic", "overview", calibrators=()),
            named=r"[Nn]oise floor",
        ),
        Term(
            "raw-value",
            "Raw value",
            "The result of an error's formula. Chance makes it larger, most where rows are few. The estimate is "
            "corrected for this.",
            sketches.raw_value(),
            "An interval with its point, and a tick to the right of it; an arrow leads from the tick to the point.",
            live=_on("wine-logistic", "estimators", calibrators=()),
        ),
        Term(
            "held-out-rows",
            "Held-out rows (test rows)",
            "Rows on which no calibrator was fitted. On the calibration rows, to which it was fitted, a calibrator "
            "looks better than it is.",
            sketches.held_out_rows(),
            "Two rows of dots above a dashed line, and two of another color below it.",
            live=_on("digits-mlp", "data"),
        ),
        Term(
            "tolerance",
            "Tolerance",
            "The largest error that does not matter to you. If the interval is below it, the verdict is within "
            "tolerance; "
            "if above, miscalibrated; if on both sides, undecided.",
            sketches.tolerance(),
            "A dashed line: one interval is below it, one includes it, one is above it.",
            r"\text{within: } u < \varepsilon \qquad \text{miscalibrated: } \ell > \varepsilon",
            live=_on("imbalanced-forest", "overview"),
        ),
        Term(
            "interval",
            "Interval",
            f"The range of errors that these rows support. It contains the true error {percent(LEVEL, 0)} of the time. "
            "More rows make it narrower.",
            sketches.interval(),
            "Ten intervals in a column; nine include the dashed line, one misses it.",
            rf"P(\ell \le \theta \le u) \approx {LEVEL}",
            live=_on("digits-mlp", "estimators"),
        ),
        Term(
            "p-value",
            "Probability value (p-value)",
            "The probability that a calibrated model with these predictions would show an error at least as large. A "
            "small p is evidence of an error, not of its size.",
            sketches.p_value(),
            "A hill of errors of calibrated models; the part to the right of the observed error is filled.",
            r"p = P(T^* \ge T), \quad z^*_i \sim \mathrm{Bernoulli}(s_i)",
            "Bröcker and Smith 2007",
            _on("wine-logistic", "estimators"),
            named=r"\bp-value|\bp:|\bp \(",
        ),
        Term(
            "multiple-testing",
            "Correction for multiple testing",
            "On average, one of twenty tests of a calibrated model is significant by chance. Holm's correction limits "
            "the "
            "chance of any false alarm; Benjamini-Hochberg's, the share of false alarms.",
            sketches.multiple_testing(),
            "Twenty bars; one exceeds the lower, dashed limit, none the upper one.",
            r"p_{(j)} \le 0.05 \big/ (m - j + 1) \text{ for the } j \text{ smallest of } m",
            "Holm 1979; Benjamini and Hochberg 1995",
            _on("language-model", "slices"),
            named=r"Holm|Benjamini|[Mm]ultiple testing",
        ),
        Term(
            "spiegelhalter",
            "Spiegelhalter's test",
            "Compares the Brier score with the one expected if every predicted probability were true. It needs no "
            "bins, and it also rejects scores that are too good.",
            sketches.spiegelhalter(),
            "A hill of Brier scores of calibrated models, both ends filled; the model's score is in one of them.",
            r"z = \frac{\sum_i (z_i - s_i)(1 - 2 s_i)}{\sqrt{\sum_i (1 - 2 s_i)^2 s_i (1 - s_i)}}",
            "Spiegelhalter 1986",
            _on("digits-mlp", "tests"),
            named=r"Spiegelhalter",
        ),
        Term(
            "event",
            "Event",
            "The one of two classes whose predicted probability is judged as a risk, such as “died”, “yes” or "
            "“1”. You can choose the other class instead.",
            sketches.event(),
            "Eight rows from low to high risk; four filled dots where the event happened, four rings where it did not.",
            REDUCTIONS["event"].formula,
            REDUCTIONS["event"].reference,
            _on("breast-cancer-svm", "overview"),
        ),
        Term(
            "in-the-large",
            "Calibration in the large",
            "The mean predicted risk, compared with the observed frequency of the event. It shows whether risks "
            "are right on average; errors of opposite sign cancel.",
            sketches.in_the_large(),
            "A vertical line at the mean predicted risk; the observed frequency, with its interval, is to the "
            "left of it.",
            r"\bar s = \tfrac{1}{n} \textstyle\sum_i s_i \quad \text{and} \quad \bar z = \tfrac{1}{n} \sum_i z_i",
            "Van Calster et al. 2019",
            _on("breast-cancer-svm", "overview"),
        ),
        Term(
            "observed-expected",
            "Observed : expected",
            "The number of observed events divided by the sum of the predicted risks: 1 if risks are right on "
            "average, below 1 if they are too high.",
            sketches.observed_expected(),
            "Two columns: the events observed are half of the events expected.",
            r"\mathrm{O{:}E} = \textstyle\sum_i z_i \big/ \sum_i s_i",
            "Van Calster et al. 2019",
            _on("breast-cancer-svm", "overview"),
        ),
        Term(
            "calibration-intercept",
            "Calibration intercept",
            "The shift of all log-odds that makes the mean risk right: 0 if calibrated, below 0 if risks are too high.",
            sketches.intercept(),
            "A line below the diagonal and parallel to it.",
            r"\textstyle\sum_i \sigma\bigl(\operatorname{logit} s_i + a\bigr) = \sum_i z_i",
            "Cox 1958; Van Calster et al. 2019",
            _on("breast-cancer-svm", "overview"),
        ),
        Term(
            "calibration-slope",
            "Calibration slope",
            "The factor by which log-odds of risks should be multiplied: 1 if calibrated. Below 1, risks are too "
            "spread out: high ones too high, low ones too low.",
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
            "median (E50) and 90 % quantile (E90) over the rows.",
            sketches.smooth_gap(),
            "A curve below the diagonal; thin lines show its distance at nine risks.",
            r"\mathrm{ICI} = \tfrac{1}{n} \textstyle\sum_i \bigl| \hat c(s_i) - s_i \bigr|",
            "Austin and Steyerberg 2019",
            _on("breast-cancer-svm", "reliability"),
            named=r"\bICI\b|\bE50\b|\bE90\b",
        ),
        Term(
            "effective-rows",
            "Effective sample size",
            "The number of independent rows of equal weight that carry as much information as these. It matters "
            "if weights differ or rows are grouped.",
            sketches.effective_rows(),
            "Eleven small dots; an arrow leads to three larger ones.",
            r"n_\text{eff} = p (1 - p) \big/ \widehat{\mathrm{Var}}(\hat p)",
            "Kish 1965",
            _on("patients", "overview"),
            named=r"[Ee]ffective (?:sample size|rows)",
        ),
        Term(
            "confidence",
            "Confidence calibration",
            "Of all predictions with confidence 90 %, 90 % should be right, whatever class they predict. Errors "
            "of different classes can cancel.",
            sketches.confidence(),
            "Two hollow points, one above and one below the diagonal; their mean is on it.",
            REDUCTIONS["confidence"].formula,
            REDUCTIONS["confidence"].reference,
            _on("example-1", "reliability", calibrators=(), bin=9),
        ),
        Term(
            "top-label",
            "Top-label calibration",
            "Confidence is judged separately for every predicted class: of the rows predicted to be cats with 90 "
            "%, 90 % should be cats.",
            sketches.top_label(),
            "Two diagrams side by side: the points of one are above its diagonal, those of the other below.",
            REDUCTIONS["top-label"].formula,
            REDUCTIONS["top-label"].reference,
            _on("example-1", "classes", calibrators=()),
            named=r"[Tt]op-label (?!histogram)",
        ),
        Term(
            "class-wise",
            "Class-wise calibration",
            "The probability of every class is judged on all rows, even if another class is predicted. The errors "
            "are averaged over the classes.",
            sketches.class_wise(),
            "Three diagrams, one per class, each with points from low to high probability.",
            REDUCTIONS["class-wise"].formula,
            REDUCTIONS["class-wise"].reference,
            _on("imbalanced-forest", "estimators", notion="class-wise"),
            named=r"[Cc]lass-wise",
        ),
        Term(
            "canonical",
            "Canonical calibration",
            "The whole vector of probabilities is judged at once: among rows with the same vector, every class "
            "should occur as often as predicted.",
            sketches.canonical(),
            "A triangle of three classes; arrows lead from the predictions to the observed frequencies.",
            REDUCTIONS["canonical"].formula,
            REDUCTIONS["canonical"].reference,
            _on("synthetic-three-class", "simplex"),
            named=r"[Cc]anonical",
        ),
        Term(
            "bins",
            "Bins",
            "Groups of rows with similar predicted probabilities, in which the mean prediction is compared with "
            "the observed frequency. Their edges do not depend on the outcomes.",
            sketches.bins(),
            "An axis cut into five parts, with the rows of each stacked above it.",
            r"B_b = \{i : e_{b-1} \le s_i < e_b\}",
            live=_on("digits-mlp", "curves", about="sweep", calibrators=()),
        ),
        Term(
            "star-and-stem",
            "Star and stem",
            "The star shows the accuracy in a bin. A stem to a strong plus shows that its predicted classes differ "
            "by more than noise; otherwise the plus is pale.",
            sketches.star_and_stem(),
            "A star below the diagonal, and a stem from it down to a plus.",
            ReliabilityDiagram.formula,
            "P1 Fig. 1a",
            _on("imbalanced-forest", "reliability", calibrators=()),
        ),
        Term(
            "overconfident",
            "Overconfident",
            "Accuracy is lower than confidence, so points are below the diagonal. If accuracy is higher, the model is "
            "underconfident.",
            sketches.over_confident(),
            "All points are below the diagonal, further so at higher confidence.",
            r"P\bigl(Y = c(X) \mid h(X)\bigr) < h(X)",
            live=_on("language-model", "reliability", calibrators=()),
            named=r"[Oo]verconfident",
        ),
        Term(
            "log-loss",
            "Log loss",
            "Minus the logarithm of the probability of the true class, averaged over the rows. Lower is better; "
            "confident errors cost most.",
            sketches.log_loss(),
            "A curve that rises without limit as the probability of the true class goes to zero.",
            ESTIMATORS["log-loss"].formula,
            ESTIMATORS["log-loss"].reference,
            _on("digits-naive-bayes", "calibrators", question="gains"),
        ),
        Term(
            "brier-score",
            "Brier score",
            "The squared distance between the probabilities and the outcome, averaged over the rows. Lower is "
            "better; the cost of a single row is bounded.",
            sketches.brier_score(),
            "A curve that rises gently as the probability of the true class goes to zero.",
            ESTIMATORS["brier"].formula,
            ESTIMATORS["brier"].reference,
            _on("digits-naive-bayes", "calibrators", question="numbers"),
        ),
        Term(
            "auroc",
            "AUROC",
            "The probability that a row with the event has a higher risk than a row without it. It is 0.5 if risks "
            "are uninformative.",
            sketches.auroc(),
            "A curve above the diagonal of a square, with the area below it filled.",
            r"P(s_i > s_j \mid z_i = 1, z_j = 0) + \tfrac12 P(s_i = s_j \mid z_i = 1, z_j = 0)",
            "DeLong et al. 1988",
            _on("hospital-risk", "overview"),
        ),
        Term(
            "calibrator",
            "Calibrator",
            "A function fitted on calibration rows that turns predicted probabilities into better ones. It can have "
            "one parameter, a table of frequencies, or more.",
            sketches.calibrator(),
            "Arrows lead points from below the diagonal up to it.",
            r"p \mapsto g(p), \quad \text{temperature scaling: } g(p)_k = p_k^{1/T} \big/ \textstyle\sum_j p_j^{1/T}",
            "Guo et al. 2017",
            _on("imbalanced-forest", "calibrators"),
        ),
        Term(
            "blend",
            "Blend of calibrators",
            "The weighted average of the probabilities that several calibrators return. Those that predict better have "
            "larger weights.",
            sketches.blend(),
            "Lines lead from three dots of different sizes to one dot.",
            r"p \mapsto \textstyle\sum_j w_j \, g_j(p), \quad w_j \ge 0, \; \sum_j w_j = 1",
            "Yao et al. 2018",
            _on("hospital-risk", "calibrators"),
            named=r"\b[Bb]lend\b",
        ),
        Term(
            "log-odds",
            "Log-odds",
            "The logarithm of the odds, p / (1 - p): 0 at a probability of 50 %, without limits on both sides. Many "
            "calibrators shift or scale the log-odds.",
            sketches.log_odds(),
            "A rising curve, flat at both ends and steep in the middle, between two dashed lines.",
            r"\operatorname{logit} p = \log \frac{p}{1 - p}",
            "Cox 1958",
            _on("breast-cancer-svm", "calibrators"),
            named=r"[Ll]og-odds",
        ),
        Term(
            "net-benefit",
            "Net benefit",
            "Rows with the event that are acted on, minus a weighted number of rows acted on needlessly, as a share of "
            "all rows. Acting on no row has 0.",
            sketches.net_benefit(),
            "A curve falls to a level line; a dashed line falls below it earlier.",
            r"\frac{\text{true positives}}{n} - \frac{\text{false positives}}{n} \cdot \frac{t}{1 - t}",
            "Vickers and Elkin 2006",
            _on("hospital-risk", "overview"),
            named=r"[Nn]et benefit",
        ),
        Term(
            "slice",
            "Slice",
            "A subgroup: the rows that share a value, or a range of values, of a metadata column. A model can be right "
            "on average and wrong in a slice.",
            sketches.rows_of_a_slice(),
            "Rows of dots; a box encloses the dots of another color.",
            live=_on("hospital-risk", "slices"),
        ),
        Term(
            "promise",
            "Guarantee",
            "An upper bound on the error on new rows. For any data, it is valid in at least nine of ten fits. It is "
            "usually far above the measured error.",
            sketches.promise(),
            "Ten bars of different heights; nine end below a dashed line, one ends above it.",
            r"P(\theta \le \varepsilon) \ge 1 - \alpha \text{ over the calibration rows}",
            "P1 Theorem 1; Gupta and Ramdas 2021",
            _on("synthetic-three-class", "calibrators", calibrators=(_BINNED,), question="promises"),
        ),
        Term(
            "prediction-file",
            "Predictions file",
            "One row per prediction: the model's scores, one per class or a single confidence, and the true outcome.",
            sketches.prediction_file(),
            "A table: each row has bars of different lengths and a filled square at the true class.",
            r"(p_{i1}, \dots, p_{iK}), \; y_i \qquad \text{or} \qquad s_i, \; z_i \in \{0, 1\}",
            live=_on("wine-logistic", "data"),
        ),
        Term(
            "logits",
            "Logits and probabilities",
            "Logits are scores of any size. Softmax turns them into positive numbers that sum to 1: the "
            "probabilities that are judged here.",
            sketches.logits(),
            "Bars above and below a line; an arrow leads to bars above the line whose heights add up to one.",
            r"p_k = e^{z_k} \big/ \textstyle\sum_j e^{z_j}",
            live=_on("digits-mlp", "data"),
        ),
        Term(
            "class-order",
            "Order of the classes",
            "Which score column belongs to which class. If the file does not say, columns are assumed to "
            "follow the sorted class names. If that is wrong, every number is wrong.",
            sketches.class_order(),
            "Columns on top and classes below; two of the connecting lines cross.",
            live=_on("synthetic-three-class", "data"),
        ),
        Term(
            "row-group",
            "Grouped rows",
            "Rows of one patient, question or author can have similar errors. They are not counted as independent, and "
            "are on the same side of every split.",
            sketches.row_group(),
            "Dots in three rings of different sizes.",
            r"\widehat{\mathrm{Var}} = \textstyle\sum_g \bigl(\sum_{i \in g} r_i\bigr)^2",
            live=_on("patients", "data"),
        ),
        Term(
            "multicalibration",
            "Multicalibration",
            "Calibration within every group of rows. Over all rows, the errors of groups can cancel.",
            sketches.multicalibration(),
            "A large dot on a dashed line; two smaller ones at equal distances above and below it.",
            r"\max_{g,\, I} \; \Bigl| \tfrac{1}{n} \textstyle\sum_{i \in g,\; s_i \in I} (z_i - s_i) \Bigr|",
            "Hébert-Johnson et al. 2018",
            _on("language-model", "slices"),
            named=r"[Mm]ulticalibration",
        ),
        Term(
            "two-bin-error",
            "Averaged two-bin error",
            "The scores are divided at an edge; the squared gaps of the two bins are averaged over all edges. True "
            "probabilities do best on average.",
            sketches.two_bins(),
            "A vertical line divides an axis; on one side a bar is below it, on the other above; dashed lines "
            "show other edges.",
            ESTIMATORS["two-bin"].formula,
            ESTIMATORS["two-bin"].reference,
            _on("digits-mlp", "estimators"),
        ),
        Term(
            "row-weight",
            "Row weights",
            "How much each row counts, if some represent more cases than others. Unequal weights reduce the "
            "effective sample size.",
            sketches.row_weight(),
            "A row of dots of very different sizes.",
            r"n_\text{eff} = \bigl(\textstyle\sum_i w_i\bigr)^2 \big/ \sum_i w_i^2",
            "Kish 1965",
            _on("breast-cancer-svm", "data"),
        ),
    )
}
"""Terms by key; a notion of calibration has that of its reduction."""


def named_in(*texts: str) -> tuple[str, ...]:
    """Return the keys of the terms that texts mention by a technical name, in the order of the glossary.

    >>> named_in("Holm: the probability of any false alarm is at most 5 %.", "Noise floor: 95 % of models are below.")
    ('noise-floor', 'multiple-testing')
    """
    text = "\n".join(texts)
    return tuple(key for key, term in TERMS.items() if term.named and re.search(term.named, text))
