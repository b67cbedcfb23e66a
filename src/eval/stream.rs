//! Recorded prompts, played in their order against the engine as live traffic: a miss keeps its answer for the next.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Value, json};

use crate::cache::Considered;
use crate::eval::caller::{Answered, Caller, Forwarded, Served};
use crate::eval::report::interval;
use crate::eval::rows::StreamRow;
use crate::policy::rate::Rate;
use crate::prompt::Prompt;
use crate::types::{Attributes, EntryId, Outcome, Similarity, Tier};

/// The parts of a stream that are shown one by one.
const SLICES: usize = 10;
/// Prompts whose texts are embedded ahead; fewer than the embedder remembers.
const AHEAD: usize = 512;

/// What became of one prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Played {
    /// Has its group been there before?
    repeat: bool,
    /// `Some(right)` for a hit.
    hit: Option<bool>,
}

/// A hit on an entry of another group.
#[derive(Clone, Debug)]
pub struct WrongHit {
    /// The row's id.
    pub id: String,
    /// What was asked.
    pub asked: String,
    /// What the served answer had been an answer to.
    pub stored: String,
    /// How near they are.
    pub similarity: Similarity,
}

/// A prompt whose group had been there before, that a guard or a bypass kept from an entry of its group.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The row's id.
    pub id: String,
    /// What was asked.
    pub asked: String,
    /// The prompt of the nearest such entry, and its row's id; `None` for a bypass, which looks at no entry.
    pub stored: Option<(String, String)>,
    /// The guards that forbid it, or the bypass, by their labels.
    pub by: Vec<&'static str>,
}

/// What an entry keeps, by its row.
struct Kept {
    id: String,
    group: String,
    text: String,
}

/// A stream, played.
#[derive(Debug, Default)]
pub struct Replay {
    /// The set's name.
    pub set: String,
    played: Vec<Played>,
    /// Hits of the exact tier.
    pub exact: u64,
    /// Prompts that were not looked up by meaning, by reason.
    pub bypasses: BTreeMap<&'static str, u64>,
    /// Every wrong hit, in order.
    pub wrong: Vec<WrongHit>,
    /// Where guards and labels disagree, in order.
    pub refused: Vec<Refused>,
}

/// The counts of a stream or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Place of the first prompt, from 1.
    pub from: usize,
    /// Place of the last one.
    pub to: usize,
    /// Hits of all prompts.
    pub hits: Rate,
    /// Wrong ones of all hits.
    pub wrong: Rate,
    /// Right hits of all prompts whose group had been there before: those that a perfect cache would have hit.
    pub found: Rate,
}

impl Replay {
    /// Plays `rows` in the order of their `t`; `tick` is called once for each. With `feedback`, the caller of a wrong
    /// hit says so at once. Where the policy learns, two answers agree if their groups are the same.
    ///
    /// # Errors
    /// When embedder or store fail on the way.
    pub async fn play(
        set: &str,
        mut rows: Vec<StreamRow>,
        caller: &Caller<'_>,
        feedback: bool,
        tick: &impl Fn(),
    ) -> Result<Self, String> {
        rows.sort_by(|a, b| a.t.total_cmp(&b.t));
        let mut replay = Self { set: set.to_owned(), ..Self::default() };
        let (mut entries, mut seen) = (HashMap::new(), HashSet::new());
        for rows in rows.chunks(AHEAD) {
            let prompts = rows.iter().map(prompt).collect::<Result<Vec<_>, _>>()?;
            caller.warm(prompts.iter()).await?;
            for (row, prompt) in rows.iter().zip(&prompts) {
                let answered = caller.ask(prompt, &Attributes::default(), Some(&row.group)).await;
                let answered = answered.map_err(|error| format!("{}: {error}", row.id))?;
                let (lookup, kept) = match &answered {
                    Answered::Hit(served) => (Some(served.lookup), None),
                    Answered::Forwarded(forwarded) => (None, forwarded.kept),
                };
                let repeat = !seen.insert(row.group.clone());
                let hit = replay.note(row, answered, repeat, &mut entries);
                if let Some(lookup) = lookup.filter(|_| feedback && hit == Some(false)) {
                    caller.blame(lookup).await.map_err(|error| format!("{}: {error}", row.id))?;
                }
                if let Some(kept) = kept {
                    let same = |stored| entries.get(&stored).is_some_and(|kept| kept.group == row.group);
                    caller.learn(kept, same).await;
                }
                replay.played.push(Played { repeat, hit });
                tick();
            }
        }
        caller.forget().await?;
        Ok(replay)
    }

