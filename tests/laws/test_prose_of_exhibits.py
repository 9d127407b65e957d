"""Numbers in sentences beyond page one: panes, hover texts, cards, and the later chapters of the report.

A number in the text or hover text of an exhibit is a cell of its own table. It is a share if a percent sign follows,
otherwise unchanged. All other numbers have a rule that names their source: a setting, or the column of another
table. A chapter of the report is compared with its own tables, a card with its line.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from no_data import OF_NO_DATA
from shown_laws import FIELD, records_of, told_by

import calib_core as cc
from calib_core import InputError, NotAnswerable, defaults
from calib_core.diagrams.reliability import FEW_ROWS, pooled_marks
from calib_core.evaluation import prediction_sets
from calib_core.evaluation.candidate_ranking import ALONE, ENOUGH
from calib_core.figures import overlay
from calib_core.summaries import write_summary
from dashboard import session
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.calibrators import effects
from dashboard.exhibits.findings import SHOWN
from dashboard.exhibits.fitted_curves import isotonic
from dashboard.exhibits.lab import LabDrift
from dashboard.exhibits.risk import InTheLargeExhibit
from dashboard.exhibits.stars import stars
from dashboard.report.build import build
from dashboard.report.document import Bullets, Figure, Headline, Paragraph, TypesetTable, within
from dashboard.selection import Selection, Source
from dashboard.views import calibrator_cards, card_words, place_detail
from tests.laws.test_prose import (
    READ,
    SEVERAL,
    N,
    World,
    compiled,
    number,
    of_finding,
    of_line,
    of_lines,
    of_rows,
    of_tests,
    world,
    wrong,
)

WORLDS = ("three classes, divided", "risk, divided", "confidences")
LOOKED_AT = {WORLDS[0]: {"bin": 12, "code": 1, "cell": 2}, WORLDS[1]: {"bin": 3}}
"""Bin, class and cell of the pane; elsewhere the bin that contributes most to the error."""
SLOW = {"rates", "score-parts"}


@lru_cache
def looking(name: str) -> World:
    """Return the data of a name, with a focused place."""
    return World(world(name).selection.replace(**LOOKED_AT.get(name, {})))


@lru_cache
def shown(name: str) -> dict[str, tuple[pd.DataFrame, Any, Any]]:
    """Return (table, words, figure) of every exhibit that these data have."""
    scene, found = looking(name).scene, {}
    for key in set(EXHIBITS) - OF_NO_DATA - SLOW:
        exhibit = EXHIBITS.make(key)
        try:
            frame, words, drawn = scene.get(exhibit.table(scene)), exhibit.words(scene), exhibit.figure(scene)
            found[key] = (frame, words, None if drawn is None else scene.get(drawn))
        except NotAnswerable:
            continue
    return found


# ---- cells ---------------------------------------------------------------------------------------------------

NAMES = ("bins", "about", "place", "slice", "difference", "title")
"""Columns of words that name the subject of their line."""
SHARE = re.compile(rf"(?:(?: to| and| or|,) [+-]?{N})?(?: %|%|-%| points?\b)")
TOKEN = re.compile(rf"(?<![\w.]){N}(?![\w])")
YEAR = re.compile(r" \(?(?:18|19|20)\d\d\b\)?")
"""Pattern for the year of a paper."""


def numbers_of(values: Any) -> list[float]:
    """Return the numbers of a column."""
    told = [float(v) for v in values if isinstance(v, (int, float, np.number)) and not isinstance(v, bool)]
    return [v for v in told if math.isfinite(v)]


def cells_of(*frames: pd.DataFrame) -> np.ndarray:
    """Return the size of every number of these tables, including those in names, and the numbers of lines."""
    found: list[float] = [0.0]
    for frame in frames:
        for name in frame:
            found += numbers_of(frame[name])
            if name in NAMES:
                found += [number(text)[0] for each in map(str, frame[name]) for text in TOKEN.findall(each)]
        found.append(len(frame))
    return np.abs(found)


def is_cell(said: str, after: str, cells: np.ndarray) -> bool:
    """Return True if this is a value of the table, rounded to the printed digits, in the unit that follows it."""
    told, off = number(said.rstrip(","))
    scaled = 100 * cells if SHARE.match(after) else cells
    return bool(np.any(np.abs(scaled - abs(told)) <= off * (1 + 1e-9) + 1e-12))


def plain(text: str) -> str:
    """Return the text without line breaks, and with ordinary spaces."""
    return text.replace("<br>", " ").replace("\xa0", " ")


def strange(text: str, cells: np.ndarray) -> list[str]:
    """Return the numbers of a text that are no cells."""
    text = YEAR.sub("", plain(text))
    return [found[0] for found in TOKEN.finditer(text) if not is_cell(found[0], text[found.end() :], cells)]


# ---- numbers outside the exhibit's own table -------------------------------------------------------------------

Frame = pd.DataFrame
FIXED = [
    r"(?:within|as) 3 points|to include 100|up to 12 points|95 % of calibrated models",  # windows of the slider
    r"change of 30 % or more",  # full colour of a map
    r"(?:10|##) rows or more (?:are right|correct) and 10 wrong",
    r"most confident 80 %|AUROC; 0\.5:|above 50 %|side of 50 %|\(E50\)|\(E90\)|90 % quantile|E50 and E90|at 50 %",
    r"minus 1 for each",
    r"p is more than 5 %|0\.0001 for squared errors",
    r"at least 90 % of the largest|[iI]n 95 % of (?:samples|draws)|95 % of the raw values are below",
    r"1,000 resamples|Table \d|§\d",
    r"within 10 points|1 the best|log\(1 \+",
    r"Predictions of 95 % or more",
    r"with calibration rows: \d",
    r"correct rows withheld 0\.4",
    r"rows near a (?:score|risk) count as at least 20",
]
"""Numbers of a method, the same for all data."""


def of_settings(w: World, frame: Frame) -> dict[str, float]:
    """Return the choices that every page has."""
    tested = int(frame["p"].notna().sum()) if "p" in frame else 0
    return {
        "level": 100 * defaults.LEVEL,
        "chance": 100 * (1 - defaults.LEVEL),
        "sure": 100 * (1 - defaults.ALPHA),
        "noise": 95,
        "hundred": 100,
        "alpha": defaults.SIGNIFICANCE,
        "five": 100 * defaults.SIGNIFICANCE,
        "smallest": 1e-4,
        "few": FEW_ROWS,
        "enough": 2 * prediction_sets.FEWEST / (1 - prediction_sets.SHARE),
        "bins": defaults.BINS,
        "limit": 100 * w.selection.eps,
        "least": 1 / w.selection.ratio,
        "most": w.selection.ratio,
        "drawn": min(SHOWN, tested),
    }


def of_two_ends(w: World, frame: Frame) -> dict[str, float]:
    """Return the levels of the ends of the event's interval: the one towards the predicted frequency misses less."""
    found = w.scene.get(InTheLargeExhibit().first(w.scene)[1]).found
    return {"towards": 100 * round(1 - 2 * found.tail, 3), "level": 100 * defaults.LEVEL}


