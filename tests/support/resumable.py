"""Interruptible tables of simulated lines: existing lines are reused, missing ones computed in any order."""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd


@dataclass(frozen=True)
class LineTable:
    """CSV file whose first ``named_by`` columns name a line; ``explained`` are its comment lines."""

    head: str
    named_by: int
    explained: str

    def read(self, file):
        """Return the existing lines, by their names; none if the file has other columns."""
        text = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        lines = [line for line in text if line and not line.startswith("#")]
        if lines[:1] != [self.head]:
            return {}
        return {",".join(line.split(",")[: self.named_by]): line for line in lines[1:]}

    def frame(self, file):
        """Return the lines as a frame; purely numeric columns become numbers."""
        lines = [line.split(",") for line in self.read(file).values()]
        table = pd.DataFrame(lines, columns=self.head.split(",")).replace("", None)
        for name in table:
            try:
                table[name] = pd.to_numeric(table[name])
            except ValueError:
                continue
        return table

    def write(self, file, lines, order):
        """Write the table atomically, in the given order of names."""
        aside = file.with_suffix(".part")
        kept = "".join(f"{lines[name]}\n" for name in order if name in lines)
        aside.write_text(f"{self.explained}{self.head}\n{kept}", encoding="utf-8")
        aside.replace(file)

    def make(self, file, cases, work, minutes=60.0, processes=1):
        """Compute the missing lines of cases, in their order, until the minutes are over; True if all exist.

        A case has ``names`` (of its lines) and a ``note``; ``work(case)`` gives its lines. A case that fails is
        reported and does not affect the others.
        """
        lines, order, start = self.read(file), [name for case in cases for name in case.names], time.monotonic()
        missing = [case for case in cases if set(case.names) - set(lines)]
        complete = True
        with ProcessPoolExecutor(processes) as pool:
            for first in range(0, len(missing), processes):
                spent = time.monotonic() - start
                if spent > 60 * minutes:
                    sys.stderr.write("\nthe minutes are over: run it again to go on\n")
                    complete = False
                    break
                part = missing[first : first + processes]
                _progress(first, len(missing), spent / 60, part[0].note)
                for case, (new, wrong) in zip(part, pool.map(partial(_tried, work), part), strict=True):
                    if wrong:
                        sys.stderr.write(f"\nfailed: {case.note}: {wrong}\n")
                        complete = False
                    lines |= zip(case.names, new, strict=not wrong)
                self.write(file, lines, order)
        sys.stderr.write("\n")
        return complete


def _progress(done, of, minutes, note):
    left = minutes / max(done, 1) * (of - done)
    sys.stderr.write(f"\r\x1b[K{done} of {of}, {minutes:.1f} min, about {left:.0f} to go; {note}")
    sys.stderr.flush()


def _tried(work, case):
    try:
        return work(case), ""
    except Exception as why:  # reported by make
        return [], f"{type(why).__name__}: {why}"


def command(doc, table, cases, work, faults, file):
    """Return the command of a simulation: compute missing lines and check all, or only check.

    ``faults(frame)`` gives sentences on what the table shows against the promise. Ends with 1 if there are any, or if
    lines are missing after making them.
    """
    asks = argparse.ArgumentParser(description=doc.split("\n")[0])
    asks.add_argument("--minutes", type=float, default=60.0, help="stop after so many")
    asks.add_argument("--processes", type=int, default=1)
    asks.add_argument("--only", default="", metavar="TEXT", help="only cases whose note holds this")
    asks.add_argument("--out", type=Path, default=file, help="another file")
    asks.add_argument("--check", action="store_true", help="make nothing, look at the table as it is")
    asks.add_argument("--count", action="store_true", help="say how many lines there are to make")
    given = asks.parse_args()
    wanted = [case for case in cases if given.only in case.note]
    if given.count:
        sys.stdout.write(f"{len(wanted)} cases, {sum(len(case.names) for case in wanted)} lines\n")
        sys.exit(0)
    complete = given.check or table.make(given.out, wanted, work, given.minutes, given.processes)
    frame = table.frame(given.out)
    said = faults(frame) if len(frame) else [f"{given.out}: no lines of this table"]
    sys.stdout.write("".join(f"{line}\n" for line in said))
    sys.stdout.write(f"{len(frame)} lines, {len(said)} faults\n")
    sys.exit(0 if complete and not said else 1)
