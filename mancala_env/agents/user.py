"""Agents from your own function, Stable-Baselines3 model, torch module or Python file.

>>> from mancala_env import Position, agents
>>> first = agents.from_function(lambda position: position.legal_actions[0], "leyla", name="first")
>>> first.choose(Position("leyla"))
0

You can use them wherever an agent is accepted, such as in environments and matches. :func:`from_network`
searches with your network. The spec ``python:my_agent.py:make_agent`` makes an agent from a file.

Symbols: B games, A actions.
"""

import copy
import hashlib
import inspect
import runpy
import sys
from collections.abc import Callable
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import numpy as np

from mancala_env._util.checks import is_whole, one_of, refuse_swapped, truth, whole_actions
from mancala_env.agents.base import Agent, AgentSettings, InvalidSpec
from mancala_env.agents.policy_draws import draw_of, sampled
from mancala_env.agents.registry import kind_named, maker_hint
from mancala_env.agents.torch_threads import within_torch_threads
from mancala_env.engine.episode import Rounds
from mancala_env.engine.jit.threads import num_threads_of
from mancala_env.engine.turn import first_illegal
from mancala_env.errors import IllegalMove, InvalidArgument
from mancala_env.games.position import Position
from mancala_env.observations import Observer
from mancala_env.rulesets import Ruleset, RulesetLike, lookup
from mancala_env.search.limit import Limit

if TYPE_CHECKING:
    from mancala_env.search.network_search import EvaluateObservations

Illegal = Literal["raise", "random"]
"""Effect of an illegal action: an error, or a random legal action instead."""


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not name.isprintable():
        raise InvalidArgument(f"name must be a printable text, not {name!r}")
    if kind_named(name.partition(":")[0]) is not None:
        raise InvalidArgument(f"name {name!r} is reserved for a bundled agent; choose another name")
    return name


class _UserAgent(Agent):
    """An agent around user code; every choice is checked."""

    def __init__(
        self,
        ruleset: RulesetLike,
        default_name: str,
        name: str | None = None,
        illegal: Illegal = "raise",
        **settings: Any,
    ) -> None:
        super().__init__(ruleset, spec=_checked_name(name or default_name), **settings)
        self.filed_as, self.is_identified = f"own:{self.spec}", bool(name)
        self._illegal = one_of("illegal", illegal, ("raise", "random"))

    def _checked(self, games: np.ndarray, actions: Any, seeds: np.ndarray) -> np.ndarray:
        """Return actions int64 `[B]` that are legal in games, or raise an IllegalMove."""
        chosen = whole_actions(f"{self.spec} must choose", actions, len(games)).copy()
        unchecked = np.ones(len(games), np.bool_)
        while (b := first_illegal(self._rules, games, chosen, unchecked, self.ruleset.num_holes)) >= 0:
            unchecked[: b + 1] = False
            position = Position.from_games(self.ruleset, games, b)
            if self._illegal == "raise":
                raise IllegalMove(
                    f"{self.spec} chose action {chosen[b]} in {position.to_text()!r}; legal actions: "
                    f'{", ".join(map(str, position.legal_actions))}. illegal="random" plays a random one '
                    "instead"
                )
            chosen[b] = np.random.default_rng(seeds[b]).choice(position.legal_actions)
        return chosen


class FunctionAgent(_UserAgent):
    """Play the action that a function returns for a position; see :func:`from_function`."""

    def __init__(self, ruleset: RulesetLike, function: Callable[[Position], int], **settings: Any) -> None:
        super().__init__(ruleset, _name_of(function), **settings)
        self._function = function

    def act(self, games: np.ndarray) -> np.ndarray:
        games = self._running(games)
        actions = np.zeros(len(games), np.int64)
        for b in range(len(games)):
            action = self._function(Position.from_games(self.ruleset, games, b))
            # A number that needs more bits does not fit into the array.
            if not is_whole(action) or int(action).bit_length() > 63:
                raise IllegalMove(f"{self.spec} must choose a whole number of 64 bits, not {action!r}")
            actions[b] = action
        return self._checked(games, actions, self.random_seeds(len(games)))


Choose = Callable[[np.ndarray, np.ndarray, np.ndarray], Any]
"""Called with observations `[B, *shape]`, legal actions bool `[B, A]` and a seed for each game, uint64 `[B]`;
returns actions `[B]`."""


