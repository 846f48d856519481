"""Agents of users: functions, models of Stable-Baselines3, torch modules, files."""

import re
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from checkpoints import identity_of, write_checkpoint
from error_checks import raises
from gymnasium.wrappers import FlattenObservation
from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.vec_env import VecNormalize
from torch import nn

from mancala_env import Batch, IllegalMove, Position, agents
from mancala_env.agents import InvalidSpec, user
from mancala_env.agents.network import CheckpointAgent
from mancala_env.envs.sb3 import MancalaVecEnv
from mancala_env.errors import InvalidArgument
from mancala_env.evaluation import InvalidMatch, play_matches, round_robin
from mancala_env.observations import Observer
from mancala_env.search import Limit


def odd(value: Any) -> Any:
    """Return a value without a static type."""
    return value


def first_legal(position: Position) -> int:
    return position.legal_actions[0]


def positions(ruleset: str = "leyla", turns: int = 5) -> Batch:
    batch = Batch(ruleset, 50, seed=1, num_threads=1)
    batch.play_random(turns)
    return batch


def test_a_function_of_a_position_plays():
    agent = agents.from_function(first_legal, "leyla")
    batch = positions()
    assert agent.spec == "first_legal"
    assert agent.entrant == "own:first_legal"
    assert (agent.act(batch.games) == batch.legal_mask.argmax(axis=1)).all()


def test_a_function_of_observations_and_masks_plays():
    seen_shapes = []

    def last(seen, legal):
        seen_shapes.append((seen.shape, seen.dtype, legal.shape, legal.dtype))
        return legal.shape[1] - 1 - legal[:, ::-1].argmax(axis=1)

    agent = agents.from_function(last, "leyla", observation="afterstates")
    batch = positions()
    chosen = agent.act(batch.games)
    assert (chosen == 5 - batch.legal_mask[:, ::-1].argmax(axis=1)).all()
    shape = (50, *Observer("leyla", "afterstates").shape)
    assert seen_shapes == [(shape, np.int16, (50, 6), np.bool_)]


def test_it_is_an_opponent_and_an_entrant(tmp_path):
    agent = agents.from_function(first_legal, "layli_goobalay", name="first")
    env = gymnasium.make("mancala/LayliGoobalay-v0", opponent=agent, seat="north")
    env.reset(seed=1)
    match = play_matches(agent, "random", "layli_goobalay", games=4, seed=1)
    assert (match.first, match.games) == ("first", 4)
    results = tmp_path / "results.jsonl"
    round_robin([agent, "greedy"], "layli_goobalay", games=4, results=results)
    assert '"own:first"' in results.read_text(encoding="utf-8")


@pytest.mark.parametrize("action", [True, 1.9, "3", None, 99, -1, [0], 10**30, np.uint64(2**64 - 1)])
def test_what_is_no_legal_action_is_refused(action):
    agent = agents.from_function(lambda position: action, "leyla", name="odd")
    with raises(IllegalMove, "odd"):
        agent.choose(Position("leyla"))


def test_a_random_legal_action_plays_where_that_is_wanted():
    agent = agents.from_function(lambda position: 11, "leyla", illegal="random", seed=1, name="wrong")
    games = np.repeat(positions().games[:1], 600, axis=0)
    chosen = agent.act(games)
    legal = Position.from_games("leyla", games).legal_actions
    assert set(chosen.tolist()) == set(legal)
    agent.seed(1)
    assert (agent.act(games) == chosen).all()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: agents.from_function(odd(3), "leyla"), 3),
        (lambda: agents.from_function(first_legal, "leyla", name="random"), "random"),
        (
            lambda: agents.from_function(first_legal, "leyla", name="minimax:2"),
            "minimax:2",
        ),
        (lambda: agents.from_function(first_legal, "leyla", illegal=odd("lose")), "illegal"),
        (lambda: agents.from_function(first_legal, "leyla", observation="pixels"), "observation"),
        (lambda: agents.from_function(first_legal, "leyla", name="a\nb"), "name"),
        (lambda: agents.from_function(first_legal, "leyla", name=odd(3)), "name"),
        (lambda: agents.from_policy(3, "leyla"), 3),
    ],
)
def test_wrong_arguments_are_refused(call, said):
    with raises(InvalidArgument, said):
        call()


