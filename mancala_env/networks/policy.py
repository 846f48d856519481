"""The networks agents are made of: plain torch modules, built from plain data.

A checkpoint holds a :class:`NetworkConfig` as JSON and the weights as tensors; nothing in it is code.

Symbols: B games, A actions, F features of a position, G features of an action, N rows of features, E
numbers that spell one out.
"""

from dataclasses import dataclass
from itertools import pairwise

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

# Leads and seeds divided by this lie near 1, whatever the board.
_SEED_SCALE = 8.0
# The parts of "values" that judge the lines; the first lines have boards as well.
_WORTHS = ("reply_values", "third_values", "fourth_values")
# What the number of the round was divided by when checkpoints of format 1 were trained.
_ROUND_SCALE = 2.0**24
# Low enough to have no probability, high enough to survive a softmax in float32.
_NEVER = -1e8


class InvalidNetwork(MancalaError):
    """A network that cannot be built."""


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """What a network sees and how large it is; none has a default, so a checkpoint says all of it."""

    observation: ObservationKind = setting(
        "Observation: the board; the boards after each action (afterstates), two turns "
        "(replies) or four (lines); lines with the boards between (leaves), or evaluated by the bundled "
        "value network (values)"
    )
    hidden: int = setting("Number of units in each hidden layer", low=1, high=4096)
    layers: int = setting("Number of hidden layers", low=1, high=16)
    seed_levels: int = setting(
        "Number of thermometer-encoded flags per hole: at least 1 seed, at least 2, and so on",
        low=0,
        high=255,
    )

    def __post_init__(self) -> None:
        try:
            check(self)
        except InvalidSetting as error:
            raise InvalidNetwork(str(error)) from error


