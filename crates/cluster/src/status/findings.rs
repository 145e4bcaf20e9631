//! Findings about a kind's status, each with the command that fixes it.

use super::kind_status::{KindStatus, StatusFinding};
use crate::annotations::RELEASED_ANNOTATION;
use crate::bundle_faults::BundleFault;
use crate::call_error::{RIGHTS, is_about_rights};

/// `kind` is its command line name, `now` is in seconds since 1970.
pub(crate) fn findings(seen: &KindStatus, kind: &str, now: u64) -> Vec<StatusFinding> {
    let mut found = Vec::from_iter(conversion(seen, kind));
    found.extend(stored(seen, kind));
    found.extend(named(seen, kind));
    found.extend(seen.unread.iter().map(|(version, message)| StatusFinding {
        problem: format!("{version} cannot be read: {message}"),
        fix: rights_or(message, "docs/running.md, API server messages"),
    }));
    found.extend(trust(seen, kind));
    found.extend(answers(seen, kind, now));
    if !seen.drift.is_empty() {
        let first = seen.drift.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("; ");
        let more = seen.drift.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        found.push(StatusFinding {
            problem: format!("the CRD differs from the CRD of the definition: {first}{more}"),
            fix: format!("pointsman enable {kind} …, or a definition for this CRD: pointsman kinds check"),
        });
    }
    found
}

fn conversion(seen: &KindStatus, kind: &str) -> Option<StatusFinding> {
    let crd = &seen.crd;
    if seen.disabling {
        return Some(StatusFinding {
            problem: "pointsman disable was interrupted: the conversion points to an unreachable webhook".to_owned(),
            fix: format!(
                "run pointsman disable {kind} … again, or restore the conversion with pointsman enable {kind} --repoint …"
            ),
        });
    }
    if seen.converted_by.is_none() && !seen.one_schema && (seen.served.len() > 1 || seen.stored.len() > 1) {
        return Some(StatusFinding {
            problem: format!(
                "no conversion webhook, with {} served and {} stored: only apiVersion changes, and fields are lost",
                seen.served.join(", "),
                seen.stored.join(", ")
            ),
            fix: format!("pointsman enable {kind} --service NAMESPACE/NAME --ca-file FILE"),
        });
    }
    seen.released.then(|| StatusFinding {
        problem: format!("the guard of the CRD allows every change, because of its annotation {RELEASED_ANNOTATION}"),
        fix: format!("kubectl annotate crd {crd} {RELEASED_ANNOTATION}-"),
    })
}

fn stored(seen: &KindStatus, kind: &str) -> Option<StatusFinding> {
    let others: Vec<&str> = seen.stored.iter().filter(|one| **one != seen.storage).map(String::as_str).collect();
    (!others.is_empty() && (seen.converted_by.is_some() || seen.one_schema)).then(|| StatusFinding {
        problem: format!("objects may still be stored as {}, not as {}", others.join(", "), seen.storage),
        fix: format!("pointsman migrate {kind}"),
    })
}

/// Objects that refer to an unserved version: the API server cannot compute their field ownership.
fn named(seen: &KindStatus, kind: &str) -> Vec<StatusFinding> {
    let is_unused = |version: &&String| !seen.served.contains(version) && !seen.stored.contains(version);
    let managed = seen.objects.named.managed.iter().filter(|(version, _)| is_unused(version));
    let mut found: Vec<StatusFinding> = managed
        .map(|(version, count)| StatusFinding {
            problem: format!(
                "managedFields of {count} objects name {version}, which is not served: server-side apply of \
                     these objects fails, and other writes may drop field ownership"
            ),
            fix: format!("pointsman migrate {kind} --forget {version}"),
        })
        .collect();
    let applied = seen.objects.named.applied.iter().filter(|(version, _)| is_unused(version));
    let owned = seen.objects.named.owned.iter().filter(|(version, _)| is_unused(version));
    found.extend(owned.map(|(version, count)| StatusFinding {
        problem: format!(
            "owner references of {count} objects name {version}, which is not served: the garbage collector keeps these \
             objects after their owner"
        ),
        fix: format!("pointsman migrate {kind} --forget {version}"),
    }));
    found.extend(applied.map(|(version, count)| StatusFinding {
        problem: format!(
            "the last-applied annotation of {count} objects names {version}, which is not served: kubectl apply keeps \
             renamed fields that left the manifest"
        ),
        fix: format!("pointsman migrate {kind} --forget {version}"),
    }));
    found
}

