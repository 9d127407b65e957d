"""Appendix: every class, with its rows, share and error, and small diagrams of those furthest off."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from calib_core import ESTIMATORS, REDUCTIONS, NotAnswerable, figures
from calib_core._text import count, error
from calib_core.diagrams import ClassPanels, ClassTable, ValidityPair
from dashboard import compute
from dashboard.report import tables
from dashboard.report.asked import Asked
from dashboard.report.document import Block, Figure, Paragraph
from dashboard.report.tables import Table
from dashboard.session import Model

PANELS = 12
PRINTED = 200
"""The page lists this many classes at most, those furthest off; the CSV file has all."""


def blocks(asked: Asked) -> Iterator[Block | None]:
    """Small diagrams, errors before and after, and the table of all classes."""
    notion = asked.selection.notion
    named: list[tuple[Model, ClassTable]] = []
    for model in asked.models.shown:
        try:
            named.append((model, compute.class_table(model, notion, asked.scheme)))
        except NotAnswerable as why:
            yield Paragraph(f"{why}.", lead=f"{model.title} is not shown.", aside=True)
    if not named:
        return
    first = named[0][1]
    order = np.argsort(np.where(np.isnan(first.error), np.inf, -first.error), kind="stable")
    worst = tuple(int(c) for c in order[:PANELS])
    panels = {model.title: compute.class_panels(model, notion, asked.scheme, worst) for model, _ in named}
    yield None
    title = REDUCTIONS[notion].title.lower()
    of = f"the {PANELS} of {count(len(order))} classes with the largest error of {named[0][0].title}"
    which = of if len(order) > PANELS else f"all {len(order)} classes"
    yield Figure(
        "class-panels",
        figures.class_panels(panels),
        f"Reliability class by class ({title}), {which}; in the headings error and share of {named[0][0].title}.",
        f"Small reliability diagrams of {len(worst)} classes.",
    )
    yield from _other_panels(asked, panels, [model for model, _ in named], worst, f"{title}, {which}")
    yield Figure(
        "class-errors",
        figures.class_table({model.title: table for model, table in named}, classes=worst),
        f"Error of each class ({title}) on the test rows, {which}. The error of a class with few rows is mostly noise.",
        "Error and share of rows of each class, a bar per model.",
    )
    yield _all_classes(asked, named, order, title)


def _other_panels(
    asked: Asked, panels: dict[str, ClassPanels], models: list[Model], worst: tuple[int, ...], of: str
) -> Iterator[Block | None]:
    """The small diagrams chosen on screen, where they are not the reliability diagrams above."""
    notion, curve = asked.selection.notion, asked.selection.curve
    if curve == "kernel":
        kernel = ESTIMATORS.recipe(asked.selection.exhibit("kernel-curve").build().kernel)
        kernels = {model.title: compute.class_curves(model, notion, worst, kernel) for model in models}
        drawn = figures.class_panels(panels, curve=curve, kernels=kernels)
        said = f"Kernel reliability curves class by class ({of}), without bins."
    elif curve == "validity":
        pairs = {model.title: pair for model in models if (pair := _pairs(asked, model, worst)) is not None}
        drawn = figures.class_panels(panels, curve=curve, pairs=pairs)
        said = (
            f"Validity class by class ({of}): share of a class's rows that is off by at most the value on the axis. "
            "Dotted: the base model on the bins of a recalibrated one, where their claims are the same."
        )
    else:
        return
    yield None
    yield Figure("class-curves", drawn, said, f"Small {curve} diagrams of {len(worst)} classes.")
    if curve == "kernel":
        yield from _one_class(asked, next((m for m in models if m == asked.chosen), models[0]), worst)


def _one_class(asked: Asked, model: Model, worst: tuple[int, ...]) -> Iterator[Block | None]:
    """The class looked at with its band; when none is chosen the one that is furthest off."""
    selection, options = asked.selection, asked.selection.exhibit("kernel-curve").build()
    names = compute.class_table(model, selection.notion, asked.scheme).names
    one = worst[0] if selection.one is None or selection.one >= len(names) else selection.one
    curve = compute.class_curve(model, selection.notion, one, ESTIMATORS.recipe(options.kernel), options.band)
    yield None
    if curve.rows > 0:
        there = curve.local_error(options.score)
        at = (
            f"local calibration error at {options.score:.2f}: {error(there)}" if np.isfinite(there) else "no data there"
        )
        yield Figure(
            "class-kernel",
            figures.kernel_curve(curve, score=options.score),
            f"{model.title}, {curve.stratum}: kernel curve, {curve.band_title}, and the density of the scores; mean "
            f"distance from the diagonal {error(curve.error)}, {at}. {curve.about} {curve.warning}".rstrip(),
            f"Kernel reliability curve of {curve.stratum}: {curve.band_title}.",
        )


def _pairs(asked: Asked, model: Model, classes: tuple[int, ...]) -> list[ValidityPair] | None:
    """A recalibrated model and its base model on the same bins of each class, where they can be compared."""
    if model != model.base:
        with contextlib.suppress(NotAnswerable):
            return compute.class_pairs(model, asked.selection.notion, asked.scheme, classes)
    return None


def _all_classes(asked: Asked, named: list[tuple[Model, ClassTable]], order: NDArray[np.intp], title: str) -> Table:
    frame = named[0][1].frame()
    errors = {f"error, {model.title}": table.error for model, table in named}
    frame = frame.drop(columns="error").assign(**errors)
    columns, said = [tables.number(name) for name in errors], ""
    with contextlib.suppress(NotAnswerable):
        tests = compute.class_tests(named[0][0], asked.selection.notion, asked.scheme)
        frame = frame.assign(calibrated=tests["calibrated"], p=tests["p"], p_holm=tests["p_holm"])
        said = (
            f" Calibrated: what perfectly calibrated probabilities show on average; p: exact test by bins of "
            f"{named[0][0].title}; Holm: corrected for the number of classes."
        )
        columns[1:1] = [
            tables.number("calibrated"),
            tables.probability("p"),
            tables.probability("p, Holm", "p_holm"),
        ]
    frame = frame.iloc[order].reset_index(drop=True)
    cut = f" The {PRINTED} with the largest error are printed, the CSV file has all." if len(frame) > PRINTED else ""
    return Table(
        "classes",
        f"All {count(len(frame))} classes ({title}); mean score, mean outcome and gap are of {named[0][0].title}. "
        f"Errors are plug-in values, which noise pushes up most where rows are few; {asked.binned}.{said}{cut}",
        frame,
        (
            tables.text("class"),
            tables.whole("rows"),
            tables.share("true share", "true_share"),
            tables.number("mean score", "mean_score"),
            tables.number("mean outcome", "mean_outcome"),
            tables.number("gap"),
            *columns,
        ),
        PRINTED,
    )
