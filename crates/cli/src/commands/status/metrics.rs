//! The state of kinds as metrics in the Prometheus text format.
//!
//! `serve` has no access to a cluster, so these cannot be part of its own metrics. A CronJob, or a file for
//! node-exporter, provides them.

use pointsman_cluster::KindStatus;

use crate::commands::gauge::{MetricSample, gauge};

/// All metrics. `now` is in seconds since 1970.
pub(super) fn exposition(seen: &[KindStatus], now: u64) -> String {
    let mut text = String::new();
    let mut add = |name: &str, help: &str, samples| gauge(&mut text, name, help, samples);
    add("status_timestamp_seconds", "Time of the last check, in seconds since the epoch.", vec![(Vec::new(), now)]);
    add(
        "crd_drift",
        "Differences between the CRD in the cluster and the CRD of the definition.",
        each(seen, |one| vec![(Vec::new(), count(one.drift.len()))]),
    );
    add(
        "status_findings",
        "Findings of pointsman status: each needs a person.",
        each(seen, |one| vec![(Vec::new(), count(one.findings.len()))]),
    );
    add(
        "objects",
        "Objects of each controller version.",
        each(seen, |one| {
            let by_controller = one.objects.by_controller.iter();
            by_controller.map(|(version, count)| (vec![("controller_version", version.as_str())], *count)).collect()
        }),
    );
    add(
        "objects_kept",
        "Objects with an annotation of values that exist in only one version.",
        each(seen, |one| {
            one.objects.kept.iter().map(|(version, count)| (vec![("version", version.as_str())], *count)).collect()
        }),
    );
    add(
        "crd_stored_version",
        "Possible versions of stored objects; 1 for the storage version.",
        each(seen, |one| {
            let stored = one.stored.iter();
            stored.map(|version| (vec![("version", version.as_str())], u64::from(*version == one.storage))).collect()
        }),
    );
    add(
        "crd_authority_expiry_timestamp_seconds",
        "Expiry time of the last authority in the caBundle of the CRD.",
        each(seen, |one| {
            one.authorities.iter().map(|end| end.seconds).max().map(|end| (Vec::new(), end)).into_iter().collect()
        }),
    );
    add(
        "endpoint_expiry_timestamp_seconds",
        "Expiry time of the certificate of an endpoint.",
        each(seen, |one| {
            let ends =
                one.endpoints.iter().filter_map(|one| Some((one.endpoint.as_str(), one.certificate.as_ref().ok()?)));
            ends.map(|(endpoint, end)| (vec![("endpoint", endpoint)], end.seconds)).collect()
        }),
    );
    text
}

/// The samples of each kind, with the name of its CRD before the other labels.
fn each<'s>(
    seen: &'s [KindStatus],
    samples: impl Fn(&'s KindStatus) -> Vec<MetricSample<'s>>,
) -> Vec<MetricSample<'s>> {
    let of = |one: &'s KindStatus| {
        let named = samples(one).into_iter();
        named.map(|(labels, value)| ([vec![("crd", one.crd.as_str())], labels].concat(), value)).collect::<Vec<_>>()
    };
    seen.iter().flat_map(of).collect()
}

fn count(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use pointsman_cluster::{CertificateEnd, EndpointStatus, ObjectCounts};

    use super::*;

    #[test]
    fn every_figure_is_a_sample() {
        let end = |seconds| CertificateEnd { seconds, text: String::new() };
        let seen = KindStatus {
            crd: "widgets.example.com".to_owned(),
            storage: "v2".to_owned(),
            stored: vec!["v1".to_owned(), "v2".to_owned()],
            drift: vec!["a".to_owned(), "b".to_owned()],
            objects: ObjectCounts {
                by_controller: [(String::new(), 1), ("a\"\\\n".to_owned(), 6)].into(),
                kept: [("v1".to_owned(), 2)].into(),
                ..ObjectCounts::default()
            },
            authorities: vec![end(5), end(9)],
            endpoints: vec![
                EndpointStatus { endpoint: "h:1".to_owned(), certificate: Ok(end(7)), reached: true },
                EndpointStatus { endpoint: "h:2".to_owned(), certificate: Err("away".to_owned()), reached: false },
            ],
            ..KindStatus::default()
        };
        let text = exposition(&[seen], 100);
        let samples: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            samples,
            [
                "pointsman_status_timestamp_seconds 100",
                "pointsman_crd_drift{crd=\"widgets.example.com\"} 2",
                "pointsman_status_findings{crd=\"widgets.example.com\"} 0",
                "pointsman_objects{crd=\"widgets.example.com\",controller_version=\"\"} 1",
                "pointsman_objects{crd=\"widgets.example.com\",controller_version=\"a\\\"\\\\\\n\"} 6",
                "pointsman_objects_kept{crd=\"widgets.example.com\",version=\"v1\"} 2",
                "pointsman_crd_stored_version{crd=\"widgets.example.com\",version=\"v1\"} 0",
                "pointsman_crd_stored_version{crd=\"widgets.example.com\",version=\"v2\"} 1",
                "pointsman_crd_authority_expiry_timestamp_seconds{crd=\"widgets.example.com\"} 9",
                "pointsman_endpoint_expiry_timestamp_seconds{crd=\"widgets.example.com\",endpoint=\"h:1\"} 7",
            ]
        );
        assert_eq!(text.matches("# TYPE ").count(), 8, "{text}");
    }
}
