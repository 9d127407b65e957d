"""Model cards: Markdown that stays text, and metadata that YAML and Hugging Face's own package read back exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

import calib_core as cc
from calib_core import InputError
from dashboard import session
from dashboard.cli import main
from dashboard.integrations import Handout
from dashboard.integrations.model_cards import escaped, yaml_lines
from dashboard.report import CHAPTERS
from dashboard.selection import Selection
from tests.support.named import hostile_csv

HOSTILE = "<img src=x>|[a](https://x.example) `b` $c$ *d*"


@pytest.fixture(scope="module")
def handout() -> Handout:
    return Handout.of("demo:wine-logistic", calibrators=["temperature"], eps=0.05)


def metadata(card: str) -> Any:
    yaml = pytest.importorskip("yaml", reason="nothing here reads YAML")
    begin, block, rest = card.split("---\n", 2)
    assert begin == ""
    assert rest.startswith("\n## Calibration\n")
    return yaml.safe_load(block)["model-index"]


def test_the_metadata_are_the_numbers_of_the_exhibits(handout: Handout) -> None:
    found = metadata(handout.model_card("tabular-classification"))
    table = handout.table
    assert [entry["name"].rpartition(", ")[2] for entry in found][1:] == ["Temperature scaling"]
    for entry, model in zip(found, handout.scene.titles, strict=True):
        (result,) = entry["results"]
        lines = table[table["model"] == model].reset_index(drop=True)
        assert [metric["value"] for metric in result["metrics"]] == lines["point"].tolist()
        assert [metric["type"] for metric in result["metrics"]] == ["ece", "accuracy", "log_loss", "brier"]
        for name in ("low", "high", "level", "value", "floor", "p"):
            told = "raw_value" if name == "value" else name
            assert [metric["args"][told] for metric in result["metrics"]] == lines[name].tolist()
        first = result["metrics"][0]["args"]
        assert (first["verdict"], first["tolerance"], first["notion"]) == (
            lines["verdict"][0],
            0.05,
            lines["notion"][0],
        )
        assert "verdict" not in result["metrics"][1]["args"]
        assert result["task"] == {"type": "tabular-classification"}
        file = session.file(handout.selection.source.data)
        assert result["dataset"]["revision"] == file.digest
        assert result["dataset"]["args"]["rows"] == lines["rows"][0]


def test_a_tracker_is_told_the_estimate_by_the_bare_name_and_its_other_numbers_beside(handout: Handout) -> None:
    numbers = handout.numbers()
    for line in handout.table.to_dict("records"):
        name = f"calib/{line['model']}/{line['estimator']}"
        assert numbers[name] == line["point"]
        for part in ("low", "high", "value", "floor"):
            assert numbers[f"{name}_{part}"] == line[part]
    ece = handout.table[handout.table["estimator"] == "ece"]
    assert (ece["point"] != ece["value"]).all(), "else one could stand for the other"


def test_the_words_are_those_of_the_screen(handout: Handout) -> None:
    card = handout.model_card()
    shown, frame = handout.exhibit("verdict")
    for sentence in shown.words(handout.scene).notes:
        assert f"\n- {escaped(sentence)}\n" in card
    for line in frame.to_dict("records"):
        assert f"| {line['verdict']} |" in card.replace("within tolerance", "within")
    assert escaped(session.parts(handout.selection.source).rule)[1:] in card


@given(
    st.recursive(
        st.text() | st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.booleans() | st.none(),
        lambda inner: st.lists(inner, min_size=1) | st.dictionaries(st.text(), inner, min_size=1),
        max_leaves=12,
    )
)
@example([1e-07, 1e22, "\U0001f600\x85", {"": -0.0, "yes": "1e5", "- a: b": "null"}, [[{"a": []}]]])
def test_yaml_reads_back_what_was_written(value: Any) -> None:
    yaml = pytest.importorskip("yaml", reason="nothing here reads YAML")
    assert yaml.safe_load("\n".join(yaml_lines({"all": value}))) == {"all": value}


def test_half_a_sign_is_written_as_none() -> None:
    assert list(yaml_lines({"a": "\ud800b"})) == ['a: "\\ufffdb"']


@given(st.text())
def test_escaped_text_is_one_line_without_markup(text: str) -> None:
    plain = escaped(text)
    assert "<" not in plain
    assert len(plain.splitlines()) <= 1
    for sign in "*_`[]|$~":
        assert plain.count(sign) == plain.count(f"\\{sign}")


def test_names_of_other_people_stay_text(tmp_path: Path) -> None:
    path = tmp_path / f"{HOSTILE.replace('/', '')}.csv"
    path.write_bytes(hostile_csv())
    card = Handout.of(path).model_card()
    found = metadata(card)
    assert found[0]["results"][0]["dataset"]["name"] == path.name
    _, _, text = card.split("---\n", 2)
    assert "<img" not in text
    assert "[a](" not in text
    assert "`" not in text.replace("\\`", "")


def test_hugging_faces_package_reads_it(handout: Handout) -> None:
    hub: Any = pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    card = hub.ModelCard(handout.model_card("tabular-classification"))
    results = card.data.eval_results
    assert [result.metric_value for result in results] == [
        handout.table.loc[i, "point"]
        for model in handout.scene.titles
        for i in np.flatnonzero(handout.table["model"] == model)
    ]
    assert results[0].metric_args["verdict"] == handout.table["verdict"][0]
    assert {result.task_type for result in results} == {"tabular-classification"}


@pytest.mark.parametrize("weights", [None, np.arange(40) % 3, np.linspace(0, 2, 40)])
@pytest.mark.parametrize("kind", ["full", "top-label", "confidence"])
def test_predictions_in_memory_are_read_back_to_the_bit(kind: str, weights: Any) -> None:
    rng = np.random.default_rng(0)
    probs, labels = rng.dirichlet([1.0, 2.0, 3.0], 40), rng.integers(0, 3, 40)
    extra: dict[str, Any] = {"weights": weights, "groups": np.arange(40) // 2}
    names = ["<b>", "a|b", "é\u202e"]
    if kind == "full":
        rows = cc.Predictions(probs, labels, class_names=names, **extra)
    elif kind == "top-label":
        rows = cc.Predictions.from_confidence(
            probs.max(1), predicted=probs.argmax(1), labels=labels, class_names=names, **extra
        )
    else:
        rows = cc.Predictions.from_confidence(probs.max(1), probs.argmax(1) == labels, **extra)
    back = session.parts(Handout.of(rows).selection.source).test
    assert back.kind == kind
    for name in ("confidence", "correct", "weights", "groups"):
        np.testing.assert_array_equal(getattr(back, name), getattr(rows, name))
    if kind == "full":
        np.testing.assert_array_equal(back.probs, rows.probs)
        assert back.class_names == rows.class_names
    if kind == "top-label":
        # A class that nothing is predicted as or labeled with is not in a file of single answers.
        assert set(back.class_names or ()) <= set(rows.class_names or ())


def test_all_rows_are_judged_unless_something_is_fitted() -> None:
    assert Handout.of("demo:wine-logistic").rule == ""
    assert (
        Handout.of("demo:wine-logistic").table["rows"][0]
        == 2 * Handout(Selection().replace(data="demo:wine-logistic", by="share")).table["rows"][0]
    )
    assert Handout.of("demo:wine-logistic", share=0.25).rule == "Split at random, stratified by class."


def test_choices_go_by_their_names() -> None:
    card = Handout.of("demo:wine-logistic", calibrators="temperature", tolerance=0.1, bins=7)
    assert (card.selection.eps, card.selection.bins, len(card.selection.calibrators)) == (0.1, 7, 1)
    with pytest.raises(InputError, match=r"^there is no choice 'tolerence'; choices: .*bins, .*folds"):
        Handout.of("demo:wine-logistic", tolerence=0.1)


def test_predictions_that_no_file_holds_are_refused() -> None:
    rows = cc.Predictions([[0.6, 0.4]] * 4, [0, 1, 0, 1])
    for odd, why in (
        (cc.Predictions.from_scores([[0.6, 0.6]] * 4, [0, 1, 0, 1]), "whose rows do not sum to one"),
        (rows.with_probs(rows.probs, abstained=[True, False, False, False]), "that withhold rows"),
        (
            cc.Predictions.from_confidence([[0.6, 0.3]] * 4, predicted=[[0, 1]] * 4, labels=[0, 1, 0, 2]),
            "with several classes per row",
        ),
    ):
        with pytest.raises(InputError) as refused:
            Handout.of(odd)
        assert str(refused.value) == f"predictions {why} exist only in memory: write them to a file first"


def test_the_command_writes_the_card_of_the_same_choices(tmp_path: Path) -> None:
    few = [word for chapter in CHAPTERS if chapter.key != "summary" for word in ("--leave-out", chapter.key)]
    names = {"report": tmp_path / "r.html", "card": tmp_path / "card.md"}
    words = ["report", "demo:wine-logistic", "--calibrator", "temperature", "--tolerance", "0.05", *few]
    ended = CliRunner().invoke(main, [*words, "-o", str(names["report"]), "--model-card", str(names["card"])])
    assert (ended.exit_code, ended.output) == (0, "")
    same = Handout.of("demo:wine-logistic", calibrators=["temperature"], eps=0.05).model_card()
    assert names["card"].read_text("utf-8") == same
