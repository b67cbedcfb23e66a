#!/bin/sh
# Trains the verifier from the labelled pairs in $1 into $2/verifier-en-1. SCALE=1 reads a hundredth of the pairs: a rehearsal.
# It can be broken off and started again: what is whole stays, and the reader goes on from its last checkpoint.
set -eu
export OMP_NUM_THREADS=1 # the same sums in the same order every time
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
data=$1 out=$(cd "$2" && pwd) python=${PYTHON:-python3} scale=${SCALE:-100}
[ -f "$out/scale" ] || echo "$scale" > "$out/scale"
[ "$(cat "$out/scale")" = "$scale" ] || { echo "$out was begun with SCALE=$(cat "$out/scale")" >&2; exit 1; }

. "$here/steps.sh"
service() { (cd "$here/../.." && cargo run --release "$@"); }
reader() {
    name=$1 visits=$2; shift 2
    [ ! -f "$out/$name/reader.pt" ] || return 0
    run train_reader.py --base "$out/base" --out "$out/$name" --visits $((visits * scale / 100)) --head mean --bf16 --threads 1 "$@"
}

service --bin refrain -- models fetch
make "$out/base" run base.py
make "$out/acts" run corpus.py --data "$data" --base "$out/base" --frames acts
make "$out/all" run corpus.py --data "$data" --base "$out/base"
reader first 230000 --corpus "$out/acts" --rate 2e-4
reader second 96000 --corpus "$out/acts" --start "$out/first/reader.pt" --rate 1e-4
reader third 44800 --corpus "$out/all" --start "$out/second/reader.pt" --rate 8e-5
make "$out/reader.onnx" run export_reader.py --weights "$out/third/reader.pt" --base "$out/base" --corpus "$out/all"

# A judge that knows nothing first, so that the service's own code can compute the signals that the judge learns from.
folder=$out/verifier-en-1
rm -rf "$folder.part"
mkdir "$folder.part"
cp "$out/reader.onnx" "$out/all/token_weights.bin" "$folder.part/"
run train_judge.py --empty --out "$folder.part/judge.json" --names "$here/signals.json"
run manifest.py "$folder.part"
service --example pair_signals -- "$folder.part" < "$out/all/judge.jsonl" > "$out/signals.jsonl"
run train_judge.py --signals "$out/signals.jsonl" --near 0.92 --out "$folder.part/judge.json" --report "$out/report.json"
run manifest.py "$folder.part"
rm -rf "$folder"
mv "$folder.part" "$folder"
