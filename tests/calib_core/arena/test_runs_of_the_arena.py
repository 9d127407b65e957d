"""Runs of the arena: numbers by hand, results that continue after an interruption, processes, damaged experiments."""

import importlib.util
import json
import math

import h5py
import numpy as np
import pandas as pd
import pytest
from generated import ordinary_rows

import calib_core as cc
from calib_core.arena import ArenaExperiment, ArenaResults, default_methods, experiments, run, table, tournament
from calib_core.arena.contenders import as_contenders
from calib_core.arena.outcomes import standard_error

METHODS = ("temperature", "intercept")
SECONDS = ["fit_seconds", "apply_seconds"]


def rows(n=120, k=2, seed=0, **more):
    probs, labels = ordinary_rows(n, k, seed)
    sharp = probs**1.7 / (probs**1.7).sum(axis=1, keepdims=True)
    return cc.Predictions(sharp, labels, **more)


def three():
    """Return experiments on two data sets, the last with three classes."""
    places = (("a", "m1", 2), ("a", "m2", 2), ("b", "m1", 3))
    return [ArenaExperiment(d, m, rows(120, k, i), rows(200, k, i + 10)) for i, (d, m, k) in enumerate(places)]


def without_seconds(folder):
    """Return the files of results as text, without the columns of seconds."""
    found = {}
    for path in sorted(folder.iterdir()):
        frame = pd.read_csv(path, dtype=str)
        found[path.name] = frame[[name for name in frame if not name.endswith("_time")]].to_csv(index=False)
    return found


def test_scores_are_those_of_the_fitted_calibrator():
    experiment = three()[0]
    line = run([experiment], METHODS).frame().set_index("method").loc["temperature"]
    after = cc.CALIBRATORS.make("temperature").fit_on(experiment.calibration).apply(experiment.test)
    p, y, base = after.probs, experiment.test.labels, experiment.test.probs
    losses, before = (-np.log(probs[np.arange(200), y]) for probs in (p, base))
    assert line["log_loss"] == pytest.approx(losses.mean())
    assert line["brier"] == pytest.approx(np.mean(np.sum((p - np.eye(2)[y]) ** 2, axis=1)))
    assert line["accuracy"] == np.mean(p.argmax(axis=1) == y)
    assert line["log_loss_error"] == pytest.approx(np.std(losses - before, ddof=1) / math.sqrt(200))
    assert (line["cal_size"], line["test_size"], line["n_classes"]) == (120, 200, 2)
    assert json.loads(line["recipe"]) == {"key": "temperature"}


def test_a_method_that_cannot_be_used_has_a_reason():
    found = run(three(), METHODS).frame().set_index(["dataset", "method"])
    line = found.loc[[("b", "intercept")]].iloc[0]
    assert line["reason"] == "it works for 2 classes only, and these predictions have 3"
    assert math.isnan(line["log_loss"])


def test_a_failure_of_any_kind_is_a_reason_and_the_run_continues(monkeypatch):
    def broken(self, predictions, progress):
        raise ZeroDivisionError("no\nrows")

    monkeypatch.setattr(cc.CALIBRATORS["temperature"].cls, "_fit", broken)
    found = run(three()[:1], METHODS).frame().set_index("method")
    assert found.loc["temperature", "reason"] == "ZeroDivisionError: no rows"
    assert found.loc["intercept", "log_loss"] > 0


def test_a_method_that_leaves_rows_unanswered_has_no_scores():
    found = run(three()[:1], ["metacal-accuracy", "confidence-hb"]).frame().set_index("method")["reason"]
    assert found["confidence-hb"] == "it does not return all class probabilities of every row"
    assert found["metacal-accuracy"]