def of_drift(w: World, frame: Frame) -> dict[str, float]:
    """Return what is simulated, and the periods from the beginning of the drift to the first alarm of a watch."""
    asked, (watch, *_) = LabDrift(), frame["median"]
    return {
        "start": asked.start,
        "years": asked.draws,
        "periods": 52,
        "rows": asked.n,
        "most": 90 - 10,
        "size": 100 * asked.size,
        "delay": watch - asked.start + 1,
    }


def of_own_lines(w: World, frame: Frame) -> dict[str, float]:
    """Return the number of lines with a p-value."""
    lines = int(frame.get("p", pd.Series(dtype=float)).notna().sum())
    return {"lines": lines}


def of_place(w: World, frame: Frame) -> dict[str, Any]:
    """Return the focused bin, by its columns in the diagram; for a risk every model's rows of it."""
    bins = w.frame("reliability") if w.scene.claims == "event" else w.frame("bins")
    picked = w.scene.focus.bin
    own = bins[bins["model"] == w.scene.model.title]
    own = own[own["lower"] == own["lower"].max()] if picked is None else own[own["bin"] == picked]
    says, right = ("risk", "observed") if "risk" in own else ("confidence", "accuracy")
    line = own.iloc[0]
    return {"lower": 100 * line["lower"], "upper": 100 * line["upper"], "rows": line["count"],
            "says": 100 * line[says], "right": 100 * line[right]}  # fmt: skip


def of_rows_listed(w: World, frame: Frame) -> dict[str, float]:
    """Return the number of rows in a table, and of those with the outcome."""
    came = frame["event"] if "event" in frame else frame["correct"]
    place = of_place(w, frame)
    return {"rows": len(frame), "right": 100 * came.mean(), "lower": place["lower"], "upper": place["upper"]}


def of_models_there(w: World, frame: Frame) -> dict[str, Any]:
    """Return the rows of every model in the focused bin."""
    shares = {name: list(100 * frame[name]) for name in ("right", "says", "right_low", "right_high")}
    return of_place(w, frame) | shares | {"count": list(frame["rows"]), "hits": list(frame["rows"] * frame["right"])}


def of_cell(w: World, frame: Frame) -> dict[str, Any]:
    """Return the focused cell of the triangle."""
    cells = w.frame("triangle")
    line = cells[(cells["cell"] == w.scene.focus.cell) & (cells["model"] == w.scene.model.title)].iloc[0]
    names = w.scene.class_names
    test = w.scene.get(w.scene.model.predictions)
    labels = np.array([list(names).index(name) for name in frame["label"]])
    assert test.n_classes == len(names)
    return {"cell": w.scene.focus.cell, "rows": line["count"], "fit": line["fit_count"],
            "mean": [100 * line[f"mean {name}"] for name in names],
            "target": [100 * line[f"target {name}"] for name in names],
            "happens": [100 * np.mean(labels == k) for k in range(len(names))],
            "edge": list(np.arange(11) / 10)}  # fmt: skip


def of_decisions(w: World, frame: Frame) -> dict[str, Any]:
    ends = ("expected", "realised", "realised_low", "realised_high")
    return {name: list(1000 * frame[name]) for name in ends} | {"thousand": 1000, "level": 100 * defaults.LEVEL}


def of_parts(w: World, frame: Frame) -> dict[str, Any]:
    """Return the division of rows."""
    found = of_rows(w, "")
    judged = w.scene.get(w.scene.models.shown[0].base.predictions).n_rows
    own = found["fit"] if found["fit"] == found["fit"] else judged
    largest = w.frame("rows")["rows"].iloc[: max(int(found["folds"]), 1)].max()
    folds = found["folds"] or defaults.JUDGED_FOLDS
    share = w.selection.source.share
    return found | {"share": share, "judged": judged, "own": own, "folds": folds, "least": judged - largest}


def of_choice(w: World, frame: Frame) -> dict[str, Any]:
    exhibit = EXHIBITS.make("recommendation")
    found = w.scene.get(exhibit.found(w.scene))
    counts, moved = list(Counter(found.picks).values()), sum(pick.key != "identity" for pick in found.picks)
    tried, singles = (
        sum(r.key not in skipped for r in found.recipes) for skipped in ({"identity"}, {"identity", "blend"})
    )
    weights = [100 * weight for weight in dict(found.about.params).get("weights", ())]
    return of_parts(w, frame) | {
        "enough": math.exp(ENOUGH),
        "evidence": math.exp(min(found.evidence, 700.0)),
        "candidates": [tried, singles],
        "alone": 100 * ALONE,
        "weight": weights,
        "members": len(weights),
        "picked": [*counts, moved],
    }


