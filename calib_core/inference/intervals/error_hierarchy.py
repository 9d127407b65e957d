"""Intervals that respect the order of errors: none is below that of an error it can never be smaller than."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

import numpy as np

from calib_core._base.arrays import Codes, Float64s, Floats
from calib_core.binning.base import BinningScheme
from calib_core.binning.groups import Groups
from calib_core.binning.interval_schemes import EqualWidth
from calib_core.claims.binary_claims import Claims
from calib_core.claims.exact_sums import Moments
from calib_core.defaults import LEVEL, SEED
from calib_core.estimators.base import Question, error_scale, estimate, judged_notion
from calib_core.estimators.binned import Binned
from calib_core.inference.intervals.binned_errors import InBins
from calib_core.inference.intervals.bins_of_interval import OF_BINS, TOP_LABEL, facts_of, target
from calib_core.inference.intervals.elementary import OF_ABOVE, alone, raised
from calib_core.inference.intervals.event_rows import EventRows
from calib_core.inference.intervals.inversion import CellGaps, Ends, binomial_null
from calib_core.inference.intervals.larger_samples import Power
from calib_core.inference.intervals.mean_gap import (
    EventGap,
    Gap,
    GapSums,
    MeanGap,
    OtherClass,
    joint_ends,
    mean_of_gaps,
)
from calib_core.inference.intervals.observed_expected import EventEnds, grouped_p_value
from calib_core.inference.intervals.simulated_domain import in_bins
from calib_core.inference.noise.noise_floor import CLASS_WISE, CLOSE, EVENT, OF_ONE_STRATUM, mirrored, noise_floor
from calib_core.inference.noise.outcome_draws import NULL_DRAWS
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.predictions.row_groups import made_for_single_rows
from calib_core.reductions.base import Reduction, claims_in, scope
from calib_core.reductions.class_wise import Event
from calib_core.reductions.top import Confidence, TopLabel
from calib_core.results.uncertainty import Interval

CONFIDENCE = "confidence"

_ABOVE = (2, "max", OF_BINS)
"""Orders of errors that are never smaller than the mean absolute error in the same bins."""
_SQUARE: Final = 2
_LARGEST: Final = "max"
"""Order of the largest error, which is never smaller than the root mean square of the same bins."""
_OWN = {_SQUARE: 0.8 * OF_ABOVE, _LARGEST: 0.2 * OF_ABOVE, OF_BINS: OF_ABOVE}
"""Shares of the miss probability for these errors' own lower ends: the largest error also uses that of the root."""
_ECE, _RMSCE = "ECE", "RMSCE"
_FEWEST = 20.0
"""Least number of rows for which samples are drawn."""
_IN_BINS = 0.25
"""Share of the miss probability for a line in bins, where the mean gap uses 1."""
GIVEN = ", given these predictions"
"""End of what an interval is about; errors that it does not measure follow."""
_MIXED: Final = 2.0
"""Ratio of variances, drawn at the mean score to the scores' own, above which a cell is split."""
_OR_OF = ", or the {} in its own bins if that is larger"
_OR_TOGETHER = ", or over all classes pooled if that is larger"
_OR_EVENT = ", or over all classes pooled, or of the event, whichever is largest"
_OR_CONFIDENCE = ", or of the confidence, which is larger here"
_WHERE = r"^the (?:line's )?error ((?:over|in) .+?)(, classes of few rows pooled)?"
_LARGEST_OF = (
    (
        _WHERE + _OR_EVENT,
        r"the largest of three errors: that \1, that over all classes together, and that of the event\2",
        r"This is the largest of three errors: that \1, that over all classes together, and that of the event\2.",
    ),
    (
        _WHERE + _OR_CONFIDENCE,
        r"the error of the confidence, which is estimated to be larger than that of the risk \1\2",
        r"The error of the risk was estimated twice: from the risk \1\2, and from the confidence (the probability of "
        r"the predicted class). Apart from chance, neither estimate exceeds the true error. So the larger one is "
        r"given: that from the confidence.",
    ),
)
"""Descriptions of the largest of several errors, the same for sentences, and a sentence of its own."""
_GAP, _OTHER_GAP = "mean gap", "mean gap of the confidence"
_GAPS: WeakKeyDictionary[Predictions, dict[Reduction | None, Gap]] = WeakKeyDictionary()
"""Mean gaps by notion."""
_JOINT: WeakKeyDictionary[Predictions, dict[Hashable, tuple[list[Float64s], Float64s]]] = WeakKeyDictionary()
"""Cached results of calibrated draws: every line of the same predictions needs them."""


