"""The files of configs/cluster and the commands of docs/guides/cluster.md, checked without a cluster.

They are compared with Ray's schema, the options of the program, and each other.
"""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("ray", reason="Ray is not installed: mancala-env[ray]")
from ray.autoscaler._private.util import prepare_config, validate_config

from mancala_env.training.config import CONFIG_FILE, CONFIGS, read_config
from mancala_env.training.rllib.cluster_config import RayConfig

ROOT = CONFIGS.parent
CLUSTER = CONFIGS / "cluster"
CLAIM, JOB = yaml.safe_load_all((CLUSTER / "rayjob.yaml").read_text(encoding="utf-8"))
DOCKERFILE = (CLUSTER / "Dockerfile").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "guides" / "cluster.md").read_text(encoding="utf-8")

HEAD = JOB["spec"]["rayClusterSpec"]["headGroupSpec"]
(WORKERS,) = JOB["spec"]["rayClusterSpec"]["workerGroupSpecs"]


def parsed(words: list[str]) -> RayConfig:
    return read_config(words, RayConfig, "rllib_train.py")[0]


def in_this_checkout(command: str) -> list[str]:
    """Return the arguments of a run with paths of this checkout instead of the image's."""
    (there,) = re.findall(r"^WORKDIR (\S+)$", DOCKERFILE, re.MULTILINE)
    python, program, *words = (word.replace(there, str(ROOT)) for word in shlex.split(command))
    assert (python, Path(program)) == ("python", ROOT / "training" / "rllib_train.py")
    return words


def container(group: dict[str, Any]) -> dict[str, Any]:
    (only,) = group["template"]["spec"]["containers"]
    return only


def test_the_launchers_file_is_one_that_ray_up_takes() -> None:
    cluster = yaml.safe_load((CLUSTER / "ray_up.yaml").read_text(encoding="utf-8"))
    prepared = prepare_config(cluster)
    validate_config(prepared)
    (kind,) = prepared["available_node_types"].values()
    machines = len(cluster["provider"]["worker_ips"])
    assert kind["min_workers"] == kind["max_workers"] == prepared["max_workers"] == machines
    # The other commands run what setup_commands install.
    cloned = "mancala-env"
    assert cluster["setup_commands"][0].startswith(f"test -d {cloned} || git clone https://")
    for command in (*cluster["head_start_ray_commands"], *cluster["worker_start_ray_commands"]):
        assert f"{cloned}/.venv/bin/ray st" in command


@pytest.mark.parametrize(
    "text",
    [DOCKERFILE, PAGE, (CLUSTER / "ray_up.yaml").read_text(encoding="utf-8")],
    ids=["Dockerfile", "page", "launcher"],
)
def test_what_is_installed_exists(text: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    installs = re.findall(r'pip install .*-c (\S+) -e "\.\[(\w+)\]"', text)
    assert installs
    for constraints, extra in installs:
        assert (ROOT / constraints).is_file()
        assert extra in extras


def test_the_job_is_of_the_kind_that_kuberay_knows() -> None:
    assert (JOB["apiVersion"], JOB["kind"]) == ("ray.io/v1", "RayJob")
    # KubeRay pastes the command into `if ...; then ...; else ray job submit ... -- COMMAND ; fi`.
    plain = shlex.shlex(JOB["spec"]["entrypoint"], posix=True, punctuation_chars=True)
    assert not [word for word in plain if set(word) <= set("();<>|&")]
    assert "\n" not in JOB["spec"]["entrypoint"]


def test_the_job_runs_the_ray_that_the_image_holds() -> None:
    pins = dict(
        re.findall(r"^(\S+)==(\S+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert JOB["spec"]["rayClusterSpec"]["rayVersion"] == pins["ray"]
    (image,) = {container(group)["image"] for group in (HEAD, WORKERS)}
    assert f"-t {image} -" in DOCKERFILE
    assert f"-t {image} -" in PAGE
    assert f"docker push {image}" in PAGE


def test_the_jobs_command_is_one_that_the_program_takes(tmp_path: Path) -> None:
    words = in_this_checkout(JOB["spec"]["entrypoint"])
    config = parsed(words)
    assert config.address == "auto"
    # The same with --resume in place of the file's options.
    (tmp_path / CONFIG_FILE).write_text(config.to_yaml(), encoding="utf-8")
    for option in ("--config", "--folder", "--name"):
        at = words.index(option)
        del words[at : at + 2]
    assert parsed(["--resume", str(tmp_path), *words]) == config


def test_the_job_fits_into_its_cluster() -> None:
    config = parsed(in_this_checkout(JOB["spec"]["entrypoint"]))
    for group in (HEAD, WORKERS):
        resources = container(group)["resources"]
        assert resources["requests"] == resources["limits"]
    assert HEAD["rayStartParams"]["num-cpus"] == "0"
    assert config.num_learners == 0, "the learner is in the command's own process, on the head"
    assert config.threads == int(container(HEAD)["resources"]["limits"]["cpu"])
    cpus = int(container(WORKERS)["resources"]["limits"]["cpu"])
    assert WORKERS["minReplicas"] <= WORKERS["replicas"] <= WORKERS["maxReplicas"]
    assert cpus % config.num_cpus_per_env_runner == 0
    assert config.resources == {"CPU": WORKERS["replicas"] * cpus, "GPU": 0}


def test_the_runs_folder_lies_on_the_volume() -> None:
    spec = HEAD["template"]["spec"]
    volumes = {volume["name"]: volume["persistentVolumeClaim"]["claimName"] for volume in spec["volumes"]}
    (mount,) = container(HEAD)["volumeMounts"]
    assert CLAIM["kind"] == "PersistentVolumeClaim"
    assert volumes == {mount["name"]: CLAIM["metadata"]["name"]}
    assert parsed(in_this_checkout(JOB["spec"]["entrypoint"])).folder == mount["mountPath"]
    # The user of the image may write there.
    assert f"--uid {spec['securityContext']['fsGroup']} " in DOCKERFILE
    assert f"job-name={JOB['metadata']['name']} " in PAGE


def test_the_pages_commands_are_ones_that_the_program_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    commands = re.findall(r"^python training/rllib_train\.py (.*?)(?:  #.*)?$", PAGE, re.MULTILINE)
    assert len(commands) >= 4
    for words in map(shlex.split, commands):
        if "--help" not in words and "--resume" not in words:  # --resume needs an existing run
            parsed(words)
    options = set(re.findall(r"`--([a-z_.]+)[ `]", PAGE))
    assert {"num_env_runners", "address", "threads"} < options
    for option in options - {"resume"}:
        name = option.partition(".")[0]
        assert name in RayConfig.__dataclass_fields__, option
