//! promtool, where there is one: what Prometheus makes of metrics and rules.

use std::fmt::Write;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// Metrics of a server at a moment.
#[derive(Clone)]
pub(crate) struct Page {
    pub(crate) text: String,
    /// In seconds since the epoch.
    pub(crate) at: f64,
}

/// What one fault does to the metrics, and who has to be woken.
#[derive(Clone)]
pub(crate) struct Fault {
    pub(crate) alert: &'static str,
    pub(crate) before: Page,
    pub(crate) after: Page,
}

/// A promtool to run: that of `PROMTOOL`, that of tests/cluster/assets.sh where it was built, or the one of the path.
pub(crate) struct Promtool(PathBuf);

impl Promtool {
    /// None, and a line that says so, where there is none. With `CI` set there must be one.
    pub(crate) fn find() -> Option<Self> {
        let named = std::env::var_os("PROMTOOL").map(PathBuf::from);
        let found = named.or_else(built).or_else(on_the_path).map(Self);
        if found.is_none() {
            const NONE: &str = "no promtool: tests/cluster/assets.sh promtool builds one";
            assert!(std::env::var_os("CI").is_none(), "{NONE}");
            // Past the harness, which hides what is printed by a test that passes.
            let _ = writeln!(io::stderr(), "{NONE}; the rules are held against the metrics only");
        }
        found
    }

    /// Checks that no alert fires in twenty minutes of the metrics before a fault, and that its own does in the forty
    /// after it. What counts goes on counting as it did once.
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
        // It was looked at until then.
        Some(is) if is.is_a_look() => write!(values, " {}x{last}", before.at.floor() + f64::from(BEFORE) * 60.0),
        Some(is) => write!(values, " {}x{last}", is.value),
    }
    .unwrap();
    values
}

/// One sample of a page.
struct Sample {
    name: String,
    /// Each with a comma behind it.
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

    /// Whether it says when something was done, and that is done again and again: the last time, less than so many
    /// seconds ago.
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

/// A look is at most so many seconds old while all is well: three of the intervals of production, which a server in a
/// process of its own has. A machine that is busy may be late with one, and that is no fault.
const HEALTHY: f64 = 30.0;

/// The same during a fault, for which a look that hangs is waited for longer. One that is late is taken for one that
/// hangs, but what other alerts say by then is not asked.
const HANGING: f64 = 3.0;
