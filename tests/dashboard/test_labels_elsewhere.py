"""Labels in another file, in every command that evaluates predictions, and in code copied from the screen."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from calib_core import Recipe
from dashboard import session
from dashboard.cli import main
from dashboard.selection import Selection, Source

SCORES = "id,p\n" + "".join(f"{i},{0.05 + 0.9 * (i % 10) / 9:.4f}\n" for i in range(60))
FILE = Recipe("EXHIBITS", "file")
LABELS = "id,target\n" + "".join(f"{i},{int(i % 10 > 4)}\n" for i in reversed(range(2, 63)))
"""Two predictions without a label, and three labels without a prediction."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("scores.csv").write_text(SCORES)
    Path("labels.csv").write_text(LABELS)


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(main, list(arguments), prog_name="calib")
    assert result.exit_code == code, result.output
    return result


def test_a_gate_judges_the_rows_with_a_label_and_says_what_has_no_partner() -> None:
    seen = [f"--accept={code}" for code in ("labels-equal", "unlabelled", "unpredicted")]
    found = run("gate", "scores.csv", "--labels", "labels.csv", "--max-ece", "0.5", *seen)
    assert (
        "2 rows of scores.csv have no label in labels.csv and are left out: line 2 (row 0), line 3 (row 1)"
        in found.stderr
    )
    assert "3 labels of labels.csv have no prediction in scores.csv" in found.stderr
    assert "58 rows" in found.stdout
    given = ("scores.csv", "--labels", "labels.csv", "--key", "id")
    (check,) = json.loads(run("gate", *given, "--max-ece", "0.5", *seen, "--format", "json").stdout)["checks"]
    assert check["file"]["labels"] == {"name": "labels.csv", "key": ["id"]}
    assert {"unlabelled", "unpredicted"} <= {each["code"] for each in check["file"]["findings"]}


def test_a_calibrator_is_fitted_and_applied_beside_labels_elsewhere() -> None:
    run("fit", "scores.csv", "--labels", "labels.csv", "--calibrator", "temperature", "-o", "cal.json")
    run("apply", "cal.json", "scores.csv", "--labels", "labels.csv", "-o", "out.csv")
    back = pd.read_csv("out.csv")
    assert list(back) == ["id", "p", "target"]
    assert back["target"].tolist() == [int(i % 10 > 4) for i in back["id"]]


@pytest.mark.parametrize(
    "given", [("--key", "id"), ("--by-place",), ("--labels", "labels.csv", "--key", "id", "--by-place")]
)
def test_options_that_do_not_go_together_are_a_usage_error(given: tuple[str, ...]) -> None:
    assert "--by-place" in run("audit", "scores.csv", *given, code=2).stderr


def joined(name: str, columns: tuple[str, ...] | None) -> session.File:
    return session.join(
        session.hold(Path("scores.csv").read_bytes(), "scores.csv").key, Path(name).read_bytes(), name, columns
    )


@pytest.mark.parametrize(("rows", "key", "words"), [
    (LABELS, None, "--labels labels.csv --key id"),
    ("y\n" + "1\n0\n" * 30, (), "--labels labels.csv --by-place"),
])  # fmt: skip
def test_what_is_copied_says_where_the_labels_are(rows: str, key: tuple[str, ...] | None, words: str) -> None:
    Path("labels.csv").write_text(rows)
    held = joined("labels.csv", key)
    selection = Selection(source=Source(data=held.key))
    line = session.show_line(selection, FILE)
    assert words in line
    assert words in session.report_line(selection)
    as_csv = run(*shlex.split(line)[1:], "--format", "csv").stdout
    lines = run(*shlex.split(line)[1:], "--format", "python").stdout
    names: dict[str, Any] = {}
    exec(lines, names)
    assert [row.split(",")[-1].strip('"') for row in as_csv.splitlines()[1:4]] != []
    np.testing.assert_array_equal(names["data"].columns["p"], held.table.columns["p"])
    assert names["data"].joined == held.table.joined
    assert names["table"].set_index("property")["value"]["rows"] == str(held.table.n_rows)


def test_an_other_model_without_labels_gets_the_same_ones() -> None:
    Path("new.csv").write_text(SCORES.replace("0.9", "0.8"))
    found = run("show", "file", "scores.csv", "--labels", "labels.csv", "--other", "new.csv", "--format", "csv").stdout
    assert "new.csv with labels.csv" in found


def test_a_folder_is_judged_shown_and_copied_as_one_table() -> None:
    Path("runs").mkdir()
    for day in (1, 2):
        Path(f"runs/{day}.csv").write_text("p,y\n" + "".join(f"0.{i % 9 + 1},{i * day % 2}\n" for i in range(40)))
    assert "80 rows" in run("gate", "runs", "--max-ece", "0.9", "--max-ratio", "9", "--accept=chance").stdout
    line = session.show_line(Selection(source=Source(data=session.hold_folder(Path("runs")).key)), FILE)
    names: dict[str, Any] = {}
    exec(run(*shlex.split(line)[1:], "--format", "python").stdout, names)
    assert names["data"].n_rows == 80
    assert "runs" in line
    labels = "".join(f"{i % 2}\n" for i in range(80))
    Path("y.txt").write_text(labels)
    found = run("audit", "runs", "--labels", "y.txt", "--by-place", "--read", "label=label", "--estimator", "ece")
    assert "joined with row i of y.txt, by row number only; both have 80 rows." in found.stderr
