"""``mancala.wasm`` is built from the current kernels and plays like the native engine."""

import functools
import hashlib
import itertools
import json
import math
import shutil
import subprocess
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wasm_reference

from mancala_env.engine import turn as engine_turn
from mancala_env.engine.state import encode
from mancala_env.errors import InvalidRuleset
from mancala_env.networks.value import (
    NUM_CODES,
    NUM_UNITS,
    UNIT,
    ValueNetworkConfig,
    ValueWeights,
)
from mancala_env.rulesets import Ruleset, lookup, names
from tools.build_wasm import build, exports

SUPPORT = Path(wasm_reference.__file__).resolve().parent
DESCRIPTION = json.loads((build.WEB / build.DESCRIPTION).read_text(encoding="utf-8"))
MAKE = "make wasm rebuilds it"

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def has_linker():
    try:
        build.linker()
    except build.CannotBuild:
        return False
    return True


needs_linker = pytest.mark.skipif(not has_linker(), reason="no linker for WebAssembly (apt-get install lld)")


def browser():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Results of the native engine, as a file."""
    file = tmp_path_factory.mktemp("reference") / "reference.json"
    file.write_text(json.dumps(wasm_reference.make()), encoding="utf-8")
    return file


def in_node(folder, said):
    command = [
        "node",
        str(SUPPORT / "replay_in_node.mjs"),
        str(build.WEB / "engine.js"),
        str(folder),
        str(said),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check(found):
    assert found["differences"] == []
    assert found["counts"]["games"] == 690
    for what in ("turns", "rounds", "random", "searches", "nodes", "solved", "proved"):
        assert found["counts"][what] > 0, what


# The file is built from these sources.


@pytest.mark.generated
def test_the_file_was_made_of_the_kernels_as_they_stand():
    assert DESCRIPTION["kernels"] == build.digest_of_kernels(), MAKE


@pytest.mark.slow
@pytest.mark.generated
def test_the_description_is_what_the_package_says():
    written = {name: DESCRIPTION[name] for name in build.description()}
    assert written == json.loads(json.dumps(build.description())), MAKE


def test_the_description_belongs_to_the_file():
    content = (build.WEB / build.WASM).read_bytes()
    assert hashlib.sha256(content).hexdigest() == DESCRIPTION["wasm"]


@pytest.mark.slow
def test_the_digest_changes_with_a_kernel_and_with_a_constant_but_not_with_words(monkeypatch):
    before = build.digest_of_kernels()
    turn = vars(engine_turn.play_turn)["py_func"]
    monkeypatch.setitem(turn.__globals__, "MAX_LAPS", 999)
    assert build.digest_of_kernels() != before
    monkeypatch.undo()
    source = build.inspect.getsource

    def edited(edit):
        monkeypatch.setattr(build.inspect, "getsource", lambda f: edit(source(f)) if f is turn else source(f))
        digest = build.digest_of_kernels()
        monkeypatch.undo()
        return digest

    assert edited(lambda text: text.replace("captured = 0", "captured = 1")) != before
    assert edited(lambda text: text.replace("RULES 3", "rule three")) == before


def test_every_rule_option_is_a_choice_of_the_description_in_the_order_of_its_codes():
    for name in names():
        ruleset = lookup(name)
        codes = [
            dial["choices"].index(getattr(ruleset, dial["name"]))
            if "choices" in dial
            else getattr(ruleset, dial["name"])
            for dial in DESCRIPTION["dials"]
        ]
        assert codes == list(encode(ruleset))


def test_the_conditions_refuse_exactly_what_rulesets_refuse():
    names_of, conditions = [dial["name"] for dial in DESCRIPTION["dials"][2:]], DESCRIPTION["conditions"]
    choices = [dial["choices"] for dial in DESCRIPTION["dials"][2:]]
    for seeds, *values in itertools.product((3, 4, 5), *choices):
        dials: dict[str, Any] = {"seeds_per_hole": seeds, **dict(zip(names_of, values, strict=True))}
        broken = [
            condition
            for condition in conditions
            if dials[condition["dial"]] in condition["values"]
            and dials[condition["needs"]] not in condition["allowed"]
        ]
        try:
            Ruleset(**dials)
        except InvalidRuleset:
            assert broken, dials
        else:
            assert not broken, (dials, broken)


def test_where_no_kernel_has_changed_only_the_description_is_written(monkeypatch, tmp_path):
    for name in (build.WASM, build.DESCRIPTION):
        shutil.copy(build.WEB / name, tmp_path)
    monkeypatch.setattr(build, "digest_of_kernels", lambda: DESCRIPTION["kernels"])
    monkeypatch.setattr(build, "compile_and_link", lambda: pytest.fail("it compiled"))
    (tmp_path / build.DESCRIPTION).write_text(json.dumps(DESCRIPTION | {"rulesets": []}), encoding="utf-8")
    assert build.build(tmp_path) is False
    assert json.loads((tmp_path / build.DESCRIPTION).read_text(encoding="utf-8"))["rulesets"]


def test_without_a_linker_the_message_says_what_brings_one(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(build.shutil, "which", lambda name: None)
    monkeypatch.setattr(build.importlib.util, "find_spec", lambda name: None)
    assert build.main(["--out", str(tmp_path)]) == 2
    assert "apt-get install lld" in capsys.readouterr().err


# Code that moved from Python into kernels.


def test_the_logarithm_is_right_to_a_unit_in_the_last_place():
    numbers = [*range(1, 20_000), *(2**n + k for n in range(15, 31) for k in (-1, 0, 1))]
    for number in numbers:
        exact = math.log(number)
        assert abs(exports.log(float(number)) - exact) <= math.ulp(exact)


def test_a_value_network_is_packed_as_its_docstring_says():
    rng = np.random.default_rng(7)
    holes = 12
    shapes = ((holes, NUM_CODES, NUM_UNITS), (NUM_UNITS,), (NUM_UNITS,), (1,))
    weights = ValueWeights(*(rng.normal(size=shape).astype(np.float32) for shape in shapes))
    assert len(weights.to_bytes()) == ValueNetworkConfig(num_holes=holes).num_bytes
    embeddings, unit_biases, unit_weights, bias = (part.astype(np.float64) for part in weights)
    lowest = embeddings.min(axis=1, keepdims=True)
    scale = 65_000 / (embeddings.max(axis=1) - lowest[:, 0]).sum(axis=0)
    table = np.rint((embeddings - lowest) * scale).astype(np.uint64).reshape(holes, NUM_CODES, -1, 4)
    words = (table << (np.arange(4, dtype=np.uint64) * np.uint64(16))).sum(axis=-1, dtype=np.uint64)
    thresholds = np.rint(-(lowest.sum(axis=(0, 1)) + unit_biases) * scale)
    factors = np.rint(unit_weights / scale * (UNIT << 16))
    expected = np.concatenate(
        [np.rint(bias * (UNIT << 16)), np.stack([thresholds, factors], axis=1).ravel()]
    ).astype(np.int64)
    packed = weights.packed()
    assert packed[: len(expected)].tolist() == expected.tolist()
    assert packed[len(expected) :].view(np.uint64).tolist() == words.ravel().tolist()


# It plays like the native engine.


@pytest.mark.slow
@needs_node
def test_node_replays_what_the_native_engine_did(said):
    found = in_node(build.WEB, said)
    check(found)
    assert found["imports"] == 0


@pytest.mark.slow
@needs_node
@needs_linker
def test_a_new_build_is_the_same_file(said, tmp_path):
    made = build.compile_and_link()
    is_same = hashlib.sha256(made).hexdigest() == DESCRIPTION["wasm"]
    if build.tools() == DESCRIPTION["made_by"]:
        assert is_same, MAKE
    if is_same:  # node replays this file in the test above
        return
    (tmp_path / build.WASM).write_bytes(made)
    shutil.copy(build.WEB / build.DESCRIPTION, tmp_path)
    check(in_node(tmp_path, said))


@pytest.mark.slow
@pytest.mark.skipif(browser() is None, reason="chromium is not installed")
def test_a_browser_replays_what_the_native_engine_did(said, tmp_path):
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    for file in (
        SUPPORT / "replay.mjs",
        said,
        *(build.WEB / n for n in ("engine.js", build.WASM, build.DESCRIPTION)),
    ):
        shutil.copy(file, tmp_path)
    shutil.copytree(build.WEB / "engine", tmp_path / "engine")
    (tmp_path / "index.html").write_text("<!doctype html><title>replay</title>", encoding="utf-8")
    handler = functools.partial(QuietHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, playwright.sync_playwright() as running:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        chromium = running.chromium.launch(executable_path=browser(), args=["--no-sandbox"])
        page = chromium.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/index.html")
        page.set_default_timeout(300_000)
        found = page.evaluate(
            """async () => {
                const { Engine } = await import("/engine.js");
                const { replay } = await import("/replay.mjs");
                const engine = await Engine.fetch();
                return replay(engine, await (await fetch("/reference.json")).json());
            }"""
        )
        chromium.close()
        server.shutdown()
    check(found)


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves the folder silently, with the content type that modules need."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | {".mjs": "text/javascript"}

    def log_message(self, format, *args):
        pass
