"""The built client, for the examples that are in TypeScript."""

from tests.ui.conftest import built as built
