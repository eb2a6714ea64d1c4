"""Hold the English words that the rules know: names that people give, words that are none, kinds of things.

A word that begins a sentence has a capital letter whatever it is. So a name needs evidence: it is a common
given name, or the text writes it with a capital letter elsewhere, or only a person does what follows.
"""

from typing import Final

GIVEN_NAMES: Final = frozenset(
    """aaron abby abdul abigail ada adam adrian ahmed aisha alan albert alejandro alex alexander alexandra
    alexis alfred ali alice alicia alina alison allison alyssa amanda amber amelia amir amy ana andre
    andrea andreas andrew andy angela anita anja ann anna anne annie anthony anton antonio anya ariel
    arjun arthur asha ashley audrey austin barbara beatrice ben benjamin bernd beth betty bill billy bob
    bobby boris brandon brenda brian bruno caleb cameron camila carl carla carlos carmen carol caroline
    catherine cathy charles charlie charlotte chen chloe chris christian christina christine christopher
    claire clara claudia connor craig cynthia daniel daniela danny david dean deborah debra deepak
    denise dennis derek diana diane diego dmitri don donald donna doris dorothy doug douglas dylan edith
    eduardo edward elaine elena eli elias elijah elizabeth ella ellen emil emily emma emmanuel eric
    erica erik erin ethan eugene eva evan evelyn fatima felix fiona fernando florian frances francis
    francisco frank franz fred frederick gabriel gareth gary george georgia gerald gina giovanni gloria
    gordon greg gregory greta gustav hamza hana hannah hans harold harry hassan heather heidi helen
    helena henrik henry hiroshi holger howard hugo ian ibrahim igor ines ingrid irene iris isaac isabel
    isabella ivan jack jackie jacob jade jake james jamie jan jane janet janice jasmine jason javier jay
    jean jeff jeffrey jennifer jenny jeremy jerry jesse jessica jill jim jimmy jo joan joanna joe joel
    johan johannes john johnny jon jonas jonathan jordan jorge jose joseph josh joshua juan judith judy
    julia julian julie julius jun justin kai karen karin karl kate katherine kathleen kathy katie kayla
    keith kelly ken kenji kenneth kevin khalid kim klaus kumar kyle lara larry laura lauren laurence lea
    leah lena leo leon leonard lewis li liam lily linda lisa liz logan louis louise luca lucas lucia
    lucy luis luke luna lydia madison maggie malcolm mandy manuel marco margaret maria marie marina
    mario marion marta martha martin marvin mary mateo matt matthew matthias max maya megan mehmet mei
    melanie melissa mia michael michelle miguel mike mila mina miriam mohammed moira molly monica nadia
    nancy naomi natalia natalie nate nathan neil nick nicholas nicole nikita nina noah nora norman olga
    oliver olivia omar oscar otto owen pablo pamela patricia patrick paul paula paulo pedro peggy penny
    peter petra phil philip pierre priya rachel rafael raj ralph ramon ravi raymond rebecca ricardo
    richard rick rita rob robert roberto robin roger roland ron ronald rosa ross roxanne roy ruben ruth
    ryan sabine sally sam samantha samuel sandra sanjay sara sarah scott sean sebastian sergei sharon
    shirley silvia simon sofia sonia sophia sophie stefan stella stephanie stephen steve steven stuart
    sue susan suzanne sven sylvia tanya tara ted teresa terry theo theresa thomas tiffany tim timothy
    tina tobias todd tom tomas tommy toni tony tracy tyler ulrich umi uma ursula valentina valerie
    vanessa vera veronica victor victoria vikram vincent viola virginia vivian vladimir walter wei wendy
    wesley werner william wolfgang xavier yan yara yasmin yuki yuri yusuf yvonne zach zara zoe""".split()
)

