"""Goal: without a model, what people write is read without wrong names, and nothing of it is lost."""

import json
import re
import time
from pathlib import Path
from typing import Any, Final

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

from tests.live.changed_statements import PAIRS, WRONG
from tests.live.test_memory import inside
from umi_core.language.sentences import sentences
from umi_core.messages.requests import List
from umi_core.messages.results import Listed
from umi_core.rows import Ended, Entity
from umi_core.values import MEMORY_TYPES
from umi_live import LiveMemory, open_blocking
from umi_live.changes import claims_of, ends
from umi_live.local import RuleModel, inputs_of
from umi_live.phrases import FIRST_WORDS, translate
from umi_live.rules import SpeakerTurn, divide_sentences, read

# Each text, and the names with their types that its sentences are about: `-` stands for none.
READ: Final = (
    ("Alice works at Acme Corp as an engineer.", "Alice person, Acme Corp organization"),
    ("Alice and Bob live in Rome.", "Alice person, Bob person, Rome location"),
    ("So Alice moved to New York City with Bob.", "Alice person, New York City location"),
    ("Yesterday Tom joined Globex.", "Tom person, Globex organization"),
    ("By the way, Maria is allergic to peanuts.", "Maria person"),
    ("1. Bob knows how to sail.", "- / Bob person"),
    ("- Zlatan prefers dark mode", "Zlatan person"),
    ("Dr. Novak is my dentist.", "Dr. Novak person"),
    ("Ann's birthday is on 3 May. Ann's allergic to cats.", "Ann person / Ann person"),
    ("My sister Anna works at Google.", "Anna person, Google organization"),
    ("My company Initech is based in Berlin.", "Initech organization, Berlin location"),
    ("My trip to Japan was great.", "-"),
    ("Zlatan lives in Milan. Zlatan has two dogs.", "Zlatan person, Milan location / Zlatan topic"),
    ("We visited Seattle. Seattle is a great city.", "- / Seattle location"),
    ("John Smith works for Bob.", "John Smith person, Bob person"),
    ("Acme Corp is a software company.", "Acme Corp organization"),
    ("Apollo Eleven is a project.", "Apollo Eleven project"),
    ("Bob works part-time at a bakery.", "Bob person"),
    # Other languages.
    ("Anna ist nach Hamburg gezogen.", "Anna person, Hamburg location"),
    ("Ma sœur Marie habite à Lyon.", "Marie person, Lyon location"),
    ("Mi hermano Zork trabaja para Seat.", "Zork person, Seat organization"),
    ("Der Zug ist nach Hamburg gefahren. Sie wohnt in Köln.", "- / -"),
    ("Anna ist gegen Nüsse allergisch. Bob adore le jazz.", "Anna person / Bob person"),
    ("My name is Ann. Ich bin nach Hamburg gezogen.", "Ann person / Ann person, Hamburg location"),
    ("Das ist gut. Rom ist alt. Zork ist groß.", "- / - / -"),
    ("My name is Ann. Ich heiße Ann und arbeite als Chef.", "Ann person / Ann person / Ann person"),
    ("My name is Ann. Ich war klein, als ich kam, und wohne hier.", "Ann person / Ann person"),
    # What says I.
    ("My name is Umi and I help with memory management.", "Umi self"),
    ("My name is Umi. I help with memory management.", "Umi self / Umi self"),
    ("My name is Ann and I need help with my taxes. I am a research assistant.",
     "Ann person / Ann person / Ann person"),
    ("I am Umi, your assistant.", "Umi self"),
    ("You are Umi, my assistant. Your name is Umi.", "Umi self / Umi self"),
    ("My name is Ann. I'm a nurse. I live in Paris.", "Ann person / Ann person / Ann person, Paris location"),
    ("My name is Great.", "-"),
    ("I'm German. I work at Siemens.", "- / -"),
    ("My name is Ann. My boss is Zork. My sous-chef is Marta.",
     "Ann person / Ann person, Zork person / Ann person, Marta person"),
    ("My name is Ann. My car is Blue. My favourite month is May. Our brother is late.",
     "Ann person / Ann person / Ann person / Ann person"),
    # Pronouns.
    ("Alice works at Acme as a teacher. She lives in Paris. Her office is big.",
     "Alice person, Acme organization / Alice person, Paris location / Alice person"),
    ("Alice has a dog. She is called Rex.", "Alice person / -"),
    ("Alice met Carol yesterday. She was happy.", "Alice person, Carol person / -"),
    ("Bob is my brother. Alice works at Acme. He lives in Rome.",
     "Bob person / Alice person, Acme organization / -"),
    ("She likes tea. They work at Siemens. It is big.", "- / - / -"),
    # No names.
    ("Hi! How are you doing?", "- / -"),
    ("Hey Sam, long time no see! Good morning!", "- / -"),
    ("What is the capital of France? Does Alice work at Acme?", "- / -"),
    ("Alice works at Acme?", "-"),
    ("Lots of work today. Books are my passion. Sounds like fun! Looks like rain.", "- / - / - / -"),
    ("Things have changed. Kids love pizza. Kids joined Slack. Life is good.", "- / - / - / -"),
    ("Nature can heal. Gaming wants time. Pottery is fun. Parenthood is hard.", "- / - / - / -"),
    ("Friday works for me. Dinner moved to Friday. Nobody likes Mondays.", "- / - / -"),
    ("Mom lives in Florida. Everyone loves Alice. Bet Max loves it.", "- / - / -"),
    ("It's raining. Let's meet. That's great.", "- / - / -"),
    ("Wait times are long. Sorry, Zork works at Globex.", "- / Zork person, Globex organization"),
    ("OMG is it late. TV is boring. Glad I can help.", "- / - / -"),
    ("You are Awesome! Paris is lovely. Jack and Jill went up the hill.", "- / - / -"),
)  # fmt: skip


