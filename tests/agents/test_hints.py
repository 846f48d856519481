"""Errors of common mistakes name what to write instead."""

from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch
from error_checks import raises

from mancala_env import (
    Batch,
    IllegalMove,
    InvalidRuleset,
    Position,
    agents,
    evaluation,
    leyla_v0,
    search,
    start,
    step,
)
from mancala_env.agents.searchers import action_values
from mancala_env.envs.gym import MancalaEnv
from mancala_env.envs.options import UnknownOption
from mancala_env.envs.sb3 import MancalaVecEnv
from mancala_env.envs.vector import MancalaVectorEnv
from mancala_env.errors import InvalidArgument, MancalaError
from mancala_env.observations import Observer, observe


def first_legal(position):
    return position.legal_actions[0]


class Model:
    """Like a model of Stable-Baselines3."""

    def predict(self, observation, deterministic=True):
        return np.zeros(len(observation), int), None


MAKERS = [
    (first_legal, "agents.from_function"),
    (lambda position: 0, "agents.from_function"),
    (Model(), "agents.from_policy"),
    (torch.nn.Linear(3, 3), "agents.from_policy"),
    (Model, "instance"),
]


@pytest.mark.parametrize(("value", "hint"), MAKERS, ids=lambda one: str(one)[:20])
def test_what_is_no_agent_yet_names_the_function_that_makes_one(value, hint):
    for call in (
        lambda: MancalaEnv("leyla", opponent=value),
        lambda: MancalaVecEnv(2, "leyla", opponent=["random", value]),
        lambda: gymnasium.make("mancala/Leyla-v0", opponent=value),
        lambda: agents.make(value, "leyla"),
        lambda: evaluation.play_matches(value, "random", "leyla", games=2),
        lambda: evaluation.evaluate(value, "leyla", games=2),
    ):
        with raises(MancalaError, hint):
            call()


def test_models_and_functions_are_told_apart():
    with raises(InvalidArgument, "agents.from_policy"):
        agents.from_function(Model(), "leyla")  # pyright: ignore[reportArgumentType]
    with raises(InvalidArgument, "agents.from_function"):
        agents.from_policy(first_legal, "leyla")
    with raises(InvalidArgument, "instance"):
        agents.from_policy(torch.nn.Linear, "leyla")
    for path in ("model.zip", Path("model.zip")):
        with raises(InvalidArgument, "model.zip", "load"):
            agents.from_policy(path, "leyla")


def test_a_function_of_the_wrong_arguments_is_refused_when_the_agent_is_made():
    with raises(InvalidArgument, "two", "observation="):

        def two(seen, legal):
            return legal.argmax(axis=1)

        agents.from_function(two, "leyla")
    with raises(InvalidArgument, "first_legal", "observation="):
        agents.from_function(first_legal, "leyla", observation="board")
    assert agents.from_function(min, "leyla").spec == "min"  # a builtin without a signature
    with raises(InvalidArgument, "first_legal", "observations, legal actions"):
        agents.from_network(first_legal, "leyla", LIMIT)  # pyright: ignore[reportArgumentType]


GAMES = start("leyla", 2).games
LIMIT = search.Limit(simulations=2)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda f: f(agents.make)("leyla", "greedy"), "agents.make(spec, ruleset)"),
        (lambda f: f(agents.from_function)("leyla", first_legal), "agents.from_function(function, ruleset)"),
        (lambda f: f(agents.from_policy)("leyla", Model()), "agents.from_policy(model, ruleset)"),
        (lambda f: f(agents.from_network)("leyla", len, LIMIT), "from_network(evaluate, ruleset, limit)"),
        (lambda f: f(Batch)(64, "leyla"), "Batch(ruleset, num_games)"),
        (lambda f: f(start)(64, "leyla"), "start(ruleset, num_games)"),
        (lambda f: f(step)(GAMES, "leyla", [0, 0]), "step(ruleset, games, actions)"),
        (lambda f: f(Position.from_games)(GAMES, "leyla"), "Position.from_games(ruleset, games)"),
        (lambda f: f(Observer)("board", "leyla"), "Observer(ruleset, kind)"),
        (lambda f: f(observe)(GAMES, "leyla"), "observe(ruleset, games)"),
        (lambda f: f(MancalaVecEnv)("leyla", 8), "MancalaVecEnv(num_envs, ruleset)"),
        (lambda f: f(MancalaVecEnv)("leyla"), "MancalaVecEnv(num_envs, ruleset)"),
        (lambda f: f(MancalaVectorEnv)("leyla", 8), "MancalaVectorEnv(num_envs, ruleset)"),
        (lambda f: f(action_values)(GAMES, "leyla", 2), "action_values(ruleset, games, depth)"),
        (lambda f: f(evaluation.measure_regret)("leyla", "greedy"), "measure_regret(agent, ruleset)"),
        (lambda f: f(evaluation.evaluate)("leyla", "greedy"), "evaluate(specs, ruleset)"),
    ],
)
def test_swapped_arguments_are_called_so(call, said):
    def untyped(function):
        return function

    with raises(InvalidArgument, "swapped", "'leyla'", said):
        call(untyped)


@pytest.mark.parametrize("rules", ["mine.yaml", {"like": "leyla", "row_width": 5}])
def test_an_own_ruleset_in_the_wrong_place_is_named(rules):
    with raises(InvalidArgument, "swapped", rules, "measure_regret(agent, ruleset)"):
        evaluation.measure_regret(rules, "greedy")


def test_options_of_other_environments_name_them():
    with raises(UnknownOption, "opponent", "gymnasium.make"):
        leyla_v0.env(opponent="greedy")  # pyright: ignore[reportCallIssue]
    with raises(UnknownOption, "num_envs", "gymnasium.make_vec"):
        gymnasium.make("mancala/Leyla-v0", num_envs=3)
    with raises(InvalidRuleset, "'minimax:2'", "agent"):
        MancalaEnv("minimax:2")


def test_objects_that_hold_games_are_asked_for_them():
    agent = agents.make("greedy", "leyla")
    for wrong in (Position("leyla"), Batch("leyla", 2), start("leyla", 2)):
        for call in (
            agent.act,
            lambda games: observe("leyla", games),
            lambda games: step("leyla", games, [0, 0]),
        ):
            with raises(MancalaError, type(wrong).__name__, ".games"):
                call(wrong)  # pyright: ignore[reportArgumentType]


def test_an_action_in_an_array_with_axes_is_refused():
    env = MancalaEnv("leyla")
    env.reset(seed=1)
    for action in (np.array([2]), torch.tensor([2])):
        with raises(IllegalMove, "array([2])", "item()"):
            env.step(action)  # pyright: ignore[reportArgumentType]


def test_a_ruleset_in_the_place_of_an_agent_is_named():
    with raises(agents.InvalidSpec, "leyla", "--ruleset leyla"):
        agents.Spec.parse("leyla")


def test_swapped_arguments_of_a_search_are_named():
    with raises(InvalidArgument, "leyla", "search.puct(ruleset, games, evaluate, limit)"):
        search.puct(Batch("leyla", 2), "leyla", len, LIMIT)  # pyright: ignore[reportArgumentType]
