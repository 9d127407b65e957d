"""The script beside this one that the link names: one server runs them all."""

import runpy
from pathlib import Path

import streamlit as st

if __name__ == "__main__":  # a mere import, as for a search for doctests, has no link
    runpy.run_path(str(Path(__file__).with_name(st.query_params["script"])))
