//! Removes kept data of a version that is neither served nor stored.

use super::options::{ForgetOptions, Forgotten, MigrateError, MigrateEvent};
use super::pass::{RewriteRun, Speed};
use super::target::MigrationTarget;
use crate::annotations::KEPT;
use crate::cluster::Cluster;
use crate::crd_state::CrdState;
use crate::stop_signal::until_stopped;

/// Removes the kept annotation of a version from every object, once that version is neither served nor stored. `name`
/// is `plural.group`; `stop` returns true to end early.
///
/// Each write has preconditions, so no concurrent write is lost, and objects without the annotation are skipped. The
/// process can be killed at any time and run again.
///
/// # Errors
/// [`MigrateError`]. Objects that could not be written are no error: they are in [`Forgotten::objects`].
pub async fn forget(
    cluster: &Cluster,
    name: &str,
    options: &ForgetOptions<'_>,
    report: &mut dyn FnMut(MigrateEvent),
    stop: &dyn Fn() -> bool,
) -> Result<Forgotten, MigrateError> {
    let version = options.version.clone();
    let mut forgotten = Forgotten { crd: name.to_owned(), version, ..Forgotten::default() };
    match until_stopped(stop, steps(cluster, options, report, stop, &mut forgotten)).await {
        Some(ended) => ended?,
        None => forgotten.objects.interrupted = true,
    }
    Ok(forgotten)
}

async fn steps(
    cluster: &Cluster,
    options: &ForgetOptions<'_>,
    report: &mut dyn FnMut(MigrateEvent),
    stop: &dyn Fn() -> bool,
    forgotten: &mut Forgotten,
) -> Result<(), MigrateError> {
    let crd = CrdState::fetch(cluster, &forgotten.crd).await?;
    check(&crd, options)?;
    let speed = Speed { page: options.page, max_in_flight: options.max_in_flight };
    let mut run = RewriteRun::new(
        cluster,
        crd,
        MigrationTarget::forgotten(&options.version, format!("{KEPT}{}", options.version), options.is_ours),
        &speed,
        &mut forgotten.objects,
        report,
        stop,
    );
    run.dry_run = options.dry_run;
    run.conversion.clone_from(&options.conversion);
    run.rounds().await?;
    forgotten.foreign = run.aim.foreign();
    Ok(())
}

/// Checks that the version is unused, along with versions converted through it.
fn check(crd: &CrdState, options: &ForgetOptions<'_>) -> Result<(), MigrateError> {
    let (name, version, storage) = (crd.name(), options.version.clone(), crd.storage().to_owned());
    let (served, stored) = (crd.served(), crd.stored_versions());
    if served.contains(&version.as_str()) {
        return Err(MigrateError::Served { crd: name, version });
    }
    if storage == version || stored.contains(&version.as_str()) {
        return Err(MigrateError::Stored { crd: name, version });
    }
    let at = |version: &str| options.order.iter().position(|one| one == version);
    let (Some(from), Some(through)) = (at(&storage), at(&version)) else { return Ok(()) };
    let is_behind = |at: usize| if from < through { at > through } else { at < through };
    let behind = options.order.iter().enumerate().filter(|(at, _)| is_behind(*at)).map(|(_, version)| version);
    let mut used = behind.filter(|version| served.contains(&version.as_str()) || stored.contains(&version.as_str()));
    match used.next() {
        Some(behind) => Err(MigrateError::OnTheWay { version, storage, behind: behind.clone() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn served_version_is_not_forgotten() {
        let crd = |served: &[&str], storage: &str, stored: &[&str]| {
            let version =
                |name: &&str| json!({"name": name, "served": served.contains(name), "storage": *name == storage});
            CrdState::new(json!({
                "metadata": {"name": "ws.e.com"},
                "spec": {
                    "group": "e.com", "names": {"plural": "ws"},
                    "versions": [version(&"v1"), version(&"v2"), version(&"v3")],
                },
                "status": {"storedVersions": stored},
            }))
            .unwrap()
        };
        let error_of = |crd: &CrdState, version: &str| {
            let (version, order) = (version.to_owned(), ["v1", "v2", "v3"].map(str::to_owned).to_vec());
            let options = ForgetOptions {
                version,
                order,
                is_ours: &|_| true,
                conversion: None,
                page: 1,
                max_in_flight: 1,
                dry_run: false,
            };
            check(crd, &options).err().map(|error| error.to_string()).unwrap_or_default()
        };
        let alone = crd(&["v3"], "v3", &["v3"]);
        assert_eq!(
            (error_of(&alone, "v1").as_str(), error_of(&alone, "v2").as_str(), error_of(&alone, "v0").as_str()),
            ("", "", "")
        );
        assert!(error_of(&alone, "v3").contains("serves v3"));
        assert!(error_of(&crd(&["v3"], "v2", &["v2"]), "v2").contains("stored as v2"));
        assert!(error_of(&crd(&["v3"], "v3", &["v1", "v3"]), "v1").contains("stored as v1"));
        let around = crd(&["v1", "v3"], "v3", &["v3"]);
        assert!(error_of(&around, "v2").contains("the path from v3 to v1 includes v2"));
        assert_eq!(error_of(&crd(&["v2", "v3"], "v3", &["v3"]), "v1"), "");
        assert!(error_of(&crd(&["v3"], "v1", &["v1"]), "v2").contains("the path from v1 to v3 includes v2"));
    }
}
