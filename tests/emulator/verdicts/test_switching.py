"""What deploys change in how a group assigns."""

from __future__ import annotations

from emulator.verdicts.switching import Switched, Switching


def test_a_change_before_the_first_deploy_is_not_its_own():
    """Only what the group had when the deploy began counts as before."""
    followed = Switching()
    followed.assign("range")
    followed.assign("sticky")
    followed.deploy(running=3)
    followed.assign("sticky")

    assert followed.switched is None


def test_several_deploys_are_compared_with_the_time_before_the_first():
    followed = Switching()
    followed.assign("range")
    followed.deploy(running=3)
    followed.assign("sticky")
    followed.deploy(running=2)
    followed.assign("cooperative-sticky")

    assert followed.switched == Switched("range", "cooperative-sticky", 2, running_before=3)


def test_a_group_that_had_no_assignor_before_its_deploy_changed_none():
    followed = Switching()
    followed.deploy(running=0)
    followed.assign("range")

    assert followed.switched is None
