"""Without the extra `docs` there is nothing to build pages with."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("pdoc") and find_spec("latex2mathml") else ["api_pages.py"]
