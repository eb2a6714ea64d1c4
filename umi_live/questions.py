"""Questions: further words for finding the answer to a question without a model.

    What is my job?                     work works working      (I work as a baker.)
    Do I have a pet?                    dog cat ...             (I have a cat.)
    Où est-ce que j'habite ?            habite                  (J'habite à Lyon.)

Law 1. Pure: a question in, words out. Law 2. The words are those of possible answers: a question about a pet
also searches for `dog`, but a question about a dog never searches for `pet`.
"""

from collections.abc import Iterator
from typing import Final

from umi_core.language.languages import language_of, written_words
from umi_core.language.tables import MARKS
from umi_core.language.wordings import fold_words, words_of_change

ANSWER_ROWS: Final = (  # words of a question, and words of statements that may answer it
    ("job profession occupation", "work works working"),
    ("pet pets", "dog cat bird rabbit hamster horse fish"),
    ("kids children", "son daughter sons daughters"),
    ("siblings", "brother sister brothers sisters"),
    ("parents", "mother father mum mom dad"),
    ("partner spouse", "wife husband girlfriend boyfriend married"),
    ("allergies allergy", "allergic"),
    ("meat diet", "vegetarian vegan"),
    ("name names", "called"),
    ("address", "live lives moved"),
    ("email", "mail"),
    ("mail", "email"),
    ("telephone mobile", "phone"),
    ("beruf job", "arbeite arbeitet"),
    ("lebe lebst lebt", "wohne wohnt"),
    ("adresse anschrift", "wohne wohnt"),
    ("haustier haustiere", "hund katze vogel hase pferd"),
    ("kinder", "sohn tochter söhne töchter"),
    ("geschwister", "bruder schwester"),
    ("eltern", "mutter vater"),
    ("allergien allergie", "allergisch"),
    ("fleisch", "vegetarier vegetarierin vegetarisch vegan"),
    ("name", "heiße heißt"),
    ("métier profession emploi", "travaille"),
    ("enfants", "fils fille"),
    ("animal animaux", "chien chat"),
    ("allergies allergie", "allergique"),
    ("nom prénom", "appelle"),
    ("profesión empleo", "trabajo trabaja"),
    ("mascota mascotas", "perro perra gato gata"),
    ("hijos", "hijo hija"),
    ("alergias alergia", "alérgico alérgica"),
    ("nombre", "llamo llama"),
    ("dirección", "vivo vive"),
    ("figli", "figlio figlia"),
    ("animali", "cane gatto"),
    ("allergie allergia", "allergico allergica"),
    ("nome", "chiamo chiama"),
)


def list_wordings(question: str) -> Iterator[str]:
    """Yield alternative wordings of a question, the most specific first."""
    spoken = fold_words(question)
    answers = [answer for asked, answer in ANSWER_ROWS if not spoken.isdisjoint(fold_words(asked))]
    small = drop_small_words(question)
    yield from [small] if small else []
    yield from [" ".join(answers)] if answers else []
    yield from words_of_change(question)


def drop_small_words(question: str) -> str:
    """Return a question without the function words of its language; empty if there are none, or only those.

    English function words stay, as the search itself ignores them."""
    written = written_words(question)
    language = language_of(question, written)
    small = MARKS.get(language, frozenset()) if language != "en" else frozenset[str]()
    left = [it.text for it in written if it.text not in small]
    return " ".join(left) if len(left) < len(written) else ""
