"""A hook of mkdocs: links that lead out of docs/, into the source, are shown as what they name.

A site holds the pages alone; in a checkout and on a code host the same links work as they are.
"""

import posixpath
import re
from typing import Any

OUTSIDE = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#:\s]+)(#[^)]*)?\)")


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """The page without links that leave the folder, or that name a folder."""
    here = posixpath.dirname(page.file.src_uri)

    def shown(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(here, found[2]))
        leaves = target.startswith("../") or found[2].endswith("/")
        return found[1] if leaves else found[0]

    return OUTSIDE.sub(shown, markdown)
