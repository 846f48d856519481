"""Policy networks: torch modules built from plain data.

A checkpoint holds a :class:`NetworkConfig` as JSON and the weights as tensors. It holds no code.

Symbols: B games, A actions, F features of a position, G features of an action, N rows of features, E
encoded numbers of a position.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mancala_env._util.command_line import needing
from mancala_env._util.settings import InvalidSetting, check, setting
from mancala_env.errors import MancalaError
from mancala_env.networks.value import UNIT
from mancala_env.observations import ObservationKind, Observer, board
from mancala_env.observations.per_action import BOARDS, BOARDS_OF_A_LINE, NUM_LINES
from mancala_env.rulesets import Ruleset

with needing("a network", "train"):
    import torch
    from torch import Tensor, nn

# Leads and seeds divided by this are near 1 on every board.
_SEED_SCALE = 8.0
# The parts of "values" with the values of lines; the first lines have boards as well.
_WORTHS = ("reply_values", "third_values", "fourth_values")
# Divisor of the round's number in checkpoints of format 1.
_ROUND_SCALE = 2.0**24
# A logit with probability zero that is safe in a float32 softmax.
_NEVER = -1e8


class InvalidNetwork(MancalaError):
    """A network cannot be built."""


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """Observation and size of a network.

    No field has a default, so checkpoints contain all of them.
    """

    observation: ObservationKind = setting(
        "What the network sees: the board, or the result of each action after one turn (afterstates), two "
        "(replies) or four (lines; leaves: with boards; values: by a value network)"
    )
    hidden: int = setting("Number of units in each hidden layer", low=1, high=4096)
    layers: int = setting("Number of hidden layers", low=1, high=16)
    seed_levels: int = setting(
        "Number of flags that show the seeds of a hole: at least 1 seed, at least 2, and so on",
        low=0,
        high=255,
    )

    def __post_init__(self) -> None:
        try:
            check(self)
        except InvalidSetting as error:
            raise InvalidNetwork(str(error)) from error


class PositionEncoder(nn.Module):
    """Encode a position as E = `num_outputs` numbers of magnitude about 1."""

    _levels: Tensor
    _scale: Tensor

    def __init__(self, ruleset: Ruleset, seed_levels: int) -> None:
        super().__init__()
        parts = board.parts(ruleset)
        self._num_holes = ruleset.num_holes
        self._owned = slice(parts["owned"].start, parts["owned"].stop)
        self._rest = slice(parts["owned"].stop, board.num_features(ruleset))
        scale = torch.from_numpy(board.bounds(ruleset)[1][self._rest].copy())
        scale[parts["round"].start - self._rest.start] = _ROUND_SCALE
        # Constants come from numpy. On the device "meta", torch would import its compiler to make them.
        levels = torch.from_numpy(np.arange(1, seed_levels + 1, dtype=np.int64))
        self.register_buffer("_levels", levels, persistent=False)
        self.register_buffer("_scale", 1 / scale, persistent=False)
        self.num_outputs = self._num_holes * (seed_levels + 3) + len(scale)

    def forward(self, observation: Tensor) -> Tensor:
        """Return float32 `[N, E]` from positions `[N, F]`."""
        seeds = observation[:, : self._num_holes]
        owned = observation[:, self._owned]
        return torch.cat(
            [
                (seeds.unsqueeze(2) >= self._levels).flatten(1).float(),
                seeds.float() / _SEED_SCALE,
                (owned > 0).float(),
                (owned < 0).float(),
                observation[:, self._rest].float() * self._scale,
            ],
            dim=1,
        )


def _hidden_layers(num_inputs: int, hidden: int, num_layers: int) -> nn.Sequential:
    sizes = [num_inputs] + [hidden] * num_layers
    layers: list[nn.Module] = []
    for size, following in pairwise(sizes):
        layers += [nn.Linear(size, following, dtype=torch.float32), nn.ReLU()]
    return nn.Sequential(*layers)


class BoardNetwork(nn.Module):
    """Map the position to logits of its actions and its value with one multi-layer perceptron."""

    def __init__(self, ruleset: Ruleset, num_actions: int, config: NetworkConfig) -> None:
        super().__init__()
        self.encoder = PositionEncoder(ruleset, config.seed_levels)
        self.body = _hidden_layers(self.encoder.num_outputs, config.hidden, config.layers)
        self.policy_head = nn.Linear(config.hidden, num_actions, dtype=torch.float32)
        self.value_head = nn.Linear(config.hidden, 1, dtype=torch.float32)

    def forward(self, observation: Tensor, legal: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """See :func:`build_network`."""
        hidden = self.body(self.encoder(observation))
        logits = self.policy_head(hidden)
        if legal is not None:
            logits = logits.masked_fill(~legal, _NEVER)
        return logits, torch.tanh(self.value_head(hidden)).squeeze(1)


class ActionNetwork(nn.Module):
    """Evaluate the afterstate of every action with the same small network.

    Each legal action gets a value and a logit. The value of the position is the mean of the
    actions' values under the policy.
    """

    _lead_scale: Tensor

    def __init__(self, ruleset: Ruleset, num_actions: int, config: NetworkConfig) -> None:
        super().__init__()
        parts = Observer(ruleset, config.observation, num_actions).parts
        self._position = slice(parts["position"].start, parts["position"].stop)
        self._legal = parts["legal"].start
        of_leads = [part for name, part in parts.items() if name not in BOARDS and name != "legal"]
        self._leads = slice(of_leads[0].start, of_leads[-1].stop)
        scale = np.full(of_leads[-1].stop, 1 / _SEED_SCALE, np.float32)
        for name in parts.keys() & set(_WORTHS):
            scale[parts[name].start : parts[name].stop] /= UNIT
        self.register_buffer("_lead_scale", torch.from_numpy(scale[self._leads]), persistent=False)
        self.encoder = PositionEncoder(ruleset, config.seed_levels)
        self._build_layers(self.encoder.num_outputs + self._leads.stop - self._leads.start, config)
        self.policy_head = nn.Linear(config.hidden, 1, dtype=torch.float32)
        self.value_head = nn.Linear(config.hidden, 1, dtype=torch.float32)

    def _build_layers(self, num_inputs: int, config: NetworkConfig) -> None:
        self.body = _hidden_layers(num_inputs, config.hidden, config.layers)

    def forward(self, observation: Tensor, legal: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """See :func:`build_network`."""
        if legal is None:
            legal = observation[:, :, self._legal] != 0
        # Only legal actions are evaluated, which saves a third of the work.
        at = legal.flatten().nonzero().squeeze(1)
        legal_logits, legal_values = self._evaluate(observation.flatten(0, 1).index_select(0, at))
        logits = legal_logits.new_full((legal.numel(),), _NEVER).index_put((at,), legal_logits)
        logits = logits.view(legal.shape)
        values = legal_values.new_zeros(legal.numel()).index_put((at,), legal_values).view(legal.shape)
        # The value's error must not change the policy, so no gradient flows into the policy from here.
        probabilities = torch.softmax(logits.detach(), dim=1)
        return logits, (probabilities * values).sum(dim=1)

    def forward_of_every_action(self, observation: Tensor, legal: Tensor) -> tuple[Tensor, Tensor]:
        """Evaluate illegal actions as well; slower, but array shapes do not depend on the data."""
        all_logits, all_values = self._evaluate(observation.flatten(0, 1))
        logits = all_logits.view(legal.shape).masked_fill(~legal, _NEVER)
        values = all_values.view(legal.shape).masked_fill(~legal, 0.0)
        return logits, (torch.softmax(logits, dim=1) * values).sum(dim=1)

    def _inputs(self, rows: Tensor) -> Tensor:
        """Return position and leads of actions `[N, G]` as numbers of size about 1, float32 `[N, E]`."""
        leads = rows[:, self._leads].float() * self._lead_scale
        return torch.cat([self.encoder(rows[:, self._position]), leads], dim=1)

    def _evaluate(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and values of actions `[N, G]`, float32 `[N]` each."""
        hidden = self.body(self._inputs(rows))
        return self.policy_head(hidden).squeeze(1), torch.tanh(self.value_head(hidden)).squeeze(1)


