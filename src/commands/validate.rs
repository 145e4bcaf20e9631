//! `pointsman validate`.

use std::process::ExitCode;

use clap::Args;
use pointsman_core::webhook::{Enforcement, Judgement};

use super::output::{self, complain, talk};
use super::{admission::AdmissionArgs, format::TextFormat, json::Json, kinds_dir::KindsArgs, requests::RequestArgs};
use crate::terminal::escaped;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ValidateArgs {
    #[command(flatten)]
    request: RequestArgs,
    #[command(flatten)]
    admission: AdmissionArgs,
    /// Form of the result.
    #[arg(short, long, value_enum, default_value_t = TextFormat::Text)]
    output: TextFormat,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Judges objects.
pub(crate) fn run(args: &ValidateArgs) -> anyhow::Result<ExitCode> {
    let settings = args.admission.settings();
    let enforced = settings.enforcement == Enforcement::Enforce;
    let webhook = args.kinds.webhook()?.admitting(settings);
    let Some(all) = args.request.read(EXAMPLE)? else {
        return Ok(ExitCode::FAILURE);
    };
    let (mut good, mut unjudged, mut values) = (true, false, Vec::new());
    for request in all {
        let old = request.old.as_ref().map(|old| old.text.as_str());
        let (judgement, denial) = match webhook.judge(&request.object.text, old) {
            Ok(judged) => judged,
            Err(error) => {
                good = false;
                complain(&format!("{}: {error}", request.object.label()));
                continue;
            }
        };
        good &= denial.is_none();
        let operation = if old.is_some() { "update" } else { "create" };
        for warning in &judgement.warnings {
            talk(&format!("Warning: {warning}"));
        }
        if let Some(denial) = &denial {
            complain(&format!("Error from server (Invalid): {denial}"));
        }
        if !enforced {
            for (key, value) in &judgement.audit {
                talk(&format!("{key}: {value}"));
            }
        }
        let name = request.object.name();
        let verdict = match (&denial, judgement.unjudged) {
            (Some(_), _) => "denied",
            (None, true) => "not judged: it is not an object of this controller version",
            (None, false) => "allowed",
        };
        unjudged |= judgement.unjudged;
        let text = format!("{}: {operation} {verdict}\n", escaped(&name));
        values.push((text, json(&name, operation, &judgement, denial.as_deref())));
    }
    output::data(&args.output.write_all(values))?;
    Ok(match (good, unjudged) {
        (false, _) => ExitCode::FAILURE,
        (true, true) => ExitCode::from(NOT_JUDGED),
        (true, false) => ExitCode::SUCCESS,
    })
}

fn json(name: &str, operation: &str, judgement: &Judgement, denial: Option<&str>) -> Json {
    let causes = judgement.errors.iter().map(|error| {
        Json::object([
            ("field", Json::string(&error.path)),
            ("reason", Json::string(error.reason.cause())),
            ("message", Json::string(error.body())),
        ])
    });
    let mut members = vec![
        ("object", Json::string(name)),
        ("operation", Json::string(operation)),
        ("allowed", Json::Bool(denial.is_none())),
        ("judged", Json::Bool(!judgement.unjudged)),
        ("warnings", Json::Array(judgement.warnings.iter().map(Json::string).collect())),
    ];
    if let Some(denial) = denial {
        members.push(("message", Json::string(denial)));
        members.push(("causes", Json::Array(causes.collect())));
    }
    let members = members.into_iter().map(|(key, value)| (key.to_owned(), value));
    Json::Object(members.collect())
}

/// The exit code where nothing is denied and something was not looked at.
const NOT_JUDGED: u8 = 3;

const EXAMPLE: &str = "pointsman validate -f manifests/examples/v1alpha2.yaml";

const EXAMPLES: &str = "\
Examples:
  A creation, by the rules of every controller version:
    pointsman validate -f manifests/examples/v1alpha2.yaml

  An update, by the rules of one controller version:
    pointsman validate -f manifests/examples/v1alpha1.yaml \\
      --old manifests/examples/v1alpha1.yaml --controller-version 2.17.0

  What a stricter version would have said, without saying no:
    pointsman validate -f manifests/examples/v1alpha2.yaml \\
      --controller-version 2.18.0 --enforcement audit

Exit codes:
  0 all writes are allowed, 1 one is denied or could not be read, 2 the flags are wrong,
  3 none is denied, but one was not judged: it is another controller version's.";
