"""The base-model analysis needs little memory beyond the array itself (an ordinary test, no timing)."""

import tracemalloc

import numpy as np
import pytest

from calib_core import CALIBRATORS, REDUCTIONS, Predictions, estimate, summarise
from calib_core.diagrams import class_table, reliability, zoom
from calib_core.inference import noise_floor
from calib_core.inference.intervals import wild_bootstrap
from calib_core.readers import StreamedFile
from dashboard.commands._part_by_part import recalibrate

# A fifth of the rows of the largest size: memory that grows with rows has a constant ratio to the array; blocks, chunks
# and per-class tables do not grow, and count more here than there.
ROWS, CLASSES = 10_000, 1_000


def test_the_base_model_analysis_stays_within_a_quarter_of_the_array():
    rng = np.random.default_rng(0)
    probs = rng.random((ROWS, CLASSES), dtype=np.float32) ** 60
    probs /= probs.sum(1, keepdims=True)
    probs.setflags(write=False)
    labels = rng.integers(CLASSES, size=ROWS)
    tracemalloc.start()
    try:
        p = Predictions(probs, labels)
        for notion in REDUCTIONS:
            if notion not in ("canonical", "event"):
                estimate(p, notion, "ece")
        for score in ("log-loss", "brier", "accuracy"):
            estimate(p, None, score)
        diagram = reliability(p)
        zoom(p, diagram, int(diagram.frame()["bin"].iloc[0]))
        class_table(p)
        class_table(p, "class-wise")
        first, second = p.split()
        estimate(first, "class-wise", "ece")
        estimate(second, "top-label", "ece")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= 0.25 * probs.nbytes, f"peak {peak / probs.nbytes:.0%} of the array"


@pytest.mark.parametrize(("rows", "classes"), [(400_000, 2), (4_000, 300)], ids=["many rows", "many classes"])
def test_a_class_wise_interval_draws_no_matrix_of_rows_and_replicates(rows, classes):
    """A thousand draws of 400,000 rows were 6 GB at once; now cells are drawn, or rows in parts."""
    rng = np.random.default_rng(0)
    probs = rng.random((rows, classes), dtype=np.float32) ** 8
    probs /= probs.sum(1, keepdims=True)
    p = Predictions(probs, rng.integers(classes, size=rows))
    made = estimate(p, "class-wise", "ece")
    tracemalloc.start()
    try:
        made.interval()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 512e6, f"peak {peak / 1e6:.0f} MB"


@pytest.mark.wide
def test_an_interval_over_tens_of_thousands_of_cells_holds_few_draws_of_them():
    """Bins of equal mass in every class: 28,200 cells, of which 1,000 draws were 226 MB, stored several times."""
    rng = np.random.default_rng(0)
    probs = rng.random((20_000, 200), dtype=np.float32) ** 8
    probs /= probs.sum(1, keepdims=True)
    made = estimate(Predictions(probs, rng.integers(200, size=len(probs))), "class-wise", "ece-adaptive")
    tracemalloc.start()
    try:
        made.interval()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 512e6, f"peak {peak / 1e6:.0f} MB"


@pytest.mark.parametrize(("key", "notion"), [("ece-adaptive-convex", "class-wise"), ("brier", None)])
def test_a_noise_floor_by_rows_keeps_a_byte_or_two_a_drawn_outcome(key, notion):
    """Two hundred draws of 200,000 classes were 480 MB as two kinds of whole numbers, and sorted for every draw."""
    rng = np.random.default_rng(0)
    probs = rng.random((200_000, 3), dtype=np.float32)
    probs /= probs.sum(1, keepdims=True)
    question = estimate(Predictions(probs, rng.integers(3, size=len(probs))), notion, key).question
    tracemalloc.start()
    try:
        noise_floor(question, 60)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100e6, f"peak {peak / 1e6:.0f} MB"


@pytest.mark.parametrize("rows", [1_000, 400_000, 1_000_000, 10_000_000])
def test_normals_of_an_interval_are_drawn_in_chunks_that_fit(rows):
    sizes = wild_bootstrap.chunk_sizes(rows, 10)
    assert sum(sizes) == wild_bootstrap.chunk_sizes(1, 10)[0]
    assert max(sizes) * rows * 8 <= 160e6


def test_a_summary_of_a_file_takes_no_more_memory_for_more_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("calib_core.readers.streams._rows_of", lambda width: 10_000)
    peaks = []
    for rows in (200_000, 500_000):
        scores = np.random.default_rng(0).random(rows, dtype=np.float32)
        np.save(tmp_path / "scores.npy", np.column_stack([1 - scores, scores]))
        np.save(tmp_path / "labels.npy", (scores > 0.4).astype(np.int8))
        tracemalloc.start()
        try:
            summarise(tmp_path / "scores.npy", labels=tmp_path / "labels.npy")
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0], f"{peaks[0] / 1e6:.0f} and {peaks[1] / 1e6:.0f} MB"


def test_fitting_and_applying_in_parts_takes_no_more_memory_for_more_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("calib_core.readers.streams._rows_of", lambda width: 4_000)
    monkeypatch.setattr("calib_core.calibrators.fitting.softmax_loss._SAMPLE_VALUES", 8_000)
    peaks = []
    for rows in (16_000, 64_000):
        scores = np.random.default_rng(0).random(rows, dtype=np.float32)
        np.save(tmp_path / "scores.npy", np.column_stack([1 - scores, scores]))
        np.save(tmp_path / "labels.npy", (scores > 0.4).astype(np.int8))
        tracemalloc.start()
        try:
            parts = StreamedFile(tmp_path / "scores.npy", {"labels": tmp_path / "labels.npy"})
            fitted = CALIBRATORS.make("temperature").fit_parts(parts)
            args = fitted, tmp_path / "scores.npy", tmp_path / "out.csv", "csv", tmp_path / "labels.npy", {}
            recalibrate(*args)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0], f"{peaks[0] / 1e6:.0f} and {peaks[1] / 1e6:.0f} MB"
