//! Lookups and writes of workflow steps for objects other than the rollout's object.

use pointsman_core::definition::{Kind, MutatedKind};
use pointsman_core::webhook::{Facts, OtherKind, ReplaceError, Webhook};
use pointsman_rollout::{
    ConversionOutcome, FactLookup, LookupRequest, LookupResults, LookupTarget, MutationState, ObjectCall, ObjectWrite,
    Propagation, ROLLOUT_MANAGER, is_patched, seen_by_mutation,
};
use serde_json::{Value, json};

use super::collection::{collection, lookup_path, named};
use super::remote_lookups::RemoteLookups;
use super::replacement::makes_no_way;
use super::writes::{WriteOutcome, delete_options, is_of_no_dry_run, refused, refused_alone};
use crate::call_error::{CallError, RIGHTS};
use crate::cluster::{Cluster, Extent, PatchForm};
use crate::pages::{Pages, RetryPolicy, items};

/// Writes another object.
///
/// # Errors
/// Missing permissions.
pub(super) async fn write_object(
    cluster: &Cluster,
    mutated: &[MutatedKind],
    elsewhere: &mut RemoteLookups,
    write: &ObjectWrite,
) -> Result<WriteOutcome, CallError> {
    let Some(of) = &write.cluster else { return write_at_home(cluster, mutated, write).await };
    match &write.call {
        ObjectCall::Delete { uid, resource_version, propagation, replacement: None } => {
            let options = delete_options(uid, Some(resource_version), *propagation);
            Ok(elsewhere.write(of, write, &options).await)
        }
        // Steps only delete there.
        _ => Ok(WriteOutcome::Refused(format!("{}: a step can only delete objects of another cluster", write.title()))),
    }
}

async fn write_at_home(
    cluster: &Cluster,
    mutated: &[MutatedKind],
    write: &ObjectWrite,
) -> Result<WriteOutcome, CallError> {
    let all = match place_of(cluster, write).await {
        Ok(all) => all,
        Err(error) if error.code() == Some(404) => return Ok(WriteOutcome::Refused(error.message())),
        Err(error) => return refused(error),
    };
    let one = format!("{all}/{}", write.name);
    let manager = format!("fieldManager={ROLLOUT_MANAGER}");
    let answer = match &write.call {
        ObjectCall::Create(object) | ObjectCall::Succeed(object) => {
            return made(cluster, write, (&all, object)).await;
        }
        ObjectCall::Patch(patch) => {
            let path = format!("{one}?{manager}");
            match cluster.patch(&path, PatchForm::Json, patch, Extent::Metadata).await {
                Ok(now) => return Ok(kept(write, patch, &now)),
                Err(error) => Err(error),
            }
        }
        ObjectCall::Readmit(mutation) => match sent_once_more(cluster, &format!("{one}?{manager}")).await {
            Ok(object) => return Ok(readmitted(mutated, write, mutation, &object)),
            // A failing webhook blocks only this object.
            Err(error) if error.code().is_some_and(|code| code >= 500) => {
                return Ok(WriteOutcome::NotYet(format!("{}: {error}", write.title())));
            }
            Err(error) => Err(error),
        },
        ObjectCall::ReportRefusal(patch) => {
            // The StagedRollout contains the message as well, so an error is ignored.
            return match report_refusal(cluster, &one, (&write.uid, patch)).await {
                Err(error) if error.is_of_missing_rights() => Err(error),
                landed => Ok(landed.unwrap_or(WriteOutcome::Stale)),
            };
        }
        ObjectCall::Delete { uid, resource_version, propagation, replacement } => {
            if let Some(replacement) = replacement
                && let Some(no) = makes_no_way(cluster, &all, (write, uid), replacement).await?
            {
                return Ok(no);
            }
            let options = delete_options(uid, Some(resource_version), *propagation);
            cluster.delete_with(&one, &options).await
        }
    };
    landed(write, answer)
}

/// The outcome of a patch, given the metadata of the response: a policy may revert the patch in the same write, and it
/// would be repeated endlessly.
fn kept(write: &ObjectWrite, patch: &Value, now: &Value) -> WriteOutcome {
    let is_of_metadata =
        |one: &Value| one.get("path").and_then(Value::as_str).is_some_and(|path| path.starts_with("/metadata/"));
    let is_seen = patch.as_array().is_some_and(|all| all.iter().all(is_of_metadata));
    match is_patched(patch, now) {
        Some(false) if is_seen => WriteOutcome::NotYet(format!(
            "{} was written with another result than expected: a policy or a webhook changes the same write",
            write.title()
        )),
        _ => WriteOutcome::Written(Box::default()),
    }
}

