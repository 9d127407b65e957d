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
    # A number: Kubernetes cannot know that a name is not root.
    assert of("USER") == ["1000"]
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


def test_a_space_has_everything_that_is_copied() -> None:
    page = (ROOT / "docs/how-to/server.md").read_text("utf-8").partition("## As a Space")[2]
    copied = {word for line in of("COPY") if "--from" not in line for word in line.split()[:-1]}
    assert copied <= {name.rstrip("/") for name in re.findall(r"`([^`]+)`", page)}


def test_compose_starts_the_server_behind_the_nginx_of_the_documentation() -> None:
    yaml = pytest.importorskip("yaml", reason="nothing here reads YAML")
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))["services"]
    ours, nginx = services["calib"], services["nginx"]
    assert (FOLDER / ours["build"]["context"]).resolve() == ROOT
    assert ROOT / ours["build"]["dockerfile"] == FOLDER / "Containerfile"
    _, _, *options = json.loads(of("ENTRYPOINT")[0])
    given = command.make_context("serve", [*options, *ours["command"]]).params
    conf = (FOLDER / "nginx.conf").read_text("utf-8")
    assert f"proxy_pass http://calib:{of('EXPOSE')[0]};" in conf
    assert f"location {given['base_path'].rstrip('/')}/ {{" in conf
    assert f"proxy_set_header {given['user_header']} $remote_user;" in conf
    assert f"server_name {given['hosts'][0]};" in conf
    compile(ours["healthcheck"]["test"][3], "healthcheck", "exec")
    assert f"http://localhost:{of('EXPOSE')[0]}{given['base_path']}/_stcore/health" in ours["healthcheck"]["test"][3]
    # What nginx reads is mounted, and of it only the secrets are not in the repository.
    mounts = dict(volume.removesuffix(":ro").split(":") for volume in nginx["volumes"])
    assert set(re.findall(r"/etc/nginx/[a-z.]+", conf)) == set(mounts.values()) - {"/etc/nginx/conf.d/default.conf"}
    assert [name for name in mounts if not (FOLDER / name).exists()] == ["./calib.pem", "./calib.key", "./calib.users"]
    assert nginx["ports"] == ["443:443"]
    # The documentation shows the same configuration, for a server on this machine.
    shown = re.search(r"```nginx\n(.*?)```", (ROOT / "docs/how-to/server.md").read_text("utf-8"), re.S)
    assert shown is not None
    here = conf.partition("\n")[2].replace("/etc/nginx/", "").replace("http://calib:", "http://127.0.0.1:")
    assert shown[1] == here


def test_braces_and_semicolons_of_nginx_are_in_their_places() -> None:
    text = re.sub(r"#.*", "", (FOLDER / "nginx.conf").read_text("utf-8"))
    depth = 0
    for part in re.findall(r"[^;{}]*[;{}]", text):
        depth += {"{": 1, "}": -1, ";": 0}[part[-1]]
        assert depth >= 0
        assert bool(part[:-1].strip()) == (part[-1] != "}"), "a directive ends with a semicolon"
    assert (depth, re.sub(r"[^;{}]*[;{}]", "", text).strip()) == (0, "")


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
