use super::*;

const SERVER: [&str; 4] = ["--service", "ns/pointsman-{version}", "--cert-manager", "ns/serving"];

fn webhooks(args: &[&str]) -> Answer {
    pointsman(&[&["webhooks", "--kind", "materialize"], args, &SERVER].concat())
}

/// Documents in a file that exists as long as the first value.
fn file(text: &str) -> (tempfile::TempDir, String) {
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("documents.yaml");
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (directory, path)
}

#[test]
fn the_guard_never_shrinks_by_accident() {
    let error = webhooks(&["--controller-version", "2.17.0"]).refusal(2);
    assert!(error.contains("--served must name all served controller versions"), "{error}");
    assert!(error.contains("Add --served 2.17.0 if this is the only version, or --guard none"), "{error}");
    let error = webhooks(&["--controller-version", "2.17.0", "--served", "2.16.0"]).refusal(2);
    assert!(error.contains("--served does not include 2.17.0, registered in this command"), "{error}");
    let printed = webhooks(&["--controller-version", "2.17.0", "--guard", "none"]).data();
    assert!(!printed.contains("ValidatingAdmissionPolicy"));
    let printed = webhooks(&["--controller-version", "2.17.0", "--served", "2.16.0,2.17.0"]).data();
    assert!(printed.contains("[\"2.16.0\", \"2.17.0\"]"), "{printed}");
}

/// Documents that would refuse every creation are printed with a warning.
#[test]
fn unassigned_label_warns() {
    let said = |more: &[&str]| {
        let answer = webhooks(&[&["--controller-version", "2.17.0"], more].concat());
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        answer.stderr
    };
    let told = said(&["--served", "2.17.0"]);
    assert!(told.starts_with("warning: no --default: ") && told.contains("Add --default 2.17.0,"), "{told}");
    for more in
        [&["--served", "2.17.0", "--default", "2.17.0"][..], &["--guard", "none"], &["--served", "2.16.0,2.17.0"]]
    {
        assert_eq!(said(more), "", "{more:?}");
    }
}

#[test]
fn two_versions_never_share_a_server() {
    let one = ["--service", "ns/pointsman", "--cert-manager", "ns/serving"];
    let base = ["webhooks", "--kind", "materialize"];
    for versions in
        [&["--side-by-side", "2.16.0,2.17.0"][..], &["--controller-version", "2.17.0", "--served", "2.16.0,2.17.0"]]
    {
        let error = pointsman(&[&base, versions, &one].concat()).refusal(2);
        assert!(error.contains("each controller version has its own server: put {version} into --service"), "{error}");
    }
    let alone = ["--controller-version", "2.17.0", "--served", "2.17.0", "--default", "2.17.0"];
    pointsman(&[&base, &alone[..], &one].concat()).data();
}

#[test]
fn documents_are_unique_and_consistent() {
    let once = webhooks(&["--side-by-side", "2.16.0,2.17.0", "--served", "2.16.0,2.17.0"]).data();
    let twice = ["--side-by-side", "2.16.0,2.17.0,2.16.0", "--served", "2.16.0,2.16.0,2.17.0"];
    assert_eq!(webhooks(&twice).data(), once);
    let shadow = |more: &[&str]| webhooks(&[&["--controller-version", "2.17.0", "--shadow"], more].concat());
    assert_eq!(shadow(&["2.16.0,2.16.0", "--guard", "none"]).data(), shadow(&["2.16.0", "--guard", "none"]).data());
    let error = shadow(&["2.17.0", "--guard", "none"]).refusal(2);
    assert!(error.contains("--shadow 2.17.0: this server enforces its rules for these objects"), "{error}");
    let error = shadow(&["2.16.0", "--served", "2.17.0"]).refusal(2);
    assert!(
        error.contains("--served does not include 2.16.0, audited in this command: the guard would refuse the label"),
        "{error}"
    );
}

#[test]
fn comments_stand_where_they_belong() {
    let printed = webhooks(&["--side-by-side", "2.16.0,2.17.0"]).data();
    for document in printed.split("---\n") {
        let is_webhook =
            document.contains("kind: ValidatingWebhookConfiguration") || document.contains("kind: Mutating");
        assert_eq!(
            document.contains("# While no replica answers, writes of this kind are refused"),
            is_webhook,
            "{document}"
        );
        let is_policy = document.contains("kind: ValidatingAdmissionPolicy\n");
        assert_eq!(document.contains("# The API server evaluates the policy"), is_policy, "{document}");
    }
}

