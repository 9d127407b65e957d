"""Every number in a sentence is a cell of a table, found by the name of its column.

A pattern with a named group for every number reads a sentence back; the group is the table's column. The number has to
be the cell, rounded to the printed digits. Page one of the report has no other numbers, so that a new sentence needs a
pattern. It has to mention open verdicts and bins with few rows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import calib_core as cc
from calib_core import NotAnswerable, Recipe
from calib_core.binning.interval_schemes import bins_noun
from calib_core.diagrams.reliability import FEW_ROWS
from calib_core.text import begun, inside
from dashboard import session
from dashboard.cli import main
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.hero import Hero
from dashboard.exhibits.recommendation import Recommendation
from dashboard.report.document import FactList, Figure, Folded, Heading, Headline, Paragraph
from dashboard.report.request import Options, Request
from dashboard.report.sections import summary
from dashboard.report.sections.front_page import ELSEWHERE
from dashboard.selection import Selection, Source

TOLERANCE, RATIO = 0.03, 1.4
"""Different from every level and default, so that numbers cannot be confused."""
N = r"−?\d[\d,]*(?:\.\d+)?(?:e-\d+)?"


# ---- data ----------------------------------------------------------------------------------------------------


def three(n: int, sure: float = 2.5, tilt: float = 0.0) -> bytes:
    """Return three very overconfident classes, with one too likely if there is a tilt."""
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(n, 3))
    label = (logits + rng.gumbel(size=(n, 3))).argmax(axis=1)
    sharp = np.exp(sure * logits + np.array([0.0, tilt, 0.0]))
    frame = pd.DataFrame(sharp / sharp.sum(axis=1, keepdims=True), columns=["p_a", "p_b", "p_c"])
    return frame.assign(label=np.array(list("abc"))[label]).to_csv(index=False).encode()


def risk(n: int, off: float, where: float) -> bytes:
    """Return the risk of an event, ``off`` times too high, and more so at one site."""
    rng = np.random.default_rng(2)
    p = rng.beta(2, 5, n)
    site = np.array(list("ABC"))[np.arange(n) % 3]
    died = (rng.random(n) < p * np.where(site == "C", where, off)).astype(int)
    return pd.DataFrame({"risk": p.round(4), "died": died, "site": site}).to_csv(index=False).encode()


def thin() -> bytes:
    """Return confidences of which one bin has four rows and one has exactly the required number."""
    said = np.repeat([0.55, 0.65, 0.85, 0.95], [4, 10, 90, 140])
    right = np.random.default_rng(3).random(len(said)) < said - 0.05
    return pd.DataFrame({"confidence": said, "correct": right.astype(int)}).to_csv(index=False).encode()


def calibrated() -> bytes:
    """Return risks of a calibrated model, few enough that the estimate of its error is 0."""
    rng = np.random.default_rng(0)
    p = rng.beta(2, 4, 150)
    return pd.DataFrame({"risk": p, "died": (rng.random(150) < p).astype(int)}).to_csv(index=False).encode()


FILES = {
    "few of three classes": three(150),
    "three classes, divided": three(1_300),
    "risk": risk(400, 0.5, 0.3),
    "risk, divided": risk(1_500, 0.97, 0.6),
    "confidences": thin(),
}
NO_ERROR = {"calibrated risk": calibrated()}
"""A file whose error is estimated to be 0."""
SEVERAL = {
    "several models, divided": (
        three(700),
        three(700, 1.6, 0.7),
        (
            Recipe("CALIBRATORS", "temperature"),
            Recipe("CALIBRATORS", "metacal-miscoverage", (("miscoverage", 0.4),)),
        ),
    )
}
"""Two files of the same rows, and calibrators, including one that abstains."""


@dataclass(frozen=True)
class World:
    """File in its default state, and the tables of the exhibits about it."""

    selection: Selection

    @cached_property
    def scene(self) -> Any:
        return session.scene_of(self.selection)

    @cached_property
    def request(self) -> Request:
        return Request(self.selection, Options())

    def frame(self, key: str) -> pd.DataFrame:
        return self.scene.get(EXHIBITS.make(key).table(self.scene))

    def line(self, key: str, model: str) -> dict[Any, Any]:
        """Return the only line of a model."""
        (found,) = (line for line in self.frame(key).to_dict("records") if line["model"] == model)
        return found

    def hero(self, model: str) -> dict[Any, Any]:
        """Return the line of a model at the requested risk or confidence."""
        frame = self.scene.get(Hero().answers(self.scene)[model]).frame()
        return frame.loc[(frame["confidence"] - self.scene.asked_about).abs().idxmin()].to_dict()

    def large(self) -> dict[Any, dict[Any, Any]]:
        """Return calibration-in-the-large of the first model, by measure."""
        frame = self.frame("in-the-large")
        return frame[frame["model"] == self.scene.titles[0]].set_index("measure").to_dict("index")

    def scores(self, key: str) -> dict[str, float]:
        frame = self.frame("scores")
        return dict(frame[frame["estimator"] == key].set_index("model")["value"])

    def counts(self) -> pd.Series:
        """Return the rows of the bins of the first model."""
        frame = self.frame("reliability")
        return frame[frame["model"] == self.scene.titles[0]].set_index("lower")["count"]

    def titled(self, name: str) -> str:
        """Return the model of this name in the middle of a sentence."""
        (found,) = (title for title in self.scene.titles if name in (title, inside(title)))
        return found


@lru_cache
def world(name: str) -> World:
    usual = ((FILES | NO_ERROR).get(name, b""), b"", (Recipe("CALIBRATORS", "temperature"),))
    file, other, calibrators = SEVERAL.get(name, usual)
    key = session.hold(file, f"{name}.csv").key
    # In unequal parts, so that one is not taken for the other.
    divided = {"share": 0.4} if "divided" in name else {}
    return World(
        Selection(
            source=Source(data=key, **divided),
            others=((session.hold(other, "other.csv").key, ""),) if other else (),
            calibrators=calibrators,
            eps=TOLERANCE,
            ratio=RATIO,
        )
    )


# ---- reading back --------------------------------------------------------------------------------------------


def number(text: str) -> tuple[float, float]:
    """Return the number in a text, and its largest rounding error.

    >>> number("−1,200.5"), number("17")
    ((-1200.5, 0.05), (17.0, 0.5))
    """
    plain = text.replace(",", "").replace("−", "-")
    mantissa, _, power = plain.partition("e")
    digits = len(mantissa.partition(".")[2])
    return float(plain), 0.5 * 10.0 ** (int(power or 0) - digits)


def same(column: str, text: str, value: Any) -> bool:
    """Return True if the text contains this value, or one of these; ranges are rounded outwards."""
    said, off = number(text)
    if isinstance(value, (list, pd.Series, pd.Index)):
        return any(same(column, text, each) for each in value)
    if column in ("lower_end", "upper_end"):
        return 0 <= (value - said if column == "lower_end" else said - value) + 1e-9 < 2 * off + 1e-9
    return bool(abs(said - value) <= off * (1 + 1e-9) + 1e-12)


@dataclass(frozen=True)
class Said:
    """Text of page one: its name, and its words."""

    kind: str
    text: str


def texts(block: Any, folded: bool = False) -> Iterator[Said]:
    """Yield every text of a block, and of those inside; collapsed text describes tables and pictures."""
    if isinstance(block, Headline):
        yield from (Said("headline", each) for each in (block.text, *block.below, block.small) if each)
    elif isinstance(block, FactList):
        yield from (Said(name, text) for name, text in block.items)
    elif isinstance(block, Figure):
        yield Said("picture", block.label)
    elif isinstance(block, Paragraph) and not folded:
        yield Said("words", f"{block.lead} {block.text}".strip())
    elif isinstance(block, Heading):
        yield Said("heading", block.text)
    elif is_dataclass(block) and not isinstance(block, Paragraph):
        for field in fields(block):
            value = getattr(block, field.name)
            for inner in value if isinstance(value, tuple) else ():
                yield from texts(inner, folded or isinstance(block, Folded))


@lru_cache
def page(name: str) -> tuple[Said, ...]:
    return tuple(said for block in summary.blocks(world(name).request) if block is not None for said in texts(block))


# ---- contents of sentences, by column ------------------------------------------------------------------------

Values = Iterator[tuple[str, float]]


def about(w: World, text: str, place: int) -> str:
    """Return the model that a position of a text is about: the last one named before it, otherwise the first."""
    names = {name: title for title in w.scene.titles for name in (title, inside(title))}
    found = [(text.rfind(f"{name}:", 0, place), title) for name, title in names.items()]
    found += [(text.rfind(f"{title}. ", 0, place), title) for title in w.scene.titles]
    found += [(text.rfind(f"after {name},", 0, place), title) for name, title in names.items()]
    at, title = max(found)
    return w.scene.titles[0] if at < 0 else title


def of_line(w: World, model: str) -> dict[str, float]:
    """Return the primary line, each number in the unit of its text."""
    line = w.line("verdict", model)
    shares = {name: 100 * line[name] for name in ("point", "low", "high", "level", "value", "limit")}
    plain = {name: line[name] for name in ("ratio", "ratio_low", "ratio_high", "p_of_any_error", "p", "rows")}
    limit = line["ratio_limit"]
    return (
        shares
        | plain
        | {"most": limit, "least": 1 / limit, "half": 50 * line["limit"]}
        | {"p_below": 1e-4 if line["p_of_any_error"] < 1e-4 else math.nan}
    )


def of_tests(w: World, model: str) -> dict[str, Any]:
    """Return the p-values of the tests for an error over all rows, and the same corrected by Holm's rule."""
    rows, line = w.scene.get(w.scene.model.predictions), w.line("verdict", w.scene.titles[0])
    plain = [line["p"], line["p_of_any_error"]]
    if rows.event is not None:
        large = cc.risk.in_the_large(rows)
        plain += [large.p_value, *([] if math.isnan(large.slope_p) else [large.slope_p])]
    steps = [(len(plain) - i) * p for i, p in enumerate(sorted(plain))]
    corrected = [min(1.0, max(steps[: i + 1])) for i in range(len(steps))]
    # "p < 0.0001" names the limit.
    return {
        "plain": [max(p, 1e-4) for p in plain],
        "corrected": [max(p, 1e-4) for p in corrected],
        "tests": len(plain),
    }


