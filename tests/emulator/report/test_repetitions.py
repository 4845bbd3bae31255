"""Repeated lines of an explanation are shown once, counted, and with their end."""

from __future__ import annotations

from emulator.report.screens.entry import Line, collapse_repetitions


def selection(*texts: str, shown: int = -1) -> list[Line]:
    """Return lines, a second apart; the chain shows one of them."""
    return [
        Line(at * 1_000_000, text, at, shown=at == shown) for at, text in enumerate(texts, start=1)
    ]


def collapsed(*texts: str, shown: int = -1) -> list[str]:
    """Return an explanation with its repetitions collapsed."""
    return [line.text for line in collapse_repetitions(selection(*texts, shown=shown))]


def attempt(number: int) -> list[str]:
    """Return one round of a commit that is tried again and again."""
    return [
        f"a processes orders-0 {number * 2}..{number * 2 + 1} (2 records)",
        f"a sends commit a.1#{number} (auto): orders-0 = {number * 2 + 2} in generation 1",
        f"a learns that commit a.1#{number} failed: COORDINATOR_LOAD_IN_PROGRESS",
        f"2 polls have returned {number * 2 + 2}..{number * 2 + 3} (2 records) of orders-0 to a",
    ]


def test_a_refrain_of_several_lines_is_one_line_with_its_count_and_its_end():
    """Offsets, counts and commits may differ; the first and the last time are shown in full."""
    rounds = [line for number in range(50) for line in attempt(number)]
    lines = list(collapse_repetitions(selection("begins", *rounds, "crashes")))

    assert [
        "begins",
        *attempt(0),
        f"these 4 lines 49 more times, until here; the last of each: {'; '.join(attempt(49))}",
        "crashes",
    ] == [line.text for line in lines]
    assert (201_000_000, 201) == (lines[-2].at_us, lines[-2].event)


def test_a_refrain_may_need_one_poll_or_several():
    """Their number may differ, like that of the records."""
    polls = ["poll returns 7 (1 record)", "2 polls have returned 7..8 (2 records)"]
    polls.append("31 polls have returned 7..37 (31 records)")
    rounds = [
        line
        for number in range(9)
        for line in (*attempt(number)[:3], f"{polls[number % 3]} of orders-0 to a")
    ]

    assert 5 == len(collapsed(*rounds))


def test_a_refrain_may_lose_its_step():
    """What has the same lines in another order, or one more of them, goes on with it."""
    rounds = [line for number in range(9) for line in attempt(number)]
    rest = [*reversed(attempt(9)), *attempt(10), attempt(11)[0]]
    lines = collapsed(*rounds, *rest)

    assert 5 == len(lines)
    assert lines[-1].startswith(
        "lines like these 4, 41 more of them until here; the last of each: "
    )
    assert attempt(11)[0] in lines[-1]
    assert attempt(10)[1] in lines[-1]


def test_a_line_that_comes_alone_is_counted_as_before():
    """Commits that differ only in their names are not shown twice."""
    lines = [f"a learns that commit a.1#{number} failed: NETWORK_EXCEPTION" for number in range(5)]

    assert [lines[0], "the same 4 more times, until here"] == collapsed(*lines)


def test_lines_of_the_chain_are_always_shown():
    """A line of the chain ends the repetition."""
    rounds = [line for number in range(20) for line in attempt(number)]
    lines = collapsed(*rounds, shown=40)

    assert rounds[39] in lines
    assert 20 > len(lines)


def test_what_differs_in_names_is_no_refrain():
    """Another consumer, broker, partition or error is another line."""
    lines = [
        f"a{number} learns that commit c failed: {error}"
        for number in range(4)
        for error in ("NOT_COORDINATOR", "NETWORK_EXCEPTION")
    ]

    assert lines == collapsed(*lines)


def test_twice_is_no_refrain():
    """A line saved is not worth a puzzle."""
    lines = [*attempt(0), *attempt(1)]

    assert lines == collapsed(*lines)
