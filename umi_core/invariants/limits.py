"""The limits as rules know them: those of docs/spec/memory.md, written a second time.

A rule that asked umi_core.limits would take a wrong number there for the right one, as the memory does.
"""

from typing import Final

# Core tier.
BLOCK_BYTES_MAX: Final = 16_384
BLOCK_LABEL_BYTES_MAX: Final = 64
BLOCK_COUNT_MAX: Final = 32
ENTRY_TEXT_BYTES_MAX: Final = 1_024
SELF_ENTRY_COUNT_MAX: Final = 8
SELF_SHARE_PPM: Final = 250_000

# Working tier.
WORKING_VALUE_BYTES_MAX: Final = 65_536
WORKING_KEY_BYTES_MAX: Final = 256
TTL_MS_MAX: Final = 604_800_000

# Snapshots and sessions.
SESSION_MEMBER_COUNT_MAX: Final = 16

# Values.
SCOPE_PART_BYTES_MAX: Final = 128
OP_ID_BYTES_MAX: Final = 128
REQUEST_KEY_BYTES_MAX: Final = 256
ENTITY_NAME_BYTES_MAX: Final = 256
ENTITY_CONTENT_BYTES_MAX: Final = 100_000
ENTITY_VERSION_COUNT_MAX: Final = 100
ENTITY_FACTS_BYTES_MAX: Final = 4_000
METADATA_COUNT_MAX: Final = 100
METADATA_BYTES_MAX: Final = 256
RELATION_COUNT_MAX: Final = 100
RELATION_REASON_BYTES_MAX: Final = 1_024
I64_MIN: Final = -(2**63)
I64_MAX: Final = 2**63 - 1
PPM: Final = 1_000_000

# Requests.
TEXT_BYTES_MAX: Final = 100_000
QUERY_BYTES_MAX: Final = 10_000
RECALL_LIMIT_MAX: Final = 100
TURN_COUNT_MAX: Final = 10
TURN_CHARS_MAX: Final = 500
OP_COUNT_MAX: Final = 64

# Model, embedder, storage.
REPLY_BYTES_MAX: Final = 50_000
JSON_DEPTH_MAX: Final = 32
JSON_START_COUNT_MAX: Final = 64
JSON_NUMBER_CHARS_MAX: Final = 40
EXTRACT_ENTITY_COUNT_MAX: Final = 50
EXTRACT_LINK_COUNT_MAX: Final = 100
EXTRACT_CONTENT_BYTES_MAX: Final = 1_000
EMBED_TEXT_BYTES_MAX: Final = 8_000
COMPONENT_MAX: Final = 127
BACKOFF_MS_MIN: Final = 100
BACKOFF_MS_MAX: Final = 5_000
RETRY_AFTER_MS_MAX: Final = 3_600_000
PLAN_COUNT_MAX: Final = 3
RECEIPT_MS_MAX: Final = 86_400_000

# Access, promotion, search.
ACCESS_RECORD_COUNT_MAX: Final = 10_000
ACCESS_PRUNE_MS: Final = 7_776_000_000
SCAN_COUNT_MAX: Final = 100
DAY_MS: Final = 86_400_000
RESOLVE_CACHE_COUNT_MAX: Final = 256
RESOLVE_CACHE_MS: Final = 300_000
EVOLVE_CANDIDATE_COUNT_MAX: Final = 5
EVOLVE_PAIR_COUNT_MAX: Final = 20

# The workflow engine.
