"""Search algorithms and their limits."""
