#!/bin/sh
# Makes `multilingual-e5-small-int8` and `verifier-multi-1` in $2 from the labelled sets in $1.
# What is whole stays; the training goes on from its last checkpoint.
set -eu
export OMP_NUM_THREADS=1
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
data=$1 out=$(cd "$2" && pwd) python=${PYTHON:-python3}
embedder=$out/multilingual-e5-small-int8 verifier=$out/verifier-multi-1

. "$here/../train/steps.sh"

make "$out/base" run base.py --data "$data"
make "$out/minilm" run ../train/base.py
make "$out/english" run ../train/corpus.py --data "$data" --base "$out/minilm"
make "$out/corpus" run make_corpus.py --data "$data" --english "$out/english" --base "$out/base"
[ -f "$out/tuned/weights.pt" ] || run train_multi.py --corpus "$out/corpus" --base "$out/base" --out "$out/tuned" --visits 60000 --bf16
make "$out/weights.pt" run soup.py --base "$out/base" --weights "$out/tuned/weights.pt" --corpus "$out/corpus"
mkdir -p "$verifier"
make "$embedder" run export_multi.py --weights "$out/weights.pt" --base "$out/base" --data "$data" --corpus "$out/corpus" \
    --head "$verifier/head.bin"

cp "$out/corpus/token_weights.bin" "$verifier/"
for judge in judge judge-chinese judge-other; do
    run ../train/train_judge.py --empty --out "$verifier/$judge.json" --names "$here/../train/signals.json"
done
: "${FINGERPRINT:?the embedder made above, as 'refrain serve' logs it: start it once with REFRAIN__EMBEDDER__MODEL=$embedder}"
run manifest.py "$verifier" "$FINGERPRINT"
run judge_pairs.py --corpus "$out/corpus" --data "$data" --out "$out/judge.jsonl"
(cd "$here/../.." && cargo run --release --example pair_signals -- "$verifier" "$embedder") < "$out/judge.jsonl" > "$out/signals.jsonl"
for group in english chinese other; do
    judge=judge-$group
    [ "$group" != english ] || judge=judge
    run ../train/train_judge.py --signals "$out/signals.jsonl" --group "$group" --out "$verifier/$judge.json" --report "$out/report-$group.json"
done
run manifest.py "$verifier" "$FINGERPRINT"
