#!/usr/bin/env bash
# The first minutes of somebody new: a fresh clone, `npm start`, one approval by curl, stop, start again. A tree in which nothing is
# installed yet, as CI has it, is that clone, and stays installed and built.
set -euo pipefail
source_tree=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
clone=$source_tree
is_fresh=yes
if [ -e "$source_tree/node_modules" ] || [ -e "$source_tree/data" ]; then
  is_fresh=
  clone=$folder/countersign
fi
pid=
cd /

fail() {
  echo "newcomer: $*" >&2
  [ -e "$folder/output" ] && tail -n 50 "$folder/output" >&2
  exit 1
}

stop_all() {
  if [ -n "$pid" ]; then kill -TERM "$pid" 2>/dev/null || true; wait "$pid" 2>/dev/null || true; fi
  rm -rf "$folder"
  [ -z "$is_fresh" ] || rm -rf "$clone/data"
}
trap stop_all EXIT

# Called several times a second: a process for each call would take a fifth of the processor time of all that is measured here.
now_ms() { echo $((${EPOCHREALTIME//[!0-9]/} / 1000)); }

# Starts in the background and waits until it is ready; $1 = most seconds that this may take.
start() {
  local began
  began=$(now_ms)
  (cd "$clone" && exec npm start) >"$folder/output" 2>&1 &
  pid=$!
  until curl --silent --fail --output /dev/null "$url/readyz"; do
    kill -0 "$pid" 2>/dev/null || fail 'npm start ended by itself'
    [ $(($(now_ms) - began)) -lt $(($1 * 1000)) ] || fail "not ready after $1 s"
    sleep 0.4
  done
  echo "newcomer: ready after $(($(now_ms) - began)) ms"
}

stop() {
  local status=0
  kill -TERM "$pid"
  wait "$pid" || status=$?
  pid=
  # npm may report the signal that it was sent; anything else is the product's own failure.
  [ "$status" -eq 0 ] || [ "$status" -eq 143 ] || fail "ended with $status after SIGTERM"
  # What npm started may end a moment after it.
  local until=$((SECONDS + 10))
  while [ -n "$(left_behind)" ] && [ "$SECONDS" -lt "$until" ]; do sleep 0.1; done
  [ -z "$(left_behind)" ] || fail "left $(left_behind) behind"
  if curl --silent --output /dev/null "$url/healthz"; then fail 'still answers after SIGTERM'; fi
}

# The processes that run in the clone, without those that called this script.
left_behind() {
  local process
  for process in /proc/[0-9]*; do
    [[ " $callers " == *" ${process#/proc/} "* ]] && continue
    if [[ $(readlink "$process/cwd" 2>/dev/null) == "$clone"* ]]; then echo -n "${process#/proc/} "; fi
  done
}
callers=
callers=$(left_behind)

# Below the ports that systems give to outgoing connections (installing opens many), and above those of the test suites.
COUNTERSIGN_PORT=$(node -e '
  const attempt = () => {
    const server = require("net").createServer().on("error", attempt);
    const port = 30000 + Math.floor(Math.random() * 2700);
    server.listen(port, "127.0.0.1", () => server.close(() => console.log(port)));
  };
  attempt();
')
export COUNTERSIGN_PORT
url=http://127.0.0.1:$COUNTERSIGN_PORT

[ -n "$is_fresh" ] || git clone --quiet "$source_tree" "$clone"
start 600

# The second block of the README, letter by letter: ask by curl, look, decide.
awk '/^```sh$/ { n += 1; if (n == 2) { on = 1; next } } /^```$/ { on = 0 } on' "$clone/README.md" >"$folder/readme.sh"
(cd "$clone" && COUNTERSIGN_URL=$url sh -eu "$folder/readme.sh") >"$folder/story" 2>"$folder/story-errors" ||
  fail "the README's first approval failed: $(cat "$folder/story-errors")"
grep -q 'awaiting_approval' "$folder/story" || fail 'the call did not wait for a person'
grep -q 'seen with ops' "$folder/story" || fail "the story does not tell who approved: $(cat "$folder/story")"
echo 'newcomer: the first approval is through'

stop
start 15
stop
echo '1 passed, 0 failed'
