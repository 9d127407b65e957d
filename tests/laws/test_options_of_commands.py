"""Every option of every command changes its output: numbers, files, or exit code.

Options are found in the commands, so that a new one without a case fails. A case is three pieces of a command line:
what all calls have, what the first has and what the second has. `FILE` is the file of the option's group.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
import pandas as pd
import pytest
from answers import beyond, echoes, ends
from click.testing import CliRunner

import calib_core as cc
from calib_core.defaults import LEVEL as DEFAULT
from calib_core.text import in_percent
from dashboard.cli import main
from dashboard.commands import report
from dashboard.session import call

FORM = {
    "tables --jobs": "how many processes work",
    "arena --jobs": "how many processes work",
    "fit --parts": "reads the rows in parts, with the same numbers",
    "apply --event": "a fitted map keeps the event that it was fitted for",
}


WITH = "--with"
"""Option of every command: added packages are tested in tests/dashboard/test_extensions.py and tests/extension."""


def commands(group: click.Group, *before: str) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, *before, name)
        else:
            yield " ".join((*before, name)), command


OPTIONS = [
    (name, option.opts[0])
    for name, command in commands(main)
    for option in command.params
    if isinstance(option, click.Option) and option.opts[0] != WITH
]
FORM |= {f"{name} --with": "loads a package of others, as tests of extensions see" for name, _ in commands(main)}

# ---- files ---------------------------------------------------------------------------------------------------

N = 300


def columns() -> dict[str, Any]:
    place = np.arange(N)
    return {"id": place, "place": place[::-1], "site": np.array(list("abcd"))[place % 4], "age": place * 7 % 60 + 20}


def three(seed: int = 1, sure: float = 2.5) -> pd.DataFrame:
    """Return three very overconfident classes, with another column of labels."""
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(N, 3))
    label = (logits + rng.gumbel(size=(N, 3))).argmax(axis=1)
    sharp = np.exp(sure * (logits + 0.1 * np.random.default_rng(seed).normal(size=(N, 3))))
    probs = sharp / sharp.sum(axis=1, keepdims=True)
    names = np.array(["ant", "bee", "cat"])
    frame = pd.DataFrame({f"p_{name}": probs[:, k].round(6) for k, name in enumerate(names)})
    return frame.assign(label=names[label], other=names[(label + (np.arange(N) % 5 == 0)) % 3], **columns())


def sure() -> pd.DataFrame:
    """Return three classes, mostly right, with enough rows to withhold some of them."""
    rng = np.random.default_rng(5)
    logits = 3.0 * rng.normal(size=(900, 3))
    label = (logits + rng.gumbel(size=(900, 3))).argmax(axis=1)
    probs = np.exp(1.5 * logits) / np.exp(1.5 * logits).sum(axis=1, keepdims=True)
    return pd.DataFrame(probs.round(6), columns=["p_0", "p_1", "p_2"]).assign(label=label)


def risk() -> pd.DataFrame:
    """Return the risk of an event, too high at one site, with marks of a judge and of people."""
    rng = np.random.default_rng(2)
    p = rng.beta(2, 5, N)
    died = rng.random(N) < p * np.where(np.arange(N) % 4 == 2, 0.4, 0.85)
    frame = pd.DataFrame({"risk": p.round(6), "died": np.where(died, "yes", "no"), **columns()})
    said = died ^ (rng.random(N) < 0.1)
    frame["second"] = (died ^ (rng.random(N) < 0.2)).astype(int)
    return frame.assign(
        judge=said.astype(int),
        checked=np.where(np.arange(N) % 3 == 0, died.astype(int).astype(str), ""),
        half=np.where(np.arange(N) % 2, "", died.astype(int).astype(str)),
        sure=p.round(3),
    )


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield the folder of all calls, with the files of all cases."""
    place = tmp_path_factory.mktemp("options")
    _write(place)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        gate = CliRunner().invoke(main, ["gate", "again.csv", "--max-ece", "0.05", "--format", "json"])
        (place / "released.json").write_text(gate.stdout)
        for state, file in (("kept.json", "three.csv"), ("other.json", "second.csv")):
            CliRunner().invoke(main, ["watch", file, "--state", state])
        yield place


