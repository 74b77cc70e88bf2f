"""Reading a journal: its entries in order, from a checkpoint on.

The entries of a checkpoint are written between those of changes and attempts, so that these are
never late. The reader puts them in order: a checkpoint comes first, then everything since it began.
Within one run of a scheduler only the first checkpoint is returned; the state after it follows from
the entries.
"""

from __future__ import annotations

import errno
import itertools
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from mooring.errors import JournalError
from mooring.journal.entries import (
    FORMAT,
    AttemptEnds,
    CheckpointBegins,
    CheckpointEnds,
    CheckpointObject,
    CheckpointPlacement,
    CheckpointWork,
    Entry,
    Fetched,
    Permitted,
    Reserved,
    SegmentHead,
)
from mooring.journal.frames import NOT_REGULAR, TornFrameError, open_segment, read_frames
from mooring.journal.segments import SegmentFile, list_segments, segment_path
from mooring.observe.logs import kv

log = logging.getLogger(__name__)

TORN = "A segment of the journal ends within a block, which is left out"

UNUSABLE = "A segment of the journal has no complete checkpoint, and is left out"

_CHECKPOINT = (
    CheckpointBegins,
    CheckpointObject,
    CheckpointWork,
    CheckpointPlacement,
    CheckpointEnds,
)
_ENTRY: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Entry)
_ANY = msgspec.json.Decoder()
#: What decoding raises; RecursionError if lists are nested deeply.
_NO_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
#: The first second of the year 10000: later times cannot be written.
_MAX_TIME = 253402300800.0
#: The longest head, in bytes: a configuration is far shorter.
_MAX_HEAD = 2**24
#: About as many bytes of a block are decoded at once.
_PART = 2**20


def read_journal(
    folder: str | os.PathLike[str],
    *,
    since: float | None = None,
    until: float | None = None,
) -> Iterator[Entry]:
    """Yield the entries of a journal, oldest first; raise JournalError if it cannot be read.

    Each run of a scheduler begins with its SegmentHead and a checkpoint. With `since`, the first is
    the last checkpoint before that time: the state at that time follows from the entries between.
    With `until`, later entries are left out. Both are in seconds since the epoch. An incomplete
    block at the end of a run is left out with a warning.
    """
    entries = _all_entries(_chosen(Path(folder), since))
    if until is None:
        yield from entries
    else:
        yield from itertools.takewhile(lambda entry: entry.time <= until, entries)


def find_entries(
    folder: str | os.PathLike[str], is_wanted: Callable[[bytes], bool], *, since: float = 0.0
) -> Iterator[Entry]:
    """Yield the entries whose lines `wanted` accepts, newest first; raise as `read_journal` does.

    Segments that ended before `since` are not read.
    """
    for segment in reversed(_chosen(Path(folder), None)):
        yield from reversed([entry for entry in segment.entries(is_wanted)])
        if segment.head.time <= since:
            return


def _chosen(folder: Path, since: float | None) -> Sequence[_Segment]:
    """Return the segments to read: all, or those from the last usable one before `since` on."""
    try:
        files = list_segments(folder)
    except OSError as error:
        raise JournalError(f"{folder}: {error.strerror}: name the folder of a journal") from error
    if not files:
        raise JournalError(
            f"{folder} holds no journal (no file segment-*.journal): name the folder that was "
            "given to --journal"
        )
    segments = [segment for file in files if (segment := _open(file)) is not None]
    _check_gaps(folder, files, segments)
    return segments[_start(segments, since) :]


def _start(segments: Sequence[_Segment], since: float | None) -> int:
    """Return the index of the segment to begin with: its checkpoint must be complete."""
    if since is not None:
        before = [index for index, one in enumerate(segments) if one.head.time <= since]
        for index in reversed(before):
            if segments[index].has_checkpoint():
                return index
    for index, segment in enumerate(segments):
        if segment.has_checkpoint():
            for useless in segments[:index]:
                log.warning(UNUSABLE, extra=kv(file=str(useless.file.path)))
            return index
    # Reading the first one says what is wrong.
    return 0


