"""The command under the library's name: `python -m calib_core` is `calib`."""

import runpy

if __name__ == "__main__":
    runpy.run_module("calib", run_name="__main__", alter_sys=True)
