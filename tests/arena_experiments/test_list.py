"""The list of the arena's experiments: enough of them, no family of data sets in both halves, and as written down."""

import csv
from collections import defaultdict

from tests.arena_experiments.data_sets import DATA_SETS
from tests.arena_experiments.make import LIST, listed
from tests.arena_experiments.make_list import lines
from tests.arena_experiments.models import MODELS


def every_line():
    with LIST.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_list_is_the_one_that_was_written_down():
    assert every_line() == [{name: str(value) for name, value in line.items()} for line in lines()]


def test_there_are_enough_experiments_of_either_kind():
    kinds = [line["kind"] for line in every_line()]
    assert (kinds.count("binary"), kinds.count("multiclass")) == (350, 207)
    assert {line["model"] for line in every_line()} == set(MODELS)
    assert {line["dataset"] for line in every_line()} == set(DATA_SETS)
    assert len(listed("tuning")) + len(listed("held-back")) == 557


def test_no_family_is_in_both_halves():
    halves = defaultdict(set)
    for line in every_line():
        halves[DATA_SETS[line["dataset"]].family or line["dataset"]].add(line["half"])
    assert {len(found) for found in halves.values()} == {1}


def test_sizes_are_within_the_data():
    for line in every_line():
        train, calibration, test = (int(line[name]) for name in ("train", "calibration", "test"))
        assert train + calibration + test <= DATA_SETS[line["dataset"]].rows
        assert train >= 400
        assert 100 <= calibration <= 20_000
        assert 2_000 <= test <= 10_000
