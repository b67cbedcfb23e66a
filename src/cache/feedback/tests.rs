//! What is remembered of hits, and how pairs are named.

use super::*;

fn served(text: &str) -> Arc<Served> {
    let what = What::Other(LabelledPair {
        asked: text.into(),
        stored: text.into(),
        attributes: Attributes::default(),
        similarity: 1.0,
        probability: None,
    });
    let (caller, owner) = (TenantId::LOCAL, TenantId::LOCAL);
    Arc::new(Served { cache: CacheId::default(), caller, owner, entry: EntryId::generate(), what })
}

#[test]
fn the_latest_hits_are_remembered_and_the_oldest_make_room() {
    let recents = Recents::holding(100_000);
    let names: Vec<LookupId> = (0..500).map(|_| LookupId::generate()).collect();
    for name in &names {
        recents.0.insert(*name, served(&"x".repeat(500)));
        recents.0.run_pending_tasks();
    }
    assert!(recents.0.get(&names[499]).is_some() && recents.0.get(&names[450]).is_some());
    assert!(recents.0.get(&names[0]).is_none());
    assert!(recents.0.weighted_size() <= 100_000);
}

#[test]
fn a_giant_is_not_remembered_and_pushes_nobody_out() {
    let recents = Recents::holding(100_000);
    let (small, giant) = (LookupId::generate(), LookupId::generate());
    recents.0.insert(small, served("x"));
    recents.0.insert(giant, served(&"x".repeat(200_000)));
    recents.0.run_pending_tasks();
    assert!(recents.0.get(&small).is_some() && recents.0.get(&giant).is_none());
}

#[test]
fn case_and_space_make_no_other_prompt() {
    assert_eq!(folded("  How do I\tRESET it? "), folded("how do i reset it?"));
    assert_ne!(folded("reset it"), folded("resetit"));
}