# What begins a sentence and is no name, whatever follows it.
NO_NAMES: Final = frozenset(
    """a about actually after again all almost already also although always am an and another any anybody
    anyone anything anyway are as at aunt awesome baby back beautiful because before being best better
    big both boss boy brother btw but by can cannot check chief child children cool could cousin dad
    daddy daughter definitely despite did do doctor does doing don down during each either else even
    ever every everybody everyone everything excellent exactly family father few first folks for friend
    friends from fun funny fyi girl glad god going gonna good goodbye got grandma grandpa great guess
    guy guys had half hallo happy has have having he hello her here hers hey hi him his home honestly
    hope hopefully how however husband i if im in instead is it its itself just keep kid kids kinda lady
    last lately less let lets like lol look looks lots love loved luckily many maybe me mine mom mommy
    more morning most mother much mum must my myself neither never new news next nice night no nobody
    none nor not nothing now of off often oh ok okay old omg on once one only or other others our ours
    out over parents people perfect perhaps person please plus probably put quite rather really recently
    remember right sadly same saw see seems several she should since sister so some somebody someone
    something sometimes son soon sorry sounds speaking still stuff such sure take team than thank thanks
    that the their theirs them then there these they thing things think this those though thought
    through thus till to today together tomorrow tonight tons too true try turns two uncle under
    unfortunately until up upon us used usually very wait was we week weekend welcome well went were
    what whatever when whenever where wherever whether which while who whoever whom whose why wife will
    wish with without woman work would wow wrong yay yeah year yep yes yesterday yet you your yours yup

    afternoon age answer art balance breakfast business change chapter child city coffee company country
    day dance dinner education energy evening example exercise faith fashion feedback food freedom fresh
    future game goal grace group hard health heart help history idea joy justice key knowledge language
    law life light lunch luck market math maths media mind minute moment money month mood music name
    nature note number office option page pain part passion past peace phone place plan practice price
    problem product progress project question reading reason reminder rent research respect rule rules
    rent safety school science service shop side silence sleep society software space spirit sport
    sports start step stress style subject success summary support task tea team technology tennis time
    title todo topic traffic training travel truth tv type update use value video view voice walk
    warning water way weather wine word world writing yoga

    american asian australian austrian brazilian british canadian catholic chinese christian danish
    dutch english european finnish french german greek hindu indian irish italian japanese jewish korean
    mexican muslim norwegian polish portuguese russian scottish spanish swedish swiss turkish ukrainian
    welsh""".split()
)
CALENDAR: Final = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may june july
    august september october november december spring summer autumn fall winter christmas easter
    halloween thanksgiving""".split()
)
WORD_ENDINGS: Final = (
    "ing",
    "ness",
    "tion",
    "sion",
    "ment",
    "ity",
    "hood",
    "ship",
    "ism",
    "ence",
    "ance",
    "ful",
)

# Words before the subject that say nothing about it.
OPENERS: Final = (
    r"(?:(?:well|wow|omg|oh|ah|hey|hi|hello|yes|yeah|no|ok|okay|btw|fyi|by the way|"
    r"guess what|(?:good |great |big |bad |sad |some )?news|p\.?s\.?|(?:quick |small )?update|note|reminder|"
    r"great|sure)[,:!]+ |(?:so|and|but|also|actually|anyway|apparently|"
    r"remember(?: that)?|yesterday|today|recently|meanwhile|since then|(?:last|this) (?:week|month|year)),? |"
    r"[-*\u2022] |\d+[.)] )*"
)

# Others of whom a pronoun may speak.
BEINGS: Final = frozenset(
    """aunt baby boss boy boyfriend brother bunny cat child client colleague coworker cousin customer dad
    daughter doctor dog father fiance fiancee friend girl girlfriend grandfather grandma grandmother
    grandpa he her him his horse husband kid kitten lady man manager mom mother mum neighbor neighbour
    nephew niece parent parrot partner person pet puppy rabbit she sibling sister somebody someone son
    stepfather stepmother student teacher they them uncle wife woman""".split()
)

ORGANIZATIONS: Final = frozenset(
    """agency association bank band business charity club company corporation corp firm foundation gmbh
    hospital inc institute ltd museum nonprofit organization restaurant school shop startup store team
    university""".split()
)
LOCATIONS: Final = frozenset(
    """beach bay capital city continent country district island lake mountain neighborhood park place
    region river state street suburb town village""".split()
)
PROJECTS: Final = frozenset("app framework library program project tool website".split())
OF_PERSONS: Final = frozenset(
    """actor allergic architect artist author boss brother chef child colleague dad daughter dentist
    designer developer divorced doctor engaged engineer father friend grandfather grandmother husband
    journalist lawyer man manager married mother musician nurse painter parent partner person pilot poet
    poor professor pregnant programmer retired runner scientist single singer sister son student teacher
    tired vegan vegetarian wife widowed woman worker writer""".split()
)
# What only the assistant is called, and what only it says of itself: a person may be a research assistant.
ASSISTANT: Final = r"(?:[\w-]+ ){0,2}(?:assistant|agent|bot|chatbot|helper|companion|AI|language model)\b"
OF_ASSISTANT: Final = (
    r"\bI (?:can |will )?(?:help|assist)(?: you| users| people)?\b(?! me| my)|\bI am here to (?:help|assist)|"
    r"\byour (?:[\w-]+ ){0,2}(?:assistant|agent|helper|companion)\b|"
    r"\ban? (?:AI|virtual|digital|helpful) (?:assistant|agent|helper|companion)\b|\bchatbot\b|"
    r"\blanguage model\b"
)
UNHEARD_ROLES: Final = ("assistant", "ai", "bot", "model", "agent", "system", "developer", "tool", "function")
ROLES: Final = frozenset(("user", "human", "customer", *UNHEARD_ROLES))  # they are no names
