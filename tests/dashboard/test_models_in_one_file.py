"""A column that names the model: offered, read with one click, shown like two files, stored in link and command."""

from __future__ import annotations

import io
import json
import shlex
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core.datasets import demo
from dashboard import session
from dashboard.cli import main
from dashboard.commands import _opened_models
from dashboard.exhibits import EXHIBITS
from dashboard.report import CHAPTERS, Options, build
from dashboard.selection import Selection, Source
from tests.dashboard.test_data_view import click, plain, said, upload
from tests.dashboard.test_views import opened

DEMO = "demo:language-model"
SMALL, LARGE = (json.dumps({"model": m, "models": "model", "question": ["question"]}, separators=(",", ":"))
                for m in ("small", "large"))  # fmt: skip
BOTH = Selection(source=Source(DEMO, SMALL), others=((DEMO, LARGE),), calibrators=())


def chosen(app: AppTest) -> Selection:
    held: Selection = app.session_state["calib.selection"]
    return held


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write the demo's rows as one file, and as a file for each model."""
    content, _ = demo("language-model")
    frame = pd.read_json(io.BytesIO(content), lines=True)
    folder = tmp_path_factory.mktemp("models")
    parts = {"both": frame, **{name: part.drop(columns="model") for name, part in frame.groupby("model")}}
    for name, part in parts.items():
        part.to_json(folder / f"{name}.jsonl", orient="records", lines=True)
    return {str(name): folder / f"{name}.jsonl" for name in parts}


def test_one_click_shows_both_models_and_another_takes_it_back() -> None:
    app = opened(Selection(source=Source(DEMO), view="data", calibrators=()))
    assert any("names 2 models over the same 1,000 questions" in text for text in said(app.warning))
    assert chosen(app).others == ()
    app = click(app, "Read as 2 models")
    assert chosen(app).replace(view="overview", calibrators=()) == BOTH
    assert chosen(app).view == "overview"
    assert [model.title for model in session.models(chosen(app)).shown] == ["small", "large"]
    assert "small and large" in plain(app.button(key="frame.data").label)
    app = opened(BOTH.replace(view="data"))
    assert "##### Stated confidence of a language model, small" in said(app.markdown)
    assert [box.value for box in app.selectbox if box.label == "Model shown first"] == ["small"]
    (box,) = [box for box in app.selectbox if box.label == "Model shown first"]
    box.set_value("large").run()
    assert [json.loads(changed)["model"] for _, changed in chosen(app).readings] == ["large", "small"]
    (box,) = [box for box in app.selectbox if box.label == "Missing values"]
    box.set_value("exclude").run()
    assert [json.loads(changed)["missing"] for _, changed in chosen(app).readings] == ["exclude", "exclude"]
    click(app, "Back to the proposed reading")
    assert chosen(app).readings == ((DEMO, ""),)


def test_a_model_that_is_left_out_leaves_the_others_of_its_file() -> None:
    three = "model,question,confidence,correct\n" + "".join(
        f"{m},{q},0.{q % 8 + 1},{(q + i) % 2}\n" for q in range(40) for i, m in enumerate(("gpt-4", "gpt-4o", "gpt-5"))
    )
    key = session.hold(three.encode(), "three.csv").key
    read = [json.dumps({"models": "model", "model": m, "question": ["question"]}) for m in ("gpt-4", "gpt-4o", "gpt-5")]
    selection = Selection(source=Source(key, read[0]), others=((key, read[1]), (key, read[2])), calibrators=())
    assert [model.title for model in session.models(selection).shown] == ["gpt-4", "gpt-4o", "gpt-5"]
    assert len({model.key for model in session.models(selection).shown}) == 3
    app = opened(selection.replace(view="data"))
    app.button(key="data.more.drop.0").click().run()
    assert chosen(app).others == ((key, read[2]),)


def test_they_are_shown_as_two_files_would_be(files: dict[str, Path]) -> None:
    keys = [session.hold(files[name].read_bytes(), files[name].name).key for name in ("small", "large")]
    apart = Selection(source=Source(keys[0]), others=((keys[1], ""),), calibrators=())
    for selection in (BOTH, apart):
        assert Selection.from_query(selection.to_query()) == (selection, ())
    for exhibit in ("pairs", "calibrators", "skills"):
        tables = []
        for selection in (BOTH, apart):
            scene = session.scene_of(selection)
            tables.append(scene.get(EXHIBITS.make(exhibit).table(scene)).drop(columns=["model", "first", "second"],
                                                                              errors="ignore"))  # fmt: skip
        pd.testing.assert_frame_equal(*[t.select_dtypes("number") for t in tables])


def test_the_report_tells_the_models_and_their_readings_apart() -> None:
    others = tuple(chapter.key for chapter in CHAPTERS if chapter.key != "data")
    report = build(BOTH, Options(left_out=others)).html.decode()
    for name in ("small", "large"):
        assert f"Stated confidence of a language model, {name}" in report


