#!/bin/sh
# Trains the verifier from the labelled pairs in $1 into $2 (about 3 GB of Python packages beside; hours of one core).
# It can be broken off and started again: the reader's training goes on from its last checkpoint.
set -eu
data=$1 out=$2 here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
mkdir -p "$out"
run() { "$python" "$here/$@"; }
base=$out/base
[ -f "$base/model.safetensors" ] || run base.py --out "$base"
[ -f "$out/acts/train.json" ] || run corpus.py --data "$data" --base "$base" --out "$out/acts" --frames acts
[ -f "$out/all/train.json" ] || run corpus.py --data "$data" --base "$base" --out "$out/all"
reader() { [ -f "$out/$1/reader.pt" ] || run train_reader.py --base "$base" --out "$out/$@" --head mean --bf16; }
reader first --corpus "$out/acts" --visits 230000 --rate 2e-4
reader second --corpus "$out/acts" --start "$out/first/reader.pt" --visits 96000 --rate 1e-4
reader third --corpus "$out/all" --start "$out/second/reader.pt" --visits 44800 --rate 8e-5
folder=$out/verifier-en-1
mkdir -p "$folder"
run export_reader.py --weights "$out/third/reader.pt" --base "$base" --corpus "$out/all" --out "$folder/reader.onnx"
cp "$out/all/token_weights.bin" "$folder/"
# A judge that knows nothing first, so that the service's own code can compute the signals that the judge learns from.
cd "$here/../.."
run train_judge.py --empty --out "$folder/judge.json" --names "$here/signals.json"
run manifest.py "$folder"
cargo run --release --example pair_signals -- "$folder" < "$out/all/judge.jsonl" > "$out/signals.jsonl"
run train_judge.py --signals "$out/signals.jsonl" --out "$folder/judge.json" --report "$out/report.json"
run manifest.py "$folder"
