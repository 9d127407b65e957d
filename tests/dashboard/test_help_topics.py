"""`calib help TOPIC`: every page, term, method and command has its own text, and the manual page has all of them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

import calib_core as cc
from dashboard.cli import main
from dashboard.commands import _topics
from dashboard.glossary import TERMS

DOCS = Path(__file__).parents[2] / "docs"
CONTEXT = click.Context(main, info_name="calib")


def asked(*words: str) -> Result:
    return CliRunner().invoke(main, ["help", *words], prog_name="calib")


@pytest.fixture(scope="module")
def found() -> dict[str, _topics.Topic]:
    return _topics.topics(CONTEXT)


def test_every_page_term_method_and_command_is_a_topic(found: dict[str, _topics.Topic]) -> None:
    pages = {page.stem for folder in ("how-to", "tutorials", "explanation") for page in (DOCS / folder).glob("*.md")}
    registries = (cc.REDUCTIONS, cc.ESTIMATORS, cc.CALIBRATORS, cc.BINARY_CALIBRATORS, cc.BINNINGS)
    assert pages | {*TERMS} | {key for each in registries for key in each} | {*main.list_commands(CONTEXT)} == {*found}
    assert [name for name, topic in found.items() if not (topic.title and topic.text)] == []


def test_a_topic_is_its_source() -> None:
    assert TERMS["tolerance"].sentence in " ".join(asked("tolerance").output.split())
    assert cc.ESTIMATORS["smece"].caption in " ".join(asked("smece").output.split())
    assert asked("gate").output.endswith(CliRunner().invoke(main, ["gate", "--help"], prog_name="calib").output)
    page = (DOCS / "how-to/subgroups.md").read_text("utf-8")
    for heading in re.findall(r"^## .*$", page, re.M):
        assert heading in asked("subgroups").output


def test_the_list_has_every_name_and_title(found: dict[str, _topics.Topic]) -> None:
    lines = {" ".join(line.split()) for line in asked().output.splitlines()}
    short = {f"{topic.name} {topic.title}" for topic in found.values() if len(topic.name + topic.title) < 40}
    assert len(short) > 100
    assert short <= lines


def test_a_title_in_words_finds_its_topic() -> None:
    assert asked("Noise", "floor").output == asked("noise-floor").output
    assert asked("why ece misleads").output.startswith("Why ECE misleads\n")
    assert asked("Spiegelhalter's test").output == asked("spiegelhalter").output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("noise flo", "calib help: no topic is named 'noise flo'; did you mean noise-floor?\n"),
        ("zzzz", "calib help: no topic is named 'zzzz'; calib help lists all topics.\n"),
        ("DCA", "calib help: no topic is named 'DCA'; it is mentioned in validate-a-risk.\n"),
        (
            "tripod",
            "calib help: no topic is named 'tripod'; did you mean grid? It is mentioned in validate-a-risk.\n",
        ),
    ],
)
def test_an_unknown_topic_is_one_sentence_with_near_names(words: str, sentence: str) -> None:
    done = asked(words)
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", sentence)


def test_a_page_names_topics_in_place_of_links(found: dict[str, _topics.Topic]) -> None:
    for topic in found.values():
        assert "](" not in re.sub(r"```.*?```", "", topic.text, flags=re.S), topic.name
        for name in re.findall(r"\(calib help ([\w-]+)\)", topic.text):
            assert name in found, topic.name


def test_the_manual_page_has_every_command_option_and_term() -> None:
    page = asked("--man").stdout
    assert page.isascii()
    shown = page.replace("\\-", "-")
    for name in main.list_commands(CONTEXT):
        command = main.get_command(CONTEXT, name)
        assert command is not None
        part = shown.partition(f"\n.SS calib {name} ")[2].partition("\n.SS")[0]
        options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
        named = set(re.findall(r"(?<!\S)--?[a-z-]+", part.replace(",", " ")))
        assert {name for each in options for name in each.opts} <= named, name
    assert [
        term.title for term in TERMS.values() if f"\n.B {term.title}\n" not in shown.replace("\\[u2019]", "’")
    ] == []


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_man_reads_the_manual_page_without_a_warning() -> None:
    page = asked("--man").stdout
    read = ["groff", "-man", "-ww", "-Tutf8"]
    done = subprocess.run(read, input=page, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    assert "find out whether a classifier's probabilities" in " ".join(re.sub(".\b", "", done.stdout).split())
