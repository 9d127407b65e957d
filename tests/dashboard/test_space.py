"""The container file, which no test builds, matches what it starts; and the metadata that Hugging Face reads."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dashboard.commands.serve import command

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "dashboard" / "hosting"
LINES = (FOLDER / "Containerfile").read_text("utf-8").splitlines()


def of(instruction: str) -> list[str]:
    """Return the arguments of an instruction, line by line."""
    return [line.removeprefix(f"{instruction} ") for line in LINES if line.startswith(f"{instruction} ")]


def environment() -> dict[str, str]:
    return dict(pair.split("=", 1) for line in of("ENV") for pair in line.split())


def test_what_it_starts_is_the_server_on_the_port_it_exposes(monkeypatch: pytest.MonkeyPatch) -> None:
    program, name, *options = json.loads(of("ENTRYPOINT")[0])
    assert (program, name) == ("calib", command.name)
    for key, value in environment().items():
        if key.startswith("CALIB"):
            monkeypatch.setenv(key, value)
    given = command.make_context("serve", options).params
    assert given["address"] == "0.0.0.0"
    assert of("EXPOSE") == [str(given["port"])] == [environment()["CALIB_PORT"]]


def test_it_runs_as_number_1000_with_nothing_but_a_temporary_folder() -> None:
    assert re.search(r"^useradd --uid 1000 ", of("RUN")[-1])
    assert of("USER") == [of("RUN")[-1].split()[-1]]
    assert environment()["HOME"] == environment()["TMPDIR"] == "/var/" + "tmp"
    runs = [line.split(" ")[0] for line in LINES]
    assert runs.index("USER") > max(i for i, word in enumerate(runs) if word in ("RUN", "COPY"))


def test_what_it_copies_is_there_and_its_extras_are_declared() -> None:
    copied = [word for line in of("COPY") if "--from" not in line for word in line.split()[:-1]]
    assert {"pyproject.toml", "hatch_build.py", "calib", "calib_core", "dashboard", "demo_data"} <= set(copied)
    assert [name for name in copied if not (ROOT / name).exists()] == []
    wanted = re.search(r"/source\[(.*?)\]", of("RUN")[0])
    assert wanted
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    assert all(re.search(rf"^{extra} = \[", text, re.M) for extra in wanted[1].split(","))


def test_the_health_check_is_python_and_asks_the_port_it_listens_on() -> None:
    (check,) = (json.loads(line.removeprefix("CMD ")) for line in of("HEALTHCHECK"))
    compile(check[2], "HEALTHCHECK", "exec")
    assert 'os.environ["CALIB_PORT"]' in check[2]


def test_what_hugging_face_reads_of_a_space_fits_the_container() -> None:
    yaml = pytest.importorskip("yaml", reason="nothing here reads YAML")
    begin, block, text = (FOLDER / "space.md").read_text("utf-8").split("---\n", 2)
    assert begin == ""
    told = yaml.safe_load(block)
    assert (told["sdk"], told["app_port"]) == ("docker", int(of("EXPOSE")[0]))
    colours = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
    assert {told["colorFrom"], told["colorTo"]} <= colours
    assert len(told["short_description"]) <= 60
    assert told["license"] == "apache-2.0"
    assert text.startswith("\n# calib")
