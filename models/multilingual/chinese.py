"""The pairs beside the English ones: Chinese, Korean and Japanese sets, and pairs made from them.

As `../train/pairs.py`: every choice is keyed by a text's hash, and no text of the reader's share is in the judge's.
"""

import pathlib
import random
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "train"))
import pairs as P  # noqa: E402

CHINESE = ("lcqmc", "bq_corpus", "atec", "afqmc", "bustm", "oppo_xiaobu", "zh_minimal")
OTHERS = ("kor_question_pair", "jsts_ja")
# Prompts of these streams are kept for measuring: no text of them, and none that a pair ties to one, is trained on.
KEPT_STREAMS = ("lcqmc_stream", "qqp_stream", "osschat")


def lines(name):
    kept = (line.rstrip("\n") for line in open(HERE / "words" / name, encoding="utf-8"))
    return [line for line in kept if line and not line.startswith("#")]


def kept_texts(data):
    return {r["text"] for name in KEPT_STREAMS for r in P.rows(data / "streams" / f"{name}.dev.jsonl")}


def requests(data):
    """Chinese requests of xSID, which may be passed on; it has spaces between words."""
    texts = (r["text"] for r in P.rows(data / "intents" / "xsid.dev.jsonl") if r["lang"] == "zh")
    return [re.sub(r"(?<=[^\x00-\x7f]) +| +(?=[^\x00-\x7f])", "", text) for text in texts]


def split(data):
    """(reader, judge): each {set: [(a, b, label)]}, without a common text; what is tied to a kept stream is the judge's."""
    sets = P.load(data, CHINESE + OTHERS)
    root, kept = P.components(sets), kept_texts(data)
    tied = {root[t] for t in root if t in kept}
    reader, judge = {}, {}
    for name, pairs in sets.items():
        # The stream holds two fifths of its family already.
        share = 100 if name in ("lcqmc", "zh_minimal") else 60
        mine = lambda a: root[a] not in tied and P.h(root[a], "split") % 100 < share
        reader[name] = [p for p in pairs if mine(p[0])]
        judge[name] = [p for p in pairs if not mine(p[0])]
    # zh_minimal has texts of its parents: what one set gives to the judge, no other trains on (one component, one side).
    held = {t for ps in judge.values() for a, b, _ in ps for t in (a, b)}
    reader = {name: [p for p in ps if p[0] not in held and p[1] not in held] for name, ps in reader.items()}
    return reader, judge


GROUPS = [line.split("|") for line in lines("zh_siblings.txt")]
TURNS = [pair.split("/") for line in lines("zh_opposites.txt") for pair in line.split()]
ASKED = [line.split("|") for line in lines("zh_asked.txt")]
EQUAL = [line.split("|") for line in lines("zh_equals.txt")]
WRAPS = [line.split("|") for line in lines("zh_wraps.txt")]
ADDED = [line.split("|") for line in lines("zh_added.txt")]
DIGITS = "一二三四五六七八九十"


def exchange(text, groups, rng):
    """Another word of its group in place of the longest known one at a random place."""
    found = [(m, g) for g in groups for w in g for m in [text.find(w)] if m >= 0]
    if not found:
        return None
    at, group = rng.choice(found)
    old = max((w for w in group if text.startswith(w, at)), key=len)
    new = rng.choice([w for w in group if w not in old and old not in w] or [w for w in group if w != old])
    return text[:at] + new + text[at + len(old):]


def opposite(text, rng):
    """A pair's longer word is looked for first: the opposite of 不能 is 能, not 不不能."""
    found = []
    for a, b in TURNS:
        for old, new in sorted([(a, b), (b, a)], key=lambda p: -len(p[0])):
            if old in text:
                found.append((old, new))
                break
    if not found:
        return None
    old, new = rng.choice(found)
    if len(old) == 1 and rng.random() < .5:  # one character alone is often a part of another word
        return None
    return text.replace(old, new, 1)


def number(text, rng):
    hit = re.search("[一二三四五六七八九十](?=[个天年月号元块岁次点斤米人级])", text)
    if hit and rng.random() < .5:
        return text[:hit.start()] + rng.choice([d for d in DIGITS if d != hit.group()]) + text[hit.end():]
    return P.number(text, rng)


def negated(text, rng):
    hit = re.search("(?<![不没])(能|会|想|要|用|可以|支持|知道|喜欢)(?![不没])", text)
    if hit:
        return text[:hit.start()] + "不" + text[hit.start():]
    if "没" in text:
        return text.replace("没", "", 1)
    return text.replace("不", "", 1) if "不" in text else None


def asked(text, rng):
    group = next((g for g in ASKED if any(w in text for w in g)), None)
    if not group:
        return None
    old = max((w for w in group if w in text), key=len)
    return text.replace(old, rng.choice(rng.choice([g for g in ASKED if g is not group])), 1)


def turned(text, rng):
    hit = re.search("([\u4e00-\u9fff]{2}|[A-Za-z0-9.]+)(到|比|换成|转成|变成|改成|翻译成|兑换成)([\u4e00-\u9fff]{2}|[A-Za-z0-9.]+)", text)
    if not hit or hit.group(1) == hit.group(3):
        return None
    return text[:hit.start()] + hit.group(3) + hit.group(2) + hit.group(1) + text[hit.end():]


def added(text, rng):
    before, after = rng.choice(ADDED)
    return before + text.rstrip("？?。！!") + after


def changed(text, rng):
    """Another question made from `text`, and how."""
    ways = [("number", number, 5), ("sibling", lambda t, r: exchange(t, GROUPS, r), 6), ("opposite", opposite, 5),
            ("negation", negated, 3), ("asked", asked, 3), ("direction", turned, 8), ("qualifier", added, 1)]
    while ways:
        way = rng.choices(ways, [w for _, _, w in ways])[0]
        out = way[1](text, rng)
        if out and out != text:
            return way[0], out
        ways.remove(way)
    return None


def wrapped(text, rng):
    before, after = rng.choice(WRAPS)
    return before + (text.rstrip("？?。！!") + after if after else text)


def rewritten(text, rng):
    out = text
    for _ in range(rng.choice([1, 1, 2])):
        way = rng.choice(["wrap", "equal", "equal", "marks"])
        if way == "wrap":
            out = wrapped(out, rng)
        elif way == "equal":
            out = exchange(out, EQUAL, rng) or out
        else:
            out = out.rstrip("？?。！!") + rng.choice(["", "？", "?"])
    return out if out != text else None


def make(pairs, salt, negatives, positives):
    """Made pairs: [(a, b, label, how)]."""
    out = []
    for a, b, label in pairs:
        rng = random.Random(P.h(a + "\0" + b, salt))
        source = rng.choice([a, b])
        if rng.random() < negatives and (made := changed(source, rng)):
            how, new = made
            if rng.random() < .2:
                new = wrapped(new, rng)
            out.append((a if label == 1 and source == b and rng.random() < .5 else source, new, 0, how))
        if rng.random() < positives and (new := rewritten(source, rng)):
            out.append(((a if source == b else b) if label == 1 and rng.random() < .4 else source, new, 1, "rewrite"))
    return out


def numbers(pairs, salt, share):
    """For languages without word lists: pairs that differ in a number."""
    out = []
    for a, b, label in pairs:
        rng = random.Random(P.h(a + "\0" + b, salt))
        new = P.number(a, rng) if rng.random() < share else None
        if new:
            out.append((a, new, 0, "number"))
    return out
