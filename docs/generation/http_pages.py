"""Markdown of the HTTP reference: the operations of one tag, and every schema, from the OpenAPI document."""

from collections.abc import Iterator, Mapping
from typing import Any

from docs.generation.json_types import anchor, field_row, fields_table, type_text
from docs.generation.markdown import code, json_block, page, table

Document = Mapping[str, Any]


def operations(document: Document, tag: str) -> str:
    """Return one section per operation with this tag. Raises KeyError without any."""
    sections = [_operation(*each) for each in _operations(document) if tag in each[2]["tags"]]
    if not sections:
        raise KeyError(f"no operation has the tag {tag!r}")
    return page(sections)


def schemas(document: Document) -> str:
    """Return one section per schema that requests and answers are made of."""
    named = sorted(document["components"]["schemas"].items(), key=lambda item: item[0].lower())
    return page(_schema(name, schema) for name, schema in named)


def tags(document: Document) -> list[str]:
    """Return the tags in the order in which they occur."""
    return list(dict.fromkeys(tag for _, _, operation in _operations(document) for tag in operation["tags"]))


def _operations(document: Document) -> Iterator[tuple[str, str, Document]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def _operation(method: str, path: str, operation: Document) -> str:
    return page(
        (
            f"## {operation['summary']}",
            f"```text\n{method} {path}\n```",
            operation.get("description", ""),
            _parameters(operation.get("parameters", [])),
            _body(operation.get("requestBody", {})),
            _responses(operation["responses"]),
        )
    )


def _parameters(parameters: list[Document]) -> str:
    rows = [
        field_row(f"{parameter['name']}", parameter["schema"], parameter.get("required", False), parameter["in"])
        for parameter in parameters
    ]
    return f"**Parameters**\n\n{table(('name', 'in', 'type', 'default', 'meaning'), rows)}" if rows else ""


def _body(body: Document) -> str:
    if not body:
        return ""
    parts = ["**Request body**"]
    for media_type, content in body["content"].items():
        schema = content["schema"]
        if "properties" in schema:
            parts += [f"{code(media_type)} with these fields:", fields_table(schema)]
        else:
            parts.append(f"{code(media_type)}: {type_text(schema)}")
        if isinstance(content.get("example"), str):
            parts.append(f"```text\n{content['example']}```")
    return page(parts)


def _responses(responses: Document) -> str:
    rows = [
        (status, response["description"], "<br>".join(_contents(response.get("content", {}))))
        for status, response in responses.items()
        if "$ref" not in response
    ]
    listed = table(("status", "meaning", "content"), rows)
    return f"**Responses**, beside the [errors of any route](/errors.md):\n\n{listed}"


def _contents(content: Document) -> Iterator[str]:
    for media_type, answer in content.items():
        yield f"{code(media_type)}: {type_text(answer['schema'])}" if answer.get("schema") else code(media_type)


def _schema(name: str, schema: Document) -> str:
    examples = schema.get("examples", [])
    return page(
        (
            f"({anchor(name)})=\n## {name}",
            schema.get("description", ""),
            fields_table(schema) if schema.get("properties") else type_text(schema),
            "**Example**" if examples else "",
            json_block(examples[0]) if examples else "",
        )
    )