class Network(nn.Module):
    """A poor policy that scores actions from the board."""

    def __init__(self, num_features: int, num_actions: int, *, pair: bool = False) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.layer, self.dropout, self.pair = nn.Linear(num_features, num_actions), nn.Dropout(0.5), pair

    def forward(self, seen: torch.Tensor):
        logits = self.dropout(self.layer(seen))
        return (logits, logits.sum(1)) if self.pair else logits


@pytest.mark.parametrize("pair", [False, True])
def test_a_torch_module_plays_its_best_legal_action(pair):
    network = Network(Observer("leyla").shape[0], 6, pair=pair)
    agent = agents.from_policy(network, "leyla", name="mine")
    batch = positions()
    with torch.inference_mode():
        logits = network.layer(torch.from_numpy(Observer("leyla").observe(batch.games))).numpy()
    assert (agent.act(batch.games) == np.where(batch.legal_mask, logits, -np.inf).argmax(axis=1)).all()
    assert network.training, "the mode is restored"


def test_a_torch_module_draws_by_its_probabilities():
    network = Network(Observer("leyla").shape[0], 6)
    agent = agents.from_policy(network, "leyla", deterministic=False, seed=2)
    games = np.repeat(Position("leyla").games, 4000, axis=0)
    drawn = np.bincount(agent.act(games), minlength=6) / 4000
    network.eval()
    logits = network(torch.from_numpy(Observer("leyla").observe(games[:1])))[0]
    assert drawn == pytest.approx(torch.softmax(logits, 0).detach().numpy(), abs=0.04)


def test_a_module_in_bfloat16_is_an_entrant_of_its_own():
    network = Network(Observer("leyla").shape[0], 6)
    single = agents.from_policy(network, "leyla", name="mine").entrant
    half = agents.from_policy(network.to(torch.bfloat16), "leyla", name="mine").entrant
    assert re.fullmatch(r"own:mine:sha256:[0-9a-f]{16}", half)
    assert half != single


def test_an_agent_of_a_model_is_frozen_unless_it_is_live():
    network, batch = Network(Observer("leyla").shape[0], 6), positions()
    frozen = agents.from_policy(network, "leyla", name="mine")
    live = agents.from_policy(network, "leyla", name="mine", live=True)
    before, chosen = frozen.entrant, frozen.act(batch.games)
    assert re.fullmatch(r"own:mine:sha256:[0-9a-f]{16}", before)
    assert live.entrant == before
    assert agents.from_policy(Network(Observer("leyla").shape[0], 6), "leyla", name="mine").entrant == before
    with torch.no_grad():
        network.layer.weight.neg_()
    assert frozen.entrant == before
    assert (frozen.act(batch.games) == chosen).all()
    assert live.entrant == agents.from_policy(network, "leyla", name="mine").entrant != before
    assert (live.act(batch.games) != chosen).any()


def test_a_live_agent_leaves_the_training_modes_of_the_module_alone():
    network = nn.Sequential(nn.Dropout(), Network(Observer("leyla").shape[0], 6))
    network.train()
    network[0].eval()
    agents.from_policy(network, "leyla", name="mine", live=True).act(positions().games)
    assert [network.training, network[0].training, network[1].training] == [True, False, True]


@pytest.mark.parametrize("kind", [MaskablePPO, PPO, A2C, DQN])
def test_a_trained_model_is_frozen_without_its_training(kind):
    options: Any = {} if kind is DQN else {"n_steps": 32}
    # A learning rate at which every update changes the actions.
    model = kind("MlpPolicy", env_of(illegal="random"), learning_rate=0.5, device="cpu", seed=1, **options)
    model.learn(160)
    frozen, live = (
        agents.from_policy(model, "leyla", illegal="random", seed=1, live=live) for live in (False, True)
    )
    batch, before = positions(), frozen.entrant
    chosen = frozen.act(batch.games)
    assert live.entrant == before
    live.seed(1)
    frozen.seed(1)
    assert (live.act(batch.games) == frozen.act(batch.games)).all()
    with torch.no_grad():
        for weights in model.policy.parameters():
            weights.neg_()
    frozen.seed(1)
    assert (frozen.act(batch.games) == chosen).all()
    assert frozen.entrant == before != live.entrant
    model.learn(64)  # the copy took nothing from the learner


