"""`pytest --pyargs contactsim.conformance` goes on working; the tests are those of `contactsim.testing`."""

from ..testing.test_conformance import *  # noqa: F403
