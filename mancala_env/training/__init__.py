"""Training of self-play agents; `mancala train --help`."""
