"""Goal: what people carelessly write of themselves means what it means when written with care."""

import re
import time
from typing import Final

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

from tests.live.changed_statements import PAIRS
from umi_live import open_blocking
from umi_live.casual import write_out
from umi_live.changes import claims_of, ends

WRITTEN: Final = """
i moved to denver lol > I moved to Denver
i live in quellbrook > I live in Quellbrook
btw i moved  to denver , colorado 🎉 > I moved to Denver, Colorado
i moved from seattle to portland > I moved from Seattle to Portland
I LIVE IN THE US > I live in the Us
i live in new york > I live in New York
i live in salem now > I live in Salem now
so ive moved to bremen in may... > So I've moved to Bremen in May...
last month i moved to oslo > Last month I moved to Oslo
just moved to denver > I just moved to Denver
moved to denver a year ago > I moved to Denver a year ago
i moved to uppsala > I moved to Uppsala
sorry, i live in oslo > Sorry, I live in Oslo
no wait i moved to oslo > No wait I moved to Oslo
im a nurse at mercy general > I'm a nurse at Mercy General
Im working at ibm :) > I'm working at Ibm
i work for boeing and like it > I work for Boeing and like it
i dont work at tesco anymore > I don't work at Tesco anymore
hi im tom > I'm Tom
my names priya > My name is Priya
my dog is called rex and im happy > My dog is called Rex and I'm happy
my fav color is red > My favorite color is red
i use i.e. and i@b.c > I use i.e. and i@b.c
did i move to denver? lol > did i move to denver? lol
i like it, do you? lol > I like it, do you?
"""
# Words in small letters that are no name.
PLAIN: Final = """
I live in a small flat
I live in fear of spiders
I live in total chaos
I live in student housing
I live in the suburbs
I live in one two three four five
I live in 3b
I moved to the second floor
I moved to tears
I moved to quellbrook
I moved to bath
I moved to nice
I moved to berlin labs
I moved to sales last year
I moved to somewhere small
I work at night
I work for myself
I work at the city library
I'm tired
I'm christian
I'm from here
Call me later
My name is not important
My names are many
"""
OTHERS: Final = (  # as they are: written with care, or not about their speaker
    "I moved to management.", "bob lives in oslo", "im Sommer ist es heiß", "im letzten jahr war es heiß",
    "lol", "Note that i.e. is short.", "OK.", "",
)  # fmt: skip
# What is lost without capitals: joined and left are said of too much, and unknown places are no names.
LOST: Final = {
    "I work for Nokia. > I joined Ericsson in October.",
    "I work at Bank of America. > I left Bank of America.",
    "I work as a nurse at Skane Hospital. > I joined Capio.",
    "I'm employed as a nurse by Skane Hospital. > I left Skane Hospital.",
    "I live in Rome. > I moved to Xanten, Germany.",
    "I live in Rome. > I moved to Xanten, Germany last year.",
    "I live in Rome. > We relocated to Xanten, Germany.",
    "I live in Rome. > I moved from Rome to Xanten.",
    "I live in Oslo. > I moved from Rome to Xanten.",
    "I live in Rome. > We moved house to Xanten.",
    "I live in Quellbrook. > I moved from Quellbrook to Xanten.",
    "I work as a nurse in Lund. > I no longer work in Lund.",
    "We live in Leeds. > We moved to Bath in May.",
    "My favourite film is Man on Fire. > My favourite film is Alien.",
}
OWN_PAIRS: Final = [
    (str(old), str(new))
    for old, new, _ in PAIRS
    if re.match("(?:I|We|My(?!(?: [a-z]+)+ [A-Z][a-z]+ [a-z]))(?![a-z])", str(old))  # not "my sister ann"
]


def make_careless(text: str) -> str:
    return re.sub("['\u2019](?=(?:m|t|ve) )", "", text.lower()).rstrip(".")


@pytest.mark.parametrize("line", WRITTEN.strip().split("\n"))
def test_a_careless_sentence_is_read_as_a_careful_one(line: str) -> None:
    sentence, _, written = line.partition(" > ")
    assert write_out(sentence) == written


@pytest.mark.parametrize("sentence", PLAIN.strip().split("\n"))
def test_an_ordinary_word_is_no_name(sentence: str) -> None:
    assert write_out(sentence) == sentence
    assert write_out(sentence.lower()) == sentence


@pytest.mark.parametrize("sentence", OTHERS)
def test_other_sentences_stay_as_they_are(sentence: str) -> None:
    assert write_out(sentence) == sentence


@pytest.mark.parametrize(("old", "new"), OWN_PAIRS)
def test_a_careless_pair_ends_what_the_careful_one_ends(old: str, new: str) -> None:
    is_ended = ends(claims_of("Ann", new), claims_of("Ann", old))
    careless = ends(claims_of("Ann", make_careless(new)), claims_of("Ann", make_careless(old)))
    assert careless is (is_ended and f"{old} > {new}" not in LOST)


def test_names_are_stored_as_they_are_written() -> None:
    with open_blocking(":memory:", user="ann", agent="helper") as memory:
        memory.remember("i work at google and i live in austin lol")
        told = memory.remember("I MOVED TO DENVER").value
        names = {name for fact in memory.entities() for name in (fact.name, *fact.others)}
        assert names == {"ann", "google", "DENVER"}
        assert len(told.ended) == 1
        assert [it.content for it in memory.facts("me")] == ["i work at google", "I MOVED TO DENVER"]


@pytest.mark.parametrize(
    "part", ["lol ", "im ", "now ", "just ", "moved to ", "live in oslo, ", "i", "the ", "🎉", "no sorry, "]
)
def test_no_sentence_takes_long_to_read(part: str) -> None:
    started = time.process_time()
    for begin in ("", "i ", "i moved to oslo "):
        write_out(begin + part * (100_000 // len(part)))
    assert time.process_time() - started < 5
