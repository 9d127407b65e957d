"""Files as strangers wrote them for a trial: one test per family that was read wrongly, silently, or not at all."""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core import InputError
from calib_core.readers import propose, read_table
from calib_core.readers.proposal.named_blocks import class_decided

N = 120
RISK = np.round(np.random.default_rng(3).uniform(0.02, 0.98, N), 3)
EVENT = (np.random.default_rng(4).random(N) < RISK).astype(int)
CLASSES = ("cat", "dog", "emu")
PROBS = np.random.default_rng(5).dirichlet([0.6, 0.5, 0.4], N).round(4)
LABEL = np.array([np.random.default_rng(i).choice(3, p=p / p.sum()) for i, p in enumerate(PROBS)])
NAMES = [CLASSES[code] for code in LABEL]


def words(codes: Any, no: str, yes: str) -> list[str]:
    return [yes if code else no for code in codes]


def read(rows: dict[str, Any] | str, name: str = "a.csv", **how: Any) -> tuple[cc.Predictions, str]:
    """Return the predictions of a file, and its warnings in one text."""
    data = rows if isinstance(rows, str) else pd.DataFrame(rows).to_csv(index=False)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = cc.read_predictions(data.encode(), name, **how)
    return found, " ".join(str(each.message) for each in seen)


def risk_of(found: cc.Predictions) -> tuple[np.ndarray, np.ndarray]:
    """Return the probability of the event of every row, and whether it happened."""
    assert found.probs is not None
    assert found.event is not None
    return found.probs[:, found.event], found.labels == found.event


@pytest.mark.parametrize(
    "rows",
    [
        {"p": 1 - RISK, "y_pred": (RISK > 0.5).astype(int), "y": EVENT},
        {"income": words(EVENT, "<=50K", ">50K"), "Scored Labels": words(RISK > 0.4, "<=50K", ">50K"),
         "Scored Probabilities": RISK},
        {"prob": RISK, "decision": words(RISK > 0.37, "reject", "accept"), "truth": words(EVENT, "reject", "accept")},
        {"remiss": EVENT, "_LEVEL_": 0, "phat": 1 - RISK},
    ],
    ids=["a probability of 0", "Azure", "a threshold", "SAS"],
)  # fmt: skip
def test_decisions_next_to_a_lone_probability_decide_its_class(rows: dict[str, Any]) -> None:
    found, said = read(rows)
    right = found.probs[np.arange(N), found.labels]
    np.testing.assert_allclose(right, np.where(EVENT == 1, RISK, 1 - RISK), atol=1e-9)
    assert said == ""


def test_confidences_decide_no_class() -> None:
    rows = {"prob": np.maximum(RISK, 1 - RISK), "decision": words(RISK > 0.5, "pear", "apple"), "truth": NAMES[:1] * N}
    table = cc.readers.read_table(pd.DataFrame(rows).to_csv(index=False).encode(), "a.csv")
    assert class_decided(table, "prob", "truth", ("apple", "pear")) is None


@pytest.mark.parametrize(
    ("label", "no", "yes"),
    [("skutečnost", "ne", "ano"), ("αποτέλεσμα", "όχι", "ναι"), ("النتيجة", "لا", "نعم"), ("실제", "아니오", "예"),
     ("実際", "陰性", "陽性"), ("是否违约", "否", "是"), ("död", "nej", "ja")],
)  # fmt: skip
def test_outcomes_of_more_languages(label: str, no: str, yes: str) -> None:
    found, said = read({"nr": range(N), "risk": RISK, label: words(EVENT, no, yes)})
    risk, event = risk_of(found)
    np.testing.assert_allclose(risk, RISK)
    assert event.tolist() == (EVENT == 1).tolist()
    assert said == ""


def test_codes_1_and_2_are_not_decided_by_the_word_for_1() -> None:
    found, said = read({"p_death": RISK, "vital": EVENT + 1})
    np.testing.assert_allclose(found.probs[:, 1], RISK)
    assert "no name assigns it" in said


