"""Details of lighteval with nested columns, as pyarrow writes them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tests.corpus.foreign_files import ForeignFile, writes
from tests.corpus.lm_eval_files import LETTERS, drawn, softmax

NAME = "details_mmlu_2026-05-05.parquet"


def row(i: int, scores: Sequence[float], gold: object, texts: Sequence[str]) -> dict[str, Any]:
    """Return a row, including fields that are not needed."""
    return {
        "doc": {"query": "long " * 50, "choices": [f" {t}" for t in texts], "gold_index": gold, "id": str(i),
                    "task_name": "mmlu", "unconditioned_query": None},
        "model_response": {"logprobs": list(scores), "argmax_logits_eq_gold": [False] * len(scores), "text": []},
        "metric": {"acc": 1.0},
    }  # fmt: skip


def parquet(rows: list[dict[str, Any]]) -> bytes:
    """Return the rows as a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out)
    return out.getvalue()


@writes("lighteval")
def details() -> Iterator[ForeignFile]:
    scores, gold = drawn(30, 4)
    top = np.array([max(softmax(s)) for s in scores])
    right = np.array([int(np.argmax(s)) == g for s, g in zip(scores, gold, strict=True)])
    letters = [row(i, s, g, LETTERS) for i, (s, g) in enumerate(zip(scores, gold, strict=True))]
    yield ForeignFile("letters", NAME, parquet(letters), top, right)
    documented = [{f"__{name}__": value for name, value in each.items()} for each in letters]
    yield ForeignFile("columns as the documentation has them", NAME, parquet(documented), top, right)
    lists = [row(i, s, [g], LETTERS) for i, (s, g) in enumerate(zip(scores, gold, strict=True))]
    lists.append(row(30, [-1.0], [0], ["A"]))
    yield ForeignFile("lists", NAME, parquet(lists), top, right, "1 record has no log-likelihood for every choice")
    texts = [row(i, s, g, [f"{t} {i}" for t in LETTERS]) for i, (s, g) in enumerate(zip(scores, gold, strict=True))]
    yield ForeignFile("texts", NAME, parquet(texts), top, right, "is a position rather than a class")
    yield ForeignFile(
        "generated", NAME, parquet([row(0, [], 0, ["A"])] * 3), asks="without a log-likelihood for every choice"
    )
