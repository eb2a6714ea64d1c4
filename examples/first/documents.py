"""Keeps documents and answers from them: python documents.py FILE... -- QUESTION..."""

import sys
from pathlib import Path

from umi_live import open_blocking

names, questions = sys.argv[1:], []
if "--" in names:
    names, questions = names[: names.index("--")], names[names.index("--") + 1 :]

with open_blocking("documents.db", user="ann", agent="library") as memory:
    for name in names:  # the same document again changes nothing; a newer one takes its place
        kept = memory.memorize(Path(name).read_text(), modality="document", uri=Path(name).name)
        print(f"{name}: {kept.value.change}, {len(kept.value.entities)} facts")
    for question in questions:
        for hit in memory.search(question).value.hits:
            print(f"{hit.level}: {hit.text}")
