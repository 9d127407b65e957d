"""Words of a confidence in the Data view: their values are shown, filled in, used, and stored in the link."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib_core.readers import propose, read_table
from dashboard import session
from dashboard.selection import Selection, Source
from dashboard.views import data_reading
from tests.dashboard.test_data_view import opened, said, source, upload

WORDS = "confidence,correct\n" + "very likely,1\nlikely,0\nunlikely,0\nquite sure,1\n" * 30


def test_a_word_without_a_number_is_asked_for_and_used_once_it_has_one() -> None:
    app = upload(opened(), "m.csv", WORDS)
    assert any("no number is known for" in text and "quite sure" in text for text in said(app.error))
    (table,) = [d.value for d in app.dataframe if "phrase" in d.value.columns]
    assert table["rows"].tolist() == [30] * 4
    numbers = dict(zip(table["phrase"], table.iloc[:, 2], strict=True))
    assert numbers["very likely"] == 0.95
    assert np.isnan(numbers["quite sure"])


def test_numbers_typed_in_are_the_reading_and_the_link(monkeypatch: Any) -> None:
    table = read_table(WORDS.encode(), "m.csv")
    reading = propose(table, words=("likely=0.7",))
    chosen: list[dict[str, Any]] = []
    monkeypatch.setattr(data_reading, "amend", lambda role, **changes: chosen.append(changes))
    panel = data_reading.Phrases("data", table, reading)
    place = {phrase: i for i, phrase in enumerate(panel.frame()["phrase"])}
    stands = panel.frame().columns[2]
    panel.changed({place["quite sure"]: {stands: 0.8}, place["very likely"]: {stands: 0.95}})
    panel.changed({place["likely"]: {stands: None}})
    assert chosen == [{"words": ("likely=0.7", "quite sure=0.8")}, {"words": ()}]
    key = session.hold(WORDS.encode(), "m.csv").key
    link = Selection().replace(data=key, reading='{"words":["quite sure=0.8"]}').to_query()
    test = session.parts(Selection.from_query(link)[0].source).test
    assert set(test.confidence.tolist()) == {0.95, 0.83, 0.165, 0.8}


def test_samples_of_a_question_are_read_where_asked_for() -> None:
    content = "question,answer,truth\n" + "".join(f"{i // 4},{'AB'[i % 4 == 3]},A\n" for i in range(160))
    key = session.hold(content.encode(), "m.csv").key
    changed = '{"label":["truth"],"layout":"samples","predicted":"answer","question":["question"]}'
    app = opened(Source(data=key, reading=changed))
    assert not app.error
    assert [box.value for box in app.selectbox if box.label == "Answer of a sample"] == ["answer"]
    test = session.parts(Source(data=key, reading=changed)).test
    assert set(test.confidence.tolist()) == {0.75}
    assert test.correct.all()


def test_the_reading_in_use_shows_its_words() -> None:
    app = upload(opened(), "m.csv", WORDS.replace("quite sure", "high"))
    assert source(app).data.startswith("sha256:")
    assert any("Kent (1964)" in text for text in said(app.caption))
