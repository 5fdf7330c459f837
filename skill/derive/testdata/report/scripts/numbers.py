#!/usr/bin/env -S python3 -u
"""Counts what happened in a week."""
print("{}")
