//! Objects as somebody would write them to a cluster, with what was there before.

use std::path::PathBuf;

use clap::Args;

use super::Usage;
use super::input::{self, FileArgs, Object, documents};
use super::output::complain;

/// What is written, and over what.
#[derive(Args, Debug)]
pub(crate) struct WrittenArgs {
    #[command(flatten)]
    files: FileArgs,
    /// File with the objects as they are in the cluster now. One with the same name there makes a write an update, and
    /// without one it is a creation.
    #[arg(long, value_name = "FILE")]
    old: Option<PathBuf>,
}

/// An object and the one it replaces.
pub(crate) struct Written {
    pub(crate) new: Object,
    pub(crate) old: Option<Object>,
}

impl WrittenArgs {
    /// Reads them all. `None` where some could not be read, which was said.
    pub(crate) fn read(&self, example: &str) -> anyhow::Result<Option<Vec<Written>>> {
        let sources = self.files.read(example)?;
        let old = self.old.as_deref().map(input::read).transpose()?;
        let (Some(new), Some(mut old)) = (objects(&sources), objects(old.as_slice())) else {
            return Ok(None);
        };
        let written = new.into_iter().map(|new| {
            let same = |old: &Object| {
                (old.group(), &old.kind, &old.namespace, &old.name)
                    == (new.group(), &new.kind, &new.namespace, &new.name)
            };
            let old = old.iter().position(same).map(|index| old.remove(index));
            Written { new, old }
        });
        let written: Vec<Written> = written.collect();
        if let Some(left) = old.first() {
            let message = format!("--old: {} has no counterpart in what is written", left.label());
            return Err(Usage(message).into());
        }
        Ok(Some(written))
    }
}

fn objects(sources: &[input::Source]) -> Option<Vec<Object>> {
    let (mut objects, mut good) = (Vec::new(), true);
    for source in sources {
        match documents(source) {
            Ok(documents) => {
                objects.extend(documents.into_iter().flat_map(|document| document.into_objects()))
            }
            Err(messages) => {
                good = false;
                messages.iter().for_each(|message| complain(message));
            }
        }
    }
    good.then_some(objects)
}
