"""The tests for each rule that a wrong machine is likely to break, by area.

A place is a file of the tests of ``protocols`` and a function in it.
"""

from __future__ import annotations

from typing import Final

R = "groups/kip848/test_reconcile.py::test_"
T = "groups/kip848/test_target.py::test_"
E = "groups/kip848/test_epochs.py::test_"
S = "groups/kip848/test_static.py::test_"
P = "groups/kip848/test_patterns.py::test_"
TIME = "groups/kip848/test_timers.py::test_"
HERE = "groups/kip848/test_scenarios.py::test_"
TRACE = "groups/kip848/test_worked_trace.py::test_"
COMMIT = "groups/kip848/test_commits.py::test_"
UP = "groups/migration/test_upgrade.py::test_"
DOWN = "groups/migration/test_downgrade.py::test_"
MIXED = "groups/kip848/test_classic_members.py::test_"
CLIENT = "consumer/kip848/test_"

Table = dict[str, dict[str, tuple[str, ...]]]

SCENARIOS: Final[Table] = {
    "reconciliation": {
        "nothing but the epoch moves": (f"{R}nothing_but_the_epoch_moves",),
        "free partitions at once": (f"{R}free_partitions_are_given_at_once",),
        "revoke before add": (f"{R}a_member_gives_up_before_it_takes",),
        "wanted but owned by others": (f"{R}partitions_owned_by_others_are_waited_for",),
        "the request shows the loss": (f"{R}a_request_that_shows_the_loss_needs_no_revocation",),
        "owned null never acknowledges": (f"{R}saying_nothing_never_confirms",),
        "after the acknowledgement the newest target asks for more, or for less": (
            f"{R}after_the_confirmation_the_newest_target_counts",
        ),
        "a partition comes back while its revocation is pending": (
            f"{R}a_partition_that_returns_while_it_is_revoked_is_kept",
        ),
        "an unsubscribed topic is revoked without a new target": (
            f"{R}an_unread_topic_is_taken_away_without_a_new_target",
        ),
        "the pending set grows while waiting": (f"{R}pending_revocations_grow_while_it_waits",),
        "an unknown stored state fences unless nothing is owned": (
            f"{R}an_unknown_state_fences_unless_nothing_is_owned",
        ),
    },
    "target": {
        "unchanged members write nothing": (f"{T}members_without_a_change_are_not_written",),
        "a swap writes two records": (f"{T}a_swap_writes_two_records",),
        "joiner counted, leaver absent": (
            f"{HERE}a_joining_member_is_counted_and_a_leaving_one_is_not",
            f"{T}a_member_that_left_is_not_in_the_assignors_input",
        ),
        "static replacement inherits": (
            f"{HERE}a_replaced_static_member_is_counted_once_and_leaves_its_target",
            f"{S}a_member_that_returns_in_time_keeps_its_assignment",
        ),
    },
    "epochs": {
        "equal": (f"{E}the_current_epoch_is_good",),
        "previous, with a subset and with more": (
            f"{E}the_previous_epoch_is_good_while_nothing_is_owned_that_should_not_be",
        ),
        "newer": (f"{E}an_epoch_of_the_future_is_fenced",),
        "0 for a known member": (f"{E}a_known_member_may_join_again",),
        "a fruitless heartbeat turns (7, 6) into (7, 7)": (
            f"{E}a_fruitless_heartbeat_ends_the_tolerance_of_a_waiting_member",
        ),
        "a second lost response fences an UNRELEASED member": (
            f"{E}a_second_lost_answer_fences_a_waiting_member",
        ),
    },
    "batching": {
        "a join inside the interval gets the old target": (
            f"{TRACE}a_join_soon_after_the_last_target_waits_for_the_next_heartbeat",
        ),
        "interval 0, and anybody's heartbeat after the interval": (
            f"{T}targets_are_kept_apart_by_the_assignment_interval",
        ),
        "a group emptied and joined again is not delayed": (
            f"{TRACE}a_group_that_emptied_is_not_kept_waiting",
        ),
    },
    "bumps": {
        "new member": (f"{TRACE}two_members_share_and_one_goes",),
        "new member without topics": (f"{E}a_member_without_topics_raises_nothing",),
        "other topics; two causes at once": (
            f"{E}reading_other_topics_raises_the_epoch_once",
            f"{HERE}two_causes_in_one_heartbeat_raise_the_epoch_once",
        ),
        "other pattern": (
            f"{P}a_member_that_gives_its_pattern_up_raises_the_epoch",
            f"{P}another_pattern_that_is_not_looked_up_yet_takes_its_topics_away",
        ),
        "changed topics": (
            f"{E}a_changed_topic_raises_the_epoch_with_the_next_heartbeat",
            f"{E}a_new_leader_raises_nothing",
            f"{E}a_topic_of_another_group_raises_nothing",
        ),
        "leave, removal, either expiry": (
            f"{HERE}however_a_member_goes_the_epoch_rises_once_and_no_target_is_computed",
            f"{TIME}an_administrator_removes_members_with_one_new_epoch",
        ),
        "join and sync timeout of a classic member": (
            f"{MIXED}a_member_that_does_not_join_again_in_time_is_removed",
            f"{MIXED}a_member_that_does_not_sync_in_time_is_removed",
        ),
        "static leave and return": (
            f"{HERE}leaving_for_a_while_raises_nothing_and_the_return_neither",
            f"{S}a_member_that_returns_with_other_topics_raises_the_epoch",
        ),
        "rack, client, rebalance timeout": (f"{E}rack_timeout_and_client_are_only_noted",),
        "assignor vote": (f"{E}another_effective_assignor_raises_the_epoch",),
        "resolved topics of a pattern": (
            f"{P}a_new_topic_is_found_by_a_heartbeat_ten_seconds_after_the_last_look_up",
        ),
        "regular heartbeat": (f"{E}a_regular_heartbeat_raises_nothing",),
        "failover": (f"{E}a_failover_raises_nothing",),
    },
    "static": {
        "return in time": (f"{S}a_member_that_returns_in_time_keeps_its_assignment",),
        "return too late": (f"{S}a_member_that_returns_too_late_is_new",),
        "return with other topics": (
            f"{S}a_member_that_returns_with_other_topics_raises_the_epoch",
        ),
        "other id while present; lost join response": (
            f"{S}an_instance_id_in_use_is_refused",
            f"{S}another_member_under_the_same_instance_is_fenced",
        ),
        "-1 with instance id": (f"{S}a_static_member_may_leave_for_good",),
        "size limit with a known instance": (f"{S}a_known_instance_needs_no_room",),
    },
    "patterns": {
        "new": (f"{P}a_new_pattern_gives_partitions_with_the_heartbeat_after_its_look_up",),
        "already resolved": (f"{P}a_pattern_that_another_member_has_gives_partitions_at_once",),
        "removed": (f"{P}a_member_that_gives_its_pattern_up_raises_the_epoch",),
        "last user gone": (f"{P}the_pattern_of_the_last_member_to_leave_is_forgotten",),
        "topic created, ten seconds apart": (
            f"{P}a_new_topic_is_found_by_a_heartbeat_ten_seconds_after_the_last_look_up",
            f"{P}all_patterns_of_a_group_are_looked_up_together",
        ),
    },
    "assignor failure": {
        "UNKNOWN_SERVER_ERROR, log and epochs unchanged": (
            f"{T}an_assignor_that_fails_changes_nothing",
        ),
    },
    "timers": {
        "session after a quiet member": (f"{TIME}a_silent_member_is_removed",),
        "not after commits": (f"{TIME}commits_and_errors_keep_no_session",),
        "re-armed by a second revocation": (f"{TIME}a_second_revocation_has_a_time_of_its_own",),
        "cancelled by the acknowledgement": (f"{TIME}a_confirmation_ends_the_time_limit",),
        "full after a failover": (f"{TIME}a_failover_starts_every_timer_in_full",),
    },
    "migration": {
        "each upgrade condition refused": (
            f"{UP}policy_and_size_may_forbid_the_upgrade",
            f"{UP}a_group_of_another_protocol_type_stays_what_it_is",
        ),
        "upgrade from each classic state": (
            f"{UP}a_heartbeat_makes_a_consumer_group_of_a_stable_one",
            f"{UP}a_parked_join_is_answered_with_rejoin",
            f"{UP}a_parked_sync_is_answered_with_rejoin",
        ),
        "cooperative and eager members reconcile": (
            f"{MIXED}a_cooperative_member_gives_up_in_two_steps",
            f"{MIXED}an_eager_member_gives_up_with_the_join_itself",
        ),
        "the three reasons to rejoin": (
            f"{MIXED}a_member_that_waits_joins_again_when_all_of_it_is_free",
        ),
        "the last consumer member leaves, expires, is replaced": (
            f"{DOWN}the_last_consumer_member_leaves_a_classic_group",
            f"{DOWN}the_last_consumer_member_falls_silent",
            f"{MIXED}a_static_member_changes_its_protocol_in_place",
        ),
        "size and policy forbid it": (f"{DOWN}policy_may_forbid_the_downgrade",),
    },
    "commits": {
        "current": (f"{COMMIT}the_members_epoch_is_good_for_any_partition",),
        "older, with and without grant": (
            f"{COMMIT}an_older_epoch_is_good_for_what_the_member_had_by_then",
            f"{COMMIT}one_partition_that_the_member_has_not_fails_the_whole_commit",
        ),
        "newer": (f"{COMMIT}an_epoch_of_the_future_is_stale",),
        "unknown member; epoch -1 with members": (f"{COMMIT}a_stranger_may_not_commit",),
        "epoch -1 without members": (
            f"{COMMIT}without_members_anybody_may_commit_without_an_epoch",
        ),
        "version 8": (f"{COMMIT}an_old_request_cannot_name_an_epoch",),
    },
    "client": {
        "first empty assignment": (
            f"{CLIENT}join.py::test_a_first_empty_assignment_is_reconciled",
        ),
        "abort after fencing": (f"{CLIENT}reconcile.py::test_fencing_ends_a_reconciliation",),
        "abort after joining again": (
            f"{CLIENT}reconcile.py::test_joining_again_ends_a_reconciliation",
        ),
        "a newer target waits its turn": (
            f"{CLIENT}reconcile.py::test_a_newer_target_waits_its_turn",
        ),
        "a failed commit is ignored": (
            f"{CLIENT}reconcile_commit.py::test_a_failed_commit_is_ignored",
        ),
        "a callback throws": (
            f"{CLIENT}reconcile.py::test_a_revoked_call_that_throws_acknowledges_nothing",
            f"{CLIENT}reconcile.py::test_an_assigned_call_that_throws_is_made_again",
        ),
        "leave overtakes a heartbeat in flight": (
            f"{CLIENT}leaving.py::test_the_last_heartbeat_overtakes_one_in_flight",
        ),
        "a lost acknowledgement is sent again": (
            f"{CLIENT}heartbeat.py::test_a_lost_acknowledgement_is_made_up_for",
        ),
        "a stale member joins only after its callback": (
            f"{CLIENT}poll_interval.py::test_it_joins_only_after_the_call",
        ),
    },
}
