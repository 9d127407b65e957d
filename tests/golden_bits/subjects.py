"""Golden numbers of each set of rows: one generator per subject, whose keys begin with the subject's name."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import calib_core as cc
from calib_core import diagrams, exporting, guarantees, inference, planning, slices
from calib_core.evaluation import decisions, prediction_sets
from calib_core.reductions import claims_of
from tests.golden_bits import data
from tests.golden_bits.walk import REFUSALS, Line, digest, fitted_state, kept, walk

Rows = cc.Predictions
Subject = Callable[[str, Rows], Iterator[Line]]

SLOW = frozenset(
    ("canonical-kde", "ece-kde", "skce", "smece", "ece-sweep", "max-deviation", "two-bin", "convex-binned",
     "ece-convex", "ece-adaptive-convex", "mce-of-bins")
)  # fmt: skip
"""Estimators with slow intervals and floors, which are stored for few rows (``slow``)."""
SCORES = frozenset(("log-loss", "brier", "accuracy"))
FIRST = frozenset(("ece", "debiased-l2", "mce"))
"""Estimators stored in full if an interval is computed row by row, or rank by rank."""
FIT_SEED = 3
FEW = 20
"""Number of rows for slow estimators."""


def estimates(name: str, rows: Rows) -> Iterator[Line]:
    """Yield every estimator in every notion: its value, and all other results if these are quick."""
    by_row = rows.row_groups is not None or (rows.weights is not None and bool((rows.weights % 1).any()))
    for notion in (*cc.REDUCTIONS, None):
        derived = notion in ("class-specific", "top-k-confidence", "top-k-label")
        first = by_row or derived or (notion == "class-wise" and name not in data.LAWS)
        for key in cc.ESTIMATORS:
            if notion is None or notion == "confidence":
                quick = key in FIRST | SCORES if by_row else key not in SLOW
            else:
                quick = key in FIRST if first else key not in SLOW | SCORES
            quick = quick and notion != "canonical" and (name in data.LAWS or not derived)
            quick = quick and name not in data.SMALL
            shown = partial(_shown if quick else _value, rows, notion, key)
            yield from kept(f"estimates/{name}/{notion}/{key}", shown)


def slow(name: str, rows: Rows) -> Iterator[Line]:
    """Yield the other estimators for a few rows, with interval and noise floor."""
    few = rows.take(np.arange(min(rows.n_rows, FEW)))
    notions = {"beta": ("confidence", "class-wise", "canonical"), "top-label": ("top-label",)}.get(name, ("canonical",))
    for notion in notions:
        for key in sorted(SLOW) if notion != "canonical" else ("canonical-kde", "ece", "debiased-l2", "skce"):
            if key == "smece" and notion != "confidence":
                continue  # seconds a notion
            yield from kept(f"slow/{name}/{notion}/{key}", partial(_shown, few, notion, key, judged=False))


def _value(rows: Rows, notion: str | None, key: str) -> dict[str, Any]:
    found = cc.estimate(rows, notion, key)
    # Of one stratum it is the value again.
    return {"value": found.value, **({"per_stratum": found.per_stratum} if len(found.per_stratum) > 1 else {})}


def _shown(rows: Rows, notion: str | None, key: str, judged: bool = True) -> dict[str, Any]:
    found = cc.estimate(rows, notion, key)
    parts = _value(rows, notion, key)
    asked: dict[str, Callable[[], Any]] = {
        "interval": lambda: _interval(found.interval()),
        "floor": lambda: {part: getattr(found.noise_floor, part) for part in ("high", "mean", "p_value")},
        "p": lambda: found.p_value,
    }
    if judged and notion is not None:
        asked["verdict"] = lambda: {part: getattr(found.verdict(), part) for part in ("word", "rows_needed")}
    if judged and key == "ece":
        asked["interval-95"] = lambda: _interval(found.interval(0.95))
    return {**parts, **{what: _or_refusal(make) for what, make in asked.items()}}


def _interval(found: Any) -> dict[str, Any]:
    return {part: getattr(found, part) for part in ("low", "point", "high", "tested")}


def _or_refusal(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except REFUSALS as why:
        return {"recipe": f"refused: {type(why).__name__}"}


def primary(name: str, rows: Rows) -> Iterator[Line]:
    """Yield the primary line, and its verdict with its details."""
    for eps in (0.02, 0.1):
        yield from kept(
            f"primary/{name}/{eps}", lambda eps=eps: inference.verdicts({"": inference.primary(rows, eps)}, eps)
        )
    yield from kept(f"primary/{name}/gate", lambda: inference.gate_check(rows, 0.05).first.line)
    yield from kept(f"primary/{name}/deciding", lambda: inference.deciding(rows, "confidence", "rmsce").line)


def tests(name: str, rows: Rows) -> Iterator[Line]:
    """Yield bin-free tests and bounds, and the tests class by class."""
    yield from kept(f"tests/{name}/unbinned", lambda: inference.unbinned_tests({"": rows}))
    yield from kept(f"tests/{name}/bounds", lambda: inference.unbinned_bounds({"": inference.primary(rows)}))
    for notion in ("top-label", "class-wise"):
        yield from kept(f"tests/{name}/per-class/{notion}", lambda n=notion: inference.per_class_tests(rows, n))
    yield from kept(f"tests/{name}/multiple", lambda: _corrected(inference.per_class_tests(rows, "class-wise")["p"]))


def _corrected(p: Any) -> dict[str, Any]:
    rules = {"holm": inference.holm, "bh": inference.benjamini_hochberg, "by": inference.benjamini_yekutieli}
    return {key: rule(p) for key, rule in rules.items()}


def bins(name: str, rows: Rows) -> Iterator[Line]:
    """Yield the reliability diagram: its bins, their intervals, and the significant ones."""
    for scheme in (None, 7, cc.binning.EqualMass(6)):
        place = f"bins/{name}/{'default' if scheme is None else scheme if isinstance(scheme, int) else 'mass'}"
        yield from kept(f"{place}/diagram", lambda s=scheme: diagrams.reliability(rows, s).frame())
        yield from kept(f"{place}/out", lambda s=scheme: _out(diagrams.bins_standing_out({"": rows}, s)))
    yield from kept(f"bins/{name}/bands", lambda: diagrams.reliability_bands(rows, resamples=200).frame())
    yield from kept(f"bins/{name}/zoom", lambda: diagrams.zoom(rows, diagrams.reliability(rows)))


def _out(table: Any) -> Any:
    """Return the content that is not already in the diagram."""
    return table[["low", "high", "stands_out", "too_few"]]


def pictures(name: str, rows: Rows) -> Iterator[Line]:
    """Yield the other diagrams."""
    made: dict[str, Callable[[], Any]] = {
        "local": lambda: diagrams.local_accuracy(rows, [0.5, 0.75, 0.9]).frame(),
        "gap": lambda: diagrams.overall_gap(rows),
        "levels": lambda: diagrams.levels(rows).frame(),
        "selective": lambda: diagrams.selective(rows).frame(),
        "corp": lambda: diagrams.corp(rows).frame(),
        "bias": lambda: diagrams.class_bias(rows).frame(),
        "skills": lambda: inference.skills({"": rows}),
    }
    for key, make in made.items():
        yield from kept(f"pictures/{name}/{key}", make)


def places(name: str, rows: Rows) -> Iterator[Line]:
    """Yield significant places: findings, classes, slices."""
    yield from kept(f"findings/{name}", lambda: cc.findings(rows))
    yield from kept(f"standing-out/{name}", lambda: diagrams.classes_standing_out(rows).frame())
    yield from kept(f"slices/{name}/by-column", lambda: slices.by_column(rows))
    yield from kept(f"slices/{name}/scan", lambda: _scan(slices.scan(rows, min_rows=20)))


def _scan(found: Any) -> dict[str, Any]:
    numbers = {key: getattr(found, key) for key in ("looked", "picked", "first", "second")}
    return {"found": found.found, **numbers}


def halves(rows: Rows) -> tuple[Rows, Rows]:
    """Return rows to fit on, and rows to evaluate."""
    return rows.split(0.5, random_state=FIT_SEED)


def calibrators(name: str, rows: Rows) -> Iterator[Line]:
    """Yield every calibrator fitted on half of the rows: parameters, guarantee, and the other half recalibrated."""
    fit, test = halves(rows)
    for key in (*cc.CALIBRATORS, "ts+top-label-hb"):
        yield from kept(f"calibrators/{name}/{key}", lambda key=key: _fitted(key, fit, test))


def small_parameters(key: str) -> dict[str, Any]:
    """Return parameters suitable for few rows."""
    wanted = {"accuracy": 0.01, "points_per_bin": 20}
    names = {each.name for each in cc.CALIBRATORS.entry(key).params}
    return {each: value for each, value in wanted.items() if each in names}


def _fitted(key: str, fit: Rows, test: Rows) -> dict[str, Any]:
    member = cc.CALIBRATORS.make(key, **small_parameters(key)).fit_on(fit)
    promise = _or_refusal(lambda: member.guarantee(0.1))
    return {"fitted": fitted_state(member), "output": _or_refusal(lambda: member.apply(test)), "promise": promise}


def binary_calibrators(name: str, rows: Rows) -> Iterator[Line]:
    """Yield every binary calibrator of the confidences."""
    claims = claims_of(rows, "confidence").stratum(0)
    at = np.linspace(0.0, 1.0, 33)
    for key in cc.BINARY_CALIBRATORS:

        def made(key: str = key) -> dict[str, Any]:
            member = cc.BINARY_CALIBRATORS.make(key).fit(claims.scores, claims.outcomes, claims.weights)
            return {"fitted": fitted_state(member), "output": member.transform(at)}

        yield from kept(f"binary-calibrators/{name}/{key}", made)


def compared(name: str, rows: Rows) -> Iterator[Line]:
    """Yield the model against two recalibrated ones on the same rows."""
    models = _three(rows)
    for notion, key in (("confidence", "debiased-l2"), ("confidence", "ece"), ("top-label", "ece"), (None, "brier")):
        yield from kept(f"compare/{name}/{notion}/{key}", lambda n=notion, k=key: inference.compare(models(), n, k))
    yield from kept(f"compare/{name}/skills", lambda: inference.skill_differences(models()))


def _three(rows: Rows) -> Callable[[], dict[str, Rows]]:
    fit, test = halves(rows)
    keys = ("confidence", "confidence-hb") if rows.kind == "confidence" else ("temperature", "confidence")

    def models() -> dict[str, Rows]:
        after = {key: cc.CALIBRATORS.make(key).fit_on(fit).apply(test) for key in keys}
        return {"as given": test, **after}

    return models


def chosen(name: str, rows: Rows) -> Iterator[Line]:
    """Yield the advice on recalibration, and the table behind it."""
    candidates = ["temperature", "confidence", "isotonic-ovr", "vector"]
    for score in ("log-loss", "brier"):
        yield from kept(f"choose/{name}/{score}", lambda s=score: _choice(cc.choose(rows, candidates, s, folds=3)))
    yield from kept(f"choose/{name}/blend", lambda: _choice(cc.choose(rows, folds=3)))


def _choice(found: Any) -> dict[str, Any]:
    return {
        "recipe": found.recipe, "winner": found.winner, "picks": list(found.picks), "before": found.before,
        "gain": found.gain, "level": found.level, "tested": found.tested, "rows": found.rows,
        "floored": found.floored, "table": found.table,
    }  # fmt: skip


def exports(name: str, rows: Rows) -> Iterator[Line]:
    """Yield fitted calibrators as files: JSON, a Python module, an ONNX model; their bytes without version numbers."""
    for key in ("temperature", "vector", "isotonic-ovr", "top-label-hb", "class-wise", "dirichlet"):
        try:
            member = cc.CALIBRATORS.make(key, **small_parameters(key)).fit_on(rows)
        except REFUSALS as why:
            yield f"exports/{name}/{key}", f"!{type(why).__name__}"
            continue
        for form, write in (("json", _json), ("python", exporting.python_source), ("onnx", _onnx)):
            yield from _written(f"exports/{name}/{key}/{form}", partial(write, member))


def _written(key: str, write: Callable[[], str | bytes]) -> Iterator[Line]:
    try:
        text = write()
    except REFUSALS as why:
        yield key, f"!{type(why).__name__}"
        return
    content = text if isinstance(text, bytes) else "\n".join(_code(text)).encode()
    yield key, digest(content)


def _code(text: str) -> Iterator[str]:
    """Yield executable lines of a module, without its texts, which contain versions."""
    outside = re.sub(r'"""(?:.|\n)*?"""', "", text)
    for line in outside.splitlines():
        code = line.split("#")[0].rstrip()
        if code:
            yield code


def _json(member: Any) -> str:
    from calib_core.calibrators.saving import to_json

    return to_json(member)


def _onnx(member: Any) -> bytes:
    import onnx

    from dashboard.onnx_export import onnx_bytes

    model = onnx.load_from_string(onnx_bytes(member))
    graph = model.graph
    steps = [f"{n.op_type} {list(n.input)} {list(n.output)}" for n in graph.node]
    return "\n".join(steps).encode() + b"".join(t.SerializeToString(deterministic=True) for t in graph.initializer)


def commands(name: str, rows: Rows) -> Iterator[Line]:
    """Yield the records of `calib audit --json` and `calib gate --format json`."""
    from click.testing import CliRunner

    from dashboard.cli import main

    with tempfile.TemporaryDirectory() as folder:
        path = _file(Path(folder), rows)
        if path is None:
            return
        audit = ["audit", str(path), "--json", "--estimator", "ece", "--estimator", "rmsce", "--unbinned"]
        every = {"audit": audit, "gate": ["gate", str(path), "--max-ece", "0.05", "--format", "json"]}
        for key, arguments in every.items():
            done = CliRunner().invoke(main, arguments)
            yield f"commands/{name}/{key}/exit", str(done.exit_code)
            text = done.stdout
            yield from walk(f"commands/{name}/{key}", json.loads(text) if text.strip().startswith("{") else None)


def _file(folder: Path, rows: Rows) -> Path | None:
    if rows.kind != "full" or rows.grain == "counts" or rows.weights is not None or rows.row_groups is not None:
        return None
    path = folder / "rows.npz"
    np.savez(path, probs=rows.probs, labels=rows.true_labels)
    return path


def plans(name: str, rows: Rows) -> Iterator[Line]:
    """Yield the planner's required sample sizes for these rows."""
    fit, test = halves(rows)
    for key in cc.planning.PLANS:
        yield from kept(f"plans/{name}/{key}", lambda key=key: _plan(planning.answer(key, fit, test)))


