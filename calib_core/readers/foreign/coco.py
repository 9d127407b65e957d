"""Match detections in COCO's result format with the true boxes of an annotations file.

A box is right if it is matched with a true box, by the rules of COCO's own evaluation. The overlap that a match needs
is a choice, so the matched table has a column for each threshold. Within an image and category, detections choose in
order of confidence. Each takes the true box with the largest overlap that reaches the threshold and is still free.
Ignored regions are chosen only if no other box is left; crowd regions can be matched by any number of detections.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._base.arrays import frozen
from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.column_store import Columns, identifier, lacking, number
from calib_core.readers.messages import listed, quoted
from calib_core.readers.proposal.label_codes import label_texts
from calib_core.readers.reading import Fields, Reading
from calib_core.readers.table import Array, Table
from calib_core.readers.table_findings import Finding
from calib_core.readers.text_encoding import numbers
from calib_core.readers.tool_shapes import (
    JsonDocument,
    Record,
    ShapeOfColumns,
    ShapeOfRecords,
    shape_of_columns,
    shape_of_records,
)
from calib_core.text import count, percent

MOST_OF_AN_IMAGE = 100
"""Maximum number of detections per image and category in COCO's evaluation; the most confident ones count."""
_PAIRS_OF_A_BLOCK = 1 << 20
_SLACK = 1e-10
"""Tolerance for overlaps that rounding keeps below a threshold of 1, as in COCO's code."""

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes of all images.

    Parameters
    ----------
    corners : (n, 4) left, top, width and height, in pixels.
    places : (n,) index of the pair of image and category of each box, from 0.
    """

    corners: Floats
    places: Places

    @property
    def areas(self) -> Floats:
        """Areas in square pixels, (n,)."""
        return np.asarray(self.corners[:, 2] * self.corners[:, 3])


def matched(
    detections: Boxes,
    scores: Floats,
    truths: Boxes,
    crowds: NDArray[np.bool_],
    thresholds: Sequence[float],
) -> tuple[Places, NDArray[np.bool_]]:
    """Match detections with true boxes: (n, T) box indices, -1 for no match; and (n,) which detections took part.

    Parameters
    ----------
    detections, scores : (n,) boxes and their confidence scores, without NaN.
    truths, crowds : (m,) true boxes, and which are crowd regions. Crowd regions are ignored, and any number of
        detections match one if the share of each detection inside it reaches the threshold.
    thresholds : minimum overlap (intersection over union) for a match; above 0, up to 1.

    A detection beyond the ``MOST_OF_AN_IMAGE`` most confident of its image and category takes no part. Equal scores
    keep the order of the file; for equal overlaps the later true box is taken. InputError if there are too many pairs.
    What can mislead: of two detections of one object, the more confident is matched and the other is not, however well
    it fits. Reference: cocodataset/cocoapi, PythonAPI/pycocotools/cocoeval.py, evaluateImg.

    >>> squares = lambda *left: Boxes(np.array([[x, 0.0, 10.0, 10.0] for x in left]), np.zeros(len(left), dtype=int))
    >>> found, part = matched(squares(1, 0, 30), np.array([0.9, 0.8, 0.7]), squares(0), np.array([False]), [0.5])
    >>> found[:, 0].tolist(), part.tolist()
    ([0, -1, -1], [True, True, True])
    """
    floors = np.minimum(np.asarray(thresholds, dtype=np.float64), 1 - _SLACK)
    rank = _ranks(scores, detections.places)
    part = rank < MOST_OF_AN_IMAGE
    found = np.full((len(scores), len(floors)), -1, dtype=np.intp)
    taken = np.zeros((len(crowds), len(floors)), dtype=bool)
    pairs = _overlapping(detections, truths, crowds, np.flatnonzero(part), float(floors.min()))
    if pairs is None:
        return found, part
    chooser, chosen, overlap = pairs
    # Detections of one rank choose together: no two are of the same image and category. Their candidates are
    # adjacent, the best one last.
    order = np.lexsort((chosen, overlap, ~crowds[chosen], chooser, rank[chooser]))
    chooser, chosen, overlap = chooser[order], chosen[order], overlap[order]
    ends = np.flatnonzero(np.diff(rank[chooser], append=MOST_OF_AN_IMAGE)) + 1
    for begin, end in zip([0, *ends[:-1]], ends, strict=True):
        who, box = chooser[begin:end], chosen[begin:end]
        free = (overlap[begin:end, None] >= floors) & (~taken[box] | crowds[box, None])
        starts = np.flatnonzero(np.diff(who, prepend=-1))
        best = np.maximum.reduceat(np.where(free, np.arange(end - begin)[:, None], -1), starts, axis=0)
        choice = np.where(best >= 0, box[best], -1)
        found[who[starts]] = choice
        which, threshold = np.nonzero(choice >= 0)
        taken[choice[which, threshold], threshold] = True
    return found, part


def _ranks(scores: Floats, places: Places) -> Places:
    """Rank of each detection in its image and category by score; ties keep the order of the file."""
    order = np.lexsort((-scores, places))
    starts = np.flatnonzero(np.diff(places[order], prepend=-1))
    ranks = np.empty(len(scores), dtype=np.intp)
    ranks[order] = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    return ranks


def _overlapping(
    detections: Boxes, truths: Boxes, crowds: NDArray[np.bool_], of: Places, least: float
) -> tuple[Places, Places, Floats] | None:
    """Pairs of a detection and a true box of the same image and category with enough overlap, and the overlap."""
    kept: list[tuple[Places, Places, Floats]] = []
    n = 0
    for who, box in _pairs(detections.places, truths.places, of):
        overlap = _overlaps(detections, truths, who, box, crowds[box])
        enough = overlap >= least
        n += int(enough.sum())
        _check(n, limits.BOX_OVERLAPS, "overlap")
        kept.append((who[enough], box[enough], overlap[enough]))
    if not n:
        return None
    who, box, overlap = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    return who, box, overlap


def _pairs(places: Places, true_places: Places, of: Places) -> Iterator[tuple[Places, Places]]:
    """Yield pairs of a detection in ``of`` and a true box of the same image and category, in blocks."""
    order = np.argsort(true_places, kind="stable")
    first, last = (np.searchsorted(true_places[order], places[of], side) for side in ("left", "right"))
    of, first, counts = of[last > first], first[last > first], (last - first)[last > first]
    ends = np.cumsum(counts)
    _check(int(ends[-1]) if len(ends) else 0, limits.BOX_PAIRS, "need a comparison")
    begin = 0
    while begin < len(of):
        before = int(ends[begin] - counts[begin])
        end = max(begin + 1, int(np.searchsorted(ends, before + _PAIRS_OF_A_BLOCK, "right")))
        each = counts[begin:end]
        inside = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
        yield np.repeat(of[begin:end], each), order[np.repeat(first[begin:end], each) + inside]
        begin = end


def _overlaps(detections: Boxes, truths: Boxes, who: Places, box: Places, crowd: NDArray[np.bool_]) -> Floats:
    """Intersection over union; for crowd regions, intersection over the area of the detection."""
    d, t = detections.corners[who], truths.corners[box]
    inner = np.minimum(d[:, :2] + d[:, 2:], t[:, :2] + t[:, 2:]) - np.maximum(d[:, :2], t[:, :2])
    common = np.where((inner > 0).all(axis=1), inner[:, 0] * inner[:, 1], 0.0)
    # The same order of operations as COCO's code: the last bit decides whether a box reaches a threshold.
    own = detections.areas[who]
    whole = np.where(crowd, own, own + truths.areas[box] - common)
    return np.divide(common, whole, out=np.zeros_like(common), where=common > 0)


def _check(n: int, most: int, what: str) -> None:
    if n > most:
        raise InputError(f"more than {most:,} pairs of boxes {what}; match fewer images at once")


THRESHOLDS = (0.1, 0.2, 0.3, 0.4, *(round(0.5 + 0.05 * k, 2) for k in range(10)))
"""COCO's ten thresholds, and smaller ones, which are used for locating objects."""
USUAL, STRICT = 0.5, 0.75
IMAGE, CATEGORY, SIZE, CONFIDENCE, TRUE_BOXES = "image_id", "category", "box size", "confidence", "true boxes"
_ID, _BOX, _SCORE, _CROWD = "category_id", "bbox", "score", "iscrowd"
_IMAGES, _IDS, _NAMES = "ids of images", "ids of categories", "names of categories"
_SMALL, _MEDIUM = 32**2, 96**2
"""Areas in pixels up to which COCO calls an object small, and medium."""
_LOW = 0.01
"""A lowest confidence above this value suggests that boxes below it were not saved."""
_LARGEST = 1e10
"""Box areas in pixels above this value are ignored by COCO's evaluation."""