def of_held_out(w: World, frame: Frame) -> dict[str, Any]:
    """Return mean risk and frequency of the event for every value of a metadata column in the held-out rows."""
    p = w.scene.get(w.scene.models.shown[0].predictions)
    if p.metadata is None or p.event is None:
        return {"stated": [], "observed": []}
    risk, happened = p.probs[:, p.event], p.labels == p.event
    rows = [np.asarray(p.metadata[name]) == value for name in p.metadata for value in set(p.metadata[name])]
    return {
        "stated": [100 * risk[some].mean() for some in rows],
        "observed": [100 * happened[some].mean() for some in rows],
    }


def of_shown_errors(w: World, frame: Frame) -> dict[str, Any]:
    """Return the number of tests that show an error, overall and corrected."""
    return {"shown": int((frame["p_holm"] <= defaults.SIGNIFICANCE).sum()), "tests": int(frame["p"].notna().sum())}


def of_balance(w: World, frame: Frame) -> dict[str, float]:
    return {"half": 50 / len(frame), "twice": 200 / len(frame)}


def of_lines_with_interval(w: World, frame: Frame) -> dict[str, Any]:
    """Return an error in points, and the lines that have an interval."""
    first = frame[frame["model"] == w.scene.model.title]
    return {**{name: list(100 * first[name]) for name in ("point", "low", "high")},
            "limit": 100 * w.selection.eps, "estimators": int(first["low"].notna().sum())}  # fmt: skip


def of_hits(w: World, frame: Frame) -> dict[str, Any]:
    """Return the number of rows of a place with the outcome."""
    right = frame["right"] if "right" in frame else frame["accuracy"]
    return {"hits": list(frame["rows"] * right), "level": 100 * defaults.LEVEL}


def of_places_tested(w: World, frame: Frame) -> dict[str, Any]:
    return {"tested": int(frame["p"].notna().sum()), "off": int(frame["stands_out"].sum()),
            "few": int(frame["p"].isna().sum())}  # fmt: skip


def of_correction(w: World, frame: Frame) -> dict[str, Any]:
    """Return the kinds of places (those of classes only where confidences are shown), and the columns with slices."""
    rows = w.scene.get(w.scene.model.predictions)
    sliced = rows.metadata is not None and len(rows.metadata.columns) > 0
    of_classes = {"confidence": 0, "top-label": 2}.get(rows.kind, 3)
    columns = w.frame("slice-columns")["column"].nunique() if sliced else 0
    return {"kinds": [1 + sliced, 1 + sliced + of_classes], "columns": columns}


def of_curve(w: World, frame: Frame) -> dict[str, Any]:
    """Return the smoothed curves at 80 %, and their mean distance over the density."""
    local, distance = [], []
    for _, line in frame.groupby([name for name in ("model", "class") if name in frame]):
        known = line.dropna(subset="curve")
        local.append(100 * abs(np.interp(0.8, known["score"], known["curve"]) - 0.8))
    models = [w.scene.get(model.predictions) for model in w.scene.models.shown]
    for rows in models:  # over all rows, also where too few are near for a curve
        notions = ("event", "confidence", "class-wise", "top-label")
        for notion in notions:
            with contextlib.suppress(InputError):
                distance += [100 * curve.error for curve in cc.diagrams.kernel_curves(rows, notion)]
    return {"local": local, "distance": distance, "at": 80, "level": 100 * defaults.LEVEL}


def of_differences(w: World, frame: Frame) -> dict[str, Any]:
    """Return the number of bins whose classes are tested, and the p-values of all of them together."""
    mine = frame[frame["model"] == w.scene.model.title]
    rows = w.scene.get(w.scene.model.predictions)
    joint = cc.diagrams.reliability(rows, w.scene.bins, notion=w.scene.claims).class_p_joint
    return {"tested": int(mine["class_p"].notna().sum()), "joint": joint}


def of_all_classes(w: World, frame: Frame) -> dict[str, Any]:
    """Return the p-values of all predicted classes together."""
    rows = w.scene.get(w.scene.model.predictions)
    return {"joint": cc.inference.jointly_off(rows, w.scene.bins)}


def of_bound(w: World, frame: Frame) -> dict[str, Any]:
    """Return upper bounds in points, which are rounded up."""
    return {"bound": list(np.ceil(1000 * frame["bound"] - 1e-6) / 10)}


def of_worst_group(w: World, frame: Frame) -> dict[str, float]:
    """The largest error of a group has its own interval: those of the lines are simultaneous for all groups."""
    exhibit = EXHIBITS.make("multicalibration")
    found = w.scene.get(exhibit.found(w.scene))
    ends = {"value": found.value, "low": found.interval.low, "high": found.interval.high}
    return {**{name: 100 * end for name, end in ends.items()}, "floor": 100 * found.noise_floor.high, "level": 90}


def of_margin(w: World, frame: Frame) -> dict[str, float]:
    margin = EXHIBITS.make("pairs").margin
    return {"margin": margin, "points": 100 * margin, "squared": margin * margin}


