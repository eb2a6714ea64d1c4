"""Grammar: the frozen words of English, German and Spanish that part one phrase from the next.

Law 1. A word in no table may be part of a name; the tables hold what is none: function words, verbs, times.
Law 2. The tables are frozen: a changed word changes recorded runs.
"""

from typing import Final

Words = frozenset[str]


def row(text: str) -> Words:
    return frozenset(text.split())


# Determiners open a noun phrase. By case and gender: what they tell of the noun, as far as they do.
DETERMINERS: Final[dict[str, Words]] = {
    "en": row("a an the my your our his her their its this that these those another some any each every no"),
    "de": row(
        "der die das den dem des ein eine einen einem einer eines mein meine meinen meinem meiner dein deine "
        "deinen deinem deiner unser unsere unseren unserem unserer euer eure euren kein keine keinen sein "
        "seine seinen seinem seiner ihr ihre ihren ihrem ihrer dieser diese dieses diesen diesem jeder jede "
        "jedes im am zum zur vom beim ins ans"
    ),
    "es": row(
        "el la los las un una unos unas mi mis tu tus su sus nuestro nuestra nuestros nuestras este esta "
        "estos estas ese esa esos esas aquel aquella al del otro otra cada algún alguna"
    ),
}
ARTICLES: Final[dict[str, Words]] = {  # the others tell whose, and stay with the noun
    "en": row("a an the this that these those another some any each every no his her their its"),
    "de": row(
        "der die das den dem des ein eine einen einem einer eines kein keine keinen dieser diese dieses "
        "diesen diesem jeder jede jedes im am zum zur vom beim ins ans sein seine seinen seinem seiner ihr "
        "ihre ihren ihrem ihrer"
    ),
    "es": row(
        "el la los las un una unos unas este esta estos estas ese esa esos esas aquel aquella al del otro "
        "otra cada algún alguna su sus"
    ),
}