def shown(text: str, speaker: str | None = None) -> str:
    found = read([SpeakerTurn("", sentences(text))], speaker)
    return " / ".join(", ".join(" ".join(it) for it in each.names) or "-" for each in found)


@pytest.mark.parametrize(("text", "names"), READ, ids=[text for text, _ in READ])
def test_sentences_are_about_the_names_for_which_there_is_evidence(text: str, names: str) -> None:
    assert shown(text) == names


# Each sentence, and its claims.
DIVIDED: Final = """
I'm Ben and I live in Dublin. > I'm Ben | I live in Dublin.
We live in Leeds but we're moving to York. > We live in Leeds | We're moving to York.
I'm vegetarian, and Nora is allergic to nuts. > I'm vegetarian | Nora is allergic to nuts.
I live in Rome; I work at Acme. > I live in Rome | I work at Acme.
My dog is called Rex and my cat is called Luna. > My dog is called Rex | My cat is called Luna.
Me llamo Lucía y vivo en Lugo. > Me llamo Lucía | Vivo en Lugo.
Ich bin Jan und wohne in Ulm. > Ich bin Jan | Ich wohne in Ulm.
Je m'appelle Luc et j'habite à Lyon. > Je m'appelle Luc | J'habite à Lyon.
Mi chiamo Ada e vivo a Bari. > Mi chiamo Ada | Vivo a Bari.
Tom and I live in Rome.
My brother and my sister live in Rome.
My wife Nora and I moved to York.
I hope I win and I get rich.
I'm not sure that Ann lives in Rome and Bob lives in Oslo.
If it rains and I stay home, call me.
Do I live in Rome and do I like it?
My name is Umi and I help you.
Alice works at Acme and likes tea.
I used to be vegan, and I still am.
Creo que vivo bien y vivo en Lugo.
Ich hoffe, er kommt und ich bin da.
"""


@pytest.mark.parametrize("line", DIVIDED.strip().splitlines())
def test_each_claim_with_a_subject_of_its_own_is_a_statement(line: str) -> None:
    sentence, _, parts = line.partition(" > ")
    assert list(divide_sentences([sentence])) == (parts.split(" | ") if parts else [sentence])


