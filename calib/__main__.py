"""The command as a module: `python -m calib` is `calib`."""

from dashboard.cli import main

if __name__ == "__main__":
    main(prog_name="calib")