@pytest.mark.parametrize(
    ("score", "names"),
    [("hire_score", ("hired", "rejected")), ("pred_active", ("active", "inactive")),
     ("arrival_delay_prob", ("delayed", "on-time"))],
)  # fmt: skip
def test_a_probability_is_named_after_a_class(score: str, names: tuple[str, str]) -> None:
    found, said = read({score: RISK, "result": words(EVENT, names[1], names[0])})
    assert found.class_names == names[::-1]
    np.testing.assert_allclose(found.probs[:, 1], RISK)
    assert said == ""


def test_rates_per_thousand_are_no_percentages() -> None:
    with pytest.raises(cc.InputError, match="For a rate per 1,000 or basis points, divide the values"):
        read({"risk_per_1000": (RISK * 1000).round().astype(int), "event": EVENT})


def test_numbers_of_rows_are_no_confidence() -> None:
    with pytest.raises(cc.InputError, match='"correct" marks right answers, but no column is recognized'):
        read({"q": range(N), "response": ["Confidence: 80%"] * N, "correct": EVENT})


@pytest.mark.parametrize("name", ["risk (%)", "risk_pct"])
def test_percentages_of_a_rare_event_are_percentages(name: str) -> None:
    rare = np.append(RISK[:-1] * 0.009, 0.04).round(5)
    found, _ = read({name: (rare * 100).round(3), "event": np.append(EVENT[:-1], 1)})
    np.testing.assert_allclose(found.probs[:, 1], rare, atol=1e-8)


def test_percent_signs_settle_a_name_with_percent() -> None:
    assert read({"churn_pct": [f"{100 * p:.1f}%" for p in RISK], "churned": words(EVENT, "No", "Yes")})[1] == ""


def test_a_log_of_a_probability_is_no_logit() -> None:
    found, _ = read({"ln_p": np.log(RISK).round(6), "y": EVENT})
    np.testing.assert_allclose(found.probs[:, 1], RISK, atol=1e-5)


@pytest.mark.parametrize(
    "rows",
    [
        {"mort": words(EVENT, "alive", "dead"), "PRE_1": RISK, "PGR_1": words(RISK > 0.5, "alive", "dead")},
        {"BAD": EVENT, "F_BAD": EVENT, "I_BAD": (RISK > 0.5).astype(int), "P_BAD1": RISK, "P_BAD0": 1 - RISK},
        {"TARGET": words(EVENT, "N", "Y"), "EM_EVENTPROBABILITY": RISK, "EM_PROBABILITY": np.maximum(RISK, 1 - RISK)},
        {"plot": range(N), "x": RISK[::-1], "y": np.roll(RISK, 7), "pred": RISK, "presence": EVENT},
        {"claim": range(N), "model_answer": "Yes", "P(yes)": RISK, "gold": words(EVENT, "No", "Yes")},
        {"FALSE": 1 - RISK, "TRUE": RISK, "y": words(EVENT, "FALSE", "TRUE")},
        {"YTest": EVENT, "YPred": (RISK > 0.5).astype(int), "scores_1": 1 - RISK, "scores_2": RISK},
        {"match": range(N), "home_win_prob": RISK, "result": words(EVENT, "away", "home")},
    ],
    ids=["SPSS", "SAS", "SAS in full", "coordinates", "one answer", "R's votes", "Matlab", "matches"],
)
def test_which_column_is_the_label(rows: dict[str, Any]) -> None:
    risk, event = risk_of(read(rows)[0])
    np.testing.assert_allclose(risk, RISK)
    assert event.tolist() == (EVENT == 1).tolist()


@pytest.mark.parametrize("names", ["IP_{}", "proba_class_{}", "P(Y={})", "class_{}_prob"])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_codes_in_the_names_of_two_columns(names: str, order: tuple[int, int]) -> None:
    found, said = read({names.format(code): (1 - RISK, RISK)[code] for code in order} | {"y": EVENT})
    risk, event = risk_of(found)
    np.testing.assert_allclose(risk, RISK)
    assert event.tolist() == (EVENT == 1).tolist()
    assert said == ""


