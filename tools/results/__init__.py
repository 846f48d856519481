"""The pages of docs/results, from data files: ``python -m tools.results``.

``python -m tools.results --measure`` first measures the regret of the bundled agents.

| module | content |
|---|---|
| `regrets` | measures the regret of the bundled agents; its data file |
| `measured` | figures of `make bench`, the cards of the networks and the benchmark |
| `networks` | the page of the bundled networks and of searches |
| `pages` | the other pages |
| `figures` | the figures that README and the start page quote |
"""