def _check_gaps(folder: Path, files: Sequence[SegmentFile], segments: Sequence[_Segment]) -> None:
    """Raise JournalError if a segment is missing, or empty in the middle of a run."""
    present = {file.number for file in files}
    for earlier, later in itertools.pairwise(segments):
        between = range(earlier.file.number + 1, later.file.number)
        found = () if earlier.head.run == later.head.run else present
        # The first one, however many there are.
        lost = next((number for number in between if number not in found), None)
        if lost is not None:
            raise JournalError(
                f"{folder}: {segment_path(folder, lost).name} is missing or empty: restore it "
                f"from a copy, or remove {earlier.file.path.name} and the files before it, and "
                "read the rest"
            )


class _Segment:
    """A segment file whose head has been read."""

    def __init__(self, file: SegmentFile, head: SegmentHead) -> None:
        self.file = file
        self.head = head
        #: Where an incomplete frame begins; None if there is none.
        self.torn_at: int | None = None

    def entries(self, is_wanted: Callable[[bytes], bool] | None = None) -> Iterator[Entry]:
        """Yield the entries in the order of the file, or those whose line is wanted."""
        bodies: dict[str, str] = {}
        path = self.file.path
        has_begun = False
        for part in itertools.chain.from_iterable(map(_parts, _blocks(self))):
            for entry in self._block_entries(part, is_wanted):
                _check_time(path, entry)
                if type(entry) is AttemptEnds and entry.reserved:
                    record = entry.record
                    yield entry
                    yield Reserved(entry.reserved, record.uid, record.node)
                    yield Permitted(entry.permitted, record.uid)
                elif type(entry) is Fetched and entry.status:
                    yield self._whole(entry, bodies)
                elif type(entry) is SegmentHead and has_begun:
                    raise JournalError(
                        f"{path} has a second beginning, which no segment has: remove it"
                    )
                else:
                    has_begun = has_begun or type(entry) is SegmentHead
                    yield entry

    def _block_entries(
        self, block: bytes, is_wanted: Callable[[bytes], bool] | None
    ) -> Iterable[Entry]:
        if is_wanted is not None:
            return map(self._entry, filter(is_wanted, block.splitlines()))
        try:
            found: list[Entry] = _ENTRY.decode_lines(block)
        except _NO_JSON:
            # Return the entries before the one that cannot be decoded.
            return map(self._entry, block.splitlines())
        return found

    def _entry(self, line: bytes) -> Entry:
        try:
            entry: Entry = _ENTRY.decode(line)
        except _NO_JSON as error:
            raise JournalError(
                f"{self.file.path} holds an entry that this version of Mooring does not know "
                f"({error}): read it with Mooring {self.head.mooring}, which wrote it"
            ) from error
        return entry

    def _whole(self, entry: Fetched, bodies: dict[str, str]) -> Fetched:
        """Return an answer with its body; a repeated body is restored from `bodies`."""
        if not entry.repeated:
            bodies[entry.request] = entry.body
            return entry
        if entry.request not in bodies:
            raise JournalError(
                f"{self.file.path} lacks an answer that another one repeats: restore the file from "
                "a copy, or remove it and the files before it, and read the rest"
            )
        return replace(entry, body=bodies[entry.request], repeated=False)

    def has_checkpoint(self) -> bool:
        """Return whether the checkpoint at the beginning is complete."""
        return any(isinstance(entry, CheckpointEnds) for entry in self.entries())


def _parts(block: bytes) -> Iterator[bytes]:
    """Yield the lines of a block in parts, so that not all entries of a long one exist at once."""
    begin = 0
    while len(block) - begin > _PART:
        end = block.find(b"\n", begin + _PART) + 1
        if not end:
            break
        yield block[begin:end]
        begin = end
    yield block[begin:] if begin else block


def _blocks(segment: _Segment) -> Iterator[bytes]:
    """Yield the lines of each frame."""
    path = segment.file.path
    segment.torn_at = None
    try:
        with open_segment(path) as file:
            yield from read_frames(file, str(path))
    except TornFrameError as torn:
        segment.torn_at = torn.offset
    except FileNotFoundError as error:
        raise JournalError(
            f"{path} was removed meanwhile, because the journal is being written and has reached "
            "--journal-max-bytes: read it again"
        ) from error
    except OSError as error:
        raise JournalError(_unreadable(path, error)) from error


