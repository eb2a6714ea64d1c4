"""What people say of themselves, and later say anew: labelled before any answer was looked at.

Each row: a language, a statement, a later one, a question, a part of the answer that is true now, and whether
the later statement ends the earlier one. The rules were written with the first 66 rows in view; of the others
they had 20 of 34 right when they first met them.
"""

from typing import Final

from umi_core.data import Data


class OwnStatements(Data):
    """Two statements of one person, and the question that the current one of them answers."""

    language: str
    earlier: str
    later: str
    question: str
    answer: str
    is_ended: bool = True


ROWS: Final = tuple(OwnStatements(*row) for row in (
    # A value that can only be one.
    ("en", "I live in Porto.", "I moved to Lisbon.", "where do I live", "Lisbon"),
    ("en", "I work at Acme.", "I now work at Globex.", "where do I work?", "Globex"),
    ("en", "I'm working at Siemens as an engineer.", "I left Siemens and joined Bosch.",
     "Which company do I work for?", "Bosch"),
    ("en", "I am single.", "I got married last Saturday.", "Am I married?", "married"),
    ("en", "My favourite color is green.", "My favourite color is blue now.", "what is my favourite color",
     "blue"),
    ("en", "My phone number is 555-0101.", "My new phone number is 555-0202.", "What is my phone number?",
     "555-0202"),
    ("en", "I'm 29 years old.", "I turned 30 yesterday.", "How old am I?", "30"),
    ("en", "I drink coffee every morning.", "I no longer drink coffee.", "Do I drink coffee?", "no longer"),
    ("en", "We live in Leeds.", "We moved to York in May.", "Where do we live?", "York"),
    ("en", "I'm based in Berlin.", "I've just moved from Berlin to Hamburg.", "what city do I live in",
     "Hamburg"),
    ("en", "My email is ann@example.org.", "I changed my email to ann@example.com.", "what's my email?",
     "ann@example.com"),
    ("en", "I work as a nurse.", "I work as a paramedic now.", "What is my job, what do I work as?",
     "paramedic"),
    ("en", "I like tea.", "I don't like tea anymore.", "Do I like tea?", "don't like"),
    ("en", "I'm engaged to Tom.", "I got married to Tom.", "Who am I married to?", "married"),
    ("en", "I live in Oslo with my cat.", "I've moved to Bergen.", "Where do I live now?", "Bergen", False),
    ("en", "I use Vim.", "I switched from Vim to Helix.", "which editor do I use, Vim or Helix", "Helix"),
    ("en", "I play tennis on Mondays.", "I stopped playing tennis.", "Do I play tennis?", "stopped"),
    ("en", "My address is 5 Mill Lane.", "My address changed to 12 High Street.", "what is my address",
     "High Street"),
    # Both stay true.
    ("en", "I work at Acme.", "I also work at the Red Cross as a volunteer.", "Where do I volunteer?",
     "Red Cross", False),
    ("en", "I like tea.", "I like coffee now.", "Do I like coffee?", "coffee", False),
    ("en", "My dog is called Rex.", "My cat is called Luna.", "what is my dog called", "Rex", False),
    ("en", "I was born in Lima.", "I live in Madrid.", "Where was I born?", "Lima", False),
    ("en", "I live in Porto.", "I'm going to Lisbon next week.", "where do I live", "Porto", False),
    ("en", "My sister lives in Rome.", "I moved to Milan.", "Where does my sister live?", "Rome", False),
    ("en", "I have a son called Leo.", "I have a daughter called Mia.", "Who is my daughter?", "Mia", False),
    ("en", "I live in Leeds.", "We visited York last weekend.", "Where do I live?", "Leeds", False),
    # German.
    ("de", "Ich wohne in Köln.", "Ich bin nach Bonn gezogen.", "Wo wohne ich?", "Bonn"),
    ("de", "Ich arbeite bei Siemens.", "Ich arbeite jetzt bei Bosch.", "Wo arbeite ich?", "Bosch"),
    ("de", "Ich bin ledig.", "Ich habe letzten Samstag geheiratet.", "Bin ich verheiratet?", "geheiratet"),
    ("de", "Ich lebe in Wien.", "Ich wohne jetzt in Graz.", "In welcher Stadt wohne ich?", "Graz"),
    ("de", "Meine Lieblingsfarbe ist Grün.", "Meine Lieblingsfarbe ist jetzt Blau.",
     "Was ist meine Lieblingsfarbe?", "Blau"),
    ("de", "Ich trinke Kaffee.", "Ich trinke keinen Kaffee mehr.", "Trinke ich Kaffee?", "keinen"),
    ("de", "Ich bin 29 Jahre alt.", "Ich bin jetzt 30 Jahre alt.", "Wie alt bin ich?", "30"),
    ("de", "Ich mag Tee.", "Ich mag auch Kaffee.", "Mag ich Kaffee?", "Kaffee", False),
    ("de", "Mein Hund heißt Rex.", "Meine Katze heißt Luna.", "Wie heißt mein Hund?", "Rex", False),
    ("de", "Ich wohne in Köln.", "Ich fahre nächste Woche nach Bonn.", "Wo wohne ich?", "Köln", False),
    # French.
    ("fr", "J'habite à Lyon.", "J'ai déménagé à Nantes.", "Où est-ce que j'habite ?", "Nantes"),
    ("fr", "Je travaille chez Renault.", "Je travaille maintenant chez Airbus.",
     "Chez qui est-ce que je travaille ?", "Airbus"),
    ("fr", "Je suis célibataire.", "Je me suis marié samedi.", "Est-ce que je suis marié ?", "marié"),
    ("fr", "Je vis à Paris.", "Je vis maintenant à Lille.", "Dans quelle ville je vis ?", "Lille"),
    ("fr", "J'ai 29 ans.", "J'ai 30 ans maintenant.", "Quel âge j'ai, combien d'ans ?", "30"),
    ("fr", "Ma couleur préférée est le vert.", "Ma couleur préférée est maintenant le bleu.",
     "Quelle est ma couleur préférée ?", "bleu"),
    ("fr", "Je bois du café.", "Je ne bois plus de café.", "Est-ce que je bois du café ?", "plus"),
    ("fr", "J'aime le thé.", "J'aime aussi le café.", "Est-ce que j'aime le café ?", "café", False),
    ("fr", "Mon chien s'appelle Rex.", "Mon chat s'appelle Luna.", "Comment s'appelle mon chien ?", "Rex",
     False),
    ("fr", "J'habite à Lyon.", "Je vais à Nantes la semaine prochaine.", "Où est-ce que j'habite ?", "Lyon",
     False),
    # Spanish.
    ("es", "Vivo en Sevilla.", "Me mudé a Madrid.", "¿Dónde vivo?", "Madrid"),
    ("es", "Trabajo en Iberia.", "Ahora trabajo en Vueling.", "¿Dónde trabajo?", "Vueling"),
    ("es", "Estoy soltera.", "Me casé el sábado.", "¿Estoy casada, me casé?", "casé"),
    ("es", "Yo vivo en Lima.", "Ahora vivo en Cusco.", "¿En qué ciudad vivo?", "Cusco"),
    ("es", "Tengo 29 años.", "Ya tengo 30 años.", "¿Cuántos años tengo?", "30"),
    ("es", "Mi color favorito es el verde.", "Mi color favorito ahora es el azul.",
     "¿Cuál es mi color favorito?", "azul"),
    ("es", "Bebo café.", "Ya no bebo café.", "¿Bebo café?", "no bebo"),
    ("es", "Me gusta el té.", "También me gusta el café.", "¿Me gusta el café?", "café", False),
    ("es", "Mi perro se llama Rex.", "Mi gata se llama Luna.", "¿Cómo se llama mi perro?", "Rex", False),
    ("es", "Vivo en Sevilla.", "Voy a Madrid la semana que viene.", "¿Dónde vivo?", "Sevilla", False),
    # Italian.
    ("it", "Abito a Torino.", "Mi sono trasferito a Milano.", "Dove abito?", "Milano"),
    ("it", "Lavoro alla Fiat.", "Adesso lavoro alla Ferrari.", "Dove lavoro?", "Ferrari"),
    ("it", "Sono single.", "Mi sono sposata sabato.", "Sono sposata?", "sposata"),
    ("it", "Vivo a Roma.", "Ora vivo a Napoli.", "In quale città vivo?", "Napoli"),
    ("it", "Ho 29 anni.", "Ora ho 30 anni.", "Quanti anni ho?", "30"),
    ("it", "Il mio colore preferito è il verde.", "Il mio colore preferito adesso è il blu.",
     "Qual è il mio colore preferito?", "blu"),
    ("it", "Bevo caffè.", "Non bevo più caffè.", "Bevo caffè?", "più"),
    ("it", "Mi piace il tè.", "Mi piace anche il caffè.", "Mi piace il caffè?", "caffè", False),
    ("it", "Il mio cane si chiama Rex.", "La mia gatta si chiama Luna.", "Come si chiama il mio cane?",
     "Rex", False),
    ("it", "Abito a Torino.", "Vado a Milano la settimana prossima.", "Dove abito?", "Torino", False),
    # Added once there were rules.
    ("en", "I'm living in Glasgow at the moment.", "I relocated to Cardiff for work.", "Where am I living?",
     "Cardiff"),
    ("en", "I work for a bank called Santander.", "I started a new job at Monzo.", "Where do I work now?",
     "Monzo"),
    ("en", "I'm married.", "I got divorced last year.", "am I still married?", "divorced"),
    ("en", "My favorite band is Blur.", "My favorite band is Pulp these days.", "What's my favorite band?",
     "Pulp"),
    ("en", "I smoke.", "I quit smoking in March.", "Do I smoke?", "quit smoking"),
    ("en", "I drive a Ford.", "I sold the Ford and drive a Tesla now.", "Which car do I drive?", "Tesla"),
    ("en", "I live with my parents.", "I live in Bath now.", "Where do I live?", "Bath", False),
    ("en", "I'm a teacher at Hillside School.", "I retired from Hillside School.",
     "Where did I retire from?", "retired"),
    ("en", "Hi, I'm Ben and I live in Dublin.", "Good news: I moved to Cork!", "where do i live?", "Cork"),
    ("en", "I'm vegetarian.", "I'm not vegetarian anymore.", "Am I vegetarian?", "not vegetarian"),
    ("en", "I'm learning Spanish.", "I'm also learning Dutch.", "What languages am I learning?", "learning",
     False),
    ("en", "My wife is called Ella.", "My son is called Noah.", "What is my wife called?", "Ella", False),
    ("en", "I'm allergic to cats.", "I have a dog now.", "What am I allergic to?", "cats", False),
    ("en", "My office is in Soho.", "I moved to Brighton last month.", "Where is my office?", "Soho", False),
    ("de", "Wir wohnen in Hamburg.", "Wir sind im Juni nach Kiel gezogen.", "Wo wohnen wir?", "Kiel"),
    ("de", "Ich arbeite für Lidl.", "Ich habe bei Aldi angefangen.", "Wo arbeite ich?", "Aldi"),
    ("de", "Ich bin verheiratet.", "Ich bin inzwischen geschieden.", "Bin ich verheiratet?", "geschieden"),
    ("de", "Ich rauche.", "Ich rauche nicht mehr.", "Rauche ich?", "nicht mehr"),
    ("de", "Ich spiele Tennis.", "Ich spiele jetzt auch Golf.", "Spiele ich Golf?", "Golf", False),
    ("de", "Ich lebe in Graz.", "Meine Mutter lebt in Linz.", "Wo lebt meine Mutter?", "Linz", False),
    ("fr", "J'habite en Belgique.", "J'ai déménagé en Suisse.", "Où est-ce que j'habite ?", "Suisse"),
    ("fr", "Je suis mariée.", "Je suis divorcée maintenant.", "Suis-je mariée ?", "divorcée"),
    ("fr", "Je fume.", "Je ne fume plus.", "Est-ce que je fume ?", "plus"),
    ("fr", "Je travaille chez Orange.", "Je ne travaille plus chez Orange.", "Je travaille chez Orange ?",
     "plus"),
    ("fr", "J'habite à Lille.", "Ma sœur habite à Metz.", "Où habite ma sœur ?", "Metz", False),
    ("es", "Vivo en Bogotá.", "Ahora vivo en Cali con mi hermana.", "¿Dónde vivo ahora?", "Cali"),
    ("es", "Me gusta el vino.", "Ya no me gusta el vino.", "¿Me gusta el vino?", "no me gusta"),
    ("es", "Trabajo para Zara.", "Trabajo para Mango desde enero.", "¿Para quién trabajo?", "Mango"),
    ("es", "Mi hermana vive en Quito.", "Me mudé a Loja.", "¿Dónde vive mi hermana?", "Quito", False),
    ("it", "Vivo a Bari.", "Mi sono trasferita a Pisa per lavoro.", "Dove vivo?", "Pisa"),
    ("it", "Lavoro per Enel.", "Non lavoro più per Enel.", "Lavoro per Enel?", "più"),
    ("it", "Gioco a calcio.", "Non gioco più a calcio.", "Gioco a calcio?", "più"),
    ("it", "Ho un gatto.", "Ho anche un cane.", "Ho un cane?", "cane", False),
    ("it", "Mio padre vive a Roma.", "Vivo a Siena.", "Dove vive mio padre?", "Roma", False),
))  # fmt: skip

# Earlier statements of the same person; none of it answers any of the questions.
OTHERS: Final = {
    "en": ("I enjoy hiking in the mountains.", "My brother Paul plays the violin.", "I can speak Swedish.",
           "Remember to buy milk.", "I'm afraid of spiders.", "The meeting was boring."),
    "de": ("Ich wandere gern in den Bergen.", "Mein Bruder Paul spielt Geige.", "Ich kann Schwedisch.",
           "Ich habe Angst vor Spinnen."),
    "fr": ("J'adore la randonnée.", "Mon frère Paul joue du violon.", "Je parle suédois.",
           "J'ai peur des araignées."),
    "es": ("Me encanta el senderismo.", "Mi hermano Pablo toca el violín.", "Hablo sueco.",
           "Tengo miedo de las arañas."),
    "it": ("Adoro le escursioni.", "Mio fratello Paolo suona il violino.", "Parlo svedese.",
           "Ho paura dei ragni."),
}  # fmt: skip
