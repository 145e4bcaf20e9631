//! Instances that stop: by request, one after the other, and by a crash.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use crate::certificates::reloads;
use crate::commands::rotate::{Replica, thorough};
use crate::load::{MANY, under_counted_load, under_load};
use crate::scenario::Scenario;
use crate::support::balancer::Balancer;
use crate::support::ctx::TestContext;
use crate::support::pointsman::{Pointsman, Setup};
use crate::support::process::{eventually, free_port};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("rolling_restart_fails_no_request", rolled).materialize().newest().failing().alone(),
    Scenario::new("renewed_leaf_fails_no_request", leaves).materialize().newest().failing().alone(),
    Scenario::new("one_of_two_replicas_suffices", one_of_two).materialize().newest().failing().alone(),
    Scenario::new("restarted_replica_recovers", the_only_one).materialize().newest().failing().alone(),
];

fn another(ctx: &TestContext<'_>) -> Pointsman {
    let setup = Setup { port: free_port(), ..ctx.setup.clone() };
    Pointsman::start(&setup)
}

/// Acts like a Deployment: starts the next instance first, then terminates the old one. Then acts like a person who
/// deletes Pods.
fn rolled(ctx: &TestContext<'_>) {
    let balancer = behind_balancer(ctx);
    let (mut one, mut two) = (another(ctx), another(ctx));
    balancer.set(&[one.backend(), two.backend()]);
    ctx.enable(ctx.sample.new);
    let (load, rollouts) = under_counted_load(ctx, 20, |requests| {
        let mut rollouts = 0;
        while rollouts < ROLLOUTS || (thorough() && requests.load(Ordering::Relaxed) < MANY) {
            rollouts += 1;
            let next = another(ctx);
            balancer.set(&[one.backend(), two.backend(), next.backend()]);
            one.drain();
            one = std::mem::replace(&mut two, next);
            balancer.set(&[one.backend(), two.backend()]);
        }
        rollouts
    });
    println!("     {rollouts} instances rolled under {} requests: {} errors", load.requests, load.errors.len());
    assert_eq!(load.errors, [""; 0]);
    assert_eq!(ctx.conversions().1, 0);
    // Stops both at once, and starts the next ones afterwards.
    forget(ctx);
    let (naive, ()) = under_load(ctx, 20, || {
        one.kill();
        two.kill();
        thread::sleep(Duration::from_secs(1));
        (one, two) = (another(ctx), another(ctx));
        balancer.set(&[one.backend(), two.backend()]);
    });
    println!("     deleted and made anew under {} requests: {} errors", naive.requests, naive.errors.len());
    assert!(!naive.errors.is_empty(), "the test can fail");
    // Caches may lag behind, and the deletion of the CRD converts objects as well.
    ctx.keep((balancer, one, two));
}

/// Two running replicas load one leaf after the other. Then the replicas are restarted for a new leaf.
fn leaves(ctx: &TestContext<'_>) {
    let balancer = behind_balancer(ctx);
    let authority = &ctx.test_cluster.authority;
    let mut replicas = [Replica::start(ctx, "one", authority), Replica::start(ctx, "two", authority)];
    let set = |replicas: &[Replica; 2]| {
        balancer.set(&[replicas[0].running.backend(), replicas[1].running.backend()]);
    };
    set(&replicas);
    ctx.enable(ctx.sample.new);
    let (load, given) = under_counted_load(ctx, 20, |requests| {
        let mut given = 0;
        while given < LEAVES || (thorough() && requests.load(Ordering::Relaxed) < MANY) {
            let replica = &replicas[given % 2];
            let before = reloads(&replica.running.metrics());
            replica.give(ctx, authority);
            eventually("the leaf is taken over", Duration::from_secs(20), || {
                (reloads(&replica.running.metrics()) > before).then_some(())
            });
            given += 1;
        }
        given
    });
    println!("     {given} leaves under {} requests: {} errors", load.requests, load.errors.len());
    assert_eq!(load.errors, [""; 0]);
    assert_eq!(ctx.conversions().1, 0);
    forget(ctx);
    let (naive, ()) = under_load(ctx, 20, || {
        for replica in &mut replicas {
            replica.running.kill();
            replica.give(ctx, authority);
            thread::sleep(Duration::from_millis(500));
            replica.running = Pointsman::start(&replica.setup);
        }
        set(&replicas);
    });
    println!("     restarted for it under {} requests: {} errors", naive.requests, naive.errors.len());
    assert!(!naive.errors.is_empty(), "the test can fail");
    ctx.keep((balancer, replicas.map(|replica| replica.running)));
}

/// Deletes the objects before the next load.
fn forget(ctx: &TestContext<'_>) {
    ctx.call(hyper::Method::DELETE, &ctx.all(ctx.sample.new), None).ok();
}

/// Unavoidable errors: requests to the dead instance, until the load balancer detects the crash.
fn one_of_two(ctx: &TestContext<'_>) {
    let balancer = behind_balancer(ctx);
    let (mut one, two) = (another(ctx), another(ctx));
    balancer.set(&[one.backend(), two.backend()]);
    ctx.enable(ctx.sample.new);
    let (load, ()) = under_load(ctx, 10, || {
        thread::sleep(Duration::from_secs(1));
        one.kill();
        thread::sleep(Duration::from_secs(1));
    });
    println!("     one of two killed under {} requests: {} errors", load.requests, load.errors.len());
    for error in &load.errors {
        assert!(error.contains("conversion webhook for"), "{error}");
    }
    balancer.set(&[two.backend()]);
    assert_quiet(ctx);
}

/// With one instance, a crash is an outage of the other version until the restart. Requests fail with a reason; stored
/// objects are unchanged.
fn the_only_one(ctx: &TestContext<'_>) {
    ctx.enable(ctx.sample.new);
    let (load, ()) = under_load(ctx, 10, || {
        thread::sleep(Duration::from_millis(500));
        ctx.pointsman.borrow_mut().as_mut().unwrap().kill();
        thread::sleep(Duration::from_millis(500));
        *ctx.pointsman.borrow_mut() = Some(Pointsman::start(&ctx.setup));
    });
    println!("     the only one killed under {} requests: {} errors", load.requests, load.errors.len());
    assert!(!load.errors.is_empty(), "conversion fails while no webhook converts");
    for error in &load.errors {
        assert!(error.contains("conversion webhook for"), "{error}");
    }
    assert_quiet(ctx);
    assert_eq!(ctx.names(ctx.sample.old), ctx.names(ctx.sample.new));
}

/// Checks that no errors remain.
fn assert_quiet(ctx: &TestContext<'_>) {
    forget(ctx);
    let (load, ()) = under_load(ctx, 10, || thread::sleep(Duration::from_secs(1)));
    assert_eq!(load.errors, [""; 0]);
}

fn behind_balancer(ctx: &TestContext<'_>) -> Balancer {
    ctx.stop_pointsman();
    Balancer::start(ctx.setup.port)
}

const ROLLOUTS: usize = 6;
const LEAVES: usize = 6;
