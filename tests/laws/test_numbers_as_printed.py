"""Printed numbers are on the correct side of a decision threshold: p-values, ratios, intervals of squares."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from calib_core.defaults import SIGNIFICANCE
from calib_core.diagrams.local_accuracy import points as whole_points
from calib_core.inference.verdicts.verdict import ratio_range
from calib_core.text import chance, in_percent, in_points, measured_between, percent, points, score, short_percent
from dashboard.exhibits import columns as of
from dashboard.report.sections.for_event import WIDE, _high_risks, wide_from

ROOT = Path(__file__).parents[2]
NEAR = [0.0496, 0.04999, 0.049999996, 0.05, 0.050000004, 0.05001, 0.0504, 0.0549]


@pytest.mark.parametrize("p", NEAR)
def test_a_printed_p_value_decides_as_the_p_value_does(p: float) -> None:
    printed = [chance(p).removeprefix("p = ")]
    frame = pd.DataFrame({"p": [p], "whose": [""]})
    for column in (of.probability("p"), of.probability_of("p", "whose")):
        printed += of.written(frame, (column,))[0]
    assert {float(text) <= SIGNIFICANCE for text in printed} == {p <= SIGNIFICANCE}
    assert len(set(printed)) == 1


def test_two_digits_alone_would_not_decide() -> None:
    assert any((float(f"{p:.2g}") <= SIGNIFICANCE) != (p <= SIGNIFICANCE) for p in NEAR)


@pytest.mark.parametrize("end", [0.7996, 0.80004, 1.2496, 1.25003, 0.99998])
def test_a_printed_ratio_lies_on_its_side_of_the_tolerance_in_every_table(end: float) -> None:
    frame = pd.DataFrame({"low": [end], "high": [end], "limit": [1.25], "least": [0.8], "reference": [1.0]})
    marks = ("limit", "least", "reference")
    (cells,) = of.written(
        frame, (of.ratio_between("", "low", "high", "limit"), of.number_between("", "low", "high", marks))
    )
    limits = (0.8, 1, 1.25)
    for text in (*cells, ratio_range(end, end, 1.25)):
        shown = float(text.partition(" to ")[0])
        assert [np.sign(shown - limit) for limit in limits] == [np.sign(end - limit) for limit in limits]
    assert any(float(score(each)) in (0.8, 1.25) for each in (0.7996, 1.2496)), "three digits alone would not tell"


def test_an_end_of_a_square_is_told_from_its_tolerance() -> None:
    high = measured_between(0.0001, 0.00040003, "square", apart=0.0004).partition(" to ")[2]
    assert float(high) > 0.0004


def test_wide_intervals_are_said_from_the_lowest_risk_on_that_has_them() -> None:
    """A narrow interval among them, of a bin without events, does not end the range with few rows."""
    widths = [0.1, 0.15, 0.35, 0.4, 0.28, 0.6, 0.7]
    first, wide = wide_from(widths)
    assert (first, wide) == (2, sum(width > WIDE for width in widths))
    assert wide_from([0.1, 0.1, 0.4, 0.1, 0.1, 0.1])[1] == 0


def test_the_rows_of_high_risk_are_those_at_or_above_the_risk_that_is_named() -> None:
    frame = pd.DataFrame({"model": "m", "lower": [0.0, 0.25, 0.5, 0.75], "risk": [0.1, 0.3, 0.6, 0.8],
                          "count": [900, 400, 30, 7], "low": [0.1, 0.2, 0.3, 0.5],
                          "high": [0.15, 0.3, 0.7, 1.0]})  # fmt: skip
    other = frame.assign(model="n", count=1)
    scene, table = SimpleNamespace(titles=("m", "n")), SimpleNamespace(frame=pd.concat([other, frame[::-1]]))
    (text,) = _high_risks(scene, SimpleNamespace(table=table))  # type: ignore[arg-type]
    thirds = SimpleNamespace(frame=frame.assign(lower=[0.0, 4 / 15, 8 / 15, 0.8]))
    (exact,) = _high_risks(SimpleNamespace(titles=("m",)), SimpleNamespace(table=thirds))  # type: ignore[arg-type]
    assert exact.startswith("Only 37 rows have a risk above 53.3 %;"), "not 53 %, above which more rows are"
    assert text.startswith("Only 37 rows have a risk above 50 %; the intervals of the bins there are wider than")


@pytest.mark.parametrize("share", [k / 1000 for k in range(105, 900, 10)])
def test_a_half_is_rounded_up_by_every_writer_of_shares(share: float) -> None:
    above = round(1000 * share) // 10 + 1
    texts = [in_percent(share), short_percent(share), percent(share, 0), points(share), whole_points(share)]
    assert {re.findall("[0-9.]+", text)[0] for text in texts} == {str(above)}
    assert {points(-share), f"\u2212{above} points"} == {points(-share)}


def test_a_half_of_a_decimal_is_rounded_up_too() -> None:
    frame = pd.DataFrame({"share": [0.5025]})
    assert of.written(frame, (of.share("share"),)) == [["50.3 %"]]
    assert (percent(0.5025), in_points([0.0325])) == ("50.3 %", ["3.3"])
    assert f"{100 * 0.5025:.1f}" == "50.2", "Python's own format would round to even"


def test_no_share_is_written_in_percent_by_a_rule_of_its_own() -> None:
    """Applies to fixed digits: significant digits (``:.3g``) are for levels and settings, which are short."""
    own = re.compile(r"100(\.0)? \* [^{}]*:[.,0-9]*f\}|:\.\d%\}(?!\})")
    lines = {
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for folder in ("calib_core", "dashboard")
        for path in (ROOT / folder).rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if own.search(line) and "%{" not in line  # the browser's own templates round halves up
    }
    assert lines == set()
