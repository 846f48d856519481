"""Tables are written as Markdown that the readers of the tests read."""

from pathlib import Path

from error_checks import raises
from markdown_tables import rows_below, rows_by_name

from tools.markdown import table


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    rows = [["`a|b`, a note", "12"], ["`c`", ""], ["total", "12"]]
    written = table(("kind", "games"), rows, ("games",))
    page = tmp_path / "page.md"
    other = "| y |\n|---|\n| 2 |\n"
    page.write_text(f"# Page\n\n{other}\n## Games\n\nText.\n\n{written}\n\n{other}\n## End\n")
    assert rows_below(page, "Games") == rows
    assert rows_by_name(page, "Games") == {"a|b": ["12"], "c": [""]}
    assert rows_below(page, "Page") == [["2"]]
    assert written.splitlines()[1] == "| --- | ---: |"
    for heading in ("Rounds", "End"):
        with raises(AssertionError, heading):
            rows_below(page, heading)
