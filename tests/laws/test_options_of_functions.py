"""Every option of a public function changes its result: the option is applied, not only repeated.

Options are found by looking at the functions, so that a new one without a case fails. Each option is called with two
values, on rows where the two results have to differ beyond a copy of the option itself.
"""

from __future__ import annotations

import inspect
import json
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache, cached_property
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from answers import beyond, echoes, ends, leaves_of

import calib_core as cc
from calib_core.evaluation.study import every_measure
from dashboard.export import finite


def functions() -> dict[str, Callable[..., Any]]:
    """Return public functions with options, by their shortest name; mixed namespaces add no names."""
    below = {
        f"{name}.{inner}": getattr(room, inner)
        for name in cc.__all__
        if inspect.ismodule(room := getattr(cc, name))
        for inner in getattr(room, "__all__", ())
    }
    found: dict[Callable[..., Any], str] = {}
    for name, each in ({name: getattr(cc, name) for name in cc.__all__} | below).items():
        if inspect.isfunction(each):
            found.setdefault(each, name.removeprefix("calls.").removeprefix("judged."))
    return {name: each for each, name in found.items()}


FUNCTIONS = functions() | {"evaluation.advice.own_update": cc.evaluation.advice.own_update}
OPTIONS = [
    (name, param.name)
    for name, function in FUNCTIONS.items()
    for param in inspect.signature(function).parameters.values()
    if param.default is not param.empty
]
FORM_OF = {
    "method_tables.folder": "keeps what was computed, to go on there",
    "arena.run.folder": "keeps what was computed, to go on there",
    "inference.other_errors_of.ratio": "an event that its ratio alone shows to be off had no other line that shows an "
    "error on any data tried; that it is passed on, its verdict shows",
}
"""Single options that change no result, with the reason."""
FORM = {"progress": "shows how far the work is", "done": "shows how far the work is", "jobs": "how many processes work",
        "threads": "how many processes work"}  # fmt: skip
"""Options that change no result, with the reason."""


# ---- rows ----------------------------------------------------------------------------------------------------


def _columns(n: int) -> pd.DataFrame:
    """Return two columns to slice by, and marks of people on a third of the rows."""
    site = np.array(list("abcd"))[np.arange(n) % 4]
    checked = np.where(np.arange(n) % 3 == 0, np.where(np.arange(n) % 9 == 0, "no", "yes"), "")
    return pd.DataFrame({"site": site, "age": np.arange(n) * 7 % 60 + 20, "checked": checked, "again": checked[::-1]})


class Given:
    """Arguments of all functions, by the names of their parameters; created on demand."""

    @cached_property
    def predictions(self) -> cc.Predictions:
        """Return three very overconfident classes."""
        rng = np.random.default_rng(1)
        logits = rng.normal(size=(360, 3))
        label = (logits + rng.gumbel(size=(360, 3))).argmax(axis=1)
        sure = np.exp(2.5 * logits)
        probs = sure / sure.sum(axis=1, keepdims=True)
        return cc.Predictions(probs, label, class_names=["ant", "bee", "cat"], metadata=_columns(360))

    @cached_property
    def risk(self) -> cc.Predictions:
        """Return the risk of an event, twice too high at one site and a little at others."""
        rng = np.random.default_rng(2)
        risk = rng.beta(2, 5, 360)
        off = np.where(np.arange(360) % 4 == 2, 0.4, 0.85)
        died = (rng.random(360) < risk * off).astype(int)
        return cc.Predictions(
            np.column_stack([1 - risk, risk]), died, class_names=["lived", "died"], metadata=_columns(360)
        )

    @cached_property
    def experiments(self) -> list[cc.arena.ArenaExperiment]:
        return [cc.arena.ArenaExperiment(name, "net", self.fit, self.test) for name in ("one", "other")]

    @cached_property
    def results(self) -> pd.DataFrame:
        """Return results of three methods on six data sets."""
        found = cc.arena.run(self.experiments, ["temperature", "vector"]).frame()
        rng = np.random.default_rng(5)
        scores = ["log_loss", "brier", "accuracy"]
        return pd.concat(
            found.assign(
                dataset=found["dataset"] + str(i), **dict(zip(scores, rng.random((3, len(found))), strict=True))
            )
            for i in range(3)
        )

    @cached_property
    def b(self) -> cc.Predictions:
        """Return the three classes with less confidence."""
        return cc.CALIBRATORS.make("temperature").fit_on(self.predictions).apply(self.predictions)

    @cached_property
    def one_site(self) -> cc.Predictions:
        """Return a risk that is right except at one site, where it is six times too high."""
        rng = np.random.default_rng(3)
        risk = rng.beta(4, 4, 480)
        died = rng.random(480) < risk * np.where(np.arange(480) % 4 == 2, 0.15, 1.0)
        return cc.Predictions(np.column_stack([1 - risk, risk]), died.astype(int), metadata=_columns(480)[["site"]])

    @cached_property
    def fit(self) -> cc.Predictions:
        return self.predictions.take(np.arange(0, 360, 2))

    @cached_property
    def test(self) -> cc.Predictions:
        return self.predictions.take(np.arange(1, 360, 2))

    @cached_property
    def models(self) -> dict[str, cc.Predictions]:
        return {"one": self.predictions, "other": self.b}

    @cached_property
    def year(self) -> cc.Predictions:
        rng = np.random.default_rng(6)
        p, week = rng.beta(4, 4, 1000), np.arange(1000) // 20
        died = rng.random(1000) < np.where(week < 20, p, 0.3 * p)
        seen = (np.datetime64("2026-01-05") + 7 * week).astype(str)
        return cc.Predictions(np.column_stack([1 - p, p]), died.astype(int), metadata=pd.DataFrame({"seen": seen}))

    @cached_property
    def risks(self) -> dict[str, cc.Predictions]:
        milder = cc.CALIBRATORS.make("intercept").fit_on(self.risk).apply(self.risk)
        return {"one": self.risk, "other": milder}

    @cached_property
    def first(self) -> dict[str, Any]:
        return cc.inference.primaries(self.risks)

    @cached_property
    def histogram(self) -> Any:
        return cc.CALIBRATORS.make("top-label-hb", points_per_bin=30).fit_on(self.predictions)

    @cached_property
    def calibrator(self) -> Any:
        return cc.CALIBRATORS.make("temperature").fit_on(self.predictions)

    @cached_property
    def estimate(self) -> cc.Estimate:
        return cc.estimate(self.predictions)

    @cached_property
    def of_event(self) -> cc.Estimate:
        return cc.estimate(self.risk, "event")

    @property
    def y_true(self) -> Any:
        return self.predictions.labels

    @property
    def y_prob(self) -> Any:
        return self.predictions.probs

    @property
    def question(self) -> Any:
        return cc.estimate(self.predictions).question

    @cached_property
    def lines(self) -> pd.DataFrame:
        asked = [("confidence", key) for key in ("ece", "rmsce", "debiased-ece", "mce", "ece-adaptive")]
        answers = cc.inference.estimates({"one": self.predictions}, asked)
        return cc.inference.estimate_lines(answers, eps=0.08)

    @cached_property
    def division(self) -> Any:
        return cc.calls.divide(self.predictions)

    @cached_property
    def diagram(self) -> Any:
        return cc.diagrams.reliability(self.predictions)

    @cached_property
    def class_table(self) -> Any:
        return cc.diagrams.class_table(self.predictions)

    @cached_property
    def claims(self) -> Any:
        return cc.REDUCTIONS.make("top-label").split(self.predictions)

    @cached_property
    def whole(self) -> Any:
        return cc.REDUCTIONS.make("canonical").split(self.predictions)

    @cached_property
    def slices(self) -> pd.DataFrame:
        return cc.slices.table(self.predictions, ["site", "age"])

    @cached_property
    def nearly(self) -> cc.Predictions:
        """Return the three classes with almost the same probabilities."""
        probs = 0.99 * self.predictions.probs + 0.01 / 3
        return self.predictions.with_probs(probs)

    @cached_property
    def many(self) -> cc.Predictions:
        """Return twenty classes."""
        rng = np.random.default_rng(3)
        probs = rng.dirichlet(np.full(20, 0.3), 360)
        return cc.Predictions(probs, rng.integers(0, 20, 360))

    @cached_property
    def rounded(self) -> cc.Predictions:
        """Return three stated confidences."""
        said = np.array([0.6, 0.8, 0.95])[np.arange(360) % 3]
        return cc.Predictions.from_confidence(said, np.random.default_rng(4).random(360) < 0.7)

    @cached_property
    def cancelling(self) -> cc.Predictions:
        """Return two classes whose gaps cancel."""
        predicted = np.arange(800) % 2
        right = np.arange(800) // 2 % 10 < np.where(predicted == 0, 9, 7)
        labels = np.where(right, predicted, 1 - predicted)
        return cc.Predictions.from_confidence(np.full(800, 0.8), predicted=predicted, labels=labels)

    @cached_property
    def folder(self) -> Path:
        """Return the folder of files, which is removed when Python ends."""
        self._folder = tempfile.TemporaryDirectory()
        return Path(self._folder.name)

    @cached_property
    def source(self) -> Path:
        (path := self.folder / "a.csv").write_bytes(self.file)
        return path

    def _kept(self, name: str, frame: pd.DataFrame) -> Path:
        frame.to_csv(path := self.folder / name, index=False)
        return path

    @cached_property
    def unlabelled(self) -> Path:
        keys = pd.DataFrame({"id": [1, 2, 3, 4], "place": [4, 3, 2, 1]})
        return self._kept("scores.csv", keys.assign(p_ant=[0.9, 0.2, 0.6, 0.7], p_bee=[0.1, 0.8, 0.4, 0.3]))

    @cached_property
    def models_file(self) -> Path:
        one = pd.read_csv(self.unlabelled)
        return self._kept(
            "models.csv", pd.concat([one.assign(model="old"), one.assign(model="new", p_ant=0.4, p_bee=0.6)])
        )

    @cached_property
    def labels(self) -> Path:
        keys = pd.DataFrame({"id": [1, 2, 3, 4], "place": [1, 2, 3, 4]})
        return self._kept("labels.csv", keys.assign(label=["ant", "bee", "bee", "ant"]))

    @cached_property
    def other_labels(self) -> Path:
        return self._kept("others.csv", pd.read_csv(self.labels).assign(label=["bee", "bee", "ant", "bee"]))

    def _array(self, name: str, array: Any) -> Path:
        np.save(path := self.folder / name, array)
        return path

    @cached_property
    def matrix(self) -> Path:
        return self._array("matrix.npy", self.predictions.probs)

    @cached_property
    def vector(self) -> Path:
        return self._array("labels.npy", self.predictions.labels)

    @cached_property
    def other_vector(self) -> Path:
        return self._array("others.npy", (self.predictions.labels + 1) % 3)

    @cached_property
    def parquet(self) -> Path:
        frame = pd.read_csv(self.source)[["confidence", "correct", "site"]]
        frame.to_parquet(path := self.folder / "a.parquet")
        return path

    @cached_property
    def kernel(self) -> Any:
        return cc.ESTIMATORS.make("ece-kde", bandwidth=cc.estimators.BANDWIDTHS.make("fixed", value=0.2))

    @cached_property
    def table(self) -> Any:
        return cc.read_table(self.file, "a.csv")

    @cached_property
    def file(self) -> bytes:
        """Return a file of confidences with a column that marks test rows, and one that identifies rows."""
        p = self.predictions
        frame = pd.DataFrame({"confidence": p.confidence.round(4), "correct": p.correct.astype(int), "id": range(360)})
        frame = frame.assign(site=_columns(360)["site"], split=np.where(np.arange(360) % 3 == 0, "calibration", "test"))
        frame["half"] = np.where(np.arange(360) % 2, "calibration", "test")
        return frame.to_csv(index=False).encode()


