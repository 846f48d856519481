"""The API reference `docs/api`, generated from the docstrings: ``python -m tools.api_pages``.

The program reads the sources and imports none of them, so it takes a second and needs no extra.

| module | content |
|---|---|
| `chapters` | the pages, and the public names on each |
| `sources` | definitions found by name: signatures, members, docstrings |
| `docstrings` | Google-style docstrings as Markdown |
| `pages` | the pages |
"""
