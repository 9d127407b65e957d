"""Without the extra `docs`, the page builder is not available."""

from importlib.util import find_spec

NEEDED = ("pdoc", "latex2mathml", "mkdocs", "matplotlib")
collect_ignore = [] if all(map(find_spec, NEEDED)) else ["api_pages.py", "build.py", "reference.py", "simulated.py"]
