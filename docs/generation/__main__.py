"""Write the committed files that are generated: the OpenAPI document and the tables between markers."""

from docs.generation.committed import DOCS, expected_texts


def main() -> None:
    """Write every generated file whose content has changed, and print its name."""
    for path, text in expected_texts().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(DOCS.parent)}")


if __name__ == "__main__":
    main()