@pytest.mark.parametrize("live", [False, True])
def test_a_model_of_normalized_observations_gets_them_normalized(live):
    env: Any = VecNormalize(MancalaVecEnv(8, "leyla", seed=0), norm_reward=False)
    model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=64, learning_rate=0.01, device="cpu", seed=1)
    model.learn(256)
    agent = agents.from_policy(model, "leyla", live=live)
    batch = positions()
    seen, masks = Observer("leyla").observe(batch.games), batch.legal_mask == 1
    wanted = model.predict(env.normalize_obs(seen), action_masks=masks, deterministic=True)[0]
    assert (agent.act(batch.games) == wanted).all()
    assert (model.predict(seen, action_masks=masks, deterministic=True)[0] != wanted).any()
    before = agent.entrant
    env.obs_rms.mean[:] = -100
    assert (agent.act(batch.games) == wanted).all() != live
    # The key of its results changes with the statistics, as with the weights.
    assert (agent.entrant == before) != live
    assert agents.from_policy(model, "leyla").entrant != before


def test_a_model_that_cannot_be_copied_can_be_shared():
    class Locked(Network):
        def __deepcopy__(self, memo):
            raise TypeError("no copies of 17")

    model = Locked(Observer("leyla").shape[0], 6)
    with raises(InvalidArgument, "Locked", 17, "live=True"):
        agents.from_policy(model, "leyla")
    assert agents.from_policy(model, "leyla", live=True).choose(Position("leyla")) in range(6)
    with raises(InvalidArgument, "live", 1):
        agents.from_policy(model, "leyla", live=odd(1))


def test_a_policy_of_single_rounds_is_refused_before_the_first_game_of_a_match():
    network = Network(Observer("gabata_i").shape[0], 6)
    with raises(InvalidSpec, "mine", 5, "rounds=2", 11, 'rounds="match"'):
        play_matches(agents.from_policy(network, "gabata_i", name="mine"), "random", "gabata_i", rounds=2)
    agents.from_policy(network, "gabata_i", rounds="match", name="mine").check_rounds(2)


def test_logits_of_another_shape_are_refused():
    agent = agents.from_policy(Network(Observer("leyla").shape[0], 4), "leyla")
    with raises(InvalidSpec, "(1, 4)", "(1, 6)"):
        agent.choose(Position("leyla"))


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (torch.tensor([[0, 0, float("nan"), 0, 0, 0]]), "NaN"),
        (None, "NoneType"),
        ((), "tuple"),
    ],
)
def test_what_is_no_logits_is_refused(returned, said):
    class Broken(nn.Module):
        def forward(self, seen: torch.Tensor):
            return returned

    with raises(InvalidSpec, said):
        agents.from_policy(Broken(), "leyla").choose(Position("leyla"))


def test_a_module_of_masks_too_is_refused():
    class OfTheSearch(nn.Module):
        def forward(self, seen: torch.Tensor, legal: torch.Tensor):
            return seen, legal

    with raises(InvalidArgument, "OfTheSearch", "'legal'", "from_function"):
        agents.from_policy(OfTheSearch(), "leyla")


def env_of(**options):
    return gymnasium.make("mancala/Leyla-v0", opponent="random", opening_turns=4, **options)


def test_a_masked_model_plays_what_it_predicts():
    env = env_of(observation="afterstates")
    model = MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=16, device="cpu", seed=1)
    agent = agents.from_policy(model, "leyla", observation="afterstates")
    batch = positions()
    seen = Observer("leyla", "afterstates").observe(batch.games)
    wanted, _ = model.predict(seen, action_masks=batch.legal_mask == 1, deterministic=True)
    assert (agent.act(batch.games) == wanted).all()
    assert agent.spec == "MaskablePPO"
    with pytest.raises(InvalidSpec):
        agents.from_policy(model, "leyla", observation="board")
    with pytest.raises(InvalidSpec):
        agents.from_policy(model, "gabata_i", observation="replies")


