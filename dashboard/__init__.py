"""The dashboard: a Streamlit frame around `calib_core`, and the `calib` command."""
