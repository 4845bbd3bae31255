"""Random numbers by address."""

from __future__ import annotations

import itertools
import re
from statistics import fmean

from hypothesis import given
from hypothesis import strategies as st

from emulator.world.draws import base64_id, draw, stream_key, text_id
from protocols.offsets_topic.records.wire import uuid_bytes, uuid_text

keys = st.integers(0, 2**64 - 1)
addresses = st.integers(0, 2**62)


def test_draws_are_those_of_splitmix64():
    """With key 0 the addresses 1, 2, 3 give the published outputs of the generator of seed 0."""
    published = (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F)

    assert [(number >> 11) / 2**53 for number in published] == [draw(0, k) for k in (1, 2, 3)]


@given(keys, addresses)
def test_a_draw_lies_in_the_unit_interval_without_its_end(key, address):
    """Wherever it is made."""
    assert 0 <= draw(key, address) < 1


@given(keys, st.permutations(range(20)))
def test_the_order_in_which_draws_are_made_does_not_matter(key, order):
    """There is no generator to use up."""
    in_order = {address: draw(key, address) for address in range(20)}

    assert in_order == {address: draw(key, address) for address in order}


def test_neighbouring_addresses_are_spread_evenly():
    """Each tenth of the interval gets its share, and the next draw does not follow the last."""
    key = stream_key(7, "latency", "a>b")
    drawn = [draw(key, address) for address in range(20_000)]
    tenths = [sum(1 for u in drawn if tenth <= 10 * u < tenth + 1) for tenth in range(10)]
    together = fmean((u - 0.5) * (v - 0.5) for u, v in itertools.pairwise(drawn))

    assert all(1_850 < share < 2_150 for share in tenths)
    assert abs(together) < 0.002


def test_seed_stream_and_party_each_have_their_own_numbers():
    """Also where their texts run together."""
    keys = [
        stream_key(1, "work", "t-0"),
        stream_key(2, "work", "t-0"),
        stream_key(1, "work", "t-1"),
        stream_key(1, "works", "t-0"),
        stream_key(1, "wor", "kt-0"),
        stream_key(11, "", "t-0"),
        stream_key(1, "1", "t-0"),
    ]

    assert len(keys) == len(set(keys))


@given(keys, st.integers(0, 2**40))
def test_a_text_id_looks_like_a_random_uuid(key, address):
    """Version 4, as Kafka makes member ids of."""
    shape = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}"

    assert re.fullmatch(shape, text_id(key, address))


@given(keys, addresses)
def test_a_base64_id_is_one_that_kafka_could_make_and_print(key, address):
    """Sixteen bytes in 22 characters, no other 22 characters for them, and no dash in front."""
    printed = base64_id(key, address)

    assert printed == uuid_text(uuid_bytes(printed))
    assert not printed.startswith("-")


def test_base64_ids_of_one_stream_all_differ():
    """Also those that are drawn again because a dash came first."""
    key = stream_key(0, "member ids", "7")

    assert 5_000 == len({base64_id(key, number) for number in range(5_000)})


def test_text_ids_of_one_stream_all_differ():
    """Thousands of members get thousands of ids."""
    key = stream_key(0, "member ids", "7")

    assert 5_000 == len({text_id(key, number) for number in range(5_000)})
