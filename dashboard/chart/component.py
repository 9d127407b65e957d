"""Registration of the chart component with the running Streamlit server.

Two asset directories are declared: our own scripts with the small bundle of plotly.js, and the installed plotly
package. The latter has the full plotly.js, for figures with traces other than lines, marks and bars. Streamlit serves
both under `/_stcore/bidi-components/`, so that static file serving stays off. A page fetches plotly.js once, for any
number of charts, and the module `dashboard.chart.page_head` lets browsers cache it.
"""

from functools import cache
from pathlib import Path
from typing import Any

import plotly
import streamlit as st

_CHART = "calib.chart"


def renderer() -> Any:
    """Return the function that mounts a chart, after declaring its assets to this server.

    Raises any error that Streamlit raises if its component interface differs from that of the pinned release.
    """
    declare_assets()
    return _renderer()


@cache
def _renderer() -> Any:
    return st.components.v2.component(_CHART, js="chart.js", isolate_styles=False)


def declare_assets() -> None:
    """Declare the component's asset directories to the running server; raises like `renderer`."""
    # Private API, so that an uninstalled checkout works like an installed wheel. The public way is a manifest in the
    # pyproject.toml of an installed distribution, and plotly's wheel has none.
    from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
    from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest

    manager = get_bidi_component_manager()
    if manager.get_component_asset_root(_CHART) is not None:
        return
    for name, assets, package in (
        ("plotly", "package_data", Path(plotly.__file__).parent),
        ("chart", "assets", Path(__file__).parent),
    ):
        manifest = ComponentManifest("calib", plotly.__version__, [ComponentConfig(name, assets)])
        manager.register_from_manifest(manifest, package)