@pytest.mark.parametrize("kind", [PPO, DQN])
def test_a_model_without_masks_may_play_a_random_action_instead(kind):
    model = kind("MlpPolicy", env_of(illegal="lose"), device="cpu", seed=1)
    batch = positions(turns=12)
    seen = Observer("leyla").observe(batch.games)
    wanted = model.predict(seen, deterministic=True)[0]
    is_legal = batch.legal_mask[np.arange(50), wanted] == 1
    assert not is_legal.all(), "untrained, it does not know the rules"
    with raises(IllegalMove, 'illegal="random"'):
        agents.from_policy(model, "leyla").act(batch.games)
    chosen = agents.from_policy(model, "leyla", illegal="random", seed=1).act(batch.games)
    assert (chosen[is_legal] == wanted[is_legal]).all()
    assert (batch.legal_mask[np.arange(50), chosen] == 1).all()


def test_a_model_of_flat_observations_gets_them_flat():
    env = FlattenObservation(env_of(observation="afterstates", illegal="lose"))
    model = PPO("MlpPolicy", env, n_steps=16, batch_size=16, device="cpu", seed=1)
    agent = agents.from_policy(model, "leyla", observation="afterstates", illegal="random")
    assert agent.choose(Position("leyla")) in Position("leyla").legal_actions


OWN_FILE = """
from mancala_env import agents

def first(position):
    return position.legal_actions[0]

def make_agent(ruleset):
    return agents.from_function(first, ruleset)

def make_nothing(ruleset):
    return None
"""


NETWORK_FILE = """
import numpy as np
from mancala_env import agents, search

def nothing(observations, legal):
    return np.zeros(legal.shape), np.zeros(len(legal))

def make_agent(ruleset):
    return agents.from_network(nothing, ruleset, search.Limit(simulations=4))
"""


def test_a_file_of_your_own_is_a_spec(tmp_path):
    path = tmp_path / "my_agent.py"
    path.write_text(OWN_FILE, encoding="utf-8")
    spec = f"python:{path}:make_agent"
    agent = agents.make(spec, "leyla", seed=1, num_threads=1)
    assert agent.spec == spec
    assert re.fullmatch(r"python:sha256:[0-9a-f]{16}:make_agent", agent.entrant)
    assert agent.num_threads == 1
    assert repr(agent) == f"agents.make({spec!r}, 'leyla', seed=1)"
    with raises(InvalidArgument, "num_threads", 0):
        agents.make(spec, "leyla", num_threads=0)
    assert agent.choose(Position("leyla")) == 0
    assert play_matches(spec, "random", "leyla", games=4, seed=1).games == 4
    with raises(InvalidSpec, "my_agent.py", "make_agents"):
        agents.make(spec + "s", "leyla")
    with raises(InvalidSpec, "make_nothing", "leyla"):
        agents.make(f"python:{path}:make_nothing", "leyla")
    with pytest.raises(InvalidSpec):
        agents.make("python:nothing.py:make_agent", "leyla")
    path.write_text("def make_agent():\n    pass\n", encoding="utf-8")
    with raises(InvalidSpec, "make_agent"):
        agents.make(spec, "leyla")
    path.write_text("def make_agent(ruleset)\n", encoding="utf-8")
    with raises(InvalidSpec, "my_agent.py", "line 1"):
        agents.make(spec, "leyla")
    path.write_text("raise SystemExit(3)\n", encoding="utf-8")
    with raises(InvalidSpec, "my_agent.py", "sys.exit(3)"):
        agents.make(spec, "leyla")
    path.write_text("def make_agent(ruleset):\n    raise SystemExit(4)\n", encoding="utf-8")
    with raises(InvalidSpec, "make_agent", "sys.exit(4)"):
        agents.make(spec, "leyla")


def test_the_network_of_a_file_is_called_with_the_threads_of_the_spec(tmp_path, monkeypatch):
    path, threads, write = tmp_path / "mine.py", [], Observer.write
    path.write_text(NETWORK_FILE, encoding="utf-8")
    games = Batch("leyla", 2, seed=1).games

    def observe(self, *arrays, num_threads):
        threads.append(num_threads)
        write(self, *arrays, num_threads=num_threads)

    monkeypatch.setattr(Observer, "write", observe)
    for num_threads in (2, 3):
        threads.clear()
        agents.make(f"python:{path}:make_agent", "leyla", num_threads=num_threads).act(games)
        assert set(threads) == {num_threads}


