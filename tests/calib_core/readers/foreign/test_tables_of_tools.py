"""Tables of R, Weka and H2O: created in their formats, read back to the same probabilities without a remark."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core.predictions.predictions import InputError
from calib_core.readers import examine, predictions, propose, read_table

N = 60
LEVELS = ("setosa", "versicolor", "virginica")


def drawn(k: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.6] * k, N)
    return p, (rng.random((N, 1)) > p.cumsum(axis=1)[:, :-1]).sum(axis=1)


P, Y = drawn()


def text(header: list[str], rows: list[list[Any]], delimiter: str = ",") -> bytes:
    return "\n".join(delimiter.join(map(str, row)) for row in [header, *rows]).encode()


def tidymodels(levels: tuple[str, ...] = LEVELS, configs: tuple[str, ...] = ("Preprocessor1_Model1",)) -> bytes:
    names = [f".pred_{level}" for level in levels]
    rows = [
        [levels[P[i].argmax()], *P[i] ** power / (P[i] ** power).sum(), "Fold1", i + 1, levels[Y[i]], config]
        for power, config in enumerate(configs, 1)
        for i in range(N)
    ]
    return text([".pred_class", *names, "id", ".row", "Species", ".config"], rows)


def caret(mtry: tuple[int, ...] = (2,), repeats: int = 1) -> bytes:
    rows = [
        [LEVELS[P[i].argmax()], LEVELS[Y[i]], *P[i] ** power / (P[i] ** power).sum(), i + 1, m, f"Fold1.Rep{r + 1}"]
        for r in range(repeats)
        for power, m in enumerate(mtry, 1)
        for i in range(N)
    ]
    return text(["pred", "obs", *LEVELS, "rowIndex", "mtry", "Resample"], rows)


def weka(delimiter: str = ",", attribute: bool = False) -> bytes:
    def cells(i: int) -> list[Any]:
        top = int(P[i].argmax())
        marked = [f"{'*' if j == top else ''}{p:.3f}" for j, p in enumerate(P[i])]
        named = [f"{c + 1}:{LEVELS[c]}" for c in (Y[i], top)]
        return [i + 1, *named, "+" if Y[i] != top else "", *marked, *([i % 7] if attribute else [])]

    more = ["age"] if attribute else []
    header = ["inst#", "actual", "predicted", "error", "distribution", "", "", *more]
    return text(header, [cells(i) for i in range(N)], delimiter)


def h2o(levels: tuple[str, ...], calibrated: bool = False) -> bytes:
    p, y = drawn(len(levels))
    columns = [f"p{level}" if level.removeprefix("-").isdigit() else level for level in levels]
    more = [f"cal_{name}" for name in columns] if calibrated else []
    rows = [
        [levels[p[i].argmax()], *p[i], *((p[i] + 1 / len(levels)) / 2 if calibrated else []), levels[y[i]]]
        for i in range(N)
    ]
    return text(["predict", *columns, *more, "response"], rows)


FILES = {
    "tidymodels": tidymodels(),
    "caret": caret(),
    "weka": weka(),
    "weka, tabs": weka("\t"),
    "weka, with an attribute": weka(attribute=True),
    "h2o": h2o(LEVELS),
}


@pytest.mark.parametrize("name", FILES)
def test_the_same_probabilities_labels_and_names(name: str) -> None:
    table = read_table(FILES[name], "predictions.csv")
    found = predictions(table, propose(table))
    np.testing.assert_allclose(found.probs, P, atol=2e-3 if "weka" in name else 1e-12)
    assert found.class_names == LEVELS
    assert found.labels.tolist() == Y.tolist()
    assert table.origin == name.partition(",")[0]
    assert [f.code for f in examine(table, propose(table)) if f.severity != "note"] in ([], ["rescaled"])


def test_numbers_that_are_levels_have_a_letter_before_them() -> None:
    p, y = drawn(2)
    found = cc.read_predictions(h2o(("0", "1")), "h2o.csv")
    np.testing.assert_allclose(found.probs, p)
    assert found.labels.tolist() == y.tolist()
    assert found.class_names == ("0", "1")


def test_calibrated_probabilities_are_a_second_model() -> None:
    p, y = drawn(2)
    data = h2o(("no", "yes"), calibrated=True)
    both = cc.read_models(data, "h2o.csv")
    assert list(both) == ["raw", "calibrated"]
    np.testing.assert_allclose(both["raw"].probs, p)
    np.testing.assert_allclose(both["calibrated"].probs, (p + 0.5) / 2)
    assert all(each.labels.tolist() == y.tolist() for each in both.values())
    with pytest.warns(UserWarning, match='Only "raw" is evaluated, not "calibrated"'):
        np.testing.assert_allclose(cc.read_predictions(data, "h2o.csv").probs, p)
    chosen = cc.read_predictions(data, "h2o.csv", scores=("cal_no", "cal_yes"))
    np.testing.assert_allclose(chosen.probs, (p + 0.5) / 2)
    table = read_table(data, "h2o.csv")
    (note,) = [f for f in examine(table, propose(table)) if f.code == "calibrated-too"]
    assert "two models" in note.message


def test_a_class_that_is_never_true_nor_predicted_has_its_number() -> None:
    lines = ["inst#,actual,predicted,error,distribution,,"]
    lines += [f"{i},{1 + i % 2}:{'ab'[i % 2]},1:a,{'+' * (i % 2)},*0.{70 + i},0.{20 - i},0.1" for i in range(10)]
    assert cc.read_predictions("\n".join(lines).encode(), "w.csv").class_names == ("a", "b", "3")


def test_weka_without_a_distribution_has_the_probability_of_what_it_predicts() -> None:
    lines = ["inst#,actual,predicted,error,prediction", "1,1:a,1:a,,0.9", "2,2:b,1:a,+,0.6", "3,?,1:a,,0.6"]
    table = read_table("\n".join(lines).encode(), "w.csv")
    reading = propose(table)
    assert (reading.layout, reading.confidence) == ("top-label", "prediction")
    found = predictions(table, reading.replace(missing="exclude"))
    assert found.confidence.tolist() == [0.9, 0.6]
    assert found.correct.tolist() == [True, False]


@pytest.mark.parametrize("data", [tidymodels(configs=("a", "b")), caret((2, 4))], ids=["tidymodels", "caret"])
def test_candidates_of_a_tuning_are_models_and_never_one(data: bytes) -> None:
    with pytest.raises(InputError, match="names 2 models"):
        cc.read_predictions(data, "tuned.csv")
    column = propose(read_table(data, "tuned.csv")).models
    assert column is not None
    models = cc.readers.read_models(data, "tuned.csv", models=column)
    for power, found in enumerate(models.values(), 1):
        expected = P**power / (P**power).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(found.probs, expected)


def test_rows_of_repeated_resamples_belong_together() -> None:
    found = cc.read_predictions(caret(repeats=3), "cv.csv")
    assert found.n_rows == 3 * N
    assert found.groups is not None
    assert len(set(found.groups.tolist())) == N


def test_tables_of_yardstick_need_no_shape() -> None:
    """The tables are hpc_cv and two_class_example, as in its documentation."""
    rows = [[LEVELS[y], LEVELS[p.argmax()], *p, f"Fold{i % 10}"] for i, (p, y) in enumerate(zip(P, Y, strict=True))]
    found = cc.read_predictions(text(["obs", "pred", *LEVELS, "Resample"], rows), "hpc_cv.csv")
    np.testing.assert_allclose(found.probs, P)
    assert found.class_names == LEVELS
    assert found.labels.tolist() == Y.tolist()
    p, y = drawn(2)
    rows = [[f"Class{c + 1}", *q, f"Class{q.argmax() + 1}"] for q, c in zip(p, y, strict=True)]
    found = cc.read_predictions(text(["truth", "Class1", "Class2", "predicted"], rows), "two_class_example.csv")
    np.testing.assert_allclose(found.probs, p)
    assert found.labels.tolist() == y.tolist()


def test_a_time_beside_an_event_is_told() -> None:
    p, y = drawn(2)
    rows = [[q[1], c, 30 + i] for i, (q, c) in enumerate(zip(p, y, strict=True))]
    for name, codes in (("time", ["time-to-event"]), ("age", [])):
        table = read_table(text(["risk", "event", name], rows), "trial.csv")
        reading = propose(table)
        np.testing.assert_allclose(predictions(table, reading).probs, p)
        assert [f.code for f in examine(table, reading) if f.severity == "warning"] == codes


def test_boxes_that_were_matched_are_confidences() -> None:
    rows = [[0.5 + i / 100, i % 2, i // 3] for i in range(40)]
    found = cc.read_predictions(text(["confidence", "matched", "image_id"], rows), "boxes.csv")
    assert (found.kind, found.correct.tolist()) == ("confidence", [bool(i % 2) for i in range(40)])


@pytest.mark.filterwarnings("ignore:w.csv. All 10 rows have the same scores")
def test_weka_quotes_the_actual_class_alone() -> None:
    names = {1: ("low", "low"), 2: (r"'it\'s high'", "it's high")}
    lines = ["inst#,actual,predicted,error,distribution,"]
    lines += [f"{i},{1 + i % 2}:{names[1 + i % 2][0]},2:{names[2][1]},{'+' * (i % 2 == 0)},0.3,*0.7" for i in range(10)]
    found = cc.read_predictions("\n".join(lines).encode(), "w.csv")
    assert found.class_names == ("low", "it's high")
    assert found.labels.tolist() == [i % 2 for i in range(10)]


def test_names_of_rows_are_no_tuning() -> None:
    head, *rows = caret().decode().splitlines()
    data = "\n".join([f",{head}", *(f"{i},{row}" for i, row in enumerate(rows, 1))]).encode()
    np.testing.assert_allclose(cc.read_predictions(data, "r.csv").probs, P)


def test_levels_of_h2o_may_be_negative() -> None:
    found = cc.read_predictions(h2o(("-1", "1")), "h2o.csv")
    assert found.class_names == ("-1", "1")


def test_names_of_rows_that_write_table_adds_are_read() -> None:
    for data in (b'"p" "y"\n"1" 0.5 1\n"2" 0.25 0\n', b"p\ty\n1\t0.5\t1\n2\t0.25\t0\n"):
        found = cc.read_predictions(data, "t.txt")
        assert found.probs[:, 1].tolist() == [0.5, 0.25]
        assert any("one field more than the header" in note for note in found.notes)
    with pytest.raises(InputError, match="line 2 has 3 fields, but the header has 2"):
        cc.read_predictions(b"p\ty\n1\t0.5\t1\n1\t0.25\t0\n", "t.txt")


def test_a_label_and_its_score_are_no_output_of_a_pipeline_where_scores_are_small() -> None:
    rows = [f"{'ab'[i % 2]},{0.2 + i / 50}" for i in range(30)]
    assert not read_table("\n".join(["label,score", *rows]).encode(), "t.csv").origin
    high = "\n".join(["label,score", *(f"{'ab'[i % 2]},{0.6 + i / 100}" for i in range(30))]).encode()
    with pytest.warns(UserWarning, match='"score" is read as the probability of class "b", but no name assigns it'):
        assert cc.read_predictions(high, "t.csv", layout="wide").kind == "full"


def test_an_ordinary_table_is_of_no_shape() -> None:
    for lines in ("p_a,p_b,label", "predict,a,label", "pred,obs,a", "inst#,actual,predicted,error"):
        rows = "\n".join([lines, *[",".join(["0.5"] * len(lines.split(",")))] * 3])
        assert not read_table(rows.encode(), "t.csv").origin


def frame(data: bytes) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(data), dtype=str, keep_default_na=False)


def csv(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False).encode()


def silent(instead: str) -> bytes:
    """Return Weka's rows, every third without a class."""
    head, *rows = [line.split(",") for line in weka().decode().splitlines()]
    return text(head, [[row[0], instead, *row[2:]] if i % 3 == 0 else row for i, row in enumerate(rows)])


