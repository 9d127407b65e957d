"""Files of detections in the format of COCO's tools: results, annotations, and both after matching."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from calib_core.readers import as_csv, read_table, with_labels
from tests.corpus.foreign_files import ForeignFile, writes

CATEGORIES = {1: "cat", 2: "dog"}


def results(detections: Sequence[Sequence[float]]) -> bytes:
    """Return rows of image, category, left, top, width, height, score."""
    rows = [{"image_id": i, "category_id": c, "bbox": box, "score": s} for i, c, *box, s in detections]
    return json.dumps(rows).encode()


def annotations(boxes: Sequence[Sequence[float]], images: Sequence[int], change: Mapping[str, Any] = {}) -> bytes:
    """Return rows of image, category, left, top, width, height, iscrowd; on one line, as in COCO files."""
    every = [
        {"id": k + 1, "image_id": i, "category_id": c, "bbox": box, "area": box[2] * box[3], "iscrowd": crowd}
        for k, (i, c, *box, crowd) in enumerate(boxes)
    ]
    whole = {
        "info": {"year": 2017},
        "images": [{"id": i, "file_name": f"{i}.jpg", "height": 480, "width": 640} for i in images],
        "annotations": every,
        "categories": [{"id": c, "name": name} for c, name in CATEGORIES.items()],
    }
    return json.dumps({**whole, **change}).encode()


TRUE = [(i, 1 + i % 2, 10, 20, 40, 30, 0) for i in range(20)]
FOUND = [(i, 1 + i % 2, 10 + 2 * i, 20, 40, 30, 0.5 + i / 100) for i in range(20)]


@writes("coco")
def detections() -> Iterator[ForeignFile]:
    """Yield boxes with scores: refused without the true boxes."""
    yield ForeignFile("boxes", "results.json", results(FOUND), asks="matches a true box")


@writes("coco-annotations")
def true_boxes() -> Iterator[ForeignFile]:
    """Yield true boxes: no predictions."""
    yield ForeignFile("boxes", "instances.json", annotations(TRUE, range(20)), asks="not predictions")


@writes("coco-matched")
def both() -> Iterator[ForeignFile]:
    """Yield boxes moved by d of 40 pixels, which overlap by (40 - d) / (40 + d): at least a half up to 13."""
    table = with_labels(
        read_table(results(FOUND), "results.json"), read_table(annotations(TRUE, range(20)), "instances.json")
    )
    moved = 2 * np.arange(20)
    confidence = np.array([row[-1] for row in FOUND])
    yield ForeignFile("at 0.50", "both.csv", as_csv(table), confidence, moved <= 13, "IoU ≥ 0.50")
    chosen = {"correct": "matched at IoU 0.75"}
    yield ForeignFile("at 0.75", "both.csv", as_csv(table), confidence, moved <= 5, "IoU ≥ 0.75", chosen)