def column_of(threshold: float) -> str:
    """Name of the column of outcomes at a threshold.

    >>> column_of(0.5)
    'matched at IoU 0.50'
    """
    return f"matched at IoU {threshold:.2f}"


@shape_of_records
class Detections(ShapeOfRecords):
    """List of boxes with scores; they are right or wrong only relative to the true boxes."""

    key = "coco"
    title = "detections in COCO's result format"
    layout = "confidence"

    def recognises(self, document: JsonDocument) -> bool:
        return all({IMAGE, _ID, _SCORE} <= each.keys() for each in document.first)

    def table(self, document: JsonDocument) -> Table:
        rows = _Rows(document)
        without: list[int] = []
        for place, record in document.records:
            score = number(record.get(_SCORE))
            if math.isfinite(score):
                rows.add(record, place, {_SCORE: score})
            else:
                without.append(place)
        notes = [lacking(without, "no score")] if without else []
        if rows.masks:
            notes.append("The file also contains masks or keypoints; detections are matched by their boxes only.")
        return rows.table(notes)

    def fields(self, table: Table, chosen: Fields) -> Fields:
        raise InputError(
            f"{table.name} contains {self.title}. A box is right only if it matches a true box: give the annotations "
            "file as the labels (labels= in Python, --labels in commands, or the field for labels in the Data room)"
        )

    def joined(self, table: Table, labels: Table) -> Table:
        if labels.origin != TrueBoxes.key:
            raise InputError(f"{labels.name} has no true boxes; give a COCO annotations file as the labels")
        return _matched(table, labels)


