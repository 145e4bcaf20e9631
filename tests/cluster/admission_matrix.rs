//! Two controller versions in one cluster: who is asked about an object, and who refuses what.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::client::Answer;
use crate::support::sample::{ENGINE, Sample};
use crate::support::scene::Scene;
use crate::support::side_by_side::{A, B, C, MALFORMED, SideBySide, UNKNOWN, letter};

static ENGINES: [&Sample; 1] = [&ENGINE];

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("who_is_asked_about_a_label_and_who_refuses_it", matrix).of(&ENGINES),
    Scenario::new("an_object_is_judged_by_the_version_that_manages_it", judged)
        .of(&ENGINES)
        .newest(),
    Scenario::new("an_object_in_promotion_stays_where_it_is", promoting)
        .of(&ENGINES)
        .newest(),
    Scenario::new("a_controller_version_is_entered_on_its_path_only", path)
        .of(&ENGINES)
        .newest(),
    Scenario::new(
        "the_guard_holds_and_nobody_is_stuck_while_all_servers_are_down",
        down,
    )
    .of(&ENGINES)
    .newest(),
];

const LABELS: [Option<&str>; 5] = [None, Some(A), Some(B), Some(UNKNOWN), Some(MALFORMED)];

fn named(label: Option<&str>) -> &str {
    label.map_or("none", letter)
}

fn matrix(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.install(&scene.printed_crd(&["--storage", new]));
    // Labels that the guard would refuse are there before it is.
    for before in LABELS {
        for after in LABELS {
            for version in [old, new] {
                let name = name(version, "update", before, after);
                scene
                    .create(version, &scene.labelled(version, &name, before))
                    .ok();
            }
        }
        for version in [old, new] {
            let name = name(version, "delete", before, None);
            scene
                .create(version, &scene.labelled(version, &name, before))
                .ok();
        }
    }
    let servers = SideBySide::start(scene, &[A, B], &[]);
    servers.register("deny");
    for version in [old, new] {
        let table = table(scene, &servers, version);
        println!("{} at {version}\n{table}", scene.bed.plan.name);
        for (row, expected) in table.lines().zip(EXPECTED.lines()) {
            assert_eq!(row, expected, "at {version}");
        }
        assert_eq!(table.lines().count(), EXPECTED.lines().count());
    }
}

fn name(version: &str, verb: &str, before: Option<&str>, after: Option<&str>) -> String {
    format!("{verb}-{version}-{}-{}", named(before), named(after)).to_lowercase()
}

fn table(scene: &Scene<'_>, servers: &SideBySide<'_>, version: &str) -> String {
    let key = scene.label_key();
    let mut table = String::new();
    let mut row = |what: String, work: &dyn Fn() -> Answer| {
        let (answer, said) = servers.answered(work);
        let shown = match &answer.body {
            _ if !answer.is_ok() => short(&answer.message(), &key),
            body if body["kind"] == "Status" => "gone".to_owned(),
            body => letter(
                body["metadata"]["labels"][&key]
                    .as_str()
                    .unwrap_or_default(),
            )
            .to_owned(),
        };
        writeln!(table, "{what:29} {} {shown}", answer.code).unwrap();
        writeln!(table, "{:30}{said}", "").unwrap();
    };
    for after in LABELS {
        let object = scene.labelled(version, &name(version, "create", None, after), after);
        row(format!("create {}", named(after)), &|| {
            scene.create(version, &object)
        });
    }
    for before in LABELS {
        for after in LABELS {
            let name = name(version, "update", before, after);
            let patch = json!({"metadata": {"labels": {key.clone(): after}, "annotations": {"touched": "yes"}}});
            let what = format!("update {} to {}", named(before), named(after));
            row(what, &|| scene.patch(version, &name, &patch));
        }
    }
    for before in LABELS {
        let name = name(version, "delete", before, None);
        row(format!("delete {}", named(before)), &|| {
            scene.delete(version, &name)
        });
    }
    table
}

