"""Goal: a history keeps its order and its processes, and both of its forms read back as what was written."""

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from umi_sim.record.history import HistoryEvent, HistoryLog, is_history, write_history

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]|[^\s,{}\[\]"]+')
ATOMS = {"nil": None, "true": True, "false": False}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(), each, max_size=3),
    max_leaves=8,
)


def read_edn(text: str) -> Any:
    """Read one value of EDN; a keyword is read as ":word"."""
    tokens = TOKEN.findall(text)[::-1]

    def read() -> Any:
        token = tokens.pop()
        if token in "{[":
            parts = []
            while tokens[-1] not in "}]":
                parts.append(read())
            tokens.pop()
            return parts if token == "[" else dict(zip(parts[::2], parts[1::2], strict=True))
        if token.startswith(":"):
            return token
        return ATOMS[token] if token in ATOMS else json.loads(token)

    found = read()
    assert not tokens
    return found


def without_colons(event: dict[str, Any]) -> HistoryEvent:
    """Return the event that a map of EDN holds."""
    words = {"process", "type", "f"}
    fields = {name.removeprefix(":"): value for name, value in event.items()}
    for name in words:
        fields[name] = str(fields[name]).removeprefix(":") if isinstance(fields[name], str) else fields[name]
    if fields["type"] == "invoke":
        fields["value"] = {name.removeprefix(":"): value for name, value in fields["value"].items()}
    return HistoryEvent(**fields)


@given(st.dictionaries(st.sampled_from(("key", "value", "ttl")), VALUES), VALUES, st.text())
def test_both_forms_read_back_as_what_was_written(args: dict[str, Any], answer: Any, error: str) -> None:
    log = HistoryLog()
    log.begin(1, "put_many", args, 5)
    log.begin(2, "get", args, 5, "a~1")
    log.end(2, "ok", answer, 6)
    log.happen("crash", None, 6)
    log.end(1, "info", None, 7, error)
    lines = write_history(log.events, ".jsonl").decode().splitlines()
    assert [HistoryEvent(**json.loads(line)) for line in lines] == log.events
    text = write_history(log.events, ".edn").decode(errors="surrogatepass")
    assert [without_colons(read_edn(line)) for line in text.split("\n")[:-1]] == log.events


def test_an_event_of_edn_has_the_keys_of_jepsen() -> None:
    log = HistoryLog()
    log.begin("o1", "put", {"key": 'a"b', "value": {"x": [1, None, True]}}, 5)
    log.end("o1", "fail", None, 5, "OSError: no space")
    log.happen("advance", 1_000, 1_005)
    assert write_history(log.events, ".edn").decode().splitlines() == [
        "{:index 0, :time_ms 5, :process 0, :type :invoke, :f :put, "
        ':value {:key "a\\"b", :value {"x" [1 nil true]}}}',
        '{:index 1, :time_ms 5, :process 0, :type :fail, :f :put, :value nil, :error "OSError: no space"}',
        "{:index 2, :time_ms 1005, :process :nemesis, :type :info, :f :advance, :value 1000}",
    ]


def test_a_process_has_one_operation_at_a_time_and_none_after_an_unknown_end() -> None:
    log = HistoryLog()
    log.begin("a", "get", {}, 0)
    log.begin("b", "get", {}, 0)
    log.end("a", "info", None, 0)
    log.end("b", "ok", None, 0)
    log.begin("c", "get", {}, 0)
    log.begin("d", "get", {}, 0)
    log.end("d", "fail", None, 0)
    log.begin("e", "get", {}, 0)
    assert [event.process for event in log.events if event.type == "invoke"] == [0, 1, 1, 2, 2]


def test_a_file_is_known_by_its_first_event() -> None:
    log = HistoryLog()
    log.begin("a", "get", {}, 0)
    jsonl, edn = (write_history(log.events, form) for form in (".jsonl", ".edn"))
    assert [is_history(jsonl, ".jsonl"), is_history(edn, ".edn"), is_history(b"", ".edn")] == [True] * 3
    assert [is_history(jsonl, ".edn"), is_history(b"{}", ".jsonl")] == [False] * 2