#[test]
fn printed_documents_pass_edited_fail() {
    let printed = webhooks(&["--side-by-side", "2.16.0,2.17.0", "--default", "2.16.0"]).data();
    let (_directory, path) = file(&printed);
    assert_eq!(pointsman(&["webhooks", "doctor", "-f", &path]).data(), "OK: no findings\n");
    // The same check, by both commands.
    assert_eq!(pointsman(&["doctor", "-f", &path]).data(), "OK: no findings\n");
    let (_directory, path) = file(&printed.replacen("failurePolicy: Fail", "failurePolicy: Ignore", 1));
    let answer = pointsman(&["webhooks", "doctor", "-f", &path]);
    assert_eq!((answer.code, answer.stderr.as_str()), (1, ""));
    assert_eq!(
        answer.stdout,
        "BLOCKED: 1 finding\nMutatingWebhookConfiguration pointsman-v2-16-0.materializes.materialize.cloud: while the server is down, writes pass \
         unjudged\n  webhooks[0].failurePolicy: Fail\n"
    );
    let server = ["--controller-version", "2.16.0", "--served-versions", "2.16.0,2.17.0"];
    let answer = pointsman(&[&["webhooks", "doctor", "-o", "json", "-f", &path], &server[..]].concat());
    let all = json(&answer.stdout);
    let changes: Vec<&str> =
        all["items"].as_array().unwrap().iter().map(|one| one["change"].as_str().unwrap()).collect();
    assert_eq!(changes, ["webhooks[0].failurePolicy: Fail", "start the server with --default-version"]);
}

#[test]
fn unused_version_can_retire() {
    let label = |version: &str| {
        let plain = read("manifests/examples/v1alpha2.yaml");
        let label = format!("metadata:\n  labels: {{materialize.cloud/controller-version: {version}}}\n");
        plain.replacen("metadata:\n", &label, 1)
    };
    let retire = |objects: &str, more: &[&str]| {
        let args =
            ["webhooks", "retire", "2.16.0", "--kind", "materialize", "--served", "2.17.0", "--default", "2.17.0"];
        with_stdin(&[&args, &SERVER[..], more].concat(), objects.as_bytes())
    };
    let still = retire(&label("2.16.0"), &[]).refusal(1);
    assert!(
        still.contains("materialize-environment/production: materialize.cloud/controller-version is still 2.16.0"),
        "{still}"
    );
    assert!(still.ends_with("1 of 1 objects have the label 2.16.0; no webhook was printed\n"), "{still}");
    let good = retire(&label("2.17.0"), &[]);
    assert_eq!((good.code, good.stderr.as_str()), (0, "none of 1 objects has the label 2.16.0\n"));
    let steps: Vec<&str> = good.stdout.lines().filter(|line| line.starts_with("# Step")).collect();
    assert_eq!(steps.len(), 3, "{steps:?}");
    assert!(
        steps[0]
            .starts_with("# Step 1 of 3: kubectl apply. After this step, objects without a label belong to 2.17.0;")
    );
    assert!(steps[2].starts_with("# Step 3 of 3: kubectl delete. "), "{steps:?}");
    let last = retire(&label("2.17.0"), &["--step", "3"]).data();
    assert!(last.contains("name: pointsman-v2-16-0.materializes.materialize.cloud") && !last.contains('#'), "{last}");
    assert!(retire(&label("2.17.0"), &["--step", "4"]).refusal(2).contains("valid steps are 1 to 3"));
    // Without checked objects, absence of the label is unknown.
    for nothing in ["", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"] {
        assert!(retire(nothing, &[]).refusal(1).starts_with("error: "), "{nothing}");
    }
    let none = retire("apiVersion: v1\nkind: List\nitems: []\n", &[]);
    assert_eq!((none.code, none.stderr.as_str()), (0, "none of 0 objects has the label 2.16.0\n"));
    let warned = retire(&label("2.17.0"), &["--guard", "warn"]).stdout;
    assert!(warned.contains("are warned, but not refused") && warned.contains("not validated"), "{warned}");
}

/// The webhook of an operator on stdin, for two of its versions.
const OVERLAY: [&str; 9] = [
    "webhooks",
    "overlay",
    "-",
    "--kinds",
    ELASTICSEARCH,
    "--kind",
    "elasticsearch",
    "--side-by-side",
    "2.16.0,2.17.0",
];

