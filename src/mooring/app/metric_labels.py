"""Which label values /metrics may show, by --allow-metric-labels or its manifest."""

from __future__ import annotations

import logging
from typing import Any

import yaml

from mooring.app.options import MetricOptions
from mooring.observe.allow_lists import AllowLists, parse_allow_lists
from mooring.observe.files import read_file
from mooring.observe.logs import log_error

log = logging.getLogger(__name__)

_NESTED = "allowListMapping"


def allow_lists(options: MetricOptions) -> AllowLists:
    """Return the allow lists of the flag, or else of its manifest.

    A manifest that cannot be used is logged and ignored, as in kube-scheduler.
    """
    # component-base: metrics/options.go (Apply)
    if options.allowed_labels:
        return parse_allow_lists(options.allowed_labels)
    if not options.allowed_labels_manifest:
        return {}
    try:
        text = read_file(options.allowed_labels_manifest).decode()
    except (OSError, UnicodeError) as error:
        log_error(log, error, "Failed to read allow list manifest")
        return {}
    try:
        return parse_allow_lists(_mapping(yaml.load(text, yaml.CSafeLoader)))
    except (yaml.YAMLError, ValueError) as error:
        log_error(log, error, "Failed to parse allow list manifest")
        return {}


def _mapping(document: Any) -> dict[str, str]:
    # kube-scheduler's help shows the lists below a key, its code reads them without: accept both.
    if isinstance(document, dict) and document.keys() == {_NESTED}:
        document = document[_NESTED]
    if not isinstance(document, dict):
        raise ValueError(f'expected a map of "metric,label" to values, got {document!r}')
    for key, values in document.items():
        if not isinstance(key, str) or not isinstance(values, str):
            raise ValueError(f'expected "metric,label": "value,value", got {key!r}: {values!r}')
    return document