def _unreadable(path: Path, error: OSError) -> str:
    if error.strerror == NOT_REGULAR or error.errno in (errno.ELOOP, errno.ENXIO):
        # A link, a socket.
        return f"{path} cannot be read: {NOT_REGULAR}; restore it from a copy, or remove it"
    return f"{path}: {error.strerror}: make it readable to this user, or restore it from a copy"


def _open(file: SegmentFile) -> _Segment | None:
    """Read the head of a segment; None if it was created right before the writer was killed."""
    path = file.path
    try:
        with open_segment(path) as opened:
            first = next(read_frames(opened, str(path)), b"")
    except OSError as error:
        raise JournalError(_unreadable(path, error)) from error
    except TornFrameError as torn:
        _warn(path, torn.offset)
        return None
    if not first:
        _warn(path, 0)
        return None
    return _Segment(file, _head(path, first.splitlines()[0]))


def _head(path: Path, line: bytes) -> SegmentHead:
    try:
        found: Any = _ANY.decode(line) if len(line) <= _MAX_HEAD else None
    except _NO_JSON:
        found = None
    if not isinstance(found, list) or len(found) < 4 or found[0] != "head":
        raise JournalError(
            f"{path} is without its beginning: restore it from a copy, or remove it and the files "
            "before it, and read the rest"
        )
    _, _, format, mooring = found[:4]
    if not isinstance(format, int) or format > FORMAT:
        raise JournalError(
            f"{path} is of a newer version (format {format}, Mooring {mooring}; this one reads "
            f"format {FORMAT}): read it with Mooring {mooring} or newer"
        )
    try:
        head: SegmentHead = msgspec.convert(found, SegmentHead)
    except msgspec.ValidationError as error:
        raise JournalError(
            f"{path} has a head that this version of Mooring does not know ({error}): read it with "
            f"Mooring {mooring}, which wrote it"
        ) from error
    _check_time(path, head)
    return head


def _check_time(path: Path, entry: Entry) -> None:
    """Raise JournalError if the time of an entry is not one that can be shown."""
    time = entry.time
    if type(entry) is AttemptEnds and 0.0 <= time < _MAX_TIME:
        time = entry.record.time
    if not 0.0 <= time < _MAX_TIME:
        raise JournalError(
            f"{path} holds an entry with the time {time}, which is before 1970 or after 9999: "
            "restore it from a copy, or remove it"
        )


def _warn(path: Path, offset: int) -> None:
    log.warning(TORN, extra=kv(file=str(path), byte=offset))


def _all_entries(segments: Sequence[_Segment]) -> Iterator[Entry]:
    run = None
    for segment, later in itertools.zip_longest(segments, segments[1:]):
        if segment.head.run == run:
            yield from _without_checkpoint(segment)
        else:
            yield from _in_order(segment)
        run = segment.head.run
        if segment.torn_at is None:
            continue
        if later is not None and later.head.run == run:
            raise JournalError(
                f"{segment.file.path} is damaged at byte {segment.torn_at}, but the journal goes "
                "on: restore the file from a copy, or remove it and the files before it, and read "
                "the rest"
            )
        _warn(segment.file.path, segment.torn_at)


def _without_checkpoint(segment: _Segment) -> Iterator[Entry]:
    for entry in segment.entries():
        if not isinstance(entry, (SegmentHead, *_CHECKPOINT)):
            yield entry


def _in_order(segment: _Segment) -> Iterator[Entry]:
    """Yield the head, the checkpoint and then the entries that were written between its parts."""
    held: list[Entry] = []
    complete = False
    entries = segment.entries()
    for entry in entries:
        if isinstance(entry, (SegmentHead, *_CHECKPOINT)):
            yield entry
            if isinstance(entry, CheckpointEnds):
                complete = True
                break
        else:
            held.append(entry)
    if not complete:
        raise JournalError(
            f"{segment.file.path} is without its beginning: its checkpoint is incomplete, because "
            "the writer ended meanwhile. Restore the segment before it from a copy, or remove it, "
            "and read the rest"
        )
    yield from held
    yield from entries