def of_hero(w: World, model: str) -> dict[str, float]:
    line = w.hero(model)
    shares = {name: 100 * line[name] for name in ("right", "claimed", "low", "high", "share")}
    shares |= {f"{name}_end": 100 * line[name] for name in ("lower", "upper")}
    level = {"level": 100 * w.line("verdict", model)["level"]}
    return shares | level | {"asked": 100 * line["confidence"], "rows": line["rows"]}


def of_large(w: World, model: str) -> dict[str, float]:
    large = w.large()
    rows = w.line("verdict", w.scene.titles[0])["rows"]
    share, predicted = large["observed"]["value"], large["mean-predicted"]["value"]
    return {"observed": share * rows, "expected": predicted * rows, "rate": 100 * share, "rows": rows,
            "mean": 100 * predicted}  # fmt: skip


def of_mean(w: World, model: str) -> dict[str, float]:
    """Return the error of the mean risk, as a factor or in points."""
    large = w.large()
    ratio = large["ratio"]["value"]
    risk, observed = 100 * large["mean-predicted"]["value"], 100 * large["observed"]["value"]
    return {"times": max(ratio, 1 / ratio), "points": 100 * abs(large["gap"]["value"]), "risk": risk, "rate": observed}


def of_expected(w: World, model: str) -> dict[str, float]:
    """Return the events of the model of a sentence, with its own observed : expected."""
    large = of_large(w, model)
    line = of_line(w, model)
    return line | {"observed": large["observed"], "expected": large["observed"] / line["ratio"]}