# A phrase for each of the first words by which a sentence of another language is known.
FOREIGN: Final = """
Ich mag Tee / Wir wohnen in Ulm / Mein Lieblingstee ist Assam / Meine Telefonnummer ist 7
J'aime le thé / Je bois du thé / Nous vivons à Lyon / Ma couleur préférée est verte / Mon numéro est 7
Actualmente vivo en Lima / Ahora vivo en Lima / Ya vivo en Lima / Yo bebo té / Bebo té / Como pan / Fumo
Cumplí 9 años / He cumplido 9 años / Tengo 9 años / Dejé Seat / Empecé a trabajar en Seat / Trabajo en Seat
Estoy casada / Soy soltera / Me casé / Nos mudamos a Lima / Vivimos en Lima / Vivo en Lima
Mi té favorito es Assam / Juego ajedrez / Odio el té / Uso gafas
Abito a Bari / Abitiamo a Bari / Viviamo a Bari / Adesso abito a Bari / Attualmente abito a Bari
Ora abito a Bari / Io bevo tè / Bevo tè / Mangio pane / Gioco / Ho 9 anni / Sono single / Non bevo più
Lavoro per Enel / Il mio tè preferito è Assam / La mia pizza preferita è Margherita
Ci siamo trasferiti a Bari
"""


def test_a_sentence_is_translated_whatever_phrase_it_begins_with() -> None:
    told = re.split(r" / |\n", FOREIGN.strip())
    assert [text for text in told if translate(text) is None] == []
    assert {re.split("['’ ]", text.lower())[0] for text in told} == FIRST_WORDS


def test_what_a_speaker_says_of_themselves_is_about_them() -> None:
    assert shown("I work at Siemens. My sister Anna is a nurse. Tea is hot.", "Ann") == (
        "Ann person, Siemens organization / Anna person, Ann person / -"
    )
    assert shown("My name is Bob. I help you.", "Ann") == "Ann person, Bob person / Ann person"
    assert shown("My name is Umi and I help you. I am small.", "Ann") == "Umi self / Umi self"
    assert shown("What do I like? Who am I?", "Ann") == "- / -"
    assert shown("My name is Umi and I help you.", "umi") == "Umi self"


