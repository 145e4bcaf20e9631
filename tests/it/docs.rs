//! Runs the examples of the documentation as printed.

use std::path::Path;

use pointsman_core::definition::{self, BadDefinition, Kind, MutatedKind};
use pointsman_core::webhook::{Metadata, Webhook};
use pointsman_rollout::{check_definition, definition_schema};
use serde_json::{Value, json};

/// An example of a page: the definition, and an object in both versions.
#[derive(Default)]
struct Example {
    section: String,
    /// The definition below its CRD.
    steps: String,
    older: Option<Value>,
    newer: Option<Value>,
    kept: Option<Value>,
    /// Version, path, and additional schema.
    schemas: Vec<(String, String, Value)>,
}

fn page(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

/// The pages that describe the keys of a definition.
fn manual() -> String {
    ["docs/definitions.md", "docs/rollout-definitions.md", "docs/mutations.md"].map(page).join("\n")
}

/// The fenced blocks and comments of a text, as pairs of the info string and the content.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut blocks: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if let Some(info) = line.strip_prefix("```") {
            inside = !inside;
            if inside {
                blocks.push((info.to_owned(), String::new()));
            }
        } else if inside {
            let block = &mut blocks.last_mut().unwrap().1;
            block.push_str(line);
            block.push('\n');
        } else if let Some(comment) = line.strip_prefix("<!-- ") {
            let comment = comment.trim_end_matches(" -->").to_owned();
            blocks.push(("comment".to_owned(), comment));
        }
    }
    blocks
}

/// The only step of most examples.
const STEP: &str = "steps:\n- from: v1\n  to: v2\n";

fn examples() -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let pages = manual() + "\n" + &["docs/when-no-operation-fits.md", "docs/from-go.md"].map(page).join("\n");
    for section in pages.split("\n##") {
        let title = section.lines().next().unwrap().trim_matches(['#', ' ']);
        for (info, block) in blocks(section) {
            let yaml = || Some(serde_saphyr::from_str(&block).unwrap());
            if let "yaml operations" | "yaml step" | "yaml steps" = info.as_str() {
                let indented: String = block.lines().map(|line| format!("  {line}\n")).collect();
                let steps = match info.as_str() {
                    "yaml steps" => block.clone(),
                    "yaml step" => format!("{STEP}{indented}"),
                    _ => format!("{STEP}  operations:\n{indented}"),
                };
                examples.push(Example { section: title.to_owned(), steps, ..Example::default() });
            }
            let Some(example) = examples.last_mut() else {
                continue;
            };
            match info.as_str() {
                "yaml v1" => example.older = yaml(),
                "yaml v2" => example.newer = yaml(),
                "json kept" => example.kept = yaml(),
                "comment" if block.trim_start().starts_with("schema ") => {
                    let mut words = block.splitn(4, ' ').skip(1).map(str::to_owned);
                    let mut word = || words.next().unwrap();
                    let schema = (word(), word(), serde_json::from_str(&word()).unwrap());
                    example.schemas.push(schema);
                }
                _ => {}
            }
        }
    }
    examples
}

/// A schema that accepts a value.
fn schema(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let properties: serde_json::Map<String, Value> =
                members.iter().map(|(name, value)| (name.clone(), schema(value))).collect();
            json!({ "type": "object", "properties": properties })
        }
        Value::Array(items) => {
            let mut item = json!({});
            for other in items {
                merge(&mut item, schema(other));
            }
            json!({ "type": "array", "items": item })
        }
        Value::Bool(_) => json!({ "type": "boolean" }),
        Value::Number(_) => json!({ "type": "integer" }),
        Value::Null | Value::String(_) => json!({ "type": "string" }),
    }
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name).or_insert(json!({})), value);
            }
        }
        (into, from) => *into = from,
    }
}

