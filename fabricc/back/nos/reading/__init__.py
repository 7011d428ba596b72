"""The reader of all back ends: lines, or a tree of another syntax, and rows of patterns that say what they mean."""