#[test]
fn an_operators_webhook_is_laid_over() {
    let own = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: elastic}\n\
               webhooks:\n- name: es.elastic.co\n  clientConfig: {service: {namespace: elastic, name: webhook, path: /es}}\n  rules:\n  \
               - {apiGroups: [elasticsearch.k8s.elastic.co], apiVersions: [v1], operations: [CREATE], resources: [elasticsearches]}\n";
    let error = with_stdin(&OVERLAY, own.as_bytes()).refusal(2);
    assert!(error.contains("each version of the operator has its own webhook"), "{error}");
    let laid = with_stdin(&[&OVERLAY[..], &["--service", "elastic/webhook-{version}"]].concat(), own.as_bytes());
    assert_eq!(laid.code, 0, "{}", laid.stderr);
    assert_eq!(laid.stderr, "elastic: delete this after you apply the printed configuration\n");
    for told in ["name: elastic-v2-16-0", "name: elastic-v2-17-0", "name: webhook-2-17-0", "path: /es"] {
        assert!(laid.stdout.contains(told), "{told}: {}", laid.stdout);
    }
    assert!(!laid.stdout.contains('#'), "what we say of our own webhooks is not true of others: {}", laid.stdout);
    let error = with_stdin(&OVERLAY, b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n");
    assert_eq!(error.code, 2, "the flags come first: {}", error.stderr);
}

#[test]
fn invalid_service_names_are_refused() {
    let printed = |service: &str, versions: &str| {
        let args = ["webhooks", "--kind", "materialize", "--side-by-side", versions, "--cert-manager", "ns/serving"];
        pointsman(&[&args[..], &["--service", service]].concat())
    };
    let error = printed("ns/p.q-{version}", "2.16.0,2.17.0").refusal(2);
    assert!(error.contains("\"p.q-{version}\"") && error.contains("is no name of a Service"), "{error}");
    assert!(printed("ns/{version}-p", "v2.16.0,2.17.0").refusal(2).contains("\"2-17-0-p\" (8 characters) is no name"));
    let long = format!("2.17.0-{}", "x".repeat(50));
    let error = printed("ns/pointsman-{version}", &format!("2.16.0,{long}")).refusal(2);
    assert!(error.contains(&format!("--service, for {long}: ")) && error.contains("(68 characters)"), "{error}");
    assert!(printed("n.s/p-{version}", "2.16.0").refusal(2).contains("write namespace/name"));
    printed("ns/p-{version}", &format!("2.16.0,{long}")).data();
    let args = ["crd", "--kind", "materialize", "--cert-manager", "a/b.c", "--service"];
    assert!(pointsman(&[&args[..], &["ns/p.q"]].concat()).refusal(2).contains("is no name of a Service"));
    pointsman(&[&args[..], &["ns/p-q"]].concat()).data();
    let url = |host: &str| {
        let args =
            ["webhooks", "--kind", "materialize", "--side-by-side", "2.16.0,2.17.0", "--cert-manager", "ns/serving"];
        pointsman(&[&args[..], &["--url", host]].concat())
    };
    url("https://[::1]:8443/{version}").data();
    let long = format!("https://{}-{{version}}.example", "x".repeat(60));
    assert!(url(&long).refusal(2).contains("is not a valid host name"), "{long}");
    let own = read("manifests/examples/webhooks/elastic.yaml");
    let error = with_stdin(&[&OVERLAY[..], &["--service", "elastic/{version}"]].concat(), own.as_bytes()).refusal(2);
    assert!(error.contains("--service, for 2.16.0: \"2-16-0\""), "{error}");
}

