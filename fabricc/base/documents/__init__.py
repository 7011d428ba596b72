"""Files that users write: YAML read strictly, each value with its place, and held against a JSON Schema."""
