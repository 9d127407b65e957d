"""The picture over time: each mark, band and line is the column that it is said to be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from calib_core import Predictions, figures
from calib_core.monitoring import OverTime, over_time


def _drawn(factor: float, column: str, **options: float) -> tuple[OverTime, go.Figure]:
    rng = np.random.default_rng(1)
    risk, week = rng.beta(2, 5, 2400).clip(0.01, 0.99), np.arange(2400) // 200
    happened = rng.random(2400) < np.where(week < 4, risk, factor * risk)
    seen = (np.datetime64("2026-01-05") + 7 * week).astype(str)
    columns = pd.DataFrame({"week": week, "seen": seen})
    rows = Predictions(np.column_stack([1 - risk, risk]), happened.astype(int), metadata=columns)
    found = over_time(rows, column, **options)
    return found, figures.over_time(found)


@pytest.fixture(scope="module", params=["week", "seen"])
def shifted(request: pytest.FixtureRequest) -> tuple[OverTime, go.Figure]:
    return _drawn(0.65, request.param)


def _named(figure: go.Figure, name: str) -> go.Scatter:
    (found,) = (trace for trace in figure.data if trace.name == name)
    return found


def test_filled_marks_are_periods_whose_interval_excludes_the_prediction(shifted: tuple[OverTime, go.Figure]) -> None:
    found, figure = shifted
    lines, marks = found.lines, _named(figure, "observed, 90 % interval")
    filled = np.array([symbol == "circle" for symbol in marks.marker.symbol])
    outside = (lines["predicted"] < lines["low"]) | (lines["predicted"] > lines["high"])
    assert filled.tolist() == outside.tolist()
    assert set(filled) == {True, False}
    assert list(marks.y) == lines["observed"].tolist()
    assert np.asarray(marks.y) + np.asarray(marks.error_y.array) == pytest.approx(lines["high"].to_numpy())
    assert np.asarray(marks.y) - np.asarray(marks.error_y.arrayminus) == pytest.approx(lines["low"].to_numpy())
    assert [record["slice"] for record in marks.customdata] == lines["where"].tolist()


def test_lines_and_bands_are_their_columns(shifted: tuple[OverTime, go.Figure]) -> None:
    found, figure = shifted
    lines = found.lines
    after = lines.dropna(subset=["since_gap"])
    for name, column, frame, times in (
        ("predicted", "predicted", lines, 1),
        ("since the beginning", "mean_gap", lines, 100),
        ("median", "score_median", lines, 1),
        (f"since {found.since}", "since_gap", after, 100),
    ):
        line = _named(figure, name)
        assert np.asarray(line.y) == pytest.approx(times * frame[column].to_numpy())
        starts = frame["start"].tolist()
        assert [str(x) for x in line.x] == starts
    bands = [trace for trace in figure.data if trace.fill == "toself"]
    ends = [("mean", lines, 100), ("score", lines, 1), ("since", after, 100)]
    for band, (name, frame, times) in zip(bands, ends, strict=True):
        low, high = (times * frame[f"{name}_{end}"].to_numpy() for end in ("low", "high"))
        assert np.asarray(band.y) == pytest.approx([*low, *high[::-1]])


def test_the_alarm_and_the_time_since_the_error_began_are_drawn_where_they_are(
    shifted: tuple[OverTime, go.Figure],
) -> None:
    found, figure = shifted
    starts = found.lines["start"].tolist()
    since = starts[starts.index(str(found.lines.dropna(subset=["since_gap"])["start"].iloc[0]))]
    _, zone, alarm = figure.layout.shapes
    assert (zone.type, str(zone.x0), str(zone.x1)) == ("rect", since, starts[-1])
    assert [str(end) for end in (alarm.x0, alarm.x1)] == [found.answer.alarm_period] * 2
    assert since != found.answer.alarm_period  # so that the two cannot be confused here
    assert [str(note.x) for note in figure.layout.annotations if "alarm" in note.text] == [found.answer.alarm_period]


def test_without_an_alarm_neither_is_drawn() -> None:
    found, figure = _drawn(1.0, "week", level=0.5, alpha=0.2)
    assert not found.answer.alarm
    headings = " ".join(note.text for note in figure.layout.annotations)
    # The level of single periods, and that of all looks.
    assert "marks with 50 % interval" in headings
    assert "80 % band for looks at any time" in headings
    assert len(figure.layout.shapes) == 1
    assert not any("alarm" in note.text for note in figure.layout.annotations)
    assert not any(str(trace.name).startswith("since week") for trace in figure.data)
