"""Optional extra of this package that installs a missing dependency of a command."""

from __future__ import annotations

_EXTRAS = {"streamlit": "app", "plotly": "app", "PIL": "app", "jinja2": "app", "orjson": "app", "onnx": "onnx",
           "pyarrow": "parquet", "duckdb": "duckdb", "distributed": "dask", "h5py": "h5",
           "python_calamine": "excel", "pyreadstat": "stats", "docx": "word"}  # fmt: skip


def missing(why: BaseException) -> str | None:
    """Return one sentence on what to install, if an error is due to a missing package of an extra; otherwise None.

    >>> missing(ModuleNotFoundError("No module named 'streamlit.web'", name="streamlit.web"))
    'this needs streamlit, which is not installed; run: pip install "calib[app]"'
    >>> missing(ModuleNotFoundError("No module named 'no_such'", name="no_such")) is missing(ValueError("x")) is None
    True
    """
    name = (why.name or "").partition(".")[0] if isinstance(why, ImportError) else ""
    if name not in _EXTRAS:
        return None
    return f'this needs {name}, which is not installed; run: pip install "calib[{_EXTRAS[name]}]"'
