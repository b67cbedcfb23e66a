"""The pairs that the verifier learns from: labelled sets, split by component, and pairs made from them.

Nothing here draws from a global random state: every choice is keyed by a text's hash, so a run on the same data gives
the same pairs in the same order, and a text that moves between sets keeps its side of the split.
"""

import collections
import hashlib
import json
import pathlib
import random
import re

WORDS = pathlib.Path(__file__).resolve().parent / "words"

# Sets whose text may be passed on; weights trained on these alone are the clean variant (see README.md).
CLEAN = ("fow_questions", "gsm_plus", "pawsx_en", "gptcache_mock", "rqe_medical")
# Sets that are measured and trained on, and never copied.
RESEARCH = ("gptcache_qqp", "qqp_onetoken", "mqp_medical", "semantoneg", "sts16_qq")
# How much of each set the reader sees, in percent of its components; the judge and the tables take the rest.
READER_SHARE = collections.defaultdict(lambda: 60, gptcache_qqp=60, gptcache_mock=100, sts16_qq=100)


def h(text, salt=""):
    return int.from_bytes(hashlib.blake2b(f"{salt}\0{text}".encode(), digest_size=8).digest(), "big")


def rows(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines]


def trusted(row, name):
    """The one-word set's positives are reliable for plain edits only (experiments: SOURCES of the set)."""
    return not (name == "qqp_onetoken" and row["label"] == 1 and row.get("category") not in ("word", "insert", "inflection"))


def load(data, names):
    """{set: [(a, b, label)]} of the dev halves."""
    return {
        name: [(r["a"], r["b"], int(r["label"])) for r in rows(data / "pairs" / f"{name}.dev.jsonl") if trusted(r, name)]
        for name in names
    }


def components(sets):
    """Each text's component over all sets: pairs that share a text, in any set, stay together."""
    parent = {}

    def find(x):
        while parent.setdefault(x, x) != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    for pairs in sets.values():
        for a, b, _ in pairs:
            a, b = find(a), find(b)
            if a != b:
                parent[max(a, b)] = min(a, b)
    return {text: find(text) for text in list(parent)}


def split(sets):
    """(reader, judge): each {set: pairs}, without a common text."""
    root = components(sets)
    reader, judge = {}, {}
    for name, pairs in sets.items():
        share = READER_SHARE[name]
        side = lambda a: h(root[a], "split") % 100 < share
        reader[name] = [p for p in pairs if side(p[0])]
        judge[name] = [p for p in pairs if not side(p[0])]
    return reader, judge


# -- words ---------------------------------------------------------------------------------------------------------


def lines(name):
    kept = (line.rstrip("\n") for line in open(WORDS / name))
    return [line for line in kept if line and not line.startswith("#")]


def groups(name):
    return [[m.strip() for m in line.split("|")] for line in lines(name)]


def word(text):
    """A pattern for a word or phrase on word bounds, any case."""
    left = r"(?<!\w)" if text[0].isalnum() else ""
    right = r"(?!\w)" if text[-1].isalnum() else ""
    return left + re.escape(text) + right


def index(groups_):
    """member (lower case) -> its group, and one pattern that finds any member, longest first."""
    of = collections.defaultdict(list)
    for g in groups_:
        for m in g:
            of[m.lower()].append(g)
    members = sorted(of, key=len, reverse=True)
    return of, re.compile("|".join(word(m) for m in members), re.I)


OPPOSITES = [pair.split("/") for line in lines("opposites.txt") for pair in line.split() if "/" in pair]
OPPOSITES = [p for p in OPPOSITES if len(p) == 2]
UNITS = [line.split() for line in lines("units.txt")]
SIBLINGS = index(groups("siblings.txt") + groups("aspects.txt"))
TURNS = index(OPPOSITES)
MEASURES = index(UNITS)
EQUALS = index(groups("equals.txt"))
QUALIFIERS = lines("qualifiers.txt")
def blocks(name):
    """Blocks of frames: [[frame]]; those of one block ask the same."""
    text = "\n".join(l.rstrip("\n") for l in open(WORDS / name) if not l.startswith("#")).strip()
    return [[f.strip() for line in block.split("\n") for f in line.split("|")] for block in text.split("\n\n")]