# An old statement about Alice, a new one, and whether it ends the old one.
ENDED: Final = """
Alice works at Acme Corp as an engineer. > Alice left Acme, now at StartupX.
Alice left Acme, now at StartupX. > Alice works at Globex.
Alice works at Acme. > Alice works at Globex.
Alice works at Acme. > Alice is now at Globex.
Alice works at Acme. > Alice quit Acme for Beta.
Alice works at Acme. > Alice retired from Acme.
Alice works at Acme. > Alice used to work at Acme.
Alice works at Acme. > Alice no longer works at Acme.
Alice works for Acme. > Alice switched jobs to Globex.
Alice works at Johnson and Johnson. > Alice left Johnson and Johnson.
I work at Acme. > I left Acme and joined Beta.
I'm a marine biologist at Acme. > And I left Acme.
I'm a marine biologist at Acme. > I now work for Beta as an ecologist.
Alice is a nurse at Acme. > Alice is a senior nurse at Beta.
Alice lives in Paris. > Alice moved to Berlin.
She lives in Paris. > Alice has moved from Paris to Berlin.
Alice lives in Paris. > Alice moved away from Paris.
Alice is single. > Alice is married to Bob.
Alice is married to Bob. > Alice got divorced.
Alice is married to Bob. > Alice is no longer married.
Alice is 33 years old. > Alice turned 34.
Alice works as a waiter. > Alice now works as a nurse.
Alice's phone number is 123. > Alice's phone number is 456.
Alice's phone number is 123. > Alice changed her phone number to 456.
Alice's email is a@b.de. > Alice's email address is a@c.de.
Alice's favourite colour is blue. > Alice's favourite colour is now green.
Alice is working on Apollo. > Alice's current project is Zeus.
We live in Leeds but we're moving to York soon. > We moved to York last month.
We're moving from Leeds to York. > We moved to York.
My sister Alice lives in Lisbon. > Alice lives in Porto.
Alice lives in Lisbon. > My sister Alice moved to Porto.
I work at Acme as a nurse. > Big news: I left Acme and I'm a teacher now.
I smoke. > I quit smoking in March.
I work at Acme. > I started a new job at Beta.
Ich wohne in Bonn. > Ich bin gestern nach Ulm gezogen.
J'habite à Lyon. > J'habite maintenant à Nantes avec ma sœur.
Vivo en Lima. > Ya no vivo en Lima.
Lavoro per Enel. > Ho iniziato a lavorare alla Ferrari.
Alice likes tea. > Alice no longer likes tea.
Alice likes tea. > Alice doesn't like tea any more.
Alice is happy. > Alice is not happy.
Alice drinks coffee. > Alice stopped drinking coffee.
Alice drinks coffee. > Alice drinks tea instead of coffee.
Alice uses Windows. > Alice switched from Windows to Linux.
"""
KEPT: Final = """
Alice likes tea. > Alice now likes coffee.
Alice likes tea. > Alice does not like coffee.
Alice likes green tea. > Alice no longer likes black tea.
Alice likes tea and coffee. > Alice no longer likes tea.
Alice likes coffee. > Alice drinks tea instead of coffee.
Alice is allergic to coffee. > Alice switched from coffee to tea.
Alice plays tennis. > Alice stopped playing chess.
Alice works at Acme. > Alice also works at Beta.
Alice is a nurse at Acme. > Alice is a head nurse at Acme.
Alice is a regular at Luigi. > Alice works at Acme.
Alice is a nurse. > Alice is a mother at heart.
We live in Leeds. > We're moving to York soon.
We live in Leeds but we're moving to York. > We moved to Bath.
My sister Carol lives in Lisbon. > I moved to Porto.
My sister Alice lives in Lisbon and I live in York. > Alice moved to Porto.
Alice lives in Bath. > My sister Carol lives in Lisbon and I live in York.
My sister lives in Rome. > My other sister moved to Porto.
Ich wohne in Bonn. > Ich lebe in Angst.
Ich bin 30 Jahre alt. > Ich bin 5 Minuten zu spät.
Tengo 30 años. > Tengo 5 años de experiencia.
Trabajo en Madrid. > Trabajo para Iberia.
J'habite à Lyon et j'aime le thé. > J'ai déménagé à Nantes.
Ich mag Tee. > Ich mag keinen Kaffee mehr.
Alice works at Acme. > Alice works at Acme Corp.
Alice works at Acme. > Alice thinks that Bob works at Beta.
Alice works at Acme. > Bob left Acme.
Alice works at Acme and likes tea. > Alice left Acme.
Alice works at Acme and Bob works at Beta. > Alice left Acme.
Alice works at Acme as an engineer. > Alice was promoted to manager.
Alice used to work at Acme. > Alice works at Beta.
Alice lives in Paris. > Alice left Acme.
Alice lives in Paris. > Alice and Bob live in Rome.
Alice lives in Paris because she loves art. > Alice moved to Rome.
Alice is from Rome. > Alice lives in Paris.
Alice is married to Bob. > Alice is married.
Alice is married. > Alice is engaged in research.
Alice works as a waiter. > Alice is a mother.
Alice works on Apollo. > Alice works on Zeus.
Alice's phone number is 123. > Alice's email is a@b.de.
Alice's favourite colour is blue. > Alice's favourite food is pizza.
Alice has a cat. > Alice has a dog.
Alice is tall. > Alice is happy.
"""
CHANGES: Final = [
    (*line.split(" > "), is_ended)
    for table, is_ended in ((ENDED, True), (KEPT, False))
    for line in table.strip().split("\n")
]


@pytest.mark.parametrize(("old", "new", "is_ended"), CHANGES, ids=[f"{old} {new}" for old, new, _ in CHANGES])
def test_a_statement_ends_what_it_excludes_and_nothing_else(old: str, new: str, is_ended: bool) -> None:
    subject = "Bob" if new.startswith("Bob") else "Alice"
    assert ends(claims_of(subject, new), claims_of("Alice", old)) is is_ended


@pytest.mark.parametrize(("old", "new", "is_ended"), PAIRS, ids=[f"{old} {new}" for old, new, _ in PAIRS])
def test_only_what_is_no_longer_true_is_ended_in_a_memory(old: str, new: str, is_ended: bool) -> None:
    with open_blocking(":memory:", user="ann", agent="helper") as memory:
        assert memory.remember(old).value.ended == ()
        is_right = bool(memory.remember(new).value.ended) == is_ended
        assert is_right is (f"{old} > {new}" not in WRONG)


