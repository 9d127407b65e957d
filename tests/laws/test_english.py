"""The law of English: no phrase of our old dialect, few long sentences, docstrings that begin with a plain phrase.

``banned_phrases.csv`` has every banned phrase (a regular expression) with a better one. The counts below may
only fall: whoever lowers one writes the lower number here.
"""

from __future__ import annotations

import ast
import csv
import inspect
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.source_trees import nodes_of, tree_of

ROOT = Path(__file__).parents[2]
CODE = ("calib", "calib_core", "dashboard")
DOCUMENTED = (*CODE, "tests")
LONGEST = 25
"""Maximum number of words in a sentence that is easy to read."""
MOST_LONG_SENTENCES = {"strings": 47, "docstrings": 72, "docstrings of tests": 11}
MOST_SAYINGS = 80
"""Limit on strings with dialect verbs (says, tells, holds, stands, keeps) outside the headline."""

BRITISH_NAMES = ("summarise", "normalised", "writeable", "cancelled")
"""Public names, options and columns that stay as they are, and a word that files contain."""

RIDDLE = re.compile(
    r"(?:What|How|Where|Which|Who|Why|Is|Are|Does|Do|Can|May|Has|Have|Was|Were|Nobody|Of|So|And)\b|[^.]*\?\s*(?:$|\n)"
)
SAYINGS = re.compile(
    r"\b(?:says?|said|tells?|told|holds?|held(?!-out)|stands?|stood|keeps?|kept|beside|alone|apart|anew|asked)\b"
)
SENTENCE_END = re.compile(r"(?<=[a-z)%”\"'\d][.!?])\s+(?=[A-Z“(]|code)|\n\s*\n|\n(?=\s*[-*]\s)")


class Text(NamedTuple):
    """String or docstring and its place."""

    where: str
    text: str


def modules(folder: str) -> Iterator[tuple[Path, Sequence[ast.AST]]]:
    """Yield every module of a folder with its nodes; those of the code are kept, which other tests read too."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        text = path.read_text()
        yield path, nodes_of(tree_of(text)) if folder in CODE else tuple(ast.walk(ast.parse(text)))


def _documented(nodes: Sequence[ast.AST]) -> Iterator[ast.Constant]:
    """Yield docstrings, also those of attributes: strings that are statements."""
    for node in nodes:
        for statement in getattr(node, "body", None) or () if not isinstance(node, ast.Lambda | ast.IfExp) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                yield statement.value


@cache
def strings(*folders: str) -> tuple[Text, ...]:
    """Return every string of three words or more that is no docstring; values in it are written as ``{}``."""
    found = []
    for path, nodes in (each for folder in folders for each in modules(folder)):
        taken = {id(constant) for constant in _documented(nodes)}
        for node in nodes:
            if isinstance(node, ast.JoinedStr):
                taken.update(id(part) for part in node.values)
        for node in nodes:
            if isinstance(node, ast.JoinedStr):
                text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in taken:
                text = node.value
            else:
                continue
            if len(text.split()) >= 3:
                found.append(Text(f"{path.relative_to(ROOT)}:{node.lineno}", text))
    return tuple(found)


def docstrings(*folders: str) -> tuple[Text, ...]:
    """Return every docstring of modules, classes, functions and attributes."""
    return tuple(text for folder in folders for text in _docstrings(folder))


@cache
def _docstrings(folder: str) -> tuple[Text, ...]:
    return tuple(
        Text(f"{path.relative_to(ROOT)}:{constant.lineno}", inspect.cleandoc(constant.value))
        for path, nodes in modules(folder)
        for constant in _documented(nodes)
        if isinstance(constant.value, str)
    )


def summaries(folder: str) -> list[Text]:
    """Return the first paragraph of every docstring."""
    return [Text(where, text.partition("\n\n")[0]) for where, text in docstrings(folder)]


@cache
def banned() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return banned phrases with better ones."""
    with Path(__file__).with_name("banned_phrases.csv").open(newline="") as file:
        return tuple((re.compile(row["phrase"], re.IGNORECASE), row["better"]) for row in csv.DictReader(file))


def banned_in(texts: tuple[Text, ...]) -> list[str]:
    """Return the place of each banned phrase, and its replacement."""
    any_of_them = re.compile("|".join(phrase.pattern for phrase, _ in banned()), re.IGNORECASE)
    return [
        f"{where}: “{found[0]}”: write {better}"
        for where, text in texts
        if any_of_them.search(line := " ".join(text.split()))
        for phrase, better in banned()
        if (found := phrase.search(line))
    ]


def prose(text: str) -> str:
    """Sentences of a docstring: without doctests, code, the names of parameters, and examples of commands."""
    text = text.partition("Examples:\n")[0]
    lines = [line for line in text.splitlines() if not line.lstrip().startswith((">>>", "...", ".. ", "---"))]
    # A parameter of numpydoc is a list item: its name and type are no words of the sentence before it.
    items = [re.sub(r"^(\s*)[\w*, ]+ : ", r"\n\n", line) for line in lines]
    return re.sub(r"``[^`]*``|`[^`]*`", "code", "\n".join(items))


