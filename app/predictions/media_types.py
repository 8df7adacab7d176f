"""Media types of bodies with rows to predict, and of answers."""

from collections.abc import Mapping

from app.datasets.formats import FORMATS_BY_MEDIA_TYPE, FileFormat

JSON = "application/json"
#: Formats of tabular bodies by media type; JSON is a document with parameters. All of these are read, and those of
#: `app.predictions.writers` are written.
FORMATS: Mapping[str, FileFormat] = {
    media_type: file_format
    for media_type, file_format in FORMATS_BY_MEDIA_TYPE.items()
    if file_format not in (FileFormat.XLSX, FileFormat.JSON)
}
READABLE = (JSON, *FORMATS)
