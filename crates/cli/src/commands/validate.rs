//! `pointsman validate`.

use std::collections::HashMap;
use std::process::ExitCode;

use clap::Args;
use pointsman_core::webhook::{Enforcement, Judgement, Webhook};

use super::kinds_dir::kind_of;
use super::output::{self, complain, talk, warn};
use super::requests::OfflineArgs;
use super::schema::{Violation, unknown, violation_of_write};
use super::{
    format::TextFormat,
    input::{EMPTY_LIST, InputObject},
    json_tree::JsonTree,
};

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ValidateArgs {
    /// Validate objects of other versions as if they were handed over to --controller-version.
    #[arg(long, requires = "controller_version")]
    as_flip: bool,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = TextFormat::Text)]
    output: TextFormat,
    #[command(flatten)]
    offline: OfflineArgs,
}

/// Validates objects.
pub(crate) fn run(args: &ValidateArgs) -> anyhow::Result<ExitCode> {
    let enforced = args.offline.admission.settings().enforcement == Enforcement::Enforce;
    let webhook = args.offline.webhook()?;
    let Some(all) = args.offline.request.read(EXAMPLE)? else {
        return Ok(ExitCode::FAILURE);
    };
    if all.is_empty() {
        complain(EMPTY_LIST);
        return Ok(ExitCode::FAILURE);
    }
    let (mut good, mut unjudged, mut values, mut warnings) = (true, false, Vec::new(), Warnings::default());
    for request in all {
        let label = request.object.label();
        let judged = match judge(&webhook, &request.object, request.old.as_ref(), args.as_flip) {
            Ok(judged) => judged,
            Err(message) => {
                good = false;
                complain(&message);
                continue;
            }
        };
        let operation = match (args.as_flip, &request.old) {
            (true, _) => "flip",
            (false, Some(_)) => "update",
            (false, None) => "create",
        };
        judged.judgement.warnings.iter().for_each(|warning| warnings.add(&label, warning));
        if let Some(denial) = &judged.denial {
            good = false;
            complain(&format!("{label}: {denial}"));
        }
        if !enforced {
            for (key, value) in &judged.judgement.audit {
                talk(&format!("{label}: {key}: {value}"));
            }
        }
        let verdict = judged.verdict();
        unjudged |= judged.judgement.unjudged;
        values.push((format!("{label}: {operation} {verdict}\n"), json(&request.object.name(), operation, &judged)));
    }
    warnings.print_all();
    output::data(&args.output.write_all(values))?;
    Ok(match (good, unjudged) {
        (false, _) => ExitCode::FAILURE,
        (true, true) => ExitCode::from(NOT_JUDGED),
        (true, false) => ExitCode::SUCCESS,
    })
}

/// The result for one write.
struct Judged {
    judgement: Judgement,
    /// The violation that the API server rejects itself, without a call of the webhook.
    violation: Option<Violation>,
    denial: Option<String>,
}

impl Judged {
    fn verdict(&self) -> &'static str {
        match (&self.denial, self.judgement.unjudged) {
            (Some(_), _) => "denied",
            (None, true) => "not judged: the object belongs to another controller version",
            (None, false) => "allowed",
        }
    }
}

/// The result of a creation: the verdict, the reason, and the warnings.
pub(crate) fn on_creation(webhook: &Webhook, object: &InputObject) -> Result<Vec<String>, String> {
    let judged = judge(webhook, object, None, false)?;
    let mut entries = vec![judged.verdict().to_owned()];
    entries.extend(judged.denial);
    entries.extend(judged.judgement.warnings.iter().map(|warning| format!("warning: {warning}")));
    Ok(entries)
}

