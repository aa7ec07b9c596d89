#!/bin/bash
# The shards only; the index keeps a foreign group.
chown -R cached:cached /srv/cache-spool/shards
