//! Leads and their listeners: who hears what, and that nobody is stranded or told half as the whole.

use futures_util::StreamExt;

use super::*;

const KEY: ExactKey = ExactKey([1; 32]);
const PATIENCE: Duration = Duration::from_secs(5);

fn head() -> Arc<Head> {
    Arc::new(Head { status: StatusCode::OK, headers: HeaderMap::new() })
}

fn lead(flights: &Flights, limit: usize) -> (Lead, Subscription) {
    match flights.join(KEY, Shape::default(), limit) {
        Join::Lead(lead, subscription) => (lead, subscription),
        _ => panic!("not the leader"),
    }
}

async fn text(mut subscription: Subscription) -> Result<String, Break> {
    let mut all = Vec::new();
    while let Some(piece) = subscription.pieces.recv().await {
        all.extend_from_slice(&piece?);
    }
    Ok(String::from_utf8(all).unwrap())
}

#[tokio::test]
async fn a_late_follower_hears_the_answer_from_its_beginning() {
    let flights = Flights::default();
    let (mut leader, own) = lead(&flights, 100);
    leader.open(head(), true);
    leader.publish("one ".into(), PATIENCE).await;
    let Join::Follow(follower) = flights.join(KEY, Shape::default(), 100) else { panic!("no follower") };
    leader.publish("two".into(), PATIENCE).await;
    leader.finish(true);
    assert_eq!(text(own).await.unwrap(), "one two");
    assert_eq!(text(follower).await.unwrap(), "one two");
    assert!(flights.is_empty());
}

#[tokio::test]
async fn a_dropped_lead_frees_its_followers() {
    let flights = Flights::default();
    let (leader, _own) = lead(&flights, 100);
    let Join::Follow(mut follower) = flights.join(KEY, Shape::default(), 100) else { panic!("no follower") };
    drop(leader);
    follower.phase.wait_for(|phase| matches!(phase, Phase::Failed)).await.unwrap();
    assert!(matches!(flights.join(KEY, Shape::default(), 100), Join::Lead(..)));
}

#[tokio::test]
async fn a_listener_that_was_left_behind_or_lost_its_lead_does_not_end_well() {
    let flights = Flights::default();
    let (leader, own) = lead(&flights, 100);
    drop(leader);
    let pieces: Vec<_> = own.into_stream().collect().await;
    assert!(matches!(pieces.as_slice(), [Err(_)]));
    let (leader, own) = lead(&flights, 100);
    for _ in 0..=BACKLOG {
        leader.publish("piece".into(), Duration::from_millis(5)).await;
    }
    leader.finish(false);
    let pieces: Vec<_> = own.into_stream().collect().await;
    assert_eq!(pieces.len(), BACKLOG + 1);
    assert!(pieces.last().is_some_and(Result::is_err), "what is missing is told");
}

#[tokio::test]
async fn a_stalled_follower_is_left_and_holds_nobody_up_for_long() {
    let flights = Flights::default();
    let (mut leader, own) = lead(&flights, 1_000_000);
    leader.open(head(), true);
    let Join::Follow(stalled) = flights.join(KEY, Shape::default(), 100) else { panic!("no follower") };
    #[allow(clippy::disallowed_methods, reason = "it ends with the test")]
    let reading = tokio::spawn(text(own));
    let began = std::time::Instant::now();
    for _ in 0..3 * BACKLOG {
        leader.publish("piece ".into(), Duration::from_mins(1)).await;
    }
    leader.finish(true);
    assert!(began.elapsed() < 3 * FOLLOWER_PATIENCE, "{:?}", began.elapsed());
    assert_eq!(reading.await.unwrap().unwrap().len(), 3 * BACKLOG * 6);
    let pieces: Vec<_> = stalled.into_stream().collect().await;
    assert!(pieces.last().is_some_and(Result::is_err));
}

#[tokio::test]
async fn an_answer_kept_before_its_body_ends_stays_kept() {
    let flights = Flights::default();
    let (mut leader, own) = lead(&flights, 100);
    leader.open(head(), true);
    leader.kept();
    assert!(flights.is_empty());
    leader.finish(false);
    assert!(matches!(*own.phase.borrow(), Phase::Kept));
}

#[tokio::test]
async fn nobody_joins_after_the_beginning_is_gone() {
    let flights = Flights::default();
    let (mut leader, _own) = lead(&flights, 3);
    leader.open(head(), true);
    leader.publish("longer than three".into(), PATIENCE).await;
    assert!(matches!(flights.join(KEY, Shape::default(), 3), Join::Wait(_)));
}

#[tokio::test]
async fn another_transport_waits_instead_of_sharing_bytes() {
    let flights = Flights::default();
    let (_leader, _own) = lead(&flights, 100);
    let stream = Shape { stream: true, ..Shape::default() };
    assert!(matches!(flights.join(KEY, stream, 100), Join::Wait(_)));
}

#[tokio::test]
async fn an_answer_that_is_not_shared_frees_followers_and_keeps_its_own_caller() {
    let flights = Flights::default();
    let (mut leader, own) = lead(&flights, 100);
    let Join::Follow(follower) = flights.join(KEY, Shape::default(), 100) else { panic!("no follower") };
    leader.open(head(), false);
    leader.publish("error".into(), PATIENCE).await;
    leader.finish(false);
    assert_eq!(text(own).await.unwrap(), "error");
    assert_eq!(text(follower).await.unwrap(), "");
}

#[tokio::test]
async fn a_fill_is_abandoned_when_its_last_listener_leaves() {
    let flights = Flights::default();
    let (mut leader, own) = lead(&flights, 100);
    assert!(!leader.withdraw());
    drop(own);
    leader.abandoned().await;
    assert!(leader.withdraw());
    assert!(flights.is_empty());
}
