"""Main findings on screen and in the report: one sentence per finding, the same everywhere, with links."""

from __future__ import annotations

import numpy as np
import pandas as pd
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core.slices.findings import SHOWN, headline
from dashboard import session
from dashboard.chart import drawn
from dashboard.chart.click import Click, slot
from dashboard.exhibits import EXHIBITS
from dashboard.report.document import Beside, Heading, Paragraph
from dashboard.report.request import Options, Request
from dashboard.report.sections import summary
from dashboard.selection import Selection, Source
from dashboard.theme import markdown_plain, unbroken
from dashboard.views.place_detail import LISTED, place
from tests.dashboard.test_views import opened

DIGITS = Source(data="demo:digits-naive-bayes")


def chosen(app: AppTest) -> Selection:
    selection: Selection = app.session_state["calib.selection"]
    return selection


def texts(app: AppTest) -> list[str]:
    return [element.value for element in [*app.markdown, *app.caption]]


def found_in(source: Source) -> pd.DataFrame:
    return cc.findings(session.parts(source).test)


def in_one_bin() -> Source:
    """Return four calibrated classes, except for one bin of one of them."""
    places = [(name, b) for name in "abcd" for b in range(4, 15)]
    says = np.repeat([(b + 0.5) / 15 for _, b in places], 30)
    right = [30 if place == ("a", 7) else round(30 * (place[1] + 0.5) / 15) for place in places]
    hit = np.concatenate([np.arange(30) < k for k in right])
    predicted = np.repeat([name for name, _ in places], 30)
    label = np.where(hit, predicted, np.where(predicted == "d", "c", "d"))
    frame = pd.DataFrame({"confidence": says, "predicted": predicted, "label": label})
    key = session.hold(frame.to_csv(index=False).encode(), "one_bin.csv").key
    return Source(data=key, test=key)


def test_the_overview_lists_the_worst_and_leads_to_each() -> None:
    app, found = opened(Selection(source=DIGITS, view="overview", bin=3)), found_in(DIGITS)
    worst = found[found["stands_out"]].head(LISTED)
    for line in worst["finding"]:
        assert markdown_plain(unbroken(line)) in texts(app)
    assert markdown_plain(unbroken(headline(found)[1])) in texts(app)
    i = worst["kind"].tolist().index("class and bin")
    app.button(f"way.place-{i}").click().run()
    assert not app.exception
    place = worst.iloc[i]
    assert (chosen(app).view, chosen(app).code, chosen(app).bin) == ("findings", place["code"], place["bin"])


def test_all_findings_are_a_click_away_and_a_line_of_the_picture_is_its_place() -> None:
    app, found = opened(Selection(source=DIGITS, view="overview", bin=3, code=1)), found_in(DIGITS)
    app.button("way.findings").click().run()
    assert (chosen(app).view, chosen(app).code, chosen(app).bin) == ("findings", None, None)
    first, counts = headline(found)
    assert f"##### {markdown_plain(unbroken(first))}\n\n{markdown_plain(unbroken(counts))}" in texts(app)
    figure = drawn(app)["findings"].figure
    records = [column["record"] for column in figure["layout"]["meta"]["columns"]]
    tested = found[found["p"].notna()].head(SHOWN)
    assert [record["right"] for record in records] == tested["right"].tolist()
    i = next(i for i, record in enumerate(records) if "bin" in record and record.get("code") is not None)
    app.session_state[slot("findings")] = Click(None, None, records[i], None, None, 1)
    app.run()
    assert not app.exception
    assert (chosen(app).code, chosen(app).bin) == (records[i]["code"], records[i]["bin"])
    assert any(text.endswith("Its rows in this bin") for text in texts(app))
    assert figure["layout"]["meta"]["exact"], "this line alone is tinted"
    assert any(text == markdown_plain(unbroken(tested["finding"].iloc[i])) for text in texts(app))
    # A place without a bin clears the previous bin.
    i = tested["kind"].tolist().index("predicted class")
    app.session_state[slot("findings")] = Click(None, None, records[i], None, None, 2)
    app.run()
    assert (chosen(app).code, chosen(app).bin) == (tested["code"].iloc[i], None)
    assert markdown_plain(unbroken(tested["finding"].iloc[i])) in texts(app)
    # All rows are the whole range of the confidence.
    every = {"between": [0.0, 1.0], "model": records[0]["model"]}
    app.session_state[slot("findings")] = Click(None, None, every, None, None, 3)
    app.run()
    assert not app.exception
    assert (chosen(app).code, chosen(app).between) == (None, (0.0, 1.0))
    (whole,) = found.query("kind == 'direction'")["finding"]
    assert markdown_plain(unbroken(whole)) in texts(app)


def test_the_caption_counts_the_places_that_are_not_drawn() -> None:
    for source, some in ((DIGITS, True), (few_places(), False)):
        scene = session.scene_of(Selection(source=source, view="findings", calibrators=()))
        exhibit = EXHIBITS.make("findings")
        tested = int(scene.get(exhibit.table(scene))["p"].notna().sum())
        lines = scene.get(exhibit.figure(scene)).data[1].x
        assert (tested > len(lines)) == some
        assert (f"the first {len(lines)} of {tested} subsets" in exhibit.words(scene).key) == some


def few_places() -> Source:
    """Return two confidences without a further column."""
    lines = [f"{0.6 if i % 2 else 0.9},{int(i % 3 > 0)}" for i in range(300)]
    return Source(data=session.hold("\n".join(["confidence,correct", *lines]).encode(), "few.csv").key)


