#!/bin/sh
# A git pre-commit hook without a framework: judges what this commit changes and
# costs nothing where it changes neither skills nor their lock. It looks at the
# files on disk, as editors do, and never changes them or the index.
set -eu
cd "$(git rev-parse --show-toplevel)"

# Each project whose manifest or lock this commit changes, in whatever directory.
git -c core.quotePath=false diff --cached --name-only -- \
	':(glob)**/skills.toml' ':(glob)**/skills.lock' ':(exclude,glob)**/.*/**' |
	sed 's|[^/]*$||' | sort -u | while IFS= read -r dir; do
	if [ -e "./${dir}skills.toml" ]; then
		(cd "./$dir" && skillpm lock --check) || exit
	fi
done

# The project's own skills. What lies below a directory with a dot is installed,
# somebody else's, and for `skillpm verify` to judge.
changed() {
	git diff --cached --diff-filter=ACMR "$@" -- ':(glob)**/SKILL.md' ':(exclude,glob)**/.*/**'
}
if ! changed --quiet; then
	changed --name-only -z | xargs -0 skillpm validate
fi
