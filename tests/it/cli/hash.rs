use super::*;

const OLDER: &str = "manifests/examples/v1alpha1.yaml";
const NEWER: &str = "manifests/examples/v1alpha2.yaml";

#[test]
fn hashes_are_printed_with_names() {
    let golden = "3358d20d9f67dd63f079754b161fed7536447fab6b4f52e851e20634e6e24e87";
    let text = pointsman(&["hash", "-f", "tests/data/fixtures/v1alpha2-force-rollout.yaml"]).data();
    assert_eq!(text, format!("{golden}  materialize-environment/12345678-1234-1234-1234-123456789012\n"));
    let value = json(
        &pointsman(&["hash", "-f", "tests/data/fixtures/v1alpha2-force-rollout.yaml", "-o", "json", "--explain"])
            .data(),
    );
    assert_eq!((value["hash"].as_str(), value["recipe"].as_str()), (Some(golden), Some("1")));
    assert_eq!(value["force"], "a4b56cbb-a13e-4f95-8a9d-425c9ba28576");
    assert_eq!(value["fields"]["enableRbac"], false);
    assert_eq!(json(value["canonical"].as_str().unwrap()), value["fields"]);
    let same = yaml(
        &pointsman(&["hash", "-f", "tests/data/fixtures/v1alpha2-force-rollout.yaml", "-o", "yaml", "--explain"])
            .data(),
    );
    assert_eq!(same, value);
    let text = pointsman(&["hash", "-f", "tests/data/fixtures/v1alpha2-force-rollout.yaml", "--explain"]).data();
    assert!(text.contains("environmentdImageRef   \"materialize/environmentd:v26.12.0\""), "{text}");
}

#[test]
fn example_hashes_are_equal() {
    let answer = pointsman(&["hash", "diff", OLDER, NEWER]).data();
    assert!(answer.starts_with("same hash: "), "{answer}");
}

#[test]
fn hash_diff_names_each_field() {
    let other = read(NEWER)
        .replace("v26.12.0", "v26.13.0")
        .replace("team: data", "team: other")
        .replace("  namespace:", "  annotations: {materialize.cloud/force-rollout: now}\n  namespace:");
    let answer = with_stdin(&["hash", "diff", OLDER, "-"], other.as_bytes());
    assert_eq!((answer.code, answer.stderr.as_str()), (1, ""));
    let rows: Vec<Vec<&str>> = answer
        .stdout
        .lines()
        .skip(3)
        .map(|line| line.split("   ").filter(|cell| !cell.is_empty()).map(str::trim).collect())
        .collect();
    assert_eq!(
        rows,
        [
            vec!["(annotation to force a rollout)", "-", "\"now\""],
            vec![
                "environmentdImageRef",
                "\"materialize/environmentd:v26.12.0\"",
                "\"materialize/environmentd:v26.13.0\""
            ],
            vec!["podLabels.team", "\"data\"", "\"other\""],
        ]
    );
    let value = json(&with_stdin(&["hash", "diff", OLDER, "-", "-o", "json"], other.as_bytes()).stdout);
    assert_eq!(value["changes"][2]["field"], "podLabels.team");
    assert_eq!((value["changes"][2]["a"].as_str(), value["changes"][2]["b"].as_str()), (Some("data"), Some("other")));
}

#[test]
fn hash_diff_errors_have_exit_code() {
    assert!(pointsman(&["hash", "diff", OLDER, "gone.yaml"]).refusal(2).contains("gone.yaml"));
    assert!(pointsman(&["hash", "diff", "-", "-"]).refusal(2).contains("once"));
    let two = pointsman(&["hash", "diff", OLDER, "tests/data/captures/README.md"]).refusal(2);
    assert!(two.contains("README.md"), "{two}");
    let both = format!("{}---\n{}", read(OLDER), read(NEWER));
    let answer = with_stdin(&["hash", "diff", OLDER, "-"], both.as_bytes()).refusal(2);
    assert_eq!(answer, "error: stdin: expected one object, found 2\n");
}

#[test]
fn kinds_without_hash_are_reported() {
    let object = b"apiVersion: elasticsearch.k8s.elastic.co/v1\nkind: Elasticsearch\nmetadata: {name: es}\n";
    let answer = with_stdin(&["hash", "--kinds", ELASTICSEARCH], object).refusal(1);
    assert!(answer.starts_with("error: stdin: Elasticsearch es: Elasticsearch has no rollout hash"), "{answer}");
}

#[test]
fn stale_stamps_are_listed() {
    let plain = read("manifests/examples/v1alpha2.yaml");
    let hash = with_stdin(&["hash"], plain.as_bytes()).data()[..64].to_owned();
    let stamped = |stamp: &str| {
        let annotations = format!("metadata:\n  annotations: {{materialize.cloud/rollout-hash: {stamp}}}\n");
        plain.replacen("metadata:\n", &annotations, 1)
    };
    let right = stamped(&hash);
    assert_eq!(
        with_stdin(&["hash", "--stale"], right.as_bytes()).data(),
        "every stamp matches the hash of its object\n"
    );
    let all = [right, stamped("0123abcd"), plain.clone()].join("---\n");
    let answer = with_stdin(&["hash", "--stale"], all.as_bytes());
    assert_eq!((answer.code, answer.stderr.as_str()), (1, ""));
    let lines: Vec<Vec<&str>> = answer.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    let name = "materialize-environment/production";
    assert_eq!(lines, [["OBJECT", "STAMPED", "HASH"], [name, "0123abcd", &hash], [name, "none", &hash]]);
    let answer = with_stdin(&["hash", "--stale", "-o", "json"], all.as_bytes());
    assert_eq!(json(&answer.stdout)["items"][0]["stamped"], "0123abcd");
}

/// An annotation can be 256 KiB long, and any client can write one.
#[test]
fn longest_stamp_is_stale_and_truncated() {
    let stamp = "a".repeat(200_000);
    let plain = read("manifests/examples/v1alpha2.yaml");
    let stamped = plain.replacen(
        "metadata:\n",
        &format!("metadata:\n  annotations: {{materialize.cloud/rollout-hash: {stamp}}}\n"),
        1,
    );
    let answer = with_stdin(&["hash", "--stale"], stamped.as_bytes());
    assert_eq!((answer.code, answer.stderr.as_str()), (1, ""));
    assert!(answer.stdout.contains(&format!("{}…   ", "a".repeat(64))), "{}", answer.stdout);
    assert!(answer.stdout.lines().all(|line| line.chars().count() < 200));
}
