"""Names: first names of men and women.

This file has only tables. Each of them is frozen: a changed word changes recorded runs.
"""

from typing import Final

FIRST_NAME_ROWS: Final = (
    (
        "m",
        """aaron adam ahmed alan albert alex alexander ali andrew anthony antonio arthur ben
        benjamin bernard bill bob boris brian bruno bryan carl carlos charles charlie chris
        christian christopher claude colin craig dan daniel dave david dennis diego dieter dirk
        dominik don douglas ed eduardo edward emil emilio enrique eric erik ernst ethan eugene
        felix fernando finn florian francisco frank franz fred frederic gabriel gary george georg
        gerald gerard gerhard gilbert giovanni graham greg gregor günter gustav hans harald harry
        hassan heinz helmut henri henry herbert holger horst howard hugo hugh ian ibrahim igor
        isaac ivan iván ivo jack jacob jake jakob james jamie jan jason javier jean jeff jens
        jerome jeremy jerry jesús jim joachim joe johannes john jon jonas jonathan jordi jorge jose
        josé joseph josh joshua juan julien julio jürgen justin kai karim karl keith ken kenneth
        kevin klaus kurt kyle lars laurent leo leon leonard liam lorenz louis luc luca lucas luis
        luke lukas manuel marc marcel marco marcus mario mark markus martin mateo mathis mathieu
        matt matteo matthew matthias max maxime michael michel miguel mike mohamed mohammed moritz
        mustafa nathan neil nick nico nicolas nigel niklas nils noah norbert oliver olivier omar
        oscar otto owen pablo paco pascal patrick paul pedro pete peter phil philip philipp pierre
        rafael rainer ralf ramón raúl ravi ray raymond ricardo richard rob robert roberto roger
        roland roman ron ryan sam samuel scott sean sebastian serge sergio simon stefan stephen
        steve steven stuart sven tariq ted thomas theo thierry thorsten tim timo tobias tom tomás
        tony torsten tyler uwe victor viktor vincent wolfgang walt walter werner will william yann
        yusuf andrés ángel bernd björn casimir anselm piet joost hamid raj arjun deepak gonzalo
        eusebio gustave ludovic bastien théo enzo raphaël jules antoine baptiste clément romain
        benoît guillaume bertrand didier yves alain gilles rémi fabrice cédric sébastien stéphane
        frédéric éric grégory jérôme françois philippe denis jacques andré rené lucien fernand
        détlef detlef egon friedrich ludwig otmar rudolf siegfried torben volker wilhelm anton
        jannik jörg kilian konrad leander levin linus matthis mats mika paulus ruben silas timon
        valentin wenzel alfonso alfredo álvaro armando césar cristian domingo ernesto esteban
        eugenio félix fermín gerardo germán guillermo héctor ignacio jaime joaquín josué juanjo
        julián leandro lorenzo mariano martín mauricio nacho óscar pepe raimundo rodrigo rubén
        salvador santiago toni vicente xavi xavier aidan alec archie barry bart benedict blake brad
        brandon brent brett calvin cameron carter chad clive connor cooper cyrus damian darren dean
        derek desmond dexter dominic duncan dylan eli elliot elliott evan ewan fergus floyd francis
        garrett gavin geoff geoffrey glen gordon grant gus harrison hector herman hubert irving
        jared jasper jed jeremiah jesse joel jordan keiran kieran kit lance leroy lewis logan lloyd
        malcolm marvin maurice mick miles milo mitch morgan murray ned nelson noel norman otis
        percy perry preston quentin ralph randy reggie rex rhys ricky rory ross rupert russell seth
        shane sidney spencer stan stanley terry todd travis trevor vernon vince wade wayne wesley
        winston zach anil arun ashok dev dmitri farid femi hiroshi hussein idris jamal kenji khalid
        kofi kwame mahmoud malik mehmet murat nikhil nikolai olu osman pavel pradeep prakash rahul
        rajesh ramesh reza rohan sanjay sergei suresh takeshi tomasz vijay vikram vladimir yasin
        yuri yusef mateusz piotr krzysztof milan goran dragan aleksander sasha elias emre malte ole
        thorben nikita mehdi samir rachid hakim álex iker unai asier adrian alejandro alessandro
        alfred alois andreas angus arne axel bastian benedikt callum christoph clemens colm conor
        cormac damien declan donald eamon eberhard étienne fabian fabien felipe fergal fritz gareth
        gerd guido hamish hannes hartmut harvey heiko heinrich hendrik henning henrik hermann ingo
        joão jochen josef julian karsten leif léo leonardo loïc luka lutz magnus manfred marcelo
        marcos marius mathias nestor niall nicholas nuno octavio oskar patrice paulo quique régis
        reiner reinhard rolf rudi rüdiger sebastián seamus severin sönke stephan sylvain tarik
        theodor thibault ulrich vinzenz wilfried yannick""",
    ),
    (
        "f",
        """abigail adele agnes alexandra alice alicia alina amanda amelia amélie amy ana andrea
        angela angelika anita anja ann anna anne annette annie antje astrid audrey barbara beate
        beatrice beatriz bella bettina birgit brenda brigitte camille carla carmen carol caroline
        catherine cécile céline charlotte chantal christina christine claire clara claudia colette
        cristina dana deborah diana donna doris dorothy edith elena elisa elisabeth elizabeth ella
        ellen elke elsa emilia emily emma erika esther eva evelyn fatima florence frances françoise
        frieda gabriele gerda gertrud gina gisela gloria grace greta hanna hannah heidi heike helen
        helena helga hilda ida ilse inès inés inge ingrid irene irina iris isabel isabelle
        jacqueline jana jane janet jasmin jean jeanne jennifer jenny jessica joan joanna johanna
        josephine juana judith julia julie juliette jutta karen karin katharina kate katherine
        kathy katja katrin kerstin kirsten kim laura laure layla lea léa leila lena leonie lilly
        lina linda lisa lola lotte louise lucia lucía lucie lucy luisa manon manuela margaret
        margarita margot maria maría marie marina marion marta martha martina mary maya mercedes
        mia michaela michelle miriam monica monika mónica nadia nadine naomi natalia natalie
        nathalie nicole nina noa nora odette olga olivia pamela patricia paula pauline petra pilar
        priya rachel rebecca regina renate rita rosa rosario rose ruth sabine sabrina sandra sara
        sarah silke silvia simone sofia sophia sophie sonia stella stephanie susan susana susanne
        suzanne sylvia sylvie svenja tamara tamsin tanja teresa theresa tina ursula ute uta valérie
        valentina vanessa vera veronica veronika victoria virginie yasmin yvonne zoe zoé odile
        ottilie hedda yusra begoña wiebke elise solveig ingeborg amara chiyo femke maëlle capucine
        candela remedios nieves rosie uschi melek jade ambre mila lou agathe margaux élodie aurélie
        émilie mélanie stéphanie delphine sandrine véronique martine monique christiane geneviève
        denise paulette germaine solange mireille josiane corinne laetitia karine chloé anaïs
        clémence coralie élise fanny gaëlle hélène jeannine léonie lucile marguerite noémie océane
        pénélope régine ségolène thérèse yvette adriana alba alejandra almudena amparo araceli
        asunción aurora blanca catalina celia concha consuelo covadonga daniela dolores encarna
        esperanza estefanía estrella fátima gema guadalupe inmaculada isabela jimena jose josefa
        lourdes luz macarena maite marisol mayte mireia montse natividad nuria paloma paz raquel
        rebeca rocío rosalía soledad úrsula violeta virginia yolanda adelheid annegret annika
        bärbel carola christa christel dagmar dörte doro edeltraud elfriede elli erna evelin
        franziska friederike gabi gesine gudrun hannelore hedwig heidrun henrike hertha imke ines
        irmgard isolde jule karla karola katrina leni lieselotte liselotte magda maike mareike
        margarete margret marianne marlene mathilda mechthild meike merle nele ronja roswitha
        rosemarie sigrid sibylle sonja steffi susi thea traudl trude ulla ulrike undine ursel
        verena vroni waltraud wilma abby addison adrienne aisha alexis alison allison amber angie
        arlene ashley aubrey ava avery bea becky bernadette beryl bessie beth bethany betty beverly
        bonnie bridget brooke caitlin candice carly carrie cassie cathy chelsea cheryl chloe cindy
        connie cora courtney crystal cynthia daisy daphne darcy debbie della dora edna eileen
        elaine eleanor eliza ellie elsie erin estelle esme ethel eve evie fay felicity fiona flora
        freya gail gemma georgia georgina geraldine gillian ginny gladys glenda gwen gwendolyn
        hailey harriet hattie hazel heather hettie holly imogen iona isla ivy jackie jacqui janice
        jeanette jess jill jo jodie josie joy joyce kathleen katie kay kaylee kayla keira kelly
        kerry kirsty krista kristen kylie lara lauren leah leanne lesley liz lizzie loretta lorna
        lorraine lottie lucinda lydia lynn mabel mackenzie maddie madeline maggie maisie marcia
        marjorie marian matilda maud maureen meg megan melanie melissa meredith mildred millie
        minnie mollie molly morag muriel myra nancy nell nellie nichola paige pam pat patsy patty
        pearl peggy penelope penny phoebe phyllis polly poppy prudence queenie rhona roberta robin
        robyn rosalind rosemary rowan roxanne ruby sadie sally samantha shannon sheila shelley
        sherry shirley sienna skye sonya stacey stacy sue susie suzie sybil tabitha tammy tara tess
        tessa thelma tiffany tracey tracy trish trudy una valerie vicky viola vivian vivienne wanda
        wendy whitney willow winifred winnie zara aaliyah adaeze aiko akiko amina anjali ayesha
        aylin ayşe chidi deepa divya elif emine fatma fumiko hatice jasmine kavita keiko kiran
        lakshmi leyla mei meena midori naoko nasrin nazanin neha nisha oksana olena padma pooja
        radha rania reema rekha samira sana sanae shanti shreya sita soraya sunita svetlana tatiana
        tomoko usha yuki yuko zainab zeynep agnieszka katarzyna małgorzata magdalena ewa jelena
        ivana milica anke antonia frauke swantje merve ainhoa itziar leire agnès bianca carolin
        cathérine claudine constanze corinna cornelia diane dorothea édith élisabeth ester eveline
        farah gabriela henriette hilde janina janine josefine juliane justine kristina lily luise
        mara mathilde moira mona nadja noelia pia saskia sinead siobhan sofía stefanie svea tatjana
        verónica viktoria viviane""",
    ),
)