def of_rows(w: World, model: str) -> dict[str, float]:
    frame = w.frame("rows")
    parts = frame[frame["model"] == w.scene.titles[0]].set_index("part")["rows"]
    own = parts[parts.index.str.startswith("fold ")]
    folds = {"judged": own.sum(), "folds": len(own)}
    return {"fit": parts.get("calibration", math.nan), "test": parts.get("test", math.nan), "seed": 0} | folds


def of_bins(w: World, model: str) -> dict[str, float]:
    """Return the bins of few rows, those at the upper end with wide intervals, and the width that counts as wide."""
    frame = w.frame("reliability")
    counts = w.counts()
    few = counts[counts < FEW_ROWS]
    found = {"bins": len(few), "few": FEW_ROWS, "in_few": few.sum(), "one": 1, "wide": 30}
    if "low" in frame:
        first = frame[frame["model"] == w.scene.titles[0]].sort_values("lower", ascending=False)
        last = first[((first["high"] - first["low"]) > 0.3).cummin()]
        found |= {"above": 100 * last["lower"].min(), "rows_above": last["count"].sum()}
    total = counts.sum()
    top = counts.iloc[-1]
    return found | {"share": 100 * top / total, "top": 100 * counts.index[-1], "others": total - top}


def of_advice(w: World, model: str) -> dict[str, float]:
    """Return the recommended calibrator, otherwise the candidate with a gain; it has an interval."""
    exhibit = Recommendation.suited(w.scene)
    frame, found = w.scene.get(exhibit.table(w.scene)), w.scene.get(exhibit.found(w.scene))
    wanted = frame["title"] == (found.recipe if found.recalibrate else found.about).title
    best = frame[wanted].iloc[0].to_dict()
    base = frame.iloc[0]
    simple = {} if found.simple is None else frame.iloc[found.recipes.index(found.simple)]
    return {**{name: best[name] for name in ("gain", "low", "high")}, "level": 90, "candidates": len(frame) - 1,
            **{f"simple_{name}": simple.get(name, math.nan) for name in ("gain", "low", "high")},
            "singles": len(frame) - 1 - (frame["calibrator"] == "blend").sum(), "members": members_of(found.about),
            "before": base["score"], "after": best["score"], "test": of_rows(w, model)["test"]}  # fmt: skip


