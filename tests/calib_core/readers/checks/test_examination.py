"""Findings of the doctor with their evidence, and that the offered change settles each."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from calib_core.predictions.predictions import InputError
from calib_core.readers import Finding, Reading, by_severity, checks, examine, predictions, propose, read_table
from calib_core.readers.table import Table
from calib_core.text import percent
from tests.support.sentences import matches

CLASSES = ("cat", "dog", "bird")


def sample(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.5] * 3, n)
    return p, (rng.random((n, 1)) > p.cumsum(axis=1)[:, :2]).sum(axis=1)


P, Y = sample()
NAMES = np.array(CLASSES, dtype=object)[Y]


def csv(p: np.ndarray, labels: Any, columns: str = "p_cat,p_dog,p_bird,label", form: str = "%.17g") -> Table:
    lines = [",".join([*(form % v for v in row), str(y)]) for row, y in zip(p, labels, strict=True)]
    return read_table("\n".join([columns, *lines]).encode(), "preds.csv")


def found(table: Table, reading: Reading | None = None, **changes: Any) -> dict[str, Finding]:
    """Return findings by code; every offered change is valid and is JSON."""
    reading = (reading or propose(table)).replace(**changes)
    findings = examine(table, reading)
    for f in findings:
        assert (f.change is None) == (f.change_label is None)
        if f.change is not None:
            assert Reading.from_json(reading.replace(**f.change).to_json()) == reading.replace(**f.change)
            json.dumps(dict(f.change))
    assert [f.severity for f in findings] == sorted(
        (f.severity for f in findings), key=["problem", "warning", "note"].index
    )
    return {f.code: f for f in reversed(findings)}


def settled(table: Table, reading: Reading, finding: Finding) -> float:
    """Return the accuracy after the change that a finding offers."""
    assert finding.change is not None
    return predictions(table, reading.replace(**finding.change)).accuracy


ACCURACY = float(np.mean(P.argmax(axis=1) == Y))


def test_every_check_is_told_of_once_whatever_came_of_it() -> None:
    """Sound predictions; some whose labels are no classes; a confidence; and a table that cannot be read."""
    sound = csv(P, NAMES)
    outcomes = {each.title: each.outcome for each in checks(sound, propose(sound))}
    assert set(outcomes.values()) == {"passed", "not applicable"}
    unknown = csv(P, np.char.add(NAMES.astype(str), "?"))
    confident = read_table(b"confidence,correct\n" + b"0.9,1\n0.6,0\n" * 30, "answers.csv")
    unreadable = Table("a.csv", "csv", {"p": np.array([0.5, 0.6]), "y": np.array([0, 1])}, {"m": np.eye(3)})
    for table, reading, some in (
        (unknown, propose(sound), {"skipped", "found", "passed"}),
        (confident, propose(confident), {"passed", "not applicable"}),
        (unreadable, Reading(scores=("m",), label=("y",), classes=("a", "b", "c")), {"skipped", "found", "passed"}),
    ):
        done = checks(table, reading)
        assert [each.title for each in done if each.title in outcomes] == list(outcomes)
        assert some <= {each.outcome for each in done}
        assert all(bool(each.findings) == (each.outcome == "found") for each in done)
        assert all(bool(each.why) == (each.outcome in ("not applicable", "skipped")) for each in done)
        assert by_severity(done) == examine(table, reading)


def test_nothing_stands_out_in_sound_predictions() -> None:
    assert examine(csv(P, NAMES), propose(csv(P, NAMES))) == ()


@pytest.mark.parametrize(
    ("scores", "form", "kind", "evidence"),
    [
        (P * 100, "%.2f", "percentages", "row sums 99.99–100.01"),
        (np.log(P) + 1, "%.17g", "logits", "values from -14.26 to 0.9962, and row sums -17.834–-0.30274"),
        (np.log(P), "%.17g", "log-probabilities",
         "values from -15.26 to -0.003832, and their exponentials sum to 1 in each row"),
    ],
)  # fmt: skip
def test_kinds_are_said_and_never_converted_in_silence(scores: Any, form: str, kind: str, evidence: str) -> None:
    table = csv(scores, NAMES, form=form)
    proposed = propose(table)
    assert found(table)["kind"] == Finding(
        "note",
        "kind",
        f"The scores are read as {kind} ({evidence}).",
        {"kind": "probabilities"},
        "Read as probabilities",
    )
    wrong = found(table, kind="probabilities")[kind]
    assert (wrong.severity, wrong.code, wrong.change, wrong.change_label) == (
        "problem",
        kind,
        {"kind": kind},
        f"Read as {kind}",
    )
    assert matches(wrong.message, f"*like {kind} ({evidence})*read as probabilities.")
    assert settled(table, proposed.replace(kind="probabilities"), wrong) == pytest.approx(ACCURACY)
    with pytest.raises(InputError):
        predictions(table, proposed.replace(kind="probabilities"))


def test_scores_of_no_known_kind_offer_what_they_could_be() -> None:
    table = csv(np.array([[70.0], [20.0]]), [1, 0], "p,y")
    offers = [f for f in examine(table, propose(table)) if f.code == "range"]
    assert [f.change_label for f in offers] == ["Read as percentages", "Read as logits"]
    assert matches(
        offers[0].message,
        'preds.csv, column "p", line 2 (row 0): 70 is above 1; 2 of 2 rows affected.*"percentages"*"logits"*'
        "(values from 20 to 70)",
    )
    assert settled(table, propose(table), offers[0]) == 1


def test_one_column_says_which_class_it_is() -> None:
    table = csv(np.array([[0.7], [0.2], [0.6]]), ["spam", "ham", "spam"], "p,label")
    finding = found(table)["binary"]
    assert finding.message == '"p" is read as the probability of class "spam".'
    assert finding.change_label == 'It is the probability of "ham"'
    assert settled(table, propose(table), finding) == 0
    numbered = csv(np.array([[0.7], [0.2]]), [1, 0], "p,y")
    assert settled(numbered, propose(numbered), found(numbered)["binary"]) == 0


def test_labels_counted_from_one() -> None:
    table = csv(P, Y + 1)
    note = found(table)["from-one"]
    assert note.worth_saying()
    assert not note.worth_saying({"label_coding"})
    assert matches(note.message, f'*from 1 to 3*from 1: 1 is "cat" *3 is "bird"*{percent(ACCURACY)}.')
    wrong = found(table, label_coding="0-based")["labels"]
    assert matches(
        wrong.message,
        'preds.csv, column "label", line 3 (row 1): label 3 is not among the classes 0, 1, 2 (73 of 200 rows). '
        f'*"1-based"*1-based*{percent(ACCURACY)}.',
    )
    assert settled(table, propose(table), wrong) == pytest.approx(ACCURACY)


def test_labels_that_fit_both_ways_show_both_accuracies() -> None:
    some = Y < 2
    table = csv(P[some], Y[some] + 1)
    finding = found(table)["labels"]
    other = float(np.mean(P[some].argmax(axis=1) == Y[some] + 1))
    right = float(np.mean(P[some].argmax(axis=1) == Y[some]))
    assert (finding.severity, finding.change) == ("warning", {"label_coding": "1-based"})
    assert matches(
        finding.message, f'*from 1 to 2*from 0: 0 is "cat" *2 is "bird"*{percent(other)} ({percent(right)} *from 1).'
    )


def test_labels_in_other_capitals() -> None:
    table = csv(P, ["DOG" if i == 7 else name for i, name in enumerate(NAMES)])
    assert 'It differs from "dog"' in found(table)["labels"].message
    both = csv(P, np.where(Y == 0, "cat", np.where(Y == 1, "Cat", "bird")), "p_cat,p_Cat,p_bird,label")
    assert 'Classes "cat", "Cat" differ' in found(both)["variants"].message


@pytest.mark.parametrize(
    ("table", "changed"),
    [
        (csv(P[:, [2, 0, 1]], NAMES), {"classes": ("bird", "cat", "dog")}),
        (csv(P[:, [2, 0, 1]], Y, "p_0,p_1,p_2,y"), {"classes": ("2", "0", "1"), "label_coding": "names"}),
        (csv(P[:, [2, 0, 1]], Y), {"scores": ("p_dog", "p_bird", "p_cat"), "classes": ("dog", "bird", "cat")}),
    ],
    ids=["names", "digits", "codes"],
)
def test_a_mixed_up_order_is_found_and_offered(table: Table, changed: dict[str, Any]) -> None:
    finding = found(table)["class-order"]
    assert (finding.severity, finding.change) == ("warning", changed)
    assert matches(finding.message, f"Accuracy is 15.0 %*33.3 %*order*{percent(ACCURACY)}.")
    assert settled(table, propose(table), finding) == pytest.approx(ACCURACY)


def test_a_few_wrong_rows_are_not_a_mixed_up_order() -> None:
    assert "class-order" not in found(csv(P[:6, [2, 0, 1]], NAMES[:6]))


def test_missing_values() -> None:
    p = P.copy()
    p[3, 0] = p[5, 1] = np.nan
    table = csv(p, NAMES)
    finding = found(table)["missing"]
    assert finding == Finding(
        "problem",
        "missing",
        '2 of 200 rows lack a value, in "p_cat", "p_dog": line 5 (row 3), line 7 (row 5).',
        {"missing": "exclude"},
        "Leave out 2 rows",
    )
    assert settled(table, propose(table), finding) > 0.5
    assert found(table, missing="exclude")["missing"].severity == "warning"


def test_row_sums() -> None:
    rounded = csv(P, NAMES, form="%.2f")
    assert matches(
        found(rounded)["rescaled"].message, "47 of 200 rows do not sum to 1, by at most 0.01, *rounding*rescaled*"
    )
    near = P.copy()
    near[4] *= 1.0001
    assert found(csv(near, NAMES))["rescaled"] == Finding(
        "note", "rescaled", "1 of 200 rows do not sum to 1, by at most 0.0001; they are rescaled."
    )
    near[4] *= 0.5
    assert matches(
        found(csv(near, NAMES))["row-sums"].message,
        "1 of 200 rows do not sum to 1 (row sums 0.50005–1)*line 6 (row 4)*0.50005.",
    )


def test_classes_that_never_occur() -> None:
    p, y = P[Y < 2], Y[Y < 2]
    p = p.copy()
    p[:, 1] *= 1e-6
    p /= p.sum(axis=1, keepdims=True)
    codes = found(csv(p, np.array(CLASSES, dtype=object)[y]))
    assert codes["never-true"].message == '1 of 3 classes is never true: "bird".'
    assert codes["never-predicted"].message == '1 of 3 classes is never predicted: "dog".'


def test_rows_that_repeat() -> None:
    same = found(csv(np.full((60, 3), 1 / 3), NAMES[:60]))
    assert same["constant"].message.startswith("All 60 rows have the same scores")
    assert "60 of 60 rows" in same["ties"].message
    doubled = found(csv(np.vstack([P, P]), np.concatenate([NAMES, NAMES])))
    assert doubled["duplicates"].severity == "warning"
    assert doubled["duplicates"].message.startswith("200 of 400 rows have the scores of an earlier row, and always its")
    near = found(csv(np.vstack([P, P + 1e-11]), np.concatenate([NAMES, NAMES])))
    assert near["duplicates"].message == doubled["duplicates"].message
    coarse = found(csv(np.vstack([P, P]).round(1), np.concatenate([NAMES, np.roll(NAMES, 1)]), form="%.1f"))
    assert coarse["duplicates"].severity == "note", "equal scores with other labels are no copies"


@pytest.mark.parametrize("scale", [1, 100])
def test_a_true_class_of_probability_zero(scale: float) -> None:
    p, names = P.copy(), NAMES.copy()
    p[3], names[3] = [1, 0, 0], "bird"
    assert found(csv(p * scale, names))["zeros"].message.startswith(
        "The true class has probability exactly 0 in 1 of 200 rows: line 5 (row 3). "
    )
    one = csv(np.array([[0.7], [1.0], [0.2]]) * scale, [1, 0, 0], "p,y")
    reading = propose(one).replace(kind="percentages" if scale == 100 else "probabilities")
    assert "line 3 (row 1)" in found(one, reading)["zeros"].message


def test_labels_among_the_scores() -> None:
    table = csv(np.column_stack([P, Y]), NAMES, "p_cat,p_dog,p_bird,p_true,label")
    finding = found(table)["leak"]
    assert '"p_true"' in finding.message
    assert settled(table, propose(table), finding) == pytest.approx(ACCURACY)


def test_perfect_predictions() -> None:
    assert "All 200 " in found(csv(np.eye(3)[Y] * 0.8 + 0.2 / 3, NAMES))["perfect"].message


def test_names_that_are_not_what_they_look_like() -> None:
    table = csv(P[:, :2] / P[:, :2].sum(axis=1, keepdims=True), np.where(Y == 0, "a", "а"), "p_a,p_а,label")
    assert found(table)["names"].message.startswith('Classes "a", "а" look alike')
    hidden = csv(P, NAMES, "p_cat,p_dog\u202e,p_bird,label")
    assert found(hidden)["names"].message.endswith(": U+202E.")


def test_confidence_tables() -> None:
    percent = read_table(b"confidence,correct\n70,1\n60,0\n", "preds.csv")
    assert found(percent)["kind"].message == '"confidence" is read as percentages: values from 60 to 70.'
    wrong = found(percent, kind="probabilities")["range"]
    assert wrong.change == {"kind": "percentages"}
    assert settled(percent, propose(percent), wrong) == 0.5
    same = read_table(b"confidence,correct\n.7,1\n.7,0\n", "preds.csv")
    assert found(same)["constant"].message == "All 2 rows have the same confidence."
    shifted = read_table(b"conf,pred,label\n.7,0,1\n.6,1,2\n", "preds.csv")
    assert found(shifted)["labels"].change_label == "Predicted classes count from 0, labels from 1"
    assert settled(shifted, propose(shifted), found(shifted)["labels"]) == 1.0
    top = read_table(b"conf,pred,label\n.7,0,1\n.6,1,0\n", "preds.csv")
    assert "(0, 1)" in found(top)["never-right"].message


def test_what_cannot_be_examined_is_a_problem() -> None:
    table = Table("a.npz", "npz", {"labels": np.zeros(199, int)}, {"probs": np.full((200, 3), 1 / 3)})
    codes = found(table)
    assert codes["unreadable"].severity == "problem"
    assert (
        codes["unreadable"].message == 'a.npz: 199 values of "labels" for 200 rows of "probs"; give one value per row'
    )


@pytest.mark.parametrize(("values", "offered"), [(3, False), (9, False), (10, True), (60, True), (200, False)])
def test_a_column_named_as_people_are_is_offered_as_the_group_where_intervals_could_use_it(values, offered) -> None:
    rows = [",".join(map(str, (*p, name, f"s{i % values}"))) for i, (p, name) in enumerate(zip(P, NAMES, strict=True))]
    table = read_table("\n".join(["p_cat,p_dog,p_bird,label,subject", *rows]).encode(), "preds.csv")
    assert ("group" in found(table)) == offered


def test_notes_of_the_reader_are_passed_on() -> None:
    table = read_table(b"p_a,p_b,label,\n.7,.3,a,\n.2,.8,b,\n", "preds.csv")
    assert found(table)["reader"].message == "Every line ends with a delimiter; the empty last field was removed."


def test_problems_and_predictions_agree() -> None:
    """Without problems, the predictions can be constructed; if they are refused, a problem reports it."""
    rng = np.random.default_rng(1)
    for _ in range(150):
        p, labels = P[:40].copy(), NAMES[:40].copy()
        scale = rng.choice([1.0, 100.0, 7.0])
        p *= scale
        if rng.random() < 0.5:
            p[rng.integers(40), rng.integers(3)] = rng.choice([np.nan, -1.0, np.inf, 0.5, 1.0001])
        if rng.random() < 0.3:
            labels[rng.integers(40)] = rng.choice(["", "cow", "Cat"])
        table = csv(p, labels)
        try:
            reading = propose(table)
        except InputError:
            continue
        problems = [f for f in examine(table, reading) if f.severity == "problem"]
        try:
            predictions(table, reading)
            assert not problems
        except InputError:
            assert problems


def event_file(**columns: Any) -> Table:
    """Risks of 400 rows and their outcomes, next to other columns."""
    rng = np.random.default_rng(1)
    risk = rng.uniform(size=400)
    beside = {"risk": risk.round(6), "died": (rng.random(400) < risk).astype(int)}
    return Table("a.csv", "csv", beside | {name: np.asarray(column) for name, column in columns.items()})


HALVES = np.arange(400) % 2


@pytest.mark.parametrize(
    ("column", "words", "severity"),
    [
        ("window", ("INS", "OOT"), "warning"),
        ("jeu", ("apprentissage", "test"), "warning"),
        ("conjunto", ("entrenamiento", "prueba"), "warning"),
        ("in_sample", ("no", "yes"), "warning"),
        ("used_for_fitting", ("N", "Y"), "warning"),
        ("stage", ("out of sample", "development set"), "warning"),
        ("e_learning", ("no", "yes"), None),
        ("prueba", ("no", "yes"), None),
    ],
)
def test_marks_of_training_rows_in_other_words(column: str, words: tuple[str, str], severity: str | None) -> None:
    seen = found(event_file(**{column: np.array(words, dtype=object)[HALVES]})).get("split")
    assert (seen and seen.severity) == severity


@pytest.mark.parametrize(
    ("label", "column", "blocks"),
    [("died", "sex", False), ("died", "anemia", False), ("y30", "sex", True)],
)
def test_a_name_of_an_outcome_decides_among_columns_of_two_values(label: str, column: str, blocks: bool) -> None:
    columns = event_file().columns
    table = Table("a.csv", "csv", {"risk": columns["risk"], label: columns["died"], column: HALVES})
    (seen,) = [each for each in examine(table, propose(table)) if each.code == "outcome"]
    assert (seen.blocks(), seen.change) == (blocks, {"label": (column,)})


def twice(seed: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return patients, risks and outcomes: two rows for each of 100 patients, with one outcome."""
    rng = np.random.default_rng(seed)
    patient, risk = np.repeat(np.arange(100), 2), np.repeat(rng.uniform(size=100), 2)
    return patient, (risk * 0.9 + rng.uniform(0, 0.1, 200)).round(6), np.repeat(rng.random(100) < risk[::2], 2) * 1