class Chain:
    """The lines about the same claims, from the mean gap up, and the common level of their lower ends.

    For the predicted class: mean gap <= error of confidence <= error class by class (top-label). For a class or an
    event: mean gap <= error in bins. For all classes (class-wise): mean over classes of their mean gaps <= error in
    the cells. In nested bins that is an order of the true errors. Groups of rows need not be nested in the bins of all
    classes combined. The error class by class is therefore defined as the larger of the two.

    With probabilities of two classes, the errors of both classes, and so their mean, equal that of the event in
    mirrored bins. Their line is the event's. A claim of confidence c in the less likely class is one of risk 1 - c. The
    error of confidence averages those of two risks, c and 1 - c, with opposite signs. It is never larger than the
    event's if a bin of confidence is a bin of the risk and its mirror. A bin of risks around 1/2, and groups, are not
    of this kind, so the event's error is defined as the larger of the two. The error class by class, which splits the
    event's bins at 1/2, is the largest of the three. No point of a mean over more classes is below the mean of the
    points of their mean gaps. Ends:

        upper  the largest of the lines' own upper ends, each missing with (1 - level)/2,
        lower  the largest of the lines' own lower ends, line j's at the chance w_j a to miss,
        point  the largest of the lines' own points.

    w_j is 1 for the mean gap (of the event if there is one) and a quarter for every other line. The mean gap is the
    main error of most models, and readers test it themselves. Testing bins too should therefore cost it little. For all
    classes (class-wise) each line has 1. The chance a is ``tail``: the value at which the smallest p_j/w_j is at most a
    in a share r = 0.9 (1 - level)/2 of calibrated draws. For a draw, p_j is the share of draws that show as much in
    line j. The value a is at least r over the sum of all w_j, and at most r. It depends only on scores, and every line
    of the same predictions uses it. No end and no point of a line is therefore below that of a line that it dominates.
    Their lower ends miss jointly as often as one may.

    Some errors (root mean square, largest) are never smaller than the mean absolute one of the same bins. Their lower
    end is the larger of that one's and their own. For their own ends r leaves a tenth of (1 - level)/2: four fifths for
    the root mean square, one fifth for the largest error. The largest error is never smaller than either (max >= root
    mean square >= mean) and uses both; its p is at most theirs. If one of them is judged in other bins, ``about``
    describes it. Lines share the level with those in the same bins. Therefore p-values can differ a little between 15
    equal bins that were requested and 15 by default: by default the classes are judged in groups.

    References: min-p adjustment Westfall & Young 1993, Resampling-Based Multiple Testing, §2.3; with weights
    Genovese, Roeder & Wasserman 2006, Biometrika 93(3).
    """

    def __init__(self, bins: InBins) -> None:
        self._asked = self._bins = bins
        self._notion = notion_of(bins.question)
        self._event = self._event_of_two()
        if self._event is not None and self._notion in (CLASS_WISE, *OF_ONE_STRATUM):
            self._bins, self._notion = self._event, EVENT

    @classmethod
    def of(cls, question: Question, random_state: int) -> Chain:
        """The lines that a question about a binned error belongs to; interval and verdict share them."""
        key = cls, random_state
        if key not in question.computed:
            question.computed[key] = cls(InBins(question, random_state))
        return cast(Chain, question.computed[key])

    def interval(self, estimator: object, level: float) -> Interval:
        """The interval of an estimator in these bins; for mean absolute errors it includes all lines below.

        A root mean square error, and the largest error, cannot be smaller than the mean absolute error (Jensen). So
        their point and ends are at least as large, and their p-value at most as large.
        """
        of = target(estimator)
        assert of is not None
        order, scale = of
        # The largest error of a bin over its classes is of all classes, whatever errors those have alone.
        own = self._asked if order == OF_BINS else self._bins
        if order in _ABOVE:
            return self._raised(own, estimator, level, scale)
        if order != 1 or not self.lines:
            return own.interval(estimator, level)
        low, point, high = map(scale, self.ends(level))
        tested = in_bins(self._bins.facts, order, level)
        return Interval(low, high, level, self._bins.method(order), tested, self.about, point, self.p_value, self.p_of)

    def _raised(self, bins: InBins, estimator: object, level: float, scale: Callable[[float], float]) -> Interval:
        """An interval whose point and ends are no smaller than those of the errors it is never smaller than."""
        own, below, of = bins.interval(estimator, level), self._mean_absolute, target(estimator)
        if below is None or of is None:
            return own
        least, p, p_of = tuple(map(scale, below.ends(level))), below.p_value, below.p_of or _ECE
        others = {_ECE: below._bins}
        if of[0] == _LARGEST and (square := self._mean_square) is not None:
            others[_RMSCE], root = square._bins, square._bins.ends(_SQUARE, level)
            ends = square._bins.ends(_SQUARE, alone(level, _OWN[_SQUARE])).low, root.point, root.high
            least = tuple(map(max, least, ends))
            if (of_root := min(1.0, square._floor_p / _OWN[_SQUARE])) < p:
                p, p_of = of_root, _RMSCE
        low, point, high = least
        share = _OWN[of[0]]
        found = raised(own, bins.interval(estimator, alone(level, share)).low, (low, point, high), p, p_of, share)
        wider = " or the ".join(name for name, other in others.items() if not _same_bins(bins, other))
        return replace(found, about=own.about.replace(GIVEN, _OR_OF.format(wider) + GIVEN)) if wider else found

    @property
    def estimator(self) -> Any:
        """The requested estimator."""
        return self._asked.original.estimator

    @cached_property
    def _mean_absolute(self) -> Chain | None:
        """The line of the mean absolute error of the same notion and bins; None if it has no order to respect."""
        question = self._asked.original
        line = Chain.of(replace(question, estimator=Binned(question.estimator.binning)), self._asked.seed)
        with suppress(NotAnswerable):  # a summary may not keep pairs of classes in such bins
            return line if line.lines else None
        return None

    @cached_property
    def _floor_p(self) -> float:
        """Share of calibrated models that show as large an error, by its noise floor."""
        return noise_floor(self._asked.original).p_value

    @cached_property
    def _mean_square(self) -> Chain | None:
        """The line of the root mean square error in the same bins, which the largest error is never smaller than."""
        question = self._asked.original
        squares = replace(question, estimator=Binned(question.estimator.binning, _SQUARE))
        with suppress(NotAnswerable):  # where every bin holds one row there is none
            line = Chain.of(squares, self._asked.seed)
            line._bins.ends(_SQUARE, LEVEL)
            return line
        return None

    @property
    def about(self) -> str:
        """Meaning of the interval, in words."""
        about, event = self._bins.about(1), self._event is not None
        if self._notion == EVENT and event:
            return about.replace(GIVEN, f"{_OR_CONFIDENCE}{GIVEN}") if self._confidence_is_larger else about
        if self._notion != TOP_LABEL or self._nested:
            return about
        return about.replace(GIVEN, f"{_OR_EVENT if event else _OR_TOGETHER}{GIVEN}")

    @property
    def _confidence_is_larger(self) -> bool:
        """True if the lower end or the point of an event's line is that of the confidence.

        If no risk crosses 1/2, both errors are one number in mirrored bins, and neither is larger.
        """
        assert self._event is not None
        if np.isclose(_seen(self.lines[0]), _seen(self._event), rtol=1e-9, atol=0.0):
            return False
        whole, event = self.ends(LEVEL), self._largest([self._event], [self._event_gap], LEVEL)
        return whole.low > event.low or whole.point > event.point

    @property
    def _nested(self) -> bool:
        """True if the bins of each class are those of all classes combined, and of the event's risk if there is one."""
        others = [self.lines[0], *([] if self._event is None else [self._event])]
        return self._bins.table.same_edges and all(
            np.array_equal(self._bins.table.lower[0], other.table.lower[0], equal_nan=True) for other in others
        )

    def typical_high(self, estimator: object, level: float, count: int, share: float = 0.5) -> float:
        """The upper end that a ``share`` of calibrated models stay below: the largest over its lines."""
        ends = (
            (line.typical_high(own, level, count, share), squared) for line, own, squared in self._that_raise(estimator)
        )
        return max(end * end if squared else end for end, squared in ends)

    def usually_reaches(self, estimator: object, limit: float, level: float, count: int) -> bool:
        """Whether ``typical_high`` is at least ``limit``, from as few draws as decide it."""
        return any(
            line.usually_reaches(own, math.sqrt(limit) if squared else limit, level, count)
            for line, own, squared in self._that_raise(estimator)
        )

    def _that_raise(self, estimator: object) -> Iterator[tuple[InBins | Chain, object, bool]]:
        """The lines whose largest end is the upper one of this estimator: each with its own, and whether it is squared.

        Squared errors are at least the square of the mean absolute one, and the largest error is at least both.
        """
        yield from ((line, estimator, False) for line in self._that_bound(estimator))
        scale = error_scale(estimator)
        if target(estimator) is None or scale.order not in _ABOVE or (below := self._mean_absolute) is None:
            return
        yield below, below.estimator, scale.squared
        if scale.order == _LARGEST and (square := self._mean_square) is not None:
            yield square._bins, square.estimator, False

    def rows_needed(self, estimator: object, limit: float, level: float, error: float) -> float | None:
        """Rows with which the upper end is below the limit in 8 of 10 samples, for the line that needs most."""
        lines = self._that_bound(estimator)
        needed = [line.rows_needed(estimator, limit, level, error) for line in lines]
        known = [number for number in needed if number is not None]
        return max(known) if len(known) == len(needed) else None

    def power(self, estimator: object, limit: float, level: float) -> Power | None:
        """Share of samples of calibrated models shown to be below the limit, by rows, for the line that needs most.

        None if unknown (``InBins.knows_more_rows``), or if it takes more than 10,000 times the rows.
        """
        found = [_power(line, estimator, limit, level) for line in self._that_bound(estimator)]
        known = [power for power in found if power is not None]
        return max(known, key=lambda power: power.rows) if len(known) == len(found) else None

    def _that_bound(self, estimator: object) -> list[InBins]:
        """The lines whose upper ends bound that of this estimator."""
        of = target(estimator)
        if of is None or of[0] != 1:
            return [self._bins if of is not None and of[0] != OF_BINS else self._asked]
        return self._up_to if self._notion in (TOP_LABEL, EVENT) else [self._bins]

    def ends(self, level: float) -> Ends:
        """Ends of the line in question."""
        return self._largest(self._up_to, self._gaps_below, level)

    def _largest(self, lines: Sequence[InBins], gaps: Sequence[Gap], level: float) -> Ends:
        """The largest ends and point of these lines and mean gaps."""
        tail, outer = self.tail(level), (1.0 - level) / 2
        below = [line.absolute(level, tail * self._weight(line)) for line in lines]
        for gap in gaps:
            found = self._read(gap, level, self._weight(gap))
            below.append(Ends(found.least, found.point, gap.most(outer)))
        if self._notion == CLASS_WISE:
            below.append(self._of_mean_gaps(level))
        low, point, high = (max(part) for part in zip(*below, strict=True))
        return Ends(low, min(max(point, low), high), high)

    @property
    def p_value(self) -> float:
        """The chance that a calibrated model shows as much in one of the lines up to this one: none counts twice.

        (1 + #{smallest p_j / w_j of a draw <= that seen}) / (draws + 1), over all lines, divided by 0.9; of a mean gap
        that of ``shared``. It falls from line to line.
        """
        return self._least_likely[0]

    def shared(self, chance: float) -> float:
        """The p-value of a mean gap that noise produces with this ``chance`` / w, corrected for lines that share a.

        It is the least (1 - level)/2 at which ``tail`` is more than ``chance``. That is the share of draws whose
        smallest p_j / w_j is at most ``chance``, divided by 0.9. The share is at least ``chance`` and at most
        ``chance`` times the sum of all w_j. So p is at most (1 - level)/2 exactly if the lower end at that level is
        above 0.

        Reference: Westfall & Young 1993, §2.3.
        """
        smallest = self._smallest
        reached = int(np.searchsorted(smallest, chance, side="right"))
        chance = max(chance, np.finfo(np.float64).tiny)  # 0 would be proof
        found = np.clip(reached / len(smallest), min(chance, 1.0), min(1.0, chance * sum(self._weights)))
        return min(1.0, float(found) / (1.0 - OF_ABOVE))

    @property
    def p_of(self) -> str:
        """Name of the line that the p-value is from, if it is not the one in question; else empty."""
        node = self._least_likely[1]
        if node is self._bins:
            return ""
        if not isinstance(node, InBins):
            return _OTHER_GAP if self._event is not None and node is self._gap else _GAP
        notion = notion_of(node.question)
        return "mean gaps of classes" if notion == self._notion else f"{notion} error"

    @cached_property
    def _least_likely(self) -> tuple[float, Gap | InBins]:
        """The smallest p-value of the lines up to this one, and its line.

        Among several with the same p-value it is the highest line, so a significant line has its own.
        """
        up_to = [*self._gaps_below, *self._up_to]
        found = [
            (self._p_of_line(drawn, node), node)
            for drawn, node in zip(self._draws[0], self._nodes, strict=True)
            if any(node is mine for mine in up_to)
        ]
        least = min(p for p, _ in found)
        reached = [node for p, node in found if p == least]
        return least, self._bins if any(node is self._bins for node in reached) else reached[-1]

    def _p_of_line(self, drawn: Float64s, node: Gap | InBins) -> float:
        if not isinstance(node, InBins):
            return self.shared(node.chance / self._weight(node))
        share, smallest = float(_behind(drawn, _seen(node))) / self._weight(node), self._smallest
        behind = (1 + np.searchsorted(smallest, share * (1.0 + 1e-12), side="right")) / (len(smallest) + 1)
        return min(1.0, float(behind) / (1.0 - OF_ABOVE))

    def lowest_at(self, tail: float) -> float:
        """The lower end if every line's own were read at this chance to miss: at the full one they miss too often."""
        own = [line.absolute(1.0 - 2.0 * tail, tail).low for line in self._up_to]
        return max([*own, *(gap.least(tail) for gap in self._gaps_below)])

    def mean_gap(self, level: float) -> MeanGap:
        """The lowest line: that of the mean gap."""
        # Of two classes each has a mean gap, the one less the other's.
        if self._event is None:
            assert self._gap is not None
            return self._read(self._gap, level, 1.0)
        leads = notion_of(self._asked.question) in OF_ONE_STRATUM
        return self._read(_gap_of(self._asked.question), level, 1.0 if leads else _IN_BINS)

    def _read(self, gap: Gap, level: float, weight: float) -> MeanGap:
        return MeanGap.of(gap, level, self.tail(level) * weight, self.shared(gap.chance / weight))

    def tail(self, level: float) -> float:
        """The chance to miss at which the lower end of the mean gap is read, and those of others in parts of it."""
        share = (1.0 - OF_ABOVE) * (1.0 - level) / 2
        smallest = self._smallest
        reached = np.searchsorted(smallest, smallest, side="right") > share * len(smallest) * (1 + 1e-12)
        # Below the first value that more draws reach.
        most = np.nextafter(smallest[np.argmax(reached)], 0.0) if reached.any() else share
        return float(np.clip(most, share / sum(self._weights), share))

    # -- the lines ---------------------------------------------------------------------------------------------

    @cached_property
    def lines(self) -> list[InBins]:
        """The lines in bins, from the lowest up; none if a notion has no order to respect.

        For two classes the event's line is separate, between the two: it is not about the predicted class.
        """
        bins = self._bins
        if self._notion == CLASS_WISE:
            return [self._one_cell_a_class(), bins] if bins.question.claims.same_rows else []
        if self._notion == TOP_LABEL:
            return [self._beside(Confidence()), bins]
        if self._notion == CONFIDENCE:
            with suppress(NotAnswerable):
                return [bins, self._beside(TopLabel())]
        if self._event is not None:
            return [self._beside(Confidence()), self._beside(TopLabel())]
        return [bins] if self._notion in (CONFIDENCE, *OF_ONE_STRATUM) else []

    @property
    def of_classes(self) -> bool:
        """True if the line is about all classes, not about one claim per row."""
        return notion_of(self._asked.question) == CLASS_WISE

    @property
    def _up_to(self) -> list[InBins]:
        """The line in question, and those below it."""
        if self._event is None:
            return self.lines[: self.lines.index(self._bins) + 1]
        if self._notion == CONFIDENCE:
            return [self._bins]
        return [self.lines[0], self._event, *([self.lines[1]] if self._notion == TOP_LABEL else [])]

    @cached_property
    def _nodes(self) -> list[Gap | InBins]:
        """Every line, mean gaps first: what calibrated draws are compared with."""
        first: list[Gap | InBins] = [] if self._gap is None else [self._gap]
        of_event: list[Gap | InBins] = [] if self._event is None else [self._event_gap, self._event]
        return [*first, *self.lines, *of_event]

    def _weight(self, node: Gap | InBins) -> float:
        """Weight of a line as a share of ``tail``: 1 for the mean gap (of the event if there is one)."""
        if self._notion == CLASS_WISE:
            return 1.0
        return 1.0 if node is (self._gap if self._event is None else self._event_gap) else _IN_BINS

    @property
    def _weights(self) -> list[float]:
        return [self._weight(node) for node in self._nodes]

    @property
    def _gaps_below(self) -> list[Gap]:
        """The mean gaps that the line in question is never smaller than."""
        if self._event is None or self._notion == CONFIDENCE:
            return [] if self._gap is None else [self._gap]
        assert self._gap is not None
        return [self._gap, self._event_gap]

    @cached_property
    def _gap(self) -> Gap | None:
        """The claims as a whole; of all classes their probabilities sum to one, and no gap is left."""
        return None if self._notion == CLASS_WISE else _gap_of(self.lines[0].question)

    @cached_property
    def _event_gap(self) -> Gap:
        assert self._event is not None
        return _gap_of(self._event.question)

    def _event_of_two(self) -> InBins | None:
        """The event's line if there are probabilities of two classes: it bounds, or is, the line in question.

        In mirrored bins, both classes have the error of the event, and so has their mean. Bins of the predicted class
        split those of the event. None if there are more classes, if bins are requested that are not symmetric, or if
        one of the notions has no answer.
        """
        question = self._bins.original
        if self._notion not in (CONFIDENCE, TOP_LABEL, CLASS_WISE, *OF_ONE_STRATUM):
            return None
        if question.predictions.event is None:
            return None
        try:
            if self._notion != EVENT and not mirrored(question):
                return None
            event = self._bins if self._notion == EVENT else self._beside(Event())
            for other in (Confidence(), TopLabel()):
                _ = claims_in(other, question.predictions)
        except NotAnswerable:
            return None
        return event

    def _beside(self, reduction: Reduction) -> InBins:
        """The same in another notion."""
        question = self._bins.original
        rows: Any = question.predictions
        if rows.grain == "counts" and reduction == Confidence() and rows.in_own_notion(TopLabel()) is not None:
            question = replace(question, predictions=rows.over_classes)
        return InBins(
            replace(question, reduction=reduction, estimator=Binned(question.estimator.binning)), self._bins.seed
        )

    def _of_mean_gaps(self, level: float) -> Ends:
        """Bounds from the mean gaps of single classes: no point below their mean, no end below one."""
        return Ends(0.0, *mean_of_gaps(self._asked.question.claims, (1.0 - level) / 2))

    def _one_cell_a_class(self) -> InBins:
        question = self._bins.original
        by_class = InBins(replace(question, estimator=Binned(EqualWidth(1)), free=False), self._bins.seed)
        # What calibrated rows do to a class is what they do to its cells.
        places = np.flatnonzero(by_class.cells[:, 0])
        mine, weight = np.searchsorted(places, np.nonzero(self._bins.cells)[0]), self._bins.gaps.weight
        by_class.null = _summed(self._bins.null * weight, mine, len(places)) / by_class.gaps.weight
        return by_class

    # -- the level they share ----------------------------------------------------------------------------------

    @property
    def _smallest(self) -> Float64s:
        """The smallest p_j / w_j of the lines in calibrated draws, ascending."""
        return self._draws[1]

    @property
    def _draws(self) -> tuple[list[Float64s], Float64s]:
        """Results of calibrated draws in each line, and their smallest p_j / w_j; each ascending."""
        question = self._bins.original
        about = CONFIDENCE if self._notion in (CONFIDENCE, TOP_LABEL) else question.reduction
        if self._event is not None:
            about = EVENT
        key = (about, question.estimator.binning, question.free, self._bins.seed)
        kept = _JOINT.setdefault(question.predictions, {})
        if key not in kept:
            sizes = self._of_rows() if self._notion == CLASS_WISE else self._of_claims()
            found = [_p_values(size) / weight for size, weight in zip(sizes, self._weights, strict=True)]
            smallest = np.min(found, axis=0)
            kept[key] = [np.sort(size) for size in sizes], np.sort(smallest)
        return kept[key]

    def _of_rows(self) -> list[Float64s]:
        """Results of calibrated draws in each line of the classes."""
        return [np.abs(line.null) @ line.gaps.weight for line in self.lines]

    def _of_claims(self) -> list[Float64s]:
        """Results of calibrated draws for the mean gap and each line, for one claim per row, drawn in the cells."""
        side = None
        if self._event is not None:
            code = self._bins.original.predictions.event
            assert code is not None
            side = _Event(self._event.table.edge_sets(self._event.question.claims.dtype)[0], code)
        places, gaps, facing = _overlaid(self.lines, side)
        rng = np.random.default_rng(np.random.SeedSequence(self._bins.seed, spawn_key=(7,)))
        drawn = binomial_null(gaps, rng, NULL_DRAWS) * gaps.weight
        sizes = [np.abs(drawn.sum(axis=1)), *(_in_cells(drawn, place) for place in places[: len(self.lines)])]
        if side is not None:
            # Where the other class is predicted, more of them right are fewer events.
            turned = drawn * facing
            sizes += [np.abs(turned.sum(axis=1)), _in_cells(turned, places[-1])]
        return sizes