def test_commands_read_a_file_as_the_files_of_its_models(files: dict[str, Path]) -> None:
    both, small, large = (str(files[name]) for name in ("both", "small", "large"))
    one, two = (run("compare", *args, "--json")["lines"] for args in ((both, "--models-in", "model"), (small, large)))
    names = ("first", "second")
    assert {line[n] for line in one for n in names} == {"large", "small"}
    assert [{**line, "first": "", "second": ""} for line in one] == [
        {**line, "first": "", "second": ""} for line in two
    ]
    audited = run("audit", both, "--models-in", "model", "--notion", "confidence", "--estimator", "ece", "--json")
    assert list(audited["models"]) == ["large", "small"]  # sorted in the record
    p = cc.read_models(files["both"])
    shown = run("show", "skills", both, "--models-in", "model", "--format", "json")
    assert [line["model"] for line in shown["lines"]] == list(p)


def test_what_to_recalibrate_with_is_chosen_for_each_model(files: dict[str, Path]) -> None:
    how = ("--candidate", "confidence", "--folds", "3")
    both, small, large = (run("choose", str(files[n]), *how, *more, "--json") for n, more in (
        ("both", ("--models-in", "model")), ("small", ()), ("large", ())))  # fmt: skip
    for name, alone in (("small", small), ("large", large)):
        assert {key: alone[key] for key in both["models"][name]} == both["models"][name]
    assert small["gain"] != large["gain"]
    command = [*how, "--models-in", "model"]
    result = CliRunner().invoke(main, ["choose", str(files["both"]), *command])
    assert [result.stdout.splitlines().count(f"{name}:") for name in ("small", "large")] == [1, 1]
    assert "names 2 models over" not in result.stderr
    result = CliRunner().invoke(main, ["choose", str(files["both"]), *command, "--csv"])
    assert pd.read_csv(io.StringIO(result.stdout))["model"].unique().tolist() == ["small", "large"]


def test_a_command_says_that_it_reads_the_models_of_a_file_as_one(files: dict[str, Path]) -> None:
    for command in (("choose", "--candidate", "confidence"), ("audit", "--notion", "confidence", "--estimator", "ece")):
        result = CliRunner().invoke(main, [command[0], str(files["both"]), *command[1:]])
        assert result.exit_code == 0, result.output
        (line,) = [line for line in result.stderr.splitlines() if "names 2 models over the same 1,000" in line]
        assert line.startswith("both.jsonl: warning: ")
        assert "They are now read as one model." in line


def test_recalibrated_models_of_a_file_are_judged_on_the_same_rows(tmp_path: Path) -> None:
    # Their right answers differ, and so would the division of each model's own rows.
    lines = [f"{m},{q},0.{q % 8 + 1},{(q * q + i) % 3 == 0:d}" for q in range(60) for i, m in enumerate("ab")]
    (tmp_path / "m.csv").write_text("\n".join(["model,question,confidence,correct", *lines]))
    opened = _opened_models.opened_models(tmp_path / "m.csv", "model")
    both = _opened_models.divided(opened, share=0.5, seed=3).values()
    alone, beside = (session.parts(one.source) for one in both)
    for one, two in ((alone.fit, beside.fit), (alone.test, beside.test)):
        assert one.metadata is not None
        assert two.metadata is not None
        assert one.metadata["question"].tolist() == two.metadata["question"].tolist()
    result = run("audit", str(tmp_path / "m.csv"), "--models-in", "model", "--calibrator", "confidence", "--json",
                 "--notion", "confidence", "--estimator", "ece")  # fmt: skip
    assert sorted(result["models"]) == ["a", "a, Confidence wrapper", "b", "b, Confidence wrapper"]


def test_the_command_for_what_is_shown_names_the_file_once_and_runs() -> None:
    line = session.show_line(BOTH, EXHIBITS.recipe(EXHIBITS.make("skills")))
    assert line.count("language-model") == 1 + line.count("demo%3Alanguage-model")
    result = CliRunner().invoke(main, shlex.split(line)[1:])
    assert result.exit_code == 0, result.output
    assert "small" in result.output
    assert "large" in result.output


def trial(rows: int = 60) -> str:
    """Return two models' risks of one event, side by side."""
    each = (f"0.{i % 9 + 1},0.{i * 7 % 9 + 1},{i * 5 % 9 > 3:d}\n" for i in range(rows))
    return "risk_old,risk_new,event\n" + "".join(each)


def test_columns_side_by_side_are_models_as_soon_as_the_file_is_there() -> None:
    app = upload(opened(Selection(view="data", calibrators=())), "trial.csv", trial())
    assert [json.loads(changed)["model"] for _, changed in chosen(app).readings] == ["risk_old", "risk_new"]
    assert [model.title for model in session.models(chosen(app)).shown] == ["risk_old", "risk_new"]
    both = chosen(app)
    assert Selection.from_query(both.to_query()) == (both, ())
    app = opened(both.replace(view="data"))
    (toggle,) = [each for each in app.toggle if each.label == "Each of these columns belongs to another model"]
    assert toggle.value
    (box,) = [box for box in app.multiselect if box.label.startswith("Score columns")]
    box.set_value(["risk_new"]).run()
    assert len(chosen(app).readings) == 1
    assert session.whole(*chosen(app).readings[0]).probs[:3, 1].tolist() == [0.1, 0.8, 0.6]


