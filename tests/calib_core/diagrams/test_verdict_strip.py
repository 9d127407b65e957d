"""The strip of verdicts, and the sentence that reconciles a verdict with the answer about one confidence."""

import math
from dataclasses import replace

import numpy as np
import pytest

from calib_core import NotAnswerable, Predictions, figures
from calib_core.diagrams import classes_standing_out, local_accuracy, reconciled, verdict_strip
from calib_core.figures.verdict_strip import ROW
from calib_core.inference import estimate_line, on_scale_of, on_tolerance_scale, primaries, primary
from calib_core.inference.verdicts.primary_measure import PrimaryLine
from calib_core.palette import style
from calib_core.results.verdict_table import MISCALIBRATED, VERDICTS, WITHIN
from calib_core.text import exact_tolerance


def said(confidence, right, **more):
    return Predictions.from_confidence(confidence, right, **more)


GOOD = said([0.9] * 9000, [True] * 8100 + [False] * 900)
BAD = said([0.9] * 400, [True] * 280 + [False] * 120)
FEW = said([0.9] * 20, [True] * 18 + [False] * 2)


def line_of(p):
    return primary(p).line


def test_numbers_are_those_of_the_lines_that_decide():
    first = primaries({"bad": BAD, "good": GOOD, "few": FEW})
    strip = verdict_strip(first)
    assert strip.words == ("miscalibrated", "within", "too few rows to tell")
    for i, decides in enumerate(first.values()):
        line = decides.line
        assert (strip.low[i], strip.point[i], strip.high[i]) == pytest.approx((line.low, line.point, line.high))
        assert strip.floor[i] == pytest.approx(line.floor)
        assert strip.low[i] <= strip.point[i] <= strip.high[i]
    frame = strip.frame()
    assert frame["verdict"].tolist() == list(strip.words)
    assert (frame["eps"] == 0.02).all()


@pytest.mark.parametrize("eps", [0.02, 0.105])
def test_the_interval_beside_a_row_is_never_cut(eps):
    strip = verdict_strip(primaries({"bad": BAD, "good": GOOD, "few": FEW}), eps)
    written = [annotation.text for annotation in figures.verdict_strip(strip).layout.annotations]
    assert all(note in written for note in strip.notes)
    for low, high, note in zip(strip.low, strip.high, strip.notes, strict=True):
        assert (f"includes {exact_tolerance(eps)}" in note) == (low <= eps <= high)


def test_squares_stand_as_roots_beside_the_tolerance():
    squared = PrimaryLine("confidence", "", replace_estimator(BAD, "debiased-l2"), 0.02, 0.9)
    strip = verdict_strip({"bad": squared})
    line = estimate_line(squared.estimate)
    assert strip.point[0] == pytest.approx(math.sqrt(line.point))
    assert strip.high[0] == pytest.approx(math.sqrt(line.high))
    assert on_tolerance_scale(squared.estimate, on_scale_of(squared.estimate, 0.3)) == pytest.approx(0.3)


def replace_estimator(p, key):
    from calib_core import estimate

    return estimate(p, "confidence", key)


def test_a_line_without_a_verdict_is_drawn_without_numbers(monkeypatch):
    def refuse(*_, **__):
        raise NotAnswerable("no interval here")

    first = primaries({"bad": BAD})
    monkeypatch.setattr(type(first["bad"].estimate), "interval", refuse)
    strip = verdict_strip(first)
    assert (strip.words, strip.notes) == (("",), ("no interval here",))
    assert np.isnan(strip.point).all()
    figure = figures.verdict_strip(strip)
    assert "<b>No verdict</b>" in [a.text for a in figure.layout.annotations]


def test_every_mark_says_which_model_and_every_word_stands_beside_its_row():
    strip = verdict_strip(primaries({"bad": BAD, "good <b>": GOOD}))
    figure = figures.verdict_strip(strip, looks={"other": 0, "bad": 1, "good <b>": 2})
    floors, values, bad, good = figure.data[:4]
    for marks, numbers in ((floors, strip.floor), (values, strip.value)):
        assert [record["model"] for record in marks.customdata] == ["bad", "good <b>"]
        assert list(marks.x) == pytest.approx(100 * numbers)
    assert bad.x[0] == pytest.approx(100 * strip.point[0])
    assert bad.x[0] + bad.error_x.array[0] == pytest.approx(100 * strip.high[0])
    assert bad.x[0] - bad.error_x.arrayminus[0] == pytest.approx(100 * strip.low[0])
    assert (bad.marker.symbol, good.marker.symbol) == tuple(style(i).symbol for i in (1, 2))
    words = {a.text: a.y for a in figure.layout.annotations if a.xref == "paper"}
    assert words["<b>Miscalibrated</b>"] == 0
    assert words["<b>Within tolerance</b>"] == 1
    assert "&lt;b&gt;" in figure.layout.yaxis.ticktext[1]
    assert figure.layout.height - figures.verdict_strip(verdict_strip(primaries({"bad": BAD}))).layout.height == ROW
    tolerance = next(a for a in figure.layout.annotations if "tolerance" in a.text)
    assert tolerance.x == pytest.approx(2)
    zone, end = figure.layout.shapes[:2]
    assert (zone.x0, zone.x1, end.x0, end.x1) == pytest.approx((0, 2, 2, 2))