ONLY_ACTS = False
FRAMES, THINGS, ASKS = blocks("frames.txt"), blocks("things.txt"), blocks("asks.txt")
WRAPS = [tuple(part.strip() for part in line.split("|")) for line in lines("wraps.txt")]
SMALL = "zero one two three four five six seven eight nine ten eleven twelve".split()
ACT = re.compile(r"^(?:how (?:do|can|would|should) (?:i|you|we)|how to|can you tell me how to|is there a way to|what is the best way to) (?!.*\b(?:and|if|when|because)\b)(.{6,70}?)\s*\?*$", re.I)


def cased_like(new, old):
    if old.isupper() and len(old) > 1:
        return new.upper() if new.islower() else new
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


def exchange(text, table, rng, change_all=True):
    """Replaces one known word or phrase by another of its group."""
    of, pattern = table
    # A member in capitals (GET, USD) is another word in small letters.
    found = [m for m in pattern.finditer(text) if any(m.group() in g or not all(x.isupper() for x in g) for g in of[m.group().lower()])]
    if not found:
        return None
    hit = rng.choice(found)
    group = rng.choice([g for g in of[hit.group().lower()] if hit.group() in g or not all(x.isupper() for x in g)])
    others = [m for m in group if m.lower() != hit.group().lower()]
    other = cased_like(rng.choice(others), hit.group())
    if change_all:
        return re.sub(word(hit.group()), lambda _: other, text)
    return text[:hit.start()] + other + text[hit.end():]


# -- made negatives: each asks something else -----------------------------------------------------------------------


def number(text, rng):
    found = list(re.finditer(r"(?<![\w.])\d[\d,]*(?:\.\d+)?|\b(?:" + "|".join(SMALL[1:]) + r")\b", text))
    if not found:
        return None
    hit = rng.choice(found)
    old = hit.group()
    if old in SMALL:
        new = rng.choice([w for w in SMALL[1:] if w != old])
    else:
        plain = old.replace(",", "")
        if "." in plain:
            new = f"{float(plain) + rng.choice([-0.1, 0.1, 0.5, 1, 10]):.{len(plain.split('.')[1])}f}"
        else:
            value = int(plain[:9])
            new = str(max(0, value + rng.choice([-1, 1, 2, 3, 5, 10]))) if rng.random() < .6 else \
                  rng.choice([plain + "0", str(value * 2), str(rng.randint(1, max(20, value * 2))), plain + ".5"])
        if new == plain:
            return None
        new = f"{int(new):,}" if "," in old and new.isdigit() else new
    return text[:hit.start()] + new + text[hit.end():]


NAME = re.compile(r"(?<=[a-z,] )(?!I\b)[A-Z][a-zA-Z]{2,}(?: [A-Z][a-zA-Z]+)?")


def name(text, rng, names):
    found = list(NAME.finditer(text))
    if not found or not names:
        return None
    old = rng.choice(found).group()
    return re.sub(word(old), lambda _: rng.choice(names), text)


def negate(text, rng):
    ways = [
        (r"\b(can|could|should|would|will|do|does|did|is|are|was|were|has|have) (I|you|we|they|he|she|it|people|one|someone)\b(?! not)", r"\1 \2 not"),
        (r"\b(is|are|can|should|will|would|could|was|were|may|must)\b(?! not|n't)", r"\1 not"),
        (r"\bto ([a-z]{3,})\b", r"not to \1"),
        (r"\b(can|could|should|would|do|does|did|is|are) (I|you|we|they|he|she|it|people)\b", r"\1n't \2"),
        (r"\b(with)\b", "without"),
        (r"\b(do|does|did|is|are|was|were|should|would|could|has|have)n['’]t\b", r"\1"),
        (r"\b(not|never) ", ""),
        (r"\b(what|which) (foods|people|countries|items|things|drugs|companies|animals|jobs|words|questions)\b", r"\1 \2 do not"),
    ]
    rng.shuffle(ways)
    for pattern, new in ways:
        if re.search(pattern, text, re.I):
            out = re.sub(pattern, new, text, count=1, flags=re.I)
            return re.sub(r"\bcann't\b", "can't", out)
    return None


