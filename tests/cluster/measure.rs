//! Counts the webhook calls of each user action, and prints the table of docs/api-calls.md.
//!
//! ```sh
//! POINTSMAN_MEASURE=1 cargo test -q --test real_cluster > docs/api-calls.md
//! ```

use std::thread;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::json;

use crate::actions::ROWS;
use crate::scenario::PLANS;
use crate::support::assets::Assets;
use crate::support::ctx::{JSON, TestContext};
use crate::support::sample::WIDGET;
use crate::support::test_cluster::TestCluster;

/// Prints the page. Returns false if the required programs are missing.
pub(crate) fn main() -> bool {
    let mut columns = Vec::new();
    for plan in [&PLANS[0], &PLANS[3]] {
        let assets = match Assets::find(plan.version) {
            Ok(assets) => assets,
            Err(why) => {
                eprintln!("nothing to measure with: {why}");
                return false;
            }
        };
        let mut test_cluster = TestCluster::start(plan, "measure", assets);
        columns.push((plan.version, actions(&test_cluster), cold(&test_cluster)));
        test_cluster.stop();
    }
    print_page(&columns);
    true
}

/// The calls of every row, at the storage version and at the other version.
fn actions(test_cluster: &TestCluster) -> Vec<[u64; 2]> {
    let ctx = TestContext::new(test_cluster, &WIDGET, "measured", None, test_cluster.logs.join("measured.log"));
    let (stored, other) = (WIDGET.new, WIDGET.old);
    ctx.enable(stored);
    // Both caches are warm from here on.
    for version in [stored, other] {
        ctx.list(version).ok();
        let name = format!("it-{version}");
        ctx.create(version, &ctx.object(version, &name)).ok();
        // An object with field managers of both versions.
        let name = format!("{name}-mixed");
        ctx.create(version, &ctx.object(version, &name)).ok();
        for writer in [stored, other] {
            let mine = format!("from-{writer}");
            let patch = json!({"metadata": {"labels": {mine: "yes"}}});
            ctx.patch(writer, &name, &patch).ok();
        }
    }
    ROWS.iter()
        .map(|row| {
            [stored, other].map(|version| {
                let name = format!("it-{version}");
                // An UPDATE begins with a GET, which is excluded from the measurement.
                let before = settled(&ctx);
                let gets = if row.action.starts_with("UPDATE") && version == other { 1 } else { 0 };
                (row.act)(&ctx, version, &name);
                settled(&ctx) - before - gets
            })
        })
        .collect()
}

/// The number of calls so far, once the caches are current.
fn settled(ctx: &TestContext<'_>) -> u64 {
    let mut last = ours(ctx);
    loop {
        thread::sleep(Duration::from_millis(150));
        let now = ours(ctx);
        if now == last {
            return now;
        }
        last = now;
    }
}

/// Conversions in the metrics of pointsman: the API server also counts conversions without a webhook call.
fn ours(ctx: &TestContext<'_>) -> u64 {
    let page = ctx.pointsman.borrow().as_ref().unwrap().metrics();
    let objects = |line: &&str| !line.starts_with('#') && line.contains("conversions_total");
    let value = |line: &str| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() as u64;
    page.lines().filter(objects).map(value).sum()
}

struct Cold {
    objects: usize,
    calls: u64,
    took: Duration,
}

/// The first LIST at the other version with an empty cache.
fn cold(test_cluster: &TestCluster) -> Cold {
    let ctx = TestContext::new(test_cluster, &WIDGET, "cold", None, test_cluster.logs.join("cold.log"));
    ctx.enable(WIDGET.new);
    thread::scope(|scope| {
        for writer in 0..8 {
            let (client, path) = (&test_cluster.api.client, ctx.all(WIDGET.new));
            let objects: Vec<String> = (0..OBJECTS / 8)
                .map(|number| ctx.object(WIDGET.new, &format!("w{writer}-{number}")).to_string())
                .collect();
            scope.spawn(move || {
                for object in objects {
                    client.call(Method::POST, &path, Some((JSON, object))).ok();
                }
            });
        }
    });
    // Any change of the CRD's spec clears the caches.
    ctx.change_crd(|crd| crd["spec"]["names"]["shortNames"] = json!(["w"]));
    thread::sleep(Duration::from_secs(2));
    let (before, began) = (ours(&ctx), Instant::now());
    crate::support::process::eventually("the cold list", Duration::from_secs(300), || {
        let path = format!("{}?resourceVersion=0", ctx.all(WIDGET.old));
        let answer = ctx.call(Method::GET, &path, None);
        (answer.is_ok() && answer.body["items"].as_array().unwrap().len() == OBJECTS).then_some(())
    });
    Cold { objects: OBJECTS, calls: ours(&ctx) - before, took: began.elapsed() }
}

fn print_page(columns: &[(&str, Vec<[u64; 2]>, Cold)]) {
    println!("{HEAD}");
    print!("| request | expected, stored version |");
    columns.iter().for_each(|(version, ..)| print!(" {version} |"));
    print!(" expected, other version |");
    columns.iter().for_each(|(version, ..)| print!(" {version} |"));
    println!("\n|---|{}", "---|".repeat(2 + 2 * columns.len()));
    for (at, row) in ROWS.iter().enumerate() {
        print!("| {} | {} |", row.action, row.stored);
        columns.iter().for_each(|(_, counts, _)| print!(" {} |", counts[at][0]));
        print!(" {} |", row.other);
        columns.iter().for_each(|(_, counts, _)| print!(" {} |", counts[at][1]));
        println!();
    }
    println!("\n{COLD}");
    println!("| API server | objects | calls | time until the list is complete | per object |\n|---|---|---|---|---|");
    for (version, _, cold) in columns {
        let each = cold.took.as_secs_f64() * 1000.0 / cold.objects as f64;
        println!("| {version} | {} | {} | {:.1} s | {each:.2} ms |", cold.objects, cold.calls, cold.took.as_secs_f64());
    }
    println!("\n{TAIL}");
}

const OBJECTS: usize = 10_000;

const HEAD: &str = "\
# Conversion calls for each request

A test counts the conversions of a `Widget` (versions v1 and v2, v2 stored) on real API servers, and prints this page:

<!-- not run: it takes minutes, and writes this page -->

```sh
POINTSMAN_MEASURE=1 cargo test -q --test real_cluster > docs/api-calls.md
```

Every call carries one object. \"Expected\" is derived from the source of the API server, if you serve both versions and the cache of the
other version is warm. Every write is then converted once more for this cache.
";

const COLD: &str = "\
## A cold cache

The API server converts every stored object for each other version when it starts, and after each change of the CRD's spec (also of
`caBundle`). Meanwhile, lists and watches of these versions wait or get 429. In this measurement, a debug build of pointsman shares two
cores with the API server.
";

const TAIL: &str = "\
## Recommendations

- Read the storage version: your reads then need no conversion. A write in another version needs several, even without a change, because
  the API server reads the object from etcd and retries the write.
- Write with one version. If managers of two versions have written an object, each of their entries in `managedFields` is converted too.
  Server-side apply also converts parts of the object to find the owners.
- Use an authority with a long lifetime. A renewed certificate needs no calls. A renewed authority needs one call for each object and
  version.
- A DELETE in the other version needs one call more than expected.";
