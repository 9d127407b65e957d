"""Three classes as a triangle: its cells with their arrows, canonical errors, and the calibrators' maps."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator

from calib_core import InputError, NotAnswerable, figures
from calib_core._text import error
from calib_core.diagrams import CalibrationMap, ValidityPlot, map_difference
from calib_core.figures.calibration_map import shared_scale
from calib_core.inference import EstimateLine
from dashboard import compute, session
from dashboard.report import measured, tables
from dashboard.report.asked import Asked
from dashboard.report.document import Block, Figure, Heading, Paragraph
from dashboard.report.tables import Table
from dashboard.session import Model, Models

_CANONICAL = {"ece": "L1", "rmsce": "L2"}


def why_not(asked: Asked) -> str:
    """Why no triangle is drawn; empty where there is one: of three classes, or of three of more, as on screen."""
    try:
        session.triangle(asked.selection.source, asked.selection.three)
    except InputError as why:
        return str(why)
    return ""


def blocks(asked: Asked) -> Iterator[Block | None]:
    """The recalibration diagram of every partition chosen, then the maps of all calibrators."""
    source = session.triangle(asked.selection.source, asked.selection.three)
    models = session.models(dataclasses.replace(asked.selection, source=source, others=()))
    full = [model for model in models.shown if compute.judged(model).kind == "full"]
    model = next((m for m in full if m.title == asked.selection.model), full[0])
    if source.corners:
        yield Paragraph(f"Three corners of more classes: {session.parts(source).rule}.")
    yield from _cells(asked, model)
    yield from _validity(asked, model)
    yield from _maps(models)


def _cells(asked: Asked, model: Model) -> Iterator[Block | None]:
    lines: list[tuple[str, str, EstimateLine]] = []
    for i, scheme in enumerate(asked.selection.partitions, start=1):
        diagram = compute.recalibration(model, scheme)
        yield None
        yield Figure(
            f"triangle-{i}",
            figures.recalibration(diagram, min_rows=asked.selection.min_rows),
            f"{model.title}, {scheme.title}: test rows in the colour of their cell. An arrow leads from the mean "
            "prediction of a cell's test rows to the class frequencies of its calibration rows; cells with fewer than "
            f"{asked.selection.min_rows} of either have none.",
            f"Recalibration diagram, {scheme.title}: {len(diagram.count)} cells with test rows.",
        )
        for key, norm in _CANONICAL.items():
            with contextlib.suppress(NotAnswerable):
                made = compute.estimate(model, "canonical", key, scheme)
                lines.append((scheme.title, norm, compute.line(made, asked.selection)))
            yield None
    if lines:
        partitions, norms, made_lines = zip(*lines, strict=True)
        frame = measured.framed(made_lines, partition=partitions, norm=norms)
        yield Table(
            "canonical",
            f"Canonical calibration error of {model.title} on the cells of each partition. {measured.READING}"
            f"{measured.reading(made_lines)}",
            frame,
            (tables.text("partition"), tables.text("norm"), *measured.columns(frame)),
        )


def _validity(asked: Asked, model: Model) -> Iterator[Block | None]:
    """The model and the model recalibrated cell by cell, on the cells of every partition."""
    plots: list[tuple[str, ValidityPlot]] = []
    for scheme in asked.selection.partitions:
        try:
            pair = compute.canonical_validity(model, scheme)
        except NotAnswerable as why:
            yield Paragraph(f"{why}.", lead=f"{scheme.title} has no validity curve.", aside=True)
            continue
        plots += [(f"{model.title}, {scheme.title}", pair.before), (f"Recalibrated, {scheme.title}", pair.after)]
        yield None
    if plots:
        yield Figure(
            "triangle-validity",
            figures.validity(dict(plots)),
            "Share of test rows whose cell is off by at most epsilon, before and after recalibration cell by cell. "
            "Off by: L1 distance between what a cell's rows were told on average and what they turned out to be.",
            "Share of test rows whose cell is off by at most epsilon.",
        )


def _maps(models: Models) -> Iterator[Block | None]:
    maps: list[CalibrationMap] = []
    for model in models.recalibrated:
        try:
            maps.append(compute.calibration_map(model))
        except NotAnswerable as why:
            yield Paragraph(f"{why}.", lead=f"{model.title} has no map.", aside=True)
        yield None
    if not maps:
        return
    truth = compute.true_map(models.shown[0].source)
    drawn = maps if truth is None else [*maps, truth]
    wrong = [] if truth is None else [map_difference(one, truth) for one in maps]
    scale = shared_scale([*drawn, *wrong])
    a, b, c = drawn[0].class_names
    yield Heading("Where predictions go")
    yield Figure(
        "maps",
        figures.calibration_map(drawn, scale=scale),
        f"Calibration maps: an arrow leads from a prediction to the calibrator's answer. Grey: nothing changes; "
        f"redder: {a} gains, greener: {b}, bluer: {c}. Full colour is a change of {error(scale)}.",
        "Calibration maps: " + "; ".join(f"{m.title}, largest change {error(m.largest)}" for m in drawn) + ".",
    )
    if wrong:
        yield Figure(
            "maps-difference",
            figures.calibration_map(wrong, scale=scale),
            "What is still wrong: each map minus the true one, in the same colours.",
            "Differences: " + "; ".join(f"{m.title}, largest {error(m.largest)}" for m in wrong) + ".",
        )