def test_commands_judge_every_model_of_columns_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "trial.csv").write_text(trial())
    file, few = str(tmp_path / "trial.csv"), ("--notion", "confidence", "--estimator", "ece")
    assert list(run("audit", file, *few, "--json")["models"]) == ["risk_new", "risk_old"]
    assert list(run("audit", file, *few, "--read", "model=risk_new", "--json")["models"]) == ["Original model"]
    (line,) = run("compare", file, *few, "--json")["lines"]
    assert (line["first"], line["second"]) == ("risk_old", "risk_new")
    shown = run("show", "skills", file, "--format", "json")
    assert [row["model"] for row in shown["lines"]] == ["risk_old", "risk_new"]
    refused = CliRunner().invoke(main, ["gate", file, "--max-ece", "0.5"])
    assert refused.exit_code == 2
    assert "--read model=risk_old" in refused.output
    alone = CliRunner().invoke(main, ["compare", file, "--read", "model=risk_new"])
    assert alone.exit_code == 2


def test_a_file_that_cannot_be_read_is_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("p,label\n0.4,1\n3,0\n")
    (tmp_path / "none.csv").write_text("a,b,c\nx,y,z\n")
    for name, why in (("bad.csv", "3 is above 1"), ("none.csv", "no columns are recognized as scores")):
        for command in (("show", "skills"), ("show", "reliability"), ("slices",)):
            result = CliRunner().invoke(main, [*command, str(tmp_path / name)])
            assert result.exit_code == 2
            assert why in result.stderr
            assert "no model to show" not in result.stderr


def run(*args: str) -> dict:  # type: ignore[type-arg]
    result = CliRunner().invoke(main, list(args))
    assert result.exit_code == 0, result.output + result.stderr
    read: dict = json.loads(result.stdout)  # type: ignore[type-arg]
    return read


def test_a_further_file_may_hold_several_models_and_no_more_than_can_be_shown(files: dict[str, Path]) -> None:
    key = session.hold(files["small"].read_bytes(), "small.jsonl").key
    both = session.hold(files["both"].read_bytes(), "both.jsonl").key
    app = opened(Selection(source=Source(key), view="data", calibrators=()))
    (box,) = [box for box in app.selectbox if box.label == "Another model from"]
    app.session_state["calib.data.uploads"] = (key, both)
    app.run()
    (box,) = [box for box in app.selectbox if box.label == "Another model from"]
    app = box.set_value(both).run()
    # As one model it has other rows: it is on trial, and read as two models it joins.
    assert chosen(app).others == ()
    click(app, "Read as 2 models")
    assert [json.loads(changed)["model"] for _, changed in chosen(app).others] == ["small", "large"]
    assert len(session.models(chosen(app)).shown) == 3
    many = "model,question,confidence,correct\n" + "".join(
        f"m{m},{q},0.{q + 1},1\n" for q in range(8) for m in range(9)
    )
    key = session.hold(many.encode(), "many.csv").key
    app = opened(Selection(source=Source(key), view="data", calibrators=()))
    (box,) = [box for box in app.selectbox if box.label == "This column names the model"]
    box.set_value("model").run()
    assert any("names 9 models" in text and "choose the model to read" in text for text in said(app.error))
    (box,) = [box for box in app.selectbox if box.label == "Model shown first"]
    box.set_value("m7").run()
    assert [json.loads(changed)["model"] for _, changed in chosen(app).readings] == ["m7"]


def test_no_command_denies_that_it_shows_every_model(tmp_path: Path) -> None:
    """A command with --models-in shows all models, or names the one that it shows and the option for another."""
    lines = [
        {"question": i, "model": model, "subject": "ab"[i % 2], "confidence": 0.9, "correct": int(i % 10 < right)}
        for i in range(60)
        for model, right in (("small", 6), ("large", 8))
    ]
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    for exhibit in ("levels", "skills", "skill-pairs"):
        ended = CliRunner().invoke(main, ["show", exhibit, str(path), "--models-in", "model"])
        assert "large" in ended.stdout
        assert "small" in ended.stdout
        assert "is evaluated" not in ended.stderr
        assert "--model" not in ended.stderr
    ended = CliRunner().invoke(main, ["slices", str(path), "--models-in", "model"])
    assert ended.stderr.strip().endswith('These results are for the model "small". For another one, add --model large')
    assert (
        "--model"
        not in CliRunner().invoke(main, ["slices", str(path), "--models-in", "model", "--model", "large"]).stderr
    )
    table = session.hold(path.read_bytes(), path.name).table
    how = cc.readers.propose(table, models="model", question=("question",), model="small")
    finding = cc.readers.unchosen_model(table, how, ())
    assert finding is not None
    assert finding.change is not None
    advice = [text for name, value in finding.change.items() for text in ("--read", f"{name}={value}")]
    assert CliRunner().invoke(main, ["slices", str(path), *advice]).exit_code == 0
