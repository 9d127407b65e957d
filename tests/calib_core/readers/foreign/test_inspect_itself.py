"""Logs written by inspect_ai itself, with a model that needs no network: read back as given."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import calib_core as cc
from calib_core.readers import read_table

pytestmark = [pytest.mark.wide, pytest.mark.filterwarnings("ignore")]
EPOCHS, QUESTIONS = 3, 10
SHARES = {"A": 0.6, "B": 0.2, "C": 0.15}


@pytest.fixture(scope="module", params=["eval", "json"])
def path(request, tmp_path_factory):
    """Return the path of a log of one task with two scorers, confidence in the metadata of the second."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inspect_ai = pytest.importorskip("inspect_ai", reason="inspect_ai writes these logs and is not installed")
        pytest.importorskip("backports.zstd" if request.param == "eval" else "json")
        return written(inspect_ai, request.param, tmp_path_factory.mktemp("logs"))


def written(inspect_ai, form, folder):
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import (
        ChatCompletionChoice,
        ChatMessageAssistant,
        Logprob,
        Logprobs,
        ModelOutput,
        ModelUsage,
        TopLogprob,
        get_model,
    )
    from inspect_ai.scorer import Score, accuracy, choice, scorer
    from inspect_ai.solver import multiple_choice

    @scorer(metrics=[accuracy()])
    def judge():
        async def mark(state, target):
            i = int(state.sample_id)
            value = {3: float("nan"), 4: "P", 5: "N"}.get(i, "C" if i % 2 else "I")
            return Score(value=value, answer="A", metadata={"confidence": 50 + i})

        return mark

    def outputs():
        tops = [TopLogprob(token=t, logprob=math.log(p)) for t, p in SHARES.items()]
        letter = Logprob(token=" A", logprob=math.log(SHARES["A"]), top_logprobs=tops)
        start = Logprob(token="ANSWER:", logprob=0.0, top_logprobs=[])
        for _ in range(QUESTIONS * EPOCHS):
            said = ChatCompletionChoice(
                message=ChatMessageAssistant(content="ANSWER: A"), logprobs=Logprobs(content=[start, letter])
            )
            yield ModelOutput(model="mockllm/model", choices=[said], usage=ModelUsage(input_tokens=1, output_tokens=1))

    samples = [
        Sample(id=i, input=f"Q{i}", choices=["x", "y", "z", "w"], target="ABCD"[i % 4], metadata={"subject": "law"})
        for i in range(QUESTIONS)
    ]
    task = inspect_ai.Task(
        name="mini", dataset=MemoryDataset(samples), solver=[multiple_choice()], scorer=[choice(), judge()]
    )
    model = get_model("mockllm/model", custom_outputs=list(outputs()))
    kept = {"log_dir": str(folder), "log_format": form, "display": "none"}
    (log,) = inspect_ai.eval(task, model=model, epochs=EPOCHS, **kept)
    assert log.status == "success", log.error
    return next(folder.glob(f"*.{form}"))


def test_verdicts_and_epochs_are_those_of_the_scorers(path):
    with pytest.raises(cc.InputError, match="has 2 scorers"):
        cc.read_predictions(path)
    found = cc.read_predictions(path, correct="correct_judge")
    ids = np.array([int(i) for i in found.metadata["id"]])
    assert sorted(ids.tolist()) == sorted([i for i in range(QUESTIONS) if i not in (3, 4, 5)] * EPOCHS)
    np.testing.assert_allclose(found.confidence, (50 + ids) / 100)
    np.testing.assert_array_equal(found.correct, ids % 2 == 1)
    assert len(found.row_groups.values) == QUESTIONS - 3


def test_log_probabilities_of_the_letter_are_there(path):
    table = read_table(path)
    assert table.n_rows == QUESTIONS * EPOCHS
    if "confidence_from_logprobs" in table.columns:  # only summaries are read if they contain a confidence
        np.testing.assert_allclose(table.columns["confidence_from_logprobs"], SHARES["A"] / sum(SHARES.values()))
    else:
        assert path.suffix == ".eval"
    choice = cc.read_predictions(path, correct="correct_choice", confidence="confidence_judge_metadata")
    assert choice.accuracy == pytest.approx(0.3)