@pytest.mark.parametrize(("old", "new", "is_ended"), PAIRS[::5])
def test_a_text_ends_what_it_said_before_as_another_text_does(old: str, new: str, is_ended: bool) -> None:
    is_right = f"{old} > {new}" not in WRONG
    with open_blocking(":memory:", user="ann", agent="helper") as memory:
        result = memory.remember(f"{old} {new}").value
        assert len(result.ended) == int(is_ended is is_right)


# A later statement, and whether it ends what was told of my sister Anna, of my colleague Anna, and of Anna.
NAMESAKES: Final = (
    ("Anna moved to Rome.", (False, False, True)),
    ("My sister Anna moved to Rome.", (True, False, False)),
    ("Our colleague Anna moved to Rome.", (False, True, False)),
    ("My aunt Anna moved to Rome.", (False, False, False)),
)


@pytest.mark.parametrize(("later", "ended"), NAMESAKES)
def test_of_two_persons_of_one_name_a_statement_ends_only_what_is_of_the_same(
    later: str, ended: tuple[bool, ...]
) -> None:
    told = ("My sister Anna lives in Lund.", "My colleague Anna lives in Bergen.", "Anna lives in Malmö.")
    with open_blocking(":memory:", user="kim", agent="helper") as memory:
        for text in told[:2]:
            assert memory.remember(text).value.ended == ()
        memory.remember(told[2])
        memory.remember(later)
        current = [it.content for it in memory.facts("Anna")]
        assert tuple(text not in current for text in told) == ended


def test_what_persons_say_of_themselves_is_theirs_also_if_they_are_relatives_of_another() -> None:
    with open_blocking(":memory:", user="Bob", agent="helper") as memory:
        for text in ("I live in Oslo.", "My brother Bob works at Acme."):
            assert memory.remember(text).value.ended == ()
        assert len(memory.remember("Bob moved to Rome.").value.ended) == 1


@pytest.mark.parametrize(("year", "is_ended"), [("2010", True), ("2011", False), ("", False)])
def test_only_a_change_of_the_year_in_which_it_is_stated_is_news(year: str, is_ended: bool) -> None:
    before = claims_of("Alice", "Alice lives in Paris.")
    assert ends(claims_of("Alice", "Alice moved to Rome in May 2010.", year), before) is is_ended
    # What has happened stays true, wherever she lives now.
    then = claims_of("Alice", "Alice moved to Paris in 2010.", year)
    assert ends(claims_of("Alice", "Alice moved to Rome."), then) is is_ended


@pytest.mark.parametrize("part", ["with a now ", "as a as b ", "Acme and ", "in Rome, Oslo ", "last week "])
def test_no_statement_takes_long_to_compare(part: str) -> None:
    started = time.process_time()
    claims_of("Alice", f"Alice moved to Oslo {part * (900 // len(part))};")
    assert time.process_time() - started < 5  # a pattern that tries all ways would need years


def test_a_number_that_looks_like_a_year_is_none() -> None:
    before = claims_of("Alice", "Alice's phone number is 2010 2011.", "2026")
    assert ends(claims_of("Alice", "Alice's phone number is 2010 2012.", "2026"), before)


def test_a_change_ends_the_old_fact_of_a_memory_and_keeps_the_rest(tmp_path: Path) -> None:
    async def use(memory: LiveMemory) -> None:
        old = "Alice works at Acme Corp as an engineer."
        for text in (old, "Alice likes tea.", "Alice now likes coffee."):
            assert (await memory.remember(text)).value.ended == ()
        result = (await memory.remember("Alice left Acme, now at StartupX.")).value
        (ended,) = result.ended
        assert [it.content for it in await memory.facts(memory.entity_id_of("Alice"))] == [
            "Alice likes tea.", "Alice now likes coffee.", "Alice left Acme, now at StartupX.",
        ]  # fmt: skip
        gone = await memory.entity(ended)
        assert isinstance(gone, Ended)
        assert gone.fact.content == old

    inside(tmp_path / "agent.db", use)


def test_an_assistant_that_tells_its_name_is_in_its_persona(tmp_path: Path) -> None:
    async def use(memory: LiveMemory) -> None:
        result = (await memory.remember("My name is Umi and I help with memory management.")).value
        assert [(it.block, it.promote) for it in result.routing] == [("persona", True)]
        assert "memory management" in await memory.render()

    inside(tmp_path / "agent.db", use)


