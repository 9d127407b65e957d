"""Files of HELM and uqlm, whose runs need too many packages: written by their own code from our numbers.

Run with crfm-helm and uqlm, installed with --no-deps and the packages that they import here: python -m
tests.foreign_tools.writes_of_dataclasses FOLDER
"""

from __future__ import annotations

import importlib.util
import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

from tests.foreign_tools.written import Written

N = 7


def helm(folder: str) -> None:
    """Write per_instance_stats.json like the runner, for multiple choice with one input per choice."""
    from helm.benchmark.metrics.metric import PerInstanceStats
    from helm.benchmark.metrics.metric_name import MetricName
    from helm.benchmark.metrics.statistic import Stat
    from helm.common.general import asdict_without_nones

    tool, rng = Written(folder, "helm", version("crfm-helm")), np.random.default_rng(7)
    scores = rng.normal(-4, 1.5, (N, 4))
    probs = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    gold = rng.integers(0, 4, N)
    rows = []
    for i, (row, g) in enumerate(zip(probs, gold, strict=True)):
        values = {
            "num_references": 4,
            "max_prob": float(row.max()),
            "exact_match": float(row.argmax() == g),
            "predicted_index": int(row.argmax()),
        }
        stats = [Stat(MetricName(name, split="test")).add(value) for name, value in values.items()]
        rows.append(PerInstanceStats(instance_id=f"id{i}", perturbation=None, train_trial_index=0, stats=stats))
    tool.path("per_instance_stats.json").write_text(json.dumps(list(map(asdict_without_nones, rows)), indent=2))
    truth = {"confidence": probs.max(axis=1), "correct": probs.argmax(axis=1) == gold}
    tool.has("per_instance_stats.json", "helm", **truth, kept=True)


def uqlm(folder: str) -> None:
    """Write UQResult.to_df, whose columns lose the s at their end."""
    where = importlib.util.find_spec("uqlm")
    assert where is not None
    assert where.submodule_search_locations is not None
    path = Path(where.submodule_search_locations[0]) / "utils" / "results.py"
    spec = importlib.util.spec_from_file_location("uqlm_results", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)  # the package itself imports a chat client

    tool, rng = Written(folder, "uqlm", version("uqlm")), np.random.default_rng(7)
    confidence, other = rng.uniform(0.3, 0.99, (2, N))
    correct = rng.random(N) < confidence
    said = {"prompts": [f"Q{i}" for i in range(N)], "responses": [f"A{i}, so" for i in range(N)]}
    sampled = {"sampled_responses": [[f"A{i}", "B"] for i in range(N)]}
    for name, scorers, chosen in (
        ("black_box", {"semantic_negentropy": confidence, "noncontradiction": other}, "semantic_negentropy"),
        ("white_box", {"normalized_probability": confidence, "min_probability": other}, "normalized_probability"),
        ("ensemble", {"ensemble_scores": confidence, "judge_1": other}, "ensemble_score"),
        ("long", {"entailment": confidence}, None),
    ):
        frame = module.UQResult({"data": {**said, **sampled, **scorers}, "metadata": {}}).to_df()
        frame.assign(correct=correct).to_csv(tool.path(f"{name}.csv"), index=False)
        truth = {"confidence": confidence, "correct": correct}
        tool.has(
            f"{name}.csv",
            "uqlm",
            **truth,
            kept=name == "ensemble",
            **({"chosen": {"confidence": chosen}} if chosen else {}),
        )
        frame.to_csv(tool.path(f"{name}_alone.csv"))
        tool.has(f"{name}_alone.csv", asks="uqlm", kept=name == "long")


if __name__ == "__main__":
    for name in sys.argv[2:] or ("helm", "uqlm"):
        globals()[name](sys.argv[1])
