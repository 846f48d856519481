"""Game records: games as text files."""

from mancala_env.games.records.model import *  # noqa: F403