def _write(place: Path) -> None:
    whole = three()
    whole.drop(columns="other").assign(alt=whole["other"]).to_csv(place / "three.csv", index=False)
    bare = whole.drop(columns=["label", "other"])
    bare.to_csv(place / "bare.csv", index=False)
    whole[["id", "place", "label"]].to_csv(place / "labels.csv", index=False)
    whole[["id", "label"]].head(100).to_csv(place / "some.csv", index=False)
    whole[["id", "other"]].rename(columns={"other": "label"}).assign(place=np.arange(N)).to_csv(
        place / "others.csv", index=False
    )
    split = np.where(np.arange(N) % 3, "test", "calibration")
    whole.drop(columns="other").assign(split=split).to_csv(place / "marked.csv", index=False)
    three(5, 1.5).drop(columns="other").to_csv(place / "second.csv", index=False)
    two = pd.concat([whole.assign(model="old", run="x"), three(5, 1.2).assign(model="new", run="x")])
    two["run"] = np.where(np.arange(2 * N) % N < N // 2, two["model"], np.where(two["model"] == "old", "new", "old"))
    two.drop(columns="other").to_csv(place / "models.csv", index=False)
    risk().drop(columns=["judge", "second", "checked", "half", "sure"]).to_csv(place / "risk.csv", index=False)
    day = np.datetime64("2026-01-01") + np.arange(N)
    risk()[["risk", "died"]].assign(seen=day.astype(str)).to_csv(place / "year.csv", index=False)
    risk().drop(columns=["risk", "died"]).to_csv(place / "judged.csv", index=False)
    pd.DataFrame({"confidence": whole["p_ant"], "correct": whole["label"] == "ant", "site": whole["site"]}).to_parquet(
        place / "plain.parquet"
    )
    np.save(place / "matrix.npy", whole[["p_ant", "p_bee", "p_cat"]].to_numpy())
    for name, column in (("vector", "label"), ("vector2", "other")):
        np.save(place / f"{name}.npy", whole[column].map({"ant": 0, "bee": 1, "cat": 2}).to_numpy())
    impossible = np.arange(N) % 2  # the event of row 1 has a risk of 0
    pd.DataFrame({"risk": np.where(np.arange(N) == 1, 0.0, 0.1 + 0.8 * impossible), "died": impossible}).to_csv(
        place / "zeros.csv", index=False
    )
    rows = cc.read_predictions(place / "three.csv")
    (place / "cal.json").write_text(cc.CALIBRATORS.make("temperature").fit_on(rows).to_json())
    (place / "top.json").write_text(cc.CALIBRATORS.make("top-label-hb", points_per_bin=30).fit_on(rows).to_json())
    (place / "risk.json").write_text(
        cc.CALIBRATORS.make("intercept").fit_on(cc.read_predictions(place / "risk.csv", label=("died",))).to_json()
    )
    again = whole.drop(columns="other")
    again.assign(p_ant=0.99 * again["p_ant"] + 0.01, p_bee=0.99 * again["p_bee"], p_cat=0.99 * again["p_cat"]).to_csv(
        place / "again.csv", index=False
    )
    milder = pd.read_csv(place / "risk.csv")
    milder.assign(risk=0.7 * milder["risk"]).to_csv(place / "milder.csv", index=False)
    whole.head(60).to_csv(place / "few.csv", index=False)
    words = np.array(["high", "medium", "low"])[np.arange(90) % 3]
    pd.DataFrame({"confidence": words, "correct": np.arange(90) % 3 % 2}).to_csv(place / "words.csv", index=False)
    whole.drop(columns="other").to_csv(place / "spare.csv", index=False)
    some = sure()
    some.to_csv(place / "sure.csv", index=False)
    for dataset, frame in (("one", whole), ("two", three(5, 1.5))):
        (place / "experiments" / dataset / "net").mkdir(parents=True)
        for part, rows in (("calibration", frame[::2]), ("test", frame[1::2])):
            shown = rows[["p_ant", "p_bee", "p_cat", "label"]]
            shown.to_csv(place / "experiments" / dataset / "net" / f"{part}.csv", index=False)
    for name, frame in (
        ("sure", some),
        ("nets", whole.drop(columns="other").assign(alt=whole["other"])),
        ("others", again),
    ):
        (place / name).mkdir()
        frame.to_csv(place / name / "three.csv", index=False)


# ---- calls ---------------------------------------------------------------------------------------------------

NOT_ANSWERS = ("options", "versions", "python", "exhibit", "file", "files", "seconds", "command", "date", "judged_on")
"""Parts of a record that only repeat the input."""


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Record what would have been served or built."""
    found: list[Any] = []
    call(cc.summaries.tally, None)  # it finds functions by what they are, once: before one of them is another
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    for name in ("preload", "collect_on_a_timer"):
        monkeypatch.setattr(f"dashboard.launch.{name}", lambda: None)
    monkeypatch.setattr("dashboard.hosting.machine.keep_memory_whole", lambda: None)

    def application(*what: Any, **how: Any) -> Any:
        found.extend([how, sys.argv[1:]])
        return SimpleNamespace(run=lambda **more: found.append(more))

    monkeypatch.setattr("dashboard.hosting.application.application", application)

    def made(selection: Any, options: Any) -> Any:
        found.append((selection, options))
        return SimpleNamespace(
            html=b"html", document=None, table_files=lambda: b"tables", word=lambda: b"word", latex=lambda: b"latex"
        )

    monkeypatch.setattr(report, "_made", made)

    def reproduced(*what: Any, progress: Any = None, **how: Any) -> pd.DataFrame:
        tables = [{name: read() for name, read in each.items()} for each in what if isinstance(each, dict)]
        found.append((what[:1], tables, how))
        return pd.DataFrame({"asked": [str(what[0])]})

    for name in ("reproduced", "from_files"):
        monkeypatch.setattr(f"calib_core.papers.reproductions.{name}", reproduced)
    monkeypatch.setattr("dashboard.report.chromium.found", lambda: "chromium")
    monkeypatch.setattr("dashboard.report.chromium.pdf", lambda html: b"pdf")

    def pictures(document: Any, width: Any, tell: Any) -> bytes:
        return repr(width).encode()

    monkeypatch.setattr("dashboard.report.chromium.pictures", pictures)
    monkeypatch.setattr("dashboard.integrations.Handout.model_card", lambda self: "card")
    return found


def run(words: str, found: list[Any], folder: Path) -> dict[str, Any]:
    """Return a call's outputs: printed text, files, what it would have started, and the exit code."""
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    found.clear()
    ended = CliRunner().invoke(main, shlex.split(words), prog_name="calib")
    assert ended.exception is None or isinstance(ended.exception, SystemExit), ended.exception
    written = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.stat().st_mtime_ns != before.get(path):
            data = path.read_bytes()
            written[path.name] = pd.read_parquet(path) if path.suffix == ".parquet" else data
            if path not in before:
                path.unlink()
    text = ended.stdout
    try:
        answer: Any = json.loads(text)
    except ValueError:
        answer = text
    return {"answer": answer, "said": ended.stderr, "wrote": written, "called": list(found), "exit": ended.exit_code}


KNOWN: dict[str, dict[str, Any]] = {}


def known(words: str, found: list[Any], folder: Path) -> dict[str, Any]:
    """Return the cached outputs of a call that many cases begin with."""
    if words not in KNOWN:
        KNOWN[words] = run(words, found, folder)
    return KNOWN[words]


def answers(made: dict[str, Any], option: str) -> Any:
    """Return a call's output beyond its input; remarks about the file do not count if there is a record."""
    name = "" if made["called"] else option.lstrip("-").replace("-", "_")
    told = made if not isinstance(made["answer"], (dict, list)) else {k: v for k, v in made.items() if k != "said"}
    asked = () if made["called"] else NOT_ANSWERS
    return [leaf for leaf in beyond(told, name) if not set(leaf[0]) & set(asked)]


BASE = {
    "audit": "audit FILE --notion confidence --estimator ece --json",
    "choose": "choose FILE --candidate temperature --folds 3 --json",
    "compare": "compare FILE second.csv --notion confidence --json",
    "gate": "gate FILE --max-ece 0.05 --format json",
    "show": "show verdict FILE --format json",
    "slices": "slices FILE --json",
    "report": "report FILE -o r.html",
    "fit": "fit FILE --calibrator temperature -o c.json",
    "apply": "apply cal.json FILE -o out.csv",
    "plan": "plan within FILE --error 0.05 --json",
    "summarise": "summarise FILE -o s.parquet",
    "tables": "tables nets --calibrator temperature --splits 1 --measure conf-ECE --csv",
    "arena": "arena experiments --method temperature --format json",
    "judge": "judge judged.csv --judge judge --human checked --json",
    "lab": "lab sigmoid --estimator ece --rows 60 --draws 3 --json",
    "export": "export cal.json -o cal.py",
    "join": "join bare.csv labels.csv --key id -o both.csv",
    "dashboard": "dashboard",
    "serve": "serve --memory-gb 4 --processes 1",
    "reproduce": "reproduce p1-example-1 --kept --json",
    "help": "help noise-floor",
    "watch": "watch FILE --state w.json --json",
}
"""Quick call of each command."""
COMMON: dict[str, tuple[str, str, str]] = {
    "--debug": ("nowhere.csv", "", "--debug"),
    "--read": ("three.csv", "", "--read label=alt"),
    "--label": ("three.csv", "", "--label alt"),
    "--event": ("risk.csv", "", "--event no"),
    "--labels": ("bare.csv", "--labels labels.csv", "--labels others.csv"),
    "--key": ("bare.csv", "--labels others.csv --key id", "--labels others.csv --key place"),
    "--by-place": ("bare.csv", "--labels others.csv --key place", "--labels others.csv --by-place"),
    "--models-in": ("models.csv", "--models-in model", "--models-in run"),
    "--calibrator": ("three.csv", "", "--calibrator temperature"),
    "--bins": ("three.csv", "", "--bins 5"),
    "--points": ("three.csv", "--binning points-per-bin --points 100", "--binning points-per-bin --points 20"),
    "--binning": ("three.csv", "", "--binning equal-mass"),
    "--counting": ("three.csv --calibrator metacal-miscoverage", "", "--counting all"),
    "--judge": ("three.csv", "", "--judge held-out"),
    "--share": ("three.csv", "--judge held-out", "--judge held-out --share 0.3"),
    "--folds": ("three.csv --calibrator temperature", "", "--folds 3"),
    "--seed": ("three.csv --judge held-out", "", "--seed 3"),
    "--level": ("three.csv", "", "--level 0.6"),
    "--tolerance": ("three.csv", "", "--tolerance 0.3"),
    "--ratio": ("risk.csv", "", "--ratio 3"),
    "--where": ("three.csv", "", "--where site=a"),
    "--rows": ("marked.csv", "", "--rows calibration"),
    "--test": ("three.csv", "", "--test second.csv"),
    "--other": ("three.csv", "", "--other second.csv"),
    "--choices": ("three.csv", "", "--choices notion=class-wise"),
    "--json": ("three.csv", "", ""),
    "--csv": ("three.csv", "", ""),
}
"""File, first and second arguments of options that many commands have."""
ABSTAINS = """ --calibrator '{"key": "metacal-miscoverage", "params": {"miscoverage": 0.3}}'"""
GATE = "gate three.csv --format json"
SERVE = "serve --memory-gb 8"
PLAN = {
    "--rows": ("miscoverage", "--rows 500", "--rows 900"),
    "--points": ("histogram-binning --rows 5000", "--points 50", "--points 90"),
    "--bins": ("balance --rows 500", "--bins 5", "--bins 10"),
    "--classes": ("histogram-binning --notion class-wise --rows 5000", "--classes 3", "--classes 30"),
    "--error": ("verified --rows 5000 --accuracy 0.9", "--error 0.1", "--error 0.3"),
    "--width": ("accuracy-interval --rows 500 --accuracy 0.9", "--width 0.02", "--width 0.1"),
    "--level": ("accuracy-interval --rows 500 --accuracy 0.9", "", "--level 0.6"),
    "--risk": ("miscoverage --rows 500", "", "--risk 0.3"),
    "--rate": ("miscoverage --rows 500", "", "--rate 0.3"),
    "--accuracy": ("accuracy-interval --rows 500", "--accuracy 0.9", "--accuracy 0.7"),
    "--rarest": ("histogram-binning --rows 5000", "--rarest 0.1", "--rarest 0.3"),
    "--tied": ("balance --rows 500", "", "--tied 0.2"),
    "--withheld": ("abstaining-gain --accuracy 0.9 --classes 3", "", "--withheld 0.3"),
    "--missed": ("abstaining-gain --accuracy 0.9 --classes 3", "", "--missed 0.9"),
    "--notion": ("histogram-binning --rows 5000 --classes 3", "", "--notion class-wise"),
    "--share": ("abstaining-rates --rows 5000", "", "--share right"),
    "--event-rate": ("validation --rows 900 --auroc 0.8", "--event-rate 0.1", "--event-rate 0.2"),
    "--auroc": ("validation --rows 900 --event-rate 0.1", "--auroc 0.7", "--auroc 0.8"),
    "--alpha": ("validation --rows 900 --beta 4", "--alpha 1", "--alpha 2"),
    "--beta": ("validation --rows 900 --alpha 1", "--beta 4", "--beta 3"),
    "--threshold": ("validation --rows 900 --alpha 1 --beta 4", "", "--threshold 0.2"),
    **{
        option: ("validation --rows 900 --alpha 1 --beta 4 --threshold 0.2", "", f"{option} 0.4")
        for option in ("--ratio-width", "--slope-width", "--auroc-width", "--benefit-width")
    },
    "--binning": ("within three.csv --error 0.05", "", "--binning equal-mass"),
    **{
        option: (f"accuracy-interval {COMMON[option][0]}", *COMMON[option][1:])
        for option in ("--read", "--label", "--labels", "--key", "--by-place")
    },
    "--event": ("within risk.csv --error 0.1", "", "--event no"),
    "--ratio": ("within risk.csv --error 0.1", "", "--ratio 1.1"),
}
CASES: dict[str, tuple[str, str, str]] = {
    "apply -o": ("apply cal.json three.csv", "-o out.csv", "-o other.csv"),
    "apply --force": ("apply cal.json spare.csv -o spare.csv", "", "--force"),
    "apply --read": ("apply top.json three.csv -o out.csv", "", "--read label=alt"),
    "apply --label": ("apply top.json three.csv -o out.csv", "", "--label alt"),
    "audit --notion": ("audit three.csv --estimator ece --json", "--notion confidence", "--notion top-label"),
    "audit --estimator": ("audit three.csv --notion confidence --json", "--estimator ece", "--estimator rmsce"),
    "audit --slow": ("audit few.csv --notion confidence --json", "", "--slow"),
    "audit --details": ("audit few.csv --notion confidence --estimator ece", "", "--details"),
    "audit --unbinned": (BASE["audit"].replace("FILE", "three.csv"), "", "--unbinned"),
    "audit --counting": (
        BASE["audit"].replace("FILE", "sure.csv") + " --calibrator metacal-miscoverage",
        "",
        "--counting all",
    ),
    "choose --candidate": ("choose three.csv --json --folds 3", "--candidate temperature", "--candidate vector"),
    "choose --score": (BASE["choose"].replace("FILE", "three.csv"), "", "--score brier"),
    "choose --costs": (BASE["choose"].replace("FILE", "three.csv"), "", "--costs 0,1,9;1,0,1;1,1,0"),
    "choose --worst-of": (BASE["choose"].replace("FILE", "three.csv"), "", "--worst-of site"),
    "choose --by-place": (BASE["choose"].replace("FILE", "bare.csv --labels others.csv"), "--by-place", "--key place"),
    "choose --details": ("choose three.csv --candidate temperature", "", "--details"),
    "choose --folds": ("choose three.csv --candidate temperature --json", "--folds 3", "--folds 4"),
    "compare --notion": ("compare three.csv second.csv --json", "--notion confidence", "--notion top-label"),
    "compare --estimator": (BASE["compare"].replace("FILE", "three.csv"), "", "--estimator ece"),
    "compare --details": ("compare three.csv again.csv --notion confidence --estimator ece", "", "--details"),
    "compare --margin": ("compare three.csv again.csv --notion confidence --json", "", "--margin 0.3"),
    "compare --event": ("compare risk.csv milder.csv --notion event --json", "", "--event no"),
    "compare --models-in": ("compare models.csv --notion confidence --json", "--models-in model", "--models-in run"),
    "dashboard --port": ("dashboard", "", "--port 8765"),
    "dashboard --browser": ("dashboard", "--no-browser", "--browser"),
    "dashboard --headless": ("dashboard --browser", "", "--headless"),
    "export -o": ("export cal.json", "-o cal.py", "-o other.py"),
    "export --logits": ("export cal.json -o cal.py", "", "--logits"),
    "fit --calibrator": ("fit three.csv -o c.json", "--calibrator temperature", "--calibrator vector"),
    "fit --param": ("fit three.csv -o c.json --calibrator top-label-hb", "", "--param points_per_bin=20"),
    "fit -o": ("fit three.csv --calibrator temperature", "-o c.json", "-o d.json"),
    "fit --rows": ("fit marked.csv --calibrator temperature -o c.json", "", "--rows all"),
    "fit --event": ("fit risk.csv --calibrator logistic-recalibration -o c.json", "", "--event no"),
    "gate --max-ece": (GATE, "--max-ece 0.05", "--max-ece 0.5"),
    "gate --max-ratio": ("gate risk.csv --max-ece 0.3 --format json", "", "--max-ratio 3"),
    "gate --baseline": (GATE + " --max-ece 0.05", "", "--baseline released.json"),
    "gate --max-increase": (GATE + " --baseline released.json", "", "--max-increase 0.5"),
    "gate --overlap": (GATE + " --baseline released.json", "--overlap none", "--overlap any"),
    "gate --accept": ("gate zeros.csv --max-ece 0.9 --max-ratio 9 --format json", "", "--accept zeros"),
    "gate --notion": (GATE + " --max-ece 0.05", "", "--notion confidence"),
    "gate --estimator": (GATE + " --max-ece 0.05", "", "--estimator rmsce"),
    "gate --format": ("gate three.csv --max-ece 0.05", "", "--format github"),
    "gate --junit": ("gate three.csv --max-ece 0.05", "", "--junit gate.xml"),
    "join --key": ("join bare.csv others.csv -o both.csv", "--key id", "--key place"),
    "join --by-place": ("join bare.csv others.csv -o both.csv", "--key place", "--by-place"),
    "join -o": ("join bare.csv labels.csv --key id", "-o both.csv", "-o other.csv"),
    "judge --judge": ("judge judged.csv --human checked --json", "--judge judge", "--judge second"),
    "judge --human": ("judge judged.csv --judge judge --json", "--human checked", "--human half"),
    "judge --confidence": (BASE["judge"], "", "--confidence sure"),
    "judge --group": (BASE["judge"], "", "--group age"),
    "lab --set": ("lab sigmoid --estimator ece --rows 60 --draws 3 --json", "", "--set slope=3"),
    "lab --experiment": ("lab sigmoid --draws 2 --json", "", "--experiment eces"),
    "lab --estimator": ("lab sigmoid --rows 60 --draws 3 --json", "--estimator ece", "--estimator rmsce"),
    "lab --notion": (BASE["lab"].replace("sigmoid", "three-classes"), "--notion confidence", "--notion top-label"),
    "lab --calibrator": (BASE["lab"].replace("sigmoid", "three-classes"), "", "--calibrator temperature"),
    "lab --rows": ("lab sigmoid --estimator ece --draws 3 --json", "--rows 60", "--rows 90"),
    "lab --intervals": (BASE["lab"], "", "--intervals"),
    "lab --draws": ("lab sigmoid --estimator ece --rows 60 --json", "--draws 3", "--draws 6"),
    **{f"plan {option}": (f"plan {base} --json", first, second) for option, (base, first, second) in PLAN.items()},
    "report -o": ("report three.csv", "-o r.html", "-o other.html"),
    "report --like": ("report three.csv -o r.html", "", "--like earlier.html"),
    **{
        f"report {option}": ("report three.csv -o r.html", "", f"{option} {value}".strip())
        for option, value in {
            "--slow": "",
            "--title": "Mine",
            "--author": "Me",
            "--date": "today",
            "--leave-out": "data",
            "--only": "data",
            "--include": "planner",
            "--pdf": "r.pdf",
            "--tables": "t.zip",
            "--figures": "f.zip",
            "--model-card": "card.md",
        }.items()
    },
    "report --style": ("report risk.csv --label died -o r.html", "", "--style validation"),
    "report --threshold": ("report risk.csv --label died -o r.html --style validation", "", "--threshold 0.2"),
    "report --latex": ("report three.csv -o r.html", "", "--latex r.tex"),
    "report --word": ("report three.csv -o r.html", "", "--word r.docx"),
    "report --width": ("report three.csv -o r.html --figures f.zip", "", "--width single"),
    "reproduce --files": ("reproduce p1-table-2 --json --splits 1", "--files nets", "--files others"),
    "reproduce --splits": ("reproduce p1-table-2 --files nets --json", "--splits 1", "--splits 2"),
    "reproduce --read": ("reproduce p1-table-2 --files nets --splits 1 --json", "", "--read label=alt"),
    "reproduce --quick": ("reproduce p1-example-1 --json", "", "--quick"),
    "reproduce --kept": ("reproduce p1-example-1 --json", "", "--kept"),
    "serve --address": (SERVE + " --host h.example.org", "", "--address 0.0.0.0"),
    **{
        f"serve {option}": (SERVE, "", f"{option} {value}")
        for option, value in {
            "--port": "8700",
            "--host": "h.example.org",
            "--base-path": "/calib",
            "--user-header": "X-User",
            "--framed-by": "https://a.example.org",
            "--sessions": "9",
            "--files": "3",
            "--file-mb": "50",
            "--visitor-mb": "70",
            "--processes": "3",
            "--expire": "9",
        }.items()
    },
    "serve --memory-gb": ("serve --processes 1", "--memory-gb 4", "--memory-gb 8"),
    "show --set": ("show reliability three.csv --format json", "", "--set overlay=corp"),
    "show --model": ("show bin-rows three.csv --format json --calibrator vector", "", "--model 'Vector scaling'"),
    "show --notion": ("show estimators three.csv --format json", "", "--notion class-wise"),
    "show --format": ("show verdict three.csv", "", "--format csv"),
    "show --counting": (f"show summary three.csv --format json {ABSTAINS}", "", "--counting all"),
    "show --choices": ("show verdict risk.csv --format json", "", "--choices notion=confidence"),
    "slices --by": ("slices three.csv --json", "--by age", "--by site"),
    "slices --edges": ("slices three.csv --by age --json", "", "--edges 30,40"),
    "slices --parts": ("slices three.csv --by age --json", "", "--parts 2"),
    "slices --scan": ("slices three.csv --json", "", "--scan"),
    "slices --worst-group": ("slices three.csv --by site --json", "", "--worst-group"),
    "slices --between": ("slices risk.csv --by site --json", "", "--between"),
    "slices --by-time": ("slices year.csv --json", "", "--by-time"),
    "slices --every": ("slices year.csv --by-time --json", "", "--every quarter"),
    "slices --min-rows": ("slices three.csv --scan --json", "", "--min-rows 140"),
    "slices --model": ("slices three.csv --json --calibrator vector", "", "--model 'Vector scaling'"),
    "slices --calibrator": ("slices three.csv --json", "", "--calibrator vector --model 'Vector scaling'"),
    "slices --folds": ("slices three.csv --json --calibrator vector --model 'Vector scaling'", "", "--folds 3"),
    "slices --seed": ("slices three.csv --json --judge held-out", "", "--seed 3"),
    "slices --choices": ("slices risk.csv --by site --json", "", "--choices notion=confidence"),
    "summarise -o": ("summarise three.csv", "-o s.parquet", "-o t.parquet"),
    "summarise --column": ("summarise three.csv -o s.parquet", "", "--column site"),
    "summarise --labels": ("summarise matrix.npy -o s.parquet", "--labels vector.npy", "--labels vector2.npy"),
    "summarise --seed": ("summarise three.csv -o s.parquet", "", "--seed 3"),
    "summarise --rows-of": ("summarise three.csv -o s.parquet", "", "--rows-of answers"),
    "summarise --engine": ("summarise three.csv -o s.parquet", "", "--engine duckdb"),
    "summarise --scheduler": ("summarise plain.parquet -o s.parquet", "", "--scheduler nowhere"),
    "summarise --sql": ("summarise plain.parquet", "--sql one", "--sql other"),
    "tables --paper": ("tables nets --splits 1 --csv", "--calibrator temperature", "--paper p1-table-2"),
    "tables --calibrator": ("tables nets --splits 1 --csv", "--calibrator temperature", "--calibrator vector"),
    "tables --measure": (
        "tables nets --splits 1 --csv --calibrator vector",
        "--measure conf-ECE",
        "--measure Accuracy",
    ),
    "tables --splits": ("tables nets --csv --calibrator vector --measure conf-ECE", "--splits 1", "--splits 2"),
    "arena --method": (BASE["arena"], "", "--method vector"),
    "arena --out": (BASE["arena"], "", "--out kept"),
    "arena --level": (BASE["arena"], "", "--level 0.3"),
    "arena --format": ("arena experiments --method temperature", "", "--format json"),
    "arena --debug": ("arena experiments --method no-such", "", "--debug"),
    "tables --share": (BASE["tables"], "", "--share 0.3"),
    "tables --seed": (BASE["tables"], "", "--seed 3"),
    "tables --read": (BASE["tables"], "", "--read label=alt"),
    "tables --counting": (
        BASE["tables"].replace("nets", "sure") + " --calibrator metacal-miscoverage",
        "",
        "--counting all",
    ),
    "tables --out": (BASE["tables"], "", "--out kept"),
    **{
        f"{command} --debug": (f"{call} --json", "", "--debug")
        for command, call in {
            "lab": "lab nowhere",
            "reproduce": "reproduce nowhere",
            "judge": "judge nowhere.csv --judge a --human b",
        }.items()
    },
    "tables --debug": ("tables nets --calibrator nothing", "", "--debug"),
    "help --man": ("help gate", "", "--man"),
    "watch --state": ("watch --json", "--state kept.json", "--state other.json"),
    "watch --period": ("watch three.csv --state w.json --json", "", "--period 2026-10-12"),
    "watch --max-ratio": ("watch risk.csv --state w.json --json", "", "--max-ratio 3"),
    "watch --false-alarms": ("watch three.csv --state w.json --json", "", "--false-alarms 0.5"),
    "watch --year": ("watch three.csv --state w.json --json", "", "--year 2"),
    "watch --accept": ("watch words.csv --state w.json --json", "", "--accept words"),
    "watch --batch": ("watch three.csv --state w.json --json", "", "--batch a"),
    "watch --close": ("watch bare.csv --labels some.csv --key id --state w.json --json", "", "--close"),
    "watch --max-ece": ("watch three.csv --state w.json --json", "", "--max-ece 0.1"),
    "watch --baseline": ("watch again.csv --state w.json --json", "", "--baseline released.json"),
    "watch --max-increase": (
        "watch again.csv --state w.json --json --baseline released.json",
        "",
        "--max-increase 0.2",
    ),
    "watch --before-labels": (
        "watch bare.csv --state w.json --json",
        "--before-labels three.csv",
        "--before-labels few.csv",
    ),
    "watch --by": ("watch three.csv --state w.json --json", "", "--by site"),
    "watch --github": ("watch three.csv --state w.json", "", "--github"),
    "watch --metrics": ("watch three.csv --state w.json", "", "--metrics"),
    "watch --junit": ("watch three.csv --state w.json", "", "--junit w.xml"),
    "gate --debug": ("gate nowhere.csv --max-ece 0.05", "", "--debug"),
}
"""Full calls, first and second arguments, of single options."""


def asked(command: str, option: str) -> tuple[str, str]:
    """Return both calls."""
    if f"{command} {option}" in CASES:
        base, first, second = CASES[f"{command} {option}"]
        return f"{base} {first}", f"{base} {second}"
    if option in ("--json", "--csv", "--latex"):
        plain = re.sub(r" --(json|csv|latex)\b", "", BASE[command]).replace("FILE", "three.csv")
        return plain, f"{plain} {option}"
    if option == "--debug":
        plain = re.sub(r"\b(nets|cal\.json|bare\.csv|judged\.csv)\b", "nowhere.csv", BASE[command])
        plain = plain.replace("FILE", "nowhere.csv")
        return plain, f"{plain} --debug"
    assert option in COMMON, f"give `calib {command} {option}` another value in CASES, or say in FORM why it has none"
    file, first, second = COMMON[option]
    base = BASE[command].replace("FILE", file)
    return f"{base} {first}", f"{base} {second}"


CHANGING = [pytest.param(*each, id=" ".join(each)) for each in OPTIONS if " ".join(each) not in FORM]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("command", "option"), CHANGING)
def test_an_option_of_a_command_changes_what_it_writes(
    command: str, option: str, called: list[Any], folder: Path
) -> None:
    one, other = (known(words, called, folder) for words in asked(command, option))
    assert option in ("--debug", "--force", "--accept") or one["exit"] != 2, one["said"]
    assert answers(one, option) != answers(other, option), "the answer is the same"


