"""Verdict on each model, and its mean gap over all rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd

import calib_core as cc
from calib_core.diagrams import OverallGap, VerdictStrip
from calib_core.inference.verdicts.verdict import tolerated_ratios
from calib_core.text import exact_tolerance, short_percent
from dashboard.exhibits import columns as of
from dashboard.exhibits import line_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call


@EXHIBITS.register("verdict", "Verdicts")
@dataclass(frozen=True)
class VerdictExhibit(Exhibit):
    """Verdict on each model for the tolerance, by a measure fixed before looking at the outcomes."""

    reads = "counts"
    terms = ("noise-floor", "tolerance", "interval")

    meanings = of.Meanings(
        {
            "reason": "why this is the primary measure",
            "p_of_any_error": "p-value of the test for an error of any size",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.inference.verdicts, line_words.primaries(scene), eps=scene.tolerance, ratio=scene.ratio)

    def other_errors(self, scene: Scene) -> Call[pd.DataFrame]:
        """Errors in other notions where the primary measure shows none; slower than verdicts."""
        return call(cc.inference.other_errors_of, line_words.primaries(scene), eps=scene.tolerance, ratio=scene.ratio)

    def strip(self, scene: Scene) -> Call[VerdictStrip]:
        """Noise level, interval and verdict of every model on one axis with the tolerance."""
        return call(cc.diagrams.verdict_strip, line_words.primaries(scene), eps=scene.tolerance, ratio=scene.ratio)

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.verdict_strip", self.strip(scene), looks=scene.looks)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        beside = line_words.of_ratio(frame)
        lines = line_words.columns(frame, verdict="verdict on both" if beside else "verdict")
        return of.text("model"), of.text("error", "title"), *lines, *beside

    def words(self, scene: Scene) -> Words:
        found = scene.get(self.other_errors(scene)).to_dict("records")
        return self.deciding(scene).also(*(f"{line['model']}. {line['sentence']}" for line in found))

    def deciding(self, scene: Scene) -> Words:
        """Sentences about the primary measures only, which a page can wait for."""
        frame = scene.get(self.table(scene))
        sentences = (
            f"{line['model']}. {line['sentence']} "
            f"{cc.inference.measured_in(line['title'], short_percent(line['value']), line['bins'])}"
            for line in frame.to_dict("records")
        )
        caption = (
            self._of_event(scene)
            if scene.claims == "event"
            else (
                f"Verdicts at a tolerance of {short_percent(scene.tolerance)}. The measure was fixed before the "
                f"outcomes were used. {line_words.READING}"
            )
        )
        refused = (f"{text} {line_words.NO_VERDICT.capitalize()}." for text in line_words.answering(scene)[1])
        strip = scene.get(self.strip(scene))
        alt = "; ".join(
            f"{n}: {w or 'no verdict'}, {note}"
            for n, w, note in zip(strip.names, strip.words, strip.notes, strict=True)
        )
        key = (
            "Mark and line: estimate and interval. Tick: raw value, not corrected for noise. Hatched: raw values of "
            "95 % of calibrated models."
            if scene.claims == "event"
            else ""
        )
        return Words(caption, f"{strip.title} on one axis. {alt}.", key=key).also(
            *sentences,
            *refused,
            *Overall().above(scene, frame),
            *line_words.notes(frame),
            line_words.WORDS,
            *line_words.tolerances(frame, scene.tolerance),
            *line_words.of_both(scene),
            scene.rows_counted,
        )

    def _of_event(self, scene: Scene) -> str:
        """Caption of the chart for the risk of an event."""
        ratio = tolerated_ratios(scene.ratio)
        error = f"{exact_tolerance(scene.tolerance)} for the calibration error of the risk"
        tolerances = (
            f"The model must be within two tolerances: {error}, and {ratio} observed events for each expected one."
            if scene.ratio < math.inf
            else f"Tolerance: {error}."
        )
        return f"{tolerances} The measures were fixed before the outcomes were used. {line_words.READING}"

    def bold(self, frame: pd.DataFrame) -> tuple[int, ...]:
        return tuple(range(len(frame)))


@EXHIBITS.register("overall", "Overall")
@dataclass(frozen=True)
class Overall(Exhibit):
    """Mean confidence and accuracy, or mean risk and observed frequency, with an interval that fits the verdict."""

    reads = "counts"

    meanings = of.Meanings(
        {
            "claimed": "mean confidence or risk of all rows",
            "right": "accuracy over all rows, or observed frequency of the event",
            "gap": "observed minus predicted",
            "direction": "direction of the gap if p is at most 0.05, else empty",
        }
    )

    def gaps(self, scene: Scene) -> dict[str, Call[OverallGap]]:
        """Return every model's gap over all rows, by title."""
        gaps = scene.each(
            lambda model: call(cc.diagrams.overall_gap, scene.among_all(model), bins=scene.bins, notion=scene.claims)
        )
        return scene.answered(gaps)[0]

    def above(self, scene: Scene, lines: pd.DataFrame) -> tuple[str, ...]:
        """Note on why a mean gap exceeds the error in these lines; empty if no printed gap does."""
        found = (
            line_words.gap_above(gap.right - gap.claimed, lines[lines["model"] == name], scene.claims)
            for name, gap in ((name, scene.get(gap)) for name, gap in self.gaps(scene).items())
        )
        return next(filter(None, found), ())

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, self.gaps(scene))

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.whole("rows"),
            of.share("predicted", "claimed"),
            of.share("observed", "right"),
            of.between("90 % interval", "low", "high"),
            of.probability("p"),
            of.text("shown", "headline"),
        )

    def words(self, scene: Scene) -> Words:
        return Words(
            "A gap is reported if its p-value is at most 0.05, as in the findings. Gaps of opposite sign cancel here."
        ).also(*(f"{name}. {scene.get(gap).basis}" for name, gap in self.gaps(scene).items()), scene.rows_counted)
