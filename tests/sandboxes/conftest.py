"""The back ends under test, for every file of this folder."""

import pytest

from cligym.sandboxes.namespace import NamespaceBackend
from tests.sandboxes.contract import box, boxes, image_archive, known_boxes, new_driver

__all__ = ["box", "boxes", "image_archive", "known_boxes", "new_driver"]


@pytest.fixture
def id_range(backend: NamespaceBackend) -> None:
    """For tests that need more than one user inside a box."""
    if not backend.keeper.has_id_range:
        pytest.skip("this account has no range of ids (/etc/subuid)")