#[test]
fn registration_names_default_owner() {
    let registered =
        |versions: &str, default: &[&str]| webhooks(&[&["--side-by-side", versions], default].concat()).data();
    let objects = "apiVersion: v1\nkind: List\nitems: []\n";
    let retire = |registered: &str, args: &[&str]| {
        let base = ["webhooks", "retire", "2.16.0", "--kind", "materialize"];
        with_stdin(&[&base, &SERVER[..], args].concat(), format!("{objects}---\n{registered}").as_bytes())
    };
    let default_of = |answer: Answer| {
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        let text = answer.stdout;
        let begins = text.lines().next().unwrap().to_owned();
        begins
            .split("After this step, objects without a label belong to ")
            .nth(1)
            .map(|rest| rest.split(';').next().unwrap().to_owned())
    };
    let both = registered("2.16.0,2.17.0", &["--default", "2.16.0"]);
    // One version is removed, and another one remains.
    assert_eq!(default_of(retire(&both, &["--served", "2.17.0"])).as_deref(), Some("2.17.0"));
    assert_eq!(default_of(retire(&both, &["--served", "2.17.0", "--default", "2.17.0"])).as_deref(), Some("2.17.0"));
    // Several versions remain.
    let three = registered("2.16.0,2.17.0,2.18.0", &["--default", "2.16.0"]);
    let error = retire(&three, &["--served", "2.17.0,2.18.0"]).refusal(2);
    assert!(
        error.contains("objects without a label belong to 2.16.0: name their new version with --default"),
        "{error}"
    );
    let said = retire(&three, &["--served", "2.17.0,2.18.0", "--default", "2.18.0"]);
    assert_eq!(default_of(said).as_deref(), Some("2.18.0"));
    let error = retire(&three, &["--served", "2.17.0", "--default", "2.17.0"]).refusal(2);
    assert!(error.contains("--served does not include the registered version 2.18.0"), "{error}");
    // A remaining version owns the objects without a label.
    let stays = registered("2.16.0,2.17.0,2.18.0", &["--default", "2.17.0"]);
    let error = retire(&stays, &["--served", "2.17.0,2.18.0", "--default", "2.18.0"]).refusal(2);
    assert!(error.contains("--default 2.18.0: objects without a label belong to 2.17.0, which stays"), "{error}");
    assert_eq!(default_of(retire(&stays, &["--served", "2.17.0,2.18.0"])).as_deref(), Some("2.17.0"));
    // No version owns objects without a label.
    let nobody = registered("2.16.0,2.17.0", &[]);
    let error = retire(&nobody, &["--served", "2.17.0", "--default", "2.17.0"]).refusal(2);
    assert!(error.contains("no registered webhook receives objects without a label"), "{error}");
    assert_eq!(default_of(retire(&nobody, &["--served", "2.17.0"])), None);
    // The version of that server is unknown.
    let unclear = both.replacen("name: pointsman-2-16-0\n", "name: another\n", 2);
    let error = retire(&unclear, &["--served", "2.17.0"]).refusal(2);
    assert!(error.contains("is not clear from the registered webhooks"), "{error}");
    // The configurations contain no objects.
    let args = ["webhooks", "retire", "2.16.0", "--kind", "materialize", "--served", "2.17.0"];
    let error = with_stdin(&[&args, &SERVER[..]].concat(), both.as_bytes()).refusal(1);
    assert!(error.contains("so the label cannot be checked"), "{error}");
}

#[test]
fn unreadable_label_is_not_absent() {
    let retire = |metadata: &str| {
        let object = format!("apiVersion: materialize.cloud/v1alpha2\nkind: Materialize\nmetadata: {metadata}\n");
        let base = ["webhooks", "retire", "2.16", "--kind", "materialize", "--served", "2.17.0"];
        with_stdin(&[&base, &SERVER[..]].concat(), object.as_bytes())
    };
    let key = "materialize.cloud/controller-version";
    for bad in [&format!("{{name: a, labels: {{{key}: 2.16}}}}"), "{name: a, labels: [x]}", "{name: a, labels: x}", "x"]
    {
        let error = retire(bad).refusal(1);
        assert!(error.contains(&format!("label {key} cannot be read")), "{bad}: {error}");
    }
    assert!(retire(&format!("{{name: a, labels: {{{key}: \"2.16\"}}}}")).refusal(1).contains("is still 2.16"));
    for none in [&format!("{{name: a, labels: {{{key}: null}}}}"), "{name: a, labels: null}", "null", "{name: a}"] {
        assert_eq!(retire(none).code, 0, "{none}");
    }
}

