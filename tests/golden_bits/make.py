"""Golden numbers of the project on fixed data, stored to the last bit: computed, checked, accepted after changes.

``bits.txt`` next to this file has one line per number: its path (subject/data/what) and the shortest decimal that reads
back to the same bits. A decision is its word in quotes, and a refusal is ``!`` and its class. A long array is a hash
with a few of its numbers. Sentences are not stored: what is shown is in ``tests/golden_answers``.

Run at the root of the project::

    python -m tests.golden_bits.make                     # all anew
    python -m tests.golden_bits.make --check             # what moved, by subject, old -> new; exit code 1 if anything
    python -m tests.golden_bits.make --accept estimates/beta compare   # only keys below these prefixes
    python -m tests.golden_bits.make --check --only bins primary       # some subjects

To record a deliberate change: run ``--check`` and read what moved. Verify that nothing else did, then ``--accept`` the
intended prefixes and review the difference of ``bits.txt``. Give the reason in the commit's body, and in CHANGELOG if
users see the numbers. An unintended change is a fault to be found, not accepted.

Bits depend on the versions of NumPy, SciPy and scikit-learn and on the processor. The head of the file has the
fingerprint of its machine. On a machine with the same fingerprint, bits have to be equal. Elsewhere numbers have to
agree to 1e-9 of their size (those from an optimized fit to 1e-6). Decisions and refusals have to be equal, and hashes
are ignored. Linear algebra has one thread, regardless of the environment. With more, sums have another order, and draws
along an eigenvector of a tie differ (``--threads 2 --check`` shows which).
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

FILE = Path(__file__).with_name("bits.txt")
CLOSE, CLOSE_FITTED = 1e-9, 1e-6
FITTED = ("calibrators/", "binary-calibrators/", "choose/", "compare/", "exports/")
"""Subjects whose numbers depend on iterative fits."""
MOST_SHOWN = 12
"""Maximum number of moved numbers printed per subject."""
MOST_LETTERS = 240

Bits = dict[str, str]


def fingerprint() -> Bits:
    """Return the dependencies of bits other than the project: versions, the machine, and NumPy's and BLAS' features."""
    import numpy as np
    import scipy
    import sklearn
    from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

    features = np._core._multiarray_umath.__cpu_features__  # type: ignore[attr-defined]
    kernels = {str(each.get("architecture", "")) for each in threadpool_info() if each.get("user_api") == "blas"}
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "machine": f"{platform.system()} {platform.machine()}",
        "processor": " ".join(sorted(name for name, there in features.items() if there)),
        "blas": " ".join(sorted(kernels)),
    }


def computed(only: Sequence[str] = ()) -> Bits:
    """Return all current numbers, or those of some subjects."""
    from tests.golden_bits import data, subjects

    found: Bits = {}

    def add(lines: Iterable[tuple[str, str]]) -> None:
        for key, value in lines:
            if key in found:
                raise ValueError(f"two numbers are called {key}")
            found[key] = value

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = {name: make() for name, make in data.every().items()}
        add((f"data/{name}", data.data_hash(each)) for name, each in rows.items())
        for subject, (lines, sets) in subjects.OF.items():
            if not only or subject in only:
                for name in sets:
                    add(lines(name, rows[name]))
        if not only or "guarantees" in only:
            add(subjects.promises())
    return found


def read(path: Path = FILE) -> tuple[Bits, Bits]:
    """Return the stored fingerprint and numbers."""
    head: Bits = {}
    bits: Bits = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            name, _, value = line[2:].partition(": ")
            head[name] = value
        elif line:
            key, _, value = line.partition("\t")
            bits[key] = value
    return head, bits


def write(head: Bits, bits: Bits, path: Path = FILE) -> None:
    """Write both as text, in the order of the keys."""
    lines = [f"# {name}: {value}" for name, value in head.items()]
    lines += [f"{key}\t{bits[key]}" for key in sorted(bits)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@dataclass
class Report:
    """Moved numbers: keys with old and new values, and the kind of comparison."""

    exact: bool
    compared: int = 0
    data: list[str] = field(default_factory=list)
    moved: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Return True if nothing moved."""
        return not self.data and not self.moved

    @property
    def text(self) -> str:
        """Return by subject how many moved and the first of them."""
        how = "to the last bit" if self.exact else "to a tolerance (another machine, or other versions)"
        lines = [f"{self.compared:,} lines compared {how}; {len(self.moved):,} differ."]
        if self.data:
            lines.append(f"OTHER DATA, so that other results say nothing: {', '.join(self.data)}")
        by_subject: dict[str, list[tuple[str, str, str]]] = {}
        for each in self.moved:
            by_subject.setdefault(each[0].partition("/")[0], []).append(each)
        for subject, group in by_subject.items():
            lines.append(f"\n{subject}: {len(group):,}")
            lines += [f"  {key}: {_shortened(old)} -> {_shortened(new)}" for key, old, new in group[:MOST_SHOWN]]
            if len(group) > MOST_SHOWN:
                lines.append(f"  ... and {len(group) - MOST_SHOWN:,} more")
        return "\n".join(lines)


def _shortened(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}…"


MISSING = "(none)"


def close_to(key: str) -> float:
    """Return how close a number has to be on another machine."""
    return CLOSE_FITTED if key.startswith(FITTED) else CLOSE


