"""Doors for other people's tools: each module is one tool's way to what the rooms below do."""