def of_scan(w: World, frame: Frame) -> dict[str, float]:
    """Return the two parts of a scan, which searches one half of the rows and confirms on the other."""
    judged = w.line("verdict", w.scene.titles[0])["rows"]
    slices = w.frame("slice-columns")
    confirmed, columns = int(frame["stands_out"].sum()), len(w.scene.get(w.scene.model.predictions).metadata.columns)
    half = [judged // 2, judged - judged // 2]
    return {"looked": len(slices), "half": half, "confirmed": confirmed, "picked": len(frame), "columns": columns}


def of_classes(w: World, frame: Frame) -> dict[str, float]:
    off = int(frame["stands_out"].sum()) if "stands_out" in frame else 0
    rows = w.line("verdict", w.scene.titles[0])["rows"]
    return {"classes": len(w.scene.class_names) or 2, "off": off, "listed": len(frame), "rows": rows}


def of_all_tests(w: World, frame: Frame) -> dict[str, Any]:
    """Return the corrected p-values of the tests over all rows."""
    return of_tests(w, w.scene.titles[0])


def of_a_bin(w: World, frame: Frame) -> dict[str, float]:
    """Return the numbers of the classes of a bin, with those that every page has."""
    return of_settings(w, frame) | of_classes(w, frame)


def of_spikes(w: World, frame: Frame) -> dict[str, Any]:
    """Return the rows by percentage point of the risk."""
    rows = w.scene.get(w.scene.model.predictions)
    point = np.floor(100 * np.asarray(rows.probs)[:, 1] + 1e-9)
    spikes = pd.crosstab(point, np.asarray(rows.labels) == 1)
    return {"risk": list(spikes.index + 0.5), "count": [*spikes[True], *spikes[False]]}


def of_answers(w: World, frame: Frame) -> dict[str, Any]:
    """Return the rows that models answer: each one, pairs of models, and all of them."""
    models = [w.scene.get(model.predictions) for model in w.scene.models.shown]
    silent = [np.zeros(each.n_rows, bool) if each.abstained is None else each.abstained for each in models]
    notes = Counter(frame["note"]) if "note" in frame else Counter()
    return {"judged": len(silent[0]), "common": int((~np.any(silent, axis=0)).sum()), "lines": len(frame),
            "answered": [int((~each).sum()) for each in silent], "left": [100 * each.mean() for each in silent],
            "unlike": [int((a != b).sum()) for a, b in combinations(silent, 2)],
            "so_many": [notes[note] for note in notes if note]}  # fmt: skip


def of_stars(w: World, frame: Frame) -> dict[str, int]:
    """Return the stars of the focused model, and those outside their band."""
    own = frame[frame["model"] == w.scene.model.title]
    inside = own["accuracy"].between(own["band_low"], own["band_high"])
    return {"stars": len(own), "outside": int((~inside).sum())}


def of_limits(w: World, frame: Frame) -> dict[str, list[float]]:
    """Return the tolerance of every line, as a share and as a square."""
    return {"share": list(100 * frame["limit"].dropna()), "square": list(frame["limit"].dropna())}


def of_impact(w: World, frame: Frame) -> dict[str, Any]:
    """Return the rows acted on and those with the class, per 1,000."""
    names = ("acted", "hits", "hits_low", "hits_high")
    return {"thousand": 1000, **{name: list(1000 * frame[name]) for name in names}}


def of_threshold(w: World, frame: Frame) -> dict[str, Any]:
    """Return the threshold in use."""
    return {"threshold": 100 * EXHIBITS.make("net-benefit").threshold}


def of_few_values(w: World, frame: Frame) -> dict[str, Any]:
    """Return the number of different numbers up to which each is counted."""
    return {"few": defaults.FEW_VALUES}


def of_sites(w: World, frame: Frame) -> dict[str, Any]:
    """Return the numbers of verdicts, the tolerance, and the pooled ratio with its intervals."""
    found = w.scene.get(EXHIBITS.make("sites").found(w.scene))
    verdicts, pooled = Counter(found.sites["verdict"]), found.pooled.iloc[0]
    counts = {"fine": verdicts["within"], "off": verdicts["miscalibrated"], "close": verdicts["too close to call"],
              "few": verdicts["too few rows to tell"]}  # fmt: skip
    numbers = {name: pooled[name] for name in ("mean", "low", "high", "new_low", "new_high", "p")}
    numbers["p"] = max(numbers["p"], 1e-4)
    return {**counts, **numbers, "sites": len(found.sites), "pooled": pooled["sites"], "least": 1 / found.ratio,
            "most": found.ratio, "differ": int(found.sites["differs"].sum()), "as_predicted": 1,
            "level": 100 * defaults.LEVEL}  # fmt: skip


def of_class_slopes(w: World, frame: Frame) -> dict[str, Any]:
    """Return the p-values of all classes jointly, and the values of a calibrated model."""
    found = w.scene.get(EXHIBITS.make("class-slopes").found(w.scene))
    return {"joint": [max(p, 1e-4) for p in (found.p_value, found.p_slopes)], "none": 0, "slope": 1}


Collect = Callable[[World, Frame], Any]
RULES: list[tuple[str, Collect, str]] = [
    ("net-benefit|calibrators", of_impact, r"of {thousand} rows, {acted} are acted on, and {hits} of these have the "
                                           r"class \({hits_low} to {hits_high}\)"),
    ("net-benefit|calibrators", of_threshold, r"threshold of {threshold} % means"),
    ("characteristics", of_few_values, r"at most {few} different values"),
    ("sites|pooled-sites|slices", of_sites, r"Of {sites} values of \w+, (?:none|{fine}) \w+ shown to be fine(?:,| and) "
                                            r"(?:none|{off}) \w+ shown to be off(?:(?:,| and) {close} \w+ too close "
                                            r"to call)?(?:(?:,| and) {few} \w+ too few rows)? \([a-z ]+, "
                                            r"tolerance {least} to {most}; simultaneous {level} % intervals\)"),
    ("sites|pooled-sites|slices", of_sites, r"In (?:none|{differ}) of them, the ratio differs significantly from "
                                            r"{as_predicted}|ratio of {as_predicted}, risks can"),
    ("sites|pooled-sites|slices", of_sites, r"pooled ratio of {pooled} values is {mean} \({level} % interval {low} to "
                                            r"{high}\)|significantly \(p [=<] {p}\)|pooled {mean} \({low} to "
                                            r"{high}\)|predicted ratio is {new_low} to {new_high}"),
    ("class-slopes|classes", of_class_slopes, r"from {none} and {slope} \(p [=<] {joint}\)|from {slope} \(p [=<] "
                                              r"{joint}\)|from {slope}:|[Ii]ntercepts of {none} and slopes of {slope}|"
                                              r"A slope below {slope}|An intercept above {none}"),
    ("update-test|calibrators", of_settings, r"\(p above {alpha}\) is enough|at most about {five} % of samples"),
    ("lab-drift", of_drift, r"begins at period {start}\. {years} years of {periods} periods with {rows} rows|"
                            r"Line: {most} %|error of {size} points is found after {delay} periods|% of {years} years"),
    ("reliability", of_spikes, r"risk about {risk} %: {count}"),
    ("plan", of_bound, r"(?:within|is then at most) {bound} points"),
    ("multicalibration", of_worst_group, r"error is {value} % \({level} % interval {low} to {high} %\), "
                                         r"(?:above|within) its noise floor of {floor} %"),
    ("slice-scan", of_scan, r"{looked} slices of {columns} column were examined on {half} rows\. "
                            r"{picked} (?:was|were) significant"),
    ("slice-scan", of_scan, r"on the {half} confirmation rows"),
    ("pairs", of_margin, r"margin is {margin} \({points} point of an error; {squared} for squared"),
    ("slice-scan", of_scan, r"tested on {half} other rows: {confirmed} confirmed"),
    ("class-panels", of_classes, r"all {classes} classes|diagrams of {classes} classes"),
    ("bin", of_classes, r"(?:{off}|none) of {listed} predicted classes ha\w+ (?:an )?intervals? that exclude"),
    ("verdict", of_classes, r"{rows} rows are often too few to detect an error in {classes} separate classes"),
    ("overall", of_settings, r"p < {smallest}"),
    ("findings", of_settings, r"first {drawn} of|frequency in {drawn} subsets"),
    # Counted only for the sentence.
    ("rows", of_parts, r"{any_rows} of {judged} test rows equal a calibration row in scores, label and 1"),
    ("bins", of_settings, r"range of {level} % of calibrated|of a calibrated model, about {chance} % would"),
    ("reliability", of_settings, r"{level} % band of calibrated models; "
                                 r"of a calibrated model, about {chance} % would be"),
    ("bin", of_a_bin, r"simultaneous for the {listed} classes of this bin at {level} %"),
    ("corp", of_settings, r"at least {level} % of such bands"),
    ("kernel-curve|class-kernel", of_curve, r"mean distance of the curve from the diagonal {distance} %"),
    ("kernel-curve|class-kernel", of_curve, r"local calibration error at {at} % is {local} %"),
    ("kernel-curve|class-kernel", of_curve, r"{level} % or more of such"),
    ("reliability", of_settings, r"range of {level} % of (?:calibrated|the stars)"),
    ("reliability", of_differences, r"bins tested: {tested}, corrected(?:; all together p [=<] {joint})?"),
    ("standing-out|class-errors|class-panels|classes", of_all_classes, r"jointly(?: they are)? \(p [=<] {joint}\)"),
    ("bin|bin-models", of_place, r"{lower} to {upper} %:"
                                  r"(?: {rows} rows, mean confidence {says} %, accuracy {right} %)?"),
    ("bin-rows|class-rows", of_rows_listed, r"{lower} to {upper} %[^:]*: {rows}(?: rows)?, {right} %"),
    ("bin-models", of_models_there, r"{count} rows given {lower} to {upper} % \(mean {says} %\), {hits} \w+ "
                                    r"\({right} %; {right_low} to {right_high} %\)"),
    ("cell-rows", of_cell, r"Cell {cell}, \w+ {edge} to {edge}, \w+ {edge} to {edge}: {rows} rows"),
    ("cell-rows", of_cell, r"Mean prediction of [^:]*: a: {mean} %, b: {mean} %, c: {mean} %\. "
                           r"Observed frequencies: a: {happens} %, b: {happens} %, c: {happens} %"),
    ("cell-rows", of_cell, r"{fit} calibration rows have class frequencies "
                           r"a: {target} %, b: {target} %, c: {target} %"),
    ("decisions", of_settings, r"a {noise} % interval of the difference excludes 0"),
    ("in-the-large", of_all_tests, r"corrected for all {tests} tests"),
    ("in-the-large", of_all_tests, r"(?:mean gap|ECE|ECE of the risk|calibration slope|Spiegelhalter's test) p "
                                   r"[=<] {corrected}"),
    ("estimators|verdict|notions", of_settings, r"\(p < {smallest}, [a-z ]+\)"),
    ("decisions", of_decisions, r"predicts a cost of {expected} per {thousand} rows; the actual cost is {realised} "
                                r"\({level} % interval {realised_low} to {realised_high}\)"),
    ("in-the-large", of_two_ends, r"that of a {towards} % interval, because several errors are tested jointly. The "
                                  r"other end is that of a {level} % interval"),
    ("movement", of_parts, r"(?:Judged|Evaluated) on {judged} rows"),
    ("rows", of_parts, r"a share of {share} as calibration rows, seed {seed}|in {folds} random folds, seed {seed}"),
    ("plans?", of_settings, r"probability at least {sure} %"),
    ("plans?", of_parts, r"(?:over|[Tt]he|all|from these|[Ww]ith|these) {own} (?:calibration )?rows|"
                         r"on fewer, {least} or more"),
    # Computed only for the sentence.
    ("plans?", of_parts, r"(?:it takes|needs) about {any_rows} rows"),
    ("recommendation", of_choice, r"the {fit} calibration rows|(?:the|[Oo]n) {test} held-out rows|"
                                  r"all {judged} rows|have {fit}"),
    ("recommendation|calibrators", of_choice, r"more than {enough} times the model's; here it is "
                                              r"(?:over a million|{evidence}) times(?: the model's)?|"
                                              r"in {picked} of {folds} (?:repetitions|cases)|"
                                              r"more than {alone} % of the weight|"
                                              r"blend of {members} calibrators|probabilities of {members} calibrators|"
                                              r"[a-zS)] \({weight} %\)"),
    ("recommendation", of_choice, r"more than {enough} times the model's; here it is (?:over a million|{evidence}) "
                                     r"times the model's|"
                                     r"upper end of its interval, about {any_rows} rows are enough"),
    ("recommendation", of_choice, r"in {folds} random folds|in {picked} of {folds} repetitions|of "
                                     r"{candidates} calibrators"),
    ("recommendation", of_choice, r"new probability of 0 in {any_rows} rows|"
                                  r"samples, about {any_rows} held-out rows are needed"),
    ("recommendation|calibrators", of_held_out, r"{stated} % predicted, {observed} % observed"),
    ("tests", of_shown_errors, r"{shown} of {tests} tests show|None of {tests} tests"),
    ("bin-balance", of_balance, r"{half} to {twice} % of the rows"),
    ("estimators", of_lines_with_interval, r"error of {point} % \({low} to {high} %\)(?:, and the tolerance "
                                           r"is {limit})?"),
    ("estimators", of_lines_with_interval, r"All {estimators} estimators with an interval"),
    ("findings|class-bias", of_hits, r"\({hits} of (?=\d)"),
    ("findings", of_places_tested, r"of {tested} subsets; the table|[Oo]f {tested} subsets tested"),
    ("findings|class-bias", of_places_tested, r"{off} are significantly off|{few} more subsets"),
    ("bins", of_stars, r"{outside} of {stars} stars (?:is|are) outside"),
    (".*", of_answers, r"over the {common} of {judged} rows that all models answer"),
    (".*", of_answers, r"(?:of|represent) the {answered} of {judged} (?:held-out )?rows "
                       r"(?:that )?(?:it answers|answered)"),
    (".*", of_answers, r"abstains on {left} % of the held-out rows"),
    ("pairs", of_answers, r"{so_many} of {lines} pairs were not compared: row {any_row} is answered by only one "
                          r"of the models \({unlike} rows in all\)"),
    ("calibration-maps", of_settings, r"abstains on {any_share} % of the triangle"),
    ("uses", of_settings, r"fewer than {enough} rows: too few for an interval of the set size"),
    ("uses", of_settings, r"that {sure} % of the rows|(?:class in|with probability) {sure} %"),
    (".*", of_own_lines, r"These {lines} p-values are not corrected"),
    (".*", of_settings, r"is {alpha} or less in at most {five} %"),
    (".*", of_settings, r"{level} % (?:interval|band)|[Ii]ntervals at {level} %|"
     r"\({level} % (?:sure, all|confidence for all) "),
    (".*", of_settings, r"{noise} %(?: of (?:perfectly )?calibrated models| point\)| quantile of uncorr)"),
    (".*", of_settings, r"{noise} of {hundred} (?:perfectly )?calibrated models"),
    (".*", of_correction, r"multiplied by {kinds}, the number of kinds(?:, and for slices also by {columns})?"),
    (".*", of_settings, r"p (?:is )?at most {five} %|p(?:-value is)? at most {alpha}|[Aa]t most {alpha} is"),
    (".*", of_settings, r"subsets is at most {five} %|at most {five} % of the alarms|tests is at most {five} %"),
    (".*", of_settings, r"corrected, {five} %|{few} rows or more|fewer than {few} rows"),
    (".*", of_settings, r"(?:else|otherwise) {bins} of equal width|[Bb]ins: {bins} equal width|[Tt]he {bins} bins"),
    (".*", of_settings, r"tolerance of {limit} (?:points|%)|{limit} % for the calibration error|"
                        r"{least} to {most} for observed"),
    (".*", of_settings, r"cannot reach {hundred} %"),
    ("estimators|verdict", of_limits, r"(?:smaller:|[a-zA-Z],) {share} % for [A-Z]"),
    ("estimators|verdict", of_limits, r"(?:squared tolerance:|\),) {square} \([a-z]"),
]  # fmt: skip
"""Exhibits, a function that collects the numbers, and the text around them; rules for many exhibits come last."""
READ_THERE = [(re.compile(key), collect, compiled(pattern)) for key, collect, pattern in RULES]
OF_PAGE_ONE = [(collect, pattern) for collect, pattern in READ if collect not in (of_lines, of_finding)]
"""Rules of page one that also apply to the text of these exhibits."""
PAGE_ONE = ("hero", "verdict", "recommendation", "in-the-large", "reliability")
FIXED_THERE = [re.compile(text) for text in FIXED]


def faults_in(w: World, key: str, text: str, frame: Frame, cells: np.ndarray) -> list[str]:
    """Return the faults in a text of an exhibit: numbers of another column, and those that are no cell at all."""
    text = plain(text)
    rules = [
        (lambda w, model, collect=collect: collect(w, frame), pattern)
        for keys, collect, pattern in READ_THERE
        if keys.fullmatch(key)
    ]
    bad, left = wrong(w, text, [*(OF_PAGE_ONE if key in PAGE_ONE else []), *rules])
    for fixed in FIXED_THERE:
        left = fixed.sub("", left)
    return bad + [f"{each} is no cell, in: {left}" for each in strange(left, cells)]


# ---- under the pointer ---------------------------------------------------------------------------------------


def displayed(figure: Any) -> Iterator[tuple[str, list[float], list[str]]]:
    """Yield (trace, numbers, texts) of hover texts."""
    for trace in figure.data:
        template = str(getattr(trace, "hovertemplate", None) or "")
        told = [value for where, name, _ in FIELD.findall(template) for value in told_by(trace, where, name)]
        texts = [re.sub(r"%\{[^}]*\}", "", template)]
        for record in records_of(trace):
            texts += [v for k, v in record.items() if isinstance(v, str) and f"customdata.{k}}}" in template]
        for part in ("hovertext", "text"):
            if f"%{{{part}" in template and getattr(trace, part, None) is not None:
                texts += [str(each) for each in np.atleast_1d(getattr(trace, part))]
        yield str(trace.name), told, sorted(set(texts))


def drawn_too(w: World, key: str, frame: Frame) -> list[Frame]:
    """Return tables that a figure draws in addition to its own: the diagram's bins below or in a curve."""
    scene = w.scene
    found = []
    if key in ("corp", "kernel-curve", "bin"):
        found.append(scene.get(EXHIBITS.make("bins").table(scene)))
    if key in ("reliability", "corp", "kernel-curve", "bin", "bins") and scene.claims != "event":
        found += [scene.get(stars(scene, model)).marks() for model in scene.models.shown]
    if key in ("corp", "kernel-curve", "bins"):
        found.append(scene.get(stars(scene)).marks())
    if key in ("class-panels", "slice-panels") and "mean_score" in frame:
        named = {"mean_score": "confidence", "mean_outcome": "accuracy"}
        by = ["model", "class" if key == "class-panels" else "slice"]
        found += [pooled_marks(part.rename(columns=named)) for _, part in frame.groupby(by)]
    if key == "corp":
        curve = scene.get(isotonic(scene.model, scene.claims))
        found.append(curve.frame())
        # Where it is cut, its line is read off between two steps.
        steps = np.column_stack([curve.lower, curve.upper]).ravel(), np.repeat(curve.outcome, 2)
        found.append(Frame(np.column_stack(overlay.within(curve.ranges, *steps))))
    if key == "class-kernel":
        known = frame.dropna(subset="curve")
        found.append(Frame({"read off at": [0.8], "curve": [np.interp(0.8, known["score"], known["curve"])]}))
    if key == "class-errors":  # rows that each model predicts a class for
        for model in scene.models.shown:
            rows = scene.get(model.predictions)
            counts = np.bincount(rows.answered.predicted)
            found.append(Frame({"rows": counts, "share": counts / rows.n_rows}))
    if key in ("estimators", "verdict"):  # in points, and roots of squared errors
        shares = frame[["point", "low", "high", "value", "floor"]].astype(float)
        roots = shares.where(~frame["title"].str.contains("squared"), np.sqrt(shares.clip(lower=0)))
        found.append(100 * roots)
    return found


# ---- the law -------------------------------------------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [*WORLDS, *SEVERAL])
def test_every_number_in_the_words_of_an_exhibit_is_a_cell(name: str) -> None:
    w, found = looking(name), []
    for key, (frame, words, _) in shown(name).items():
        cells = cells_of(frame)
        for text in (words.below_figure, words.alt, *words.notes, *words.headline):
            found += [f"{key}: {each}" for each in faults_in(w, key, text, frame, cells)]
    assert found == []


@pytest.mark.parametrize("name", [*WORLDS, *(pytest.param(name, marks=pytest.mark.wide) for name in SEVERAL)])
def test_every_number_under_the_pointer_is_a_cell(name: str) -> None:
    w, found = looking(name), []
    for key, (frame, _, figure) in shown(name).items():
        cells = cells_of(frame, *drawn_too(w, key, frame))
        for trace, told, texts in displayed(figure) if figure is not None else ():
            far = [v for v in told if np.min(np.abs(cells - abs(v))) > 1e-9 * max(1.0, abs(v))]
            found += [f"{key}: {each} of {trace} is no cell" for each in far[:3]]
            found += [f"{key}: {each}" for text in texts for each in faults_in(w, key, text, frame, cells)]
    assert found == []


def test_a_number_of_another_value_is_found() -> None:
    """Each number of every sentence is raised by one unit of its last digit: few of them are cells by chance."""
    name = WORLDS[0]
    w, seen, found = looking(name), 0, 0
    for key, (frame, words, _) in shown(name).items():
        cells = cells_of(frame)
        for text in (*words.notes, *words.headline):
            for number_there in TOKEN.finditer(YEAR.sub("", text)):
                changed = one_more(number_there[0])
                other = text[: number_there.start()] + changed + text[number_there.end() :]
                seen += 1
                found += bool(faults_in(w, key, other, frame, cells))
    assert seen > 200
    assert found > 0.7 * seen


def one_more(text: str) -> str:
    """Return a number a tenth larger, plus one."""
    return f"{math.ceil(abs(number(text)[0]) * 1.1 + 1):d}"


# ---- cards of Recalibrate ------------------------------------------------------------------------------------


def on_cards(line: dict[Any, Any], effect: dict[Any, Any]) -> dict[str, Any]:
    """Return the values behind a calibrator's cards, in percent where the cards use percent."""
    shares = {n: 100 * line[n] for n in ("point", "low", "high", "point_before")}
    after = {n: 100 * effect[n] for n in effect if isinstance(effect[n], float) and not n.startswith("sure")}
    sure = {n: effect[n] for n in effect if n in ("sure", "sure_before")}
    sure |= {n: 100 * effect[n] for n in effect if n.startswith("sure_right")}
    return {n: line[n] for n in ("log_loss", "log_loss_before", "changed", "rows", "abstained")} | after | sure | shares


CARDS = [
    r"error \*\*{point} %\*\* \({low} to {high}(?: %)?; was {point_before} %\)",
    r"log loss \*\*{log_loss}\*\* \(was {log_loss_before}\)",
    r"{changed} of {rows} predicted classes change",
    r"Accuracy stays at {accuracy} %|Accuracy goes from {accuracy_before} to {accuracy} %",
    r"{class_changed} % of the predicted classes change|risks of {class_changed} % of the rows",
    r"95 % or more: {sure_before} before, {sure} after(?:; accuracy {sure_right_before} % before)?"
    r"(?: and {sure_right} % after)?",
    r"[mM]ean risk (?:falls|rises) from {risk_before} % to {risk} %; the observed frequency is {observed} %",
    r"accuracy of all rows goes from {accuracy_before} % to {accuracy} %|accuracy of all rows stays {accuracy} %",
]
"""Sentences of a card, and of the side effects next to it."""


@pytest.mark.parametrize("name", WORLDS[:2])
def test_cards_say_the_lines_they_are_of(name: str) -> None:
    w = world(name)
    (recipe,) = w.selection.calibrators
    (line,) = w.frame("gains").to_dict("records")
    (effect,) = w.frame("side-effects").to_dict("records")
    read = [(lambda w, model: on_cards(line, effect), compiled(pattern)) for pattern in CARDS]
    card = plain(card_words.fitted(recipe.key, line)).replace("\\", "")
    for text in (card, *(plain(sentence) for _, sentence in effects(effect))):
        bad, left = wrong(w, text, read)
        left = left.replace(line["fitted"], "").replace("95 % or more", "")
        left = re.sub("cross(?:es)? 50 %", "", left)
        assert bad == []
        assert not TOKEN.search(left), left


@pytest.mark.parametrize("name", WORLDS[:2])
def test_the_headline_of_the_cards_says_the_line_of_the_uncalibrated_model(name: str) -> None:
    w = world(name)
    title = w.scene.titles[0]
    line = {"log_loss": w.scores("log-loss")[title], **of_line(w, title)}
    read = [(lambda w, model: line, compiled(r"error {point} % \({low} to {high}\), log loss {log_loss}$"))]
    bad, left = wrong(w, plain(calibrator_cards._as_it_is(w.scene)), read)
    assert bad == []
    assert not TOKEN.search(left), left


def test_the_pane_of_counted_rows_says_its_bin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Applies to a bin of a summary, whose rows are not known individually."""
    pytest.importorskip("pyarrow")
    rows = world("confidences").scene
    write_summary(cc.Summary.of(rows.get(rows.model.predictions), [], source="test"), tmp_path / "rows.parquet")
    key = session.hold((tmp_path / "rows.parquet").read_bytes(), "rows.parquet").key
    scene = session.scene_of(Selection(source=Source(data=key))).focused(bin=12)
    line = scene.get(stars(scene)).frame().set_index("bin").loc[12]
    texts: list[str] = []
    monkeypatch.setattr(place_detail.st, "markdown", texts.append)
    place_detail.of_counts(scene)
    values = {"count": line["count"], "says": 100 * line["confidence"], "right": 100 * line["accuracy"]}
    read = [(lambda w, model: values, compiled(r"{count} rows: mean confidence {says} %, accuracy {right} %"))]
    (text,) = texts
    bad, left = wrong(world("confidences"), plain(text).replace("\\", ""), read)
    assert bad == []
    assert not TOKEN.search(left), left


# ---- later chapters ------------------------------------------------------------------------------------------

OWN_CHAPTERS = ("summary", "methods")
"""Chapters with other tests: page one has its own law, and the methods' numbers are of definitions and papers."""
PRINTED = re.compile(
    r"[^.]*: the numbers in the figure\.| (?:The first \d+ of its|Its) [\d,]+ lines are (?:not )?printed here; "
    r"the command calib show [\w-]+ prints all\."
)


def texts_of(block: Any) -> list[str]:
    """Return the texts of a block."""
    if isinstance(block, Paragraph):
        return [f"{block.lead} {block.text}".strip()]
    if isinstance(block, Figure):
        return [block.caption, block.label]
    if isinstance(block, Bullets):
        return list(block.items)
    if isinstance(block, Headline):
        return [block.text, *block.below, block.small]
    return [block.caption] if isinstance(block, TypesetTable) else []


def exhibit_of(table: TypesetTable) -> str:
    """Return the exhibit of a table of the report, by the name of its file."""
    name = re.sub("^risk-", "reliability-", table.name)
    return max((key for key in EXHIBITS if name == key or name.startswith(f"{key}-")), key=len, default=name)


@pytest.mark.parametrize("name", WORLDS[1:])
def test_every_number_of_a_later_chapter_is_in_one_of_its_tables(name: str) -> None:
    w, found, read = world(name), [], 0
    for section in build(w.selection).document.sections:
        if section.key in OWN_CHAPTERS:
            continue
        blocks = list(within(section.blocks))
        tables = [block for block in blocks if isinstance(block, TypesetTable)]
        sources = [(exhibit_of(table), table.frame, cells_of(table.frame)) for table in tables]
        for text in filter(TOKEN.search, (text for block in blocks for text in texts_of(block))):
            left = PRINTED.sub("", text)
            faults = [faults_in(w, key, left, frame, cells) for key, frame, cells in sources]
            read += 1
            if sources and not any(fault == [] for fault in faults):
                found.append(f"{section.key}: {min(faults, key=len)}")
    assert found == []
    assert read > 20