def compare(
    old: Mapping[str, str], new: Mapping[str, str], *, exact: bool, close: Callable[[str], float] = close_to
) -> Report:
    """Return the differences: other values, and keys that only one of the two has."""
    report = Report(exact)
    for key in sorted({*old, *new}):
        before, after = old.get(key, MISSING), new.get(key, MISSING)
        if key.startswith("data/"):
            if before != after:
                report.data.append(key.removeprefix("data/"))
            continue
        report.compared += 1
        if not same(before, after, 0.0 if exact else close(key)):
            report.moved.append((key, before, after))
    return report


def same(old: str, new: str, tolerance: float = 0.0) -> bool:
    """Return True for equal texts; within a tolerance also word by word for close numbers, and any two hashes.

    >>> same("0.1", "0.1"), same("0.1", "0.10000000000000002"), same("0.1", "0.10000000000000002", 1e-9)
    (True, False, True)
    >>> same('"within"', '"too few rows to tell"', 1.0), same("!NotAnswerable", "0.1", 1.0), same("true", "1", 1.0)
    (False, False, False)
    """
    if old == new:
        return True
    if not tolerance or MISSING in (old, new):
        return False
    before, after = old.split(), new.split()
    return len(before) == len(after) and all(map(partial(_close, tolerance), before, after))


def _close(tolerance: float, old: str, new: str) -> bool:
    if old == new or (old.startswith("sha256:") and new.startswith("sha256:")):
        return True
    try:
        a, b = float(old), float(new)
    except ValueError:
        return False
    # Numbers near 0 are differences of shares: there the size is that of a share.
    return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance * 1e-3)


def accepted(old: Mapping[str, str], new: Mapping[str, str], prefixes: Sequence[str], *, end: str = "") -> Bits:
    """Return the old numbers, with the current ones below the prefixes whose keys have this end.

    A prefix is whole parts of a path: "bins/beta" is not above "bins/beta-grouped".

    >>> accepted({"a/b/x": "1", "a/bc": "2", "d": "3"}, {"a/b/y": "4", "a/bc": "5", "d": "6"}, ["a/b"])
    {'a/bc': '2', 'd': '3', 'a/b/y': '4'}
    """

    def below(key: str) -> bool:
        above = any(key == prefix or key.startswith(f"{prefix.rstrip('/')}/") for prefix in prefixes)
        return above and key.endswith(end)

    kept = {key: value for key, value in old.items() if not below(key)}
    return kept | {key: value for key, value in new.items() if below(key)}


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")


@dataclass(frozen=True)
class Net:
    """Golden lines of one kind: the module that makes them, their file, subjects and computation, and tolerances."""

    module: str
    about: str
    file: Path
    subjects: Callable[[], tuple[str, ...]]
    computed: Callable[[Sequence[str]], Bits]
    close: Callable[[str], float]


def _subjects_of_bits() -> tuple[str, ...]:
    from tests.golden_bits import subjects

    return (*subjects.OF, "guarantees")


def main(arguments: Sequence[str] | None = None, net: Net | None = None) -> int:
    """Run the command; return 1 if a checked number moved."""
    net = net or Net(
        "tests.golden_bits.make", str(__doc__).partition("\n")[0], FILE, _subjects_of_bits, computed, close_to
    )
    parser = argparse.ArgumentParser(prog=f"python -m {net.module}", description=net.about)
    parser.add_argument("--check", action="store_true", help="print what moved; nothing is written")
    parser.add_argument("--accept", nargs="+", metavar="PREFIX", help="keep the new lines below these prefixes alone")
    parser.add_argument("--accept-words", nargs="+", metavar="PREFIX", help="keep the new words there, and no numbers")
    parser.add_argument("--threads", type=int, default=1, help="of linear algebra; kept are the numbers of one")
    parser.add_argument("--only", nargs="+", metavar="SUBJECT", help="compute these subjects alone")
    given = parser.parse_args(arguments)
    accepting = given.accept or given.accept_words
    if given.only and not (given.check or accepting):
        parser.error("--only goes with --check or --accept")
    if given.threads != 1 and not given.check:
        parser.error("--threads goes with --check: kept are the numbers of one thread")
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = str(given.threads)  # NumPy, which reads it once, is not loaded yet

    if unknown := set(given.only or ()) - {*net.subjects()}:
        parser.error(f"no subject is called {', '.join(sorted(unknown))}; there are {', '.join(net.subjects())}")
    now, new = fingerprint(), net.computed(given.only or ())
    crashed = [key for key, value in new.items() if value.startswith("!! ")]
    if crashed and not given.check:
        say(f"{len(crashed):,} of the numbers could not be made, so that nothing is kept; the first: {crashed[0]}")
        return 1
    if not given.check and not accepting:
        write(now, new, net.file)
        say(f"{len(new):,} lines written to {net.file}")
        return 0
    head, old = read(net.file)
    others: Bits = {}
    if given.only:
        others = {key: value for key, value in old.items() if _subject(key) not in {*given.only, "data"}}
        old = {key: value for key, value in old.items() if key in new or key not in others}
    report = compare(old, new, exact=head == now, close=net.close)
    if given.check:
        say(report.text)
        return 0 if report.ok else 1
    if head != now:
        say("These bits are of another machine or other versions: accepting some would mix two; make them anew.")
        return 1
    after = accepted(old, new, given.accept or ())
    after = accepted(after, new, given.accept_words or (), end="/words")
    write(head, others | after, net.file)
    left = compare(after, new, exact=True)
    changed = len(compare(old, after, exact=True).moved)
    say(f"{changed:,} lines accepted; {len(left.moved):,} others differ still.")
    return 0


def _subject(key: str) -> str:
    return key.partition("/")[0]


if __name__ == "__main__":
    sys.exit(main())
