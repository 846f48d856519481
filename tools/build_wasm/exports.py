"""The functions of ``mancala.wasm``: kernels of the package as functions of plain numbers.

A function takes and returns int32. Arguments such as `rules`, `game` and `block` are addresses in linear
memory, which the caller allocates, aligned to 64 bytes. The functions convert addresses to arrays and call
kernels.

============  ============================================================================================
address of    content
============  ============================================================================================
`rules`       int64 `[NUM_RULES]`, the fields of ``engine.state.Rules``
`game`        uint64 `[NUM_COLUMNS]`, a row of a games array
`random`      uint64 `[1]`, a generator, or the seed of one choice
`network`     int64, a packed value network; 0: without a network
`block`       memory of a search between two calls; the function `..._bytes` returns its length
`out`         float64, further results of a function
============  ============================================================================================

A search works in pieces: called again with the same block, it resumes, until it returns 1.
"""

import numpy as np

from mancala_env.agents.scripted import greedy_action, random_action
from mancala_env.engine import single_game
from mancala_env.engine.episode import MATCH, OUTCOME, EpisodeSettings
from mancala_env.engine.episode import play_random as random_play
from mancala_env.engine.holdout import ALL
from mancala_env.engine.state import (
    NUM_COLUMNS,
    PLAYER_COLUMN,
    SOUTH,
    action_of,
    hole_of,
    load,
)
from mancala_env.engine.timeline import write_timeline
from mancala_env.engine.turn import STALL_LIMIT, is_legal
from mancala_env.engine.validation import first_impossible
from mancala_env.networks.value import write_packed
from mancala_env.search import alphabeta, uct
from mancala_env.search.piecewise import ACTIVE
from mancala_env.solver import proof_search, study
from mancala_env.solver.margins import owned_margin
from mancala_env.solver.shared_marks import NUM_ATTEMPTS
from mancala_env.solver.table import WORDS_PER_BUCKET
from tools.build_wasm.memory import LINE, array_at, games_at, rules_at, whole_lines, written_out
from tools.build_wasm.study_bounds import bounds_now, read_known

# A game.


def start(rules, game, starter):
    """Write the first round of a match."""
    single_game.start(rules_at(rules), games_at(game), np.int64(starter))
    return 0


def legal(rules, game):
    """Return the bits of the legal actions."""
    return single_game.legal_actions(rules_at(rules), games_at(game))


def play(rules, game, action, out):
    """Play an action; return the number of laps, or 0 without a change if the action is illegal.

    `out`: the captured seeds, and the bits of the new holes of the player.
    """
    said = array_at(out, np.float64, (2,))
    laps, said[0], said[1] = single_game.play(rules_at(rules), games_at(game), np.int64(action))
    return laps


def timeline(rules, game, action, events, most):
    """Write at most `most` events of the turn of an action; return their number, 0 if the action is illegal.

    The game does not change. `events`: four int32 an event: kind, player, hole and seeds.
    """
    r, before = rules_at(rules), load(games_at(game), 0)
    if not is_legal(r, before, np.int64(action), 2 * r.width):
        return 0
    hole = hole_of(r, before.player, np.int64(action))
    return write_timeline(r, before, hole, array_at(events, np.int32, (np.int64(most), 4)))[2]


def next_round(rules, game):
    """Set up the next round, or return 1 without a change if the match is over."""
    return 1 if single_game.next_round(rules_at(rules), games_at(game)) else 0


def settle(rules, game):
    """Write the next player, or the end of the round, of a position that was set up."""
    single_game.settle(rules_at(rules), games_at(game))
    return 0


def what_is_wrong(rules, game):
    """Return 0 for a possible position, else the index of the reason why it is impossible."""
    return first_impossible(rules_at(rules), games_at(game))[1]


def count(rules, game, player):
    """Return a player's count."""
    south, north = single_game.counts(rules_at(rules), games_at(game))
    return south if player == SOUTH else north


def match_margin(rules, game):
    """Return South's lead in seeds at the end of a match."""
    return single_game.match_margin(rules_at(rules), games_at(game))


def play_random(rules, game, random, turns):
    """Play a number of random turns, one match after another, and write the last game and the generator."""
    r, games, generator = rules_at(rules), games_at(game), array_at(random, np.uint64, (1,))
    random_play(r, EpisodeSettings(MATCH, SOUTH, 0, OUTCOME, ALL), games, generator, np.int64(turns), 0, 1)
    return 0


# Agents that look at most one turn ahead.