@pytest.mark.parametrize(
    "beside",
    [{"Gewinner": NAMES}, {"label": LABEL}],
    ids=["a label by its values", "labels in numbers"],
)
def test_classes_without_a_prefix_among_other_numbers(beside: dict[str, Any]) -> None:
    rows = {"nr": range(N), **{name: PROBS[:, j] for j, name in enumerate(CLASSES)}, "longitude": RISK * 9 + 5}
    found, _ = read({**rows, **beside})
    assert found.class_names == CLASSES
    assert found.labels.tolist() == LABEL.tolist()


def test_a_german_compound_names_the_survivors() -> None:
    rows = {"Überlebenswahrscheinlichkeit": 1 - RISK, "Ausgang": words(EVENT, "überlebt", "verstorben")}
    for n in (20, N):
        found, said = read({name: column[:n] for name, column in rows.items()})
        risk, _ = risk_of(found)
        np.testing.assert_allclose(risk, RISK[:n])
        assert said == ""


def long_form(**columns: Any) -> dict[str, Any]:
    return {"id": np.repeat(range(N), 3), "class": CLASSES * N, "prob": PROBS.ravel(), **columns}


@pytest.mark.parametrize(
    "beside",
    [
        {"label": np.repeat(NAMES, 3)},
        {"is_true": (LABEL[:, None] == np.arange(3)).astype(int).ravel()},
        {"rank": np.tile([1, 2, 3], N), "truth": np.repeat(NAMES, 3), "site": np.repeat(["A", "B"], 3 * N // 2)},
    ],
    ids=["a label", "a mark", "a rank"],
)
def test_one_row_for_each_class(beside: dict[str, Any]) -> None:
    rows = pd.DataFrame(long_form(**beside))
    found, said = read(rows.sample(frac=1, random_state=0).sort_values("id", kind="stable").to_csv(index=False))
    assert found.class_names == CLASSES
    np.testing.assert_allclose(found.probs, PROBS / PROBS.sum(axis=1, keepdims=True), atol=1e-6)
    assert found.labels.tolist() == LABEL.tolist()
    assert said == ""


def test_rows_of_classes_without_a_truth_are_no_predictions() -> None:
    with pytest.raises(cc.InputError):
        read(long_form())


def test_a_text_label_in_another_spelling_than_its_column() -> None:
    rows = {f"prob_{name}": PROBS[:, j] for j, name in enumerate(("very_low", "low", "high"))}
    found, _ = read({**rows, "level": [("very low", "low", "high")[code] for code in LABEL]})
    assert found.class_names == ("very low", "low", "high")


@pytest.mark.parametrize(("names", "truth"), [(("NEGATIVE", "POSITIVE"), ("negative", "positive")),
                                              (("LABEL_0", "LABEL_1"), ("0", "1"))])  # fmt: skip
def test_output_of_a_pipeline_next_to_labels_in_another_spelling(names: Any, truth: Any) -> None:
    found, _ = read(
        {"label": words(RISK > 0.5, *names), "score": np.maximum(RISK, 1 - RISK), "gold": words(EVENT, *truth)}
    )
    assert found.accuracy == pytest.approx(np.mean((RISK > 0.5) == EVENT))


@pytest.mark.parametrize("cell", ["[{}]", "[[{}]]", "tensor({})", "tensor({}, device='cuda:0')", "wide", "Hindi"])
def test_one_number_in_a_cell_as_frameworks_or_other_scripts_write_it(cell: str) -> None:
    digits = {"wide": "０１２３４５６７８９．", "Hindi": "०१२३४५६७८९."}.get(cell)
    to = str.maketrans("0123456789.", digits or "0123456789.")
    found, _ = read({"prob": [str(p).translate(to) if digits else cell.format(p) for p in RISK], "label": EVENT})
    np.testing.assert_allclose(found.probs[:, 1], RISK)


def test_probabilities_in_an_object_of_an_object() -> None:
    cells = [json.dumps({"class": "yes", "probability": {"no": 1 - p, "yes": p}}) for p in RISK]
    found, _ = read({"PRED": cells, "LABEL": words(EVENT, "no", "yes")})
    np.testing.assert_allclose(found.probs[:, 1], RISK)


def test_lists_of_numbers_in_one_object_are_columns() -> None:
    found, _ = read(json.dumps({"y_true": EVENT.tolist(), "y_prob": RISK.tolist()}), "a.json")
    np.testing.assert_allclose(found.probs[:, 1], RISK)


def test_joined_files_repeat_their_header() -> None:
    half = [pd.DataFrame({"p": RISK, "y": EVENT}).iloc[rows].to_csv(index=False) for rows in (slice(60), slice(60, N))]
    found, said = read("".join(half))
    np.testing.assert_allclose(found.probs[:, 1], RISK)
    assert any("The header is repeated in line 62" in note for note in found.notes)
    assert said == ""


def test_types_below_the_header_of_a_tibble_and_a_title_above_a_table() -> None:
    rows = "\n".join(
        f"{i + 1:3d} {yes:<5s} {p:9.3f}" for i, (p, yes) in enumerate(zip(RISK, words(EVENT, "no", "yes"), strict=True))
    )
    found, _ = read(f"# A tibble: {N} × 2\n    truth .pred_yes\n    <fct>     <dbl>\n{rows}\n", "a.txt")
    np.testing.assert_allclose(found.probs[:, 1], RISK)


def test_labels_of_another_file_keep_a_name_that_means_something(tmp_path: Path) -> None:
    (truth := tmp_path / "truth.csv").write_text(pd.DataFrame({"id": range(N), "Survived": EVENT}).to_csv(index=False))
    found, said = read({"id": range(N), "Survived": RISK}, labels=truth)
    np.testing.assert_allclose(found.probs[:, 1], RISK)
    assert said == ""


# -- what must not pass in silence ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ({"model_version": ["1.4"] * 70 + ["1.5"] * 50, "p": RISK, "y": EVENT}, "names 2 models, and all rows"),
        ({"release": ["a", "b"] * 60, "p": RISK, "y": EVENT}, "names 2 models, and all rows"),
        ({"Stichprobe": ["Lern"] * 80 + ["Test"] * 40, "p": RISK, "y": EVENT}, "marks parts of the file"),
        ({"case_id": [*range(N - 5), *range(5)], "p": RISK, "y": EVENT}, "Was a row exported twice"),
        ({"mean_token_prob": RISK, "min_token_prob": RISK * 0.9, "correct": EVENT}, "could be it, too"),
        ({"p": RISK, "y": (RISK > 0.37).astype(int)}, "Calibrated probabilities would have exceptions"),
        ({"p": EVENT[:6], "y": EVENT[:6]}, "All 6 predictions are right"),
        ({"p": np.repeat(RISK.round(2), 2) + np.tile([0, 1e-9], N), "y": np.repeat(EVENT, 2)}, "look like copies"),
        ({"log10_odds": np.log10(RISK / (1 - RISK)), "y": EVENT}, "base 10 of odds"),
    ],
)
def test_an_assumption_is_told(rows: dict[str, Any], sentence: str) -> None:
    assert sentence in read(rows)[1]


