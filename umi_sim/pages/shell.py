"""The file around a page: a constant document with its script, its style, and the data.

Law 1. The document makes no network requests, and its Content-Security-Policy forbids them.
Law 2. Data is JSON in an element that no browser executes, with every `<`, `>` and `&` escaped.
Law 3. No data is part of the HTML itself: the script turns data into text nodes.
"""

import json
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from typing import Final

MARK: Final = '<meta name="generator" content="umi-sim">'
# `</script>` in a text would end the data element. The two separators are line ends in older JavaScript.
UNSAFE: Final = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def document(script: str, data: Mapping[str, object]) -> str:
    """Return the whole file; `script`: the name of the script that shows the data."""
    style, code = source("page.css"), source("shared.js") + source(script)
    policy = f"default-src 'none'; script-src {digest(code)}; style-src {digest(style)}; img-src data:"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
{MARK}
<meta http-equiv="Content-Security-Policy" content="{policy}; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>umi-sim</title>
<style>{style}</style>
</head>
<body>
<noscript>This page is drawn by a script of its own. It asks no network for anything.</noscript>
<main id="page"></main>
<script type="application/json" id="data">{as_json(data)}</script>
<script>{code}</script>
</body>
</html>
"""


def as_json(data: Mapping[str, object]) -> str:
    """Return JSON in ASCII that cannot begin or end an HTML element."""
    return json.dumps(data, separators=(",", ":")).translate(UNSAFE)


def source(name: str) -> str:
    return files("umi_sim.pages").joinpath(name).read_text("utf-8")


def digest(content: str) -> str:
    """Return the entry of the content policy for the only script, or the only style, of a page."""
    # The browser applies only a script or style with this hash,
    # so it would not run a script that came with the data.
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"