class LineNetwork(ActionNetwork):
    """Evaluate the boards of every line after an action with the same small network.

    The next player to move chooses the line. So the logit of an action is the soft minimum of the logits of
    its lines, or their soft maximum if the mover moves again. The value of an action is the mean of its
    lines' values, weighted by the probability of each line.
    """

    _numbers: Tensor

    def __init__(self, ruleset: Ruleset, num_actions: int, config: NetworkConfig) -> None:
        super().__init__(ruleset, num_actions, config)
        parts = Observer(ruleset, config.observation, num_actions).parts
        self._leaves = slice(parts["leaves"].start, parts["leaves"].stop)
        self._num_replies = parts["num_replies"].start
        self._to_move = board.parts(ruleset)["to_move"].start
        self._num_features = board.num_features(ruleset)
        numbers = torch.from_numpy(np.arange(NUM_LINES, dtype=np.float32))
        self.register_buffer("_numbers", numbers, persistent=False)

    def _build_layers(self, num_inputs: int, config: NetworkConfig) -> None:
        self.action_layer = nn.Linear(num_inputs, config.hidden, dtype=torch.float32)
        self.line_layer = nn.Linear(
            BOARDS_OF_A_LINE * self.encoder.num_outputs, config.hidden, bias=False, dtype=torch.float32
        )
        # The first hidden layer is the sum of two layers: one for the action, one for its line.
        self.body = nn.Sequential(nn.ReLU(), *_hidden_layers(config.hidden, config.hidden, config.layers - 1))

    def _lines(self, rows: Tensor) -> Tensor:
        """Return the first layer's output for the lines of actions, float32 `[N, NUM_LINES, hidden]`."""
        boards = self.encoder(rows[:, self._leaves].reshape(-1, self._num_features))
        return self.line_layer(boards.view(-1, NUM_LINES, BOARDS_OF_A_LINE * self.encoder.num_outputs))

    def _scores(self, rows: Tensor, hidden: Tensor) -> Tensor:
        """Return the logits of lines, float32 `[N, NUM_LINES]`."""
        return self.policy_head(hidden).squeeze(2)

    def _evaluate(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.body(self._lines(rows) + self.action_layer(self._inputs(rows)).unsqueeze(1))
        # The best line for the next player to move. Past the last reply, lines repeat and count once.
        sign = 2.0 * rows[:, self._to_move].float().unsqueeze(1) - 1.0
        is_repeated = self._numbers >= rows[:, self._num_replies].float().clamp(min=1.0).unsqueeze(1)
        line_logits = (sign * self._scores(rows, hidden)).masked_fill(is_repeated, _NEVER)
        line_values = torch.tanh(self.value_head(hidden)).squeeze(2)
        probabilities = torch.softmax(line_logits.detach(), dim=1)
        logits = sign.squeeze(1) * torch.logsumexp(line_logits, dim=1)
        return logits, (probabilities * line_values).sum(dim=1)


class ValuedLineNetwork(LineNetwork):
    """A LineNetwork that also gets the value of each line from a value network.

    The logit of a line is the LineNetwork's logit plus the line's value in seeds times a learned factor.
    """

    _worth_columns: Tensor

    def __init__(self, ruleset: Ruleset, num_actions: int, config: NetworkConfig) -> None:
        super().__init__(ruleset, num_actions, config)
        parts = Observer(ruleset, config.observation, num_actions).parts
        # With fewer actions than lines, the last action fills the other columns.
        shown = [min(n, num_actions - 1) for n in range(NUM_LINES)]
        columns = torch.tensor([[parts[name].start + n for name in _WORTHS] for n in shown])
        self.register_buffer("_worth_columns", columns, persistent=False)

    def _build_layers(self, num_inputs: int, config: NetworkConfig) -> None:
        super()._build_layers(num_inputs, config)
        self.worth_layer = nn.Linear(len(_WORTHS), config.hidden, bias=False, dtype=torch.float32)
        self.worth_factor = nn.Parameter(torch.ones(1, dtype=torch.float32))

    def _lines(self, rows: Tensor) -> Tensor:
        return super()._lines(rows) + self.worth_layer(self._worths(rows) / _SEED_SCALE)

    def _scores(self, rows: Tensor, hidden: Tensor) -> Tensor:
        return super()._scores(rows, hidden) + self.worth_factor * self._worths(rows)[:, :, -1]

    def _worths(self, rows: Tensor) -> Tensor:
        """Return line values after two, three and four turns in seeds, float32 `[N, NUM_LINES, 3]`."""
        return rows[:, self._worth_columns].float() / UNIT


def build_network(ruleset: Ruleset, num_actions: int, config: NetworkConfig) -> nn.Module:
    """Build a network with random weights.

    Its ``forward(observation, legal)`` takes observations `[B, *shape]` of
    :class:`mancala_env.observations.Observer`, and legal actions, bool `[B, A]`, or None for values only. It
    returns logits float32 `[B, A]`, hugely negative where illegal, and values float32 `[B]` for the player to
    move, -1 to 1.
    """
    observer = Observer(ruleset, config.observation, num_actions)
    if "leaves" in observer.parts:
        of_lines = ValuedLineNetwork if _WORTHS[0] in observer.parts else LineNetwork
        return of_lines(ruleset, num_actions, config)
    return (ActionNetwork if observer.is_per_action else BoardNetwork)(ruleset, num_actions, config)
