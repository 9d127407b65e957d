"""Samples of lm-evaluation-harness over our own tasks, by a model with known log-likelihoods.

Run with lm_eval: python -m tests.foreign_tools.writes_lm_eval FOLDER
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

import numpy as np

from tests.foreign_tools.written import Written

N = 9
LETTERS = ("A", "B", "C", "D")
WORDS = ("red", "déjà vu", "no", "a very long answer")
SHARED: dict[str, Any] = {
    "dataset_path": "json", "test_split": "test", "output_type": "multiple_choice", "doc_to_text": "{{question}}",
    "doc_to_choice": "{{choices}}", "doc_to_target": "answer", "metadata": {"version": 1},
}  # fmt: skip


def log_likelihood(context: str, text: str) -> float:
    """Return the model's output: a number that depends on both arguments, lower for longer texts."""
    rng = np.random.default_rng(crc32(f"{context}|{text}".encode()))
    return round(float(rng.normal(-3, 1.5) - 0.2 * len(text)), 4)


def main(folder: str) -> None:
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    from lm_eval.__main__ import cli_evaluate
    from lm_eval.api.model import LM
    from lm_eval.api.registry import register_model

    @register_model("known")
    class Known(LM):
        def __init__(self, **_: Any) -> None:
            super().__init__()

        def loglikelihood(self, requests: list[Any]) -> list[tuple[float, bool]]:
            found = [log_likelihood(*each.args[:2]) for each in requests]
            return [(value, value > -3) for value in found]

        def loglikelihood_rolling(self, requests: list[Any]) -> list[float]:
            return [-1.0 for _ in requests]

        def generate_until(self, requests: list[Any]) -> list[str]:
            return ["The answer is 42." for _ in requests]

    tool = Written(folder, "lm-evaluation-harness", version("lm_eval"))
    with TemporaryDirectory() as there:
        tasks = laid_out(Path(there))
        words = ["--model", "known", "--tasks", ",".join(tasks), "--include_path", there, "--log_samples"]
        sys.argv = ["lm_eval", "run", *words, "--output_path", f"{there}/out"]
        cli_evaluate()
        (path,) = Path(there, "out").rglob("results_*.json")
        results = json.loads(path.read_text())["results"]
        for path in sorted(Path(there, "out").rglob("samples_*.jsonl")):
            task = path.name.removeprefix("samples_").rpartition("_")[0]
            name = f"samples_{task}_2026-01-01T00-00-00.000000.jsonl"
            shutil.copy(path, tool.path(name))
            kept = task in ("letters", "normed", "spaced", "outside", "winogrande_like")
            measured = of_results(results[task], tasks[task])
            tool.has(name, "lm-evaluation-harness", kept=kept, **tasks[task], **measured)


def of_results(numbers: dict[str, float], truth: dict[str, Any]) -> dict[str, Any]:
    """Return the harness' own accuracy and Brier score of a task, if its file is read by the measure of acc."""
    names = {"acc,none": "accuracy", "brier_score,none": "brier"}
    measured = {ours: numbers[name] for name, ours in names.items() if name in numbers}
    return {"measured": measured} if "asks" not in truth and truth.pop("by_acc", True) else {}


