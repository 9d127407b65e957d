"""Detections in COCO's result format: boxes with scores, which are right or wrong only beside the true boxes."""

from __future__ import annotations

from calib_core.predictions import InputError
from calib_core.readers.foreign.recognition import Document, ShapeOfRecords, shape_of_records
from calib_core.readers.table import Table


@shape_of_records
class Detections(ShapeOfRecords):
    """A list of boxes, masks or keypoints with their scores."""

    key = "coco"
    title = "detections in COCO's result format"

    def recognises(self, document: Document) -> bool:
        return all({"image_id", "category_id", "score"} <= each.keys() for each in document.first)

    def table(self, document: Document) -> Table:
        raise InputError(
            f"{document.name} holds {self.title}: a box is right only if it is matched with a true one (same class, "
            "overlap of at least a threshold, each true box once, by falling score); match them, and write confidence "
            "(its score), matched (0 or 1) and image_id for each box"
        )