impl Example {
    fn crd(&self) -> Value {
        let version = |name: &str, object: &Value, storage: bool| {
            let mut object = object.clone();
            // The API server defines the metadata.
            object.as_object_mut().unwrap().remove("metadata");
            let mut schema = schema(&object);
            for (_, path, more) in self.schemas.iter().filter(|(version, _, _)| version == name) {
                let inner = path.rsplit('.').fold(more.clone(), |inner, name| json!({ "properties": { name: inner } }));
                merge(&mut schema, inner);
                if let Some(each) = more.get("additionalProperties") {
                    // Entries of a map are not fields.
                    let place =
                        schema.pointer_mut(&format!("/properties/{}", path.replace('.', "/properties/"))).unwrap();
                    *place = json!({ "type": "object", "additionalProperties": each });
                }
            }
            json!({ "name": name, "served": true, "storage": storage, "schema": { "openAPIV3Schema": schema } })
        };
        let (older, newer) = (self.older.as_ref().unwrap(), self.newer.as_ref().unwrap());
        let mut versions = vec![version("v1", older, false), version("v2", newer, true)];
        // A version that only a step names gets the schema of the comment.
        let between = self.schemas.iter().find(|(name, _, _)| !matches!(name.as_str(), "v1" | "v2"));
        versions.extend(between.map(|(name, _, _)| version(name, &json!({ "spec": {} }), false)));
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": "gadgets.example.com" },
            "spec": {
                "group": "example.com",
                "names": { "kind": "Gadget", "plural": "gadgets" },
                "scope": "Namespaced",
                "versions": versions,
            },
        })
    }

    fn object(&self, version: &str) -> Value {
        let body = if version == "v1" { &self.older } else { &self.newer };
        let mut object =
            json!({ "apiVersion": format!("example.com/{version}"), "kind": "Gadget", "metadata": { "name": "a" } });
        merge(&mut object, body.clone().unwrap());
        object
    }

    fn run(&self) {
        let definition =
            format!("apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: gadgets.crd.yaml\n{}", self.steps);
        let crd = self.crd().to_string();
        let kind = Kind::load(&self.section, &definition, &mut |_| Ok(crd.clone()));
        let kind = kind.unwrap_or_else(|error| panic!("{error}\n{definition}"));
        let webhook = Webhook::new(vec![kind], Metadata::Full).unwrap();
        let convert = |object: &Value, to: &str| -> Value {
            let converted = webhook.convert(&object.to_string(), to).unwrap();
            serde_json::from_str(&converted.text).unwrap()
        };
        let older = self.object("v1");
        let newer = convert(&older, "v2");
        let mut visible = newer.clone();
        let mut annotations = visible["metadata"]["annotations"].take();
        let annotation = annotations.as_object_mut().and_then(|all| all.remove("pointsman.dev/kept-v1"));
        match annotations.as_object().is_none_or(serde_json::Map::is_empty) {
            true => _ = visible["metadata"].as_object_mut().unwrap().remove("annotations"),
            false => visible["metadata"]["annotations"] = annotations,
        }
        assert_eq!(visible, self.object("v2"), "{}", self.section);
        assert_eq!(convert(&newer, "v1"), older, "{}", self.section);
        if let Some(wanted) = &self.kept {
            let text = annotation.as_ref().and_then(Value::as_str);
            let kept: Value = serde_json::from_str(text.unwrap_or("null")).unwrap();
            assert_eq!(&kept, wanted, "{}", self.section);
        }
    }
}

#[test]
fn documented_examples_work() {
    let examples = examples();
    assert!(examples.len() > 15);
    for example in examples {
        example.run();
    }
}

#[test]
fn every_operation_has_an_example() {
    let schema = definition_schema();
    let operations = schema.pointer("/$defs/Operation/oneOf").and_then(Value::as_array).unwrap();
    let examples = examples();
    for operation in operations {
        let name = operation.pointer("/required/0").and_then(Value::as_str).unwrap();
        assert!(examples.iter().any(|example| example.section == name), "docs/definitions.md: {name}");
    }
}

#[test]
fn documented_rollout_block_is_built_in() {
    let manual = blocks(&manual());
    let (_, shown) = manual.iter().find(|(info, _)| info == "yaml rollout").unwrap();
    let shown: Value = serde_saphyr::from_str(shown).unwrap();
    let text = definition::embedded_text("materialize").unwrap();
    let embedded: Value = serde_saphyr::from_str(text).unwrap();
    for key in ["rolloutHash", "rolloutStatus"] {
        assert_eq!(shown[key], embedded[key]);
    }
}