class PolicyAgent(_UserAgent):
    """Play the actions of a policy of observations and masks; see :func:`from_policy`."""

    def __init__(
        self,
        ruleset: RulesetLike,
        choose: Choose,
        default_name: str,
        observation: str,
        rounds: Rounds,
        module: Any = None,
        normalizing: Any = None,
        **settings: Any,
    ) -> None:
        super().__init__(ruleset, default_name, **settings)
        self.is_identified |= module is not None
        self._choose, self._module, self._normalizing = choose, module, normalizing
        self.observer = Observer(self.ruleset, observation, self.ruleset.num_actions(rounds))

    @property
    def entrant(self) -> str:
        filed = super().entrant
        if self._module is None:
            return filed
        if self.observer.kind == "values":  # a model of this kind also accepts "leaves"
            filed = f"{filed}:{self.observer.version}"
        return f"{filed}:{_hash_of_weights(self._module, self._normalizing)}"

    def check_rounds(self, rounds: Rounds) -> None:
        most = self.ruleset.num_actions(rounds)
        if self.observer.num_actions < most:
            raise InvalidSpec(self._knows_too_little(f"games of rounds={rounds!r} have 0 to {most - 1}"))

    def _knows_too_little(self, where: str) -> str:
        return (
            f"{self.spec} knows actions 0 to {self.observer.num_actions - 1}; {where}; "
            'give rounds="match" for a policy that was trained on matches'
        )

    def act(self, games: np.ndarray) -> np.ndarray:
        games = self._running(games)
        observation = self.observer.empty(len(games))
        legal = np.empty((len(games), self.observer.num_actions), np.bool_)
        self.observer.write(games, observation, legal, num_threads=self.num_threads)
        if not legal.any(axis=1).all():
            raise IllegalMove(self._knows_too_little("here the player to move has none of them"))
        seeds = self.random_seeds(len(games))
        with within_torch_threads(self.num_threads, len(games)):
            actions = self._choose(observation, legal, seeds)
        return self._checked(games, actions, seeds)


class NamedAgentOptions(TypedDict, total=False):
    """Keyword arguments of every agent of yours.

    Attributes:
        name: Name in tables, and key of the agent's results. Choose a new name when you change the function,
            the network or the limit. By default the name of the function, or of the model's class. A results
            file takes a function only under a name that you give.
        seed: Random seed of the agent's own draws, also those of a model of :func:`from_policy`; None: from
            the operating system. Seed the draws of your function yourself.
        num_threads: CPU threads, including those of torch; None: all cores of this process.
    """

    name: str | None
    seed: int | None
    num_threads: int | None


class UserAgentOptions(NamedAgentOptions, total=False):
    """Keyword arguments of :func:`from_function` and :func:`from_policy`; see :class:`NamedAgentOptions`.

    Attributes:
        illegal: "raise" an IllegalMove at an illegal action (the default), or play a "random" legal action.
    """

    illegal: Illegal


def from_function(
    function: Callable[[Position], Any] | Callable[[np.ndarray, np.ndarray], Any],
    ruleset: RulesetLike,
    *,
    observation: str | None = None,
    rounds: Rounds = 1,
    **options: Unpack[UserAgentOptions],
) -> Agent:
    """Make an agent from a function.

    Args:
        function: Without `observation`, it is called with one :class:`Position` and returns an action. With
            `observation`, it is called with the observations of B positions `[B, *shape]` and their legal
            actions, bool `[B, A]`. It then returns B actions. It must depend only on its arguments. The seed
            of a match does not seed its random choices.
        ruleset: Ruleset name, or a ruleset.
        observation: One of ``mancala_env.observations.KINDS``; None: the position.
        rounds: Number of rounds in an episode, which determines A; see :meth:`Ruleset.num_actions`.
        options: ``name``, ``illegal``, ``seed`` and ``num_threads``; see :class:`UserAgentOptions`.

    Raises:
        InvalidArgument: An argument is invalid.
        InvalidRuleset: The ruleset is unknown.
        NoValueNetwork: The observation is "values", and no value network is bundled for the ruleset.
    """
    refuse_swapped("agents.from_function(function, ruleset)", ruleset, function)
    if not callable(function):
        raise InvalidArgument(f"from_function takes a function, not {function!r}{maker_hint(function)}")
    given = ["position"] if observation is None else ["observations", "legal actions"]
    if why := _why_not_called(function, *given):
        raise InvalidArgument(
            f"{function!r} must take the arguments {', '.join(given)}: {why}; observation= decides which"
        )
    called: Any = function
    if observation is None:
        return FunctionAgent(ruleset, called, **options)

    def choose(observations: np.ndarray, legal: np.ndarray, _: np.ndarray) -> Any:
        return called(observations, legal)

    return PolicyAgent(ruleset, choose, _name_of(function), observation, rounds, **options)


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _why_not_called(function: Callable[..., Any], *given: Any) -> str:
    """Return why a function cannot be called with some arguments; "" if it can."""
    try:
        inspect.signature(function).bind(*given)
    except TypeError as error:
        return str(error)
    except ValueError:  # a builtin without a signature
        pass
    return ""