def test_the_recommended_calibrator_is_that_of_choose():
    given = rows(300, seed=1)
    sharp = given.with_probs(given.probs**3 / (given.probs**3).sum(axis=1, keepdims=True))
    found = run([ArenaExperiment("a", "b", sharp, sharp)], ["choose"]).frame().set_index("method")
    assert found.loc["choose", "recipe"] == cc.choose(sharp).recipe.to_json() != '{"key":"identity"}'
    same = cc.Predictions(np.eye(2)[[0, 1] * 50], [0, 1] * 50)  # predictions equal the labels: no advice is given
    refused = run([ArenaExperiment("a", "b", same, same)], ["choose"]).frame()
    assert refused["recipe"].tolist() == ['{"key":"identity"}'] * 2


def test_standard_error_of_weighted_and_of_grouped_rows():
    """Groups (0, 2) and (4, 6) with mean 3: sums -4 and 4, so sqrt(2 / 1 * 32) / 4. Weights 1 and 3: mean 1.5."""
    values = np.array([0.0, 2.0, 4.0, 6.0])
    grouped = rows(4, groups=[0, 0, 1, 1])
    assert standard_error(values, grouped) == pytest.approx(2.0)
    weighted = rows(2, weights=[1, 3])
    assert standard_error(values[:2], weighted) == pytest.approx(math.sqrt(2 * (1.5**2 + 1.5**2)) / 4)


class Stop(Exception):
    """Interruption by the caller."""