def laid_out(folder: Path) -> dict[str, dict[str, Any]]:
    """Write the tasks' files to the folder, and return the content of their samples."""
    rng = np.random.default_rng(7)
    gold = rng.integers(0, 4, N).tolist()
    letters = [{"question": f"Q{i}", "choices": LETTERS, "answer": g, "subject": "law"} for i, g in enumerate(gold)]
    texts = [{**row, "choices": [f"{word} {i}" for word in WORDS]} for i, row in enumerate(letters)]
    spaced = [{**row, "choices": [f" {each}" for each in row["choices"]]} for row in texts]
    named = [{**row, "answer": row["choices"][g]} for row, g in zip(texts, gold, strict=True)]
    several = [{**row, "answer": [g, (g + 1) % 4]} for row, g in zip(letters, gold, strict=True)]
    varied = [
        {**row, "choices": row["choices"][: 2 + i % 3], "answer": g % 2}
        for i, (row, g) in enumerate(zip(texts, gold, strict=True))
    ]
    first = [{**row, "answer": 0} for row in texts]
    outside = [{**row, "answer": 7 if i == 3 else row["answer"]} for i, row in enumerate(letters)]
    truths: dict[str, dict[str, Any]] = {}

    def task(name: str, rows: list[dict[str, Any]], metrics: Sequence[str], truth: dict[str, Any], **more: Any) -> None:
        data = folder / f"{name}.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in rows))
        listed = [{"metric": metric} for metric in metrics]
        config = {"task": name, **SHARED, "dataset_kwargs": {"data_files": {"test": str(data)}}, **more}
        # JSON is YAML.
        (folder / f"{name}.yaml").write_text(json.dumps({**config, "metric_list": listed}))
        truths[name] = truth

    def scored(rows: list[dict[str, Any]], before: str = " ", divided: bool = False) -> list[list[float]]:
        return [
            [log_likelihood(row["question"], before + c) / (len(c) if divided else 1) for c in row["choices"]]
            for row in rows
        ]

    task("letters", letters, ("acc", "acc_norm", "brier_score"), full(scored(letters), gold, LETTERS))
    task("texts", texts, ("acc", "acc_norm", "acc_bytes", "brier_score"), full(scored(texts), gold))
    by_length = full(scored(texts, divided=True), gold) | {"by_acc": False}
    task("normed", texts, ("acc_norm",), by_length)
    by_length = full(scored(spaced, "", divided=True), gold) | {"by_acc": False}
    task("spaced", spaced, ("acc_norm",), by_length, target_delimiter="")
    task("newline", letters, ("acc", "brier_score"), full(scored(letters, "\n"), gold, LETTERS), target_delimiter="\n")
    task("named", named, ("acc", "brier_score"), full(scored(named), gold))
    task("mutual", letters, ("acc", "acc_mutual_info", "brier_score"), full(scored(letters), gold, LETTERS))
    either = [[g, (g + 1) % 4] for g in gold]
    task("several", several, ("acc",), top(scored(several), either))
    task("varied", varied, ("acc",), top(scored(varied), [[g % 2] for g in gold]))
    task("first", first, ("acc", "brier_score"), top(scored(first), [[0]] * N) | {"by_acc": False})
    known = [i for i in range(N) if i != 3]
    some = full([scored(letters)[i] for i in known], [gold[i] for i in known], LETTERS) | {"by_acc": False}
    task("outside", outside, ("acc",), some)
    blanks = [
        {"before": [f"The cat {i}", f"The dog {i}"], "answer": g % 2, "end": "was big"} for i, g in enumerate(gold)
    ]
    scores = [[log_likelihood(before, " was big") for before in row["before"]] for row in blanks]
    task("winogrande_like", blanks, ("acc", "brier_score"), top(scores, [[g % 2] for g in gold]) | {"by_acc": False},
         doc_to_text="answer", doc_to_choice="{{before}}", doc_to_target="end")  # fmt: skip
    asks = {"asks": "generated answers (generate_until)"}
    task("generated", letters, ("exact_match",), asks, output_type="generate_until", doc_to_target="{{answer}}",
         doc_to_choice=None, generation_kwargs={"until": ["\n"]},
         filter_list=[{"name": "strict", "filter": [{"function": "take_first"}]}, {"name": "number", "filter": [
             {"function": "regex", "regex_pattern": "(\\d+)"}, {"function": "take_first"}]}])  # fmt: skip
    asks = {"asks": "one log-likelihood per row (loglikelihood)"}
    task("last_word", letters, ("acc", "perplexity"), asks, output_type="loglikelihood", doc_to_target="{{answer}}",
         doc_to_choice=None)  # fmt: skip
    return truths


def softmax(scores: list[float]) -> np.ndarray:
    parts = np.exp(np.array(scores) - max(scores))
    return np.asarray(parts / parts.sum())


def full(scores: list[list[float]], gold: list[int], names: Sequence[str] = ()) -> dict[str, Any]:
    found = {"probs": [softmax(row) for row in scores], "labels": gold}
    return {**found, "classes": names} if names else found


def top(scores: list[list[float]], gold: list[list[int]]) -> dict[str, Any]:
    correct = [int(np.argmax(row)) in right for row, right in zip(scores, gold, strict=True)]
    return {"confidence": [softmax(row).max() for row in scores], "correct": correct}


if __name__ == "__main__":
    main(*sys.argv[1:])