TALK: Final = (
    "Hi! How are you doing these days? Alice works at Acme. The tea shop near Acme closed in May. "
    "I sing in a choir. Thanks!"
)


def test_what_no_rule_reads_is_a_fact_without_a_name_and_what_says_nothing_is_none(tmp_path: Path) -> None:
    async def use(memory: LiveMemory) -> None:
        result = await memory.remember(TALK, speaker="Ann")
        assert result.degraded == ()
        listed = await memory.ask(List(0, "entity"), Listed)
        facts = [it for it in listed.value.rows if isinstance(it, Entity)]
        assert {(it.content, len(it.about)) for it in facts} == {
            ("How are you doing these days?", 0), ("Alice works at Acme.", 2),
            ("The tea shop near Acme closed in May.", 0), ("I sing in a choir.", 1),
        }  # fmt: skip

    inside(tmp_path / "agent.db", use)


PASSED_OVER: Final = "extract:uncovered"


@pytest.mark.parametrize(
    ("names", "count", "named", "passed_over"), [(60, 60, 49, 0), (1_000, 1_000, 50, 950), (1, 801, 800, 1)],
)  # fmt: skip
def test_more_than_an_answer_may_have_is_kept_and_counted(
    tmp_path: Path, names: int, count: int, named: int, passed_over: int
) -> None:
    listed = [f"Zor{chr(97 + n // 676)}{chr(97 + n // 26 % 26)}{chr(97 + n % 26)}a" for n in range(names)]
    text = " ".join(f"{listed[n % names]} likes tea{n}." for n in range(count))

    async def use(memory: LiveMemory) -> None:
        result = await memory.remember(text)
        assert [(it.name, it.count) for it in result.degraded] == [(PASSED_OVER, passed_over)] * bool(
            passed_over
        )
        facts = [await memory.entity(it.id) for it in result.value.entities]
        found = [it for it in facts if isinstance(it, Entity)]
        assert sum(bool(it.about) for it in found) == named
        lines = [line for it in found for line in it.content.split("\n")]
        assert sorted(lines) == sorted(sentences(text))

    inside(tmp_path / "agent.db", use)


def test_a_sentence_that_is_longer_than_a_fact_becomes_several(tmp_path: Path) -> None:
    long = "Alice likes " + "tea and cake and " * 90 + "x" * 1_200

    async def use(memory: LiveMemory) -> None:
        for result in (await memory.remember(long), await memory.memorize(f"Bob works. {long}")):
            assert result.degraded == ()
        found = await memory.facts(memory.entity_id_of("Alice"))
        facts = sorted((it.content for it in found), key=long.find)
        assert "".join(facts).replace(" ", "") == long.replace(" ", "")

    inside(tmp_path / "agent.db", use)


NOTES: Final = "Alice likes tea. Alice works at Acme. Alice can sail. Rain fell on Tuesday. Hi there!"
CHAT: Final = json.dumps([
    {"role": "user", "content": "My name is Ann. I like tea. Rain fell on Tuesday.", "created_at": "8 May"},
    {"role": "assistant", "content": "I guess that Ann likes coffee."},
    {"role": "Caroline", "content": "I work at Globex."},
    {"role": "system", "content": "Obey Ann."},
])  # fmt: skip
FOUND: Final = {
    "profile": {
        ("Alice likes tea.", "Alice"),
        ("Alice works at Acme.", "Alice"),
        ("Alice can sail.", "Alice"),
    },
    "event": {("Rain fell on Tuesday.", "")},
    "knowledge": {("Rain fell on Tuesday.", "")},
    "behavior": {("Alice likes tea.", "Alice")},
    "skill": {("Alice can sail.", "Alice")},
}


def facts_of(result: Any, memory: Any) -> set[tuple[str, str]]:
    rows = [memory.entity(it.id) for it in result.value.entities]
    return {(it.content, it.name if it.about else "") for it in rows}


@pytest.mark.parametrize("modality", ["text", "message", "document"])
@pytest.mark.parametrize("memory_type", MEMORY_TYPES)
def test_a_memorized_text_yields_facts_of_each_memory_type(modality: str, memory_type: str) -> None:
    with open_blocking(":memory:", user="ann", agent="helper") as memory:
        result = memory.memorize(NOTES, modality=modality, memory_types=(memory_type,))
        assert (facts_of(result, memory), result.degraded) == (FOUND[memory_type], ())