ASKED = re.compile(r"^(How much|How many|How long|How often|How|Why|When|Where|Who|What|Which)\b")
KINDS = ["How", "Why", "When", "Where", "Who", "How often", "How long"]


def asked(text, rng):
    hit = ASKED.match(text)
    return rng.choice([k for k in KINDS if k != hit.group()]) + text[hit.end():] if hit else None


def qualify(text, rng):
    extra = rng.choice(QUALIFIERS)
    if any(w in text.lower() for w in extra.lower().split() if len(w) > 4):
        return None
    stem = text.rstrip()
    end = stem[-1] if stem[-1:] in "?.!" else ""
    return f"{stem.rstrip('?.! ')} {extra}{end}"


DIRECTED = [
    re.compile(r"\b(from) ([\w$.%-]+(?: [A-Z][\w-]+)?) (to) ([\w$.%-]+(?: [A-Z][\w-]+)?)", re.I),
    re.compile(r"\b(convert|converting|change|changing|translate|turn) ([\w$.-]+(?: file| files)?) (to|into) ([\w$.-]+)", re.I),
    re.compile(r"\b(is|are|was) ([A-Z]?[\w.+#-]+) ((?:better|worse|faster|slower|bigger|smaller|older|safer|cheaper|larger|higher|lower|richer|stronger|more \w+|less \w+) than) ([A-Z]?[\w.+#-]+)", re.I),
    re.compile(r"\b(replace|migrate|move|switch|upgrade) ([\w.+#-]+) (with|by|to) ([\w.+#-]+)", re.I),
]


def direction(text, rng):
    for pattern in DIRECTED:
        hit = pattern.search(text)
        if hit and hit.group(2).lower() != hit.group(4).lower():
            return text[:hit.start()] + f"{hit.group(1)} {hit.group(4)} {hit.group(3)} {hit.group(2)}" + text[hit.end():]
    found = list(NAME.finditer(text))
    apart = lambda a, b: not re.fullmatch(r"[ ,]*(and|or|vs\.?|versus|,|&|between|with)*[ ,]*", text[a.end():b.start()], re.I)
    if len(found) == 2 and found[0].group() != found[1].group() and apart(*found) and \
            not re.search(r"\b(between|compare|common|both|married|friends|same|similar|differ|difference|distance)\b", text, re.I):
        a, b = found
        return text[:a.start()] + b.group() + text[a.end():b.start()] + a.group() + text[b.end():]
    return None


CONTENT = re.compile(r"\b[a-z]{4,}\b")


def order(text, rng):
    """Two words exchanged: another sentence, or none."""
    found = [m for m in CONTENT.finditer(text) if m.group() not in STOP]
    if len(found) < 4:
        return None
    a, b = sorted(rng.sample(found, 2), key=lambda m: m.start())
    if a.group() == b.group() or re.fullmatch(r"\W*(and|or|,)\W*", text[a.end():b.start()]):
        return None
    return text[:a.start()] + b.group() + text[a.end():b.start()] + a.group() + text[b.end():]


STOP = set("what which that this these those there their your from with have does will would could should about into like some when where why how then than them they been being were here just only also very much many most more".split())


def neighbour(text, rng, near):
    """A content word becomes another of its kind (near in meaning, yet not the same)."""
    found = [m for m in CONTENT.finditer(text) if near.get(m.group())]
    if not found:
        return None
    hit = rng.choice(found)
    return text[:hit.start()] + rng.choice(near[hit.group()]) + text[hit.end():]


