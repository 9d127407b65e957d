"""Gates: decisions whether a model passes, by a limit or a baseline."""
