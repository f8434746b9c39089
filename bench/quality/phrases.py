"""The words from which the generated web is written, in six languages.

A `Topic` has one subject and one value. `facts` are sentences that state the value, `question` asks for it. A `Grammar` writes
filler: any opening goes with any happening, thing and place, so that two pages share words, and hardly ever sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["CHARSETS", "GRAMMARS", "LANGUAGES", "TOPICS", "Grammar", "Kind", "Topic"]

Kind: TypeAlias = Literal["date", "count", "dose", "person", "length", "version"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """How one kind of fact is told in one language; `{s}` is the subject, `{v}` the value."""

    kind: Kind
    subject: str
    facts: tuple[str, str]
    question: str
    changes: bool = False
    """Whether an older value was true once, so that a page's age matters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """Filler of one language."""

    openings: tuple[str, ...]
    happenings: tuple[str, ...]
    things: tuple[str, ...]
    places: tuple[str, ...]
    about: tuple[str, ...]
    """Sentences that name the subject and state nothing."""
    menu: tuple[str, ...]
    sentence: str = "{opening} {happening} {thing} {place}."


LANGUAGES = ("en", "de", "fr", "es", "zh", "ja")
CHARSETS = {
    "en": ("utf-8", "utf-8", "iso-8859-1"),
    "de": ("utf-8", "iso-8859-1", "windows-1252"),
    "fr": ("utf-8", "iso-8859-1", "windows-1252"),
    "es": ("utf-8", "iso-8859-1", "utf-8"),
    "zh": ("utf-8", "gbk", "gb18030"),
    "ja": ("utf-8", "shift_jis", "euc_jp"),
}

