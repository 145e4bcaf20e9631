//! Input of offline admission: objects as they would be written to a cluster, and their old versions.

use std::path::{Path, PathBuf};

use clap::Args;
use pointsman_core::webhook::Webhook;

use super::input::{self, Document, FileArgs, InputObject, documents};
use super::{admission::AdmissionArgs, kinds_dir::KindsArgs, output::complain, usage::Usage};

/// The objects and their old versions.
#[derive(Args, Debug)]
pub(crate) struct RequestArgs {
    #[command(flatten)]
    files: FileArgs,
    /// File with the current objects of the cluster. An object with the same name makes a write an update. Otherwise it
    /// is a creation.
    #[arg(long, value_name = "FILE")]
    old: Option<PathBuf>,
}

/// The input and settings of offline admission.
#[derive(Args, Debug)]
pub(crate) struct OfflineArgs {
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    #[command(flatten)]
    pub(crate) kinds: KindsArgs,
    #[command(flatten)]
    pub(crate) admission: AdmissionArgs,
}

impl OfflineArgs {
    /// The webhook.
    pub(crate) fn webhook(&self) -> anyhow::Result<Webhook> {
        Ok(self.kinds.webhook()?.admitting(self.admission.settings()))
    }
}

/// An object and its old version.
pub(crate) struct OfflineRequest {
    pub(crate) object: InputObject,
    pub(crate) old: Option<InputObject>,
}

impl RequestArgs {
    /// Reads all objects. `None` if some cannot be read, which is already reported.
    pub(crate) fn read(&self, example: &str) -> anyhow::Result<Option<Vec<OfflineRequest>>> {
        if self.old.as_deref() == Some(Path::new("-")) && self.files.read_stdin() {
            let message = "--old -: stdin is already used for the objects";
            return Err(Usage(message.to_owned()).into());
        }
        let sources = self.files.read(example)?;
        let old = self.old.as_deref().map(input::read).transpose()?;
        let (Some(objects), Some(mut old)) = (objects(&sources), objects(old.as_slice())) else {
            return Ok(None);
        };
        let requests = objects.into_iter().map(|object| {
            let identity = (object.group(), &object.kind, &object.namespace, &object.name);
            let same = |old: &InputObject| (old.group(), &old.kind, &old.namespace, &old.name) == identity;
            let old = old.iter().position(same).map(|index| old.remove(index));
            OfflineRequest { object, old }
        });
        let requests: Vec<OfflineRequest> = requests.collect();
        if let Some(old) = old.first() {
            let message = format!("--old: {} has no matching new object", old.label());
            return Err(Usage(message).into());
        }
        Ok(Some(requests))
    }
}

fn objects(sources: &[input::Source]) -> Option<Vec<InputObject>> {
    let (mut objects, mut good) = (Vec::new(), true);
    for source in sources {
        match documents(source) {
            Ok(documents) if documents.is_empty() => {
                good = false;
                complain(&source.no_object());
            }
            Ok(documents) => objects.extend(documents.into_iter().flat_map(Document::into_objects)),
            Err(messages) => {
                good = false;
                messages.iter().for_each(|message| complain(message));
            }
        }
    }
    good.then_some(objects)
}