def members_of(recipe: Recipe) -> float:
    return len(dict(recipe.params).get("members", ())) or math.nan


def of_own_error(w: World, model: str) -> dict[str, float]:
    """Return the first model's error over its own rows, which advice is about, also if another model abstains."""
    rows = w.scene.get(w.scene.models.shown[0].base.predictions)
    primary = cc.inference.primary(rows, bins=None if w.scene.bins is None else w.scene.bins.build())
    return of_line(w, model) | {"point": 100 * float(primary.line.point or 0.0)}


def of_finding(w: World, model: str) -> dict[str, float]:
    first = w.scene.focused(model=w.scene.titles[0])
    frame = w.scene.get(EXHIBITS.make("findings").table(first))
    return as_said(frame.iloc[0].to_dict())


def as_said(line: Mapping[Any, Any]) -> dict[str, float]:
    """Return a finding's numbers, as printed."""
    shares = {name: 100 * line[name] for name in ("says", "right", "low", "high", "level", "lower", "upper")}
    return shares | {"rows": line["rows"], "hits": line["rows"] * line["right"]}


def of_furthest(w: World, model: str) -> dict[str, float]:
    """Return the bin furthest from the diagonal."""
    frame = w.frame("reliability")
    frame = frame[frame["model"] == model]
    claimed, right = ("risk", "observed") if "risk" in frame else ("confidence", "accuracy")
    far = frame.loc[(frame[claimed] - frame[right]).abs().idxmax()]
    return {"claimed": 100 * far[claimed], "right": 100 * far[right], "gap": 100 * abs(far[claimed] - far[right])}


def of_places(w: World, model: str) -> dict[str, Any]:
    """Return the significant bins of the first model."""
    first = w.scene.focused(model=w.scene.titles[0])
    frame = w.scene.get(EXHIBITS.make("findings").table(first))
    off = frame[(frame["kind"] == "bin") & frame["stands_out"]]
    worst = dict.fromkeys(("says", "right", "lower", "upper"), math.nan)
    if len(off):
        worst = off.loc[off["gap"].abs().idxmax()].to_dict()
    shares = {name: 100 * worst[name] for name in ("says", "right", "lower", "upper")}
    return shares | {"off": len(off), "bins": len(w.counts()), "edge": list(100 * w.frame("reliability")["lower"])}


def of_lines(w: World, model: str) -> dict[str, float]:
    """Return the number of uncorrected lines, and the limit of their p-values."""
    lines = len(w.frame("verdict"))
    rows = w.line("verdict", w.scene.titles[0])["rows"]
    classes = w.scene.get(w.scene.models.shown[0].predictions).n_classes or 0
    return {"lines": lines, "share": 0.05, "five": 5, "rows": rows, "classes": classes}