def choose_random(rules, game, random):
    """Return a uniformly random action."""
    draw = array_at(random, np.uint64, (1,))
    return random_action(rules_at(rules), load(games_at(game), 0), draw[0])


def choose_greedy(rules, game, random):
    """Return the action after which the player's count leads by most."""
    draw = array_at(random, np.uint64, (1,))
    return greedy_action(rules_at(rules), load(games_at(game), 0), draw[0])


# minimax, with a value network or without.


@written_out
def _minimax_block(block, width, plies, table_bits):
    """Return the memory of a search, its results, and the end of the block."""
    actions = 2 * width
    rows = plies * actions
    at = np.int64(block)
    frames = array_at(at, np.int64, (plies, alphabeta.FRAME_COLUMNS))
    at += whole_lines(8 * plies * alphabeta.FRAME_COLUMNS)
    keys = array_at(at, np.uint64, (plies,))
    at += whole_lines(8 * plies)
    children = array_at(at, np.uint64, (rows, NUM_COLUMNS))
    at += whole_lines(8 * rows * NUM_COLUMNS)
    scores = array_at(at, np.int64, (rows,))
    at += whole_lines(8 * rows)
    holes = array_at(at, np.int64, (rows,))
    at += whole_lines(8 * rows)
    root_values = array_at(at, np.int64, (actions,))
    at += whole_lines(8 * actions)
    progress = array_at(at, np.int64, (alphabeta.PROGRESS_COLUMNS,))
    at += whole_lines(8 * alphabeta.PROGRESS_COLUMNS)
    values = array_at(at, np.int16, (1, actions))
    at += whole_lines(2 * actions)
    numbers = array_at(at, np.int64, (4, 1))
    at += whole_lines(8 * 4)
    table = array_at(at, np.uint64, (1 << table_bits, 2))
    at += 16 << table_bits
    memory = alphabeta.AlphaBetaMemory(frames, keys, children, scores, holes, root_values, table, progress)
    results = alphabeta.AlphaBetaResults(numbers[0], values, numbers[1], numbers[2], numbers[3])
    return memory, results, at


def minimax_bytes(rules, deepest, table_bits):
    """Return the length of the block of a search to a depth. Before the first search it must be zeros.

    Its table also serves later searches with the same ruleset and network.
    """
    return _minimax_block(0, rules_at(rules).width, np.int64(deepest) + 1, np.int64(table_bits))[2]


def minimax_start(rules, deepest, table_bits, block):
    """Begin a new search."""
    block_of = _minimax_block(block, rules_at(rules).width, np.int64(deepest) + 1, np.int64(table_bits))
    memory, results, _ = block_of
    memory.progress[ACTIVE] = 0
    results.values[:] = alphabeta.ILLEGAL
    results.actions[0] = -1
    results.depths[0] = 0
    results.nodes[0] = 0
    return 0


def minimax_go_on(rules, game, random, network, deepest, table_bits, step, wants_all, turns, block, out):
    """Continue a search for about `turns` turns; return 1 when it is done.

    The search deepens by `step` turns, up to `deepest`. `out`: the action, the depth at which it was found (0
    before the first), the turns played, the value, and, if `wants_all`, the value of each of H actions.
    Values are in seeds, with a network in sixteenths of a seed.
    """
    r, games = rules_at(rules), games_at(game)
    memory, results, _ = _minimax_block(block, r.width, np.int64(deepest) + 1, np.int64(table_bits))
    rng_states = array_at(random, np.uint64, (1,))
    if network == 0:
        done = alphabeta.search_piece(
            r,
            None,
            games,
            rng_states,
            np.int64(deepest),
            np.int64(step),
            wants_all != 0,
            np.int64(turns),
            results,
            memory,
            0,
            1,
        )
    else:
        # Kernels do not use the length of a network.
        done = alphabeta.search_piece(
            r,
            array_at(network, np.int64, (1,)),
            games,
            rng_states,
            np.int64(deepest),
            np.int64(step),
            wants_all != 0,
            np.int64(turns),
            results,
            memory,
            0,
            1,
        )
    said = array_at(out, np.float64, (4 + 2 * r.width,))
    said[0], said[1] = results.actions[0], results.depths[0]
    said[2], said[3] = results.nodes[0], results.best[0]
    for action in range(2 * r.width):
        said[4 + action] = results.values[0, action]
    return done


def pack_network(weights, num_holes, network):
    """Write a packed value network from the float32 numbers of a checkpoint."""
    # Kernels do not use the lengths of these arrays.
    write_packed(array_at(weights, np.float32, (1,)), np.int64(num_holes), array_at(network, np.int64, (1,)))
    return 0


