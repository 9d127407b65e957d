"""Samples of the Language Model Evaluation Harness, line by line in the format of its EvaluationTracker."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tests.corpus.foreign_files import ForeignFile, writes

NAME = "samples_mmlu_physics_2026-08-21T10-11-12.345678.jsonl"
LETTERS = ("A", "B", "C", "D")
WORDS = ("red", "dark green", "no", "a very long answer")


def line(i: int, scores: Sequence[float], target: object, texts: Sequence[str], **more: Any) -> dict[str, Any]:
    """Return one line; leaves are texts, as from sanitize_list."""
    pairs = [[str(score), str(score == max(scores))] for score in scores]
    requests = {f"gen_args_{k}": {"arg_0": f"Question {i}\nAnswer:", "arg_1": f" {t}"} for k, t in enumerate(texts)}
    return {
        "doc_id": i,
        "doc": {"question": f"Question {i}", "choices": list(texts), "answer": 0, "subject": "physics"},
        "target": str(target),
        "arguments": requests,
        "resps": [[pair] for pair in pairs],
        "filtered_resps": pairs,
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": f"{i:064x}",
        **more,
    }


def softmax(scores: Sequence[float]) -> list[float]:
    """Return the harness' own softmax, in plain Python."""
    most = max(scores)
    parts = [np.exp(score - most) for score in scores]
    return [float(part / sum(parts)) for part in parts]


def encoded(lines: Iterable[object]) -> bytes:
    """Return JSON Lines."""
    return "".join(json.dumps(each) + "\n" for each in lines).encode()


def drawn(n: int, k: int, seed: int = 5) -> tuple[list[list[float]], list[int]]:
    """Return log-likelihoods and the right choices, which follow them."""
    rng = np.random.default_rng(seed)
    scores = [[round(float(v), 4) for v in row] for row in rng.normal(-4, 1.5, (n, k))]
    return scores, [int(rng.choice(k, p=softmax(row))) for row in scores]


def read_as(what: str, lines: Sequence[object], scores: Sequence[Sequence[float]], gold: Sequence[int]) -> ForeignFile:
    """Return the file of the lines, whose confidences are the largest of each row's softmax."""
    confidence = np.array([max(softmax(row)) for row in scores])
    correct = np.array([int(np.argmax(row)) == g for row, g in zip(scores, gold, strict=True)])
    return ForeignFile(what, NAME, encoded(lines), confidence, correct)


def accuracy(scores: Sequence[float], gold: int) -> float:
    """Return acc of a row."""
    return float(int(np.argmax(scores)) == gold)


@writes("lm-evaluation-harness")
def letters() -> Iterator[ForeignFile]:
    scores, gold = drawn(60, 4)
    rows = list(zip(range(60), scores, gold, strict=True))
    yield read_as("letters", [line(i, s, g, LETTERS, acc=accuracy(s, g)) for i, s, g in rows], scores, gold)
    older = [
        line(i, s, g, LETTERS, acc=accuracy(s, g))
        | {"target": g, "filtered_resps": [[v, False] for v in s], "arguments": [["Q", f" {t}"] for t in LETTERS]}
        for i, s, g in rows
    ]
    yield read_as("numbers in place of texts", older, scores, gold)
    named = [line(i, s, LETTERS[g], LETTERS, acc=accuracy(s, g)) for i, s, g in rows]
    yield read_as("a target that is a text", named, scores, gold)
    mutual = [
        line(i, s, g, LETTERS, acc=accuracy(s, g), acc_mutual_info=1.0)
        | {"filtered_resps": [[str(v), "False"] for v in (*s, -1.0, -2.0, -3.0, -4.0)]}
        for i, s, g in rows
    ]
    for each in mutual:
        each["arguments"] |= {f"gen_args_{4 + k}": {"arg_0": "", "arg_1": f" {t}"} for k, t in enumerate(LETTERS)}
    yield read_as("mutual information", mutual, scores, gold)


@writes("lm-evaluation-harness")
def other_texts() -> Iterator[ForeignFile]:
    scores, gold = drawn(60, 4)
    rows = list(zip(range(60), scores, gold, strict=True))
    texts = [[f"{word} {i}" for word in WORDS] for i in range(60)]
    lines = [line(i, s, g, t, acc=accuracy(s, g)) for (i, s, g), t in zip(rows, texts, strict=True)]
    yield read_as("texts", lines, scores, gold)
    widths = [2 + i % 3 for i in range(60)]
    short, right = [s[:w] for (_, s, _), w in zip(rows, widths, strict=True)], [g % 2 for g in gold]
    varied = [line(i, s, g, t[: len(s)]) for i, (s, g, t) in enumerate(zip(short, right, texts, strict=True))]
    yield read_as("as many choices as come", varied, short, right)
    first = [line(i, s, 0, t, acc=accuracy(s, 0)) for (i, s, _), t in zip(rows, texts, strict=True)]
    yield read_as("the first choice is right", first, scores, [0] * 60)
    outside = [
        line(i, s, 7 if i == 3 else g, t, acc=accuracy(s, g) * (i != 3))
        for (i, s, g), t in zip(rows, texts, strict=True)
    ]
    kept = [i for i in range(60) if i != 3]
    yield read_as("a target that is no choice", outside, [scores[i] for i in kept], [gold[i] for i in kept])
    two = [s[:2] for s in scores]
    shared = [
        line(i, s, "because it was big", ["because it was big"] * 2, acc=accuracy(s, g))
        for i, (s, g) in enumerate(zip(two, right, strict=True))
    ]
    for each in shared:
        each["arguments"]["gen_args_1"]["arg_0"] = "The other trophy"
    yield read_as("winogrande", shared, two, right)
    by_length = [[v / len(c) for v, c in zip(s, t, strict=True)] for s, t in zip(scores, texts, strict=True)]
    normed = [
        line(i, s, g, t, acc_norm=accuracy(n, g), acc=accuracy(s, g))
        for (i, s, g), t, n in zip(rows, texts, by_length, strict=True)
    ]
    yield read_as("divided by characters", normed, scores, gold)
    for each in normed:
        del each["acc"]
    yield read_as("acc_norm alone", normed, by_length, gold)
    longer = [[v / (1 + len(c)) for v, c in zip(s, t, strict=True)] for s, t in zip(scores, texts, strict=True)]
    for (_, _, g), each, n in zip(rows, normed, longer, strict=True):
        each["doc"]["choices"] = [f" {c}" for c in each["doc"]["choices"]]
        each["acc_norm"] = accuracy(n, g)
    yield read_as("choices that begin with a space", normed, longer, gold)


@writes("lm-evaluation-harness")
def without_confidence() -> Iterator[ForeignFile]:
    generated = [line(i, [-1.0], "42", ["x"]) | {"filtered_resps": ["42"], "exact_match": 1.0} for i in range(5)]
    yield ForeignFile("generate_until", NAME, encoded(generated), asks="generated answers (generate_until)")
    single = [line(i, [-1.0], "42", ["x"]) | {"filtered_resps": [["-3.2", "True"]]} for i in range(5)]
    yield ForeignFile("loglikelihood", NAME, encoded(single), asks="one log-likelihood per row (loglikelihood)")
