"""Every environment passes all conformance tests of Gymnasium and PettingZoo."""

import warnings
from typing import Any

import gymnasium
import pytest
from env_makers import ALL, IDS, aec_env, every_ruleset_and_kind, gym_env
from gymnasium.utils.env_checker import check_env

from mancala_env.render.window import Window

with warnings.catch_warnings():  # PettingZoo's tests use a deprecated import of its own games
    warnings.filterwarnings("ignore", "The old environment creation API", DeprecationWarning)
    from pettingzoo.test import api_test, seed_test
    from pettingzoo.test.render_test import collect_render_results


# api_test warns of dict observations in all environments but PettingZoo's own, and of observations with two
# dimensions, which it takes for pictures. A player without a legal action sees zeros.
@pytest.mark.filterwarnings(
    "error",
    "ignore:The observation contains negative numbers and is in the shape of a graphical:UserWarning",
    "ignore:Observation numpy array is all zeros:UserWarning",
    "ignore:Observation is not a NumPy array:UserWarning",
    "ignore:Observation space for each agent probably should be:UserWarning",
    "ignore:no reset option 'options':UserWarning",
)
@pytest.mark.parametrize("rounds", [1, "match"])
@every_ruleset_and_kind
def test_pettingzoo_api(ruleset, rounds, kind):
    api_test(aec_env(ruleset, rounds=rounds, observation=kind), num_cycles=60)
    api_test(aec_env(ruleset, rounds=rounds, observation=kind).unwrapped, num_cycles=20)


@pytest.mark.filterwarnings("error")
@every_ruleset_and_kind
def test_pettingzoo_seed(ruleset, kind):
    options = {"first_player": "random", "rounds": "match", "observation": kind}
    seed_test(lambda: aec_env(ruleset, **options), num_cycles=40)
    seed_test(lambda: aec_env(ruleset, observation=kind).unwrapped, num_cycles=40)


@pytest.mark.parametrize("ruleset", ALL, ids=str)
def test_pettingzoo_render(ruleset):
    for drawing in collect_render_results(aec_env(ruleset, render_mode="ansi")):
        assert isinstance(drawing, str)


@pytest.fixture
def fast_window(monkeypatch):
    """Open windows without a display, and show each picture without waiting for the next one."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr(Window, "_until", property(lambda window: 0.0, lambda window, until: None))


@pytest.mark.filterwarnings("error")
@pytest.mark.usefixtures("fast_window")
@every_ruleset_and_kind
def test_gymnasium_check_env(ruleset, kind):
    # check_env draws actions in one position and plays them in another, where they may be illegal.
    options: Any = {"illegal": "lose", "observation": kind}
    check_env(gym_env(ruleset, **options))
    check_env(gym_env(ruleset, seat="random", rounds="match", render_mode="ansi", **options))


@pytest.mark.filterwarnings("error")
@pytest.mark.usefixtures("fast_window")
@pytest.mark.parametrize("gym_id", IDS)
def test_gymnasium_check_env_of_the_ids_as_they_are(gym_id):
    check_env(gymnasium.make(gym_id).unwrapped)
