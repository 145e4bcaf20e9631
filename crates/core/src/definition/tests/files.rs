use super::expect::{HEAD, SAME, check, crd, problems_of};
use crate::definition::kind::Kind;

#[test]
fn disconnected_steps_are_refused() {
    let same = crd(SAME, SAME);
    let steps = |steps: &str| problems_of(&format!("{HEAD}steps:\n{steps}"), &same);
    check(steps("- {from: v1, to: v3}\n"), r#"thing.yaml:5: the CRD has no version "v3"; known versions: v1, v2"#);
    check(
        steps("- {from: v1, to: v2}\n- {from: v1, to: v2}\n"),
        r#"thing.yaml:6: this step starts at "v1", but the previous step ends at "v2""#,
    );
    check(
        steps("- {from: v1, to: v2}\n- {from: v2, to: v1}\n"),
        r#"thing.yaml:6: version "v1" occurs twice: list steps from oldest to newest"#,
    );
    check(
        steps("- {from: v1, to: v1}\n"),
        r#"thing.yaml:5: version "v1" occurs twice: list steps from oldest to newest"#,
    );
    check(
        problems_of(HEAD, &same),
        r#"thing.yaml: no step leads to version "v1" of the CRD: add a step, without operations if the schemas are equal"#,
    );
}

#[test]
fn the_file_and_its_crd() {
    let same = crd(SAME, SAME);
    let fine = format!("{HEAD}steps:\n- {{from: v1, to: v2}}\n");
    check(
        problems_of(&fine.replace("pointsman.dev/v1", "pointsman.dev/v2"), &same),
        r#"thing.yaml:1: apiVersion is "pointsman.dev/v2", this build reads "pointsman.dev/v1""#,
    );
    check(
        problems_of(&fine.replace("KindDefinition", "KindDefiniton"), &same),
        r#"thing.yaml:2: kind is "KindDefiniton", this build reads "KindDefinition""#,
    );
    check(
        problems_of(&same, &same),
        r#"thing.yaml:2: kind is "CustomResourceDefinition", this build reads "KindDefinition""#,
    );
    check(
        problems_of("", &same),
        "thing.yaml: is empty: begin with `apiVersion: pointsman.dev/v1` and `kind: KindDefinition`",
    );
    check(
        problems_of("a: []", &same),
        r#"thing.yaml:1: unknown key "a". Known names: apiVersion, kind, name, crd, strict, steps, rolloutHash, rolloutStatus, admission, health, checks, replaces, workflows"#,
    );
    check(problems_of("a: [", &same), "thing.yaml:1: unclosed bracket '['");
    check(problems_of(&fine.replace("crd: things.yaml\n", ""), &same), "thing.yaml:3: the key \"crd\" is missing");
    let missing = Kind::load("thing.yaml", &fine, &mut |_| std::fs::read_to_string("/there/is/none")).unwrap_err();
    check(
        missing.to_string(),
        r#"thing.yaml:3: crd: cannot read "things.yaml": No such file or directory (os error 2)"#,
    );
    check(
        problems_of(&fine, "kind: Deployment\nspec: {}\n"),
        "thing.yaml:3: crd: things.yaml is not a CustomResourceDefinition",
    );
    check(problems_of(&fine, "kind: [\n"), "thing.yaml:3: crd: things.yaml:1: unclosed bracket '['");
    check(
        problems_of(&fine, &same.replace("openAPIV3Schema", "openAPIV2Schema")),
        "thing.yaml:3: crd: version v1 has no schema.openAPIV3Schema to check the definition by",
    );
    check(
        problems_of(&fine, &same.replace("storage: true", "storage: false")),
        "thing.yaml:3: crd: exactly one version must have storage: true",
    );
}

#[test]
fn files_with_more_than_one_document() {
    let same = crd(SAME, SAME);
    let fine = format!("{HEAD}steps:\n- {{from: v1, to: v2}}\n");
    check(problems_of(&format!("{fine}---\n"), &format!("kind: Namespace\n---\n{same}---\n")), "fine");
    check(problems_of("# nothing yet\n", &same), &problems_of("", &same));
    check(
        problems_of(&format!("{fine}---\n{fine}"), &same),
        "thing.yaml:7: the file has another document here, but may hold only one definition",
    );
    check(problems_of(&format!("{fine}crd: b.yaml\n"), &same), "thing.yaml:6: the key \"crd\" occurs twice");
    check(problems_of("- a\n", &same), "thing.yaml:1: expected a map: `key: value`");
    check(
        problems_of(&format!("{HEAD}steps: {{from: v1}}\n"), &same),
        "thing.yaml:4: expected a list: begin each entry with `- `",
    );
    check(
        problems_of(&fine, &format!("{same}---\n{same}")),
        "thing.yaml:3: crd: things.yaml has several CRDs (things.example.com, things.example.com): move the CRD of this kind to its own file",
    );
    check(problems_of(&fine, &same.replace("name: v2", "name: v1")), "thing.yaml:3: crd: version v1 occurs twice");
}

#[test]
fn invalid_default_is_refused() {
    let told = |spec: &str| {
        let spec = format!("properties: {{{spec}}}");
        problems_of(&format!("{HEAD}steps:\n- {{from: v1, to: v2}}\n"), &crd(&spec, &spec))
    };
    let both = |why: &str| {
        let line = |version: &str| {
            format!("thing.yaml:3: crd: version {version}: spec.{why}. The API server refuses such a CRD")
        };
        format!("{}\n{}", line("v1"), line("v2"))
    };
    let lacks = "set the field in the default, give the field a `default`, or remove the requirement";
    let days = "type: object, required: [days], properties: {days: {type: integer";
    check(
        told(&format!("a: {{default: {{}}, {days}}}}}}}")),
        &both(&format!("a cannot be {{}} by `default`: days is required there: {lacks}")),
    );
    check(told(&format!("a: {{default: {{days: 3}}, {days}}}}}}}")), "fine");
    check(told(&format!("a: {{default: {{}}, {days}, default: 3}}}}}}")), "fine");
    check(
        told(&format!("a: {{type: array, default: [{{}}], items: {{{days}}}}}}}}}")),
        &both(&format!("a cannot be [{{}}] by `default`: [*].days is required there: {lacks}")),
    );
    check(
        told("a: {type: array, items: {type: object, properties: {n: {type: integer, default: x}}}}"),
        &both("a[*].n cannot be \"x\" by `default`: the schema refuses this value: change the default or the schema"),
    );
}

#[test]
fn crds_that_no_api_server_takes() {
    let definition = format!("{HEAD}steps:\n- {{from: v1, to: v2}}\n");
    let spec = |of: &str| format!("properties: {{a: {{type: {of}}}}}");
    let told = problems_of(&definition, &crd(&spec("integr"), &spec("string")));
    assert!(
        told.starts_with(
            "thing.yaml:3: crd: version v1: spec.a is of type \"integr\", which does not exist, did you mean \"integer\"? Known types: array, boolean, integer, number, object, string. The API server refuses such a CRD"
        ),
        "{told}"
    );
    let same = crd(SAME, SAME);
    for (right, slip, wrong) in [
        ("name: things.e", "name: thing.e", "metadata.name is \"thing.example.com\", and has to be things.example.com"),
        (
            "k8s.io/v1",
            "k8s.io/v1beta1",
            "apiVersion is \"apiextensions.k8s.io/v1beta1\", and has to be apiextensions.k8s.io/v1",
        ),
        ("group:", "scope: namespaced\n  group:", "spec.scope is \"namespaced\", and has to be Namespaced or Cluster"),
    ] {
        let told = problems_of(&definition, &same.replacen(right, slip, 1));
        check(told, &format!("thing.yaml:3: crd: things.yaml: {wrong}. The API server refuses such a CRD"));
    }
    let ghost = "required: [ghost], properties: {a: {type: string}}";
    let told = problems_of(&definition, &crd(ghost, ghost));
    assert!(told.contains("spec.ghost is required but not defined"), "{told}");
}

#[test]
fn list_keys_that_no_item_has() {
    let spec = |keys: &str| {
        format!(
            "properties: {{a: {{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: {keys}, \
             items: {{type: object, required: [owner], properties: {{owner: {{type: string}}}}}}}}}}"
        )
    };
    let (named, unnamed) = (spec("[owner]"), spec("[owner, name]"));
    let told =
        |older: &str, newer: &str| problems_of(&format!("{HEAD}steps:\n- {{from: v1, to: v2}}\n"), &crd(older, newer));
    let wrong = "thing.yaml:3: crd: version v2: spec.a has \"name\" among its `x-kubernetes-list-map-keys`, but its items define no such property: name properties that identify items. The API server refuses such a CRD";
    assert!(told(&named, &unnamed).starts_with(wrong), "{}", told(&named, &unnamed));
    check(told(&named, &named), "fine");
}

#[test]
fn empty_hash_is_refused() {
    let rollout = "rolloutHash: {of: spec, at: v2, except: [spec]}\n";
    check(
        problems_of(&format!("{HEAD}steps:\n- {{from: v1, to: v2}}\n{rollout}"), &crd(SAME, SAME)),
        "thing.yaml:6: rolloutHash.except: spec is not a field of spec at v2",
    );
}

#[test]
fn rollout_of_unknown_field_is_refused() {
    let same = crd(SAME, SAME);
    let rollout =
        |hash: &str| problems_of(&format!("{HEAD}steps:\n- {{from: v1, to: v2}}\nrolloutHash: {hash}\n"), &same);
    check(rollout("{of: spec, at: v2, except: [spec.replicas], defaults: {spec.image: a}, force: a/b}"), "fine");
    let recipe =
        Kind::from_crd(&format!("{HEAD}steps:\n- {{from: v1, to: v2}}\nrolloutHash: {{of: spec, at: v2}}\n"), &same);
    let recipe = recipe.unwrap().hash_recipe().unwrap().to_owned();
    check(rollout(&format!("{{of: spec, at: v2, recipe: {recipe:?}}}")), "fine");
    for (hash, digest) in [
        ("except: [spec.replicas]", "a75a65df6f6f"),
        ("defaults: {spec.image: a}", "2fbbb79fc095"),
        ("force: a/b", "f6685fe886eb"),
    ] {
        check(
            rollout(&format!("{{of: spec, at: v2, {hash}, recipe: {recipe:?}}}")),
            &format!(
                "thing.yaml:6: rolloutHash.recipe: {recipe:?} does not match this recipe: hashes may change, which starts rollouts. To accept this, write {digest:?}"
            ),
        );
    }
    check(
        rollout("{of: spec, at: v3}"),
        r#"thing.yaml:6: rolloutHash.at: the CRD has no version "v3"; known versions: v1, v2"#,
    );
    check(
        rollout("{of: sepc, at: v2}"),
        r#"thing.yaml:6: rolloutHash.of: v2 has no field "sepc", did you mean "spec"?"#,
    );
    check(
        rollout("{of: spec, at: v2, except: [spec.relpicas]}"),
        r#"thing.yaml:6: rolloutHash.except: spec.relpicas is not a field of spec at v2, did you mean "replicas"?"#,
    );
    check(
        rollout("{of: spec, at: v2, except: [status.done]}"),
        "thing.yaml:6: rolloutHash.except: status.done is not a field of spec at v2",
    );
    check(
        rollout("{of: spec, at: v2, defaults: {spec.imgae: a}}"),
        r#"thing.yaml:6: rolloutHash.defaults: spec.imgae is not a field directly in spec at v2, did you mean "image"?"#,
    );
    check(
        rollout("{of: spec, at: v2, defaults: {spec.replicas: many}}"),
        r#"thing.yaml:6: rolloutHash.defaults: spec.replicas cannot be "many" at v2"#,
    );
    let status = |status: &str| {
        problems_of(
            &format!(
                "{HEAD}steps:\n- {{from: v1, to: v2}}\nrolloutHash: {{of: spec, at: v2}}\nrolloutStatus: {status}\n"
            ),
            &same,
        )
    };
    check(
        status(
            "{hashes: {requested: status.wanted, completed: status.done}, requests: {requested: spec.image, completed: status.dnoe}, reasons: {in: status.conditions, promoting: Promoting}}",
        ),
        "thing.yaml:7: status.wanted: the older version has no \"wanted\" there, did you mean \"done\"?\nthing.yaml:7: status.wanted: the newer version has no \"wanted\" there, did you mean \"done\"?\nthing.yaml:7: status.conditions: the older version has no \"conditions\" there\nthing.yaml:7: status.conditions: the newer version has no \"conditions\" there\nthing.yaml:7: status.dnoe: the older version has no \"dnoe\" there, did you mean \"done\"?",
    );
}

#[test]
fn unquoted_path_is_quoted_in_hint() {
    let operation = "  - rename: {from: spec.a, to: spec.annotations[\"a/b\"]}\n";
    let definition = format!("{HEAD}steps:\n- from: v1\n  to: v2\n  operations:\n{operation}");
    let problems = problems_of(&definition, &crd(SAME, SAME));
    assert!(problems.contains(r#"quote the path in this mapping: 'spec.annotations["a/b"]'"#), "{problems}");
}
