"""Specs of agents: parsing, and identities from the contents of their files."""

import ast
import hashlib
import math
import subprocess
import sys
from pathlib import Path

import pytest
from checkpoints import identity_of, write_checkpoint
from error_checks import raises

import mancala_env
from mancala_env import Batch, InvalidPosition, Ruleset, agents, rulesets
from mancala_env.agents import InvalidSpec, Spec
from mancala_env.agents.scripted import RandomAgent
from mancala_env.evaluation import round_robin
from mancala_env.evaluation.round_robin import entrant
from mancala_env.search import Limit


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("random", Spec("random")),
        ("minimax:6", Spec("minimax", Limit(depth=6))),
        ("minimax:0.1s", Spec("minimax", Limit(seconds=0.1))),
        ("minimax:6+0.1s", Spec("minimax", Limit(depth=6, seconds=0.1))),
        ("minimax:5000nodes", Spec("minimax", Limit(nodes=5000))),
        ("mcts:1000", Spec("mcts", Limit(simulations=1000))),
        ("perfect", Spec("perfect")),
        ("perfect:0.5s", Spec("perfect", Limit(seconds=0.5))),
        ("perfect+traps", Spec("perfect+traps")),
        ("perfect+traps:0.5s", Spec("perfect+traps", Limit(seconds=0.5))),
        ("perfect:0.5s:n.safetensors", Spec("perfect", Limit(seconds=0.5), network="n.safetensors")),
        ("run/final.zip", Spec("checkpoint", checkpoint="run/final.zip")),
        ("sample:run/final.zip", Spec("sample", checkpoint="run/final.zip")),
        ("sample:C:/run/final.zip", Spec("sample", checkpoint="C:/run/final.zip")),
        ("policy+minimax:6:a:b.zip", Spec("policy+minimax", Limit(depth=6), "a:b.zip")),
        ("policy+mcts:0.02s:x.zip", Spec("policy+mcts", Limit(seconds=0.02), "x.zip")),
        ("python:mine.py:make", Spec("python", source="mine.py", function="make")),
        ("python:C:/mine.py:make", Spec("python", source="C:/mine.py", function="make")),
    ],
)
def test_a_spec_is_taken_apart_and_written_again(text, spec):
    assert Spec.parse(text) == spec
    assert str(spec) == text
    assert Spec.parse(spec) is spec


def test_a_time_is_written_in_one_way():
    assert str(Spec.parse("minimax:.10s")) == "minimax:0.1s"
    assert str(Spec.parse("minimax:0.00001s")) == "minimax:0.00001s"
    assert str(Spec.parse("mcts:2.s")) == "mcts:2s"
    assert math.isinf(Limit(depth=6).max_seconds)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("greedy:1", "greedy"),
        ("minimax", "minimax:DEPTH"),
        ("minimax:", ["DEPTH", 99, "''"]),
        ("minimax:0", "DEPTH"),
        ("minimax:6+7", ["DEPTH", "'6+7'"]),
        ("minimax:6+", ["DEPTH", "'6+'"]),
        ("mcts:5nodes", ["SIMULATIONS", "'5nodes'"]),
        ("minimax:5nodez", ["DEPTH", "5000nodes", "0.5s", "'5nodez'"]),
        ("minimax:0nodes", ["DEPTH", "5000nodes", "'0nodes'"]),
        ("minimax:100", 99),
        ("minimax:٣", "DEPTH"),
        ("minimax:0s", "DEPTH"),
        ("minimax:٠.١s", "DEPTH"),
        ("mcts:" + 400 * "9" + "s", "SIMULATIONS"),
        ("perfect:3", ["0.5s", "'3'"]),
        ("perfect:", "0.5s"),
        ("perfect+traps:3", ["0.5s", "'3'"]),
        ("sample:", "sample[:CHECKPOINT]"),
        ("sample:trained", "CHECKPOINT"),
        ("policy+minimax:4:trained", "CHECKPOINT"),
        ("policy+minimax:6", "policy"),
        ("policy+minimax:6:", "policy"),
        ("policy+mcts:x:y.zip", "SIMULATIONS"),
        ("python:mine.py", "python:FILE.py:FUNCTION"),
        ("python:mine.py:not a name", "python:FILE.py:FUNCTION"),
        ("python::make", "python:FILE.py:FUNCTION"),
        ("checkpoint", "checkpoint"),
        ("\0", "agent"),
        ("x" * 10_000, "agent"),
        (3, []),
        (None, []),
    ],
)
def test_what_is_no_spec_is_refused(text, said):
    with raises(InvalidSpec, said):
        Spec.parse(text)


