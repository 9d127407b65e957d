"""Small files of every format, created in memory."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calib_core.predictions.predictions import InputError, Predictions
from calib_core.readers import read_table

CLASSES = ("cat", "dog", "bird")


def npz(*, packed: bool = False, **arrays: Any) -> bytes:
    out = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(out, **arrays)
    return out.getvalue()


def npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def small(n: int = 40, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return three-class probabilities and 0-based labels that agree with them more often than not."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.6] * 3, n)
    return p, (rng.random((n, 1)) > p.cumsum(axis=1)[:, :2]).sum(axis=1)


def as_format(form: str, p: np.ndarray, y: np.ndarray) -> tuple[bytes, str]:
    """Return the same predictions as bytes of one format, with a file name."""
    names = np.array(CLASSES, dtype=object)[y]
    wide = pd.DataFrame(p, columns=[f"p_{c}" for c in CLASSES]).assign(label=names)
    if form == "csv":
        return wide.to_csv(index=False).encode(), "preds.csv"
    if form == "semicolon":
        return wide.to_csv(index=False, sep=";").encode(), "preds.csv"
    if form == "tsv":
        return wide.to_csv(index=False, sep="\t").encode(), "preds.tsv"
    if form == "parquet":
        return wide.to_parquet(), "preds.parquet"
    if form == "jsonl":
        lines = [json.dumps(row) for row in wide.to_dict("records")]
        return "\n".join(lines).encode(), "preds.jsonl"
    if form == "jsonl-list":
        lines = [json.dumps({"probs": list(row), "label": int(k)}) for row, k in zip(p, y, strict=True)]
        return "\n".join(lines).encode(), "preds.jsonl"
    if form == "npz":
        return npz(probs=p, labels=y, class_names=np.array(CLASSES)), "preds.npz"
    if form == "npz-packed":
        return npz(packed=True, probs=p, labels=y, class_names=np.array(CLASSES)), "preds.npz"
    assert form == "npy"
    return npy(np.column_stack([p, y])), "preds.npy"


@pytest.fixture
def refused() -> Callable[[bytes, str], str]:
    """Return a function that returns the message with which a file is refused."""

    def read(data: bytes, filename: str) -> str:
        with pytest.raises(InputError) as caught:
            read_table(data, filename)
        return str(caught.value)

    return read


@pytest.fixture(scope="session")
def sample() -> Predictions:
    """Return forty rows of three classes."""
    p, y = small()
    return Predictions(p, y, class_names=CLASSES)


@pytest.fixture(scope="session")
def formatted() -> Callable[[str], tuple[bytes, str]]:
    """Return a function that returns the sample as bytes of a format, with a file name."""
    return lambda form: as_format(form, *small())
