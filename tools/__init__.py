"""Programs of the maintainers, run as `python -m tools.NAME`; not part of the wheel.

| module | content |
|---|---|
| `make_ladders`, `make_openings`, `make_match_values`, `make_positions`, `make_book` | write data files |
| `make_fair_openings`, `make_puzzles`, `make_proofs` | write fair openings, puzzles and proof files |
| `make_exploitability` | measures best replies to bundled agents, for their page, the ladder and the cards |
| `make_text_baselines` | measures bots on the text tasks, and writes their leaderboard |
| `make_policy_cards`, `make_value_cards` | bundle networks, and write their cards |
| `make_default_configs` | writes the generated files of `configs/` |
| `make_reference` | writes the reference pages of settings and commands |
| `make_page_files` | writes the generated files of `mancala_env/web` |
| `make_icons` | draws the icons of the installed page |
| `build_wasm` | builds `mancala.wasm`, the engine of the browser page |
| `api_pages` | writes `docs/api` |
| `results` | writes tables of `docs/results` |
| `check_solved` | solves the values of the data files again |
| `markdown` | tables in Markdown |
| `interval_coverage` | measures the coverage of the 95 % intervals |
"""