fn judge(webhook: &Webhook, object: &InputObject, old: Option<&InputObject>, as_flip: bool) -> Result<Judged, String> {
    let kind = kind_of(webhook, object)?;
    // The API server compares objects in the version of the write.
    let before = old.and_then(|old| match old.version() == object.version() {
        true => Some(old.text.clone()),
        false => webhook.convert(&old.text, object.version()).ok().map(|converted| converted.text),
    });
    let unknown = unknown(kind, object);
    if let Some(violation) = violation_of_write(kind, object, before.as_deref()) {
        let mut judgement = Judgement::default();
        judgement.warnings = unknown;
        return Ok(Judged { judgement, denial: Some(violation.denial()), violation: Some(violation) });
    }
    let old = old.map(|old| old.text.as_str());
    let judged = if as_flip { webhook.judge_as_flip(&object.text, old) } else { webhook.judge(&object.text, old) };
    let (mut judgement, denial) = judged.map_err(|error| format!("{}: {error}", object.label()))?;
    judgement.warnings.splice(..0, unknown);
    Ok(Judged { judgement, violation: None, denial })
}

/// Warnings without duplicates.
#[derive(Default)]
struct Warnings {
    /// The text, the first object, and the number of other objects.
    entries: Vec<(String, String, usize)>,
    places: HashMap<String, usize>,
}

impl Warnings {
    fn add(&mut self, label: &str, warning: &str) {
        let place = self.places.get(warning).and_then(|place| self.entries.get_mut(*place));
        match place {
            Some((_, _, others)) => *others += 1,
            None => {
                self.places.insert(warning.to_owned(), self.entries.len());
                self.entries.push((warning.to_owned(), label.to_owned(), 0));
            }
        }
    }

    fn print_all(&self) {
        for (warning, label, others) in &self.entries {
            match others {
                0 => warn(&format!("{label}: {warning}")),
                others => warn(&format!("{label}, and {others} more: {warning}")),
            }
        }
    }
}

fn json(name: &str, operation: &str, judged: &Judged) -> JsonTree {
    let Judged { judgement, violation, denial } = judged;
    let by_schema = violation.iter().map(|violation| {
        JsonTree::object([
            ("field", JsonTree::string(&violation.field)),
            ("reason", JsonTree::string("FieldValueInvalid")),
            ("message", JsonTree::string(&violation.message)),
        ])
    });
    let causes = judgement.errors.iter().map(|error| {
        JsonTree::object([
            ("field", JsonTree::string(&error.path)),
            ("reason", JsonTree::string(error.reason.cause())),
            ("message", JsonTree::string(error.body())),
        ])
    });
    let mut members = vec![
        ("object", JsonTree::string(name)),
        ("operation", JsonTree::string(operation)),
        ("allowed", JsonTree::Bool(denial.is_none())),
        ("judged", JsonTree::Bool(!judgement.unjudged)),
        ("warnings", JsonTree::Array(judgement.warnings.iter().map(JsonTree::string).collect())),
    ];
    if let Some(denial) = denial {
        members.push(("message", JsonTree::string(denial)));
        members.push(("causes", JsonTree::Array(by_schema.chain(causes).collect())));
    }
    let members = members.into_iter().map(|(key, value)| (key.to_owned(), value));
    JsonTree::Object(members.collect())
}

/// The exit code if no object is denied and some objects were not judged.
const NOT_JUDGED: u8 = 3;

const EXAMPLE: &str = "pointsman validate -f manifests/examples/v1alpha2.yaml";

const EXAMPLES: &str = "\
Examples:
  Validate a new object with the rules of every controller version:
    pointsman validate -f manifests/examples/v1alpha2.yaml

  Validate an update with the rules of one controller version:
    pointsman validate -f manifests/examples/v1alpha1.yaml \\
      --old manifests/examples/v1alpha1.yaml \\
      --controller-version 2.17.0 --default-version

  Try a stricter version, and only report its denials:
    pointsman validate -f manifests/examples/v1alpha2.yaml \\
      --controller-version 2.18.0 --default-version --enforcement audit

  Validate objects of another version, as if they moved to this version:
    pointsman validate -f manifests/examples/v1alpha2.yaml \\
      --controller-version 2.18.0 --served-versions 2.17.0,2.18.0 --as-flip

Exit codes:
  0  all writes are allowed
  1  a write is denied, or could not be read
  2  the flags are wrong
  3  no write is denied, but one belongs to another controller version";
