"""Settings that ship with the dashboard, read as Streamlit reads them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit import config

APP = Path(__file__).parents[2] / "dashboard" / "app.py"

SHIPPED = {
    "server.address": "localhost",
    "server.allowedHosts": ["localhost", "127.0.0.1"],
    "server.enableCORS": True,
    "server.enableXsrfProtection": True,
    "server.enableStaticServing": False,
    "server.maxUploadSize": 1024,
    "server.maxMessageSize": 50,
    "server.disconnectedSessionTTL": 10,
    "server.maxCacheDataSize": "256mb",
    "server.fileWatcherType": "none",
    "server.showEmailPrompt": False,
    "runner.postScriptGC": False,
    "client.showErrorDetails": "none",
    "client.showErrorLinks": False,
    "client.toolbarMode": "minimal",
    "client.disableDataExport": True,
    "browser.gatherUsageStats": False,
    "theme.light.primaryColor": "#00598c",
    "theme.dark.primaryColor": "#6cb8e6",
}


@pytest.fixture(scope="module")
def loaded() -> Iterator[dict[str, Any]]:
    """Yield Streamlit's options as `streamlit run dashboard/app.py` sees them."""
    before = config._main_script_path
    config._main_script_path = str(APP)
    yield dict(config.get_config_options(force_reparse=True))
    config._main_script_path = before
    config.get_config_options(force_reparse=True)


@pytest.mark.parametrize(("name", "value"), SHIPPED.items())
def test_a_setting_ships(loaded: dict[str, Any], name: str, value: object) -> None:
    assert loaded[name].value == value
    assert loaded[name].where_defined == str(APP.parent / ".streamlit" / "config.toml")


def test_nothing_ships_unasserted(loaded: dict[str, Any]) -> None:
    shipped = {
        name for name, option in loaded.items() if option.where_defined.endswith("dashboard/.streamlit/config.toml")
    }
    assert shipped == set(SHIPPED)


def test_no_font_comes_from_outside(loaded: dict[str, Any]) -> None:
    fonts = [option.value for name, option in loaded.items() if name.lower().endswith(("font", "fontfaces"))]
    assert not any(fonts)