FUNCTION_WORDS: Final[dict[str, Words]] = {
    "en": row(
        "i you he she it we they me him her us them mine yours hers ours theirs myself yourself himself "
        "herself itself ourselves themselves who whom whose which what when where why how there here this "
        "that these those and or but nor so yet if then than because since until while although though as at "
        "by for from in into of off on onto out over to under up with without within about above across "
        "after against along among around before behind below beside between beyond during except inside "
        "like near outside past per through toward towards upon via is am are was were be been being do does "
        "did done has have had having will would shall should can could may might must cannot not no never "
        "ever always often sometimes usually also too very really just only even still already again soon "
        "now later today tomorrow yesterday tonight maybe perhaps please thanks thank ok okay yes yeah sure "
        "well oh hi hello hey good great nice fine sorry all both each every some any many much more most "
        "few several other another such same own else anyway instead away back down together monday tuesday "
        "wednesday thursday friday saturday sunday morning afternoon evening night noon midnight weekend "
        "january february march april june july august september october november december next last week "
        "month year day hour minute s t re ve ll d m don doesn didn isn aren wasn weren won wouldn couldn "
        "shouldn hasn haven hadn ain let lets bye cheers congrats wow hmm welcome everyone everybody someone "
        "somebody anyone nobody something anything nothing everything one two three four five six seven "
        "eight nine ten once twice first euro euros dollars pounds percent minutes hours second third late "
        "early ago far long short quite almost enough rather finally actually probably definitely apparently "
        "unfortunately luckily currently recently exactly half ready busy free able happy sad tired sick ill "
        "glad afraid worried excited angry broken slow fast delayed cancelled canceled finished empty full "
        "open closed true false right wrong possible impossible available"
    ),
    "de": row(
        "euro cent prozent grad kilometer kilo ich du er sie es wir ihr mich dich ihn uns euch sich mir dir "
        "ihm ihnen man wer wen wem wessen was wann wo wohin woher warum wieso weshalb wie welche welcher "
        "welches welchen und oder aber denn sondern doch weil dass ob wenn als während bevor nachdem damit "
        "obwohl an auf aus bei bis durch für gegen hinter in mit nach neben ohne seit über um unter von vor "
        "wegen zu zwischen ab gegenüber statt trotz ist sind bin bist war waren wird werden wurde wurden "
        "würde hat habe haben hast hatte hatten kann können konnte muss müssen musste soll sollen sollte "
        "will wollen wollte darf dürfen mag möchte möchten nicht nie niemals immer oft manchmal meistens "
        "auch sehr wirklich nur noch schon wieder bald jetzt später heute morgen gestern übermorgen "
        "vorgestern vielleicht bitte danke okay ok ja nein klar gut toll schön super leider hallo hi hey "
        "guten tschüss alle beide jeder einige viele mehr wenig andere gleich selbst eben so da dann dort "
        "hier drüben zurück zusammen montag dienstag mittwoch donnerstag freitag samstag sonntag januar "
        "februar märz april mai juni juli august september oktober november dezember woche monat jahr tag "
        "tage stunde stunden minute minuten uhr abend nachmittag vormittag mittag nacht wochenende prima "
        "fertig kaputt krank müde spät früh lange kurz eigentlich endlich ungefähr etwa genau jemand niemand "
        "etwas nichts alles eins zwei drei vier fünf sechs sieben acht neun zehn los mal ganz gerade darüber "
        "davon dazu daran dafür darauf dabei danach darin daraus morgens abends ende anfang grüße tja achso "
        "liebe lieber viel glück frohe letzte letzten letzter nächste nächsten nächster nächstes tagen"
    ),
    "es": row(
        "euros dólares pesos kilómetros grados yo tú tu él ella usted nosotros ellos ellas ustedes me te se "
        "nos os lo le les mí ti sí no y e o u pero sino porque que qué quién quien cuál cuáles cuándo cuando "
        "dónde donde adónde cómo como cuánto cuánta cuántos por para de en a con sin sobre entre hasta desde "
        "hacia según contra durante tras ante bajo si aunque mientras es son era eran fue fueron ser sido "
        "está están estaba estaban estar estoy soy eres somos ha han he has hemos había haber hay hace hacen "
        "tiene tienen tengo tenía tener puede pueden puedo podría debe deben quiere quieren quiero quería va "
        "van voy vamos iba ir nunca siempre también tampoco muy más menos mucho mucha muchos poco ya todavía "
        "aún solo sólo casi bien mal mejor peor ahora luego después antes pronto tarde temprano hoy mañana "
        "ayer anoche quizás tal vez gracias hola adiós vale claro bueno buenas buenos favor esto eso aquello "
        "ahí allí aquí allá lunes martes miércoles jueves viernes sábado domingo enero febrero marzo abril "
        "mayo junio julio agosto septiembre octubre noviembre diciembre semana mes año día días hora horas "
        "minutos noche fin todo toda todos todas algo nada alguien nadie uno dos tres cuatro cinco seis "
        "siete ocho nueve diez próximo próxima pasado pasada listo lista roto rota cansado cansada enfermo "
        "enferma genial perfecto cuidado ok este esta ese esa unas mismo misma"
    ),
}  # fmt: skip

