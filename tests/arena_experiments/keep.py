"""Store the results of the held-back experiments in the package (`make arena-kept`, after `make arena`)."""

import sys
from collections.abc import Sequence
from pathlib import Path

from calib_core.arena.stored_results import write_project_results


def main(arguments: Sequence[str]) -> None:
    write_project_results(Path(arguments[0]))


if __name__ == "__main__":
    main(sys.argv[1:])
