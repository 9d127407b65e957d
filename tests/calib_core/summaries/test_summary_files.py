"""Summaries of files: equal to those of their rows for any way of reading, and readable from their own file."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from calib_core import InputError, NotAnswerable, Summary, estimate, read_predictions, read_summary, summarise
from calib_core.readers import streams
from calib_core.summaries import merged, write_summary
from tests.calib_core.summaries.test_summary import KINDS, drawn

pytest.importorskip("pyarrow")


@pytest.fixture
def frame() -> pd.DataFrame:
    rows = drawn(0, 200)
    columns = {f"p_{name}": rows.probs[:, j] for j, name in enumerate("abc")}
    named = np.array(list("abc"), dtype=object)[rows.true_labels]
    return pd.DataFrame({**columns, "label": named, "site": rows.metadata["site"]})


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """Decode Parquet in this process, not in a child that loads pyarrow again for every file."""
    monkeypatch.setattr("calib_core.readers.formats.parquet._HAS_LIMITS", False)


@pytest.fixture
def short_runs(monkeypatch):
    """Read files seven rows, or five hundred bytes, at a time."""
    monkeypatch.setattr(streams, "_rows_of", lambda width: 7)
    monkeypatch.setattr(streams, "TEXT_BYTES", 500)


@pytest.mark.filterwarnings("ignore:.*shuffled labels would give")
@pytest.mark.usefixtures("short_runs")
@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_runs_of_a_file_are_the_file(frame, tmp_path, ending):
    path = tmp_path / f"rows.{ending}"
    if ending == "jsonl":
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    else:
        getattr(frame, f"to_{ending}")(path, index=False)
    seen: list[float] = []
    found = summarise(path, columns=["site"], progress=seen.append)
    assert found.same_as(Summary.of(read_predictions(path), ["site"], source=path.name))
    assert len(seen) > 5
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


@pytest.mark.usefixtures("short_runs")
def test_arrays_stay_on_disk_and_take_their_labels_from_beside(tmp_path):
    rows = drawn(1, 50)
    np.save(tmp_path / "p.npy", rows.probs)
    np.save(tmp_path / "y.npy", rows.true_labels)
    found = summarise(tmp_path / "p.npy", labels=tmp_path / "y.npy")
    assert found.same_as(Summary.of(rows, source="p.npy"))
    np.save(tmp_path / "y.npy", rows.true_labels[:40])
    with pytest.raises(InputError, match="one label for each of the 50 rows"):
        summarise(tmp_path / "p.npy", labels=tmp_path / "y.npy")


@pytest.mark.usefixtures("short_runs")
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_bad_row_is_named_by_its_place_in_the_whole_file(frame, tmp_path, ending):
    frame.loc[133, "p_b"] = 7.0
    path = tmp_path / f"rows.{ending}"
    getattr(frame, f"to_{ending}")(path, index=False)
    place = "row 133" if ending == "parquet" else r"line 135 \(row 133\)"
    with pytest.raises(InputError, match=rf"rows\.{ending}, column \"p_b\", {place}: 7 is above 1"):
        summarise(path)


@pytest.mark.usefixtures("short_runs")
def test_a_torn_line_is_named_by_its_number_in_the_whole_file(frame, tmp_path):
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    lines = path.read_text().splitlines()
    lines[150] = lines[150].rsplit(",", 1)[0]
    path.write_text("\n".join(lines))
    with pytest.raises(InputError, match="line 151"):
        summarise(path)


@pytest.mark.usefixtures("short_runs")
def test_lines_may_break_inside_quotes(tmp_path):
    text = "p,label,site\n" + "".join(f'0.{i:03d},{i % 2},"a\n{i % 3}"\n' for i in range(200))
    (tmp_path / "rows.csv").write_text(text)
    found = summarise(tmp_path / "rows.csv", columns=["site"])
    assert found.n_rows == 200
    assert sorted(found.slices["site"]) == ["a\n0", "a\n1", "a\n2"]


@pytest.mark.filterwarnings("ignore::UserWarning")  # of labels that are drawn, or of few rows
def test_strings_of_json_may_hold_quotes(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "TEXT_BYTES", 300)
    path = tmp_path / "a.jsonl"
    rows = [{"p": 0.25, "label": i % 2, "note": 'a 5" nail' if i == 3 else ""} for i in range(40)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert summarise(path).n_rows == 40


@pytest.mark.filterwarnings("ignore::UserWarning")  # of labels that are drawn, or of few rows
def test_a_quote_left_open_in_a_long_text_is_refused_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "TEXT_BYTES", 1 << 20)
    path = tmp_path / "a.csv"
    path.write_text("p,label,note\n0.5,1,\n0.5,1,'\"\n" + "0.5,1,'\n" * 1_000_000)
    with pytest.raises(InputError, match="unclosed quote"):
        summarise(path)


@pytest.mark.usefixtures("short_runs")
def test_rows_that_a_column_marks_for_testing_are_counted(frame, tmp_path):
    path = tmp_path / "rows.parquet"
    frame["split"] = np.where(np.arange(200) < 90, "calibration", "test")
    frame.to_parquet(path)
    found = {which: summarise(path, rows=which).n_rows for which in ("auto", "all", "test", "calibration")}
    assert found == {"auto": 110, "all": 200, "test": 110, "calibration": 90}
    with pytest.raises(InputError, match="rows is"):
        summarise(path, rows="some")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_gives_the_summary_back(kind, tmp_path):
    found = Summary.of(drawn(2, 80, kind=kind), ["site"])
    write_summary(found, tmp_path / "counts.parquet")
    assert read_summary(tmp_path / "counts.parquet").same_as(found)
    opened = read_predictions(tmp_path / "counts.parquet")
    assert opened.same_as(found)
    assert opened.sample.n_rows == 80
    assert [path.name for path in tmp_path.iterdir()] == ["counts.parquet"]


def test_a_file_of_before_pairs_were_kept_gives_values(tmp_path):
    path, found = tmp_path / "counts.parquet", Summary.of(drawn(2, 80))
    write_summary(found, path)
    table = pd.read_parquet(path)
    table[~table["calib summary"].str.startswith("pair")].to_parquet(path, index=False)
    older = read_summary(path)
    assert estimate(older, "class-wise").value == estimate(found, "class-wise").value
    with pytest.raises(NotAnswerable, match="older version"):
        estimate(older, "class-wise").interval()


def test_summaries_are_merged_into_what_is_read(tmp_path):
    rows = drawn(3, 60)
    for name, part in (("a", rows.take(np.arange(30))), ("b", rows.take(np.arange(30, 60)))):
        write_summary(Summary.of(part, source=name), tmp_path / f"{name}.parquet")
    both = summarise([tmp_path / "b.parquet", tmp_path / "a.parquet"])
    assert both.n_rows == 60
    assert both.same_as(merged([read_summary(tmp_path / f"{name}.parquet") for name in "ab"]))


def test_a_damaged_summary_is_refused_in_one_sentence(tmp_path):
    path = tmp_path / "counts.parquet"
    write_summary(Summary.of(drawn(4, 60)), path)
    table = pd.read_parquet(path)
    for damage in (
        table[table["calib summary"] != "kind"],
        table[table["calib summary"] != "label"],
        table.assign(outcome=table["count"] + 1),
        table[table["calib summary"] != "sample"],
        table.iloc[:-1],
        table[table["calib summary"] != "pair cells"],
        table.assign(text=table["text"].where(table["calib summary"] != "pairs", "7")),
    ):
        damage.to_parquet(path, index=False)
        with pytest.raises(InputError, match="damaged"):
            read_summary(path)
    write_summary(Summary.of(drawn(4, 60)), path)
    with pytest.raises(InputError, match='leave out "label"'):
        read_predictions(path, label="y")
    pd.DataFrame({"p": [0.5], "label": [1]}).to_parquet(path)
    with pytest.raises(InputError, match="is not a summary"):
        read_summary(path)


def test_what_cannot_be_summarised_says_why(tmp_path):
    for name, data, why in (
        ("a.csv", b"", "is empty"),
        ("a.csv", b"p,label\n", "no data rows"),
        ("a.parquet", b"PAR1 and no more", "damaged or cut off"),
        ("a.npy", b"\x93NUMPY", "NPY array"),
        ("a.csv", b"PAR1", "not CSV"),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(InputError, match=why):
            summarise(tmp_path / name)
    with pytest.raises(InputError, match="cannot be opened"):
        summarise(tmp_path / "none.csv")
    with pytest.raises(InputError, match="no file is given"):
        summarise([])


@pytest.mark.filterwarnings("ignore")
def test_a_summary_carries_the_column_of_the_outcome_and_older_files_have_none(tmp_path):
    rng = np.random.default_rng(0)
    risk = rng.uniform(0.1, 0.9, 60)
    table = pd.DataFrame({"risk": risk, "died": (rng.random(60) < risk).astype(int)})
    table.to_csv(tmp_path / "risk.csv", index=False)
    made = summarise(tmp_path / "risk.csv")
    assert made.outcome == "died"
    write_summary(made, tmp_path / "counts.parquet")
    assert read_summary(tmp_path / "counts.parquet").outcome == "died"
    assert merged([made, made]).outcome == "died"
    assert merged([made, replace(made, outcome="left")]).outcome == ""
    write_summary(replace(made, outcome=""), tmp_path / "older.parquet")  # as files were before
    older = read_summary(tmp_path / "older.parquet")
    assert older.outcome == ""
    assert older.same_as(made)
