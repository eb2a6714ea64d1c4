"""The cast: the names and nouns that occur in texts of workloads, in the languages of these texts.

Law 1. These words are recognised in any text; any other word is judged by its form.
Law 2. The tables are frozen, since a changed word would change recorded runs.
"""

from functools import cache
from typing import Final

# By type and gender: names, and words that show the type of a name (`Kestrel Labs` is an organization).
NAME_ROWS: Final = (
    ("person", "m",
     "adam adrián ahmed alberto alex andrés arthur arturo ben bernardo bernd bob brian bruno carlos chris "
     "dan daniel dave david diego dieter dmitri emil enrique esteban felipe felix fernando florian "
     "francisco frank gary george gerardo gerhard greg gustavo günter hans henry hugo igor ivan iván iwan "
     "jack jake jaime james javier joaquín johannes john jonas jorge juan karl keith kenji kevin lars leo "
     "leonard leonardo liam luis lukas mark markus martin mateo max michael miguel mike moritz nicolás "
     "nick nico nils noah oliver omar oscar oskar pablo paul pavel pedro peter phil philipp ralf ramón "
     "ravi raúl ricardo robert roberto rodrigo sam sebastian sergio somchai stefan steve søren thomas tim "
     "tobias tom tomás toma\u0301s uwe wei wolfgang yusuf étienne óliver óscar дмитрий игорь андрей иван "
     "أحمد สมชาย 田中 王伟 刘洋 陈强 周涛 吴磊 何军 郑凯 徐亮 高翔 高强 胡明 杨洋 郭鹏 程浩 沈飞 汪涵 "
     "熊伟 邹强 侯杰 段誉 丁浩 方宇 蒋超 叶斌 夏涛 彭飞 胡戈 罗军"),
    ("person", "f",
     "ada alice alicia ana andrea angela ann anna annika beatriz bea beth bettina carmen carol chiara "
     "chloe claire clara claudia elena emily emma eve fatima gabriela gina giulia grace greta hannah "
     "heidi helena helga hélène ida ilse ingrid inés irene isabel jenny julia karen kate katja katrin "
     "laura lena leyla lily lisa lorena lotte lucy lucía margaret maria marta melanie miriam monika "
     "mónica nadine nicole nina noelia nora olga patricia petra priscilla priya rachel raquel rocío rosa "
     "ruth sabine sandra sara sarah sofia sofía sofi\u0301a sophie susanne tanja tara tatiana teresa "
     "valentina valeria vera verónica wendy ximena yuki zoe zoë zoe\u0308 анна мария алёна олена ελένη "
     "प्रिया 李娜 赵敏 孙丽 林静 马丽 谢芳 朱丹 姚瑶 崔莉 范冰 夏雨 江楠 韩雪 白洁 卢静 苏婷 杜兰 潘玲 "
     "邓颖 余芳 玛塔"),
    ("person", "",
     "minseo robin 김민서 由紀 민서"),
    ("self", "",
     "umi nori kumo hana taro miko sora yumi rei aki"),
    ("organization", "",
     "labs gmbh inc corp ltd llc ag trading analytics foundry bank university acme praxis charité 科技 "
     "公司 会社 연구소 شركة बैंक บริษัท"),
    ("project", "",
     "project projekt proyecto projet progetto проект 项目 プロジェクト 프로젝트 مشروع परियोजना โครงการ"),
    ("location", "",
     "amsterdam athens athen austin barcelona basel basilea berlin bilbao bogotá boston bremen brighton "
     "chicago cuenca denver dresden dublin frankfurt granada grenoble hamburg hannover iceland italy "
     "japan köln leeds leipzig lima lisbon lissabon lisboa london lyon madrid mallorca milano munich "
     "málaga münchen norwegen osaka paris porto portugal prag prague praga pune quito riga rom roma rome "
     "rotterdam salamanca seattle sevilla shanghai stuttgart tokyo toledo torino toronto valencia vienna "
     "wien zürich москва москве риге 上海 北京 东京 東京 大阪 成都 深圳 青岛 长沙 苏州 昆明 云南 大理 "
     "香港 新加坡 冰岛 葡萄牙 意大利 日本 巴塞尔 布拉格 西雅图 서울 부산 القاهرة دبي पुणे मुंबई กรุงเทพ "
     "เชียงใหม่"),
    ("event", "",
     "monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag "
     "freitag samstag sonntag january february march april june july august september october november "
     "december januar februar märz mai juni juli oktober dezember navidad christmas weihnachten"),
    ("note", "",
     "pixel"),
)  # fmt: skip

# By language, kind and gender: nouns that a later pronoun may refer to. An empty gender fits any pronoun of
# the kind (`my boss ... she`). German things have grammatical gender, so `er` may be a contract.
NOUN_ROWS: Final = (
    ("en", "person", "m",
     "brother father dad husband son uncle grandfather grandpa nephew boyfriend man guy boy mr waiter "
     "king"),
    ("en", "person", "f",
     "sister mother mom mum wife daughter aunt grandmother grandma granny niece girlfriend woman girl "
     "lady mrs ms"),
    ("en", "person", "",
     "boss friend colleague neighbour neighbor doctor dr teacher coach landlord dentist cousin partner "
     "roommate customer client manager lawyer accountant plumber electrician nurse professor intern "
     "designer developer engineer inspector babysitter mechanic driver pilot patient baby guest assistant "
     "tester vendor owner agent"),
    ("en", "group", "",
     "team parents kids children twins family people grandparents students crew group tenants couple"),
    ("en", "place", "",
     "office hotel restaurant cafe café airport station city town village house apartment flat school gym "
     "library museum beach hospital clinic shop store bakery bar pub park cabin university hall lake "
     "garden inn shelter center kitchen basement place street zoo club pool"),
    ("en", "thing", "",
     "api app appointment article audit bike bill book boat bug build budget bus cake camera car cat "
     "charger clock cluster computer concert contract copy crown deadline demo desk dinner document dog "
     "drill email error exam exhibition feature file film fix flight font form game guitar heating hike "
     "index insurance invoice issue job key kitten laptop lease lecture letter log logo machine marathon "
     "meeting migration motorbike motorcycle mould movie mug mural node novel offer order package page "
     "painting party phone photo piano picture plan position problem puppy program proposal receipt "
     "recipe release rent reorg report request roof room router scarf schedule screen script section "
     "server service shed shoe slide song standup stove system table talk task telescope test thesis "
     "ticket train trip umbrella update upgrade version video wedding workshop garage mat risk meetup opera "
     "rooftop"),
    ("en", "time", "",
     "morning afternoon evening night day week weekend month year spring summer autumn fall winter time "
     "moment minute hour second while bit lot way end"),
    ("de", "person", "m",
     "Bruder Vater Papa Mann Ehemann Sohn Onkel Opa Großvater Neffe Freund Chef Kollege Nachbar Arzt "
     "Zahnarzt Lehrer Vermieter Kunde Klempner Kellner Hausmeister Steuerberater Herr Herrn Professor "
     "Junge Dr"),
    ("de", "person", "f",
     "Schwester Mutter Mama Frau Ehefrau Tochter Tante Oma Großmutter Nichte Freundin Chefin Kollegin "
     "Nachbarin Ärztin Zahnärztin Lehrerin Vermieterin Kundin Babysitterin Praktikantin Designerin "
     "Mitbewohnerin"),
    ("de", "group", "",
     "Team Eltern Kinder Zwillinge Nachbarn Freunde Kollegen Leute Gäste Großeltern Familie Mieter Kunden"),
    ("de", "place", "m", "Bahnhof Laden Kindergarten Garten Zoo Hafen Park Strand Keller See"),
    ("de", "place", "f",
     "Stadt Wohnung Ferienwohnung Schule Bibliothek Klinik Bäckerei Werkstatt Praxis Kletterhalle "
     "Konferenz"),
    ("de", "place", "n", "Büro Haus Hotel Restaurant Krankenhaus Theater Kino Dorf Museum"),
    ("de", "thing", "m",
     "Bericht Vertrag Mietvertrag Termin Zahnarzttermin Fehler Flug Umzug Kredit Router Drucker Server "
     "Schlüssel API-Schlüssel Vortrag Plan Test Brief Roman Film Kuchen Hund Laptop Computer "
     "Zahlungsdienst Zug Login Aufzug"),
    ("de", "thing", "f",
     "Migration Datenbankmigration Rechnung Reise Heizung Katze Kamera Bohrmaschine Waschmaschine "
     "Quittung Software Startseite Gehaltserhöhung Version Präsentation Platte Prüfung Statistik Stelle "
     "Miete Kaffeemaschine Karte Besprechung Nachricht E-Mail Idee Frage Arbeit Versicherung Erfahrung "
     "Suchseite Masterarbeit Geige Matte Vorlesung Hochzeit Mail Frühjahrskampagne"),
    ("de", "thing", "n",
     "Angebot Meeting Paket Upgrade Projekt Ticket Buch Auto Fahrrad Motorrad Budget Handy Bild Geschenk "
     "Treffen Essen Wohnzimmer Logo"),
    ("de", "things", "", "Kameras Logs Fotos Pläne Karten Nüsse Korallen Uhren Briefmarken"),
    ("de", "time", "",
     "Morgen Mittag Abend Nacht Tag Woche Wochenende Monat Jahr Frühling Sommer Herbst Winter Zeit Moment "
     "Ende Euro Stock Arm"),
    ("es", "person", "m",
     "hermano padre papá marido hijo tío abuelo sobrino novio jefe compañero vecino médico profesor primo "
     "suegro amigo camarero portero conserje dueño señor don hombre doctor mecánico cliente"),
    ("es", "person", "f",
     "hermana madre mamá esposa mujer hija tía abuela sobrina novia jefa compañera vecina médica "
     "profesora prima suegra amiga niñera diseñadora becaria directora señora doctora doña"),
    ("es", "person", "", "dentista contable terapeuta"),
    ("es", "group", "",
     "equipo padres niños hijos vecinos amigos suegros abuelos gemelos inquilinos familia gente"),
    ("es", "place", "m",
     "restaurante hotel bar piso puerto taller museo parque lago aeropuerto colegio pueblo"),
    ("es", "place", "f",
     "oficina casa cabaña panadería ciudad tienda librería playa calle escuela conferencia"),
    ("es", "thing", "m",
     "contrato informe presupuesto proyecto vuelo coche paquete servidor programa préstamo alquiler "
     "aumento error formulario documento código libro perro viaje problema cuadro billete servicio"),
    ("es", "thing", "f",
     "migración reunión propuesta página lavadora impresora incidencia corona votación plataforma factura "
     "moto bicicleta novela guitarra llave entrada cámara carpeta versión carta ópera foto exposición "
     "charla banda"),
    ("es", "thing", "m", "violín ruido ticket despacho banco"),
    ("es", "time", "",
     "mañana tarde noche día semana mes año primavera verano otoño invierno lunes martes miércoles jueves "
     "viernes sábado domingo vez momento"),
    ("zh", "person", "m", "爸爸 爷爷 哥哥 弟弟 叔叔 舅舅 儿子 丈夫 外甥 侄子 先生 外公"),
    ("zh", "person", "f", "妈妈 奶奶 姐姐 妹妹 阿姨 姑姑 女儿 妻子 侄女 女士 外婆 小姐"),
    ("zh", "person", "",
     "老板 同事 朋友 老师 医生 经理 邻居 房东 客户 教授 保姆 服务员 设计师 实习生 同学 主任"),
    ("zh", "group", "", "爸妈 父母 孩子们 团队 租客 家人 客人 双胞胎"),
    ("zh", "place", "",
     "酒店 餐厅 饭店 医院 学校 大学 公司 公园 车站 机场 超市 商店 民宿 书店 面包店 攀岩馆 川菜馆 拉面馆 "
     "榆树街 海景 健身房 图书馆 博物馆 办公室 公寓"),
    ("zh", "thing", "",
     "项目 支付 重构 服务 数据库 迁移 报告 季度 合同 预算 系统 服务器 电脑 笔记本 手机 相机 自行车 汽车 "
     "保险 航班 机票 包裹 电梯 雨伞 围巾 洗衣机 咖啡机 路由器 密钥 软件 页面 搜索 标志 错误 登录 漏洞 "
     "导出 功能 补丁 集群 升级 贷款 猫 小狗 产品 发布会 休假 政策 会议 电影 小说 礼物 照片 房子"),
)  # fmt: skip
KNOWN: Final = {name: (kind, gender) for kind, gender, row in NAME_ROWS for name in row.split()}


@cache
def known_nouns(language: str) -> dict[str, tuple[str, str]]:
    """Return kind and gender of each noun of a language."""
    rows = [(row, kind, gender) for own, kind, gender, row in NOUN_ROWS if own == language]
    return {noun: (kind, gender) for row, kind, gender in rows for noun in row.split()}
