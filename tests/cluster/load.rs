//! Continuous writers and the errors that they observe.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::support::ctx::TestContext;

/// The number of requests that proves an unnoticed change, if `POINTSMAN_THOROUGH` is set.
pub(crate) const MANY: usize = 20_000;

/// The results of the users' requests.
pub(crate) struct Load {
    pub(crate) requests: usize,
    pub(crate) errors: Vec<String>,
}

/// Keeps `writers` busy at both versions while `work` runs.
pub(crate) fn under_load<T>(ctx: &TestContext<'_>, writers: usize, work: impl FnOnce() -> T) -> (Load, T) {
    under_counted_load(ctx, writers, |_| work())
}

/// The same; `work` receives the number of started requests.
pub(crate) fn under_counted_load<T>(
    ctx: &TestContext<'_>,
    writers: usize,
    work: impl FnOnce(&AtomicUsize) -> T,
) -> (Load, T) {
    let (done, requests) = (AtomicBool::new(false), AtomicUsize::new(0));
    let errors = Mutex::new(Vec::new());
    let (client, versions) = (&ctx.test_cluster.api.client, [ctx.sample.old, ctx.sample.new]);
    let result = thread::scope(|scope| {
        for writer in 0..writers {
            let name = format!("w{writer}");
            let object = ctx.object(versions[writer % 2], &name);
            ctx.create(versions[writer % 2], &object).ok();
            let paths = versions.map(|version| ctx.one(version, &name));
            let (done, requests, errors) = (&done, &requests, &errors);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let round = requests.fetch_add(1, Ordering::Relaxed);
                    let path = &paths[round % 2];
                    // A change at one version, read at the other.
                    let patch = json!({"metadata": {"labels": {"round": round.to_string()}}}).to_string();
                    let patch = Some((crate::support::ctx::MERGE, patch));
                    let answer = match round % 3 {
                        0 => client.call(hyper::Method::GET, path, None),
                        _ => client.call(hyper::Method::PATCH, path, patch),
                    };
                    if !answer.is_ok() {
                        errors.lock().unwrap().push(answer.message());
                    }
                    thread::sleep(Duration::from_millis(5));
                }
            });
        }
        // The writers must stop even after a panic.
        let stop = Stop(&done);
        let result = work(&requests);
        drop(stop);
        result
    });
    let load = Load { requests: requests.into_inner(), errors: errors.into_inner().unwrap() };
    (load, result)
}

struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