@pytest.mark.parametrize("form", ["{}", "sample:{}", "policy+minimax:6:{}", "policy+mcts:100:{}"])
def test_the_folder_of_a_run_is_named_with_its_checkpoint(form, tmp_path):
    (tmp_path / "final.zip").touch()
    with raises(InvalidSpec, "final.zip"):
        Spec.parse(form.format(tmp_path))


FORMS = ["{}", "sample:{}", "policy+minimax:6:{}", "policy+mcts:100:{}", "python:{}:make"]


@pytest.mark.parametrize("form", FORMS)
def test_a_changed_file_is_another_entrant(form, tmp_path):
    """A retrained checkpoint with a prefix used to get the results of its predecessor."""
    path, copy = tmp_path / "policy.zip", tmp_path / "copy.zip"
    path.write_bytes(b"one")
    copy.write_bytes(b"one")
    spec = Spec.parse(form.format(path))
    before = spec.identity
    assert before == Spec.parse(form.format(copy)).identity
    assert before == form.format("sha256:" + hashlib.sha256(b"one").hexdigest()[:16])
    assert spec.files == (path,)
    path.write_bytes(b"other")
    assert spec.identity != before
    path.unlink()
    with raises(InvalidSpec, "policy.zip"):
        _ = spec.identity


@pytest.mark.parametrize("text", ["random", "greedy", "minimax:4", "mcts:0.1s", "perfect", "perfect+traps"])
def test_scripted_agents_are_filed_under_their_specs(text):
    assert Spec.parse(text).identity == text
    assert agents.make(text, "leyla").entrant == text
    assert Spec.parse(text).files == ()
    assert Spec.parse(text).ruleset is None


def test_a_spec_knows_the_ruleset_of_its_checkpoint(tmp_path):
    path = write_checkpoint(tmp_path / "agent.zip", identity_of("leyla"))
    for form in FORMS[:4]:
        assert Spec.parse(form.format(path)).ruleset == rulesets.lookup("leyla")


def test_results_of_a_retrained_checkpoint_are_not_its_predecessors(tmp_path):
    path, results = tmp_path / "agent.zip", tmp_path / "results.jsonl"
    write_checkpoint(path, identity_of("leyla", "board"))
    specs = [f"sample:{path}", "random"]
    round_robin(specs, "leyla", games=4, results=results)
    played = results.read_text(encoding="utf-8")
    round_robin(specs, "leyla", games=4, results=results)
    assert results.read_text(encoding="utf-8") == played, "the same file, the same results"
    write_checkpoint(path, identity_of("leyla", "afterstates"))
    round_robin(specs, "leyla", games=4, results=results)
    assert len(results.read_text(encoding="utf-8").splitlines()) == 2 * len(played.splitlines())


def test_an_agent_is_filed_as_the_file_that_it_was_made_of(tmp_path):
    path = write_checkpoint(tmp_path / "agent.zip", identity_of())
    agent = agents.make(str(path), "layli_goobalay")
    filed = entrant(agent, "layli_goobalay").identity
    write_checkpoint(path, identity_of(kind="board"))
    assert entrant(agent, "layli_goobalay").identity == filed
    assert entrant(str(path), "layli_goobalay").identity != filed


