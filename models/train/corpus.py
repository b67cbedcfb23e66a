#!/usr/bin/env python3
"""Writes what the reader is trained on, what it is watched with, and what the judge is trained on.

    python corpus.py --data DIR --base DIR --out DIR [--clean] [--frames acts]

`--data` holds the sets (`pairs/<set>.dev.jsonl`, `train/`, `intents/`, `streams/`), `--base` the float MiniLM. `--clean`
takes licence-clean sets alone. `--frames acts` leaves out the frames around things and requests, as the first two runs did.
Writes `train.json` ([a, b, label, weight, source]), `watch.json` ({set: [[a, b, label]]}, no text of which was trained on),
`judge.jsonl` (pairs for the judge) and `token_weights.bin` (how rare each token is), and prints what was made.
"""

import argparse
import collections
import json
import pathlib
import random
import re

import numpy as np

import pairs as P

# How often a set's reader half is repeated: small sets carry what matters most.
TIMES = {"fow_questions": 6, "mqp_medical": 3, "qqp_onetoken": 1, "semantoneg": 1, "gsm_plus": 1, "pawsx_en": 1,
         "gptcache_qqp": 1, "gptcache_mock": 1, "sts16_qq": 1, "rqe_medical": 0}


def words_near(texts, base):
    """{word: words of its kind}, by the base model's vectors of single words: near, but not the same thing."""
    import torch
    import net
    count = collections.Counter(w for t in texts for w in set(P.CONTENT.findall(t)) if w not in P.STOP)
    vocabulary = [w for w, n in sorted(count.items()) if n >= 4]
    vocabulary = sorted(vocabulary, key=lambda w: (-count[w], w))[:6000]
    model, tok = net.bert(base).eval(), net.tokenizer(base)
    vectors = []
    with torch.inference_mode():
        for i in range(0, len(vocabulary), 256):
            ids, mask, types = net.batch([tok.encode(w) for w in vocabulary[i:i + 256]])
            x = model(input_ids=ids, attention_mask=mask).last_hidden_state * mask.unsqueeze(-1)
            vectors.append(torch.nn.functional.normalize(x.sum(1), dim=-1).numpy())
    v = np.concatenate(vectors)
    near = {}
    stem = lambda w: w[:5]
    for i in range(0, len(v), 500):
        for j, row in enumerate(v[i:i + 500] @ v.T):
            w = vocabulary[i + j]
            order = np.argsort(-row)[:40]
            near[w] = [vocabulary[k] for k in order if .38 <= row[k] <= .62 and stem(vocabulary[k]) != stem(w)][:12]
    return {w: n for w, n in near.items() if n}


def intent_negatives(data, base, sets=("banking77", "clinc150", "hwu64"), each=1200):
    """Near texts of different intents."""
    import torch
    import net
    model, tok = net.bert(base).eval(), net.tokenizer(base, 64)
    made = []
    for name in sets:
        rows = P.rows(data / "intents" / f"{name}.dev.jsonl")
        rows = [r for r in rows if r["lang"] == "en" and 3 <= len(r["text"].split()) <= 25][:2500]
        v = []
        order = sorted(range(len(rows)), key=lambda i: len(rows[i]["text"]))
        with torch.inference_mode():
            for i in range(0, len(order), 64):
                ids, mask, _ = net.batch([tok.encode(rows[k]["text"]) for k in order[i:i + 64]])
                x = model(input_ids=ids, attention_mask=mask).last_hidden_state * mask.unsqueeze(-1)
                v.append(torch.nn.functional.normalize(x.sum(1), dim=-1).numpy())
        v = np.concatenate(v)
        intents = np.array([rows[k]["intent"] for k in order])
        found = []
        for i in range(len(order)):
            row = v[i] @ v.T
            row[intents == intents[i]] = -1
            j = int(np.argmax(row))
            if row[j] > .5:
                found.append((P.h(rows[order[i]]["text"], "intent"), rows[order[i]]["text"], rows[order[j]]["text"]))
        made += [(a, b, 0) for _, a, b in sorted(found)[:each]]
    return made


def write_judge(args, judge, near):
    """`judge.jsonl`: pairs that the reader has seen nothing of, labelled and made, for the judge and its lines."""
    out = []
    for name, ps in judge.items():
        out += [{"set": name, "a": a, "b": b, "label": l, "how": "labelled"} for a, b, l in ps]
        if name not in ("gsm_plus", "pawsx_en", "rqe_medical", "semantoneg"):
            true = [p for p in ps if p[2] == 1 or name != "qqp_onetoken"]
            for turn in range(3 if name == "fow_questions" else 1):
                out += [{"set": "made", "a": a, "b": b, "label": l, "how": how}
                        for a, b, l, how in P.make(true, near, f"judge{turn}", .9, .5, .3)]
    sources = [r["text"] for r in P.rows(args.data / "streams" / "insuranceqa.dev.jsonl")][:500]
    sources += [r["text"] for r in P.rows(args.data / "streams" / "covid_user_queries.dev.jsonl")][:500]
    singles = [(t, t, 1) for t in sources if 15 < len(t) < 200]
    terms = [t for t in P.lines("unseen_things.txt")]
    singles += [(f"What is {t}?", f"What is {t}?", 1) for t in terms] * 2
    singles += [(f"Can you {t}?", f"Can you {t}?", 1) for t in P.lines("unseen_asks.txt")] * 2
    out += [{"set": "made_other", "a": a, "b": b, "label": l, "how": how}
            for a, b, l, how in P.make(singles, near, "other", .9, .9, .5) if a != b]
    with open(args.out / "judge.jsonl", "w") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in out)
    print("judge", collections.Counter((r["set"], r["label"]) for r in out))


