"""Files recalibrated and fitted in parts give the same result as in one piece, to the last bit."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core.readers import read_table, streams
from dashboard.commands import _part_by_part
from tests.dashboard.test_commands import run, table

pytest.importorskip("pyarrow")


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("calib_core.readers.formats.parquet._HAS_LIMITS", False)


@pytest.fixture
def many(monkeypatch):
    """Reduce the part size to 64 rows or 2,000 letters, so that small files have several parts."""

    def parted():
        monkeypatch.setattr(_part_by_part, "SMALL", 0)
        monkeypatch.setattr(streams, "TEXT_BYTES", 2000)
        monkeypatch.setattr(streams, "FEWEST_ROWS", 64)
        monkeypatch.setattr(streams, "VALUES", 64)

    return parted


def rows(n=300):
    frame = table(n).assign(visit=np.arange(n), site="a", share=np.arange(n) / 8)
    return frame.astype({"visit": int})


def written(name, frame):
    if name.endswith("parquet"):
        frame.to_parquet(name)
    elif name.endswith("jsonl"):
        frame.to_json(name, orient="records", lines=True, double_precision=15)
    else:
        frame.to_csv(name, index=False)


@pytest.mark.parametrize(
    ("key", "source", "ending"),
    [
        ("temperature", "in.csv", "csv"),
        ("temperature", "in.jsonl", "jsonl"),
        ("temperature", "in.parquet", "npy"),
        ("top-label-hb", "in.parquet", "csv"),
        ("metacal-miscoverage", "in.csv", "parquet"),
    ],
)
def test_parts_are_the_whole_to_the_last_bit(many, key, source, ending):
    frame = rows()
    if source != "in.parquet":  # whole numbers, later others; and a text that looks like a formula
        frame["visit"] = [*range(250), *[0.5] * 50]
        frame["visit"] = [str(v) for v in frame["visit"]] if source == "in.csv" else frame["visit"]
    frame.loc[7, "site"] = "=1+1"
    written(source, frame)
    params = ["--param", "miscoverage=0.2"] if key.startswith("metacal") else []
    run("fit", source, "--calibrator", key, *params, "-o", "cal.json")
    whole = run("apply", "cal.json", source, "-o", f"whole.{ending}").stderr
    many()
    parts = run("apply", "cal.json", source, "-o", f"parts.{ending}").stderr
    assert parts.replace("parts", "whole").splitlines()[-1] == whole.splitlines()[-1]
    if ending != "parquet":
        assert Path(f"parts.{ending}").read_bytes() == Path(f"whole.{ending}").read_bytes()
        return
    a, b = (pd.read_parquet(f"{name}.parquet") for name in ("whole", "parts"))
    pd.testing.assert_frame_equal(a, b, check_exact=True)


def test_the_share_abstained_is_that_of_the_rows_weights_in_parts_too(many):
    """Heavy rows are uncertain ones, so that the share of rows differs from that of their weight."""
    frame = rows()
    sure = frame[[name for name in frame.columns if name.startswith("p_")]].max(axis=1)
    written("in.csv", frame.assign(weight=np.where(sure < sure.median(), 9.0, 1.0)))
    weighed = ["in.csv", "--read", "weights=weight"]
    run("fit", "in.csv", "--calibrator", "metacal-miscoverage", "--param", "miscoverage=0.2", "-o", "cal.json")
    told = [run("apply", "cal.json", *weighed, "-o", "whole.csv").stderr.splitlines()[-1]]
    many()
    told.append(run("apply", "cal.json", *weighed, "-o", "parts.csv").stderr.splitlines()[-1].replace("parts", "whole"))
    assert told[0] == told[1]
    answered = ~pd.read_csv("whole.csv")["abstained"].astype(bool)
    assert f"({100 * (1 - answered.mean()):.1f} % abstained)" not in told[0], "or the weights tell nothing"


def test_words_among_numbers_begin_writing_anew(many):
    frame = rows().astype({"visit": object})
    frame.loc[290, "visit"] = "n.a."
    written("in.csv", frame)
    run("fit", "in.csv", "--calibrator", "temperature", "-o", "cal.json")
    many()
    run("apply", "cal.json", "in.csv", "-o", "out.parquet")
    assert pd.read_parquet("out.parquet")["visit"].tolist() == [
        *map(str, range(290)),
        "n.a.",
        *map(str, range(291, 300)),
    ]


def test_stdout_gets_what_a_file_gets(many):
    """A pipe cannot be rewound, so nothing is written to it before writing can no longer start again."""
    frame = rows().astype({"visit": object})
    frame.loc[290, "visit"] = "n.a."
    written("in.csv", frame)
    run("fit", "in.csv", "--calibrator", "temperature", "-o", "cal.json")
    many()
    run("apply", "cal.json", "in.csv", "-o", "out.csv")
    assert run("apply", "cal.json", "in.csv", "-o", "-").stdout_bytes == Path("out.csv").read_bytes()


def test_labels_may_lie_beside_a_matrix(many):
    rng = np.random.default_rng(0)
    p, y = rng.dirichlet([1, 1, 1], 200), rng.integers(0, 3, 200)
    np.save("p.npy", p)
    np.save("y.npy", y)
    fitted = cc.CALIBRATORS.make("temperature").fit(p, y)
    Path("cal.json").write_text(fitted.to_json())
    many()
    run("apply", "cal.json", "p.npy", "--labels", "y.npy", "-o", "out.npy")
    np.testing.assert_array_equal(np.load("out.npy"), fitted.predict_proba(p))
    refused = run("apply", "cal.json", "p.npy", "--labels", "y.npy", "-o", "out.npz", code=2).stderr
    assert "are written in parts; end -o in .csv, .parquet, .jsonl, .npy" in refused


@pytest.mark.parametrize("key", ["temperature", "vector", "class-wise-hb"])
def test_a_fit_in_parts_is_that_of_the_rows_marked_for_it(many, key):
    frame = table(300, split=True)
    written("in.csv", frame)
    many()
    stderr = run("fit", "in.csv", "--calibrator", key, "--parts", "-o", "cal.json").stderr
    whole = cc.read_predictions("in.csv", rows="all")
    fit = whole.take(np.arange(0, 300, 3))
    assert f"on {fit.n_rows} rows of in.csv" in stderr
    wanted = cc.CALIBRATORS.make(key).fit_on(cc.Summary.of(fit) if key.endswith("hb") else fit)
    np.testing.assert_allclose(cc.load_calibrator("cal.json").apply(whole).probs, wanted.apply(whole).probs, atol=1e-9)
    refused = run("fit", "in.csv", "--calibrator", "venn-abers", "--parts", "-o", "x.json", code=2).stderr
    assert "needs all calibration rows at once" in refused


def test_a_summary_is_fitted_like_data():
    written("in.csv", rows())
    run("summarise", "in.csv", "-o", "counts.parquet")
    run("fit", "counts.parquet", "--calibrator", "top-label-hb", "-o", "cal.json")
    wanted = cc.CALIBRATORS.make("top-label-hb").fit_on(cc.read_summary("counts.parquet"))
    assert cc.load_calibrator("cal.json").to_json() == wanted.to_json()
    refused = run("fit", "counts.parquet", "--calibrator", "temperature", "-o", "x.json", code=2).stderr
    assert "fitting Temperature scaling needs rows, but a summary contains only counts" in refused
    assert "leave --rows" in run("fit", "counts.parquet", "--calibrator", "vector", "--rows", "all", "-o", "x.json",
                                 code=2).stderr  # fmt: skip


def test_what_is_read_is_not_lost(many):
    written("in.csv", rows())
    run("fit", "in.csv", "--calibrator", "temperature", "-o", "cal.json")
    before = Path("in.csv").read_bytes()
    many()
    assert "would be overwritten" in run("apply", "cal.json", "in.csv", "-o", "in.csv", code=2).stderr
    assert Path("in.csv").read_bytes() == before
    run("apply", "cal.json", "in.csv", "-o", "in.csv", "--force")
    assert Path("in.csv").read_bytes() != before


def test_a_part_that_cannot_be_read_leaves_nothing_behind(many):
    frame = rows()
    written("in.csv", frame)
    run("fit", "in.csv", "--calibrator", "temperature", "-o", "cal.json")
    lines = Path("in.csv").read_text().splitlines()
    Path("in.csv").write_text("\n".join([*lines[:280], lines[280].replace("0.", "7.", 1), *lines[281:]]))
    many()
    refused = run("apply", "cal.json", "in.csv", "-o", "out.csv", code=2).stderr
    assert "line 281" in refused
    assert sorted(p.name for p in Path().iterdir()) == ["cal.json", "in.csv"]
    assert read_table("in.csv").n_rows == 300
