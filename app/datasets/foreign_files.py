"""Files of other types that people upload as tables: their signatures, and the way out."""

import re
import zipfile
from pathlib import Path

_ZIP = b"PK\x03\x04"
_CONVERT = "open it and save it as .xlsx or CSV"
_UNPACK = "unpack it and upload the table inside, as it is or compressed with gzip or zstd"
_EXPORT = "export the table as CSV or Parquet"

#: Beginning of a file, what it is, and the way out.
_SIGNATURES = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a workbook of Excel 97 to 2003 (.xls)", _CONVERT),
    (b"%PDF", "a PDF document", _EXPORT),
    (b"{\\rtf", "an RTF document", _EXPORT),
    (b"BZh", "a bzip2 archive", _UNPACK),
    (b"\xfd7zXZ\0", "an xz archive", _UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", _UNPACK),
    (b"Rar!\x1a\x07", "a RAR archive", _UNPACK),
    (b"SQLite format 3\0", "an SQLite database", _EXPORT),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", _EXPORT),
    (b"\x93NUMPY", "a NumPy array", _EXPORT),
    (b"Obj\x01", "an Avro file", _EXPORT),
    (b"ORC", "an ORC file", _EXPORT),
    (b"$FL2", "an SPSS file", _EXPORT),
    (b"<stata_dta>", "a Stata file", _EXPORT),
    (b"\x80\x04\x95", "a Python pickle", _EXPORT),
    (b"\x89PNG\r\n", "a PNG image", _EXPORT),
    (b"\xff\xd8\xff", "a JPEG image", _EXPORT),
)
_MARKUP = re.compile(rb"\s*<(!doctype\s+html|html|head|body|\?xml|table)\b", re.IGNORECASE)
_JSON_TABLE = re.compile(rb"\s*\[\s*\[")

_MOST_NAMES = 5


def is_workbook(path: Path, head: bytes) -> bool:
    """Return whether the file is an Excel workbook (.xlsx), by its parts."""
    return head.startswith(_ZIP) and "xl/workbook.xml" in _members(path)


def describe_foreign(path: Path, head: bytes) -> tuple[str, str] | None:
    """Return what the file is and the way out, or None if it is not of a known other type."""
    for signature, name, way_out in _SIGNATURES:
        if head.startswith(signature):
            return name, way_out
    if head[257:262] == b"ustar":
        return "a tar archive", _UNPACK
    if head.startswith(_ZIP):
        return _describe_zip(path)
    text = head.removeprefix(b"\xef\xbb\xbf")
    if markup := _MARKUP.match(text):
        if markup[1].lower() == b"?xml":
            return "an XML document", _EXPORT
        return "an HTML page", "check that the download did not end at a login or error page, and upload the table"
    if _JSON_TABLE.match(text):
        return "a JSON array of arrays", 'write an array of objects, such as [{"age": 41}, {"age": 30}]'
    return None


def _describe_zip(path: Path) -> tuple[str, str]:
    names = _members(path)
    if "xl/workbook.bin" in names:
        return "a binary Excel workbook (.xlsb)", _CONVERT
    if "word/document.xml" in names:
        return "a Word document", _EXPORT
    if "mimetype" in names and "content.xml" in names:
        return "an OpenDocument file, such as .ods", _CONVERT
    if not names:
        return "a zip archive that is damaged or empty", "write it again, and upload the table inside it"
    listed = ", ".join(repr(name[:80]) for name in names[:_MOST_NAMES])
    return f"a zip archive with {listed}{' and more' if len(names) > _MOST_NAMES else ''}", _UNPACK


def _members(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return []