def _plan(found: Any) -> dict[str, Any]:
    return {part: getattr(found, part) for part in ("amount", "bound", "limit", "needed", "plan")}


def uses(name: str, rows: Rows) -> Iterator[Line]:
    """Yield uses of probabilities: sets of classes, decisions by costs."""
    yield from kept(f"uses/{name}/sets", lambda: prediction_sets.set_sizes({"": rows}))
    yield from kept(f"uses/{name}/benefit", lambda: decisions.net_benefits({"": rows}, 0.3))
    yield from kept(f"uses/{name}/decision-costs", lambda: decisions.decision_costs({"": rows}))


def promises() -> Iterator[Line]:
    """Yield the formulas of guarantees at a grid of their arguments."""
    g = guarantees
    grid: dict[str, list[tuple[Any, ...]]] = {
        "conditional_eps": [(50, 1000, 0.1), (10, 200, 0.05, 1e-3)],
        "marginal_eps": [(50, 0.1), (10, 0.05)],
        "simultaneous_eps": [(50, 15, 0.1), (20, 4, 0.05)],
        "expected_ece": [(50,), (10, 1e-3)],
        "points_for_conditional": [(0.1, 1000, 0.1)],
        "points_for_expected": [(0.05,)],
        "points_for_marginal": [(0.1, 0.1)],
        "accuracy_lower_bound": [(95, 100, 0.1), (400, 410, 0.05)],
        "deviation_probability": [(0.05, 0.3, 100)],
        "likely_deviation": [(0.9, 0.3, 100)],
        "normal_deviation": [(0.9, 0.3, 100)],
        "exceed_probability": [(200, 10, 0.1)],
        "guaranteed_rank": [(200, 0.1, 0.05), (20, 0.01, 0.05)],
        "paper_rank": [(200, 0.1)],
        "rows_for_accuracy": [(0.9, 0.05)],
        "rows_for_miscoverage": [(0.1, 0.05)],
        "worst_ece_at_least": [(0.9, 10), (0.6, 3, 0.1, 0.9)],
        "bretagnolle_huber_carol_eps": [(1000, 3, 0.1)],
        "cell_eps": [(1000, 3, 0.1, 9), (50, 10, 0.05)],
        "rows_for_cell": [(0.1, 3, 0.1, 9)],
        "weissman_eps": [(1000, 3, 0.1)],
        "rows_for_balance": [(15, 0.1)],
        "unbalanced_probability": [(500, 10), (1000, 15)],
    }
    for name, arguments in grid.items():
        for i, given in enumerate(arguments):
            yield from kept(f"guarantees/{name}/{i}", partial(getattr(g, name), *given))
    yield from kept("guarantees/wilson", lambda: inference.wilson(np.array([0.0, 3, 10]), np.array([10.0, 10, 10])))
    yield from kept("guarantees/clopper", lambda: inference.clopper_pearson(np.array([0.0, 3]), np.array([10.0, 10])))


