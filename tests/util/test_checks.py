"""Arguments that are True or False accept nothing else: the text "no" would count as true."""

import pytest
from error_checks import raises

from mancala_env import agents
from mancala_env.errors import InvalidArgument
from mancala_env.evaluation import evaluate
from mancala_env.games.position import Position
from mancala_env.games.records import write_games
from mancala_env.solver import Solver

OVER = Position("layli_goobalay", [0] * 12, stores=(24, 24))
CALLS = {
    "endless": lambda folder, value: Position("layli_goobalay", [4] * 12, endless=value),
    "ladder": lambda folder, value: evaluate("greedy", "leyla", games=2, ladder=value, regret=False),
    "regret": lambda folder, value: evaluate("greedy", "leyla", games=2, ladder=False, regret=value),
    "deterministic": lambda folder, value: agents.from_policy(object(), "leyla", deterministic=value),
    "use_book": lambda folder, value: Solver("leyla", use_book=value),
    "share_proofs": lambda folder, value: Solver("leyla", share_proofs=value),
    "with_line": lambda folder, value: Solver("layli_goobalay").solve(OVER, with_line=value),
    "with_values": lambda folder, value: Solver("layli_goobalay").solve(OVER, with_values=value),
    "append": lambda folder, value: write_games(folder / "games.txt", [], append=value),
}


@pytest.mark.parametrize("value", ["no", 0, None], ids=repr)
@pytest.mark.parametrize("name", CALLS)
def test_what_is_true_or_false_takes_nothing_else(name, value, tmp_path):
    with raises(InvalidArgument, name, repr(value)):
        CALLS[name](tmp_path, value)
    assert not list(tmp_path.iterdir())