RULES = [
    # Numbers computed only for the sentence have no column: required rows, and the remaining error.
    (of_line, r"About {any_rows} judged rows would be needed \(there are {rows}\)\. With that "
              r"many, a perfectly calibrated model is shown to be within {limit} % in {any_eight} of {any_ten} "
              r"samples. A model with an "
              r"error of {half} % needs about {any_more}"),
    (of_own_error, r"leaves an error estimated at {any_left} % \({level} % interval {any_low} to {any_high} %\)"),
    (of_own_error, r"[Tt]he calibration error(?: \([\w-]+ ECE\))? is estimated to fall from {point} % to {any_left} %"
                   r"(?: \({level} % interval {any_low} to {any_high} %\))?"),
    (of_places, r"in {off} of {bins} bins"),
    (of_places, r"risks of {lower} to {upper} % are"),
    (of_places, r"At a mean risk of {says} %, {right} %"),
    (of_places, r"Above {edge} %, the original model is"),
    (of_lines, r"These {lines} p-values are not corrected for multiple testing\. Without any error, each is {share} or "
               r"less in at most {five} % of samples"),
    (of_lines, r"{rows} rows are often too few to detect an error in {classes} separate classes"),
    (of_large, r"mean predicted risk of [^ ]+ is {mean} %, and the observed frequency is {rate} %"),
    (of_hero, r"[wW]hen it says {asked} %, it is right {right} % of the time"),
    (of_hero, r"[oO]f rows given a risk of about {claimed} %, {right} %"),
    (of_hero, r"[tT]he mean risk of the rows given about {asked} % is {claimed} %"),
    (of_hero, r"[oO]nly {rows} predictions are near {asked} %"),
    (of_hero, r"(?:the same {rows} rows: {right} %, )?{low} to {high} % \({level} % interval\)"
              r"(?:, from {rows} rows \({share} % of all\) "
              r"with a (?:confidence|predicted risk) of {lower_end}(?: to {upper_end})? %(?: \(a window around {asked} "
              r"%\))?)?"),
    (of_line, r"(?:error|risk|frequency\)|accuracy\)) is estimated (?:at|to be) {point} %(?: and at most {high} %)?"),
    (of_line, r"after [^:;]+?, {point} %(?: and at most {high} %)?"),
    (of_line, r"is estimated (?:at|to be) {point} % \({level} % interval {low} to {high} %\)"),
    (of_line, r"(?:tolerance of|tolerance|be within|an error below) {limit} (?:%|points)"),
    (of_line, r"the {limit} % tolerance"),
    (of_line, r", includes {limit} %"),
    (of_line, r"observed {ratio} times as often as predicted"),
    (of_expected, r"\({observed} observed, {expected} predicted; {level} % interval {ratio_low} to {ratio_high}\)"),
    (of_line, r"(?:tolerance of|limit of|within) {least} to {most}"),
    (of_line, r"some error(?: \(|: the [^.]{1,60} has )p = {p}"),
    (of_tests, r"significant \(p [=<] {corrected}, corrected for {tests} tests\)"),
    (of_tests, r"none of the {tests} tests for an error is significant"),
    (of_tests, r"(?:Uncorrected,|(?<=\)),|(?<=\)) and) [^()]{1,60} \(p [=<] {plain}\)"),
    (of_tests, r"differ significantly \(p [=<] {plain}\)"),
    (of_line, r"\((?:Spiegelhalter's test, )?p = {p_of_any_error}(?:, (?:[a-zA-Z' ]+|[\d,]+ simulated samples))?"
              r"(?:; not corrected for other tests)?\)"),
    (of_line, r"\((?:Spiegelhalter's test, )?p < {p_below}(?:, (?:[a-zA-Z' ]+|[\d,]+ simulated samples))?"
              r"(?:; not corrected for other tests)?\)"),
    (of_line, r"raw value: {value} %"),
    (of_line, r"(?:miscalibrated|within|too few rows to tell|too close to call), {low} to {high} %"),
    (of_mean, r"is {times} times the (?:observed frequency|mean predicted risk)"),
    (of_mean, r"mean predicted risk is {points} points too"),
    (of_mean, r"(?:frequency|risk|high|low) \({risk} % predicted, {rate} % observed\)"),
    (of_large, r"{expected} events were expected and {observed} observed"),
    (of_large, r"{expected} events expected, {observed} observed among {rows} rows"),
    (of_large, r": {observed} of {rows} rows \({rate} %\)"),
    (of_large, r"contain only {observed} events"),
    (of_rows, r"{fit} to fit calibrators, {test} to judge"),
    (of_rows, r"{judged} to judge|{judged}, all judged"),
    (of_rows, r"(?:in {folds} random folds|at random, stratified by class), seed {seed}"),
    (of_bins, r"{bins} bins? contains? fewer than {few} rows \({in_few} rows? in all"),
    (of_bins, r"Only {rows_above} rows have a risk above {above} %; the intervals of the bins there are wider than "
              r"{wide} points"),
    (of_expected, r"interval of observed : expected \({ratio_low} to {ratio_high}\)"),
    (of_hero, r": {right} %, (?=[\d.]+ to)"),
    (of_bins, r"{share} % of the rows have a confidence above {top} %; only {others} "
              r"rows have a lower confidence"),
    (of_finding, r"(?:confidence|risk of) {lower} to {upper} %"),
    (of_finding, r"right {right} % of the time "
                 r"\({hits} of {rows} rows; {level} % interval {low} to {high} %; mean confidence {says} %\)"),
    (of_finding, r"Some rows are significantly off: [^,]+, the mean risk is {says} %, and {right} %"),
    (of_finding, r"the mean risk is {says} %, and {right} % \w+ "
                 r"\({hits} of {rows} rows; {level} % interval {low} to {high} %\)"),
    (of_finding, r"{right} % \w+ \({hits} of {rows} rows; {level} % interval {low} to {high} %; mean risk {says} %\)"),
    (of_advice, r"falls? from {before} to {after}"),
    (of_advice, r"by {simple_gain} with the simpler one \({level} % interval {simple_low} to {simple_high}\), and by "
                r"{gain} with [a-z ]+ \({level} % interval {low} to {high}\)"),
    (of_own_error, r"[Tt]he calibration error(?: \([\w-]+ ECE\))? is estimated at {any_left} %"
                   r"(?: \({level} % interval {any_low} to {any_high} %\))?, before recalibration at {point} %"),
    (of_advice, r"(?:by|gains) {gain} \({level} % interval {low} to {high}\)"),
    (of_advice, r"blend of {members} calibrators"),
    (of_advice, r"average of {singles} calibrators"),
    (of_advice, r"(?:Of|None of) {candidates} calibrators"),
    (of_advice, r"on {test} held-out rows"),
    (of_furthest, r"largest distance of a bin from the diagonal {gap} points"),
    (of_furthest, r"at a mean risk of {claimed} %, observed {right} %"),
]  # fmt: skip
"""Sources of the numbers of a sentence: a collecting function, and the sentence with column names for numbers."""