@shape_of_records
class TrueBoxes(ShapeOfRecords):
    """Annotations file (images, annotations and categories) with the objects to be detected."""

    key = "coco-annotations"
    title = "true boxes in COCO's annotation format"
    layout = "confidence"

    def recognises(self, document: JsonDocument) -> bool:
        first = document.first[0]
        return len(document.first) == 1 and all(
            isinstance(first.get(key), list) for key in ("images", "annotations", "categories")
        )

    def table(self, document: JsonDocument) -> Table:
        name = document.name
        [(_, whole)] = document.records
        images, categories = _objects(name, whole, "images"), _objects(name, whole, "categories")
        if any("neg_category_ids" in each for each in images):
            raise InputError(
                f"{name} contains LVIS annotations, which list only some categories per image. Right boxes of other "
                "categories would count as wrong. Match them with LVIS's evaluation, and write confidence, matched (0 "
                "or 1) and image_id for each box"
            )
        rows = _Rows(JsonDocument(name, (), ()))
        ignored = 0
        for place, each in enumerate(_objects(name, whole, "annotations")):
            crowd = bool(each.get(_CROWD))
            ignored += bool(each.get("ignore")) and not crowd
            rows.add(each, place, {_CROWD: int(crowd), _SCORE: number(each.get(_SCORE))})
        marked = (
            f"{_boxes(ignored)} marked ignore but not iscrowd: matched like any other box, as in COCO's evaluation. "
            "Mark them iscrowd to leave out the detections inside them."
        )
        table = rows.table([marked] if ignored else [])
        beside: dict[str, Array] = {
            _IMAGES: _texts(_name(each.get("id")) for each in images),
            _IDS: _texts(_name(each.get("id")) for each in categories),
            _NAMES: _texts(str(each.get("name", _name(each.get("id")))) for each in categories),
        }
        columns = {**table.columns, **beside}
        if np.isnan(table.columns[_SCORE]).any():
            del columns[_SCORE]  # true boxes have no score; detections saved in this format have one each
        return replace(table, columns=columns)

    def fields(self, table: Table, chosen: Fields) -> Fields:
        raise InputError(
            f"{table.name} contains {self.title}, not predictions. Open the file of detections, and give this one as "
            "its labels"
        )

    def joined(self, table: Table, labels: Table) -> Table:
        if _SCORE in table.columns and labels.origin == self.key:
            return _matched(table, labels)
        raise InputError(
            f"{table.name} contains {self.title}, not predictions. Give the file of detections first, and this one as "
            "its labels"
        )


