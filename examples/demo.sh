#!/bin/sh
# The main job of this project, as `make demo` runs it: a rolling deploy of an eager group, what
# it would cost under other protocols, and a real Kafka's run beside its emulation.
set -eu

say() {
    printf '\n\n=== %s\n$ %s\n\n' "$1" "$2"
}

say "A rolling deploy of an eager group: what was reprocessed, and why" \
    "rebalance run deploy-kills-in-mid-batch"
rebalance run deploy-kills-in-mid-batch

say "The same deploy under three protocols, five seeds each" \
    "rebalance compare deploy-kills-in-mid-batch --with eager --with cooperative --with static --seeds 5"
rebalance compare deploy-kills-in-mid-batch --with eager --with cooperative --with static --seeds 5

say "Can it be trusted? A run of a real Kafka 4.4.0, compared with its prediction" \
    "rebalance verify examples/captures"
rebalance verify examples/captures
