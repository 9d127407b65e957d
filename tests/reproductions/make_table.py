"""Runner of every reproduction at full size, which stores the results: about half an hour on one core.

Run `python tests/reproductions/make_table.py [KEY ...] [--quick]` with the package installed. It writes the package's
table (calib_core/papers/reproductions/table.tsv) entry by entry and, for readers, tests/reproductions/table.md. Entries
whose version is already in the table are skipped: interrupt it and run it again, or delete lines to recompute them.
Each KEY is always recomputed.
"""

import sys
import time
from pathlib import Path

import pandas as pd

from calib_core.papers.reproductions import REPRODUCTIONS
from calib_core.papers.reproductions.gallery import KEPT, page, read_kept, reproduced, write_kept

ROOT = Path(__file__).parents[2]
TABLE, PAGE = ROOT / "calib_core/papers/reproductions/table.tsv", Path(__file__).parent / "table.md"


def main(arguments):
    quick = "--quick" in arguments
    chosen = [key for key in arguments if not key.startswith("--")]
    table = read_kept(TABLE.read_text("utf-8")) if TABLE.exists() else pd.DataFrame(columns=list(KEPT))
    here = [entry for entry in REPRODUCTIONS.values() if not entry.needs]
    for i, entry in enumerate(here, 1):
        mine = table["key"] == entry.key
        if entry.key not in chosen and (chosen or (table.loc[mine, "version"] == entry.version).any()):
            continue
        start = time.process_time()
        name = f"{i}/{len(here)} {entry.key}"
        found = reproduced(entry.key, quick, lambda percent, name=name: sys.stdout.write(f"\r{name} {percent} %  "))
        seconds = time.process_time() - start
        sys.stdout.write(f"\r{name}: {found['within'].sum()} of {len(found)} agree, {seconds:.0f} s\n")
        found = found.assign(version=entry.version, size="quick" if quick else "full", seconds=seconds)
        parts = dict(list(table[~mine].groupby("key"))) | {entry.key: found}
        table = pd.concat([parts[key] for key in REPRODUCTIONS if key in parts], ignore_index=True)
        TABLE.write_text(write_kept(table), "utf-8")
    PAGE.write_text(page(read_kept(write_kept(table))), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