/// A definition with valid parts for rollouts.
fn checked(kind: Result<Kind, BadDefinition>) -> Result<Kind, BadDefinition> {
    kind.and_then(|kind| check_definition(&kind).map(|()| kind))
}

/// A kind with the fields of the documented blocks.
fn gadget(block: &str) -> Result<Kind, BadDefinition> {
    let spec = json!({"type": "object", "properties": {
        "token": {"type": "string"}, "replicas": {"type": "integer"},
        "certificate": {"type": "object", "properties": {"issuer": {"type": "string"}}},
    }});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
    let crd = json!({
        "kind": "CustomResourceDefinition",
        "spec": {
            "group": "example.com",
            "names": {"kind": "Gadget", "plural": "gadgets"},
            "versions": [{"name": "v2", "served": true, "storage": true, "schema": schema}],
        },
    });
    let head = format!("apiVersion: {}\nkind: {}\ncrd: gadgets.crd.yaml\n", definition::API_VERSION, definition::KIND);
    checked(Kind::from_crd(&format!("{head}{block}"), &crd.to_string()))
}

#[test]
fn documented_admission_blocks_load() {
    let manual = blocks(&manual());
    let (_, shown) = manual.iter().find(|(info, _)| info == "yaml admission").unwrap();
    gadget(shown).unwrap();
    let (_, checks) = manual.iter().find(|(info, _)| info == "yaml checks").unwrap();
    gadget(checks).unwrap();
    let recipe = manual.iter().find(|(_, block)| block.contains("recipe: ")).unwrap();
    gadget(&recipe.1).unwrap();
}

#[test]
fn documented_workflows_load() {
    let blocks = blocks(&manual());
    let (_, workflows) = blocks.iter().find(|(info, _)| info == "yaml workflows").unwrap();
    let head = format!("apiVersion: {}\nkind: {}\ncrd: hosts.crd.yaml\n", definition::API_VERSION, definition::KIND);
    let crd = page("tests/data/hosts/hosts.crd.yaml");
    checked(Kind::from_crd(&format!("{head}{workflows}"), &crd)).unwrap();
    // The documented parts of a host also load.
    let (_, observe) = blocks.iter().find(|(info, _)| info == "yaml observe").unwrap();
    checked(Kind::from_crd(&format!("{head}{observe}"), &crd)).unwrap();
    let (_, others) = blocks.iter().find(|(info, _)| info == "yaml observe-others").unwrap();
    checked(Kind::from_crd(&format!("{head}{others}"), &crd)).unwrap();
    let tested = page("tests/data/hosts/hosts.yaml");
    let places: Vec<&str> = observe.lines().filter(|line| line.contains("part: ") || line.contains("role: ")).collect();
    assert!(places.len() == 3 && places.iter().all(|line| tested.contains(line)), "{observe}");
    // The page shows the tested rollout, and the definition of hosts accepts the rollout.
    let shown = page("docs/rollouts.md");
    let rollout = page("tests/data/hosts/rollout.yaml");
    let (_, spec) = rollout.split_once("apiVersion").unwrap();
    assert!(shown.contains(spec), "docs/rollouts.md shows another rollout than tests/data/hosts/rollout.yaml");
    let hosts = Kind::from_crd(&page("tests/data/hosts/hosts.yaml"), &crd).unwrap();
    let rollout = pointsman_rollout::read_rollout("rollout.yaml", &rollout, &hosts).unwrap();
    let named: Vec<&str> = rollout.irreversible().iter().map(|(step, _)| *step).collect();
    assert_eq!(named, ["control-plane", "networking"]);
}