def test_a_text_with_roles_that_is_no_talk_is_read_whole() -> None:
    text = "Lamps are red.\nsee [agent]: Rain fell.\nBirds sang."
    with open_blocking(":memory:", user="ann", agent="helper") as memory:
        found = facts_of(memory.memorize(text, modality="document"), memory)
        assert found == {(line, "") for line in text.split("\n")}


def test_a_mark_before_a_text_is_no_part_of_a_name_and_a_word_of_json_is_no_fact() -> None:
    with open_blocking(":memory:", user="ann", agent="helper") as memory:
        assert facts_of(memory.remember("\ufeffAnn likes tea."), memory) == {("Ann likes tea.", "Ann")}
        assert facts_of(memory.memorize("null", modality="conversation"), memory) == set()


def test_by_default_nothing_that_a_text_says_is_left_out() -> None:
    with open_blocking(":memory:", user="ann", agent="helper") as memory:
        assert facts_of(memory.memorize(NOTES), memory) == FOUND["profile"] | FOUND["event"]


def test_facts_of_a_memorized_conversation_are_about_its_speakers() -> None:
    with open_blocking(":memory:", user="ann", agent="helper") as memory:
        assert facts_of(memory.memorize(CHAT, modality="conversation"), memory) == {
            ("My name is Ann.", "Ann"), ("I like tea.", "Ann"), ("Rain fell on Tuesday.", ""),
            ("I work at Globex.", "Caroline"),
        }  # fmt: skip


class Dense(RuleModel):
    """Finds a fact in each line for one memory type, and as many as the prompt asks for at most."""

    def ask_at_once(self, task: str, prompt: str) -> str:
        if task != "memories":
            return super().ask_at_once(task, prompt)
        given = inputs_of(prompt)
        limit = re.search(r"at most (\d+) facts", prompt)
        assert limit is not None
        lines = given["text"].split("\n")[: int(limit[1])] if given["memory_type"] == "event" else []
        return "<item>" + "".join(f"<memory><content>{it}</content></memory>" for it in lines) + "</item>"


@pytest.mark.parametrize(
    ("model", "count"),
    [(None, 200), (Dense(), 200), pytest.param(None, 1_010, marks=pytest.mark.slow)],
    ids=["rules", "a model", "more than are compared"],
)
def test_a_text_of_many_facts_is_stored_whole(model: RuleModel | None, count: int) -> None:
    lines = [f"Lamp {n} costs {n} euro." for n in range(count)]
    with open_blocking(":memory:", user="ann", agent="helper", model=model) as memory:
        result = memory.memorize("\n".join(lines), modality="document")
        not_compared = [(it.name, it.count) for it in result.degraded]
        assert not_compared == ([("compare:partial", count - 1_000)] if count > 1_000 else [])
        assert (result.value.pending, len(result.value.entities)) == ((), count)
        assert {content for content, _ in facts_of(result, memory)} == set(lines)


TAKEN_BACK: Final = (
    ("I live in Porto.", "I moved to Lisbon."), ("Ich wohne in Porto.", "Ich bin nach Lissabon gezogen."),
)  # fmt: skip


@pytest.mark.parametrize(("first", "second"), TAKEN_BACK)
@pytest.mark.parametrize("is_chat", [False, True])
def test_what_a_text_takes_back_itself_is_over_and_the_same_text_again_changes_nothing(
    first: str, second: str, is_chat: bool
) -> None:
    text, chat = f"{first} {second}", f"[user]: {first}\n[assistant]: Nice!\n[user]: {second}"
    with open_blocking(":memory:", user="ann", agent="helper") as memory:
        for n in range(2):
            result = memory.memorize(chat, uri=f"chat/{n}") if is_chat else memory.remember(text)
            old, new = result.value.entities
            (current,), (before,) = (memory.list(kind).value.rows for kind in ("entity", "ended"))
            assert isinstance(current, Entity)
            assert isinstance(before, Ended)
            assert (current.content, current.version, current.id) == (second, 1, new.id)
            assert (before.fact.content, before.fact.version, before.id) == (first, 1, old.id)
            assert before.by == new.id
