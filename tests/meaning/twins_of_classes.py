"""Twins of classes: confidence and accuracy of each, and their significance."""

import math

import by_hand
import numpy as np
from compared import twin
from scipy.optimize import minimize
from scipy.stats import norm
from twins_of_bins import row_lines

STEP = 0.005
"""Grid of distances of counts, for observed values and for their distribution."""


def on_grid(away):
    return np.floor(np.asarray(away) / STEP + 0.5 + 1e-9).astype(int)


def class_law(scores, outcomes, cells):
    """Return (error, mean error of calibrated models, p of such an error) of one class: convolved bin distributions."""
    total, mean, observed, place = np.array([1.0]), 0.0, 0.0, 0
    for rows in cells.values():
        middle = sum(float(scores[i]) for i in rows)
        law = by_hand.law_of_count([float(scores[i]) for i in rows])
        away = np.abs(np.arange(len(law)) - middle)
        mean += float(away @ law)
        total = np.convolve(total, np.bincount(on_grid(away), law))
        off = abs(sum(float(outcomes[i]) for i in rows) - middle)
        observed, place = observed + off, place + int(on_grid(off))
    n = sum(map(len, cells.values()))
    return observed / n, mean / n, max(by_hand.LEAST, float(total[place:].sum()))


def classes_of(data, model, notion="top-label"):
    """Return one line per class: rows, shares, mean score and outcome, error."""
    kept, lines = model.kept, []
    for c, name in enumerate(kept.names):
        if notion == "top-label":
            here = np.flatnonzero(kept.predicted == c)
            scores, outcomes = kept.h[here], kept.right[here]
        else:
            here = np.arange(len(kept))
            scores, outcomes = kept.probs[:, c], kept.label == c
        line = {
            "class": name,
            "rows": len(here),
            "share": len(here) / len(model),
            "true_share": np.mean(model.label == c),
            "mean_score": np.mean(scores) if len(here) else math.nan,
            "mean_outcome": np.mean(outcomes) if len(here) else math.nan,
        }
        line["gap"] = line["mean_outcome"] - line["mean_score"]
        cells = kept.cells(scores, data.bins)
        error, calibrated, p = class_law(scores, outcomes, cells) if len(here) else (math.nan,) * 3
        line |= {"error": error, "calibrated": calibrated, "p": p if len(here) >= 10 else math.nan}
        line["beyond"] = (error - calibrated) * len(here) / len(model)
        lines.append(line)
    # Bins, classes, classes in bins, slices; and the probability of each class, where it is known.
    kinds = 4 if model.probs is None else 5
    for line, p in zip(lines, by_hand.corrected([line["p"] for line in lines], kinds), strict=True):
        line["p_holm"] = p
    return lines


def in_order(lines):
    """Return the significant ones first, then those of ten rows or more; each by contribution beyond noise."""

    def place(line):
        group = 0 if line["p_holm"] <= 0.05 else 1 if line["rows"] >= 10 else 2 if line["rows"] else 3
        return group, -line["beyond"] if line["beyond"] == line["beyond"] else math.inf

    return sorted(lines, key=place)


PLAIN = ("class", "rows", "share", "true_share", "mean_score", "mean_outcome", "gap")


def listed(compared, data, every):
    """Check the table of classes of all models; tests of the first only if not ``every``."""
    first = in_order(classes_of(data, data.base))
    for name in PLAIN:
        compared.same(name, [line[name] for line in first])
    order = [line["class"] for line in first]
    for title, model in data.models.items():
        by_name = {line["class"]: line for line in classes_of(data, model)}
        lines = [by_name[name] for name in order]
        compared.same(f"error, {title}", [line["error"] for line in lines])
        tested = every or title == data.title
        for name, rel in (("calibrated", 0.01), ("p", 0.1), ("p_holm", 0.1)):
            shown = compared.frame[f"{name}, {title}"]
            known = [line[name] if tested else math.nan for line in lines]
            if title != data.title and any(line["rows"] < 10 for line in lines):
                # A model that hardly predicts a class, or gives it few values, has coarser slices.
                rel = 0.3
            compared.same(f"{name}, {title}", known, rel=rel, least=2e-3 if name != "calibrated" else 0)
            assert ((shown <= 0.05) == (np.array(known) <= 0.05)).all(), (name, title)
    compared.words("note")


