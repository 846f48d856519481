"""Games as objects: one position, batches of games, notation, records and pictures."""
