"""Pairs of statements, remembered one after the other, and whether the later one ends the earlier one.

FOUND is what a tester from outside found: the rules had 1 of 35 right. UNSEEN was labelled before any rule
had met it, and was in view when the rules were written anew: 42 of 67 right before, all after. LATER was
written once they were: the older rules had 51 of 72 right, these had 70 when they first met it. LAST came
after PROBED: 30 of 39 right with the older rules, 38 with these at first.
"""

from typing import Final

FOUND_KEPT: Final = """
I live in Rome. > I don't live in Oslo.
I live with Eva. > I don't live in Oslo.
I eat meat. > I don't eat in Berlin.
I play chess. > I don't play in Oslo.
I drink coffee. > I don't drink in January.
I drive to work. > I don't drive in London.
I work as a nurse. > I don't work in Oslo.
I work at Acme. > I'm not working this week.
Bob lives in Rome. > Bob doesn't live in Oslo.
My email is a@b.c. > My email is not working.
My email is a@b.c. > My email is broken.
My email is a@b.c. > My email is not x@y.z.
My phone number is 5551234. > My phone number is secret.
My favourite colour is blue. > My favourite colour is not red.
My favourite colour is blue. > My favourite colour is still blue.
I live in Rome. > I moved to Oslo in 2005.
I live in Rome. > I moved to Oslo on 5 May 2010.
I live in Rome. > I moved to Oslo as a child.
I live in Rome. > I moved to Oslo in 2010 and back to Rome in 2015.
I live in Rome. > I moved to Oslo, but came back to Rome.
I live in Rome. > I left Rome this morning for a meeting.
I live in Rome. > I left Rome for the weekend.
J'habite à Rome. > J'ai déménagé à Oslo en 2005.
Bob works at Acme. > Bob left Acme in 2010 and returned in 2012.
I am vegan. > I used to be vegan, and I still am.
I work at Acme. > I work with Globex on a project.
Bob is a teacher. > Bob is a nurse.
"""
FOUND_ENDED: Final = """
I live in Rome, Italy. > I moved to Oslo, Norway.
I am married. > I am single now.
My favourite colour is blue. > My favorite color is green.
Trabajo en Acme. > Ya no trabajo en Acme.
Trabajo en Acme. > Ahora trabajo en Globex.
Ich arbeite als Lehrer. > Ich arbeite jetzt als Koch.
I am 30. > I am 31.
Je vis à Paris. > Je me suis installé à Lyon.
"""
UNSEEN_ENDED: Final = """
I live in Madrid, Spain. > We relocated to Dublin, Ireland.
I work at Siemens. > I don't work at Siemens any more.
I'm engaged. > I'm married now.
I am 41. > I'm 42 years old.
My favorite food is sushi. > My favourite food is now ramen.
I play the violin. > I don't play the violin anymore.
Carla works at Initech. > Carla left Initech last month.
Tom lives in Leeds. > Tom doesn't live in Leeds any longer.
My email is joe@old.org. > My new email address is joe@new.org.
I live in Boston. > I'm not living in Boston anymore.
I smoke cigars. > I gave up smoking cigars.
I'm single. > I got engaged to Paul yesterday.
Ich wohne in Dresden. > Ich bin vor zwei Wochen nach Leipzig gezogen.
Ich arbeite bei Bayer. > Ich arbeite nicht mehr bei Bayer.
Ich arbeite als Kellner. > Ich arbeite jetzt als Bäcker.
Ich bin 52. > Ich bin jetzt 53.
Meine Handynummer ist 0171 555. > Meine neue Handynummer ist 0172 777.
Ich esse Fleisch. > Ich esse kein Fleisch mehr.
Vivo en Granada. > Me he mudado a Málaga.
Trabajo para Repsol. > Ya no trabajo para Repsol.
Estoy casado. > Estoy divorciado ahora.
Trabajo como camarero. > Ahora trabajo como cocinero.
Trabajo en Mercadona. > Dejé Mercadona.
J'habite à Dijon. > Je me suis installée à Rennes.
Je travaille chez Danone. > J'ai quitté Danone la semaine dernière.
Je suis mariée. > Je suis divorcée depuis mardi.
Ma chanson préférée est Imagine. > Ma chanson préférée est maintenant Hey Jude.
Je mange de la viande. > Je ne mange plus de viande.
"""
UNSEEN_KEPT: Final = """
I live in Prague. > I moved to Vienna in 1998.
I live in Prague. > I don't live in Vienna.
I cook at home. > I don't cook at work.
I run every day. > I'm not running today.
My phone number is 5550000. > My phone number is unlisted.
My password is swordfish. > My password is too weak.
My address is 5 Mill Lane. > My address is hard to find.
My favourite film is Alien. > My favourite film is not on Netflix.
I work at Acme. > I'm working with Globex this month.
I live in York. > I'm living in Hull for two weeks.
Carla works at Initech. > Carla works at Hooli on Saturdays.
Carla lives in Lima. > Carla moved to Quito when she was ten.
I live in Rome. > I left Rome for a few days.
I work at Acme. > I left Acme for lunch.
I'm married. > I was single in 2015.
I am vegan. > I'm not a vegetarian.
I live in Rome. > I almost moved to Oslo.
I live in Rome. > I would have moved to Oslo.
I work at Acme. > My brother works at Globex.
I drink wine. > I don't drink beer.
I live in Rome. > I moved to Oslo for a year but returned.
Ich wohne in Köln. > Ich bin 1999 nach Berlin gezogen.
Ich wohne in Köln. > Ich wohne nicht in Berlin.
Ich arbeite bei Bosch. > Ich arbeite diese Woche bei Daimler.
Ich trinke Bier. > Ich trinke keinen Wein mehr.
Meine Lieblingsfarbe ist Blau. > Meine Lieblingsfarbe ist nicht Rot.
Ich wohne in Bonn. > Ich bin als Kind nach Ulm gezogen.
Vivo en Sevilla. > Me mudé a Cádiz en 2001.
Vivo en Sevilla. > No vivo en Cádiz.
Mi color favorito es el azul. > Mi color favorito no es el rojo.
Trabajo para Iberia. > Ya no trabajo para Renfe.
Vivo en Lugo. > Vivo en Vigo durante el verano.
Bebo café. > Ya no bebo vino.
J'habite à Lyon. > J'ai déménagé à Lille en 2003.
J'habite à Lyon. > Je n'habite pas à Lille.
Je travaille chez Airbus. > Je ne travaille plus chez Renault.
J'habite à Lyon. > J'habite à Nice pendant l'été.
Mon film préféré est Amélie. > Mon film préféré n'est pas Titanic.
J'habite à Paris. > J'ai quitté Paris pour le week-end.
"""
LATER_ENDED: Final = """
I live in Bern. > Last month I moved to Zurich.
We live in Austin, Texas. > We've moved to Denver, Colorado.
I work for Nokia. > I joined Ericsson in October.
I work at Tesco. > I got fired from Tesco.
My phone number is 020 7946 0000. > My phone number is now 020 7946 0999.
My address is 12 Elm Street. > My new address is 9 Oak Road.
My favourite team is Arsenal. > My favourite team is Chelsea now.
I'm divorced. > I got married again.
I use Firefox. > I switched from Firefox to Brave.
I like jazz. > I don't like jazz.
Emma lives in Cork. > Emma has relocated to Galway.
Emma is engaged to Luke. > Emma is married to Luke.
I eat gluten. > I no longer eat gluten.
I work as a teacher. > I'm now working as a translator.
My employer is Ford. > I left Ford and joined Opel.
Wir leben in Mainz. > Wir sind letztes Jahr nach Trier gezogen.
Ich arbeite für Audi. > Ich habe bei Audi gekündigt.
Ich bin single. > Ich bin jetzt verheiratet.
Peter wohnt in Jena. > Peter ist nach Gera gezogen.
Meine Lieblingsband ist Blur. > Meine Lieblingsband ist jetzt Oasis.
Vivimos en Murcia. > Nos mudamos a Alicante en mayo.
Tengo 40 años. > Ya tengo 41 años.
Fumo. > Ya no fumo.
Trabajo en Seat. > Empecé a trabajar en Renault.
Mi número es 600 111 222. > Mi nuevo número es 600 333 444.
Je vis à Metz. > J'ai déménagé à Nancy il y a deux mois.
J'ai 50 ans. > J'ai eu 51 ans hier.
Paul habite à Reims. > Paul a déménagé à Troyes.
J'aime le fromage. > Je n'aime plus le fromage.
"""
LATER_KEPT: Final = """
I live in Bern. > I stayed in Zurich last week.
I live in Bern. > I used to live in Zurich.
I live in Bern. > I'm living in Zurich until June.
I live in Bern. > In 2003 I moved to Zurich.
I live in Bern. > I moved to Zurich back in 2003.
I live in Bern. > I moved to Zurich after school.
I live in Bern. > I moved to a new flat.
I live in Bern. > I want to move to Zurich.
I live in Bern. > I don't want to live in Bern forever.
I live in Bern. > I left Bern on Monday for a conference.
I work for Nokia. > I'm not working for Ericsson.
I work for Nokia. > I work for Ericsson on weekends.
I work for Nokia. > I'm working from home now.
I work for Nokia and Ericsson. > I left Nokia.
I drink tea. > I don't drink tea in the evening.
I drink tea. > I'm not drinking today.
My phone is a Pixel. > My phone is broken.
My email is a@b.org. > My email is down.
My address is 12 Elm Street. > My address is not public.
My favourite team is Arsenal. > My favourite team is losing.
My favourite team is Arsenal. > My favourite team is always late.
My job title is lead engineer. > My job is boring.
I'm 44. > I'm 10 minutes late.
I'm married. > I'm not single.
I'm married. > I was engaged in 2012.
I like jazz. > I don't like jazz at work.
Emma lives in Cork. > Emma is staying in Galway for a month.
Emma works at Dell. > Emma doesn't work on Mondays.
Emma works at Dell. > Emma worked at Intel.
Emma plays golf. > Emma isn't playing this weekend.
Wir leben in Mainz. > Wir sind 2010 nach Trier gezogen.
Ich wohne in Mainz. > Ich wohne diesen Monat in Trier.
Ich arbeite bei Audi. > Ich arbeite nicht bei Opel.
Ich bin ledig. > Ich bin nicht verheiratet.
Peter wohnt in Jena. > Peter ist 2005 nach Gera gezogen.
Vivo en Murcia. > De niño vivía en Alicante.
Vivo en Murcia. > Me mudé a Alicante en 2010 y volví a Murcia.
Trabajo en Madrid. > Trabajo en Seat.
Como carne. > Ya no como pescado.
J'habite à Metz. > Je vivais à Nancy.
J'habite à Metz. > J'ai déménagé à Nancy, mais je suis revenu à Metz.
J'habite à Metz. > Je n'habite plus à Nancy.
Paul habite à Reims. > Paul a déménagé à Troyes en 1999.
"""
LAST_ENDED: Final = """
I live in Turin, Italy. > I moved to Lyon, France.
I'm living in Perth. > I have moved to Sydney.
I work at Bank of America. > I left Bank of America.
I work at Lidl. > I work at Aldi now.
My favourite drink is tea. > My favourite drink is coffee.
I'm 19. > I turned 20 last week.
I am 34. > I turned 35 today.
Ich wohne in Köln. > Ich bin letzte Woche nach Aachen gezogen.
Vivo en Madrid. > Me mudé el mes pasado a Sevilla.
J'habite à Lyon. > J'ai déménagé la semaine dernière à Nice.
Abito a Roma. > Mi sono trasferito il mese scorso a Milano.
I'm single. > I got married.
My username is ann_82. > My username is ann_83.
I wear glasses. > I no longer wear glasses.
I take insulin. > I stopped taking insulin two weeks ago.
Sara works at Ikea. > Sara quit Ikea.
Sara lives in Lund. > Sara moved away from Lund.
Ich lebe in Rostock. > Ich bin im März nach Kiel gezogen.
Ich bin verheiratet. > Ich bin geschieden.
Vivo en Toledo. > Ya no vivo en Toledo.
Soy soltera. > Me casé.
Je travaille comme serveur. > Je travaille maintenant comme cuisinier.
J'habite au Mans. > J'habite maintenant à Tours.
"""
LAST_KEPT: Final = """
I live in Perth. > I moved to Sydney in my twenties.
I live in Perth. > I'm moving to Sydney.
I live in Perth. > I don't live in the city centre.
I work at Lidl. > I worked at Aldi in 2019.
I work at Lidl. > I'm working for Aldi today.
I work at Lidl. > I applied for a job at Aldi.
My favourite drink is tea. > My favourite drink is not coffee.
My phone number is 555 111. > My phone number is no longer secret.
My phone number is 555 111. > My phone number is easy.
I wear glasses. > I don't wear hats.
I take insulin. > I don't take sugar.
I am a father. > I am not a mother.
Sara works at Ikea. > Sara doesn't work at Lidl.
Sara lives in Lund. > Sara left for Malmö.
Ich lebe in Rostock. > Ich lebe nicht in Kiel.
Ich lebe in Rostock. > Ich bin früher nach Kiel gezogen.
Ich arbeite als Koch. > Ich arbeite als Fahrer am Wochenende.
Vivo en Toledo. > No me mudé a Ávila.
Trabajo como cocinero. > Trabajo como chófer los sábados.
Je suis mariée. > Je ne suis pas divorcée.
J'habite à Tours. > Je n'ai pas déménagé à Nantes.
"""
# Written to break the rules, which ended the earlier statement of each.
PROBED_KEPT: Final = """
I live in Rome. > We left Rome yesterday.
I live in Rome. > I'm living in Oslo, for now.
I live in Rome. > I live in Oslo in summer.
I live in Rome. > I live in Oslo in May.
I live in Rome. > I work in Oslo 2 days, today in Bergen.
I am happy. > I am not happy with my phone.
I use Slack. > I switched from Slack to Teams at work.
My favourite colour is blue. > My favourite colour is better than yours.
My favourite colour is blue. > My favourite colour is my mother's.
My email is a@b.c. > My email is x@y.z at work.
I work at Acme. > I work for Bob.
I work at Acme. > I left Paris for Berlin.
Ich wohne in Bonn. > Ich wohne in Ulm im Sommer.
Ich arbeite bei Bosch. > Ich arbeite bei Daimler als Berater im Sommer.
Vivo en Lugo. > Vivo en Vigo en verano.
J'habite à Lyon. > J'habite à Nice en été.
J'habite à Lyon. > J'ai quitté Lyon hier.
"""
# What the rules get wrong, with the reason; all others they must get right.
WRONG: Final = {
    "Trabajo en Seat. > Empecé a trabajar en Renault.": "Seat may be a city, where people work for Renault",
}
PAIRS: Final = tuple(
    (*line.split(" > "), is_ended)
    for is_ended, tables in (
        (True, (FOUND_ENDED, UNSEEN_ENDED, LATER_ENDED, LAST_ENDED)),
        (False, (FOUND_KEPT, UNSEEN_KEPT, LATER_KEPT, LAST_KEPT, PROBED_KEPT)),
    )
    for table in tables
    for line in table.strip().splitlines()
)