/// The reason not to create an object, from a dry run: it is refused, or would be stored without its identifying
/// annotations. Such an object would be unknown to the rollout, and both objects would stay.
///
/// `None` if it may be created, if no object is created, for a successor that was tried before the deletion, and if a
/// webhook does not support dry runs.
///
/// # Errors
/// Missing permissions.
pub(super) async fn try_made(cluster: &Cluster, write: &ObjectWrite) -> Result<Option<WriteOutcome>, CallError> {
    let ObjectCall::Create(object) = &write.call else { return Ok(None) };
    // An error here recurs at the creation, and is reported then.
    let Ok(all) = place_of(cluster, write).await else { return Ok(None) };
    match cluster.post(&format!("{all}?fieldManager={ROLLOUT_MANAGER}&dryRun=All"), object).await {
        Ok(now) => {
            let refused = |why| WriteOutcome::Refused(format!("{} {why}: no object was created", write.title()));
            Ok(write.call.unkept(&now).map(refused))
        }
        Err(error) if is_of_no_dry_run(&error.message()) => Ok(None),
        Err(error) => landed(write, Err(error)).map(Some),
    }
}

/// Creates an object.
async fn made(
    cluster: &Cluster,
    write: &ObjectWrite,
    (all, object): (&str, &Value),
) -> Result<WriteOutcome, CallError> {
    match cluster.post(&format!("{all}?fieldManager={ROLLOUT_MANAGER}"), object).await {
        Ok(now) => Ok(match write.call.unkept(&now) {
            None => WriteOutcome::Written(Box::default()),
            Some(why) => {
                let then = taken_away(cluster, &format!("{all}/{}", write.name), &now).await;
                WriteOutcome::Refused(format!("{} {why}; {then}", write.title()))
            }
        }),
        Err(error) => landed(write, Err(error)),
    }
}

/// Deletes an object that was just created and stored without its identifying annotations, contrary to the dry run.
/// Ignores later writes of its controller. Returns the result as text.
async fn taken_away(cluster: &Cluster, one: &str, now: &Value) -> String {
    let uid = now.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
    match cluster.delete_with(one, &delete_options(uid, None, Propagation::Background)).await {
        Ok(()) => "the object was deleted again".to_owned(),
        Err(error) => format!("cannot delete the object: {error}"),
    }
}

/// The collection of an object.
pub(super) async fn place_of(cluster: &Cluster, write: &ObjectWrite) -> Result<String, CallError> {
    let resource = (write.plural.as_str(), write.group.as_str());
    collection(cluster, resource, version_of(write), write.namespace.as_deref()).await
}

/// The version in which an object is written.
fn version_of(write: &ObjectWrite) -> Option<&str> {
    match &write.call {
        ObjectCall::Create(object) | ObjectCall::Succeed(object) => {
            let text = object.pointer("/apiVersion")?.as_str()?;
            Some(text.split_once('/').map_or(text, |(_, version)| version))
        }
        _ => write.version.as_deref(),
    }
}

/// The outcome of a call.
fn landed(write: &ObjectWrite, answer: Result<(), CallError>) -> Result<WriteOutcome, CallError> {
    match answer {
        Ok(()) => Ok(WriteOutcome::Written(Box::default())),
        // The object changed since it was read: it must be read again.
        Err(error) if error.code() == Some(409) => Ok(WriteOutcome::Stale),
        // The namespace or kind does not exist.
        Err(error) if error.code() == Some(404) && write.call.makes() => Ok(WriteOutcome::Refused(error.message())),
        Err(error) => refused_alone(error),
    }
}

/// Writes a message to the status of an object, if its uid matches. A status patch cannot have preconditions on the
/// uid, so the object is read first.
async fn report_refusal(
    cluster: &Cluster,
    path: &str,
    (uid, patch): (&str, &Value),
) -> Result<WriteOutcome, CallError> {
    let found = cluster.read(path, Extent::Metadata).await?;
    let text = |name: &str| found.pointer(name).and_then(Value::as_str);
    let (Some(now), Some(version)) = (text("/metadata/uid"), text("/metadata/resourceVersion")) else {
        return Ok(WriteOutcome::Stale);
    };
    if now != uid {
        return Ok(WriteOutcome::Stale);
    }
    let mut patch = patch.clone();
    if let Some(members) = patch.as_object_mut() {
        members.insert("metadata".to_owned(), json!({"resourceVersion": version}));
    }
    let path = format!("{path}/status?fieldManager={ROLLOUT_MANAGER}");
    cluster.patch(&path, PatchForm::Merge, &patch, Extent::Metadata).await?;
    Ok(WriteOutcome::Written(Box::default()))
}