#[test]
fn doctor_needs_input_for_success() {
    let doctor = |text: &str, more: &[&str]| with_stdin(&[&["webhooks", "doctor"], more].concat(), text.as_bytes());
    assert!(doctor("", &[]).refusal(1).contains("contains no object"));
    assert!(doctor("Error from server (Forbidden)\n", &[]).refusal(1).contains("not an object"));
    assert!(doctor("items: []\n", &[]).refusal(1).contains("no apiVersion"));
    let nothing = "apiVersion: v1\nkind: List\nitems: []\n";
    assert!(doctor(nothing, &[]).refusal(1).contains("cannot check stdin"));
    assert_eq!(doctor(nothing, &["--controller-version", "2.17.0"]).code, 1);
    // Nested lists, and names with control characters.
    let printed = webhooks(&["--side-by-side", "2.16.0,2.17.0", "-o", "json"]).data();
    let inner = json(&printed);
    let outer = |inner: &Value| serde_json::json!({"apiVersion": "v1", "kind": "List", "items": [inner]}).to_string();
    assert_eq!(doctor(&outer(&inner), &[]).data(), "OK: no findings\n");
    let mut bad = inner;
    bad["items"][0]["webhooks"][0]["failurePolicy"] = Value::from("Ignore");
    bad["items"][0]["metadata"]["name"] = Value::from("pointsman-\u{1b}[31m\nx");
    let answer = doctor(&outer(&bad), &[]);
    assert!(answer.code == 1 && answer.stdout.contains("\\u{1b}[31m\\nx"), "{}", answer.stdout);
    assert!(!answer.stdout.contains('\u{1b}'), "{}", answer.stdout);
    // Intended for the present.
    let warns = webhooks(&["--side-by-side", "2.16.0,2.17.0", "--guard", "warn"]).data();
    assert!(doctor(&warns, &[]).stdout.contains("the policy does Warn only"));
    assert_eq!(doctor(&warns, &["--enforcement", "warn"]).data(), "OK: no findings\n");
}

/// Each operator has its own versions, and a cluster runs several operators.
#[test]
fn server_is_compared_with_own_operator() {
    let more = [
        "webhooks",
        "--kinds",
        ELASTICSEARCH,
        "--kind",
        "elasticsearch",
        "--side-by-side",
        "8.1.0,9.0.0",
        "--default",
        "8.1.0",
    ];
    let others = pointsman(&[&more[..], &SERVER[..]].concat()).data();
    let both = format!("{}---\n{others}", webhooks(&["--side-by-side", "2.16.0,2.17.0"]).data());
    let doctor = |version: &str, served: &str, more: &[&str]| {
        let args = [
            "webhooks",
            "doctor",
            "--kinds",
            ELASTICSEARCH,
            "--controller-version",
            version,
            "--served-versions",
            served,
        ];
        with_stdin(&[&args, more].concat(), both.as_bytes())
    };
    assert_eq!(doctor("2.17.0", "2.16.0,2.17.0", &[]).data(), "OK: no findings\n");
    assert_eq!(doctor("8.1.0", "8.1.0,9.0.0", &["--default-version"]).data(), "OK: no findings\n");
    // A version without an operator, or shared by both operators, is compared with all.
    let nobody = doctor("2.18.0", "2.16.0,2.17.0", &[]);
    assert_eq!(
        (nobody.code, nobody.stdout.matches("the server gets no requests").count()),
        (1, 2),
        "{}",
        nobody.stdout
    );
    let common = doctor("2.17.0", "2.16.0,2.17.0,9.0.0", &[]);
    assert_eq!(
        (common.code, common.stdout.matches("the server gets no requests").count()),
        (1, 1),
        "{}",
        common.stdout
    );
}

#[test]
fn policy_keeps_promotion_state() {
    let policy = |more: &[&str]| pointsman(&[&["webhooks", "policy", "--kind"], more].concat());
    let printed = policy(&["materialize"]).data();
    assert_eq!(printed.matches("name: pointsman-promoting.materializes.materialize.cloud\n").count(), 2, "{printed}");
    assert!(printed.contains("# A client of an older version may not have"), "{printed}");
    let others = webhooks(&["--controller-version", "2.17.0", "--served", "2.17.0", "--default", "2.17.0"]).data();
    let (_directory, path) = file(&format!("{others}---\n{printed}"));
    assert_eq!(pointsman(&["webhooks", "doctor", "-f", &path]).data(), "OK: no findings\n");
    let (_directory, path) =
        file(&format!("{others}---\n{}", printed.replace("matchPolicy: Exact", "matchPolicy: Equivalent")));
    let found = pointsman(&["webhooks", "doctor", "-f", &path]);
    assert!(found.code == 1 && found.stdout.contains("pointsman-promoting.materializes"), "{}", found.stdout);
    let warns = json(&policy(&["materialize", "--guard", "warn", "-o", "json"]).data());
    assert_eq!(warns["items"][1]["spec"]["validationActions"], serde_json::json!(["Warn"]));
    let error = policy(&["elasticsearch", "--kinds", ELASTICSEARCH]).refusal(1);
    assert!(error.contains("the definition of elasticsearch has no rollout status"), "{error}");
    assert!(policy(&["materialize", "--guard", "none"]).refusal(2).contains("there is no policy to print"));
    policy(&["materialise"]).refusal(2);
}
