//! Pairs of conversations: one is answered and kept, then the other asks the engine.
//!
//! Every pair has a label of its own on the request, so that nothing but its first half can answer its second.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::eval::caller::{Answered, Caller, label};
use crate::eval::report::interval;
use crate::eval::rows::ConversationRow;
use crate::policy::rate::Rate;
use crate::prompt::Prompt;

/// Pairs whose texts are embedded ahead; fewer than the embedder remembers.
const AHEAD: usize = 256;

/// What became of the pairs of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Hits among pairs that one answer serves.
    pub hits: Rate,
    /// Hits among the others.
    pub false_hits: Rate,
    /// Why pairs that one answer serves were not hit.
    pub missed: BTreeMap<&'static str, u64>,
}

impl Default for Kind {
    fn default() -> Self {
        Self { hits: Rate::new(0, 0), false_hits: Rate::new(0, 0), missed: BTreeMap::new() }
    }
}

impl Kind {
    fn note(&mut self, same: bool, missed: Option<&'static str>) {
        let rate = if same { &mut self.hits } else { &mut self.false_hits };
        *rate = Rate::new(rate.count + u64::from(missed.is_none()), rate.of + 1);
        if let (true, Some(reason)) = (same, missed) {
            *self.missed.entry(reason).or_default() += 1;
        }
    }
}

/// A false hit.
#[derive(Clone, Debug)]
pub struct FalseHit {
    /// The row's id.
    pub id: String,
    /// The last turn that was asked.
    pub asked: String,
    /// The last turn that the served answer had been an answer to.
    pub stored: String,
    /// How near they are, 0 to 1.
    pub similarity: f32,
}

/// A set of conversations, asked.
#[derive(Debug, Default)]
pub struct Conversations {
    /// The set's name.
    pub set: String,
    /// By kind.
    pub kinds: BTreeMap<String, Kind>,
    /// Every false hit, in order.
    pub wrong: Vec<FalseHit>,
}

impl Conversations {
    /// Asks all of them; `tick` is called once for each.
    ///
    /// # Errors
    /// When embedder or store fail on the way.
    pub async fn ask(
        set: &str,
        rows: &[ConversationRow],
        caller: &Caller<'_>,
        tick: &impl Fn(),
    ) -> Result<Self, String> {
        let mut asked = Self { set: set.to_owned(), ..Self::default() };
        let mut number = 0;
        for rows in rows.chunks(AHEAD) {
            let prompts = rows.iter().map(prompts).collect::<Result<Vec<_>, _>>()?;
            caller.warm(prompts.iter().flat_map(|(stored, asked)| [stored, asked])).await?;
            for (row, pair) in rows.iter().zip(&prompts) {
                number += 1;
                asked.one(row, pair, number, caller).await.map_err(|error| format!("{}: {error}", row.id))?;
                tick();
            }
        }
        caller.forget().await?;
        Ok(asked)
    }

    async fn one(
        &mut self,
        row: &ConversationRow,
        (stored, asked): &(Prompt, Prompt),
        number: usize,
        caller: &Caller<'_>,
    ) -> Result<(), String> {
        let own = label(number);
        caller.ask(stored, &own, Some(&row.id)).await?;
        let missed = match caller.ask(asked, &own, None).await? {
            Answered::Forwarded(forwarded) => Some(forwarded.reason),
            Answered::Hit(served) => {
                if !row.same {
                    let (id, asked) = (row.id.clone(), asked.text.clone());
                    let similarity = served.similarity.get();
                    self.wrong.push(FalseHit { id, asked, stored: served.stored, similarity });
                }
                None
            }
        };
        self.kinds.entry(row.kind.clone()).or_default().note(row.same, missed);
        Ok(())
    }

    /// All kinds together.
    pub fn total(&self) -> Kind {
        let sum = |a: Rate, b: Rate| Rate::new(a.count + b.count, a.of + b.of);
        self.kinds.values().fold(Kind::default(), |mut total, kind| {
            for (reason, count) in &kind.missed {
                *total.missed.entry(reason).or_default() += count;
            }
            Kind { hits: sum(total.hits, kind.hits), false_hits: sum(total.false_hits, kind.false_hits), ..total }
        })
    }

    /// The result for other programs.
    pub fn to_json(&self) -> Value {
        let mut whole = kind_json(&self.total());
        whole["conversations"] = json!(self.set);
        whole["kinds"] = self.kinds.iter().map(|(name, kind)| (name.clone(), kind_json(kind))).collect();
        whole
    }
}

fn prompts(row: &ConversationRow) -> Result<(Prompt, Prompt), String> {
    let read = |messages: &Value| Caller::prompt(messages).map_err(|error| format!("{}: {error}", row.id));
    Ok((read(&row.stored)?, read(&row.asked)?))
}

fn kind_json(kind: &Kind) -> Value {
    json!({
        "pairs": kind.hits.of + kind.false_hits.of, "positives": kind.hits.of, "hits": kind.hits.count,
        "falseHits": kind.false_hits.count, "hitRate": kind.hits.value(), "falseHitRate": kind.false_hits.value(),
        "interval": {"hitRate": interval(kind.hits), "falseHitRate": interval(kind.false_hits)},
    })
}
