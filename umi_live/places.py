"""Places that the rules know, by the country, state or province that contains them.

    is_place("Oslo")                      True
    is_place("East London")               True: a part of a known place
    is_place("Gmail")                     False
    regions_of("Oslo")                    norway, europe

Law 1. Only listed places are known, and a region contains only the places listed for it.
"""

from typing import Final

# Each region with its known places, some of which are regions themselves. A name that is
# listed in several regions is in all of them.
REGIONS: Final = {
    "europe": """
        albania, andorra, armenia, austria, azerbaijan, belarus, belgium, bosnia, bulgaria, croatia,
        cyprus, czechia, denmark, england, estonia, finland, france, georgia, germany, gibraltar, greece,
        greenland, hungary, iceland, ireland, italy, kosovo, latvia, liechtenstein, lithuania, luxembourg,
        macedonia, malta, moldova, monaco, montenegro, netherlands, northern ireland, norway, poland,
        portugal, romania, russia, scotland, serbia, slovakia, slovenia, spain, sweden, switzerland,
        turkey, ukraine, united kingdom, wales""",
    "albania": "tirana",
    "armenia": "yerevan",
    "austria": "bregenz, graz, innsbruck, klagenfurt, linz, salzburg, st pölten, tyrol, vienna, villach",
    "azerbaijan": "baku",
    "belarus": "minsk",
    "belgium": """
        antwerp, bruges, brussels, charleroi, flanders, ghent, leuven, liège, mechelen, namur, ostend,
        wallonia""",
    "bosnia": "banja luka, mostar, sarajevo",
    "bulgaria": "burgas, plovdiv, sofia, varna",
    "croatia": "dubrovnik, osijek, pula, rijeka, split, zadar, zagreb",
    "cyprus": "larnaca, limassol, nicosia, paphos",
    "czechia, the czech republic": "brno, liberec, olomouc, ostrava, plzeň, prague",
    "denmark": "aalborg, aarhus, copenhagen, esbjerg, odense, randers, roskilde",
    "estonia": "pärnu, tallinn, tartu",
    "finland": "espoo, helsinki, jyväskylä, kuopio, lahti, oulu, rovaniemi, tampere, turku, vaasa, vantaa",
    "france": """
        aix-en-provence, ajaccio, alsace, amiens, angers, annecy, avignon, bayonne, besançon, biarritz,
        bordeaux, brest, brittany, caen, calais, cannes, chambéry, clermont-ferrand, colmar, corsica,
        dijon, dunkirk, grenoble, la rochelle, le havre, le mans, lille, limoges, lorient, lyon, lyons,
        marseille, metz, montpellier, mulhouse, nancy, nantes, nice, normandy, nîmes, orléans, paris, pau,
        perpignan, poitiers, provence, quimper, reims, rennes, rouen, saint-étienne, strasbourg, toulon,
        toulouse, tours, troyes, versailles""",
    "georgia": "atlanta, augusta, batumi, columbus, kutaisi, macon, savannah, tbilisi",
    "germany": """
        aachen, augsburg, baden-baden, bamberg, bavaria, bayreuth, berlin, bielefeld, bochum, bonn,
        brandenburg, braunschweig, bremen, bremerhaven, chemnitz, cologne, cottbus, darmstadt, dortmund,
        dresden, duisburg, dusseldorf, düsseldorf, erfurt, erlangen, essen, flensburg, frankfurt,
        freiburg, fulda, gera, giessen, göttingen, hagen, halle, hamburg, hannover, hanover, heidelberg,
        heilbronn, hesse, ingolstadt, jena, kaiserslautern, karlsruhe, kassel, kiel, koblenz, konstanz,
        krefeld, köln, leipzig, leverkusen, lübeck, lüneburg, magdeburg, mainz, mannheim, marburg, munich,
        munster, münchen, münster, nuremberg, nürnberg, oldenburg, osnabrück, paderborn, passau, potsdam,
        regensburg, rostock, saarbrücken, saxony, schwerin, stuttgart, trier, tübingen, ulm, weimar,
        wiesbaden, wolfsburg, wuppertal, würzburg""",
    "bavaria": """
        augsburg, bamberg, bayreuth, erlangen, ingolstadt, munich, münchen, nuremberg, nürnberg, passau,
        regensburg, würzburg""",
    "greece": "athens, corfu, crete, heraklion, patras, rhodes, santorini, thessaloniki",
    "hungary": "budapest, debrecen, győr, pécs, szeged",
    "iceland": "akureyri, reykjavik",
    "ireland": "cork, dublin, galway, kilkenny, limerick, sligo, tralee, waterford",
    "italy": """
        ancona, asti, bari, bergamo, bologna, bolzano, brescia, cagliari, catania, como, cremona, cuneo,
        ferrara, florence, genoa, genova, lecce, livorno, lombardy, lucca, mantua, matera, messina, milan,
        milano, modena, monza, naples, napoli, novara, padova, padua, palermo, parma, pavia, perugia,
        pescara, piacenza, piedmont, pisa, prato, puglia, ravenna, rimini, roma, rome, salerno, sardinia,
        sassari, sicily, siena, taranto, torino, trento, treviso, trieste, turin, tuscany, udine, umbria,
        venezia, venice, verona, vicenza""",
    "sardinia": "cagliari, sassari",
    "sicily": "catania, messina, palermo",
    "tuscany": "florence, livorno, lucca, pisa, prato, siena",
    "latvia": "riga",
    "liechtenstein": "vaduz",
    "lithuania": "kaunas, klaipeda, vilnius",
    "luxembourg": "esch-sur-alzette",
    "macedonia": "skopje",
    "malta": "gozo, sliema, valletta",
    "moldova": "chisinau",
    "montenegro": "budva, kotor, podgorica",
    "netherlands, the netherlands, holland": """
        almere, amersfoort, amstelveen, amsterdam, apeldoorn, arnhem, breda, delft, den bosch, den haag,
        deventer, eindhoven, enschede, gouda, groningen, haarlem, hilversum, leeuwarden, leiden,
        maastricht, nijmegen, rotterdam, the hague, tilburg, utrecht, zaandam, zeist, zwolle""",
    "norway": """
        bergen, bodø, drammen, fredrikstad, kristiansand, lillehammer, oslo, stavanger, tromsø, trondheim,
        ålesund""",
    "poland": """
        białystok, bydgoszcz, cracow, gdansk, gdańsk, gdynia, katowice, krakow, kraków, lodz, lublin,
        poznan, poznań, rzeszów, sopot, szczecin, torun, toruń, warsaw, wroclaw, wrocław""",
    "portugal": """
        albufeira, aveiro, azores, braga, cascais, coimbra, faro, funchal, lisbon, madeira, porto, sintra""",
    "romania": "brasov, bucharest, cluj, cluj-napoca, constanta, iasi, sibiu, timisoara",
    "russia": "kazan, moscow, novosibirsk, siberia, sochi, st petersburg, vladivostok, yekaterinburg",
    "serbia": "belgrade, nis, novi sad",
    "slovakia": "bratislava, kosice",
    "slovenia": "ljubljana, maribor",
    "spain": """
        alicante, almería, andalusia, badajoz, barcelona, bilbao, burgos, cadiz, cartagena, catalonia,
        cordoba, cádiz, córdoba, galicia, gijón, girona, granada, ibiza, jerez, la coruña, las palmas,
        león, logroño, lugo, madrid, majorca, malaga, mallorca, marbella, menorca, murcia, málaga, oviedo,
        pamplona, salamanca, san sebastian, san sebastián, santander, santiago de compostela, saragossa,
        segovia, sevilla, seville, sitges, tarragona, tenerife, toledo, valencia, valladolid, vigo,
        vitoria, zaragoza""",
    "andalusia": """
        almería, cadiz, cordoba, cádiz, córdoba, granada, jerez, malaga, marbella, málaga, sevilla,
        seville""",
    "catalonia": "barcelona, girona, sitges, tarragona",
    "sweden": """
        borås, gothenburg, gotland, gävle, göteborg, halmstad, helsingborg, jönköping, kalmar, karlstad,
        kiruna, linköping, luleå, lund, malmo, malmö, norrköping, skåne, stockholm, sundsvall, umeå,
        uppsala, visby, västerås, växjö, ystad, örebro, östersund""",
    "switzerland": """
        basel, bern, biel, fribourg, geneva, lausanne, lucerne, lugano, montreux, neuchâtel, st gallen,
        thun, winterthur, zug, zurich, zürich""",
    "turkey": "ankara, antalya, bodrum, bursa, istanbul, izmir",
    "ukraine": "dnipro, kharkiv, kherson, kiev, kyiv, lviv, odesa, odessa",
    "united kingdom, the united kingdom, the uk, britain, great britain": """
        england, northern ireland, scotland, wales""",
    "england": """
        bath, birmingham, blackpool, bolton, bournemouth, bradford, brighton, bristol, cambridge,
        canterbury, carlisle, cheltenham, chester, colchester, cornwall, coventry, croydon, cumbria,
        derby, derbyshire, devon, doncaster, dorset, durham, essex, exeter, gloucester, guildford,
        hackney, hampshire, harrogate, hastings, hereford, hove, huddersfield, hull, ipswich, islington,
        kent, lancashire, lancaster, leeds, leicester, lincoln, liverpool, london, luton, maidstone,
        manchester, middlesbrough, milton keynes, newcastle, norfolk, northampton, norwich, nottingham,
        oxford, oxfordshire, peterborough, plymouth, poole, portsmouth, preston, reading, salford,
        salisbury, sheffield, shrewsbury, slough, somerset, southampton, southend, stockport,
        stoke-on-trent, suffolk, sunderland, surrey, sussex, swindon, torquay, wakefield, warwick,
        watford, wiltshire, winchester, wolverhampton, worcester, york, yorkshire""",
    "cornwall": "falmouth, newquay, penzance, truro",
    "devon": "exeter, plymouth, torquay",
    "kent": "canterbury, maidstone",
    "london": "croydon, hackney, islington",
    "norfolk": "norwich",
    "somerset": "bath, taunton",
    "suffolk": "ipswich",
    "surrey": "guildford, woking",
    "sussex": "brighton, hastings, hove",
    "yorkshire": """
        bradford, doncaster, harrogate, huddersfield, hull, leeds, scarborough, sheffield, wakefield,
        whitby, york""",
    "northern ireland": "belfast, derry",
    "scotland": "aberdeen, dundee, edinburgh, glasgow, inverness, orkney, shetland, st andrews, stirling",
    "wales": "aberystwyth, bangor, cardiff, newport, swansea, wrexham",
    "north america": "canada, mexico, united states",
    "canada": """
        alberta, british columbia, manitoba, new brunswick, newfoundland, nova scotia, ontario, quebec,
        québec, saskatchewan, yukon""",
    "alberta": "banff, calgary, edmonton",
    "british columbia": "kelowna, vancouver, victoria, whistler",
    "manitoba": "winnipeg",
    "nova scotia": "halifax",
    "ontario": "hamilton, kingston, mississauga, ottawa, toronto, waterloo",
    "quebec": "montreal, montréal, quebec city, sherbrooke",
    "saskatchewan": "regina, saskatoon",
    "mexico": """
        acapulco, cancun, cancún, guadalajara, mexico city, monterrey, mérida, oaxaca, playa del carmen,
        puebla, puerto vallarta, tijuana, tulum""",
    "united states, the united states, usa, the usa, the us, america": """
        alabama, alaska, arizona, arkansas, california, colorado, connecticut, delaware, florida, georgia,
        guam, hawaii, idaho, illinois, indiana, iowa, kansas, kentucky, louisiana, maine, maryland,
        massachusetts, michigan, minnesota, mississippi, missouri, montana, nebraska, nevada, new england,
        new hampshire, new jersey, new mexico, new york, new york state, north carolina, north dakota,
        ohio, oklahoma, oregon, pennsylvania, puerto rico, rhode island, samoa, south carolina, south
        dakota, tennessee, texas, utah, vermont, virginia, washington, washington dc, west virginia,
        wisconsin, wyoming""",
    "alabama": "huntsville, montgomery",
    "alaska": "anchorage, fairbanks, juneau",
    "arizona": "flagstaff, phoenix, scottsdale, sedona, tempe, tucson",
    "arkansas": "fayetteville, little rock",
    "california": """
        anaheim, bakersfield, berkeley, beverly hills, burbank, cupertino, fresno, hollywood, irvine, long
        beach, los angeles, malibu, mountain view, napa, oakland, palm springs, palo alto, pasadena,
        sacramento, san diego, san francisco, san jose, san mateo, santa barbara, santa clara, santa cruz,
        santa monica, santa rosa, silicon valley, sunnyvale, the bay area""",
    "colorado": "aspen, boulder, colorado springs, denver, fort collins",
    "connecticut": "hartford, new haven, stamford",
    "delaware": "wilmington",
    "florida": """
        fort lauderdale, gainesville, jacksonville, key west, miami, orlando, palm beach, pensacola,
        sarasota, st petersburg, tallahassee, tampa""",
    "hawaii": "honolulu, maui, oahu",
    "idaho": "boise",
    "illinois": "champaign, chicago, evanston, naperville, springfield",
    "indiana": "bloomington, fort wayne, indianapolis, south bend",
    "iowa": "cedar rapids, des moines, iowa city",
    "kansas": "kansas city, topeka, wichita",
    "kentucky": "lexington, louisville",
    "louisiana": "baton rouge, lafayette, new orleans, shreveport",
    "maine": "bangor, portland",
    "maryland": "annapolis, baltimore, bethesda, rockville",
    "massachusetts": "boston, cambridge, lowell, salem, somerville, springfield, worcester",
    "michigan": "ann arbor, detroit, grand rapids, kalamazoo, lansing",
    "minnesota": "duluth, minneapolis, rochester, saint paul, st paul",
    "mississippi": "biloxi",
    "missouri": "kansas city, saint louis, springfield, st louis",
    "montana": "billings, bozeman, missoula",
    "nebraska": "lincoln, omaha",
    "nevada": "las vegas, reno",
    "new england": "connecticut, maine, massachusetts, new hampshire, rhode island, vermont",
    "new hampshire": "concord",
    "new jersey": "atlantic city, hoboken, jersey city, newark, princeton, trenton",
    "new mexico": "albuquerque, santa fe, taos",
    "new york, new york city, nyc": "brooklyn, long island, manhattan, queens, staten island, the bronx",
    "new york state": "albany, buffalo, ithaca, poughkeepsie, rochester, syracuse, yonkers",
    "north carolina": """
        asheville, chapel hill, charlotte, durham, greensboro, raleigh, wilmington, winston-salem""",
    "north dakota": "bismarck, fargo",
    "ohio": "akron, cincinnati, cleveland, columbus, dayton, toledo",
    "oklahoma": "oklahoma city, tulsa",
    "oregon": "bend, eugene, portland, salem",
    "pennsylvania": "allentown, harrisburg, philadelphia, philly, pittsburgh, scranton",
    "puerto rico": "san juan",
    "rhode island": "newport, providence",
    "south carolina": "charleston, greenville, myrtle beach",
    "south dakota": "rapid city, sioux falls",
    "tennessee": "chattanooga, knoxville, memphis, nashville",
    "texas": """
        arlington, austin, dallas, el paso, fort worth, galveston, houston, lubbock, plano, san antonio,
        waco""",
    "utah": "park city, provo, salt lake city",
    "vermont": "burlington",
    "virginia": "alexandria, arlington, charlottesville, norfolk, richmond, roanoke, virginia beach",
    "washington": "bellevue, olympia, redmond, seattle, spokane, tacoma",
    "west virginia": "charleston",
    "wisconsin": "green bay, kenosha, madison, milwaukee",
    "wyoming": "cheyenne, jackson hole",
    "central america": "belize, costa rica, el salvador, guatemala, honduras, nicaragua, panama",
    "costa rica": "san jose",
    "panama": "panama city",
    "caribbean": """
        barbados, cuba, dominican republic, haiti, jamaica, puerto rico, the bahamas, trinidad, trinidad
        and tobago""",
    "cuba": "havana",
    "dominican republic, the dominican republic": "punta cana, santo domingo",
    "haiti": "port au prince",
    "jamaica": "kingston",
    "south america": """
        argentina, bolivia, brazil, chile, colombia, ecuador, guyana, paraguay, peru, uruguay, venezuela""",
    "argentina": "bariloche, buenos aires, cordoba, córdoba, mendoza, patagonia, rosario",
    "bolivia": "cochabamba, la paz",
    "brazil": """
        brasilia, curitiba, florianópolis, fortaleza, porto alegre, recife, rio, rio de janeiro, salvador,
        sao paulo, são paulo""",
    "chile": "santiago, valparaiso, valparaíso",
    "colombia": "bogota, bogotá, cali, cartagena, medellin, medellín",
    "ecuador": "cuenca, guayaquil, loja, quito",
    "paraguay": "asuncion, asunción",
    "peru": "arequipa, cusco, cuzco, lima",
    "uruguay": "montevideo",
    "venezuela": "caracas",
    "asia": """
        afghanistan, bahrain, bangladesh, burma, cambodia, china, india, indonesia, iran, iraq, israel,
        japan, jordan, kazakhstan, korea, kuwait, laos, lebanon, macau, malaysia, mongolia, myanmar,
        nepal, north korea, oman, pakistan, philippines, qatar, saudi arabia, singapore, south korea, sri
        lanka, syria, taiwan, thailand, the uae, tibet, uzbekistan, vietnam, yemen""",
    "afghanistan": "kabul",
    "bangladesh": "dhaka",
    "cambodia": "phnom penh, siem reap",
    "china": """
        beijing, chengdu, chongqing, guangzhou, hangzhou, hong kong, macau, nanjing, shanghai, shenzhen,
        tianjin, tibet, wuhan, xian""",
    "india": """
        ahmedabad, bangalore, bengaluru, bombay, calcutta, chandigarh, chennai, delhi, goa, gurgaon,
        hyderabad, jaipur, kerala, kochi, kolkata, lucknow, mumbai, new delhi, noida, pune, punjab,
        rajasthan""",
    "indonesia": "bali, bandung, jakarta, ubud, yogyakarta",
    "iran": "isfahan, shiraz, tehran",
    "iraq": "baghdad, basra, erbil",
    "israel": "haifa, jerusalem, tel aviv",
    "japan": "fukuoka, hiroshima, hokkaido, kobe, kyoto, nagoya, okinawa, osaka, sapporo, tokyo, yokohama",
    "jordan": "amman",
    "kazakhstan": "almaty, astana",
    "korea": "busan, seoul",
    "south korea": "busan, incheon, jeju, seoul",
    "lebanon": "beirut",
    "malaysia": "johor bahru, kuala lumpur, penang",
    "myanmar": "yangon",
    "nepal": "kathmandu, pokhara",
    "pakistan": "islamabad, karachi, lahore",
    "philippines, the philippines": "cebu, davao, manila",
    "qatar": "doha",
    "saudi arabia": "jeddah, riyadh",
    "sri lanka": "colombo",
    "syria": "aleppo, damascus",
    "taiwan": "kaohsiung, taipei",
    "thailand": "bangkok, chiang mai, koh samui, pattaya, phuket",
    "the uae, united arab emirates": "abu dhabi, dubai, sharjah",
    "uzbekistan": "samarkand, tashkent",
    "vietnam": "da nang, danang, hanoi, ho chi minh city, hoi an, saigon",
    "africa": """
        algeria, angola, botswana, cameroon, egypt, eritrea, ethiopia, ghana, kenya, libya, madagascar,
        malawi, mali, mauritius, morocco, mozambique, namibia, niger, nigeria, rwanda, senegal, sierra
        leone, somalia, south africa, sudan, tanzania, the gambia, tunisia, uganda, zambia, zanzibar,
        zimbabwe""",
    "algeria": "algiers, oran",
    "egypt": "alexandria, cairo, giza, luxor",
    "ethiopia": "addis ababa",
    "ghana": "accra, kumasi",
    "kenya": "mombasa, nairobi",
    "morocco": "agadir, casablanca, fez, marrakech, rabat, tangier",
    "namibia": "windhoek",
    "nigeria": "abuja, ibadan, lagos",
    "rwanda": "kigali",
    "senegal": "dakar",
    "south africa": "cape town, durban, johannesburg, port elizabeth, pretoria, stellenbosch",
    "sudan": "khartoum",
    "tanzania": "dar es salaam, zanzibar",
    "tunisia": "tunis",
    "uganda": "kampala",
    "zimbabwe": "harare",
    "oceania": "australia, fiji, new zealand, papua new guinea",
    "australia": """
        adelaide, alice springs, brisbane, cairns, canberra, darwin, fremantle, geelong, gold coast,
        hobart, melbourne, new south wales, perth, queensland, sydney, tasmania, western australia,
        wollongong""",
    "queensland": "brisbane, cairns, gold coast",
    "tasmania": "hobart",
    "new zealand": "auckland, christchurch, dunedin, hamilton, queenstown, wellington",
}  # fmt: skip
# Places in none of the regions above.
ALONE: Final = "bermuda, jersey, kinshasa, the maldives"
# Words that are part of the name of a place: East London, Salem County, Austin TX.
PARTS_OF_PLACES: Final = frozenset(
    """new north south east west northern southern eastern western central upper lower old great grand little
    downtown port fort mount lake san santa saint st los las el la le de del city county island islands
    springs beach bay valley heights hill hills falls park creek village town state
    tx ca ny nj fl wa co il nc sc ga va md mn wi mi nv az ut tn ky mo ks ct nh vt ri nm dc uk usa""".split()
)


def list_names(listed: str) -> list[str]:
    """Return the names between the commas of a row."""
    return [" ".join(it.split()) for it in listed.split(",")]


# Each place with the regions that contain it; the names of one region contain each other.
PARENTS: Final[dict[str, set[str]]] = {name: set() for name in list_names(ALONE)}
for _names, _listed in REGIONS.items():
    for _region in list_names(_names):
        PARENTS.setdefault(_region, set())
        for _place in (*list_names(_names), *list_names(_listed)):
            PARENTS.setdefault(_place, set()).add(_region)


def is_place(name: str) -> bool:
    """Return whether a name is a known place, or consists of known places and words of PARTS_OF_PLACES."""
    small = name.lower()
    own = [it for it in small.split() if it not in PARTS_OF_PLACES]
    return small in PARENTS or (bool(own) and all(it in PARENTS for it in own))


def regions_of(name: str) -> set[str]:
    """Return the regions that contain a place; for `East London` also London, which its last words name."""
    parts = name.lower().split()
    waiting = [" ".join(parts[at:]) for at in range(len(parts))]
    regions = set(waiting[1:]) & PARENTS.keys()
    while waiting:
        new = PARENTS.get(waiting.pop(), set()) - regions
        regions |= new
        waiting += new
    return regions
