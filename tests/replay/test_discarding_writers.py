"""Writes that have no effect."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mooring.api import Condition, PersistentVolume, Pod, WorkloadPodGroup
from mooring.binding.status_writer import StatusChange
from mooring.errors import ApiError
from mooring.replay.discarding_writers import (
    DiscardedGroupStatuses,
    DiscardedStatuses,
    DiscardingClient,
)
from mooring.replay.recorded_informers import RecordedInformers
from mooring.scheduler.running_scheduler import DiscardedEvents
from mooring.testing.builders import make_pod
from mooring.virtual.driving import drive
from tests.replay.recordings import make_volume


@pytest.fixture
def informers() -> RecordedInformers:
    informers = RecordedInformers()
    volume = make_volume("disk")
    volume = replace(volume, metadata=replace(volume.metadata, resource_version="41"))
    informers.store(PersistentVolume).add(volume)
    informers.store(Pod).add(make_pod("web"))
    return informers


def test_a_write_is_seen_by_its_writer_alone(informers: RecordedInformers) -> None:
    client = DiscardingClient(informers)
    patch = {"metadata": {"labels": {"a": "b"}}}
    written = drive(client.patch(PersistentVolume, "disk", "", patch))
    assert (written.metadata.resource_version, written.metadata.labels) == ("42", {"a": "b"})
    again = drive(client.get(PersistentVolume, "disk"))
    assert again is written
    finalized = drive(client.add_finalizer(written, "keep"))
    assert finalized.metadata.resource_version == "43"
    stored = informers.store(PersistentVolume).get("disk")
    assert stored.metadata.resource_version == "41"
    assert list(drive(client.list(PersistentVolume)).items) == [stored]


def test_a_newer_recorded_object_counts(informers: RecordedInformers) -> None:
    client = DiscardingClient(informers)
    drive(client.patch(PersistentVolume, "disk", "", {"metadata": {"labels": {"a": "b"}}}))
    newer = make_volume("disk")
    informers.store(PersistentVolume).add(newer)
    assert drive(client.get(PersistentVolume, "disk")) is newer


def test_nothing_is_bound_or_deleted(informers: RecordedInformers) -> None:
    client = DiscardingClient(informers)
    pod = informers.store(Pod).get("web", "default")
    drive(client.bind(pod, "node"))
    drive(client.delete(Pod, "web", "default"))
    assert informers.store(Pod).get("web", "default") is pod
    with pytest.raises(ApiError):
        drive(client.get(Pod, "other", "default"))


def test_statuses_and_events_go_nowhere() -> None:
    pod = make_pod("web")
    DiscardedEvents().event(pod, "Normal", "Scheduled", "Binding", "note")
    statuses = DiscardedStatuses()
    statuses.write(pod, StatusChange())
    drive(statuses.write_first(pod, StatusChange()))
    drive(statuses.settle("uid"))
    DiscardedGroupStatuses().write(WorkloadPodGroup(), Condition(type="Ready", status="True"))
