#!/bin/sh
# A git pre-commit hook without a framework: judges what this commit changes and
# costs nothing where it changes neither skills nor their lock. It looks at the
# files on disk, as editors do, and never changes them or the index.
set -eu
cd "$(git rev-parse --show-toplevel)"

# changed PATTERN... lists the staged files that are still there, ended by NUL.
changed() { git diff --cached --name-only --diff-filter=ACMR -z -- "$@"; }

if [ -e skills.toml ] && ! git diff --cached --quiet -- skills.toml skills.lock; then
	skillpm lock --check
fi
if ! git diff --cached --quiet --diff-filter=ACMR -- ':(glob)**/SKILL.md'; then
	changed ':(glob)**/SKILL.md' | xargs -0 skillpm validate
fi
