"""The forest plot: every estimator on one axis, the primary measure first, and a headline without excess claims."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest

from calib_core import ESTIMATORS, NotAnswerable, Predictions, diagrams, figures
from calib_core.diagrams.forest import FAMILIES, family_of
from calib_core.evaluation.study import error_keys
from calib_core.inference import EstimateOrReason, agreement, estimate_lines, estimates
from calib_core.inference.verdicts import other_measures
from calib_core.text import in_points

EPS = 0.02


def sample(n: int = 400, k: int = 3, sharper: float = 2.0) -> Predictions:
    """Return overconfident predictions of ``k`` classes."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(k), n)
    labels = (rng.random(n)[:, None] > p.cumsum(axis=1)[:, :-1]).sum(axis=1)
    q = p**sharper
    return Predictions(q / q.sum(axis=1, keepdims=True), labels)


def lines(notion: str = "confidence", p: Predictions | None = None, slow: bool = False) -> pd.DataFrame:
    return estimate_lines(answers(notion, p, slow), EPS)


def answers(notion: str, p: Predictions | None = None, slow: bool = False) -> list[EstimateOrReason]:
    rows = sample() if p is None else p
    return estimates({"net": rows}, [(notion, key) for key in error_keys()], slow=slow)


def test_the_line_that_decides_stands_first_and_families_together() -> None:
    frame = diagrams.forest(lines(), declared="confidence").frame()
    assert frame["estimator"].iloc[0] == "ece"
    assert set(frame["estimator"]) == set(error_keys())
    order = [FAMILIES.index(family) for family in frame["family"].iloc[1:]]
    assert order == sorted(order)
    assert frame.loc[frame["estimator"] == "skce", "family"].item() == family_of("skce")


@pytest.mark.parametrize("notion", ["confidence", "class-wise", "top-k-confidence"])
def test_one_tolerance_holds_for_every_line(notion: str) -> None:
    table = lines(notion)
    placed = diagrams.forest(table).frame().set_index("estimator")
    for line in table.to_dict("records"):
        if isinstance(line["verdict"], str):
            drawn = placed.loc[line["estimator"]]
            assert drawn["low"] <= drawn["point"] <= drawn["high"]
            above = line["low"] > line["limit"]
            assert (drawn["low"] > EPS) == above
            assert (line["verdict"] == "miscalibrated") == (above and line["p"] <= 0.05)
            assert (drawn["high"] < EPS) == (line["high"] < line["limit"]) == (line["verdict"] == "within")


def test_squared_errors_stand_as_roots_and_negative_ones_at_zero() -> None:
    table = lines(p=Predictions([[0.5, 0.5]] * 40, [0, 1] * 20))
    placed = diagrams.forest(table).frame().set_index("estimator")
    square = table.set_index("estimator").loc["skce", "value"]
    assert square < 0
    assert placed.loc["skce", ["point", "root"]].tolist() == [0.0, True]
    ends = ["low", "point", "high"]
    raw = lines().set_index("estimator").loc["debiased-l2"]
    drawn = diagrams.forest(lines()).frame().set_index("estimator").loc["debiased-l2"]
    np.testing.assert_allclose(drawn[ends].astype(float), np.sqrt(raw[ends].astype(float)))
    assert drawn["title"].endswith(", root")


def test_what_was_measured_is_drawn_over_the_floor_of_the_same() -> None:
    table = lines()
    forest = diagrams.forest(table)
    frame = forest.frame().set_index("estimator")
    for line in table[table["floor"].notna() & table["verdict"].notna()].to_dict("records"):
        drawn = frame.loc[line["estimator"]]
        assert (drawn["value"] > drawn["floor"]) == (line["value"] > line["floor"])
        assert drawn["value"] == pytest.approx(np.sqrt(line["value"]) if drawn["root"] else line["value"])
    # What is corrected for noise is drawn at another place than what was measured.
    assert (frame["value"] - frame["point"]).abs().max() > 0.001
    figure = figures.forest(forest)
    (ticks,) = (trace for trace in figure.data if trace.name == "raw value")
    known = frame[frame["low"].notna()]
    assert [mark["estimator"] for mark in ticks.customdata] == known.index.tolist()
    np.testing.assert_allclose(ticks.x, 100 * known["value"].clip(upper=forest.top))
    assert [symbol != "line-ns" for symbol in ticks.marker.symbol] == (known["value"] > forest.top).tolist()
    (column,) = (trace for trace in figure.data if trace.name == "measured")
    written = [in_points([value])[0] for value in frame["value"]]
    assert [re.sub("</?b>", "", text) for text in column.text] == frame["measured"].tolist() == written


