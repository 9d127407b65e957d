"""View of exhibits of extension packages that none of their own views shows."""

from __future__ import annotations

import streamlit as st

from dashboard import session, widgets
from dashboard.exhibits import added, broken
from dashboard.navigation import VIEWS, view
from dashboard.theme import markdown_plain
from dashboard.views.on_request import on_request
from dashboard.views.workspace import workspace


def unseen() -> dict[str, tuple[str, ...]]:
    """Return the keys of the exhibits of extension packages that no view shows, by package."""
    seen = {key for each in VIEWS.values() for key in each.shows}
    packages = {package: tuple(key for key in keys if key not in seen) for package, keys in added().items()}
    return {package: keys for package, keys in packages.items() if keys}


def missing() -> str:
    """Return why the view would be empty."""
    return "" if unseen() else "No extension package adds a figure or table"


@view("added", "Added", 90, missing=missing, rare=True)
def render() -> None:
    """Draw the view for the current choices."""
    if not unseen():
        st.info(f"{missing()}.")
        return
    scene = session.scene_of(widgets.selection())
    with workspace(scene):
        for package, keys in unseen().items():
            st.markdown(f"### {markdown_plain(f'Added by {package}')}")
            for key in keys:
                try:
                    on_request(key, scene)
                except Exception as why:  # of other people's code
                    st.error(markdown_plain(broken(package, why)), icon=":material/error:")
    widgets.refusals(scene.models.failed)