TOPICS: dict[str, tuple[Topic, ...]] = {
    "en": (
        Topic(
            kind="date",
            subject="{n} Bridge",
            facts=("The {s} reopened to traffic on {v}.", "Since {v} traffic has been running over the {s} again."),
            question="When did the {s} reopen to traffic?",
        ),
        Topic(
            kind="count",
            subject="{n} Museum",
            facts=("The {s} counted {v} visitors last year.", "Last year {v} visitors came to the {s}."),
            question="How many visitors did the {s} have last year?",
        ),
        Topic(
            kind="dose",
            subject="{n}",
            facts=("The maximum daily dose of {s} for adults is {v} mg.", "Adults take {v} mg of {s} a day at most."),
            question="What is the maximum daily dose of {s} for adults?",
        ),
        Topic(
            kind="person",
            subject="{n} Works",
            facts=("{v} is the chief executive of {s}.", "The chief executive of {s} is {v}."),
            question="Who is the chief executive of {s}?",
            changes=True,
        ),
        Topic(
            kind="length",
            subject="{n} Railway",
            facts=("The {s} is {v} km long.", "The line of the {s} has a length of {v} km."),
            question="How long is the {s} in km?",
        ),
        Topic(
            kind="version",
            subject="{n}",
            facts=("The latest stable version of {s} is {v}.", "Version {v} is the latest stable release of {s}."),
            question="What is the latest stable version of {s}?",
            changes=True,
        ),
    ),
    "de": (
        Topic(
            kind="date",
            subject="{n}brücke",
            facts=(
                "Die {s} wurde am {v} wieder für den Verkehr geöffnet.",
                "Seit dem {v} rollt der Verkehr wieder über die {s}.",
            ),
            question="Wann wurde die {s} wieder für den Verkehr geöffnet?",
        ),
        Topic(
            kind="count",
            subject="Museum {n}",
            facts=("Das {s} zählte im vergangenen Jahr {v} Besucher.", "Im vergangenen Jahr kamen {v} Besucher in das {s}."),
            question="Wie viele Besucher hatte das {s} im vergangenen Jahr?",
        ),
        Topic(
            kind="dose",
            subject="{n}",
            facts=(
                "Die maximale Tagesdosis von {s} für Erwachsene beträgt {v} mg.",
                "Erwachsene nehmen am Tag höchstens {v} mg {s} ein.",
            ),
            question="Wie hoch ist die maximale Tagesdosis von {s} für Erwachsene?",
        ),
        Topic(
            kind="person",
            subject="{n}werke",
            facts=("{v} ist Vorstandsvorsitzende der {s}.", "Den Vorstand der {s} leitet {v} als Vorstandsvorsitzende."),
            question="Wer ist Vorstandsvorsitzende der {s}?",
            changes=True,
        ),
        Topic(
            kind="length",
            subject="{n}bahn",
            facts=("Die {s} ist {v} km lang.", "Die Strecke der {s} hat eine Länge von {v} km."),
            question="Wie lang ist die {s} in km?",
        ),
        Topic(
            kind="version",
            subject="{n}",
            facts=("Die neueste stabile Version von {s} ist {v}.", "Version {v} ist die neueste stabile Ausgabe von {s}."),
            question="Was ist die neueste stabile Version von {s}?",
            changes=True,
        ),
    ),
    "fr": (
        Topic(
            kind="date",
            subject="pont de {n}",
            facts=("Le {s} a rouvert à la circulation le {v}.", "Depuis le {v}, la circulation a repris sur le {s}."),
            question="Quand le {s} a-t-il rouvert à la circulation ?",
        ),
        Topic(
            kind="count",
            subject="musée de {n}",
            facts=("Le {s} a compté {v} visiteurs l’an dernier.", "L’an dernier, {v} visiteurs sont venus au {s}."),
            question="Combien de visiteurs le {s} a-t-il comptés l’an dernier ?",
        ),
        Topic(
            kind="dose",
            subject="{n}",
            facts=(
                "La dose quotidienne maximale de {s} pour un adulte est de {v} mg.",
                "Un adulte prend au plus {v} mg de {s} par jour.",
            ),
            question="Quelle est la dose quotidienne maximale de {s} pour un adulte ?",
        ),
        Topic(
            kind="person",
            subject="Ateliers {n}",
            facts=("{v} est directrice générale des {s}.", "La directrice générale des {s} est {v}."),
            question="Qui est directrice générale des {s} ?",
            changes=True,
        ),
        Topic(
            kind="length",
            subject="chemin de fer de {n}",
            facts=("Le {s} est long de {v} km.", "La ligne du {s} a une longueur de {v} km."),
            question="Quelle est la longueur du {s} en km ?",
        ),
        Topic(
            kind="version",
            subject="{n}",
            facts=("La dernière version stable de {s} est la {v}.", "La version {v} est la dernière version stable de {s}."),
            question="Quelle est la dernière version stable de {s} ?",
            changes=True,
        ),
    ),
    "es": (
        Topic(
            kind="date",
            subject="puente de {n}",
            facts=("El {s} reabrió al tráfico el {v}.", "Desde el {v} el tráfico circula otra vez por el {s}."),
            question="¿Cuándo reabrió al tráfico el {s}?",
        ),
        Topic(
            kind="count",
            subject="museo de {n}",
            facts=("El {s} contó {v} visitantes el año pasado.", "El año pasado {v} visitantes acudieron al {s}."),
            question="¿Cuántos visitantes tuvo el {s} el año pasado?",
        ),
        Topic(
            kind="dose",
            subject="{n}",
            facts=(
                "La dosis diaria máxima de {s} para adultos es de {v} mg.",
                "Los adultos toman como máximo {v} mg de {s} al día.",
            ),
            question="¿Cuál es la dosis diaria máxima de {s} para adultos?",
        ),
        Topic(
            kind="person",
            subject="Talleres {n}",
            facts=("{v} es la directora general de {s}.", "La directora general de {s} es {v}."),
            question="¿Quién es la directora general de {s}?",
            changes=True,
        ),
        Topic(
            kind="length",
            subject="ferrocarril de {n}",
            facts=("El {s} tiene {v} km de largo.", "La línea del {s} mide {v} km."),
            question="¿Cuántos km de largo tiene el {s}?",
        ),
        Topic(
            kind="version",
            subject="{n}",
            facts=("La última versión estable de {s} es la {v}.", "La versión {v} es la última versión estable de {s}."),
            question="¿Cuál es la última versión estable de {s}?",
            changes=True,
        ),
    ),
    "zh": (
        Topic(
            kind="date",
            subject="{n}大桥",
            facts=("{s}于{v}恢复通车。", "自{v}起，{s}恢复通车，车辆重新驶过桥面。"),
            question="{s}什么时候恢复通车？",
        ),
        Topic(
            kind="count",
            subject="{n}博物馆",
            facts=("{s}去年接待观众{v}人次。", "去年共有{v}人次的观众走进{s}。"),
            question="{s}去年接待了多少观众？",
        ),
        Topic(
            kind="dose",
            subject="{n}片",
            facts=("成人每日服用{s}的最大剂量为{v}毫克。", "{s}的成人每日最大剂量是{v}毫克。"),
            question="成人每日服用{s}的最大剂量是多少？",
        ),
        Topic(
            kind="person",
            subject="{n}集团",
            facts=("{s}的首席执行官是{v}。", "{v}担任{s}的首席执行官。"),
            question="{s}的首席执行官是谁？",
            changes=True,
        ),
        Topic(
            kind="length",
            subject="{n}铁路",
            facts=("{s}全长{v}公里。", "{s}的线路长度为{v}公里。"),
            question="{s}全长多少公里？",
        ),
        Topic(
            kind="version",
            subject="{n}系统",
            facts=("{s}的最新稳定版本是{v}。", "{v}是{s}的最新稳定版本。"),
            question="{s}的最新稳定版本是什么？",
            changes=True,
        ),
    ),
    "ja": (
        Topic(
            kind="date",
            subject="{n}橋",
            facts=("{s}は{v}に通行を再開した。", "{v}、{s}で通行が再開された。"),
            question="{s}はいつ通行を再開しましたか。",
        ),
        Topic(
            kind="count",
            subject="{n}博物館",
            facts=("{s}の昨年の入館者数は{v}人だった。", "昨年は{v}人が{s}を訪れ、入館者数として発表された。"),
            question="{s}の昨年の入館者数は何人ですか。",
        ),
        Topic(
            kind="dose",
            subject="{n}錠",
            facts=("{s}の成人の一日最大用量は{v}mgである。", "成人が一日に服用できる{s}の最大用量は{v}mgとされる。"),
            question="{s}の成人の一日最大用量はいくらですか。",
        ),
        Topic(
            kind="person",
            subject="{n}製作所",
            facts=("{s}の最高経営責任者は{v}である。", "{v}が{s}の最高経営責任者を務めている。"),
            question="{s}の最高経営責任者は誰ですか。",
            changes=True,
        ),
        Topic(
            kind="length",
            subject="{n}鉄道",
            facts=("{s}の全長は{v}kmである。", "{s}の路線は全長{v}kmに及ぶ。"),
            question="{s}の全長は何kmですか。",
        ),
        Topic(
            kind="version",
            subject="{n}システム",
            facts=("{s}の最新の安定版は{v}である。", "{v}が{s}の最新の安定版として公開された。"),
            question="{s}の最新の安定版は何ですか。",
            changes=True,
        ),
    ),
}

