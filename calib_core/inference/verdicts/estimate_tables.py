"""Tables of estimates, verdicts, bin-free tests and bounds, as frames.

Also the results of simulations: coverage of default intervals and rejection rates of calibrated models.

Canonical calibration errors on the cells of several partitions of the simplex, with intervals and noise floors.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from importlib import resources
from typing import Any, NamedTuple, get_args

import numpy as np
import pandas as pd

from calib_core.binning.base import BINNINGS, BinningScheme, SimplexScheme, as_simplex
from calib_core.binning.interval_schemes import bins_noun, bins_said
from calib_core.defaults import LEVEL, RATIO, TOLERANCE
from calib_core.estimators.base import ESTIMATORS, Estimate, estimate, notion_looked_at, takes_bins
from calib_core.inference.intervals.joint_intervals import shares_draws, sharpen
from calib_core.inference.significance.calibration_tests import (
    Assumption,
    kuiper,
    shown_at_all,
    spiegelhalter,
    unbinned_bound,
)
from calib_core.inference.significance.multiple_testing import benjamini_hochberg, holm
from calib_core.inference.verdicts.estimate_line import EstimateLine, estimate_line, marked, plain_line, recalled
from calib_core.inference.verdicts.other_measures import LEFT_OUT, interval_takes_long, value_takes_long
from calib_core.inference.verdicts.primary_measure import PrimaryLine, held_against
from calib_core.inference.verdicts.verdict import on_scale_of
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.reductions.base import REDUCTIONS
from calib_core.results.uncertainty import TestOfCalibration
from calib_core.text import short_percent

NOT_MADE = "interval and noise floor take minutes and were not computed; include slow estimators (--slow) to see them"
"""Note of a line that only has a value because its interval was not requested."""
_NUMBERS = ("value", "point", "low", "high", "level", "floor", "p", "limit",
            "ratio", "ratio_low", "ratio_high", "ratio_limit")  # fmt: skip
_SCORES = ("log-loss", "brier")
"""Means over rows, quick in every notion of one claim a row."""
SLOPE = 1.0
"""Assumed largest change of the gap between claim and truth per unit of score; fixed, whatever the plot shows."""


class EstimateOrReason(NamedTuple):
    """One model's estimate of one question, or the sentence why there is none; ``whole``: with interval and floor."""

    model: str
    notion: str | None
    estimator: str
    estimate: Estimate | str
    whole: bool


def estimates(
    models: Mapping[str, Predictions],
    questions: Sequence[tuple[str | None, str]],
    bins: int | str | BinningScheme | None = None,
    level: float = LEVEL,
    slow: bool = True,
    progress: Callable[[int], object] | None = None,
    by_model: bool = True,
) -> list[EstimateOrReason]:
    """Estimates for every model and question, with intervals and noise floors, computed jointly.

    ``questions`` are pairs (notion, estimator); None as notion scores the whole prediction. Random draws are shared
    by estimates of the same claims (``sharpen``). Without ``slow``, estimators whose intervals and floors need more
    than bin counts (kernel, smooth, convex, swept) have only their value. With hundreds of classes, only the first
    estimator has an interval, and estimators that place their own bins have no value (``many_classes``).

    ``bins`` are those of estimators that take a binning. A notion in which no estimator applies is one refusal,
    without estimator; NotAnswerable if nothing applies. ``progress`` receives percentages. The order is by model, or
    by question if models are compared (not ``by_model``); ``estimate_lines`` makes the table. Models that abstain are
    first restricted to the same rows (``study.over_same_rows_by_name``).

    >>> p = Predictions([[0.9, 0.1]] * 100, [0] * 60 + [1] * 40)
    >>> found = estimates({"one": p}, [("confidence", "ece"), (None, "brier"), ("confidence", "smece")], slow=False)
    >>> [answer.whole for answer in found]
    [True, True, False]
    """
    places = [(name, *question) for name in models for question in questions]
    if not by_model:
        places = [(name, *question) for question in questions for name in models]
    found = [
        EstimateOrReason(*place, _estimate_or_why(models[place[0]], *place[1:], bins, slow), False) for place in places
    ]
    if all(isinstance(answer.estimate, str) for answer in found):
        refusals = dict.fromkeys(str(answer.estimate) for answer in found)
        raise NotAnswerable("; ".join(refusals) or "there is nothing to evaluate")
    found = [answer._replace(whole=_is_made(answer, slow)) for answer in found]
    wanted = [answer.estimate for answer in found if answer.whole and isinstance(answer.estimate, Estimate)]
    sharpen(wanted, level, progress or (lambda _: None))
    return _refused_once(found)


