"""Compare an export with its calibrator on critical rows before it is returned; refuse it if it differs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from calib_core._base.arrays import Float64s, Floats, safe_log
from calib_core._base.atomic_files import scratch
from calib_core.calibrators.base import Calibrator, CurveMap, Interpolated, Map, PiecewiseMap
from calib_core.exporting.nodes import Affine, EachClass, InputRow, Program, Ranked
from calib_core.predictions.predictions import Logits, NotAnswerable, Predictions

TOLERANCE = 1e-6
"""Maximum difference in probability between an export and the calibrator."""

ROUNDING = (
    "Scores are computed before they are binned: a score at a bin's edge can be assigned to the other side by rounding."
)
"""Limitation that the trial cannot check, if ``bins_computed``."""

_WORK = 600_000
"""Approximate number of multiplications for about a second in plain Python: more classes mean fewer rows."""
_ROWS = (16, 1500)
_SECONDS = 120


@dataclass(frozen=True)
class ExportTrial:
    """Result of a trial: the number of rows, and the largest difference from the calibrator."""

    rows: int
    difference: float

    @property
    def sentence(self) -> str:
        """Return one sentence about the result, for readers of the file."""
        difference = f"{self.difference:.2g}"
        return f"Checked on export: on {self.rows} rows, the largest difference from calib was {difference}."


def checked(calibrator: Calibrator, program: Program, run: Callable[[Floats], Floats]) -> ExportTrial:
    """Run an export and its calibrator on probe rows; NotAnswerable if they differ by more than TOLERANCE."""
    rows = probe_rows(program)
    wanted = calibrator.predict_proba(Logits(rows) if program.given.kind == "logits" else rows)
    return compared(wanted, run(rows))


def checked_confidences(calibrator: Calibrator, program: Program, run: Callable[[Floats], Floats]) -> ExportTrial:
    """Run an export and its calibrator on confidences: from 0 to 1, and the edges of their map with neighbors."""
    edges = np.concatenate([_edges(score_map) for _, score_map in _maps(program, program.given.n_classes)])
    near = np.concatenate([edges, np.nextafter(edges, 0.0), np.nextafter(edges, 1.0)])
    scores = np.concatenate([np.linspace(0.0, 1.0, 501), near[(near >= 0.0) & (near <= 1.0)]])
    given = Predictions.from_confidence(scores, np.zeros(len(scores)))
    return compared(calibrator.apply(given).confidence, run(scores))


def compared(wanted: Floats, results: Floats) -> ExportTrial:
    """Return the difference of two results for the same rows; NotAnswerable if it is too large."""
    if np.shape(results) != wanted.shape:
        raise NotAnswerable(
            f"the export returns results of shape {np.shape(results)} instead of {wanted.shape}, so it is refused"
        )
    difference = float(np.abs(results - wanted).max())
    if not difference <= TOLERANCE:
        raise NotAnswerable(
            f"the export differs from the calibrator by {difference:.2g} on one of {len(wanted)} rows; the maximum is "
            f"{TOLERANCE:g}, so it is refused. Save the calibrator as JSON instead"
        )
    return ExportTrial(len(wanted), difference)


def run_module(source: str, rows: Floats, *options: str) -> Float64s:
    """Return the results of an exported module for rows, run as a program in a separate Python without packages."""
    with scratch() as folder:
        path = folder / "exported.py"
        try:
            path.write_text(source, encoding="utf-8")
            done = subprocess.run(
                [sys.executable, "-I", "-S", str(path), *options],
                input=json.dumps(rows.tolist()),
                capture_output=True,
                encoding="utf-8",
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as why:
            raise NotAnswerable(f"the export could not be tested, so it is refused ({why})") from None
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2][:200]
        raise NotAnswerable(f"the export does not run, so it is refused ({last})")
    return np.asarray(json.loads(done.stdout), dtype=np.float64)


def probe_rows(program: Program) -> Floats:
    """Return seeded rows that are prone to errors: random, corners, exact 0 and 1, ties, bin edges and their neighbors.

    For a program on logits, these are shifted logarithms of the same rows, some of them minus infinity. More classes
    mean fewer rows, but at least 16.
    """
    k = program.given.n_classes
    rng = np.random.default_rng(0)
    most = int(np.clip(_WORK / _cost(program), *_ROWS))
    each = max(4, most // 6)
    parts = [_corners(k, each, rng), _ties(k, each, rng), *_random(k, each, rng)]
    # Logits can only meet an edge up to rounding, which decides nothing.
    edges = _at_edges(program, rng, most // 2 if program.given.kind == "probabilities" else 0)
    rows = np.concatenate([*parts, edges])
    if program.given.kind == "probabilities":
        return rows
    logits = safe_log(rows) + rng.normal(scale=5.0, size=(len(rows), 1))
    impossible = (rows == 0) & (rng.random(rows.shape) < 0.3)
    logits[impossible] = -np.inf
    return logits


def bins_computed(program: Program) -> bool:
    """True if scores are computed, and thus rounded, before they are binned."""
    binning = (node for node in program.nodes() if isinstance(node, (EachClass, Ranked)))
    maps = (score_map for node in binning if not isinstance(node.row, InputRow) for score_map in _all_maps(node))
    return any(isinstance(score_map, PiecewiseMap) and len(score_map.edges) > 0 for score_map in maps)


def _cost(program: Program) -> float:
    squares = sum(node.weights.size for node in program.nodes() if isinstance(node, Affine))
    return float(squares + program.given.n_classes * len(tuple(program.nodes())))


def _corners(k: int, n: int, rng: np.random.Generator) -> Float64s:
    """Rows with all classes equal, one certain, or all but one equal."""
    classes = rng.permutation(k)[: n // 2]
    certain = np.zeros((len(classes), k))
    certain[np.arange(len(classes)), classes] = 1.0
    return np.concatenate([np.full((1, k), 1.0 / k), certain, (1.0 - certain) / (k - 1)])


def _ties(k: int, n: int, rng: np.random.Generator) -> Float64s:
    """Rows with several classes tied for the largest, others exactly 0; multiples of 1/8, 1/20 and 1/100."""
    shared = np.zeros((n // 4, k))
    for row in shared:
        tied = rng.permutation(k)[: rng.integers(2, min(k, 4) + 1)]
        row[tied] = 1.0 / len(tied)
    return np.concatenate([shared, *(rng.multinomial(m, np.full(k, 1.0 / k), n // 4) / m for m in (8, 20, 100))])


def _random(k: int, n: int, rng: np.random.Generator) -> list[Float64s]:
    spread = [rng.dirichlet(np.full(k, a), n) for a in (0.05, 0.7, 5.0)]
    # Very small shapes can underflow to empty rows.
    return [rows[np.isfinite(rows).all(axis=1)] for rows in spread]


def _at_edges(program: Program, rng: np.random.Generator, most: int) -> Float64s:
    """Rows with a fitted edge, or an adjacent double, as one class's probability; the others share the remainder."""
    k = program.given.n_classes
    pairs = [(c, float(e)) for c, score_map in _maps(program, k) for e in _edges(score_map) if 0.0 <= e <= 1.0]
    chosen = [pairs[i] for i in rng.permutation(len(pairs))[: -(-most // 3)]]
    rows = [_row(c, s, k) for c, e in chosen for s in (e, np.nextafter(e, 0.0), np.nextafter(e, 1.0))]
    return np.array(rows).reshape(-1, k)


def _row(c: int, score: float, k: int) -> Float64s:
    row = np.full(k, (1.0 - score) / (k - 1))
    row[c] = score
    return row


def _maps(program: Program, k: int) -> list[tuple[int, Map]]:
    """Every map of the program with a class whose scores it transforms."""
    nodes = [node for node in program.nodes() if isinstance(node, (EachClass, Ranked))]
    return [(c % k, score_map) for node in nodes for c, score_map in enumerate(_all_maps(node))]


def _all_maps(node: EachClass | Ranked) -> tuple[Map, ...]:
    return (
        node.maps if isinstance(node, EachClass) else tuple(score_map for of_rank in node.maps for score_map in of_rank)
    )


def _edges(score_map: Map) -> Float64s:
    if isinstance(score_map, PiecewiseMap):
        return score_map.edges
    if isinstance(score_map, CurveMap):
        return expit(score_map.knots)
    return score_map.scores if isinstance(score_map, Interpolated) else np.empty(0)
