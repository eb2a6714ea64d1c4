"""Conversations about several people with the same attributes, and questions about them.

Labelled before any answer was looked at. Each question has a part of the fact that must come first.
"""

from typing import Final

from umi_core.data import Data


class PeoplesTalk(Data):
    """Statements of a user, in order, and by question a part of its answer."""

    language: str
    statements: tuple[str, ...]
    answers: dict[str, str]


def talk(language: str, text: str, answers: dict[str, str]) -> PeoplesTalk:
    return PeoplesTalk(language, tuple(text.strip().split("\n")), answers)


TALKS: Final = (
    talk(
        "en",
        """
Bob lives in Oslo.
Carla lives in Madrid.
My brother Tom lives in Leeds.
I live in Rome.
Bob works at Globex.
I work at Acme.
Carla works as a nurse.
I work as a baker.
Bob likes jazz.
I like opera.
Carla likes green tea.
I like black coffee.
Bob is allergic to nuts.
I am allergic to shellfish.
Carla is 41 years old.
I am 36 years old.
Bob's favourite colour is red.
My favourite colour is blue.
Carla's birthday is on 3 May.
My birthday is on 9 June.
Tom is married to Jane.
I am married to Paul.
Bob speaks Norwegian.
I speak Italian.
Bob plays tennis.
I play chess.
""",
        {
            "Where do I live?": "I live",
            "Where does Bob live?": "Bob lives",
            "Where does Carla live?": "Carla lives",
            "Where does my brother live?": "Tom lives",
            "Where does Tom live?": "Tom lives",
            "Where do I work?": "I work",
            "Who do I work for?": "I work",
            "Where does Bob work?": "Bob works",
            "What does Carla do for work?": "Carla works",
            "What music do I like?": "I like",
            "What do I like?": "I like",
            "What does Bob like?": "Bob likes",
            "What does Carla like?": "Carla likes",
            "What am I allergic to?": "I am allergic",
            "What is Bob allergic to?": "Bob is allergic",
            "How old am I?": "I am 36",
            "How old is Carla?": "Carla is 41",
            "What is my favourite colour?": "My favourite",
            "What is Bob's favourite colour?": "Bob's favourite",
            "When is my birthday?": "My birthday",
            "When is Carla's birthday?": "Carla's birthday",
            "Who am I married to?": "I am married",
            "Who is Tom married to?": "Tom is married",
            "Which languages do I speak?": "I speak",
            "Which language does Bob speak?": "Bob speaks",
            "What do I play?": "I play",
            "What does Bob play?": "Bob plays",
            "Tell me where I live": "I live",
            "Tell me where Bob lives": "Bob lives",
            "Can you remind me where Bob lives?": "Bob lives",
        },
    ),
    talk(
        "en",
        """
Bob moved to Bergen.
I live in Porto.
I moved to Lisbon.
Bob joined Initech.
I work at Acme.
I joined Hooli.
Carla lives in Porto.
Carla moved to Braga.
I turned 40.
Bob turned 50.
""",
        {
            "Where do I live?": "I moved to Lisbon",
            "Where does Bob live?": "Bob moved",
            "Where does Carla live?": "Carla moved",
            "Where do I work?": "I joined",
            "Where does Bob work?": "Bob joined",
            "How old am I?": "I turned",
            "How old is Bob?": "Bob turned",
            "In which city do I live now?": "I moved to Lisbon",
        },
    ),
    talk(
        "en",
        """
Tom is my brother.
Tom lives in Leeds.
I live in Rome.
My boss Eva likes golf.
I like tennis.
I met Bob in Vienna.
Bob met Carla in Prague.
My sister Lisa works at Siemens.
My dog is called Rex.
Bob's dog is called Fido.
My flight to Oslo leaves at 9.
Bob's flight to Bergen leaves at 7.
My wife is called Maria.
Maria works as a lawyer.
I work as a cook.
Our house is in Via Roma 3.
Bob's house is in Storgata 5.
My mother Rita lives in Naples.
The wifi password is hunter2.
Paul borrowed my bike.
""",
        {
            "What does my boss like?": "Eva",
            "Where did I meet Bob?": "I met Bob",
            "Where did Bob meet Carla?": "Bob met",
            "Where does my sister work?": "Lisa",
            "What is my dog called?": "My dog",
            "What is Bob's dog called?": "Bob's dog",
            "When does my flight leave?": "My flight",
            "When does Bob's flight leave?": "Bob's flight",
            "What is my wife called?": "My wife",
            "What does Maria do for work?": "Maria works",
            "Where is our house?": "Our house",
            "Where is Bob's house?": "Bob's house",
            "Where does my mother live?": "Rita",
            "What is my wifi password?": "wifi",
            "Who borrowed my bike?": "Paul",
            "Who is my brother?": "Tom is",
            "What do I do for work?": "I work",
            "Where do we live?": "I live",
        },
    ),
    talk(
        "de",
        """
Bob wohnt in Hamburg.
Ich wohne in Köln.
Anna wohnt in Wien.
Bob arbeitet bei Siemens.
Ich arbeite bei Bosch.
Bob mag Jazz.
Ich mag Opern.
Anna ist 30 Jahre alt.
Ich bin 52 Jahre alt.
Meine Lieblingsfarbe ist Blau.
Bobs Lieblingsfarbe ist Rot.
Meine Schwester Eva wohnt in Ulm.
Bob spielt Tennis.
Ich spiele Schach.
Anna ist gegen Nüsse allergisch.
Ich bin gegen Fisch allergisch.
""",
        {
            "Wo wohne ich?": "Ich wohne",
            "Wo wohnt Bob?": "Bob wohnt",
            "Wo wohnt Anna?": "Anna wohnt",
            "Wo wohnt meine Schwester?": "Eva wohnt",
            "Wo arbeite ich?": "Ich arbeite",
            "Wo arbeitet Bob?": "Bob arbeitet",
            "Was mag ich?": "Ich mag",
            "Was mag Bob?": "Bob mag",
            "Wie alt bin ich?": "Ich bin 52",
            "Wie alt ist Anna?": "Anna ist 30",
            "Was ist meine Lieblingsfarbe?": "Meine Lieb",
            "Was ist Bobs Lieblingsfarbe?": "Bobs Lieb",
            "Was spiele ich?": "Ich spiele",
            "Was spielt Bob?": "Bob spielt",
            "Wogegen bin ich allergisch?": "Ich bin gegen",
            "Wogegen ist Anna allergisch?": "Anna ist gegen",
        },
    ),
    talk(
        "fr",
        """
Bob habite à Lille.
J'habite à Lyon.
Claire travaille chez Renault.
Je travaille chez Danone.
""",
        {
            "Où est-ce que j'habite ?": "J'habite",
            "Où habite Bob ?": "Bob habite",
            "Où est-ce que je travaille ?": "Je travaille",
            "Où travaille Claire ?": "Claire travaille",
        },
    ),
    talk(
        "es",
        """
Bob vive en Bilbao.
Vivo en Sevilla.
Mi color favorito es el azul.
El color favorito de Bob es el rojo.
""",
        {
            "¿Dónde vivo yo?": "Vivo",
            "¿Dónde vive Bob?": "Bob vive",
            "¿Cuál es mi color favorito?": "Mi color",
            "¿Cuál es el color favorito de Bob?": "favorito de Bob",
        },
    ),
)