def test_what_has_no_interval_is_hollow_and_says_so() -> None:
    forest = diagrams.forest(lines())
    missing = forest.frame()[forest.frame()["low"].isna()]
    assert len(missing) == len(forest.missing) > 0
    assert set(missing["interval"]) == {"not computed"}
    hollow = next(trace for trace in figures.forest(forest).data if trace.name == "no interval yet")
    np.testing.assert_allclose(hollow.x, 100 * missing["point"])
    whole = diagrams.forest(lines(slow=True))
    assert whole.missing == ()
    assert not len(next(trace for trace in figures.forest(whole).data if trace.name == "no interval yet").x)


def test_what_lies_beyond_the_axis_is_an_arrow_with_its_numbers_in_the_column() -> None:
    table = lines()
    table.loc[table["estimator"] == "mce", ["value", "point", "high"]] = 0.9
    forest = diagrams.forest(table)
    frame = forest.frame()
    far = frame[frame["point"] > forest.top]
    assert far[["estimator", "points"]].values.tolist() == [["mce", "90.0"]]
    figure = figures.forest(forest)
    arrow = next(trace for trace in figure.data if trace.name == "off the scale")
    assert [mark["estimator"] for mark in arrow.customdata] == far["estimator"].tolist()
    np.testing.assert_allclose(arrow.x, 100 * forest.top)
    floors = next(trace for trace in figure.data if trace.name.startswith("noise floor"))
    np.testing.assert_allclose(floors.x, 100 * np.minimum(frame["floor"].astype(float), forest.top))
    # Whiskers end at the ends of the interval, or just beyond the axis.
    placed = frame.set_index("estimator")
    for trace in (trace for trace in figure.data if trace.name in ("primary measure", "estimate with interval")):
        ends = placed.loc[[mark["estimator"] for mark in trace.customdata]]
        right = np.asarray(trace.x, dtype=float) + np.asarray(trace.error_x.array, dtype=float)
        left = np.asarray(trace.x, dtype=float) - np.asarray(trace.error_x.arrayminus, dtype=float)
        np.testing.assert_allclose(right, 100 * np.minimum(ends["high"].astype(float), 1.05 * forest.top))
        np.testing.assert_allclose(left, 100 * ends["low"].astype(float), atol=1e-9)
    written = next(trace for trace in figure.data if trace.name == "points")
    assert len(written.text) == len(frame)
    assert set(far["points"]) <= set(written.text)


def test_every_mark_says_which_estimator_it_is_of() -> None:
    forest = diagrams.forest(lines(), declared="confidence")
    figure = figures.forest(forest, looks={"other": 0, "net": 1})
    for trace in figure.data:
        assert all(mark["model"] == "net" and mark["estimator"] in ESTIMATORS for mark in trace.customdata)
    first = next(trace for trace in figure.data if trace.name == "primary measure")
    look = figures.look.style(1)
    assert (first.marker.color, first.marker.symbol) == (look.colour, look.symbol)
    assert any(note.text == "primary measure<br>(fixed in advance)" for note in figure.layout.annotations)
    other = figures.forest(diagrams.forest(lines(), declared="top-label"))
    assert not any(str(note.text).startswith("primary measure") for note in other.layout.annotations)


def test_several_models_and_scores_alone_have_no_forest() -> None:
    both = estimate_lines(estimates({"a": sample(), "b": sample()}, [("confidence", "ece")]))
    scores = estimate_lines(estimates({"a": sample()}, [("confidence", "brier")]))
    for table in (both, scores):
        with pytest.raises(NotAnswerable):
            diagrams.forest(table)


# -- the headline ---------------------------------------------------------------------------------------------


def judged(*words: str | None, tested: bool = True) -> pd.DataFrame:
    """Return lines with these verdicts, the first that of the primary estimator."""
    line = lines().set_index("estimator").loc["ece"]
    keys = [key for key in error_keys() if key != "ece"]
    titles = {key: f"Confidence {ESTIMATORS[key].title}" for key in ["ece", *keys][: len(words)]}
    table = pd.DataFrame([{**line.to_dict(), "estimator": key, "title": title} for key, title in titles.items()])
    table = table.assign(verdict=list(words), tested=tested)
    return table.assign(low=0.0317, point=0.0386, high=0.0442, limit=EPS)


