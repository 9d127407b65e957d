"""Synthetic predictions equal their reference, demo files equal their script, and every lesson is true.

All calibration errors are computed here with plain numpy: a lesson must not be proved by the code it
advertises.
"""

import io
import math
import os
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calib_core import datasets
from calib_core.datasets import DEMOS, demo
from calib_core.readers import read_predictions
from demo_data import make_demo_data

ROOT = Path(__file__).parents[2]
FOLDER = Path(make_demo_data.__file__).parent


# ---- synthetic predictions ---------------------------------------------------------------------------------


def reference(name):
    """Return a reference array drawn independently by the generators' authors; not part of this repository."""
    shared = Path(os.environ.get("CALIB_SHARED", ROOT.parent / "shared"))
    path = shared / "data" / name
    if not path.is_file():
        pytest.skip(f"no reference array {name}: set CALIB_SHARED to the folder that holds data/{name}")
    with np.load(path) as arrays:
        return {key: arrays[key] for key in arrays.files}


def assert_same_rows(data, expected, probs, truth):
    np.testing.assert_array_equal(probs, expected["probs"])
    np.testing.assert_array_equal(data.predictions.labels, expected["labels"])
    np.testing.assert_allclose(truth, expected["true_probs"], rtol=0, atol=1e-15)


def test_kumar_binary_equals_the_reference():
    data = datasets.kumar_binary(2000, 0)
    expected = reference("synth_kumar_binary.npz")
    assert_same_rows(data, expected, data.predictions.probs[:, 1], data.true_probs[:, 1])


def test_valk_kull_validation_then_test_rows_equal_the_reference():
    rng = np.random.default_rng(0)
    for n, part in ((5000, "val"), (100_000, "test")):
        data = datasets.valk_kull(n, rng)
        expected = reference(f"synth_valkkull_{part}.npz")
        assert_same_rows(data, expected, data.predictions.probs, data.true_probs)


def test_kumar_binary_frozen_values():
    # numpy.random.default_rng(0).random(2000)[:3]; sigmoid(2 logit z + 1) has odds e (z / (1 - z))^2.
    data = datasets.kumar_binary(2000, 0)
    z = data.predictions.probs[:3, 1]
    np.testing.assert_allclose(z, [0.63696169, 0.26978671, 0.04097352], atol=1e-8)
    odds = [math.e * (v / (1 - v)) ** 2 for v in z]
    np.testing.assert_allclose(data.true_probs[:3, 1], [o / (1 + o) for o in odds], rtol=1e-12)
    assert data.predictions.labels[:12].tolist() == [0, 1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0]
    assert data.predictions.labels.sum() == 1200


def test_valk_kull_frozen_values():
    # First row of default_rng(0).dirichlet([.5] * 3, 5000); its truth term by term from P3 §4.1.1.
    data = datasets.valk_kull(5000, 0)
    p1, p2, p3 = data.predictions.probs[0]
    np.testing.assert_allclose([p1, p2, p3], [0.30630066, 0.00118032, 0.69251901], atol=1e-8)
    raw = [p1**0.8 + p1 * p2 / 5, p2 + p1 * p3 / 3, p3 + p1 * p2 / 10]
    np.testing.assert_allclose(data.true_probs[0], [r / sum(raw) for r in raw], rtol=1e-12)
    np.testing.assert_allclose(data.true_probs[0], [0.33676259, 0.0623696, 0.60086782], atol=1e-8)
    assert data.predictions.labels[:12].tolist() == [2, 2, 1, 2, 1, 2, 0, 2, 0, 1, 0, 2]
    assert np.bincount(data.predictions.labels).tolist() == [1760, 1638, 1602]


