"""ARFF, as Weka and OpenML write it: a header that names the attributes, then rows as in CSV."""

import re
from dataclasses import replace

from calib_core import InputError
from calib_core.readers import file_format
from calib_core.readers.formats.delimited import parse_csv
from calib_core.readers.text_encoding import utf8

START = re.compile(rb"(?:\s|%[^\n]*\n)*@relation\s", re.IGNORECASE)
NAME = re.compile(rb"^@attribute\s+(?:'([^'\n]*)'|\"([^\"\n]*)\"|(\S+))", re.IGNORECASE | re.MULTILINE)
ROWS = re.compile(rb"^@data[^\n]*\n", re.IGNORECASE | re.MULTILINE)


@file_format("arff", "ARFF", ("arff",), recognise=lambda data: START.match(data[:4096]) is not None)
def parse_arff(data, name):
    """The attributes of an ARFF file as columns."""
    text = utf8(data, name)
    mark = ROWS.search(text)
    if mark is None:
        raise InputError(f"{name} has no line @data, after which its rows would stand; save it again, or as CSV")
    names = [b'"%s"' % b"".join(quoted).replace(b'"', b'""') for quoted in NAME.findall(text, 0, mark.start())]
    # Empty lines in place of the header keep the numbers of the lines, which messages name.
    lines = b"\n" * text.count(b"\n", 0, mark.start())
    return replace(parse_csv(lines + b",".join(names) + b"\n" + text[mark.end() :], name), format="arff")
