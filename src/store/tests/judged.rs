//! What is known of pairs: whose word it is, and what it does.

use super::*;

fn pair() -> PairKey {
    PairKey::new(LabelScope([3; 16]), [4; 32])
}

fn label(source: LabelSource, wrong: bool) -> Label {
    let (asked, stored, attributes) = ("asked".into(), "stored".into(), Attributes::default());
    let pair = LabelledPair { asked, stored, attributes, similarity: 0.95, probability: Some(0.9) };
    Label { cache: CacheId::default(), wrong, at: NOW, source, entry: None, pair: Some(pair) }
}

#[tokio::test]
async fn what_shadow_mode_found_is_nobodys_word_on_a_pair() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).0;
    let word = |store: &Store| (store.is_right(&pair()), store.is_wrong(pair));
    for found in [true, false] {
        store.put_label(pair(), label(LabelSource::Shadow, found)).await.unwrap();
        assert_eq!(word(&store), (false, false), "{found}");
    }
    store.put_label(pair(), label(LabelSource::Feedback, false)).await.unwrap();
    assert_eq!(word(&store), (true, false));
    store.put_label(pair(), label(LabelSource::Feedback, true)).await.unwrap();
    assert_eq!(word(&store), (false, true));
    store.close().await.unwrap();
    assert_eq!(word(&open(dir.path()).0), (false, true), "after a restart too");
}
