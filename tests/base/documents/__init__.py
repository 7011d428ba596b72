"""Tests of how files of users are read."""
