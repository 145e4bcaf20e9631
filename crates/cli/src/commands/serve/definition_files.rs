//! The files of the served definitions, and the detection of changes.

use std::path::PathBuf;

use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Metadata, Settings, Webhook};

use super::trial::ServedTrial;
use crate::commands::file_stamps::FileStamps;
use crate::commands::kinds_dir::KindsArgs;

/// The files of the served definitions. A replacement must be completely readable, accepted, and contain every served
/// version.
#[derive(Debug)]
pub struct DefinitionFiles {
    kinds: KindsArgs,
    metadata: Metadata,
    settings: Settings,
    trial: ServedTrial,
    /// The files that were read last.
    files: Vec<PathBuf>,
    /// The states of these files.
    stamps: FileStamps,
    /// The last files were rejected. The fix may be in another file.
    refused: bool,
}

impl DefinitionFiles {
    /// Reads the definitions for the first time.
    pub(super) fn load(
        kinds: KindsArgs,
        metadata: Metadata,
        settings: Settings,
        trial: ServedTrial,
    ) -> anyhow::Result<(Self, Webhook)> {
        let (webhook, files) = read(&kinds, metadata, &settings, trial)?;
        let stamps = kinds.stamps(&files);
        Ok((Self { kinds, metadata, settings, trial, files, stamps, refused: false }, webhook))
    }

    /// Returns whether there are files that may change.
    #[must_use]
    pub fn may_change(&self) -> bool {
        !self.kinds.paths.is_empty()
    }

    /// Reads the definitions again if the files have changed. `serving` is the webhook in use.
    ///
    /// # Errors
    /// The new definitions are rejected. The old ones stay in use.
    pub fn changed(&mut self, serving: &Webhook) -> anyhow::Result<Option<Webhook>> {
        let stamps = self.kinds.stamps(&self.files);
        if stamps == self.stamps && !self.refused {
            return Ok(None);
        }
        let found = read(&self.kinds, self.metadata, &self.settings, self.trial);
        if self.kinds.stamps(&self.files) != stamps {
            // The files are being written. The next call reads them again.
            return Ok(None);
        }
        self.stamps = stamps;
        self.refused = true;
        let (webhook, files) = found?;
        keeps_all(serving, &webhook)?;
        self.stamps = self.kinds.stamps(&files);
        self.files = files;
        self.refused = false;
        Ok(Some(webhook))
    }
}

/// The webhook for the current definitions, and their files.
fn read(
    kinds: &KindsArgs,
    metadata: Metadata,
    settings: &Settings,
    trial: ServedTrial,
) -> anyhow::Result<(Webhook, Vec<PathBuf>)> {
    let all = kinds.load_all()?;
    let own = all.kinds.iter().filter_map(|known| Some((known.kind.name().to_owned(), known.file.clone()?))).collect();
    let files = all.kinds.iter().flat_map(|known| known.files.iter().cloned());
    let files = files.chain(all.mutated.iter().map(|known| known.path.clone())).collect();
    let webhook = all.webhook(metadata)?;
    trial.run(&webhook, &own)?;
    Ok((webhook.admitting(settings.clone()), files))
}

