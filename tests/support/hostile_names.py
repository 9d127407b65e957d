"""Names of classes that a page could take for markup."""

HOSTILE = ['<a href="https://x.example">a</a>', "<b>b</b>", "%{x} c"]
