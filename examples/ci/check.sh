#!/bin/sh
# The three questions of a CI job, in the order of their cost. Each command prints
# what is wrong and ends the job with its own status: 3 for a lock that is out of
# date, 2 for a finding, 1 for what could not be done.
set -eu

# Does the lock answer for skills.toml as it stands in this commit? No network.
skillpm lock --check

# Can everything in the lock be had, is it what was locked, and is it signed as
# the project's policy wants? Writes the targets and never the lock.
skillpm install --frozen

# Is what agents will read, committed skills included, equal to the lock?
if [ "${STRICT:-false}" = true ]; then
	skillpm verify --strict
else
	skillpm verify
fi