class PositionEncoder(nn.Module):
    """Spell the observation of a position out in numbers of size about 1.

    Attributes:
        num_outputs: E, numbers per position.
    """

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
        self.register_buffer("_levels", torch.arange(1, seed_levels + 1), persistent=False)
        self.register_buffer("_scale", 1 / scale, persistent=False)
        self.num_outputs = self._num_holes * (seed_levels + 3) + len(scale)

    def forward(self, seen: Tensor) -> Tensor:
        """Return float32 `[N, E]` from positions `[N, F]`."""
        seeds = seen[:, : self._num_holes]
        owned = seen[:, self._owned]
        return torch.cat(
            [
                (seeds.unsqueeze(2) >= self._levels).flatten(1).float(),
                seeds.float() / _SEED_SCALE,
                (owned > 0).float(),
                (owned < 0).float(),
                seen[:, self._rest].float() * self._scale,
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
    """See the position; score its actions and its value with one multi-layer perceptron."""

    def __init__(self, ruleset: Ruleset, num_actions: int, config: NetworkConfig) -> None:
        super().__init__()
        self.encoder = PositionEncoder(ruleset, config.seed_levels)
        self.body = _hidden_layers(self.encoder.num_outputs, config.hidden, config.layers)
        self.policy_head = nn.Linear(config.hidden, num_actions, dtype=torch.float32)
        self.value_head = nn.Linear(config.hidden, 1, dtype=torch.float32)

    def forward(self, seen: Tensor, legal: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """See :func:`build_network`."""
        hidden = self.body(self.encoder(seen))
        logits = self.policy_head(hidden)
        if legal is not None:
            logits = logits.masked_fill(~legal, _NEVER)
        return logits, torch.tanh(self.value_head(hidden)).squeeze(1)


class ActionNetwork(nn.Module):
    """See what each action leads to; judge every afterstate with the same small network.

    Each legal action gets a value of its own and a logit. The value of the position is the mean of the
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
        scale = torch.full((of_leads[-1].stop,), 1 / _SEED_SCALE, dtype=torch.float32)
        for part in (part for name, part in parts.items() if name in _WORTHS):
            scale[part.start : part.stop] /= UNIT
        self.register_buffer("_lead_scale", scale[self._leads], persistent=False)
        self.encoder = PositionEncoder(ruleset, config.seed_levels)
        self._build_layers(self.encoder.num_outputs + self._leads.stop - self._leads.start, config)
        self.policy_head = nn.Linear(config.hidden, 1, dtype=torch.float32)
        self.value_head = nn.Linear(config.hidden, 1, dtype=torch.float32)

    def _build_layers(self, num_seen: int, config: NetworkConfig) -> None:
        self.body = _hidden_layers(num_seen, config.hidden, config.layers)

    def forward(self, seen: Tensor, legal: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """See :func:`build_network`."""
        if legal is None:
            legal = seen[:, :, self._legal] != 0
        # Only legal actions are judged: a good third of the work is saved.
        at = legal.flatten().nonzero().squeeze(1)
        scored, judged = self._judged(seen.flatten(0, 1).index_select(0, at))
        logits = scored.new_full((legal.numel(),), _NEVER).index_put((at,), scored).view(legal.shape)
        values = judged.new_zeros(legal.numel()).index_put((at,), judged).view(legal.shape)
        # The value's error is no reason to change the policy, so no gradient flows into it from here.
        chances = torch.softmax(logits.detach(), dim=1)
        return logits, (chances * values).sum(dim=1)

    def forward_of_every_action(self, seen: Tensor, legal: Tensor) -> tuple[Tensor, Tensor]:
        """Do the same, judging illegal actions too: slower, and of shapes that depend on no number."""
        scored, judged = self._judged(seen.flatten(0, 1))
        logits = scored.view(legal.shape).masked_fill(~legal, _NEVER)
        values = judged.view(legal.shape).masked_fill(~legal, 0.0)
        return logits, (torch.softmax(logits, dim=1) * values).sum(dim=1)

    def _seen(self, rows: Tensor) -> Tensor:
        """Return position and leads of actions `[N, G]` as numbers of size about 1, float32 `[N, E]`."""
        leads = rows[:, self._leads].float() * self._lead_scale
        return torch.cat([self.encoder(rows[:, self._position]), leads], dim=1)

    def _judged(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and values of actions `[N, G]`, float32 `[N]` each."""
        hidden = self.body(self._seen(rows))
        return self.policy_head(hidden).squeeze(1), torch.tanh(self.value_head(hidden)).squeeze(1)


class LineNetwork(ActionNetwork):
    """See boards of the lines that an action leads to; judge every line with the same small network.

    An action is worth what the line is worth that whoever moves next would choose: its logit is the soft
    minimum of its lines' (the soft maximum where the mover moves again), its value their mean by the chances
    that this choice gives them.
    """

    _numbers: Tensor

    def __init__(self, ruleset: Ruleset, num_actions: int, config: NetworkConfig) -> None:
        super().__init__(ruleset, num_actions, config)
        parts = Observer(ruleset, config.observation, num_actions).parts
        self._leaves = slice(parts["leaves"].start, parts["leaves"].stop)
        self._num_replies = parts["num_replies"].start
        self._to_move = board.parts(ruleset)["to_move"].start
        self._num_features = board.num_features(ruleset)
        self.register_buffer("_numbers", torch.arange(NUM_LINES, dtype=torch.float32), persistent=False)

    def _build_layers(self, num_seen: int, config: NetworkConfig) -> None:
        self.action_layer = nn.Linear(num_seen, config.hidden, dtype=torch.float32)
        self.line_layer = nn.Linear(
            BOARDS_OF_A_LINE * self.encoder.num_outputs, config.hidden, bias=False, dtype=torch.float32
        )
        # The first hidden layer is the sum of these two: what an action is, and what its line is.
        self.body = nn.Sequential(nn.ReLU(), *_hidden_layers(config.hidden, config.hidden, config.layers - 1))

    def _lines(self, rows: Tensor) -> Tensor:
        """Return what the first layer makes of the lines of actions, float32 `[N, NUM_LINES, hidden]`."""
        boards = self.encoder(rows[:, self._leaves].reshape(-1, self._num_features))
        return self.line_layer(boards.view(-1, NUM_LINES, BOARDS_OF_A_LINE * self.encoder.num_outputs))

    def _scores(self, rows: Tensor, hidden: Tensor) -> Tensor:
        """Return the logits of lines, float32 `[N, NUM_LINES]`."""
        return self.policy_head(hidden).squeeze(2)

    def _judged(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.body(self._lines(rows) + self.action_layer(self._seen(rows)).unsqueeze(1))
        # Best for whoever moves next; past the last reply, its line again: counted once.
        sign = 2.0 * rows[:, self._to_move].float().unsqueeze(1) - 1.0
        is_repeated = self._numbers >= rows[:, self._num_replies].float().clamp(min=1.0).unsqueeze(1)
        scored = (sign * self._scores(rows, hidden)).masked_fill(is_repeated, _NEVER)
        judged = torch.tanh(self.value_head(hidden)).squeeze(2)
        chances = torch.softmax(scored.detach(), dim=1)
        return (sign.squeeze(1) * torch.logsumexp(scored, dim=1)), (chances * judged).sum(dim=1)


class ValuedLineNetwork(LineNetwork):
    """The same of lines that a value network has judged: what it says, and what is to be added to that.

    A line's logit starts from its value in seeds, times a factor that is learned too.
    """

    _worth_columns: Tensor

    def __init__(self, ruleset: Ruleset, num_actions: int, config: NetworkConfig) -> None:
        super().__init__(ruleset, num_actions, config)
        parts = Observer(ruleset, config.observation, num_actions).parts
        # With fewer actions than lines the last one stands for those that are not there.
        shown = [min(n, num_actions - 1) for n in range(NUM_LINES)]
        columns = torch.tensor([[parts[name].start + n for name in _WORTHS] for n in shown])
        self.register_buffer("_worth_columns", columns, persistent=False)

    def _build_layers(self, num_seen: int, config: NetworkConfig) -> None:
        super()._build_layers(num_seen, config)
        self.worth_layer = nn.Linear(len(_WORTHS), config.hidden, bias=False, dtype=torch.float32)
        self.worth_factor = nn.Parameter(torch.ones(1, dtype=torch.float32))

    def _lines(self, rows: Tensor) -> Tensor:
        return super()._lines(rows) + self.worth_layer(self._worths(rows) / _SEED_SCALE)

    def _scores(self, rows: Tensor, hidden: Tensor) -> Tensor:
        return super()._scores(rows, hidden) + self.worth_factor * self._worths(rows)[:, :, -1]

    def _worths(self, rows: Tensor) -> Tensor:
        """Return what lines are worth after two, three and four turns, seeds, float32 `[N, NUM_LINES, 3]`."""
        return rows[:, self._worth_columns].float() / UNIT


def build_network(ruleset: Ruleset, num_actions: int, config: NetworkConfig) -> nn.Module:
    """Build a network with random weights.

    Its ``forward(seen, legal)`` takes observations, batch first, of the shape that
    :class:`mancala_env.observations.Observer` gives, and bool `[B, A]` (None where only the values are
    wanted). It returns logits float32 `[B, A]`, hugely negative where not legal, and values float32 `[B]`,
    -1 to 1, of the player to move.
    """
    observer = Observer(ruleset, config.observation, num_actions)
    if "leaves" in observer.parts:
        of_lines = ValuedLineNetwork if _WORTHS[0] in observer.parts else LineNetwork
        return of_lines(ruleset, num_actions, config)
    return (ActionNetwork if observer.is_per_action else BoardNetwork)(ruleset, num_actions, config)