/// Faults of the bundle for the conversion server.
fn trust(seen: &KindStatus, kind: &str) -> Vec<StatusFinding> {
    let fix = match seen.bundle.iter().any(BundleFault::is_unusable) {
        true => format!("docs/rotate.md; then pointsman enable {kind} --ca-file FILE …"),
        false => "pointsman rotate-ca --ca-file FILE …: docs/rotate.md".to_owned(),
    };
    let faults = seen.bundle.iter().map(|fault| StatusFinding { problem: fault.to_string(), fix: fix.clone() });
    faults.collect()
}

fn answers(seen: &KindStatus, kind: &str, now: u64) -> Vec<StatusFinding> {
    let mut found = Vec::new();
    // A bundle fault is a finding of its own.
    let is_unusable = seen.authorities.is_empty() || seen.bundle.iter().any(BundleFault::is_unusable);
    let remedy =
        "kubectl get pods,endpointslices -l app.kubernetes.io/name=pointsman -A; docs/running.md, First checks";
    if let Some(reason) = seen.no_endpoints.as_ref().filter(|_| !is_unusable) {
        found.push(StatusFinding { problem: reason.clone(), fix: rights_or(reason, remedy) });
    }
    let certificates = format!("docs/rotate.md; pointsman enable {kind} --dry-run … tests every endpoint");
    for one in seen.endpoints.iter().filter(|one| one.reached) {
        let problem = match &one.certificate {
            Err(reason) => reason.clone(),
            Ok(end) => match end.days_left(now) {
                Some(days) if days >= LEAF => continue,
                Some(days) => format!("the certificate expires in {days} days, at {}", end.text),
                None => format!("the certificate has expired at {}", end.text),
            },
        };
        let problem = format!("{}: {problem}", one.endpoint);
        found.push(StatusFinding { problem, fix: certificates.clone() });
    }
    found
}

/// The remedy of a failed call.
fn rights_or(message: &str, otherwise: &str) -> String {
    if is_about_rights(message) { RIGHTS.to_owned() } else { otherwise.to_owned() }
}

/// Days: same as in the alert.
const LEAF: u64 = 7;

/// Differences listed in one finding.
const SHOWN: usize = 5;

#[cfg(test)]
mod tests {
    use super::super::certificate_end::CertificateEnd;
    use super::super::kind_status::EndpointStatus;
    use super::*;

    const NOW: u64 = 1_000_000_000;

    fn end(days: i64) -> CertificateEnd {
        let seconds = NOW.saturating_add_signed(days * 86_400 + 60);
        CertificateEnd { seconds, text: format!("day {days}") }
    }

    fn fine() -> KindStatus {
        let versions = vec!["v1".to_owned(), "v2".to_owned()];
        KindStatus {
            crd: "ws.e.com".to_owned(),
            converted_by: Some("Service n/s:443/convert".to_owned()),
            served: versions,
            storage: "v2".to_owned(),
            stored: vec!["v2".to_owned()],
            authorities: vec![end(3000)],
            endpoints: vec![EndpointStatus { endpoint: "h:1".to_owned(), certificate: Ok(end(60)), reached: true }],
            ..KindStatus::default()
        }
    }

    fn problems(change: impl Fn(&mut KindStatus)) -> Vec<String> {
        let mut seen = fine();
        change(&mut seen);
        findings(&seen, "w", NOW).into_iter().map(|one| format!("{} -> {}", one.problem, one.fix)).collect()
    }