_LAWS = ("softmax", "softmax-weighted", "beta", "beta-grouped", "beta-counted", "rare", "ratings", "ratings-weighted",
         "top-label")  # fmt: skip
_DEMOS = ("demo-digits-naive-bayes", "demo-breast-cancer-svm", "demo-wine-logistic", "demo-language-model",
          "demo-patients", "demo-imbalanced-forest")  # fmt: skip
_EVERY = tuple(data.every())
OF: dict[str, tuple[Subject, tuple[str, ...]]] = {
    "estimates": (estimates, _EVERY),
    "slow": (slow, ("beta", "top-label", "valk-kull-few")),
    "primary": (primary, _EVERY),
    "tests": (tests, _EVERY),
    "bins": (bins, _EVERY),
    "pictures": (pictures, _EVERY),
    "places": (places, _EVERY),
    "calibrators": (calibrators, ("softmax", "beta", "top-label", "ratings", "demo-wine-logistic")),
    "binary-calibrators": (binary_calibrators, ("beta", "ratings", "softmax-weighted")),
    "compare": (compared, ("softmax", "softmax-weighted", "beta", "beta-grouped", "ratings")),
    "choose": (chosen, ("softmax", "beta", "beta-grouped", "ratings", "demo-wine-logistic")),
    "exports": (exports, ("beta", "demo-wine-logistic")),
    "commands": (commands, ("beta", "rare", "demo-wine-logistic", "demo-breast-cancer-svm")),
    "plans": (plans, ("softmax", "beta", "ratings")),
    "uses": (uses, ("softmax", "beta", "rare", "demo-wine-logistic")),
}
"""Subjects with their sets: all, or a few for slow ones."""
