"""The examples register themselves when they are imported: only a process that wants them may collect them."""

import os

collect_ignore_glob = ["files/*"] if "CALIB_EXTENSION" in os.environ else ["files/*", "in_use.py"]
