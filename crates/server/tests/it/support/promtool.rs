//! promtool, if available: Prometheus evaluates metrics and rules.

use std::fmt::Write;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// Metrics of a server at one time.
#[derive(Clone)]
pub(crate) struct Page {
    pub(crate) text: String,
    /// In seconds since the epoch.
    pub(crate) at: f64,
}

/// The effect of one fault on the metrics, and the alert that must fire.
#[derive(Clone)]
pub(crate) struct Fault {
    pub(crate) alert: &'static str,
    pub(crate) before: Page,
    pub(crate) after: Page,
}

/// A promtool to run: from `PROMTOOL`, from tests/cluster/assets.sh if built, or from the path.
pub(crate) struct Promtool(PathBuf);

impl Promtool {
    /// Returns `None` and prints a line if no promtool is found. With `CI` set there must be one.
    pub(crate) fn find() -> Option<Self> {
        let named = std::env::var_os("PROMTOOL").map(PathBuf::from);
        let found = named.or_else(built).or_else(on_the_path).map(Self);
        if found.is_none() {
            const NONE: &str = "no promtool: tests/cluster/assets.sh promtool builds one";
            assert!(std::env::var_os("CI").is_none(), "{NONE}");
            // Bypasses the harness, which hides the output of a passing test.
            let _ = writeln!(io::stderr(), "{NONE}; the rules are held against the metrics only");
        }
        found
    }

    /// Checks that no alert fires in the twenty minutes of metrics before a fault, and that the fault's alert fires in
    /// the forty minutes after. Counters continue at their earlier rate.
    pub(crate) fn check(&self, rules: &Path, faults: &[Fault]) {
        let dir = tempfile::tempdir().unwrap();
        let tests: Vec<Value> = faults.iter().map(test).collect();
        let file = json!({"rule_files": [rules], "evaluation_interval": "1m", "tests": tests});
        let path = dir.path().join("test.yaml");
        fs::write(&path, file.to_string()).unwrap();
        let output = Command::new(&self.0).args(["test", "rules"]).arg(&path).stdin(Stdio::null()).output().unwrap();
        let said = [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap()).concat();
        assert!(output.status.success(), "{said}");
        assert!(said.contains("SUCCESS"), "{said}");
    }
}

fn test(fault: &Fault) -> Value {
    let Fault { alert, before, after } = fault;
    let (was, is) = (samples(&before.text), samples(&after.text));
    let mut series = Vec::new();
    for sample in was.iter().chain(is.iter().filter(|sample| sample.of(&was).is_none())) {
        let Sample { name, labels, .. } = sample;
        let values = values(sample.of(&was), sample.of(&is), before, after);
        series.push(json!({"series": format!("{name}{{{labels}instance=\"pointsman\"}}"), "values": values}));
    }
    let firing = |expression: String, minute: u32, value: u32| {
        json!({
            "expr": format!("{expression} or vector(0)"),
            "eval_time": format!("{minute}m"),
            "exp_samples": [{"labels": "{}", "value": value}],
        })
    };
    let none = |minute| firing("count(ALERTS{alertstate=\"firing\"})".to_owned(), minute, 0);
    let own = format!("count(ALERTS{{alertname=\"{alert}\",alertstate=\"firing\"}}) > bool 0");
    json!({
        "name": alert,
        "interval": "1m",
        "start_timestamp": before.at.floor(),
        "input_series": series,
        "promql_expr_test": (0..=BEFORE).map(none).chain([firing(own, BEFORE + AFTER, 1)]).collect::<Vec<_>>(),
    })
}

/// A series over time, in promtool's notation: `0x19 1+2x39` is twenty times 0, then 1, 3 and so on, forty times.
fn values(was: Option<&Sample>, is: Option<&Sample>, before: &Page, after: &Page) -> String {
    let mut values = String::new();
    match was {
        Some(was) if was.follows_time(before, HEALTHY) => write!(values, "{}+60x{BEFORE}", was.value),
        Some(was) => write!(values, "{}x{BEFORE}", was.value),
        None => write!(values, "_x{}", BEFORE + 1),
    }
    .unwrap();
    let last = AFTER - 1;
    let begun = was.map_or(0.0, |was| was.value);
    match is {
        None => write!(values, " stale"),
        Some(is) if is.counts => {
            let more = is.value - begun;
            write!(values, " {}+{more}x{last}", begun + more)
        }
        Some(is) if is.follows_time(after, HANGING) => {
            write!(values, " {}+60x{last}", before.at.floor() + f64::from(BEFORE + 1) * 60.0)
        }
        // The timestamp was updated until this time.
        Some(is) if is.is_a_look() => write!(values, " {}x{last}", before.at.floor() + f64::from(BEFORE) * 60.0),
        Some(is) => write!(values, " {}x{last}", is.value),
    }
    .unwrap();
    values
}

/// One sample of a page.
struct Sample {
    name: String,
    /// Each label is followed by a comma.
    labels: String,
    value: f64,
    counts: bool,
}

impl Sample {
    fn of<'a>(&self, all: &'a [Self]) -> Option<&'a Self> {
        all.iter().find(|other| other.name == self.name && other.labels == self.labels)
    }

    fn is_a_look(&self) -> bool {
        self.name.ends_with("_last_look_timestamp_seconds") && self.value > 0.0
    }

    /// True if the sample is the time of a repeated action, and the last one was less than this many seconds ago.
    fn follows_time(&self, page: &Page, seconds: f64) -> bool {
        self.is_a_look() && page.at - self.value < seconds
    }
}

fn samples(page: &str) -> Vec<Sample> {
    let mut counts = false;
    let mut samples = Vec::new();
    for line in page.lines() {
        if let Some(family) = line.strip_prefix("# TYPE ") {
            counts = !family.ends_with(" gauge");
        }
        if let Some((series, value)) = line.rsplit_once(' ').filter(|_| !line.starts_with('#')) {
            let (name, labels) = series.split_once('{').unwrap_or((series, ""));
            let labels = labels.strip_suffix('}').map(|labels| format!("{labels},")).unwrap_or_default();
            samples.push(Sample { name: name.to_owned(), labels, value: value.parse().unwrap(), counts });
        }
    }
    assert!(samples.len() > 50, "{page}");
    samples
}

fn built() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut assets = Command::new("bash");
    assets.args(["tests/cluster/assets.sh", "--built", "promtool"]).current_dir(root).stderr(Stdio::null());
    let output = assets.output().ok().filter(|output| output.status.success())?;
    Some(Path::new(String::from_utf8(output.stdout).unwrap().trim()).join("promtool"))
}

fn on_the_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("promtool")).find(|promtool| promtool.is_file())
}

/// Minutes of health, and of the fault: the longest `for` and the longest window are an hour at most.
const BEFORE: u32 = 19;
const AFTER: u32 = 40;

/// Maximum age in seconds of a reload timestamp while healthy: three of the production intervals, which a server in a
/// separate process uses. A busy machine may delay one reload, which is no fault.
const HEALTHY: f64 = 30.0;

/// Maximum age in seconds during a fault; the test waits longer for a hanging reload. A late reload counts as a hanging
/// one, but other alerts are not checked by then.
const HANGING: f64 = 3.0;