def compiled(pattern: str) -> re.Pattern[str]:
    """Return the pattern with a group for every column; a repeated column has two groups."""
    seen: dict[str, int] = {}

    def group(found: re.Match[str]) -> str:
        seen[found[1]] = seen.get(found[1], 0) + 1
        return f"(?P<{found[1]}__{seen[found[1]]}>{N})"

    return re.compile(re.sub(r"\{([a-z_]+)\}", group, pattern))


READ = [(collect, compiled(pattern)) for collect, pattern in RULES]


def wrong(w: World, text: str, read: Any = READ) -> tuple[list[str], str]:
    """Return the numbers of a text that differ from their columns, and the parts that no pattern reads."""
    left, found = text, []
    for collect, pattern in read:
        for match in pattern.finditer(text):
            if left[match.start() : match.end()] != match[0]:
                continue  # a longer pattern has read it
            first = min(match.start(name) for name in match.groupdict() if match[name] is not None)
            values = collect(w, about(w, text, first))
            for name, said in match.groupdict().items():
                column = name.rpartition("__")[0]
                if said is not None and not column.startswith("any_") and not same(column, said, values[column]):
                    found.append(f"{column} is {values[column]}, and not {said}, in: {match[0]}")
            left = left[: match.start()] + re.sub(r"\d", "#", match[0]) + left[match.end() :]
    return found, left


# ---- the law -------------------------------------------------------------------------------------------------

