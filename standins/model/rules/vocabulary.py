"""Words that the stand-in knows, in English and French."""

from __future__ import annotations

import re


def _set(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


KIND_WORDS = {
    "image": (
        "poster posters picture pictures image images photo photos illustration illustrations drawing drawings logo"
        " logos sheet sheets cover covers banner banners portrait portraits postcard postcards flyer flyers wallpaper"
        " affiche affiches dessin dessins couverture bannière carte cartes ポスター 海报"
    ),
    "video": "video videos film films clip clips movie animation trailer vidéo vidéos bande-annonce 動画 视频",
    "audio": "sound sounds audio music song jingle soundtrack melody voice son sons musique chanson mélodie 音楽 音乐",
    "model3d": "3d glb mesh sculpture maquette",
    "document": (
        "document brief plan poem letter text report story script list article essay summary note notes outline"
        " synopsis poème lettre texte rapport histoire scénario liste résumé"
    ),
}
KIND_OF = {word: kind for kind, words in KIND_WORDS.items() for word in words.split()}

NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "twelve": 12, "fifteen": 15, "thirty": 30, "sixty": 60, "couple": 2, "pair": 2,
    "un": 1, "une": 1, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "sept": 7, "huit": 8, "neuf": 9, "dix": 10,
}  # fmt: skip

ORDINALS = {
    "first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "fifth": 5, "5th": 5,
    "sixth": 6, "last": -1, "premier": 1, "première": 1, "deuxième": 2, "seconde": 2, "troisième": 3, "quatrième": 4,
    "dernier": -1, "dernière": -1,
}  # fmt: skip

AFTER_ORDINAL = _set(
    "one ones into to and or please a an as with should could would is be looks et en pour un une devrait",
    "warmer cooler bluer darker lighter brighter bigger smaller longer shorter bolder plus moins",
)

VERBS = {
    "draw": "image", "paint": "image", "sketch": "image", "dessine": "image", "dessinez": "image",
    "animate": "video", "anime": "video", "film": "video", "filme": "video",
    "sing": "audio", "hum": "audio", "chante": "audio",
    "sculpt": "model3d", "sculpte": "model3d",
    "write": "document", "summarise": "document", "écris": "document", "écrivez": "document",
}  # fmt: skip

LETTERING = _set("text title lettering texte titre letter")
DEFINITE = _set("the its their his her this that le la les son leur ce cette")

COLOURS = _set(
    "red blue green navy cream black white yellow orange purple pink gold silver brown grey gray teal",
    "turquoise beige burgundy crimson violet indigo olive coral rouge bleu bleue vert verte noir noire blanc",
    "blanche jaune rose violet gris crème marine doré",
)

MAKING = _set(
    "make create design draw paint generate write compose produce build need want draft prepare plan render",
    "craft model animate turn convert transform film sing record organise organize give do start fais faites",
    "fait crée créez créer dessine dessinez écris écrivez prépare préparez génère produis voudrais veux",
)

CHANGING = _set(
    "warmer cooler colder bluer redder greener darker lighter brighter bigger smaller larger longer shorter",
    "bolder softer louder quieter simpler richer cleaner sharper change replace use swap instead add remove",
    "drop make redo again revise adjust tweak fix rename less more touch warm cool dark bright bold tone",
    "text plus moins chaud chaude froid sombre clair claire grand grande petit petite change changez",
    "remplace ajoute enlève",
)

POINTING = _set(
    "it that this them those these they its their each set series one ones same previous former earlier last",
    "again le la les l' ça cela celle celui ceux celles série ensemble lot",
)

PLURAL_POINTING = _set(
    "set series them those these they each all both ensemble série les toutes tous lot",
)

GREETINGS = _set(
    "hi hello hey thanks thank great nice perfect lovely cool wow bye good morning evening ok okay cheers",
    "super bonjour salut merci bravo parfait",
)

ASKING = _set(
    "which what when where who why how is are do does did can could would will may quel quelle quels quelles",
    "quand où qui pourquoi comment combien est-ce peux-tu pouvez-vous",
)

STOP = _set(
    "a an the of for in on at to and or with by from about into as be is are was were i you we me my our",
    "your it its this that these those them they could would can please make also too so very just some any",
    "few little bit touch now one un une des le la les du de d' l' en et ou avec pour par sur dans que qui",
    "moi nous vous s'il plaît",
)

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[ァ-ヶー]+")


def words(text: str) -> list[str]:
    """Return the words in lower case and in order; `five-second` stays one."""
    return [word.replace("’", "'") for word in _WORD.findall(text.lower())]


def content_words(text: str) -> set[str]:
    """Return the words that say what a text is about, without a plural `s`."""
    return {stem(word) for word in words(text) if word not in STOP and len(word) > 1}


def stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def kinds_named(text: str) -> list[str]:
    """Return the kinds of works a text names, in the order in which it names them."""
    said = words(text)
    return [kind for before, word in zip(["", *said], said, strict=False) for kind in [_kind(word, before)] if kind]


def kind_by_verb(text: str) -> str | None:
    """Return the kind that a verb implies: `draw a cat` means a picture."""
    return next((VERBS[word] for word in words(text) if word in VERBS), None)


def _kind(word: str, before: str) -> str | None:
    if word in LETTERING and before in DEFINITE:
        # "the text" of a poster is a part of it; "a text" is a work.
        return None
    if word in KIND_OF:
        return KIND_OF[word]
    for part in word.split("-"):
        if part in KIND_OF:
            return KIND_OF[part]
    # Japanese and Chinese put no space around their nouns.
    return next((kind for known, kind in KIND_OF.items() if known[0] > "\u3000" and known in word), None)


def ordinals(text: str) -> list[int]:
    """Return the positions named: [1, -1] for `the first and the last one`, none for `the first moon landing`."""
    said = words(text)
    found = []
    for before, word, after in zip(["", *said], said, [*said[1:], ""], strict=False):
        if before in KIND_OF and word.isdigit() and 0 < int(word) < 100:
            # "poster 2"
            found.append(int(word))
            continue
        if before.isdigit() or before in NUMBERS:
            # "five second", "a first": a length, or nothing that is there.
            continue
        if word in ORDINALS and (not after or after in AFTER_ORDINAL or after in KIND_OF):
            found.append(ORDINALS[word])
    return found
