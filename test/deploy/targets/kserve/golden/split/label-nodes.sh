#!/bin/sh
# This script labels nodes with the device class that they have in the plan. Name each node with its class:
#   ./label-nodes.sh node-1=T4-3 …
set -eu
for pair in "$@"; do
  node=${pair%%=*}
  case ${pair#*=} in
    # 1 node of at least 1 device, each GPU in 3 parts
    T4-3) kubectl label node "$node" --overwrite inferplan/class=T4 nvidia.com/device-plugin.config=mps-3 ;;
    # 1 node of at least 1 device
    L4) kubectl label node "$node" --overwrite inferplan/class=L4 ;;
    # 1 node of at least 1 device
    slow) kubectl label node "$node" --overwrite inferplan/class=slow ;;
    *) echo "there is no class ${pair#*=} in the plan" >&2; exit 2 ;;
  esac
done