def cut(text, rng):
    """A sentence or a tail of the question is lost."""
    sentences = re.split(r"(?<=[.!?]) +", text)
    if len(sentences) > 2:
        del sentences[rng.randrange(len(sentences) - 1)]
        return " ".join(sentences)
    hit = re.search(r" (in|for|with|without|on|after|before|during|under|at) (?:[\w'-]+ ?){1,3}\?$", text)
    return text[:hit.start()] + "?" if hit and hit.start() > 15 else None


# -- made positives: each asks the same -------------------------------------------------------------------------------


def typo(text, rng):
    found = [m for m in re.finditer(r"\b[a-z]{6,}\b", text)]
    if not found:
        return None
    hit = rng.choice(found)
    w = hit.group()
    i = rng.randrange(1, len(w) - 2)
    new = rng.choice([w[:i] + w[i + 1:], w[:i] + w[i + 1] + w[i] + w[i + 2:], w[:i] + w[i] + w[i:]])
    return text[:hit.start()] + new + text[hit.end():] if new != w else None


def wrap(text, rng):
    before, after = rng.choice(WRAPS)
    first = text.split(" ")[0]
    lower = text[:1].lower() + text[1:] if before and not before.endswith((".", ":")) and first not in ("I",) and not first[1:].isupper() else text
    return f"{before} {lower} {after}".strip()


def plain(text, rng):
    k = rng.randrange(6)
    return [text.lower(), text.rstrip("?. !"), text.lower().rstrip("?. !").replace("'", ""), text.rstrip("?") + rng.choice(["??", " ?", "?!", "..."]),
            text.upper() if len(text) < 60 else text.lower(), re.sub(r"\b(the|a|an) ", "", text, count=1)][k]


def numeral(text, rng):
    hit = re.search(r"\b(?:" + "|".join(SMALL[2:]) + r")\b|(?<![\d.,$£€])\b(?:[2-9]|1[0-2])\b(?![\d.,%:/-])", text)
    if not hit:
        hit = re.search(r"\b\d{1,3}(,\d{3})+\b|\b\d{4,}\b(?=[^\d]*\b(?:dollars|pounds|euros|people|km|miles)\b)", text)
        if not hit:
            return None
        old = hit.group()
        return text[:hit.start()] + (old.replace(",", "") if "," in old else f"{int(old):,}") + text[hit.end():]
    old = hit.group()
    return text[:hit.start()] + (str(SMALL.index(old)) if old in SMALL else SMALL[int(old)]) + text[hit.end():]


PAIRED = re.compile(r"\b([A-Za-z][\w.+#-]{2,}) (vs\.?|versus|or|and) ([A-Za-z][\w.+#-]{2,})(?=[?.,]|$| are| is)")


def mirrored(text, rng):
    """A or B, B or A: the same choice."""
    hit = PAIRED.search(text)
    if not hit or hit.group(1).lower() in STOP | {"not", "why", "how", "what", "when", "where"} or hit.group(3).lower() in STOP | {"not", "why", "how"}:
        return None
    return text[:hit.start()] + f"{hit.group(3)} {hit.group(2)} {hit.group(1)}" + text[hit.end():]


def same_words(text, rng):
    return exchange(text, EQUALS, rng, change_all=False)


POSITIVE = [(plain, 4), (wrap, 4), (same_words, 6), (typo, 2), (numeral, 2), (mirrored, 2)]


def rewrite(text, rng, steps=None):
    """One to three harmless changes."""
    out = text
    for _ in range(steps or rng.choice([1, 1, 2, 3])):
        out = rng.choices(*zip(*POSITIVE))[0](out, rng) or out
    return out if out != text else None


