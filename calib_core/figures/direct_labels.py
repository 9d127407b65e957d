"""Labels next to their marks, in free space."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from calib_core._base.arrays import Float64s

DIRECT = "direct label"
"""Name of the annotations and shapes of a label next to its marks, which narrow columns have no room for."""
_WIDTH, _LETTER, _HEIGHT = 0.03, 0.0125, 0.05
"""Size of a label as shares of the figure: its ends, a letter, a line."""
_AWAY = 0.035

_Box = tuple[float, float, float, float]
"""Left, bottom, right and top."""


def label_places(names: Mapping[str, Float64s], others: Iterable[Float64s]) -> dict[str, tuple[float, float, str, str]]:
    """Positions of labels next to one of their points: x, y and the anchored sides; without room there is no entry.

    ``names`` are points (n, 2) of each name and ``others`` all other marks, in shares of the figure.

    >>> points = {"a": np.array([[0.5, 0.2]])}
    >>> label_places(points, [np.array([[0.5, 0.5]])])["a"][2:]
    ('left', 'middle')
    """
    drawn = [*names.values(), *others]
    everything = np.concatenate([each for each in drawn if len(each)] or [np.empty((0, 2))])
    across, up = everything[np.argsort(everything[:, 0])].T
    found: dict[str, tuple[float, float, str, str]] = {}
    boxes: list[_Box] = []

    def free(box: _Box) -> bool:
        left, bottom, right, top = box
        if left < 0 or right > 1 or bottom < 0 or top > 1 or any(_meet(box, other) for other in boxes):
            return False
        heights = up[np.searchsorted(across, left, "right") : np.searchsorted(across, right)]
        return not bool(((heights > bottom) & (heights < top)).any())

    for name, points in names.items():
        width = _WIDTH + _LETTER * len(name)
        for anchor, (left, bottom), place in (side for x, y in points[::-1].tolist() for side in _sides(x, y, width)):
            if free(box := (left, bottom, left + width, bottom + _HEIGHT)):
                found[name] = *place, *anchor
                boxes.append(box)
                break
    return found


def along(points: Float64s, steps: int = 24) -> Float64s:
    """Points on the line through points (n, 2); pieces end at a missing point."""
    if len(points) < 2:
        return points
    share = np.linspace(0, 1, steps)[:, None, None]
    every = (points[None, :-1] * (1 - share) + points[None, 1:] * share).reshape(-1, 2)
    return np.asarray(every[~np.isnan(every).any(axis=1)])


def _sides(x: float, y: float, width: float) -> list[tuple[tuple[str, str], tuple[float, float], tuple[float, float]]]:
    """Anchors of a label, the lower left corner of its box, and its anchor point: right, left, above, below."""
    middle = y - _HEIGHT / 2
    return [
        (("left", "middle"), (x + _AWAY, middle), (x + _AWAY, y)),
        (("right", "middle"), (x - _AWAY - width, middle), (x - _AWAY, y)),
        (("center", "bottom"), (x - width / 2, y + _AWAY), (x, y + _AWAY)),
        (("center", "top"), (x - width / 2, y - _AWAY - _HEIGHT), (x, y - _AWAY)),
    ]


def _meet(a: _Box, b: _Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
