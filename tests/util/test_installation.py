"""The command that installs an extra: it names the place that the package was installed from."""

import pytest

from mancala_env._util import installation

FOLDER = "file:///home/a%20b/mancala"
GIT = "https://example.org/mancala.git"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
WHEEL = "file:///tmp/mancala_env-0.1.0-py3-none-any.whl"


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        ({"url": FOLDER, "dir_info": {"editable": True}}, 'pip install -e "/home/a b/mancala[train]"'),
        ({"url": FOLDER, "dir_info": {}}, 'pip install "/home/a b/mancala[train]"'),
        (
            {"url": GIT, "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
            f'pip install "mancala-env[train] @ git+{GIT}@{COMMIT}"',
        ),
        ({"url": WHEEL, "archive_info": {}}, f'pip install "mancala-env[train] @ {WHEEL}"'),
        ({}, 'pip install ".[train]"'),
    ],
)
def test_the_command_names_the_origin(origin, command, monkeypatch):
    monkeypatch.setattr(installation, "_origin", lambda: origin)
    assert installation.pip_command("train") == command


@pytest.mark.parametrize("content", [None, "", "not json"])
def test_a_missing_or_damaged_record_gives_the_command_of_a_checkout(content, monkeypatch):
    class Distribution:
        @staticmethod
        def read_text(name):
            return content

        @staticmethod
        def locate_file(name):
            return "/nowhere"

    monkeypatch.setattr(installation.metadata, "distribution", lambda name: Distribution)
    assert installation.pip_command("train") == 'pip install ".[train]"'


def test_the_record_of_another_copy_is_ignored(monkeypatch):
    class Distribution:
        @staticmethod
        def read_text(name):
            return f'{{"url": "{WHEEL}", "archive_info": {{}}}}'

        @staticmethod
        def locate_file(name):
            return "/nowhere"

    monkeypatch.setattr(installation.metadata, "distribution", lambda name: Distribution)
    assert installation.pip_command("train") == 'pip install ".[train]"'