@shape_of_columns
class MatchedBoxes(ShapeOfColumns):
    """Detections with their matches; boxes of one image form a group, because they share true boxes."""

    key = "coco-matched"
    title = "detections matched with true boxes"
    layout = "confidence"
    neither = True

    def recognises(self, table: Table) -> bool:
        return table.columns.keys() >= {IMAGE, CATEGORY, CONFIDENCE, TRUE_BOXES, column_of(USUAL)}

    def fields(self, table: Table, chosen: Fields) -> Fields:
        images = label_texts(table.columns[IMAGE])
        return {
            "layout": "confidence",
            "confidence": CONFIDENCE,
            "correct": column_of(USUAL),
            "group": IMAGE if (images != images[0]).any() else None,
            "missing": "exclude",
            "metadata": tuple(name for name in (CATEGORY, SIZE) if name in table.columns),
        }

    def findings(self, table: Table, reading: Reading) -> Iterator[Finding]:
        used = next((each for each in THRESHOLDS if column_of(each) == reading.correct), None)
        if used is None:
            return
        right = label_texts(table.columns[column_of(used)])
        hits, counted = int((right == "1").sum()), int((right != "").sum())
        true = max(_whole(table.columns[TRUE_BOXES]), hits)
        other = STRICT if used == USUAL else USUAL
        left = len(right) - counted
        crowd = f" {_boxes(left)} in crowd regions left out." if left else ""
        yield Finding(
            "note",
            "foreign",
            f"A box is right if it matches a true box of its category and image at IoU ≥ {used:.2f}. The most "
            "confident boxes choose first, and each true box is used once, as in COCO's evaluation. "
            f"{percent(hits / max(counted, 1))} of {count(counted)} boxes are right.{crowd} {count(true - hits)} of "
            f"{count(true)} true boxes have no match. Missed objects have no confidence, so they do not affect "
            "calibration.",
            {"correct": column_of(other)},
            f"Match at IoU ≥ {other:.2f}",
        )
        if not hits:
            yield Finding(
                "warning",
                "never-right",
                "No box is matched. Boxes must be left, top, width and height in pixels, in both files.",
            )
        least = float(np.nanmin(numbers(table.columns[CONFIDENCE]), initial=np.inf))
        if _LOW < least < np.inf:
            yield Finding(
                "note",
                "foreign",
                f"The lowest confidence is {least:.3g}. If boxes below it were not saved, results do not cover them.",
            )


@dataclass(eq=False)
class _Rows:
    """Boxes of a file, collected record by record."""

    document: JsonDocument
    corners: array[float] = field(default_factory=lambda: array("d"))
    masks: bool = False

    def __post_init__(self) -> None:
        self.columns = Columns(self.document.name)

    def add(self, record: Record, place: int, more: Mapping[str, object]) -> None:
        box = record.get(_BOX)
        corners = [number(each) for each in box] if isinstance(box, list) else []
        self.masks = self.masks or "segmentation" in record or "keypoints" in record
        if len(corners) != 4 or not all(map(math.isfinite, corners)) or min(corners[2:]) < 0:
            where = self.document.where(place)
            if box is None and ("segmentation" in record or "keypoints" in record):
                raise InputError(
                    f"{where} is a mask or keypoints without a box. Only boxes are matched: add bbox, or match with "
                    "pycocotools and write confidence, matched (0 or 1) and image_id for each"
                )
            raise InputError(
                f"{where}: bbox is {quoted(box)}; it needs four numbers: left, top, and a width and height of 0 or more"
            )
        self.corners.extend(corners)
        self.columns.add({IMAGE: _name(record.get(IMAGE)), _ID: _name(record.get(_ID)), **more}, place)

    def table(self, notes: Sequence[str]) -> Table:
        boxes = frozen(np.array(self.corners).reshape(-1, 4))
        return self.columns.table(notes=notes, matrices={_BOX: boxes})


def _name(value: Any) -> int | str:
    """Identifier of an image or category; 42.0, as pandas may write it, becomes 42."""
    return int(value) if isinstance(value, float) and value.is_integer() else identifier(value)


def _whole(column: Array) -> int:
    """Largest value of a column of counts; other values are ignored."""
    values = numbers(column)
    return int(values[(values >= 0) & (values < 2**53)].max(initial=0))


def _boxes(n: int) -> str:
    return f"{count(n)} {'box' if n == 1 else 'boxes'}"


def _texts(values: Iterator[int | str]) -> Array:
    return np.array([str(each) for each in values], dtype=object)