VERBS: Final[dict[str, Words]] = {
    "en": row(
        "leaks beeps smokes forgets complained complains parked knitted knits whistles barks bark meows "
        "keeps picks affects affected affect deletes deleted delete expires expired expire resigned sings "
        "sang cries cried leads hosts hosted designs designed organises organizes organised organized "
        "requires required require allows allowed supports supported creates created reads rains crashes "
        "prints printed stores stored blocks blocked loads loaded returns ignores ignored shows smells "
        "smelled tastes tasted charges charged costs say says said tell tells told ask asks asked mention "
        "mentions mentioned calls called calling email emails emailed text texts texted write writes wrote "
        "written send sends sent sending get gets got getting go goes went going gone come comes came coming "
        "leave leaves left leaving arrive arrives arrived arriving meet meets met see sees saw seen look "
        "looks looked looking find finds found think thinks thought know knows knew want wants wanted need "
        "needs needed needing like likes liked love loves loved hate hates hated make makes made making take "
        "takes took taken taking give gives gave given bring brings brought buy buys bought buying sell "
        "sells sold pay pays paid paying cost books booked ordered cancel cancels move moves moved moving "
        "live lives lived living work works worked working start starts started starting stop stops stopped "
        "begin begins began finish finishes keep kept put puts run runs ran running fail fails failed "
        "failing crash crashed break breaks broke fix fixes fixed fixing deploy deploys deployed merge "
        "merges merged reviewed updated install installs installed restart restarts restarted released try "
        "tries tried use uses used using help helps helped happen happens happened seem seems seemed feel "
        "feels felt hear hears heard showed talks talked talking discuss discussed speak speaks spoke "
        "remember remembers remembered remind reminds reminded forget forgot promise promised agree agrees "
        "agreed decide decides decided planned planning prefer prefers preferred recommend recommends "
        "recommended suggest suggests suggested invite invites invited join joins joined visits visited stay "
        "stays stayed staying travels traveled travelled fly flies flew flying drives drove lands landed "
        "pick picked picking drop drops dropped return returned wait waits waited waiting open opens opened "
        "close closes changed add adds added remove removes removed set sign signs signed read lose loses "
        "lost win wins won plays played playing sleep sleeps slept eat eats ate cook cooks cooked drink "
        "drinks drank teach teaches taught learn learns learned study studies studied graduate graduated "
        "marry married born die dies died grow grows grew become becomes became turns turned sound sounds "
        "sounded cover covers covered last lasts lasted include includes included explain explains explained "
        "describe described reported confirm confirms confirmed approve approves approved reject rejects "
        "rejected accept accepts accepted offered shares shared checks checked tested prepare prepared "
        "present presented attend attends attended scheduled reschedule rescheduled postpone postponed "
        "arrange arranged rents rented borrow borrowed lend lent recover recovered hurt twist adopted adopt "
        "adopts hired hire hires fired quit quits retire retired promoted owe owes owed own owns owned "
        "belong belongs contain contains mean means meant believe believes hope hopes hoped wish worry "
        "worries enjoy enjoys enjoyed miss misses missed notice noticed ships shipped upload uploaded "
        "download downloaded pushed pulled throw throws threw leak leaked led manage manages managed handle "
        "handles handled maintain maintains builds built introduce introduced named"
    ),
    "de": row(
        "sammelt baut pflanzt malt singt tanzt übersetzt beantragt vermietet leckt behält geliehen geparkt "
        "gehalten repariert verschickt erledigt erreicht vergisst liefert lieferte geliefert gefällt gefiel "
        "bestanden eingestellt gestohlen verspätet ausgefallen sag sage frag erzähl gib ruf schick kauf such "
        "schau sagt sagte sagen gesagt meint meinte meinen erzählt erzählte erwähnt erwähnte fragt fragte "
        "fragen gefragt ruft rief rufen angerufen schreibt schrieb schreiben geschrieben schickt schickte "
        "geschickt bekommt bekam bekommen geht ging gehen gegangen kommt kam kommen gekommen fährt fuhr "
        "fahren gefahren fliegt flog fliegen geflogen bleibt blieb bleiben geblieben trifft traf treffe "
        "getroffen sieht sah sehen gesehen findet fand finden gefunden denkt dachte denken weiß wusste "
        "wissen braucht brauchte brauchen gibt gab geben gegeben bringt brachte bringen gebracht kauft "
        "kaufte kaufen gekauft verkauft verkaufte zahlt zahlte bezahlt kostet kostete bucht buchte gebucht "
        "bestellt bestellte zieht zog gezogen wohnt wohnte wohnen lebt lebte leben arbeitet arbeitete "
        "arbeiten beginnt begann beginnen startet startete hört hörte hören gehört läuft lief laufen "
        "gelaufen macht machte machen gemacht stürzt abgestürzt funktioniert funktionierte reparierte steht "
        "stand stehen liegt lag liegen heißt hieß heißen kennt kannte kennen liest las lesen gelesen lädt "
        "eingeladen besucht besuchte besuchen holt holte holen abgeholt nimmt nahm nehmen genommen verliert "
        "verlor verloren gewinnt gewann spielt spielte spielen schläft isst aß trinkt kocht lernt studiert "
        "heiratet heiratete geheiratet verschoben verschiebt unterschreibt unterschrieben prüft prüfte "
        "geprüft plant plante geplant leitet leitete zeigt zeigte erinnere erinner vergiss vergessen dauert "
        "dauerte endet hält hielt klingt passt empfiehlt empfahl empfohlen erklärt erklärte bestätigt hilft "
        "half helfen fehlt fehlte ankommen angekommen übernimmt übernommen kündigt gekündigt wartet wartete "
        "stellt stellte gestellt"
    ),
    "es": row(
        "propuso puso quiso pudo supo tuvo trajo condujo tradujo prestó olvidó dejó devolvió arregló pintó "
        "aprobó quejaron separaron comparten contrató dile dígale avísale pídele llámalo celebra celebran "
        "usa usan dirige toca tocan nació negocia sigue cobra canta baila dice dijo dicen decir dicho cuenta "
        "contó comentó menciona mencionó pregunta preguntó pregúntale llama llamó llamar escribe escribió "
        "envía envió enviar mandó manda recibe recibió llega llegó llegar sale salió salir viene vino venir "
        "vuelve volvió volver queda quedó ve vio ver encuentra encontró piensa pensó sabe sabía necesita "
        "necesito necesitamos da dio dar trae compra compró compramos compré comprar vende vendió paga pagó "
        "cuesta costó reservó reservé reservamos pide pidió muda mudó vive vivía vivir vivo trabaja trabajó "
        "trabajaba empieza empezó empezar termina terminó funciona funcionaba falla falló rompió rompe "
        "arregla hizo hacer hecho parece pareció conoce conocí conoció lee leyó leer visitó lleva llevó "
        "llevar toma tomó pierde perdió ganó gana juega jugó duerme come comió bebe estudia estudió casó "
        "murió firmó revisa revisó cambió cambia canceló aplazó organiza organizó recomienda recomendó "
        "explica explicó confirmó confirma dura duró ayudó recuerda recuérdame recordar espera esperó "
        "dirigió hablé habló habla hablar hablamos quedamos conocimos fuimos viajó viaja viajar operan "
        "operaron renunció adoptó adoptamos abre abrió cierra cerró trata suena salía subió bajó presentó "
        "presenta entregó"
    ),
}  # fmt: skip

