#!/bin/bash
set -eu
chown -R cached:cached /srv/cache-spool
