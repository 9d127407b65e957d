"""Details of lighteval: written by its tracker from its own documents, responses and metrics, without a model.

Run with lighteval: python -m tests.foreign_tools.writes_lighteval FOLDER
"""

from __future__ import annotations

import shutil
import sys
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tests.foreign_tools.written import Written

LETTERS = ("A", "B", "C", "D")


def main(folder: str) -> None:
    from lighteval.logging.evaluation_tracker import EvaluationTracker
    from lighteval.metrics.metrics_sample import LoglikelihoodAcc, NormalizedMultiChoiceProbability
    from lighteval.models.abstract_model import ModelConfig
    from lighteval.models.model_output import ModelResponse
    from lighteval.tasks.requests import Doc, SamplingMethod

    tool, rng = Written(folder, "lighteval", version("lighteval")), np.random.default_rng(7)
    values = rng.normal(-4, 1.5, (24, 4)).round(4)
    gold = rng.integers(0, 4, 24)
    probs = np.exp(values - values.max(axis=1, keepdims=True))
    probs /= probs.sum(axis=1, keepdims=True)
    accuracy, share = LoglikelihoodAcc(), NormalizedMultiChoiceProbability()
    named: dict[str, list[tuple[Any, Any]]] = {
        name: [
            (
                Doc(f"Question {i}", [f" {c}{end}" for c in LETTERS], wrap(int(g)), id=str(i), task_name=f"{name}|0",
                    sampling_methods=[SamplingMethod.LOGPROBS]),
                ModelResponse(input=f"Question {i}", input_tokens=[1, 2], output_tokens=[[3]] * 4,
                              logprobs=row.tolist(), argmax_logits_eq_gold=[bool(v) for v in row == row.max()]),
            )
            for i, (row, g) in enumerate(zip(values, gold, strict=True))
            for end in [f" {i}" if name == "texts" else ""]
        ]
        for name, wrap in (("letters", int), ("lists", lambda g: [g]), ("texts", int))
    }  # fmt: skip
    # Details of small tasks have 16 kB: most of it is the schema of their nested columns.
    named["generated"] = [
        (Doc(f"Question {i}", ["42"], 0, id=str(i)), ModelResponse(text=["42"], output_tokens=[[4, 2]]))
        for i in range(3)
    ]
    with TemporaryDirectory() as there:
        tracker = EvaluationTracker(there, save_details=True)
        tracker.general_config_logger.log_model_info(ModelConfig(model_name="known"))
        for name, pairs in named.items():
            for doc, answer in pairs:
                metric = {"acc": accuracy.compute(doc, answer)} if name != "generated" else {"em": 1.0}
                tracker.details_logger.log(name, doc, answer, metric)
        tracker.save()
        for name, pairs in named.items():
            (path,) = Path(there).rglob(f"details_{name}_*.parquet")
            shutil.copy(path, tool.path(f"details_{name}.parquet"))
            if name == "generated":
                tool.has(f"details_{name}.parquet", asks="without a log-likelihood for every choice")
                continue
            right = [bool(accuracy.compute(doc, answer)) for doc, answer in pairs]
            of_gold = [float(share.compute(doc, answer)) for doc, answer in pairs]
            np.testing.assert_allclose(of_gold, probs[np.arange(24), gold], atol=1e-9)
            truth = {"confidence": probs.max(axis=1), "correct": right, "within": 1e-9}
            tool.has(f"details_{name}.parquet", "lighteval", **truth, measured={"accuracy": float(np.mean(right))})


if __name__ == "__main__":
    main(*sys.argv[1:])
