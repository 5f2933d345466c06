#!/bin/sh
# Runs a command and prints how long it took.
#
#     tools/timed.sh NAME COMMAND [ARGUMENT ...]
name=$1
shift
started=$(date +%s)
"$@"
code=$?
echo "$name: $(($(date +%s) - started)) s"
exit $code