PLACES: Final = row(
    "berlin lisbon paris london tokyo osaka hamburg porto lyon grenoble valencia sevilla dresden leipzig "
    "leeds pune shanghai torino milano madrid rome vienna boston riga rotterdam munich oslo dublin prague "
    "copenhagen stockholm chicago seattle amsterdam barcelona münchen köln frankfurt stuttgart wien zürich "
    "prag rom bremen hannover lissabon mallorca italien spanien frankreich österreich schweiz bogotá lima "
    "quito buenos granada bilbao málaga toledo méxico cancún italy spain france germany japan portugal "
    "norway canada mexico italia francia alemania japón perú chile argentina londres roma lisboa athens "
    "athen atenas zurich geneva brighton manchester edinburgh glasgow denver austin toronto montreal sydney "
    "melbourne iceland ireland"
)
PLACE_NOUNS: Final = row(
    "office hotel restaurant cafe café airport station city town village house apartment flat school gym "
    "library museum beach hospital clinic shop store bakery bar pub park hostel cabin campsite university "
    "warehouse büro flughafen bahnhof stadt dorf haus wohnung schule bibliothek strand krankenhaus klinik "
    "laden bäckerei kneipe werkstatt ferienwohnung praxis hütte turnhalle see oficina aeropuerto estación "
    "ciudad pueblo casa piso apartamento colegio escuela gimnasio biblioteca museo playa clínica tienda "
    "panadería parque hostal universidad restaurante taller cabaña mercado"
)
PERSONS: Final = {  # nouns of persons: m, f, or either
    "m": row(
        "brother father dad husband son uncle grandfather grandpa nephew boyfriend man guy boy king waiter "
        "klempner elektriker handwerker steuerberater praktikant bruder vater papa mann ehemann sohn onkel "
        "opa großvater neffe freund chef kollege nachbar arzt lehrer trainer vermieter schwager cousin kunde "
        "zahnarzt junge hermano conserje portero inquilino abogado ingeniero mecánico electricista cocinero "
        "camarero alumno maestro gerente director socio peluquero enfermero hausmeister mieter anwalt "
        "ingenieur mechaniker koch kellner schüler leiter direktor geschäftsführer friseur pfleger verkäufer "
        "gärtner maler tischler makler berater betreuer patient dueño propietario padre papá marido esposo "
        "hijo tío abuelo sobrino novio jefe compañero vecino médico profesor entrenador casero primo cuñado "
        "cliente suegro amigo fontanero"
    ),
    "f": row(
        "niñera maestra sister mother mom mum wife daughter aunt grandmother grandma niece girlfriend woman "
        "girl lady waitress babysitterin praktikantin schwester mutter mama frau ehefrau tochter tante oma "
        "großmutter nichte freundin chefin kollegin nachbarin ärztin lehrerin trainerin vermieterin "
        "schwägerin cousine kundin zahnärztin mitbewohnerin hermana abogada ingeniera camarera alumna "
        "directora socia peluquera enfermera diseñadora becaria anwältin ingenieurin kellnerin schülerin "
        "leiterin direktorin friseurin krankenschwester verkäuferin maklerin beraterin betreuerin patientin "
        "designerin dueña propietaria madre mamá esposa mujer hija tía abuela sobrina novia jefa compañera "
        "vecina médica profesora entrenadora casera prima cuñada suegra amiga doctora"
    ),
    "": row(
        "boss friend colleague neighbour neighbor doctor teacher coach landlord dentist therapist cousin "
        "partner roommate flatmate client customer manager lawyer accountant plumber electrician nurse "
        "professor mentor intern recruiter designer developer engineer inspector officer guard clerk agent "
        "broker reporter surgeon specialist translator author artist singer actor captain president minister "
        "mayor judge farmer butcher tailor witness candidate speaker organizer organiser babysitter "
        "caretaker janitor mechanic hairdresser driver pilot librarian cashier gardener painter carpenter "
        "consultant auditor analyst director secretary student patient nanny trainee baby kid child guest "
        "tutor vet contractor architect supervisor assistant kind gast dentista terapeuta pediatra contable "
        "recepcionista"
    ),
}
GROUPS: Final = row(
    "inquilinos team parents kids children twins neighbours neighbors friends colleagues people guests "
    "grandparents family students clients customers committee crew developers designers eltern kinder "
    "zwillinge nachbarn freunde kollegen leute gäste großeltern familie schüler kunden padres hijos niños "
    "gemelos vecinos amigos compañeros invitados abuelos familia alumnos clientes equipo tíos suegros primos"
)
TITLES: Final = {
    "mr": "m", "mister": "m", "mrs": "f", "ms": "f", "miss": "f", "dr": "", "prof": "", "professor": "",
    "aunt": "f", "uncle": "m", "herr": "m", "herrn": "m", "frau": "f", "tante": "f", "onkel": "m",
    "señor": "m", "señora": "f", "don": "m", "doña": "f", "doctora": "f", "doctor": "", "tía": "f",
    "tío": "m", "sr": "m", "sra": "f",
}  # fmt: skip
GIVEN_NAMES: Final = {
    "m": row(
        "leonard leonardo gerhard gerardo iwan bernardo rodrigo óliver esteban joaquín lukas ralf nils "
        "philipp stefan johannes maximilian alexander benjamin julian niklas jakob valentin gregor konrad "
        "friedrich heiko torsten holger carsten jörg frederik hendrik lorenz arturo rodolfo agustín vicente "
        "felipe matías cristian hernán rubén toni xavier carl john bob dave frank peter hans jonas noah "
        "dmitri tomás igor étienne ahmed tom ben max paul felix leon finn tim jan markus thomas michael "
        "daniel david martin andreas jürgen klaus uwe wolfgang karl otto emil anton oskar moritz florian "
        "sebastian tobias matthias christian simon fabian dominik marco mario luis carlos juan josé pedro "
        "pablo diego javier miguel ángel antonio manuel francisco alejandro andrés fernando jorge raúl "
        "sergio alberto rafael ricardo roberto enrique eduardo ramón óscar iván hugo mateo lucas nicolás "
        "adrián gonzalo ignacio jaime james robert william richard joseph charles george edward henry jack "
        "harry oliver adam alan andrew anthony arthur brian chris colin dan dennis derek eric ethan gary "
        "greg ian jake jason jeff jim joe josh keith ken kevin kyle liam luke mark matt mike nathan neil "
        "nick omar oscar owen patrick phil ravi rob ryan sam sean scott steve stuart theo tony victor walter "
        "zack raj arjun kenji hiroshi hassan yusuf ali ivan marek pavel piotr lars sven ole erik henrik jens "
        "ulf bernd dieter günter heinz jochen rolf werner gustavo bruno dario emilio julio césar marcos "
        "gabriel samuel"
    ),
    "f": row(
        "bettina tatiana tanja monika elisa jimena paloma manuela rosario consuelo esperanza margarita "
        "josefina ramona lidia celia amparo begoña itziar nerea aitana bea chiara leila gabi beate elke "
        "gisela jutta renata gloria ángela rebeca yolanda nuria susana ruth rosalía alice carol eve grace "
        "heidi ann anna sofía helena claire lena zoë carmen ilse giulia priya maria hélène ada mary emma "
        "olivia sara sarah laura julia lisa katrin karin petra sabine claudia susanne birgit martina nicole "
        "stefanie sandra katja nadine miriam hannah lea mia marie sophie johanna charlotte clara emilia "
        "frieda greta ida lotte luisa mathilda ronja theresa vera ingrid brigitte ursula renate helga ana "
        "marta lucía elena isabel pilar teresa rosa cristina beatriz patricia raquel silvia mónica alicia "
        "natalia irene eva sonia inés rocío julieta valeria camila daniela gabriela mariana paula victoria "
        "ximena adriana verónica lorena noelia amelia amy angela barbara becky beth caroline cathy chloe "
        "cindy diana donna dorothy ellen emily erin fiona gina hazel heather helen irina isabelle jane janet "
        "jean jenna jennifer jenny jess jessica jill joan joanna judy kate katie karen kelly kim lily linda "
        "lucy lydia maggie mandy margaret megan mei melissa michelle molly nadia nancy nina nora pam pat "
        "penny rachel rebecca sally samantha sharon sheila sofia stella susan tanya tara tina tracy vanessa "
        "vicky wendy yasmin yuki zara aisha fatima zoe leyla svetlana olga marina katharina franziska "
        "magdalena annika svenja jana anja silke heike ute"
    ),
    "": row("alex robin sascha jordan taylor casey minseo wei somchai andrea jamie morgan riley"),
}

