"""Runs of MLflow and of Weights & Biases on local stores: logged data are read back. `make trackers` runs it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import calib_core as cc
from calib_core import InputError
from dashboard import session
from dashboard.integrations import Handout, handout, log_to_mlflow, log_to_wandb
from dashboard.report import CHAPTERS, Options
from dashboard.report import read_recipe as recipe_in

pytestmark = pytest.mark.filterwarnings("ignore")  # other people's
FEW = Options(left_out=tuple(chapter.key for chapter in CHAPTERS if chapter.key != "summary"), date="Made once")


@pytest.fixture(scope="module")
def rows() -> cc.Predictions:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1.0, 1.0], 60)
    return cc.Predictions(probs, rng.integers(0, 2, 60), class_names=["<b>", "a|b"], groups=np.arange(60) // 2)


def test_what_is_not_installed_is_a_sentence(rows: cc.Predictions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handout, "find_spec", lambda name: None)
    for log, words in ((log_to_mlflow, "MLflow needs mlflow"), (log_to_wandb, "Weights & Biases needs wandb")):
        with pytest.raises(InputError) as refused:
            log(rows)
        assert str(refused.value).startswith(f"logging to {words}; run: pip install calib[")


@pytest.mark.wide
def test_a_run_of_mlflow_has_all_of_it(rows: cc.Predictions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow: Any = pytest.importorskip("mlflow", reason="the extra `mlflow` is not installed")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'runs.db'}")
    run_id = log_to_mlflow(rows, options=FEW)
    assert mlflow.active_run() is None
    with mlflow.start_run() as active:
        assert log_to_mlflow(rows, options=FEW) == active.info.run_id
        assert mlflow.active_run() is active
    assert log_to_mlflow(rows, run_id, options=FEW) == run_id
    client, handout = mlflow.MlflowClient(), Handout.of(rows)
    folder = Path(client.download_artifacts(run_id, "calibration", str(tmp_path)))
    page = (folder / "report.html").read_bytes()
    assert page == handout.report(FEW).html
    assert recipe_in(page).selection == handout.selection.replace(view="overview")
    assert json.loads((folder / "calibration.json").read_text()) == handout.record()
    table = mlflow.load_table("calibration/lines.json", run_ids=[run_id])
    # MLflow rounds to ten digits, and adds what is logged again.
    np.testing.assert_allclose(table["point"], [*handout.table["point"]] * 2, atol=1e-9)
    assert client.get_run(run_id).data.metrics == handout.numbers()


@pytest.mark.wide
def test_a_run_of_weights_and_biases_has_all_of_it(
    rows: cc.Predictions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb: Any = pytest.importorskip("wandb", reason="the extra `wandb` is not installed")
    monkeypatch.chdir(tmp_path)
    for name, value in (("MODE", "offline"), ("DIR", str(tmp_path)), ("SILENT", "true"), ("DATA_DIR", str(tmp_path))):
        monkeypatch.setenv(f"WANDB_{name}", value)
    run_id = log_to_wandb(rows, options=FEW)
    assert wandb.run is None
    handout = Handout.of(rows)
    (media,) = tmp_path.glob(f"wandb/offline-run-*-{run_id}/files/media")
    (page,) = media.rglob("*.html")
    assert page.read_bytes() == handout.report(FEW).html
    (table,) = media.rglob("*.table.json")
    written = json.loads(table.read_text())
    point = written["columns"].index("point")
    assert [line[point] for line in written["data"]] == handout.table["point"].tolist()
    run, artifacts = wandb.init(), []
    seen = SimpleNamespace(id=run.id, log=run.log, summary=run.summary, log_artifact=artifacts.append)
    assert log_to_wandb(rows, seen, options=FEW) == run.id
    files = {name: Path(entry.local_path).read_bytes() for name, entry in artifacts[0].manifest.entries.items()}
    assert files == {"report.html": page.read_bytes(), "calibration.json": handout.json().encode()}
    run.log_artifact(artifacts[0])
    assert {name: run.summary[name] for name in handout.numbers()} == handout.numbers()
    run.finish()


def test_a_run_that_was_begun_is_finished_where_logging_fails(
    rows: cc.Predictions, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []
    begun = SimpleNamespace(id="r", finish=lambda: ended.append("r"))

    def table(**_: Any) -> None:
        raise OSError("the disk is full")

    wandb = SimpleNamespace(run=None, init=lambda: begun, Table=table)
    monkeypatch.setattr(handout, "_package", lambda name, title: wandb)
    monkeypatch.setattr(Handout, "report", lambda handout, options: SimpleNamespace(html=b""))
    session.delete_own()
    with pytest.raises(OSError, match="full"):
        log_to_wandb(rows)
    assert ended == ["r"]
    assert session.own_keys() == (), "what was read for a run is let go"
    mine = Handout.of(rows).selection.source.data
    with pytest.raises(OSError, match="full"):
        log_to_wandb(rows)
    assert session.own_keys() == (mine,), "but for what was here before"
