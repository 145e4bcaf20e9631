//! The `checks` block of a definition, as written and as compiled.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::named_check::{NamedCheck, NamedCheckForm};
use super::start_check::{Checks, StartCheck};
use pointsman_core::apimachinery::did_you_mean;
use pointsman_core::definition::Problems;
use pointsman_core::definition::admission::Admission;
use pointsman_core::definition::yaml::Spanned;

/// Checks that must pass before a rollout starts or continues.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Checks")]
pub(in crate::definition) struct ChecksSpec {
    /// Checks that must pass before the rollout starts.
    #[serde(default)]
    #[schemars(with = "Vec<StartCheckForm>")]
    start: Vec<Spanned<Value>>,
    /// Checks that must pass while the rollout moves objects. After a failure, the rollout waits until all pass again.
    #[serde(default)]
    #[schemars(with = "Vec<NamedCheckForm>")]
    during: Vec<Spanned<Value>>,
}

/// A built-in check, or a named check.
#[derive(JsonSchema)]
#[schemars(untagged, rename = "StartCheck")]
#[expect(dead_code, reason = "only for the JSON Schema; a custom parser gives better error messages")]
enum StartCheckForm {
    Word(StartWord),
    Named(NamedCheckForm),
}

/// A built-in check.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", rename = "StartWord")]
#[expect(dead_code, reason = "as above")]
enum StartWord {
    /// The Leases of both controllers are held.
    Controllers,
    /// The CRD in the cluster has every field that the definition knows.
    Crd,
    /// The prerequisites of the version are applied, or available.
    Needs,
    /// The upgrade path leads from the current versions of the objects to the new version.
    Paths,
}

impl ChecksSpec {
    /// Compiles the checks of a definition, if any.
    pub(in crate::definition) fn compile(
        spec: Option<&Spanned<Self>>,
        admission: &Admission,
        problems: &mut Problems,
    ) -> Checks {
        let (start, during) = match spec {
            Some(spec) => (spec.value.start.as_slice(), spec.value.during.as_slice()),
            None => Default::default(),
        };
        let mut names: Vec<String> = Vec::new();
        let mut checks = Checks::default();
        for one in start {
            let (name, check) = match one.value.as_str() {
                Some(word) => (word.to_owned(), word_of(word, admission)),
                None => {
                    let (name, check) = NamedCheck::read(&one.value);
                    (name, check.map(StartCheck::Named))
                }
            };
            checks.start.extend(fine("start", one, check, problems));
            twice("start", one, name, &mut names, problems);
        }
        names.clear();
        for one in during {
            let (name, check) = NamedCheck::read(&one.value);
            checks.during.extend(fine("during", one, check, problems));
            twice("during", one, name, &mut names, problems);
        }
        let needs = admission.version_path.iter().flat_map(|path| path.needs()).next();
        if let Some((version, _)) = needs
            && !checks.start.iter().any(|check| matches!(check, StartCheck::Needs))
        {
            let at_line = spec.map(|spec| spec.line).unwrap_or_default();
            problems
                .add(at_line, format!("checks.start: {version} has needs without a check: add `needs` to the list"));
        }
        checks
    }
}

/// A built-in check. A check that can never fail is an error.
fn word_of(word: &str, admission: &Admission) -> Result<StartCheck, Vec<String>> {
    let path = admission.version_path.as_ref();
    let (check, lacks) = match word {
        "controllers" => {
            (StartCheck::Controllers, admission.lease.is_none().then_some("the definition names no `lease`"))
        }
        "crd" => (StartCheck::Crd, None),
        "needs" => {
            let needs = path.is_some_and(|path| path.needs().next().is_some());
            (StartCheck::Needs, (!needs).then_some("no version of the path of `versionPath` needs anything"))
        }
        "paths" => (StartCheck::Paths, path.is_none().then_some("the definition has no `versionPath`")),
        address if address.contains("://") => {
            return Err(vec!["an address belongs under `http` or `--prometheus`: {name: …, http: …}".to_owned()]);
        }
        other => {
            let meant = did_you_mean(other, WORDS);
            return Err(vec![format!(
                "{other:?} is unknown{meant}. Known checks: {}, {{name: …, list: …, every: …}}, {{name: …, \
                     prometheus: …}} and {{name: …, http: …}}",
                WORDS.join(", ")
            )]);
        }
    };
    match lacks {
        Some(why) => Err(vec![format!("{word}: {why}, so the check could never fail")]),
        None => Ok(check),
    }
}

fn fine<T>(list: &str, one: &Spanned<Value>, check: Result<T, Vec<String>>, problems: &mut Problems) -> Option<T> {
    let report = |bad: Vec<String>| bad.iter().for_each(|why| problems.add(one.line, format!("checks.{list}: {why}")));
    check.map_err(report).ok()
}

/// Reports duplicate names, because messages use them.
fn twice(list: &str, one: &Spanned<Value>, name: String, names: &mut Vec<String>, problems: &mut Problems) {
    if names.contains(&name) {
        problems.add(one.line, format!("checks.{list}: two checks have the name {name:?}"));
    }
    names.push(name);
}

const WORDS: [&str; 4] = ["controllers", "crd", "needs", "paths"];
