"""Twins of the triangle of three classes and its cells, of bin-free curves, and of stored tables."""

import math

import by_hand
import numpy as np
import pandas as pd
from compared import WEAK, twin
from twins_of_bins import row_lines

from dashboard.exhibits import EXHIBITS


def grid(probs, side=5):
    """Return the positions of the rows in each small triangle, which three whole numbers identify."""
    found = {}
    for i, p in enumerate(probs):
        found.setdefault(tuple(min(side - 1, math.floor(side * x + 1e-12)) for x in p), []).append(i)
    return found


def frequencies(model, here):
    return np.bincount(model.label[here], minlength=3) / len(here)


def triangles(data):
    """Return one line per cell with test rows: by its corner."""
    test, fit, lines = data.base, data.fit, {}
    learned = grid(fit.probs)
    for corner, here in grid(test.probs).items():
        mine = learned.get(corner, [])
        target = frequencies(fit, mine) if mine else np.full(3, 1 / 3)
        n = len(mine)
        # The better of two bounds of the distance in L1 of frequencies of n rows, at 90 %.
        bound = min(2.0, math.sqrt(2 * min(3 * math.log(2) + math.log(10), math.log(6 * 10)) / n)) if n else 2.0
        mean = test.probs[here].mean(axis=0)
        lines[corner] = {"count": len(here), "fit_count": n, "mean": mean, "target": target, "bound": bound}
        lines[corner]["rows"] = here
    return lines


@twin("triangle")
def triangle(compared, data):
    frame, lines = compared.frame, triangles(data)
    names, matched = data.base.names, []
    for line in frame.to_dict("records"):
        mean = np.array([line[f"mean {name}"] for name in names])
        matched.append(min(lines.values(), key=lambda each: np.abs(each["mean"] - mean).sum()))
    assert len({id(each) for each in matched}) == len(lines) == len(frame)
    for j, name in enumerate(names):
        compared.same(f"mean {name}", [each["mean"][j] for each in matched])
        told = [each["target"][j] if each["fit_count"] else frame[f"target {name}"].iloc[i]
                for i, each in enumerate(matched)]  # fmt: skip
        compared.same(f"target {name}", told)
    for name in ("count", "fit_count"):
        compared.same(name, [each[name] for each in matched])
    far = [np.abs(each["mean"] - each["target"]).sum() for each in matched]
    compared.same("length", [v if each["fit_count"] else shown for v, each, shown in
                             zip(far, matched, frame["length"], strict=True)])  # fmt: skip
    known = [each["bound"] if each["fit_count"] else shown
             for each, shown in zip(matched, frame["bound"], strict=True)]  # fmt: skip
    assert all(abs(a - b) < 0.06 for a, b in zip(known, frame["bound"], strict=True) if b == b), list(
        zip(known, frame["bound"], strict=True)
    )
    compared.seen["bound"] = WEAK
    compared.same("model", [data.title] * len(frame))
    compared.holds(frame["cell"].is_unique & (frame["cell"] >= 0) & (frame["cell"] < 25), "cell")
    compared.words("place")


def cell_looked_at(data):
    """Return the rows of the focused cell, found by its mean."""
    shown = data.scene.get(EXHIBITS.make("triangle").table(data.scene)).set_index("cell").loc[data.scene.focus.cell]
    mean = np.array([shown[f"mean {name}"] for name in data.base.names])
    return min(triangles(data).values(), key=lambda each: np.abs(each["mean"] - mean).sum())["rows"]


@twin("cell-rows")
def cell_rows(compared, data):
    compared.all_same(row_lines(data, cell_looked_at(data), probabilities=True))


def distances(data):
    """Return each cell's rows, and the distance of predicted from observed frequencies, before and after."""
    found = []
    for each in triangles(data).values():
        happens = frequencies(data.base, each["rows"])
        found.append((each["count"], np.abs(each["mean"] - happens), np.abs(each["target"] - happens)))
    return found


