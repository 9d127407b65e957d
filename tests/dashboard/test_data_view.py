"""The data view: a valid choice takes effect, and an unreadable one changes nothing."""

from __future__ import annotations

import hashlib
import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from calib_core import BINNINGS, Predictions
from calib_core.datasets import DEMOS
from calib_core.evaluation.study import MEASURES, summaries
from calib_core.readers import Finding, predictions, propose, read_table
from calib_core.text import count, percent
from dashboard import session
from dashboard.selection import NONE, Selection, Source
from dashboard.theme import unbroken
from dashboard.views import data_card, data_findings, data_trial
from tests.corpus.inspect_files import judged, log, score

APP = Path(__file__).parents[2] / "dashboard" / "app.py"
DEFAULT = Source().data
HOSTILE = ("<img src=x onerror=alert(1)>", "![x](http://127.0.0.2/a.png)", "=cmd()")


def opened(source: Source | None = None) -> AppTest:
    app = AppTest.from_file(str(APP), default_timeout=60)
    for name, text in Selection(view="data", source=source or Source()).to_query().items():
        app.query_params[name] = text
    return sound(app.run())


def sound(app: AppTest) -> AppTest:
    assert not app.exception, [e.value for e in app.exception]
    return app


def upload(app: AppTest, name: str, content: str | bytes, which: int = 0) -> AppTest:
    """Upload a file and open the view of its reading, which opens elsewhere if the file is unambiguous."""
    dropped(app, name, content, which)
    return sound(app.button(key="frame.data").click().run())


def dropped(app: AppTest, name: str, content: str | bytes, which: int = 0) -> AppTest:
    raw = content.encode() if isinstance(content, str) else content
    return sound(app.file_uploader[which].set_value((name, raw, "application/octet-stream")).run())


def click(app: AppTest, label: str) -> AppTest:
    found = [button for button in app.button if plain(button.label) == label]
    assert len(found) == 1, [button.label for button in app.button]
    return sound(found[0].click().run())


def source(app: AppTest) -> Source:
    held: Selection = app.session_state["calib.selection"]
    return held.source


