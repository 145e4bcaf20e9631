//! The kinds of a command: built-in kinds, and those of `--kinds PATH`.

use std::path::{Path, PathBuf};

use clap::Args;
use pointsman_core::definition::{self, Definition, Kind, MutatedKind};
use pointsman_core::did_you_mean;
use pointsman_core::webhook::{Metadata, Webhook};
use pointsman_rollout::check_definition;

use super::file_stamps::FileStamps;
use super::input::{self, InputObject, Source};
use super::json_tree::JsonTree;

/// Kinds in addition to the built-in kinds.
#[derive(Args, Clone, Debug)]
pub(crate) struct KindsArgs {
    /// File or directory of kind definitions, in addition to the built-in kinds. Replaces a built-in definition of the
    /// same kind. Can be repeated.
    #[arg(long = "kinds", value_name = "PATH", env = "POINTSMAN_KINDS")]
    pub(crate) paths: Vec<PathBuf>,
    /// Use only the kinds of --kinds, without the built-in kinds.
    #[arg(long, env = "POINTSMAN_NO_BUILT_IN", requires = "paths")]
    pub(crate) no_built_in: bool,
}

/// A kind and the source of its definition.
pub(crate) struct LoadedKind {
    pub(crate) kind: Kind,
    /// The file. `None` for a built-in kind.
    pub(crate) file: Option<String>,
    /// The text of the definition.
    pub(crate) text: String,
    /// The files: definition and CRD.
    pub(crate) files: Vec<PathBuf>,
}

/// A definition of mutations, and its source.
pub(crate) struct LoadedMutations {
    pub(crate) mutated: MutatedKind,
    /// The file, as in messages.
    pub(crate) file: String,
    /// The text of the definition.
    pub(crate) text: String,
    pub(crate) path: PathBuf,
}

/// A definition in a file, of either sort.
pub(crate) enum KnownDefinition {
    Kind(Box<LoadedKind>),
    Mutations(Box<LoadedMutations>),
}

/// All known definitions.
#[derive(Default)]
pub(crate) struct KnownDefinitions {
    pub(crate) kinds: Vec<LoadedKind>,
    pub(crate) mutated: Vec<LoadedMutations>,
}

impl KnownDefinitions {
    /// The webhook with these definitions.
    pub(crate) fn webhook(self, metadata: Metadata) -> anyhow::Result<Webhook> {
        let kinds = self.kinds.into_iter().map(|known| known.kind).collect();
        let mutated = self.mutated.into_iter().map(|known| known.mutated).collect();
        Ok(Webhook::new(kinds, metadata)?.with_mutations(mutated)?)
    }
}

impl LoadedKind {
    pub(crate) fn source(&self) -> &str {
        self.file.as_deref().unwrap_or("built in")
    }
}

impl KindsArgs {
    /// The flags as text for a printed command, each with a leading space.
    pub(crate) fn flags(&self) -> String {
        let path = |path: &PathBuf| format!(" --kinds {}", path.display());
        let no_built_in = if self.no_built_in { " --no-built-in" } else { "" };
        self.paths.iter().map(path).collect::<String>() + no_built_in
    }

    /// The webhook with all kinds.
    pub(crate) fn webhook(&self) -> anyhow::Result<Webhook> {
        self.webhook_with(Metadata::Full)
    }

    /// The webhook with this part of the metadata in its responses.
    pub(crate) fn webhook_with(&self, metadata: Metadata) -> anyhow::Result<Webhook> {
        self.load_all()?.webhook(metadata)
    }

    /// The current states of all files of kinds: those of the paths, and those read before.
    pub(crate) fn stamps(&self, read: &[PathBuf]) -> FileStamps {
        // Errors of a directory are reported when it is read.
        let listed = self.paths.iter().flat_map(|path| files(path).unwrap_or_default());
        FileStamps::of(listed.chain(read.iter().cloned()).collect())
    }

    /// The built-in kinds, and those of the paths.
    pub(crate) fn load(&self) -> anyhow::Result<Vec<LoadedKind>> {
        Ok(self.load_all()?.kinds)
    }

    /// The kinds, and the compiled definitions of mutations.
    pub(crate) fn load_with_mutations(&self) -> anyhow::Result<(Vec<LoadedKind>, Vec<MutatedKind>)> {
        let KnownDefinitions { kinds, mutated } = self.load_all()?;
        Ok((kinds, mutated.into_iter().map(|known| known.mutated).collect()))
    }

    /// The kinds, and the definitions of mutations.
    pub(crate) fn load_all(&self) -> anyhow::Result<KnownDefinitions> {
        let KnownDefinitions { kinds: own, mutated } = own(&self.paths)?;
        let mut kinds = if self.no_built_in { Vec::new() } else { built_in(&own)? };
        kinds.extend(own);
        Ok(KnownDefinitions { kinds, mutated })
    }
}

