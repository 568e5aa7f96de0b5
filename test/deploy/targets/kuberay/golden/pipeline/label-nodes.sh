#!/bin/sh
# This script labels nodes with the device class that they have in the plan. Name each node with its class:
#   ./label-nodes.sh node-1=T4 …
set -eu
for pair in "$@"; do
  node=${pair%%=*}
  case ${pair#*=} in
    # 3 nodes of at least 4 devices
    T4) kubectl label node "$node" --overwrite inferplan/class=T4 ;;
    # 2 nodes of at least 2 devices
    L4) kubectl label node "$node" --overwrite inferplan/class=L4 ;;
    *) echo "there is no class ${pair#*=} in the plan" >&2; exit 2 ;;
  esac
done