def estimate_lines(answers: Sequence[EstimateOrReason], eps: float = TOLERANCE, level: float = LEVEL) -> pd.DataFrame:
    """Table of estimates, judged by a tolerance: value, point with interval, noise floor, p-value and verdict.

    There is one line per answer (``estimates``): its model, the fields of ``EstimateLine``, and ``mark``, which
    identifies what an interval is about (``marked``). A line without an answer has no value, and ``note`` gives the
    reason. The verdict of a line is about its own error. It does not use the ratio of observed to expected events,
    which an event's overall verdict needs too (``verdicts``). What can mislead: lines are not corrected for multiple
    testing (``each_alone``).

    >>> p = Predictions([[0.9, 0.1]] * 100, [0] * 60 + [1] * 40)
    >>> estimate_lines(estimates({"one": p}, [("confidence", "ece")]))[["model", "title", "verdict"]].values.tolist()
    [['one', 'Confidence ECE', 'miscalibrated']]
    """
    return _framed([(answer.model, _line(answer, eps, level)) for answer in answers])


def verdicts(
    first: Mapping[str, PrimaryLine], eps: float = TOLERANCE, level: float = LEVEL, ratio: float = RATIO
) -> pd.DataFrame:
    """Verdict on each model's primary measure (``primaries``) at a tolerance, with the numbers behind it.

    There is one line per model with the fields of ``EstimateLine``. ``sentence`` and ``headline`` are those of
    ``PrimaryLine``, ``reason`` explains the choice of the notion, and ``p_of_any_error`` is the p-value of
    ``shown_at_all``.

    >>> from calib_core.inference import primaries
    >>> p = Predictions([[0.9, 0.1], [0.2, 0.8]] * 10, [0, 1] * 10)
    >>> verdicts(primaries({"one": p}))[["model", "notion", "verdict"]].values.tolist()
    [['one', 'event', 'too few rows to tell']]
    """
    lines = held_against(first, eps, level, ratio)
    frame = _framed([(name, line.line) for name, line in lines.items()])
    return frame.assign(
        sentence=[line.sentence for line in lines.values()],
        headline=[line.headline for line in lines.values()],
        reason=[line.reason for line in lines.values()],
        p_of_any_error=[line.shown.p_value for line in lines.values()],
    )


def unbinned_tests(models: Mapping[str, Predictions], notion: str | None = None) -> pd.DataFrame:
    """Bin-free tests of calibration for every model: Kuiper's, and Spiegelhalter's with both scores.

    There is one line per model and test: model, test, subject, statistic and p. If the predictions do not contain
    enough, a note replaces the last two. ``subject`` is what the test examines:

    - "event" or "confidence" (Kuiper's): ``notion``, by default ``notion_looked_at`` of the first model; confidence if
      a model has no event;
    - "whole" predictions;
    - "claims", if only those are known.

    ``p`` is the chance that a perfectly calibrated model shows as much (``kuiper``, ``spiegelhalter`` with the log
    loss). With the Brier score, the test is exactly the one reported next to a verdict (``shown_at_all``). Its p-values
    are simulated if the normal law might be off. ``p_holm`` and ``p_bh`` are corrected for the number of other lines
    (``holm``, ``benjamini_hochberg``). The test next to a verdict is fixed in advance, one per model, so its p is not
    corrected. What can mislead: the tests can miss a mean gap that ``risk.in_the_large``, a test of that gap only,
    detects.

    >>> p = Predictions.from_confidence([0.5] * 4, [True] * 4)
    >>> unbinned_tests({"one": p})[["subject", "statistic"]].round(2).values.tolist()
    [['confidence', 2.0], ['claims', 0.0], ['whole', nan]]
    """
    judged = notion or next(map(notion_looked_at, models.values()), "confidence")
    tests = {name: _unbinned(predictions, judged) for name, predictions in models.items()}
    lines = [
        {"model": name, "test": title, "subject": subject} | _tested(title, test)
        for name, own in tests.items()
        for title, subject, test in own
    ]
    table = pd.DataFrame(lines, columns=["model", "test", "subject", "statistic", "p", "note"])
    # The test beside a verdict was chosen beforehand, one a model: its p is the same everywhere, and the others follow.
    others = [title != _BESIDE_VERDICT for own in tests.values() for title, _, _ in own]
    corrected = {"p_holm": holm, "p_bh": benjamini_hochberg}
    for place, (column, correct) in enumerate(corrected.items(), start=5):
        table.insert(place, column, table["p"])
        table.loc[others, column] = correct(table.loc[others, "p"])
    return table