def _power(line: InBins, estimator: object, limit: float, level: float) -> Power | None:
    """Power of one line, from a few rows on."""
    if not line.knows_more_rows(estimator):
        return None
    rows = line.question.predictions.answered.effective_rows
    return line.power(level, limit, min(_FEWEST / rows, 1.0))


@dataclass(frozen=True)
class _Event:
    """The inner edges of the bins of an event's risk, and the code of its class."""

    edges: Floats
    code: int


def mean_gap(
    predictions: Predictions,
    notion: str | Reduction | None = None,
    level: float = LEVEL,
    bins: int | str | BinningScheme | None = None,
    random_state: int = SEED,
) -> MeanGap:
    """Return the mean gap of the claims of a notion, with ends that are consistent with every verdict.

    m = (1/N) sum_i (y_i - s_i) over all claims of a notion with one claim per row (confidence, top-label,
    class-specific, event). Scores and outcomes, s and y, are in [0, 1]. The ends are those of the number of claims that
    came true (``EventGap``), for an event as in ``risk.in_the_large``. For one of many classes they are those of a sum
    of residuals (``GapSums``), as in the mean over classes. The size |m| cannot exceed the calibration error in any
    bins. Its lower end uses the common level of all lines of these predictions (``Chain``). An error in ``bins`` is
    therefore never reported smaller than the mean gap. The sign test is two-sided: 0 is excluded if |m| is more than
    its noise explains at ``MeanGap.tail``.

    What can mislead: gaps of opposite sign cancel, so a mean gap of 0 does not imply calibration. NotAnswerable for
    other notions and for grouped rows, which are dependent.

    References: the folded normal law, Leone, Nelson & Nottingham 1961.

    >>> found = mean_gap(Predictions.from_confidence([0.9] * 100, [True] * 70 + [False] * 30))
    >>> round(found.gap, 2), found.low < -0.2 < found.high < 0, abs(found.least + found.high) < 1e-12
    (-0.2, True, True)
    """
    question = estimate(predictions, judged_notion(notion, predictions), "ece", bins).question
    assert question is not None
    if question.predictions.row_groups is not None:
        raise NotAnswerable(made_for_single_rows(question.predictions.row_groups, "the interval of a mean gap"))
    chain = Chain.of(question, random_state)
    if not chain.lines or chain.of_classes:
        raise NotAnswerable("a mean gap needs one claim per row; use confidence, one class or the event")
    return chain.mean_gap(level)