/// Sends an empty patch. Custom resources do not support strategic merge patches.
async fn sent_once_more(cluster: &Cluster, path: &str) -> Result<Value, CallError> {
    let nothing = json!({});
    match cluster.patch(path, PatchForm::Strategic, &nothing, Extent::Objects).await {
        Err(error) if error.code() == Some(415) => {
            cluster.patch(path, PatchForm::Merge, &nothing, Extent::Objects).await
        }
        answer => answer,
    }
}

/// The outcome of an empty patch: a server that has not received a fact yet leaves the object unchanged.
fn readmitted(mutated: &[MutatedKind], write: &ObjectWrite, mutation: &str, object: &Value) -> WriteOutcome {
    match seen_by_mutation(mutated, (&write.plural, &write.group), mutation, object) {
        MutationState::Seen => WriteOutcome::Written(Box::default()),
        MutationState::Unseen(path) => WriteOutcome::NotYet(format!("{}: not mutated: {path}", write.title())),
        MutationState::Unknown(why) => WriteOutcome::NotYet(format!("{}: {why}", write.title())),
        MutationState::Absent | MutationState::Terminating => WriteOutcome::Stale,
    }
}

/// Checks whether a mutation has processed an object.
pub(super) async fn seen(
    cluster: &Cluster,
    mutated: &[MutatedKind],
    lookup: &LookupRequest,
    (name, mutation): (&str, &str),
    answers: &mut LookupResults,
) -> Result<(), CallError> {
    let all = lookup_path(cluster, lookup).await?;
    let object = named(cluster, &format!("{all}/{name}")).await?;
    let seen = |object| seen_by_mutation(mutated, (&lookup.plural, &lookup.group), mutation, object);
    answers.mutated(lookup, object.as_ref().map_or(MutationState::Absent, seen));
    Ok(())
}

/// Converts an object to the target kind.
pub(super) async fn replaces(
    cluster: &Cluster,
    kind: &Kind,
    lookup: &LookupRequest,
    (name, uid, facts): (&str, &str, &[FactLookup]),
    answers: &mut LookupResults,
) -> Result<(), CallError> {
    let source = cluster.find(&format!("{}/{name}", lookup_path(cluster, lookup).await?)).await?;
    let is_it = |source: &Value| source.pointer("/metadata/uid").and_then(Value::as_str) == Some(uid);
    let Some(source) = source.filter(is_it) else {
        answers.became(lookup, ConversionOutcome::Waits(format!("{} {name} is deleted", lookup.plural)));
        return Ok(());
    };
    let mut known = Vec::new();
    for fact in facts {
        match holds(cluster, lookup.namespace.as_deref().unwrap_or_default(), fact).await? {
            Some(holds) => known.push((fact.name.as_str(), if holds { "true" } else { "false" })),
            None => {
                let secret = fact.secret.as_deref().unwrap_or_default();
                let place = lookup.namespace.as_deref().unwrap_or_default();
                let why = format!("secret {place}/{secret} with the value of {} does not exist", fact.name);
                answers.became(lookup, ConversionOutcome::Waits(why));
                return Ok(());
            }
        }
    }
    let facts: Facts = known.into_iter().collect();
    let to = other_kind(kind, lookup);
    let became = match Webhook::convert_by(kind, &source.to_string(), to, &facts) {
        Ok(converted) => match serde_json::from_str(&converted.text) {
            Ok(object) => {
                ConversionOutcome::Object(object, source.pointer("/metadata/generation").and_then(Value::as_i64))
            }
            Err(error) => ConversionOutcome::Refused(error.to_string()),
        },
        Err(ReplaceError::Refused { message }) => ConversionOutcome::Refused(message),
        Err(error) => ConversionOutcome::Refused(error.to_string()),
    };
    answers.became(lookup, became);
    Ok(())
}

/// The target kind of a conversion: the other kind of the pair.
fn other_kind<'k>(kind: &'k Kind, lookup: &LookupRequest) -> OtherKind<'k> {
    let own = OtherKind { group: kind.group(), kind: kind.kind(), version: None };
    let is_own = (lookup.plural.as_str(), lookup.group.as_str()) == (kind.plural(), kind.group());
    let source = kind.becoming().filter(|_| is_own);
    source.map_or(own, |one| OtherKind { group: one.source_group(), kind: one.source_kind(), version: None })
}

