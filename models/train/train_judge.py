#!/usr/bin/env python3
"""Trains the judge: boosted trees and a weighted sum over a pair's signals, calibrated, with the lines that a target draws.

    python train_judge.py --empty --out judge.json --names NAMES.json
    python train_judge.py --signals signals.jsonl --out judge.json [--report report.json]

`--empty` writes a judge that knows nothing, so that the signals can be computed at all. `--signals` is what
`cargo run --release --example pair_signals` prints for `judge.jsonl` (corpus.py): pairs that the reader has not seen.

Everything that is reported, and every line that is drawn, is of folds that the stages were not trained on (five folds by
component); what is reported is served by lines that were drawn without its fold, too. Trees: histogram gradient boosting
(scikit-learn). The weighted sum: logistic regression. Both are joined and calibrated by a logistic fit (Platt 1999) on
their out-of-fold sums. Lines are drawn apart for edits (most words common) and rewordings.
"""

import argparse
import collections
import hashlib
import json
import math
import pathlib

import numpy as np

FOLDS = 5
# What a set's pairs count: the noisy ones little, the small clean ones much.
WEIGHT = dict(fow_questions=4.0, mqp_medical=2.0, made=.5, made_other=.5, zh_minimal=2.0, pawsx_zh=.3, made_zh=.15)
# Share of the others that may pass, in multiples of the target, per set: lines hold on each of these at once.
BOUND = {"mqp_medical": 1.0, "qqp_onetoken": 0.8, "semantoneg": 1.0, "gsm_plus": 1.0, "fow_questions": 1.9, "pawsx_en": 3.0, "made": 2.0, "made_other": 2.0}
# The judges of each group of languages: their sets and bounds.
GROUPS = {
    "english": BOUND,
    "chinese": {"lcqmc": 2.3, "zh_minimal": 1.9, "pawsx_zh": 2.8, "made_zh": 2.0},
    "other": {"pawsx_de": 2.5, "pawsx_fr": 2.5, "pawsx_es": 2.5, "pawsx_ja": 2.5, "pawsx_ko": 2.5, "kor_question_pair": 1.0,
              "jsts_ja": 1.0},
}
# Sets that teach and draw no line: the customers' questions are labelled by intent, so that two questions of one intent with
# another answer count as the same.
TEACHING = {"english": {"gptcache_qqp": .3, "rqe_medical": 0.0},
            "chinese": dict.fromkeys(("bq_corpus", "atec", "afqmc", "bustm", "oppo_xiaobu"), .1), "other": {}}
# A set with fewer others of a kind does not draw that kind's line: zh_minimal has a handful of rewordings.
LEAST = {"english": 1, "chinese": 40, "other": 1}
# The kinds with lines of their own: within which other kind, and how low a line goes however few went wrong here.
WITHIN = {"near": ("rewording", .7), "particles": ("edit", .5)}
RATES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)


def h(text):
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def read(path, sets=None):
    lines = open(path)
    names = json.loads(next(lines))["names"]
    rows = [json.loads(line) for line in lines]
    blank = lambda r: r["label"] == 0 and r["a"].split() == r["b"].split()  # a made change that changed nothing
    rows = [r for r in rows if (sets is None or r["set"] in sets) and not blank(r)]
    judged = lambda r: r["signals"] and r["read"] is not None and r["bypass"] is None
    # What the service would not look at is nothing to learn from, but a miss.
    return names, [r for r in rows if judged(r)], collections.Counter((r["set"], r["label"]) for r in rows if not judged(r))


def folds(rows):
    """A fold per row: rows that share a text share a fold."""
    parent = {}

    def find(x):
        while parent.setdefault(x, x) != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    for r in rows:
        a, b = find(r["a"]), find(r["b"])
        if a != b:
            parent[max(a, b)] = min(a, b)
    return np.array([h(find(r["a"])) % FOLDS for r in rows])


def fit(x, y, w, monotone):
    from sklearn.ensemble import HistGradientBoostingClassifier
    model = HistGradientBoostingClassifier(max_iter=200, learning_rate=.05, max_leaf_nodes=6, l2_regularization=5.0,
                                           min_samples_leaf=40, max_bins=128, random_state=7, monotonic_cst=monotone)
    return model.fit(x, y, sample_weight=w)


