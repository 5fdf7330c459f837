#!/bin/sh
# Puts skillpm on PATH for the steps that follow. VERSION is a version tag or
# latest; a skillpm that is there already is used as it is.
set -eu
if command -v skillpm >/dev/null; then
	skillpm version
	exit
fi
GOBIN="${RUNNER_TEMP:?}/skillpm-bin"
export GOBIN
go install "github.com/skillpm/skillpm/cmd/skillpm@${VERSION:-latest}"
echo "$GOBIN" >>"${GITHUB_PATH:?}"
"$GOBIN/skillpm" version
