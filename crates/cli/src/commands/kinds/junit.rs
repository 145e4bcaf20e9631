//! Results as JUnit XML for CI systems: `testsuites`, a `testsuite` for each definition, a `testcase` for each result,
//! and a `failure` for each failed one.
//!
//! The output is deterministic: it contains no duration and no date.

use crate::commands::markup::marked_up;

/// The results of a definition.
pub(super) struct Suite {
    /// The kind, or the file if the kind is unknown.
    pub(super) name: String,
    pub(super) cases: Vec<Case>,
}

/// A result.
pub(super) struct Case {
    pub(super) class: String,
    pub(super) name: String,
    pub(super) outcome: CaseOutcome,
}

/// The outcome of a case.
pub(super) enum CaseOutcome {
    Passed,
    /// The law did not apply to any object.
    Skipped(&'static str),
    /// The error in one line, and the details.
    Failed(String, String),
}

/// The document. `command` is the command with these results.
pub(super) fn document(command: &str, suites: &[Suite]) -> String {
    let all = || suites.iter().flat_map(|suite| &suite.cases);
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out.push_str(&format!("<testsuites name=\"{command}\"{}>\n", counts(all())));
    for suite in suites {
        out.push_str(&format!("  <testsuite name=\"{}\"{}>\n", escaped(&suite.name), counts(suite.cases.iter())));
        suite.cases.iter().for_each(|case| out.push_str(&testcase(case)));
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn counts<'c>(cases: impl Iterator<Item = &'c Case>) -> String {
    let (mut tests, mut failures, mut skipped) = (0, 0, 0);
    for case in cases {
        tests += 1;
        failures += u32::from(matches!(case.outcome, CaseOutcome::Failed(..)));
        skipped += u32::from(matches!(case.outcome, CaseOutcome::Skipped(_)));
    }
    format!(" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\"")
}

fn testcase(case: &Case) -> String {
    let head = format!("    <testcase classname=\"{}\" name=\"{}\"", escaped(&case.class), escaped(&case.name));
    match &case.outcome {
        CaseOutcome::Passed => format!("{head}/>\n"),
        CaseOutcome::Skipped(why) => {
            format!("{head}>\n      <skipped message=\"{}\"/>\n    </testcase>\n", escaped(why))
        }
        CaseOutcome::Failed(message, text) => format!(
            "{head}>\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n",
            escaped(message),
            escaped_text(text)
        ),
    }
}

/// Escapes an attribute value.
fn escaped(text: &str) -> String {
    marked_up(text, |c| match c {
        '\n' | '\t' => Some(format!("&#{};", u32::from(c))),
        c => otherwise(c),
    })
}

/// Escapes element text.
fn escaped_text(text: &str) -> String {
    marked_up(text, otherwise)
}

/// Replaces characters that XML 1.0 cannot contain (§2.2) by U+FFFD.
fn otherwise(c: char) -> Option<String> {
    match c {
        '\r' => Some("&#13;".to_owned()),
        '\n' | '\t' => None,
        '\u{fffe}' | '\u{ffff}' | '\0'..' ' => Some('\u{fffd}'.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_xml_characters_are_replaced() {
        assert_eq!(
            escaped("a\u{0}\u{1b}<b a='1'>&\"\n\u{ffff}é😀"),
            "a\u{fffd}\u{fffd}&lt;b a=&#39;1&#39;&gt;&amp;&quot;&#10;\u{fffd}é😀"
        );
        assert_eq!(escaped_text("]]>\r\n"), "]]&gt;&#13;\n");
    }
}
