"""Shard sets: WebDataset tars with an index beside each and one manifest; our own strict writer and reader.

Odd: nothing here imports numpy before it is needed, so that a command that looks at manifests or at one record starts
at once.
"""

from trivium.data.shards.address import Address, Patience, Place, place
from trivium.data.shards.index import tally
from trivium.data.shards.manifest import (
    ALL,
    Bucket,
    FunnelStage,
    Manifest,
    ShardInfo,
    Sums,
    Takedown,
    Vocabulary,
    begin,
    read_manifest,
    write_manifest,
)
from trivium.data.shards.names import index_name, shard_name
from trivium.data.shards.plan import bucket_for, parse_buckets, plan_shards, stored_bytes
from trivium.data.shards.reader import ShardSet, read_rejects
from trivium.data.shards.whole import record_bytes, write_set
from trivium.data.shards.writer import Record, write_rejects, write_shard

__all__ = [
    "ALL",
    "Address",
    "Bucket",
    "FunnelStage",
    "Manifest",
    "Patience",
    "Place",
    "Record",
    "ShardInfo",
    "ShardSet",
    "Sums",
    "Takedown",
    "Vocabulary",
    "begin",
    "bucket_for",
    "index_name",
    "parse_buckets",
    "place",
    "plan_shards",
    "read_manifest",
    "read_rejects",
    "record_bytes",
    "shard_name",
    "stored_bytes",
    "tally",
    "write_manifest",
    "write_rejects",
    "write_set",
    "write_shard",
]