def test_a_score_that_separates_as_it_should_is_no_surprise() -> None:
    """Four exceptions are expected of these probabilities, so none may be chance; of the others, about fifty."""
    sure, unsure = np.where(EVENT == 1, 0.97, 0.01) - RISK / 100, np.where(EVENT == 1, 0.47, 0.3) + RISK / 100
    assert "exceptions" not in read({"p": sure, "y": EVENT})[1]
    assert "exceptions" in read({"p": unsure, "y": EVENT})[1]


@pytest.mark.parametrize(
    "rows",
    [
        {"p_legit": 1 - RISK, "chargeback": EVENT},
        {"outputs.confidence": RISK, "feedback.correctness": EVENT},
        {"model": ["m1"] * N, "p": RISK, "y": EVENT},
    ],
)
def test_clean_files_are_read_without_a_warning(rows: dict[str, Any]) -> None:
    assert read(rows)[1] == ""


def test_log_probabilities_of_choices_read_as_logits_are_no_warning() -> None:
    buffer = io.BytesIO()
    np.savez(buffer, logits=np.log(PROBS + 1e-4), labels=LABEL)
    table = cc.readers.read_table(buffer.getvalue(), "a.npz")
    reading = cc.readers.propose(table, kind="logits")
    assert [each.severity for each in cc.readers.examine(table, reading) if each.code == "log-probabilities"] == [
        "note"
    ]