# mcts.


@written_out
def _mcts_block(block, nodes):
    """Return the memory of a search, its action and simulations, and the end of the block."""
    at = np.int64(block)
    tree = array_at(at, np.int32, (nodes, uct.NODE_COLUMNS))
    at += whole_lines(4 * nodes * uct.NODE_COLUMNS)
    estimates = array_at(at, np.float32, (nodes, 2))
    at += whole_lines(4 * nodes * 2)
    path = array_at(at, np.int32, (uct.MAX_LINE, 2))
    at += whole_lines(4 * uct.MAX_LINE * 2)
    random = array_at(at, np.uint64, (1,))
    at += LINE
    progress = array_at(at, np.int64, (uct.PROGRESS_COLUMNS,))
    at += whole_lines(8 * uct.PROGRESS_COLUMNS)
    numbers = array_at(at, np.int64, (2, 1))
    at += LINE
    return uct.UctMemory(tree, estimates, path, random, progress), numbers[0], numbers[1], at


def mcts_bytes(nodes):
    """Return the length of the block of a search, given the nodes of its tree."""
    return _mcts_block(0, np.int64(nodes))[3]


def mcts_start(nodes, block):
    """Begin a new search."""
    memory, actions, done, _ = _mcts_block(block, np.int64(nodes))
    memory.progress[ACTIVE] = 0
    actions[0] = -1
    done[0] = 0
    return 0


def mcts_go_on(rules, game, random, nodes, most, simulations, block, out):
    """Continue a search for a number of simulations, up to `most` in total; return 1 when it is done.

    `out`: the action and the number of simulations, then for each of H actions its visits and its mean reward
    for the player to move, -1 to 1.
    """
    r, games = rules_at(rules), games_at(game)
    memory, actions, run, _ = _mcts_block(block, np.int64(nodes))
    rng_states = array_at(random, np.uint64, (1,))
    done = uct.search_piece(
        r, games, rng_states, np.int64(most), None, actions, run, memory, 0, 1, np.int64(simulations)
    )
    said = array_at(out, np.float64, (2 + 4 * r.width,))
    said[0], said[1] = actions[0], run[0]
    for n in range(2, 2 + 4 * r.width):
        said[n] = 0
    player = np.int64(games[0, PLAYER_COLUMN])
    first = np.int64(memory.tree[0, uct.FIRST])
    for child in range(first, first + np.int64(memory.tree[0, uct.COUNT])):
        action = action_of(r, player, np.int64(memory.tree[child, uct.HOLE]))
        visits = np.int64(memory.tree[child, uct.VISITS])
        said[2 + 2 * action] = visits
        # A pruned child has the value minus infinity, an unvisited one infinity.
        value = np.float64(memory.estimates[child, uct.VALUE])
        said[3 + 2 * action] = value if visits > 0 and value >= -1.0 else -1.0
    return done


# Exact values.


@written_out
def _solver_block(block, rules, table_bits):
    """Return the arrays of a solver, and the end of the block.

    These are the line, the study, the attempts, the positions of other threads (always empty), whether a
    search is running, and the table.
    """
    holes = 2 * rules.width
    plies = STALL_LIMIT * (holes * rules.seeds + 1) + 2
    at = np.int64(block)
    words = array_at(at, np.uint64, (plies, proof_search.NUM_WORDS))
    at += whole_lines(8 * plies * proof_search.NUM_WORDS)
    nums = array_at(at, np.int64, (plies, proof_search.NUM_NUMS))
    at += whole_lines(8 * plies * proof_search.NUM_NUMS)
    turn_words = array_at(at, np.uint64, (plies * holes, proof_search.NUM_WORDS))
    at += whole_lines(8 * plies * holes * proof_search.NUM_WORDS)
    turn_nums = array_at(at, np.int64, (plies * holes, proof_search.NUM_TURN_NUMS))
    at += whole_lines(8 * plies * holes * proof_search.NUM_TURN_NUMS)
    registers = array_at(at, np.int64, (proof_search.NUM_REGISTERS,))
    at += whole_lines(8 * proof_search.NUM_REGISTERS)
    games = array_at(at, np.uint64, (1 + holes, NUM_COLUMNS))
    at += whole_lines(8 * (1 + holes) * NUM_COLUMNS)
    rows = array_at(at, np.int64, (1 + holes, study.ROW_COLUMNS))
    at += whole_lines(8 * (1 + holes) * study.ROW_COLUMNS)
    window = array_at(at, np.int64, (study.WINDOW_COLUMNS,))
    at += whole_lines(8 * study.WINDOW_COLUMNS)
    under_way = array_at(at, np.int64, (1,))
    at += LINE
    busy = array_at(at, np.uint64, (1,))
    at += LINE
    attempts = array_at(at, np.uint64, (NUM_ATTEMPTS,))
    at += whole_lines(8 * NUM_ATTEMPTS)
    table = array_at(at, np.uint64, (WORDS_PER_BUCKET << table_bits,))
    at += (8 * WORDS_PER_BUCKET) << table_bits
    line = proof_search.SearchLine(words, nums, turn_words, turn_nums, registers)
    return line, study.Study(games, rows, window), attempts, busy, under_way, table, at


