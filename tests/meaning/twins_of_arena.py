"""Twins of the arena: every column recomputed from the stored losses, experiment by experiment."""

from __future__ import annotations

import math
from statistics import mean, median

from compared import twin

import calib_core as cc

KINDS = {"three": "multiclass", "risk": "binary"}
"""The stored experiments with as many classes as a file."""


def experiments(kind):
    """Return the lines of every experiment by method; a failure has the losses of no calibration."""
    found = {}
    results = cc.arena.project_results(kind)
    judged = set(results.loc[results["log_loss"].notna(), "method"])  # a method that always fails has no line
    for line in results[results["method"].isin(judged)].to_dict("records"):
        found.setdefault((line["dataset"], line["model"]), {})[line["method"]] = line
    for lines in found.values():
        for name, line in lines.items():
            if line["log_loss"] != line["log_loss"]:
                lines[name] = {**lines["identity"], "log_loss_error": 0.0, "failed": True}
    return found


def rank(lines, name):
    """Return the rank of a method in an experiment; ties share their mean."""
    losses = [line["log_loss"] for line in lines.values()]
    own = lines[name]["log_loss"]
    return sum(loss < own for loss in losses) + (sum(loss == own for loss in losses) + 1) / 2


@twin("arena")
def arena(compared, data):
    frame, every = compared.frame, list(experiments(KINDS[data.name]).values())
    known = []
    for name in frame["method"]:
        pairs = [(lines[name], lines["identity"]) for lines in every]
        best = [min(line["log_loss"] for line in lines.values()) for lines in every]
        gains = [base["log_loss"] - own["log_loss"] for own, base in pairs]
        ratios = [min(max(own["log_loss"] / base["log_loss"], 0.5), 2) for own, base in pairs]
        errors = [own["log_loss_error"] for own, _ in pairs]
        known.append(
            {
                "win_rate": mean(1 - (rank(lines, name) - 1) / (len(lines) - 1) for lines in every),
                "improvement": 1000 * mean(gains),
                "ratio": 1 - math.exp(mean(map(math.log, ratios))),
                "share_of_best": sum(gains)
                / sum(base["log_loss"] - least for (_, base), least in zip(pairs, best, strict=True)),
                "worse": mean(gain < 0 for gain in gains),
                "brier_improvement": 1000 * mean(base["brier"] - own["brier"] for own, base in pairs),
                "accuracy_change": mean(own["accuracy"] - base["accuracy"] for own, base in pairs),
                "rank": mean(rank(lines, name) for lines in every),
                "worse_beyond_noise": mean(
                    gain < 0 and -gain > 2 * error for gain, error in zip(gains, errors, strict=True)
                ),
                "mean_harm": 1000 * mean(max(-gain, 0) for gain in gains),
                "regret": 1000 * mean(own["log_loss"] - least for (own, _), least in zip(pairs, best, strict=True)),
                "seconds": median(own["fit_seconds"] + own["apply_seconds"] for own, _ in pairs if "failed" not in own),
                "failed": sum("failed" in own for own, _ in pairs),
            }
        )
    compared.all_same(known)
    for name in [each.removesuffix("_low") for each in frame if each.endswith("_low")]:
        ends = (f"{name}_low", f"{name}_high")
        compared.holds((frame[ends[0]] <= frame[name]) & (frame[name] <= frame[ends[1]]), *ends)
    compared.words("method", "title")


@twin("arena-ranks")
def arena_ranks(compared, data):
    by_dataset = {}
    for (dataset, _), lines in experiments(KINDS[data.name]).items():
        by_dataset.setdefault(dataset, []).append(lines)
    frame = compared.frame
    ranks = [
        mean(mean(rank(lines, name) for lines in here) for here in by_dataset.values()) for name in frame["method"]
    ]
    compared.same("rank", ranks)
    # Nemenyi's critical difference, by the quantile of the range of normal draws.
    m, d = len(ranks), len(by_dataset)
    width = range_quantile(m) / math.sqrt(2) * math.sqrt(m * (m + 1) / (6 * d))
    for name, sign in (("low", -1), ("high", 1)):
        off = (frame["rank"] + sign * width / 2 - frame[name]).abs()
        compared.holds(off < 0.03 * width, name)
    compared.words("method", "title")


def range_quantile(m, level=0.9, draws=200_000):
    """Return the quantile of the range of m normal draws."""
    import numpy as np

    drawn = np.random.default_rng(0).normal(size=(draws, m))
    return float(np.quantile(np.ptp(drawn, axis=1), level))
