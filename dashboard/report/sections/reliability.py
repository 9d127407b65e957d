"""Reliability diagrams: all models together, then each with its bands, and one bin class by class."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from calib_core import figures
from calib_core._text import count, error
from dashboard import compute
from dashboard.report import tables
from dashboard.report.asked import Asked
from dashboard.report.document import Block, Figure, Heading, Paragraph
from dashboard.report.tables import Table
from dashboard.session import Model


def blocks(asked: Asked) -> Iterator[Block | None]:
    """Diagrams, the numbers drawn in them, and the bin that is furthest off class by class."""
    drawn = {model.title: compute.reliability(model, asked.scheme) for model in asked.models.shown}
    yield Paragraph(
        "Star: accuracy of the rows of a bin against their mean confidence; on the dashed diagonal the claims hold. "
        "Plus: the same class by class, as far from the diagonal as the predicted classes are off on average, so that "
        "errors of classes do not cancel. Bars: share of rows. Hollow stars: fewer than 10 rows."
    )
    if len(drawn) > 1:
        yield Figure(
            "reliability",
            figures.reliability(drawn),
            f"Reliability of all models on the test rows, {asked.binned}.",
            "Reliability diagram of " + ", ".join(drawn) + ": accuracy against confidence.",
        )
    for i, model in enumerate(asked.models.shown, start=1):
        yield from _alone(asked, model, i)
    yield from _isotonic(asked)
    yield from _zoomed(asked, asked.chosen)


def _alone(asked: Asked, model: Model, i: int) -> Iterator[Block | None]:
    """One model with its consistency bands and intervals, and its bins as a table."""
    diagram, bands = compute.reliability(model, asked.scheme), compute.bands(model, asked.scheme)
    yield None
    frame = bands.frame()
    yield Heading(model.title)
    stars = f"{bands.outside} of {len(frame)} stars lie outside their band; about one in ten would by chance."
    yield Figure(
        f"reliability-{i}",
        figures.reliability({model.title: diagram}, over=[figures.reliability_bands(bands)]),
        f"{model.title}. Grey: where the stars of a calibrated model with these confidences would lie, at "
        f"{bands.level:.0%} bin by bin (consistency band, 1,000 resamples). Whiskers: {bands.level:.0%} Wilson "
        f"interval of each bin's accuracy. {stars}",
        f"Reliability diagram of {model.title} with consistency bands. {stars}",
    )
    merged = frame.merge(diagram.frame()[["bin", "share", "top_label"]], on="bin")
    merged.insert(0, "range", [diagram.label(int(b)) for b in merged["bin"]])
    yield Table(
        f"bins-{i}",
        f"{model.title}: the numbers drawn, at {bands.level:.0%}. Off by, class by class: mean distance of the "
        "predicted classes' accuracy from their confidence in the bin.",
        merged.assign(delta=(merged["top_label"] - merged["confidence"]).abs()),
        (
            tables.text("bin", "range"),
            tables.whole("rows", "count"),
            tables.number("confidence"),
            tables.number("accuracy"),
            tables.between("interval of the accuracy", "accuracy_low", "accuracy_high"),
            tables.between("calibrated models", "band_low", "band_high"),
            tables.number("off by, class by class", "delta"),
        ),
    )


def _isotonic(asked: Asked) -> Iterator[Block | None]:
    """The curve without bins of the model looked at, and the Brier score of every model taken apart."""
    model, curves = asked.chosen, {model.title: compute.corp(model) for model in asked.models.shown}
    yield None
    yield Heading("Without bins: isotonic (CORP) reliability curve")
    band = compute.corp_band(model, asked.selection.band)
    over, about = [figures.corp(curves[model.title])], band
    if not isinstance(band, str):
        over, about = [figures.corp_band(band), *over], f"{band.band_title}: {band.about}"
    yield Figure(
        "corp",
        figures.reliability({model.title: compute.reliability(model, asked.scheme)}, over=over),
        f"{model.title}: the best rising curve from confidence to accuracy, over the stars. {about}".rstrip(),
        f"Isotonic reliability curve of {model.title} over its stars.",
    )
    parts = [(title, c.score, c.miscalibration, c.discrimination, c.uncertainty) for title, c in curves.items()]
    yield Table(
        "corp",
        "Brier score of the confidence = miscalibration − discrimination + uncertainty. The fit follows noise: a "
        "calibrated model of few rows has a miscalibration above 0 too.",
        pd.DataFrame(parts, columns=["model", *_PARTS]),
        (tables.text("model"), *(tables.number(name) for name in _PARTS)),
    )


_PARTS = ("Brier score", "miscalibration", "discrimination", "uncertainty")


def _zoomed(asked: Asked, model: Model) -> Iterator[Block | None]:
    """The chosen bin class by class; when none is chosen the one that adds most to the top-label error."""
    if not asked.knows_classes(model):
        return
    diagram = compute.reliability(model, asked.scheme)
    frame = diagram.frame()
    held = frame["bin"].tolist()
    weight = (frame["share"] * frame["delta"]).to_numpy()
    wanted = asked.selection.zoom
    chosen = int(held[int(np.nanargmax(weight))]) if wanted is None or wanted not in held else wanted
    zoom = compute.zoom(model, asked.scheme, chosen)
    yield None
    why = "the bin chosen" if chosen == wanted else "the bin that adds most to the top-label error"
    yield Heading(f"One bin, class by class: {model.title}, confidence {zoom.label}")
    yield Figure(
        "zoom",
        figures.zoom(zoom),
        f"{model.title}, {why}: {count(len(zoom.rows))} rows, confidence {error(zoom.star[0])}, accuracy "
        f"{error(zoom.star[1])}. A point per predicted class, larger with more rows; blue claims too much, orange too "
        "little; the star is of all its classes together.",
        f"Bin {zoom.label}: accuracy against confidence of {len(zoom.names)} predicted classes.",
    )
    worst = zoom.frame().sort_values("gap", key=np.abs, ascending=False, kind="stable").head(10)
    yield Table(
        "zoom",
        f"{model.title}, bin {zoom.label}: the ten predicted classes furthest off, of {len(zoom.names)}. The gap of a "
        "class with few rows is mostly noise.",
        pd.DataFrame(worst),
        (
            tables.text("class"),
            tables.whole("rows", "count"),
            tables.number("confidence"),
            tables.number("accuracy"),
            tables.number("gap"),
        ),
    )