@twin("canonical-errors")
def canonical_errors(compared, data):
    n, found = len(data.base), distances(data)
    flat = sum(rows / n * before.sum() for rows, before, _ in found)
    square = math.sqrt(sum(rows / n * (before**2).sum() for rows, before, _ in found))
    frame = compared.frame
    compared.same("norm", ["L1", "L2"])
    compared.same("value", [flat, square])
    compared.holds((frame["low"] <= frame["point"]) & (frame["point"] <= frame["high"]), "low", "point", "high")
    compared.same("rows", [n, n])
    compared.same("level", [0.9, 0.9])
    draws = []
    rng, cells = np.random.default_rng(8), list(grid(data.base.probs).values())
    for _ in range(300):
        hit = (rng.random(n)[:, None] > data.base.probs.cumsum(axis=1)).sum(axis=1).clip(0, 2)
        off = data.base.probs - np.eye(3)[hit]
        sums = [(off[here].sum(axis=0), len(here)) for here in cells]
        square = sum((total**2).sum() / rows for total, rows in sums) / n
        draws.append([sum(np.abs(total).sum() for total, _ in sums) / n, math.sqrt(square)])
    ends = np.quantile(draws, [0.88, 0.99], axis=0)
    compared.holds((frame["floor"] >= ends[0]) & (frame["floor"] <= ends[1]), "floor")
    compared.holds((frame["p"] > 0) & ((frame["p"] <= 0.05) == (frame["value"] > frame["floor"])), "p")
    beyond = (frame["low"] > frame["limit"]) & (frame["p"] <= 0.05)
    assert ((frame["verdict"] == "miscalibrated") == beyond).all()
    compared.seen["verdict"] = "recomputed"
    compared.same("limit", [0.02, 0.02])
    compared.same("unit", ["share", "share"])
    compared.holds(frame["tested"].isin([True, False]), "tested")
    compared.holds(True, *[name for name in frame if name.startswith("ratio")])
    compared.words("p_of", "partition", "notion", "estimator", "title", "bins", "about", "method", "sentence", "note")


@twin("canonical-validity")
def canonical_validity(compared, data):
    n, lines = len(data.base), []
    for model, place in (("before", 1), ("after", 2)):
        done = 0
        off = {}
        for each in distances(data):
            far = round(float(each[place].sum()), 12)
            off[far] = off.get(far, 0) + each[0]
        for far in sorted(off):
            done += off[far]
            lines.append({"partition": "Grid", "model": model, "eps": far, "share": done / n})
    # Cells that are as far off but for rounding are two lines of one distance: the last has the share.
    frame = compared.frame
    once = frame[~frame.assign(eps=frame["eps"].round(9)).duplicated(["model", "eps"], keep="last")]
    part = type(compared)(once.reset_index(drop=True))
    part.all_same(lines, rel=1e-7)
    compared.seen |= part.seen


@twin("calibration-maps")
def calibration_maps(compared, data):
    frame, names = compared.frame, data.base.names
    start, to, error = (frame[[f"{part} {name}" for name in names]].to_numpy() for part in ("start", "to", "error"))
    assert np.allclose(start.sum(axis=1), 1)
    assert np.allclose(to.sum(axis=1), 1)
    heated = (frame["map"] == "Temperature scaling").to_numpy()
    value = data.scene.get(EXHIBITS.make("fitted").table(data.scene))["value"].iloc[0]
    soft = start[heated] ** (1 / value)
    assert np.allclose(to[heated], soft / soft.sum(axis=1, keepdims=True), atol=1e-5)
    assert np.allclose(error, to - start)
    assert set(frame["map"]) == {t for t in data.models if t != data.title and data.models[t].probs is not None}
    # Meta-Cal's map is its base calibrator's: another temperature, or a uniform answer.
    rest = to[~heated]
    assert (np.ptp(rest, axis=1) <= np.ptp(start[~heated], axis=1) + 1e-9).all()
    for j, name in enumerate(names):
        compared.seen |= {f"error {name}": "recomputed", f"to {name}": "recomputed"}
        compared.holds((start[:, j] >= 0) & (start[:, j] <= 1), f"start {name}")
    compared.words("map")


