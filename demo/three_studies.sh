#!/usr/bin/env bash
# All three studies from seeds to checked releases, with commands and the API alone, on an
# installation of their own in a temporary folder and a scripted model server. Exit 0: all is well.
# RELEASES=DIR keeps the releases there; PICTURES=docs/images takes the pictures of the docs anew.
set -euo pipefail
cd "$(dirname "$0")/.."

python=.venv/bin/python
seeds=demo/three_studies
folder=$(mktemp -d)
releases=${RELEASES:-$folder/releases}
server=""

finish() {
    code=$?
    [ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true
    exec 3>&- # its end ends the model server
    [ "$code" = 0 ] || tail -n 20 "$folder"/*.log >&2
    home=$(readlink -f "$folder/var/postgres" || true)
    rm -rf "$folder" "$home" || { sleep 5 && rm -rf "$folder" "$home"; }
    exit "$code"
}
trap finish EXIT

step() { echo "[$SECONDS s] $*" >&2; }
attune() { "$python" manage.py "$@" 2>>"$folder/commands.log"; }
people() { "$python" $seeds/people.py "$@" 2>>"$folder/commands.log"; }

step "A scripted model server and an Attune of our own"
mkfifo "$folder/stdin"
"$python" -m demo.three_studies.endpoint <"$folder/stdin" >"$folder/address" 2>"$folder/model.log" &
exec 3>"$folder/stdin"
until [ -s "$folder/address" ]; do sleep 0.1; done
port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
unset DATABASE_URL REDIS_URL ATTUNE_BASE_URL
export ATTUNE_DATA=$folder/var ATTUNE_URL=http://127.0.0.1:$port
export ATTUNE_ENDPOINTS='[{"name": "scripted", "model": "scripted-1", "concurrency": 8, "base_url": "'$(cat "$folder/address")'"}]'
mkdir -m 0700 "$ATTUNE_DATA"
"$python" manage.py up --no-demo --port "$port" >"$folder/up.log" 2>&1 3>&- &
server=$!
until grep -qs "Attune is ready" "$folder/up.log"; do
    kill -0 "$server" || { server=""; exit 1; }
    sleep 0.2
done

step "PersonaFeedback: seeds, personas, memories, features, questions"
curator=curator@three.example
raters=(r{1..9}@three.example)
owners=(o{1,2}@three.example)
attune import_study $seeds/feedback
attune add_member three-feedback $curator --role curator
attune add_member three-feedback "${raters[@]}" --role annotator --consented
attune make_token $curator "${raters[@]}" >"$folder/tokens"
head -n 1 "$folder/tokens" >"$folder/curator"
tail -n 9 "$folder/tokens" >"$folder/raters"
lines() { "$python" -c 'import json, sys; print(json.dumps(sys.stdin.read().splitlines()))' <"$1"; }
plan() { people generate three-feedback "$@" <"$folder/curator"; }
plan persona '{"count": 6}'
attune split_personas three-feedback --benchmark 6
plan memory "{\"texts\": $(lines $seeds/feedback/memories.txt)}"
plan feature '{"per_persona": 2, "size": 2}'
plan question '{"per_persona": 2}'
plan general "{\"texts\": $(lines $seeds/feedback/pool.txt)}"
plan match '{"per_persona": 2}'

step "PersonaFeedback: answers, the best of three, rewrites, pairs"
plan answer '{"strategies": ["A1", "A2", "A3"]}'
people begin three-feedback best <"$folder/curator"
people judge three-feedback <"$folder/raters"
plan answer '{"strategies": ["mismatch"]}'
plan answer '{"rewrite": "improve", "of": "A1"}'
plan answer '{"rewrite": "degrade", "of": "A1"}'
people begin three-feedback better <"$folder/curator"
people judge three-feedback <"$folder/raters"

step "PersonaFeedback: release"
attune tiers three-feedback --json >"$folder/tiers.json"
attune release three-feedback --layout personafeedback --out "$releases/personafeedback"
attune check_release "$releases/personafeedback"

step "PersonalBench: conversations, attributes extracted from them"
attune import_study $seeds/bench
attune add_member three-bench $curator --role curator
attune import_data $seeds/bench/conversations.jsonl --study three-bench --recipe conversations
attune conversations three-bench --language English --take
people generate three-bench attribute '{"chats": 2}' <"$folder/curator"
attune make_attributes three-bench

step "PersonalBench: which attributes hold, their relevance, answers from them"
attune add_member three-bench "${raters[@]:0:3}" --role annotator --consented
head -3 "$folder/raters" >"$folder/three"
attune open_batch three-bench --task extraction
people begin three-bench relevance <"$folder/curator"
people judge three-bench <"$folder/three"
attune generate three-bench --task response --wait
people begin three-bench response <"$folder/curator"
people judge three-bench <"$folder/three"

step "PersonalBench: a model judges beside the people; release"
attune judge_items three-bench --task relevance --endpoint scripted
attune gap three-bench >"$folder/gap.json"
attune release three-bench --layout personalbench --out "$releases/personalbench"
attune check_release "$releases/personalbench"

step "BESPOKE: histories, queries of their owners, answers"
attune import_study demo/own
attune add_member demo-own $curator --role curator
attune add_member demo-own "${owners[@]}" --role annotator --consented
attune make_token "${owners[@]}" >"$folder/owners"
for owner in "${owners[@]}"; do attune import_history "$owner" demo/own/history.json; done
attune import_documents demo-own $seeds/own/documents.jsonl
people search demo-own '{"sources": ["history", "documents"], "strategies": ["search", "search-raw",
    "search-raw-selected", "search-static", "search-static-selected", "search-aware"]}' <"$folder/curator"
people ask demo-own <"$folder/owners"
attune generate demo-own --wait

step "BESPOKE: scores and feedback, gold information, rubric; release"
people begin demo-own score <"$folder/curator"
people judge demo-own <"$folder/owners"
people gold demo-own <"$folder/owners"
attune release demo-own --layout bespoke --out "$releases/bespoke"
attune check_release "$releases/bespoke"

if [ -n "${PICTURES:-}" ]; then
    step "Pictures"
    attune load_demo
    attune add_member demo "${raters[0]}" --role annotator --consented
    "$python" -m demo.three_studies.pictures "$PICTURES"
fi

step "What must be there"
"$python" $seeds/expect.py "$releases" "$folder"
step "Three studies, three releases"
