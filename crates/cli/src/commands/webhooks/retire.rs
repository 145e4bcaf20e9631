//! `pointsman webhooks retire`.

use std::process::ExitCode;

use clap::Args;
use pointsman_core::definition::Kind;
use pointsman_core::registration::{RetireStep, retire};
use pointsman_core::webhook::ControllerVersion;
use serde_json::Value;

use super::comments::commented;
use super::printed::{PrintedArgs, once_each, print};
use crate::commands::ca_file::AuthorityRemarks;
use crate::commands::crd::find;
use crate::commands::input::{Document, FileArgs, documents};
use crate::commands::output::{complain, data, talk};
use crate::commands::{format::Format, json_tree::JsonTree, usage::Usage};

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct RetireArgs {
    /// Controller version that goes.
    #[arg(value_name = "X.Y.Z")]
    going: ControllerVersion,
    #[command(flatten)]
    files: FileArgs,
    /// Kind whose controller it is, by its name, kind or plural.
    #[arg(long, value_name = "NAME")]
    kind: String,
    /// Controller versions that stay.
    #[arg(long, value_name = "X.Y.Z,…", value_delimiter = ',', required = true)]
    served: Vec<ControllerVersion>,
    /// Controller version that takes objects without a label from here on, if that is the one that goes.
    #[arg(long, value_name = "X.Y.Z")]
    default: Option<ControllerVersion>,
    /// Print this step alone: for kubectl apply -f -, or, where it is the last, for
    /// kubectl delete --ignore-not-found -f -.
    #[arg(long, value_name = "N")]
    step: Option<usize>,
    #[command(flatten)]
    printed: PrintedArgs,
}

/// Prints the steps, unless there are objects that still need the version.
pub(super) fn run(args: &RetireArgs, remarks: AuthorityRemarks) -> anyhow::Result<ExitCode> {
    let (gone, served) = (&args.going, &once_each(&args.served));
    if served.contains(gone) {
        return Err(Usage(format!("--served names {}, which is to go: name those that stay", gone.as_str())).into());
    }
    if let Some(default) = args.default.as_ref().filter(|default| !served.contains(default)) {
        return Err(Usage(format!("--default {}: it is not among --served, which stay", default.as_str())).into());
    }
    let all = args.printed.kinds.load()?;
    let kind = &find(&all, &args.kind)?.kind;
    // The version that goes has a server until the last step.
    let client = args.printed.server.client(served.len() + 1, remarks)?;
    let Some(seen) = still_labelled(args, kind)? else {
        return Ok(ExitCode::FAILURE);
    };
    let steps = retire(kind, gone, served, args.default.as_ref(), args.printed.guard.mode(), &client);
    match args.step {
        None => {
            talk(&format!("none of {seen} objects is labelled {}", gone.as_str()));
            whole(&steps, args.printed.output)
        }
        Some(number) => {
            let Some(step) = number.checked_sub(1).and_then(|index| steps.get(index)) else {
                return Err(Usage(format!("--step {number}: there are steps 1 to {}", steps.len())).into());
            };
            print(parts(step).2, args.printed.output)
        }
    }
}

/// How many objects of the kind were read; nothing where one still carries the label, or one cannot be read.
fn still_labelled(args: &RetireArgs, kind: &Kind) -> anyhow::Result<Option<usize>> {
    let (mut good, mut all, mut seen, mut labelled) = (true, 0, 0, 0);
    for source in args.files.read(EXAMPLE)? {
        let documents = match documents(&source) {
            Ok(documents) => documents,
            Err(messages) => {
                good = false;
                messages.iter().for_each(|message| complain(message));
                continue;
            }
        };
        if documents.is_empty() {
            good = false;
            complain(&source.no_object());
        }
        for object in documents.into_iter().flat_map(Document::into_objects) {
            all += 1;
            if object.kind != kind.kind() || object.group() != kind.group() {
                continue;
            }
            seen += 1;
            let json = JsonTree::from_json(&object.text)?;
            let labels = json.get("metadata").and_then(|metadata| metadata.get("labels"));
            let label = labels.and_then(|labels| labels.get(kind.version_label())).and_then(JsonTree::as_str);
            if label == Some(args.going.as_str()) {
                labelled += 1;
                complain(&format!("{}: {} is still {}", object.label(), kind.version_label(), args.going.as_str()));
            }
        }
    }
    if labelled > 0 {
        talk(&format!("{labelled} of {seen} objects are labelled {}; nothing was written", args.going.as_str()));
    }
    // An empty list says that there are none; a list of something else says nothing.
    if seen == 0 && all > 0 {
        good = false;
        let (kind, plural) = (kind.kind(), format!("{}.{}", kind.plural(), kind.group()));
        complain(&format!(
            "none of {all} objects is a {kind}, so none of them says who has the label: kubectl get {plural} -A -o yaml"
        ));
    }
    Ok((good && labelled == 0).then_some(seen))
}

/// What is done with a step, why, and with which documents.
fn parts(step: &RetireStep) -> (&'static str, &str, &[Value]) {
    match step {
        RetireStep::Apply { why, documents } => ("apply", why, documents),
        RetireStep::Delete { why, documents } => ("delete", why, documents),
        _ => ("apply", "", &[]),
    }
}

fn whole(steps: &[RetireStep], format: Format) -> anyhow::Result<ExitCode> {
    let mut texts = Vec::new();
    let mut values = Vec::new();
    for (number, step) in (1..).zip(steps) {
        let (verb, why, documents) = parts(step);
        let documents = documents.iter().map(|document| JsonTree::from_json(&document.to_string()));
        let documents: Vec<JsonTree> = documents.collect::<anyhow::Result<_>>()?;
        let head = format!("# Step {number} of {}: kubectl {verb}. From there on {why}.\n", steps.len());
        texts.push(format!("{head}{}", commented(&documents)));
        values.push(JsonTree::object([
            ("step", JsonTree::Number(number.to_string())),
            ("kubectl", JsonTree::string(verb)),
            ("why", JsonTree::string(why)),
            ("documents", JsonTree::Array(documents)),
        ]));
    }
    data(&match format {
        Format::Yaml => texts.join("---\n"),
        Format::Json => format.write(&JsonTree::object([("steps", JsonTree::Array(values))])),
    })?;
    Ok(ExitCode::SUCCESS)
}

const EXAMPLE: &str = "kubectl get materializes -A -o yaml | pointsman webhooks retire 2.16.0 …";

const EXAMPLES: &str = "\
Examples:
  The old one of two versions goes, and new objects are the other one's:
    kubectl get materializes -A -o yaml |
      pointsman webhooks retire 2.16.0 --kind materialize \\
        --served 2.17.0 --default 2.17.0 \\
        --service 'pointsman-system/pointsman-{version}:443' \\
        --cert-manager pointsman-system/pointsman

Exit codes:
  0 printed, 1 objects still have the label or a file could not be read,
  2 the flags are wrong.";
