"""Every bound of the memory, named with its unit and checked against the others at import."""

from typing import Final

# Core tier.
CORE_BYTES_MIN: Final = 4_096
CORE_BYTES_MAX: Final = 32_768
BLOCK_BYTES_MAX: Final = 16_384
BLOCK_LABEL_BYTES_MAX: Final = 64
BLOCK_COUNT_MAX: Final = 32
CORE_ENTRY_COUNT_MAX: Final = 50
ENTRY_TEXT_BYTES_MAX: Final = 1_024
SELF_ENTRY_COUNT_MAX: Final = 8
# Entries about the agent itself are never evicted for others, so they get at most a quarter of core.
SELF_SHARE_PPM: Final = 250_000

# Working tier.
WORKING_BYTES_MAX: Final = 1_048_576
WORKING_VALUE_BYTES_MAX: Final = 65_536
WORKING_KEY_BYTES_MAX: Final = 256
WORKING_ENTRY_COUNT_MAX: Final = 10_000
TTL_MS_MIN: Final = 1
# A week. The default is an hour.
TTL_MS_MAX: Final = 604_800_000
NOW_MS_MAX: Final = 2**53 - 1  # exact in every language; sums with it fit in 64 bits
TTL_MS_DEFAULT: Final = 3_600_000

# Snapshots and sessions.
SNAPSHOT_BYTES_MAX: Final = 2_097_152
SESSION_TEXT_BYTES_MAX: Final = 200
SESSION_NAMES_BYTES_MAX: Final = 4_096
SESSION_MEMBER_COUNT_MAX: Final = 16
SESSION_FACT_COUNT_MAX: Final = 100  # the last facts of a session, which a save can carry

# Values.
SCOPE_PART_BYTES_MAX: Final = 128
OP_ID_BYTES_MAX: Final = 128
REQUEST_KEY_BYTES_MAX: Final = 256
ENTITY_NAME_BYTES_MAX: Final = 256
ENTITY_CONTENT_BYTES_MAX: Final = 100_000
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
CURSOR_BYTES_MAX: Final = 1_024
TURN_COUNT_MAX: Final = 10
TURN_CHARS_MAX: Final = 500
OP_COUNT_MAX: Final = 64
EFFECTS_PER_STEP_MAX: Final = 256
# A request_id is life * 2**32 + n, so two incarnations restored from one memory never use the same id.
LIFE_MAX: Final = 2**20 - 1
LIFE_NUMBER_COUNT: Final = 2**32

# Model, embedder, storage.
PROMPT_BYTES_MAX: Final = 1_048_576
REPLY_BYTES_MAX: Final = 50_000
JSON_DEPTH_MAX: Final = 32
# Without this limit, a reply of 50,000 brackets would be parsed 50,000 times, each time to its end.
JSON_START_COUNT_MAX: Final = 64
LOOSE_START_COUNT_MAX: Final = 8
JSON_NUMBER_CHARS_MAX: Final = 40
EXTRACT_ENTITY_COUNT_MAX: Final = 50
EXTRACT_SENTENCE_COUNT_MAX: Final = 16
EXTRACT_LINK_COUNT_MAX: Final = 100
LINK_TYPE_BYTES_MAX: Final = 64
EXTRACT_CONTENT_BYTES_MAX: Final = 1_000
SEGMENT_BYTES_MAX: Final = 8_000
SEGMENT_SENTENCE_COUNT_MAX: Final = 40
SEGMENTED_BYTES_MAX: Final = 100_000
CAPTION_BYTES_MAX: Final = 200
SUMMARY_BYTES_MAX: Final = 2_000
SUMMARY_MEMBER_COUNT_MAX: Final = 200
BEGINNING_BYTES_MAX: Final = 500
CATEGORY_COUNT_MAX: Final = 32
CATEGORY_NAME_BYTES_MAX: Final = 64
CATEGORY_ABOUT_BYTES_MAX: Final = 500
CATEGORY_LINK_COUNT_MAX: Final = 3
SOURCE_COUNT_MAX: Final = 100
PERIOD_COUNT_MAX: Final = 100
EVOLVE_MEMBER_COUNT_MAX: Final = 1_000
# Members times dimensions in one division, which blocks all other operations: 1,000 vectors of length 1,048.
EVOLVE_COMPONENT_COUNT_MAX: Final = 1_048_576
SUBCATEGORY_COUNT_MAX: Final = 100
SUBCATEGORY_NAME_BYTES_MAX: Final = 40
KEYWORD_COUNT_MAX: Final = 10
NAMED_CONTENT_COUNT_MAX: Final = 5
RANK_CANDIDATE_COUNT_MAX: Final = 50
CONTEXT_BYTES_MAX: Final = 8_000
EMBED_TEXT_BYTES_MAX: Final = 8_000
EMBEDDING_DIMS_MAX: Final = 4_096
# A component and its negation fit into a signed byte.
COMPONENT_MAX: Final = 127
PAGE_ROW_COUNT_MAX: Final = 1_000
READ_PAGE_COUNT_MAX: Final = 1_000
BACKOFF_MS_MIN: Final = 100
BACKOFF_MS_MAX: Final = 5_000
SPARE_ATTEMPTS: Final = 3  # of a read without a limit, before it goes on without its damaged rows
# If a service asks for a pause of more than an hour, the step gives up; recovery waits for an hour.
RETRY_AFTER_MS_MAX: Final = 3_600_000
PLAN_COUNT_MAX: Final = 3
# A request that is repeated with its key within a day gets the first reply.
RECEIPT_MS_MAX: Final = 86_400_000

