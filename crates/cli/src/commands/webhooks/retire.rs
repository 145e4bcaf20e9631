//! `pointsman webhooks retire`.

use std::process::ExitCode;

use clap::Args;
use pointsman_core::definition::Kind;
use pointsman_core::registration::{RegisteredDefault, RetireStep, registered_versions, retire};
use pointsman_core::webhook::ControllerVersion;
use serde_json::Value;

use super::comments::{WebhookTask, commented};
use super::documents::{PrintedArgs, once_each, print};
use crate::commands::ca_file::AuthorityRemarks;
use crate::commands::input::{Document, FileArgs, InputObject, documents};
use crate::commands::kind_names::find;
use crate::commands::output::{complain, data, talk};
use crate::commands::{format::Format, json_tree::JsonTree, usage::Usage};

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct RetireArgs {
    /// Controller version to remove.
    #[arg(value_name = "X.Y.Z")]
    removed: ControllerVersion,
    #[command(flatten)]
    files: FileArgs,
    /// Kind of the controller, by name, kind or plural.
    #[arg(long, value_name = "NAME")]
    kind: String,
    /// Controller versions that stay.
    #[arg(long, value_name = "X.Y.Z,…", value_delimiter = ',', required = true)]
    served: Vec<ControllerVersion>,
    /// New default version for objects without a label, if the removed version is the default. Not needed if the files
    /// contain the registered documents, unless several versions stay.
    #[arg(long, value_name = "X.Y.Z")]
    default: Option<ControllerVersion>,
    /// Print only this step, for kubectl apply -f -, or for the last step, kubectl delete --ignore-not-found -f -.
    #[arg(long, value_name = "N")]
    step: Option<usize>,
    #[command(flatten)]
    printed: PrintedArgs,
}

/// Prints the steps, unless objects still need the version.
pub(super) fn run(args: &RetireArgs, remarks: AuthorityRemarks) -> anyhow::Result<ExitCode> {
    let (retired, served) = (&args.removed, &once_each(&args.served));
    if served.contains(retired) {
        return Err(Usage(format!(
            "--served names {}, which you retire: name the remaining versions",
            retired.as_str()
        ))
        .into());
    }
    if let Some(default) = args.default.as_ref().filter(|default| !served.contains(default)) {
        return Err(Usage(format!("--default {}: add this version to --served", default.as_str())).into());
    }
    let all = args.printed.kinds.load()?;
    let kind = &find(&all, &args.kind)?.kind;
    // The removed version has a server until the last step.
    let both = [served.as_slice(), std::slice::from_ref(retired)].concat();
    let client = args.printed.server.client(&both, both.len(), remarks)?;
    let Some(input) = read(args)? else {
        return Ok(ExitCode::FAILURE);
    };
    let Some(seen) = still_labelled(args, kind, &input)? else {
        return Ok(ExitCode::FAILURE);
    };
    let default = default(args, kind, &input.registered)?;
    let steps = retire(kind, retired, served, default.as_ref(), args.printed.guard.mode(), &client);
    match args.step {
        None => {
            talk(&format!("none of {seen} objects has the label {}", retired.as_str()));
            whole(&steps, args.printed.output)
        }
        Some(number) => {
            let Some(step) = number.checked_sub(1).and_then(|index| steps.get(index)) else {
                return Err(Usage(format!("--step {number}: valid steps are 1 to {}", steps.len())).into());
            };
            print(parts(step).2, args.printed.output)
        }
    }
}

/// The content of the files.
struct Input {
    /// Webhook configurations.
    registered: Vec<InputObject>,
    /// All other objects.
    objects: Vec<InputObject>,
    /// The files contain an empty list, which shows that there are no objects.
    is_explicitly_empty: bool,
}

/// Reads the files. `None` if some cannot be read, which is already reported.
fn read(args: &RetireArgs) -> anyhow::Result<Option<Input>> {
    let (mut good, mut is_explicitly_empty, mut all) = (true, false, Vec::new());
    for source in args.files.read(EXAMPLE)? {
        match documents(&source) {
            Ok(documents) => {
                if documents.is_empty() {
                    good = false;
                    complain(&source.no_object());
                }
                is_explicitly_empty |= documents.iter().any(|document| document.objects().is_empty());
                all.extend(documents.into_iter().flat_map(Document::into_objects));
            }
            Err(messages) => {
                good = false;
                messages.iter().for_each(|message| complain(message));
            }
        }
    }
    let is_registration = |object: &InputObject| object.group() == "admissionregistration.k8s.io";
    let (registered, objects) = all.into_iter().partition(is_registration);
    Ok(good.then_some(Input { registered, objects, is_explicitly_empty }))
}

