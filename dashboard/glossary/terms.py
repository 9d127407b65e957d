"""Terms: what each is called, what it is in a sentence, and a picture of it with words for those who do not see it."""

from __future__ import annotations

from dataclasses import dataclass

from calib_core._text import percent
from calib_core.defaults import LEVEL
from dashboard.glossary import sketches


@dataclass(frozen=True)
class Term:
    """A word, its sentence, its picture as SVG, and what is seen on it."""

    key: str
    title: str
    sentence: str
    picture: str
    alt: str


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
        ),
        Term(
            "noise-floor",
            "Noise floor",
            "What a perfectly calibrated model with these predictions shows by chance: 95 % of such models stay within "
            "it.",
            sketches.noise_floor(),
            "A hatched bar from zero; nineteen of twenty dots lie within its length, one beyond.",
        ),
        Term(
            "tolerance",
            "Tolerance",
            "The error you could live with: an interval below it is within tolerance, one above it miscalibrated, one "
            "across it decides nothing.",
            sketches.tolerance(),
            "A dashed line; one interval ends before it, one lies across it, one lies beyond it.",
        ),
        Term(
            "interval",
            "Interval",
            f"Where the error lies as far as these rows can tell: made to hold it {percent(LEVEL, 0)} of the time. "
            "More rows make it narrower.",
            sketches.interval(),
            "Ten intervals one below the other; nine hold the dashed line, one misses it.",
        ),
        Term(
            "confidence",
            "Confidence calibration",
            "Of all rows that say 90 %, 90 % should be right, whatever class they predict. Errors of different classes "
            "can cancel here.",
            sketches.confidence(),
            "Two hollow points, one above and one below the diagonal; their mean lies on it.",
        ),
        Term(
            "top-label",
            "Top-label calibration",
            "Every predicted class is judged by itself: of the rows called cat with 90 %, 90 % should be cats.",
            sketches.top_label(),
            "Two diagrams side by side: the points of one lie above its diagonal, those of the other below.",
        ),
        Term(
            "class-wise",
            "Class-wise calibration",
            "The probability of every class is judged on all rows, also where another class is predicted; the errors "
            "are averaged over the classes.",
            sketches.class_wise(),
            "Three diagrams, one a class, each with points from low to high probability.",
        ),
        Term(
            "canonical",
            "Canonical calibration",
            "The whole list of probabilities is judged at once: among rows given the same list, every class should "
            "come true as often as the list says.",
            sketches.canonical(),
            "A triangle of three classes; arrows lead from what is said to what comes true.",
        ),
        Term(
            "bins",
            "Bins",
            "Groups of rows with similar probabilities, in which what is said is compared with how often it comes "
            "true; placed without looking at outcomes.",
            sketches.bins(),
            "An axis cut into five parts, with the rows of each stacked above it.",
        ),
        Term(
            "star-and-stem",
            "Star and stem",
            "The star shows how often the rows of a bin are right. Its stem reaches as far from the diagonal as the "
            "predicted classes are off on average.",
            sketches.star_and_stem(),
            "A star below the diagonal, and a stem from it down to a plus.",
        ),
        Term(
            "over-confident",
            "Over-confident",
            "Right less often than it says: below the diagonal. Above it the model is under-confident, right more "
            "often than it says.",
            sketches.over_confident(),
            "All points lie below the diagonal, further the more is said.",
        ),
        Term(
            "log-loss",
            "Log loss",
            "Minus the logarithm of the probability given to what came true, averaged over the rows: lower is better; "
            "being sure and wrong costs most.",
            sketches.log_loss(),
            "A curve that rises without end where the probability of what came true goes to zero.",
        ),
        Term(
            "brier-score",
            "Brier score",
            "The squared distance between the probabilities and what came true, averaged over the rows: lower is "
            "better; no single row costs without bound.",
            sketches.brier_score(),
            "A curve that rises gently where the probability of what came true goes to zero.",
        ),
    )
}
"""By key; a notion of calibration has that of its reduction."""