def joint_event_ends(
    rows: EventRows, predictions: Predictions, level: float, bins: int | str | BinningScheme | None = None
) -> tuple[EventEnds, float, float]:
    """Ends for an event's mean number of events, the chance that the end towards the expected number misses, and p.

    They are those of the mean gap of the event (``mean_gap``). The event's calibration error in ``bins`` and its
    calibration in the large can therefore not contradict each other. Grouped rows have no such level: there the chance
    is (1 - level)/2 and p that of ``grouped_p_value``.
    """
    if rows.groups is not None:
        tail = (1.0 - level) / 2
        return joint_ends(rows, predictions, level, tail), tail, grouped_p_value(rows)
    found = mean_gap(predictions, "event", level, bins)
    return joint_ends(rows, predictions, level, found.tail), found.tail, found.p_value


def in_sentences(about: str) -> str:
    """Return what an interval is about for use in sentences: "the largest of three errors", and which.

    The description itself is stored with the baselines of gates, so it does not change with our wording.

    >>> print(in_sentences(f"the error over 9 groups of rows{_OR_CONFIDENCE}"))
    the error of the confidence, which is estimated to be larger than that of the risk over 9 groups of rows
    """
    for pattern, words, _ in _LARGEST_OF:
        about = re.sub(pattern, words, about)
    return about


