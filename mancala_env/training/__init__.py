"""Training of agents by self-play; `mancala train --help` lists all settings."""
