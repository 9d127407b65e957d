"""Files of evaluations of language models: judges, HELM, OpenCompass, agents, pipelines, uqlm."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tests.corpus.foreign_files import ForeignFile, writes

RNG = np.random.default_rng(7)
CONFIDENCE = np.round(RNG.uniform(0.3, 0.99, 40), 2)
CORRECT = RNG.random(40) < CONFIDENCE


def document(value: Any) -> bytes:
    """Return one JSON document as json.dump writes it with an indent."""
    return json.dumps(value, indent=4).encode()


@writes("hle-judged")
def judged() -> Iterator[ForeignFile]:
    def answer(confidence: float, correct: object) -> dict[str, Any]:
        judge = {"correct_answer": "4", "model_answer": "5", "reasoning": "…", "correct": correct}
        return {"model": "m", "response": "r", "judge_response": {**judge, "confidence": round(100 * confidence)}}

    every = {f"q{i}": answer(c, "yes" if z else "no") for i, (c, z) in enumerate(zip(CONFIDENCE, CORRECT, strict=True))}
    yield ForeignFile("judged", "judged_m.json", document(every), CONFIDENCE, CORRECT)
    more = every | {"u1": {"model": "m", "response": "r"}, "u2": answer(0.5, "unclear")}
    yield ForeignFile("unjudged", "judged_m.json", document(more), CONFIDENCE, CORRECT, "2 records have no yes or no")
    sure = every | {f"s{i}": answer(1.0, "yes" if i else "no") for i in range(4)}
    yield ForeignFile(
        "at 100", "judged_m.json", document(sure), np.append(CONFIDENCE, np.ones(4)),
        np.append(CORRECT, [False, True, True, True]), "4 of 44 answers have confidence 100; 75.0 % are right",
    )  # fmt: skip
    yield ForeignFile(
        "without those at 100", "judged_m.json", json.dumps(sure).encode(), CONFIDENCE, CORRECT,
        chosen={"confidence": "confidence below 100", "missing": "exclude"},
    )  # fmt: skip
    for i, (what, verdicts) in enumerate(SPELLINGS.items()):
        worded = {
            f"q{j}": answer(c, verdicts[int(z)]) for j, (c, z) in enumerate(zip(CONFIDENCE, CORRECT, strict=True))
        }
        yield ForeignFile(f"verdicts {what}", f"judged_{i}.json", document(worded), CONFIDENCE, CORRECT)
    signs, shares, mixed = (
        {key: each | {"judge_response": each["judge_response"] | {"confidence": written(c)}}
         for (key, each), c in zip(every.items(), CONFIDENCE, strict=True)}
        for written in (lambda c: f"{round(100 * c)}%", float, lambda c: c if c < 0.4 else round(100 * c))
    )  # fmt: skip
    yield ForeignFile("percent signs", "judged_m.json", document(signs), CONFIDENCE, CORRECT)
    yield ForeignFile("from 0 to 1", "judged_m.json", document(shares), CONFIDENCE, CORRECT, "read as probabilities")
    yield ForeignFile(
        "on two scales", "judged_m.json", document(mixed), np.where(CONFIDENCE < 0.4, CONFIDENCE / 100, CONFIDENCE),
        CORRECT, "confidences are between 0 and 1",
    )  # fmt: skip
    silent = every | {"u1": answer(-0.01, "yes")}
    yield ForeignFile(
        "-1 for none", "judged_m.json", document(silent), CONFIDENCE, CORRECT, "1 record has no confidence"
    )


SPELLINGS: dict[str, tuple[object, object]] = {
    "with points": ("no.", "Yes."),
    "with reasons": ("No, a yes would need 5", "yes: it is the same"),
    "as numbers": (0, 1),
    "in other words": ("incorrect", "**correct**"),
    "in a sentence": ("The answer is: no", "So the answer is yes."),
}
"""Wrong and right, in the spellings of judges."""


@writes("helm")
def instances() -> Iterator[ForeignFile]:
    def stats(i: int, perturbation: str | None = None) -> dict[str, Any]:
        values = {"max_prob": CONFIDENCE[i], "exact_match": float(CORRECT[i]), "predicted_index": 1.0}
        named = [
            {"name": {"name": k, "split": "test"}, "count": 1, "sum": v, "sum_squared": v * v, "mean": v}
            for k, v in values.items()
        ]
        about = {"instance_id": f"id{i}", "train_trial_index": 0, "stats": named}
        return about if perturbation is None else about | {"perturbation": {"name": perturbation}}

    every = [stats(i) for i in range(40)]
    yield ForeignFile("stats", "per_instance_stats.json", document(every), CONFIDENCE, CORRECT)
    twice = [*every, *(stats(i, "typos") for i in range(40))]
    yield ForeignFile(
        "perturbed", "per_instance_stats.json", document(twice), np.tile(CONFIDENCE, 2), np.tile(CORRECT, 2),
        "80 rows are repeated attempts at 40 questions",
    )  # fmt: skip
    shown = [
        {"instance_id": f"id{i}", "train_trial_index": 0, "predicted_text": " A", "mapped_output": "no",
         "stats": {"max_prob": CONFIDENCE[i], "exact_match": float(CORRECT[i])}}
        for i in range(40)
    ]  # fmt: skip
    tied = {"instance_id": "t", "train_trial_index": 0, "stats": {"max_prob": 0.5, "exact_match": 0.5}}
    yield ForeignFile(
        "predictions", "display_predictions.json", document([*shown, tied]), CONFIDENCE, CORRECT,
        "1 record has several choices with the largest probability",
    )  # fmt: skip
    joint = [{"instance_id": "a", "train_trial_index": 0, "stats": {"exact_match": 1.0}}]
    yield ForeignFile("joint", "display_predictions.json", document(joint), asks="no instance with max_prob")
    requests = {"adapter_spec": {"method": "x"}, "request_states": [{"instance": {"id": "a"}}]}
    yield ForeignFile("requests", "scenario_state.json", document(requests), asks="Open per_instance_stats.json")


@writes("opencompass")
def choices() -> Iterator[ForeignFile]:
    shares = RNG.dirichlet(np.ones(4), 40)
    gold = [int(RNG.choice(4, p=row)) for row in shares]
    top, right = shares.max(axis=1), shares.argmax(axis=1) == gold

    def clp(i: int, answer: object, choices: Sequence[str] = "ABCD") -> dict[str, Any]:
        made = {"testing input": "…", "prompt": "…", "choices": list(choices), "prediction": shares[i].tolist()}
        return made | {"pred_label": int(shares[i].argmax())} | ({} if answer is None else {"gold": answer})

    letters = {str(i): clp(i, "ABCD"[g]) for i, g in enumerate(gold)}
    yield ForeignFile("CLP", "task.json", document(letters), top, right)
    places = {str(i): clp(i, g or None) for i, g in enumerate(gold)}
    yield ForeignFile(
        "CLP without gold 0",
        "task.json",
        document(places),
        top,
        right,
        "records have no gold, and no record has gold 0",
    )
    for what, first in (("from 0", 0), ("from 1", 1)):
        numbered = {str(i): clp(i, g, [str(first + j) for j in range(4)]) for i, g in enumerate(gold)}
        yield ForeignFile(f"choices are numbers {what}", "task.json", document(numbered), top, right)
    spaced = {str(i): clp(i, "ABCD"[g], [f" {letter}" for letter in "ABCD"]) for i, g in enumerate(gold)}
    yield ForeignFile("choices with a space", "task.json", document(spaced), top, right)
    # Golds of 0 are not written, so that the others are choices as well as places.
    either = {str(i): clp(i, g or None, list("1234")) for i, g in enumerate(gold)}
    yield ForeignFile("golds of both kinds", "task.json", document(either), asks="Choose label from")
    yield ForeignFile(
        "golds as places", "task.json", document(either), top, right, "no record has gold 0",
        {"label": "gold as place"},
    )  # fmt: skip
    known, as_text = np.array(gold) > 0, np.array(gold) - 1
    yield ForeignFile(
        "golds as texts", "task.json", document(either), top[known], (shares.argmax(axis=1) == as_text)[known],
        chosen={"label": "gold as text", "missing": "exclude"},
    )  # fmt: skip
    surprise = -np.log(shares)
    ppl = {
        str(i): {"in-context examples": "", "prediction": "A", "gold": "ABCD"[g]}
        | {f"label: {c}": {"testing input": "", "prompt": "", "PPL": p} for c, p in zip("ABCD", row, strict=True)}
        for i, (g, row) in enumerate(zip(gold, surprise.tolist(), strict=True))
    }
    yield ForeignFile("PPL", "task.json", document(ppl), asks="PPL may be a perplexity")
    taken = {"scores": "minus PPL"}
    yield ForeignFile("PPL that is a mean", "task.json", document(ppl), top, right, chosen=taken)
    inverse = 1 / surprise
    inverse /= inverse.sum(axis=1, keepdims=True)
    taken = {"scores": "minus log of PPL"}
    yield ForeignFile("PPL that is one", "task.json", document(ppl), inverse.max(axis=1), right, chosen=taken)
    generated = {str(i): {"origin_prompt": "…", "prediction": "42", "gold": "42"} for i in range(5)}
    yield ForeignFile("generated", "task.json", document(generated), asks="answers generated with OpenCompass")


@writes("hal-harness")
def repeated_agents() -> Iterator[ForeignFile]:
    tasks = [
        {"task_id": f"t{i // 4}", "reward": float(z), "cost": 0.1, "confidence": float(c)}
        for i, (c, z) in enumerate(zip(CONFIDENCE, CORRECT, strict=True))
    ]
    yield ForeignFile(
        "attempts", "tasks.json", document(tasks), CONFIDENCE, CORRECT, "40 rows are repeated attempts at 10 questions"
    )


@writes("hal-harness")
def agents() -> Iterator[ForeignFile]:
    tasks = {
        f"task {i}": {"reward": float(z), "cost": 0.1, "confidence": float(c), "confidence_details": {"num_actions": 3}}
        for i, (c, z) in enumerate(zip(CONFIDENCE, CORRECT, strict=True))
    }
    more = tasks | {
        "silent": {"reward": 1.0, "cost": 0.1, "confidence": None},
        "half": {"reward": 0.5, "cost": 0.1, "confidence": 0.5},
    }
    yield ForeignFile("tasks", "run.json", document(more), CONFIDENCE, CORRECT, "1 record has no confidence")


@writes("transformers-pipeline")
def pipelines() -> Iterator[ForeignFile]:
    names = ["POS", "NEG", "NEUTRAL"]
    p = RNG.dirichlet(np.ones(3), 40)
    gold = [int(RNG.choice(3, p=row)) for row in p]
    top, right = p.max(axis=1), p.argmax(axis=1) == gold

    def output(row: np.ndarray, called: list[str]) -> list[dict[str, Any]]:
        return [{"label": called[k], "score": float(row[k])} for k in np.argsort(-row)]

    def lines(records: list[dict[str, Any]]) -> bytes:
        return "\n".join(map(json.dumps, records)).encode()

    every = [{"text": "…", "true": names[g], "output": output(row, names)} for row, g in zip(p, gold, strict=True)]
    yield ForeignFile("all classes", "out.jsonl", lines(every), top, right)
    places = [
        {"label": g, "output": output(row, ["LABEL_0", "LABEL_1", "LABEL_2"])} for row, g in zip(p, gold, strict=True)
    ]
    yield ForeignFile("LABEL_0", "out.jsonl", lines(places), top, right)
    first = [each | {"output": each["output"][:1]} for each in every]
    yield ForeignFile("the first", "out.jsonl", lines(first), top, right, "only its largest scores")
    zero = [
        {"sequence": "…", "true": each["true"], "labels": [e["label"] for e in each["output"]],
         "scores": [e["score"] for e in each["output"]]}
        for each in every
    ]  # fmt: skip
    yield ForeignFile("zero-shot", "out.json", document(zero), top, right)
    bare = [output(row, names) for row in p]
    yield ForeignFile("no true labels", "out.json", document(bare), asks="has predicted labels and scores")
    yield ForeignFile("top alone", "out.json", document([each[0] for each in bare]), asks="Add the true label")

    numbered = [each | {"true": g} for each, g in zip(every, gold, strict=True)]
    asks = '"true" has numbers but the scores have names'
    yield ForeignFile("numbers for names", "out.jsonl", lines(numbered), asks=asks)
    by_name = [sorted(names).index(names[g]) for g in gold]
    numbered = [each | {"true": g} for each, g in zip(every, by_name, strict=True)]
    yield ForeignFile(
        "numbers in the order of names", "out.jsonl", lines(numbered), top, right, chosen={"label_coding": "0-based"}
    )


@writes("transformers-pipeline")
def scores_by_name() -> Iterator[ForeignFile]:
    """Yield classes with their scores, largest first, under the names of cloud services and others."""
    names = ["World", "Sports", "Sci/Tech"]
    p = RNG.dirichlet(np.ones(3), 40)
    gold = [int(RNG.choice(3, p=row)) for row in p]
    top, right = p.max(axis=1), p.argmax(axis=1) == gold

    def by_rank(row: np.ndarray) -> list[tuple[str, float]]:
        return [(names[k], float(row[k])) for k in np.argsort(-row)]

    def objects(name: str, score: str, row: np.ndarray) -> list[dict[str, Any]]:
        return [{name: called, score: share} for called, share in by_rank(row)]

    def parallel(name: str, score: str, row: np.ndarray) -> dict[str, Any]:
        return {name: [called for called, _ in by_rank(row)], score: [share for _, share in by_rank(row)]}

    records: dict[str, Callable[[np.ndarray, str], dict[str, Any]]] = {
        "BigQuery ML": lambda row, true: {
            "predicted_topic": by_rank(row)[0][0], "predicted_topic_probs": objects("label", "prob", row), "topic": true
        },
        "Comprehend": lambda row, true: {"Line": 1, "Classes": objects("Name", "Score", row), "Gold": true},
        "Rasa": lambda row, true: {
            "intent": {"name": by_rank(row)[0][0], "confidence": by_rank(row)[0][1]},
            "intent_ranking": objects("name", "confidence", row), "true_intent": true,
        },
        "Vertex AI": lambda row, true: {
            "instance": {"content": "gs://…"}, "label": true,
            "prediction": {"ids": ["7", "8", "9"], **parallel("displayNames", "confidences", row)},
        },
        "Vertex AI, tables": lambda row, true: {
            "instance": {"x": 1.5, "topic": true}, "prediction": parallel("classes", "scores", row)
        },
    }  # fmt: skip
    for what, record in records.items():
        every = [record(row, names[g]) for row, g in zip(p, gold, strict=True)]
        yield ForeignFile(what, "out.jsonl", "\n".join(map(json.dumps, every)).encode(), top, right)
    boxes = [{"true": "car", "found": [{"label": "car", "score": share} for share in row.tolist()]} for row in p]
    yield ForeignFile("boxes", "out.jsonl", "\n".join(map(json.dumps, boxes)).encode(), asks="has two scores")


@writes("ranked-classes")
def ranked() -> Iterator[ForeignFile]:
    p = RNG.dirichlet(np.ones(4), 40)
    gold = np.array([RNG.choice(4, p=row) for row in p])
    order = np.argsort(-p, axis=1)
    top, right = p.max(axis=1), order[:, 0] == gold

    def text(ranks: int, called: Sequence[str]) -> bytes:
        head = [f"{word}_{k}" for word in ("index", "prob") for k in range(ranks)]
        rows = [
            [f"{i}.jpg", *(called[k] for k in order[i, :ranks]), *map(repr, p[i, order[i, :ranks]].tolist()),
             called[gold[i]]]
            for i in range(40)
        ]  # fmt: skip
        return "\n".join(",".join(row) for row in [["filename", *head, "target"], *rows]).encode()

    yield ForeignFile("all ranks, numbers", "timm.csv", text(4, list("0123")), top, right)
    yield ForeignFile("all ranks, names", "timm.csv", text(4, ["cat", "dog", "fox", "owl"]), top, right)
    yield ForeignFile("the first two", "timm.csv", text(2, ["cat", "dog", "fox", "owl"]), top, right, "classes by rank")


@writes("graded-answers")
def grades() -> Iterator[ForeignFile]:
    for what, (right, wrong, neither) in {
        "words": ("CORRECT", "INCORRECT", "NOT_ATTEMPTED"), "marks": ("C", "I", "N")
    }.items():  # fmt: skip
        yield ForeignFile(what, "graded.csv", _graded(right, wrong, neither), CONFIDENCE[5:], CORRECT[5:],
                          "5 answers of 40 were not attempted")  # fmt: skip


@writes("letter-grades")
def letters() -> Iterator[ForeignFile]:
    data = _graded("A", "B", "C")
    yield ForeignFile("unexplained", "graded.csv", data, asks="If A means correct, B incorrect and C not attempted")
    yield ForeignFile("explained", "graded.csv", data, CONFIDENCE[5:], CORRECT[5:], chosen={"correct": "grade"})


def _graded(right: str, wrong: str, neither: str) -> bytes:
    """Write graded answers of which the first five were not attempted."""
    marks = [neither if i < 5 else right if z else wrong for i, z in enumerate(CORRECT)]
    rows = [f"q{i},4,{c},{mark}" for i, (c, mark) in enumerate(zip(CONFIDENCE.tolist(), marks, strict=True))]
    return "\n".join(["problem,answer,confidence,grade", *rows]).encode()


@writes("transformers-table")
def pipeline_tables() -> Iterator[ForeignFile]:
    """Yield pandas.DataFrame(pipeline(texts)), whose label is the predicted one."""
    names = ("POS", "NEG", "NEUTRAL")
    p = RNG.dirichlet(np.ones(3), 40)
    gold = [int(RNG.choice(3, p=row)) for row in p]
    top, right = p.max(axis=1), p.argmax(axis=1) == gold
    rows = [f"{names[row.argmax()]},{float(row.max())!r},{names[g]}" for row, g in zip(p, gold, strict=True)]
    for column in ("gold", "target"):
        data = "\n".join([f"label,score,{column}", *rows]).encode()
        yield ForeignFile(f"with {column}", "out.csv", data, top, right, f'"{column}" as the true class')
    bare = "\n".join(["label,score", *(row.rpartition(",")[0] for row in rows)]).encode()
    yield ForeignFile("without the truth", "out.csv", bare, asks="the labels are predictions")


@writes("uqlm")
def uncertainty() -> Iterator[ForeignFile]:
    rows = [
        f"q{i},r{i},\"['r{i}', 's']\",{c},{1 - c},{int(z)}"
        for i, (c, z) in enumerate(zip(CONFIDENCE.tolist(), CORRECT, strict=True))
    ]
    head = "prompt,response,sampled_responses,semantic_negentropy,exact_match,correct"
    data = "\n".join([head, *rows]).encode()
    yield ForeignFile("scorers", "uq.csv", data, asks='Choose confidence from "semantic_negentropy", "exact_match"')
    chosen = {"confidence": "semantic_negentropy"}
    yield ForeignFile("a scorer", "uq.csv", data, CONFIDENCE, CORRECT, chosen=chosen)
    bare = b"prompt,response,p_true\nq,r,0.7\nq2,r2,0.6\n"
    yield ForeignFile("no hits", "uq.csv", bare, asks="not which responses are right")


@writes("every-eval-ever")
def eee() -> Iterator[ForeignFile]:
    made = {"schema_version": "instance_level_eval_0.3.0", "evaluation_id": "e", "model_id": "m",
            "evaluation_name": "x", "sample_id": "1", "interaction_type": "single_turn",
            "input": {"raw": "?", "reference": ["4"]},
            "answer_attribution": [], "evaluation": {"score": 1.0, "is_correct": True}}  # fmt: skip
    yield ForeignFile("instances", "u_samples.jsonl", json.dumps(made).encode() + b"\n" + json.dumps(made).encode(),
                      asks="no confidence")  # fmt: skip


@writes("openai-evals")
def events() -> Iterator[ForeignFile]:
    head = {"spec": {"completion_fns": ["x"], "eval_name": "y", "run_id": "1"}}
    event = {"run_id": "1", "event_id": 0, "sample_id": "s", "type": "match", "data": {"correct": True}}
    yield ForeignFile("events", "log.jsonl", "\n".join(map(json.dumps, [head, event])).encode(), asks="no confidence")


@writes("glue-predictions")
def classes() -> Iterator[ForeignFile]:
    data = b"index\tprediction\n0\t1\n1\t0\n2\t1\n"
    yield ForeignFile("classes", "predict_results_sst2.txt", data, asks="no probabilities")