def of_several(about: str) -> str:
    """Return the sentences on which of several errors an interval is for; empty if it is for one.

    >>> of_several(f"the error over 9 groups of rows{_OR_CONFIDENCE}{GIVEN}").partition(".")[0]
    'The error of the risk was estimated twice: from the risk over 9 groups of rows, and from the confidence (the ...'
    """
    about = about.partition(GIVEN)[0].replace("in these bins", "in bins")
    return next((re.sub(pattern, text, about) for pattern, _, text in _LARGEST_OF if re.match(pattern, about)), "")


def notion_of(question: Question) -> str:
    """The key of a question's notion, empty where it has none."""
    return facts_of(question).notion or ""


def _overlaid(lines: list[InBins], event: _Event | None = None) -> tuple[list[Codes], CellGaps, Float64s]:
    """The common refinement of all lines' bins, the bin of each cell in each line, and signs of outcomes.

    The last line's claims have the most strata; the first one's all are in one. For an event, the bins of its risk
    come last. The third result is 1 in cells that predict the event, -1 in others.
    """
    claims = lines[-1].question.claims
    strata, sets = len(claims.strata), []
    for line in lines:
        mine, joined = line.table.edge_sets(claims.dtype), line.table.joined
        if joined is not None and len(line.table.strata) > 1 and len(mine) > 1:
            mine = [mine[s] for s in joined]
        sets.append(mine if len(mine) == strata else mine * strata)
    alike = all(len(line.table.edge_sets(claims.dtype)) == 1 for line in lines)
    number = 1 if alike else strata
    more = [] if event is None else _both_ways(event.edges, [edges for mine in sets for edges in mine])
    unions = [np.unique(np.concatenate([*(mine[s] for mine in sets), *more])) for s in range(number)]
    unions, sums, part = _distinguished(claims, unions)
    places = [np.zeros(sums.count.shape, dtype=np.intp) for _ in lines]
    facing = np.ones(sums.count.shape)
    if event is not None:
        places.append(np.zeros(sums.count.shape, dtype=np.intp))
        facing[np.arange(strata) != event.code] = -1.0
        for s in range(strata):
            ends = np.concatenate([[0.0], unions[0 if alike else s], [1.0]]).astype(np.float64)
            middle = (ends[:-1] + ends[1:]) / 2
            risk = middle if s == event.code else 1.0 - middle
            places[-1][s, : len(risk)] = np.searchsorted(event.edges, risk, side="right")
    for line, mine, place in zip(lines, sets, places[: len(lines)], strict=True):
        for s, union in enumerate(unions):
            # The bin of a cell is that of its lower edge; of the first cell the first.
            place[slice(None) if alike else s, : len(union) + 1] = np.append(
                0, np.searchsorted(mine[s], union, side="right")
            )
        if len(line.table.strata) > 1 or len(lines) == 1:
            of = np.arange(strata) if line.table.joined is None else line.table.joined
            place += of[:, None] * line.table.count.shape[1]
    filled = sums.count > 0
    codes = np.stack([*(place[filled] for place in places), (facing[filled] > 0).astype(np.intp), part[filled]])
    cells, code = np.unique(codes, axis=1, return_inverse=True)
    count, score, squares = (
        np.bincount(code.ravel(), part[filled])
        for part in (sums.count, sums.score, sums.count if sums.squares is None else sums.squares)
    )
    mean = np.clip(score / count, 0.0, 1.0)
    found = CellGaps(count / count.sum(), np.square(count) / squares, mean, mean)
    return list(cells[:-2]), found, 2.0 * cells[-2] - 1.0