def solver_bytes(rules, table_bits):
    """Return the length of the block of a solver whose table has 2**table_bits buckets; it begins as zeros.

    The table serves all positions of the ruleset.
    """
    return _solver_block(0, rules_at(rules), np.int64(table_bits))[6]


def solver_start(rules, game, table_bits, block):
    """Begin to solve a position."""
    r = rules_at(rules)
    _, position, _, _, under_way, table, _ = _solver_block(block, r, np.int64(table_bits))
    study.begin(r, games_at(game), 0, position)
    read_known(r, position, 1, table)
    under_way[0] = 0
    return 0


def solver_go_on(rules, wants_all, nodes, table_bits, block, out):
    """Continue a search for about `nodes` nodes; return 1 when it is done.

    It finds the value of every action if `wants_all`, else the best actions. `out`: the nodes searched with
    this block, the row that is being solved, and the bounds of the position and of each of H actions.
    """
    r = rules_at(rules)
    line, position, attempts, busy, under_way, table, _ = _solver_block(block, r, np.int64(table_bits))
    registers, window = line.registers, position.window
    last = registers[proof_search.NODES] + nodes
    is_done = 0
    while registers[proof_search.NODES] < last:
        if not under_way[0]:
            row = study.next_window(position, wants_all != 0)
            if row < 0:
                is_done = 1
                break
            game = load(position.games, row)
            beta = window[study.BETA] - owned_margin(game, game.player)
            proof_search.start(r, position.games, row, 1, line, beta)
            under_way[0] = 1
        game = load(position.games, window[study.ROW])
        left = last - registers[proof_search.NODES]
        proof_search.search(r, table, attempts, busy, line, left)
        if registers[proof_search.DONE]:
            under_way[0] = 0
            answer = owned_margin(game, game.player) + registers[proof_search.ANSWER]
            study.take_answer(position, answer)
    said = array_at(out, np.float64, (4 + 4 * r.width,))
    said[0], said[1] = registers[proof_search.NODES], window[study.ROW]
    for row in range(1 + 2 * r.width):
        said[2 + 2 * row], said[3 + 2 * row] = bounds_now(r, position, row, 1, table)
    return is_done


# Functions that LLVM would otherwise import.

_SQRT_2 = 1.4142135623730951
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_L1, _L2, _L3, _L4 = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
)
_L5, _L6, _L7 = 1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01


def log(number):
    """Return the natural logarithm of a number of at least 1, within one unit in the last place.

    After fdlibm's __ieee754_log (Sun Microsystems 1993).
    """
    exponent = 0
    for step in (32, 16, 8, 4, 2, 1):
        power = np.float64(1 << step)
        if number >= power:
            number /= power
            exponent += step
    if number > _SQRT_2:
        number *= 0.5
        exponent += 1
    f = number - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    r = w * (_L2 + w * (_L4 + w * _L6)) + z * (_L1 + w * (_L3 + w * (_L5 + w * _L7)))
    half = 0.5 * f * f
    k = np.float64(exponent)
    return k * _LN2_HIGH - ((half - (s * (half + r) + k * _LN2_LOW)) - f)


PROVIDED = {"llvm.log.f64": log}
"""Functions of a float64 that LLVM calls and WebAssembly lacks."""

EXPORTS = (
    start,
    legal,
    play,
    timeline,
    next_round,
    settle,
    what_is_wrong,
    count,
    match_margin,
    play_random,
    choose_random,
    choose_greedy,
    minimax_bytes,
    minimax_start,
    minimax_go_on,
    pack_network,
    mcts_bytes,
    mcts_start,
    mcts_go_on,
    solver_bytes,
    solver_start,
    solver_go_on,
)
"""The functions that ``mancala.wasm`` exports, in addition to its memory and the start of the heap."""
