"""Every calibrator side by side: errors with intervals and floors, guarantees, side effects, maps."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, TypeAlias

import pandas as pd

from calib_core import CALIBRATORS, ESTIMATORS, REDUCTIONS, figures
from calib_core._text import percent
from calib_core.inference import EstimateLine, holm
from calib_core.study import every_measure
from dashboard import compute
from dashboard.lines import VALUES_DIFFER, difference_record, marked
from dashboard.report import measured, tables
from dashboard.report.asked import Asked
from dashboard.report.document import Block, Bullets, Figure, Heading, Paragraph
from dashboard.report.tables import Column, Table
from dashboard.session import Model

Named: TypeAlias = tuple[str, str, EstimateLine]
"""What a line is about, whose it is, and the line."""
LEVEL = 0.1
"""Guarantees are stated with probability at least 1 - LEVEL."""
ESTIMATOR = "ece"


def blocks(asked: Asked) -> Iterator[Block | None]:
    """Numbers, promises, what recalibration does to the decisions, and the maps."""
    yield from _errors(asked)
    yield from _scores(asked)
    if len(asked.models.shown) > 1:
        yield from _differences(asked)
    if asked.models.recalibrated:
        yield from _promises(asked)
        yield from _side_effects(asked)
        yield from _maps(asked)


def _errors(asked: Asked) -> Iterator[Block | None]:
    """Calibration errors of every model, notion by notion."""
    every = tuple(dict.fromkeys(m.reduction for m in every_measure() if m.reduction))
    notions = (asked.selection.asked,) if asked.large else every
    lines: list[Named] = []
    for notion in notions:
        lines += yield from _of_every_model(asked, notion, ESTIMATOR, REDUCTIONS[notion].title)
    frame, said = _framed(lines, "notion")
    yield Table(
        "calibrators-errors",
        "Expected calibration error of every model on the test rows; a model that makes no claims in a notion has no "
        f"line there. {measured.READING}{said}{_rows(asked)}",
        frame,
        (tables.text("notion"), tables.text("model"), *measured.columns(frame), measured.VERDICT),
    )


def _rows(asked: Asked) -> str:
    """Which rows the table is over, where some models abstain."""
    said = compute.rows_said(asked.selection, asked.models)
    return f" {said}" if said else ""


def _of_every_model(asked: Asked, notion: str | None, estimator: str, about: str) -> Generator[None, None, list[Named]]:
    """A line for every model that can be asked, after what it is about and whose it is."""
    found = [(model, measured.ranked(asked, model, notion, estimator)) for model in asked.models.shown]
    yield from measured.sharpened(made for _, made in found)
    known = ((model, made) for model, made in found if not isinstance(made, str))
    return [(about, model.title, compute.line(made, asked.selection)) for model, made in known]


def _framed(lines: list[Named], about: str) -> tuple[pd.DataFrame, str]:
    """Lines as a table, and what has to be said below it."""
    names, models, made = zip(*lines, strict=True) if lines else ((), (), ())
    return measured.framed(made, **{about: names, "model": models}), measured.reading(made)


def _scores(asked: Asked) -> Iterator[Block | None]:
    """Accuracy and the proper scores, of the whole prediction."""
    lines: list[Named] = []
    for measure in [m for m in every_measure() if m.reduction is None]:
        lines += yield from _of_every_model(asked, None, measure.estimator, measure.name)
    frame, said = _framed(lines, "score")
    yield Table(
        "calibrators-scores",
        "Accuracy (higher is better) and proper scores (lower is better) on the test rows; here the noise floor is "
        "what 95 % of calibrated models with these predictions do not fall short of, p the share that does as badly."
        + said
        + _rows(asked),
        frame,
        (tables.text("score"), tables.text("model"), *measured.columns(frame)),
    )


def _differences(asked: Asked) -> Iterator[Block | None]:
    """Every pair of models on the same rows, the rows resampled together."""
    notion = asked.selection.compared
    lines: list[dict[str, Any]] = []
    refused: dict[str, None] = {}
    for a, b, made in compute.pairs(asked.selection, asked.models):
        if isinstance(made, str):
            refused[made] = None
        else:
            lines.append({"first": a.title, "second": b.title, **difference_record(made)})
        yield None
    yield Heading("Paired differences, on the same test rows")
    for reason in refused:
        yield Paragraph(f"{reason}.", lead="Some pairs are not compared." if lines else "Not answered.", aside=True)
    if not lines:
        return
    frame = pd.DataFrame(lines)
    frame["mark"], below = marked(zip(frame["about"], frame["tested"], strict=True))
    frame["p_holm"] = holm(frame["p"].to_numpy())
    claims = "whole predictions" if notion is None else f"{REDUCTIONS[notion].title.lower()} claims"
    yield Table(
        "differences",
        f"{ESTIMATORS[asked.selection.differ].title} of {claims}: first less second, so below 0 the first errs less. "
        f"{VALUES_DIFFER} p: of no difference; Holm: corrected for the number of pairs. {' '.join(below)}",
        frame,
        (
            tables.text("first"),
            tables.text("second"),
            tables.number("difference"),
            measured.INTERVAL,
            tables.probability("p"),
            tables.probability("p, Holm", "p_holm"),
        ),
    )


def _promises(asked: Asked) -> Iterator[Block | None]:
    yield Heading("What is promised whatever the data")
    promises = [(model.title, compute.fitted(model).guarantee(LEVEL)) for model in asked.models.recalibrated]
    yield Bullets(tuple(f"{title}: {promise.sentence}" for title, promise in promises))
    aside = [f"{model.title}: {said}" for model in asked.models.recalibrated for said in _set_aside(model)]
    if aside:
        yield Heading("Groups too small to calibrate on their own, and fits that found no answer")
        yield Bullets(tuple(aside))


def _set_aside(model: Model) -> Iterator[str]:
    fitted = compute.fitted(model)
    for attribute, verb in (("pooled_", "calibrated together as one"), ("left_alone_", "left as they were")):
        names = getattr(fitted, attribute, ())
        if names:
            yield f"too few rows, {verb}: {', '.join(names)}."
    if fitted.note:
        yield fitted.note


def _side_effects(asked: Asked) -> Iterator[Block | None]:
    lines = []
    for model in asked.models.recalibrated:
        effects, flags = compute.side_effects(model), CALIBRATORS[model.recipe.key].flags
        lines.append(
            {
                "calibrator": model.title,
                "accuracy change": f"{100 * effects.accuracy_change:+.2f} points",
                "class changed": effects.class_changed,
                "abstains on": effects.abstained,
                "keeps the class": "always" if flags.keeps_argmax else "not always",
                "rows sum to one": "yes" if flags.sums_to_one else "not always",
            }
        )
        yield None
    yield Heading("Side effects")
    yield Table(
        "side-effects",
        "What recalibration does to the decisions on the test rows, and what each calibrator's contract says.",
        pd.DataFrame(lines),
        (
            tables.text("calibrator"),
            Column("accuracy change", ("accuracy change",), str),
            Column("rows whose class changed", ("class changed",), _share),
            Column("rows it abstains on", ("abstains on",), _share),
            tables.text("keeps the class"),
            tables.text("rows sum to one"),
        ),
    )


def _share(value: float | None) -> str:
    return "unknown" if value is None or value != value else percent(value, 2)


def _maps(asked: Asked) -> Iterator[Block | None]:
    able = [m for m in asked.models.recalibrated if compute.fitted(m).binary_maps]
    if able:
        yield Heading("Score in, score out")
    for i, model in enumerate(able, start=1):
        strata: tuple[str, ...] = compute.fitted(model).strata_
        stratum = min(asked.selection.stratum, len(strata) - 1)
        mapped = compute.binary_map(model, stratum)
        yield None
        own = {"own": "its own map", "pooled": "a map shared by small groups", "none": "its scores unchanged"}[
            mapped.own
        ]
        of = f", {strata[stratum]} (one of {len(strata)} groups)" if len(strata) > 1 else ""
        yield Figure(
            f"map-{i}",
            figures.binary_map(mapped),
            f"{model.title}{of}: {own}, over the share of the {mapped.rows:,} test rows at each score. Where no bar "
            "stands the map is extrapolation.",
            f"What {model.title} makes of a score{of}.",
        )
    for i, model in enumerate(asked.models.recalibrated, start=1):
        held = compute.constraint(model, only_if_held=True) if compute.fitted(model).wanted else None
        if held is not None:
            yield Figure(
                f"constraint-{i}",
                figures.constraint(held),
                f"{model.title}: attained against wanted {held.rate}, mean and two standard deviations over "
                f"{held.repeats} random splits.",
                f"Attained against wanted {held.rate} of {model.title}.",
            )
