"""The random source whose state is one integer."""

from __future__ import annotations

from collections import Counter

import pytest

from mooring.observe.attempt_random import AttemptRandom


def test_the_numbers_are_those_of_splitmix64() -> None:
    source = AttemptRandom(0)
    # The test vector of the reference implementation (xoshiro.di.unimi.it/splitmix64.c).
    drawn = [source.getrandbits(64) for _ in range(3)]
    assert drawn == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_a_source_with_the_same_state_draws_the_same() -> None:
    source, other = AttemptRandom(3), AttemptRandom(4)
    source.random()
    other.state = source.state
    one = [source.choice("abc"), source.randrange(10**30), source.gauss(), source.random()]
    assert one == [other.choice("abc"), other.randrange(10**30), other.gauss(), other.random()]
    assert source.state == other.state


def test_setting_the_state_forgets_the_second_number_of_gauss() -> None:
    source = AttemptRandom(3)
    before = source.state
    first = source.gauss()
    source.state = before
    assert source.gauss() == first


def test_state_as_the_standard_library_has_it() -> None:
    source = AttemptRandom(3)
    state = source.getstate()
    drawn = source.random()
    source.setstate(state)
    assert source.random() == drawn


@pytest.mark.parametrize("seed", ["a/b", 1.5, b"bytes", None])
def test_any_seed(seed: object) -> None:
    assert 0 <= AttemptRandom(seed).state < 2**64


def test_equal_texts_are_equal_seeds() -> None:
    assert AttemptRandom("a").state == AttemptRandom("a").state != AttemptRandom("b").state


@pytest.mark.parametrize("bits", [0, 1, 63, 64, 65, 200])
def test_the_number_of_bits(bits: int) -> None:
    source = AttemptRandom(1)
    longest = max(source.getrandbits(bits).bit_length() for _ in range(200))
    assert longest == bits


def test_a_negative_number_of_bits_is_refused() -> None:
    with pytest.raises(ValueError, match="non-negative"):
        AttemptRandom(1).getrandbits(-1)


def test_each_value_is_as_likely() -> None:
    source = AttemptRandom(1)
    counts = Counter(source.randrange(5) for _ in range(10_000))
    assert all(abs(count - 2000) < 200 for count in counts.values())
    assert all(0.0 <= source.random() < 1.0 for _ in range(100))
