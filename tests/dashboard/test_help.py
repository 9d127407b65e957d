"""The help of `calib`: short summaries, complete on a narrow terminal, and examples that run."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import h5py
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from dashboard.cli import main

CONTEXT = click.Context(main)
COMMANDS = {name: main.get_command(CONTEXT, name) for name in main.list_commands(CONTEXT)}
LONGEST_SUMMARY = 60
NARROW = 80
ONLY_PARSED = ("calib dashboard", "calib serve", "calib report", "calib lab", "calib tables", "calib reproduce ",
               "--scheduler", "audit predictions.parquet", "audit few-rows")  # fmt: skip
"""Examples that start servers, need other machines or take many seconds: other tests cover these commands."""


ROWS = 120


def help_of(name: str) -> str:
    """Return the help of a command on a terminal of 80 columns."""
    return CliRunner().invoke(main, [name, "--help"], terminal_width=NARROW).output


def examples(name: str) -> list[str]:
    """Return the command lines in the help of a command."""
    command = COMMANDS[name]
    assert command is not None
    assert command.help is not None
    _, _, listed = command.help.partition("Examples:\n")
    return [line.strip() for line in listed.splitlines() if line.strip()]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_summary_is_short_and_whole_on_a_narrow_terminal(name: str) -> None:
    command = COMMANDS[name]
    assert command is not None
    assert command.help is not None
    summary = command.help.partition("\n")[0]
    assert len(summary) <= LONGEST_SUMMARY
    assert summary.endswith(".")
    listed = CliRunner().invoke(main, ["--help"], terminal_width=NARROW).output
    assert any(line.split(maxsplit=1) == [name, summary] for line in listed.splitlines())


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_a_narrow_terminal_and_options_are_sentences(name: str) -> None:
    shown = {line.strip() for line in examples(name)}
    assert [line for line in help_of(name).splitlines() if len(line) > NARROW and line.strip() not in shown] == []
    command = COMMANDS[name]
    assert command is not None
    options = [param for param in command.params if isinstance(param, click.Option) and not param.hidden]
    assert [option.name for option in options if not (option.help or "").endswith(".")] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_examples(name: str) -> None:
    assert examples(name)
    assert all(line.startswith(("calib ", "python ")) for line in examples(name))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield a folder with a file under every name that examples use."""
    path = tmp_path_factory.mktemp("examples")
    before = Path.cwd()
    os.chdir(path)
    _write_files(path)
    yield path
    os.chdir(before)


