"""The same self-play on a Ray cluster, with RLlib."""