def fit_sum(x, y, w):
    """(weights, base) of a logistic regression on the signals as they are."""
    from sklearn.linear_model import LogisticRegression
    mean, spread = x.mean(0), x.std(0) + 1e-6
    model = LogisticRegression(C=.1, max_iter=3000).fit((x - mean) / spread, y, sample_weight=w)
    weights = model.coef_[0] / spread
    return weights.astype(float), float(model.intercept_[0] - (weights * mean).sum())


def platt(z, y, w):
    """The logistic over the columns of z and a constant, by Newton's method on smoothed labels (Platt 1999)."""
    positive, negative = (w * y).sum(), (w * (1 - y)).sum()
    t = np.where(y == 1, (positive + 1) / (positive + 2), 1 / (negative + 2))
    z = np.column_stack([z, np.ones(len(y))])
    c = np.array([.5] * (z.shape[1] - 1) + [0.0])
    for _ in range(60):
        p = 1 / (1 + np.exp(-z @ c))
        g = z.T @ (w * (p - t))
        hess = (z * (w * p * (1 - p) + 1e-9)[:, None]).T @ z
        c = c - np.linalg.solve(hess + 1e-6 * np.eye(len(c)), g)
    return [float(v) for v in c]


def trees(model):
    """The fitted model as the judge's file holds it."""
    out = []
    for (predictor,) in model._predictors:
        n = predictor.nodes
        leaf = n["is_leaf"].astype(bool)
        pick = lambda name, cast: [cast(0) if l else cast(v) for v, l in zip(n[name], leaf)]
        out.append({"signal": pick("feature_idx", int), "bound": pick("num_threshold", float), "left": pick("left", int),
                    "right": pick("right", int), "value": [round(float(v), 6) if l else 0.0 for v, l in zip(n["value"], leaf)]})
    return {"base": float(np.ravel(model._baseline_prediction)[0]), "trees": out}


def auc(y, z):
    order = np.argsort(z, kind="stable")
    r = np.empty(len(z))
    r[order] = np.arange(1, len(z) + 1)
    p, n = y.sum(), (1 - y).sum()
    return float((r[y == 1].sum() - p * (p + 1) / 2) / max(1, p * n))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def stage(x, y, w, fold, monotone, judged):
    """(what judge.json holds of it, out-of-fold probabilities)."""
    z = np.zeros((len(y), 2))
    for k in range(FOLDS):
        use, rest = fold != k, fold == k
        weights, base = fit_sum(x[use], y[use], w[use])
        z[rest, 0] = fit(x[use], y[use], w[use], monotone).decision_function(x[rest])
        z[rest, 1] = x[rest] @ weights + base
    c = platt(z[judged], y[judged], w[judged])
    weights, base = fit_sum(x, y, w)
    linear = {"base": base, "weights": [float(f"{v:.6g}") for v in weights]}
    return {"forest": trees(fit(x, y, w, monotone)), "linear": linear, "platt": c}, sigmoid(z @ np.array(c[:2]) + c[2])


def bar(p, y, sets, passes, kind, rate, bound, least):
    """The lowest line for the pairs of a kind that keeps their share of what may go wrong, on every set at once."""
    line = 0.0
    for name, times in bound.items():
        others = (sets == name) & (y == 0)
        if (others & passes & kind).sum() < least:
            continue
        share = (others & passes & kind).sum() / max(1, (others & passes).sum())
        allowed = int(math.floor(others.sum() * rate * times * share + 1e-9))
        through = np.sort(p[others & passes & kind])[::-1]
        if len(through) > allowed:
            line = max(line, math.ceil(through[allowed] * 1e6 + 1e-3) / 1e6)
    return line


def left_over(line, cheap, both, y, sets, passes, kinds, name, rate, bound):
    """The lowest line for the pairs of a kind within another that keeps what may go wrong on every set, whatever the other
    kinds' lines let through."""
    outer, low = WITHIN[name]
    served, _ = serve(line, cheap, both, passes, {k: kind for k, kind in kinds.items() if k in line}, 0.0)
    for one, times in bound.items():
        wrong = (sets == one) & (y == 0)
        left = max(0, int(math.floor(wrong.sum() * rate * times + 1e-9)) - int((wrong & served).sum()))
        through = np.sort(both[wrong & passes & kinds[name]])[::-1]
        if len(through) > left:
            low = max(low, math.ceil(through[left] * 1e6 + 1e-3) / 1e6)
    return {"sure": line[outer]["sure"], "pass": min(low, line[outer]["pass"])}


