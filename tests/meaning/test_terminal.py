"""Columns on a terminal match their headings, as on the pages."""

from __future__ import annotations

import re

import pytest
import rows
from click.testing import CliRunner
from headings import expected

from dashboard.cli import main
from dashboard.commands import _outputs

pytestmark = pytest.mark.law
OF_COMMANDS = {"compare": "pairs", "audit": "estimators", "choose": "recommendation"}
"""Exhibits whose columns a command prints."""
OWN = {
    "about": "^mark$",
    "title": "error|measures of the risk|calibrator",
    "reference": "calibrated model",
    "p": r"^p( \(uncorrected\))?$",
}


@pytest.mark.parametrize("command", OF_COMMANDS)
@pytest.mark.parametrize("name", ["three", "risk"])
def test_headings_of_a_terminal_name_the_number_below_them(command, name, tmp_path, monkeypatch):
    (file := tmp_path / "rows.csv").write_bytes(rows.files(name).test.to_csv(index=False).encode())
    tables, aligned = [], _outputs.aligned

    def kept(columns, printed):
        tables.append((columns, printed))
        return aligned(columns, printed)

    monkeypatch.setattr(_outputs, "aligned", kept)
    ended = CliRunner().invoke(main, [command, *[str(file)] * (1 + (command == "compare")), "--details"])
    assert ended.exit_code == 0, ended.output
    assert tables
    for columns, _ in tables:
        for column in columns:
            wanted = OWN.get(column.made_of[0]) or expected(OF_COMMANDS[command], column)
            assert re.search(wanted, column.heading), (column.heading, column.made_of)
