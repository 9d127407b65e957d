"""The examples register themselves on import: only a process that needs them may collect them."""

import os

collect_ignore_glob = ["files/*"] if "CALIB_EXTENSION" in os.environ else ["files/*", "in_use.py"]
