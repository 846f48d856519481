"""The browser page for playing and studying, and its server.

The page is static: HTML, CSS, JavaScript, `mancala.wasm` with the engine, texts and networks. It also works
without the server. The server adds checkpoints, agents in Python and a large solver.

| module | content |
|---|---|
| `server` | `new_app`: serves the page, and answers requests over a WebSocket |
| `static_files` | `PageFiles`: the files of the page, compressed |
| `address` | `page_address`: the address of a position on the page |
| `requests` | parsing and checking of requests, and their limits |
| `analysis` | `AnalysisService`: agents and solvers shared by all pages |
"""