def _distinguished(claims: Claims, unions: list[Floats]) -> tuple[list[Floats], Moments, Codes]:
    """Split cells whose scores are so different that outcomes drawn at their mean would vary far too much.

    A cell of n scores s with mean m is split where n m (1 - m) > 2 sum s (1 - s). Calibrated outcomes of the scores 0
    and 1, for example, never vary; drawn at 1/2 they would hide any error. The result has edges, sums, and the number
    of each part of a split cell, 0 for whole cells.
    """
    sums = claims.moments(unions)
    own = sums.claim if sums.plain_claim is None else sums.plain_claim
    mixed = sums.score * (sums.count - sums.score) > _MIXED * own * sums.count + CLOSE
    if not mixed.any():
        return unions, sums, np.zeros(mixed.shape, dtype=np.intp)
    apart, parts = [], []
    for s, (coarse, fine) in enumerate(zip(unions, claims.refined(unions), strict=True)):
        split = np.atleast_1d(mixed.any(axis=0) if len(unions) == 1 else mixed[s])
        apart.append(np.unique(np.concatenate([coarse, fine[split[np.searchsorted(coarse, fine, side="right")]]])))
        cell = np.append(0, np.searchsorted(coarse, apart[s], side="right"))
        parts.append(np.where(split[cell], np.arange(1, len(cell) + 1), 0))
    sums = claims.moments(apart)
    part = np.zeros(sums.count.shape, dtype=np.intp)
    for s, mine in enumerate(parts):
        part[slice(None) if len(unions) == 1 else s, : len(mine)] = mine
    return apart, sums, part


