"""Tables of wiki pages, as Jira and Confluence write them: two bars around names, one bar around cells."""

from dataclasses import replace

from calib_core import InputError
from calib_core.readers import file_format
from calib_core.readers.formats.delimited import parse_csv
from calib_core.readers.text_encoding import utf8


@file_format("wiki", "a wiki table", ("wiki",), recognise=lambda data: data.lstrip().startswith(b"||"))
def parse_wiki(data, name):
    """The cells of a wiki table as columns."""
    # Empty lines stay, so that messages name the lines of the page.
    lines = [line.strip().strip(b"|") for line in utf8(data, name).split(b"\n")]
    if not any(lines):
        raise InputError(f"{name} has no names between its bars; save the table again, or as CSV")
    names = next(i for i, line in enumerate(lines) if line)
    lines[names] = lines[names].replace(b"||", b"|")
    return replace(parse_csv(b"\n".join(lines), name), format="wiki")
