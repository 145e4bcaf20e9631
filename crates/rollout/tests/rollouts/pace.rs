//! The rate limiter adapts to call durations: random API servers, and single properties.

use std::time::Duration;

use pointsman_core::laws::Random;
use pointsman_rollout::{ApiCallKind, RateLimiter};

use crate::number;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const CALLS: [ApiCallKind; 3] = [ApiCallKind::Object, ApiCallKind::Status, ApiCallKind::Read];

/// A rate limiter after this many calls of each kind, each of this duration.
fn calm(calls: usize, time: Duration) -> (RateLimiter, Duration) {
    let (mut pace, mut now) = (RateLimiter::new(Duration::ZERO), Duration::ZERO);
    for _ in 0..calls {
        for call in CALLS {
            now += SECOND / 10;
            assert_eq!(pace.took(call, time, now), None, "calm is not slow");
        }
    }
    (pace, now)
}

/// Makes slow calls until the rate changes. Returns the number of calls.
fn slowed(pace: &mut RateLimiter, time: Duration, now: &mut Duration) -> usize {
    let before = pace.rate();
    let mut calls = 0;
    while pace.rate() == before {
        (*now, calls) = (*now + SECOND / 10, calls + 1);
        pace.took(ApiCallKind::Object, time, *now);
        assert!(calls < 200, "never");
    }
    calls
}

#[test]
fn random_pace_stays_bounded() {
    let first = number("POINTSMAN_SEED", 1);
    for seed in first..first + number("POINTSMAN_ROLLOUTS", 300).min(100_000) {
        by_chance(seed);
    }
}

/// Random calls, writes, rejections and pauses, followed by a quiet period.
fn by_chance(seed: u64) {
    let mut random = Random::new(seed);
    let (mut pace, mut now) = (RateLimiter::new(Duration::ZERO), Duration::ZERO);
    let (mut writes, mut rests, mut slowed_at): (Vec<Duration>, _, Option<Duration>) =
        (Vec::new(), Duration::ZERO, None);
    for _ in 0..1_000 {
        now += MS * u32::try_from(random.draw() % 400).unwrap();
        let before = pace.rate();
        match random.draw() % 20 {
            0 => {
                let pause = random.percent(50).then(|| SECOND * u32::try_from(random.draw() % 90).unwrap());
                pace.is_busy(pause, now);
                rests = rests.max(now + pause.unwrap_or_default().min(SECOND * 60));
                assert!(pace.rate() == (before / 2.0).max(0.5), "seed {seed}: who is busy is written to half as fast");
            }
            1..=9 => {
                let time = MS * u32::try_from(random.draw() % 60 * (random.draw() % 12)).unwrap();
                let change = pace.took(CALLS[usize::try_from(random.draw() % 3).unwrap()], time, now);
                if change.is_some() {
                    let since = slowed_at.map_or(Duration::MAX, |at| now - at);
                    assert!(since >= SECOND * 10, "seed {seed}: one stall, halved twice");
                    assert!(pace.rate() == (before / 2.0).max(0.5), "seed {seed}: {before} to {}", pace.rate());
                    slowed_at = Some(now);
                }
            }
            _ => {
                pace.recovers(now);
                let wait = pace.take(now);
                if wait.is_zero() {
                    assert!(now >= rests, "seed {seed}: written before the time that the API server has named");
                    writes.push(now);
                }
            }
        }
        assert!((0.5..=10.0).contains(&pace.rate()), "seed {seed}: {}", pace.rate());
    }
    for (at, first) in writes.iter().enumerate() {
        let within = writes[at..].iter().take_while(|write| **write - *first < SECOND).count();
        assert!(within <= 20, "seed {seed}: {within} writes in a second");
    }
    // Five increases, 30 s apart, lead from the minimum to the maximum rate.
    for _ in 0..6 {
        now += SECOND * 30;
        pace.recovers(now);
    }
    assert!(pace.rate() == 10.0, "seed {seed}: {} for ever", pace.rate());
    now += SECOND * 60;
    assert!(pace.take(now).is_zero(), "seed {seed}: a write waits for ever");
}

#[test]
fn two_slow_calls_reduce_rate() {
    for others in [0, 1, 50, 99] {
        let (mut pace, mut now) = calm(100, 60 * MS);
        for _ in 0..others {
            now += SECOND / 10;
            pace.took(ApiCallKind::Object, 60 * MS, now);
        }
        assert_eq!(pace.took(ApiCallKind::Object, 30 * SECOND, now), None, "{others} others");
        assert!(pace.rate() == 10.0);
        let told = pace.took(ApiCallKind::Object, 130 * MS, now + SECOND).expect("two of them are slow").to_string();
        assert!(pace.rate() == 5.0 && told.contains("patches of objects, two took 130 ms or more"), "{told}");
        assert!(told.contains("at the start this was 60 ms") && !told.contains(" again"), "{told}");
    }
}

