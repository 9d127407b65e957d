"""What is said around lines of estimates: the same words on screen, in reports and by commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from string import ascii_lowercase
from typing import get_args

from calib_core import Predictions, Recipe, estimate
from calib_core.binning import bins_said
from calib_core.defaults import LEVEL
from calib_core.estimators import takes_bins
from calib_core.inference import EstimateLine, PrimaryLine, each_alone, primary, unbinned_bound
from calib_core.inference.number_words import at_level, percent
from calib_core.inference.primary import ESTIMATOR as PRIMARY
from calib_core.inference.unbinned import Assumption

AT_LEVEL = f"{at_level(LEVEL)} interval"
VALUE = (
    "Value: what the estimator's formula says. Estimate: what the interval is about, which lies in it. A value above "
    "its own interval is no mistake: noise pushes up the value, not the interval."
)
FLOOR = (
    "Noise floor: the 95 % point of what perfectly calibrated models with these predictions show; p: the share of them "
    "that show as much as the value, or more."
)
WORDS = (
    "Within: the upper end of the interval is below the tolerance. Miscalibrated: its lower end is above. Too close to "
    "call: the interval holds the tolerance. Too few rows to tell: it does, and would for most perfectly calibrated "
    "models with these predictions; that is known before any outcome is seen."
)
STAR = "*: a rough guide; such cases were not simulated."
ASSUMPTIONS: tuple[Assumption, ...] = get_args(Assumption)
SLOPE = 1.0
"""The most that the gap between claim and truth is assumed to change per unit of score; no plot has a say in it."""


def headline(first: PrimaryLine) -> str:
    """The word, and what it rests on: the estimate with its interval."""
    line = first.line
    if line.verdict is None:
        return f"could not run ({line.note})"
    ends = f"{at_level(line.level)} interval {line.interval}"
    return f"{line.verdict}: {line.title} {line.written(line.point)}, {ends}"


def deciding(
    predictions: Predictions, notion: str | None, estimator: str, scheme: Recipe | None, eps: float, level: float
) -> PrimaryLine:
    """The primary line, or the line of the notion and the estimator that were asked for, which then decides."""
    reason = f"Judged by {notion}, as asked for."
    if notion is None:
        first = primary(predictions, eps, level, None if scheme is None else scheme.build())
        if estimator == PRIMARY:
            return first
        notion, reason = first.notion, first.reason
    bins = scheme.build() if scheme is not None and takes_bins(estimator) else None
    return PrimaryLine(notion, reason, estimate(predictions, notion, estimator, bins), eps, level)


def details(first: PrimaryLine) -> tuple[str, ...]:
    """What stands behind a verdict, a sentence each: why, how it was judged, what the formula says."""
    line = first.line
    return (
        first.sentence,
        *below([line]),
        f"Bins: {line.bins}. By its formula the {line.title} is {line.written(line.value)}: noise pushes up a plug-in "
        "error, and the interval takes that into account.",
    )


def marked(claims: Iterable[tuple[str, bool | None]]) -> tuple[list[str], tuple[str, ...]]:
    """A mark for every interval of a table, and the sentences below it that say what the marks mean, each once.

    ``claims`` hold what an interval is about (empty where there is none) and whether it is tested. A letter tells
    intervals about different things apart, a star marks a rough guide.

    >>> marked([("the error in these bins", True)])
    ([''], ('Intervals are about the error in these bins.',))
    >>> marked([("one", True), ("", None), ("two", False)])
    (['a', '', 'b*'], ('Intervals are about (a) one; (b) two.', '*: a rough guide; such cases were not simulated.'))
    """
    every = list(claims)
    abouts = list(dict.fromkeys(about for about, _ in every if about))
    letters = {about: ascii_lowercase[i % 26] * (i // 26 + 1) for i, about in enumerate(abouts) if len(abouts) > 1}
    marks = [letters.get(about, "") + ("*" if about and not tested else "") for about, tested in every]
    told = "; ".join(f"({letters[about]}) {about}" if letters else about for about in abouts)
    star = any("*" in mark for mark in marks)
    return marks, (*([f"Intervals are about {told}."] if told else []), *([STAR] if star else []))


def marks(lines: Iterable[EstimateLine]) -> list[str]:
    """The marks of lines that stand in one table."""
    return marked((line.about, line.tested) for line in lines)[0]


def below(lines: Sequence[EstimateLine]) -> tuple[str, ...]:
    """What has to be said below a table of lines: how many looks it is, and what its intervals are about."""
    about = marked((line.about, line.tested) for line in lines)[1]
    return (*filter(None, [each_alone(lines)]), *about)


def without_bins(predictions: Predictions, notion: str, level: float = LEVEL) -> tuple[str, ...]:
    """How large the error can be with what bins do not see: under each assumption a sentence, beside the bins' own end.

    >>> rows = Predictions([[0.9, 0.1]] * 100, [0] * 90 + [1] * 10)
    >>> [text.partition(",")[0] for text in without_bins(rows, "confidence")][1]
    'If rows with higher scores are never less often right'
    """
    found = []
    for assumption in ASSUMPTIONS:
        made = unbinned_bound(predictions, notion, assumption, SLOPE, level=(1 + level) / 2)
        found.append(f"{made.sentence} Of it {percent(made.binned)} is the upper end in {bins_said(made.bins)} bins.")
    return (*found, "Both are assumptions, made before any plot was looked at; nothing here tests them.")


def caption(described: Callable[..., object]) -> str:
    """The docstring of a public function as running text: what a table of it is called by, word for word."""
    return " ".join((inspect.getdoc(described) or "").partition("\n>>>")[0].replace("``", "").split())


VALUES_DIFFER = (
    "The difference is the one that its interval is about; that of two plug-in values, which noise pushes up, can lie "
    "outside."
)
