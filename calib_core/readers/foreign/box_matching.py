"""Boxes that are detected, matched with true ones as COCO's own evaluation does (pycocotools, COCOeval.evaluateImg).

Within an image and category the surest detection chooses first: the true box that overlaps it most, if it overlaps it
enough and no surer detection has it. Regions that are ignored are chosen only where no other box is left, and those of
crowds by any number of detections.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calib_core.predictions.predictions import InputError
from calib_core.readers import limits

MOST_OF_AN_IMAGE = 100
"""Detections of one image and category that COCO's evaluation looks at, the surest ones."""
_PAIRS_OF_A_BLOCK = 1 << 20
_SLACK = 1e-10
"""A threshold of 1 is reached by an overlap that rounding keeps from it, as there."""

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes of all images.

    Parameters
    ----------
    corners : (n, 4) left, top, width and height, in pixels.
    places : (n,) which image and category each is of, a number for each pair of them, from 0.
    """

    corners: Floats
    places: Places

    @property
    def areas(self) -> Floats:
        """Width by height, (n,)."""
        return np.asarray(self.corners[:, 2] * self.corners[:, 3])


def matched(
    detections: Boxes,
    scores: Floats,
    truths: Boxes,
    crowds: NDArray[np.bool_],
    thresholds: Sequence[float],
) -> tuple[Places, NDArray[np.bool_]]:
    """For every detection and threshold the true box it is matched with, (n, T), -1 for none; and (n,) who took part.

    Parameters
    ----------
    detections, scores : (n,) boxes and how sure each is; none is NaN.
    truths, crowds : (m,) true boxes, and which of them are regions of a crowd: these are ignored, and matched by
        any number of detections that lie in them by the share that the threshold asks.
    thresholds : overlaps, intersection over union, from which on two boxes match; above 0, up to 1.

    A detection beyond the ``MOST_OF_AN_IMAGE`` surest of its image and category takes no part. Equal scores keep the
    order of the file; of equal overlaps the later true box is taken. InputError where boxes of one image are too many.
    What can mislead: of two detections of one object the surer takes it and the other is unmatched, however well it
    fits. Reference: cocodataset/cocoapi, PythonAPI/pycocotools/cocoeval.py, evaluateImg.

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
    # Those of one rank choose together: no two of them are of the same image and category. Their candidates stand
    # side by side, the best of them last.
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
    """How many detections of the same image and category are surer, or as sure and earlier in the file."""
    order = np.lexsort((-scores, places))
    starts = np.flatnonzero(np.diff(places[order], prepend=-1))
    ranks = np.empty(len(scores), dtype=np.intp)
    ranks[order] = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    return ranks


def _overlapping(
    detections: Boxes, truths: Boxes, crowds: NDArray[np.bool_], of: Places, least: float
) -> tuple[Places, Places, Floats] | None:
    """Detections and true boxes of the same image and category that overlap enough, and by how much."""
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
    """Pairs of a detection ``of`` some and a true box of the same image and category, a block at a time."""
    order = np.argsort(true_places, kind="stable")
    first, last = (np.searchsorted(true_places[order], places[of], side) for side in ("left", "right"))
    of, first, counts = of[last > first], first[last > first], (last - first)[last > first]
    ends = np.cumsum(counts)
    _check(int(ends[-1]) if len(ends) else 0, limits.BOX_PAIRS, "are to be compared")
    begin = 0
    while begin < len(of):
        before = int(ends[begin] - counts[begin])
        end = max(begin + 1, int(np.searchsorted(ends, before + _PAIRS_OF_A_BLOCK, "right")))
        each = counts[begin:end]
        inside = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
        yield np.repeat(of[begin:end], each), order[np.repeat(first[begin:end], each) + inside]
        begin = end


def _overlaps(detections: Boxes, truths: Boxes, who: Places, box: Places, crowd: NDArray[np.bool_]) -> Floats:
    """Intersection over union; over the detection alone where the true box is a crowd's region."""
    d, t = detections.corners[who], truths.corners[box]
    inner = np.minimum(d[:, :2] + d[:, 2:], t[:, :2] + t[:, 2:]) - np.maximum(d[:, :2], t[:, :2])
    common = np.where((inner > 0).all(axis=1), inner[:, 0] * inner[:, 1], 0.0)
    # In this order, as there: the last bit decides whether a box reaches a threshold.
    own = detections.areas[who]
    whole = np.where(crowd, own, own + truths.areas[box] - common)
    return np.divide(common, whole, out=np.zeros_like(common), where=common > 0)


def _check(n: int, most: int, what: str) -> None:
    if n > most:
        raise InputError(f"more than {most:,} pairs of boxes {what}; match fewer images at once")
