"""Every option of every calibrator, estimator, binning and other registered member changes its result.

Options are those the registries declare. The other value comes from the declared domain, except for a few whose effect
needs a special value, special rows or another option.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from answers import beyond, other_value

import calib_core as cc
from calib_core.registry.registry import FAMILIES, Registry

NAMES = (
    "BANDWIDTHS",
    "BINARY_CALIBRATORS",
    "BINNINGS",
    "CALIBRATORS",
    "ESTIMATORS",
    "KERNELS",
    "PLANS",
    "REDUCTIONS",
    "SCALES",
    "TRUTHS",
)
ROWS = 300
OPTIONS = [
    (family, key, param.name) for family in NAMES for key in FAMILIES[family] for param in FAMILIES[family][key].params
]


@cache
def rows() -> cc.Predictions:
    """Return three overconfident classes, with logits and a column."""
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(ROWS, 3))
    label = (logits + rng.gumbel(size=(ROWS, 3))).argmax(axis=1)
    site = pd.DataFrame({"site": np.array(list("abc"))[np.arange(ROWS) % 3]})
    return cc.Predictions.from_logits(2.5 * logits, label, metadata=site)


@cache
def risk() -> cc.Predictions:
    """Return the risk of an event, too high at one site, with a third of its rows grouped."""
    rng = np.random.default_rng(2)
    p = rng.beta(2, 5, ROWS)
    died = rng.random(ROWS) < p * np.where(np.arange(ROWS) % 3, 0.9, 0.4)
    return cc.Predictions(np.column_stack([1 - p, p]), died.astype(int), metadata=rows().metadata)


@cache
def few() -> cc.Predictions:
    """Return classes with very different numbers of rows."""
    rng = np.random.default_rng(3)
    label = rng.choice(3, ROWS, p=[0.8, 0.16, 0.04])
    logits = rng.normal(size=(ROWS, 3)) + 2.0 * np.eye(3)[label]
    return cc.Predictions.from_logits(2 * logits, label)


@cache
def tied() -> cc.Predictions:
    """Return confidences of one decimal."""
    return cc.Predictions.from_confidence(rows().confidence.round(1), rows().correct)


@cache
def many() -> cc.Predictions:
    """Return six classes."""
    rng = np.random.default_rng(4)
    logits = rng.normal(size=(ROWS, 6))
    return cc.Predictions.from_logits(2 * logits, (logits + rng.gumbel(size=(ROWS, 6))).argmax(axis=1))


@cache
def sure() -> cc.Predictions:
    """Return three classes, mostly right, with enough rows to hold some out."""
    rng = np.random.default_rng(5)
    logits = 3.0 * rng.normal(size=(900, 3))
    return cc.Predictions.from_logits(2 * logits, (logits + rng.gumbel(size=(900, 3))).argmax(axis=1))


def of_calibrator(made: Any, data: cc.Predictions) -> Any:
    fitted = made.fit_on(data)
    after = fitted.apply(data)
    promise = fitted.guarantee(0.1)
    ranks = None
    with suppress(cc.NotAnswerable, cc.InputError):
        ranks = cc.estimate(after, "top-k-label").value if after.kind != "full" else None
    losses = getattr(fitted, "losses_", None)
    return after.probs if after.kind == "full" else after.confidence, after.abstained, ranks, losses, str(promise)


def of_binary(made: Any, data: cc.Predictions) -> Any:
    claims = cc.REDUCTIONS.make("confidence").split(data).stratum(0)
    fitted = made.fit(claims.scores, claims.outcomes)
    return fitted.transform(np.linspace(0.34, 0.99, 80)), str(getattr(fitted, "promise", ""))


def of_estimator(made: Any, data: cc.Predictions) -> Any:
    found = []
    for notion in ("confidence", "canonical", None):
        with suppress(cc.NotAnswerable, cc.InputError, cc.RegistryError):
            found.append(cc.estimate(data, notion, made).value)
    assert found, made
    return found


def of_binning(made: Any, data: cc.Predictions) -> Any:
    if cc.binning.of_simplex(cc.BINNINGS[cc.BINNINGS.recipe(made).key].flags):
        return cc.binning.simplex_table(cc.REDUCTIONS.make("canonical").split(data), made).count
    return cc.estimate(data, "top-label", "ece", made).bins.frame()


SAYS: dict[str, Callable[[Any, cc.Predictions], Any]] = {
    "CALIBRATORS": of_calibrator,
    "BINARY_CALIBRATORS": of_binary,
    "ESTIMATORS": of_estimator,
    "BINNINGS": of_binning,
    "REDUCTIONS": lambda made, data: cc.estimate(data, made).value,
    "KERNELS": lambda made, data: cc.estimate(data, "confidence", cc.ESTIMATORS.make("ece-kde", kernel=made)).value,
    "BANDWIDTHS": lambda made, data: (
        cc.estimate(data, "confidence", cc.ESTIMATORS.make("ece-kde", bandwidth=made)).value
    ),
    "PLANS": lambda made, data: cc.planning.answer(made, data, data),
    "TRUTHS": lambda made, data: cc.lab.sample(made, 50),
}
"""Result of a member for rows, by its family."""


class Of(NamedTuple):
    """Other value, further options, the first value if it is not the default, and other rows."""

    second: Any
    also: Mapping[str, Any] = {}
    first: Any = None
    data: Callable[[], cc.Predictions] = rows


FOLDS = {"cross_validate": True}
MISCOVERAGE = {"miscoverage": 0.2, "risk": 0.2}
ACCURACY = {"accuracy": 0.95, "risk": 0.3}
SURELY = {"rule": "guaranteed"}
CASES: dict[str, Any] = {
    "BINNINGS.edges.values": (0.0, 0.6, 1.0),
    "BINNINGS.projection.random_state": Of(1, {"directions": "random"}),
    "CALIBRATORS.projection.random_state": Of(1, {"directions": "random"}),
    **{
        f"CALIBRATORS.{key}.{name}": Of(value, FOLDS)
        for key in ("matrix", "dirichlet")
        for name, value in (("folds", 8), ("random_state", 2))
    },
    **{f"CALIBRATORS.{key}.random_state": Of(1, FOLDS) for key in ("lece", "lecd")},
    **{
        f"CALIBRATORS.metacal-miscoverage.{name}": Of(value, MISCOVERAGE, data=sure)
        for name, value in (
            ("rule", "guaranteed"),
            ("random_state", 1),
            ("miscoverage", 0.4),
            ("base", cc.CALIBRATORS.make("vector")),
        )
    },
    "CALIBRATORS.metacal-miscoverage.risk": Of(0.4, MISCOVERAGE | SURELY, 0.2, sure),
    **{
        f"CALIBRATORS.metacal-accuracy.{name}": Of(value, ACCURACY, data=sure)
        for name, value in (
            ("rule", "guaranteed"),
            ("random_state", 1),
            ("accuracy", 0.9),
            ("bins", 5),
            ("base", cc.CALIBRATORS.make("iop")),
        )
    },
    "CALIBRATORS.metacal-accuracy.risk": Of(0.45, ACCURACY | SURELY, 0.3, sure),
    **{f"CALIBRATORS.{key}.by": Of("site", first="", data=risk) for key in ("intercept", "logistic-recalibration")},
    **{
        f"CALIBRATORS.{key}.only": Of("b", {"by": "site"}, "a", risk) for key in ("intercept", "logistic-recalibration")
    },
    "CALIBRATORS.decision.rounds": 1,
    "CALIBRATORS.blend.members": Of(("temperature", "vector"), first=("temperature", "iop")),
    "CALIBRATORS.blend.weights": Of((1, 3), {"members": ("temperature", "vector")}),
    "CALIBRATORS.blend.random_state": Of(1, {"members": ("temperature", "iop")}),
    "CALIBRATORS.multicalibrated.by": Of("site", first="", data=risk),
    "CALIBRATORS.prior-shift.target": (0.2, 0.3, 0.5),
    **{f"CALIBRATORS.{key}.small": Of("leave", data=few) for key in ("top-label", "top-label-hb", "top-k-label")},
    **{f"CALIBRATORS.{key}.class_points": (30, 40, 50) for key in ("class-wise", "class-wise-hb")},
    **{f"CALIBRATORS.{key}.k": Of(2, data=many) for key in ("top-k-confidence", "top-k-label")},
    **{f"REDUCTIONS.{key}.k": Of(2, data=many) for key in ("top-k-confidence", "top-k-label")},
    "CALIBRATORS.scaling-binning.scaling": Of("beta"),
    "BINARY_CALIBRATORS.scaling-binning.scaling": Of("beta"),
    "CALIBRATORS.scaling-binning.random_state": Of(1, {"splits": 3}),
    "BINARY_CALIBRATORS.scaling-binning.random_state": Of(1, {"splits": 3}),
    "ESTIMATORS.skce.random_state": Of(1, {"block": 20}),
    **{
        name: cc.estimators.BANDWIDTHS.make("fixed")
        for name in ("ESTIMATORS.ece-kde.bandwidth", "BINARY_CALIBRATORS.kernel.bandwidth")
    },
    # Two draws with one seed: the rows that place bins for tied scores, and the perturbation of equal values.
    "BINARY_CALIBRATORS.histogram.random_state": Of(1, {"delta": 0.0, "points_per_bin": 30}, data=tied),
    "REDUCTIONS.class-specific.cls": 1,
    "PLANS.within.ratio": Of(2.0, data=risk),
    **{
        f"PLANS.validation.{name}": Of(value, data=risk)
        for name, value in (
            *(("rows", 900), ("event_rate", 0.1), ("auroc", 0.9), ("threshold", 0.3), ("level", 0.8)),
            *((f"{width}_width", 0.4) for width in ("ratio", "slope", "auroc")),
        )
    },
    "PLANS.validation.alpha": Of(2.0, {"beta": 3.0}, 1.0, risk),
    "PLANS.validation.beta": Of(3.0, {"alpha": 2.0}, 1.0, risk),
    "PLANS.validation.benefit_width": Of(0.4, {"threshold": 0.3}, data=risk),
    "TRUTHS.drawn.shares": (0.1, 0.9),
}
"""Single options without an effect for values of the domain: KEY.option or FAMILY.KEY.option."""


def asked(family: str, key: str, option: str) -> tuple[Any, Any, cc.Predictions]:
    registry = FAMILIES[family]
    param = next(each for each in registry[key].params if each.name == option)
    case = CASES.get(f"{family}.{key}.{option}", CASES.get(f"{family}.{option}"))
    if not isinstance(case, Of):
        case = Of(other_value(param) if case is None else case)
    first = param.default if case.first is None else case.first
    one, two = (registry.make(key, **(dict(case.also) | {option: value})) for value in (first, case.second))
    return one, two, case.data()


def said(family: str, made: Any, data: cc.Predictions) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return beyond(SAYS[family](made, data), "")


def test_every_family_with_options_is_looked_at() -> None:
    rooms = [cc, *(room for name in cc.__all__ if inspect.ismodule(room := getattr(cc, name)))]
    public = [getattr(room, name) for room in rooms for name in getattr(room, "__all__", ())]
    families = {each.family for each in public if isinstance(each, Registry)}
    assert {family for family in families if any(FAMILIES[family][key].params for key in FAMILIES[family])} <= set(
        NAMES
    )
    assert {family for family, _, _ in OPTIONS} >= {"CALIBRATORS", "ESTIMATORS", "BINNINGS", "PLANS", "TRUTHS"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("family", "key", "option"), OPTIONS)
def test_an_option_of_a_member_changes_what_it_says(family: str, key: str, option: str) -> None:
    one, two, data = asked(family, key, option)
    assert said(family, one, data) == said(family, one, data)
    assert said(family, one, data) != said(family, two, data)
