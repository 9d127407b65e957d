"""Output of pipelines and of a Trainer over a tiny text classifier with random weights and letters as tokens.

Run with transformers, torch and accelerate: python -m tests.foreign_tools.writes_transformers FOLDER
"""

from __future__ import annotations

import json
import sys
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tests.foreign_tools.written import Written

NAMES = ("negative", "neutral", "positive")
WORDS = ("awful", "bad", "plain", "good", "great")
N = 16


def main(folder: str) -> None:
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    tool = Written(folder, "transformers", transformers.__version__)
    torch.manual_seed(7)
    rng = np.random.default_rng(7)
    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
    vocabulary = {word: i for i, word in enumerate((*special, *WORDS, *NAMES))}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]")

    def classifier(names: tuple[str, ...] | None) -> Any:
        called = {"num_labels": 3} if names is None else {"id2label": dict(enumerate(names))}
        if names is not None:
            called["label2id"] = {name: k for k, name in enumerate(names)}
        config = transformers.BertConfig(
            vocab_size=12, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8,
            initializer_range=1.0, **called,
        )  # fmt: skip
        return transformers.BertForSequenceClassification(config).eval()

    model = classifier(NAMES)
    texts = [" ".join(rng.choice(WORDS, 3)) for _ in range(N)]
    labels = rng.integers(0, 3, N)
    inputs = tokenizer(texts, return_tensors="pt", padding=True)

    def probabilities(of: Any) -> np.ndarray:
        with torch.no_grad():
            return torch.softmax(of(**inputs).logits.double(), dim=-1).numpy()

    pipe = transformers.pipeline("text-classification", model=model, tokenizer=tokenizer)
    probs, full = probabilities(model), {"labels": labels, "classes": NAMES, "within": 1e-6}
    # Scores come from float32: within 1e-6 of what float64 makes of the same logits.
    every = [list(each) for each in pipe(texts, top_k=None)]
    lines = [{"text": t, "label": NAMES[y], "scores": o} for t, y, o in zip(texts, labels, every, strict=True)]
    write_lines(tool.path("all.jsonl"), lines)
    tool.has("all.jsonl", "transformers-pipeline", probs=probs, **full, kept=True)
    tool.path("all.json").write_text(json.dumps(lines))
    tool.has("all.json", "transformers-pipeline", probs=probs, **full)
    write_lines(tool.path("numbered.jsonl"), [{**line, "label": int(y)} for line, y in zip(lines, labels, strict=True)])
    tool.has("numbered.jsonl", asks='"label" has numbers but the scores have names')
    tool.has("numbered.jsonl", "transformers-pipeline", probs=probs, chosen={"label_coding": "0-based"}, **full)
    one = pipe(texts)
    write_lines(tool.path("top.jsonl"), [{**o, "true": NAMES[y]} for y, o in zip(labels, one, strict=True)])
    top = {"confidence": probs.max(axis=1), "correct": probs.argmax(axis=1) == labels, "within": 1e-6}
    tool.has("top.jsonl", "transformers-table", **top)
    rows = ["text,label,score,sentiment"]
    rows += [f"{t},{o['label']},{o['score']},{NAMES[y]}" for t, y, o in zip(texts, labels, one, strict=True)]
    tool.path("top.csv").write_text("\n".join(rows))
    tool.has("top.csv", "transformers-table", **top, kept=True)
    tool.path("bare.csv").write_text("\n".join(row.rpartition(",")[0] for row in rows))
    tool.has("bare.csv", asks="the labels are predictions")
    tool.path("bare.json").write_text(json.dumps(every))
    tool.has("bare.json", "transformers-pipeline", asks="no true labels")
    tool.path("bare_top.json").write_text(json.dumps(one))
    tool.has("bare_top.json", "transformers-pipeline", asks="no true labels")
    unnamed = classifier(None)
    other = transformers.pipeline("text-classification", model=unnamed, tokenizer=tokenizer)(texts, top_k=None)
    write_lines(tool.path("places.jsonl"), [{"label": int(y), "output": o} for y, o in zip(labels, other, strict=True)])
    tool.has("places.jsonl", "transformers-pipeline", probs=probabilities(unnamed), labels=labels, within=1e-6)
    zero_shot(tool, classifier(("contradiction", "neutral", "entailment")), tokenizer, texts, labels)
    trainer(tool, model, inputs, labels)


def zero_shot(tool: Written, model: Any, tokenizer: Any, texts: list[str], labels: np.ndarray) -> None:
    """Write the softmax over classes of each text's entailment of the class, the largest first."""
    import torch
    import transformers

    pipe = transformers.pipeline("zero-shot-classification", model=model, tokenizer=tokenizer)
    found = pipe(texts, candidate_labels=list(NAMES))
    logits = np.empty((len(texts), len(NAMES)))
    for (i, text), (k, name) in product(enumerate(texts), enumerate(NAMES)):
        with torch.no_grad():
            pair = tokenizer(text, f"This example is {name}.", return_tensors="pt")
            logits[i, k] = float(model(**pair).logits[0, 2])
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    write_lines(tool.path("zero_shot.jsonl"), [{**o, "gold": NAMES[y]} for o, y in zip(found, labels, strict=True)])
    truth = {"probs": probs, "labels": labels, "classes": NAMES, "within": 1e-5}
    tool.has("zero_shot.jsonl", "transformers-pipeline", chosen={"label": ["gold"]}, **truth)
    tool.path("zero_shot.json").write_text(json.dumps(found))
    tool.has("zero_shot.json", asks="no true labels")


def trainer(tool: Written, model: Any, inputs: Any, labels: np.ndarray) -> None:
    """Write the result of Trainer.predict as people save it, and predict_results_{task}.txt like run_glue."""
    import transformers

    rows = [{**{k: v[i] for k, v in inputs.items()}, "labels": int(y)} for i, y in enumerate(labels)]
    with TemporaryDirectory() as there:
        arguments = transformers.TrainingArguments(there, report_to=[], use_cpu=True, disable_tqdm=True)
        found = transformers.Trainer(model=model, args=arguments).predict(rows)
    logits = np.asarray(found.predictions, dtype=np.float64)
    probs = np.exp(logits - logits.max(axis=1, keepdims=True))
    probs /= probs.sum(axis=1, keepdims=True)
    truth = {"probs": probs, "labels": labels, "within": 1e-6}
    np.savez(tool.path("predictions.npz"), predictions=found.predictions, label_ids=found.label_ids)
    tool.has("predictions.npz", **truth)
    np.savez(tool.path("output.npz"), **{k: v for k, v in found._asdict().items() if k != "metrics"})
    tool.has("output.npz", **truth, kept=True)
    np.savez(tool.path("whole.npz"), **found._asdict())
    tool.has("whole.npz", asks="contains Python objects")
    np.save(tool.path("logits.npy"), found.predictions)
    np.save(tool.path("label_ids.npy"), found.label_ids)
    tool.has("logits.npy", labels_file="label_ids.npy", **truth)
    with open(tool.path("predict_results_mini.txt"), "w") as writer:
        writer.write("index\tprediction\n")
        for index, item in enumerate(np.argmax(found.predictions, axis=1)):
            writer.write(f"{index}\t{item}\n")
    tool.has("predict_results_mini.txt", "glue-predictions", asks="no probabilities")


def write_lines(path: Path, rows: list[Any]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