FIXED = (
    "cross 50 %",
    "a decision at 50 %",
    "crosses 50 %",
    "p is at most 5 %",
    "p is more than 5 %",
    "needs about 200 (Van Calster et al., 2016)",
    "p at most 0.05",
)
"""Numbers of the method, the same for all data."""
NAMES = ("Predictions", "File")
"""Facts whose numbers are in names."""
LARGE = {
    "Mean risk": ("mean-predicted", 100),
    "Observed": ("observed", 100),
    "Observed : expected": ("ratio", 1),
    "Intercept": ("intercept", 1),
    "Slope": ("slope", 1),
    "AUROC": ("auroc", 1),
    "Log loss": ("log-loss", 1),
}
"""Facts of calibration-in-the-large: the measure of each, and the unit in which it is written."""
SCORES = {"Accuracy": ("accuracy", 100), "Log loss": ("log-loss", 1)}


def without_cells(w: World, text: str) -> str:
    """Return the text without names of cells: bins, and the subjects of intervals."""
    frames = [w.frame("verdict")]
    with suppress(NotAnswerable):
        frames.append(w.frame("notions"))
    for frame in frames:
        # Sentences omit that the event is ranked above the confidence.
        about = [each.partition(", given")[0] for each in frame["about"]]
        groups = [each.partition(" over ")[2] for each in about]
        bins = [f"in {bins_noun(label)}" for label in frame["bins"] if label]
        for cell in (*frame["bins"], *about, *bins, *filter(None, groups)):
            text = text.replace(cell.partition(" (")[0], "").replace(cell.removesuffix(" with similar predictions"), "")
    return text


def of_scores(w: World, name: str, text: str) -> list[str]:
    """Return the faults in a fact about a score of every model."""
    key, scale = SCORES[name]
    found = w.scores(key)
    told = dict(part.split(": ") for part in text.split("; ")) if ": " in text else dict.fromkeys(found, text)
    return [f"{name} of {title} is {value}, and not {told.get(title)}" for title, value in found.items()
            if not same("value", re.findall(N, told.get(title, "0"))[0], scale * value)]  # fmt: skip


def of_measure(w: World, name: str, text: str) -> list[str]:
    """Return the faults in a fact of calibration-in-the-large."""
    key, scale = LARGE[name]
    line = w.large().get(key) or w.frame("curve-gaps").set_index("measure").to_dict("index")[key]
    said = re.findall(N, text)
    ends = [line[end] for end in ("value", "low", "high")][: len(said)]
    return [f"{name} is {ends}, and not {text}" for each, value in zip(said, ends, strict=True)
            if not same("value", each, scale * value)]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", FILES)
def test_every_number_of_page_one_is_a_cell(name: str) -> None:
    w, found = world(name), []
    of_event = w.scene.claims == "event"
    for said in page(name):
        if said.kind in NAMES:
            continue
        if of_event and said.kind in LARGE:
            found += of_measure(w, said.kind, said.text)
        elif said.kind in SCORES:
            found += of_scores(w, said.kind, said.text)
        else:
            bad, left = wrong(w, said.text)
            left = without_cells(w, left)
            for text in FIXED:
                left = left.replace(text, "")
            found += bad
            if re.search(r"\d", left):
                found.append(f"no pattern reads {said.kind}: {left}")
    assert found == []


def test_an_error_of_0_is_said_with_its_upper_end() -> None:
    w = world("calibrated risk")
    line = w.line("verdict", w.scene.titles[0])
    assert line["point"] == 0 < line["high"]
    (told,) = (
        found
        for said in page("calibrated risk")
        for found in re.findall(r"estimated at 0 % and at most ([\d.]+) %", said.text)
    )
    assert float(told) == pytest.approx(100 * line["high"], rel=0.05)


@pytest.mark.parametrize("name", FILES)
def test_what_tables_leave_open_is_said(name: str) -> None:
    """Every model with an open verdict is listed with its word, and no other; bins with few rows are counted."""
    w = world(name)
    (limits,) = (said.text for said in page(name) if said.text.endswith(ELSEWHERE))
    frame = w.frame("verdict")
    for word in ("too close to call", "too few rows to tell"):
        told = re.findall(
            rf"It is open whether (.*?) (?:has an error|is within)[^.]*?(?:\.\d+[^.]*?)? \({word}\)\.", limits
        )
        models = {model for text in told for model in re.split(", | or ", text)}
        models = {begun(model.removeprefix("the ")) if model.startswith("the ") else model for model in models}
        assert models == set(frame.loc[frame["verdict"] == word, "model"])
    if w.scene.claims != "event":
        few = w.counts()[w.counts() < FEW_ROWS]
        told = re.findall(r"(\d+) bins? contains? fewer than", limits)
        assert [int(text) for text in told] == ([len(few)] if len(few) else [])