def test_verdicts_that_rest_on_a_smaller_error_are_named() -> None:
    table = judged("miscalibrated", "miscalibrated", "miscalibrated")
    last = table.index == table.index[-1]
    table = table.assign(value=np.where(last, 0.1, 0.5), floor=0.2, p_of=np.where(last, "mean gap", ""))
    titles = table["title"].str.removeprefix("Confidence ").tolist()
    rests = f" (for {titles[-1]}, the evidence is the test of the mean gap)"
    assert agreement(table).endswith(f"All 3 estimators with an interval agree{rests}.")
    assert agreement(table.assign(p_of="")).endswith("All 3 estimators with an interval agree.")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["miscalibrated"], "Miscalibrated: error of 3.9 % (3.2 to 4.4 %)."),
        (["within"] * 2, "Within tolerance: error of 3.9 % (3.2 to 4.4 %). Both estimators with an interval agree."),
        (
            ["miscalibrated"] * 3 + ["too few rows to tell", None],
            "Miscalibrated: error of 3.9 % (3.2 to 4.4 %). 3 of 4 estimators with an interval agree: for Adaptive "
            "ECE there are too few rows to tell.",
        ),
        (
            ["too close to call", "within", "miscalibrated"],
            "Too close to call: error of 3.9 % (3.2 to 4.4 %), and the tolerance is 2 %. None of the 2 other "
            "estimators with an interval agree: for MCE it is miscalibrated, for RMSCE it is within tolerance.",
        ),
        ([None, "within"], "No verdict yet: the interval of the primary estimator was not computed."),
    ],
)
def test_the_headline_counts_verdicts_and_nothing_else(words: list[str | None], expected: str) -> None:
    assert agreement(judged(*words)) == expected


def test_a_rough_guide_is_called_one() -> None:
    assert "rough guide" in agreement(judged("within", tested=False))


def test_the_number_printed_lies_in_the_interval_printed() -> None:
    table = judged("miscalibrated").assign(low=0.03994, point=0.03996, high=0.03999)
    point, low, high = (float(number) for number in re.findall(r"\d+\.\d+", agreement(table, eps=EPS)))
    assert low <= point <= high
    assert low < high


# -- many classes ---------------------------------------------------------------------------------------------


def test_of_many_classes_only_what_takes_seconds_is_made_unless_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(answer.estimate != other_measures.LEFT_OUT for answer in answers("class-wise"))
    monkeypatch.setattr(other_measures, "MANY_CLASSES", 2)
    found = answers("class-wise")
    assert [answer.estimator for answer in found if answer.whole] == ["ece"]
    left = {answer.estimator for answer in found if answer.estimate == other_measures.LEFT_OUT}
    assert {"smece", "ece-kde", "ece-sweep", "ece-adaptive"} <= left
    assert not left & {"ece", "mce", "rmsce", "debiased-l2"}
    drawn = diagrams.forest(estimate_lines(found)).frame().set_index("estimator")
    assert drawn.loc["smece", ["points", "interval"]].tolist() == ["–", "not computed"]
    everything = estimates({"m": sample()}, [("class-wise", key) for key in ("ece", "smece")])
    assert all(answer.whole for answer in everything)
    monkeypatch.setattr(other_measures, "MOST_CLAIMS", 10)
    assert not any(answer.whole for answer in estimates({"m": sample()}, [("class-wise", "ece")], slow=False))
    assert diagrams.forest(lines("class-wise")).headline.startswith("No verdict yet")


# -- formulas -------------------------------------------------------------------------------------------------


def test_every_estimator_notion_and_curve_has_its_formula() -> None:
    from calib_core import REDUCTIONS

    for family in (ESTIMATORS, REDUCTIONS):
        assert [key for key in family if not family[key].formula] == []
    curves = (
        diagrams.KernelCurve,
        diagrams.CorpCurve,
        diagrams.ErrorSweep,
        diagrams.ValidityPlot,
        diagrams.TradePoints,
        diagrams.ReliabilityBands,
        diagrams.ReliabilityDiagram,
    )
    assert all(curve.formula for curve in curves)
    assert not any("formula" in {f.name for f in dataclasses.fields(curve)} for curve in curves)


def test_an_interval_that_leaves_the_axis_ends_in_an_arrow() -> None:
    table = lines()
    table.loc[table["estimator"] == "mce", ["value", "point", "low", "high"]] = [0.01, 0.01, 0.0, 0.9]
    forest = diagrams.forest(table)
    frame = forest.frame()
    cut = frame[(frame["point"] <= forest.top) & (frame["high"] > forest.top)]
    assert "mce" in cut["estimator"].tolist()
    (arrows,) = (trace for trace in figures.forest(forest).data if trace.name == "interval extends further")
    assert [mark["estimator"] for mark in arrows.customdata] == cut["estimator"].tolist()
    np.testing.assert_allclose(arrows.x, 100 * forest.top)
    whole = dataclasses.replace(forest, top=1.0)
    assert not [trace for trace in figures.forest(whole).data if trace.name == "interval extends further"]
