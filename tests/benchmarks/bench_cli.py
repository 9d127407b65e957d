"""The command line from a cold start, as a person waits for it; the goal for 10,000 x 100 is 3 s on two idle cores."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from calib_core import estimate
from calib_core.inference import paired_difference, per_class_tests, sharpen

CALIB = Path(sys.executable).with_name("calib")


@pytest.fixture(scope="module")
def small(sample):
    if sample.predictions.n_rows > 10_000:
        pytest.skip("the goals are set for 10,000 rows")
    return sample


@pytest.fixture(scope="module")
def file(tmp_path_factory, small):
    name = tmp_path_factory.mktemp("cli") / "sample.npz"
    np.savez(name, probs=small.probs, labels=small.labels)
    return name


def cold(benchmark, *arguments):
    call = [str(CALIB), *map(str, arguments)]
    benchmark.pedantic(subprocess.run, args=(call,), kwargs={"capture_output": True}, rounds=3)


def test_help(benchmark):
    cold(benchmark, "--help")


def test_audit(benchmark, file):
    cold(benchmark, "audit", file)


def test_gate(benchmark, file):
    cold(benchmark, "gate", file, "--max-ece", "0.05")


def test_compare(benchmark, file):
    cold(benchmark, "compare", file, file)


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise"])
def test_five_estimates_sharpened_together(benchmark, small, notion):
    keys = ("ece", "rmsce", "mce", "debiased-l2", "debiased-ece")

    def ask():
        sharpen([estimate(small.predictions, notion, key) for key in keys])

    benchmark.pedantic(ask, rounds=3, warmup_rounds=1)


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise"])
def test_paired_difference_of_1000(benchmark, small, notion):
    other = small.predictions.with_probs(np.sqrt(small.probs) / np.sqrt(small.probs).sum(1, keepdims=True))
    benchmark.pedantic(paired_difference, args=(small.predictions, other, notion), rounds=3, warmup_rounds=1)


@pytest.mark.parametrize("notion", ["top-label", "class-wise"])
def test_per_class_tests(benchmark, sample, notion):
    benchmark.pedantic(per_class_tests, args=(sample.predictions, notion), rounds=3, warmup_rounds=1)
