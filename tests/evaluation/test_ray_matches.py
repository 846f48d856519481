"""Ray receives the contents of every file that a spec names, not its path."""

from pathlib import Path

import pytest
from checkpoints import LAYLI, identity_of, write_checkpoint
from error_checks import raises

from mancala_env import Position, agents
from mancala_env.evaluation.matches import play_matches
from mancala_env.evaluation.round_robin import entrant

pytest.importorskip("ray")

from mancala_env.evaluation.ray_matches import (
    InvalidMatch,
    NoCluster,
    _made,
    _portable,
    _PortableAgent,
    started_ray,
)

OWN = "from mancala_env import agents\n\n\ndef make(ruleset):\n    return agents.from_function({}, ruleset)\n"


@pytest.mark.parametrize("form", ["{}.zip", "sample:{}.zip", "policy+mcts:20:{}.zip", "python:{}.py:make"])
def test_an_agent_is_made_where_its_files_are_not(form: str, tmp_path: Path) -> None:
    """For sample: and policy+...: only the path used to be sent."""
    write_checkpoint(tmp_path / "agent.zip", identity_of())
    (tmp_path / "agent.py").write_text(
        OWN.format("lambda position: position.legal_actions[0]"), encoding="utf-8"
    )
    spec = form.format(tmp_path / "agent")
    one = entrant(spec, LAYLI)
    sent = _portable(one, LAYLI)
    assert isinstance(sent, _PortableAgent)
    for path in tmp_path.iterdir():
        path.unlink()
    there = _made(sent, LAYLI, 1)
    assert (there.spec, there.entrant) == (spec, one.identity)
    for agent in (one.agent, there):
        agent.seed(5)
    games = Position(LAYLI).games.repeat(50, axis=0)
    assert (there.act(games) == one.agent.act(games)).all()


def test_an_own_network_travels(tmp_path: Path) -> None:
    """Its identity contains its weights too, which used to look like a change of the file."""
    path = tmp_path / "mine.py"
    path.write_text(
        "import torch\n\nfrom mancala_env import agents\n\n\nclass Judge(torch.nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n"
        "        self.weight = torch.nn.Parameter(torch.zeros(1))\n\n"
        "    def forward(self, rows):\n        return rows.flatten(1)[:, :6] * self.weight\n\n\n"
        "def make(ruleset):\n    return agents.from_policy(Judge(), ruleset)\n",
        encoding="utf-8",
    )
    one = entrant(f"python:{path}:make", LAYLI)
    sent = _portable(one, LAYLI)
    assert isinstance(sent, _PortableAgent)
    assert _made(sent, LAYLI, 1).entrant == one.identity


def test_a_python_file_reads_the_files_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "action.txt").write_text("2", encoding="utf-8")
    text = "from pathlib import Path\n" + OWN.format("lambda _: int(BESIDE.read_text(encoding='utf-8'))")
    beside = "\nBESIDE = Path(__file__).with_name('action.txt').absolute()\nBESIDE.read_bytes()\n"
    (tmp_path / "mine.py").write_text(text + beside, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    sent = _portable(entrant("python:mine.py:make", LAYLI), LAYLI)
    assert isinstance(sent, _PortableAgent)
    monkeypatch.chdir("/")
    there = _made(sent, LAYLI, 1)
    assert (there.spec, there.choose(Position(LAYLI))) == ("python:mine.py:make", 2)


def test_a_file_that_changed_on_the_way_is_found(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path / "agent.zip", identity_of())
    one = entrant(f"sample:{path}", LAYLI)
    write_checkpoint(path, identity_of(kind="board"))
    with raises(InvalidMatch, "changed"):
        _portable(one, LAYLI)


def test_scripted_agents_travel_as_specs_and_own_agents_whole() -> None:
    sent = _portable(entrant("minimax:3", LAYLI), LAYLI)
    assert isinstance(sent, _PortableAgent)
    assert sent.contents == ()
    for name in ("mine.zip", "mine.safetensors", "first"):
        own = agents.from_function(lambda position: position.legal_actions[0], LAYLI, name=name)
        assert isinstance(_portable(entrant(own, LAYLI), LAYLI), bytes)
    assert play_matches(own, "random", LAYLI, games=2, seed=1).games == 2


@pytest.mark.parametrize(
    "address", ["ray://a..b:10001", f"{'h' * 70}:6379", "127.0.0.1:99999", f"127.0.0.1:{'9' * 5000}"]
)
def test_an_impossible_address_is_no_cluster(address: str) -> None:
    with raises(NoCluster, address), started_ray(address):
        pass
