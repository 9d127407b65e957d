"""Tools of the simulations: distributions as named, true errors equal to a loop, resumable tables."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import true_errors
from resumable import LineTable
from score_laws import CLAIMS, RECALIBRATED, ROWS, sample

import calib_core
from calib_core import estimate
from calib_core.binning import EqualMass


@pytest.mark.parametrize("law", [*CLAIMS, *ROWS, *RECALIBRATED])
def test_outcomes_come_true_as_often_as_the_truth_says(law):
    one = sample(law, "over-confident" if law in RECALIBRATED else "calibrated", 50, 4, 0)
    rng = np.random.default_rng(0)
    runs = np.array([one.drawn(rng).correct for _ in range(1500)])
    np.testing.assert_allclose(runs.mean(0), one.top_truth, atol=4.5 * 0.5 / 1500**0.5)
    if one.truth.ndim == 2:
        labels = np.array([one.labels(rng) for _ in range(1500)])
        shares = np.array([(labels == j).mean(0) for j in range(4)]).T
        np.testing.assert_allclose(shares, one.truth, atol=4.5 * 0.5 / 1500**0.5)


@pytest.mark.parametrize("law", ["certain", "all .995", "60 % at 1", "two decimals", "tiny", "network", "votes"])
@pytest.mark.parametrize("truth", ["shift .0204", "shift .0196", "shift .1", "region .0204"])
def test_a_named_error_is_the_error(law, truth):
    one = sample(law, truth, 500, 10, 0)
    found, _ = true_errors.target(estimate(one.predictions), one, "confidence", "ece")
    assert found == pytest.approx(float(truth.split()[1]), abs=1e-8)


def test_errors_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="cannot be reached"):
        sample("two decimals", "region .5", 500, 10, 0)


def test_most_confidences_of_a_network_lie_above_95_percent():
    for k in (3, 10, 20, 100, 1000):
        assert np.mean(sample("network", "calibrated", 1000, k, 0).predictions.confidence > 0.95) > 0.6


def by_a_loop(one, notion, bins, order):
    """Return the binned error with true probabilities in place of outcomes, claim by claim."""
    p, q, sums = one.predictions.probs, one.truth, {}
    n, k = p.shape
    for i in range(n):
        ranked = sorted(range(k), key=lambda j: (-p[i, j], j))
        classes = {"class-wise": range(k), "top-k-label": ranked[:3], "top-k-confidence": ranked[:3]}
        for rank, j in enumerate(classes.get(notion, ranked[:1])):
            group = {"confidence": 0, "top-label": j, "class-wise": j, "top-k-label": (rank, j)}.get(notion, rank)
            cell = sums.setdefault((group, min(int(p[i, j] * bins), bins - 1)), [])
            cell.append(q[i, j] - p[i, j])
    total = sum(map(len, sums.values()))
    return sum(len(gaps) / total * abs(sum(gaps) / len(gaps)) ** order for gaps in sums.values()) ** (1 / order)


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise", "top-k-label", "top-k-confidence"])
def test_true_errors_are_those_of_a_loop(notion):
    one = sample("spread rows", "over-confident", 80, 5, 0)
    claims = true_errors.listed(one, notion)
    cells = true_errors.bin_cells(claims, estimate(one.predictions, notion, bins=7).bins)
    for order in (1, 2):
        assert true_errors.binned_error(claims, cells, order) == pytest.approx(
            by_a_loop(one, notion, 7, order), abs=1e-12
        )


def test_what_the_words_of_an_interval_say_is_what_is_computed(monkeypatch):
    """One group of all claims makes the error the mean gap; with two rows and more, single-row cells are left out."""
    one = sample("two decimals", "wave .05", 300, 20, 0)
    made, gap = estimate(one.predictions, "top-label", bins=EqualMass(40)), one.truth - one.predictions.confidence
    grouped = "the error over one group of all rows"
    object.__setattr__(made.interval(), "about", grouped)
    monkeypatch.setattr(true_errors, "grouping", lambda question, claims: np.zeros(300, dtype=int))
    assert true_errors.target(made, one, "top-label", "ece") == (pytest.approx(abs(gap.mean()), abs=1e-12), 300)
    object.__setattr__(made.interval(), "about", "the error in these bins, over bins with two or more rows")
    claims = true_errors.listed(one, "top-label")
    cells = true_errors.bin_cells(claims, made.bins)
    several = [gap[cells == c] for c in np.unique(cells) if (cells == c).sum() > 1]
    assert 1 < len(several) < len(np.unique(cells))
    wanted = sum(len(part) * abs(part.mean()) for part in several) / sum(map(len, several))
    assert true_errors.target(made, one, "top-label", "ece")[0] == pytest.approx(wanted, abs=1e-12)


@dataclass(frozen=True)
class Case:
    name: str

    @property
    def names(self):
        return [f"{self.name},1", f"{self.name},2"]

    @property
    def note(self):
        return self.name


def test_a_table_keeps_what_it_has_and_makes_what_is_missing(tmp_path, capsys):
    table, file, cases = LineTable("name,part,value", 2, "# on values\n"), tmp_path / "t.csv", [Case("a"), Case("b")]
    assert not table.make(file, cases, _broken)
    assert "failed: b: ZeroDivisionError" in capsys.readouterr().err
    assert file.read_text() == "# on values\nname,part,value\na,1,0.5\na,2,0.5\n"
    file.write_text(file.read_text().replace("0.5", "0.7"))
    assert table.make(file, cases, _values)
    frame = table.frame(file)
    assert frame["value"].tolist() == [0.7, 0.7, 0.5, 0.5]
    assert not table.make(file, [*cases, Case("c")], _values, minutes=0)
    assert LineTable("name,part,other", 2, "").read(file) == {}


@pytest.mark.parametrize(
    ("maker", "table"),
    [
        ("interval_coverage", "coverage"),
        ("null_rejection", "rejection"),
        ("group_errors", "group_errors"),
        ("paired_coverage", "paired"),
    ],
)
def test_a_maker_goes_on_with_the_table_that_the_package_ships(maker, table, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "simulations"))
    module = import_module(maker)
    file = getattr(module, "FILE", None) or module.OUT
    assert file.samefile(Path(calib_core.__file__).parent / "inference" / "verdicts" / f"{table}.csv")
    assert maker == "paired_coverage" or module.TABLE.read(file)


def _values(case):
    return [f"{name},0.5" for name in case.names]


def _broken(case):
    return [f"{name},{0.5 / (case.name != 'b')}" for name in case.names]
