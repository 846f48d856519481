"""Runs on a real file system survive kills, a full disk, and damaged and foreign files."""

import json
import os
import random
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from error_checks import names, raises
from rich.console import Console
from small_disk import largest_file
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

from mancala_env import agents
from mancala_env.networks.checkpoint import read_identity
from mancala_env.training import run as command
from mancala_env.training.config import CONFIGS, TrainConfig, read_config
from mancala_env.training.loggers import Events, JsonLines
from mancala_env.training.run_folder import RunFolder, RunFolderError, write_atomically

UPDATE = 256  # turns: 64 games, 4 turns each


def words(folder: Path, *more: str) -> list[str]:
    """Return the arguments of a run whose updates take milliseconds, with a checkpoint after each."""
    return [
        "--config", str(CONFIGS / "smoke.yaml"), "--folder", str(folder), "--name", "run", "--threads", "1",
        "--selfplay.games", "64", "--ppo.steps", "4", "--ppo.batch_size", "128", "--network.hidden", "8",
        "--checkpoint_minutes", "0", "--evaluation.games", "2", "--evaluation.opponents", "[random]",
        *more,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three updates; copy it before you damage it."""
    folder = tmp_path_factory.mktemp("runs")
    assert command.main(words(folder, "--environment_steps", str(3 * UPDATE))) == 0
    return folder / "run"


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def resume(run: Path, updates: int, *more: str) -> int:
    return command.main(["--resume", str(run), "--environment_steps", str(updates * UPDATE), *more])


def turns_of(run: Path) -> list[int]:
    return [
        json.loads(line)["environment_steps"]
        for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    ]


def damage(path: Path, member: str) -> None:
    """Change one byte in the middle of a member."""
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo(member)
    content[info.header_offset + 30 + len(member) + info.compress_size // 2] ^= 0xFF
    path.write_bytes(content)


# Kills

# Imports and compiles once, then starts and kills the run repeatedly. It measures the time of a start on this
# machine, so that a kill may come at any moment of a start, an update or a save.
_KILLER = """
import os, random, signal, sys, time
from pathlib import Path
from mancala_env.training import run as command

seed, kills, folder, *arguments = sys.argv[1:]
random.seed(int(seed))
checkpoints = Path(folder, "checkpoints")
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
assert command.main([*arguments, "--name", "warm", "--environment_steps", "1"]) == 0
pace = None
for _ in range(int(kills)):
    started = time.monotonic()
    child = os.fork()
    if not child:
        os._exit(command.main(arguments))
    if pace is None:
        while not list(checkpoints.glob("*.zip")):
            if time.monotonic() - started > 300:
                os.kill(child, signal.SIGKILL)
                sys.exit("no checkpoint in 300 s")
            assert os.waitpid(child, os.WNOHANG) == (0, 0), "the run ended by itself"
            time.sleep(0.005)
        pace = time.monotonic() - started
    time.sleep(random.uniform(0, 1.5 * pace))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print(max(path.name for path in checkpoints.glob("*.zip")), file=sys.stderr)
    arguments = ["--resume", folder]
"""


@pytest.mark.slow
def test_a_run_killed_at_any_moment_resumes_from_its_last_checkpoint(tmp_path: Path) -> None:
    seed, run = random.randrange(10**6), tmp_path / "run"
    said = subprocess.run(
        [
            sys.executable, "-c", _KILLER, str(seed), "6", str(run),
            *words(tmp_path, "--environment_steps", "100000000"),
        ],
        capture_output=True, text=True, check=True, cwd=CONFIGS.parent,
    )  # fmt: skip
    newest = said.stderr.split()
    assert len(newest) == 6
    assert newest == sorted(newest), f"seed {seed}: a kill lost a checkpoint"
    folder = RunFolder(run)
    whole, faults = folder.examine()
    assert not faults, f"seed {seed}"
    turns = read_identity(whole[-1]).environment_steps
    assert whole[-1].name == newest[-1]
    for path in whole:
        agents.make(str(path), read_identity(path).ruleset)
    # At most one interval between checkpoints is lost, here an update.
    logged = [
        line
        for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        if line.endswith("}")
    ]
    assert max([0, *(json.loads(line)["environment_steps"] for line in logged)]) <= turns + UPDATE, (
        f"seed {seed}"
    )
    assert resume(run, turns // UPDATE + 2) == 0
    assert read_identity(run / "final.zip").environment_steps == turns + 2 * UPDATE
    assert turns_of(run)[-2:] == [turns + UPDATE, turns + 2 * UPDATE]
    assert not list(run.rglob(".*")), "what was half written is gone"


def test_figures_that_no_checkpoint_knows_are_cut_off_on_resume(run: Path) -> None:
    """A run that is killed between an update and its checkpoint repeats that update."""
    newest = RunFolder(run).saved()[-1]  # the final checkpoint too
    newest.unlink()
    assert turns_of(run) == [UPDATE, 2 * UPDATE, 3 * UPDATE]
    assert resume(run, 4) == 0
    assert turns_of(run) == [UPDATE, 2 * UPDATE, 3 * UPDATE, 4 * UPDATE]


def test_half_a_line_of_a_killed_run_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"turns": 1}\n{"turns": 2, "tra', encoding="utf-8")
    log = JsonLines(path)
    log.write({"loss": 0.5, "name": "text"}, {}, 3)
    log.close()
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == [
        {"turns": 1},
        {"environment_steps": 3, "loss": 0.5},
    ]


def test_tensorboard_reads_what_is_logged(tmp_path: Path) -> None:
    log = Events(tmp_path)
    log.write({"train/loss": 0.25, "pool/greedy": 1}, {}, 256)
    log.write({"train/loss": 0.125}, {}, 512)
    log.close()
    (path,) = tmp_path.iterdir()
    read = [
        (event.step, value.tag, value.tensor.float_val[0])
        for event in EventFileLoader(str(path)).Load()
        for value in event.summary.value
    ]
    assert read == [(256, "pool/greedy", 1.0), (256, "train/loss", 0.25), (512, "train/loss", 0.125)]


# A full disk


def test_a_full_disk_ends_the_run_and_every_file_stays_whole(run: Path, capsys) -> None:
    kept = {path: path.read_bytes() for path in run.rglob("*.zip")}
    smallest = min(len(content) for content in kept.values())
    with largest_file(smallest - 1):
        assert resume(run, 5) == 2
    said = capsys.readouterr().err
    assert f"{run}/checkpoints/" in said
    assert "File too large" in said
    assert "Traceback" not in said
    assert {path: path.read_bytes() for path in kept} == kept
    assert not list(run.rglob(".*"))
    assert resume(run, 5) == 0
    assert read_identity(run / "final.zip").environment_steps == 5 * UPDATE


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system lacks /dev/full")
def test_a_log_that_cannot_be_written_ends_the_run_and_what_was_learned_is_saved(run: Path, capsys) -> None:
    metrics = run / "metrics.jsonl"
    metrics.unlink()
    metrics.symlink_to("/dev/full")  # every write is ENOSPC
    assert resume(run, 9, "--checkpoint_minutes", "100") == 2
    said = capsys.readouterr().err
    assert names(said, [metrics, "No space left on device"])
    assert "Traceback" not in said
    newest = RunFolder(run).saved()[-1]
    assert read_identity(newest).environment_steps == 4 * UPDATE, "the update that could not be logged"
    metrics.unlink()
    assert resume(run, 6) == 0
    assert turns_of(run) == [5 * UPDATE, 6 * UPDATE]


def test_tensorboards_file_on_a_full_disk_is_named(tmp_path: Path) -> None:
    with largest_file(100):
        log = Events(tmp_path)
        log.write({"loss": 0.25}, {}, 1)
        with raises(RunFolderError, "File too large"):
            log.write({"loss": 0.25}, {}, 2)
        log.close()


def test_nothing_is_left_of_a_file_that_did_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")
    with largest_file(1000), raises(RunFolderError, "File too large"):
        write_atomically(path, bytes(5000))
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


# Folders that cannot be written


def test_a_folder_where_nothing_can_be_made_is_named(capsys) -> None:
    """No user may create folders in /proc, not even root."""
    assert command.main(words(Path("/proc/mancala"))) == 2
    assert names(capsys.readouterr().err, "/proc/mancala")


def test_a_link_to_a_missing_disk_is_named(tmp_path: Path) -> None:
    (tmp_path / "runs").symlink_to(tmp_path / "missing")
    with raises(RunFolderError, tmp_path / "runs"):
        RunFolder.create(TrainConfig(folder=str(tmp_path / "runs"), name="first"))


def test_a_folder_of_checkpoints_that_is_gone_ends_the_run_with_its_name(run: Path, capsys) -> None:
    shutil.rmtree(run / "checkpoints")
    (run / "checkpoints").write_text("a file", encoding="utf-8")
    assert resume(run, 5) == 2
    said = capsys.readouterr().err
    assert f"{run}/checkpoints/" in said
    assert "Not a directory" in said
    assert read_identity(run / "final.zip").environment_steps == 3 * UPDATE


# Damaged and foreign files


@pytest.mark.parametrize(
    "member", ["data", "policy.pth", "policy.optimizer.pth", "pytorch_variables.pth", "identity.json"]
)
def test_resume_leaves_out_a_checkpoint_with_a_damaged_member(run: Path, member: str, capsys) -> None:
    damage(run / "final.zip", member)
    assert resume(run, 4) == 0
    said = capsys.readouterr().out
    assert f"Skipped: {run}/final.zip" in said
    assert member in said
    assert f"Resuming from {run}/checkpoints/{2 * UPDATE:010d}.zip" in said
    assert read_identity(run / "final.zip").environment_steps == 4 * UPDATE


def test_a_run_without_an_undamaged_checkpoint_names_the_error_of_each(run: Path, capsys) -> None:
    before = (run / "config.yaml").read_bytes()
    for path in run.rglob("*.zip"):
        path.write_bytes(path.read_bytes()[:1000])
    assert resume(run, 4) == 2
    said = capsys.readouterr().err
    assert names(said, [run, *run.rglob("*.zip")])
    assert (run / "config.yaml").read_bytes() == before


def test_a_checkpoint_that_only_plays_is_not_gone_on_from(run: Path, capsys) -> None:
    """Such as RLlib's: network and identity, but no training state."""
    for path in run.rglob("*.zip"):
        with zipfile.ZipFile(path) as archive:
            content = {name: archive.read(name) for name in ("policy.pth", "identity.json")}
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in content.items():
                archive.writestr(name, data)
    agents.make(str(run / "final.zip"), "layli_goobalay")
    assert resume(run, 4) == 2
    assert names(capsys.readouterr().err, f"{run}/final.zip")


def test_a_foreign_zip_among_the_checkpoints_is_skipped(run: Path, capsys) -> None:
    with zipfile.ZipFile(run / "checkpoints" / "9999999999.zip", "w") as archive:
        archive.writestr("readme", "hello")
    (run / "checkpoints" / "holiday.zip").write_bytes(b"a photo")
    assert resume(run, 4) == 0
    said = capsys.readouterr().out
    assert names(said, ["9999999999.zip", "holiday.zip", f"{run}/final.zip"])


def test_damaged_checkpoints_in_the_pool_end_the_run_before_it_starts(
    run: Path, tmp_path: Path, capsys
) -> None:
    opponent = tmp_path / "opponent.zip"
    shutil.copy(run / "final.zip", opponent)
    damage(opponent, "policy.pth")
    more = ("--pool.share", "0.5", "--pool.opponents", f"[{opponent}]")
    assert command.main(words(tmp_path / "other", "--environment_steps", "512", *more)) == 2
    said = capsys.readouterr().err
    assert names(said, opponent)
    assert "Traceback" not in said


def test_numbers_that_run_away_leave_the_last_good_checkpoint(tmp_path: Path) -> None:
    """The message names the last finite checkpoint. The run resumes from it with a lower learning rate."""
    rates = ("--ppo.learning_rate", "1e18", "--ppo.final_learning_rate", "1e18")
    config, _ = read_config(words(tmp_path, "--environment_steps", str(50 * UPDATE), *rates))
    folder = RunFolder.create(config)
    with pytest.raises(command.TrainingDiverged) as caught:
        command.train(config, folder, Console(quiet=True))
    whole, faults = folder.examine()
    assert not faults
    assert names(str(caught.value), whole[-1])
    for path in whole:
        agents.make(str(path), config.game)  # rejects weights that are not finite
    lower = ("--ppo.learning_rate", "1e-4", "--ppo.final_learning_rate", "1e-4")
    turns = read_identity(whole[-1]).environment_steps
    assert resume(folder.path, turns // UPDATE + 1, *lower) == 0
    assert read_identity(folder.path / "final.zip").environment_steps == turns + UPDATE
