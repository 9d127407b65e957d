"""Flat files without a header, raw and calibrated probabilities side by side, and tables of trackers."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import numpy as np

from tests.calib_core.readers.foreign import test_tables_of_tools as tables
from tests.corpus.foreign_files import ForeignFile, writes

CONFIDENCE, CORRECT = tables.P.max(axis=1), tables.P.argmax(axis=1) == tables.Y
LABELS = "\n".join(map(str, tables.Y)).encode()


@writes("number-text")
def texts() -> Iterator[ForeignFile]:
    """Yield LightGBM's tab-separated numbers in full, and numpy.savetxt's with spaces; labels are separate files."""
    lightgbm = "\n".join("\t".join(f"{p!r}" for p in row) for row in tables.P.tolist()).encode()
    yield ForeignFile("LightGBM", "LightGBM_predict_result.txt", lightgbm, CONFIDENCE, CORRECT, labels=LABELS)
    savetxt, beside = io.BytesIO(), io.BytesIO()
    np.savetxt(savetxt, tables.P)
    np.savetxt(beside, tables.Y)
    yield ForeignFile("numpy", "preds.txt", savetxt.getvalue(), CONFIDENCE, CORRECT, labels=beside.getvalue())
    p, y = tables.drawn(2)
    binary, correct = "\n".join(map(repr, p[:, 1].tolist())).encode(), p.argmax(axis=1) == y
    truth = "\n".join(map(str, y)).encode()
    yield ForeignFile("one column", "preds.txt", binary, p.max(axis=1), correct, labels=truth)
    yield ForeignFile("no labels", "preds.txt", lightgbm, asks="give a file of labels")
    yield ForeignFile("classes", "preds.txt", LABELS, asks="which are classes or labels", labels=LABELS)


@writes("h2o")
def raw_and_calibrated() -> Iterator[ForeignFile]:
    """Yield calibrated probabilities under names with the prefix cal_: two models, of which one is read."""
    p, y = tables.drawn(2)
    q, data = (p + 0.5) / 2, tables.h2o(("0", "1"), calibrated=True)
    yield ForeignFile("raw", "h2o.csv", data, p.max(axis=1), p.argmax(axis=1) == y, "two models")
    yield ForeignFile("calibrated", "h2o.csv", data, q.max(axis=1), q.argmax(axis=1) == y, "two models",
                      {"model": "calibrated"})  # fmt: skip


@writes("wandb-table")
def of_weights_and_biases() -> Iterator[ForeignFile]:
    """Yield tables of a run: pictures in cells, a guess, the truth, and scores if logged."""
    names = [f"score_{level}" for level in tables.LEVELS]
    rows = [
        [i, {"_type": "image-file", "path": f"media/{i}.png", "size": 7}, tables.LEVELS[p.argmax()], tables.LEVELS[y]]
        for i, (p, y) in enumerate(zip(tables.P, tables.Y, strict=True))
    ]
    scored = [[*row, *p] for row, p in zip(rows, tables.P.tolist(), strict=True)]
    for what, columns, data in (("scores", names, scored), ("classes alone", [], rows)):
        content = {"_type": "table", "column_types": {}, "columns": ["id", "image", "guess", "truth", *columns],
                   "data": data, "ncols": 4 + len(columns), "nrows": len(data)}  # fmt: skip
        found = (CONFIDENCE, CORRECT) if columns else (None, None)
        asks = "" if columns else "predicted classes but no scores"
        yield ForeignFile(what, "eval.table.json", json.dumps(content).encode(), *found, asks)


@writes("mlflow-table")
def of_mlflow() -> Iterator[ForeignFile]:
    """Yield the evaluation table of a classifier: features, target, outputs, a metric per row."""
    columns = ["petal", "target", "outputs", "exact_match/score"]
    rows = [[1.5, int(y), int(p.argmax()), int(p.argmax() == y)] for p, y in zip(tables.P, tables.Y, strict=True)]
    names = [f"prob_{k}" for k in range(3)]
    scored = [[*row, *p] for row, p in zip(rows, tables.P.tolist(), strict=True)]
    for what, more, data in (("classes alone", [], rows), ("probabilities", names, scored)):
        content = json.dumps({"columns": [*columns, *more], "data": data}).encode()
        found = (CONFIDENCE, CORRECT) if more else (None, None)
        asks = "" if more else "predicted classes but no probabilities"
        chosen = {"metadata": ("petal",)} if more else {}
        yield ForeignFile(what, "eval_results_table.json", content, *found, asks, chosen)
