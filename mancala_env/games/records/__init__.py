"""Game records: games as text files, like PGN for chess. docs/guides/records.md has the grammar.

>>> from mancala_env import records
>>> record = records.GameRecord("leyla", [(0, 3), (1, 0)], south="greedy", north="random")
>>> lines = record.to_text().splitlines()
>>> lines[0], lines[2], lines[-1]
('[Ruleset "leyla"]', '[South "greedy"]', '1. S4 N1')
>>> records.GameRecord.from_text(record.to_text()) == record
True

The reader plays every game with the engine. An :class:`InvalidRecord` names the first turn or header that
does not fit the rules. The setup between rounds is deterministic, so the turns describe a whole match.

| module | content |
|---|---|
| `replay` | `RecordedTurn`, `Replay` (plays turns, sets up rounds), `Step`, `Outcome`, `InvalidRecord` |
| `model` | `GameRecord`: ruleset, turns and headers of a game, checked |
| `writer` | games as text and into files: `games_text`, `write_games`, `check_appendable` |
| `reader` | games from text and from files: `parse_games`, `read_games` |
"""

from mancala_env.games.records.model import MAX_HEADERS, MAX_TEXT, GameRecord, recordable
from mancala_env.games.records.reader import MAX_COMMENTS, MAX_LINE, parse_games, read_games
from mancala_env.games.records.replay import (
    MAX_TURNS,
    InvalidRecord,
    Outcome,
    RecordedTurn,
    Replay,
    Step,
    values_comment,
)
from mancala_env.games.records.writer import check_appendable, games_text, options_of, write_games

__all__ = [
    "MAX_COMMENTS",
    "MAX_HEADERS",
    "MAX_LINE",
    "MAX_TEXT",
    "MAX_TURNS",
    "GameRecord",
    "InvalidRecord",
    "Outcome",
    "RecordedTurn",
    "Replay",
    "Step",
    "check_appendable",
    "games_text",
    "options_of",
    "parse_games",
    "read_games",
    "recordable",
    "values_comment",
    "write_games",
]
