//! Labels in a real table: kept, bounded, forgotten; and their bytes.

use std::collections::BTreeMap;

use redb::{Database, ReadableDatabase, TableDefinition};

use super::*;

const TABLE: TableDefinition<&[u8; 48], &[u8]> = TableDefinition::new("labels");
const HERE: LabelScope = LabelScope([7; 16]);
const THERE: LabelScope = LabelScope([8; 16]);
const ENTRY: EntryId = EntryId(uuid::Uuid::from_u128(5));

struct Fixture {
    database: Database,
    _folder: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { database: Database::create(folder.path().join("labels.redb")).unwrap(), _folder: folder }
    }

    fn write<T>(&self, work: impl FnOnce(&mut Labels<'_>) -> T) -> T {
        let writing = self.database.begin_write().unwrap();
        let done = work(&mut writing.open_table(TABLE).unwrap());
        writing.commit().unwrap();
        done
    }

    fn say(&self, pair: PairKey, label: &Label, most: usize) -> Vec<Relabel> {
        self.write(|table| say(table, pair, label, most).unwrap())
    }

    fn known(&self, scope: Option<LabelScope>) -> Vec<(PairKey, Label)> {
        read(&self.database.begin_read().unwrap().open_table(TABLE).unwrap(), scope).unwrap()
    }
}

fn key(scope: LabelScope, number: u8) -> PairKey {
    PairKey::new(scope, [number; 32])
}

fn label(wrong: bool, at: u64, asked: &str, rev: &str) -> Label {
    let attributes = BTreeMap::from([("rev".to_owned(), rev.to_owned())]).try_into().unwrap();
    let (asked, stored) = (asked.into(), "stored".into());
    let pair = LabelledPair { asked, stored, attributes, similarity: 0.5, probability: Some(0.25) };
    Label {
        cache: "faq".parse().unwrap(),
        wrong,
        at: Timestamp(at),
        source: LabelSource::Feedback,
        entry: None,
        pair: Some(pair),
    }
}

fn found(wrong: bool, at: u64, asked: &str) -> Label {
    Label { source: LabelSource::Shadow, ..label(wrong, at, asked, "1") }
}

#[test]
fn the_last_word_on_a_pair_counts() {
    let f = Fixture::new();
    let pair = key(HERE, 1);
    assert_eq!(f.say(pair, &label(true, 1, "a", "1"), 9), [Relabel::of(pair, &label(true, 1, "a", "1"))]);
    let right = label(false, 2, "a", "1");
    assert_eq!(f.say(pair, &right, 9), [Relabel::of(pair, &right)]);
    assert_eq!(f.known(None), [(pair, right)]);
    let silent = Label { pair: None, ..label(false, 3, "a", "1") };
    assert_eq!(f.say(pair, &silent, 9), [Relabel::gone(pair)], "nothing is left to be known");
    assert!(f.known(None).is_empty());
}

#[test]
fn a_scope_is_bounded_and_what_was_wrong_stays_longest() {
    let f = Fixture::new();
    f.say(key(THERE, 0), &label(false, 0, "a", "1"), 4);
    for number in 0..4 {
        f.say(key(HERE, number), &label(number == 0, u64::from(number), "a", "1"), 4);
    }
    let changes = f.say(key(HERE, 9), &label(true, 9, "a", "1"), 4);
    assert_eq!(changes[0], Relabel::gone(key(HERE, 1)), "the oldest that said right");
    let left: Vec<PairKey> = f.known(Some(HERE)).into_iter().map(|(key, _)| key).collect();
    assert_eq!(left, [key(HERE, 0), key(HERE, 2), key(HERE, 3), key(HERE, 9)]);
    assert_eq!(f.known(Some(THERE)).len(), 1, "another scope has its own room");
    f.say(key(HERE, 9), &label(false, 10, "a", "1"), 4);
    assert_eq!(f.known(Some(HERE)).len(), 4, "another word on a known pair takes no room");
}

#[test]
fn what_shadow_mode_found_refuses_nothing_and_outweighs_nobody() {
    let f = Fixture::new();
    let (one, two) = (key(HERE, 1), key(HERE, 2));
    assert_eq!(f.say(one, &found(true, 1, "a"), 9), [Relabel { pair: one, word: Some(Word::Found), observed: None }]);
    assert_eq!(
        f.say(one, &label(true, 2, "a", "1"), 9),
        [Relabel { pair: one, word: Some(Word::Wrong), observed: None }]
    );
    assert!(f.say(one, &found(false, 3, "a"), 9).is_empty(), "somebody has spoken");
    f.say(two, &found(true, 4, "b"), 9);
    f.say(two, &found(false, 5, "b"), 9);
    assert_eq!(f.known(None), [(one, label(true, 2, "a", "1")), (two, found(false, 5, "b"))]);
    f.say(two, &found(true, 6, "b"), 9);
    f.write(|table| forget(table, &Forget::Scope(HERE)).unwrap());
    let left: Vec<PairKey> = f.known(None).into_iter().map(|(key, _)| key).collect();
    assert_eq!(left, [one], "without its texts a comparison says nothing");
}

