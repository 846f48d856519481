"""Output whose reader is gone never stops a program."""

import os
import pty
import subprocess
import sys

import pytest

WRITES = 100
"""More than the 30 that Textual's thread lets wait."""

PROGRAM = f"""
import os, sys
from textual.drivers._writer_thread import WriterThread
from mancala_env._util.output_streams import lasting_output

before = [sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__]
with lasting_output() as streams:
    input()  # until the terminal is closed
    thread = WriterThread(sys.__stderr__)  # as Textual's driver makes it
    thread.start()
    for _ in range({WRITES}):
        thread.write("text")
    thread.stop()
    assert [stream.has_reader for stream in streams] == [True, False]
assert [sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__] == before
print("ended")
"""


def test_a_thread_that_writes_to_a_closed_terminal_goes_on():
    pytest.importorskip("textual")
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
        start_new_session=True,
    )
    os.close(terminal)
    os.close(master)
    try:
        assert process.communicate("\n", timeout=120)[0] == "ended\n"
    finally:
        process.kill()
        process.wait()
