"""One agent hands its work to another, in a session that both may load."""

import json

from umi_live import open_blocking

FILE = "handoff.db"
CHAT = [{"role": "user", "content": "Who owns the Lisbon text?"}, {"role": "assistant", "content": "Eve."}]

with open_blocking(FILE, user="ann", agent="researcher") as researcher:
    session_id = researcher.create_session()
    researcher.set("draft", b"Lisbon has seven hills.", ttl_ms=3_600_000)
    researcher.remember("Eve likes short texts.")
    private = researcher.remember("Ann is tired of Eve.").value.entities[0].id
    researcher.memorize(json.dumps(CHAT), modality="conversation", session_id=session_id)
    researcher.save_session(hand_to=["writer"], carries=["keys", "messages", "facts"])
    researcher.forget(private)  # so the writer is not told

with open_blocking(FILE, user="ann", agent="writer") as writer:
    loaded = writer.load_session(session_id)
    print("the draft:", writer.get("draft").decode())
    print("the last message:", loaded.turns[-1].text)
    print("told besides:", [it.content for it in writer.facts("Eve")])
    print("What does she like?", "->", writer.recall("What does she like?")[0].content)
