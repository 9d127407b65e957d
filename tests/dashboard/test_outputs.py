"""Output files of commands: atomic, never over inputs, "-" for stdout, and safe for terminals."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from calib_core._base import atomic_files
from calib_core._base.atomic_files import write_whole
from dashboard.cli import main


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Write a file of predictions and a calibrator in the working folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    p = rng.random(80)
    frame = pd.DataFrame({"p_a": 1 - p, "p_b": p, "label": np.where(rng.random(80) < p, "b", "a")})
    data = frame.to_csv(index=False).encode()
    Path("p.csv").write_bytes(data)
    assert calib("fit", "p.csv", "--calibrator", "temperature", "-o", "cal.json").exit_code == 0
    return data


def calib(*words: str, given: bytes | None = None) -> Result:
    # As to a terminal: otherwise click removes escape sequences itself.
    return CliRunner().invoke(main, list(words), input=given, color=True)


def full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


WRITERS = [
    ("fit", "p.csv", "--calibrator", "temperature", "-o", "out.json"),
    ("apply", "cal.json", "p.csv", "-o", "out.csv"),
    ("export", "cal.json", "-o", "out.py"),
    ("summarise", "p.csv", "-o", "out.parquet"),
]


@pytest.mark.parametrize("words", WRITERS, ids=lambda words: words[0])
def test_a_full_disk_leaves_the_old_file_and_names_file_and_reason(
    words: tuple[str, ...], files: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(words[-1]).write_bytes(b"old")
    before = sorted(os.listdir())
    monkeypatch.setattr(atomic_files.os, "fsync", full)
    ended = calib(*words)
    assert ended.exit_code == 2
    assert words[-1] in ended.stderr
    assert "No space left on device" in ended.stderr
    assert (Path(words[-1]).read_bytes(), sorted(os.listdir())) == (b"old", before)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
@pytest.mark.parametrize("words", WRITERS[:3], ids=lambda words: words[0])
def test_a_full_device_is_named(words: tuple[str, ...], files: bytes, tmp_path: Path) -> None:
    target = f"out{Path(words[-1]).suffix}"
    Path(target).symlink_to("/dev/full")
    ended = calib(*words[:-1], target)
    assert ended.exit_code == 2
    assert f"{target}: cannot be written (No space left on device)" in ended.stderr


def test_an_interrupted_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic_files.os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "a", b"new")
    assert not list(tmp_path.iterdir())


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "a").chmod(0o600)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a").read_bytes() == b"new"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "words",
    [
        ("apply", "cal.json", "p.csv", "-o", "p.csv"),
        ("apply", "cal.json", "p.csv", "-o", "./p.csv"),
        ("fit", "p.csv", "--calibrator", "temperature", "-o", "p.csv"),
        ("export", "cal.json", "-o", "cal.json"),
        ("report", "p.csv", "-o", "p.csv"),
        ("report", "p.csv", "-o", "r.html", "--pdf", "r.html"),
        ("summarise", "p.csv", "-o", "p.csv"),
    ],
)
def test_no_output_overwrites_an_input(words: tuple[str, ...], files: bytes) -> None:
    calibrator = Path("cal.json").read_bytes()
    ended = calib(*words)
    assert ended.exit_code == 2
    assert "is another file of this command and would be overwritten; give another name" in ended.stderr
    assert (Path("p.csv").read_bytes(), Path("cal.json").read_bytes()) == (files, calibrator)


def test_a_folder_that_is_not_there_is_said_before_the_work(files: bytes) -> None:
    ended = calib("fit", "nothing.csv", "--calibrator", "temperature", "-o", "no/such/cal.json")
    assert ended.exit_code == 2
    assert "no/such/cal.json cannot be written (No such file or directory" in ended.stderr


def test_a_dash_is_stdin_and_stdout(files: bytes) -> None:
    by_name, piped = (
        calib("apply", "cal.json", "p.csv", "-o", "out.csv"),
        calib("apply", "cal.json", "-", "-o", "-", given=files),
    )
    assert (by_name.exit_code, piped.exit_code) == (0, 0)
    assert piped.stdout_bytes == Path("out.csv").read_bytes()
    assert calib("gate", "-", "--max-ece", "0.9", given=b"").stderr.startswith("main gate: standard input is empty")


EVIL = "e\x1b[31mvil\u202e"
"""Text that colors the following text and reverses its direction."""
OF_EVIL = {
    "arena": "arena FOLDER --method temperature",
    "apply": "apply cal.json p.csv -o FOLDER/out.csv",
    "audit": "audit FILE --estimator ece --notion top-label --calibrator temperature",
    "choose": "choose FILE --candidate temperature",
    "compare": "compare FILE FILE --notion confidence",
    "export": "export cal.json -o FOLDER/evil.py",
    "fit": "fit FILE --calibrator temperature -o FOLDER/evil.json",
    "gate": "gate FILE --max-ece 0.9",
    "watch": "watch FILE --state state.json --accept names",
    "join": "join FILE labels.csv --key id -o FOLDER/both.csv",
    "judge": "judge FILE --judge says --human marked --group who",
    "plan": "plan within FILE",
    "report": "report FILE -o FOLDER/r.html --only data",
    "show": "show slices FILE --set by=site",
    "slices": "slices FILE",
    "summarise": "summarise FILE --column site -o FOLDER/s.parquet",
    "tables": "tables FOLDER --calibrator temperature --splits 1 --measure conf-ECE",
}
"""Call of every command whose output may contain text of a file; FILE and FOLDER have evil names, too."""
OF_NO_FILE = {
    "dashboard": "draws pages",
    "help": "prints the documentation",
    "lab": "draws its own rows",
    "reproduce": "prints published numbers",
    "serve": "draws pages",
}


def forms(name: str) -> list[str]:
    """Return the output forms of a command, as arguments of its call."""
    found = [""]
    for option in command_of(name).params:
        if option.name in ("as_json", "as_csv", "as_latex"):
            found.append(option.opts[0])
        if option.opts[0] == "--format":
            found += [f"--format {form}" for form in option.type.to_info_dict()["choices"]]
    return found


def command_of(name: str) -> click.Command:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    return command


def test_every_command_is_tried_with_evil_or_shows_nothing_of_files() -> None:
    assert {*OF_EVIL, *OF_NO_FILE} == set(main.list_commands(click.Context(main)))


@pytest.mark.parametrize(("name", "form"), [(name, form) for name in OF_EVIL for form in forms(name)])
def test_no_terminal_acts_on_what_a_file_holds(files: bytes, name: str, form: str) -> None:
    folder = Path(f"nets {EVIL}")
    folder.mkdir()
    table = pd.read_csv("p.csv").rename(columns={"p_a": f"p_{EVIL}"})
    n = np.arange(len(table))
    table["label"] = table["label"].replace("a", EVIL)
    table = table.assign(site=np.array([EVIL, "\u202elive", "a\x07b"])[n % 3], id=n, says=n % 2)
    table["marked"] = np.where(n % 3 == 0, (n % 2).astype(str), "")
    table.assign(who=[f"{EVIL}{i // 2}" for i in n]).to_csv(folder / f"{EVIL}.csv", index=False)
    for model in (f"net {EVIL}", f"no {EVIL}"):
        (folder / EVIL / model).mkdir(parents=True)
        for part in ("calibration", "test")[: 2 if "net" in model else 1]:
            table.drop(columns=["site", "id", "says", "marked"]).to_csv(
                folder / EVIL / model / f"{part}.csv", index=False
            )
    table[["id"]].assign(truth=EVIL).head(70).to_csv("labels.csv", index=False)
    words = [
        word.replace("FILE", str(folder / f"{EVIL}.csv")).replace("FOLDER", str(folder))
        for word in f"{OF_EVIL[name]} {form}".split()
    ]
    ended = calib(*words)
    assert ended.exit_code in ((0, 1) if name in ("gate", "watch") else (0,)), ended.stderr
    assert "vil" in ended.stdout + ended.stderr or name in ("judge", "plan", "report", "summarise")
    # GitHub finds a file by its very name, and shows it nowhere.
    said = re.sub("file=[^,]*,", "", ended.stdout) if "github" in form else ended.stdout
    assert not [c for c in said + ended.stderr if not c.isprintable() and c not in "\n\t\r"]


@pytest.mark.parametrize("form", [[], ["--csv"], ["--json"]], ids=["text", "csv", "json"])
def test_a_value_of_a_column_is_written_out(files: bytes, form: list[str]) -> None:
    table = pd.read_csv("p.csv")
    table.assign(site=[["e\x1bvil", "b"][i % 2] for i in range(len(table))]).to_csv("sites.csv", index=False)
    assert "vil" in calib("slices", "sites.csv", *form).stdout


def test_what_is_assumed_comes_with_the_option_that_settles_it(files: bytes) -> None:
    pd.read_csv("p.csv").assign(weight=lambda rows: 1.5 + rows.index % 2).to_csv("w.csv", index=False)
    option = 'To use "weight" as row weights, add --read weights=weight'
    assert option in calib("gate", "w.csv", "--max-ece", "0.9").stderr
    assert "weight" not in calib("gate", "w.csv", "--max-ece", "0.9", "--read", "weights=weight").stderr
    pd.DataFrame({"confidence": [1, 5, 3], "correct": [0, 1, 1]}).to_csv("r.csv", index=False)
    assert "--read kind=words --read words=1=0.1,2=0.3,3=0.5,4=0.7,5=0.9" in calib("audit", "r.csv").stderr
