#!/bin/sh
# The main use of this project, run by `make demo`: a rolling deploy of an eager group, its cost
# under other protocols, and a run of a real Kafka compared with its emulation.
set -eu

say() {
    printf '\n\n=== %s\n$ %s\n\n' "$1" "$2"
}

say "A rolling deploy of an eager group: duplicates and their causes" \
    "rebalance run deploy-kills-in-mid-batch"
rebalance run deploy-kills-in-mid-batch

say "The same deploy under three protocols, five seeds each" \
    "rebalance compare deploy-kills-in-mid-batch --with eager --with cooperative --with static --seeds 5"
rebalance compare deploy-kills-in-mid-batch --with eager --with cooperative --with static --seeds 5
cat <<'EOF'

Each row is a mean over the seeds; a difference says how much more (+) or less (-) than with eager, and ± how
far chance may move it. Static members are back before their session ends: the group does not rebalance.
EOF

say "Is it accurate? A run of a real Kafka 4.4.0, compared with its prediction" \
    "rebalance verify"
rebalance verify