/// True if a Secret has a key. `None` without the Secret.
async fn holds(cluster: &Cluster, namespace: &str, fact: &FactLookup) -> Result<Option<bool>, CallError> {
    let Some(name) = &fact.secret else { return Ok(Some(false)) };
    let secret = cluster.find(&format!("/api/v1/namespaces/{namespace}/secrets/{name}")).await?;
    Ok(secret.map(|secret| secret.get("data").and_then(|data| data.get(&fact.key)).is_some()))
}

/// Lists dependents of objects in a namespace, of every resource, with one pass for all objects.
pub(super) async fn referring(
    cluster: &Cluster,
    group: &[&LookupRequest],
    answers: &mut LookupResults,
) -> Result<(), CallError> {
    let namespace = group.first().and_then(|lookup| lookup.namespace.as_deref()).unwrap_or_default();
    let mut found: Vec<Vec<Value>> = vec![Vec::new(); group.len()];
    let resources = match namespaced(cluster).await? {
        Ok(resources) => resources,
        Err(why) => {
            group.iter().for_each(|lookup| answers.cannot_read(lookup, why.clone()));
            return Ok(());
        }
    };
    for (resource, collection) in resources {
        let path = format!("{collection}/namespaces/{namespace}/{}", resource.split('.').next().unwrap_or_default());
        let pages = Pages::new(cluster, path, Extent::MetadataOfAll, PAGE).waiting_out(RetryPolicy::ApiServer);
        let mut take = |list: Value| {
            for object in items(&list) {
                for (lookup, found) in group.iter().zip(&mut found) {
                    let LookupTarget::Referring(uid) = &lookup.wanted else { continue };
                    if owners(object).any(|owner| owner.get("uid").and_then(Value::as_str) == Some(uid)) {
                        found.push(json!({"resource": resource, "metadata": object.get("metadata")}));
                    }
                }
            }
        };
        if let Err(error) = pages.all(&mut |_, _| {}, &mut take).await {
            // An unavailable resource, such as an aggregated API that is down, blocks only these objects.
            let hint = if error.is_of_missing_rights() { format!(": {RIGHTS}") } else { String::new() };
            let why = format!("{resource} cannot be listed: {error}{hint}");
            group.iter().for_each(|lookup| answers.cannot_read(lookup, why.clone()));
            return Ok(());
        }
    }
    group.iter().zip(&found).for_each(|(lookup, found)| answers.saw(lookup, found));
    Ok(())
}

/// Owner references of an object.
pub(super) fn owners(object: &Value) -> impl Iterator<Item = &Value> {
    object.pointer("/metadata/ownerReferences").and_then(Value::as_array).into_iter().flatten()
}

/// Every namespaced resource that supports `list`, in one version, with its API path.
async fn namespaced(cluster: &Cluster) -> Result<Result<Vec<(String, String)>, String>, CallError> {
    let mut all = Vec::new();
    for root in ["/api", "/apis"] {
        let discovered = cluster.read(root, Extent::Discovery).await?;
        for group in items(&discovered) {
            let name = group.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            let versions = group.get("versions").and_then(Value::as_array).into_iter().flatten();
            let mut known: Vec<&str> = Vec::new();
            for version in versions {
                let of = version.get("version").and_then(Value::as_str).unwrap_or_default();
                // A version of an unavailable server may be listed without resources. Source: `k8s.io/api
                // apidiscovery/v2/types.go`, `DiscoveryFreshness`.
                if version.get("freshness").and_then(Value::as_str).is_some_and(|fresh| fresh != "Current") {
                    return Ok(Err(format!("{name}/{of} is not served now: its dependents are unknown")));
                }
                let place = if name.is_empty() { format!("/api/{of}") } else { format!("/apis/{name}/{of}") };
                for resource in version.get("resources").and_then(Value::as_array).into_iter().flatten() {
                    let text = |member: &str| resource.get(member).and_then(Value::as_str).unwrap_or_default();
                    let verbs = resource.get("verbs").and_then(Value::as_array).into_iter().flatten();
                    let plural = text("resource");
                    let is_one = text("scope") == "Namespaced" && verbs.into_iter().any(|verb| verb == "list");
                    if is_one && !known.contains(&plural) {
                        known.push(plural);
                        let dot = if name.is_empty() { "" } else { "." };
                        all.push((format!("{plural}{dot}{name}"), place.clone()));
                    }
                }
            }
        }
    }
    Ok(Ok(all))
}

/// Objects per page.
const PAGE: u32 = 500;