COUNTING: Final = row(  # may stand between a determiner and its noun
    "first second third last next other own same few many more most two three four five whole full new "
    "primer primera segundo segunda último última próximo próxima nuevo nueva dos tres cuatro mismo misma "
    "gran buen ersten erste erster zweite zweiten letzte letzten nächste nächsten ganze ganzen zwei drei "
    "vier"
)
OF: Final = {"en": row("of"), "es": row("de del"), "de": row("")}
INFLECTED: Final = ("e", "en", "er", "es", "em")
ADJECTIVE_ENDS: Final = (
    "al", "ales", "ico", "ica", "icos", "icas", "ivo", "iva", "ario", "aria", "oso", "osa",
)  # fmt: skip
GENDERS: Final = {  # of a German noun, as far as the determiner tells
    "der": "m", "den": "m", "dem": "m", "die": "f", "das": "n", "ein": "m", "eine": "f", "einen": "m",
    "einem": "m", "einer": "f", "mein": "m", "meine": "f", "meinen": "m", "meinem": "m", "meiner": "f",
    "unser": "m", "unsere": "f", "unseren": "m", "unserem": "m", "unserer": "f", "im": "m", "am": "m",
    "zum": "m", "beim": "m", "vom": "m", "zur": "f", "ins": "n", "ans": "n", "dieser": "m", "diese": "f",
    "dieses": "n", "diesen": "m", "diesem": "m", "kein": "m", "keine": "f", "keinen": "m",
}  # fmt: skip
SAYING: Final = row(
    "say says said tell tells told ask asks asked mention mentions mentioned think thinks thought want wants "
    "wanted call calls called email emailed text texted promise promised agree agreed like likes loves hates "
    "believes know knows knew lives works married dice dijo quiere piensa cree llamó mencionó comentó "
    "preguntó vive trabaja sabe prefiere escribió contó"
)
ADDRESSING: Final = row(
    "ask asked tell told remind invite invited call called met meet meeting email emailed text texted thank "
    "mrs mr llamé conocí invité llama llamo heißt heiße named"
)