#[test]
fn call_kinds_have_own_baselines() {
    let (mut pace, mut now) = (RateLimiter::new(Duration::ZERO), Duration::ZERO);
    for _ in 0..300 {
        now += SECOND / 10;
        pace.took(ApiCallKind::Object, 400 * MS, now);
        pace.took(ApiCallKind::Read, 5 * MS, now);
    }
    assert!(pace.rate() == 10.0, "a webhook that always takes 400 ms is how it is");
    for _ in 0..2 {
        pace.took(ApiCallKind::Read, 120 * MS, now);
    }
    assert!(pace.rate() == 5.0);
}

#[test]
fn fast_calls_are_never_slow() {
    let (mut pace, mut now) = calm(100, 2 * MS);
    for _ in 0..200 {
        now += SECOND / 10;
        assert_eq!(pace.took(ApiCallKind::Object, 100 * MS, now), None);
    }
    assert_eq!(slowed(&mut pace, 101 * MS, &mut now), 2);
}

#[test]
fn rate_needs_a_baseline() {
    let (mut pace, now) = calm(97, 5 * MS);
    for _ in 0..3 {
        assert_eq!(pace.took(ApiCallKind::Object, 10 * SECOND, now), None, "there is no p99 of 99 calls");
    }
    // If calls are slow from the start, slow calls are the baseline until faster calls occur.
    let (mut pace, mut now) = calm(100, SECOND);
    for _ in 0..100 {
        now += SECOND / 10;
        pace.took(ApiCallKind::Object, 60 * MS, now);
    }
    assert_eq!(slowed(&mut pace, 130 * MS, &mut now), 2, "and then that is the beginning");
}

#[test]
fn distant_slow_calls_are_independent() {
    let (mut pace, mut now) = calm(100, 60 * MS);
    for _ in 0..10 {
        now += SECOND * 61;
        assert_eq!(pace.took(ApiCallKind::Object, SECOND, now), None);
    }
}

#[test]
fn stall_halves_rate_once() {
    let (mut pace, mut now) = calm(100, 60 * MS);
    slowed(&mut pace, SECOND, &mut now);
    for _ in 0..99 {
        now += SECOND / 10;
        assert_eq!(pace.took(ApiCallKind::Object, SECOND, now), None);
    }
    for rate in [2.5, 1.25, 0.625, 0.5] {
        now += SECOND * 10;
        slowed(&mut pace, SECOND, &mut now);
        assert!(pace.rate() == rate, "{}", pace.rate());
    }
    // The rate never rises while calls are slow.
    for _ in 0..600 {
        now += SECOND;
        assert_eq!(pace.took(ApiCallKind::Object, SECOND, now), None);
        assert_eq!(pace.recovers(now), None);
    }
    for rate in [1.0, 2.0, 4.0, 8.0, 10.0] {
        now += SECOND * 30;
        let told = pace.recovers(now).expect("calm again").to_string();
        assert_eq!((pace.rate(), told), (rate, format!("writes {rate} a second again at most")));
        assert_eq!(pace.recovers(now), None, "not at once");
    }
}

#[test]
fn retry_after_is_respected() {
    let mut pace = RateLimiter::new(Duration::ZERO);
    let told = pace.is_busy(Some(SECOND * 7), Duration::ZERO).expect("slower").to_string();
    assert!(told.contains("writes 5 a second") && told.contains("(429)"), "{told}");
    pace.is_busy(Some(SECOND), Duration::ZERO);
    for (now, wait) in [(Duration::ZERO, SECOND * 7), (SECOND * 6, SECOND), (SECOND * 7, Duration::ZERO)] {
        assert_eq!(pace.take(now), wait, "at {now:?}");
    }
    for _ in 0..5 {
        pace.is_busy(None, SECOND * 8);
    }
    assert!(pace.rate() == 0.5);
    assert_eq!(pace.take(SECOND * 8), SECOND * 2, "saved tokens expire");
}

#[test]
fn writes_burst_then_follow_rate() {
    let (mut pace, mut now) = (RateLimiter::new(Duration::ZERO), Duration::ZERO);
    let writes = |pace: &mut RateLimiter, now| (0..100).take_while(|_| pace.take(now).is_zero()).count();
    assert_eq!(writes(&mut pace, now), 10);
    for _ in 0..50 {
        now += SECOND / 10;
        assert_eq!(writes(&mut pace, now + MS), 1);
    }
}
