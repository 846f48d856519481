"""Results of the native engine, which ``replay.mjs`` compares with those of ``mancala.wasm``."""

import base64
import gzip
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from mancala_env import InvalidRuleset, Position, Ruleset, rulesets, solver
from mancala_env.agents.scripted import GreedyAgent
from mancala_env.agents.searchers import MctsAgent, MinimaxAgent
from mancala_env.engine import single_game
from mancala_env.engine.episode import MATCH, EpisodeSettings, play_random
from mancala_env.engine.state import encode
from mancala_env.networks.value import NUM_CODES, NUM_UNITS, UNIT, ValueWeights
from mancala_env.networks.value_files import ValueFile
from mancala_env.rulesets import CHOICES
from mancala_env.search.limit import Limit

DATA = Path(__file__).resolve().parent.parent / "data"
_CHOICES = {
    "row_width": range(2, 13),
    "seeds_per_hole": range(1, 8),
    **CHOICES,
}


def make(seed: int = 1, dials: int = 30, turns: int = 120, positions: int = 2) -> dict[str, Any]:
    """Return recorded games, and results of the engine, the searches and the solver on random positions.

    Args:
        seed: Random seed.
        dials: Number of custom rulesets with random rule options.
        turns: Number of turns in the matches of each ruleset.
        positions: Number of positions to search for each ruleset.
    """
    rng = np.random.default_rng(seed)
    catalogue = [rulesets.lookup(name) for name in rulesets.names()]
    played = [*catalogue, *(_random_ruleset(rng) for _ in range(dials))]
    matches = [_match(ruleset, rng, turns) for ruleset in played]
    return {
        "refused": [_refused_dials(rng) for _ in range(3 * dials)],
        "recorded": [_records(path) for path in sorted(DATA.glob("ludii_*.jsonl.gz"))],
        "matches": matches,
        "searches": [_searches(ruleset, rng, positions) for ruleset in played],
        "solved": [_solved(name, rng, positions) for name in solver.rulesets_with_positions()],
    }