def _objects(name: str, whole: Record, key: str) -> list[Record]:
    found: list[Record] = whole[key]
    for i, each in enumerate(found):
        if not isinstance(each, dict):
            raise InputError(f"{name}: entry {i} of {key} is not an object; save the annotations again")
    if not found:
        raise InputError(f"{name} has no {key}, which the matching of detections needs")
    return found


def _matched(table: Table, labels: Table) -> Table:
    """Return the detections that can be right or wrong, with a column of outcomes for each threshold."""
    kept, notes = _within(table, labels)
    truths = _keys(labels)
    inside = (truths[IMAGE].isin(labels.columns[_IMAGES]) & truths[_ID].isin(labels.columns[_IDS])).to_numpy()
    codes, _ = pd.factorize(pd.MultiIndex.from_frame(pd.concat([_keys(kept), truths[inside]])))
    true = Boxes(labels.matrices[_BOX][inside], codes[kept.n_rows :])
    found_of = Boxes(kept.matrices[_BOX], codes[: kept.n_rows])
    crowds = labels.columns[_CROWD][inside] != 0
    scores = numbers(kept.columns[_SCORE])
    every = pd.DataFrame(np.column_stack([found_of.places, found_of.corners, scores]))
    if again := int(every.duplicated().sum()):
        notes.append(
            f"{_boxes(again)} equal to an earlier one in image, category, position and score; only one of them can be "
            "right. Check whether an image or a run was saved twice."
        )
    try:
        found, part = matched(found_of, scores, true, crowds, THRESHOLDS)
    except InputError as e:
        raise InputError(f"{table.name}: {e}") from e
    names = dict(zip(labels.columns[_IDS], labels.columns[_NAMES], strict=True))
    called = np.array([names[each] for each in label_texts(kept.columns[_ID])], dtype=object)
    columns: dict[str, Array] = {
        IMAGE: kept.columns[IMAGE],
        CATEGORY: called,
        SIZE: np.array(["small", "medium", "large"], dtype=object)[
            np.searchsorted([_SMALL, _MEDIUM], found_of.areas, "right")
        ],
        CONFIDENCE: scores,
        TRUE_BOXES: np.full(len(called), int((~crowds).sum())),
    }
    outcomes = _outcomes(found, crowds, found_of.areas)
    columns |= {column_of(each): frozen(outcomes[:, k]) for k, each in enumerate(THRESHOLDS)}
    if not part.all():
        notes.append(
            f"{_boxes(int((~part).sum()))} left out: beyond the {MOST_OF_AN_IMAGE} most confident of their image and "
            "category, the limit of COCO's evaluation."
        )
    whole = Table(table.name, table.format, columns, rows=kept.rows, notes=(*table.notes, *labels.notes, *notes))
    return whole.take(np.flatnonzero(part))


def _outcomes(found: NDArray[np.intp], crowds: NDArray[np.bool_], areas: NDArray[np.float64]) -> Array:
    """ "1" for right, "0" for wrong, empty for neither, (n, T); texts, so that a file with gaps keeps them."""
    hit = found >= 0
    neither = (hit & np.append(crowds, False)[found]) | (~hit & (areas > _LARGEST)[:, None])
    return np.array(["0", "1", ""], dtype=object)[np.where(neither, 2, hit)]


def _within(table: Table, labels: Table) -> tuple[Table, list[str]]:
    """Return detections of annotated images and categories, and notes on the other detections."""
    notes: list[str] = []
    keys = _keys(table)
    rows = np.ones(len(keys), dtype=bool)
    for name, known, what in ((IMAGE, _IMAGES, "images"), (_ID, _IDS, "categories")):
        here = keys[name].isin(labels.columns[known]).to_numpy()
        if (unknown := rows & ~here).any():
            notes.append(
                f"{_boxes(int(unknown.sum()))} left out: {what} not in {labels.name}: "
                f"{listed(pd.unique(keys[name][unknown]), 3)}."
            )
        rows &= here
    if not rows.any():
        raise InputError(
            f"no box of {table.name} has an image and a category in {labels.name}; check that both are of the same data"
        )
    return table.take(np.flatnonzero(rows)), notes


def _keys(table: Table) -> pd.DataFrame:
    """Image and category of every box, as text."""
    return pd.DataFrame({name: label_texts(table.columns[name]) for name in (IMAGE, _ID)})
