//! What is worth computing once for a stored entry and keeping beside its hot record.

use std::sync::Arc;

use crate::dialect::replay::Template;
use crate::entry::EntryKind;
use crate::policy::guard::Features;
use crate::policy::wording::Wording;
use crate::store::Stored;

/// How the guards and the verifier see an entry's text, and its answer cut up for a fast replay.
pub struct Prepared {
    /// What the guards compare.
    pub features: Features,
    /// What the verifier compares.
    pub wording: Wording,
    /// The answer with holes for id and time; `None` for a plain entry, whose answer is bare text.
    pub template: Option<Template>,
}

impl Prepared {
    /// The prepared form of `stored`, made at the first call.
    pub fn of(stored: &Stored) -> Arc<Self> {
        let any = stored.prepared.get_or_init(|| Arc::new(Self::make(stored)));
        Arc::clone(any).downcast().unwrap_or_else(|_| Arc::new(Self::make(stored)))
    }

    fn make(stored: &Stored) -> Self {
        let template = match stored.entry.kind {
            EntryKind::Provider => Template::of(&stored.entry.answer).ok(),
            EntryKind::Plain => None,
        };
        let text = &stored.entry.text;
        Self { features: Features::of(text), wording: Wording::of(text), template }
    }
}
