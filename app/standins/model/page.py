"""The page a person sees who opens the stand-in's address."""

PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Model: offline stand-in</title>
<style>body { font: 16px/1.5 system-ui, sans-serif; max-width: 42rem; margin: 3rem auto; padding: 0 1rem }</style>
<h1>Model <small>(offline stand-in)</small></h1>
<p>No language model answers here. This server follows rules, so that the product can be tried and tested without a
network. It understands simple wishes in English and French, and it sees only what it is sent.</p>
<p>It speaks Chat Completions at <code>/v1/chat/completions</code>; <code>GET /log</code> shows every request with its
answer. To use a real model, set <code>OPENAI_API_KEY</code>, <code>LOOPWRIGHT_MODEL</code> and, for other providers,
<code>OPENAI_BASE_URL</code>.</p>
</html>
"""
