"""English words that the rules know: given names, words that are not names, kinds of things.

Every word at the beginning of a sentence has a capital letter. So a name there needs evidence: it is a common
given name, or the text capitalises it elsewhere too, or only persons have the predicate that follows.
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

DOUBTFUL_NAMES: Final = frozenset("christian frank jo dean".split())  # "I'm Frank" may be "I'm frank"

# Words that, at the beginning of a sentence, are never a name.
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

# Phrases which announce that a statement corrects an earlier one.
CORRECTIONS: Final = (
    "(?:no )?(?:sorry|apologies|excuse me|pardon(?: me)?|oops|whoops|correction|edit|typo|wait|hang on|"
    "hold on|scratch that|my (?:mistake|bad|error)|(?:i was|that was|that is|that's) wrong|i misspoke|"
    "i stand corrected|(?:let me|to) correct (?:that|myself))"
)
# Words before the subject that carry no meaning.
OPENERS: Final = (
    r"(?:(?:well|wow|omg|oh|ah|hey|hi|hello|yes|yeah|no|ok|okay|btw|fyi|by the way|"
    r"guess what|(?:good |great |big |bad |sad |some )?news|p\.?s\.?|(?:quick |small )?update|note|reminder|"
    rf"great|sure|{CORRECTIONS})(?:[,:;!\u2026]+|\.{{2,}}| [-\u2013\u2014]) |"
    r"(?:no wait|(?:no )?i meant?(?: that|[,:])?) |(?:so|and|but|also|actually|anyway|apparently|"
    r"remember(?: that)?|now|yesterday|today|recently|meanwhile|since then|"
    r"(?:last|this) (?:week|month|year)),? |"
    r"[-*\u2022] |\d+[.)] )*"
)

# Nouns and pronouns for beings that a pronoun may refer to.
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
# Names for an assistant, and phrases that only an assistant says: a person may be a research assistant.
ASSISTANT: Final = r"(?:[\w-]+ ){0,2}(?:assistant|agent|bot|chatbot|helper|companion|AI|language model)\b"
OF_ASSISTANT: Final = (
    r"\bI (?:can |will )?(?:help|assist)(?: you| users| people)?\b(?! me| my)|\bI am here to (?:help|assist)|"
    r"\byour (?:[\w-]+ ){0,2}(?:assistant|agent|helper|companion)\b|"
    r"\ban? (?:AI|virtual|digital|helpful) (?:assistant|agent|helper|companion)\b|\bchatbot\b|"
    r"\blanguage model\b"
)
UNHEARD_ROLES: Final = ("assistant", "ai", "bot", "model", "agent", "system", "developer", "tool", "function")
ROLES: Final = frozenset(("user", "human", "customer", *UNHEARD_ROLES))  # roles of messages, never names

OCCUPATION: Final = (  # a list, since "a regular at Joe's" names no workplace
    r"(?:[a-z]*(?:ologist|ographer|scientist|engineer|developer|programmer|designer)|accountant|actuary|"
    "administrator|analyst|apprentice|architect|assistant|attorney|auditor|baker|banker|barber|barista|"
    "bartender|biologist|bookkeeper|butcher|carpenter|cashier|chef|chemist|cleaner|clerk|coach|consultant|"
    "cook|coordinator|counsell?or|curator|dentist|director|dispatcher|doctor|driver|economist|editor|"
    "electrician|executive|firefighter|florist|gardener|groomer|hairdresser|hygienist|instructor|intern|"
    "interpreter|janitor|journalist|lawyer|lecturer|librarian|machinist|manager|mechanic|midwife|nanny|nurse|"
    "officer|optician|paralegal|paramedic|pharmacist|physician|physicist|pilot|plumber|producer|professor|"
    "psychiatrist|realtor|receptionist|recruiter|reporter|researcher|sales(?:man|woman|person)|secretary|"
    "statistician|stylist|supervisor|surgeon|teacher|tech|technician|therapist|trainee|trainer|translator|"
    "tutor|underwriter|vet|veterinarian|waiter|waitress|welder|writer)"
)

# Favourites that end like a state: herring and fried rice are values; "losing" and "closed" are states.
NOUNS_LIKE_STATES: Final = (
    "red|bed|aniseed|seaweed|evening|herring|king|lightning|morning|pudding|ring|shed|spring|stuffing|string|"
    "swing|thing|wedding|wing|"
    "(?:baked|boiled|breaded|candied|dried|fried|grilled|iced|mashed|mixed|pickled|poached|roasted|salted|smoked|"
    "spiced|steamed|stewed|stuffed) [a-z]+"
)
# Activities, and the kinds of favourites that can be one: "my favourite band is singing" names no favourite.
KINDS_OF_ACTIVITY: Final = "activity class exercise hobby pastime sport subject thing workout".split()
ACTIVITIES: Final = (
    "acting|baking|biking|birdwatching|boating|bouldering|bowling|boxing|camping|canoeing|caving|climbing|coding|"
    "cooking|crocheting|curling|cycling|dancing|diving|drawing|drumming|engineering|fencing|fishing|gaming|"
    "gardening|hiking|horseriding|hunting|jogging|juggling|kayaking|kickboxing|knitting|listening|painting|"
    "programming|quilting|racing|reading|rafting|riding|rowing|running|sailing|sewing|shooting|shopping|singing|"
    "skateboarding|skating|skiing|snorkell?ing|snowboarding|spelling|spinning|surfing|swimming|training|travell?ing|"
    "walking|weightlifting|windsurfing|woodworking|wrestling|writing"
)

# Words without meaning at the beginning or the end of a sentence.
FILLERS: Final = frozenset(
    """lol lmao rofl haha hahaha hehe heh xd omg omfg btw tbh ngl imo smh fyi hey heyy hi hello yo ok okay oh
    ah well wow yeah yep yup hmm um uh ugh yay lmk idk please pls thanks thx ty bro dude man guys""".split()
)

# Words that, in small letters, are no name where one might be: "i moved to tears", "i live in fear".
ORDINARY_WORDS: Final = frozenset(
    """able abroad academia accommodation account action adventure aged agencies ages agony air airplane
    airport airports alone android anger angers anymore anytime anywhere apartment apartments app arms army
    artists asap assisted attic away awe axe bad ballet band banks bar barn barracks bars base basement
    basic bath bed bedroom beef beer bend better biased bigger birds black blackness bliss blue board boat
    book books boring bottom box boxes brands bread brick bright broad broken brown building bunk bus bush
    cabin cage camp campus cap car caravan cards care cash castle cats celebrities cellar center central
    centre centuries ceo change chaos charge charities charity cheap cheaper cheese chief chocolate
    christmas church civil class classes classic clear clients clinic clinics closer cloud clubs coast
    coastal coffee coke cold collect college colleges color comfort commercial commission common
    communal communes community companies complete complex computers concerts concrete condo confusion
    constant construction container control convent conversation cooler corner cost cottage council
    countries countryside county course court cover cramped crazy crime crisis crypto currency current
    customer customers cynical danger dark darkness data date dawn day daylight days daytime dead deal
    death debt decades deeper defense delight denial dentists depth desert design despair desperate
    destitute detail dialogue diet different difficult digital dinner direct dirt dirty disbelief
    disgust district doctors dogs door dorm dorms downstairs downtown dread dream dreams drugs due dumb
    dust duty early earth east eastern easy ecstasy edge eight eighth electric elementary embarrassment
    emergency employees employers end ends enemy engineering english enterprise entry episode equity
    error eternal eternity event events everyone evil exile expensive exposure extra extreme eye
    facility factory fall fame families famous farm farmers farms fast fat fear fee festivals few field
    fifth finance fire fish five flat flats floor floors flour food foods foot foreign forest forever
    forward foster four fr free freelance freezer front full fulltime fun funny fury games gaming garage
    garden gas gate gated gay general ghost giant glass global glory god gold golf gone gov government
    grace grad graduate grand grass gray greed green grey grief ground group guilt gym hair halls hand
    hard hardware harmony hate height heights hell help hidden hiding high higher hills history hockey
    hole holiday home homes honor hope horror hospitals host hot hotel hotels hour hours house household
    houses housing hr huge hull humans hunger hungry ice idle ig ignorance illness important inc income
    independent indoors industry inner insane inside insurance interest interior internal internet ios
    ipad iphone isolation it jail jeans job jobs joy judgement juice junior justice keto kids kitchen
    land landlord large last late later latest lawyers lazy leadership least leather left legal leisure
    less level levels limbo line linux listed litigation little loan local lockdown logistics long
    longer loud lower lunch luxury mac machine macos mad madness mail main mainstream major makeup male
    management manual many march marine market marketing mass mean meat medical medicine melancholy men
    mental mess metal metric mid middle midnight military milk minimum minor misery missing mobile mode
    modern modules monastery monday mondays money mortal most motel motion mountains movies mud multiple
    music musicians myself naive narrow national natural nearby nearer need neutral nights nine nobody
    noise nonprofits noon normal north northern nowhere nursery nursing nuts oblivion obscurity offices
    offline often oil one oneself online onsite operations opposite orange others outdoors outer outside
    outskirts overseas overtime pain palace panic paper paradise paranoid part-time parts parttime party
    pasta pay peace peanuts pen penthouse people permanent person pets phase physical picky pieces pink
    pizza places plants plastic plenty point police policy politicians politics pool poor poorer
    position post pounds poverty power pr practical present pressure prime prison privacy private pro
    procurement product production products profit property prosperity psychology public pubs pure
    purpose qa quarantine quarters queue quick quiet rage rain random rare real reality rear recruiting
    red regret remote rented research residence rest restaurants retail reverse rich richer right rn
    rock role romantic room rooms row royal ruins rural rush sadness safer safety sales salt same sand
    savings scale school sea seasonal seclusion second secondary secrecy secret security self selfish
    semi senior sensitive sentimental seo separate separately serenity service services seven seventh
    several sewer shadow shadows shame shared shares shelter sheltered shelters shifts shock shops short
    shorts shown sickness side sideways sight silence silver simple sin single sites six sixth skirts
    sky slavery sleep slow slums small smaller snow social soft solid solidarity solitude sometime
    somewhere song sorrow south southern space spanish special speed spirit splendor split spoiled sport
    sports spot squalor stage standard standby startups state static stationary steps stereo stone
    storage stores straight student students stupid style submission suburban suburbia suburbs sugar
    suits summers sun sunny sunshine supply support suspense sync tables tactics taken tandem tatters
    tax tea teachers tears tech temp temporary ten tent tents term terror texts tf thick thinner third
    thirds tho though thousands three tier times tiny tips tmr tmrw tofu tonight top torment torture
    total tough tours towns tradition traditional trailer transit transport trees tribal trouble trucks
    turmoil twelve twenty type typescript uncertainty underground understaffed unemployment ungrateful
    uni uniform union university unknown upper upstairs uptown urban ux vain van vegan veganism
    vegetables vegetarian vegetarianism victory video village villages vinyl violence virtual volunteer
    volunteering wage wages waist war warehouse warm warmer waste watch water wealth weather web
    weddings weekends weekly weeks weird west western wheels whenever white whole wild windows winters
    wisdom women wonder wood woods words work working worlds worse worship wrath years yellow yoga young
    younger yourself zen zero zone""".split()
)
# Names that end like ordinary words.
ORDINARY_NAMES: Final = frozenset("boeing fidelity grammarly fastly activision samsung".split())
# Words that are part of an employer's name: Mercy General, Acme Labs.
PARTS_OF_EMPLOYERS: Final = frozenset(
    """bank college general group high international labs media memorial motors national partners
    systems""".split()
)
