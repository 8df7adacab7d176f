"""Media types that the client sends for the endings of files."""

import pytest

from app.datasets import formats
from bristlecone.media_types import UPLOADED


@pytest.mark.parametrize("ending", formats.FORMATS_BY_SUFFIX)
def test_every_file_that_the_service_reads_can_be_uploaded(ending: str) -> None:
    sent = UPLOADED[ending]
    assert formats.FORMATS_BY_MEDIA_TYPE[sent] is formats.FORMATS_BY_SUFFIX[ending]
