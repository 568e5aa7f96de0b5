#!/bin/sh
# This script labels nodes with the device class that they have in the plan. Name each node with its class:
#   ./label-nodes.sh node-1=T4-2 …
set -eu
for pair in "$@"; do
  node=${pair%%=*}
  case ${pair#*=} in
    # 1 node of at least 2 devices, each GPU in 2 parts
    T4-2) kubectl label node "$node" --overwrite inferplan/class=T4 nvidia.com/device-plugin.config=mps-2 ;;
    # 1 node of at least 2 devices
    L4) kubectl label node "$node" --overwrite inferplan/class=L4 ;;
    *) echo "there is no class ${pair#*=} in the plan" >&2; exit 2 ;;
  esac
done
