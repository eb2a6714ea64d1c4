"""The first person: the person that I, me, my and `the user` stand for if a text does not name one.

    remember("I live in Porto.")                    the user of the memory
    remember("I live in Porto.", speaker="Ann")     Ann
    remember("Ann: Hi!\\nBob: I live in Porto.")     none: the text has its own speakers
    a message of role user, in a conversation       the user of the memory
    any other message, and a document               its own speaker, or none
    remember("The user lives in Porto.")            the user: agents write like this about their user
    recall("Where do I live?")                      the user

Law 1. Only this file decides this. Law 2. A user has one name, in all kinds of requests. Law 3. No name is
better than a wrong one.
"""

import re
from typing import Final

from msgspec import structs

from umi_core.chats.messages import is_role
from umi_core.chats.reader import read_turns
from umi_core.domains import bad_speaker
from umi_core.kelpie.requests import AddArchival
from umi_core.language.extraction import is_pronoun
from umi_core.language.prompts import input_line
from umi_core.messages.requests import Recall, Remember, Request
from umi_core.text import norm, tidy
from umi_live.rules import is_speaker

NAMELESS: Final = "user"  # the name of a user whose id cannot be a name, such as `me`
# By task, the pattern in the JSON of a text which shows that the text is about the user.
NEEDS_USER: Final = {
    "memories": re.compile(r"(?:\"|\\n)(?:\[\d+\] )?(?:[^\[\]\"]+ )?\[user\]: "),
    "extract": re.compile(r"\b(?:[Tt]he user|User)(?:['\u2019]s)? [a-z]"),
}
USER_RULES: Final = {  # by task
    "memories": "- The lines of role user are said by the input user: that is the name of a fact that such a "
    "line states of I, me or my.",
    "extract": "- Whom the text calls the user is the input user: an entity of type person under that name.",
}


def name_user(user: str) -> str:
    """Return the name that facts about a user have: the user id, or `user` if that cannot be a name."""
    is_name = bad_speaker("user", user) is None and not is_pronoun(user)
    return tidy(user) if is_name else NAMELESS


def name_speaker(request: Request, user: str) -> Request:
    """Return a request with the user as its speaker, if neither the request nor its text names a speaker."""
    match request:
        case Remember(text=text, speaker=None) | AddArchival(content=text, speaker=None) if is_own_text(text):
            return structs.replace(request, speaker=name_user(user))
        case Recall(speaker=None):
            return structs.replace(request, speaker=name_user(user))
    return request


def is_own_text(text: object) -> bool:
    """Return whether a text may be written by the user: no line begins with the name of a speaker."""
    turns = read_turns(text.strip())[0] if isinstance(text, str) else []
    # "Ann: Hi!" has a speaker; "Note: I moved." is one line with a colon.
    return len(turns) < 2 and not any(is_role(it.role) or is_speaker(it.role) for it in turns)


def tell_user(task: str, prompt: str, user: str) -> str:
    """Return a prompt with the name of the user added, if its text has messages of, or mentions, the user."""
    rules, mark, inputs = prompt.partition("\n\nINPUT ")
    if task not in NEEDS_USER or not NEEDS_USER[task].search(inputs):
        return prompt
    return f"{rules}\n\n{USER_RULES[task]}{mark}{inputs}\n{input_line('user', name_user(user))}"


def resolve_name(name: str, user: str) -> str:
    """Return the name of the user for `I` or `me`, and any other name unchanged."""
    return name_user(user) if norm(name) in ("i", "me") else name