def write_weights(texts, base, path):
    """How rare each token is: one byte an id, 0 (in every text) to 255 (in none)."""
    import net
    tok = net.tokenizer(base)
    texts = sorted(set(texts))
    seen = np.zeros(tok.get_vocab_size(), dtype=np.int64)
    for e in tok.encode_batch(texts):
        seen[list(set(e.ids))] += 1
    rare = np.log((len(texts) + 1) / (seen + 1)) / np.log(len(texts) + 1)
    path.write_bytes(np.rint(rare * 255).clip(0, 255).astype(np.uint8).tobytes())


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--data", type=pathlib.Path, required=True)
    ap.add_argument("--base", type=pathlib.Path, required=True)
    ap.add_argument("--out", type=pathlib.Path, required=True)
    ap.add_argument("--clean", action="store_true")
    ap.add_argument("--frames", default="all", choices=("all", "acts"))
    args = ap.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    every = P.load(args.data, P.CLEAN + P.RESEARCH)
    reader, judge = P.split(every)
    if args.clean:
        reader = {name: reader[name] for name in P.CLEAN}
    held = {t for ps in judge.values() for a, b, _ in ps for t in (a, b)}
    big = [] if args.clean else [(r["a"], r["b"], int(r["label"])) for r in P.rows(args.data / "train" / "gptcache_qqp.train.jsonl")]
    big = [p for p in big if p[0] not in held and p[1] not in held]
    intents = intent_negatives(args.data, args.base)
    sources = [t for name in ("nq_open", "llm_prompts_en") for t in (r["text"] for r in P.rows(args.data / "streams" / f"{name}.dev.jsonl"))
               if 15 < len(t) < 200]
    singles = [(t, t, 1) for t in sources + [a for a, _, _ in intents[::2]]]
    if args.clean:
        more = [r["text"] for name in ("banking77", "clinc150", "hwu64", "snips") for r in P.rows(args.data / "intents" / f"{name}.dev.jsonl")]
        singles += [(t, t, 1) for t in more if 15 < len(t) < 200]

    texts = [t for ps in list(reader.values()) + [big, intents] for a, b, _ in ps for t in (a, b)]
    near = words_near(texts, args.base)
    write_weights(texts, args.base, args.out / "token_weights.bin")

    out = []
    for name, ps in reader.items():
        out += [(a, b, l, 1.0, name) for a, b, l in ps] * TIMES[name]
    out += [(a, b, l, 0.6 if l == 0 else 0.9, "qqp") for a, b, l in big]  # Quora's label 0 is often the same question
    out += [(a, b, 0, 0.8, "intents") for a, b, _ in intents]
    P.ONLY_ACTS = args.frames == "acts"
    made = P.make(big, near, "big", negatives=.5, positives=.2, frames=.5 if P.ONLY_ACTS else .9)
    asked = [] if P.ONLY_ACTS else [r["text"] for name in ("banking77", "clinc150", "hwu64", "snips") for r in P.rows(args.data / "intents" / f"{name}.dev.jsonl")]
    made += [m for m in P.make([(t, t, 1) for t in asked if 15 < len(t) < 120], near, "asked", 0, 0, .9)]
    for name, ps in reader.items():
        if name not in ("gsm_plus", "pawsx_en", "rqe_medical"):
            ps = [p for p in ps if p[2] == 1 or name != "qqp_onetoken"]
            for turn in range({"fow_questions": 6, "mqp_medical": 3}.get(name, 1)):
                made += P.make(ps, near, f"{name}{turn}", negatives=.8, positives=.4, frames=.5)
    for turn in range(3 if args.clean else 1):
        made += [m for m in P.make(singles, near, f"singles{turn}", negatives=.9, positives=.9, frames=.8) if m[0] != m[1]]
    bad = lambda t: t in held
    made = [m for m in made if not bad(m[0]) and not bad(m[1])]
    print(collections.Counter((how, l) for _, _, l, how in made).most_common())
    out += [(a, b, l, 1.0, "made:" + how) for a, b, l, how in made]
    out = sorted(out, key=lambda p: P.h(p[0] + "\0" + p[1] + "\0" + p[4], "order"))
    print("train", len(out), "positive", sum(p[2] for p in out), collections.Counter(p[4] for p in out))
    json.dump(out, open(args.out / "train.json", "w"))

    watch = {name: ps[:700] for name, ps in judge.items() if ps}
    watch["made"] = [(a, b, l) for a, b, l, how in P.make(
        [p for name in ("fow_questions", "mqp_medical", "gptcache_qqp") for p in judge[name]][:900], near, "watch", .9, .9, .5)][:700]
    print("watch", {k: (len(v), sum(p[2] for p in v)) for k, v in watch.items()})
    json.dump(watch, open(args.out / "watch.json", "w"))
    write_judge(args, judge, near)
    rng = random.Random(5)
    for how in sorted({m[3] for m in made}):
        for a, b, l, _ in rng.sample([m for m in made if m[3] == how], 3):
            print(f"{how} {l} | {a[:110]} | {b[:110]}")


if __name__ == "__main__":
    main()
