"""The router's own words to a person, in the languages it has them in; others read English."""

from __future__ import annotations

from typing import Literal

Name = Literal["which", "new", "stopped", "archived", "unknown", "deleted"]

_SENTENCES: dict[str, dict[Name, str]] = {
    "en": {
        "which": "Where does this belong?",
        "new": "Start something new",
        "stopped": "“{goal}” was stopped, so I did nothing. Send it without a task to start something new.",
        "archived": "“{goal}” is archived, so I did nothing. Send it without a task to start something new.",
        "unknown": "The task this was meant for does not exist, so I did nothing.",
        "deleted": "The work this was about has been deleted, so I did nothing. Tell me which one to use instead.",
    },
    "fr": {
        "which": "À quel travail cela se rapporte-t-il ?",
        "new": "Commencer quelque chose de nouveau",
        "stopped": "« {goal} » a été arrêté : je n'ai rien fait. Envoyez le message hors de la tâche pour recommencer.",
        "archived": "« {goal} » est archivé : je n'ai rien fait. Envoyez le message hors de la tâche pour recommencer.",
        "unknown": "La tâche visée n'existe pas : je n'ai rien fait.",
        "deleted": "L'œuvre dont il s'agit a été supprimée : je n'ai rien fait. Dites-moi laquelle utiliser.",
    },
    "de": {
        "which": "Wozu gehört das?",
        "new": "Etwas Neues beginnen",
        "stopped": "„{goal}“ wurde angehalten, also habe ich nichts getan. Ohne Aufgabe gesendet beginnt Neues.",
        "archived": "„{goal}“ ist archiviert, also habe ich nichts getan. Ohne Aufgabe gesendet beginnt Neues.",
        "unknown": "Die gemeinte Aufgabe gibt es nicht, deshalb habe ich nichts getan.",
        "deleted": "Das gemeinte Werk ist gelöscht, deshalb habe ich nichts getan. Welches soll es stattdessen sein?",
    },
    "es": {
        "which": "¿A qué trabajo se refiere?",
        "new": "Empezar algo nuevo",
        "stopped": "«{goal}» se detuvo, así que no hice nada. Envíalo fuera de la tarea para empezar algo nuevo.",
        "archived": "«{goal}» está archivado, así que no hice nada. Envíalo fuera de la tarea para empezar algo nuevo.",
        "unknown": "La tarea indicada no existe, así que no hice nada.",
        "deleted": "La obra indicada se ha borrado, así que no hice nada. Dime cuál usar en su lugar.",
    },
}


def sentence(language: str, name: Name, goal: str = "") -> str:
    table = _SENTENCES.get(language[:2].lower(), _SENTENCES["en"])
    return table[name].format(goal=short(goal))


def short(goal: str, most: int = 80) -> str:
    """A goal as a label: one line, cut at a word."""
    line = " ".join(goal.split())
    return line if len(line) <= most else line[:most].rsplit(" ", 1)[0] + "…"
