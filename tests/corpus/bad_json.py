"""JSON Lines: content that other readers accept, and lines that do not fit together."""

from __future__ import annotations

from collections.abc import Iterator

from tests.corpus.bad_files import BadFile, family

GOOD = '{"probs": [0.7, 0.3], "label": 0}'


@family("JSON Lines")
def json_lines() -> Iterator[BadFile]:
    invalid = 'is not valid JSON; write one object per line, such as {"probs": [0.7, 0.3], "label": 0}'
    second: dict[str, tuple[str, str]] = {
        "cut off": ('{"probs": [0.7, ', "a.jsonl, line 2 " + invalid),
        "single quotes": ("{'probs': [0.7, 0.3], 'label': 0}", "line 2 " + invalid),
        "a comma at the end": ('{"probs": [0.7, 0.3], "label": 0,}', invalid),
        "a comment": ("// made by x", invalid),
        "two objects": (GOOD + GOOD, invalid),
        "a number": ("17", "a.jsonl, line 2 is not an object; write one object per line"),
        "a list": ("[0.7, 0.3, 0]", "line 2 is not an object"),
        "null": ("null", "line 2 is not an object"),
        "text": ('"hello"', "line 2 is not an object"),
        "NaN": ('{"probs": [NaN, 0.3], "label": 0}', "line 2 (row 1): the value is missing; 1 of 2 rows affected"),
        "Infinity": ('{"probs": [Infinity, 0.3], "label": 0}', "line 2 (row 1): inf is infinite; 1 of 2 rows affected"),
        "1e999": ('{"probs": [1e999, 0.3], "label": 0}', '"1e999" is too large for a number'),
        "5,000 digits": ('{"probs": [0.7, 0.3], "label": ' + "9" * 5000 + "}", "an integer with too many digits"),
        "a key twice": (
            '{"probs": [0.7, 0.3], "label": 0, "label": 1}',
            'key "label" occurs twice',
        ),
        "a key missing": ('{"probs": [0.7, 0.3]}', 'has no "label"; every line needs the keys of the first'),
        "a key more": ('{"probs": [0.7, 0.3], "label": 0, "x": 1}', 'has "x", which the first line does not have'),
        "other keys": ('{"p": [0.7, 0.3], "y": 0}', "every line needs the keys of the first"),
        "a shorter list": ('{"probs": [1.0], "label": 0}', "has 1 values instead of 2"),
        "a longer list": ('{"probs": [0.5, 0.3, 0.2], "label": 0}', "every row needs one value per class"),
        "an empty list": ('{"probs": [], "label": 0}', "is an empty list"),
        "texts in the list": ('{"probs": ["0.7", "0.3"], "label": 0}', "lists may contain only numbers"),
        "yes and no in the list": ('{"probs": [true, false], "label": 0}', "lists may contain only numbers"),
        "a list in the list": ('{"probs": [[0.7], [0.3]], "label": 0}', "lists may contain only numbers"),
        "an object inside": ('{"probs": {"a": 0.7}, "label": 0}', "contains an object"),
        "text where a number was": ('{"probs": [0.7, 0.3], "label": "a"}', "text, but earlier lines have a number"),
        "a number where a list was": ('{"probs": 0.7, "label": 0}', "a number, but earlier lines have a list"),
        "true where a number was": ('{"probs": [0.7, 0.3], "label": true}', "true or false, but earlier lines have"),
        "null for the list": (
            '{"probs": null, "label": 0}',
            'a.jsonl: key "probs" is null on some lines',
        ),
        "null in the list": ('{"probs": [null, 0.3], "label": 0}', "the value is missing; 1 of 2 rows affected"),
        "null for the label": ('{"probs": [0.7, 0.3], "label": null}', "the value is missing; 1 of 2 rows affected"),
        "half a surrogate pair": (
            '{"probs": [0.7, 0.3], "label": "\\ud800"}',
            "text, but earlier lines have a number",
        ),
        "nested 200,000 deep": ("[" * 200_000, "line 2 is nested too deeply"),
        "an integer of 400 digits": (
            '{"probs": [1' + "0" * 400 + ', 0.3], "label": 0}',
            "an integer that is too large",
        ),
    }
    for what, (line, says) in second.items():
        yield BadFile(what, f"{GOOD}\n{line}\n".encode(), says, filename="a.jsonl")
    whole: dict[str, tuple[bytes, str]] = {
        "objects without keys": (b"{}\n{}\n", "a.jsonl has no keys"),
        "an empty key": (b'{"": 1}\n', "a key is empty or has more than 256 characters; rename it"),
        "a key of 300": (b'{"' + b"x" * 300 + b'": 1}\n', "a key is empty or has more than 256 characters"),
        "5,000 keys": (
            b"{" + b",".join(b'"k%d":1' % i for i in range(5000)) + b"}\n",
            "has 5,000 keys; the maximum is 4,096",
        ),
        "a line of 9 MB": (b'{"x": "' + b"x" * (9 << 20) + b'"}\n', "line 1 is longer than 8 MB; put one JSON object"),
        "text of 200,000": (b'{"x": "' + b"x" * 200_000 + b'"}\n', "text of more than 131,072 characters"),
        "no scores": (b'{"label": 0}\n', "no columns are recognized as scores"),
        "no labels": (b'{"probs": [0.7, 0.3]}\n', "no column is recognized as the labels"),
        "half a letter": ('{"probs": [0.7, 0.3], "label": "é'.encode()[:-1], "line 1: byte 0xC3 is not UTF-8 text"),
        "a NUL": (b'{"probs": [0.7, 0.3], "label": "\0"}\n', "line 1: a NUL byte"),
        "a pretty object": (b'{\n "probs": [0.7, 0.3],\n "label": 0\n}\n', "line 1 " + invalid),
        "5,000 values": (
            b'{"probs": [' + b"0," * 4999 + b'1], "label": 0}\n',
            "has 5,000 values; the maximum is 4,096",
        ),
        "an empty list first": (b'{"probs": [], "label": 0}\n', "is an empty list"),
        "half a surrogate pair first": (b'{"p": 0.5, "y": "\\ud800"}\n', "contains half of a surrogate pair"),
    }
    for what, (data, says) in whole.items():
        yield BadFile(what, data, says, filename="a.jsonl")
