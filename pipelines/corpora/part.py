"""The unit in which the driver hands inputs to the workers."""

import msgspec

from trivium.pipelines.corpora.sources import Place

ALL = -1
# What a job's progress counts; a part is of a file that is cut where it is read.
RECORD, FILE, PART = "record", "file", "file part"


class Part(msgspec.Struct, frozen=True, array_like=True):
    """A place of a source, how many items of it are read, and how many records of the last of these (ALL: all)."""

    source: str
    place: Place
    items: int = ALL
    records: int = ALL