def long_sentences(texts: tuple[Text, ...]) -> list[str]:
    """Return sentences of more than 25 words."""
    return [
        f"{where}: {' '.join(sentence.split())}"
        for where, text in texts
        for sentence in SENTENCE_END.split(prose(text))
        if len([word for word in sentence.split() if any(map(str.isalpha, word))]) > LONGEST
    ]


def at_most(found: list[str], most: int) -> None:
    """Check that there are no more than the limit; a failure prints the last of them."""
    assert len(found) <= most, "\n".join(found[-40:])


def test_the_law_can_fail() -> None:
    texts = (Text("a", "None of 13 can be told from noise."), Text("b", "word " * 26 + "end."))
    assert len(banned_in(texts)) == 2
    assert len(long_sentences(texts)) == 1
    assert riddles([Text("a", "What is asked of it."), Text("b", "Are rows many?")]) == [
        "a: What is asked of it.",
        "b: Are rows many?",
    ]
    assert riddles([Text("a", "Return the rows.")]) == []


def test_docstrings_of_attributes_are_read() -> None:
    assert "Maximum number of words in a sentence that is easy to read." in {text for _, text in docstrings("tests")}


def test_every_banned_phrase_has_a_better_one() -> None:
    assert all(better for _, better in banned())
    assert len({phrase.pattern for phrase, _ in banned()}) == len(banned())


def test_no_banned_phrase_reaches_a_person() -> None:
    assert banned_in(strings(*CODE)) == []


@pytest.mark.parametrize("folder", DOCUMENTED)
def test_no_docstring_has_a_banned_phrase(folder: str) -> None:
    assert banned_in(docstrings(folder)) == []


@pytest.mark.parametrize("kind", MOST_LONG_SENTENCES)
def test_long_sentences_only_become_fewer(kind: str) -> None:
    texts = {"strings": strings(*CODE), "docstrings": docstrings(*CODE), "docstrings of tests": docstrings("tests")}
    at_most(long_sentences(texts[kind]), MOST_LONG_SENTENCES[kind])


def test_sayings_only_become_fewer() -> None:
    at_most([f"{where}: {text}" for where, text in strings(*CODE) if SAYINGS.search(text)], MOST_SAYINGS)


def riddles(first: Sequence[Text]) -> list[str]:
    """Return first paragraphs that begin with a question or a clause ("What ...", "How ...") instead of a phrase."""
    return [f"{where}: {line}" for where, line in first if RIDDLE.match(line)]


@pytest.mark.parametrize("folder", DOCUMENTED)
def test_docstrings_begin_with_a_phrase(folder: str) -> None:
    assert riddles(summaries(folder)) == []


@pytest.mark.parametrize("folder", DOCUMENTED)
def test_summaries_of_docstrings_have_one_line(folder: str) -> None:
    assert [f"{where}: {text}" for where, text in summaries(folder) if "\n" in text] == []


@pytest.mark.parametrize("folder", CODE)
def test_first_lines_of_docstrings_end_with_a_period(folder: str) -> None:
    ends = (".", "?", ":", '."')
    assert [f"{where}: {line}" for where, line in summaries(folder) if not line.rstrip().endswith(ends)] == []


def codespell(*arguments: str) -> str:
    """Return what the checker of spelling found."""
    program = shutil.which("codespell", path=str(Path(sys.executable).parent))
    assert program is not None
    return subprocess.run([program, *arguments], cwd=ROOT, capture_output=True, text=True).stdout


def test_no_word_is_misspelled() -> None:
    assert codespell(*CODE, "tests", "docs", "README.md", "CHANGELOG.md") == ""


def british(texts: Sequence[Text], folder: Path) -> list[str]:
    """Return words in British spelling, outside code."""
    file = folder / "prose.txt"
    file.write_text("\n".join(" ".join(prose(text).split()) for _, text in texts))
    found = codespell("--builtin", "en-GB_to_en-US", "--ignore-words-list", ",".join(BRITISH_NAMES), str(file))
    return [f"{texts[int(line) - 1].where}: {word}" for line, word in re.findall(r":(\d+): (\w+ ==> \w+)", found)]


def test_spelling_is_american(tmp_path: Path) -> None:
    assert british([Text("a", "The colour of `colour`.")], tmp_path) == ["a: colour ==> color"]
    pages = [Text(path.name, path.read_text()) for path in (ROOT / "README.md", ROOT / "CHANGELOG.md")]
    pages += [Text(path.name, path.read_text()) for path in sorted((ROOT / "docs").rglob("*.md"))]
    assert british([*strings(*CODE), *docstrings(*CODE, "tests"), *pages], tmp_path) == []
