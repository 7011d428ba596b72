"""Checks of everything that a deployment depends on: this machine, its repository, and the switches."""