def test_rows_of_one_person_with_one_outcome_are_a_group() -> None:
    patient, risk, died = twice()
    seen = found(Table("a.csv", "csv", {"patient": patient, "risk": risk, "died": died}))["group"]
    assert (seen.severity, seen.change) == ("warning", {"group": "patient"})
    assert 'always have the same "died"' in seen.message
    mixed = np.where(np.arange(200) < 20, HALVES[:200], died)
    seen = found(Table("a.csv", "csv", {"patient": patient, "risk": risk, "died": mixed}))["group"]
    assert (seen.severity, seen.change) == ("note", {"group": "patient"})


@pytest.mark.parametrize("layout", ["risk", "confidence"])
def test_a_file_appended_to_itself_is_found_although_rounded_scores_are_shared(layout: str) -> None:
    rng = np.random.default_rng(0)
    risk = rng.uniform(size=400).round(2)
    event = (rng.random(400) < risk) * 1
    label = {"risk": "died", "confidence": "correct"}[layout]

    def seen(rows: np.ndarray) -> dict[str, Finding]:
        return found(Table("a.csv", "csv", {layout: risk[rows], label: event[rows]}))

    every = np.arange(400)
    assert seen(np.tile(every, 2))["duplicates"].message.startswith("Every pair of scores and label occurs 2 times")
    assert seen(np.tile(every, 2))["duplicates"].severity == "warning"
    assert "duplicates" not in seen(every)
    assert "duplicates" not in seen(np.tile(every, 2)[:-1])


