"""Sentences about skills, in English and French; other languages are answered in English."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_EN = {
    "active": "{skill} (version {version}) is live",
    "waiting": "{skill} (version {version}) waits for your permission",
    "dry_run": "{skill} (version {version}) is being tried on past runs",
    "shadow": "{skill} (version {version}) is being tried beside the version that serves",
    "canary": "{skill} (version {version}) is being tried on the next runs",
    "granted": "{skill} (version {version}) has your permission and goes live",
    "denied": "{skill} (version {version}) stays off, since you refused what it asks for",
    "turned_down": "{skill} (version {version}) does not serve after all: see its page; what served before goes on",
    "other": "{skill} is written",
    "cards": "Please look at the open cards: they say what is asked for.",
    "address": "I do not know where your metrics are, so they ask {host}. Tell me the address if that is wrong.",
    "unchanged": "Nothing had to change.",
    "proposed": "The card shows how I would change {skill}. Its file stays as it is until you accept.",
    "left": "{skill} stays as it is, since you refused the change.",
    "only": "I wrote these skills by a pattern: I can move them to another metrics address, or make them more or less"
    " sensitive.",
    "no_pattern": "I cannot read the skills that I would take as a pattern.",
    "no_skill": "I could not read a skill called {skill}: say its name as the list of skills has it.",
    "no_fault": "I read {skill} and see no fault that my rules could repair: {error}",
    "not_written": "I could not write {skill}: {why}",
}
_FR = {
    "active": "{skill} (version {version}) est en service",
    "waiting": "{skill} (version {version}) attend votre autorisation",
    "dry_run": "{skill} (version {version}) est essayée sur des exécutions passées",
    "shadow": "{skill} (version {version}) est essayée à côté de la version en service",
    "canary": "{skill} (version {version}) est essayée sur les prochaines exécutions",
    "granted": "{skill} (version {version}) a votre autorisation et entre en service",
    "denied": "{skill} (version {version}) reste hors service, puisque vous avez refusé ce qu'elle demande",
    "turned_down": "{skill} (version {version}) n'entre finalement pas en service : voyez sa page ; ce qui servait"
    " avant continue",
    "other": "{skill} est écrite",
    "cards": "Regardez les cartes ouvertes : elles disent ce qui est demandé.",
    "address": "Je ne sais pas où sont vos métriques ; je demande donc {host}. Dites-moi l'adresse si c'est une autre.",
    "unchanged": "Il n'y avait rien à changer.",
    "proposed": "La carte montre comment je changerais {skill}. Son fichier reste tel quel jusqu'à votre accord.",
    "left": "{skill} reste telle quelle, puisque vous avez refusé le changement.",
    "only": "J'ai écrit ces fonctions d'après un modèle : je peux les tourner vers une autre adresse de métriques, ou"
    " les rendre plus ou moins sensibles.",
    "no_pattern": "Je ne peux pas lire les fonctions que je prendrais pour modèle.",
    "no_skill": "Je n'ai pas pu lire de compétence nommée {skill} : dites son nom tel que la liste le donne.",
    "no_fault": "J'ai lu {skill} et n'y vois aucune faute que mes règles sachent réparer : {error}",
    "not_written": "Je n'ai pas pu écrire {skill} : {why}",
}


def skill_phrase(language: str, name: str, **values: object) -> str:
    return (_FR if language[:2].lower() == "fr" else _EN)[name].format(**values)


def report_skills(language: str, saved: Sequence[Mapping[str, Any]]) -> str:
    """Say how far each written skill came, and what the person has to do."""
    lines = []
    for one in saved:
        status = str(one.get("status"))
        known = status if status in _EN and status != "other" else "other"
        lines.append(skill_phrase(language, known, skill=one.get("skill_id"), version=one.get("version")) + ".")
    if any(one.get("status") == "waiting" for one in saved):
        lines.append(skill_phrase(language, "cards"))
    return " ".join(lines)