def test_a_column_of_test_rows_only_divides_nothing(tmp_path: Path) -> None:
    rows = pd.DataFrame({"split": "test", "p": RISK, "y": EVENT})
    table = cc.readers.read_table(rows.to_csv(index=False).encode(), "a.csv")
    assert cc.readers.propose(table).split is None
    (path := tmp_path / "a.csv").write_text(pd.concat([rows, rows.assign(split="train")]).to_csv(index=False))
    assert sum(part.n_rows for part in cc.readers.StreamedFile(path)) == N


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ({"forecast_rate": [0.1, 0.4, 0.7], "n": [20, 30, 20], "n_events": [3, 11, 14]},
         '"n_events" counts the events among the "n" rows'),
        ({"forecast": [0.1, 0.4, 0.7], "observed_frequency": [0.15, 0.4, 0.6], "count": [20, 30, 20]},
         '"observed_frequency" is the share of events among the "count" rows'),
        ({"decile": [1, 2, 3], "mean_risk": [0.1, 0.4, 0.7], "observed_events": [2, 9, 17], "patients": [25] * 3},
         '"observed_events" counts the events among the "patients" rows'),
    ],
    ids=["counts", "shares", "events among patients"],
)  # fmt: skip
def test_groups_are_refused_in_one_sentence(rows: dict[str, Any], sentence: str) -> None:
    with pytest.raises(cc.InputError, match="each line is about a group") as refused:
        read(rows)
    assert sentence in str(refused.value)


def test_a_number_of_events_is_no_outcome_in_silence() -> None:
    _, said = read({"forecast_rate": RISK, "n_events": EVENT})
    assert '"n_events" is named like a number of events' in said
    assert "named like a number" not in read({"risk": RISK, "event": EVENT})[1]


def test_constant_columns_and_row_numbers_are_no_labels() -> None:
    found, _ = read({"model_a": "x", "model_b": "y", "p_a_wins": RISK, "winner": words(EVENT, "model_b", "model_a")})
    risk = risk_of(found)[0]
    assert found.class_names is not None
    assert found.event is not None
    assert np.array_equal(risk if found.class_names[found.event] == "model_a" else 1 - risk, RISK)
    found, _ = read({"Obs": range(1, N + 1), "phat": RISK, "death": EVENT})
    assert np.array_equal(risk_of(found)[1], EVENT == 1)
    lines = [{"pred": {"label": "a", "prob": p}, "correct": bool(y)} for p, y in zip(RISK, EVENT, strict=True)]
    found, _ = read("\n".join(map(json.dumps, lines)), "a.jsonl")
    assert found.kind == "confidence"


def test_usual_names_of_probabilities_and_of_right_answers() -> None:
    found, _ = read({"fold": np.arange(N) % 5, "y_true": EVENT, "y_pred_proba": RISK})
    assert np.array_equal(risk_of(found)[0], RISK)
    for name in ("accurate", "Richtig?"):
        assert read({"confidence": RISK, name: EVENT})[0].kind == "confidence"