def every_third(values: pd.Series, instead: str) -> pd.Series:
    return values.where(np.arange(len(values)) % 3 != 0, instead)


TIDY, CARET, BINARY = frame(tidymodels()), frame(caret()), frame(h2o(("0", "1")))
NUMBERS = np.random.default_rng(3).normal(50, 9, N)
LABELLED = np.arange(N) % 3 != 0
RARE = Y < 2
BESIDE = {
    "a standard error": (csv(BINARY.assign(StdErr=NUMBERS / 1000)[["predict", "p0", "p1", "StdErr", "response"]]), 2),
    "an offset of 0 behind": (csv(BINARY.assign(offset=0.0)[["predict", "p0", "p1", "offset", "response"]]), 2),
    "an age behind": (csv(BINARY.assign(age=NUMBERS)[["predict", "p0", "p1", "age", "response"]]), 2),
    "labels as 1.0": (csv(BINARY.assign(response=BINARY["response"].astype(float))), 2),
    "levels with points for spaces": (csv(frame(h2o(("a.b", "c.d"))).replace({"a.b": "a b", "c.d": "c d"})), 2),
    "row names of caret": (csv(CARET.assign(**{"": np.arange(1, N + 1)})[["", *CARET.columns]]), 3),
    "a column of the site": (csv(CARET.assign(site=np.arange(N) % 4)), 3),
    "intervals of tidymodels": (csv(TIDY.assign(**{".pred_lower_setosa": 0.1, ".pred_upper_setosa": 0.9})), 3),
    "names that may not begin with a point": (
        csv(TIDY.rename(columns=lambda name: f"X{name}" if name.startswith(".pred") else name)), 3
    ),
    "names with points for spaces": (
        csv(frame(tidymodels(("a.1", "b.1", "c.1"))).replace({"a.1": "a 1", "b.1": "b 1", "c.1": "c 1"})), 3
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BESIDE)
def test_what_stands_beside_the_probabilities_changes_nothing(what: str) -> None:
    data, k = BESIDE[what]
    p, y = (P, Y) if k == 3 else drawn(2)
    table = read_table(data, "predictions.csv")
    found = predictions(table, propose(table))
    np.testing.assert_allclose(found.probs, p, atol=1e-12)
    assert found.labels.tolist() == y.tolist()
    assert table.origin


UNLABELLED = {
    "Weka, with a number": silent("1:?"),
    "Weka": silent("?"),
    "R": csv(TIDY.assign(Species=every_third(TIDY["Species"], "NA"))),
}


@pytest.mark.filterwarnings("ignore:.*rescaled")
@pytest.mark.parametrize("what", UNLABELLED)
def test_rows_whose_class_is_unknown_are_missing_ones(what: str) -> None:
    table = read_table(UNLABELLED[what], "predictions.csv")
    (problem,) = [f for f in examine(table, propose(table)) if f.severity == "problem"]
    assert (problem.code, problem.change) == ("missing", {"missing": "exclude"})
    found = predictions(table, propose(table, missing="exclude"))
    np.testing.assert_allclose(found.probs, P[LABELLED], atol=2e-3)
    assert found.labels.tolist() == Y[LABELLED].tolist()
    assert found.class_names == LEVELS


def test_a_level_that_caret_neither_saw_nor_predicted_is_a_class() -> None:
    rows = CARET[RARE & (P.argmax(axis=1) < 2)]
    found = cc.read_predictions(csv(rows), "caret.csv")
    np.testing.assert_allclose(found.probs, P[RARE & (P.argmax(axis=1) < 2)], atol=1e-12)
    assert found.class_names == LEVELS
