#!/bin/sh
set -e
echo "deploying $1"
