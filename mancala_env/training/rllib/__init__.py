"""Training by self-play on a Ray cluster, with RLlib.

| module | content |
|---|---|
| `algorithm` | RLlib's PPO on the PettingZoo environments |
| `cluster_config` | the configuration of a run on Ray |
"""
