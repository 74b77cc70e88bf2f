from __future__ import annotations

import re

from mooring.controllers.template_hash import template_hash


def test_equal_templates_have_equal_hashes() -> None:
    assert template_hash({"a": 1, "b": [2]}) == template_hash({"b": [2], "a": 1})


def test_a_hash_tells_templates_and_collisions_apart() -> None:
    template = {"a": 1}
    found = [
        template_hash(template),
        template_hash({"a": 2}),
        template_hash(template, 0),
        template_hash(template, 1),
    ]
    assert len(set(found)) == len(found)


def test_a_hash_forms_no_words_and_fits_into_a_name() -> None:
    for i in range(50):
        assert re.fullmatch("[bcdfghjklmnpqrstvwxz2456789]{1,10}", template_hash({"i": i}))