@pytest.mark.parametrize(
    ("score", "label", "severity"),
    [("pred_survival", "deceased", "note"), ("p_fraud", "legit", "note"), ("p_0", "y", "warning"),
     ("p_legit", "y", "warning"), ("risk", "survived", "warning")],
)  # fmt: skip
def test_two_names_of_opposite_outcomes_are_certain(score: str, label: str, severity: str) -> None:
    columns = event_file().columns
    told = found(Table("a.csv", "csv", {score: columns["risk"], label: columns["died"]}))["binary"]
    assert told.severity == severity


@pytest.mark.parametrize("column", ["set", "split"])
def test_a_split_column_of_training_rows_only_is_a_warning(column: str) -> None:
    marks = np.array(["train", "test"], dtype=object)
    assert found(event_file(**{column: marks[0 * HALVES]}))["split"].severity == "warning"
    assert "split" not in found(event_file(**{column: marks[HALVES]}))


def test_words_that_repeat_every_person_with_one_outcome_may_be_models() -> None:
    patient, risk, died = twice()
    scorer = np.array(["champion", "challenger"], dtype=object)[np.arange(200) % 2]
    columns = {"patient": patient, "scorer": scorer, "risk": risk, "died": died}
    table = Table("a.csv", "csv", columns)
    seen = found(table)["models"]
    assert (seen.severity, seen.change) == ("warning", {"models": "scorer", "question": ("patient",)})
    assert "models" not in found(table, group="patient")
    alone = propose(table, models="scorer", question=("patient",), model="champion")
    assert {each.code for each in examine(table, alone) if each.severity == "warning"} == set()
    for change in (
        {"scorer": np.array(["a", "b"], dtype=object)[np.repeat([0, 1], 100)]},
        {"scorer": np.arange(200) % 2 + 5},
        {"died": np.where(np.arange(200) < 20, HALVES[:200], died)},
    ):
        assert "models" not in found(Table("a.csv", "csv", columns | change))


def test_many_copies_of_every_row_are_copies_but_a_pile_of_zeros_is_none() -> None:
    _, risk, died = twice()
    risk, died = risk[::2], died[::2]
    copies = Table("a.csv", "csv", {"risk": np.tile(risk, 30), "died": np.tile(died, 30)})
    assert found(copies)["duplicates"].severity == "warning"
    assert found(copies)["duplicates"].message.startswith("2,900 of 3,000 rows")
    pile = {"risk": np.concatenate([risk, np.zeros(500)]), "died": np.concatenate([died, np.zeros(500, dtype=int)])}
    assert "duplicates" not in found(Table("a.csv", "csv", pile))
    coarse = np.repeat(np.arange(1, 10) / 10, 40)
    assert "duplicates" not in found(Table("a.csv", "csv", {"risk": coarse, "died": (coarse > 0.5).astype(int)}))
