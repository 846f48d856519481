"""Compute the values of match states by simulation: ``python -m tools.make_match_values layli_goobalay``."""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mancala_env import Batch, agents
from mancala_env._util.checks import whole
from mancala_env._util.command_line import Parser, in_one_line
from mancala_env._util.files import written_whole
from mancala_env._util.package_data import DATA, bundled_file
from mancala_env.agents import Agent
from mancala_env.agents.match import after_rounds, finished_rounds, options_in_bytes
from mancala_env.engine.episode import MAX_ROUNDS
from mancala_env.errors import InvalidRuleset, MancalaError
from mancala_env.evaluation.matches import MatchGames
from mancala_env.rulesets import Ruleset, lookup

SPEC, ROUNDS = "mcts:100", 500


def started_by_north(ruleset: Ruleset) -> np.ndarray:
    """Return a round that North starts, uint64 `[1, NUM_COLUMNS]`."""
    return Batch(ruleset, 1, first_player=1).games


def play_rounds(ruleset: Ruleset, agent: Agent, rounds: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Play rounds of an agent against itself from every match state in which South starts the next round.

    Symbols: T is the number of seeds, S the number of states.

    Args:
        ruleset: The ruleset.
        agent: The agent of both seats; it must choose randomly, or all rounds from a state are equal.
        rounds: Number of rounds from each state.

    Returns:
        int64 `[T + 1]`, the state after a round by South's count, -1 if the match is over. Then, as shares of
        the rounds from each state: float64 `[S, T + 1]`, rounds after which the match continues, by South's
        count with debts repaid; and float64 `[S]`, matches won by South minus matches won by North.
    """
    counted = finished_rounds(ruleset, started_by_north(ruleset))
    starts, is_over, _ = after_rounds(ruleset, counted)
    states = np.full(len(counted), -1)
    different, states[~is_over] = np.unique(starts[~is_over], axis=0, return_inverse=True)
    table = MatchGames(agent, agent, np.repeat(different, rounds, axis=0))
    while not table.is_over.all():
        table.play_turn()
    _, is_over, leads = after_rounds(ruleset, table.games)
    of_state = np.repeat(np.arange(len(different)), rounds)
    continues = np.zeros((len(different), len(counted)))
    np.add.at(continues, (of_state[~is_over], (ruleset.total_seeds + leads[~is_over]) // 2), 1 / rounds)
    is_won = np.zeros(len(different))
    np.add.at(is_won, of_state[is_over], np.sign(leads[is_over]) / rounds)
    return states, continues, is_won


def solve(states: np.ndarray, continues: np.ndarray, is_won: np.ndarray) -> np.ndarray:
    """Return the match values by South's count, float32 `[T + 1]`, -1 to 1, with MAX_ROUNDS left to play.

    Args:
        states: First result of :func:`play_rounds`.
        continues: Second result of :func:`play_rounds`.
        is_won: Third result of :func:`play_rounds`.
    """
    lead = np.sign(2 * np.arange(len(states)) - (len(states) - 1)).astype(float)
    values = lead
    for _ in range(MAX_ROUNDS):
        # North starts the next round, so its value is that for South with the seats exchanged, negated.
        after_round = is_won - continues @ values[::-1]
        values = np.where(states < 0, lead, after_round[states])
    return values.astype(np.float32)


@in_one_line("make_match_values", "the file of the current ruleset is unchanged")
def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files of the given rulesets and return the exit status."""
    parser = Parser(prog="python -m tools.make_match_values", description=__doc__)
    parser.add_argument("rulesets", nargs="+", help="names of rulesets")
    parser.add_argument("--agent", default=SPEC, help=f"spec of the agent of both seats ({SPEC})")
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help=f"number of rounds from each state ({ROUNDS})"
    )
    parser.add_argument("--seed", type=int, default=1, help="random seed")
    parser.add_argument("--folder", type=Path, default=DATA, help="folder to write to")
    options = parser.parse_args(arguments)
    rounds = whole("rounds", options.rounds, 1)
    if not options.folder.is_dir():
        raise MancalaError(f"--folder must be an existing folder, not {options.folder}")
    rulesets = [lookup(name) for name in options.rulesets]
    for ruleset in rulesets:
        if ruleset.match == "single":
            raise InvalidRuleset(f"{ruleset.name} must have several rounds, not match='single'")
    for ruleset in rulesets:
        agent = agents.make(options.agent, ruleset, seed=options.seed)
        values = solve(*play_rounds(ruleset, agent, rounds))
        path = options.folder / bundled_file("match", ruleset.name).name
        with written_whole(path) as file:
            np.savez_compressed(file, values=values, dials=options_in_bytes(ruleset))
        print(f"{ruleset.name}: {len(np.unique(values))} different values", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
