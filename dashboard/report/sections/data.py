"""Which rows the numbers are of, how their file was read, and what was found in it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from calib_core import InputError, Predictions
from calib_core._text import count, percent
from dashboard import compute, session
from dashboard.report import tables
from dashboard.report.asked import Asked
from dashboard.report.document import Block, Bullets, Heading, Paragraph
from dashboard.report.tables import Table
from dashboard.selection import Source
from dashboard.theme import HOLDS

_SEVERITY = {"problem": "Problem", "warning": "Warning", "note": "Note"}


def blocks(asked: Asked) -> Iterator[Block | None]:
    """A card for every file, the division of its rows, and what its reader did and found."""
    for source in asked.selection.sources:
        yield from _file(source, source.data, source.reading)
        if source.test:
            yield from _file(source, source.test, source.test_reading)
    yield from _parts(asked.selection.source)


def _file(source: Source, key: str, changed: str) -> Iterator[Block]:
    try:
        held, whole = session.file(key), session.whole(key, changed)
    except InputError as why:
        yield Paragraph(str(why), lead="A file could not be used.")
        return
    yield Heading(held.title)
    facts = {
        "file": held.table.name,
        "SHA-256 of its bytes": held.digest,
        "rows": count(whole.n_rows),
        "classes": "unknown" if whole.n_classes is None else count(whole.n_classes),
        "holds": HOLDS[whole.kind],
        "accuracy, all rows": percent(whole.accuracy),
        "mean confidence, all rows": percent(_mean_confidence(whole)),
        "read as": session.reading(key, changed).to_json() if changed else "proposed by its names and values",
    }
    if held.demo:
        facts = {"demo data": held.demo.source, **facts}
    yield Table(
        f"file-{held.digest[:8]}",
        "The file and how it was read.",
        pd.DataFrame({"property": list(facts), "value": list(facts.values())}),
        (tables.text("property"), tables.text("value")),
    )
    found = [f"{_SEVERITY[one.severity]}: {one.message}" for one in session.findings(key, changed)]
    said = [*found, *whole.notes]
    if said:
        yield Paragraph("", lead="What the reader did and found")
        yield Bullets(tuple(said))
    else:
        yield Paragraph("Nothing stood out when the file was read.", aside=True)


def _mean_confidence(predictions: Predictions) -> float:
    return float(np.average(predictions.confidence.astype(np.float64), weights=predictions.weights))


def _parts(source: Source) -> Iterator[Block]:
    parts = session.parts(source)
    yield Heading("Calibration rows and test rows")
    frame = pd.DataFrame(
        {
            "rows": ["calibration rows: calibrators are fitted on them", "test rows: every number is of them"],
            "number": [parts.fit.n_rows, parts.test.n_rows],
            "accuracy": [parts.fit.accuracy, parts.test.accuracy],
            "mean confidence": [_mean_confidence(parts.fit), _mean_confidence(parts.test)],
        }
    )
    columns = (tables.text("rows"), tables.whole("number"), tables.share("accuracy"), tables.share("mean confidence"))
    yield Table("rows", f"How the rows were divided: {parts.rule}{_how(source)}.", frame, columns)
    same = compute.shared(source)
    if same:
        yield Paragraph(
            f"{count(same)} of {count(parts.test.n_rows)} test rows are also calibration rows, score for score and "
            "label for label: calibrated models look better on them than they are.",
            lead="Warning.",
        )


def _how(source: Source) -> str:
    by_share = session.split_by(source) == "share"
    return f", a share of {source.share:g} to the calibration rows, seed {source.seed}" if by_share else ""
