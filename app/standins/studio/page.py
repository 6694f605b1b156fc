"""The page a person sees who opens the studio's address."""

from html import escape

from app.standins.studio.catalog import OFFERS
from app.standins.studio.job import CURRENCY

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Generation studio: offline stand-in</title>
<style>body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 42rem; margin: 3rem auto; padding: 0 1rem }}
td, th {{ text-align: left; padding: .2rem 1rem .2rem 0 }}</style>
<h1>Generation studio <small>(offline stand-in)</small></h1>
<p>This server draws, films, composes and shapes by rule. No model made its pictures, nothing leaves this machine, and
its prices are play money. It speaks the generation jobs protocol; <code>GET /models</code> says what it can make.</p>
<table><tr><th>model</th><th>makes</th><th>price</th></tr>{rows}</table></html>
"""


def studio_page() -> str:
    """HTML that says what this server is."""
    rows = "".join(
        f"<tr><td><code>{escape(offer.id)}</code></td><td>{escape(offer.kind)}</td>"
        f"<td>{offer.price} {CURRENCY} per {offer.per}</td></tr>"
        for offer in OFFERS
    )
    return _PAGE.format(rows=rows)
