"""The folder's own modules are found by name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
