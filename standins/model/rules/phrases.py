"""The stand-in's sentences, in English and French; other languages are answered in English."""

from __future__ import annotations

_EN = {
    "under_way": "{works} on the way. I will report when everything is there.",
    "under_way_light": "{works} on the way.",
    "waiting_for_you": "Something waits for your decision: please answer the open card, and I go on.",
    "done": "Done: {works}.",
    "failed": "{title} could not be made ({error}). The rest is kept; tell me whether to try again or to leave it out.",
    "refused_quote": "All right, nothing was ordered. Tell me what to change, or that we stop here.",
    "noted": "Noted: I will apply it as soon as what is being made is there.",
    "nothing_to_change": "I see no work here yet that I could change. Tell me what to make.",
    "what_to_change": "Tell me what to change, and I will.",
    "cannot": "I have no tool for that here ({tool}), so I cannot do it.",
    "brought_error": "{tool} did not work: {error}",
    "thanks": "You are welcome.",
    "hello": "Hello! Tell me what to make: posters, films, sounds, 3D models or a text.",
    "lengths": "Videos can be {lengths} seconds long.",
    "sizes": "Pictures can be {sizes}.",
    "prices": "{prices}.",
    "models": "I can use {models}.",
    "no_tasks": "Nothing is being worked on right now.",
    "tasks": "These are your tasks: {tasks}.",
    "remembered": "I remember: {facts}.",
    "will_remember": "Noted. What will still hold later shows on the memory page in a moment.",
    "not_remembered": "I remember nothing of that.",
    "asked_to_forget": "Please confirm it on the card: it shows what will be lost.",
    "dont_know": "I am a small offline stand-in that follows rules, and I do not know that. I can make posters, films,"
    " sounds, 3D models and texts, and change what is there.",
    "decline": "I cannot help with that.",
    "which": "Which one do you mean?",
    "step_brief": "Write down what is wanted",
    "step_check": "Check the result against the wish",
    "accept_brief": "the brief names subject, number and style",
    "accept_work": "the work is stored and shows what the brief says",
    "accept_check": "every work is there and fits the brief",
    "brief": "Wish: {goal}\nMake: {works}\nColours: {colours}",
    "free": "as it fits",
}
_FR = {
    "under_way": "{works} en cours. Je vous préviens dès que tout est prêt.",
    "under_way_light": "{works} en cours.",
    "waiting_for_you": "Une décision vous attend : répondez à la carte ouverte et je continue.",
    "done": "C'est fait : {works}.",
    "failed": "{title} n'a pas pu être réalisé ({error}). Le reste est gardé ; dites-moi s'il faut réessayer.",
    "refused_quote": "D'accord, rien n'a été commandé. Dites-moi ce qu'il faut changer, ou que nous en restons là.",
    "noted": "C'est noté : je l'applique dès que le travail en cours est prêt.",
    "nothing_to_change": "Je ne vois encore rien à modifier ici. Dites-moi ce qu'il faut réaliser.",
    "what_to_change": "Dites-moi ce qu'il faut changer, et je le ferai.",
    "cannot": "Je n'ai pas d'outil pour cela ici ({tool}) ; je ne peux donc pas le faire.",
    "brought_error": "{tool} n'a pas fonctionné : {error}",
    "thanks": "Avec plaisir.",
    "hello": "Bonjour ! Dites-moi ce qu'il faut réaliser : affiches, films, sons, modèles 3D ou un texte.",
    "lengths": "Les vidéos peuvent durer {lengths} secondes.",
    "sizes": "Les images peuvent mesurer {sizes}.",
    "prices": "{prices}.",
    "models": "Je peux utiliser {models}.",
    "no_tasks": "Aucun travail n'est en cours.",
    "tasks": "Voici vos tâches : {tasks}.",
    "remembered": "Je me souviens : {facts}.",
    "will_remember": "C'est noté. Ce qui vaut pour la suite paraît bientôt sur la page de la mémoire.",
    "not_remembered": "Je ne me souviens de rien de tel.",
    "asked_to_forget": "Confirmez-le sur la carte : elle montre ce qui sera perdu.",
    "dont_know": "Je suis un petit remplaçant hors ligne qui suit des règles, et je ne le sais pas. Je peux réaliser"
    " des affiches, films, sons, modèles 3D et textes, et modifier ce qui existe.",
    "decline": "Je ne peux pas aider à cela.",
    "which": "Lequel voulez-vous dire ?",
    "step_brief": "Noter ce qui est demandé",
    "step_check": "Comparer le résultat à la demande",
    "accept_brief": "le brief nomme le sujet, le nombre et le style",
    "accept_work": "l'œuvre est enregistrée et montre ce que dit le brief",
    "accept_check": "toutes les œuvres sont là et correspondent au brief",
    "brief": "Demande : {goal}\nÀ réaliser : {works}\nCouleurs : {colours}",
    "free": "au choix",
}
_TABLES = {"en": _EN, "fr": _FR}
_NOUNS = {
    "en": {"image": "Picture", "video": "Film", "audio": "Sound", "model3d": "Model", "document": "Text"},
    "fr": {"image": "Image", "video": "Film", "audio": "Son", "model3d": "Modèle", "document": "Texte"},
}
_NOUN_FOR_WORD = {"poster": "Poster", "posters": "Poster", "affiche": "Affiche", "affiches": "Affiche",
                  "logo": "Logo", "logos": "Logo", "sheet": "Sheet", "sheets": "Sheet"}  # fmt: skip


def phrase(language: str, name: str, **values: object) -> str:
    return _TABLES.get(language[:2].lower(), _EN)[name].format(**values)


def noun(language: str, kind: str, said: list[str]) -> str:
    """Return the noun for one work of this kind: the person's own where it is known."""
    own = next((_NOUN_FOR_WORD[word] for word in said if word in _NOUN_FOR_WORD), None)
    return own if own and kind == "image" else _NOUNS.get(language[:2].lower(), _NOUNS["en"])[kind]
