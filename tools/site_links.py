"""A hook of mkdocs: replaces links out of docs/, into the source, by their text.

The site contains only the pages; in a checkout and on a code host these links work.
"""

import posixpath
import re
from typing import Any

OUTSIDE = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#:\s]+)(#[^)]*)?\)")


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """Return the page without links that leave docs/ or lead to a folder."""
    here = posixpath.dirname(page.file.src_uri)

    def shown(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(here, found[2]))
        leaves = target.startswith("../") or found[2].endswith("/")
        return found[1] if leaves else found[0]

    return OUTSIDE.sub(shown, markdown)