P, Y = np.linspace(0.05, 0.95, 30).round(3), np.arange(30) % 3 % 2


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"judge.score": P, "exact_match": Y}, "grade of a judge"),
        ({"judge_score": 1 + 4 * P, "correct": Y}, "grade of a judge"),
        ({"reward": P, "label": Y}, "grade of a judge"),
        ({"confidence": P, "judge.score": P[::-1]}, "needs right and wrong answers"),
        ({"id": np.arange(30), "exact_match": Y}, "marks right answers, but no column is recognized"),
    ],
    ids=["next to matches", "next to right answers", "next to a label", "in place of right answers", "matches alone"],
)
def test_grades_of_a_judge_are_no_risks_and_matches_no_confidence(columns: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        cc.read_predictions(pd.DataFrame(columns).to_csv(index=False).encode(), "a.csv")


@pytest.mark.parametrize(
    ("columns", "right"),
    [
        ({"score": P, "exact_match": Y}, "exact_match"),
        ({"confidence": P, "em": Y, "f1": P[::-1]}, "em"),
        ({"max_prob": P, "acc": Y.astype(float)}, "acc"),
        ({"confidence": P, "exact_match": P[::-1], "correct": Y}, "correct"),
    ],
    ids=["a score", "a confidence", "accuracy of a row", "shares of matches"],
)
def test_matches_of_answers_are_their_correctness(columns: dict[str, Any], right: str) -> None:
    table = read_table(pd.DataFrame(columns).to_csv(index=False).encode(), "a.csv")
    assert (propose(table).layout, propose(table).correct) == ("confidence", right)


def test_grades_that_are_probabilities_are_read_on_request() -> None:
    data = pd.DataFrame({"judge.score": P, "label": Y}).to_csv(index=False).encode()
    assert cc.read_predictions(data, "a.csv", scores=("judge.score",)).n_classes == 2


@pytest.mark.parametrize("name", ["judge.score", "llm_judge_rating", "grader-score"])
def test_a_judges_grade_is_no_confidence_of_the_model(name: str) -> None:
    rows = {"id": range(N), name: RISK, "exact_match": EVENT}
    with pytest.raises(cc.InputError, match="named like the grade of a judge, which is no probability"):
        read(rows)
    found, said = read(rows, confidence=name)
    np.testing.assert_allclose(found.confidence, RISK)
    assert (found.kind, found.correct.tolist(), said) == ("confidence", (EVENT == 1).tolist(), "")
    # Where the model states its own confidence, the grade is another column.
    found, said = read({**rows, "confidence": RISK[::-1]})
    np.testing.assert_allclose(found.confidence, RISK[::-1])


def test_exact_match_marks_right_answers() -> None:
    found, said = read({"id": range(N), "prediction": ["x"] * N, "confidence": RISK, "exact_match": EVENT})
    assert (found.kind, found.correct.tolist(), said) == ("confidence", (EVENT == 1).tolist(), "")
    with pytest.raises(cc.InputError, match='"exact_match" marks right answers, but no column is recognized'):
        read({"id": range(N), "prediction": ["x"] * N, "exact_match": EVENT})


@pytest.mark.parametrize("more", [{}, {"latency_s": RISK + 1}, {"tokens": (500 * RISK).round()}], ids=str)
def test_what_an_answer_cost_is_no_confidence(more: dict[str, Any]) -> None:
    with pytest.raises(cc.InputError, match='"exact_match" marks right answers, but no column is recognized'):
        read({"id": range(N), "cost_usd": (0.01 + RISK / 50).round(4), "exact_match": EVENT, **more})


def test_measures_of_classes_are_no_predictions() -> None:
    table = {"class": ["a", "b"], "precision": [0.9, 0.8], "recall": [0.7, 0.9], "f1-score": [0.8, 0.85]}
    with pytest.raises(cc.InputError, match="each line is about a class or a model, with its precision and recall"):
        read(table)


def test_marks_of_hallucinations_are_marks_of_wrong_answers() -> None:
    with pytest.raises(cc.InputError, match='"is_hallucination" is named like marks of wrong answers'):
        read({"id": range(N), "confidence": RISK, "is_hallucination": words(EVENT, "True", "False")})


def test_the_probability_of_being_right_is_no_mark() -> None:
    found, said = read({"id": range(N), "p_correct": RISK, "grade": words(EVENT, "INCORRECT", "CORRECT")})
    np.testing.assert_allclose(found.confidence, RISK)
    assert (found.correct.tolist(), said) == ((EVENT == 1).tolist(), "")


def test_a_perplexity_is_the_opposite_of_a_confidence() -> None:
    with pytest.raises(cc.InputError, match="Write the probability that the answer is right in a column confidence"):
        read({"id": range(N), "perplexity": (1 / RISK).round(3), "correct": EVENT})
