"""One sentence where an answer about one confidence and the verdict about all rows seem to disagree."""

from __future__ import annotations

from calib_core.diagrams.class_list import StandingOut
from calib_core.diagrams.local_accuracy import LocalAccuracy
from calib_core.inference.verdicts.estimate_line import EstimateLine
from calib_core.results.verdict_table import MISCALIBRATED
from calib_core.text import in_percent

OF_ALL = "the confidence of all rows, whatever class they predict"
"""What a verdict about confidence judges."""


def reconciled(
    local: LocalAccuracy,
    confidence: float,
    line: EstimateLine,
    classes: StandingOut | None = None,
) -> str:
    """Why the answer near ``confidence`` and the verdict can both be true; empty where they say the same.

    The answer is about the rows near one confidence; the verdict of ``line`` is about the error over all rows, in the
    top-label notion for each predicted class by itself. They seem to disagree where (1) the verdict is miscalibrated
    and no gap is shown near ``confidence``: the gap is at another one (``LocalAccuracy.elsewhere``), or in classes
    whose gaps cancel; (2) single ``classes`` stand out and a verdict about confidence is not miscalibrated:
    their gaps cancel, or are not shown to be large; (3) a gap is shown near ``confidence`` and the verdict is
    "within": few rows, or a small gap; (4) a gap is shown and the verdict cannot tell. The mean gap over all rows needs
    no such sentence: no verdict contradicts it (``inference.mean_gap``). Nothing is said where rows near
    ``confidence`` are too few to show anything.

    >>> from calib_core import Predictions
    >>> from calib_core.diagrams.local_accuracy import local_accuracy
    >>> from calib_core.inference import primary
    >>> right = [True] * 360 + [False] * 40 + [True] * 80 + [False] * 320
    >>> p = Predictions.from_confidence([0.9] * 400 + [0.6] * 400, right)
    >>> reconciled(local_accuracy(p), 0.9, primary(p).line)
    'Near 90 % no gap is shown; the verdict is about all rows: those that say 60 % are right 20 % of the time.'
    """
    answer, word = local.answer(confidence), line.verdict
    if word is None:
        return ""
    near = in_percent(answer.confidence if answer.near else answer.claimed)
    standing = 0 if classes is None else int(classes.stands_out.sum())
    if word == MISCALIBRATED:
        if answer.gap is not None or not answer.enough:
            return ""
        other = local.elsewhere(confidence)
        if other is not None:
            right = in_percent(other.right)
            return (
                f"Near {near} no gap is shown; the verdict is about all rows: those that say {other.range} are right "
                f"{right} of the time."
            )
        by_class = "; class by class there is, and the gaps cancel" if classes is not None and classes.cancel else ""
        return f"Near {near} no gap is shown over all classes together{by_class}. The verdict is about all rows."
    if classes is not None and standing and line.notion == "confidence":
        found = "One class stands out" if standing == 1 else f"{standing:,} classes stand out"
        if classes.cancel:
            return f"{found} by themselves; the verdict is about {OF_ALL}, where their gaps cancel."
        alone = "by itself" if standing == 1 else "by themselves"
        if word == "within":
            return f"{found} {alone}; the verdict is about {OF_ALL}, and there the error is within the tolerance."
        return f"{found} {alone}: an error is shown. Whether it is above the tolerance over all rows is not."
    if answer.gap is None:
        return ""
    if word == "within":
        return (
            f"The gap near {near} is shown by {in_percent(answer.share)} of the rows; the error over all rows is "
            "within the tolerance."
        )
    return f"The gap near {near} is shown by its rows; how the error over all rows compares with the tolerance is not."
