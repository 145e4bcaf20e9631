//! Metrics in the Prometheus text format.
//!
//! Source: <https://prometheus.io/docs/instrumenting/exposition_formats/>.

use std::fmt::Write;

/// The labels of a sample by name, and its value.
pub(crate) type MetricSample<'s> = (Vec<(&'static str, &'s str)>, u64);

/// Writes a gauge.
pub(crate) fn gauge(text: &mut String, name: &str, help: &str, samples: Vec<MetricSample<'_>>) {
    // Writing to a string cannot fail.
    _ = write!(text, "# HELP pointsman_{name} {help}\n# TYPE pointsman_{name} gauge\n");
    for (labels, value) in samples {
        let labels: Vec<String> = labels.iter().map(|(key, text)| format!("{key}=\"{}\"", escaped(text))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        _ = writeln!(text, "pointsman_{name}{labels} {value}");
    }
}

/// Escapes a label value.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