    #[track_caller]
    fn one(words: [&str; 2], change: impl Fn(&mut KindStatus)) {
        let found = problems(change);
        assert_eq!(found.len(), 1, "{found:?}");
        words.iter().for_each(|word| assert!(found[0].contains(word), "{word}: {found:?}"));
    }

    #[test]
    fn healthy_state_has_no_finding() {
        assert_eq!(problems(|_| {}), [""; 0]);
        // Pods are unreachable from a laptop.
        let unreached = |seen: &mut KindStatus| {
            seen.endpoints[0].reached = false;
            seen.endpoints[0].certificate = Err("no route".to_owned());
        };
        assert_eq!(problems(unreached), [""; 0]);
    }

    #[test]
    fn each_finding_names_its_fix() {
        one(["no conversion webhook, with v1, v2 served", "pointsman enable w --service"], |seen| {
            (seen.converted_by, seen.endpoints, seen.authorities) = (None, Vec::new(), Vec::new());
        });
        one(["managedFields of 2 objects name v0", "pointsman migrate w --forget v0"], |seen| {
            seen.objects.named.managed = [("v0".to_owned(), 2), ("v1".to_owned(), 1)].into();
        });
        one(["owner references of 3 objects name v0", "--forget v0"], |seen| {
            seen.objects.named.owned = [("v0".to_owned(), 3)].into();
        });
        one(["last-applied annotation of 1 objects names v0", "--forget v0"], |seen| {
            seen.objects.named.applied = [("v0".to_owned(), 1)].into();
        });
        one(["still be stored as v1", "pointsman migrate w"], |seen| {
            (seen.converted_by, seen.endpoints, seen.authorities) = (None, Vec::new(), Vec::new());
            seen.one_schema = true;
            seen.stored.push("v1".to_owned());
        });
        one(["pointsman disable was interrupted", "run pointsman disable w"], |seen| {
            (seen.disabling, seen.endpoints, seen.authorities) = (true, Vec::new(), Vec::new());
        });
        one(["allows every change", "kubectl annotate crd ws.e.com pointsman.dev/released-"], |seen| {
            seen.released = true
        });
        one(["still be stored as v1", "pointsman migrate w"], |seen| seen.stored.push("v1".to_owned()));
        one(["v1 cannot be read: x509", "API server messages"], |seen| {
            seen.unread = [("v1".to_owned(), "x509".to_owned())].into();
        });
        one(["v1 cannot be read: ws is forbidden: User", "lists the ClusterRole"], |seen| {
            let problems = "ws is forbidden: User \"u\" cannot list resource \"ws\"";
            seen.unread = [("v1".to_owned(), problems.to_owned())].into();
        });
        one(["expires in 29 days, at day 29", "pointsman rotate-ca --ca-file"], |seen| {
            seen.bundle = vec![BundleFault::Expires { days: 29, end: "day 29".to_owned() }];
        });
        one(["has no caBundle", "pointsman enable w --ca-file"], |seen| {
            (seen.authorities, seen.bundle) = (Vec::new(), vec![BundleFault::Missing]);
        });
        one(["no ready endpoint", "First checks"], |seen| {
            seen.no_endpoints = Some("no ready endpoint".to_owned());
        });
        one(["h:1: the certificate expires in 6 days", "docs/rotate.md"], |seen| {
            seen.endpoints[0].certificate = Ok(end(6));
        });
        one(["h:1: TLS as s: UnknownIssuer", "pointsman enable w --dry-run"], |seen| {
            seen.endpoints[0].certificate = Err("TLS as s: UnknownIssuer".to_owned());
        });
        one(["a; b; c; d; e; and 1 more", "pointsman kinds check"], |seen| {
            seen.drift = ["a", "b", "c", "d", "e", "f"].map(str::to_owned).to_vec();
        });
    }
}
