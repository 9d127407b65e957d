"""Worker processes of the server: long computations run there, so that pages stay responsive."""
