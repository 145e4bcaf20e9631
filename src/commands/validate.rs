//! `pointsman validate`.

use std::process::ExitCode;

use clap::Args;
use pointsman_core::webhook::{Enforcement, Judgement};

use super::kinds_dir::KindsArgs;
use super::node::Node;
use super::output::{self, complain, talk};
use super::written::WrittenArgs;
use crate::cli::AdmissionArgs;
use crate::commands::hash::HashFormat as Form;

#[derive(Args, Debug)]
pub(crate) struct ValidateArgs {
    #[command(flatten)]
    written: WrittenArgs,
    #[command(flatten)]
    admission: AdmissionArgs,
    /// Form of the result.
    #[arg(short, long, value_enum, default_value_t = Form::Text)]
    output: Form,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Judges objects.
pub(crate) fn run(args: &ValidateArgs) -> anyhow::Result<ExitCode> {
    let settings = args.admission.settings();
    let enforced = settings.enforcement == Enforcement::Enforce;
    let webhook = args.kinds.webhook()?.admitting(settings);
    let Some(all) = args.written.read(EXAMPLE)? else {
        return Ok(ExitCode::FAILURE);
    };
    let (mut good, mut text, mut nodes) = (true, String::new(), Vec::new());
    for written in all {
        let old = written.old.as_ref().map(|old| old.text.as_str());
        let (judgement, denial) = match webhook.judge(&written.new.text, old) {
            Ok(judged) => judged,
            Err(error) => {
                good = false;
                complain(&format!("{}: {error}", written.new.label()));
                continue;
            }
        };
        good &= denial.is_none();
        let operation = if old.is_some() { "update" } else { "create" };
        for warning in &judgement.warnings {
            talk(&format!("Warning: {warning}"));
        }
        match &denial {
            Some(denial) => {
                text.push_str(&format!("{}: {operation} denied\n", written.new.name()));
                complain(&format!("Error from server (Invalid): {denial}"));
            }
            None => {
                text.push_str(&format!("{}: {operation} allowed\n", written.new.name()));
            }
        }
        if !enforced {
            for (key, value) in &judgement.audit {
                talk(&format!("{key}: {value}"));
            }
        }
        nodes.push(node(&written.new.name(), operation, &judgement, denial.as_deref())?);
    }
    output::data(&match args.output.structured() {
        Some(format) => format.write_all(nodes),
        None => text,
    })?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn node(
    name: &str,
    operation: &str,
    judgement: &Judgement,
    denial: Option<&str>,
) -> anyhow::Result<Node> {
    let causes = judgement.errors.iter().map(|error| {
        Node::map([
            ("field", Node::text(&error.path)),
            ("reason", Node::text(error.reason.cause())),
            ("message", Node::text(error.body())),
        ])
    });
    let mut members = vec![
        ("object", Node::text(name)),
        ("operation", Node::text(operation)),
        ("allowed", Node::from_json(if denial.is_none() { "true" } else { "false" })?),
        ("warnings", Node::List(judgement.warnings.iter().map(Node::text).collect())),
    ];
    if let Some(denial) = denial {
        members.push(("message", Node::text(denial)));
        members.push(("causes", Node::List(causes.collect())));
    }
    let members = members.into_iter().map(|(key, value)| (key.to_owned(), value));
    Ok(Node::Map(members.collect()))
}

const EXAMPLE: &str = "pointsman validate -f manifests/examples/v1alpha2.yaml";

pub(crate) const EXAMPLES: &str = "\
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
  0 all writes are allowed, 1 one is denied or could not be read, 2 the flags are wrong.";
