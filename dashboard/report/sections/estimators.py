"""Every estimator in every notion for the model looked at, and curves over bins and tolerances for all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pandas as pd

from calib_core import ESTIMATORS, REDUCTIONS, Estimate, NotAnswerable, figures
from calib_core.diagrams import ValidityPlot
from calib_core.study import error_keys
from dashboard import compute
from dashboard.report import measured, tables
from dashboard.report.asked import Asked
from dashboard.report.document import Block, Bullets, Figure, Heading, Paragraph
from dashboard.report.tables import Table
from dashboard.session import Model


def blocks(asked: Asked) -> Iterator[Block | None]:
    """Tables, one a notion; tests without bins; error sweep and validity."""
    notions = (asked.selection.asked,) if asked.large else tuple(REDUCTIONS)
    model = asked.chosen
    yield Paragraph(f"{measured.READING} The numbers are of {model.title}.")
    if asked.large:
        yield Paragraph("With this many rows and classes one notion is reported.", aside=True)
    plain: dict[str, dict[str, Any]] = {}
    for notion in notions:
        yield from _notion(asked, model, notion, plain)
    if plain:
        yield _plain(plain, notions)
    yield from _unbinned(asked, model)
    yield from _without_bins(asked)
    yield from _curves(asked)


def _notion(asked: Asked, model: Model, notion: str, plain: dict[str, dict[str, Any]]) -> Iterator[Block | None]:
    """A line per estimator that answers in this notion; values without interval are put into ``plain``."""
    made = {key: measured.estimated(asked, model, notion, key) for key in error_keys()}
    yield None
    known = {key: one for key, one in made.items() if isinstance(one, Estimate)}
    sharp = {key: one for key, one in known.items() if asked.selection.slow or measured.quick(one)}
    yield from measured.sharpened(sharp.values())
    for key in known.keys() - sharp.keys():
        plain.setdefault(key, {"estimator": ESTIMATORS[key].title})[notion] = known[key].value
    entry = REDUCTIONS[notion]
    if sharp:
        lines = [compute.line(one, asked.selection) for one in sharp.values()]
        frame = measured.framed(lines, estimator=[ESTIMATORS[key].title for key in sharp])
        yield Table(
            f"estimators-{notion}",
            f"{entry.title} calibration of {model.title}. {entry.caption}{measured.reading(lines)}",
            frame,
            (tables.text("estimator"), *measured.columns(frame), measured.VERDICT),
        )
    for why in dict.fromkeys(one for one in made.values() if isinstance(one, str)):
        titles = ", ".join(ESTIMATORS[key].title for key, one in made.items() if one == why)
        yield Paragraph(f"{titles}: {why}.", lead=f"{entry.title}, not answered.", aside=True)


def _plain(plain: dict[str, dict[str, Any]], notions: tuple[str, ...]) -> Table:
    """Values of the estimators whose intervals and floors take minutes."""
    frame = pd.DataFrame([plain[key] for key in ESTIMATORS if key in plain])
    held = [notion for notion in notions if notion in frame]
    return Table(
        "estimators-plain",
        "Values only, in every notion: intervals and noise floors of these estimators take minutes and were not asked "
        "for. Noise pushes them up as it does the others: do not read them without a noise floor.",
        frame[["estimator", *held]],
        (tables.text("estimator"), *(tables.number(REDUCTIONS[notion].title, notion) for notion in held)),
    )


def _unbinned(asked: Asked, model: Model) -> Iterator[Block | None]:
    """How large the error can be with what bins do not see, under stated assumptions."""
    try:
        bounds, notion = compute.unbinned(model, asked.selection), compute.primary(model, asked.selection).notion
    except NotAnswerable as why:
        yield Paragraph(f"{why}.", lead="The error without bins is not bounded.", aside=True)
        return
    yield Heading(f"The error without bins, {REDUCTIONS[notion].title.lower()}")
    yield Bullets(bounds)


def _without_bins(asked: Asked) -> Iterator[Block | None]:
    lines = []
    for model in asked.models.shown:
        for test in compute.tests_without_bins(model).values():
            if not isinstance(test, str):
                lines.append(
                    {"model": model.title, "test": test.name, "statistic": test.statistic, "p_value": test.p_value}
                )
        yield None
    if lines:
        yield Heading("Tests without bins")
        yield Table(
            "tests",
            "Tests of calibration that need no bins. p: the chance that a perfectly calibrated model shows as much.",
            pd.DataFrame(lines),
            (tables.text("model"), tables.text("test"), tables.number("statistic"), tables.probability("p", "p_value")),
        )


def _curves(asked: Asked) -> Iterator[Block | None]:
    shown = asked.models.shown
    yield Heading("Error against the number of bins")
    yield Figure(
        "sweep",
        figures.error_sweep(compute.error_sweep(shown)),
        "ECE for 5 to 25 bins; dashed: confidence, solid: top-label. Grey: what 95 % of calibrated models with the "
        "base model's predictions stay below.",
        "Error against number of bins, a line per model and notion.",
    )
    notion = asked.selection.asked
    plots = _validity(asked, notion)
    if plots:
        yield Heading("Share of rows off by at most a tolerance")
        yield Figure(
            "validity",
            figures.validity(dict(plots)),
            f"Validity, {REDUCTIONS[notion].title.lower()}: share of rows whose claim is off by at most epsilon. A "
            "recalibrated model and the base model beside it are judged on the same bins, where they can be.",
            "Share of rows whose claim is off by at most epsilon, a line per model.",
        )
    yield None
    yield from _trade(asked)


def _validity(asked: Asked, notion: str) -> list[tuple[str, ValidityPlot]]:
    """The base models, and each recalibrated one with its base model on the same bins where their claims are alike."""
    plots: list[tuple[str, ValidityPlot]] = []
    for model in asked.models.shown:
        with contextlib.suppress(NotAnswerable):
            if model == model.base:
                plots.append((model.title, compute.validity(model, notion, asked.scheme)))
                continue
            pair = compute.validity_pair(model, notion, asked.scheme)
            plots.append((model.title, pair.after))
            plots.append((f"{model.base.title}, bins of {model.title}", pair.before))
    return plots


def _trade(asked: Asked) -> Iterator[Block | None]:
    """A point per model; curves over numbers of bins where they were asked for on screen."""
    base = asked.models.shown[0].base
    curves = None
    try:
        notion = compute.primary(base, asked.selection).notion
    except NotAnswerable as why:
        yield Paragraph(f"{why}.", lead="Calibration against sharpness is not drawn.", aside=True)
        return
    if asked.selection.trade:
        try:
            curves = compute.trade_off(base, notion)
        except NotAnswerable as why:
            yield Paragraph(f"{why}.", lead="No curves over numbers of bins.", aside=True)
    yield None
    points = {}
    for model in asked.models.shown:
        squared, whole = (measured.estimated(asked, model, notion, key) for key in ("debiased-l2", "brier"))
        if not isinstance(squared, str) and not isinstance(whole, str):
            points[model.title] = (squared.value, whole.value)
    yield Heading("Calibration against sharpness")
    yield Figure(
        "trade",
        figures.trade_off(curves, points=points, claims=REDUCTIONS[notion].title.lower()),
        "Mean squared error against squared calibration error (debiased), a point per model: further left is better "
        "calibrated, further down is better all in all.",
        "Mean squared error against calibration error, a point per model.",
    )