def plain(text: str) -> str:
    """Return the text that Markdown shows for an escaped text."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text).replace("\u200b", "").replace("**", "")


def said(elements: object) -> list[str]:
    return [plain(one.value) for one in elements]  # type: ignore[attr-defined]


def rows(n: int = 60, k: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k), n)
    return p, (rng.random(n)[:, None] > p.cumsum(axis=1)[:, :-1]).sum(axis=1)


def csv(p: np.ndarray, y: object, names: tuple[str, ...] = ("cat", "dog", "bird"), **more: object) -> str:
    head = [f"p_{name}" for name in names] + ["label", *more]
    lines = [
        ",".join([*(f"{v:.9f}" for v in row), str(label), *map(str, extra)])
        for row, label, *extra in zip(p, y, *more.values(), strict=True)  # type: ignore[call-overload]
    ]
    return "\n".join([",".join(f'"{name}"' for name in head), *lines]) + "\n"


def good(n: int = 60, seed: int = 0, **more: object) -> str:
    p, y = rows(n, seed=seed)
    return csv(p, np.array(["cat", "dog", "bird"])[y], **more)


# ---- choosing ----------------------------------------------------------------------------------------------


@pytest.mark.sampled(6)
@pytest.mark.parametrize("demo", DEMOS, ids=lambda demo: demo.key)
def test_a_demo_becomes_active_with_one_click_and_shows_the_numbers_computed(demo) -> None:
    app = opened()
    sound(app.radio(key="data.choice.demo").set_value(f"demo:{demo.key}").run())
    if demo.key != DEFAULT.removeprefix("demo:"):
        assert app.session_state["calib.selection"].view == "overview"
    sound(app.button(key="frame.data").click().run())
    assert source(app) == Source(data=f"demo:{demo.key}")
    assert not app.error
    p = session.whole(f"demo:{demo.key}", "")
    shown = {metric.label: metric.value for metric in app.metric}
    confidence = percent(float(p.confidence.astype(float).mean()))
    assert shown == {
        "Rows": count(demo.rows),
        "Classes": count(demo.classes),
        "Accuracy, all rows": percent(p.accuracy),
        "Mean confidence": confidence,
    }
    some = [text for text in said(app.caption) if "smallest of" in text]
    assert bool(some) == (demo.classes > data_card.ALL_CLASSES)
    parts = session.parts(source(app))
    if parts.folds is None:
        line = f"{count(parts.fit.n_rows)} calibration rows ({parts.rule}"
        also = f"{count(parts.test.n_rows)} test rows"
    else:
        line, also = f"All {count(parts.fit.n_rows)} rows are judged", parts.rule
    captions = [text.replace("\N{NON-BREAKING HYPHEN}", "-") for text in said(app.caption)]
    assert any(text.startswith(line) and also in text for text in captions)


def test_a_file_that_leaves_no_choice_opens_at_the_answer_and_any_other_where_it_is_settled() -> None:
    app = dropped(opened(), "mine.csv", good())
    assert app.session_state["calib.selection"].view == "overview"
    app = dropped(app, "ragged.csv", "p_0,p_1,label\n0.5,0.5\n")
    assert app.session_state["calib.selection"].view == "data"
    assert any("ragged.csv, line 2" in text for text in said(app.error))


def test_a_first_visit_is_asked_for_data_and_a_link_is_not() -> None:
    app = sound(AppTest.from_file(str(APP), default_timeout=60).run())
    assert app.session_state["calib.selection"].view == "start"
    assert "how often is it right" in app.markdown[1].value
    assert not [control for control in app.segmented_control if control.key == "frame.room"]
    app = dropped(app, "unlabelled.csv", "p_0,p_1\n0.5,0.5\n")
    assert app.session_state["calib.selection"].view == "data"
    assert "No data" in app.button(key="frame.data").label, "nothing was opened yet, and no example either"
    app = dropped(app, "mine.csv", good())
    assert app.session_state["calib.selection"].view == "overview"
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.query_params["bins"] = "7"
    assert sound(app.run()).session_state["calib.selection"].view == "overview"


def test_a_view_requested_without_data_opens_with_them() -> None:
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.query_params.update({"view": "tests", "data": ""})
    app = sound(app.run())
    assert [info.value for info in app.info] == ["“Tests” needs a predictions file. Open one, and this view shows it."]
    assert not app.error
    app = dropped(app, "unlabelled.csv", "p_0,p_1\n0.5,0.5\n")
    assert app.session_state["calib.selection"].view == "data", "this file needs a decision first"
    app = dropped(app, "mine.csv", good())
    assert app.session_state["calib.selection"].view == "tests"
    assert app.session_state["calib.selection"].source.data
    app = dropped(app, "other.csv", good(seed=1))
    assert app.session_state["calib.selection"].view == "overview", "the wish was granted once"


def test_all_demos_are_offered_with_lesson_size_and_origin() -> None:
    radio = opened().radio(key="data.choice.demo")
    captions = [plain(one) for one in radio.proto.captions]
    for demo, option, caption in zip(DEMOS, radio.options, captions, strict=True):
        assert plain(option) == demo.title
        assert unbroken(demo.lesson) in caption
        assert f"{count(demo.rows)} rows × {demo.classes} classes" in caption
        assert ("real classifier" in caption) == demo.real


def test_an_upload_becomes_active_and_its_bytes_are_given_back() -> None:
    app = upload(opened(), "mine.csv", good())
    assert source(app).data.startswith("sha256:")
    assert session.file(source(app).data).title == "mine.csv"
    assert app.file_uploader[0].value is None
    assert [plain(one) for one in app.radio(key="data.choice.mine").options] == ["mine.csv"]
    assert not app.error
    assert any(f"content hash {source(app).data[7:19]}" in text for text in said(app.caption))


@pytest.mark.parametrize(
    ("name", "content", "begins"),
    [
        ("ragged.csv", "p_0,p_1,label\n0.5,0.5\n", "Problem. ragged.csv, line 2"),
        ("empty.csv", "", "Problem. empty.csv is empty"),
        ("p.npz", "a,b\n1,2\n", "Problem. p.npz is not NPZ but looks like CSV"),
    ],
)
def test_an_unreadable_upload_gives_one_sentence_and_changes_nothing(name: str, content: str, begins: str) -> None:
    app = upload(upload(opened(), "mine.csv", good()), name, content)
    assert session.file(source(app).data).title == "mine.csv"
    assert len(app.error) == 1
    assert said(app.error)[0].startswith(begins)
    assert app.metric[0].value == "60"
    assert upload(app, "mine2.csv", good(30)).metric[0].value == "30"
    assert not app.error


def test_memory_that_runs_out_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened()

    def full(data: bytes, name: str) -> None:
        raise MemoryError

    monkeypatch.setattr(session, "hold", full)
    upload(app, "mine.csv", good())
    assert len(app.error) == 1
    assert "memory" in said(app.error)[0]
    assert source(app).data == DEFAULT


def test_files_of_another_session_are_not_listed() -> None:
    app = upload(opened(), "mine.csv", good())
    other = opened()
    assert [radio.key for radio in app.radio] == ["data.choice.mine", "data.choice.demo"]
    assert [radio.key for radio in other.radio] == ["data.choice.demo"]


def test_a_link_to_a_file_that_is_not_here_gets_its_picture_back_by_the_upload() -> None:
    content = good(44, seed=8)
    key = f"sha256:{hashlib.sha256(content.encode()).hexdigest()}"
    app = opened(Source(data=key, share=0.25))
    assert "upload the same file again" in said(app.error)[0].lower()
    upload(app, "mine.csv", content)
    assert source(app) == Source(data=key, share=0.25)
    assert not app.error
    assert app.metric[0].value == "44"


def test_the_file_of_the_command_line_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.csv").write_text(good())
    monkeypatch.setattr(sys, "argv", [str(APP), str(tmp_path / "mine.csv")])
    app = AppTest.from_file(str(APP), default_timeout=60).run()
    assert session.file(source(sound(app)).data).title == "mine.csv"
    app.session_state["calib.selection"] = Selection(view="data")
    sound(app.run())
    assert source(app).data == DEFAULT
    linked = opened(Source(data="demo:wine-logistic"))
    assert source(linked).data == "demo:wine-logistic"


def test_demo_data_of_the_command_line_are_opened_and_no_file_of_the_visitor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(APP), "demo:wine-logistic"])
    app = sound(AppTest.from_file(str(APP), default_timeout=60).run())
    assert source(app).data == "demo:wine-logistic"
    assert app.session_state["calib.selection"].view == "overview"
    assert "calib.data.uploads" not in app.session_state


def test_further_files_of_the_command_line_are_compared_with_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = {"mine.csv": good(), "again.csv": good() + "\n", "other-rows.csv": good(n=30)}
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(sys, "argv", [str(APP), *(str(tmp_path / name) for name in contents)])
    app = sound(AppTest.from_file(str(APP), default_timeout=60).run())
    chosen = app.session_state["calib.selection"]
    assert [session.file(key).title for key in chosen.files] == ["mine.csv", "again.csv"]
    # The third has other rows: the view with the message is opened.
    assert chosen.view == "data"
    assert any("rows" in sentence for sentence in said(app.error))


def test_a_file_of_the_command_line_that_cannot_be_read_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [str(APP), str(tmp_path / "gone.csv")])
    app = sound(AppTest.from_file(str(APP), default_timeout=60).run())
    assert said(app.error) == ["Problem. gone.csv cannot be opened (No such file or directory): check the path."]
    assert source(app).data == NONE, "and no example in its place"


# ---- findings and readings ---------------------------------------------------------------------------------


def with_gaps() -> str:
    lines = good().splitlines()
    lines[3] = "," + lines[3].partition(",")[2]
    return "\n".join(lines)


def test_a_file_with_a_problem_waits_until_one_click_settles_it() -> None:
    app = upload(opened(), "gaps.csv", with_gaps())
    assert source(app).data == DEFAULT
    assert said(app.error)[0].startswith("Problem. 1 of 60 rows lack a value")
    assert any("not in use yet" in text for text in said(app.markdown))
    checks = next(box for box in app.expander if box.label.startswith("Checks: "))
    (lines,) = said(checks.markdown)
    assert "No missing values: see the note (missing)" in lines
    assert "Class names: passed" in lines
    assert "and labels: not applicable (the file has one score for every class)" in lines
    assert "Rule: missing" in said(app.caption)
    assert [button.label for button in app.button if button.label == "Use this reading"] == []
    click(app, "Leave out 1 row")
    assert session.file(source(app).data).title == "gaps.csv"
    assert json.loads(source(app).reading) == {"missing": "exclude"}
    assert app.session_state["calib.selection"].view == "overview"
    sound(app.button(key="frame.data").click().run())
    assert app.metric[0].value == "59"


def test_a_file_with_a_problem_can_be_put_away() -> None:
    app = click(upload(opened(), "gaps.csv", with_gaps()), "Remove file")
    assert source(app) == Source()
    assert not app.error
    assert app.metric[0].value == count(DEMOS[0].rows)


def test_a_readable_file_with_a_problem_can_be_used_as_it_is() -> None:
    _, y = rows(60, 2)
    leak = np.column_stack([0.4 * (1 - y), y, 0.6 * (1 - y)])
    app = upload(opened(), "leak.csv", csv(leak, y, ("0", "1", "2")))
    assert source(app).data == DEFAULT
    assert any("contains the labels themselves" in text for text in said(app.error))
    click(app, "Use this reading")
    assert session.file(source(app).data).title == "leak.csv"


def test_a_table_that_leaves_a_choice_asks_and_follows_the_answer() -> None:
    p, y = rows()
    text = "q,r,s,t\n" + "".join(f"{a:.6f},{3 * b:.6f},{c:.6f},{t}\n" for (a, b, c), t in zip(p, y, strict=True))
    app = upload(opened(), "odd.csv", text)
    assert source(app).data == DEFAULT
    assert "no columns are recognized as scores" in said(app.error)[0]
    sound(app.selectbox(key="data.data.label").set_value("t").run())
    sound(app.multiselect(key="data.data.scores").set_value(["q", "r", "s"]).run())
    assert source(app).data == DEFAULT
    sound(app.selectbox(key="data.data.kind").set_value("logits").run())
    assert session.file(source(app).data).title == "odd.csv"
    again = opened(source(app))
    assert again.metric[0].value == "60"


def test_a_log_with_two_scorers_asks_which_one_says_what_is_right() -> None:
    both = [{**each, "scores": {**each["scores"], "choice": score("C")}} for each in judged()]
    app = upload(opened(), "two.eval", log(both))
    assert "has 2 scorers" in said(app.error)[0]
    assert source(app).data == DEFAULT
    sound(app.selectbox(key="data.data.correct").set_value("correct_judge").run())
    assert session.file(source(app).data).title == "two.eval"
    assert session.parts(source(app)).test.row_groups.name == "id"


def test_a_changed_reading_goes_into_the_link_and_back() -> None:
    app = upload(opened(), "mine.csv", good())
    sound(app.selectbox(key="data.data.kind").set_value("logits").run())
    assert json.loads(source(app).reading) == {"kind": "logits"}
    assert session.whole(source(app).data, source(app).reading).logits is not None
    again = opened(source(app))
    assert again.selectbox(key="data.data.kind").value == "logits"
    click(again, "Back to the proposed reading")
    assert source(again).reading == ""


def test_whole_weights_are_copies_with_a_warning_until_their_meaning_is_chosen() -> None:
    app = upload(opened(), "mine.csv", good(w=[4, 20, 20] * 20))
    sound(app.selectbox(key="data.data.weights").set_value("w").run())
    copies = session.whole(source(app).data, source(app).reading)
    assert copies.effective_rows == 44 * 20
    assert app.selectbox(key="data.data.weighting").value is None
    assert any("880 in all" in text for text in said([*app.warning, *app.markdown]))
    sound(app.selectbox(key="data.data.weighting").set_value("sampling").run())
    assert session.whole(source(app).data, source(app).reading).effective_rows == pytest.approx(60 * 44**2 / 3 / 816)
    assert not any("880 in all" in text for text in said([*app.warning, *app.markdown]))
    sound(app.selectbox(key="data.data.weights").set_value("").run())
    assert "weight" not in source(app).reading


@pytest.mark.parametrize("chosen", [False, True])
def test_the_header_counts_the_warnings_that_are_listed_and_no_notes(chosen: bool) -> None:
    app = upload(opened(), "mine.csv", good(weight=[70] * 30 + [71] * 30, w=[4, 20, 20] * 20))
    if chosen:
        sound(app.selectbox(key="data.data.weights").set_value("w").run())
    listed = sum(text.startswith("Warning.") for text in said(app.warning))
    assert listed == chosen
    assert chosen or any(text.startswith("Note.") for text in said(app.markdown)), "a note could not be counted"
    counted = re.findall(r"(\d+) warning", app.button(key="frame.data").label)
    assert counted == [str(listed)] * bool(listed)


def test_a_reading_that_cannot_be_read_does_not_replace_the_one_in_use() -> None:
    app = upload(opened(), "mine.csv", good())
    before = source(app)
    sound(app.multiselect(key="data.data.scores").set_value(["p_cat", "p_dog"]).run())
    assert source(app) == before
    assert app.error
    assert app.multiselect(key="data.data.scores").value == ["p_cat", "p_dog"]
    assert app.metric[0].value == "60"
    click(app, "Keep the reading in use")
    assert not app.error
    assert app.multiselect(key="data.data.scores").value == ["p_cat", "p_dog", "p_bird"]


def test_other_scores_bring_their_own_classes() -> None:
    p, y = rows()
    app = upload(opened(), "mine.csv", csv(p, y, ("0", "1", "2"), extra=np.zeros(60)))
    sound(app.multiselect(key="data.data.scores").set_value(["p_2", "p_1", "p_0"]).run())
    assert session.whole(source(app).data, source(app).reading).class_names == ("2", "1", "0")


def rename() -> None:
    from dashboard import session, widgets
    from dashboard.views.data_reading import Mapped

    source = widgets.selection().source
    how = session.reading(source.data, source.reading)
    mapping = Mapped("data", source.data, session.file(source.data).table, how)
    frame, _ = mapping.frame()
    if frame["class"][0] == "0":
        mapping.renamed({0: {"class": "zero"}})


def test_a_class_is_renamed_and_the_mapping_says_what_stands_for_it() -> None:
    app = sound(AppTest.from_function(rename, default_timeout=60).run())
    held = source(app)
    assert session.whole(held.data, held.reading).class_names[:2] == ("zero", "1")
    counts = session.label_counts(held.data, session.reading(held.data, held.reading))
    labels = session.whole(held.data, held.reading).true_labels
    assert counts == (tuple(np.bincount(labels).tolist()), 0, 0)


@pytest.mark.parametrize("k", [12, 100])
def test_many_classes(k: int) -> None:
    p, y = rows(400, k)
    names = tuple(str(j) for j in range(k))
    app = upload(opened(), "wide.csv", csv(p, y, names))
    assert app.metric[1].value == str(k)
    assert bool([box for box in app.selectbox if box.key == "data.data.scoresfirst"]) == (k > 50)
    if k > 50:
        sound(app.selectbox(key="data.data.scoreslast").set_value("p_98").run())
        assert app.error
        click(app, "Keep the reading in use")
        sound(app.selectbox(key="data.data.kind").set_value("logits").run())
        assert len(source(app).reading) < 100
        stream = io.BytesIO()
        np.savez(stream, probs=p.astype(np.float32), labels=y)
        assert upload(app, "wide.npz", stream.getvalue()).metric[1].value == "100"


def test_findings_that_settle_one_thing_share_a_box() -> None:
    one = Finding("problem", "range", "too large", {"kind": "percentages"}, "a")
    two = Finding("problem", "range", "or logits?", {"kind": "logits"}, "b")
    note = Finding("note", "range", "too large")
    assert data_findings.grouped([one, note, two]) == [[one, two], [note]]


# ---- rows --------------------------------------------------------------------------------------------------


def test_share_and_seed_are_choices() -> None:
    app = opened()
    sound(app.slider(key="choice.share").set_value(0.25).run())
    sound(app.number_input(key="choice.seed").set_value(7).run())
    assert (source(app).share, source(app).seed) == (0.25, 7)
    parts = session.parts(source(app))
    line = f"{parts.fit.n_rows} calibration rows (split at random, stratified by class, share 0.25, seed 7)"
    assert f"{line}, {count(parts.test.n_rows)} test rows." in said(app.caption)


def test_a_split_column_is_used_and_can_be_left() -> None:
    app = upload(opened(), "mine.csv", good(split=["val"] * 20 + ["test"] * 40))
    assert any("20 calibration rows (split by the column split), 40 test rows" in text for text in said(app.caption))
    ways = next(group for group in app.get("button_group") if group.key == "data.rows.by")
    sound(ways.set_value(["share"]).run() if isinstance(ways.value, list) else ways.set_value("share").run())
    assert source(app).by == "share"


def test_a_split_column_that_does_not_say_which_rows_are_which_is_not_used() -> None:
    app = upload(opened(), "mine.csv", good(split=["a"] * 20 + ["b"] * 40))
    assert source(app).by == "auto"
    assert not app.error


def two_files(first: str, second: str) -> AppTest:
    app = upload(opened(), "first.csv", first)
    app.session_state["calib.data.two-files"] = True
    return upload(sound(app.run()), "second.csv", second, which=1)


def test_two_files() -> None:
    app = two_files(good(60), good(40, seed=1))
    assert session.file(source(app).test).title == "second.csv"
    assert not app.error
    assert any(text.startswith("60 calibration rows") and "40 test rows" in text for text in said(app.caption))
    sound(app.radio(key="data.choice.demo").set_value(DEFAULT).run())
    assert source(app) == Source()


def test_rows_in_both_files_are_counted() -> None:
    app = two_files(good(60), "\n".join(good(60).splitlines()[:11]) + "\n")
    assert any(text.startswith("Warning. 10 of 10 test rows equal a calibration row") for text in said(app.warning))


def test_one_file_for_both_is_a_problem_until_it_is_accepted() -> None:
    app = two_files(good(60), good(60))
    assert source(app).test == ""
    assert any("also the calibration file" in text for text in said(app.error))
    click(app, "Use this reading")
    assert source(app).test == source(app).data
    assert any("also the calibration file" in text for text in said(app.error))


def test_a_second_file_with_other_classes_is_not_used() -> None:
    app = two_files(good(60), csv(*rows(40), ("0", "1", "2")))
    assert source(app).test == ""
    assert len(app.error) == 1
    assert "do not have the same classes" in said(app.error)[0]


def test_an_unreadable_second_file_is_a_sentence() -> None:
    app = two_files(good(60), "p_0,p_1,label\n0.5\n")
    assert source(app).test == ""
    assert len(app.error) == 1
    assert said(app.error)[0].startswith("Problem. second.csv, line 2")


# ---- the card ----------------------------------------------------------------------------------------------

KINDS = {
    "full": b"p_0,p_1,label\n0.7,0.3,0\n0.4,0.6,1\n",
    "top-label": b"confidence,predicted,label\n0.7,0,0\n0.6,1,0\n",
    "confidence": b"confidence,correct\n0.7,1\n0.6,0\n",
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_card_names_what_the_kind_cannot_give(kind: str) -> None:
    table = read_table(KINDS[kind], "a.csv")
    p = predictions(table, propose(table))
    assert p.kind == kind
    frame = summaries(p, [BINNINGS.make("equal-width", bins=10)])[0]
    never = data_card.NEVER.get(kind, ())
    assert never == tuple(frame["measure"][frame["note"] != ""])
    assert [m.name for m in MEASURES if m.name in data_card.kind_sentence(p)] == [
        m.name for m in MEASURES if m.name in never
    ]


def test_class_shares() -> None:
    p, y = rows(300, 40)
    frame = data_card.class_shares(Predictions(p, y))
    every = np.sort(np.bincount(y, minlength=40))
    assert frame["rows"].tolist() == [*every[::-1][:5], *every[::-1][-5:]]
    few = data_card.class_shares(Predictions(*rows(50)))
    assert few["share"].sum() == pytest.approx(1)
    right = data_card.class_shares(Predictions.from_confidence([0.9, 0.8, 0.7], [True, True, False]))
    assert right["rows"].tolist() == [2, 1]


# ---- names -------------------------------------------------------------------------------------------------


def test_hostile_names_are_shown_escaped() -> None:
    p, y = rows()
    app = upload(opened(), f"{HOSTILE[0]}.csv", csv(p, [f'"{HOSTILE[j]}"' for j in y], HOSTILE))
    assert session.whole(source(app).data, "").class_names == HOSTILE
    broken = upload(app, f"{HOSTILE[1]}{HOSTILE[0]}.csv", "p_0,p_1,label\n0.5\n")
    shown = [e.value for e in (*app.markdown, *app.caption, *app.error, *app.warning)]
    shown += [button.label for button in app.button] + [str(o) for radio in app.radio for o in radio.options]
    assert broken.error
    for text in shown:
        assert not re.search(r"(?<!\\)<img", text)
        assert "](http" not in text
        assert not re.search(r"(?<!\\)!\[", text)


def test_the_file_in_use_is_the_one_of_its_role(monkeypatch):
    chosen = Selection(source=Source(data="a", reading="r", test="b", test_reading="s"))
    monkeypatch.setattr(data_trial.widgets, "selection", lambda: chosen)
    assert [data_trial.in_use(role) for role in ("data", "test", "more")] == [("a", "r"), ("b", "s"), ("", "")]


def test_labels_in_another_file_are_joined_and_the_two_are_one_file() -> None:
    p, y = rows()
    scores = "id,p_a,p_b,p_c\n" + "\n".join(f"{i},{q[0]:.6f},{q[1]:.6f},{q[2]:.6f}" for i, q in enumerate(p))
    truth = "id,target\n" + "\n".join(f"{i},{'abc'[c]}" for i, c in reversed(list(enumerate(y))))
    app = upload(opened(), "submission.csv", scores)
    assert "label" in said(app.error)[0]
    which = [box.label for box in app.file_uploader].index("Drop the labels file here")
    app = dropped(app, "other.csv", truth.replace("id,", "nr,"), which)
    assert any("Give the key, or join by row number" in text for text in said(app.error)), "what is on trial stays"
    app = dropped(app, "solution.csv", truth, which)
    app = sound(app.button(key="frame.data").click().run())
    key = source(app).data
    assert session.file(key).title == "submission.csv with solution.csv"
    np.testing.assert_array_equal(session.whole(key, source(app).reading).true_labels, y)
