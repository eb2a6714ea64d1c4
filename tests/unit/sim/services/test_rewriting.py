"""Goal: SimLLM fills references with the last fitting names, and whatever it says passes the gate."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from umi_core.language.prompts import ask_rewrite
from umi_core.language.rewriting import judge_rewrite, shown_turns
from umi_core.values import Turn
from umi_sim.services.model import truth
from umi_sim.services.model.languages import language_of
from umi_sim.services.model.mentions import mentions

HALF_PPM = 500_000


def rewritten(query: str, *texts: str) -> str:
    """The answer after these turns, the oldest first."""
    turns = shown_turns(tuple(Turn("user", text) for text in texts))
    return line_of(truth("rewrite", ask_rewrite(query, turns)))


def line_of(reply: str) -> str:
    """The rewrite of a reply, which names what the references stand for if it resolves any."""
    return str(json.loads(reply)["query"]) if reply.startswith('{"query"') else reply


def test_the_showcase() -> None:
    turns = ("Ask John about the database migration", "John mentioned the DB migration is late")
    assert rewritten("What did he say about that?", *turns) == "What did John say about the DB migration?"


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("Tom met Laura.", "What is her phone number?", "What is Laura's phone number?"),
        ("James called.", "Is this his car?", "Is this James' car?"),
        ("Tom and Laura have a flat.", "Is their flat big?", "Is Tom and Laura's flat big?"),
        ("My sister Anna flies to Lisbon.", "Is it cold there?", "Is it cold in Lisbon?"),
        ("The login bug is back.", "Who fixes that bug?", "Who fixes the login bug?"),
        ("Daniel's mother is ill.", "How is she?", "How is Daniel's mother?"),
        ("The hotel in Porto has a pool.", "How far is it?", "How far is the hotel?"),
        ('We read "Dune" in the club.', "Who wrote it?", "Who wrote Dune?"),
        ("Der Bericht ist da.", "Was hältst du davon?", "Was hältst du von dem Bericht?"),
        (
            "Frag Jonas nach der Migration.",
            "Was hat er dazu gesagt?",
            "Was hat Jonas zu der Migration gesagt?",
        ),
        ("Petra zieht um.", "Wie ist ihre Adresse?", "Wie ist Petra's Adresse?"),
        ("Jonas war da.", "Wo ist sein Auto?", "Wo ist Jonas' Auto?"),
        ("Carmen vive en Lima.", "¿Cuál es su dirección?", "¿Cuál es la dirección de Carmen?"),
        ("El jefe salió.", "¿Quién es su hermana?", "¿Quién es la hermana del jefe?"),
        ("王伟来了。", "他的工资高吗？", "王伟的工资高吗？"),
        ("我们在做支付重构项目。", "那个项目怎么样？", "支付重构项目怎么样？"),
    ],
)
def test_a_reference_becomes_the_last_fitting_name_in_its_form(text: str, query: str, expected: str) -> None:
    assert rewritten(query, text) == expected


def test_the_newest_turn_counts_first() -> None:
    assert rewritten("Where is he?", "Tom left.", "Ben came.") == "Where is Ben?"
    assert rewritten("Where is he?", "Tom left.", "Anna came.") == "Where is Tom?"


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Anna is ill.", "Did he call?"),
        ("Tom is ill.", "Was ist ihre Nummer?"),
        ("Good morning!", "What did they decide?"),
        ("The report is late.", "Is it raining?"),
        ("The report is late.", "Is it possible to sleep?"),
        ("The report is late.", "Did Tom say that he is ill?"),
        ("The report is late.", "There is a cat here."),
        ("Tom is ill.", "Did Tom bring his car?"),
        ("Carmen vive en Lima.", "No he visto nada"),
        ("Jonas war da.", "Können Sie mir helfen?"),
        ("王伟来了。", "其他人弹吉他吗？"),
        ("", "What  did\nhe say? "),
    ],
)
def test_what_nothing_fits_stays_byte_for_byte(text: str, query: str) -> None:
    assert rewritten(query, text) == query


# Any text.

WORDS = st.sampled_from(
    [
        *"he she it that this there her his John Anna the report and in Berlin ? . , ' - `` Name:".split(),
        *"er sie ihr ihre Haus dazu der Bericht und su casa él ella eso la migración y".split(),
        *"他 她 那个 项目 这里 王伟 的 说 和 老 小 王 「 」 İ ſ ß 12".split(),
        *'\n\u0301\u2028\x00"',
    ]
)
TALK = st.lists(WORDS | st.text(max_size=4), max_size=12).map(" ".join) | st.lists(WORDS, max_size=8).map(
    "".join
)


@given(TALK, st.lists(TALK, max_size=3))
def test_the_truth_never_degrades_a_search(query: str, texts: list[str]) -> None:
    turns = shown_turns(tuple(Turn("user", text) for text in texts))
    reply = truth("rewrite", ask_rewrite(query, turns))
    found = judge_rewrite(reply, query, turns, HALF_PPM)
    assert found.outcome == ("unchanged" if reply == query else "resolved")
    assert reply == query or "\n" not in reply


@given(st.text(st.characters(exclude_categories=())) | TALK)
def test_any_prompt_has_an_answer(text: str) -> None:
    truth("rewrite", text).encode()
    for value in (json.dumps(text), "7", "null", "[{}]", '[{"text":7}]', "["):
        truth("rewrite", f"INPUT query = {value}\nINPUT turns = {value}").encode()


# Mentions.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ask John about the database migration", "John person|database migration thing"),
        ("The hotel in Porto has a pool.", "Porto city|hotel place|pool place"),
        ("My friend Jack is a nurse.", "Jack person"),
        ("Mr. Novak and his wife Eva", "Novak and Eva group|Eva person|Novak person"),
        ("Tom and Laura left", "Tom and Laura group|Laura person|Tom person"),
        ("I have two tickets for 80 euros", "tickets things"),
        ("Der neue Drucker steht im Büro", "neue Drucker thing|Büro place"),
        ("El coche de Raquel", "Raquel person|coche thing"),
        ("我妈妈在上海买了自行车", "上海 city|我妈妈 person|自行车 thing"),
        ("The blorb is late", "blorb unknown"),
        ("", ""),
    ],
)
def test_of_a_kind_the_first_mention_is_meant_first(text: str, expected: str) -> None:
    assert "|".join(f"{mention.text} {mention.kind}" for mention in mentions(text)) == expected


@given(TALK)
def test_a_mention_lies_inside_its_text(text: str) -> None:
    for mention in mentions(text):
        assert 0 <= mention.start < mention.end <= len(text)
        assert mention.text.strip()


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Where is he?", "en"),
        ("Wo ist er?", "de"),
        ("¿Él?", "es"),
        ("他在哪里", "zh"),
        ("", "en"),
        ("Kto to?", "en"),
    ],
)
def test_the_language_is_that_of_most_function_words(text: str, language: str) -> None:
    assert language_of(text) == language