    /// Counts one answer; `Some(right)` for a hit.
    fn note(
        &mut self,
        row: &StreamRow,
        answered: Answered,
        repeat: bool,
        entries: &mut HashMap<EntryId, Kept>,
    ) -> Option<bool> {
        match answered {
            Answered::Hit(served) => {
                let right = entries.get(&served.entry).is_some_and(|kept| kept.group == row.group);
                self.exact += u64::from(served.tier == Tier::Exact);
                if !right {
                    self.wrong.push(wrong(row, served));
                }
                Some(right)
            }
            Answered::Forwarded(forwarded) => {
                if forwarded.outcome == Outcome::Bypass {
                    *self.bypasses.entry(forwarded.reason).or_default() += 1;
                }
                if repeat {
                    self.refused.extend(refused(row, &forwarded, entries));
                }
                let (id, group, text) = (row.id.clone(), row.group.clone(), row.text.clone());
                entries.extend(forwarded.kept.map(|entry| (entry, Kept { id, group, text })));
                None
            }
        }
    }

    /// The counts of the whole.
    pub fn total(&self) -> Counts {
        self.counts(0, self.played.len())
    }

    /// The counts over time: ten parts of (nearly) the same length, fewer when there are fewer prompts.
    pub fn slices(&self) -> Vec<Counts> {
        let parts = SLICES.min(self.played.len());
        let edge = |part: usize| part * self.played.len() / parts.max(1);
        (0..parts).map(|part| self.counts(edge(part), edge(part + 1))).collect()
    }

    fn counts(&self, from: usize, to: usize) -> Counts {
        let played = &self.played[from..to];
        let count = |what: &dyn Fn(&Played) -> bool| played.iter().filter(|one| what(one)).count() as u64;
        let hits = count(&|one| one.hit.is_some());
        Counts {
            from: from + 1,
            to,
            hits: Rate::new(hits, played.len() as u64),
            wrong: Rate::new(count(&|one| one.hit == Some(false)), hits),
            found: Rate::new(count(&|one| one.repeat && one.hit == Some(true)), count(&|one| one.repeat)),
        }
    }

    /// The replay for other programs.
    pub fn to_json(&self) -> Value {
        let mut whole = counts_json(self.total());
        whole["stream"] = json!(self.set);
        whole["exactHits"] = json!(self.exact);
        whole["bypasses"] = json!(self.bypasses);
        let stored = |one: &Refused| one.stored.as_ref().map(|(id, _)| id.clone());
        let refused = self.refused.iter().map(|one| json!({"id": one.id, "stored": stored(one), "by": one.by}));
        whole["refusedRepeats"] = refused.collect();
        whole["slices"] = self.slices().into_iter().map(counts_json).collect();
        whole
    }
}

fn prompt(row: &StreamRow) -> Result<Prompt, String> {
    let messages = json!([{"role": "user", "content": row.text}]);
    Caller::prompt(&messages).map_err(|error| format!("{}: {error}", row.id))
}

/// The bypass, or the guards that forbid the nearest entry of the row's group; `None` where it is not theirs.
fn refused(row: &StreamRow, forwarded: &Forwarded, entries: &HashMap<EntryId, Kept>) -> Option<Refused> {
    let (id, asked) = (row.id.clone(), row.text.clone());
    if forwarded.outcome == Outcome::Bypass {
        return Some(Refused { id, asked, stored: None, by: vec![forwarded.reason] });
    }
    let own = |one: &&Considered| entries.get(&one.id).is_some_and(|kept| kept.group == row.group);
    let vetoed = |one: &&Considered| one.guards.iter().any(|(_, veto)| veto.is_some());
    if forwarded.considered.iter().filter(own).any(|one| !vetoed(&one)) {
        return None;
    }
    let nearest = forwarded.considered.iter().filter(own).max_by_key(|one| one.similarity)?;
    let by = nearest.guards.iter().filter(|(_, veto)| veto.is_some()).map(|(guard, _)| guard.as_str()).collect();
    let stored = entries.get(&nearest.id).map(|kept| (kept.id.clone(), kept.text.clone()));
    Some(Refused { id, asked, stored, by })
}

fn wrong(row: &StreamRow, served: Served) -> WrongHit {
    WrongHit { id: row.id.clone(), asked: row.text.clone(), stored: served.stored, similarity: served.similarity }
}

fn counts_json(counts: Counts) -> Value {
    json!({
        "from": counts.from, "to": counts.to, "prompts": counts.hits.of, "repeats": counts.found.of,
        "hits": counts.hits.count, "wrongHits": counts.wrong.count, "rightHitsOfRepeats": counts.found.count,
        "hitRatio": counts.hits.value(), "wrongHitRate": counts.wrong.value(),
        "interval": {"hitRatio": interval(counts.hits), "wrongHitRate": interval(counts.wrong)},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_the_whole_stream() {
        let one = |repeat, hit| Played { repeat, hit };
        let played = [one(false, None), one(true, Some(true)), one(false, Some(false)), one(true, None)];
        for length in [0, 1, 4, 9, 10, 11, 37] {
            let played: Vec<Played> = played.iter().copied().cycle().take(length).collect();
            let replay = Replay { played, ..Replay::default() };
            let slices = replay.slices();
            assert_eq!(slices.iter().map(|part| part.hits.of).sum::<u64>(), length as u64);
            assert_eq!(slices.iter().map(|part| part.hits.count).sum::<u64>(), replay.total().hits.count);
            assert!(slices.windows(2).all(|two| two[0].to + 1 == two[1].from));
        }
    }
}