# What only tells where, when, with whom or whose: a reference means it last.
ASIDES: Final = {
    "en": row(
        "in at on from near with for of by to into inside around behind beside under over through than"
    ),
    "de": row(
        "in im an am auf aus bei beim mit nach von vom zu zum zur vor neben gegen für wegen durch hinter "
        "unter ins ans"
    ),
    "es": row("en de del con para por desde hasta cerca a al tras junto"),
}
WHERE: Final = row("in at on near to from inside im an am auf bei beim nach ins ans en de del a al")
FINITE: Final = {  # verbs among the function words
    "en": row(
        "is are was were has have had do does did will would can could should must may might am be been"
    ),
    "de": row(
        "ist sind bin war waren hat habe haben hatte wird werden kann können muss soll will darf mag möchte"
    ),
    "es": row(
        "es son era fue está están estaba ha han hay tiene tienen tengo puede puedo debe quiere quiero va voy"
    ),
}
NOUN_ENDS: Final = (  # of German nouns, and the gender they tell
    (("ung", "heit", "keit", "schaft", "tion", "sion", "tät", "ik", "enz", "anz", "ie", "ei"), "f"),
    (
        ("chen", "lein", "ment", "tum", "angebot", "projekt", "buch", "auto", "haus", "restaurant", "hotel"),
        "n",
    ),
    (("ismus", "ling", "termin", "vertrag", "plan", "bericht", "dienst"), "m"),
)
NUMERALS: Final = row(
    "two three four five six several some many dos tres cuatro cinco varios varias algunos algunas"
)
POINTING: Final = row("this that these those no any each every esto este esta ese esa")
AGENTIVE: Final = row(  # who does this is no thing
    "say says said send sends sent write writes wrote tell tells told want wants wanted ask asks asked buy "
    "buys bought love loves loved like likes liked give gives gave offer offers offered decide decides "
    "decided announced announces hired hires promised rejected approved accepted invited charges charged "
    "sagt sagte will schickt schickte schreibt schrieb möchte wünscht bietet kauft kaufte verlangt fand dice "
    "dijo quiere envió mandó escribió pide pidió ofrece compró decidió anunció contrató aprobó cerró"
)
PLURAL_VERBS: Final = row("sind waren haben hatten werden wurden können konnten müssen sollen wollen")
INDEFINITE: Final = row("a an ein eine einen un una")
FIRST_PERSON: Final = ("amos", "emos", "imos", "aste", "iste", "é", "í")  # of Spanish verbs