_BESIDE_VERDICT = "Spiegelhalter's Z, Brier score"


def _unbinned(predictions: Predictions, notion: str) -> tuple[tuple[str, str, Callable[[], TestOfCalibration]], ...]:
    """The title of every test of these predictions, what it is about, and the test itself."""
    judged = "confidence" if predictions.event is None else notion
    return (
        ("Kuiper's cumulative differences", judged, lambda: kuiper(predictions, judged)),
        (_BESIDE_VERDICT, "whole" if predictions.kind == "full" else "claims", lambda: shown_at_all(predictions)),
        ("Spiegelhalter's Z (log loss)", "whole", lambda: spiegelhalter(predictions, "log-loss")),
    )


def _tested(title: str, test: Callable[[], TestOfCalibration]) -> dict[str, Any]:
    try:
        result = test()
    except NotAnswerable as why:
        return {"statistic": math.nan, "p": math.nan, "note": str(why)}
    # As a verdict calls it: it says of what the score is, and how p was found.
    found_by = f" (p by {result.law})" if result.law else ""
    named = {"test": f"{result.name}{found_by}"} if title == _BESIDE_VERDICT else {}
    return {"statistic": result.statistic, "p": result.p_value, "note": ""} | named


def unbinned_bounds(first: Mapping[str, PrimaryLine], level: float = LEVEL) -> pd.DataFrame:
    """Upper bounds on each model's error including errors within bins, in its primary notion, under each assumption.

    There is one line per model and assumption: model, notion, assumption, value = binned + added (at most 1), level
    (one-sided, (1 + ``level``) / 2), and bins. A sentence follows (``unbinned_bound`` with slope ``SLOPE``). What can
    mislead: the assumptions are not tested; if they are false, the bounds are too low.

    >>> from calib_core.inference import primaries
    >>> p = Predictions([[0.9, 0.1]] * 100, [0] * 90 + [1] * 10)
    >>> unbinned_bounds(primaries({"one": p}))["assumption"].tolist()
    ['lipschitz', 'monotone']
    """
    lines = []
    assumptions: tuple[Assumption, ...] = get_args(Assumption)
    for name, line in first.items():
        assert line.estimate.question is not None
        for assumption in assumptions:
            predictions = line.estimate.question.predictions
            bound = unbinned_bound(predictions, line.notion, assumption, SLOPE, level=(1 + level) / 2)
            in_bins = bins_said(bound.bins)
            numbers = {"value": bound.value, "binned": bound.binned, "added": bound.added, "level": bound.level}
            words = (
                f"{bound.sentence} This is {short_percent(bound.binned)} in {bins_noun(in_bins)} "
                f"(upper end of an interval) plus {short_percent(bound.added)} within them."
            )
            about = {"model": name, "notion": line.notion, "assumption": assumption}
            lines.append(about | numbers | {"bins": in_bins, "sentence": words})
    return pd.DataFrame(lines)