THING = re.compile(r"^(?:what(?:'s| is| are| was)|who is|explain|define|tell me about|what does) (?:an? |the )?((?:[\w.+#'-]+ ?){1,4}?)(?: mean)?\s*\?*$", re.I)
ASK = re.compile(r"^(?:(?:can|could|would|will) you (?:please )?|please )((?!tell me|explain|you\b)[a-z]+ .{4,70}?)\s*[?.]*$", re.I)


def filled(kinds, inner, rng, quote=False):
    """[(pair, label)] of frames around one thing: one block asks the same, two blocks something else."""
    term = lambda: f'"{inner}"' if quote and rng.random() < .15 else inner
    first, block = kinds[0], rng.choice(kinds[1:])
    put = lambda frame: frame.format(term())
    made = [(*[put(f) for f in rng.sample(first, 2)], 1), (put(rng.choice(first)), put(rng.choice(block)), 0)]
    if len(block) > 1 and rng.random() < .5:
        made.append((*[put(f) for f in rng.sample(block, 2)], 1))
    if rng.random() < .4 and len(kinds) > 2:
        other = rng.choice([b for b in kinds[1:] if b is not block])
        made.append((put(rng.choice(block)), put(rng.choice(other)), 0))
    return made


def framed(text, rng):
    """[(pair, label)] from the act in "how do I ACT?", the thing in "what is THING?" or what "can you ASK?" asks for."""
    if hit := ACT.match(text):
        return filled(FRAMES, hit.group(1), rng)
    if ONLY_ACTS:
        return []
    if (hit := THING.match(text)) and not set(hit.group(1).lower().split()) & {"i", "my", "you", "your", "it", "this", "that", "there", "to", "of", "for", "in", "on", "best", "way", "is", "are", "if", "and", "or"}:
        return filled(THINGS, hit.group(1).strip(), rng, True)
    if hit := ASK.match(text):
        return filled(ASKS, hit.group(1), rng)
    return []


def changed(text, rng, names, near):
    """Another question made from `text`, and how."""
    ways = [("number", lambda: number(text, rng), 5), ("sibling", lambda: exchange(text, SIBLINGS, rng), 7),
            ("opposite", lambda: exchange(text, TURNS, rng), 5), ("unit", lambda: exchange(text, MEASURES, rng), 2),
            ("name", lambda: name(text, rng, names), 4), ("negation", lambda: negate(text, rng), 3),
            ("asked", lambda: asked(text, rng), 2), ("qualifier", lambda: qualify(text, rng), 2),
            ("direction", lambda: direction(text, rng), 8), ("order", lambda: order(text, rng), 1),
            ("neighbour", lambda: neighbour(text, rng, near), 4), ("cut", lambda: cut(text, rng), 2)]
    while ways:
        way = rng.choices(ways, [w for _, _, w in ways])[0]
        out = way[1]()
        if out and out.lower() != text.lower():
            return way[0], out
        ways.remove(way)
    return None


def make(pairs, near, salt, negatives=0.6, positives=0.25, frames=0.5):
    """Made pairs from labelled ones: [(a, b, label, how)]."""
    names = sorted({m for a, b, _ in pairs for m in NAME.findall(a)})
    out = []
    for a, b, label in pairs:
        rng = random.Random(h(a + "\0" + b, salt))
        source = rng.choice([a, b])
        if len(source) > 400:
            continue
        if rng.random() < negatives:
            made = changed(source, rng, names, near)
            if made:
                how, new = made
                if rng.random() < .25:
                    new = rewrite(new, rng, 1) or new
                other = a if label == 1 and source is b and rng.random() < .5 else source
                out.append((other, new, 0, how))
        if rng.random() < positives:
            new = rewrite(source, rng)
            if new:
                other = (a if source is b else b) if label == 1 and rng.random() < .4 else source
                out.append((other, new, 1, "rewrite"))
        if rng.random() < frames:
            out += [(x, y, l, "frame") for x, y, l in framed(source, rng)]
    return out
