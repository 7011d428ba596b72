"""How properties are tested: without deadlines, because how long an example takes says nothing about the product."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("fabricc", deadline=None)
settings.load_profile("fabricc")


@pytest.fixture(scope="session", autouse=True)
def _state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What builds remember stays out of the home of who runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield
