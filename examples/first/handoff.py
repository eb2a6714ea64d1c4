"""One agent hands its work to another, in a session that both may load."""

from umi_live import open_blocking

FILE = "handoff.db"

with open_blocking(FILE, user="ann", agent="researcher") as researcher:
    session_id = researcher.create_session()
    researcher.set("draft", b"Lisbon has seven hills.", ttl_ms=3_600_000)
    researcher.remember("Ann wants short texts.")
    researcher.save_session(hand_to=["writer"])

with open_blocking(FILE, user="ann", agent="writer") as writer:
    writer.load_session(session_id)
    print("the draft:", writer.get("draft").decode())
    print("facts of its own:", writer.count())  # facts belong to the agent that was told