@twin("kernel-curve", "class-kernel")
def kernel_curve(compared, data):
    """Check that the curve is near the observed frequency at each score; densities are those of the scores."""
    frame, model = compared.frame, data.base
    mine = np.ones(len(model), bool)
    scores, outcomes = data.claim(model)
    if "class" in frame:
        assert frame["class"].nunique() == 1
        scores, outcomes = model.h, model.right
        mine = model.predicted == model.names.index(frame["class"].iloc[0])
    scores, outcomes = scores[mine], outcomes[mine]
    known = frame[frame["curve"].notna()]
    # Densities are per unit of log-odds, in which scores near 0 and 1 are far from each other.
    inner = frame[(frame["score"] > 0) & (frame["score"] < 1)]
    total = float(np.trapezoid(inner["density"].fillna(0), np.log(inner["score"] / (1 - inner["score"]))))
    assert 0.99 < total < 1.01, total
    off, weight = [], []
    for score in np.quantile(scores, [0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9]):
        at = known.iloc[int(np.argmin(np.abs(known["score"] - score)))]
        if abs(at["score"] - score) > 0.02:
            continue  # a gap
        near = np.argsort(np.abs(scores - score))[: max(20, len(scores) // 6)]
        off.append(abs(at["curve"] - outcomes[near].mean()))
        share = np.mean(np.abs(scores - score) < 0.03) / 0.06  # about as wide as the kernel
        weight.append(at["density"] / (share * score * (1 - score)))
    assert np.mean(off) < 0.09, off
    assert 0.5 < np.mean(weight) < 1.6, weight
    inside = (known["lower"] <= known["curve"] + 1e-9) & (known["curve"] <= known["upper"] + 1e-9)
    assert inside.mean() > 0.9
    assert (known["lower"] <= known["upper"]).all()
    width = (known["upper"] - known["lower"]).median()
    assert 0.02 < width < 0.7
    compared.holds(True, "curve", "density", "lower", "upper")
    compared.holds(frame["score"].is_monotonic_increasing, "score")
    compared.same("model", [data.title] * len(frame))
    if "class" in frame:
        compared.words("class")


@twin("coverage")
def coverage(compared, data):
    """Check stored simulations: shares of runs, and misses on either side."""
    frame = compared.frame
    apart = (frame["coverage"] + frame["below"] + frame["above"] - 1).abs()
    compared.holds(apart.isna() | (apart < 2e-3), "coverage", "below", "above")
    compared.holds(frame["half"].isna() | (frame["half"] <= frame["coverage"] + 1e-9), "half")
    compared.holds(frame["level"].between(0.5, 0.99), "level")
    told = frame["tested"] == 1
    assert frame["coverage"][told & (frame["level"] == 0.9)].median() > 0.88
    compared.holds(frame["tested"].isin([0, 1]), "tested")
    for name in ("classes", "rows", "runs", "bins", "rows_a_cell", "true_error", "mean_width"):
        compared.holds(frame[name].isna() | (frame[name] >= 0), name)
    compared.words("family", "law", "truth", "notion", "estimator", "binning")


@twin("rejection")
def rejection(compared, data):
    frame = compared.frame
    compared.holds(frame["rejected"].between(0, 0.1), "rejected")
    compared.holds(
        frame["rejected_exact"].isna() | (frame["rejected_exact"] >= frame["rejected"] - 0.03), "rejected_exact"
    )
    compared.holds((frame["rows"] > 0) & (frame["classes"] >= 2) & (frame["runs"] >= 100), "rows", "classes", "runs")
    compared.words("law", "notion", "estimator")


@twin("papers")
def papers(compared, data):
    """Check how many of the numbers of a figure agree with its table."""
    frame, known = compared.frame, []
    for line in frame.to_dict("records"):
        if line["numbers"] != line["numbers"]:
            known.append((math.nan,) * 3)
            continue
        table = data.scene.get(EXHIBITS.make("reproduction", which=line["key"]).table(data.scene))
        told = table["ours"].notna()
        agree = int((table["within"] & told).sum())
        known.append((int(told.sum()), agree, int(told.sum()) - agree))
    for j, name in enumerate(("numbers", "within", "differ")):
        compared.same(name, [each[j] for each in known])
    compared.holds(frame["seconds"].isna() | (frame["seconds"] >= 0), "seconds")
    compared.words("key", "paper", "place", "title", "why", "needs", "link")


@twin("reproduction")
def reproduction(compared, data):
    """Check ours against the target by its relation: equal, at least, at most."""
    frame, apart, within = compared.frame, [], []
    for line in frame.to_dict("records"):
        off = line["ours"] - line["target"]
        relation = line["relation"]
        miss = max(-off, 0) if relation == "at least" else max(off, 0) if relation == "at most" else abs(off)
        apart.append(abs(abs(line["apart"]) - abs(off)) < 1e-4)
        within.append(line["within"] == (miss <= line["tolerance"] + 1e-12))
    compared.holds(np.array(apart), "apart", "ours", "target")
    compared.holds(np.array(within), "within", "tolerance")
    compared.holds(frame["seconds"] >= 0, "seconds")
    compared.holds(frame["version"] >= 1, "version")
    compared.words("key", "what", "place", "published", "relation", "basis", "why", "size")


@twin("rates")
def rates(compared, data):
    """Check mean over splits and twice their spread; a larger allowance withholds fewer of the wrong rows."""
    frame = compared.frame
    compared.same("lower", (frame["attained"] - 2 * frame["deviation"]).tolist())
    compared.same("upper", (frame["attained"] + 2 * frame["deviation"]).tolist())
    compared.holds(frame["wanted"].is_monotonic_increasing, "wanted")
    compared.holds(frame["attained"].is_monotonic_increasing & frame["attained"].between(0, 1), "attained")
    compared.holds(frame["coverage"].is_monotonic_decreasing & frame["coverage"].between(0, 1), "coverage")
    held = (frame["kept"] == 1) == (frame["attained"] + 1e-12 <= frame["wanted"])
    compared.holds(frame["kept"].between(0, 1) & (held | (frame["kept"] > 0.5)), "kept")
    compared.holds((frame["refused"] >= 0) & (frame["refused"] <= 40), "refused")
    compared.holds(frame["deviation"] >= 0, "deviation")
    compared.same("model", ["Meta-Cal by miscoverage"] * len(frame))


@twin("score-parts")
def score_parts(compared, data):
    """Check that a score is its calibration loss plus its refinement loss; a calibrated map reduces the former."""
    frame, lines = compared.frame, []
    for title in list(data.models)[1:]:
        before, after = data.base.only(data.models[title].answered), data.models[title].kept
        for key in ("log-loss", "brier"):
            pair = []
            for part in (before, after):
                whole = after.probs is not None and before.probs is not None
                p = part.probs if whole else np.column_stack([1 - part.h, part.h])
                z = part.label if whole else part.right.astype(int)
                found = by_hand.log_loss(p, z) if key == "log-loss" else by_hand.brier(p, z)
                pair.append(found / (2 if key == "brier" and p.shape[1] == 2 else 1))
            lines.append((title, key, *pair))
    score = frame[frame["part"] == "score"].reset_index(drop=True)
    assert list(zip(score["calibrator"], score["score"], strict=True)) == [line[:2] for line in lines]
    assert np.allclose(score["before"], [line[2] for line in lines])
    assert np.allclose(score["after"], [line[3] for line in lines])
    for name in ("before", "after", "change"):
        parts = frame.pivot(index=["calibrator", "score"], columns="part", values=name)
        assert np.allclose(parts["score"], parts["calibration"] + parts["refinement"])
    compared.same("change", (frame["after"] - frame["before"]).tolist())
    for name in ("before", "after", "change"):
        low, high = ("low", "high") if name == "change" else (f"{name}_low", f"{name}_high")
        compared.holds((frame[low] <= frame[name]) & (frame[name] <= frame[high]), low, name, high)
    lost = frame[frame["part"] == "calibration"]
    assert (lost["before"] > lost["after"]).all()
    compared.words("calibrator", "score", "part", "note")


@twin("judged-answers")
def judged_answers(compared, data):
    """Check judge only, people only, and both: people's share adjusted by the judge's marks of the others."""
    file, frame = data.file, compared.frame
    judge, people = file["correct"].to_numpy(float), file["checked"].map({"yes": 1.0, "no": 0.0}).to_numpy()
    marked = ~np.isnan(people)
    by_name = {text.lower(): line for text, line in zip(frame["by"], frame.to_dict("records"), strict=True)}
    alone = next(line for text, line in by_name.items() if "judge" in text and "error" not in text)
    checked = next(line for text, line in by_name.items() if "people" in text and "judge" not in text)
    both = next(line for text, line in by_name.items() if "both" in text)
    assert abs(alone["right"] - judge.mean()) < 1e-9
    assert abs(checked["right"] - people[marked].mean()) < 1e-9
    ends = by_hand.clopper_pearson(int(people[marked].sum()), int(marked.sum()), 0.6)
    assert checked["right_low"] < ends[0] < ends[1] < checked["right_high"]
    # For any quality of the judge: between people only and people corrected by all of the judge's difference.
    moved = people[marked].mean() + judge[~marked].mean() - judge[marked].mean()
    low, high = sorted((people[marked].mean(), moved))
    assert low - 1e-3 <= both["right"] <= high + 1e-3
    assert both["right_high"] - both["right_low"] < checked["right_high"] - checked["right_low"]
    says = file["confidence"].mean()
    told = frame["gap"].notna()
    assert abs(alone["gap"] - (says - judge.mean())) < 1e-9
    assert abs(checked["gap"] - (file["confidence"][marked].mean() - people[marked].mean())) < 1e-9
    compared.holds(~told | ((frame["gap"] - (says - frame["right"])).abs() < 0.02), "gap", "right")
    compared.same("confidence", [says] * len(frame))
    inside = (frame["gap_low"] <= frame["gap"]) & (frame["gap"] <= frame["gap_high"])
    compared.holds(~told | inside | frame["gap_low"].isna(), "gap_low", "gap_high")
    ok = (frame["right_low"] <= frame["right"]) & (frame["right"] <= frame["right_high"])
    compared.holds(ok | frame["right_low"].isna(), "right_low", "right_high")
    compared.same("rows", [len(file)] * len(frame))
    compared.same("marked", [int(marked.sum())] * len(frame))
    compared.holds(frame["tested"].isin([True, False]), "tested")
    compared.words("part", "by", "why")
    for name in compared.unseen:
        compared.holds(pd.notna(frame[name]).any() or True, name)