@twin("classes")
def classes(compared, data):
    listed(compared, data, every=True)


@twin("class-errors")
def class_errors(compared, data):
    listed(compared, data, every=False)


@twin("standing-out")
def standing_out(compared, data):
    lines = [line for line in in_order(classes_of(data, data.base)) if line["rows"]]
    names = list(data.base.names)
    for line in lines:
        line |= {"code": names.index(line["class"]), "claimed": line["mean_score"], "right": line["mean_outcome"]}
        line |= {"excess": line["beyond"], "stands_out": line["p_holm"] <= 0.05}
    for name in ("class", "code", "rows", "claimed", "right", "error", "stands_out"):
        compared.same(name, [line[name] for line in lines])
    compared.same("calibrated", [line["calibrated"] for line in lines], rel=0.01)
    compared.same("excess", [line["excess"] for line in lines], rel=0.03)
    compared.same("p_holm", [line["p_holm"] for line in lines], rel=0.1, least=2e-3)


@twin("class")
def one_class(compared, data):
    code, lines = data.scene.focus.code, []
    for title, model in data.models.items():
        kept = model.kept
        here = np.flatnonzero(kept.predicted == code)
        n, k = len(here), int(sum(kept.right[here]))
        low, high = by_hand.clopper_pearson(k, n)
        found = k / sum(model.label == code) if model.answered.all() else k / sum(kept.label == code)
        line = {"model": title, "rows": n, "says": np.mean(kept.h[here]), "right": k / n, "low": low, "high": high}
        lines.append({**line, "found": found})
    compared.all_same(lines)


@twin("class-bins")
def class_bins(compared, data):
    code, model, lines = data.scene.focus.code, data.base, []
    here = np.flatnonzero(model.predicted == code)
    edges = by_hand.edges_of(data.bins)
    for b, places in by_hand.cells_of(model.h[here], edges).items():
        mine = here[places]
        n, k = len(mine), int(sum(model.right[mine]))
        low, high = by_hand.clopper_pearson(k, n)
        line = {"model": data.title, "bin": b, "lower": edges[b], "upper": edges[b + 1], "count": n}
        lines.append({**line, "says": np.mean(model.h[mine]), "right": k / n, "low": low, "high": high})
    compared.all_same(lines)


@twin("class-confusions")
def confusions(compared, data):
    code, model = data.scene.focus.code, data.base
    here = np.flatnonzero(model.predicted == code)
    found = {}
    for i in here:
        if model.label[i] != code:
            found[int(model.label[i])] = found.get(int(model.label[i]), 0) + 1
    order = sorted(found, key=lambda c: -found[c])
    compared.all_same([{"true class": model.names[c], "rows": found[c], "share": found[c] / len(here)} for c in order])


@twin("class-rows")
def class_rows(compared, data):
    code, model, b = data.scene.focus.code, data.base, data.scene.focus.bin
    here = [int(i) for i in np.flatnonzero(model.predicted == code)]
    if b is not None:
        edges = by_hand.edges_of(data.bins)
        here = [i for i in here if by_hand.bin_of(float(model.h[i]), edges) == b]
    here.sort(key=lambda i: -abs(float(model.right[i]) - float(model.h[i])))
    compared.all_same(row_lines(data, here))


@twin("class-panels")
def class_panels(compared, data):
    lines = []
    order = [line["class"] for line in in_order(classes_of(data, data.base))]
    edges = by_hand.edges_of(data.bins)
    for title, model in data.models.items():
        kept = model.kept
        for name in order:
            here = np.flatnonzero(kept.predicted == kept.names.index(name))
            for b, places in by_hand.cells_of(kept.h[here], edges).items():
                mine = here[places]
                says, right = np.mean(kept.h[mine]), np.mean(kept.right[mine])
                line = {"model": title, "class": name, "bin": b, "lower": edges[b], "upper": edges[b + 1]}
                line |= {"count": len(mine), "mean_score": says, "mean_outcome": right, "gap": right - says}
                lines.append({**line, "weight": len(mine) / len(kept)})
    compared.all_same(lines)


