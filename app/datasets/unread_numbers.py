"""Second look at columns of text that look like numbers or dates, to tell their users why they are read as text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from app.datasets.column_types import ValueType, as_text
from app.datasets.options import ReadingOptions
from app.datasets.reading import TableReader
from app.datasets.text_families import families, number_readings
from app.datasets.text_scans import MAX_ODD_TEXTS, Family, ReadingScan, TextScan
from app.datasets.upload_warnings import Place, UploadWarning, listed_cells
from app.datasets.verdicts import NEARLY_SHARE, best_of, nearly
from core import TextReading
from core.service_api import clean_texts

#: Distinct values of the first batch that decide whether a column is looked at again.
_SAMPLE_SIZE = 200
#: With fewer distinct numbers or dates than this per text that is neither, a column is one of codes.
_READABLE_PER_ODD_TEXT = 5
#: Signs of currencies: symbols and the codes that are written most.
_CURRENCY = r"(?:\p{Sc}|EUR|USD|GBP|CHF|JPY)"


@dataclass(frozen=True)
class _Suspect:
    """Column whose sample looks like numbers or dates. currency: the sign beside its numbers, None if there is none."""

    scan: TextScan
    n_readable: int
    currency: str | None = None


def unread_warnings(reader: TableReader, names: Sequence[str], options: ReadingOptions) -> Iterator[UploadWarning]:
    """Yield a warning for each column of text that by most of its values is one of numbers or dates."""
    first = next(iter(reader.batches(names)), None) if names else None
    if first is None:
        return
    samples = {name: _sample(first.column(index), options.of_column(name)) for index, name in enumerate(names)}
    found = {name: _suspect(name, sample, options.of_column(name)) for name, sample in samples.items()}
    suspects = {name: suspect for name, suspect in found.items() if suspect is not None}
    first_row = 0
    for batch in reader.batches(list(suspects)) if suspects else ():
        for suspect, array in zip(suspects.values(), batch.columns, strict=True):
            suspect.scan.add(_without_currency(as_text(array), suspect.currency), first_row)
        first_row += batch.num_rows
    for name, suspect in suspects.items():
        if (warning := _explanation(name, suspect, options.of_column(name), reader.place)) is not None:
            yield warning


def _sample(array: pa.Array, options: ReadingOptions) -> pa.Array:
    """Return distinct texts of a batch that are not missing."""
    nulls = number_readings(options)[0].nulls
    return pc.unique(clean_texts(as_text(array), nulls).drop_null())[:_SAMPLE_SIZE]


def _suspect(name: str, sample: pa.Array, options: ReadingOptions) -> _Suspect | None:
    currency = _currency(sample)
    texts = _without_currency(sample, currency)
    tried = [family for family in _any_families(name, texts, options) if _keep_readings(family, texts)]
    if not tried:
        return None
    n_readable = max(len(texts) - int(family.invalid(texts, each.reading).sum()) for family, each in _pairs(tried))
    return _Suspect(TextScan(tried, number_readings(options)[0].nulls, gives_up=False), n_readable, currency)


def _any_families(name: str, texts: pa.Array, options: ReadingOptions) -> list[Family]:
    """Return the families that a column may belong to, whatever marks and forms the upload asks for."""
    dated = texts.filter(pc.match_substring_regex(texts, r"\d.*[-./ ].*\d"))
    return families(name, ReadingOptions(nulls=options.nulls), None, dated[0].as_py() if len(dated) else "")


def _keep_readings(family: Family, texts: pa.Array) -> bool:
    """Keep the readings of a family that can read some of the texts, if one of them can read a third."""
    n_read = [len(texts) - int(family.invalid(texts, each.reading).sum()) for each in family.scans]
    family.scans = [each for each, n in zip(family.scans, n_read, strict=True) if n > 0]
    return bool(n_read) and max(n_read) * 3 >= len(texts) > 0


def _pairs(found: Sequence[Family]) -> Iterator[tuple[Family, ReadingScan]]:
    return ((family, each) for family in found for each in family.scans)


def _currency(sample: pa.Array) -> str | None:
    """Return the sign of a currency that most texts have, None if there is none."""
    signs = pc.extract_regex(sample, rf"(?P<sign>{_CURRENCY})").field("sign")
    signs = signs.filter(pc.not_equal(signs, "")).drop_null()
    counts: Mapping[str, int] = {each["values"].as_py(): each["counts"].as_py() for each in pc.value_counts(signs)}
    sign = max(counts, key=lambda text: counts[text], default=None)
    return sign if sign is not None and counts[sign] * 2 > len(sample) else None


def _without_currency(texts: pa.Array, sign: str | None) -> pa.Array:
    return texts if sign is None else pc.utf8_trim_whitespace(pc.replace_substring(texts, sign, "", max_replacements=1))


def _explanation(name: str, suspect: _Suspect, options: ReadingOptions, place: Place) -> UploadWarning | None:
    scan = suspect.scan
    mixed = [family for family in scan.families if family.values is ValueType.REAL and family.n_unreadable == 0]
    family, best = best_of(scan)
    if scan.has_codes:
        return None
    few_left = best.n_invalid <= (1 - NEARLY_SHARE) * scan.n_present
    few_odd = len(best.odd_texts) <= MAX_ODD_TEXTS
    if few_left and suspect.currency is not None:
        return _amounts(name, suspect.currency, scan, place)
    if few_left and (family.values, best.reading) not in _allowed(name, options):
        return _excluded(name, family, best.reading, scan, options, place)
    if suspect.currency is None and mixed and best.n_invalid > 0:
        return _mixed_numbers(name, mixed[0], place)
    if best.n_invalid == 0:
        return None
    is_number = suspect.n_readable >= _READABLE_PER_ODD_TEXT * max(1, len(best.odd_texts))
    if suspect.currency is None and (few_left or (few_odd and is_number)):
        return nearly(name, family, best, scan.n_present, place)
    return None


def _allowed(name: str, options: ReadingOptions) -> list[tuple[ValueType, TextReading]]:
    allowed = families(name, options, None, "1-1") + families(name, options, None, "1-1 1:1")
    return [(family.values, each.reading) for family, each in _pairs(allowed)]


def _amounts(name: str, sign: str, scan: TextScan, place: Place) -> UploadWarning:
    shown = f"beside {sign!r}, {_shown(scan, place)}" if scan.first_cells else f"numbers beside {sign!r}"
    detail = (
        f"the values of column {name!r} are amounts: {shown}; the column is read as text. Write the numbers without "
        f"{sign!r}"
    )
    return UploadWarning(name, "currency", detail, [row for row, _ in scan.first_cells])


def _excluded(
    name: str, family: Family, reading: TextReading, scan: TextScan, options: ReadingOptions, place: Place
) -> UploadWarning:
    is_date = family.values is ValueType.DATETIME
    fields: tuple[str, ...] = ("dates",) if is_date else ("decimal", "thousands")
    fields = tuple(field for field in fields if getattr(options, field) is not None)
    sent = [f"`{field}` {getattr(options, field)!r}" for field in fields]
    noun = f"dates {reading.date_example}" if is_date else f"numbers such as {reading.number_example}"
    detail = (
        f"the values of column {name!r} are {noun}, which {' and '.join(sent)} of the upload "
        f"exclude{'' if len(sent) > 1 else 's'}: {_shown(scan, place)}; the column is read as text. Omit "
        f"{' and '.join(f'`{field}`' for field in fields)} to detect it, or write the column as the upload says"
    )
    return UploadWarning(name, "excluded_by_reading", detail, [row for row, _ in scan.first_cells])


def _mixed_numbers(name: str, family: Family, place: Place) -> UploadWarning:
    best = min(family.scans, key=lambda each: each.n_invalid)
    detail = (
        f"the numbers of column {name!r} are written in different ways: {listed_cells(best.invalid, place)}, unlike "
        f"{best.reading.number_example} elsewhere; the column is read as text. Write all numbers with the same marks"
    )
    return UploadWarning(name, "mixed_numbers", detail, [row for row, _ in best.invalid])


def _shown(scan: TextScan, place: Place) -> str:
    return listed_cells(scan.first_cells, place)
