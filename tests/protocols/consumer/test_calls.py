"""Exceptions of the application's calls."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import ExceptionName, Failed, exception_name
from protocols.messages.errors import ErrorCode


@pytest.mark.parametrize("error", [error for error in ErrorCode if error is not ErrorCode.NONE])
def test_every_error_code_has_an_exception(error):
    """Whatever a broker answers, a call can throw it."""
    assert exception_name(error) in ExceptionName


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, "GroupAuthorizationException"),
        (ErrorCode.FENCED_INSTANCE_ID, "FencedInstanceIdException"),
        (ErrorCode.REQUEST_TIMED_OUT, "TimeoutException"),
        (ErrorCode.NETWORK_EXCEPTION, "NetworkException"),
        (ErrorCode.INVALID_REGULAR_EXPRESSION, "InvalidRegularExpression"),
    ],
)
def test_an_exception_has_the_name_of_its_java_class(error, name):
    """Some names do not follow the name of the error."""
    assert exception_name(error) == name
    assert str(Failed(exception_name(error), error)) == f"{name} ({error.name})"
