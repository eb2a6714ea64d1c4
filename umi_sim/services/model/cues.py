"""Cues: phrases that show the types of the names beside them, and their relation; frozen tables."""

from typing import Final

from umi_core.data import Data
from umi_sim.kernel.characters import lower, word_matches

PlacedCue = tuple[int, int, "Cue"]  # start and end of a cue, and the cue

# Relation, type of a name before the cue, type of a name after it, the cues themselves.

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


class Cue(Data):
    """A phrase that shows the types of the names before and after it, and their relation if it states one."""

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
TEMPORARY: Final = frozenset(CUE_ROWS[-1][3].split(", "))
DENSE_START: Final = "\u0e00"  # scripts without spaces begin here
# `works at` must be found before `works`, which only shows that the name before it is a person.
LONGEST_FIRST: Final = sorted(CUES, key=lambda phrase: -len(phrase))
DENSE_CUES: Final = tuple(phrase for phrase in LONGEST_FIRST if phrase >= DENSE_START)
SPACED_CUES: Final[dict[str, list[list[str]]]] = {}  # as lists of words, by their first word
for phrase in LONGEST_FIRST:
    if phrase < DENSE_START:
        SPACED_CUES.setdefault(phrase.split()[0], []).append(phrase.split())

assert len(CUES) == sum(len(row[3].split(", ")) for row in CUE_ROWS)  # each cue occurs once


def placed_cues(text: str) -> list[PlacedCue]:
    """Return every cue of a text in order of its place; of two in the same place the longer comes first."""
    matches = list(word_matches(lower(text)))
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
    return [match[0] for match in word_matches(lower(text))]
