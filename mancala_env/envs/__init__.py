"""The games as environments: PettingZoo (aec), Gymnasium against an agent (single), many at once (vector)."""