@pytest.mark.parametrize("num_threads", [1, 2])
def test_torch_takes_no_more_threads_than_the_agent_may(tmp_path, num_threads):
    """num_threads=1 was once ignored by torch."""
    threads, games = [], Batch("leyla", 1024, seed=1).games  # a few games run on one thread

    class Watched(Network):
        def forward(self, seen: torch.Tensor):
            threads.append(torch.get_num_threads())
            return super().forward(seen)

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        model = Watched(Observer("leyla").shape[0], 6)
        agents.from_policy(model, "leyla", num_threads=num_threads).act(games)
        path = write_checkpoint(tmp_path / "agent.zip", identity_of("leyla"))
        agent = agents.make(str(path), "leyla", num_threads=num_threads)
        assert isinstance(agent, CheckpointAgent)
        agent.network.register_forward_hook(lambda *_: threads.append(torch.get_num_threads()))
        agent.act(games)
        assert threads == [num_threads, num_threads]
        assert torch.get_num_threads() == 3, "others have their own limit back"
        torch.set_num_threads(1)
        agent.num_threads = 2
        agent.act(games)
        assert threads[2:] == [1], "nor more than the process may"
    finally:
        torch.set_num_threads(before)


def test_each_illegal_action_of_many_is_replaced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    games = Batch("leyla", 300, seed=1, opening_turns=3).games
    asked: list[int] = []
    search = user.first_illegal

    def counted(rules: Any, some: np.ndarray, actions: np.ndarray, where: np.ndarray, most: int) -> int:
        asked.append(int(where.sum()))
        return search(rules, some, actions, where, most)

    monkeypatch.setattr(user, "first_illegal", counted)
    agent = agents.from_function(lambda position: 11, "leyla", illegal="random", seed=1, name="wrong")
    actions = agent.act(games)
    assert all(
        action in Position.from_games("leyla", games, b).legal_actions for b, action in enumerate(actions)
    )
    assert asked == list(range(300, -1, -1))  # checked games are not checked again


@pytest.mark.parametrize("kind", [MaskablePPO, PPO, A2C, DQN])
def test_the_seed_of_an_agent_determines_what_a_model_draws(kind):
    """The draws once came from torch's global generator."""
    options: Any = {"exploration_initial_eps": 0.5} if kind is DQN else {}
    model = kind("MlpPolicy", env_of(illegal="random"), device="cpu", seed=1, **options)
    if kind is DQN:
        model.exploration_rate = 0.5
    games = np.repeat(positions().games, 20, axis=0)

    def drawn(seed, **settings):
        agent = agents.from_policy(
            model, "leyla", deterministic=False, illegal="random", seed=seed, **settings
        )
        return agent.act(games)

    def global_state():
        of_numpy = np.random.get_state(legacy=False)["state"]["pos"]  # noqa: NPY002
        return torch.get_rng_state().tolist(), of_numpy, model.action_space.np_random.bit_generator.state

    before, first = global_state(), drawn(1)
    assert (drawn(1, live=True) == first).all()
    assert global_state() == before
    assert (drawn(2) != first).any()


def sampling_agents():
    network = Network(Observer("leyla").shape[0], 6)
    yield agents.from_policy(network, "leyla", deterministic=False)
    for kind in (MaskablePPO, PPO, DQN):
        options: Any = {"exploration_initial_eps": 0.5} if kind is DQN else {}
        model = kind("MlpPolicy", env_of(illegal="random"), device="cpu", seed=1, **options)
        if kind is DQN:
            odd(model).exploration_rate = 0.5
        yield agents.from_policy(model, "leyla", deterministic=False, illegal="random")
    yield agents.from_function(lambda position: 0, "leyla", illegal="random", name="zero")


def test_the_draw_in_a_game_depends_on_its_own_seed():
    """Draws once came from the seed of the first game of the batch."""
    games = np.repeat(positions().games[:8], 5, axis=0)
    seeds = np.random.default_rng(3).integers(0, 2**64, len(games), dtype=np.uint64)
    for agent in sampling_agents():
        together = agent.act_seeded(games, seeds)
        alone = [agent.act_seeded(games[b : b + 1], seeds[b : b + 1])[0] for b in range(len(games))]
        assert together.tolist() == alone, agent
        assert len({tuple(together[b : b + 5]) for b in range(0, 40, 5)}) > 1


