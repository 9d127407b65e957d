"""Assumptions of the reader that move a number by more than its interval's width are reported everywhere.

A corpus of files, each with the other reading that somebody may have meant. The number is computed under both readings
by hand. Where it moves by more than the width of its interval, the finding is a warning. Notes, Python's warnings,
stderr, JSON, the first screen and the report contain it, whichever command reads the file.
"""

from __future__ import annotations

import importlib
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import calib_core as cc
from calib_core.readers import Finding, examine, predictions, propose, read_table
from calib_core.readers.checks import examination
from calib_core.summaries import write_summary
from dashboard import session
from dashboard.cli import main
from dashboard.report.sections import data as data_section

header = importlib.import_module("dashboard.frame.header")
"""The module, whose name in the package is that of its function."""
Frame = Callable[[int], pd.DataFrame]
SIZES = (10, 400)


@dataclass(frozen=True)
class Pair:
    """A file, and what else it could mean: fields of the reading, or the rows and values it should have had."""

    title: str
    code: str
    frame: Frame
    other: Mapping[str, Any] = field(default_factory=dict)
    meant: Frame | None = None
    """The file that would be read as it was meant, where no change of the reading does it."""
    refuted: bool = False
    """True if many rows refute the other reading, by its accuracy; a note then suffices."""

    def data(self, n: int, *, meant: bool = False) -> bytes:
        made = self.meant if meant and self.meant is not None else self.frame
        return made(n).to_csv(index=False).encode()