def _records(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt") as lines:
        return [json.loads(line) for line in lines]


def _random_ruleset(rng: np.random.Generator) -> Ruleset:
    while True:
        dials: dict[str, Any] = {name: values[rng.integers(len(values))] for name, values in _CHOICES.items()}
        try:
            return Ruleset(**dials)
        except InvalidRuleset:
            pass


def _refused_dials(rng: np.random.Generator) -> dict[str, Any]:
    """Return an invalid combination of rule options."""
    while True:
        dials: dict[str, Any] = {name: values[rng.integers(len(values))] for name, values in _CHOICES.items()}
        try:
            Ruleset(**dials)
        except InvalidRuleset:
            return dials


def _text(content: np.ndarray | bytes) -> str:
    return base64.b64encode(content.tobytes() if isinstance(content, np.ndarray) else content).decode()


def _match(ruleset: Ruleset, rng: np.random.Generator, turns: int) -> dict[str, Any]:
    """Play random matches. A step is a turn or the set-up of the next round."""
    starter = int(rng.integers(2))
    game = Position(ruleset, player=starter)
    first, steps = _text(game.games), []
    for _ in range(turns):
        if game.is_over:
            margin, after = int(single_game.match_margin(encode(ruleset), game.games)), game.next_round()
            game = after or Position(ruleset, player=starter)
            steps.append({"margin": margin, "over": after is None, "row": _text(game.games)})
            continue
        legal = [int(action) for action in game.legal_actions]
        action = legal[rng.integers(len(legal))]
        timeline = [list(event) for event in game.timeline(action).events]
        turn = game.play(action)
        steps.append(
            {
                "legal": legal,
                "action": action,
                "turn": [turn.laps, turn.captured, list(turn.new_owned), turn.endless],
                "events": timeline if len(timeline) < 60 else [len(timeline), timeline[-2:]],
                "counts": list(game.counts),
                "text": game.to_text(),
                "row": _text(game.games),
            }
        )
    made: dict[str, Any] = {"dials": asdict(ruleset), "starter": starter, "first": first, "steps": steps}
    start = Position(ruleset, player=starter)
    if not start.is_over:
        games, random = start.games, np.array([rng.integers(1 << 62)], np.uint64)
        made["seed"] = str(random[0])
        play_random(encode(ruleset), EpisodeSettings(MATCH), games, random, 5000, 0, 1)
        made["last"], made["generator"] = _text(games), str(random[0])
    return made


def _running(ruleset: Ruleset, rng: np.random.Generator, number: int) -> list[Position]:
    """Return running positions after some random turns."""
    found: list[Position] = []
    for _ in range(50 * number):
        game = Position(ruleset)
        for _ in range(rng.integers(12)):
            if not game.is_over:
                game.play(game.legal_actions[rng.integers(len(game.legal_actions))])
        if not game.is_over:
            found.append(game)
        if len(found) == number:
            break
    return found


class _Seeds:
    """Make an agent draw with a known seed."""

    def __init__(self, agent: Any, seed: int) -> None:
        agent.random_seeds = lambda count: np.full(count, seed, np.uint64)


def _searches(ruleset: Ruleset, rng: np.random.Generator, positions: int) -> dict[str, Any]:
    seed = int(rng.integers(1 << 60))
    shape = (ruleset.num_holes, NUM_CODES, NUM_UNITS)
    weights = ValueWeights(
        rng.normal(size=shape).astype(np.float32),
        rng.normal(size=NUM_UNITS).astype(np.float32),
        rng.normal(size=NUM_UNITS).astype(np.float32),
        rng.normal(size=1).astype(np.float32),
    )
    depth = 6 if ruleset.row_width < 8 else 4
    plain = MinimaxAgent(ruleset, Limit(depth=depth), spec="", num_threads=1)
    judged = MinimaxAgent(ruleset, Limit(depth=4), spec="", num_threads=1, network=weights.packed())
    mcts = MctsAgent(ruleset, Limit(simulations=200), spec="", num_threads=1)
    greedy = GreedyAgent(ruleset, spec="", num_threads=1)
    for agent in (plain, judged, mcts, greedy):
        _Seeds(agent, seed)
    cases = []
    for position in _running(ruleset, rng, positions):
        games = position.games
        case: dict[str, Any] = {"text": position.to_text()}
        for name, agent, unit in (("minimax", plain, 1), ("network", judged, UNIT)):
            answers = agent._search_all(games, ruleset.num_holes, np.full(1, seed, np.uint64))
            legal = position.legal_actions
            case[name] = {
                "action": int(answers.actions[0]),
                "depth": int(answers.depths[0]),
                "nodes": int(answers.nodes[0]),
                "value": float(answers.best[0]) / unit,
                "values": {str(action): float(answers.values[0, action]) / unit for action in legal},
            }
        case["mcts"] = [int(mcts.act(games)[0]), int(mcts.last_simulations[0])]
        case["greedy"] = int(greedy.act(games)[0])
        cases.append(case)
    # Plain numbers as in a checkpoint, or a file that names its ruleset.
    file = ValueFile(ruleset, weights, {}).to_bytes() if seed % 2 else weights.to_bytes()
    numbers = _text(file)
    return {"dials": asdict(ruleset), "seed": str(seed), "depth": depth, "network": numbers, "cases": cases}


def _solved(name: str, rng: np.random.Generator, positions: int) -> dict[str, Any]:
    """Solve the positions of a set with the fewest free seeds."""
    ruleset, stored = rulesets.lookup(name), solver.positions(name)
    fewest = sorted(
        (Position.from_games(ruleset, stored.games, b) for b in range(len(stored))),
        key=lambda position: int(position.seeds[position.owner < 0].sum()),
    )
    chosen = rng.permutation(len(fewest) // 3)[: 2 * positions]
    solving = solver.Solver(ruleset, memory_mb=4, use_book=False)
    cases = []
    for n in chosen:
        position = fewest[n]
        before = solving.nodes
        solution = solving.solve(position, with_line=False)
        cases.append(
            {
                "text": position.to_text(),
                "value": solution.value,
                "bounds": {str(action): list(both) for action, both in solution.action_bounds.items()},
                "nodes": solving.nodes - before,
                "best": list(solution.best_actions),
            }
        )
    return {"dials": asdict(ruleset), "megabytes": 4, "cases": cases}