#[test]
fn documented_replacement_loads() {
    let dir = "examples/kinds/mattermost";
    let definition = page(&format!("{dir}/mattermost.yaml"));
    let read = |file: &str| Ok(page(&format!("{dir}/{file}")));
    let load = |text: &str| checked(Kind::load("mattermost.yaml", text, &mut |file| read(file)));
    let (head, _) = definition.split_once("\nworkflows:").unwrap();
    let manual = blocks(&manual());
    let (_, workflows) = manual.iter().find(|(info, _)| info == "yaml workflows-beside").unwrap();
    load(&format!("{head}\n{workflows}")).unwrap();
    // The page shows the plan of the current definition.
    let rollouts = page("docs/rollouts.md");
    let shown = blocks(&rollouts);
    let (_, rollout) = shown.iter().find(|(_, block)| block.starts_with("# mattermost.yaml")).unwrap();
    let rollout = pointsman_rollout::read_rollout("mattermost.yaml", rollout, &load(&definition).unwrap()).unwrap();
    let steps = pointsman_rollout::step_descriptions(&rollout);
    assert_eq!(steps.len(), 8);
    for step in steps {
        let head = format!("  {:10}   ", step.name);
        let line = rollouts.lines().find(|line| line.starts_with(&head)).unwrap_or_else(|| panic!("{head}"));
        let told = line[head.len()..].split('\u{2026}').next().unwrap();
        assert!(step.does.starts_with(told), "docs/rollouts.md: {line}: {}", step.does);
    }
}

#[test]
fn manual_names_all_admission_keys() {
    let (schema, manual) = (definition_schema(), manual());
    let admission = manual.split("\n## Admission").nth(1).unwrap();
    let all = [
        "Admission",
        "ControllerRules",
        "UpgradePath",
        "Hop",
        "Neighbours",
        "Deprecated",
        "Field",
        "Immutable",
        "Bounds",
        "Requires",
        "Observed",
        "ObservedItem",
        "ObservedOthers",
        "Role",
        "Needs",
        "Prerequisites",
        "Checks",
        "ListCheck",
        "MetricCheck",
        "BoundedQuery",
        "HttpCheck",
        "Upgrade",
        "Warn",
    ];
    let keys = all.iter().flat_map(|of| {
        let properties = schema.pointer(&format!("/$defs/{of}/properties")).and_then(Value::as_object);
        properties.unwrap_or_else(|| panic!("no {of}")).keys()
    });
    let missing: Vec<&String> = keys.filter(|key| !admission.contains(key.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let rules = schema.pointer("/$defs/Rule/oneOf").and_then(Value::as_array).unwrap();
    for rule in rules {
        let name = rule.pointer("/required/0").and_then(Value::as_str).unwrap();
        assert!(admission.contains(&format!("\n| `{name}` |")), "{name}");
    }
}

#[test]
fn manual_names_all_mutation_keys() {
    let manual = manual();
    let all = blocks(&manual);
    let (_, shown) = all.iter().find(|(info, _)| info == "yaml mutations").unwrap();
    MutatedKind::load("mutations.yaml", shown).unwrap();
    let section = manual.split("\n## Definition").nth(1).unwrap().split("\n## ").next().unwrap();
    let schema = definition_schema();
    for of in [
        "ForeignResource",
        "Mutation",
        "Fact",
        "Flag",
        "GoneFlag",
        "FlagEntries",
        "NoFlagEntries",
        "MutationItem",
        "SetField",
    ] {
        let properties = schema.pointer(&format!("/$defs/{of}/properties")).and_then(Value::as_object);
        let keys = properties.unwrap_or_else(|| panic!("no {of}")).keys();
        let missing: Vec<&String> = keys.filter(|key| !section.contains(key.as_str())).collect();
        assert!(missing.is_empty(), "{of}: {missing:?}");
    }
    let operations = schema.pointer("/$defs/MutationOperation/oneOf").and_then(Value::as_array).unwrap();
    for operation in operations {
        let name = operation.pointer("/required/0").and_then(Value::as_str).unwrap();
        assert!(section.contains(&format!("\n| `{name}: ")), "{name}");
    }
}

/// The documented controller code compiles.
#[test]
fn controller_examples_are_complete() {
    let bare = |text: &str| text.lines().map(|line| format!("{}\n", line.trim())).collect::<String>();
    let shown = blocks(&page("docs/for-controllers.md"));
    for (language, example) in
        [("go", "examples/controller-runtime/main.go"), ("rust,ignore", "examples/controller.rs")]
    {
        let blocks: Vec<_> = shown.iter().filter(|(info, _)| info == language).collect();
        assert_eq!(blocks.len(), 1, "{language}");
        assert!(bare(&page(example)).contains(&bare(&blocks[0].1)), "{example} has it otherwise");
    }
}