/// The built-in kinds without replaced ones.
fn built_in(own: &[LoadedKind]) -> anyhow::Result<Vec<LoadedKind>> {
    let replaced =
        |kind: &Kind| own.iter().any(|own| (own.kind.group(), own.kind.kind()) == (kind.group(), kind.kind()));
    let kinds = Kind::embedded()?.into_iter().filter(|kind| !replaced(kind));
    let known = kinds.map(|kind| {
        let text = definition::embedded_text(kind.name()).unwrap_or_default().to_owned();
        LoadedKind { kind, file: None, text, files: Vec::new() }
    });
    Ok(known.collect())
}

/// The files of a path: the file, or those of the directory.
fn files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if path.is_file() { Ok(vec![path.to_path_buf()]) } else { input::in_directory(path, false) }
}

/// The definitions in files and directories.
fn own(paths: &[PathBuf]) -> anyhow::Result<KnownDefinitions> {
    let (mut own, mut mutated): (Vec<LoadedKind>, Vec<LoadedMutations>) = (Vec::new(), Vec::new());
    let mut all = Vec::new();
    for path in paths {
        all.extend(files(path)?);
    }
    for file in all {
        let known = match definition_in(&file)? {
            None if paths.contains(&file) => anyhow::bail!("{}: the file has no definition", file.display()),
            None => continue,
            Some(KnownDefinition::Kind(known)) => *known,
            Some(KnownDefinition::Mutations(known)) => {
                mutated.push(*known);
                continue;
            }
        };
        let is_same =
            |other: &LoadedKind| (other.kind.group(), other.kind.kind()) == (known.kind.group(), known.kind.kind());
        let same = |other: &&LoadedKind| is_same(other) || other.kind.name() == known.kind.name();
        if let Some(other) = own.iter().find(same) {
            let (file, kind) = (file.display(), &known.kind);
            if is_same(other) {
                anyhow::bail!(
                    "{file}: {}.{} is defined in {} as well: remove one file",
                    kind.kind(),
                    kind.group(),
                    other.source()
                );
            }
            anyhow::bail!(
                "{file}: {}.{} has the name {:?}, and so has {}.{} in {}: give one of the two another `name:`",
                kind.kind(),
                kind.group(),
                kind.name(),
                other.kind.kind(),
                other.kind.group(),
                other.source(),
            );
        }
        own.push(known);
    }
    Ok(KnownDefinitions { kinds: own, mutated })
}

/// The kind of an object, or a message with the known kinds and the flag for others.
pub(crate) fn kind_of<'w>(webhook: &'w Webhook, object: &InputObject) -> Result<&'w Kind, String> {
    let kinds = webhook.kinds();
    let is_its = |kind: &&Kind| kind.kind() == object.kind && kind.group() == object.group();
    kinds.iter().find(is_its).ok_or_else(|| {
        let known: Vec<String> = kinds.iter().map(|kind| format!("{}.{}", kind.kind(), kind.group())).collect();
        let wanted_kind = format!("{}.{}", object.kind, object.group());
        format!(
            "{}: no definition of {} {}{}; known kinds: {}. Add its file or directory with --kinds",
            object.label(),
            object.api_version,
            object.kind,
            did_you_mean(&wanted_kind, known.iter().map(String::as_str)),
            known.join(", "),
        )
    })
}

/// The definition in a file. `None` for a file with other content, such as the CRD.
fn definition_in(file: &Path) -> anyhow::Result<Option<KnownDefinition>> {
    let source = input::read_definition(file)?;
    let documents = input::values(&source).map_err(anyhow::Error::msg)?;
    let is_ours = |json: &JsonTree| json.get("kind").and_then(JsonTree::as_str) == Some(definition::KIND);
    let ours = documents.iter().filter(|json| is_ours(json)).count();
    anyhow::ensure!(
        ours == 0 || documents.len() == 1,
        "{}: a file holds exactly one definition: split this file",
        source.name
    );
    if ours == 0 {
        return Ok(None);
    }
    Ok(Some(read(file, source)?))
}

pub(crate) fn read(file: &Path, source: Source) -> Result<KnownDefinition, definition::BadDefinition> {
    let mut files = vec![file.to_path_buf()];
    let found = Definition::load(&source.name, &source.text, &mut |crd| {
        let crd = relative_to(file, crd);
        files.push(crd.clone());
        input::read_crd(&crd)
    })?;
    if let Definition::Kind(kind) = &found {
        check_definition(kind)?;
    }
    let Source { name, text, .. } = source;
    Ok(match found {
        Definition::Kind(kind) => {
            KnownDefinition::Kind(Box::new(LoadedKind { kind: *kind, file: Some(name), text, files }))
        }
        Definition::Mutations(mutated) => KnownDefinition::Mutations(Box::new(LoadedMutations {
            mutated,
            file: name,
            text,
            path: file.to_path_buf(),
        })),
    })
}

/// Resolves a path relative to the file that contains it.
pub(crate) fn relative_to(file: &Path, other: &str) -> PathBuf {
    file.parent().map_or_else(|| other.into(), |parent| parent.join(other))
}