def test_a_spec_is_made_as_a_text_is():
    assert agents.make(Spec("minimax", Limit(depth=3)), "leyla").spec == "minimax:3"


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"kind": "minmax", "limit": Limit(depth=3)}, ["'minmax'", "'minimax'"]),
        ({"kind": "leyla"}, "'leyla'"),
        ({"kind": 3}, 3),
        ({"kind": "minimax"}, ["'minimax'", "nothing", "minimax:DEPTH"]),
        ({"kind": "random", "limit": Limit(depth=3)}, ["'random'", "limit"]),
        ({"kind": "trained", "network": "n.safetensors"}, ["network", "trained[:CHECKPOINT]"]),
        ({"kind": "perfect", "network": "n.safetensors"}, ["network", "perfect[:SECONDSs[:NETWORK]]"]),
        ({"kind": "policy+minimax", "limit": Limit(depth=3)}, ["limit", "policy+minimax:DEPTH:CHECKPOINT"]),
        ({"kind": "python", "source": "mine.py"}, ["source", "python:FILE.py:FUNCTION"]),
        ({"kind": "checkpoint"}, ["'checkpoint'", "nothing", "a path to a checkpoint"]),
        (
            {"kind": "mcts", "limit": Limit(simulations=9), "table": "t.json"},
            ["limit, table", "mcts:SIMULATIONS"],
        ),
    ],
    ids=str,
)
def test_a_spec_whose_parts_fit_no_agent_is_refused(parts, said):
    with raises(InvalidSpec, said):
        Spec(**parts)


def imported(module: Path) -> set[str]:
    """Return the modules of agents/ that a module imports anywhere."""
    found = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        found |= {name.rpartition(".")[2] for name in names if name.startswith("mancala_env.agents.")}
    return found


def test_no_module_of_agents_is_in_a_circle():
    folder = Path(mancala_env.__file__).parent / "agents"
    needs = {path.stem: imported(path) for path in folder.glob("*.py") if path.stem != "__init__"}
    while free := [name for name, wanted in needs.items() if not wanted & needs.keys()]:
        for name in free:
            del needs[name]
    assert not needs


def test_a_kind_is_loaded_when_it_is_asked_for():
    code = (
        "import sys; from mancala_env import agents; agents.make('random', 'leyla'); "
        "print([name for name in sys.modules if name in ('torch', 'mancala_env.search.uct')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    "spec", ["minimax:1", "mcts:1", "match+mcts:1", "trained", "value+mcts:1", "policy+mcts:1", "perfect"]
)
@pytest.mark.parametrize(
    ("other", "said"),
    [
        ("layli_goobalay_8", ["game 0", "layli_goobalay", "holes"]),
        ("leyla_gobale_ii", ["game 0", "layli_goobalay", "seeds"]),
    ],
)
def test_games_of_another_board_or_of_more_seeds_are_refused(spec, other, said):
    agent = agents.make(spec, "layli_goobalay", num_threads=1)
    with raises(InvalidPosition, said):
        agent.act(Batch(other, 2, seed=1).games)


OWN = Ruleset(name="own", row_width=4, seeds_per_hole=3)


@pytest.mark.parametrize("ruleset", ["leyla", OWN], ids=str)
@pytest.mark.parametrize("spec", ["random", "minimax:3", "mcts:0.1s", "perfect"])
def test_the_repr_of_an_agent_evaluates_to_it(spec, ruleset):
    agent = agents.make(spec, ruleset, seed=1)
    again = eval(repr(agent), {"agents": agents, "Ruleset": Ruleset})
    assert (type(again), again.entrant, again.ruleset) == (type(agent), agent.entrant, agent.ruleset)


def test_the_repr_of_an_agent_without_a_spec_says_so():
    made = [
        agents.from_function(lambda position: position.legal_actions[0], "leyla", name="first"),
        RandomAgent("leyla", spec="random", seed=1),
    ]
    for agent in made:
        assert repr(agent).startswith("<")
        assert repr(agent).endswith(">")
        assert agent.spec in repr(agent)
        assert "leyla" in repr(agent)
