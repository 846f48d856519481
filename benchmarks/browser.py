"""Compare the page in Chromium with the native engine: sizes, time to the first move, searches.

python benchmarks/browser.py

It needs Chromium (apt-get install chromium) and playwright. Searches of the same positions and sizes run in
turn on both sides; the median of five counts. Chromium is measured in wall time and the native engine in
processor time, so run it on an idle machine.
"""

import functools
import gzip
import http.server
import shutil
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import mancala_env.web
from benchmarks.timing import Row
from mancala_env import Batch, Position, agents, solver

_WEB = Path(mancala_env.web.__file__).parent
_ROUNDS = 5
_DEPTH, _SIMULATIONS, _TURNS = 10, 20_000, 1_000_000

# Each function returns [units of work, milliseconds]. The engine is loaded once.
_IN_THE_BROWSER = {
    "random turns": f"""async () => {{
        const game = engine.newGame("layli_goobalay"), start = performance.now();
        engine.playRandom(game, 1, {_TURNS});
        return [{_TURNS}, performance.now() - start];
    }}""",
    "minimax": f"""async () => {{
        const start = performance.now();
        const search = engine.minimax(engine.newGame("layli_goobalay"), {{ depth: {_DEPTH}, seed: 1 }});
        while (!search.goOn(1000));
        return [search.result.nodes, performance.now() - start];
    }}""",
    "mcts": f"""async () => {{
        const start = performance.now();
        const game = engine.newGame("layli_goobalay");
        const search = engine.mcts(game, {{ simulations: {_SIMULATIONS}, seed: 1 }});
        while (!search.goOn(1000));
        return [search.result.simulations, performance.now() - start];
    }}""",
    "solver": """async () => {
        const solver = engine.solver("leyla", { megabytes: 64 }), start = performance.now();
        const study = solver.study(engine.newGame("leyla"));
        while (!study.goOn(1000));
        const found = [study.result.nodes, performance.now() - start];
        solver.close();
        return found;
    }""",
}
_UNITS = {
    "random turns": "million turns/s",
    "minimax": "million turns/s",
    "mcts": "thousand simulations/s",
    "solver": "thousand nodes/s",
}


def _natively() -> dict[str, Callable[[], int | None]]:
    """Return the same work for the native engine.

    A function that returns None did as many units as the page.
    """
    batch = Batch("layli_goobalay", 1, seed=1, num_threads=1)
    minimax = agents.make(f"minimax:{_DEPTH}", "layli_goobalay", seed=1, num_threads=1)
    mcts = agents.make(f"mcts:{_SIMULATIONS}", "layli_goobalay", seed=1, num_threads=1)
    start = Position("layli_goobalay")

    def solve() -> int:
        new = solver.Solver("leyla", memory_mb=64, use_book=False)
        return new.solve(Position("leyla"), with_line=False).nodes

    def play() -> int:
        batch.play_random(_TURNS)
        return _TURNS

    return {
        "random turns": play,
        "minimax": lambda: minimax.choose(start) * 0 or None,
        "mcts": lambda: mcts.choose(start) * 0 or None,
        "solver": solve,
    }


def measure() -> Iterator[Row]:
    """Yield the rows; none but the sizes if Chromium is missing."""
    yield from _sizes()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return
    if chromium is None:
        return
    handler = functools.partial(_Quiet, directory=str(_WEB))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page()
            yield from _first_move(page, f"http://127.0.0.1:{server.server_port}/")
            yield from _searches(page)
            yield from _first_seed(page)
            browser.close()
    finally:
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def _sizes() -> Iterator[Row]:
    files = [path for path in _WEB.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")]
    wasm = (_WEB / "mancala.wasm").read_bytes()
    yield Row("mancala.wasm", len(wasm) / 1000, "KB")
    yield Row("mancala.wasm, gzipped", len(gzip.compress(wasm)) / 1000, "KB")
    packed = sum(len(gzip.compress(path.read_bytes())) for path in files)
    yield Row("the whole page with networks and books, gzipped", packed / 1000, "KB")


def _first_move(page: Any, address: str) -> Iterator[Row]:
    """Load the page, sow and wait for the agent greedy, several times; yield medians."""
    loads, answers = [], []
    for _ in range(_ROUNDS):
        page.goto("about:blank")
        started = time.perf_counter()
        page.goto(f"{address}#play/leyla+4,4,4,4,4,4/4,4,4,4,4,4+0-0+S")
        page.wait_for_selector("html[data-ready]")
        page.wait_for_selector(".holes button.legal")
        loads.append(time.perf_counter() - started)
        answers.append(
            page.evaluate(
                """async () => {
                    const { Engine } = await import("./engine.js");
                    const start = performance.now();
                    globalThis.engine = await Engine.fetch();
                    engine.greedy(engine.newGame("leyla"), 1);
                    return performance.now() - start;
                }"""
            )
        )
    yield Row("page opened until a hole can be pressed", 1000 * statistics.median(loads), "ms")
    yield Row("kernels fetched and compiled, and a first answer", statistics.median(answers), "ms")


def _first_seed(page: Any) -> Iterator[Row]:
    """Press a hole with a processor slowed four times, and wait for the first seed in flight."""
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 4})
    times = []
    for _ in range(_ROUNDS):
        page.reload()
        page.wait_for_selector(".holes button.legal")
        page.wait_for_timeout(500)
        page.evaluate(
            """() => { globalThis.flight = new Promise((resolve) => {
                addEventListener("pointerup", ({ timeStamp }) => {
                    const board = document.querySelector("svg.mancala");
                    const look = () => board.getAnimations({ subtree: true }).length
                        ? resolve(performance.now() - timeStamp) : requestAnimationFrame(look);
                    requestAnimationFrame(look);
                }, { capture: true, once: true });
            }); }"""
        )
        page.locator(".holes button.legal").first.click()
        times.append(page.evaluate("flight"))
        page.evaluate("localStorage.clear(); sessionStorage.clear()")
    yield Row("press until the first seed, processor slowed four times", statistics.median(times), "ms")


def _searches(page: Any) -> Iterator[Row]:
    native = _natively()
    for work in native.values():
        work()  # compile
    for name, script in _IN_THE_BROWSER.items():
        page.evaluate(f"({script})()")  # warm up: Chromium compiles fast first, then optimizes
        browser_rates, native_rates = [], []
        for _ in range(_ROUNDS):
            units, milliseconds = page.evaluate(f"({script})()")
            browser_rates.append(1000 * units / milliseconds)
            started = time.process_time()
            done = native[name]() or units
            native_rates.append(done / (time.process_time() - started))
        scale = 1e6 if _UNITS[name].startswith("million") else 1e3
        yield Row(f"{name}, Chromium", statistics.median(browser_rates) / scale, _UNITS[name])
        yield Row(f"{name}, native", statistics.median(native_rates) / scale, _UNITS[name])


if __name__ == "__main__":
    for row in measure():
        print(f"{row.name:55} {row.value:10.2f} {row.unit}", flush=True)
