set -e
echo hello