def test_an_interrupted_run_continues_with_the_same_bits(tmp_path, monkeypatch):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    expected = run(three(), METHODS, folder=whole).frame()

    def stop(percent):
        if percent >= 33:
            raise Stop

    with pytest.raises(Stop):
        run(three(), METHODS, folder=parts, progress=stop)
    first = (parts / "temperature.csv").read_text().splitlines()
    assert len(first) == 2
    percents = []
    continued = run(three(), METHODS, folder=parts, progress=percents.append).frame()
    n = len(METHODS) + 1  # and no calibration
    assert percents == [100 * done // (3 * n) for done in range(1, 3 * n + 1)]
    assert (parts / "temperature.csv").read_text().splitlines()[:2] == first  # seconds included: it was not run again
    assert without_seconds(parts) == without_seconds(whole)
    pd.testing.assert_frame_equal(continued.drop(columns=SECONDS), expected.drop(columns=SECONDS), check_exact=True)

    def again(*arguments):
        raise AssertionError("a known result was computed again")

    monkeypatch.setattr(tournament, "outcome", again)
    pd.testing.assert_frame_equal(run(three(), METHODS, folder=parts).frame(), continued, check_exact=True)


def test_only_what_is_missing_or_changed_is_computed(tmp_path, monkeypatch):
    run(three()[:2], ["temperature"], folder=tmp_path)
    computed = []
    true = tournament.outcome
    monkeypatch.setattr(tournament, "outcome", lambda c, e: computed.append((c.name, e.name)) or true(c, e))
    changed = [three()[0], ArenaExperiment("a", "m2", rows(seed=9), three()[1].test), three()[2]]
    run(changed, ["temperature", "intercept"], folder=tmp_path)
    assert computed == [
        ("intercept", "a/m1"),
        *((name, "a/m2") for name in ("identity", "temperature", "intercept")),
        *((name, "b/m1") for name in ("identity", "temperature", "intercept")),
    ]
    alone = run([three()[0]], ["temperature"], folder=tmp_path)
    assert len(alone.frame()) == 2  # lines of other experiments stay in the files
    assert len(pd.read_csv(tmp_path / "temperature.csv")) == 3


def test_processes_change_no_number(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    first = run(three(), METHODS, folder=one).frame()
    second = run(three(), METHODS, folder=two, jobs=2).frame()
    pd.testing.assert_frame_equal(first.drop(columns=SECONDS), second.drop(columns=SECONDS), check_exact=True)
    assert without_seconds(one) == without_seconds(two)


def test_results_are_as_calarena_writes_them(tmp_path):
    run(three()[:1], ["temperature"], folder=tmp_path)
    columns = pd.read_csv(tmp_path / "temperature.csv").columns.tolist()
    assert columns[:9] == ["dataset", "model", "cal_size", "test_size", "n_classes", "temperature_brier",
                           "temperature_logloss", "temperature_accuracy", "temperature_time"]  # fmt: skip


def test_methods_are_read_off_the_registry():
    names = [each.name for each in default_methods()]
    assert names[:2] == ["identity", "choose"]
    assert {"temperature", "ensemble-temperature", "iop", "gp", "structured", "blend"} <= set(names)
    assert not {"isotonic-ovr", "lece", "metacal-accuracy", "top-label-hb", "class-wise"} & set(names)
    limited = {each.name: each.most_classes for each in default_methods()[2:]}
    assert (limited["matrix"], limited["vector"]) == (200, None)


def test_methods_by_recipe_have_names_of_files():
    recipe = cc.CALIBRATORS.described("lece", cross_validate=True)
    assert [each.name for each in as_contenders([recipe])] == ["identity", "key-lece-params-cross_validate-true"]
    with pytest.raises(cc.InputError, match="given twice"):
        as_contenders(["temperature", "temperature"])
    with pytest.raises(cc.RegistryError, match="temprature"):
        as_contenders(["temprature"])


def test_what_is_no_tournament_is_refused():
    with pytest.raises(cc.InputError, match="at least one experiment"):
        run([])
    with pytest.raises(cc.InputError, match="two experiments are called a/m1"):
        run([three()[0]] * 2)
    with pytest.raises(cc.InputError, match="different classes"):
        ArenaExperiment("a", "b", rows(), rows(k=3))
    with pytest.raises(cc.InputError, match="a/b: the test rows do not have all class probabilities"):
        ArenaExperiment("a", "b", rows(), cc.Predictions.from_confidence([0.9], [True]))


def write(folder, part, predictions, ending="csv"):
    folder.mkdir(parents=True, exist_ok=True)
    if ending == "npz":
        np.savez(folder / f"{part}.npz", probs=predictions.probs, labels=predictions.labels)
        return
    frame = pd.DataFrame(predictions.probs, columns=[f"p_{j}" for j in range(predictions.n_classes)])
    frame.assign(label=predictions.labels).to_csv(folder / f"{part}.{ending}", index=False)


def test_folders_are_read_and_damaged_ones_reported(tmp_path):
    given = three()
    write(tmp_path / "a" / "m1", "calibration", given[0].calibration)
    write(tmp_path / "a" / "m1", "test", given[0].test, "npz")
    write(tmp_path / "a" / "m2", "calibration", given[1].calibration)
    write(tmp_path / "b" / "m1", "calibration", given[2].calibration)
    write(tmp_path / "b" / "m1", "test", given[2].test)
    (tmp_path / "b" / "m1" / "test.csv").write_text("p_0,p_1\n0.5,much\n")
    (tmp_path / "notes.txt").write_text("no experiment")
    found = run(experiments(tmp_path), ["temperature"])
    expected = run(given[:1], ["temperature"]).frame()
    pd.testing.assert_frame_equal(found.frame().drop(columns=SECONDS), expected.drop(columns=SECONDS))
    assert [name for name, _ in found.damaged] == ["a/m2", "b/m1"]
    assert found.damaged[0][1].startswith("a/m2 has no file named test (such as test.csv)")


def test_probable_mistakes_in_files_are_remarks(tmp_path):
    given = three()[0]
    for part, predictions in (("calibration", given.calibration), ("test", given.test)):
        write(tmp_path / "a" / "m1", part, predictions)
    path = tmp_path / "a" / "m1" / "test.csv"
    pd.concat([pd.read_csv(path)] * 2).to_csv(path, index=False)
    found = run(experiments(tmp_path), ["temperature"])
    assert [name for name, _ in found.remarks] == ["a/m1"]
    assert "test.csv: 200 of 400 rows have the scores of an earlier row" in found.remarks[0][1]


def write_hdf5(path, given):
    with h5py.File(path, "w") as file:
        for each in given:
            group = file.create_group(f"{each.dataset}/{each.model}")
            for short, part in (("cal", each.calibration), ("test", each.test)):
                probs = part.probs[:, 1] if part.n_classes == 2 else part.probs
                group.create_dataset(f"probas_{short}", data=probs, chunks=probs.shape, fletcher32=True)
                group[f"labels_{short}"] = part.labels


def test_an_hdf5_file_is_read_back(tmp_path):
    write_hdf5(tmp_path / "all.h5", three())
    found = run(experiments(tmp_path / "all.h5"), METHODS)
    expected = run(three(), METHODS).frame().drop(columns=SECONDS)
    pd.testing.assert_frame_equal(found.frame().drop(columns=SECONDS), expected, rtol=1e-9)
    assert found.damaged == ()
    second = experiments(tmp_path / "all.h5")[2].load()
    assert np.array_equal(second.test.probs, three()[2].test.probs)
    assert second.calibration.labels.tolist() == three()[2].calibration.labels.tolist()


def test_damaged_groups_of_an_hdf5_file_are_reported(tmp_path):
    path = tmp_path / "all.h5"
    write_hdf5(path, three())
    with h5py.File(path, "a") as file:
        file["loose"] = np.zeros(3)
        write_group(file, "c/labels", labels=[0, 5, 1])
        write_group(file, "c/lengths", labels=[0, 1])
        write_group(file, "c/nan", probs=[0.1, np.nan, 0.2])
        write_group(file, "c/missing")
        del file["c/missing/labels_test"]
        place = file["a/m2/probas_test"].id.get_chunk_info(0).byte_offset
    data = bytearray(path.read_bytes())
    data[place] ^= 0xFF
    path.write_bytes(data)
    found = run(experiments(path), ["temperature"])
    assert found.frame()["model"].unique().tolist() == ["m1"]
    why = dict(found.damaged)
    assert list(why) == ["a/m2", "c/labels", "c/lengths", "c/missing", "c/nan", "loose/"]
    assert "cannot be read" in why["a/m2"]
    assert why["c/missing"].startswith("c/missing has no array labels_test; an experiment has probas_cal")
    assert all(why[f"c/{name}"].startswith(f"c/{name}, test rows: ") for name in ("labels", "lengths", "nan"))


def write_group(file, name, probs=(0.1, 0.6, 0.2), labels=(0, 1, 0)):
    good = {"probas_cal": [0.2, 0.7, 0.4], "labels_cal": [0, 1, 1]}
    for key, values in {**good, "probas_test": probs, "labels_test": labels}.items():
        file[f"{name}/{key}"] = np.array(values)


def test_files_without_experiments_are_refused(tmp_path, monkeypatch):
    with pytest.raises(cc.InputError, match="has no folder DATASET/MODEL"):
        experiments(tmp_path)
    (tmp_path / "a.h5").write_text("p,label\n")
    with pytest.raises(cc.InputError, match=r"a.h5 is not an HDF5 file"):
        experiments(tmp_path / "a.h5")
    h5py.File(tmp_path / "b.h5", "w").close()
    with pytest.raises(cc.InputError, match="has no group dataset/model"):
        experiments(tmp_path / "b.h5")
    with h5py.File(tmp_path / "c.h5", "w") as file:
        write_group(file, "a/b", labels=[9, 9, 9])
    with pytest.raises(cc.InputError, match="no experiment can be read; a/b: a/b, test rows: "):
        run(experiments(tmp_path / "c.h5"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(cc.InputError, match=r"reading HDF5 needs h5py; run: pip install calib\[h5\]"):
        experiments(tmp_path / "c.h5")


def test_results_make_a_leaderboard():
    found = run(three(), METHODS)
    assert isinstance(found, ArenaResults)
    board = table(found).frame().set_index("method")
    wide = found.frame().pivot(index=["dataset", "model"], columns="method", values="log_loss")
    gain = (wide["identity"] - wide["temperature"]).mean()
    assert board.loc["temperature", "improvement"] == pytest.approx(1000 * gain)
    assert board.loc["intercept", "failed"] == 1