def _framed(lines: Sequence[tuple[str, EstimateLine]]) -> pd.DataFrame:
    """Lines as a table, after the names of the models they are of."""
    columns = ["model", *(field.name for field in fields(EstimateLine))]
    frame = pd.DataFrame([{"model": name, **line.record()} for name, line in lines], columns=columns)
    # A column of nothing but None is one of numbers all the same.
    frame = frame.astype(dict.fromkeys(_NUMBERS, float))
    return frame.assign(mark=marked((line.about, line.tested) for _, line in lines)[0])


def _estimate_or_why(predictions: Predictions, notion: str | None, key: str, bins: Any, slow: bool) -> Estimate | str:
    given = bins if notion is not None and takes_bins(key, bins) else None
    try:
        if not slow and notion is not None and value_takes_long(predictions, notion, key):
            return LEFT_OUT
        return recalled(predictions, notion, key, given)
    except NotAnswerable as why:
        return str(why)


def _is_made(answer: EstimateOrReason, slow: bool) -> bool:
    if isinstance(answer.estimate, str):
        return False
    if slow or answer.notion is None or answer.estimator in _SCORES:
        return True
    return shares_draws(answer.estimate) and not interval_takes_long(answer.estimate)


def _refused_once(found: Sequence[EstimateOrReason]) -> list[EstimateOrReason]:
    """Merge refusals of one notion that all have the same reason into one."""
    kept: list[EstimateOrReason] = []
    for answer in found:
        same = [other for other in found if other[:2] == answer[:2]]
        if answer.notion is None or any(other.estimate != answer.estimate for other in same):
            kept.append(answer)
        elif answer is same[0]:
            kept.append(answer if isinstance(answer.estimate, Estimate) else answer._replace(estimator=""))
    return kept


def _line(answer: EstimateOrReason, eps: float, level: float) -> EstimateLine:
    if isinstance(answer.estimate, str):
        titles = (
            REDUCTIONS[answer.notion].title if answer.notion else "",
            ESTIMATORS[answer.estimator].title if answer.estimator else "",
        )
        title = " ".join(filter(None, titles))
        return EstimateLine(answer.notion, answer.estimator, title, 0, "", float("nan"), note=answer.estimate)
    if answer.whole:
        return estimate_line(answer.estimate, eps, level, math.inf)
    limit = None if answer.notion is None else on_scale_of(answer.estimate, eps)
    return replace(plain_line(answer.estimate), level=level, note=NOT_MADE, limit=limit)


_TEXT = ("family", "law", "truth", "notion", "estimator", "binning", "groups")


def coverage_table() -> pd.DataFrame:
    """Coverage of default intervals in simulations, one line per case.

    Columns: the distribution of the scores (``law``), their true frequencies (``truth``), ``classes``, ``rows``,
    ``notion``, ``estimator``, and nominal ``level``. ``binning`` is "default" if no bins were given. ``coverage`` is
    the share of ``runs`` whose interval contained the truth; ``below`` and ``above`` are the shares of runs in which
    the truth was below or above it. ``half`` is the coverage of the same intervals at half their width, which must be
    clearly lower.

    ``tested`` is 1 if the library called the interval tested. The guarantee is about these lines: coverage of .88 or
    more in 95 % of them, at level .9. The lowest are .84 to .86, in four cases of 40 to 77 runs (standard error .05).
    Some lines were simulated before their intervals became wider, and would be higher now.

    ``bins`` is NaN if there are none.

    >>> bool((coverage_table()["runs"] >= 40).mean() > 0.9)
    True
    """
    return _table("coverage.csv")  # tests/simulations/interval_coverage.py writes it


def rejection_table() -> pd.DataFrame:
    """Rejection rates of calibrated models at the 5 % level in simulations, one line per case.

    Columns: the distribution of the probabilities (``law``), ``notion``, ``classes``, ``estimator``, ``rows``,
    ``runs``, and two shares. ``rejected`` uses the reported p-value, ``rejected_exact`` the one that breaks ties at
    random. Both are accurate to about 0.35 % (8000 runs), 0.5 % (4000) or 0.7 % (2000). What can mislead:
    ``rejected`` is lower where values are tied. With few rows, or scores near 1, an error takes few values.

    >>> bool((rejection_table()["rejected_exact"] < 0.07).all())
    True
    """
    return _table("rejection.csv")  # tests/simulations/null_rejection.py writes it


