"""Texts that the stand-in writes: short, honest about being made by rule, and about the right subject."""

from __future__ import annotations

import re

from standins.model.rules.wish import WorkWish


def compose_text(wish: WorkWish, title: str, language: str) -> str:
    """Markdown for a document that was wished for."""
    french = language.startswith("fr")
    if re.search(r"\b(poem|poème)\b", wish.text, re.IGNORECASE):
        return _poem(wish.subject, title, french)
    if re.search(r"\b(plan|list|liste|outline)\b", wish.text, re.IGNORECASE):
        return _plan(wish.subject, title, french)
    return _prose(wish, title, french)


def revise_text(content: str, wish_text: str, language: str) -> str:
    """The text after a change by rule: shorter loses its second half, everything else is noted at the end."""
    if re.search(r"\b(shorter|shorten|court|courte|raccourci)", wish_text, re.IGNORECASE):
        lines = content.splitlines()
        return "\n".join(lines[: max(1, (len(lines) + 1) // 2)])
    note = "Modification" if language.startswith("fr") else "Revision"
    return f"{content.rstrip()}\n\n*{note}: {wish_text.strip()}*\n"


def _poem(subject: str, title: str, french: bool) -> str:
    lines = (
        (
            f"{subject}, au matin clair,",
            "une lampe encore allumée,",
            "le vent qui tourne dans l'air",
            "et la page commencée.",
        )
        if french
        else (
            f"{subject}, in early light,",
            "a lamp still burning low,",
            "the wind that turns from left to right",
            "and knows the way to go.",
        )
    )
    return f"# {title}\n\n" + "  \n".join(lines) + "\n"


def _plan(subject: str, title: str, french: bool) -> str:
    steps = (
        (
            "Fixer le but et le public",
            "Réunir le matériel",
            "Faire une première version",
            "Relire et corriger",
            "Livrer",
        )
        if french
        else (
            "Settle goal and audience",
            "Gather the material",
            "Make a first version",
            "Review and correct",
            "Deliver",
        )
    )
    return f"# {title}\n\n" + "\n".join(f"{n}. {step} ({subject})" for n, step in enumerate(steps, start=1)) + "\n"


def _prose(wish: WorkWish, title: str, french: bool) -> str:
    colours = ", ".join(wish.colours)
    if french:
        tone = f"Couleurs : {colours}.\n" if colours else ""
        aim = f"Sujet : {wish.subject}.\n\nBut : {wish.text.strip()}"
        return f"# {title}\n\n{aim}\n\n{tone}Étapes : esquisse, version, relecture.\n"
    tone = f"Colours: {colours}.\n" if colours else ""
    return (
        f"# {title}\n\nSubject: {wish.subject}.\n\nAim: {wish.text.strip()}\n\n{tone}Steps: sketch, version, review.\n"
    )
