"""Logs of inspect_ai and frames of their samples, written by hand in the format of inspect_ai (deflated members)."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tests.corpus.foreign_files import ForeignFile, writes

NAME = "2026-08-22T10-11-12+00-00_mini_Ab3.eval"
HEADER = {
    "version": 2,
    "status": "success",
    "eval": {"task": "mini", "model": "mockllm/model"},
    "plan": {},
    "results": {},
    "stats": {},
}
QUESTIONS, EPOCHS = 12, 3


def score(value: Any, answer: str = "A", **more: Any) -> dict[str, Any]:
    """Return a scorer's output."""
    return {"value": value, "answer": answer, "explanation": f"ANSWER: {answer}", "history": [], **more}


def summary(i: int, epoch: int, scores: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return an EvalSampleSummary."""
    return {
        "id": i,
        "epoch": epoch,
        "input": f"Q{i}",
        "choices": ["x", "y", "z", "w"],
        "target": "ABCD"[i % 4],
        "metadata": {"subject": "law" if i % 2 else "art"},
        "scores": dict(scores),
        "model_usage": {"mockllm/model": {"input_tokens": 40, "total_tokens": 49}},
        "completed": True,
        **more,
    }


def archive(members: Mapping[str, Any], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a ZIP of these members, texts or values of JSON (NaN as inspect_ai writes it, which is no JSON)."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", how) as made:
        for name, value in members.items():
            made.writestr(name, value if isinstance(value, (str, bytes)) else json.dumps(value))
    return held.getvalue()


def log(summaries: Sequence[Any], samples: Mapping[str, Any] | None = None, **header: Any) -> bytes:
    """Return a finished log."""
    return archive(
        {
            "_journal/start.json": {"version": 2, "eval": HEADER["eval"], "plan": {}},
            **(samples or {}),
            "_journal/summaries/1.json": summaries,
            "summaries.json": summaries,
            "header.json": {**HEADER, **header},
        }
    )


def drawn() -> tuple[list[tuple[int, int]], np.ndarray, np.ndarray]:
    """Return questions and epochs, in the order in which they end, confidences and hits."""
    rng = np.random.default_rng(8)
    places = [(i, epoch) for epoch in range(1, EPOCHS + 1) for i in range(QUESTIONS)]
    confidence = np.round(rng.uniform(0.3, 0.99, len(places)), 3)
    return places, confidence, rng.random(len(places)) < confidence


def judged(**header: Any) -> list[dict[str, Any]]:
    """Return summaries with confidence in the metadata of the one score."""
    places, confidence, correct = drawn()
    return [
        summary(i, epoch, {"judge": score("C" if right else "I", metadata={"confidence": float(c)})}, **header)
        for (i, epoch), c, right in zip(places, confidence, correct, strict=True)
    ]


@writes("inspect-log")
def archives() -> Iterator[ForeignFile]:
    _, confidence, correct = drawn()
    whole, together = judged(), "36 rows are repeated attempts at 12 questions"
    yield ForeignFile("a log that ended", NAME, log(whole), confidence, correct, together)
    yield ForeignFile("stored", NAME, archive({"summaries.json": whole}, zipfile.ZIP_STORED), confidence, correct)
    parts = {"_journal/start.json": {"eval": HEADER["eval"]}}
    parts |= {f"_journal/summaries/{k + 1}.json": whole[3 * k : 3 * k + 3] for k in range(12)}
    yield ForeignFile("a run under way", NAME, archive(parts), confidence, correct, "(status")
    plain = json.dumps({**HEADER, "samples": whole}).encode()
    yield ForeignFile("a .json log", "log.json", plain, confidence, correct, together)
    percent = [{**each, "scores": {"judge": score("I", metadata={"confidence": 50 + each["id"]})}} for each in whole]
    said = np.array([50 + each["id"] for each in whole]) / 100
    yield ForeignFile("percentages", NAME, log(percent), said, np.zeros(36, bool), "read as percentages")
    parted = [
        {**each, "scores": {"hle": score({"score": float(right), "confidence": float(c)})}}
        for each, c, right in zip(whole, confidence, correct, strict=True)
    ]
    yield ForeignFile("a value of two parts", NAME, log(parted), confidence, correct)
    beside = [
        {**each, "scores": {"judge": score(bool(right)), "stated_confidence": score(float(c))}}
        for each, c, right in zip(whole, confidence, correct, strict=True)
    ]
    yield ForeignFile("a scorer of confidence", NAME, log(beside), confidence, correct)


@writes("inspect-log")
def doubtful() -> Iterator[ForeignFile]:
    _, confidence, correct = drawn()
    values: list[Any] = ["C" if right else "I" for right in correct]
    values[3], values[4], values[5], values[6] = math.nan, "P", "N", None
    whole = [
        {**each, "scores": {"judge": score(value, metadata={"confidence": float(c)})}}
        for each, value, c in zip(judged(), values, confidence, strict=True)
    ]
    kept = np.array([value in ("C", "I") for value in values])
    data, some = log(whole), "grades 1 answer as partly right (P), left out"
    yield ForeignFile("partly right, no answer, unscored", NAME, data, confidence[kept], correct[kept], some)
    also, counted = kept.copy(), correct.copy()
    also[[4, 5]], counted[[4, 5]] = True, [True, False]
    chosen = {"correct": "correct_judge, partly right as right, no answer as wrong"}
    yield ForeignFile("both counted", NAME, data, confidence[also], counted[also], "counted as right", chosen)
    failed = [{**each, "scores": {}, "error": "no answer"} if i in (2, 9) else each for i, each in enumerate(judged())]
    scored = ~np.isin(np.arange(36), (2, 9))
    left = "2 records have no score and are left out, not counted as wrong"
    yield ForeignFile(
        "samples that failed", NAME, log(failed, status="error"), confidence[scored], correct[scored], left
    )
    two = [{**each, "scores": {**each["scores"], "choice": score("C")}} for each in judged()]
    asks = 'has 2 scorers with right or wrong: "judge", "choice"'
    yield ForeignFile("two scorers", NAME, log(two), asks=asks)
    judge = {"correct": "correct_judge"}
    yield ForeignFile("two scorers, one chosen", NAME, log(two), confidence, correct, chosen=judge)
    bare = [{**each, "scores": {"choice": score("C")}} for each in judged()]
    yield ForeignFile("no confidence", NAME, log(bare), asks="but no confidence")
    measure = [{**each, "scores": {"f1": score(0.37)}} for each in judged()]
    yield ForeignFile("no verdict", NAME, log(measure), asks="has no scorer with right or wrong")


def token(text: str, weights: Mapping[str, float]) -> dict[str, Any]:
    """Return a token with the likeliest alternatives."""
    top = [{"token": each, "logprob": math.log(p), "bytes": None} for each, p in weights.items()]
    return {"token": text, "logprob": math.log(weights[text]), "top_logprobs": top}


@writes("inspect-log")
def of_logprobs() -> Iterator[ForeignFile]:
    """Yield logs in which the letter's token follows words, with other spellings of letters next to it."""
    rng = np.random.default_rng(9)
    summaries, samples, confidence = [], {}, []
    for i in range(20):
        p = np.round(rng.dirichlet(np.ones(4)), 4) * 0.9
        weights = {" A": p[0], "A": 0.05, " B": p[1], " C": p[2], "the": 0.05}
        content = [token(" A", {" A": 0.9, " B": 0.1}), token(":", {":": 1.0}), token(" A", weights)]
        confidence.append((p[0] + 0.05) / (p[:3].sum() + 0.05))
        summaries.append(summary(i, 1, {"choice": score("C" if i % 4 == 0 else "I")}))
        output = {"model": "m", "choices": [{"message": {"content": "A: A"}, "logprobs": {"content": content}}]}
        samples[f"samples/{i}_epoch_1.json"] = {**summaries[-1], "output": output, "messages": [], "events": []}
    chunked = {name.replace(".json", "/sample.json"): value for name, value in samples.items()}
    correct, said = np.arange(20) % 4 == 0, "the probability of the answer's letter"
    for what, members in (("log-probabilities", samples), ("log-probabilities, in chunks", chunked)):
        yield ForeignFile(what, NAME, log(summaries, members), np.array(confidence), correct, said)


@writes("inspect-samples")
def frames() -> Iterator[ForeignFile]:
    places, confidence, correct = drawn()
    frame = pd.DataFrame(
        {
            "sample_id": [f"s{i}" for i in range(36)],
            "eval_id": "one",
            "log": "a.eval",
            "id": [str(i) for i, _ in places],
            "epoch": [epoch for _, epoch in places],
            "input": "Q",
            "choices": '["x", "y"]',
            "target": ["ABCD"[i % 4] for i, _ in places],
            "metadata_confidence": confidence,
            "metadata_subject": "law",
            "score_choice": np.where(correct, "C", "I"),
            "total_tokens": 49,
            "error": "",
        }
    )
    together = "36 rows are repeated attempts at 12 questions"
    yield ForeignFile("CSV", "samples.csv", csv(frame), confidence, correct, together)
    numbers = frame.assign(score_choice=correct.astype(float))
    numbers.loc[4, "score_choice"] = np.nan
    rest = np.arange(36) != 4
    yield ForeignFile("numbers", "samples.csv", csv(numbers), confidence[rest], correct[rest], "They are left out")
    details = frame.drop(columns="metadata_confidence").assign(
        score_choice_answer="A", score_choice_metadata=[json.dumps({"confidence": float(c)}) for c in confidence]
    )
    yield ForeignFile("details of scores", "samples.csv", csv(details), confidence, correct)
    scored = frame.rename(columns={"metadata_confidence": "score_stated_confidence"})
    yield ForeignFile("a score of confidence", "samples.csv", csv(scored), confidence, correct)
    second = frame.assign(eval_id="two", score_choice="I")
    both = "The frame has 2 runs on the same questions"
    yield ForeignFile("two runs", "samples.csv", csv(pd.concat([frame, second])), confidence, correct, both)
    third = frame.assign(score_judge="C")
    yield ForeignFile("two scorers", "samples.csv", csv(third), asks="has 2 scorers")


def csv(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False).encode()
