//! The memory of `serve` under load, against the formula in docs/reference.md.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::left_out::left_out;
use crate::memory_group::MemoryGroup;
use crate::serve::Dev;

/// The largest result of the formula for 128 MiB: `(32 + 0.09375 × 341 + 48) × 8 / 7`.
const LIMIT_MIB: u64 = 128;
/// Additional memory for spans: `10 × 8 / 7`.
const SPANS_MIB: u64 = 12;
const FLAGS: [&str; 4] = ["--memory-budget", "48Mi", "--max-connections", "341"];

/// A review with a number of objects, each with a number of labels.
fn review(objects: usize, labels: usize) -> String {
    let example = fs::read_to_string("manifests/examples/review.json").unwrap();
    let mut review: Value = serde_json::from_str(&example).unwrap();
    let mut object = review["request"]["objects"][0].clone();
    let labels = (0..labels).map(|number| (format!("label-{number}"), json!("x"))).collect();
    object["spec"]["podLabels"] = Value::Object(labels);
    review["request"]["objects"] = Value::Array(vec![object; objects]);
    review.to_string()
}

/// Hostile reviews: small values, and texts that every message would repeat.
fn hostile() -> [(&'static str, String); 3] {
    let review = |objects: &str, desired: &str| {
        format!(
            "{{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"ConversionReview\",\"request\":{{\"uid\":\"u\",\
             \"desiredAPIVersion\":\"{desired}\",\"objects\":[{objects}]}}}}"
        )
    };
    let object = r#"{"apiVersion":"materialize.cloud/v1alpha1","kind":"Materialize"}"#;
    [
        ("empty.json", review(&vec!["{}"; 200_000].join(","), "materialize.cloud/v1alpha2")),
        ("zeros.json", review(&vec!["0"; 300_000].join(","), "materialize.cloud/v1alpha2")),
        ("version.json", review(&vec![object; 3_000].join(","), &"\\u0000".repeat(500_000))),
    ]
}

/// Peak resident memory in MiB.
fn peak(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

#[test]
fn memory_stays_within_the_formula() {
    let dir = TempDir::new().unwrap();
    stays_within(LIMIT_MIB, Dev::start(dir.path(), &FLAGS), dir.path());
}

/// A full queue of the longest possible spans, with a collector that hangs.
#[test]
fn memory_formula_includes_spans() {
    let dir = TempDir::new().unwrap();
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", collector.local_addr().unwrap());
    let dev = Dev::start(dir.path(), &[&FLAGS[..], &["--otlp-endpoint", &endpoint]].concat());
    let object = json!({"apiVersion": "materialize.cloud/v9", "kind": "x".repeat(4096), "metadata": {"name": "n"}});
    let review = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {"uid": "\u{1}".repeat(256), "desiredAPIVersion": "materialize.cloud/v1alpha2", "objects": [object]},
    });
    fs::write(dir.path().join("long.json"), review.to_string()).unwrap();
    let state: Vec<_> = (0..32).map(|member| format!("m{member:02}={}", "v".repeat(11))).collect();
    let script = "curl -s --max-time 60 --cacert certs/dev/ca.crt -o /dev/null -w '%{http_code}\n' -H \"tracestate: $1\" \
                  -H 'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' \
                  -H 'Content-Type: application/json' --data-binary @long.json \"$0?[1-1500]\" | sort | uniq -c";
    let mut caller = Command::new("sh");
    caller.current_dir(dir.path()).args(["-c", script, &dev.url("/convert"), &state.join(",")]);
    let answered = String::from_utf8(caller.output().unwrap().stdout).unwrap();
    assert_eq!(answered.trim(), "1500 200");
    stays_within(LIMIT_MIB + SPANS_MIB, dev, dir.path());
}

/// More concurrent requests than the budget holds: bodies near the limit, together with the single objects of API
/// servers.
fn stays_within(limit: u64, dev: Dev, dir: &Path) {
    let cgroup = MemoryGroup::around(dev.id(), limit);
    if cgroup.is_none() {
        left_out("no cgroup can be created here: only resident memory is compared with the limit");
    }
    let url = dev.url("/convert");
    for (name, body) in
        [("list.json", review(3400, 0)), ("labels.json", review(2, 100_000)), ("object.json", review(1, 1000))]
            .into_iter()
            .chain(hostile())
    {
        assert!(body.len() < 6 << 20, "{name}: {}", body.len());
        fs::write(dir.join(name), body).unwrap();
    }
    let callers: Vec<_> = ["list.json", "labels.json", "object.json", "empty.json", "zeros.json", "version.json"]
        .into_iter()
        .flat_map(|name| [name; 3])
        .map(|name| {
            let script = format!(
                "for i in 1 2 3; do curl -s --max-time 60 --cacert certs/dev/ca.crt -o /dev/null -w '%{{http_code}} %{{errormsg}}\n' \
                 -H 'Content-Type: application/json' --data-binary @{name} {url}; done"
            );
            let mut caller = Command::new("sh");
            caller.current_dir(dir).args(["-c", &script]).stdout(Stdio::piped());
            (name, caller.spawn().unwrap())
        })
        .map(|(name, child)| thread::spawn(move || (name, child.wait_with_output().unwrap())))
        .collect();
    let mut converted = 0;
    for caller in callers {
        let (name, output) = caller.join().unwrap();
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let (code, error) = line.split_once(' ').unwrap();
            // A few objects with 100,000 labels each exceed the budget.
            assert!(
                matches!(code, "200" | "503") || (name == "labels.json" && code == "413"),
                "{name}: {code} {error}"
            );
            // Single objects always have a share.
            assert!(name != "object.json" || code == "200", "{name}: {code} {error}");
            converted += usize::from(code == "200");
        }
    }
    assert!(converted > 12, "{converted}");
    let peak = peak(dev.id());
    println!("{peak} of {limit} MiB");
    assert!(peak <= limit, "{peak} MiB");
    assert_eq!(cgroup.as_ref().map_or(0, MemoryGroup::kills), 0);
    assert_eq!(dev.terminate().0, Some(0));
}