def _both_ways(edges: Floats, others: list[Floats]) -> list[Floats]:
    """Edges and their mirror images, snapped to existing edges if there are such, which a summary knows."""
    fine = EqualWidth(Groups().bins).fixed_edges().astype(edges.dtype)
    known = np.unique(np.concatenate([edges, *others, fine]))
    mirrored = (1 - edges).astype(edges.dtype)
    near = np.clip(np.searchsorted(known, mirrored), 1, len(known) - 1)
    nearest = np.where(mirrored - known[near - 1] < known[near] - mirrored, known[near - 1], known[near])
    return [edges, np.where(np.abs(nearest - mirrored) < CLOSE, nearest, mirrored).astype(edges.dtype)]


def _gap_of(question: Question) -> Gap:
    """The mean gap of one line: of rows that make one claim from the number of those that came true.

    One of many classes has that of residuals, as their mean has (``mean_of_gaps``); the other of two classes the
    event's, turned. It is kept for the predictions: the errors of one notion all ask for it, and it takes every row.
    """
    kept = _GAPS.setdefault(question.predictions, {})
    if question.reduction not in kept:
        kept[question.reduction] = _gap(question)
    return kept[question.reduction]


def _gap(question: Question) -> Gap:
    event, notion = question.predictions.event, notion_of(question)
    if notion not in OF_ONE_STRATUM:
        return EventGap.of(EventRows.of_claims(question.claims, question.predictions))
    if event is None:
        return GapSums.of(question.claims)
    claims = claims_in(Event(), question.predictions)
    found = EventGap.of(EventRows.of_claims(claims, question.predictions))
    reduction: Any = question.reduction
    return OtherClass(found) if scope(reduction).of == "class" and reduction.cls != event else found