def _write_files(path: Path) -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(ROWS, 3)) * 2
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    classes = np.array(["cat", "dog", "fox"])
    labels = np.array([rng.choice(3, p=row) for row in shares])
    table = pd.DataFrame(shares, columns=classes).assign(
        label=classes[labels], site=rng.choice(["north", "south"], ROWS)
    )
    for name in ("predictions", "validation", "test", "old", "new", "released", "day-1", "day-2", "october"):
        table.to_csv(path / f"{name}.csv", index=False)
    table.iloc[:40].to_csv(path / "few-rows.csv", index=False)
    table.drop(columns="label").to_csv(path / "november.csv", index=False)
    table.drop(columns="label").assign(id=range(ROWS)).to_csv(path / "submission.csv", index=False)
    table[["label"]].assign(id=range(ROWS)).to_csv(path / "solution.csv", index=False)
    (path / "report.html").touch()
    for name in ("days", "nets"):
        (path / name).mkdir()
    correct = pd.DataFrame({"confidence": shares.max(axis=1), "correct": shares.argmax(axis=1) == labels})
    for name in ("predictions", "before", "after"):
        table.to_parquet(path / f"{name}.parquet")
    for name in ("few-rows", "days/1", "days/2"):
        correct.to_parquet(path / f"{name}.parquet")
    for name in ("predictions", "validation", "a", "b", "c"):
        np.savez(path / f"{name}.npz", probs=shares, labels=labels)
    np.savez(path / "test.npz", logits=logits, labels=labels)
    for name, array in {"scores": shares, "out-of-fold": shares, "labels": labels}.items():
        np.save(path / f"{name}.npy", array)
    event = rng.random(ROWS)
    pd.DataFrame({"risk": event, "died": (rng.random(ROWS) < event).astype(int)}).to_csv(
        path / "risks.csv", index=False
    )
    aged = pd.DataFrame(
        {
            "risk": event,
            "died": (rng.random(ROWS) < event).astype(int),
            "age": rng.integers(20, 90, ROWS),
            "site": rng.choice(["north", "south"], ROWS),
        }
    )
    aged.to_csv(path / "patients.csv", index=False)
    day = np.datetime64("2026-01-01") + np.arange(ROWS) % 360
    aged.assign(seen=day.astype(str)).to_csv(path / "year.csv", index=False)
    rows = correct.rename(columns={"confidence": "conf", "correct": "ok"}).assign(
        subject=rng.choice(["law", "math"], ROWS)
    )
    both = pd.concat([rows.assign(model=name, question=range(ROWS)) for name in ("first", "second")])
    both.to_json(path / "answers.jsonl", orient="records", lines=True)
    marked = correct.correct.astype(int)
    judged = pd.DataFrame(
        {"gpt_says": np.where(rng.random(ROWS) < 0.1, 1 - marked, marked), "checked": marked.astype(float)}
    )
    judged.loc[ROWS // 3 :, "checked"] = np.nan
    judged.assign(confidence=correct.confidence, question=np.arange(ROWS) // 2).to_csv(
        path / "answers.csv", index=False
    )
    (path / "rows.json").write_text(json.dumps(shares[:3].tolist()))
    for dataset, rows in (("birds", table[::2]), ("fish", table[1::2])):
        (path / "experiments" / dataset / "net").mkdir(parents=True)
        for part in ("calibration", "test"):
            rows.drop(columns="site").to_csv(path / "experiments" / dataset / "net" / f"{part}.csv", index=False)
    with h5py.File(path / "benchmark.h5", "w") as file:
        for part in ("cal", "test"):
            file[f"birds/net/probas_{part}"] = shares
            file[f"birds/net/labels_{part}"] = labels
    boxes = [{"image_id": 1, "category_id": 1, "bbox": [30 * k, 0, 20, 20], "score": 0.3 + 0.06 * k} for k in range(10)]
    (path / "results.json").write_text(json.dumps(boxes))
    truth = [{"id": k, "image_id": 1, "category_id": 1, "bbox": box["bbox"], "area": 400, "iscrowd": 0}
             for k, box in enumerate(boxes) if k % 2]  # fmt: skip
    annotations = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": truth}
    (path / "instances_val2017.json").write_text(json.dumps(annotations))


def _run(line: str, name: str) -> None:
    """Run one command line as a shell would."""
    command, _, output = line.partition(" > ")
    if command.startswith("python "):
        script, _, given = command.removeprefix("python ").partition(" < ")
        with Path(given).open() as rows:
            result = subprocess.run([sys.executable, script], stdin=rows, capture_output=True, text=True, check=True)
        Path(output).write_text(result.stdout)
        return
    done = CliRunner().invoke(main, shlex.split(command)[1:])
    failed = {0, 1} if name in ("gate", "watch") else {0}
    assert done.exit_code in failed, done.output
    if output:
        Path(output).write_text(done.stdout)


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_run_in_their_order(name: str, folder: Path) -> None:
    if name in ("apply", "export"):
        _run("calib fit validation.csv --calibrator temperature -o cal.json", "fit")
    if name == "fit":
        _run("calib summarise predictions.parquet -o counts.parquet", "summarise")
    for line in examples(name):
        for part in line.split(" && "):
            if part == "./deploy":
                continue
            if any(mark in part for mark in ONLY_PARSED):
                command = COMMANDS[name]
                assert command is not None
                command.make_context(name, shlex.split(part)[2:])
            else:
                _run(part, name)


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"plan"}))
def test_help_lists_every_option_once(name: str) -> None:
    command = COMMANDS[name]
    assert command is not None
    listed = help_of(name).partition("\nOptions:\n")[2]
    shown = [line.split()[0].rstrip(",") for line in listed.splitlines() if line.startswith("  -")]
    options = [param for param in command.get_params(CONTEXT) if isinstance(param, click.Option) and not param.hidden]
    assert sorted(shown) == sorted(min(option.opts, key=len) for option in options)