/// The version for objects without a label after the removal, from the registered documents and the flags.
fn default(args: &RetireArgs, kind: &Kind, registered: &[InputObject]) -> anyhow::Result<Option<ControllerVersion>> {
    let documents: Vec<Value> =
        registered.iter().map(|object| serde_json::from_str(&object.text)).collect::<Result<_, _>>()?;
    let Some(there) = registered_versions(kind, &documents) else {
        return Ok(args.default.clone());
    };
    let retired = args.removed.as_str();
    let stay = |version: &str| args.served.iter().any(|served| served.as_str() == version);
    if let Some(version) = there.served.iter().find(|version| *version != retired && !stay(version)) {
        let message =
            format!("--served does not include the registered version {version}: the guard would refuse its label");
        return Err(Usage(message).into());
    }
    let given = args.default.as_ref().map(ControllerVersion::as_str);
    let message = match (&there.default, given) {
        (RegisteredDefault::Unassigned, None) => return Ok(None),
        (RegisteredDefault::Unassigned, Some(given)) => format!(
            "--default {given}: no registered webhook receives objects without a label; omit --default, or \
                 register a default first with `pointsman webhooks --default`"
        ),
        (RegisteredDefault::Version(version), None) if version == retired => match once_each(&args.served).as_slice() {
            [only] => return Ok(Some(only.clone())),
            _ => format!("objects without a label belong to {retired}: name their new version with --default"),
        },
        (RegisteredDefault::Version(version), Some(_)) if version == retired => return Ok(args.default.clone()),
        (RegisteredDefault::Version(version), given) if given.is_none_or(|given| given == version) => {
            return Ok(args.served.iter().find(|served| served.as_str() == version).cloned());
        }
        (RegisteredDefault::Version(version), given) => format!(
            "--default {}: objects without a label belong to {version}, which stays registered",
            given.unwrap_or_default()
        ),
        (_, Some(_)) => return Ok(args.default.clone()),
        (_, None) => {
            "the owner of objects without a label is not clear from the registered webhooks: set --default, and \
             check `pointsman webhooks doctor`"
                .to_owned()
        }
    };
    Err(Usage(message).into())
}

/// The number of objects of the kind. `None` if one still has the label, or that is unknown.
fn still_labelled(args: &RetireArgs, kind: &Kind, input: &Input) -> anyhow::Result<Option<usize>> {
    let objects = &input.objects;
    let (mut seen, mut labelled, mut is_read) = (0, 0, true);
    for object in objects.iter().filter(|object| object.kind == kind.kind() && object.group() == kind.group()) {
        seen += 1;
        let json = JsonTree::from_json(&object.text)?;
        let Ok(label) = label(&json, kind.version_label()) else {
            is_read = false;
            let key = kind.version_label();
            complain(&format!(
                "{}: label {key} cannot be read: labels are strings, so quote the value",
                object.label()
            ));
            continue;
        };
        if label == Some(args.removed.as_str()) {
            labelled += 1;
            complain(&format!("{}: {} is still {}", object.label(), kind.version_label(), args.removed.as_str()));
        }
    }
    if labelled > 0 {
        talk(&format!("{labelled} of {seen} objects have the label {}; no webhook was printed", args.removed.as_str()));
    }
    // An empty list shows that there are no objects. A list of other objects does not.
    let others = objects.len() + input.registered.len() - seen;
    if seen == 0 && others > 0 && !(objects.is_empty() && input.is_explicitly_empty) {
        let (kind, plural) = (kind.kind(), format!("{}.{}", kind.plural(), kind.group()));
        complain(&format!(
            "none of {others} objects is a {kind}, so the label cannot be checked: kubectl get {plural} -A -o yaml"
        ));
        return Ok(None);
    }
    Ok((labelled == 0 && is_read).then_some(seen))
}

/// A label of an object, as an API server reads it: null counts as absent, and only strings are valid.
fn label<'j>(object: &'j JsonTree, key: &str) -> Result<Option<&'j str>, ()> {
    let mut here = object;
    for name in ["metadata", "labels", key] {
        if !matches!(here, JsonTree::Object(_)) {
            return Err(());
        }
        match here.get(name) {
            None | Some(JsonTree::Null) => return Ok(None),
            Some(inner) => here = inner,
        }
    }
    here.as_str().map(Some).ok_or(())
}

/// The action of a step, its purpose, and its documents.
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
        let head = format!("# Step {number} of {}: kubectl {verb}. After this step, {why}.\n", steps.len());
        texts.push(format!("{head}{}", commented(&documents, WebhookTask::OfOurs)));
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
  Remove the old one of two versions; the other one gets new objects:
    kubectl get materializes -A -o yaml |
      pointsman webhooks retire 2.16.0 --kind materialize \\
        --served 2.17.0 --default 2.17.0 \\
        --service 'pointsman-system/pointsman-{version}:443' \\
        --cert-manager pointsman-system/pointsman

  The same, with the registered owner of objects without a label:
    kubectl get materializes -A -o yaml > objects.yaml
    kubectl get mutatingwebhookconfiguration -o yaml > stamped.yaml
    kubectl get validatingwebhookconfiguration -o yaml > judged.yaml
    pointsman webhooks retire 2.16.0 --kind materialize --served 2.17.0 \\
      -f objects.yaml -f stamped.yaml -f judged.yaml \\
      --service 'pointsman-system/pointsman-{version}:443' \\
      --cert-manager pointsman-system/pointsman

Exit codes:
  0  printed
  1  objects still have the label, or a file could not be read
  2  the flags are wrong";