def outer(kinds):
    """The two kinds that all pairs are of."""
    within = lambda name: np.any([kinds[k] for k, (other, _) in WITHIN.items() if other == name and k in kinds], axis=0)
    return {name: kinds[name] | within(name) for name in ("edit", "rewording")}


def draw(cheap, both, y, sets, passes, kinds, bound, least):
    """The lines of every rate."""
    lines = []
    for rate in RATES:
        line = {"rate": rate}
        for name, kind in outer(kinds).items():
            # A fifth of what may go wrong is left to the cheap stage alone.
            sure = max(bar(cheap, y, sets, passes, kind, rate / 5, bound, least), .5)
            rest = passes & (cheap < sure)
            line[name] = {"sure": sure, "pass": max(bar(both, y, sets, rest, kind, rate * 4 / 5, bound, least), .3)}
        lines.append(line)
    fall(lines, ("edit", "rewording"))
    for name in (name for name in WITHIN if name in kinds):
        for line in lines:
            line[name] = left_over(line, cheap, both, y, sets, passes, kinds, name, line["rate"], bound)
        fall(lines, [name])
    return lines


def fall(lines, kinds):
    """A stricter rate never has a lower line."""
    for low, high in zip(lines[::-1][1:], lines[::-1]):
        for name in kinds:
            for mark in ("sure", "pass"):
                low[name][mark] = max(low[name][mark], high[name][mark])


