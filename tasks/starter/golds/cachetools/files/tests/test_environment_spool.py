"""Environment test of cligym's starter pack: the cache service can use its spool folder."""

import pwd
import subprocess
import sys

UPDATE = """
import json
with open("/srv/cache-spool/shards/00.json", "r+") as shard:
    json.load(shard)
"""
ADD = """
import os
name = "/srv/cache-spool/shards/new.json"
with open(name, "x") as shard:
    shard.write("{}")
os.unlink(name)
"""
LOAD = """
import json
from cachetools import LRUCache
cache = LRUCache(maxsize=8)
with open("/srv/cache-spool/shards/01.json") as shard:
    cache.update(json.load(shard))
assert cache["shard"] == 1
"""


def run_as_service(code):
    account = pwd.getpwnam("cached")
    subprocess.run(
        [sys.executable, "-c", code],
        user=account.pw_uid,
        group=account.pw_gid,
        extra_groups=[],
        cwd="/",
        env={},
        check=True,
    )


def test_service_updates_a_shard():
    run_as_service(UPDATE)


def test_service_adds_a_shard():
    run_as_service(ADD)


def test_service_fills_a_cache():
    run_as_service(LOAD)
