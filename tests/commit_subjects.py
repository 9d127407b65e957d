"""Subjects of commits since the last release: imperative, at most 72 characters. Part of `make lint`.

Usage: python -m tests.commit_subjects [FOLDER]. The last release is the last tag, or else the last commit that wrote a
release into CHANGELOG.md. A shallow clone shows fewer commits; then those, and at least the newest one, are checked.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

LONGEST = 72
NO_VERBS = {"a", "an", "the", "this", "that", "what", "which", "how", "why", "every", "no", "wip"}
IMPERATIVE = {"bring", "embed", "focus", "ping", "string", "bias", "canvas"}
"""Imperatives that end like other forms, in addition to those in -ss (pass, process) and -eed (feed, proceed)."""


def complaints(subject: str) -> Iterator[str]:
    """Yield the faults in the subject of a commit.

    >>> list(complaints("Separate outlets by semicolons"))
    []
    >>> list(complaints("Fixed the outlets."))
    ['"Fixed" is not an imperative', 'it ends in a period']
    """
    if len(subject) > LONGEST:
        yield f"it has {len(subject)} characters, {LONGEST} at most"
    first = subject.split(" ")[0]
    if not _may_be_imperative(first.lower()):
        yield f'"{first}" is not an imperative'
    elif not first[:1].isupper():
        yield f'"{first}" has no capital'
    if subject.endswith("."):
        yield "it ends in a period"


def _may_be_imperative(word: str) -> bool:
    if word in IMPERATIVE or word.endswith(("ss", "eed")):
        return True
    return word.isalpha() and word not in NO_VERBS and not word.endswith(("ed", "ing", "s"))


def subjects(folder: Path) -> list[str]:
    """Return subjects since the last release, newest first, at least the newest commit; none without git."""
    try:
        return _log(folder, f"{_last_release(folder)}..HEAD") or _log(folder, "-1")
    except (OSError, subprocess.CalledProcessError):
        return []


def _last_release(folder: Path) -> str:
    try:
        return _git(folder, "describe", "--tags", "--abbrev=0").strip()
    except subprocess.CalledProcessError:
        heading = r"^## [0-9]+\.[0-9]+\.[0-9]+ - "
        # If a clone is shallow, its oldest commit looks as if it had written the whole file.
        return _git(folder, "log", "-1", "--format=%H", "-G", heading, "--", "CHANGELOG.md").strip() or "HEAD"


def _log(folder: Path, *commits: str) -> list[str]:
    return _git(folder, "log", "--no-merges", "--format=%s", *commits).splitlines()


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, check=True, text=True, encoding="utf-8").stdout


def main(folder: Path) -> int:
    wrong = [f"{subject}: {what}" for subject in subjects(folder) for what in complaints(subject)]
    sys.stderr.write("".join(f"commit subject: {line}\n" for line in wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
