"""Labels counted from elsewhere, of no class, or with another meaning; names, groups, weights next to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.corpus.bad_files import BadFile, csv, drawn, family, npz, wide

P, Y = drawn(60)
NAMES = np.array(list("abc"))[Y]
EYE = np.eye(3)[Y]


@family("Labels")
def labels() -> Iterator[BadFile]:
    refused: dict[str, tuple[Any, str]] = {
        "minus one": (
            np.where(np.arange(60) == 3, -1, Y),
            "row 3: label -1 is not among the classes 0, 1, 2 (1 of",
        ),
        "K": (np.where(Y == 2, 3, Y), "3 is not among the classes 0, 1, 2"),
        "halves": (Y + 0.5, "is not among the classes 0, 1, 2"),
        "NaN": (np.where(np.arange(60) == 3, np.nan, Y), "row 3: the value is missing; 1 of 60 rows affected"),
        "infinite": (np.where(np.arange(60) == 3, np.inf, Y), "row 3: label inf is not among the classes"),
        "beyond int64": (Y.astype(np.uint64) + 2**63, "is not among the classes 0, 1, 2"),
        "1e300": (np.where(Y == 2, 1e300, Y), "… is not among the classes 0, 1, 2 (22 of 60 rows"),
        "a name unseen": (np.where(np.arange(60) == 3, "d", NAMES), "have 4 names"),
        "a class that never occurs": (np.where(Y == 2, "a", NAMES), "have 2 names"),
        "all different": (np.array([f"n{i}" for i in range(60)]), "have 60 names"),
        "two ones": (np.where(np.arange(60)[:, None] == 3, 1, EYE), "row 3: the row must mark exactly one class"),
        "no one": (np.where(np.arange(60)[:, None] == 3, 0, EYE), "row 3: the row must mark exactly one class"),
        "soft labels": (P, "must mark exactly one class with 1 and the others with 0; 60 of 60 rows"),
        "two columns of marks": (
            EYE[:, :2],
            "a.npz: 2 one-hot label columns for 3 classes; choose one column per class",
        ),
        "a mark beyond": (EYE * 2, "must mark exactly one class"),
    }
    for what, (values, says) in refused.items():
        yield BadFile(what, npz(probs=P, labels=values), says, filename="a.npz")
    named: dict[str, tuple[Any, str]] = {
        "another name": (np.where(np.arange(60) == 3, "d", NAMES), 'line 5 (row 3): "d" is not a class; 1 of 60 rows'),
        "another spelling": (np.where(np.arange(60) == 3, " A", NAMES), 'It differs from "a"'),
        "a missing name": (np.where(np.arange(60) == 3, "", NAMES), "line 5 (row 3): the value is missing"),
        "numbers for names": (Y + 7, "is not a"),
        "a number among names": (np.where(np.arange(60) == 3, "1", NAMES), '"1" is not a class'),
        "a long name": (np.where(np.arange(60) == 3, "x" * 5000, NAMES), 'xxx…" is not a class'),
        "an escape": (np.where(np.arange(60) == 3, "\x1b[31m", NAMES), '"\\x1b[31m" is not a class'),
        "text that turns round": (np.where(np.arange(60) == 3, "\u202ea", NAMES), '"\\u202ea" is not a class'),
        "a beacon": (np.where(np.arange(60) == 3, "![x](http://x.example)", NAMES), "is not a class"),
        "a script": (np.where(np.arange(60) == 3, "<script>x()</script>", NAMES), '"<script>x()</script>" is not a'),
        "a formula": (np.where(np.arange(60) == 3, "=1+1", NAMES), '"=1+1" is not a class'),
        "three lines": (np.where(np.arange(60) == 3, "a\nb\nc", NAMES), '"a\\nb\\nc" is not a class'),
        "nan for a name": (np.where(np.arange(60) == 3, "nan", NAMES), "line 5 (row 3): the value is missing"),
        "001": (np.where(Y == 0, "001", NAMES), '"001" is not a class'),
    }
    for what, (values, says) in named.items():
        yield BadFile(what, wide(P, values), says)
    yield BadFile("names for numbered scores", wide(P, np.array(["cat", "dog", "owl"])[Y], "012"), '" is not a class')
    read: dict[str, tuple[bytes, str, str]] = {
        "counted from one": (npz(probs=P, labels=Y + 1), "from-one", ""),
        "yes and no for three": (npz(probs=P, labels=Y > 0), "never-true", '1 of 3 classes is never true: "2"'),
        "never true": (wide(P, np.where(Y == 2, "a", NAMES)), "never-true", ""),
        "never predicted": (
            wide(np.column_stack([P[:, :2], 0 * P[:, 0]]) / P[:, :2].sum(1)[:, None], np.array(list("ab"))[Y % 2]),
            "never-predicted",
            "",
        ),
    }
    for what, (data, finds, says) in read.items():
        yield BadFile(what, data, says, finds, "a.npz" if data.startswith(b"PK") else "a.csv")


@family("Names and Unicode")
def names() -> Iterator[BadFile]:
    def of(*classes: str) -> bytes:
        rows = [",".join([*map(repr, map(float, p)), f'"{classes[y]}"']) for p, y in zip(P, Y, strict=True)]
        return csv(",".join(f'"p_{c}"' for c in classes) + ",label", *rows)

    read = {
        "a zero width space": (of("a", "a\u200b", "c"), "names", "U+200B"),
        "text that turns round": (of("a", "\u202eb", "c"), "names", "U+202E"),
        "a soft hyphen": (of("a", "b\u00ad", "c"), "names", "U+00AD"),
        "a byte order mark inside": (of("a", "\ufeffb", "c"), "names", "U+FEFF"),
        "a private letter": (of("a", "\ue000", "c"), "names", "U+E000"),
        "Cyrillic and Latin": (of("cat", "сat", "dog"), "names", "look alike"),
        "Greek and Latin": (of("O", "Ο", "d"), "names", "look alike"),
        "capitals": (of("cat", "Cat", "dog"), "names", "look alike"),
        "full width": (of("ａ", "a", "c"), "names", "look alike"),
        "ligatures": (of("ﬁn", "fin", "c"), "names", "look alike"),
        "an accent apart": (of("cha\u0301t", "b", "c"), "reader", "form NFC"),
        "a Korean letter apart": (of("\u1100\u1161", "b", "c"), "reader", "form NFC"),
        "a line separator": (of("a", "b\u2028", "c"), "names", "U+2028"),
        "a language tag": (of("a", "b\U000e0041", "c"), "names", "U+E0041"),
    }
    for what, (data, finds, says) in read.items():
        yield BadFile(what, data, says, finds)
    yield BadFile("two forms of one name", of("\u00e1", "a\u0301", "c"), 'columns called "p_á"; give every column')


@family("Weights and groups")
def beside() -> Iterator[BadFile]:
    w = np.linspace(0.5, 2, 60)
    one = np.arange(60) == 3
    weights: dict[str, tuple[Any, str]] = {
        "negative": (np.where(one, -1, w), "weights row 3 is -1.0; weights must be finite and not negative"),
        "infinite": (np.where(one, np.inf, w), "weights row 3 is inf; weights must be finite and not negative"),
        "missing": (np.where(one, np.nan, w), "line 5 (row 3): the value is missing; 1 of 60 rows affected"),
        "all zero": (0 * w, "all weights are 0"),
        "1e305": (np.where(one, 1e305, w), "Divide all weights by a common factor"),
        "1e-300": (np.where(one, 1e-300, w), "Divide all weights by a common factor"),
        "1e308 in every row": (np.full(60, 1e308), "Divide all weights by a common factor"),
        "a word": (np.where(one, "heavy", w.astype(str)), 'line 5 (row 3): "heavy" is not a number'),
        "thousands": (["1,234"] * 60, '"1,234" may be 1.234 or 1234; 60 of 60 rows affected'),
        "a percent sign": (np.where(one, "5%", w.astype(str)), "has a percent sign, but other values do not"),
        "dates": (["2026-01-01"] * 60, '"2026-01-01" is not a number'),
    }
    for what, (values, says) in weights.items():
        yield BadFile(f"weights {what}", wide(P, NAMES, wt=values), says, chosen={"weights": "wt"})
    yield BadFile("weights unasked", wide(P, NAMES, weight=w), "is not used", "weights")
    yield BadFile(
        "weights of another length",
        npz(probs=P, labels=Y, w=w[:5]),
        '5 values of "w" for 60 rows',
        filename="a.npz",
        chosen={"weights": "w"},
    )
    groups = np.arange(60) // 2
    yield BadFile("groups unasked", wide(P, NAMES, patient=groups), "are related", "group")
    yield BadFile(
        "groups with a gap",
        wide(P, NAMES, patient=np.where(one, "", groups.astype(str))),
        'column "patient", line 5 (row 3): the value is missing',
        chosen={"group": "patient"},
    )
    yield BadFile("groups of no column", wide(P, NAMES), 'a.csv has no column "who"', chosen={"group": "who"})
    yield BadFile(
        "groups of another length",
        npz(probs=P, labels=Y, g=groups[:7]),
        '7 values of "g" for 60 rows',
        filename="a.npz",
        chosen={"group": "g"},
    )
    yield BadFile("metadata of no column", wide(P, NAMES), 'no column "site"', chosen={"metadata": ("site",)})
    yield BadFile("labels of no column", wide(P, NAMES), 'no column "truth"', chosen={"label": "truth"})
    yield BadFile("scores of no column", wide(P, NAMES), 'no column "q"', chosen={"scores": ("q", "p_a")})
    yield BadFile(
        "a score twice",
        wide(P, NAMES),
        "occurs twice",
        chosen={"scores": ("p_a",) * 2},
    )
    yield BadFile("a class twice", wide(P, NAMES), 'class "a" occurs twice', chosen={"classes": ("a", "a", "b")})
    yield BadFile(
        "a name too few", wide(P, NAMES), '"c" is not a class; 22 of 60 rows affected', chosen={"classes": ("a", "b")}
    )
    yield BadFile("names for labels", wide(P, NAMES), "is not a class", chosen={"classes": ("x", "y", "z")})
    yield BadFile(
        "a number for a column", wide(P, NAMES), "weights must be the name of a column", chosen={"weights": 3}
    )
    yield BadFile("a number for columns", wide(P, NAMES), "scores must be a list of names", chosen={"scores": 3})
    yield BadFile("missing is a word", wide(P, NAMES), 'missing is "drop"; choose one of', chosen={"missing": "drop"})
    yield BadFile("a wrong coding", wide(P, NAMES), 'label_coding is "2-based"', chosen={"label_coding": "2-based"})


@family("Several models")
def models() -> Iterator[BadFile]:
    head = "model,id,confidence,correct,label"
    a, b = ("old,1,.7,1,x", "old,2,.6,0,y"), ("new,1,.9,1,x", "new,2,.8,1,y")
    by = {"models": "model", "model": "old"}
    cases: dict[str, tuple[bytes, str, dict[str, Any]]] = {
        "one model": (csv(head, *a), "at least two values", by),
        "no such model": (
            csv(head, *a, *b),
            'but not "best"; choose the model to read',
            {"models": "model", "model": "best"},
        ),
        "none chosen": (csv(head, *a, *b), 'names 2 models, "old", "new"; choose the model', {"models": "model"}),
        "a question twice": (csv(head, *a, *b, "old,2,.5,1,y"), 'has another row for question "2"', by),
        "other questions": (
            csv(head, *a, "new,3,.9,1,x"),
            "no question is answered by all 2 models",
            by | {"question": "id"},
        ),
        "other labels": (
            csv("model,id,p,y", "old,1,.7,1", "old,2,.6,0", "new,1,.9,0", "new,2,.8,0"),
            'but model "old" has "1" for the same question; 1 of 4 rows affected',
            by,
        ),
        "other numbers of rows": (
            csv("model,confidence,correct", "old,.7,1", "old,.6,0", "new,.9,1"),
            "models have different numbers of rows",
            by,
        ),
        "a model without a column": (csv(head, *a), "without a column of model names; choose models", {"model": "old"}),
        "no column of models": (csv(head, *a), 'has no column "who"', {"models": "who", "model": "old"}),
        "samples without questions": (
            csv(head, *a),
            "no single column is recognized as question",
            {"layout": "samples"},
        ),
    }
    for what, (data, says, chosen) in cases.items():
        yield BadFile(what, data, says, chosen=chosen)