@pytest.mark.parametrize("make", [datasets.kumar_binary, datasets.valk_kull])
def test_synthetic_labels_follow_the_true_probabilities(make):
    data = make(40_000, 7)
    shares = np.bincount(data.predictions.labels, minlength=data.true_probs.shape[1]) / 40_000
    np.testing.assert_allclose(shares, data.true_probs.mean(axis=0), atol=0.01)  # 4 standard deviations: 4 * .5 / 200
    np.testing.assert_allclose(data.true_probs.sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("make", [datasets.kumar_binary, datasets.valk_kull])
def test_same_seed_same_rows_and_another_seed_others(make):
    first, again, other = make(50, 3), make(50, 3), make(50, 4)
    np.testing.assert_array_equal(first.predictions.probs, again.predictions.probs)
    np.testing.assert_array_equal(first.predictions.labels, again.predictions.labels)
    assert (first.predictions.probs != other.predictions.probs).any()


def test_example_1_has_no_confidence_error_and_a_top_label_error_of_four_tenths():
    data = datasets.example_1(1000)
    confidence, predicted, correct = claims(data.predictions.probs, data.predictions.labels)
    assert np.unique(confidence).tolist() == [0.6]
    assert ece(confidence, correct) == pytest.approx(0, abs=1e-12)
    assert top_label_ece(confidence, predicted, correct) == pytest.approx(0.4, abs=1e-12)
    assert correct[predicted == 0].mean() == 0.2
    assert correct[predicted == 1].mean() == 1.0


def test_example_1_labels_have_exactly_the_true_shares():
    data = datasets.example_1(50)
    for x in ("a", "b"):
        rows = (data.predictions.metadata["x"] == x).to_numpy()
        shares = np.bincount(data.predictions.labels[rows], minlength=3) / rows.sum()
        np.testing.assert_allclose(shares, data.true_probs[rows][0], atol=1e-15)


@pytest.mark.parametrize("n", [0, -10, 7, 15])
def test_example_1_refuses_a_number_of_rows_without_exact_proportions(n):
    message = f"^n is {n}; .*multiple of 10$"
    with pytest.raises(ValueError, match=message):
        datasets.example_1(n)


def test_six_points_show_every_class_as_predicted():
    six = datasets.six_points()
    assert (six.n_rows, six.n_classes) == (6, 4)
    assert set(six.predicted.tolist()) == {0, 1, 2, 3}


# ---- demo files --------------------------------------------------------------------------------------------


@cache
def table(file):
    """Return the columns of a demo file: a DataFrame, or the arrays of an NPZ file."""
    if file.endswith(".csv"):
        return pd.read_csv(FOLDER / file)
    if file.endswith(".parquet"):
        return pd.read_parquet(FOLDER / file)
    if file.endswith(".jsonl"):
        return pd.read_json(FOLDER / file, lines=True)
    with np.load(FOLDER / file) as arrays:
        return {key: arrays[key] for key in arrays.files}


def wide(file, names):
    """Return probabilities and label codes of a table with one column per class."""
    frame = table(file)
    codes = {label: code for code, name in enumerate(names) for label in (name, name.removeprefix("p_"))}
    return frame[names].to_numpy(), frame["label"].astype(str).map(codes).to_numpy()


def claims(probs, labels):
    predicted = probs.argmax(axis=1)
    return probs.max(axis=1), predicted, (predicted == labels).astype(float)


def ece(confidence, correct, bins=15):
    """Return the expected calibration error over equal-width bins closed on the left."""
    bin_of = np.minimum((confidence * bins).astype(int), bins - 1)
    return sum(abs((confidence - correct)[bin_of == b].sum()) for b in range(bins)) / len(confidence)


def top_label_ece(confidence, predicted, correct, bins=15):
    classes = np.unique(predicted)
    share = [(predicted == c).mean() for c in classes]
    return float(np.dot(share, [ece(confidence[predicted == c], correct[predicted == c], bins) for c in classes]))


def chance_of(error, confidence):
    """Return the share of perfectly calibrated models with these confidences whose ECE is at least this large."""
    rng = np.random.default_rng(0)
    errors = [ece(confidence, (rng.random(confidence.size) < confidence).astype(float)) for _ in range(500)]
    return float(np.mean(np.array(errors) >= error))


DIGITS = [f"p_{k}" for k in range(10)]


def test_lesson_digits_naive_bayes():
    confidence, _, correct = claims(*wide("digits_naive_bayes.csv", DIGITS))
    assert round(confidence.mean(), 2) == 0.99
    assert round(correct.mean(), 2) == 0.85
    assert confidence.mean() - correct.mean() > 0.05
    assert round(correct[confidence >= 0.99].mean(), 2) == 0.88


def test_lesson_digits_random_forest():
    confidence, _, correct = claims(*wide("digits_random_forest.parquet", DIGITS))
    assert round(correct.mean(), 2) == 0.97
    assert round(confidence.mean(), 2) == 0.77
    naive = claims(*wide("digits_naive_bayes.csv", DIGITS))
    assert correct.mean() > naive[2].mean()
    assert ece(confidence, correct) > ece(naive[0], naive[2]) + 0.03


def test_lesson_digits_mlp():
    arrays = table("digits_mlp.npz")
    exponentials = np.exp(arrays["logits"] - arrays["logits"].max(axis=1, keepdims=True))
    confidence, _, correct = claims(exponentials / exponentials.sum(axis=1, keepdims=True), arrays["labels"])
    assert round(ece(confidence, correct), 3) == 0.009
    assert chance_of(ece(confidence, correct), confidence) > 0.1


def test_lesson_breast_cancer_svm():
    probs, labels = wide("breast_cancer_svm.csv", ["malignant", "benign"])
    risk, malignant = probs[:, 0], labels == 0
    low, high = (malignant[abs(risk - about) <= 0.04] for about in (0.2, 0.8))
    assert min(len(low), len(high)) > 40
    assert round(low.mean(), 2) == 0.01
    assert high.all()


def test_lesson_wine_logistic():
    arrays = table("wine_logistic.npz")
    confidence, _, correct = claims(arrays["probs"], arrays["labels"])
    assert round(ece(confidence, correct), 3) == 0.036
    # 500 simulated models: a standard deviation is 0.017.
    assert chance_of(ece(confidence, correct), confidence) == pytest.approx(1 / 6, abs=0.05)


def test_lesson_example_1():
    confidence, predicted, correct = claims(*wide("example_1.csv", ["disease 1", "disease 2", "disease 3"]))
    assert ece(confidence, correct) == pytest.approx(0, abs=1e-12)
    assert top_label_ece(confidence, predicted, correct) == pytest.approx(0.4, abs=1e-12)
    for c in np.unique(predicted):
        of_class = predicted == c
        assert ece(confidence[of_class], correct[of_class]) == pytest.approx(0.4, abs=1e-12)


def test_lesson_synthetic_three_class():
    probs, labels = wide("synthetic_three_class.parquet", ["A", "B", "C"])
    shares = np.bincount(labels) / labels.size
    assert [round(shares[0], 2), round(probs[:, 0].mean(), 2)] == [0.36, 0.33]
    assert (shares - probs.mean(axis=0) > 0).tolist() == [True, False, False]
    assert table("synthetic_three_class.parquet")["split"].value_counts().to_dict() == {
        "calibration": 2000,
        "test": 4000,
    }


@pytest.mark.parametrize("entry", [one for one in DEMOS if one.truth], ids=lambda one: one.key)
def test_labels_of_a_demo_with_a_known_truth_follow_it(entry):
    predictions = read_predictions(FOLDER / entry.file, rows="all")
    truth = entry.truth(predictions.probs.astype(float))
    surprise = np.eye(entry.classes)[predictions.labels] - truth
    # In each half of each class's probabilities the mean surprise is within 4 standard errors of 0.
    for j in range(entry.classes):
        for half in (predictions.probs[:, j] < 0.5, predictions.probs[:, j] >= 0.5):
            spread = np.sqrt((truth[half, j] * (1 - truth[half, j])).sum()) / half.sum()
            assert abs(surprise[half, j].mean()) < 4 * spread


def test_lesson_imbalanced_forest():
    names = [f"class {k}" for k in range(1, 8)]
    probs, labels = wide("imbalanced_forest.parquet", names)
    confidence, predicted, correct = claims(probs, labels)
    shares = np.bincount(labels) / labels.size
    np.testing.assert_allclose(shares, [0.36, 0.49, 0.06, 0.005, 0.015, 0.03, 0.035], atol=0.01)
    rare = np.isin(predicted, np.argsort(shares)[:4])
    assert round(ece(confidence, correct), 2) == 0.10
    assert round(top_label_ece(confidence[rare], predicted[rare], correct[rare], bins=10), 2) == 0.29
    assert correct[rare].mean() - confidence[rare].mean() > 0.25


def test_lesson_language_model():
    frame = table("language_model.jsonl")
    correct = frame["predicted"] == frame["label"]
    assert round(frame["confidence"].mean(), 2) == 0.82
    assert round(correct.mean(), 2) == 0.59
    assert round(correct[frame["confidence"] == 0.9].mean(), 2) == 0.63
    law = correct[frame["subject"] == "law"]
    assert round(law.mean(), 2) == 0.47
    # Screens evaluate test rows, with another number: the lesson states its number of rows.
    (lesson,) = [entry.lesson for entry in DEMOS if entry.key == "language-model"]
    assert f"over all {len(frame):,} rows" in lesson
    assert f"in law only 47 % of {len(law)} rows are right" in lesson
    assert correct.groupby(frame["subject"]).mean().idxmin() == "law"
    assert frame["confidence"].nunique() == 11


def test_lesson_patients():
    probs, labels = wide("patients.csv", ["p_better", "p_stable", "p_worse"])
    confidence, _, correct = claims(probs, labels)
    assert [round(confidence.mean(), 2), round(correct.mean(), 2)] == [0.68, 0.66]
    _, patient = np.unique(table("patients.csv")["patient"], return_inverse=True)
    away = correct - correct.mean()
    ends = []
    for sums in (away, np.bincount(patient, away)):
        half = 1.645 * np.sqrt(np.square(sums).sum()) / len(away)
        ends.append([round(float(correct.mean() + sign * half), 2) for sign in (-1, 1)])
    assert ends == [[0.64, 0.67], [0.62, 0.69]]
    assert confidence.mean() > 0.674  # above what is left by rows, within what is left by patients


def test_lesson_hospital_risk():
    frame = table("hospital_risk.csv")
    sums = frame.groupby("hospital")[["died", "risk"]].sum()
    assert (len(frame), frame["died"].sum(), round(frame["risk"].sum())) == (4000, 580, 603)
    assert (sums.loc["River", "died"], round(sums.loc["River", "risk"])) == (36, 75)
    # Only there is the number beyond what chance gives: 4 standard deviations.
    spread = np.sqrt((frame["risk"] * (1 - frame["risk"])).groupby(frame["hospital"]).sum())
    away = ((sums["died"] - sums["risk"]) / spread).abs()
    assert away["River"] > 4
    assert away.drop("River").max() < 1.5
    assert frame["age"].isna().sum() > 100


def test_lesson_card_fraud():
    frame = table("card_fraud.parquet")
    assert (frame["fraud"].sum(), round(frame["score"].sum())) == (101, 280)
    assert round(frame["score"].mean() - frame["fraud"].mean(), 3) == 0.011
    # Odds divided by 3 are what happens.
    odds = frame["score"] / (1 - frame["score"]) / 3
    assert (odds / (1 + odds)).sum() == pytest.approx(101, abs=5)


def test_every_demo_has_a_lesson_test():
    tested = {name.removeprefix("test_lesson_") for name in globals() if name.startswith("test_lesson_")}
    assert tested == {entry.key.replace("-", "_") for entry in DEMOS}


# Fits that are quick and have one solution; forests and networks may differ between scikit-learn releases.
FAST = [
    "digits_naive_bayes.csv",
    "breast_cancer_svm.csv",
    "wine_logistic.npz",
    "example_1.csv",
    "synthetic_three_class.parquet",
    "language_model.jsonl",
    "patients.csv",
    "hospital_risk.csv",
    "card_fraud.parquet",
]


@pytest.mark.parametrize("file", FAST)
def test_the_script_reproduces_the_committed_values(file):
    committed, built = table(file), make_demo_data.BUILDERS[file]()
    assert list(committed) == list(built)
    for column in committed:
        old, new = np.asarray(committed[column]), np.asarray(built[column])
        if np.issubdtype(new.dtype, np.floating):
            np.testing.assert_allclose(old, new, rtol=0, atol=1e-5)
        else:
            np.testing.assert_array_equal(old.astype(str), new.astype(str))


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz", ".jsonl"])
def test_written_files_read_back_as_committed(suffix, tmp_path):
    file = next(name for name in FAST if name.endswith(suffix))
    make_demo_data.write(make_demo_data.BUILDERS[file](), tmp_path / file)
    assert (tmp_path / file).stat().st_size == pytest.approx((FOLDER / file).stat().st_size, rel=0.1)


def test_mlp_logits_are_what_scikit_learn_puts_through_its_softmax():
    from sklearn.datasets import load_iris
    from sklearn.neural_network import MLPClassifier

    X, y = load_iris(return_X_y=True)
    network = MLPClassifier((8, 5), solver="lbfgs", max_iter=2000, random_state=0).fit(X, y)
    exponentials = np.exp(make_demo_data.mlp_logits(network, X))
    np.testing.assert_allclose(
        exponentials / exponentials.sum(axis=1, keepdims=True), network.predict_proba(X), atol=1e-10
    )


def test_registry_and_folder_name_the_same_files():
    on_disk = {path.name for path in FOLDER.iterdir() if path.suffix in {".csv", ".parquet", ".npz", ".jsonl"}}
    assert {entry.file for entry in DEMOS} == on_disk == set(make_demo_data.BUILDERS)
    assert len({entry.key for entry in DEMOS}) == len(DEMOS)
    assert sum((FOLDER / name).stat().st_size for name in on_disk) < 1_500_000


def test_demo_reads_what_is_on_disk():
    for entry in DEMOS:
        content, name = demo(entry.key)
        assert name == entry.file
        assert content == (FOLDER / name).read_bytes()
    with np.load(io.BytesIO(demo("digits-mlp")[0])) as arrays:
        assert arrays["logits"].shape == (1797, 10)


NOTED = {
    "digits-naive-bayes",
    "digits-mlp",
    "imbalanced-forest",
    "language-model",
    "patients",
    "hospital-risk",
    "card-fraud",
}


@pytest.mark.parametrize("entry", DEMOS, ids=lambda entry: entry.key)
def test_readers_take_every_demo_as_it_is(entry):
    read = read_predictions(*demo(entry.key), rows="all", accepted="models")
    assert (read.n_rows, read.n_classes) == (entry.rows, entry.classes)
    # The statements in the notes change no number: ties, logits, probabilities of 0, a second model, patients.
    assert bool(read.notes) == (entry.key in NOTED)
    assert (read.logits is not None) == (entry.key == "digits-mlp")
    assert read.kind == ("top-label" if entry.key == "language-model" else "full")


def test_registry_states_rows_and_classes():
    for entry in DEMOS:
        content = table(entry.file)
        outcome = next(name for name in ("labels", "label", "died", "fraud") if name in content)
        labels = content[outcome]
        assert (len(labels), len(np.unique(labels))) == (entry.rows, entry.classes), entry.key


def test_an_unknown_demo_is_refused_with_the_list_of_known_ones():
    known = ", ".join(entry.key for entry in DEMOS)
    with pytest.raises(ValueError, match=f"^demo is 'nonsense'; choose one of {known}$"):
        demo("nonsense")


def test_readme_tells_every_file_and_lesson():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    for entry in DEMOS:
        assert f"| `{entry.file}` | {entry.rows:,} x {entry.classes} | {entry.lesson} |" in text