def from_policy(
    model: Any,
    ruleset: RulesetLike,
    *,
    observation: str = "board",
    rounds: Rounds = 1,
    deterministic: bool = True,
    live: bool = False,
    **options: Unpack[UserAgentOptions],
) -> Agent:
    """Make an agent that plays a frozen copy of a trained model.

    >>> model = MaskablePPO.load("mine.zip")                          # doctest: +SKIP
    >>> agent = agents.from_policy(model, "leyla", observation="afterstates")      # doctest: +SKIP

    Args:
        model: Model of Stable-Baselines3 or sb3-contrib, or a torch module. A model has
            ``predict(observation, deterministic=...)``, and gets ``action_masks`` if it accepts them. A
            module maps observations `[B, *shape]` to logits `[B, A]`, or to a tuple that begins with logits.
            If the model was trained on flattened observations, they are flattened. Observations are
            normalized by the ``VecNormalize`` of the model's environment, if there is one. A recurrent model
            starts every turn with an empty memory.
        ruleset: Ruleset name, or a ruleset.
        observation: Observation it was trained on, as in :func:`from_function`.
        rounds: Rounds of the episodes it was trained on.
        deterministic: Whether to play the most probable action instead of sampling one. The agent's seed
            determines the samples.
        live: Whether the agent shares the model's weights, so that it changes with every training step. By
            default it plays a copy, which costs the memory of the weights and milliseconds. Optimizers,
            buffers and environments of Stable-Baselines3 are not copied.
        options: As in :func:`from_function`. Only models without masks (PPO, DQN) choose illegal actions.

    The key of its results is the name, a hash of the weights and of the statistics of ``VecNormalize``, and
    whether it draws. So two agents of one model, before and after more training, have different keys.

    Raises:
        InvalidArgument: The model has an unsupported type or cannot be copied, or another argument is
            invalid.
        InvalidSpec: The model was trained on observations of another shape.
    """
    refuse_swapped("agents.from_policy(model, ruleset)", ruleset, model)
    deterministic, live = truth("deterministic", deterministic), truth("live", live)
    played, module = _played(model, live)
    normalizing = getattr(played, "_vec_normalize_env", None)  # SB3's VecNormalize, if it was trained in one
    if played is module:
        choose = _choose_by_logits(module, deterministic)
    else:
        choose = _choose_by_predict(played, normalizing, deterministic)
    name = type(model).__name__
    if played is module and (why := _why_not_called(module.forward, "observations")):
        raise InvalidArgument(
            f"{name} must take one argument, the observations: {why}; from_function takes a function of "
            "observations and legal actions"
        )
    agent = PolicyAgent(ruleset, choose, name, observation, rounds, module, normalizing, **options)
    if not deterministic:
        agent.filed_as, agent.is_drawing = f"{agent.filed_as}:drawn", True
    shape, space = agent.observer.shape, getattr(model, "observation_space", None)
    if space is not None and space.shape not in (shape, (int(np.prod(shape)),)):
        raise InvalidSpec(
            f"{agent.spec} was trained on observations of shape {space.shape}, and {observation!r} of "
            f"{agent.ruleset.name} has shape {shape}; name its ruleset, observation and rounds"
        )
    return agent


