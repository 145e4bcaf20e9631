//! More than there is room for: told to come back, or kept waiting, and never in the way of the others.

use std::time::Duration;

use pointsman::server::BodyLimits;

use crate::support::gate::{Gate, waiting};
use crate::support::server::{TestServer, echo};

const MIB: u64 = 1 << 20;

#[tokio::test]
async fn bytes_beyond_the_budget_are_sent_away_and_come_back() {
    let (gate, decide) = Gate::new();
    let server = TestServer::start(decide, |options| {
        options.body_limits = BodyLimits::up_to(MIB);
        options.body_budget = MIB;
    })
    .await;
    let (mut first, mut second, mut small) = (
        server.http1().await,
        server.http1().await,
        server.http2().await,
    );
    let held = tokio::spawn(async move { first.post("/convert", waiting(600)).await.unwrap() });
    gate.entered(1).await;

    let answer = second.post("/convert", waiting(600)).await.unwrap();
    answer.refused(503);
    assert_eq!(answer.header("retry-after"), Some("1"));
    let answer = second
        .post_chunked("/convert", &waiting(600))
        .await
        .unwrap();
    answer.refused(503);
    assert_eq!(answer.header("retry-after"), Some("1"));
    // What still fits is served.
    assert_eq!(small.post("/convert", "{}").await.unwrap().status, 200);

    gate.open();
    assert_eq!(held.await.unwrap().status, 200);
    // The very request that was sent away, on the very connection.
    assert_eq!(
        second.post("/convert", waiting(600)).await.unwrap().status,
        200
    );
}

#[tokio::test]
async fn a_small_chunked_body_does_not_hold_what_a_large_one_would() {
    let (gate, decide) = Gate::new();
    let server = TestServer::start(decide, |options| {
        options.body_limits = BodyLimits::up_to(MIB);
        options.body_budget = MIB;
    })
    .await;
    let (mut first, mut second) = (server.http1().await, server.http1().await);
    let held =
        tokio::spawn(async move { first.post_chunked("/convert", &waiting(300)).await.unwrap() });
    gate.entered(1).await;
    assert_eq!(
        second.post_chunked("/convert", b"{}").await.unwrap().status,
        200
    );
    gate.open();
    assert_eq!(held.await.unwrap().status, 200);
}

#[tokio::test]
async fn the_budget_always_holds_the_largest_body() {
    let server = TestServer::start(echo(), |options| {
        options.body_limits = BodyLimits::up_to(MIB);
        options.body_budget = 1;
    })
    .await;
    let mut client = server.http1().await;
    for _ in 0..3 {
        assert_eq!(
            client.post("/convert", waiting(1024)).await.unwrap().status,
            200
        );
    }
}

/// The runtime of this test has one thread: a large decision on it would stop everything.
#[tokio::test]
async fn a_large_decision_does_not_hold_up_small_ones() {
    let (gate, decide) = Gate::new();
    let server = TestServer::start(decide, |_| {}).await;
    let (mut large, mut small) = (server.http1().await, server.http1().await);
    let held = tokio::spawn(async move { large.post("/convert", waiting(300)).await.unwrap() });
    gate.entered(1).await;
    for _ in 0..100 {
        assert_eq!(small.post("/validate", "{}").await.unwrap().status, 200);
    }
    assert!(!held.is_finished());
    gate.open();
    assert_eq!(held.await.unwrap().status, 200);
}

#[tokio::test]
async fn a_share_is_held_for_as_long_as_the_decision_takes() {
    let (gate, decide) = Gate::new();
    let server = TestServer::start(decide, |options| {
        options.body_limits = BodyLimits::up_to(MIB);
        options.body_budget = MIB;
    })
    .await;
    let (mut first, mut second) = (server.http1().await, server.http1().await);
    let gone = tokio::spawn(async move { first.post("/convert", waiting(600)).await });
    gate.entered(1).await;
    // The client goes away; its body is still in memory.
    gone.abort();
    assert!(gone.await.unwrap_err().is_cancelled());
    second
        .post("/convert", waiting(600))
        .await
        .unwrap()
        .refused(503);
    gate.open();
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_their_turn() {
    let server = TestServer::start(echo(), |options| options.max_connections = 2).await;
    let (mut first, second) = (server.http1().await, server.http1().await);
    let dial = server.dial();
    let mut third = tokio::spawn(async move { dial.connect().await.unwrap() });
    let early = tokio::time::timeout(Duration::from_millis(300), &mut third).await;
    assert!(early.is_err(), "a third connection was served");
    assert_eq!(first.post("/convert", "{}").await.unwrap().status, 200);
    drop(second);
    assert_eq!(
        third
            .await
            .unwrap()
            .post("/convert", "{}")
            .await
            .unwrap()
            .status,
        200
    );
}