/// What matters of a message.
fn short(message: &str, key: &str) -> String {
    let said = message
        .split_once("denied request: ")
        .or(message.split_once("denied the request: "));
    said.map_or(message, |(_, said)| said).replace(key, "KEY")
}

const EXPECTED: &str = include_str!("../data/admission/matrix.txt");

fn judged(scene: &Scene<'_>) {
    let new = scene.sample.new;
    scene.install(&scene.printed_crd(&[]));
    let servers = SideBySide::start(scene, &[A, B], &[]);
    servers.register("deny");
    for version in [scene.sample.old, new] {
        let with = |name: &str, label: Option<&str>, power: i64| {
            let mut object = scene.labelled(version, &format!("{name}-{version}"), label);
            object["spec"]["power"] = json!(power);
            object
        };
        let patch =
            |name: &str, patch: &Value| scene.patch(version, &format!("{name}-{version}"), patch);
        let flip = |label: &str| json!({"metadata": {"labels": {scene.label_key(): label}}});
        // Too strong for A.
        for label in [None, Some(A)] {
            let message = scene
                .create(version, &with("strong", label, 150))
                .fails(422);
            assert!(
                message
                    .contains("spec.power: Invalid value: 150: must be less than or equal to 100"),
                "{message}"
            );
        }
        scene.create(version, &with("strong", Some(B), 150)).ok();
        let message = patch("strong", &flip(A)).fails(422);
        assert!(message.contains("less than or equal to 100"), "{message}");
        // Too weak for B.
        let message = scene.create(version, &with("weak", Some(B), 20)).fails(422);
        assert!(
            message.contains("spec.power: Invalid value: 20: must be greater than or equal to 50"),
            "{message}"
        );
        scene.create(version, &with("weak", Some(A), 20)).ok();
        let answer = patch("weak", &flip(B));
        let message = answer.fails(422);
        assert!(message.contains("greater than or equal to 50"), "{message}");
        let causes = &answer.body["details"]["causes"];
        assert_eq!(causes[0]["field"], "spec.power", "{causes}");
        // What is wrong for the one that is left is no matter; nor is it while the other one manages the object.
        let mut both = flip(B);
        both["spec"] = json!({"power": 180});
        patch("weak", &both).ok();
        patch("weak", &json!({"spec": {"power": 190}})).ok();
        let message = patch("weak", &json!({"spec": {"power": 210}})).fails(422);
        assert!(message.contains("less than or equal to 200"), "{message}");
        let mut back = flip(A);
        back["spec"] = json!({"power": 80});
        patch("weak", &back).ok();
    }
    let flips = |at: usize| {
        let page = servers.servers[at].metrics();
        let lines = page
            .lines()
            .filter_map(|line| line.strip_prefix("controller_version_flips_total{outcome="));
        lines.map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(flips(0), "\"enter_refused\"} 2 \"entered\"} 2 \"left\"} 4");
    assert_eq!(flips(1), "\"enter_refused\"} 2 \"entered\"} 2 \"left\"} 4");
}

fn promoting(scene: &Scene<'_>) {
    let new = scene.sample.new;
    scene.install(&scene.printed_crd(&[]));
    let servers = SideBySide::start(scene, &[A, B], &[]);
    servers.register("deny");
    scene.create(new, &scene.labelled(new, "e", Some(A))).ok();
    let says = |reason: &str| {
        let conditions = json!([{"type": "UpToDate", "status": "Unknown", "reason": reason}]);
        scene
            .patch(
                new,
                "e/status",
                &json!({"status": {"conditions": conditions}}),
            )
            .ok();
    };
    let flip = json!({"metadata": {"labels": {scene.label_key(): B}}});
    says("Promoting");
    for version in [scene.sample.old, new] {
        let (answer, said) = servers.answered(|| scene.patch(version, "e", &flip));
        let message = answer.fails(422);
        assert!(
            message
                .contains("2.16.0 is promoting this object: wait until the rollout is completed"),
            "{message}"
        );
        assert!(said.contains("A: mutate allow, validate deny"), "{said}");
    }
    // Anything else goes on.
    scene.patch(new, "e", &json!({"spec": {"power": 80}})).ok();
    says("Applied");
    scene.patch(new, "e", &flip).ok();
}

fn path(scene: &Scene<'_>) {
    let new = scene.sample.new;
    scene.install(&scene.printed_crd(&[]));
    let servers = SideBySide::start(scene, &[A, B, C], &[]);
    servers.register("deny");
    scene.create(new, &scene.labelled(new, "e", Some(A))).ok();
    let flip = |to: &str| {
        scene.patch(
            new,
            "e",
            &json!({"metadata": {"labels": {scene.label_key(): to}}}),
        )
    };
    let (answer, said) = servers.answered(|| flip(C));
    let message = answer.fails(422);
    assert!(
        message.contains("no upgrade from 2.16.0 to 2.18.0 is allowed; go to 2.17.0 first"),
        "{message}"
    );
    assert_eq!(
        said,
        "A: mutate allow, validate allow; C: mutate allow, validate deny"
    );
    flip(B).ok();
    flip(C).ok();
    let message = flip(A).fails(422);
    assert!(
        message.contains("no downgrade from 2.18.0 to 2.16.0 is allowed"),
        "{message}"
    );
}

fn down(scene: &Scene<'_>) {
    let new = scene.sample.new;
    scene.install(&scene.printed_crd(&[]));
    for (name, label) in [("a", Some(A)), ("odd", Some(UNKNOWN)), ("bare", None)] {
        scene.create(new, &scene.labelled(new, name, label)).ok();
    }
    let mut servers = SideBySide::start(scene, &[A, B], &[]);
    servers.register("deny");
    servers.stop();
    let flip = |name: &str, to: Option<&str>| {
        scene.patch(
            new,
            name,
            &json!({"metadata": {"labels": {scene.label_key(): to}}}),
        )
    };
    // The policy refuses what no server is asked about.
    for label in [UNKNOWN, MALFORMED] {
        let message = scene
            .create(new, &scene.labelled(new, "new", Some(label)))
            .fails(422);
        assert!(
            message.contains(&format!(
                "no controller version \"{label}\" is served; served are 2.16.0, 2.17.0"
            )),
            "{message}"
        );
    }
    let message = flip("odd", Some(MALFORMED)).fails(422);
    assert!(
        message.contains("no controller version \"latest\" is served"),
        "{message}"
    );
    // What is there with a bad label stays changeable.
    scene
        .patch(
            new,
            "odd",
            &json!({"metadata": {"annotations": {"touched": "yes"}}}),
        )
        .ok();
    // What a server would have to judge waits for it, and says for whom.
    let writes = [
        scene.create(new, &scene.labelled(new, "new", Some(B))),
        scene.create(new, &scene.labelled(new, "new", None)),
        flip("a", Some(B)),
        flip("a", Some(UNKNOWN)),
        flip("a", None),
        flip("bare", Some(MALFORMED)),
        flip("odd", Some(A)),
        scene.patch(new, "a", &json!({"spec": {"power": 80}})),
    ];
    for answer in writes {
        let message = answer.fails(500);
        assert!(
            message.contains("failed calling webhook \"mutate-"),
            "{message}"
        );
        assert!(message.contains("connection refused"), "{message}");
    }
    // Reading, the status, the scale and deleting need nobody.
    for name in ["a", "odd", "bare"] {
        scene.get(scene.sample.old, name).ok();
        scene
            .patch(
                new,
                &format!("{name}/status"),
                &json!({"status": {"replicas": 3}}),
            )
            .ok();
        scene
            .patch(
                new,
                &format!("{name}/scale"),
                &json!({"spec": {"replicas": 3}}),
            )
            .ok();
        scene.delete(new, name).ok();
    }
}
