"""The language of the person's own words."""

from __future__ import annotations

import pytest

from router.language import detect_language, language_of


@pytest.mark.case("B38")
@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Make me a set of three retro posters for the Harbour Festival, navy and cream.", "en"),
        ("Series of three posters for a night market in 横浜", "en"),
        ("Could the set be a touch warmer?", "en"),
        ("Fais-moi trois affiches rétro pour la fête du port", "fr"),
        ("Plus chaud, s'il te plaît", "fr"),
        ("et pour la vidéo ?", "fr"),
        ("Merci !", "fr"),
        ("Mach mir drei Plakate für das Hafenfest", "de"),
        ("Hazlo más cálido", "es"),
        ("Fammi tre poster per il festival del porto", "it"),
        ("夜市のポスターを三枚作ってください", "ja"),
        ("给我做三张海报", "zh"),
        ("اصنع لي ثلاثة ملصقات", "ar"),
        ("תעשה לי שלושה פוסטרים", "he"),
        ("포스터 세 장 만들어 줘", "ko"),
        ("thanks!", "en"),
    ],
)
def test_plain_words(text: str, language: str) -> None:
    assert detect_language(text) == language


@pytest.mark.case("B38")
@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Add the line «Fête de la musique au vieux port» below the picture", "en"),
        ('Mets le titre "The Night Market Is Open Until Late" en haut de la première affiche', "fr"),
        ("Look at https://exemple.fr/une-affiche-pour-la-fete and make it the same", "en"),
    ],
)
def test_quoted_lines_and_addresses_are_not_the_persons_words(text: str, language: str) -> None:
    assert detect_language(text) == language


def test_a_quote_alone_is_all_there_is() -> None:
    assert detect_language("«Fais-moi trois affiches pour la fête du port»") == "fr"


@pytest.mark.parametrize("text", ["", "😀", "42", "...", "warmer", "Porto", "https://example.org/"])
def test_too_few_words_tell_nothing(text: str) -> None:
    assert detect_language(text) is None
    assert language_of(text, "fr") == "fr"
    assert language_of(text, "") == "en"


def test_a_very_long_text_is_not_read_whole() -> None:
    assert detect_language("Please make three posters for the night market. " * 10_000) == "en"