GIVEN = Given()


# ---- cases ---------------------------------------------------------------------------------------------------


class Of(NamedTuple):
    """Two values of an option (the first is the default if none is given), with further arguments.

    ``also_then``: further arguments for the second value; ``is_answer``: the option's value is itself the result, or
    decides if there is one.
    """

    second: Any
    also: Mapping[str, Any] = {}
    first: Any = inspect.Parameter.empty
    also_then: Mapping[str, Any] = {}
    is_answer: bool = False


ZEROS = cc.inference.OpenWarning("zeros", "The true class has probability 0 in 1 row.")


def _gate_record() -> bytes:
    """Return the JSON of a gate, without a signature."""
    check = cc.inference.gate_check(GIVEN.predictions, 0.05).record("a.csv")
    return json.dumps({"schema": "calib-gate/1", "checks": [finite(check)]}, default=str).encode()


def given(name: str) -> Any:
    """Return a lazy argument of the data, by name."""
    return Lazy(lambda: getattr(GIVEN, name))


class Lazy:
    """Argument that is created when the function is called."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


def ready(value: Any) -> Any:
    return value.make() if isinstance(value, Lazy) else value


CANCELLING = Lazy(
    lambda: cc.inference.primaries(
        {"one": cc.Predictions([[0.7, 0.3, 0], [0.3, 0.7, 0]] * 200, ([0, 1] * 5 + [1, 1] * 4 + [1, 0]) * 20)},
        notion="confidence",
    )
)
"""Errors of two classes that cancel in the confidence."""
SAME_BUT_AGE = tuple(
    Lazy(lambda age=age: cc.Predictions([[0.7, 0.3]], [0], metadata=pd.DataFrame({"age": [age], "site": ["a"]})))
    for age in (40, 50)
)
"""One row each, of two persons who differ only in age."""
RISK = {"predictions": given("risk")}
RISKS = {"models": given("risks")}
EVENT = RISK | {"notion": "event"}
BY_NAME: dict[str, Any] = {
    "whole": given("predictions"),
    "a": given("predictions"),
    "before": given("predictions"),
    "after": given("b"),
    "key": "estimators",
    "truth": "sigmoid",
    "truths": "sigmoid",
    "column": "site",
    "by": ["site", "age"],
    "code": 0,
    "classes": [0, 1],
    "three": (2, 0, 1),
    "confidence": 0.8,
    "alpha": 0.1,
    "points": 50,
    "rows": 1_000,
    "eps": 0.1,
    "positives": np.array([3.0, 7.0]),
    "judge": Lazy(lambda: GIVEN.predictions.correct),
    "human": Lazy(lambda: np.where(np.arange(360) % 3, np.nan, np.arange(360) % 9 > 0)),
    "scheme": "sierpinski",
    "vectors": given("whole"),
}
"""Arguments of every function with a parameter of this name; others are those of `Given`."""

AT: dict[str, dict[str, Any]] = {
    "slices.table": {"by": "site"},
    "slices.between": RISK | {"by": "site"},
    "monitoring.over_time": {"predictions": given("year"), "by": "seen"},
    "monitoring.before_labels": {
        "labeled": given("predictions"),
        "later": Lazy(
            lambda: {"1": GIVEN.predictions.probs[:90], "2": np.roll(GIVEN.predictions.probs[90:], 1, axis=1)}
        ),
    },
    "monitoring.score_drift": {
        "reference": Lazy(lambda: GIVEN.risk.probs[:, 1]),
        "later": Lazy(lambda: {"1": GIVEN.risk.probs[:90, 1], "2": GIVEN.risk.probs[90:, 1] ** 2}),
    },
    "monitoring.update_after_alarm": {"predictions": given("year"), "by": "seen"},
    "monitoring.drift_delays": {"periods": 20, "start": 4, "draws": 2},
    "slices.characteristics": RISK,
    "inference.random_effects": {"values": [0.0, 0.4, 0.9], "errors": [0.1, 0.2, 0.1]},
    "stacked": {"parts": Lazy(lambda: {"one": GIVEN.slices})},
    "judged_gap": {"confidence": Lazy(lambda: GIVEN.predictions.confidence)},
    "summaries.count_in_duckdb": {"source": given("parquet")},
    "summaries.counting_sql": {"source": given("parquet")},
    "readers.rule": {"code": "mine", "title": "Mine", "remedy": "Mend it."},
    "readers.file_format": {"key": "mine", "title": "Mine", "endings": ("mine",)},
    "readers.with_labels": {
        "table": given("table"),
        "labels": Lazy(lambda: cc.read_table(b"id,site,said\n1,b,1\n2,a,0\n3,c,1\n4,d,1\n", "y.csv")),
    },
    "row_table": {"rows": [3, 5]},
    "update_gains": RISK | {"folds": 3},
    "choose": {"candidates": ["temperature", "confidence-hb"]},
    "evaluate": {"calibrators": ["identity"], "reductions": ["confidence"], "estimators": ["ece"]},
    "findings": {"by": "site"},
    "arena.run": {"methods": ["temperature"]},
    "method_tables": {"files": given("models"), "calibrators": ["temperature"], "measures": ["conf-ECE"], "splits": 1},
    "binning.group_codes": {"fine": Lazy(lambda: GIVEN.estimate.bins)},
    "binning.tabulate": {"schemes": [cc.BINNINGS.make("groups")]},
    "binning.partition": {
        "scheme": Lazy(lambda: cc.BINNINGS.make("projection")),
        "rows": Lazy(lambda: GIVEN.predictions.rows),
    },
    "binning.bins_said": {"scheme": cc.BINNINGS.make("distinct")},
    "binning.simplex_table": {"bins": "grid"},
    "diagrams.binary_map": {"calibrator": given("histogram")},
    "diagrams.decision_curve": RISK,
    "diagrams.large_lines": RISK,
    "diagrams.local_frequency": RISK,
    "diagrams.risk_diagram": RISK,
    "diagrams.updated_frequency": {"before": given("risk"), "after": Lazy(lambda: GIVEN.risks["other"])},
    "diagrams.slice_dots": {"table": given("slices")},
    "diagrams.headline": {"table": Lazy(lambda: cc.diagrams.bins_standing_out(GIVEN.models))},
    "diagrams.ranked_classes": {"table": given("class_table")},
    "diagrams.plan_curve": {"plan": "within"},
    "diagrams.constraint": {"repeats": 2, "targets": [0.1]},
    "diagrams.calibration_map": {"lattice": 4, "cells": 6},
    "diagrams.true_map": {"truth": cc.datasets.true_valk_kull, "lattice": 4, "cells": 6},
    "diagrams.trade_off": {"calibrators": ["histogram"], "reduction": "confidence", "bins": [2, 5], "repeats": 2},
    "diagrams.error_sweep": {"notions": ["confidence"], "bins": [5, 10]},
    "diagrams.reliability_bands": {"resamples": 50},
    "diagrams.validity": {"table": Lazy(lambda: cc.estimate(GIVEN.predictions, "class-wise").bins)},
    "diagrams.reconciled": {
        "local": Lazy(lambda: cc.diagrams.local_accuracy(GIVEN.predictions)),
        "line": Lazy(lambda: cc.inference.estimate_line(cc.estimate(GIVEN.predictions, "top-label"))),
    },
    "estimators.as_estimator": {"estimator": "ece"},
    "estimators.takes_bins": {"estimator": "ece-adaptive"},
    "exporting.program": {"calibrator": given("calibrator")},
    "guarantees.binning_promise": {"cells": [cc.guarantees.UniformMassCells(500, 10, 49, 0.0)], "notion": "top-label"},
    "guarantees.cell_eps": {"classes": 3},
    "guarantees.rows_for_cell": {"classes": 3},
    "guarantees.class_wise_bounds": {"points": [50, 50], "alphas": [0.05, 0.05]},
    "guarantees.simultaneous_eps": {"bins": 10},
    "guarantees.well_balanced": {"masses": [0.6, 0.2, 0.2]},
    "guarantees.worst_ece_at_least": {"accuracy": 0.9, "n_classes": 10},
    "inference.baseline": {"measured": given("estimate")},
    "inference.increase": {
        "measured": given("estimate"),
        "before": Lazy(lambda: cc.inference.baseline(cc.estimate(GIVEN.b))),
    },
    "inference.read_baselines": {"data": Lazy(lambda: _gate_record()), "name": "released.json"},
    "inference.canonical_errors": {"partitions": ["sierpinski"]},
    "inference.estimate_lines": {
        "answers": Lazy(lambda: cc.inference.estimates(GIVEN.models, [("confidence", "ece")]))
    },
    "inference.estimate_line": {"estimate": given("of_event")},
    "inference.verdict": {"estimate": given("of_event")},
    "inference.estimates": {"questions": [("confidence", "ece")]},
    "inference.event_ratio": {"question": Lazy(lambda: GIVEN.of_event.question)},
    "inference.gate_check": {"limit": 0.05, "notion": "confidence"},
    "inference.inverted": {
        "gaps": Lazy(lambda: cc.inference.CellGaps(*np.array([[1.0], [100.0], [0.7], [0.5]]))),
        "order": 2,
        "level": 0.9,
        "noise": np.random.default_rng(0).standard_normal((500, 1)),
    },
    "inference.margin_verdict": {
        "found": Lazy(lambda: cc.inference.paired_difference(GIVEN.predictions, GIVEN.b)),
        "limit": 0.01,
        "margin": 0.01,
    },
    "inference.sharpen": {"estimates": Lazy(lambda: [cc.estimate(GIVEN.predictions)])},
    "inference.share_ends": {"right": np.array([0.3, 0.35]), "rows": np.array([10.0, 20.0]), "counted": True},
    "inference.clopper_pearson": {"rows": np.array([10.0, 20.0])},
    "inference.wilson": {"rows": np.array([10.0, 20.0])},
    "inference.primaries": RISKS,
    "inference.primary": RISK,
    "inference.deciding": RISK,
    "lab.error_curves": {"draws": 2},
    "lab.experiment": {"draws": 2},
    "lab.error_distances": {"key": "eces", "draws": 3, "n": 50},
    "lab.repeated": {"n": 100, "draws": 2, "estimators": ["ece"]},
    "lab.sample": {"n": 50},
    "lab.sample_table": {"n": 50},
    "lab.truth_curve": {"n": 100},
    "planning.answer": {"plan": "within"},
    "planning.answers": {"plans": ["within"]},
    "planning.validation_size": {"risks": [0.1, 0.2, 0.4]},
    "readers.cost_table": {"data": b"decided,dog,cat\ncat,5\ndog,0,1\n", "class_names": ("cat", "dog")},
    "risk.in_the_large": RISK,
    "calibrators.prior_shift": {"source": Lazy(lambda: GIVEN.predictions), "target": Lazy(lambda: GIVEN.predictions)},
    "risk.ratio_verdict": {"result": Lazy(lambda: cc.risk.in_the_large(GIVEN.risk))},
    "risk.scores": RISK,
    "risk.smooth_curve": RISK,
    "risk.summary": RISK,
    "slices.cut": {"by": "age"},
    "slices.panels": {"slices": ["site=a", "site=b"]},
}
"""Arguments of single functions."""

SECOND: dict[str, Any] = {
    "level": 0.6,
    "random_state": 1,
    "seed": 1,
    "bins": 4,
    "eps": 0.2,
    "tolerance": 0.2,
    "ratio": 3.0,
    "notion": "top-label",
    "reduction": "top-label",
    "estimator": "rmsce",
    "fewest": 130,
    "parts": 2,
    "folds": 3,
    "margin": 0.2,
    "share": 0.3,
    "score": "brier",
    "upper": True,
    "rows": "all",
    "band": "whole-curve",
    "others": "condition",
    "numbers": np.arange(360) + 1_000,
    "delta": 0.05,
    "resamples": 60,
    "repeats": 3,
    "draws": 4,
    "n": 70,
    "truth": "sigmoid",
    "predicted": 1,
    "logits": True,
    "fit": given("fit"),
    "test": given("test"),
    "crossings": True,
    "slow": False,
    "stratum": 1,
    "columns": ["site"],
    "grouped_by": given("b"),
    "b": 9,
    "cells": 8,
    "lattice": 5,
    "title": "Another",
    "class_names": ("x", "y", "z"),
    "search": "ee",
    "in_bins": True,
    "intervals": True,
    "allowed": 0.3,
}
"""Other value of every option of this name."""

LOOKED_AT = [
    "findings",
    "diagrams.bin_rows",
    "diagrams.bins_standing_out",
    "diagrams.models_in_range",
    "diagrams.opening",
    "diagrams.overall_gap",
    "diagrams.reliability",
    "diagrams.movement",
    "diagrams.temperature_path",
    "diagrams.slice_dots",
    "inference.claimed_rows",
    "inference.mean_gap",
    "slices.by_column",
    "slices.panels",
    "slices.scan",
    "slices.table",
]
"""Functions about confidences or about the risk of an event."""
OF_CLASSES = [
    "class_curves",
    "class_gaps",
    "class_list",
    "class_panels",
    "class_table",
    "class_validity",
    "validity_against",
    "validity_of",
    "validity_pair",
]
"""Diagrams about the predicted class by default."""
PLAN = {"plan": "within", "plans": ["within"], "test": given("test")}

ABSTAINS = cc.CALIBRATORS.make("metacal-miscoverage", miscoverage=0.3)
CASES: dict[str, Any] = {
    **{f"{name}.notion": Of("event", RISK | RISKS, "confidence") for name in LOOKED_AT},
    **{f"diagrams.{name}.reduction": "class-wise" for name in OF_CLASSES},
    **{
        f"diagrams.{name}.stratum": Of(1, {"reduction": "top-label"})
        for name in ("corp", "corp_band", "kernel_curve", "reliability_bands")
    },
    "diagrams.bin_rows.notion": Of("event", RISK | {"b": 5}, "confidence"),
    "diagrams.movement.notion": Of(
        "event", {"before": given("risk"), "after": Lazy(lambda: GIVEN.risks["other"])}, "confidence"
    ),
    "diagrams.slice_dots.notion": "event",
    "choose.candidates": ["vector"],
    "choose.held_out": given("test"),
    "choose.costs": Of("0 1 9; 1 0 1; 1 1 0", {"score": "cost"}),
    "choose.worst_of": "site",
    "compare.random_state": Of(1, {"estimator": "ece"}),
    "inference.paired_difference.random_state": Of(1, {"estimator": "ece"}),
    "inference.not_worse.random_state": Of(1, {"estimator": "ece"}),
    "inference.paired_difference.bins_of": "first",
    "described.reading": {"label": "site"},
    "described.sha256": "0f" * 32,
    "marked_rows.reading": {"split": "half"},
    "read_as.reading": {"label": "site"},
    "divide.marked": Lazy(lambda: cc.calls.marked_rows(GIVEN.table)),
    "divide.test": Of(given("test")),
    "divide.like": Lazy(lambda: cc.calls.divide(GIVEN.b, random_state=3)),
    "evaluate.calibrators": ["temperature"],
    "evaluate.reductions": ["top-label"],
    "evaluate.estimators": ["mce"],
    "arena.run.methods": ["vector"],
    "arena.table.by": "worse",
    "arena.table.samples": 30,
    "method_tables.measures": ["Accuracy"],
    "method_tables.splits": 2,
    "method_tables.fit_share": 0.3,
    "findings.by": Of("age", {"by": None}),
    "findings.words": Of(("patients", "died"), EVENT),
    "judged_answers.human": "again",
    "judged_answers.by": "site",
    "judged_gap.groups": np.arange(360) // 4,
    "judged_share.groups": np.arange(360) // 4,
    "measured.measures": Lazy(lambda: [measure for measure in every_measure() if measure.name == "Accuracy"]),
    "recalibrated.part": "fit",
    "row_table.probabilities": True,
    "row_table.risks": True,
    "stacked.column": "who",
    "binning.bins_said.table": Lazy(lambda: cc.estimate(GIVEN.predictions, bins="distinct").bins),
    "binning.tabulate.pooled": False,
    "diagrams.class_curves.method": given("kernel"),
    "diagrams.kernel_curve.method": given("kernel"),
    "diagrams.kernel_curves.method": given("kernel"),
    "diagrams.kernel_curves.level": Of(0.6, {"band": "pointwise"}),
    "diagrams.class_gaps.classes": [0],
    "diagrams.class_gaps.tests": Lazy(lambda: cc.inference.per_class_tests(GIVEN.predictions, "top-label")),
    "diagrams.class_list.sort": "name",
    "diagrams.class_list.classes": [0],
    "diagrams.class_list.tests": False,
    "diagrams.ranked_classes.sort": "name",
    "diagrams.class_rows.label": 1,
    "diagrams.class_validity.before": given("b"),
    "diagrams.constraint.calibrator": Of("metacal-accuracy", {"targets": [0.5], "repeats": 1}),
    "diagrams.constraint.targets": [0.2],
    "diagrams.decision_curve.positive": Of(0, first=1),
    "diagrams.decision_curve.thresholds": [0.3],
    "diagrams.error_sweep.notions": ["top-label"],
    "diagrams.error_sweep.bins": [7],
    "diagrams.error_sweep.kind": "equal-mass",
    "diagrams.error_sweep.level": Of(0.6, {"intervals": True}),
    "diagrams.forest.first": "rmsce",
    "diagrams.headline.names": {"one": "the original model"},
    "diagrams.headline.happened": "died",
    "diagrams.large_lines.curve": True,
    "diagrams.local_accuracy.confidences": [0.8],
    "diagrams.local_frequency.risks": [0.3],
    "diagrams.local_frequency.words": ("patients", "died"),
    "diagrams.updated_frequency.risks": [0.3],
    "diagrams.updated_frequency.words": ("patients", "died"),
    "diagrams.models_in_range.low": 0.5,
    "diagrams.models_in_range.high": 0.7,
    "diagrams.rows_in_range.low": 0.5,
    "diagrams.rows_in_range.high": 0.7,
    "diagrams.recalibration.alpha": 0.4,
    "diagrams.slice_dots.most": 3,
    "diagrams.temperature_path.also": [1.1],
    "diagrams.trade_off.calibrators": ["equal-width-histogram"],
    "diagrams.trade_off.bins": [3],
    **{
        f"{name}.{option}": Of(second, PLAN)
        for name in ("diagrams.plan_curve", "planning.answer", "planning.answers")
        for option, second in (("bins", 4), ("tolerance", 0.2))
    },
    **{
        f"{name}.ratio": Of(1.5, PLAN | {"test": given("risk")})
        for name in ("diagrams.plan_curve", "planning.answer", "planning.answers")
    },
    **{f"{name}.test": Of(given("test"), is_answer=True) for name in ("diagrams.plan_curve", "planning.answer")},
    "planning.answers.plans": ["estimating"],
    "planning.validation_size.risks": [0.1, 0.2, 0.6],
    "planning.validation_size.weights": [1, 2, 1],
    "planning.validation_size.event_rate": 0.1,
    "planning.validation_size.auroc": 0.9,
    "planning.validation_size.threshold": 0.15,
    **{f"planning.validation_size.{name}_width": 0.3 for name in ("ratio", "slope", "auroc")},
    "planning.validation_size.benefit_width": Of(0.3, {"threshold": 0.15}),
    "guarantees.binning_promise.left_out": ["cat"],
    "guarantees.binning_promise.class_wise": True,
    "guarantees.well_balanced.factor": 1.1,
    "guarantees.worst_ece_at_least.false_alarms": 0.2,
    "guarantees.worst_ece_at_least.missed": 0.2,
    "inference.agreement.first": "rmsce",
    "inference.canonical_errors.smoothed": True,
    "inference.estimates.slow": Of(
        False,
        {
            "questions": [("confidence", "smece")],
            "models": Lazy(lambda: {"one": GIVEN.predictions.take(np.arange(60))}),
        },
    ),
    "inference.event_ratio.tolerance": 3.0,
    "inference.gate_check.ratio": Of(3.0, RISK | {"notion": "event"}),
    "inference.gate_check.before": Lazy(lambda: cc.inference.baseline(cc.estimate(GIVEN.b))),
    "inference.gate_check.warnings": [cc.inference.OpenWarning("zeros", "Seen in the file.")],
    "inference.gate_check.accept": Of(
        ["zeros"], {"warnings": [cc.inference.OpenWarning("zeros", "Seen in the file.")]}
    ),
    "inference.gate_check.overlap": Of(
        "any", {"before": Lazy(lambda: cc.inference.baseline(cc.estimate(GIVEN.b)))}, first="none"
    ),
    "inference.increase.overlap": Of("any", first="none"),
    "inference.read_baselines.key": Of(b"secret", is_answer=True),
    "inference.gate_check.allowed": Of(0.3, {"before": Lazy(lambda: cc.inference.baseline(cc.estimate(GIVEN.b)))}),
    "inference.interval.method": "percentile",
    "inference.inverted.null": np.full(100, 5.0),
    "inference.margin_verdict.unit": "nats",
    "inference.margin_verdict.higher_is_worse": False,
    "inference.per_class_tests.families": 3,
    "inference.other_errors_of.eps": Of(0.4, {"first": CANCELLING}),
    "inference.other_errors_of.level": Of(0.999999, {"first": CANCELLING}),
    "inference.unbinned_tests.notion": Of("event", RISKS, "confidence"),
    "readers.columns_compared.split": "site",
    "readers.shared_rows.split": Of("age", {"fit": SAME_BUT_AGE[0], "test": SAME_BUT_AGE[1]}),
    "inference.primary.beside": Lazy(lambda: cc.inference.deciding(GIVEN.risk, "confidence")),
    "inference.primaries.notion": "confidence",
    "inference.deciding.reduction": "confidence",
    "inference.skills.coverage": 0.3,
    "inference.spiegelhalter.score": "log-loss",
    "inference.unbinned_bound.assumption": "monotone",
    "inference.unbinned_bound.constant": 3.0,
    "lab.error_curves.measure": "mse",
    "lab.repeated.estimators": ["rmsce"],
    "lab.repeated.reductions": ["confidence"],
    "lab.repeated.calibrators": ["temperature"],
    "lab.repeated.binary_calibrators": ["platt"],
    "evaluation.advice.own_update.level": Of(0.6, {"predictions": given("one_site")}),
    "risk.events_needed.wanted": Of("outside", is_answer=True),
    "risk.events_needed.stated": 1.1,
    "risk.events_needed.power": 0.5,
    "risk.events_needed.concentration": 0.4,
    "risk.events_needed.event_rate": 0.1,
    "risk.smooth_curve.method": "loess",
    "risk.smooth_curve.intervals": False,
    "risk.summary.intervals": False,
    "slices.cut.edges": [30, 40],
    "slices.between.by": "age",
    "slices.characteristics.by": "site",
    "slices.characteristics.event": "death",
    "risk.multinomial_slopes.reference": 1,
    "slices.between.edges": Of([30, 40], RISK | {"by": "age"}),
    "slices.between.parts": Of(2, RISK | {"by": "age"}),
    "slices.between.ratio": 4.0,
    "monitoring.before_labels.alpha": 0.2,
    "monitoring.before_labels.horizon": 4,
    "monitoring.score_drift.alpha": 0.2,
    "monitoring.score_drift.horizon": 4,
    "monitoring.over_time.every": "quarter",
    "monitoring.over_time.notion": "confidence",
    "monitoring.over_time.tolerance": 0.1,
    "monitoring.over_time.ratio": 2.0,
    "monitoring.over_time.alpha": 0.2,
    "monitoring.drift_delays.shape": "season",
    "monitoring.drift_delays.size": 0.3,
    "monitoring.drift_delays.start": 8,
    "monitoring.drift_delays.periods": 30,
    "monitoring.update_after_alarm.every": "month",
    "monitoring.update_after_alarm.notion": "confidence",
    "monitoring.update_after_alarm.tolerance": 0.2,
    "monitoring.update_after_alarm.ratio": 1.7,
    "monitoring.update_after_alarm.alpha": 1e-9,
    "slices.between.method": "dl",
    "inference.random_effects.values": [0.0, 0.4, 0.8],
    "inference.random_effects.errors": [0.2, 0.2, 0.1],
    "inference.random_effects.method": "dl",
    "slices.multicalibration.groups": ["site"],
    "slices.scan.crossings": False,
    "slices.scan.min_rows": 120,
    "slices.scan.confirm": 0.2,
    "readers.cost_table.name": Of("mine.csv", is_answer=True),
    "readers.rule.term": Of("event", is_answer=True),
    "summaries.counting_sql.table": "claims",
    "compare.margin": Of(0.3, {"models": Lazy(lambda: {"one": GIVEN.predictions, "other": GIVEN.nearly})}),
    "corners.others": Of("condition", {"predictions": given("many")}),
    "three_corners.others": Of("condition", {"division": Lazy(lambda: cc.calls.divide(GIVEN.many))}),
    "evaluate.rows": Of("all", {"calibrators": ["identity", ABSTAINS]}),
    "method_tables.rows": Of("all", {"calibrators": ["identity", ABSTAINS]}),
    "read_models.models": Of(
        "site",
        {"source": b"model,site,confidence,correct\na,x,.7,1\nb,x,.6,0\na,y,.9,1\nb,y,.8,1\n", "name": "m.csv"},
        "model",
    ),
    "binning.bins_of.bins": Of(4, is_answer=True),
    "binning.risk_bins.bins": Of(4, is_answer=True),
    "estimators.as_estimator.bins": Of(4, is_answer=True),
    "estimators.titled.of_event": Of(True, {"reduction": None, "estimator": cc.ESTIMATORS.recipe("brier")}),
    "diagrams.calibration_map.title": Of("Mine", is_answer=True),
    "diagrams.true_map.title": Of("Mine", is_answer=True),
    "inference.baseline.name": Of("v1", is_answer=True),
    "diagrams.forest.declared": Of("confidence", is_answer=True),
    "diagrams.error_sweep.floor": Of(False, is_answer=True),
    "binning.group_codes.rows": 60,
    "binning.group_codes.same_rows": Of(
        True, {"fine": Lazy(lambda: cc.estimate(GIVEN.predictions, "class-wise").bins)}
    ),
    "binning.partition.weights": Lazy(lambda: 1.0 + np.arange(360) % 7),
    "binning.simplex_table.cells": Lazy(
        lambda: cc.binning.partition(cc.BINNINGS.make("grid", cells=3), GIVEN.predictions.rows)
    ),
    "diagrams.canonical_validity.fit": Of(given("fit"), {"scheme": "projection"}),
    "diagrams.class_list.page": Of(2, {"models": Lazy(lambda: {"one": GIVEN.many})}, 1),
    "diagrams.ranked_classes.page": Of(2, {"table": Lazy(lambda: cc.diagrams.class_table(GIVEN.many))}, 1),
    "diagrams.ranked_classes.tests": Of(
        Lazy(lambda: cc.inference.per_class_tests(GIVEN.many, "top-label")),
        {"table": Lazy(lambda: cc.diagrams.class_table(GIVEN.many))},
    ),
    "diagrams.class_rows.bins": Of(4, {"b": 3}, 5),
    "diagrams.fitted_parameters.like": Of(
        given("predictions"),
        {
            "calibrator": Lazy(
                lambda: cc.CALIBRATORS.make("vector").fit(GIVEN.predictions.probs, GIVEN.predictions.labels)
            )
        },
    ),
    "diagrams.levels.level": Of(0.6, {"predictions": given("rounded")}),
    "diagrams.reconciled.classes": Of(
        Lazy(lambda: cc.diagrams.classes_standing_out(GIVEN.cancelling)),
        {
            "local": Lazy(lambda: cc.diagrams.local_accuracy(GIVEN.cancelling)),
            "line": Lazy(lambda: cc.inference.estimate_line(cc.estimate(GIVEN.cancelling), eps=0.1)),
        },
    ),
    "inference.estimates.by_model": Of(False, {"questions": [("confidence", "ece"), ("confidence", "rmsce")]}),
    "inference.gate_check.limit": Of(0.3, first=0.05),
    "inference.increase.level": Of(
        0.6, also_then={"before": Lazy(lambda: cc.inference.baseline(cc.estimate(GIVEN.b), 0.6))}
    ),
    "inference.per_class_tests.fewest": Of(130, {"notion": "top-label"}),
    "inference.shown_at_all.random_state": Of(1, {"predictions": Lazy(lambda: GIVEN.risk.take(np.arange(12)))}),
    "lab.true_error.reduction": Of("confidence", {"truth": "three-classes"}, "top-label"),
    "lab.true_error.own_rows": Of(True, {"truth": "mixture"}),
    "lab.repeated.own_rows": Of(True, {"truths": "mixture"}),
    "planning.answer.fit": Of(given("fit"), {"plan": "histogram-binning"}, is_answer=True),
    "planning.answers.fit": Of(given("fit"), {"plans": ["histogram-binning"]}, is_answer=True),
    "diagrams.plan_curve.fit": Of(given("fit"), {"plan": "histogram-binning"}, is_answer=True),
    "planning.balance_in_use.fit": Of(given("fit"), {"bins": "equal-mass"}, is_answer=True),
    "slices.scan.notion": Of("event", RISK | {"random_state": 2}, "confidence"),
    "slices.table.edges": Of([30, 40], {"by": "age"}),
    "slices.table.parts": Of(2, {"by": "age"}),
    "slices.table.columns": Of(9, RISK | {"notion": "event", "by": "site"}),
    "readers.with_labels.key": Of(["site"], first=["id"]),
    "readers.file_format.recognise": Lazy(lambda: lambda data: True),
    "readers.file_format.arrays": Of(True, is_answer=True),
    "readers.file_format.packs": Of(True, is_answer=True),
    "readers.file_format.unpacked": Lazy(lambda: lambda data: 7),
    "read_table.name": Of("b.csv", {"source": given("file")}, "a.csv", is_answer=True),
    "read_predictions.name": Of("a.json", {"source": given("file")}, "a.csv"),
    "read_models.name": Of(
        "a.json", {"source": b"model,id,confidence,correct\nold,1,.7,1\nold,2,.6,0\nnew,1,.9,1\nnew,2,.8,1\n"}, "a.csv"
    ),
    "read_predictions.rows": Of(
        "test", {"source": b"p,y,split\n.7,1,cal\n.2,0,test\n.3,1,test\n", "name": "a.csv"}, "all"
    ),
    "read_models.rows": Of(
        "test", {"source": b"p_a,p_b,y,split\n.7,.6,1,cal\n.2,.3,0,test\n.3,.4,1,test\n", "name": "a.csv"}, "all"
    ),
    **{
        f"{name}.labels": Of(given("other_labels"), {"source": given(source)}, given("labels"))
        for name, source in (("read_predictions", "unlabelled"), ("read_models", "models_file"))
    },
    **{
        f"{name}.key": Of("place", {"source": given(source), "labels": given("labels")}, "id")
        for name, source in (("read_predictions", "unlabelled"), ("read_models", "models_file"))
    },
    "summarise.labels": Of(given("other_vector"), {"source": given("matrix")}, given("vector")),
    "inference.estimates.level": Of(0.6, {"models": Lazy(lambda: {"one": GIVEN.predictions.take(np.arange(300))})}),
    "summarise.rows": Of("calibration"),
    "summarise.rows_of": "answers",
}
"""Single options: the other value, or `Of` it with further arguments."""


def asked(function: str, option: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of the two calls."""
    params = inspect.signature(FUNCTIONS[function]).parameters
    case = CASES.get(f"{function}.{option}", SECOND.get(option))
    assert case is not None, f"give {function}({option}=...) another value in CASES, or say in FORM why it has none"
    case = case if isinstance(case, Of) else Of(case)
    known = {name: BY_NAME.get(name, given(name)) for name, param in params.items() if param.default is param.empty
             and param.kind not in (param.VAR_KEYWORD, param.VAR_POSITIONAL)}  # fmt: skip
    known |= AT.get(function, {})
    known |= {name: value for name, value in case.also.items() if name in params}
    first = params[option].default if case.first is inspect.Parameter.empty else case.first
    calls = known | {option: first}, known | dict(case.also_then) | {option: case.second}
    one, other = ({name: ready(value) for name, value in call.items()} for call in calls)
    return one, other