def from_network(
    evaluate: "EvaluateObservations",
    ruleset: RulesetLike,
    limit: Limit,
    *,
    observation: str = "board",
    rounds: Rounds = 1,
    gumbel: bool = False,
    margin_share: float = 0.0,
    **options: Unpack[NamedAgentOptions],
) -> Agent:
    """Make an agent that searches with your network, by :func:`mancala_env.search.puct`.

    >>> import numpy as np
    >>> from mancala_env import agents, evaluation, search
    >>> def evaluate(observations, legal):  # of N positions: a network that knows nothing
    ...     return np.zeros(legal.shape), np.zeros(len(legal))
    >>> agent = agents.from_network(evaluate, "leyla", search.Limit(simulations=50), seed=1)
    >>> evaluation.play_matches(agent, "random", "leyla", games=40, seed=1).win_rate > 0.6
    True

    Args:
        evaluate: Your network; see :data:`mancala_env.search.EvaluateObservations`. It must depend only on
            its arguments.
        ruleset: Ruleset name, or a ruleset.
        limit: Simulations or seconds for each position, such as ``Limit(simulations=100)``.
        observation: One of ``mancala_env.observations.KINDS``.
        rounds: Number of rounds in an episode, which determines A. The agent also plays longer matches:
            where the network knows no legal action, it counts seeds.
        gumbel: Whether to select actions at the root by sequential halving.
        margin_share: Weight of the margin in the values, 0 to 1; see :class:`mancala_env.search.PuctOptions`.
        options: ``name``, ``seed`` and ``num_threads``; see :class:`NamedAgentOptions`.

    Raises:
        InvalidArgument: An argument is invalid. During play: the network returned other shapes, or NaN.
        InvalidRuleset: The ruleset is unknown.
    """
    from mancala_env.agents.searchers import PuctAgent  # with the kernels of the search
    from mancala_env.search.network_search import check_search_limit, fraction, guide_of
    from mancala_env.search.tree_growth import RootOptions

    refuse_swapped("agents.from_network(evaluate, ruleset, limit)", ruleset, evaluate)
    if why := _why_not_called(evaluate, "observations", "legal actions"):
        raise InvalidArgument(f"{evaluate!r} must take the arguments observations, legal actions: {why}")
    settings: dict[str, Any] = dict(options)
    given = settings.pop("name", None)
    name = _checked_name(given or _name_of(evaluate))
    observer = Observer(ruleset, observation, lookup(ruleset).num_actions(rounds))
    agent = PuctAgent(observer.ruleset, spec=name, **settings)

    def evaluate_within_threads(observations: np.ndarray, legal: np.ndarray) -> tuple[Any, Any]:
        with within_torch_threads(agent.num_threads, len(legal)):
            return evaluate(observations, legal)

    agent.root = RootOptions(gumbel=truth("gumbel", gumbel))
    agent.limit, share = check_search_limit(limit, gumbel), fraction("margin_share", margin_share)
    agent.guide = guide_of(evaluate_within_threads, observer, share, lambda: agent.num_threads)
    agent.filed_as, agent.is_identified = f"own:{name}", bool(given)
    return agent


def _played(model: Any, live: bool) -> tuple[Any, Any]:
    """Return the model that an agent plays, and the torch module of its weights, if any."""
    modules = (sys.modules["torch"].nn.Module,) if "torch" in sys.modules else ()
    is_module = isinstance(model, modules) and not hasattr(model, "predict")
    if isinstance(model, str | Path):
        raise InvalidArgument(f"from_policy takes a model, not the path {model!s}; load the model first")
    if not is_module and (isinstance(model, type) or not callable(getattr(model, "predict", None))):
        raise InvalidArgument(
            f"from_policy takes a Stable-Baselines3 model or a torch module, not {model!r}{maker_hint(model)}"
        )
    model = model if live else _frozen(model)
    module = model if is_module else getattr(model, "policy", None)
    return model, module if isinstance(module, modules) else None


# Attributes of a model of Stable-Baselines3 that it does not need to choose an action.
_OF_TRAINING = ("env", "rollout_buffer", "replay_buffer", "_logger")


def _frozen(model: Any) -> Any:
    """Return a copy of a model that training does not change."""
    policy: Any = getattr(model, "policy", None)
    try:
        if not hasattr(policy, "optimizer"):
            return copy.deepcopy(model)
        # A model of Stable-Baselines3. The distribution holds results of its last use, which torch cannot
        # copy, and the optimizer is larger than the weights.
        frozen, distribution = copy.copy(model), getattr(policy, "action_dist", None)
        memo = {id(policy.optimizer): None, id(distribution): copy.copy(distribution)}
        frozen.policy = copy.deepcopy(policy, memo)
    except Exception as error:
        raise InvalidArgument(
            f"{type(model).__name__} cannot be copied ({error}); live=True shares the model, and the agent "
            "then changes with its training"
        ) from error
    for name in set(_OF_TRAINING) & set(vars(frozen)):
        setattr(frozen, name, None)
    frozen._vec_normalize_env = copy.deepcopy(getattr(model, "_vec_normalize_env", None))
    return frozen