_ROW_ENDS = (0, 300, 1000, 5000)
"""First numbers of rows of the ranges of `coverage_cells`."""


def coverage_cells() -> pd.DataFrame:
    """Coverage of tested 90 % intervals in simulations, by estimator and number of rows.

    One line per estimator (by title) and simulated range of rows (in words, and the number of its ``column``). Columns
    are also the number of ``cases`` in ``coverage_table``, and their ``worst`` and ``median`` coverage. What can
    mislead: the worst of many cases is below 90 % by chance, as each share is itself simulated.

    >>> coverage_cells().query("estimator == 'ECE' and column == 0")["rows"].tolist()
    ['fewer than 300']
    """
    table = coverage_table()
    tested = table[(table["tested"] == 1) & (table["level"] == LEVEL)]
    column = np.searchsorted(_ROW_ENDS, tested["rows"], side="right") - 1
    first, *middle, last = _ROW_ENDS[1:]
    ranges = [f"{low:,} to {high - 1:,}" for low, high in itertools.pairwise([first, *middle, last])]
    words = [f"fewer than {first:,}", *ranges, f"{last:,} or more"]
    cells = _by_cell(tested["coverage"], tested["estimator"], column, "min")
    return cells.assign(rows=[words[place] for place in cells["column"]])


def rejection_cells() -> pd.DataFrame:
    """Share of calibrated models that tests reject at the 5 % level in simulations, by estimator and notion.

    One line per estimator and notion: both titles, ``column`` (of the notion), ``cases``, and the ``worst`` (largest)
    and the ``median`` share among them (``rejection_table``). What can mislead: a share is accurate to .35 to .7 %.

    >>> rejection_cells()["notion"].unique().tolist()
    ['Confidence', 'Top-label', 'Class-wise']
    """
    table = rejection_table()
    notions = list(dict.fromkeys(table["notion"]))
    column = np.asarray(table["notion"].map(notions.index))
    cells = _by_cell(table["rejected"], table["estimator"], column, "max")
    return cells.assign(notion=[REDUCTIONS[notions[place]].title for place in cells["column"]])


def _by_cell(share: pd.Series, estimator: pd.Series, column: np.ndarray[Any, Any], worst: str) -> pd.DataFrame:
    """Worst and median share by estimator, in the order of the registry, and column."""
    found = share.groupby([estimator, pd.Series(column, share.index, name="column")]).agg([worst, "median", "size"])
    frame = found.reset_index().rename(columns={worst: "worst", "size": "cases"})
    keys = list(ESTIMATORS)
    order = np.lexsort((frame["column"], frame["estimator"].map(keys.index)))
    titles = [ESTIMATORS[key].title for key in frame["estimator"]]
    return pd.DataFrame(frame.assign(estimator=titles).iloc[order]).reset_index(drop=True)


def paired_table() -> pd.DataFrame:
    """Simulated pairs of models, one line each: law, notion, estimator, classes, rows, level, runs and error rates.

    ``low_misses`` is the share of runs whose lower end was above the true difference, ``high_misses`` that whose
    upper end was below it. Together, a 90 % interval may miss in a tenth of all runs. ``half`` is the share
    that an interval of half the width would have missed, ``rejected`` that with p at most 5 %. Confidence errors use
    15 equal-width bins, top-label errors groups of at least 20 rows (ECE: 50), each model's own.

    >>> found = paired_table()
    >>> bool((found["low_misses"] + found["high_misses"] < found["half"]).mean() > 0.95)
    True
    """
    return _table("paired.csv")  # tests/simulations/paired_coverage.py writes it


