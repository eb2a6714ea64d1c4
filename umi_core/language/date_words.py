"""Words that count from a day, in some thirty languages: tables, which language/dates.py reads."""

from typing import Final

# Phrases by unit and number: how many units after the day, week, month or year of the text.
DAYS: Final = {
    -3: "vorvorgestern, 大前天, 그끄저께",
    -2: "day before yesterday, vorgestern, avant-hier, anteayer, antier, antes de ayer, l'altro ieri, "
        "anteontem, eergisteren, i förrgår, i forgårs, przedwczoraj, předevčírem, позавчера, позавчора, "
        "προχθές, προχτές, evvelsi gün, أول أمس, أول من أمس, שלשום, پریروز, 前天, 一昨日, おととい, 그저께, "
        "그제, hôm kia, kemarin lusa, kemarin dulu, เมื่อวานซืน, toissapäivänä, tegnapelőtt, alaltăieri",
    -1: "yesterday, last night, gestern, hier soir, hier matin, ayer, anoche, ieri, ontem, gisteren, "
        "wczoraj, včera, dün, igår, i går, вчера, вчора, χθες, εχθές, χτες, أمس, البارحة, "
        "אתמול, دیروز, 昨天, "
        "昨晚, 昨日, 昨夜, 어제, hôm qua, kemarin, เมื่อวาน, เมื่อวานนี้, tegnap",
    0: "today, tonight, this morning, this afternoon, this evening, heute, aujourd'hui, ce matin, ce soir, "
       "hoy, esta mañana, esta tarde, esta noche, oggi, stamattina, stasera, hoje, vandaag, dziś, dzisiaj, "
       "dnes, bugün, idag, i dag, сегодня, сьогодні, σήμερα, היום, امروز, आज, 今天, 今晚, 今日, 今夜, 오늘, "
       "hôm nay, hari ini, วันนี้, tänään, astăzi",
    1: "tomorrow, demain, domani, amanhã, jutro, zítra, yarın, imorgon, i morgon, i morgen, завтра, αύριο, "
       "غدا, غدًا, מחר, فردا, 明天, 明日, 내일, ngày mai, besok, พรุ่งนี้, huomenna, holnap, mâine",
    2: "day after tomorrow, übermorgen, après-demain, pasado mañana, dopodomani, depois de amanhã, "
       "overmorgen, i övermorgon, i overmorgen, pojutrze, pozítří, послезавтра, післязавтра, "
       "μεθαύριο, بعد غد, "
       "מחרתיים, پس‌فردا, 后天, 明後日, あさって, 모레, ngày kia, lusa, มะรืนนี้, "
       "ylihuomenna, holnapután, poimâine",
    3: "大后天, 글피",
}  # fmt: skip
PERIODS: Final = {
    ("week", -2): "a fortnight ago, قبل أسبوعين, منذ أسبوعين, לפני שבועיים",
    ("week", -1): "last week, letzte woche, vorige woche, la semaine dernière, la semana pasada, "
                  "la settimana scorsa, semana passada, vorige week, afgelopen week, "
                  "förra veckan, sidste uge, "
                  "forrige uke, w zeszłym tygodniu, tydzień temu, minulý týden, на прошлой неделе, "
                  "неделю назад, минулого тижня, тиждень тому, την περασμένη εβδομάδα, geçen hafta, "
                  "الأسبوع الماضي, בשבוע שעבר, לפני שבוע, هفته گذشته, هفته پیش, पिछले हफ़्ते, "
                  "पिछले हफ्ते, पिछले सप्ताह, 上周, 上週, 上星期, 上个星期, 上礼拜, 先週, "
                  "지난주, tuần trước, "
                  "minggu lalu, สัปดาห์ที่แล้ว, อาทิตย์ที่แล้ว, viime viikolla, múlt héten, "
                  "săptămâna trecută",
    ("week", 0): "this week, diese woche, cette semaine, esta semana, questa settimana, deze week, "
                 "w tym tygodniu, tento týden, на этой неделе, цього тижня, bu hafta, هذا الأسبوع, این هفته, "
                 "इस हफ़्ते, इस हफ्ते, इस सप्ताह, 这周, 本周, 这个星期, 今週, 이번 주, tuần này, minggu ini, "
                 "สัปดาห์นี้, อาทิตย์นี้, tällä viikolla, ezen a héten, săptămâna aceasta",
    ("week", 1): "next week, nächste woche, la semaine prochaine, la próxima semana, la semana que viene, "
                 "la settimana prossima, semana que vem, volgende week, nästa vecka, næste uge, neste uke, "
                 "w przyszłym tygodniu, příští týden, на следующей неделе, наступного тижня, gelecek hafta, "
                 "الأسبوع القادم, الأسبوع المقبل, בשבוע הבא, هفته آینده, अगले हफ़्ते, "
                 "अगले हफ्ते, अगले सप्ताह, "
                 "下周, 下週, 下星期, 下个星期, 下礼拜, 来週, 다음 주, 다음주, tuần sau, "
                 "tuần tới, minggu depan, "
                 "สัปดาห์หน้า, อาทิตย์หน้า, ensi viikolla, jövő héten, săptămâna viitoare",
    ("month", -2): "قبل شهرين, منذ شهرين, לפני חודשיים",
    ("month", -1): "last month, letzten monat, vorigen monat, le mois dernier, el mes pasado, "
                   "il mese scorso, mês passado, vorige maand, afgelopen maand, förra månaden, "
                   "w zeszłym miesiącu, "
                   "miesiąc temu, minulý měsíc, в прошлом месяце, месяц назад, минулого місяця, geçen ay, "
                   "الشهر الماضي, בחודש שעבר, לפני חודש, ماه گذشته, पिछले महीने, 上个月, "
                   "上個月, 先月, 지난달, "
                   "tháng trước, bulan lalu, เดือนที่แล้ว, viime kuussa, múlt hónapban, luna trecută",
    ("month", 0): "this month, diesen monat, ce mois-ci, este mes, questo mese, este mês, deze maand, "
                  "в этом месяце, bu ay, 这个月, 本月, 今月, 이번 달, tháng này, bulan ini, เดือนนี้",
    ("month", 1): "next month, nächsten monat, le mois prochain, el próximo mes, el mes que viene, "
                  "il mese prossimo, mês que vem, volgende maand, nästa månad, w przyszłym miesiącu, "
                  "příští měsíc, в следующем месяце, наступного місяця, gelecek ay, الشهر القادم, בחודש הבא, "
                  "ماه آینده, अगले महीने, 下个月, 下個月, 来月, 다음 달, 다음달, tháng sau, "
                  "bulan depan, เดือนหน้า, "
                  "ensi kuussa, jövő hónapban, luna viitoare",
    ("year", -2): "قبل سنتين, منذ سنتين, לפני שנתיים, 前年, 재작년",
    ("year", -1): "last year, letztes jahr, voriges jahr, l'an dernier, l'année dernière, el año pasado, "
                  "l'anno scorso, ano passado, vorig jaar, afgelopen jaar, förra året, sidste år, i fjor, "
                  "w zeszłym roku, rok temu, vloni, loni, в прошлом году, год назад, "
                  "минулого року, рік тому, "
                  "πέρυσι, geçen yıl, geçen sene, العام الماضي, السنة الماضية, בשנה שעברה, לפני שנה, پارسال, "
                  "سال گذشته, पिछले साल, 去年, 昨年, 작년, năm ngoái, tahun lalu, ปีที่แล้ว, viime vuonna, "
                  "tavaly, anul trecut",
    ("year", 0): "this year, dieses jahr, cette année, este año, quest'anno, este ano, dit jaar, w tym roku, "
                 "v tomto roce, в этом году, цього року, bu yıl, bu sene, هذا العام, امسال, "
                 "इस साल, 今年, 올해, "
                 "năm nay, tahun ini, ปีนี้, tänä vuonna, idén, anul acesta",
    ("year", 1): "next year, nächstes jahr, l'année prochaine, l'an prochain, el próximo año, "
                 "el año que viene, l'anno prossimo, ano que vem, volgend jaar, nästa år, "
                 "næste år, neste år, "
                 "w przyszłym roku, příští rok, в следующем году, наступного року, του χρόνου, gelecek yıl, "
                 "العام القادم, בשנה הבאה, سال آینده, अगले साल, 明年, 来年, 내년, năm sau, "
                 "tahun depan, ปีหน้า, "
                 "ensi vuonna, jövőre, anul viitor",
    ("day", -2): "قبل يومين, منذ يومين, לפני יומיים",
}  # fmt: skip
LAST_WEEKDAY: Final = (  # phrases for the last such weekday, and the days from Monday; `_`: not in this form
    ("last {}", "monday tuesday wednesday thursday friday saturday sunday"),
    ("letzten {}", "montag dienstag mittwoch donnerstag freitag samstag sonntag"),
    ("{} dernier", "lundi mardi mercredi jeudi vendredi samedi dimanche"),
    ("{} pasado", "lunes martes miércoles jueves viernes sábado domingo"),
    ("{} scorso", "lunedì martedì mercoledì giovedì venerdì sabato"),
    ("afgelopen {}", "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag"),
    ("прошлый {}", "понедельник вторник _ четверг"),
    ("прошлую {}", "_ _ среду _ пятницу субботу"),
)
OF_WEEK: Final = {  # days of a week, from Monday, and phrases by the number of weeks after this one
    "一 二 三 四 五 六 日": {-1: "上周{} 上星期{} 上个星期{}", 0: "这周{} 本周{}", 1: "下周{} 下星期{}"},
    "一 二 三 四 五 六 天": {-1: "上周{} 上星期{} 上个星期{}", 0: "这周{} 本周{}", 1: "下周{} 下星期{}"},
    "月 火 水 木 金 土 日": {-1: "先週の{}曜日 先週の{}曜", 0: "今週の{}曜日", 1: "来週の{}曜日"},
    "월 화 수 목 금 토 일": {-1: "지난주_{}요일", 0: "이번_주_{}요일", 1: "다음_주_{}요일 다음주_{}요일"},
}
AGO: Final = (  # language, phrase with a place for the number, and the words for day, week, month and year
    ("en", "{} ago", "days? weeks? months? years?"),
    ("de", "vor {}", "tag(?:en)? wochen? monat(?:en)? jahr(?:en)?"),
    ("fr", "il y a {}", "jours? semaines? mois ans?"),
    ("es", "hace {}", "días? semanas? mes(?:es)? años?"),
    ("it", "{} fa", "(?:giorno|giorni) (?:settimana|settimane) (?:mese|mesi) (?:anno|anni)"),
    ("pt", "há {}", "dias? semanas? (?:meses|mes|mês) anos?"),
    ("nl", "{} geleden", "dag(?:en)? wek?e[kn]+ maand(?:en)? jaa?r(?:en)?"),
    ("sv", "för {} sedan", "dag(?:ar)? veck(?:a|or) månad(?:er)? år"),
    ("da", "for {} siden", "dage?r? u[gk]er? måned(?:er)? år"),
    ("pl", "{} temu", "dni tygodnie? (?:miesiące|miesięcy) lata?"),
    ("cs", "před {}", "dn(?:em|y) týdn(?:em|y) měsíc(?:em|i) (?:rokem|lety)"),
    ("ru", "{} назад", "(?:день|дня|дней) недел[юиь] месяц(?:а|ев)? (?:года?|лет)"),
    ("uk", "{} тому", "(?:день|дні|днів) тиж(?:день|ні|нів) місяц[ьів]+ (?:рік|роки|років)"),
    ("el", "πριν(?: από)? {}", "η?μέρε?[ςα] εβδομάδε?[ςα] μήνε?[ςα] χρόνι?[αο]"),
    ("tr", "{} önce", "gün hafta ay (?:yıl|sene)"),
    ("ar", "قبل {}", "أيام أسابيع (?:أشهر|شهور) سنوات"),
    ("ar", "منذ {}", "أيام أسابيع (?:أشهر|شهور) سنوات"),
    ("he", "לפני {}", "ימים שבועות חודשים שנים"),
    ("fa", "{} پیش", "روز هفته ماه سال"),
    ("hi", "{} पहले", "दिन (?:हफ़्ते|हफ्ते|सप्ताह) महीने साल"),
    ("zh", "{}(?:之|以)?前", "[天日] (?:周|週間?|个?星期|个?礼拜) (?:个月|[かヶカ]月) 年"),
    ("ko", "{} ?전", "일 주일? (?:개월|달) 년"),
    ("vi", "{} trước", "ngày tuần tháng năm"),
    ("id", "{} (?:yang )?lalu", "hari minggu bulan tahun"),
    ("th", "{}(?:ที่แล้ว|ก่อน)", "วัน (?:สัปดาห์|อาทิตย์) เดือน ปี"),
    ("fi", "{} sitten", "päivää? viikkoa? kuukau(?:si|tta) vuo(?:si|tta)"),
    ("hu", "{} ezelőtt", "nappal héttel hónappal évvel"),
    ("ro", "acum {}", "zile? săptămân[ăi] lun[ăi] ani?"),
)
FROM: Final = (  # counted from the adjacent day: a week from tomorrow, heute in einer Woche
    ("en", "{} from", "days? weeks? months? years?"),
    ("de", "in {}", "tag(?:en)? wochen? monat(?:en)? jahr(?:en)?"),
)
FROM_NOW: Final = ("en", "{} from now", "days? weeks? months? years?")
NUMBERS: Final = {  # from 1 to 10
    "en": "a/an/one two/a_couple_of/couple_of three four five six seven eight nine ten",
    "de": "ein/einem/einer/eine zwei drei vier fünf sechs sieben acht neun zehn",
    "fr": "un/une deux trois quatre cinq six sept huit neuf dix",
    "es": "un/una dos tres cuatro cinco seis siete ocho nueve diez",
    "it": "un/una/uno due tre quattro cinque sei sette otto nove dieci",
    "pt": "um/uma dois/duas três quatro cinco seis sete oito nove dez",
    "nl": "een/één twee drie vier vijf zes zeven acht negen tien",
    "sv": "en/ett två tre fyra fem sex sju åtta nio tio",
    "da": "en/et to tre fire fem seks syv/sju otte/åtte ni ti",
    "pl": "jeden dwa/dwie trzy cztery pięć sześć siedem osiem dziewięć dziesięć",
    "cs": "jedním dvěma třemi čtyřmi pěti šesti sedmi osmi devíti deseti",
    "ru": "один/одну два/две три четыре пять шесть семь восемь девять десять",
    "uk": "один/одну два/дві три чотири п'ять шість сім вісім дев'ять десять",
    "el": "ένα/έναν/μία/μια δύο/δυο τρεις/τρία τέσσερις/τέσσερα πέντε έξι επτά οκτώ εννέα δέκα",
    "tr": "bir iki üç dört beş altı yedi sekiz dokuz on",
    "ar": "واحد اثنين ثلاثة/ثلاث أربعة/أربع خمسة/خمس ستة/ست سبعة/سبع ثمانية/ثماني تسعة/تسع عشرة/عشر",
    "he": "אחד שני/שתי שלושה/שלוש ארבעה/ארבע חמישה/חמש שישה/שש שבעה/שבע שמונה תשעה/תשע עשרה/עשר",
    "fa": "یک دو سه چهار پنج شش هفت هشت نه ده",
    "hi": "एक दो तीन चार पाँच/पांच छह सात आठ नौ दस",
    "zh": "一 二/两/兩 三 四 五 六 七 八 九 十",
    "ko": "한/일 두/이 세/삼 네/사 다섯/오 여섯/육 일곱/칠 여덟/팔 아홉/구 열/십",
    "vi": "một hai ba bốn năm sáu bảy tám chín mười",
    "id": "satu dua tiga empat lima enam tujuh delapan sembilan sepuluh",
    "th": "หนึ่ง สอง สาม สี่ ห้า หก เจ็ด แปด เก้า สิบ",
    "fi": "yksi kaksi kolme neljä viisi kuusi seitsemän kahdeksan yhdeksän kymmenen",
    "hu": "egy két/kettő három négy öt hat hét nyolc kilenc tíz",
    "ro": "o/un două/doi trei patru cinci șase șapte opt nouă zece",
}
MONTHS: Final = "january february march april may june july august september october november december"

# Words that also mean something else: `hier` is `here` in German; guten Morgen and la mañana are no days.
FRENCH: Final = frozenset("ai as avons avez ont est était suis nous vous il elle ils elles j'ai".split())
NOT_BEHIND_MORGEN: Final = "guten heute gestern jeden am goede elke de der den einen diesen"
NOT_BEHIND_MANANA: Final = "la esta cada de una pasado"
PART_OF_NUMBER: Final = ("ty ", "ty-", "hundred ", "hundred and ", "half ", " y ", " et ")
"""Parts before a word for a number that is only the end of a larger one: `twenty two weeks ago`."""
DIGITS_OF_NUMBER: Final = "0-9一二两兩三四五六七八九十百几多数"
MORE_THAN: Final = ("more than ", "less than ", "over ", "under ")