def test_a_slice_of_the_list_is_judged_alone() -> None:
    source = Source(data="demo:language-model")
    app, found = opened(Selection(source=source, view="findings")), found_in(source)
    columns = drawn(app)["findings"].figure["layout"]["meta"]["columns"]
    record = next(column["record"] for column in columns if "slice" in column["record"])
    assert record["slice"] in found["slice"].tolist()
    app.session_state[slot("findings")] = Click(None, None, record, None, None, 1)
    app.run()
    assert not app.exception
    assert chosen(app).source.within == record["slice"]


def test_where_no_class_stands_out_as_a_whole_the_card_says_the_place_that_does() -> None:
    source = in_one_bin()
    found = found_in(source)
    assert found["stands_out"].sum() == 1
    app = opened(Selection(source=source, view="overview"))
    claim, _, basis = found["finding"][0].rpartition(" (")
    assert claim == "When “a” is predicted with confidence 46.7 to 53.3 %, it is right 100 % of the time"
    assert f"## {markdown_plain(unbroken(claim))}" in texts(app)
    assert any(markdown_plain(unbroken(basis.removesuffix(")."))) in text for text in texts(app))
    app.button("way.classes").click().run()
    assert (chosen(app).view, chosen(app).code, chosen(app).bin) == ("findings", 0, 7)


def test_nothing_is_said_where_nothing_stands_out() -> None:
    source = Source(data="demo:digits-mlp")
    app = opened(Selection(source=source, view="overview"))
    first, counts = headline(found_in(source))
    assert f"**{markdown_plain(first)}**" in texts(app)
    assert markdown_plain(unbroken(counts)) in texts(app)
    assert not [button for button in app.button if str(button.key).startswith("way.place")]


def test_page_one_of_the_report_has_its_top_line() -> None:
    request = Request(Selection(source=DIGITS, calibrators=()), Options())
    beside = [block for block in summary.blocks(request) if isinstance(block, Beside)]
    parts = [part for block in beside for part in (*block.left, *block.right)]
    (heading,) = [i for i, part in enumerate(parts) if isinstance(part, Heading) and part.text == "Main findings"]
    listed = parts[heading + 1]
    assert isinstance(listed, Paragraph)
    assert listed.text == " ".join(found_in(DIGITS)["finding"].head(summary.LISTED))


def test_what_is_said_of_other_classes_is_unfolded_and_a_pair_leads_to_its_rows() -> None:
    app = opened(Selection(source=DIGITS, view="classes", calibrators=()))
    assert "class-bias" not in drawn(app)
    app.session_state["classes.bias"] = True
    app.run()
    assert not app.exception
    found = cc.diagrams.class_bias(session.parts(DIGITS).test)
    first, counts = found.headline
    assert f"##### {markdown_plain(unbroken(first))}\n\n{markdown_plain(unbroken(counts))}" in texts(app)
    _, marks = drawn(app)["class-bias"].figure["data"]
    assert [[record["code"], record["label"]] for record in marks["customdata"]] == np.column_stack(
        [found.predicted, found.label]
    ).tolist()
    frame = found.frame()
    i = int(((frame["code"] != frame["label_code"]) & (frame["right"] > 0)).to_numpy().argmax())
    app.session_state[slot("class-bias")] = Click(1, i, marks["customdata"][i], None, None, 1)
    app.run()
    assert not app.exception
    pair = found.predicted[i], found.label[i]
    assert (chosen(app).view, chosen(app).code, chosen(app).label) == ("classes", *pair)
    names, test = found.names, session.parts(DIGITS).test
    assert markdown_plain(unbroken(frame["finding"][i])) in texts(app)
    number = int(((test.predicted == pair[0]) & (test.true_labels == pair[1])).sum())
    said = f"Rows predicted as {names[pair[0]]} that are of {names[pair[1]]}: {number}."
    assert markdown_plain(said) in texts(app)
    # Another class is another place.
    app.session_state[slot("class-errors")] = Click(0, 0, {"code": 1}, 0.5, 0.5, 2)
    app.run()
    assert (chosen(app).code, chosen(app).label) == (1, None)


def test_many_classes_are_drawn_as_a_list_and_few_as_a_picture_of_all_pairs() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(30, 0.1), 900)
    labels = np.where(rng.random(900) < 0.5, probs.argmax(1), 0)
    many = cc.diagrams.class_bias(cc.Predictions(probs, labels))
    drawn_many = cc.figures.class_bias(many)
    assert [trace.name for trace in drawn_many.data] == ["interval", "says", "right"]
    assert list(drawn_many.data[2].x) == many.right[:SHOWN].tolist()
    few = cc.diagrams.class_bias(cc.Predictions(probs[:, :3] / probs[:, :3].sum(1, keepdims=True), labels % 3))
    cells, marks = cc.figures.draw(few).data
    assert cells.marker.color.tolist() == (few.right - few.says).tolist()
    middles = np.asarray(cells.base, dtype=float) + np.asarray(cells.x) / 2
    np.testing.assert_allclose(np.column_stack([middles, cells.y]), np.column_stack([marks.x, marks.y]))
    assert (np.asarray(marks.marker.opacity) == few.stands_out).all()


def test_a_finding_leads_to_the_view_that_shows_its_place() -> None:
    """All rows and bins over all classes are in the diagram; what is about one class is among the findings."""
    scene = session.scene_of(Selection(source=DIGITS))
    frame = scene.get(EXHIBITS.make("findings").table(scene.focused(model=scene.titles[0])))
    expected = {"direction": "reliability", "bin": "reliability"}
    seen = set()
    for line in frame.to_dict("records"):
        leads = place(line, scene)
        assert leads["view"] == expected.get(line["kind"], "findings"), line["finding"]
        assert (leads["model"], leads["code"]) == (scene.model.title, line["code"])
        seen.add(line["kind"])
    assert {"direction", "predicted class", "class and bin"} <= seen
