#!/bin/sh
# A git pre-commit hook without a framework: judges what this commit changes and
# costs nothing where it changes neither skills nor their lock. It looks at the
# files on disk, as editors do, and never changes them or the index.
set -eu
cd "$(git rev-parse --show-toplevel)"

if [ -e skills.toml ] && ! git diff --cached --quiet -- skills.toml skills.lock; then
	skillpm lock --check
fi

# The project's own skills. What lies below a directory with a dot is installed,
# somebody else's, and for `skillpm verify` to judge.
changed() {
	git diff --cached --diff-filter=ACMR "$@" -- ':(glob)**/SKILL.md' ':(exclude,glob)**/.*/**'
}
if ! changed --quiet; then
	changed --name-only -z | xargs -0 skillpm validate
fi