# The API of an agent server.
API_BLOCK_BYTES_DEFAULT: Final = 20_000
DESCRIPTION_BYTES_MAX: Final = 4_096
MESSAGE_BYTES_MAX: Final = 100_000
UNREADABLE_SHOWN_MAX: Final = 10
MESSAGE_COUNT_MAX: Final = 100
TAG_COUNT_MAX: Final = 100
TAG_BYTES_MAX: Final = 256
PAGE_ROWS_DEFAULT: Final = 50
SEARCH_DEPTH_MAX: Final = 1_000
SYSTEM_BYTES_MAX: Final = 100_000
PURGE_ROW_COUNT_MAX: Final = 100
PURGE_AGAIN_MS: Final = 1_000
HAND_OVER_ROW_COUNT_MAX: Final = 50

# Access, promotion, search.
ACCESS_RECORD_COUNT_MAX: Final = 10_000
FORGOTTEN_COUNT_MAX: Final = 1_000
# 90 days.
ACCESS_PRUNE_MS: Final = 7_776_000_000
SCAN_COUNT_MAX: Final = 100
REPAIR_COUNT_MAX: Final = 16
# A week: after two weeks without use, a fact has a quarter of its recency (policies/promotion.py).
HALF_LIFE_MS: Final = 604_800_000
DAY_MS: Final = 86_400_000
VARIANT_COUNT_MAX: Final = 3
# Reciprocal rank fusion, 1 / (k + rank), with the k of Cormack, Clarke and Büttcher (2009).
RRF_K: Final = 60
RRF_SCALE: Final = 10**12
RESOLVE_CACHE_COUNT_MAX: Final = 256
RESOLVE_CACHE_MS: Final = 300_000
# Five candidates for each new fact, and twenty pairs for each question: four new facts in one prompt.
EVOLVE_CANDIDATE_COUNT_MAX: Final = 5
EVOLVE_PAIR_COUNT_MAX: Final = 20
EVOLVE_FACT_COUNT_MAX: Final = 1_000

# The workflow engine.
REVISION_COUNT_MAX: Final = 1_000
INTERCEPTOR_COUNT_MAX: Final = 32

assert BLOCK_BYTES_MAX <= CORE_BYTES_MAX
assert BLOCK_BYTES_MAX * BLOCK_COUNT_MAX >= CORE_BYTES_MAX  # blocks can fill the tier
assert WORKING_KEY_BYTES_MAX + WORKING_VALUE_BYTES_MAX <= WORKING_BYTES_MAX
assert (
    WORKING_BYTES_MAX + 16 * WORKING_ENTRY_COUNT_MAX + 2 * SESSION_TEXT_BYTES_MAX + SESSION_NAMES_BYTES_MAX
    <= SNAPSHOT_BYTES_MAX
)
assert SEGMENT_SENTENCE_COUNT_MAX <= EXTRACT_ENTITY_COUNT_MAX  # one answer can have a fact for each sentence
assert 6 * TEXT_BYTES_MAX + 65_536 <= PROMPT_BYTES_MAX  # JSON may need six bytes for one
assert (LIFE_MAX + 1) * LIFE_NUMBER_COUNT <= 2**53  # a request_id is exact in every language
assert EMBEDDING_DIMS_MAX * COMPONENT_MAX**2 < 2**53  # a dot product is exact, even as a float
