"""Results that come with the package, and where the dashboard gets its experiments from."""

import lzma
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from generated import ordinary_rows

import calib_core as cc
from calib_core.arena import (
    ArenaExperiment,
    divided_experiments,
    project_results,
    results_in,
    run,
    stored_results,
    table,
)
from calib_core.arena.stored_results import BENCHMARKS, FOLDER, write_project_results

ROOT = Path(__file__).parents[3]


def rows(n=120, k=3, seed=0):
    probs, labels = ordinary_rows(n, k, seed)
    return cc.Predictions(probs, labels)


@pytest.fixture(scope="module")
def run_of_both(tmp_path_factory):
    """Return a folder of results: one method that fails for three classes, and a data set called null."""
    folder = tmp_path_factory.mktemp("results")
    for name, k in zip(BENCHMARKS, (2, 3), strict=True):
        sources = [ArenaExperiment(d, "net", rows(80, k, i), rows(80, k, i + 9)) for i, d in enumerate(("null", "b"))]
        run(sources, ["temperature", "intercept"], folder=folder / name)
    return folder


def test_stored_results_have_the_leaderboard_of_the_run(run_of_both, tmp_path, monkeypatch):
    monkeypatch.setattr(stored_results, "FOLDER", tmp_path)
    write_project_results(run_of_both, folder=tmp_path)
    for name in BENCHMARKS:
        stored, whole = project_results(name), results_in(run_of_both / name)
        assert set(stored["dataset"]) == {"null", "b"}
        assert stored["log_loss"].tolist() == pytest.approx(whole["log_loss"].tolist(), abs=0, rel=0, nan_ok=True)
        pd.testing.assert_frame_equal(table(stored).frame(), table(whole).frame(), rtol=1e-3)
        exact = ["method", "win_rate", "win_rate_low", "ratio", "worse", "mean_harm", "rank", "failed"]
        pd.testing.assert_frame_equal(table(stored).frame()[exact], table(whole).frame()[exact], check_exact=True)
    assert project_results("multiclass")["log_loss"].isna().sum() == 2
    first = (tmp_path / "binary.csv.xz").read_bytes()
    write_project_results(run_of_both, folder=tmp_path)
    assert (tmp_path / "binary.csv.xz").read_bytes() == first


def test_an_unknown_benchmark_is_refused():
    with pytest.raises(cc.InputError, match="benchmark is 'ternary'; it must be one of binary, multiclass"):
        project_results("ternary")


@pytest.mark.parametrize("kind", BENCHMARKS)
def test_the_package_contains_the_results(kind):
    path = FOLDER / f"{kind}.csv.xz"
    assert path.stat().st_size < 1_000_000
    found = project_results(kind)
    assert {"identity", "choose"} <= set(found["method"])
    assert (found["n_classes"] == 2).all() == (kind == "binary")
    assert len(lzma.decompress(path.read_bytes()).splitlines()) == len(found) + 1


def test_the_make_target_stores_the_results(run_of_both, tmp_path, monkeypatch):
    from tests.arena_experiments import keep

    copied = shutil.copytree(run_of_both, tmp_path / "results")
    monkeypatch.setattr(keep, "write_project_results", lambda results: write_project_results(results, folder=tmp_path))
    monkeypatch.setattr(stored_results, "FOLDER", tmp_path)
    keep.main([str(copied)])
    assert len(project_results("binary")) == 6


def test_a_divided_file_is_one_experiment_of_its_two_parts():
    found = divided_experiments({"net": (half := cc.calls.divide(rows(), share=0.4))})
    assert [each.name for each in found] == ["net/net"]
    assert found[0].calibration is half.fit
    assert found[0].test is half.test


def test_every_fold_of_a_cross_fitted_file_is_an_experiment_and_no_row_is_in_both_parts():
    labelled = rows().replace(metadata=pd.DataFrame({"row": range(120)}))
    found = divided_experiments({"net": cc.calls.divide(labelled, folds=4)})
    assert [each.model for each in found] == [f"net, fold {i}" for i in (1, 2, 3, 4)]
    assert {each.dataset for each in found} == {"net"}
    parts = [(set(each.calibration.metadata["row"]), set(each.test.metadata["row"])) for each in found]
    assert all(not fit & test and len(fit | test) == 120 for fit, test in parts)
    assert sorted(row for _, test in parts for row in test) == list(range(120))


def test_files_with_the_same_labels_are_models_on_one_data_set():
    first = rows()
    second = first.with_probs(np.roll(first.probs, 1, axis=1))
    files = {"a": first, "b": second, "c": rows(seed=5)}
    found = divided_experiments({name: cc.calls.divide(each) for name, each in files.items()})
    assert [each.name for each in found] == ["a/a", "a/b", "c/c"]


def test_files_without_rows_or_class_probabilities_are_refused():
    bare = cc.Predictions.from_confidence([0.9, 0.8, 0.7, 0.6], correct=[True, True, False, True])
    with pytest.raises(cc.NotAnswerable, match=r"old does not have all class probabilities"):
        divided_experiments({"old": cc.calls.divide(bare)})
    with pytest.raises(cc.NotAnswerable, match=r"old is a summary of counts"):
        divided_experiments({"old": cc.calls.divide(cc.Summary.of(rows()))})
