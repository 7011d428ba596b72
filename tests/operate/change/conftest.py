"""The command line, run in this process."""

from tests.cli.conftest import fabricc  # noqa: F401 - a fixture