GRAMMARS = {
    "en": Grammar(
        openings=("In the morning the council", "A few residents", "The evening paper", "An older guide", "Nobody in the office",
                  "The committee", "A visiting engineer", "Two volunteers", "The archive", "A local teacher"),
        happenings=("described", "photographed", "had long promised", "quietly replaced", "compared", "argued about",
                    "finally repaired", "remembered", "listed", "could not find"),
        things=("the old signal box", "a wooden stair", "the plans for the park", "a box of letters", "the market roof",
                "several maps", "the winter timetable", "a row of lime trees", "the paint on the doors", "a public well"),
        places=("near the station", "behind the school", "at the edge of town", "for the second time", "during the fair",
                "without much noise", "along the canal", "after the storm", "beside the mill", "in the upper hall"),
        about=("People who follow {s} know how much is written about it.", "This page collects what readers ask about {s}.",
               "Much has been said about {s}, and not all of it agrees.", "For {s} there are several pages of background."),
        menu=("Home", "News", "Contact", "Imprint", "Subscribe"),
    ),
    "de": Grammar(
        openings=("Am Morgen hat der Rat", "Eine Nachbarin hat", "Die Abendzeitung hat", "Ein alter Führer hat",
                  "Niemand im Amt hat", "Der Ausschuss hat", "Eine Ingenieurin hat", "Der Verein hat", "Das Archiv hat",
                  "Ein Lehrer hat"),
        happenings=("bald darauf", "mit großer Mühe", "schon lange", "ganz leise", "mehrmals", "nach langem Streit", "endlich",
                    "aus der Erinnerung", "ohne Auftrag", "zum zweiten Mal"),
        things=("das alte Stellwerk", "eine hölzerne Treppe", "die Pläne für den Park", "eine Kiste Briefe",
                "das Dach der Markthalle", "einige Karten", "den Winterfahrplan", "eine Reihe Linden", "die Farbe der Türen",
                "einen Brunnen"),
        places=("am Bahnhof gezeigt", "hinter der Schule gefunden", "am Stadtrand erneuert", "auf dem Fest erklärt",
                "im Saal beschrieben", "ohne Aufsehen ersetzt", "am Kanal gezeichnet", "nach dem Sturm geprüft",
                "bei der Mühle vermessen", "im Keller geordnet"),
        about=("Wer sich für {s} interessiert, findet hier viel Hintergrund.", "Diese Seite sammelt Fragen zu {s}.",
               "Über {s} ist viel gesagt worden, und nicht alles stimmt überein.", "Zu {s} gibt es mehrere Seiten."),
        menu=("Startseite", "Nachrichten", "Kontakt", "Impressum", "Abonnieren"),
    ),
    "fr": Grammar(
        openings=("Le matin, le conseil a", "Une voisine a", "Le journal du soir a", "Un vieux guide a", "Personne n’a",
                  "Le comité a", "Une ingénieure a", "Deux bénévoles ont", "Le service des archives a", "Un instituteur a"),
        happenings=("décrit", "photographié", "longtemps promis", "remplacé", "comparé", "discuté", "enfin réparé", "rappelé",
                    "inscrit", "cherché"),
        things=("l’ancien poste", "un escalier de bois", "les plans du parc", "une boîte de lettres", "le toit du marché",
                "plusieurs cartes", "l’horaire d’hiver", "une rangée de tilleuls", "la peinture des portes", "un puits public"),
        places=("près de la gare", "derrière l’école", "au bord de la ville", "pour la deuxième fois", "pendant la foire",
                "sans grand bruit", "le long du canal", "après la tempête", "à côté du moulin", "dans la grande salle"),
        about=("Cette page rassemble les questions des lecteurs sur {s}.", "On a beaucoup écrit sur {s}, et tout ne concorde pas.",
               "Plusieurs pages donnent le contexte sur {s}.", "Ceux qui suivent {s} savent combien on en parle."),
        menu=("Accueil", "Actualités", "Contact", "Mentions légales", "S’abonner"),
    ),
    "es": Grammar(
        openings=("Por la mañana el consejo", "Una vecina", "El diario de la tarde", "Una guía antigua", "Nadie en la oficina",
                  "El comité", "Una ingeniera", "La asociación", "El archivo", "Un maestro"),
        happenings=("describió", "fotografió", "prometió", "sustituyó", "comparó", "discutió", "reparó por fin", "recordó",
                    "anotó", "buscó"),
        things=("la vieja caseta", "una escalera de madera", "los planos del parque", "una caja de cartas",
                "el techo del mercado", "varios mapas", "el horario de invierno", "una fila de tilos",
                "la pintura de las puertas", "un pozo público"),
        places=("cerca de la estación", "detrás de la escuela", "en las afueras", "por segunda vez", "durante la feria",
                "sin mucho ruido", "junto al canal", "después de la tormenta", "al lado del molino", "en la sala alta"),
        about=("Esta página reúne lo que los lectores preguntan sobre {s}.", "Se ha dicho mucho sobre {s}, y no todo coincide.",
               "Hay varias páginas con antecedentes sobre {s}.", "Quien sigue {s} sabe cuánto se escribe."),
        menu=("Inicio", "Noticias", "Contacto", "Aviso legal", "Suscribirse"),
    ),
    "zh": Grammar(
        openings=("上午委员会", "一位居民", "当地晚报", "旧版指南", "办公室里有人", "工作小组", "一名工程师", "两位志愿者",
                  "档案馆", "一位老师"),
        happenings=("介绍了", "拍下了", "早就答应更换", "悄悄搬走了", "比较了", "讨论过", "终于修好了", "回忆起", "登记了", "没有找到"),
        things=("旧信号楼", "一段木楼梯", "公园的规划图", "一箱书信", "市场的屋顶", "几张地图", "冬季时刻表", "一排椴树",
                "门上的油漆", "一口公用水井"),
        places=("，地点在车站附近", "，就在学校后面", "，当时正值集市", "，没有引起注意", "，沿着运河", "，在暴雨之后",
                "，靠近磨坊", "，在楼上大厅", "，这已经是第二次", "，位于城边"),
        about=("本页汇集了读者关于{s}的问题。", "关于{s}的说法很多，并不一致。", "有好几个页面介绍{s}的背景。",
               "关注{s}的人都知道相关报道很多。"),
        menu=("首页", "新闻", "联系我们", "版权", "订阅"),
        sentence="{opening}{happening}{thing}{place}。",
    ),
    "ja": Grammar(
        openings=("午前中に委員会は", "ある住民は", "地元の夕刊は", "古い案内書は", "事務所の誰かが", "作業班は", "来訪した技師は",
                  "二人の有志が", "資料館は", "地域の教師は"),
        happenings=("駅の近くで", "学校の裏で", "町外れで", "市の日に", "静かに", "運河沿いで", "嵐のあとに", "水車のそばで",
                    "上の広間で", "二度目に"),
        things=("古い信号所を", "木の階段を", "公園の図面を", "手紙の箱を", "市場の屋根を", "何枚かの地図を", "冬の時刻表を",
                "菩提樹の並木を", "扉の塗装を", "共同の井戸を"),
        places=("紹介した", "撮影した", "修理した", "思い出した", "登録した", "比べた", "探した", "取り替えた", "説明した", "運んだ"),
        about=("このページは{s}についての質問を集めている。", "{s}については多くのことが言われ、一致しないものもある。",
               "{s}の背景を述べたページがいくつかある。", "{s}に関する記事は多い。"),
        menu=("ホーム", "ニュース", "連絡先", "著作権", "購読"),
        sentence="{opening}{happening}{thing}{place}。",
    ),
}  # fmt: skip