KNOWN: dict[str, Any] = {}


def usual(function: str, option: str, arguments: dict[str, Any]) -> Any:
    """Return the first result, cached for all options with the same arguments, and for all laws."""
    case = CASES.get(f"{function}.{option}")
    others = isinstance(case, Of) and (case.also or case.first is not inspect.Parameter.empty)
    asked_as = f"{function}.{option}" if others or option in AT.get(function, {}) else function
    if function in CALLED:  # its result is an effect, which the second call would find already there
        return said(function, arguments)
    if asked_as not in KNOWN:
        KNOWN[asked_as] = said(function, arguments)
    return KNOWN[asked_as]


class Refused(str):
    """Refusal in place of a result."""


def said(function: str, arguments: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return CALLED.get(function, FUNCTIONS[function])(**arguments)
        except (cc.NotAnswerable, cc.InputError) as why:
            return Refused(str(why))


def _held(registry: dict[str, Any], add: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a registration so that its member is removed again."""

    def made(**options: Any) -> Any:
        found = add(**options)
        if callable(found):
            found(lambda data, name: None)
        one = registry.pop("mine")
        told = (one.recognise and one.recognise(b""), one.unpacked(b"")) if callable(found) else ()
        return one, told

    return made


def _made(estimates: Any) -> list[bool]:
    """Return which intervals estimates have computed."""
    return [each.knows("interval", level, 0) for each in estimates for level in (0.9, 0.6)]


def _sharpened(estimates: Any, **options: Any) -> list[bool]:
    cc.inference.sharpen(estimates, **options)
    return _made(estimates)


def _estimated(**options: Any) -> Any:
    made = cc.inference.estimates(**options)
    return made, _made([answer.estimate for answer in made if answer.estimate is not None])


CALLED: dict[str, Callable[..., Any]] = {
    "readers.rule": _held(cc.readers.RULES, cc.readers.rule),
    "readers.file_format": _held(cc.readers.FILE_FORMATS, cc.readers.file_format),
    "inference.sharpen": _sharpened,
    "inference.estimates": _estimated,
    "calibrators.prior_shift": lambda **given: cc.calibrators.prior_shift(**given).shift,
    "arena.run": lambda **options: cc.arena.run(**options).frame().drop(columns=["fit_seconds", "apply_seconds"]),
}
"""Functions whose result is their effect."""


CHANGING = [
    pytest.param(*each, id="-".join(each)) for each in OPTIONS if each[1] not in FORM and ".".join(each) not in FORM_OF
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("function", "option"), CHANGING)
def test_an_option_changes_the_answer(function: str, option: str) -> None:
    one, other = asked(function, option)
    first, second = usual(function, option, one), said(function, other)
    case = CASES.get(f"{function}.{option}")
    is_answer = isinstance(case, Of) and case.is_answer
    kept = "" if is_answer else option
    assert is_answer or not isinstance(first, Refused), first
    assert beyond(first, kept) != beyond(second, kept), "the answer is the same"
    if option == "level":
        assert not {*echoes(first, option)} & {*echoes(second, option)}, "the answer repeats another level"
    if option == "level" and function not in OF_INTERVALS:
        same = {*ends(first).items()} & {*ends(second).items()}
        may_be = 0.5 * len(ends(first)) if function in OF_STEPS else 0.0
        assert len(same) <= may_be, f"an interval ends where one of another level does: {sorted(same)[:9]}"
    if function not in (*UNPAIRED, *UNDIVIDED) and f"{function}.{option}" not in OF_ROWS:
        assert not forgotten((one, other), function, (first, second), kept), "counts forget it"


OF_INTERVALS = {
    "diagrams.slice_dots": "draws the intervals of a table",
    "monitoring.over_time": "other ends are valid at all times, with a chance of 1 - alpha",
}
"""Functions that receive the level of intervals computed elsewhere, or have others beside."""
OF_STEPS = {
    "diagrams.decision_curve": "of few rows above a high threshold, an end is that of the scale",
    "diagrams.risk_diagram": "ends of the band are shares of few rows, so that two levels have some in common",
}
"""Functions some of whose ends do not depend on the level, with the reason."""


# ---- counts instead of rows ----------------------------------------------------------------------------------

UNPAIRED = ("compare", "inference.not_worse", "inference.paired_difference", "inference.shown_at_all")
"""Functions that pair two models row by row, which counts do not allow: they report less, and draw nothing."""
UNDIVIDED = ("divide", "worst_column", "evaluate", "readers.columns_compared")
"""Functions about the division of rows, or that fit a calibrator: counts are one part, and fit few."""
OF_ROWS = {
    "diagrams.reliability_bands.reduction": "how many bins lie outside is as it is drawn",
    "inference.estimates.bins": "which intervals are at hand is no answer",
    "inference.estimates.by_model": "which intervals are at hand is no answer",
    "inference.unbinned_tests.notion": "Kuiper's test alone is about a notion, and needs rows",
}
"""Single options that change less for counts than for rows, with the reason."""


@cache
def summary_of(rows: cc.Predictions) -> cc.Summary:
    """Return the counts of rows, the same for all options that are asked about these rows."""
    return cc.Summary.of(rows, [] if rows.metadata is None else list(rows.metadata.columns))


def counted(value: Any) -> Any:
    """Return predictions, and models by name, as counts of their rows; all else unchanged."""
    if isinstance(value, cc.Predictions):
        return summary_of(value)
    if isinstance(value, dict) and value and all(isinstance(each, cc.Predictions) for each in value.values()):
        return {name: counted(each) for name, each in value.items()}
    return value


def of_counts(function: str, arguments: Mapping[str, Any]) -> Any:
    """Return the result from counts; refused if there are no rows that they could represent."""
    taken = {name: counted(value) for name, value in arguments.items()}
    same = all(taken[name] is arguments[name] for name in taken)
    return Refused("no rows") if same else said(function, taken)


def known(answer: Any, kept: str) -> dict[tuple[str, ...], str]:
    """Return the parts of a result that have a value."""
    parts = dict(beyond(answer, kept))
    shape = re.compile(r"^\([\d, ]*\) ")
    words = {path: set(re.findall(r"[\w.]+", shape.sub("", text))) for path, text in parts.items()}
    return {path: text for path, text in parts.items() if words[path] - {"nan", "None"}}


def moved(first: Any, second: Any, kept: str) -> set[str]:
    """Return the names of parts that differ between two results, over all lines."""
    one, other = known(first, kept), dict(beyond(second, kept))
    return {named(path) for path in one.keys() & other.keys() if one[path] != other[path]}


def named(path: tuple[str, ...]) -> str:
    return ".".join(name for name in path if not name.isdigit())


def forgotten(calls: tuple[Any, Any], function: str, answers: tuple[Any, Any], kept: str) -> set[str]:
    """Return the parts of a result that an option changes for rows but not for counts."""
    one, other = (of_counts(function, arguments) for arguments in calls)
    if any(isinstance(answer, Refused) for answer in (*answers, one, other)):
        return set()
    counts = {named(path) for path in known(one, kept)}
    return (moved(*answers, kept) & counts) - moved(one, other, kept)


TOGETHER = {
    "inference.primaries": ("eps", "level", "bins", "notion"),
    "inference.primary": ("eps", "level", "bins", "beside"),
    "inference.verdicts": ("eps", "level"),
    "inference.gate_check": ("limit", "notion", "estimator", "level", "bins"),
    "compare": ("reduction", "estimator", "bins", "level", "margin"),
    "findings": ("bins", "by", "level", "fewest", "notion"),
}
"""Functions with several methods, and options that apply to all of them."""
PAIRS = [(function, *pair) for function, options in TOGETHER.items() for pair in permutations(options, 2)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("function", "chosen", "option"), PAIRS)
def test_an_option_changes_the_answer_beside_another_that_is_chosen(function: str, chosen: str, option: str) -> None:
    """If one option selects another method, the method still applies the other options."""
    beside = asked(function, chosen)[1]
    one, other = ({**beside, option: call[option]} for call in asked(function, option))
    assert beyond(said(function, one), option) != beyond(said(function, other), option), "the answer is the same"


ASKED = dict(tuple(case.values) for case in CHANGING)
"""Function, and one of its options."""


NEAR = {
    "diagrams.error_sweep": "its noise floor is drawn",
    "diagrams.reliability_bands": "the bands are drawn",
    "diagrams.risk_diagram": "the bands are drawn",
    "diagrams.local_frequency": "the nearest rows are those of the nearest cells",
    "diagrams.validity_against": "its places are those of all rows or of the cells",
    "inference.unbinned_tests": "Kuiper's test needs rows, and the others are corrected without it",
    "summaries.tally": "of counts it is a view of them",
}
"""Functions whose results from counts approximate those from rows, or differ, with the reason."""


def numbers(text: str) -> list[float]:
    """Return the numbers of a part of a result, if it consists of numbers only."""
    words = re.findall(r"[^\s,()\[\]]+", text)
    with suppress(ValueError):
        return [float(word.replace("None", "nan")) for word in words]
    return []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", [function for function in ASKED if function not in (*UNPAIRED, *UNDIVIDED, *NEAR)])
def test_counts_say_what_rows_say(function: str) -> None:
    """Results from counts agree with those from rows up to the width of cells; a count is exact."""
    one, _ = asked(function, ASKED[function])
    if isinstance(found := of_counts(function, one), Refused):
        pytest.skip("not of counts")
    rows, counts = known(usual(function, ASKED[function], one), ""), known(found, "")
    for path in rows.keys() & counts.keys():
        expected = pytest.approx(numbers(rows[path]), rel=2e-3, abs=2e-4, nan_ok=True)
        assert numbers(counts[path]) == expected, path


def turned(value: Any) -> Any:
    """Return predictions of two classes, and such models by name, with the classes swapped; all else unchanged.

    The event stays what it is: its code is 0.
    """
    if isinstance(value, cc.Predictions) and value.kind == "full" and value.n_classes == 2:
        names = None if value.class_names is None else value.class_names[::-1]
        rows = cc.Predictions(value.probs[:, ::-1], 1 - value.labels, class_names=names, metadata=value.metadata)
        return rows.with_event(0)
    if isinstance(value, dict) and value and all(isinstance(each, cc.Predictions) for each in value.values()):
        return {name: turned(each) for name, each in value.items()}
    return value


OF_CODES = {
    "inference.shown_at_all": "its p-value is drawn",
    "inference.unbinned_tests": "a p-value of it is drawn",
}
"""Functions whose result depends on the order of two classes, with the reason."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", [function for function in ASKED if function not in OF_CODES])
def test_an_event_is_judged_alike_whichever_of_two_classes_it_is(function: str) -> None:
    """Neither side of a gap, nor the class of a code, has precedence over the other."""
    option = next((each for each in ("notion", "thresholds") if (function, each) in OPTIONS), ASKED[function])
    _, arguments = asked(function, option)
    mirrored = {name: turned(value) for name, value in arguments.items()}
    if all(mirrored[name] is arguments[name] for name in mirrored):
        pytest.skip("not of two classes")
    one, other = (known(said(function, each), "") for each in (arguments, mirrored))
    for path in one.keys() & other.keys():
        if not {"labels", "chosen_event", "event", "code"} & set(path):
            expected = pytest.approx(numbers(one[path]), rel=1e-6, abs=1e-9, nan_ok=True)
            assert numbers(other[path]) == expected, path


OF_ANOTHER = {
    "choose": "ends beside an accuracy or AUROC are those of its change",
    "risk.ratio_verdict": "the ratio beside the ends is a tolerance",
}
"""Functions whose interval ends are about another number than their name."""
BARE = ("point", "value", "gap", "difference", "ratio", "gain", "change", "right", "observed", "floor")
"""Possible estimates for ends that are called just low and high."""


def intervals(answer: Any) -> Iterator[tuple[tuple[str, ...], list[float], list[list[float]], list[float]]]:
    """Yield (path, lower ends, candidate estimates, upper ends) of every interval of a result."""
    parts = dict(leaves_of(answer))
    for path, text in parts.items():
        name, _, end = path[-1].rpartition("_") if path else ("", "", "")
        above = (*path[:-1], f"{name}_high".lstrip("_"))
        if end == "low" and above in parts and "noise_floor" not in path:
            ends_of = [parts.get((*path[:-1], each)) for each in ([name] if name else BARE)]
            yield path, numbers(text), [numbers(each) for each in ends_of if each is not None], numbers(parts[above])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", [function for function in ASKED if function not in OF_ANOTHER])
def test_an_interval_holds_what_it_is_of(function: str) -> None:
    """Swapped ends, or those of another number, do not contain their estimate."""
    for path, low, points, high in intervals(usual(function, ASKED[function], asked(function, ASKED[function])[0])):
        assert not any(one > other for one, other in zip(low, high, strict=True)), path
        points = [each for each in points if len(each) == len(low)]
        inside = [
            all(not (a > b + 1e-9 or b > c + 1e-9) for a, b, c in zip(low, each, high, strict=True)) for each in points
        ]
        assert any(inside) or not inside, path


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", ASKED)
def test_the_same_question_has_the_same_answer(function: str) -> None:
    """Otherwise an option without any effect would seem to change the result."""
    (first, _), (again, _) = (asked(function, ASKED[function]) for _ in range(2))
    assert beyond(usual(function, ASKED[function], first), "") == beyond(said(function, again), "")