def test_a_bin_of_just_enough_rows_is_among_the_data() -> None:
    """Without such a bin, a test could not distinguish "fewer than" from "at most"."""
    assert {4, FEW_ROWS} <= set(world("confidences").counts())


@pytest.mark.parametrize("name", FILES)
def test_every_finding_says_its_columns(name: str) -> None:
    w = world(name)
    frame = w.scene.get(EXHIBITS.make("findings").table(w.scene.focused(model=w.scene.titles[0])))
    read = [(collect, pattern) for collect, pattern in READ if collect is of_finding]
    for line in frame.to_dict("records"):
        values = as_said(line)
        bad, _ = wrong(w, line["finding"], [(lambda w, model, values=values: values, pattern) for _, pattern in read])
        assert bad == []
    assert any(pattern.search(text) for text in frame["finding"] for _, pattern in read)


WITH_WORDS = ("hero", "verdict", "reliability", "notions", "scores", "estimators", "calibrator-errors")
"""Exhibits whose words are about the models and lines of page one, or about their own lines."""


@pytest.mark.parametrize("name", FILES)
def test_what_stands_above_and_below_tables_is_in_them(name: str) -> None:
    """The same sentences are on the page, in its cards and panes, and wherever an exhibit is shown."""
    w, found, read = world(name), [], 0
    for key in WITH_WORDS:
        exhibit = EXHIBITS.make(key)
        try:
            frame, words = w.frame(key), exhibit.words(w.scene)
        except NotAnswerable:
            continue
        lines = int(frame["p"].notna().sum()) if "estimator" in frame else 0

        def alone(w: World, model: str, lines: int = lines) -> dict[str, float]:
            return of_lines(w, model) | {"lines": lines, "chance": 0.05 * lines}

        own = [(alone if collect is of_lines else collect, pattern) for collect, pattern in READ]
        for text in (words.below_figure, words.alt, *words.notes, *words.headline):
            bad, left = wrong(w, text, own)
            found += [f"{key}: {each}" for each in bad]
            read += left != text
    assert found == []
    assert read >= 5


@pytest.mark.parametrize("name", ["few of three classes", "risk", "confidences"])
def test_a_terminal_says_what_the_tables_say(name: str, tmp_path: Path) -> None:
    """Applies to rows that all outputs evaluate."""
    (path := tmp_path / "rows.csv").write_bytes(FILES[name])
    w = world(name)
    both = ["--calibrator", "temperature"] if len(w.scene.titles) > 1 else []
    calls = [
        ["audit", str(path), "--tolerance", str(TOLERANCE), "--ratio", str(RATIO), *both],
        ["gate", str(path), "--max-ece", str(TOLERANCE), *(["--max-ratio", str(RATIO)] if name == "risk" else [])],
    ]
    for words in calls:
        ended = CliRunner().invoke(main, words)
        # With several models, the verdict follows the line that names its model.
        told = "".join(
            f"{line}\n" if line.removesuffix(":") not in w.scene.titles else f"{line} "
            for line in ended.stdout.splitlines()
        )
        verdicts = [text for text in told.splitlines() if "raw value: " in text or "is estimated at" in text]
        assert verdicts
        assert [bad for text in verdicts for bad in wrong(w, text)[0]] == []


def test_the_law_finds_a_number_of_another_column() -> None:
    w = world("three classes, divided")
    rows, line = of_rows(w, ""), of_line(w, w.scene.titles[0])
    assert wrong(w, f"{rows['fit']} to fit calibrators, {rows['test']} to judge")[0] == []
    assert wrong(w, f"{rows['test'] + 1} to fit calibrators, {rows['test']} to judge")[0]
    assert wrong(w, f"above the tolerance of {line['limit']:.0f} %")[0] == []
    assert wrong(w, f"above the tolerance of {line['level']:.0f} %")[0]
    assert wrong(w, "a sentence about 7 things")[1] == "a sentence about 7 things"
