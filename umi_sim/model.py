"""SimLLM's truth: what a flawless model answers, from the task and the prompt alone.

Law 1. Pure: the same task and prompt have the same answer in every seed, process and order.
Law 2. Total: any prompt, in any script, is answered in the form its task asks for.
Law 3. Nothing inside an input chooses the task, and no parser of the memory finds anything to drop.
Law 4. The tables are frozen: a changed cue changes recorded runs.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final

import attrs

from umi_core.language.replies import decoded
from umi_sim.text import DENSE, LOWER, MARKS, SPACED, WORD, char_class, lower, sentences

ENTITY_COUNT_MAX: Final = 50
RELATION_COUNT_MAX: Final = 100
CONTENT_CHARS_MAX: Final = 400
NAME_CHARS_MAX: Final = 60
QUOTED_CHARS_MAX: Final = 40
CASELESS_CHARS_MAX: Final = 8
SELF_CUES_MIN: Final = 4  # with fewer the confidence is too low for the type self
ENTITIES_BYTES_MAX: Final = 32_000
RELATIONS_BYTES_MAX: Final = 7_900  # both and their frame: under 40 000
ROUTES_BYTES_MAX: Final = 39_900

Inputs = Mapping[str, object]
Span = tuple[int, int, str]  # where a name starts and ends
PlacedCue = tuple[int, int, "Cue"]  # the same of a cue
Mention = tuple["Sentence", int]  # a name by its number in the sentence


@lru_cache(maxsize=256)  # a shrinker asks the same again and again
def truth(task: str, prompt: str) -> str:
    """The truthful answer; an empty array for a task that has none."""
    answer = ANSWERS.get(task)
    return answer(inputs(prompt)) if answer else "[]"


# Cues: relation, type of a name before it, type of a name behind it, the cues themselves.

CUE_ROWS: Final = (
    ("works_at", "person", "organization",
     "works at, work at, worked at, works for, work for, works in, joined, works with, arbeitet bei, "
     "arbeite bei, arbeitet für, trabaja en, trabajo en, trabaja para, travaille chez, travaille pour, "
     "travaille à, lavora per, lavoro per, lavora a, работает в, работаю в, работал в, работала в, "
     "在职于, 任职于, 就职于, に勤め, で働, 에서 일, 에 다니, يعمل في, تعمل في, أعمل في, में काम, में नौकरी, "
     "ทำงานที่"),
    ("located_in", "person", "location",
     "lives in, live in, lived in, moved to, moves to, moving to, stays in, wohnt in, wohne in, "
     "wohnen in, lebt in, zog nach, zieht nach, vive en, vivo en, se mudó a, se muda a, habite à, vit à, "
     "déménage à, vive a, abita a, живёт в, живет в, живу в, переехал в, переехала в, 住在, 搬到, に住, "
     "に引っ越, 에 살, 로 이사, يعيش في, تعيش في, أعيش في, انتقل إلى, में रहती, में रहता, में रहते, อาศัยอยู่, ย้ายไป"),
    ("located_in", "organization", "location",
     "located in, is located in, based in, liegt in, sitzt in, está en, se trouve à, si trova a, "
     "находится в, 位于, にある, に位置, 에 있, يقع في, تقع في, में स्थित, ตั้งอยู่"),
    ("knows", "person", "person",
     "knows, know, knew, met, meets, kennt, kenne, traf, trifft, conoce, conozco, conoció, connaît, "
     "connais, rencontré, conosce, conosco, знает, знаю, встретил, встретила, 认识, 见过, 知り合い, と会, "
     "를 알, 을 알, يعرف, تعرف, أعرف, जानता, जानती, รู้จัก"),
    ("", "person", "preference",
     "likes, like, loves, prefers, prefer, favourite, hates, mag, mögen, bevorzugt, isst gern, gusta, "
     "prefiere, prefiero, aime, adore, préfère, piace, preferisce, preferisco, любит, люблю, "
     "предпочитает, предпочитаю, 喜欢, 偏好, 好き, 좋아, يحب, تحب, أحب, पसंद, ชอบ"),
    ("", "self", "self",
     "your name, my name is, name is, you are, your assistant, my assistant, i am your, call yourself, "
     "dein name, du bist, mein assistent, tu nombre, eres mi, ton nom, tu es, il tuo nome, твоё имя, "
     "你的名字, 你是我, あなたの名前, 네 이름, اسمك, तुम्हारा नाम, ชื่อของคุณ"),
    ("", "task", "task",
     "must, todo, to do, deadline, remind, reminder, finish, have to, needs to, muss, müssen, erledigen, "
     "frist, debe, tengo que, plazo, doit, rappelle, deve, devo, должен, должна, нужно, 必须, 截止, "
     "しなければ, 締め切り, 해야, 마감, يجب, करना है, ต้อง"),
    ("", "project", "project",
     "project, projekt, proyecto, projet, progetto, проект, проекта, 项目, プロジェクト, 프로젝트, مشروع, "
     "परियोजना, โครงการ"),
    ("", "event", "event",
     "meeting, birthday, demo, conference, wedding, appointment, party, game, treffen, besprechung, "
     "geburtstag, hochzeit, termin, reunión, cumpleaños, boda, cita, réunion, anniversaire, mariage, "
     "riunione, compleanno, matrimonio, встреча, встречу, день рождения, свадьба, 会议, 生日, 会議, "
     "誕生日, 회의, 생일, اجتماع, الاجتماع, बैठक, जन्मदिन, ประชุม, วันเกิด"),
    ("", "organization", "organization",
     "company, customer, office, firma, kunde, empresa, cliente, entreprise, client, azienda, компания, "
     "компании, 公司, 科技, 会社, 회사, 연구소, شركة, لشركة, कंपनी, บริษัท"),
    ("", "location", "location",
     "city, town, street, stadt, straße, ciudad, calle, ville, rue, città, город, улица, 城市, 都市, "
     "도시, مدينة, शहर, เมือง"),
    ("", "person", "person",
     "works, work, lives, live, husband, wife, mother, father, sister, brother, daughter, son, colleague, "
     "friend, mutter, vater, mann, frau, schwester, bruder, tochter, kollege, freund, wohnt, wohnen, "
     "lebt, arbeitet, arbeite, madre, padre, hermana, hermano, hija, hijo, vive, vivo, trabaja, trabajo, "
     "mère, père, sœur, frère, fille, ami, travaille, habite, sorella, fratello, lavora, abita, мать, "
     "отец, сестра, брат, дочь, сын, работает, живёт, 朋友, 同学, 妈妈, さん, 友達, 씨, 입니다, صديق, "
     "اسمي, नाम, ชื่อ"),
    ("", "topic", "topic",
     "about, topic, subject, thema, über, tema, sobre, sujet, argomento, тема, 关于, 话题, について, "
     "에 대해, موضوع, विषय, เรื่อง"),
    ("", "note", "note",
     "temporary, temporarily, for now, just for today, only today, vorübergehend, nur heute, temporal, "
     "por ahora, temporaire, pour l instant, provisorio, per ora, временно, пока что, 暂时, 一時的, 임시, "
     "مؤقت, अस्थायी, ชั่วคราว"),
)  # fmt: skip

# Words by which a name tells its own type.
KNOWN_ROWS: Final = (
    ("person",
     "alice bob carol dave eve frank grace heidi ann anna yuki dmitri sofía sofi\u0301a helena claire "
     "tomás toma\u0301s lena noah zoë zoe\u0308 carmen ilse giulia priya somchai ahmed minseo wei jonas "
     "igor étienne hélène john maria peter hans ada дмитрий игорь анна мария иван 王伟 刘洋 田中 山田 "
     "김민서 أحمد प्रिया สมชาย"),
    ("organization",
     "labs gmbh inc corp ltd llc ag trading analytics foundry bank university acme praxis charité 科技 "
     "公司 会社 연구소 شركة बैंक บริษัท"),
    ("project",
     "project projekt proyecto projet progetto проект 项目 プロジェクト 프로젝트 مشروع परियोजना โครงการ"),
    ("location",
     "berlin lisbon paris london tokyo osaka hamburg porto lyon grenoble valencia sevilla dresden leipzig "
     "leeds pune shanghai torino milano madrid rome vienna boston riga rotterdam москва москве риге 上海 "
     "北京 東京 大阪 서울 부산 القاهرة पुणे กรุงเทพ"),
    ("event",
     "monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag "
     "freitag samstag sonntag january february march april june july august september october november "
     "december januar februar märz dezember navidad christmas"),
)  # fmt: skip

# Function words and pronouns: none of them begins a name, and a name is not made of them alone.
NO_NAMES: Final = frozenset(
    "a about all also an and any are as at be before both but by can could did do does for forget "
    "from go good had has have he hello her here hers herself hi him himself his how i if in is it "
    "its itself just let many me mine my no not now of oh on one or our ours please she should so "
    "some thank thanks that the their theirs them themselves then there these they this those to "
    "two up us was we welcome were what when where which who why will with would yes yesterday you "
    "your yours aber am auch auf bitte danke das dass der des die du ein eine er es für hat ich ihr "
    "im ist ja kein mein mit nein nur oder sie sind und von war was wer wie wir wo zu al buenas "
    "como con de del el ella en entendido es eso esta este gracias hola la las lo los me mi muy no "
    "pero por que qué quién se sin soy su sí tu un una y yo au aussi avec bien bonjour ce ces cette "
    "dans elle est et il ils je le les mais merci moi mon ne nous on oui où par pas pour qui quoi "
    "sa sur toi ton une vous anche che chi ci ciao come da di gli ho io lei lui ma noi non per più "
    "sono tutti а в вы да для до его ещё её и из или как кто мне мы на не нет но о он она они от по "
    "при с так там то ты у что это я 我 你 他 她 它 我们 你们 他们 大家 大家好 私 彼 彼女 僕 これ "
    "それ あれ はじめまして 저 저는 나 그 그녀 안녕하세요 أنا أنت هو هي نحن هم مرحبا من في إلى اسمي "
    "मैं मेरा मेरी मुझे तुम आप वह वे हम यह नमस्ते ผม ฉัน เขา เธอ เรา มัน".split()
)


@attrs.frozen
class Cue:
    """A phrase that tells the types of the names beside it; with a relation, what links them."""

    phrase: str
    relation: str
    before: str
    after: str

    @property
    def is_directed(self) -> bool:
        return self.before != self.after


CUES: Final = {
    phrase: Cue(phrase, relation, before, after)
    for relation, before, after, phrases in CUE_ROWS
    for phrase in phrases.split(", ")
}
KNOWN: Final = {word: entity_type for entity_type, words in KNOWN_ROWS for word in words.split()}
TEMPORARY: Final = frozenset(CUE_ROWS[-1][3].split(", "))
DENSE_START: Final = "\u0e00"  # scripts without spaces begin here
LONGEST_FIRST: Final = sorted(CUES, key=lambda phrase: -len(phrase))
DENSE_CUES: Final = tuple(phrase for phrase in LONGEST_FIRST if phrase >= DENSE_START)
DENSE_KNOWN: Final = tuple(word for word in KNOWN if word >= DENSE_START)
SPACED_CUES: Final[dict[str, list[list[str]]]] = {}  # as lists of words, by their first word
for phrase in LONGEST_FIRST:
    if phrase < DENSE_START:
        SPACED_CUES.setdefault(phrase.split()[0], []).append(phrase.split())

assert len(CUES) == sum(len(row[3].split(", ")) for row in CUE_ROWS)  # each cue stands once
assert len(KNOWN) == sum(len(words.split()) for _, words in KNOWN_ROWS)


# Task extract.


@attrs.frozen
class Sentence:
    """A sentence, its names and its cues in order; gap i stands before name i, the last one behind all."""

    text: str
    names: tuple[str, ...]
    gaps: tuple[tuple[Cue, ...], ...]
    cues: tuple[Cue, ...]


def extract(given: Inputs) -> str:
    """An entity per name with the sentences it stands in, and the relations that a cue states."""
    text = given.get("text")
    found = [read_sentence(part) for part in sentences(whole(text if isinstance(text, str) else ""))]
    groups = mentions_by_name(found)
    elements = map(entity, list(groups.values())[:ENTITY_COUNT_MAX])
    entities = fitting(elements, ENTITIES_BYTES_MAX)
    kept = {key: name_of(group[0]) for key, group in list(groups.items())[: len(entities)]}
    links = list(dict.fromkeys(relations(found, kept)))[:RELATION_COUNT_MAX]
    relation_rows = fitting(links, RELATIONS_BYTES_MAX)
    return f'{{"entities":[{",".join(entities)}],"relations":[{",".join(relation_rows)}]}}'


def mentions_by_name(found: list[Sentence]) -> dict[str, list[Mention]]:
    """Where each name stands, in order of appearance; case makes no other name."""
    groups: dict[str, list[Mention]] = {}
    for sentence in found:
        for at, name in enumerate(sentence.names):
            groups.setdefault(lower(name), []).append((sentence, at))
    return groups


def entity(group: list[Mention]) -> str:
    """One element of the answer, from every place where its name stands."""
    by_text = {sentence.text: sentence for sentence, _ in group}
    content = "\n".join(by_text)[:CONTENT_CHARS_MAX]
    entity_type = next((found for mention in group if (found := type_of(mention)) != "note"), "note")
    cue_count = len({cue.phrase for sentence in by_text.values() for cue in sentence.cues})
    return (
        f'{{"name":{quoted(name_of(group[0]))},"type":"{entity_type}",'
        f'"content":{quoted(content)},"confidence":{confidence(cue_count)}}}'
    )


def name_of(mention: Mention) -> str:
    return mention[0].names[mention[1]]


def type_of(mention: Mention) -> str:
    """The type told by the name itself, else by a cue beside it, else by the first cue of its sentence."""
    sentence, at = mention
    own = [KNOWN[word] for word in known_words(sentence.names[at])]
    behind = [cue.after for cue in sentence.gaps[at] if cue.is_directed][-1:]
    before = [cue.before for cue in sentence.gaps[at + 1] if cue.is_directed][:1]
    near = [cue.before for cue in sentence.cues if not cue.is_directed and may_tell(cue, sentence)]
    return (own + behind + before + near + ["note"])[0]


def known_words(name: str) -> Iterator[str]:
    for word in words_of(name):
        if word >= DENSE_START:
            yield from (known for known in DENSE_KNOWN if known in word)
        elif word in KNOWN:
            yield word


def may_tell(cue: Cue, sentence: Sentence) -> bool:
    return cue.before != "self" or len(sentence.cues) >= SELF_CUES_MIN


def confidence(cue_count: int) -> str:
    """0.60 and 0.05 per cue, at most 0.95."""
    return f"0.{min(95, 60 + 5 * cue_count)}"


def relations(found: list[Sentence], kept: Mapping[str, str]) -> Iterator[str]:
    """The relations between neighbouring names of a sentence, both of them kept."""
    for sentence in found:
        keys = [lower(name) for name in sentence.names]
        for source, target, gap in zip(keys, keys[1:], sentence.gaps[1:], strict=False):
            kind = next((cue.relation for cue in gap if cue.relation), None)
            if kind and source != target and source in kept and target in kept:
                yield (
                    f'{{"source":{quoted(kept[source])},"target":{quoted(kept[target])},'
                    f'"type":"{kind}","confidence":{confidence(len(sentence.cues))}}}'
                )


def read_sentence(text: str) -> Sentence:
    spans, placed = name_spans(text), placed_cues(text)
    starts = [0, *(end for _, end, _ in spans)]
    ends = [*(start for start, _, _ in spans), len(text)]
    gaps: list[list[Cue]] = [[] for _ in starts]
    for start, end, cue in placed:
        at = bisect_right(starts, start) - 1
        if end <= ends[at]:
            gaps[at].append(cue)
    cues = {cue.phrase: cue for _, _, cue in placed}
    return Sentence(text, tuple(name for _, _, name in spans), tuple(map(tuple, gaps)), tuple(cues.values()))


def placed_cues(text: str) -> list[PlacedCue]:
    """Every cue of a text in order; where two begin, the longer is first."""
    matches = list(WORD.finditer(lower(text)))
    words = [match[0] for match in matches]
    found: list[PlacedCue] = []
    for at, word in enumerate(words):
        for parts in SPACED_CUES.get(word, ()):
            if words[at : at + len(parts)] == parts:
                found.append((matches[at].start(), matches[at + len(parts) - 1].end(), CUES[" ".join(parts)]))
    if max(words, default="") >= DENSE_START:
        found += [(at, at + len(cue), CUES[cue]) for cue in DENSE_CUES if (at := text.find(cue)) >= 0]
    return sorted(found, key=lambda placed: (placed[0], -placed[1]))


def words_of(text: str) -> list[str]:
    return [match[0] for match in WORD.finditer(lower(text))]


# Names.

LETTERS: Final = char_class(SPACED, DENSE, MARKS)
CAPITAL: Final = f"[{''.join(map(chr, LOWER))}]"
TAIL: Final = f"{char_class(SPACED, MARKS)}+"
CAPITALISED: Final = rf"(?<!{LETTERS}){CAPITAL}(?:{TAIL}|(?=['’]{CAPITAL}))(?:[-'’]{CAPITAL}{TAIL})*"
CONTROLS: Final = r"\x00-\x1f\x7f-\x9f"
QUOTES: Final = ('""', "“”", "„“", "«»", "[]", "「」", "『』", "【】", "《》")
QUOTED: Final = "|".join(
    f"{re.escape(left)}([^{re.escape(left + right)}{CONTROLS}]{{1,{QUOTED_CHARS_MAX}}}){re.escape(right)}"
    for left, right in QUOTES
)
HANDLE: Final = f"([@#](?:{LETTERS}|_)+)"
NAME: Final = re.compile(f"{QUOTED}|{HANDLE}|(?P<run>{CAPITALISED}(?: {CAPITALISED}){{0,3}})")

# One script each: a run of kanji ends where kana begin, and any run where a cue does.
CASELESS_SCRIPTS: Final = (
    "\u05d0-\u05ea", "\u0620-\u0652\u066e-\u06d3", "\u0900-\u0963\u0971-\u097f", "\u0e01-\u0e3a\u0e40-\u0e4e",
    "\u30a1-\u30fa\u30fc-\u30fe", "\u1100-\u11ff\uac00-\ud7a3", "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff",
    "\u3041-\u3096",
)  # fmt: skip
ANY_CUE: Final = "|".join(DENSE_CUES)
ANY_RUN: Final = "|".join(f"(?:(?!{ANY_CUE})[{script}])+" for script in CASELESS_SCRIPTS)
CASELESS: Final = re.compile(f"(?=[\u0590-\uffff])(?:{ANY_CUE}|(?P<run>{ANY_RUN}))")
LETTER_WORD: Final = re.compile(f"{char_class(SPACED, DENSE)}{LETTERS}*")
MARK: Final = re.compile(char_class(MARKS))
APOSTROPHE_TAIL: Final = re.compile(r"['’][^\s]*")


def name_spans(text: str) -> list[Span]:
    """The names and where they stand; if no capital, quote or sign shows one, a run of a caseless script."""
    return [span for match in NAME.finditer(text) if (span := named(match))] or first_run(text)


def first_run(text: str) -> list[Span]:
    runs = (match for match in CASELESS.finditer(text) if match["run"])
    spans = (spanned(match, match["run"][:CASELESS_CHARS_MAX]) for match in runs)
    return [span for span in [next(filter(None, spans), None)] if span]


def named(match: re.Match[str]) -> Span | None:
    if match["run"]:
        return spanned(match, without_function_words(match["run"]))
    return spanned(match, next(part for part in match.groups() if part))


def without_function_words(run: str) -> str:
    """A run of capitalised words from its first word on that may begin a name."""
    words = run.split(" ")
    start = next((at for at, word in enumerate(words) if lower(word) not in NO_NAMES), len(words))
    return " ".join(words[start:])


def spanned(match: re.Match[str], found: str) -> Span | None:
    name = " ".join(found[:NAME_CHARS_MAX].split())
    return (match.start(), match.end(), name) if is_name(name) else None


def is_name(name: str) -> bool:
    """Whether some word of letters in it is more than a function word, with and without its marks."""
    words = LETTER_WORD.findall(lower(APOSTROPHE_TAIL.sub("", name)))
    return any(word not in NO_NAMES and bare(word) not in NO_NAMES for word in words)


def bare(word: str) -> str:
    return MARK.sub("", word).replace("ſ", "s")


# Task route.

BLOCK_OF_TYPE: Final = {
    "self": "persona", "person": "human", "preference": "human", "organization": "facts", "project": "facts",
    "topic": "facts", "location": "facts", "event": "goals", "task": "goals", "note": "scratch",
}  # fmt: skip
PROMOTED_BLOCKS: Final = ("persona", "human")


def route(given: Inputs) -> str:
    """One row per entity asked about, in order."""
    asked = given.get("entities")
    by_id = {
        entity_id: element
        for element in (asked if isinstance(asked, list) else ())
        if isinstance(element, dict) and isinstance(entity_id := element.get("entity_id"), str)
    }
    rows = (route_row(entity_id, element) for entity_id, element in by_id.items())
    return f"[{','.join(fitting(rows, ROUTES_BYTES_MAX))}]"


def route_row(entity_id: str, element: Mapping[str, object]) -> str:
    """The block of the table, unless a cue of a task or of something temporary says otherwise."""
    entity_type = str(element.get("type"))
    block, reason = BLOCK_OF_TYPE.get(entity_type, "scratch"), f"the block of every {quoted(entity_type)}"
    for _, _, cue in placed_cues(f"{element.get('name')} {element.get('content')}"):
        if entity_type != "self" and (cue.before == "task" or cue.phrase in TEMPORARY):
            block, reason = ("scratch" if cue.phrase in TEMPORARY else "goals"), f'it says "{cue.phrase}"'
    promote = "true" if block in PROMOTED_BLOCKS else "false"
    return (
        f'{{"entity_id":{quoted(whole(entity_id))},"block":"{block}","promote":{promote},'
        f'"confidence":0.90,"reason":{quoted(whole(reason))}}}'
    )


ANSWERS: Final[dict[str, Callable[[Inputs], str]]] = {"extract": extract, "route": route}


def fitting(rows: Iterable[str], bytes_max: int) -> list[str]:
    """The rows from the first on that fit, each with a comma."""
    kept: list[str] = []
    for row in rows:
        bytes_max -= len(row.encode()) + 1
        if bytes_max < 0:
            break
        kept.append(row)
    return kept


# Inputs: the inverse of the quoting rule.

INPUT_LINE: Final = re.compile(r"INPUT ([A-Za-z_][A-Za-z0-9_]*) = (.*)")


def inputs(prompt: str) -> Inputs:
    """The inputs by name, the first of each; a prompt without any is itself the input `text`."""
    found: dict[str, object] = {}
    for line in prompt.split("\n"):
        if match := INPUT_LINE.fullmatch(line):
            found.setdefault(match[1], decoded(match[2], 0))
    return found or {"text": prompt}


SURROGATE: Final = re.compile("[\ud800-\udfff]")


def whole(text: str) -> str:
    """Lone surrogates become U+FFFD."""
    return SURROGATE.sub("\ufffd", text)


ENCODER: Final = json.JSONEncoder(ensure_ascii=False)


def quoted(text: str) -> str:
    return ENCODER.encode(text)
