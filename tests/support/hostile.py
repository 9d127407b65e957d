"""Names of classes that try to be markup."""

NAMES = [
    "cat",
    "<b>cat</b>",
    '<a href="https://example.org">x</a>',
    '<span style="fill:url(http://example.org)">x</span>',
    "<extra></extra>",
    "&amp;",
    "![x](http://example.org/x.png)",
    "[x](https://example.org)",
    "https://example.org/x?a=b",
    "www.example.org",
    "someone@example.org",
    "ftp://example.org",
    ":red[x] :material/home: :smile:",
    "$\\frac{1}{2}$",
    "# 1. - * > `x`",
    "a|b",
    "back\\slash",
    "~~x~~ __y__ **z**",
    "ünï – 猫",
]
