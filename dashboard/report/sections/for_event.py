"""Page one for the risk of an event: its facts, calibration-in-the-large, and the limitations of its rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from calib_core import NotAnswerable
from calib_core.inference.verdicts.verdict import ratio_range, tolerated_ratios
from calib_core.risk import InTheLarge
from calib_core.text import between, called, exact_end, exact_tolerance, measured_between, points, score, short_percent
from dashboard.exhibits import event_words, line_words
from dashboard.exhibits.risk import InTheLargeExhibit as Large
from dashboard.report.document import FactList
from dashboard.report.exhibited import ExhibitParts
from dashboard.session import Scene

CURVE_NEEDS = 200
"""Number of events, and of rows without one, that a calibration curve needs (Van Calster et al. 2016)."""
_DASH, _MISSING = "–", ("nan", "inf", "-inf")
WIDE = 0.3
"""Width from which an interval of a bin is uninformative."""
MOSTLY = 2 / 3
"""Share of wide intervals above some risk from which the rows there are called few."""


def large_of(scene: Scene) -> InTheLarge | None:
    """Return predicted and observed events of the first model; None if they cannot be compared."""
    if scene.claims != "event":
        return None
    try:
        return scene.get(event_words.in_the_large(scene.focused(model=scene.titles[0])))
    except NotAnswerable:
        return None


def in_numbers(events: float) -> str:
    """Format a number of events.

    >>> in_numbers(1234.4), in_numbers(4.0), in_numbers(4.12)
    ('1,234', '4', '4.1')
    """
    return f"{events:,.0f}" if events >= 10 or events == round(events) else f"{events:.1f}"


def event_facts(scene: Scene) -> list[tuple[str, str]]:
    """Return the definition of the event and its observed frequency."""
    found, name = large_of(scene), called(event_words.of_scene(scene))
    if found is None:
        return [("Event", name)]
    of_rows = f"{in_numbers(found.events)} of {found.rows:,.0f} rows"
    return [("Event", f"{name}: {of_rows} ({short_percent(found.observed)})")]


def measures(scene: Scene) -> list[tuple[str, str]]:
    """Return the two measures of the verdict and their tolerances."""
    try:
        line = next(iter(scene.get(line_words.primaries(scene)).values())).line
    except NotAnswerable:
        return [("Tolerance", f"{points(scene.tolerance)[1:]}")]
    beside = " and observed : expected" if math.isfinite(scene.ratio) else ""
    return [("Measure", f"{line.title} ({line.cells}){beside}; fixed in advance")]


def in_the_large(scene: Scene) -> FactList | None:
    """Return mean risk, frequency, O:E, intercept, slope, AUROC and log loss of the first model, with intervals."""
    found = large_of(scene)
    if found is None:
        return None
    first = Large().first(scene.focused(model=scene.titles[0]))[1]
    measured = scene.get(first).measures.set_index("measure").to_dict("index")
    ratio = _range(found.ratio_low, found.ratio_high)
    if all(map(math.isfinite, (scene.ratio, found.ratio_low, found.ratio_high))):
        ratio = ratio_range(found.ratio_low, found.ratio_high, scene.ratio)
    auroc = measured["auroc"]
    lines = [
        ("Mean risk", short_percent(found.mean_predicted), ""),
        ("Observed", short_percent(found.observed), _range(found.observed_low, found.observed_high, between)),
        ("Observed : expected", score(found.ratio), ratio),
        ("Intercept", score(found.intercept), _range(found.intercept_low, found.intercept_high)),
        ("Slope", score(found.slope), _range(found.slope_low, found.slope_high)),
        ("AUROC", score(auroc["value"]), _range(auroc["low"], auroc["high"])),
        ("Log loss", score(measured["log-loss"]["value"]), ""),
    ]
    lines = [line if line[1] not in _MISSING else (line[0], _DASH, "") for line in lines]
    return FactList(tuple((name, f"{value} ({ends})" if ends else value) for name, value, ends in lines), in_lines=True)


def _range(low: float, high: float, write: object = None) -> str:
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return between(low, high) if write is between else measured_between(low, high, "score")


def limits(scene: Scene, diagram: ExhibitParts) -> Iterator[str]:
    """Yield the limitations due to few events and few rows of high risk."""
    found = large_of(scene)
    if found is None:
        return
    yield from few_events(found)
    if _wide_ratio(found, scene.ratio):
        ends, within = ratio_range(found.ratio_low, found.ratio_high, scene.ratio), tolerated_ratios(scene.ratio)
        yield f"On a log scale, the interval of observed : expected ({ends}) is wider than its tolerance of {within}."
    if scene.tolerance > found.observed:
        rate = short_percent(found.observed)
        yield (
            f"The tolerance of {exact_tolerance(scene.tolerance)} exceeds the event's rate of {rate}: a model that "
            "predicts no event would be within it."
        )
    yield from _high_risks(scene, diagram)


def few_events(found: InTheLarge) -> Iterator[str]:
    """Yield the limitation due to few events, or few rows without one."""
    others = found.rows - found.events
    if min(found.events, others) < CURVE_NEEDS:
        few = f"{in_numbers(found.events)} {'event' if found.events == 1 else 'events'}"
        if others < found.events:
            few = f"{in_numbers(others)} {'row' if others == 1 else 'rows'} without the event"
        needed = f"A calibration curve needs about {CURVE_NEEDS} (Van Calster et al., 2016)."
        yield f"These rows contain only {few}. {needed}"


def _wide_ratio(found: InTheLarge, tolerance: float) -> bool:
    """True if the interval of observed to expected events overlaps its tolerance and is wider (log scale)."""
    overlaps = 0 < found.ratio_low <= tolerance and found.ratio_high >= 1 / tolerance
    return math.isfinite(tolerance) and overlaps and found.ratio_high / found.ratio_low > tolerance**2


def _high_risks(scene: Scene, diagram: ExhibitParts) -> Iterator[str]:
    """Yield the risk above which intervals of bins are wide."""
    if diagram.table is None or "risk" not in diagram.table.frame:
        return
    every = diagram.table.frame
    frame = every[every["model"] == scene.titles[0]].sort_values("lower")
    first, wide = wide_from((frame["high"] - frame["low"]).tolist())
    last = frame.iloc[first:]
    if 0 < len(last) < len(frame):
        rows = float(last["count"].sum())
        start = exact_end(float(last["lower"].iloc[0]))
        are = "row has" if rows == 1 else "rows have"
        those = (
            "the intervals of the bins there are"
            if wide == len(last)
            else f"{wide} of {len(last)} bins there have intervals"
        )
        yield f"Only {rows:,.0f} {are} a risk above {start}; {those} wider than {WIDE * 100:.0f} points."


def wide_from(widths: Sequence[float]) -> tuple[int, int]:
    """Return the lowest wide bin above which most bins are wide, and the number of wide ones.

    A bin with few events between bins with more has a narrow interval: it does not end the range with few rows.

    >>> wide_from([0.1, 0.2, 0.35, 0.28, 0.5, 0.6]), wide_from([0.1, 0.2]), wide_from([0.4, 0.1, 0.1, 0.4])
    ((2, 3), (2, 0), (3, 1))
    """
    wide = [width > WIDE for width in widths]
    starts = (i for i in range(len(wide)) if wide[i] and sum(wide[i:]) >= MOSTLY * len(wide[i:]))
    first = next(starts, len(wide))
    return first, sum(wide[first:])