#[test]
fn what_shadow_mode_found_makes_room_first() {
    let f = Fixture::new();
    f.say(key(HERE, 0), &label(false, 0, "a", "1"), 3);
    f.say(key(HERE, 1), &found(true, 5, "b"), 3);
    f.say(key(HERE, 2), &found(false, 6, "c"), 3);
    assert_eq!(f.say(key(HERE, 3), &label(false, 7, "d", "1"), 3)[0].pair, key(HERE, 2));
    assert_eq!(f.say(key(HERE, 4), &label(false, 8, "e", "1"), 3)[0].pair, key(HERE, 1));
    assert_eq!(f.say(key(HERE, 5), &found(true, 9, "f"), 3)[0].pair, key(HERE, 0), "then the oldest that said right");
}

#[test]
fn forgetting_takes_the_texts_and_leaves_that_it_was_wrong() {
    let forgotten = |what: &Forget| {
        let f = Fixture::new();
        f.say(key(HERE, 0), &label(true, 0, "alpha", "1"), 9);
        f.say(key(HERE, 1), &label(false, 0, "beta", "1"), 9);
        f.say(key(HERE, 2), &label(false, 0, "gamma", "2"), 9);
        f.say(key(THERE, 3), &label(true, 0, "alpha", "1"), 9);
        f.write(|table| forget(table, what).unwrap());
        let told = |(_, label): (_, Label)| label.pair.map_or("-".to_owned(), |pair| pair.asked);
        f.known(None).into_iter().map(told).collect::<Vec<_>>().join(" ")
    };
    let rev = |rev: &str| BTreeMap::from([("rev".to_owned(), rev.to_owned())]).try_into().unwrap();
    assert_eq!(forgotten(&Forget::Scope(HERE)), "- alpha");
    assert_eq!(forgotten(&Forget::Text(HERE, "alpha".into())), "- beta gamma alpha");
    assert_eq!(forgotten(&Forget::Text(HERE, "stored".into())), "- alpha");
    assert_eq!(forgotten(&Forget::Attributes(HERE, rev("1"))), "- gamma alpha");
    assert_eq!(forgotten(&Forget::Attributes(HERE, rev("3"))), "alpha beta gamma alpha");
    assert_eq!(forgotten(&Forget::Cache("faq".parse().unwrap())), "");
    assert_eq!(forgotten(&Forget::Cache("other".parse().unwrap())), "alpha beta gamma alpha");
}

#[test]
fn forgetting_leaves_nothing_in_the_record_of_an_entry() {
    let f = Fixture::new();
    f.say(key(HERE, 0), &label(true, 0, "alpha", "1"), 9);
    let named = Label { entry: Some(ENTRY), ..label(true, 0, "alpha", "1") };
    assert!(named.observed().is_some_and(|(id, seen)| id == ENTRY && !seen.right));
    let changes = f.write(|table| forget(table, &Forget::Text(HERE, "alpha".into())).unwrap());
    assert_eq!(changes, [Relabel { pair: key(HERE, 0), word: Some(Word::Wrong), observed: None }]);
    assert_eq!(f.known(None)[0].1.entry, None);
}

#[test]
fn the_bytes_of_version_1_are_these_for_ever() {
    let bytes = br#"{"version":1,"label":{"cache":"faq","wrong":true,"at":7,"pair":{"asked":"How?","stored":"stored","attributes":{"rev":"1"},"similarity":0.5,"probability":0.25}}}"#;
    let label = label(true, 7, "How?", "1");
    assert_eq!(String::from_utf8(encode(&label)).unwrap(), String::from_utf8(bytes.to_vec()).unwrap());
    assert_eq!(decode(bytes), Some(label));
    assert_eq!(decode(b"{}"), None);
    assert_eq!(decode(br#"{"version":3,"label":{}}"#), None);
}

#[test]
fn the_bytes_of_version_2_are_these_for_ever() {
    let bytes = br#"{"version":2,"label":{"cache":"faq","wrong":true,"at":7,"source":"shadow","pair":{"asked":"How?","stored":"stored","attributes":{"rev":"1"},"similarity":0.5,"probability":0.25}}}"#;
    let label = found(true, 7, "How?");
    assert_eq!(String::from_utf8(encode(&label)).unwrap(), String::from_utf8(bytes.to_vec()).unwrap());
    assert_eq!(decode(bytes), Some(label));
}

#[test]
fn a_label_names_the_entry_that_served() {
    let named = Label { entry: Some(ENTRY), ..label(true, 7, "How?", "1") };
    assert_eq!(decode(&encode(&named)), Some(named));
}
