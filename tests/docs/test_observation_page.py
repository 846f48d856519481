"""The tables of docs/reference/observations.md agree with the observers."""

import pytest
from markdown_tables import DOCS, rows_below

from mancala_env.observations import KINDS, Observer, kinds_of
from mancala_env.rulesets import lookup

NAME = "reference/observations.md"
PAGE = (DOCS / NAME).read_text(encoding="utf-8")


def numbers(observer: Observer, part) -> list[int]:
    return [part.stop - part.start, part.low, part.high]


def evaluated(row: list[str], observer: Observer) -> list[int]:
    """Return size, lowest and highest value of a row, with the numbers of an observer's ruleset."""
    ruleset = observer.ruleset
    known = {"H": ruleset.num_holes, "T": ruleset.total_seeds, "A": observer.num_actions}
    known["F"] = Observer(ruleset).shape[0]
    return [eval(cell.replace("6F", "6 * F"), {}, known) for cell in row[1:4]]


@pytest.mark.parametrize("name", ["layli_goobalay", "leyla", "gabata_five_holes", "ludii_gabata_i"])
def test_the_table_of_the_board_has_its_parts(name: str) -> None:
    observer = Observer(name)
    rows = {row[0].strip("`"): row for row in rows_below(NAME, 'The position: `"board"`')}
    optional = {"territory", "debts"} - set(observer.parts)
    assert [part for part in rows if part not in optional] == list(observer.parts)
    for part, row in rows.items():
        if part in observer.parts:
            assert evaluated(row, observer) == numbers(observer, observer.parts[part]), part


@pytest.mark.parametrize("kind", ["afterstates", "replies", "lines", "leaves"])
@pytest.mark.parametrize("num_actions", [6, 12])
def test_the_table_of_an_action_has_its_parts(kind: str, num_actions: int) -> None:
    observer = Observer("gabata_i", kind, num_actions)
    column = 4 + ["afterstates", "replies", "lines", "leaves"].index(kind)
    rows = {
        row[0].strip("`"): row
        for row in rows_below(NAME, "An action: the other kinds")
        if row[column] == "yes"
    }
    assert list(rows) == list(observer.parts)
    for part, row in rows.items():
        size, low, high = numbers(observer, observer.parts[part])
        if row[2]:
            assert evaluated(row, observer) == [size, low, high], part
        else:
            assert evaluated([*row[:2], "0", "0"], observer)[0] == size, part


def test_the_table_of_kinds_has_each_kind_with_type_and_version() -> None:
    ruleset = lookup("layli_goobalay")
    rows = {row[0].strip('`"'): row for row in rows_below(NAME, "Kinds")}
    assert tuple(rows) == KINDS == kinds_of(ruleset)
    for kind, row in rows.items():
        observer = Observer(ruleset, kind)
        assert row[1] == observer.dtype.name
        assert observer.version.startswith(row[-1].removesuffix(" and a hash"))
        assert len(row[2].split(",")) == len(observer.shape)


def test_values_are_sixteen_times_as_large_as_leads() -> None:
    leaves, values = Observer("leyla", "leaves").parts, Observer("leyla", "values").parts
    for name, part in leaves.items():
        if name.endswith("_leads"):
            other = values[name.replace("leads", "values")]
            assert (other.start, other.stop, other.high) == (part.start, part.stop, 16 * part.high)
            assert f"`{name.replace('leads', 'values')}`" in PAGE
