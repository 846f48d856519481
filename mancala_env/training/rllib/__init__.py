"""Training by self-play on a Ray cluster, with RLlib."""