def risks(n: int, shape: tuple[float, float] = (0.3, 0.6)) -> tuple[np.ndarray, np.ndarray]:
    """Return confident risks, and outcomes in exactly the proportion that they predict in each tenth."""
    rng = np.random.default_rng(n)
    p = np.clip(rng.beta(*shape, n), 0.02, 0.98).round(4)
    y = (p > 0.5).astype(int)
    y[:: max(5, n // 20)] = (rng.random(len(y[:: max(5, n // 20)])) < 0.5).astype(int)
    y[:2] = 0, 1
    p[:2] = 0.05, 0.95
    return p, y


def lone(name: str, no: Any = 0, yes: Any = 1, label: str = "y", *, of_no: bool = False) -> Frame:
    def made(n: int) -> pd.DataFrame:
        p, y = risks(n)
        return pd.DataFrame({name: 1 - p if of_no else p, label: np.array([no, yes], dtype=object)[y]})

    return made


def two(first: str, second: str) -> Frame:
    def made(n: int) -> pd.DataFrame:
        p, y = risks(n)
        return pd.DataFrame({first: p, second: 1 - p, "y": y})

    return made


def scaled(name: str, by: Callable[[np.ndarray], np.ndarray], label: str = "y") -> Frame:
    def made(n: int) -> pd.DataFrame:
        p, y = risks(n)
        return pd.DataFrame({name: by(p), label: y})

    return made


def beside(name: str, values: Callable[[int], Sequence[Any]], *, only: Any = None) -> Frame:
    """Rows of which the second half is far too confident, next to a column; ``only`` the rows with that value."""

    def made(n: int) -> pd.DataFrame:
        y = np.arange(n) % 2
        frame = pd.DataFrame({"p": np.where(y == 1, 0.99, 0.01), "y": y, name: values(n)})
        tail = np.arange(n) >= n // 2
        frame.loc[tail, "p"] = 0.97 - np.arange(tail.sum()) / 1e4
        frame.loc[tail, "y"] = (np.arange(tail.sum()) % 5 == 0).astype(int)
        return frame if only is None else frame[frame[name] == only]

    return made


def halves(first: Any, second: Any) -> Callable[[int], list[Any]]:
    return lambda n: [first] * (n // 2) + [second] * (n - n // 2)


def in_words(n: int) -> pd.DataFrame:
    correct = (np.arange(n) % 10 > 0).astype(int)
    return pd.DataFrame({"confidence": np.resize(["high", "medium", "low"], n), "correct": correct})


def fractions(times: float) -> Frame:
    def made(n: int) -> pd.DataFrame:
        confidence = np.resize([0.9 * times, 90, 0.95 * times, 90, 91], n)
        return pd.DataFrame({"confidence": confidence, "correct": np.resize([1, 1, 1, 0, 1, 1, 1, 1, 1, 1], n)})

    return made


def three(base: float | None = None, names: str = "cab") -> Frame:
    def made(n: int) -> pd.DataFrame:
        rng = np.random.default_rng(n)
        p = rng.dirichlet([0.25] * 3, n).clip(1e-4)
        p = p / p.sum(axis=1, keepdims=True)
        y = p.argmax(axis=1)
        y[:3] = range(3)
        frame = pd.DataFrame(p if base is None else np.log(p) / np.log(base), columns=[f"logit_{c}" for c in names])
        return frame.set_axis([f"p_{c}" for c in names], axis=1).assign(y=y) if base is None else frame.assign(y=y)

    return made


SWAPPED = {"classes": ("1", "0"), "label_coding": "names"}
PAIRS = [
    *(Pair(f"two columns, {a} and {b}", "named-columns", two(a, b), {"scores": (a, b), "classes": (a, b)})
      for a, b in (("p_pos", "p_neg"), ("p_yes", "p_no"), ("p_fraud", "p_legit"), ("p_sick", "p_healthy"),
                   ("p_krank", "p_gesund"))),
    Pair("two columns that names do not order", "named-columns", two("p_b", "p_a"),
         {"scores": ("p_a", "p_b"), "classes": ("a", "b")}),
    *(Pair(f"a lone {name}", "binary", lone(name, of_no=True), {"classes": ("0", "1"), "label_coding": "names"})
      for name in ("p_0", "p_false", "prob_no_event", "prob_negative", "p_legit", "p_survived")),
    *(Pair(f"prob next to {no} and {yes}", "binary", lone("prob", no, yes),
           {"classes": (yes, no), "label_coding": "names"})
      for no, yes in (("apple", "pear"), ("B", "M"), ("1", "2"))),
    Pair("a risk next to survivors", "binary", lone("risk", 1, 0, "survived", of_no=False), SWAPPED),
    Pair("names of three classes, not sorted", "named-columns", three(),
         {"scores": ("p_a", "p_b", "p_c"), "classes": ("a", "b", "c")}, refuted=True),
    *(Pair(f"parts in {name}", "split", beside(name, halves(a, b)), meant=beside(name, halves(a, b), only=b))
      for name, a, b in (("dataset", "train", "test"), ("phase", "training", "testing"), ("is_train", 1, 0),
                         ("origin", "val", "test"))),
    *(Pair(f"rows counted by {name}", "weights", beside(name, halves(1, 40)), {"weights": name, "weighting": "copies"})
      for name in ("count", "freq", "n", "n_obs")),
    *(Pair(f"rows weighted by {name}", "weights", beside(name, halves(0.5, 40.5)), {"weights": name})
      for name in ("ipw", "pweight", "sample_weight")),
    Pair("words of confidence", "words", in_words, {"words": ("high=0.95", "medium=0.9", "low=0.85")}),
    Pair("risks below 1, called percent", "called", scaled("risk_pct", lambda p: p), {"kind": "percentages"}),
    Pair("fractions among percentages", "mixed", fractions(1), meant=fractions(100)),
    *(Pair(f"logarithms to base {base}", "log-base", three(base, "abc"), meant=three(np.e, "abc")) for base in (2, 10)),
    Pair("a log10 of one class", "log-base", scaled("log10_prob", np.log10), meant=scaled("p", lambda p: p)),
    Pair("logarithms under another name", "margins", scaled("score", np.log), {"kind": "log-probabilities"}),
    Pair("margins", "margins", scaled("decision", lambda p: 0.3 * np.log(p / (1 - p))), meant=scaled("p", lambda p: p)),
]  # fmt: skip


def gap(rows: cc.Predictions) -> tuple[float, float]:
    """Mean of confidence minus accuracy, and the width of its 90 % interval, from the rows alone."""
    off = rows.confidence - rows.correct
    weights = np.ones(rows.n_rows) if rows.weights is None else np.asarray(rows.weights)
    mean = float(np.average(off, weights=weights))
    share = weights / weights.sum()
    return mean, float(2 * 1.645 * np.sqrt((share**2 * (off - mean) ** 2).sum()))


def risk_gap(rows: cc.Predictions) -> tuple[float, float]:
    """Mean predicted risk of the event minus its share, and the width of its interval; the gap above without event."""
    if rows.event is None or rows.probs is None:
        return gap(rows)
    off = rows.probs[:, rows.event] - (rows.labels == rows.event)
    weights = np.ones(rows.n_rows) if rows.weights is None else np.asarray(rows.weights)
    mean, share = float(np.average(off, weights=weights)), weights / weights.sum()
    return mean, float(2 * 1.645 * np.sqrt((share**2 * (off - mean) ** 2).sum()))


def readings(pair: Pair, n: int) -> tuple[cc.Predictions, cc.Predictions]:
    table = read_table(pair.data(n), "a.csv")
    first = propose(table)
    if pair.meant is None:
        return predictions(table, first), predictions(table, first.replace(**pair.other))
    again = read_table(pair.data(n, meant=True), "a.csv")
    return predictions(table, first), predictions(again, propose(again))


def moved(pair: Pair, n: int) -> bool:
    """True if the other reading moves a number by more than the width of its interval."""
    here, there = readings(pair, n)
    return any(abs(of(here)[0] - of(there)[0]) > of(here)[1] for of in (gap, risk_gap))


def unsaid(pair: Pair, n: int) -> list[str]:
    """Return the places where the warning of a pair is missing; ["finding"] if there is none."""
    table = read_table(pair.data(n), "a.csv")
    found: Sequence[Finding] = examine(table, propose(table))
    told = [each.message for each in found if each.code == pair.code and each.severity == "warning" and each.open_to()]
    if not told:
        return ["finding"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        notes = cc.read_predictions(pair.data(n), "a.csv").notes
    file = session.hold(pair.data(n), "a.csv")
    number = sum(each.severity == "warning" for each in found)
    selection = SimpleNamespace(source=SimpleNamespace(data=file.key, reading=""))
    places = {
        "notes": " ".join(notes),
        "warnings": " ".join(str(each.message) for each in caught),
        "report": " ".join(text for block in data_section.found(file.key, "") for text in getattr(block, "items", ())),
    }
    missing = [place for place, text in places.items() if told[0] not in text]
    return missing + ([] if f"{number} warning" in header._warnings(selection) else ["first screen"])


COMMANDS = (
    ("choose FILE --candidate temperature", "--json"),
    ("compare FILE FILE", "--json"),
    ("gate FILE --max-ece 0.5", "--format json"),
    ("plan within FILE", "--json"),
    ("show reliability FILE", "--format json"),
    ("slices FILE --by site", "--json"),
)
"""Commands that report numbers of a file, next to audit: each answers with a JSON record, and as text."""


def unsaid_by_commands(pair: Pair, n: int, folder: Path) -> list[str]:
    (path := folder / "a.csv").write_bytes(pair.data(n))
    table = read_table(pair.data(n), "a.csv")
    (told, *_) = [each.message for each in examine(table, propose(table)) if each.code == pair.code]
    ended = CliRunner().invoke(main, ["audit", str(path)], prog_name="calib")
    missing = [] if told in ended.stderr else ["stderr"]
    ended = CliRunner().invoke(main, ["audit", str(path), "--json"], prog_name="calib")
    record = json.dumps(json.loads(ended.stdout), ensure_ascii=False)
    return missing + ([] if json.dumps(told, ensure_ascii=False)[1:-1] in record else ["JSON"])


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.title)
def test_an_assumption_that_moves_a_number_is_told_in_every_place(pair: Pair) -> None:
    assert moved(pair, SIZES[-1]), "the other reading moves nothing, so the pair proves nothing"
    for n in SIZES[: 1 if pair.refuted else None]:
        assert unsaid(pair, n) == [], n


def test_ten_rows_are_enough_for_many_pairs() -> None:
    assert sum(moved(pair, 10) for pair in PAIRS) > 0.4 * len(PAIRS)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("pair", PAIRS[:: max(1, len(PAIRS) // 8)], ids=lambda pair: pair.title)
def test_commands_print_it_and_their_json_has_it(pair: Pair, tmp_path: Path) -> None:
    assert unsaid_by_commands(pair, 40, tmp_path) == []


PRINTED = (
    "audit a.csv --csv",
    "choose a.csv --candidate temperature",
    "compare a.csv a.csv",
    "fit a.csv --calibrator temperature -o new.json",
    "gate a.csv --max-ece 0.9 --format github",
    "plan within a.csv",
    "plan within a.csv --csv",
    "report a.csv -o new.html --only data",
    "show estimators a.csv",
    "show estimators a.csv --format csv",
    "show estimators a.csv --format python",
    "slices s.csv --csv",
    "summarise a.csv -o new.parquet",
    "tables one --calibrator temperature --splits 1 --measure conf-ECE",
    "watch a.csv --state new.json",
)
"""Calls that state an assumption on stderr, or in the annotations of GitHub; a record states it instead."""
RECORDED = (
    "audit a.csv --json",
    "choose a.csv --candidate temperature --json",
    "compare a.csv a.csv --json",
    "gate a.csv --max-ece 0.9 --format json",
    "plan within a.csv --json",
    "show estimators a.csv --format json",
    "slices s.csv --json",
)
OTHERWISE = {
    "apply": "writes the remarks of fit and audit on its rows",
    "arena": "prints remarks on many files",
    "judge": "asks for every column that it reads",
} | dict.fromkeys(("dashboard", "serve"), "draws pages") | dict.fromkeys(
    ("export", "help", "join", "lab", "reproduce"), "judges no predictions of a file"
)  # fmt: skip
ONE_CLASS_EACH = [pair for pair in PAIRS if pair.code == "binary"]
"""Pairs whose assumption every command makes, whatever it computes."""


def test_every_command_is_tried_or_states_its_assumptions_otherwise() -> None:
    tried = {line.split()[0] for line in (*PRINTED, *RECORDED)}
    assert tried | set(OTHERWISE) == set(main.list_commands(click.Context(main)))
    assert not tried & set(OTHERWISE)


@pytest.mark.parametrize("line", [*PRINTED, *RECORDED])
def test_every_command_states_what_was_assumed(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pair = ONE_CLASS_EACH[[*PRINTED, *RECORDED].index(line) % len(ONE_CLASS_EACH)]
    Path("one").mkdir()
    for path in ("a.csv", "one/a.csv"):
        Path(path).write_bytes(pair.data(60))
    pair.frame(60).assign(site=np.resize(["north", "south"], 60)).to_csv("s.csv", index=False)
    table = read_table(pair.data(60), "a.csv")
    (told, *_) = [each.message for each in examine(table, propose(table)) if each.code == pair.code]
    ended = CliRunner().invoke(main, line.split(), prog_name="calib")
    assert ended.exit_code in (0, 1, 2)
    if line in PRINTED:
        assert told in ended.stderr + (ended.stdout if "github" in line else "")
    else:
        assert json.dumps(told)[1:-1] in json.dumps(json.loads(ended.stdout))


def test_a_summary_contains_what_was_assumed_of_its_files(tmp_path: Path) -> None:
    pair = next(each for each in PAIRS if each.title == "words of confidence")
    (path := tmp_path / "a.csv").write_bytes(pair.data(60))
    with pytest.warns(UserWarning, match="high") as caught:
        kept = cc.summarise(path)
    assert list(kept.notes) == [f"Assumed of {each.message}" for each in caught]
    write_summary(kept, tmp_path / "a.parquet")
    ended = CliRunner().invoke(main, ["gate", str(tmp_path / "a.parquet"), "--max-ece", "0.9"], prog_name="calib")
    assert (ended.exit_code, ended.stdout.split(":")[0]) == (2, "UNDECIDED")
    assert "--accept counted." in ended.stdout
    assert kept.notes[0] in ended.stdout
    assert cc.summarise(path, kind="words", **pair.other).notes == ()


def test_without_the_checks_the_law_fails_for_every_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "CHECKS", ())
    assert [pair.title for pair in PAIRS if unsaid(pair, 10) != ["finding"]] == []


def test_the_law_sees_a_note_in_place_of_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Finding, "open_to", lambda _, chosen=(): False)
    assert [pair.title for pair in PAIRS if unsaid(pair, 10) != ["finding"]] == []