def _same_bins(first: InBins, other: InBins) -> bool:
    """True if both are judged in the same bins."""
    return np.array_equal(first.table.lower, other.table.lower, equal_nan=True)


def _seen(node: Gap | InBins) -> float:
    """Observed value of a line."""
    if isinstance(node, InBins):
        return abs(float(node.gaps.weight @ np.abs(node.gaps.gap)))
    return abs(node.gap)


def _in_cells(drawn: Float64s, place: Codes) -> Float64s:
    """Sizes of errors in the bins that cells are in, (draws,)."""
    _, where = np.unique(place, return_inverse=True)
    return np.asarray(np.abs(_summed(drawn, where, int(where.max()) + 1)).sum(axis=1))


def _p_values(sizes: Float64s) -> Float64s:
    """For each draw the share of draws that are at least as large."""
    return np.asarray(_behind(np.sort(sizes), sizes))


def _behind(ordered: Float64s, sizes: Any) -> Any:
    """The share of ascending draws that are at least as large."""
    # Sums in another order may differ in the last bit.
    return 1.0 - np.searchsorted(ordered, sizes * (1.0 - 1e-12), side="left") / len(ordered)


def _summed(drawn: Float64s, codes: Codes, size: int) -> Float64s:
    """Sums of columns that have the same code, (draws, size)."""
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(size))
    return np.asarray(np.add.reduceat(drawn[:, order], starts, axis=1))