def _choose_by_logits(module: Any, deterministic: bool) -> Choose:
    torch = sys.modules["torch"]

    def choose(observation: np.ndarray, legal: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        device = next((each.device for each in module.parameters()), torch.device("cpu"))
        modes = [(each, each.training) for each in module.modules()]
        module.eval()
        try:
            with torch.inference_mode():
                found = module(torch.from_numpy(observation).to(device))
        finally:
            for each, is_training in modes:
                each.training = is_training
        logits: Any = found[0] if isinstance(found, tuple) and found else found
        if not isinstance(logits, torch.Tensor):
            raise InvalidSpec(f"the module must return logits, a tensor, not {type(logits).__name__}")
        if tuple(logits.shape) != legal.shape:
            raise InvalidSpec(f"the module returned logits of shape {tuple(logits.shape)}, not {legal.shape}")
        scores = np.where(legal, logits.float().cpu().numpy(), -np.inf)
        if np.isnan(scores).any():
            raise InvalidSpec("the module returned NaN as logits; its weights may be broken")
        return scores.argmax(axis=1) if deterministic else sampled(scores, seeds)

    return choose


def _choose_by_predict(model: Any, normalizing: Any, deterministic: bool) -> Choose:
    takes_masks = "action_masks" in inspect.signature(model.predict).parameters
    space = getattr(model, "observation_space", None)
    draw = None if deterministic else draw_of(model)

    def choose(observation: np.ndarray, legal: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        if space is not None and space.shape != observation.shape[1:]:
            observation = observation.reshape(len(observation), -1)
        if normalizing is not None:
            observation = normalizing.normalize_obs(observation)
        masks = {"action_masks": legal} if takes_masks else {}
        if draw is not None:
            return draw(observation, masks, seeds)
        actions, _ = model.predict(observation, deterministic=True, **masks)
        return np.asarray(actions)

    return choose


def _hash_of_weights(module: Any, normalizing: Any) -> str:
    """Return a hash of a module and of the VecNormalize in front of it, if any."""
    digest, torch = hashlib.sha256(), sys.modules["torch"]
    for name, value in module.state_dict().items():
        digest.update(name.encode())
        # As bytes, because NumPy lacks bfloat16.
        digest.update(value.detach().cpu().flatten().view(torch.uint8).numpy().tobytes())
    if normalizing is not None and normalizing.norm_obs:
        seen = normalizing.obs_rms
        for part in (seen.mean, seen.var, normalizing.clip_obs, normalizing.epsilon):
            digest.update(np.asarray(part, np.float64).tobytes())
    return "sha256:" + digest.hexdigest()[:16]


def agent_from_file(ruleset: Ruleset, source: str, function: str, **settings: Unpack[AgentSettings]) -> Agent:
    """Run a Python file and make an agent with one of its functions: ``python:my_agent.py:make_agent``.

    The function is called with the ruleset and returns an Agent, such as one of :func:`from_function` or
    :func:`from_policy`. The file runs with your permissions, so name only files that you trust. No code in a
    checkpoint, a book or a results file is ever run.

    Raises:
        InvalidSpec: The file or the function is missing, or the function makes no agent of the ruleset.
    """
    spec = settings["spec"]
    if not isfile(source):
        raise InvalidSpec(f"spec {spec!r}: file {source!r} does not exist")
    try:
        found = runpy.run_path(source).get(function)
    except SyntaxError as error:
        where = f"{error.filename or source}, line {error.lineno or 1}"
        raise InvalidSpec(f"spec {spec!r}: {where}: {error.msg}") from error
    except SystemExit as end:  # a script, which would silently end the program
        raise InvalidSpec(f"spec {spec!r}: {source} called sys.exit({end.code!r}) when it was read") from end
    if not callable(found):
        raise InvalidSpec(f"spec {spec!r}: {source} has no function {function}")
    if why := _why_not_called(found, ruleset):
        raise InvalidSpec(f"spec {spec!r}: {function} must take one argument, the ruleset: {why}")
    try:
        agent = found(ruleset)
    except SystemExit as end:
        raise InvalidSpec(f"spec {spec!r}: {function} called sys.exit({end.code!r})") from end
    if not isinstance(agent, Agent) or agent.ruleset != ruleset:
        raise InvalidSpec(f"spec {spec!r}: {function} must return an Agent that plays {ruleset.name}")
    agent.spec = spec
    if (seed := settings.get("seed")) is not None:
        agent.seed(seed)
        agent._first_seed = seed
    if (num_threads := settings.get("num_threads")) is not None:
        agent.num_threads = num_threads_of(num_threads)
    return agent
