"""Store the results of the held-back experiments in the package (`make arena-kept`, after `make arena`)."""

import sys
from pathlib import Path

from calib_core.arena.project_results import write_project_results

if __name__ == "__main__":
    write_project_results(Path(sys.argv[1]))