@pytest.mark.parametrize("command", sorted({command for command, _ in OPTIONS}))
def test_the_same_call_has_the_same_answer(command: str, called: list[Any], folder: Path) -> None:
    words = BASE[command].replace("FILE", "three.csv")
    assert answers(known(words, called, folder), "") == answers(run(words, called, folder), "")


LEVEL = 0.83
"""Level that is no default."""
AT_DEFAULT = re.compile(
    rf"{in_percent(DEFAULT)}[^.;,0-9]*(interval|level)|level[^.;,0-9]*{in_percent(DEFAULT)}|\({in_percent(DEFAULT)}\)"
    rf"|one-sided {in_percent((1 + DEFAULT) / 2)}"
)
ADDING = [
    (name, option.opts[0])
    for name, command in commands(main)
    for option in command.params
    if isinstance(option, click.Option)
    and option.is_flag
    and option.opts[0] not in COMMON
    and option.opts[0] != "--slow"
]
"""Flags of one command, which add to its answer."""
LEVELS = {
    command: " ".join(
        (
            CASES.get(f"{command} --level", (BASE[command].replace("FILE", "three.csv"), "", ""))[0],
            *(flag for name, flag in ADDING if name == command),
        )
    )
    for command, option in OPTIONS
    if option == "--level"
}