@pytest.mark.parametrize(("point", "x", "anchor"), [
    (0.05, 0.05, None), (0.021, 0.02, "left"), (0.018, 0.02, "left"), (0.0, 0.0, "left"),
])  # fmt: skip
def test_no_number_stands_on_the_tolerance_or_among_the_names(point, x, anchor):
    strip = replace(verdict_strip(primaries({"bad": BAD})), point=np.array([point]))
    number = next(a for a in figures.verdict_strip(strip).layout.annotations if a.yshift == 19)
    assert (number.x, number.xanchor) == (pytest.approx(100 * x), anchor)


# -- one sentence on apparent disagreement --------------------------------------------------------------------


def test_a_gap_elsewhere_is_named():
    p = said([0.9] * 400 + [0.6] * 400, [True] * 360 + [False] * 40 + [True] * 80 + [False] * 320)
    text = reconciled(local_accuracy(p), 0.9, line_of(p))
    assert ("90 %" in text, "at 60 %, the accuracy is 20 %" in text) == (True, True)
    assert reconciled(local_accuracy(p), 0.6, line_of(p)) == ""


def test_gaps_of_classes_that_cancel_are_named():
    labels = [0] * 400 + [1] * 100 + [2] * 400 + [1] * 100
    p = Predictions.from_confidence([0.5] * 1000, predicted=[0] * 500 + [1] * 500, labels=labels)
    line = primary(p).line
    wrong = replace(line, verdict="miscalibrated")
    classes = classes_standing_out(p)
    assert classes.stands_out.all()
    text = reconciled(local_accuracy(p), 0.5, wrong, classes)
    assert "single classes have gaps, which cancel" in text
    assert "no significant gap near 50 % over all classes" in text
    quiet = reconciled(local_accuracy(p), 0.5, replace(line, verdict="within", notion="confidence"), classes)
    assert quiet.startswith("2 classes are clearly miscalibrated. The verdict is about the confidence")
    assert quiet.endswith("where their gaps cancel.")


def test_classes_that_are_all_off_the_same_way_do_not_cancel():
    labels = [0] * 300 + [2] * 200 + [1] * 280 + [2] * 220
    p = Predictions.from_confidence([0.7] * 1000, predicted=[0] * 500 + [1] * 500, labels=labels)
    classes = classes_standing_out(p)
    assert classes.stands_out.all()
    assert not classes.cancel
    line = replace(line_of(p), notion="confidence", verdict="too few rows to tell")
    text = reconciled(local_accuracy(p), 0.7, line, classes)
    assert text.endswith("whether the overall error exceeds the tolerance.")


def test_a_gap_of_few_rows_beside_a_verdict_within():
    h = [0.9] * 9000 + [0.6] * 100
    p = said(h, [True] * 8100 + [False] * 900 + [True] * 30 + [False] * 70)
    line = line_of(p)
    assert line.verdict == "within"
    text = reconciled(local_accuracy(p), 0.6, line)
    assert (
        text
        == "The gap near 60 % is significant for 1.1 % of the rows; the error over all rows is within the tolerance."
    )
    assert reconciled(local_accuracy(p), 0.9, line) == ""


def test_a_gap_beside_a_verdict_that_cannot_tell():
    local = local_accuracy(BAD)
    for word in ("too few rows to tell", "too close to call"):
        text = reconciled(local, 0.9, replace(line_of(BAD), verdict=word))
        assert text.startswith("The gap near 90 % is significant")
    assert reconciled(local, 0.9, replace(line_of(BAD), verdict=None)) == ""


def test_too_few_rows_near_it_contradict_nothing():
    p = said([0.9] * 5 + [0.6] * 400, [True] * 5 + [True] * 80 + [False] * 320)
    assert reconciled(local_accuracy(p), 0.9, line_of(p)) == ""


def test_green_is_the_badge_of_what_is_within_and_red_of_what_is_not():
    """The strongest part of the drawn color agrees."""
    assert {word for word, written in VERDICTS.items() if written.badge == "green"} == {WITHIN}
    assert {word for word, written in VERDICTS.items() if written.badge == "red"} == {MISCALIBRATED}
    red, green = (VERDICTS[word].colour for word in (MISCALIBRATED, WITHIN))
    assert int(red[1:3], 16) > int(red[3:5], 16)
    assert int(green[3:5], 16) > int(green[1:3], 16)


def test_the_number_next_to_an_interval_of_an_event_is_named_the_estimate():
    rng = np.random.default_rng(5)
    risk = rng.uniform(0.05, 0.6, 800)
    rows = Predictions(np.c_[1 - risk, risk], (rng.random(800) < risk).astype(int))
    figure = figures.verdict_strip(verdict_strip(primaries({"a": rows})))
    numbers = [note for note in figure.layout.annotations if note.xshift == 8]
    assert len(numbers) == 2
    for note, axis, limit in zip(numbers, ("xaxis", "xaxis2"), (2.0, math.log(1.25)), strict=True):
        assert note.text.startswith("estimate <b>")
        low, high = figure.layout[axis].range
        assert not note.x < limit < note.x + 0.25 * (high - low), "no word is on the end of the tolerance"
        assert low < note.x < high - 0.24 * (high - low)