def serve(line, cheap, both, passes, kinds, hopeless):
    """(served, read) under one line."""
    served, read = np.zeros(len(cheap), bool), np.zeros(len(cheap), bool)
    for name, kind in kinds.items():
        sure = passes & kind & (cheap >= line[name]["sure"])
        open_ = passes & kind & ~sure & (cheap >= hopeless)
        served |= sure | open_ & (both >= line[name]["pass"])
        read |= open_
    return served, read


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--empty", action="store_true")
    ap.add_argument("--names", type=pathlib.Path)
    ap.add_argument("--signals", type=pathlib.Path)
    ap.add_argument("--out", type=pathlib.Path, required=True)
    ap.add_argument("--floor", type=float, default=0.3)
    ap.add_argument("--edit", type=float, default=0.6, help="share of common words from which a pair is an edit")
    ap.add_argument("--near", type=float, help="cosine from which a rewording has lines of its own; absent: none has")
    ap.add_argument("--group", choices=tuple(GROUPS), help="the sets of one group of languages alone; absent: all English ones")
    ap.add_argument("--report", type=pathlib.Path, help="numbers as JSON")
    args = ap.parse_args()
    if args.empty:
        names = json.load(open(args.names))
        nothing = lambda n: {"forest": {"base": 0.0, "trees": []}, "linear": {"base": 0.0, "weights": [0.0] * n}, "platt": [1.0, 1.0, 0.0]}
        never = {"sure": 2.0, "pass": 2.0}
        args.out.write_text(json.dumps({"version": 1, "signals": names, "cheap": nothing(len(names)), "full": nothing(len(names) + 1),
                                        "floor": args.floor, "hopeless": 0.0, "edit": args.edit,
                                        "lines": [{"rate": 0.01, "edit": never, "rewording": never}]}))
        return

    group = args.group or "english"
    bound, least = GROUPS[group], LEAST[group]
    names, rows, unseen = read(args.signals, args.group and {*bound, *TEACHING[group]})
    y = np.array([r["label"] for r in rows])
    sets = np.array([r["set"] for r in rows])
    x = np.array([r["signals"] for r in rows], dtype=np.float32)
    full = np.concatenate([x, np.array([[r["read"]] for r in rows], dtype=np.float32)], 1)
    passes = np.array([not r["vetoes"] and r["cosine"] >= args.floor for r in rows])
    cosine = np.array([r["cosine"] for r in rows])
    edit = x[:, names.index("words_alike")] >= args.edit
    near = ~edit & (cosine >= (args.near or 2.0))
    particles = edit & np.array([r["change"] == "particles" for r in rows])
    kinds = {"edit": edit & ~particles, "rewording": ~edit & ~near, "particles": particles, "near": near}
    kinds = {name: kind for name, kind in kinds.items() if name not in WITHIN or kind.any()}
    # What a guard vetoes is decided; what it teaches about the rest counts a little less.
    weight = {**WEIGHT, **TEACHING[group]}
    w = np.array([weight.get(s, 1.0) for s in sets]) * np.where(passes, 1.0, 0.6)
    fold = folds(rows)
    monotone = [0] * len(names)
    cheap_stage, cheap = stage(x, y, w, fold, monotone, passes)
    full_stage, both = stage(full, y, w, fold, monotone + [1], passes)

    lines = draw(cheap, both, y, sets, passes, kinds, bound, least)
    loose, _ = serve(lines[RATES.index(0.05)], cheap, both, passes, kinds, 0.0)
    hopeless = float(np.quantile(cheap[loose & (y == 1)], .005))
    judge = {"version": 1, "signals": names, "cheap": cheap_stage, "full": full_stage, "floor": args.floor,
             "hopeless": round(hopeless, 6), "edit": args.edit, "near": args.near, "lines": lines}
    args.out.write_text(json.dumps(judge, separators=(",", ":")))
    print("hopeless", hopeless, "bytes", args.out.stat().st_size)
    for line in lines:
        print(line)

    at = RATES.index(0.01)
    served, reads = serve(lines[at], cheap, both, passes, kinds, hopeless)
    crossed = np.zeros(len(y), bool)
    for k in range(FOLDS):
        m = fold != k
        part = {n: v[m] for n, v in kinds.items()}
        drawn = draw(cheap[m], both[m], y[m], sets[m], passes[m], part, bound, least)[at]
        crossed |= (fold == k) & serve(drawn, cheap, both, passes, kinds, hopeless)[0]
    report = {}
    print(f"{'set':16} {'pairs':>6} {'true':>6} | hit   false            | lines of other folds     | auc cos  cheap full  read  | passes t/f | read")
    for name in sorted(set(sets)):
        m = sets == name
        t, f = m & (y == 1), m & (y == 0)
        mean = lambda v: float(v.mean()) if len(v) else 0.0
        true, other = int(t.sum()) + unseen[name, 1], int(f.sum()) + unseen[name, 0]
        share = lambda v, of: float(v.sum()) / max(1, of)
        report[name] = {"true": true, "other": other, "hits": int(served[t].sum()), "falseHits": int(served[f].sum()),
                        "crossedHits": int(crossed[t].sum()), "crossedFalseHits": int(crossed[f].sum()),
                        "auc": {"cosine": auc(y[m], cosine[m]), "cheap": auc(y[m], cheap[m]), "full": auc(y[m], both[m]), "reader": auc(y[m], full[m, -1])}}
        print(f"{name:16} {true + other:6} {true:6} | {share(served[t], true):.3f} {share(served[f], other):.4f} ({served[f].sum():3}/{other:4}) "
              f"| {share(crossed[t], true):.3f} {share(crossed[f], other):.4f} ({crossed[f].sum():3}) "
              f"| {auc(y[m], cosine[m]):.3f} {auc(y[m], cheap[m]):.3f} {auc(y[m], both[m]):.3f} {auc(y[m], full[m, -1]):.3f} "
              f"| {mean(passes[t]):.2f} {mean(passes[f]):.2f} | {mean(reads[m]):.2f}")
    print("reliability of the full stage, out of fold, pairs that pass the guards:")
    bins = []
    for low in np.arange(0, 1, .1):
        m = passes & (both >= low) & (both < low + .1 + (low > .85))
        if m.any():
            bins.append([int(m.sum()), float(np.average(both[m], weights=w[m])), float(np.average(y[m], weights=w[m]))])
            print(f"  {low:.1f}-{low + .1:.1f}  {bins[-1][0]:6} pairs, mean {bins[-1][1]:.3f}, true {bins[-1][2]:.3f}")
    if args.report:
        args.report.write_text(json.dumps({"sets": report, "reliability": bins}, indent=1))


if __name__ == "__main__":
    main()