@twin("class-bias")
def class_bias(compared, data):
    model, lines = data.base, []
    tests = {line["class"]: line["p"] for line in classes_of(data, model)}
    for c, name in enumerate(model.names):
        here = np.flatnonzero(model.predicted == c)
        for label, other in enumerate(model.names):
            n, k = len(here), int(sum(model.label[here] == label))
            says = float(np.mean(model.probs[here, label]))
            low, high = by_hand.clopper_pearson(k, n)
            p = tests[name] if c == label else by_hand.share_p(k, n, says)
            line = {"class": name, "code": c, "label": other, "label_code": label, "rows": n, "worth": n}
            line |= {"says": says, "right": k / n, "low": low, "high": high, "level": 0.9, "p": p, "gap": k / n - says}
            lines.append(line)
    kinds = 5
    for own in (True, False):
        mine = [line for line in lines if (line["code"] == line["label_code"]) is own]
        for line, p in zip(mine, by_hand.corrected([line["p"] for line in mine], kinds), strict=True):
            line |= {"p_corrected": p, "stands_out": p <= 0.05}
    lines.sort(key=lambda line: (not line["stands_out"], -abs(line["gap"]) if line["stands_out"] else 0, line["p"]))
    for name in lines[0]:
        loose = name in ("p", "p_corrected")
        compared.same(name, [line[name] for line in lines], rel=0.1 if loose else 1e-9, least=2e-3 if loose else 1e-12)
    compared.words("finding", "place")


@twin("class-slopes")
def class_slopes(compared, data):
    """Refit the logits of every class against the most frequent one by a general minimizer, with a numeric Hessian."""
    kept = data.base.kept
    number = [int(sum(kept.label == c)) for c in range(len(kept.names))]
    first = int(np.argmax(number))
    others = [c for c in range(len(kept.names)) if c != first]
    x = np.log(kept.probs[:, others]) - np.log(kept.probs[:, [first]])
    m = len(others)

    def loss(v, slopes):
        line = np.column_stack([np.zeros(len(x)), v[:m] + (v[m:] if slopes else 1.0) * x])
        place = [0 if label == first else 1 + others.index(label) for label in kept.label]
        return float(np.sum(np.logaddexp.reduce(line, axis=1) - line[np.arange(len(x)), place]))

    def fit(slopes):
        start = np.concatenate([np.zeros(m), np.ones(m)]) if slopes else np.zeros(m)
        found = minimize(loss, start, (slopes,), method="BFGS", options={"gtol": 1e-6}).x
        step, k = 1e-3, len(start)
        hessian = np.zeros((k, k))
        for i in range(k):
            for j in range(k):
                e, f = step * np.eye(k)[i], step * np.eye(k)[j]
                corners = [loss(found + a * e + b * f, slopes) * a * b for a in (-1, 1) for b in (-1, 1)]
                hessian[i, j] = sum(corners) / (4 * step**2)
        return found, np.sqrt(np.diag(np.linalg.inv(hessian)))

    (shift, shift_error), (both, error) = fit(False), fit(True)
    slope, slope_error = both[m:], error[m:]
    z = norm.isf(0.05)
    p = 2 * norm.sf(abs(slope - 1) / slope_error)
    compared.same("class", [kept.names[c] for c in others])
    compared.same("rows", [number[c] for c in others])
    for name, value, spread in (("intercept", shift, shift_error), ("slope", slope, slope_error)):
        compared.same(name, value, rel=1e-4, least=1e-5)
        compared.same(f"{name}_low", value - z * spread, rel=1e-3, least=1e-4)
        compared.same(f"{name}_high", value + z * spread, rel=1e-3, least=1e-4)
    compared.same("p_slope", p, rel=0.02, least=1e-9)
    compared.same("p_holm", by_hand.holm(p), rel=0.02, least=1e-9)
    compared.same("off", [bool(q <= 0.05) for q in by_hand.holm(p)])
