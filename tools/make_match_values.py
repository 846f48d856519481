"""Make the values of match states: ``python -m tools.make_match_values layli_goobalay``."""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mancala_env import agents
from mancala_env._util.checks import whole
from mancala_env._util.command_line import Parser, in_one_line
from mancala_env._util.files import written_whole
from mancala_env._util.package_data import bundled_file
from mancala_env.agents import Agent
from mancala_env.agents.match_values import after_rounds, dials_in_bytes, finished_rounds
from mancala_env.engine.episode import MAX_ROUNDS
from mancala_env.errors import InvalidRuleset, MancalaError
from mancala_env.evaluation.matches import MatchGames
from mancala_env.rulesets import Ruleset, lookup

SPEC, ROUNDS = "mcts:100", 500


def play_rounds(ruleset: Ruleset, agent: Agent, rounds: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Let an agent play rounds with itself from every state of a match whose next round South starts.

    Args:
        ruleset: The game.
        agent: Who plays both seats.
        rounds: Rounds from each state; their turns have to be drawn, or they are all the same.

    Returns:
        states int64 `[T + 1]`, the state that each count of South's leads to, -1 where the match is over; and
        what follows each state, as shares of its rounds: float64 `[S, T + 1]`, the match goes on with this
        count of South's, debts repaid; and float64 `[S]`, South has won it, less North has.
    """
    counted = finished_rounds(ruleset)
    starts, is_over, _ = after_rounds(ruleset, counted)
    states = np.full(len(counted), -1)
    different, states[~is_over] = np.unique(starts[~is_over], axis=0, return_inverse=True)
    table = MatchGames(agent, agent, np.repeat(different, rounds, axis=0))
    while table.play_turn():
        pass
    _, is_over, leads = after_rounds(ruleset, table.games)
    of_state = np.repeat(np.arange(len(different)), rounds)
    goes_on = np.zeros((len(different), len(counted)))
    np.add.at(goes_on, (of_state[~is_over], (ruleset.total_seeds + leads[~is_over]) // 2), 1 / rounds)
    is_won = np.zeros(len(different))
    np.add.at(is_won, of_state[is_over], np.sign(leads[is_over]) / rounds)
    return states, goes_on, is_won


def solve(states: np.ndarray, goes_on: np.ndarray, is_won: np.ndarray) -> np.ndarray:
    """Return the value of each state, float32 `[T + 1]`, with MAX_ROUNDS to go, from what follows it.

    Args:
        states: As :func:`play_rounds` returns it.
        goes_on: Likewise.
        is_won: Likewise.
    """
    lead = np.sign(2 * np.arange(len(states)) - (len(states) - 1)).astype(float)
    values = lead
    for _ in range(MAX_ROUNDS):
        # North starts the next round, so it is worth what it would be to South with the seats exchanged.
        after_round = is_won - goes_on @ values[::-1]
        values = np.where(states < 0, lead, after_round[states])
    return values.astype(np.float32)


@in_one_line("make_match_values", "the file of the ruleset that was played is as it was")
def main(arguments: Sequence[str] | None = None) -> int:
    """Make the files of the rulesets named on the command line; returns the exit status."""
    parser = Parser(prog="python -m tools.make_match_values", description=__doc__)
    parser.add_argument("rulesets", nargs="+")
    parser.add_argument("--agent", default=SPEC, help=f"who plays both seats; {SPEC}")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds from each state; {ROUNDS}")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=bundled_file("match", "").parent)
    options = parser.parse_args(arguments)
    rounds = whole("rounds", options.rounds, 1)
    if not options.folder.is_dir():
        raise MancalaError(f"there is no folder {options.folder} to write to")
    rulesets = [lookup(name) for name in options.rulesets]
    for ruleset in rulesets:
        if ruleset.match == "single":
            raise InvalidRuleset(f"{ruleset.name} has no match, so no states of one (match='single')")
    for ruleset in rulesets:
        agent = agents.make(options.agent, ruleset, seed=options.seed)
        values = solve(*play_rounds(ruleset, agent, rounds))
        path = options.folder / bundled_file("match", ruleset.name).name
        with written_whole(path) as file:
            np.savez_compressed(file, values=values, dials=dials_in_bytes(ruleset))
        print(f"{ruleset.name}: {len(np.unique(values))} different values", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