@pytest.mark.parametrize("command", LEVELS)
def test_a_level_is_the_one_that_was_asked_for_wherever_it_is_said(
    command: str, called: list[Any], folder: Path
) -> None:
    words = f"{LEVELS[command]} --level {LEVEL}"
    record = run(words, called, folder)["answer"]
    # A baseline is stored at the level of each of two simultaneous intervals.
    assert {repr(LEVEL)} <= set(echoes(record, "level")) <= {repr(LEVEL), repr(1 - (1 - LEVEL) / 2)}
    plain = re.sub(r" --json| --format json", "", words)
    text = run(plain, called, folder)["answer"]
    more = run(f"{plain} --format github", called, folder)["answer"] if command == "gate" else ""
    for said in (text, more, *(leaf for _, leaf in beyond(record, "python"))):
        assert not AT_DEFAULT.search(said)
    assert in_percent(LEVEL) in text


OF_INTERVALS = {
    # The interval of a plan is in its sentence, and those of no calibration are from 0 to 0 at every level.
    **{command: words for command, words in LEVELS.items() if command not in ("plan", "arena")},
    "audit of a risk": BASE["audit"].replace("FILE", "risk.csv"),
    "judge of confidences": CASES["judge --confidence"][0] + " " + CASES["judge --confidence"][2],
}
"""Calls whose records have intervals."""


@pytest.mark.parametrize("name", OF_INTERVALS)
def test_no_interval_of_a_record_ends_where_one_of_another_level_does(
    name: str, called: list[Any], folder: Path
) -> None:
    one, other = (run(f"{OF_INTERVALS[name]}{level}", called, folder)["answer"] for level in ("", f" --level {LEVEL}"))
    assert ends(one)
    assert not {*ends(one).items()} & {*ends(other).items()}


def test_parts_count_for_the_worst_group_as_for_every_slice(called: list[Any], folder: Path) -> None:
    words = "slices three.csv --by age --worst-group --json"
    usual, two = (run(f"{words}{parts}", called, folder) for parts in ("", " --parts 2"))
    assert answers(usual, "--parts") != answers(two, "--parts")
