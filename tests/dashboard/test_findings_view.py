"""What stands out on screen and in the report: one sentence a finding, the same everywhere, and the way there."""

from __future__ import annotations

import numpy as np
import pandas as pd
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core.findings import SHOWN, headline
from dashboard import session
from dashboard.chart import drawn
from dashboard.chart.click import Click, slot
from dashboard.report.document import Beside, Bullets
from dashboard.report.request import Options, Request
from dashboard.report.sections import summary
from dashboard.selection import Selection, Source
from dashboard.theme import markdown_plain, unbroken
from dashboard.views.worst_places import LISTED
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
    """Four classes that are as they say but in one bin of one of them."""
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
    app, found = opened(Selection(source=DIGITS, view="overview", zoom=3)), found_in(DIGITS)
    worst = found[found["stands_out"]].head(LISTED)
    for line in worst["finding"]:
        assert markdown_plain(unbroken(line)) in texts(app)
    assert markdown_plain(headline(found)[1]) in texts(app)
    i = worst["kind"].tolist().index("class and bin")
    app.button(f"way.place-{i}").click().run()
    assert not app.exception
    place = worst.iloc[i]
    assert (chosen(app).view, chosen(app).code, chosen(app).zoom) == ("findings", place["code"], place["bin"])


def test_all_findings_are_a_click_away_and_a_line_of_the_picture_is_its_place() -> None:
    app, found = opened(Selection(source=DIGITS, view="overview", zoom=3, code=1)), found_in(DIGITS)
    app.button("way.findings").click().run()
    assert (chosen(app).view, chosen(app).code, chosen(app).zoom) == ("findings", None, None)
    first, counts = headline(found)
    assert f"##### {markdown_plain(unbroken(first))}\n\n{markdown_plain(unbroken(counts))}" in texts(app)
    figure = drawn(app)["findings"].figure
    records = [column["record"] for column in figure["layout"]["meta"]["columns"]]
    tested = found[found["p"].notna()].head(SHOWN)
    assert [record["right"] for record in records] == tested["right"].tolist()
    i = next(i for i, record in enumerate(records) if "bin" in record)
    app.session_state[slot("findings")] = Click(None, None, records[i], None, None, 1)
    app.run()
    assert not app.exception
    assert (chosen(app).code, chosen(app).zoom) == (records[i]["class"], records[i]["bin"])
    assert "**Its rows in this bin**" in texts(app)
    # A place without a bin leaves none of the one before.
    i = tested["kind"].tolist().index("class")
    app.session_state[slot("findings")] = Click(None, None, records[i], None, None, 2)
    app.run()
    assert (chosen(app).code, chosen(app).zoom) == (tested["code"].iloc[i], None)


def test_where_no_class_stands_out_as_a_whole_the_card_says_the_place_that_does() -> None:
    source = in_one_bin()
    found = found_in(source)
    assert found["stands_out"].sum() == 1
    app = opened(Selection(source=source, view="overview"))
    claim, _, basis = found["finding"][0].rpartition(" (")
    assert claim == "When “a” is predicted with confidence 47 to 53 %, it is right 100 % of the time"
    assert f"## {markdown_plain(unbroken(claim))}" in texts(app)
    assert any(markdown_plain(unbroken(basis.removesuffix(")."))) in text for text in texts(app))
    app.button("way.classes").click().run()
    assert (chosen(app).view, chosen(app).code, chosen(app).zoom) == ("findings", 0, 7)


def test_nothing_is_said_where_nothing_stands_out() -> None:
    source = Source(data="demo:digits-mlp")
    app = opened(Selection(source=source, view="overview"))
    first, counts = headline(found_in(source))
    assert f"**{markdown_plain(first)}**" in texts(app)
    assert markdown_plain(counts) in texts(app)
    assert not [button for button in app.button if str(button.key).startswith("way.place")]


def test_page_one_of_the_report_has_its_top_lines() -> None:
    request = Request(Selection(source=DIGITS, calibrators=()), Options())
    (page,) = [block for block in summary.blocks(request) if isinstance(block, Beside)]
    (listed,) = [block for block in page.left if isinstance(block, Bullets)]
    assert listed.items == tuple(found_in(DIGITS)["finding"].head(summary.LISTED))