def test_a_model_draws_by_its_probabilities():
    model = MaskablePPO("MlpPolicy", env_of(), device="cpu", seed=1)
    position = Position.from_games("leyla", positions().games, 9)
    agent = agents.from_policy(model, "leyla", deterministic=False, seed=1)
    games = np.repeat(position.games, 6000, axis=0)
    counts = np.bincount(agent.act(games), minlength=6) / 6000
    seen, policy = torch.as_tensor(Observer("leyla").observe(games[:1])), odd(model.policy)
    legal = np.isin(np.arange(6), position.legal_actions)
    with torch.no_grad():
        wanted = policy.get_distribution(seen, action_masks=legal).distribution.probs[0].numpy()
    assert counts == pytest.approx(wanted, abs=0.03)
    assert (counts[~legal] == 0).all()


def test_games_against_a_model_that_draws_are_repeatable():
    model = MaskablePPO("MlpPolicy", env_of(), device="cpu", seed=1)
    margins, episodes = [], []
    for _ in range(2):
        agent = agents.from_policy(model, "leyla", deterministic=False)
        margins.append(play_matches(agent, "random", "leyla", games=20, seed=1).margins.tolist())
        env, rewards = MancalaVecEnv(8, "leyla", opponent=agent, seed=3), []
        env.reset()
        for _ in range(30):
            rewards.append(env.step(env.action_masks().argmax(axis=1))[1].tolist())
        episodes.append(rewards)
    assert margins[0] == margins[1]
    assert episodes[0] == episodes[1]


def test_results_are_stored_only_under_a_chosen_name(tmp_path):
    """A second function of the same name once got the results of the first."""
    results = tmp_path / "results.jsonl"

    def f(seen, legal):
        return legal.argmax(axis=1)

    def evaluate(seen, legal):
        return np.zeros(legal.shape), np.zeros(len(legal))

    limit = Limit(simulations=8)
    for unnamed in (
        agents.from_function(first_legal, "leyla"),
        agents.from_function(f, "leyla", observation="board"),
        agents.from_network(evaluate, "leyla", limit),
    ):
        with raises(InvalidMatch, "results.jsonl", unnamed.spec, "name="):
            round_robin([unnamed, "random"], "leyla", games=4, results=results)
    assert not results.exists()
    named = agents.from_network(evaluate, "leyla", limit, name="zero-8")
    assert round_robin([named, "random"], "leyla", games=4, results=results)[0].first == "zero-8"


def test_agents_of_one_name_are_told_apart():
    network = Network(Observer("leyla").shape[0], 6)
    frozen = agents.from_policy(network, "leyla")
    with torch.no_grad():
        network.layer.weight.neg_()
    negated, drawing = (
        agents.from_policy(network, "leyla", deterministic=greedy) for greedy in (True, False)
    )
    assert len({frozen.entrant, negated.entrant, drawing.entrant}) == 3
    per_row = Network(Observer("leyla", "leaves").shape[1], 1)
    kinds = [agents.from_policy(per_row, "leyla", observation=kind) for kind in ("leaves", "values")]
    assert kinds[0].entrant != kinds[1].entrant
    with raises(InvalidMatch, "Network", "name="):
        round_robin([frozen, negated], "leyla", games=4)
    one, other = (agents.from_function(first_legal, "leyla") for _ in range(2))
    with raises(InvalidMatch, "first_legal", "name="):
        round_robin([one, other], "leyla", games=4)
    with raises(InvalidMatch, "greedy") as caught:
        round_robin(["greedy", "greedy"], "leyla", games=4)
    assert "name=" not in str(caught.value)
    match = play_matches(frozen, negated, "leyla", games=4, seed=1)
    assert (match.first, match.second) == ("Network (first)", "Network (second)")


def test_choose_refuses_an_illegal_action_of_an_own_class():
    class Stubborn(agents.Agent):
        def act(self, games):
            return np.full(len(games), 77)

    with raises(IllegalMove, "stubborn", 77, [0, 1, 2, 3, 4, 5]):
        Stubborn("leyla", spec="stubborn").choose(Position("leyla"))
