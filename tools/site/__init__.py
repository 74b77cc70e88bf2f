"""The documentation site: what mkdocs builds beside the pages of docs/."""
