"""The commands of `calib`, one file each: a module defines one `click.Command` named `command`.

Heavy imports belong inside the function, so that `calib --help` stays quick.
"""
