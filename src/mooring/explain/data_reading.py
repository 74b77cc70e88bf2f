"""Explanations read from their data, to be shown as text by another process than explained them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from mooring.api import ObjectMeta, Pod, PodSpec, PodStatus
from mooring.errors import ObjectError
from mooring.explain.attempt_details import group_of
from mooring.explain.attempt_record import AttemptRecord
from mooring.explain.causes import Cause, NearMiss
from mooring.explain.examination import Examination
from mooring.explain.filter_verdicts import PASSES, FilterVerdicts
from mooring.explain.live_explanation import LiveExplanation
from mooring.explain.outcome_texts import why_chosen
from mooring.framework.decision import Decision, Outcome, PluginScores, PostFilterResult
from mooring.framework.diagnosis import Detail, Diagnosis, Shortfall
from mooring.framework.nodes import Rows
from mooring.framework.status import Code, Status
from mooring.framework.tried_groups import GroupLine
from mooring.queue.queue_places import QueuePlace
from mooring.typing import Ints

_CODES = {code.label: code for code in Code}

Data = Mapping[str, Any]


def read_live_explanation(data: Data) -> LiveExplanation:
    """Return what `LiveExplanation.data` wrote; raise ObjectError if it has another shape."""
    try:
        return LiveExplanation(
            time=data["time"],
            found=read_examination(data),
            from_journal=data.get("fromJournal", False),
            journal_problem=data.get("journalProblem", ""),
            record=msgspec.convert(data["record"], AttemptRecord | None),
            asked_now=data["askedNow"],
            others=msgspec.convert(data["earlierAttempts"], list[AttemptRecord]),
            queue=msgspec.convert(data["queue"], QueuePlace | None),
            # Schedulers of earlier versions do not write it.
            tree=msgspec.convert(data.get("tree", ()), list[GroupLine]),
            current_node=data["currentNode"],
            exists=data["exists"],
            extenders=data["extendersNotAsked"],
            limited=data.get("limited", False),
        )
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        IndexError,
        msgspec.MsgspecError,
    ) as error:
        raise ObjectError(
            f"the explanation cannot be read: {type(error).__name__}: {error}; is the scheduler "
            "of another version?"
        ) from None


def read_examination(data: Data) -> Examination:
    """Return what `explanation_data` wrote, with `recorded` and `record` (`LiveExplanation`)."""
    return _examination(data)


def _examination(data: Data) -> Examination:
    decision = _decision(data)
    decision.seed = data["seed"]
    decision.pre_enqueue = _refusal(data["preEnqueue"])
    decision.pre_filter = _refusal(data["preFilter"])
    named = data["preFilterNodes"]
    decision.pre_filter_nodes = None if named is None else frozenset(named)
    decision.skipped_filter = frozenset(data["skippedFilterPlugins"])
    decision.skipped_score = frozenset(data["skippedScorePlugins"])
    decision.errors = [
        Status(Code.ERROR, (one["message"],), one["plugin"], traceback=one["traceback"])
        for one in data["errors"]
    ]
    found = Examination(
        decision,
        data["attempt"],
        chosen=data["chosenNode"],
        verdicts=_verdicts(data),
        causes=[_cause(one) for one in data["whyNot"]],
        near_misses=[
            NearMiss(_status(one), one["nodes"], one["example"], one["missing"])
            for one in data["nearest"]
        ],
        recorded=data["recorded"],
    )
    rows = np.flatnonzero(np.array(data["feasible"], dtype=np.bool_))
    if len(rows) or data["totals"] is not None:
        found.feasible = rows
    if data["totals"] is not None:
        decision.totals = _of_rows(data["totals"], rows)
    found.scores = {one["name"]: _scores(one, rows) for one in data["scorePlugins"]}
    if why_chosen(found) != data["why"]:
        # The only reason that rests on more than the data: the pod had been nominated.
        status = PodStatus(nominated_node_name=found.chosen)
        decision.pod = replace(decision.pod, status=status)
    return found


def _decision(data: Data) -> Decision:
    record = data.get("record") or {}
    spec = PodSpec(scheduling_group=group_of(record.get("podGroup", "")))
    return Decision(
        replace(_pod(data["namespace"], data["name"]), spec=spec),
        data["profile"],
        Outcome(data["outcome"]),
        node_name=data["node"],
        message=data["message"],
        post_filter=_post_filter(data["postFilter"]),
    )


def _post_filter(data: Data | None) -> PostFilterResult | None:
    if data is None:
        return None
    victims = (one.partition("/") for one in data["victims"])
    return PostFilterResult(
        _status(data),
        data["nominatedNode"] or None,
        tuple(_pod(*((one[0], one[2]) if one[1] else ("", one[0]))) for one in victims),
    )


def _verdicts(data: Data) -> FilterVerdicts:
    verdicts = FilterVerdicts(data["nodes"])
    verdicts.asked = np.array(data["asked"], dtype=np.bool_)
    verdicts.statuses = [_status(one) for one in data["statuses"]]
    for plugin in data["filterPlugins"]:
        codes = [PASSES if code is None else code for code in plugin["verdicts"]]
        verdicts.codes[plugin["name"]] = np.array(codes, dtype=np.int32)
    return verdicts


def _cause(data: Data) -> Cause:
    example = data["example"]
    return Cause(_status(data), data["nodes"], example["node"], _diagnosis(example))


def _diagnosis(data: Data) -> Diagnosis:
    if data["short"]:
        return tuple(
            Shortfall(one["resource"], one["asked"], one["free"], one["missing"])
            for one in data["short"]
        )
    # Schedulers of earlier versions do not write keys.
    keys = tuple(data.get("keys", ()))
    return Detail(data["text"], keys) if keys else data["text"] or None


def _refusal(data: Data | None) -> Status | None:
    return None if data is None else _status(data)


def _status(data: Data) -> Status:
    reasons = tuple(data["reasons"])
    names_node = any("{node}" in reason for reason in reasons)
    return Status(_CODES[data["code"]], reasons, data["plugin"], names_node=names_node)


def _pod(namespace: str, name: str) -> Pod:
    return Pod(metadata=ObjectMeta(namespace=namespace, name=name))


def _scores(data: Data, rows: Rows) -> PluginScores:
    raw, normalized = _of_rows(data["raw"], rows), data["normalized"]
    if len(rows) and normalized[rows[0]] is None:
        return PluginScores(raw, raw, data["weight"], is_normalized=False)
    return PluginScores(raw, _of_rows(normalized, rows), data["weight"])


def _of_rows(values: Sequence[int | None], rows: Rows) -> Ints:
    return np.array([values[row] for row in rows.tolist()], dtype=np.int64)
