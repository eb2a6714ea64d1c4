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
# Written when a second tester had found facts that ended or stayed by mistake: the rules had half
# of them right.
BLIND_ENDED: Final = """
My sister Anna lives in Lund. > My sister Anna moved to Uppsala.
My little sister Anna lives in Lund. > My sister Anna lives in Bergen.
My mum Maria lives in Rome. > My mother Maria lives in Turin.
My neighbor Tom works at Acme. > Our neighbour Tom works at Ikea.
Anna lives in Lund. > My colleague Anna lives in Bergen.
My colleague Anna lives in Lund. > Anna lives in Bergen.
Meine Schwester Eva wohnt in Köln. > My sister Eva lives in Bonn.
I live in Rome. > I moved to Lund, Sweden.
I live in Rome. > I moved to Xanten, Germany.
I live in Rome. > I moved from Rome to Xanten.
I live in Oslo. > I moved from Rome to Xanten.
We're moving to Lund, Sweden. > We moved to Lund, Sweden.
I live in Rome. > We moved house to Xanten.
I live in Rome. > I moved to East London.
Emma lives in Cork. > Emma moved to Uppsala.
Bob lives in Rome. > Bob moved to New York City last week.
J'habite à Lyon. > J'ai déménagé à Guéret.
Peter wohnt in Jena. > Peter ist nach Xanten gezogen.
I work as a nurse on weekends. > I no longer work as a nurse.
I drink coffee after 6pm. > I no longer drink coffee.
I work at Acme on Fridays. > I no longer work at Acme.
I work at Acme Corp. > I no longer work at Acme.
I work at Acme. > I no longer work at Acme Corp.
I work at Acme as an engineer. > I'm no longer an engineer at Acme.
I work as a nurse at Skane Hospital. > I quit my job at Skane Hospital.
I work as a nurse at Skane Hospital. > I left Skane Hospital.
I work as a nurse at Skane Hospital. > I no longer work at Skane Hospital.
I work as a nurse at Skane Hospital. > I now work at Capio.
I work as a nurse at Skane Hospital. > I now work at Capio as a midwife.
I work as a nurse at Skane Hospital. > I now work as a midwife at Capio.
I work as a nurse at Skane Hospital. > I'm a midwife at Capio now.
I work as a nurse at Skane Hospital. > I joined Capio.
I work at Skane Hospital as a nurse. > I now work as a midwife at Capio.
I'm a nurse at Skane Hospital. > I left Skane Hospital.
I'm a nurse at Skane Hospital. > I now work as a midwife at Capio.
I'm employed as a nurse at Skane Hospital. > I left Skane Hospital.
I'm employed as a nurse by Skane Hospital. > I left Skane Hospital.
I'm employed by Skane Hospital as a nurse. > I now work as a midwife at Capio.
Emma works as a nurse at Dell. > Emma left Dell.
Emma works as a software engineer for Dell. > Emma now works at Nokia.
My sister Anna works as a nurse at Dell. > My sister Anna left Dell.
I work as a nurse at Skane Hospital. > I no longer work as a nurse at Skane Hospital.
I work at Skane Hospital as a nurse. > I no longer work as a nurse at Skane Hospital.
I work as a nurse at Skane Hospital. > I'm no longer a nurse at Skane Hospital.
I work as a nurse at Skane Hospital. > I no longer work as a nurse.
I work at Skane Hospital as a nurse. > I no longer work as a nurse.
My favourite food is herring. > My favourite food is ramen now.
My favourite food is ramen. > My favourite food is herring.
My favourite sport is swimming. > My favourite sport is tennis.
My favourite hobby is reading. > My favourite hobby is now painting.
My favourite dessert is pudding. > My favourite dessert is ice cream.
My favourite season is spring. > My favourite season is autumn.
My favourite dish is fried rice. > My favourite dish is ramen.
Emma's favourite food is herring. > Emma's favourite food is ramen.
My phone number is 070-1112233. > No, sorry, my phone number is 070-1112244.
My phone number is 070-1112233. > Sorry, my phone number is 070-1112244.
My phone number is 070-1112233. > Oops, my phone number is 070-1112244.
My phone number is 070-1112233. > Correction: my phone number is 070-1112244.
My phone number is 070-1112233. > I meant my phone number is 070-1112244.
My phone number is 070-1112233. > Sorry, I meant my phone number is 070-1112244.
I live in Oslo. > No wait, I live in Bergen.
I live in Oslo. > Oops, I live in Bergen.
Emma lives in Cork. > Correction: Emma lives in Galway.
I live in Oslo. > I moved to Sweden.
I live in Norway. > I live in Sweden.
I work as a nurse at Skane Hospital. > I'm now a midwife at Capio.
I'm a nurse with Capio. > I left Capio.
I work as a nurse in Lund. > I no longer work in Lund.
I work in Lund as a nurse. > I no longer work in Lund.
I work as a consultant with Globex. > I left Globex.
Emma is employed as a nurse at Dell. > Emma joined Nokia.
Emma works as a senior software engineer at Dell. > Emma was fired from Dell.
We live in Leeds. > We moved to Bath in May.
I live in Rome. > I moved to the UK.
I live in Rome. > I moved to the US last year.
I live in Rome. > I've moved from Rome to Berlin.
I live in Oslo, Norway. > I moved to Malmö, Sweden.
I live in Austin, Texas. > I moved to Portland, Oregon.
I live in Quellbrook. > I moved from Quellbrook to Xanten.
I live in Rome. > I moved to Trinidad and Tobago.
My favourite colour is red. > My favourite colour is blue.
My favourite film is Man on Fire. > My favourite film is Alien.
My favourite subject is engineering. > My favourite subject is history.
My favourite dessert is bread pudding. > My favourite dessert is cake.
My phone number is 070-1112233. > Whoops - my phone number is 070-1112244.
My phone number is 070-1112233. > That was wrong, my phone number is 070-1112244.
My phone number is 070-1112233. > No, I meant my phone number is 070-1112244.
My favourite colour is blue. > Sorry, my favourite colour is green.
I am 33 years old. > Correction: I am 34 years old.
My email is a@b.c. > Oops, my email is x@y.z.
I'm single. > Sorry, I'm married.
My sister Anna is 30 years old. > My sister Anna turned 31.
My best friend Luca is single. > My friend Luca got married.
I work at Google. > I left Google LLC.
I live in Rome, Italy. > I no longer live in Rome.
I live in Rome. > I no longer live in Rome, Italy.
I work as a head nurse. > I no longer work as a nurse.
I use Slack. > I switched from Slack to Teams.
I was promoted to manager. > I was promoted to director.
I work as a nurse at Skane Hospital. > I work as a nurse at Capio.
Alice works at Acme as an engineer. > Alice works at Beta as an engineer.
I'm a nurse at Skane Hospital. > I'm a nurse at Capio.
I work as a nurse. > I now work as a nanny at Capio.
I live in Rome. > I moved to Xanten, Germany last year.
I live in Rome. > We relocated to Xanten, Germany.
I work at Acme. > I'm currently a nurse at Capio.
"""
BLIND_KEPT: Final = """
My sister Anna lives in Lund. > My colleague Anna lives in Bergen.
My brother Tom works at Acme. > My neighbour Tom works at Ikea.
My boss Anna is 50 years old. > My cousin Anna is 20 years old.
My friend Luca is single. > My brother Luca is married.
My sister Anna lives in Lund. > Her sister Anna lives in Bergen.
My brother Tom works at Acme. > My neighbour Tom left Acme.
My brother Tom likes tea. > My uncle Tom no longer likes tea.
My wife Anna lives in Rome. > My ex-wife Anna moved to Paris.
Meine Schwester Eva wohnt in Köln. > Meine Tante Eva wohnt in Bonn.
I live in Rome. > My sister Ann moved to Paris.
I live in Rome. > I moved to Gmail.
I live in Rome. > We moved to Slack.
I live in Rome. > We moved to Premium.
I live in Rome. > I moved to Team Blue.
I live in Rome. > We moved to the API.
I live in Rome. > I moved to Team Berlin.
I live in Rome. > I moved to Berlin Labs.
I live in Rome. > I moved to Bank of America.
I live in Rome. > I moved to Linux last week.
I live in Rome. > I moved from Slack to Teams.
I live in Rome. > I moved back to Windows.
I live in Rome. > I moved to Gmail with my family.
I live in Rome. > I moved to Jira, Confluence and Slack.
I live in Rome. > I moved to Quellbrook.
I live in Rome. > I moved to Jira, Confluence.
Emma lives in Cork. > Emma moved to Marketing.
I moved to Oslo. > I moved to Gmail.
I work as a nurse. > I no longer work as a nurse on weekends.
I work as a nurse. > I no longer work as a nurse at night.
I work as a nurse. > I no longer work as a nurse manager.
I live in Rome. > I no longer live in Rome during the week.
I live in Rome. > I no longer live in Rome in summer.
I work at Acme. > I don't work at Acme on Fridays.
I work at Acme. > I no longer work at Acme on Fridays.
I drink coffee. > I no longer drink coffee after 6pm.
I use Slack. > I stopped using Slack on weekends.
I drink coffee. > I switched from coffee in the morning to tea.
I am married. > I'm no longer married on paper.
I work as a teacher. > I now work as a nurse on weekends.
I work as a teacher. > I now work on weekends as a nurse.
I work on Apollo. > I no longer work on Apollo on Mondays.
I work at Google. > I left Google Cloud.
I work at Skane Hospital. > I no longer work as a nurse at Skane Hospital.
I work at Skane Hospital. > I no longer work at Skane Hospital as a nurse.
I work at Skane Hospital. > I'm no longer a nurse at Skane Hospital.
I work as a nurse at Skane Hospital. > I left Capio.
I work as a nurse at Skane Hospital. > I also work as a tutor at Capio.
I work as a nurse at Skane Hospital. > I work at Skane Hospital.
I work as a nurse at Skane Hospital. > I left Skane Hospital for lunch.
I work as a nurse at Skane Hospital. > I was promoted to manager.
I work as a nurse at Skane Hospital. > My sister works at Capio.
I work as a nurse at Skane Hospital. > I work as a tutor at Capio on Fridays.
I work as a nurse. > I left Facebook.
I work as a nurse. > I work at Capio.
I work as a nurse. > I joined Capio.
I work as a nurse at night. > I left Acme.
I work as a nurse in Lund. > I left Acme.
My favourite team is Arsenal. > My favourite team is winning.
My favourite sport is tennis. > My favourite sport is dying.
My favourite band is Blur. > My favourite band is singing.
My favourite singer is Adele. > My favourite singer is dancing.
My favourite shop is Ikea. > My favourite shop is closed.
My favourite shop is Ikea. > My favourite shop is closing.
My favourite dish is ramen. > My favourite dish is burned.
My favourite food is ramen. > My favourite food is missing.
My favourite food is herring. > My favourite food is not pudding.
My phone number is 070-1112233. > Sorry, my phone number is secret.
I live in Oslo. > Sorry, I'm moving to Bergen.
I live in Oslo. > I meant to move to Bergen.
I live in Oslo. > Sorry, my sister lives in Bergen.
I live in Oslo. > Oops, I left Oslo this morning.
I live in Oslo. > I live in Norway.
I live in Norway. > I live in Oslo.
Emma lives in Lyon. > Emma lives in France.
I work as a nurse at Skane Hospital. > I'm moving to Lund.
I work as a nurse in Lund. > I now work at Capio.
I work as a nurse in Lund. > I left Lund.
I work in Lund. > I left Lund yesterday.
I work as a nurse at Skane Hospital. > I work in Lund.
Emma works as a nurse at Dell. > Emma left Lund.
I live in Rome. > I moved to Salesforce.
I live in Rome. > I moved to Kubernetes, Docker and Terraform.
I live in Rome. > I moved to Office 365.
I live in Rome. > I moved to Windows for work.
I live in Rome. > I moved from Accounting to Sales.
I live in Rome. > I moved to Phase Two.
I live in Rome. > Sorry, I moved to Gmail.
I live in Austin. > I live in Texas.
I live in Austin. > I live in the US.
I live in London. > I live in the UK.
I live in London. > I moved to England.
I live in Texas. > I live in Austin, Texas.
I live in Brooklyn. > I live in New York.
I live in Uppsala. > I live in Europe.
My favourite player is Messi. > My favourite player is running.
My favourite team is Arsenal. > My favourite team is training.
My favourite band is Blur. > My favourite band is named Pulp after a film.
My favourite shop is Ikea. > My favourite shop is baked.
My favourite sport is tennis. > My favourite sport is getting expensive.
My phone number is 070-1112233. > Sorry, my work phone number is 070-1112244.
I live in Oslo. > I meant that I work in Bergen.
I live in Oslo. > No, I moved to Bergen in 2005.
I'm married. > Sorry, my sister is single.
My aunt Rosa lives in Lima. > My grandmother Rosa lives in Quito.
My old boss Anna works at Acme. > My boss Anna works at Ikea.
My father Tom is married. > My son Tom is single.
Her brother Tom works at Acme. > My brother Tom works at Ikea.
My brother Tom lives in Rome. > My friend Tom moved to Oslo.
My friend Ann is 30 years old. > I turned 40.
I work at Amazon. > I left Amazon Prime.
I use Photoshop. > I no longer use Photoshop on weekends.
I work as a nurse. > I now work at night as a guard.
I work as a nurse. > I no longer work as a night nurse.
I play tennis. > I no longer play tennis with Bob.
I live in Lund. > I no longer live in Lund on weekdays.
Emma works at Dell. > Emma no longer works at Dell on Mondays.
I work at Acme. > I no longer work as a manager at Acme.
I'm a nurse at Acme. > I'm no longer a head nurse at Acme.
I work at Acme as a nurse. > I now work at Acme as a cook.
I work as a nurse. > I work as a nanny at Capio.
I work at Acme as a nurse. > I now work as a cook.
I work at Acme. > I met Bob, a nurse at Capio.
I'm single. > My dog is married to Bob, London.
I live in Rome. > I moved to Slack, Berlin is nice.
"""
# What the rules get wrong, with the reason; all others they must get right.
WRONG: Final = {
    "Trabajo en Seat. > Empecé a trabajar en Renault.": "Seat may be a city, where people work for Renault",
}
PAIRS: Final = tuple(
    (*line.split(" > "), is_ended)
    for is_ended, tables in (
        (True, (FOUND_ENDED, UNSEEN_ENDED, LATER_ENDED, LAST_ENDED, BLIND_ENDED)),
        (False, (FOUND_KEPT, UNSEEN_KEPT, LATER_KEPT, LAST_KEPT, PROBED_KEPT, BLIND_KEPT)),
    )
    for table in tables
    for line in table.strip().splitlines()
)