/// Checks that an edit removes no version, which may be stored or requested: lists of the kind would fail. Also checks
/// that no mutations are removed.
fn keeps_all(serving: &Webhook, new: &Webhook) -> anyhow::Result<()> {
    for kind in serving.kinds() {
        let same = |other: &&Kind| (other.group(), other.kind()) == (kind.group(), kind.kind());
        let other = new.kinds().iter().find(same);
        let has = |version: &str| other.is_some_and(|other| other.versions().any(|name| name == version));
        if let Some(removed) = kind.versions().find(|version| !has(version)) {
            let (kind, group) = (kind.kind(), kind.group());
            anyhow::bail!(
                "{kind}.{group} has lost {removed}, which this server serves: restore the version, or restart \
                     the server"
            );
        }
    }
    // Its webhook may still be registered, and would reject every write.
    for mutated in serving.mutated() {
        let resource = mutated.resource();
        if !new.mutated().iter().any(|other| (other.group(), other.kind()) == (mutated.group(), mutated.kind())) {
            anyhow::bail!(
                "{resource} has lost its mutations, which this server serves: restore the mutations, or delete \
                     their webhooks and restart the server"
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use pointsman_core::webhook::Enforcement;
    use tempfile::TempDir;

    use super::*;

    const CRD: &str = include_str!("../../../../../tests/data/kinds/widgets.crd.yaml");
    const DEFINITION: &str = include_str!("../../../../../tests/data/kinds/widgets.yaml");

    fn written(dir: &Path) {
        fs::write(dir.join("widgets.yaml"), DEFINITION).unwrap();
        fs::write(dir.join("widgets.crd.yaml"), CRD).unwrap();
    }

    /// Definitions, and the webhook in use.
    struct Served(DefinitionFiles, Webhook);

    impl Served {
        fn reload(&mut self) -> anyhow::Result<bool> {
            let Some(webhook) = self.0.changed(&self.1)? else { return Ok(false) };
            self.1 = webhook;
            Ok(true)
        }

        fn names(&self) -> String {
            self.1.names()
        }
    }

    fn served(dir: &Path) -> Served {
        let kinds = KindsArgs { paths: vec![dir.to_path_buf()], no_built_in: true };
        let settings = Settings {
            controller: None,
            default: false,
            served: Vec::new(),
            enforcement: Enforcement::Enforce,
            shadowed: Vec::new(),
        };
        let loaded = DefinitionFiles::load(kinds, Metadata::Identity, settings, ServedTrial { cases: 20 });
        let (files, webhook) = loaded.unwrap();
        Served(files, webhook)
    }

    #[test]
    fn saved_definition_is_served() {
        let dir = TempDir::new().unwrap();
        written(dir.path());
        let mut definitions = served(dir.path());
        assert!(!definitions.reload().unwrap());
        assert_eq!(definitions.names(), "Widget.example.com v1 v2");
        fs::write(dir.path().join("widgets.crd.yaml"), CRD.replace("port", "gate")).unwrap();
        let error = definitions.reload().unwrap_err().to_string();
        assert!(error.contains("widgets.yaml"), "{error}");
        assert!(definitions.reload().is_err(), "again, until it is mended");
        fs::write(dir.path().join("widgets.yaml"), DEFINITION.replace("spec.port", "spec.gate")).unwrap();
        assert!(definitions.reload().unwrap());
        assert!(!definitions.reload().unwrap());
    }

    #[test]
    fn served_version_is_not_removed() {
        let dir = TempDir::new().unwrap();
        written(dir.path());
        let mut definitions = served(dir.path());
        for name in ["widgets.yaml", "widgets.crd.yaml"] {
            fs::remove_file(dir.path().join(name)).unwrap();
        }
        assert!(definitions.reload().unwrap_err().to_string().contains("no .yaml, .yml or .json file"));
        let group = |text: &str| text.replace("example.com", "example.org");
        fs::write(dir.path().join("widgets.yaml"), group(DEFINITION)).unwrap();
        fs::write(dir.path().join("widgets.crd.yaml"), group(CRD)).unwrap();
        let error = definitions.reload().unwrap_err().to_string();
        assert_eq!(
            error,
            "Widget.example.com has lost v1, which this server serves: restore the version, or restart the server"
        );
        assert_eq!(definitions.names(), "Widget.example.com v1 v2");
        written(dir.path());
        assert!(definitions.reload().unwrap(), "as it was, which was not what was looked at last");
    }

    #[test]
    fn served_mutations_are_not_removed() {
        let dir = TempDir::new().unwrap();
        written(dir.path());
        let mutations = "apiVersion: pointsman.dev/v1\nkind: KindDefinition\n\
                      resource: {group: apps, version: v1, kind: Deployment, plural: deployments}\nmutations:\n\
                      - name: moved\n  fact: {resource: nodes, name: x, label: moved}\n  always: [{noFlag: --a}]\n";
        let file = dir.path().join("mutations.yaml");
        fs::write(&file, mutations).unwrap();
        let mut definitions = served(dir.path());
        fs::remove_file(&file).unwrap();
        let error = definitions.reload().unwrap_err().to_string();
        assert!(error.starts_with("deployments.apps has lost its mutations, which this server serves"), "{error}");
        assert!(!definitions.1.watched_facts().is_empty());
        fs::write(&file, mutations.replace("noFlag: --a", "noFlag: --b")).unwrap();
        assert!(definitions.reload().unwrap());
    }

    /// Like a kubelet: creates a new directory and replaces one link.
    #[test]
    fn swapped_volume_link_is_noticed() {
        let dir = TempDir::new().unwrap();
        for (name, text) in [("one", DEFINITION.to_owned()), ("two", format!("# again\n{DEFINITION}"))] {
            let version = dir.path().join(name);
            fs::create_dir(&version).unwrap();
            written(&version);
            fs::write(version.join("widgets.yaml"), text).unwrap();
        }
        let link = dir.path().join("..data");
        std::os::unix::fs::symlink("one", &link).unwrap();
        let mounted = dir.path().join("mounted");
        fs::create_dir(&mounted).unwrap();
        for name in ["widgets.yaml", "widgets.crd.yaml"] {
            std::os::unix::fs::symlink(link.join(name), mounted.join(name)).unwrap();
        }
        let mut definitions = served(&mounted);
        assert!(!definitions.reload().unwrap());
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink("two", &link).unwrap();
        assert!(definitions.reload().unwrap());
    }
}