def group_errors_table() -> pd.DataFrame:
    """Coverage of intervals for the error within the worst group of rows, one line per case.

    Columns: the ``law`` of the scores, the ``truth``, ``rows``, ``groups``, nominal ``level``, and shares of
    ``runs``. ``truth`` is "one" (one value of a column is off by 0.15) or "opposed" (another one is off the other
    way). ``groups`` are "few" (of two columns) or "many" (also of their crossings).

    ``coverage`` is the share whose interval contained the true value, ``every_group`` that whose intervals contained
    the errors of all groups. ``half`` belongs to the same intervals at half their width. ``false_alarms`` had a group
    called off, ``above_floor`` a value above its noise floor. Rows are independent and of equal weight.

    >>> found = group_errors_table()
    >>> bool((found["coverage"] > found["half"]).all())
    True
    """
    return _table("group_errors.csv")  # tests/simulations/group_errors.py writes it


def _table(name: str) -> pd.DataFrame:
    text = resources.files("calib_core.inference.verdicts").joinpath(name).read_text(encoding="utf-8")
    head, *lines = [line.split(",") for line in text.splitlines() if line and not line.startswith("#")]
    table = pd.DataFrame(lines, columns=head)
    numbers = [name for name in head if name not in _TEXT]
    return table.assign(**{name: pd.to_numeric(table[name], errors="raise") for name in numbers})


NORMS = {"L1": "ece", "L2": "rmsce"}
"""Names of the norms, and the estimator of the canonical error in each."""
WITHOUT_CELLS = ("none: Dirichlet kernels", "L1")
"""Partition and norm of the line without cells."""


def canonical_errors(
    predictions: Predictions,
    partitions: Sequence[str | SimplexScheme],
    eps: float = TOLERANCE,
    level: float = LEVEL,
    progress: Callable[[int], object] | None = None,
    smoothed: bool = False,
) -> pd.DataFrame:
    """Canonical calibration error on the cells of each partition, in L1 and L2, with interval, noise floor and p.

    L1 = sum over cells b of w_b ||E[Y | b] - mean prediction in b||_1, in [0, 2], with w_b the share of the rows in b.
    The norm ||.||_1 is the sum over classes of absolute differences. L2 is the root of the same average of squared
    Euclidean distances.

    There is one line per ``partition`` and ``norm`` with the fields of an ``EstimateLine`` at the nominal ``level``,
    judged by the tolerance ``eps``. ``note`` gives the reason for a missing number. ``progress`` receives
    percentages. ``smoothed`` adds the L1 error without cells, by Dirichlet kernels. What can mislead: each partition
    sees the errors between its cells only, and lines are not corrected for multiple testing. NotAnswerable if no line
    has a value.

    References: P1 Appendix G.

    >>> p = Predictions([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1]] * 20, [0, 1] * 20)
    >>> table = canonical_errors(p, ["sierpinski"])
    >>> table["norm"].tolist(), table["value"].round(2).tolist()
    (['L1', 'L2'], [0.5, 0.32])
    """
    looks = [(as_simplex(scheme), norm) for scheme in partitions for norm in NORMS]
    if not looks:
        raise NotAnswerable("no partition of the simplex is selected")
    titles = [(BINNINGS.recipe(scheme).title, norm) for scheme, norm in looks]
    estimates = [_partition_or_why(predictions, NORMS[norm], scheme) for scheme, norm in looks]
    if smoothed:
        titles.append(WITHOUT_CELLS)
        estimates.append(_partition_or_why(predictions, "canonical-kde", None))
    known = [found for found in estimates if isinstance(found, Estimate)]
    if not known:
        raise NotAnswerable(str(estimates[0]))
    sharpen(known, level, progress or (lambda _: None))
    lines = []
    for (partition, norm), found in zip(titles, estimates, strict=True):
        line: dict[str, Any] = {"note": found} if isinstance(found, str) else asdict(estimate_line(found, eps, level))
        lines.append({"partition": partition, "norm": norm, **line})
    return pd.DataFrame(lines, columns=["partition", "norm", *(field.name for field in fields(EstimateLine))])


def _partition_or_why(predictions: Predictions, estimator: str, scheme: SimplexScheme | None) -> Estimate | str:
    try:
        return estimate(predictions, "canonical", estimator, scheme)
    except NotAnswerable as why:
        return str(why)
