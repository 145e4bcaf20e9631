//! Operations by chance: each changes the newer schema and says so.

use serde_json::{Value as Schema, json};

use super::draft::Manner;
use super::paths::{all, at, is_required, overlap, put, take, written};
use super::schemas::{fresh, property, sample, scalar};
use crate::laws::random::Random;
use crate::laws::schema::map_values;

/// What happens between two versions.
pub(super) struct Step {
    pub(super) newer: Schema,
    pub(super) operations: Vec<Schema>,
    pub(super) accept: Vec<Schema>,
    /// Places of the older version that an operation has taken.
    taken: Vec<Vec<String>>,
    /// Places of the newer version that an operation has made.
    made: Vec<Vec<String>>,
    /// Paths start at `spec` or `status`, not at an item.
    root: bool,
    manner: Manner,
}

impl Step {
    /// A step from a version to a newer one.
    pub(super) fn random(random: &mut Random, older: &Schema, manner: Manner) -> Self {
        let mut step = Self::new(older, true, manner);
        let count = 1 + random.below(5);
        step.fill(random, older, count);
        step
    }

    fn new(older: &Schema, root: bool, manner: Manner) -> Self {
        let newer = older.clone();
        let (operations, accept) = (Vec::new(), Vec::new());
        Self { newer, operations, accept, taken: Vec::new(), made: Vec::new(), root, manner }
    }

    fn fill(&mut self, random: &mut Random, older: &Schema, count: usize) {
        for _ in 0..count * 3 {
            if self.operations.len() + self.accept.len() >= count {
                break;
            }
            // Where there is no field for it, another one is tried.
            let _ = self.attempt(random, older);
        }
        if self.manner == Manner::Hostile && random.percent(20) {
            // A difference that nobody explains.
            let places = all(&self.newer);
            if let Some(place) = random.pick(&places).filter(|place| self.may_move(place)) {
                put(&mut self.newer, place, scalar(random), false);
            }
        }
    }

    /// Tries to add one operation; nothing where there is no field for it.
    fn attempt(&mut self, random: &mut Random, older: &Schema) -> Option<()> {
        match random.below(15) {
            0 => self.drop(random, older),
            1 => self.add(random, older),
            2 => self.rename(random, older),
            3 | 4 => self.relocate(random, older),
            5 => self.under_its_own_name(random, older),
            6 => self.retype(random, older),
            7 => self.values(random, older),
            8 => self.wrap(random, older),
            9 => self.split(random, older),
            10 => self.move_into_map(random, older),
            11 => self.blank(random, older),
            12 => self.tighten(random, older),
            _ => self.each(random, older),
        }
    }

    /// Whether a place is one that operations may name: not the head of an object, not spec or status as a whole.
    fn may_move(&self, place: &[String]) -> bool {
        !self.root
            || place.len() > 1 && place.first().is_some_and(|top| top == "spec" || top == "status")
    }

    /// A field of both versions that fits and that no operation has touched.
    fn field(
        &self,
        random: &mut Random,
        older: &Schema,
        fits: &dyn Fn(&Schema) -> bool,
    ) -> Option<Vec<String>> {
        let careless = self.manner == Manner::Hostile && random.percent(15);
        let mut places = all(older);
        places.retain(|place| {
            let free = !self.taken.iter().chain(&self.made).any(|other| overlap(place, other));
            let head = !self.root
                && matches!(
                    place.first().map(String::as_str),
                    Some("kind" | "metadata" | "apiVersion")
                )
                && self.manner == Manner::Sensible;
            self.may_move(place)
                && !head
                && (free || careless)
                && at(older, place).is_some_and(fits)
                && at(&self.newer, place).is_some()
        });
        random.pick(&places).cloned()
    }

    /// The same, of fields that may be missing: what an operation cannot always say must not be required.
    fn optional(
        &self,
        random: &mut Random,
        older: &Schema,
        fits: &dyn Fn(&Schema) -> bool,
    ) -> Option<Vec<String>> {
        let field = self.field(random, older, fits)?;
        (self.manner == Manner::Hostile || !is_required(older, &field)).then_some(field)
    }

    /// A place of the newer version that neither version has.
    fn target(&self, random: &mut Random, older: &Schema, under: &[String]) -> Vec<String> {
        let careless = self.manner == Manner::Hostile && random.percent(25);
        let taken = |name: &str| {
            let place = [under, &[name.to_owned()]].concat();
            !careless && (at(older, &place).is_some() || at(&self.newer, &place).is_some())
                || under.is_empty() && matches!(name, "kind" | "metadata" | "apiVersion")
        };
        let name = fresh(random, &taken);
        [under, &[name]].concat()
    }

    /// An object of the newer version that something can be put into.
    fn holder(&self, random: &mut Random) -> Vec<String> {
        let mut places = all(&self.newer);
        places.retain(|place| {
            let object = at(&self.newer, place).filter(|holder| {
                holder.get("properties").is_some() && map_values(holder).is_none()
            });
            let free = !self.made.iter().any(|other| place.starts_with(other));
            // What is put into an object makes it, and then the object has to have what it requires.
            let demands = object.is_some_and(|holder| holder.get("required").is_some());
            let free = free && (self.manner == Manner::Hostile || !demands || place.len() == 1);
            let top = matches!(place.first().map(String::as_str), Some("spec" | "status"));
            object.is_some() && free && (!self.root || top)
        });
        let outermost = if self.root { vec!["spec".to_owned()] } else { Vec::new() };
        places.push(outermost);
        random.pick(&places).cloned().unwrap_or_default()
    }

    fn done(
        &mut self,
        operation: Schema,
        older: &[Vec<String>],
        newer: &[Vec<String>],
    ) -> Option<()> {
        self.operations.push(operation);
        self.taken.extend_from_slice(older);
        self.made.extend_from_slice(newer);
        Some(())
    }

    fn drop(&mut self, random: &mut Random, older: &Schema) -> Option<()> {
        let from = self.field(random, older, &|_| true)?;
        let dropped = take(&mut self.newer, &from)?;
        let fill =
            (is_required(older, &from) && dropped.get("default").is_none()) || random.percent(15);
        let operation = match sample(&dropped).filter(|_| fill) {
            Some(value) => json!({"drop": {"field": written(&from), "value": value}}),
            None => json!({"drop": written(&from)}),
        };
        self.done(operation, &[from], &[])
    }

    fn add(&mut self, random: &mut Random, older: &Schema) -> Option<()> {
        let holder = self.holder(random);
        let to = self.target(random, older, &holder);
        let added = property(random, 1);
        let required = random.percent(20);
        let value = sample(&added).filter(|_| required || random.percent(20));
        let operation = match &value {
            Some(value) => json!({"add": {"field": written(&to), "value": value}}),
            None => json!({"add": written(&to)}),
        };
        put(&mut self.newer, &to, added, required && value.is_some());
        self.done(operation, &[], &[to])
    }

    /// Moves a field; the newer version requires it where the older one does.
    fn place(
        &mut self,
        older: &Schema,
        name: &str,
        from: Vec<String>,
        to: Vec<String>,
    ) -> Option<()> {
        let moved = take(&mut self.newer, &from)?;
        put(&mut self.newer, &to, moved, is_required(older, &from));
        let operation = json!({name: {"from": written(&from), "to": written(&to)}});
        self.done(operation, &[from], &[to])
    }

    fn rename(&mut self, random: &mut Random, older: &Schema) -> Option<()> {
        let from = self.field(random, older, &|_| true)?;
        let to = self.target(random, older, from.get(..from.len() - 1)?);
        self.place(older, "rename", from, to)
    }

    fn relocate(&mut self, random: &mut Random, older: &Schema) -> Option<()> {
        let from = self.optional(random, older, &|_| true)?;
        let mut holder = self.holder(random);
        if holder.starts_with(&from) {
            return None;
        }
        if random.percent(40) {
            holder = self.target(random, older, &holder);
        }
        let to = self.target(random, older, &holder);
        self.place(older, "move", from, to)
    }

    fn under_its_own_name(&mut self, random: &mut Random, older: &Schema) -> Option<()> {
        let from = self.optional(random, older, &|_| true)?;
        let name = random.word(&["value", "name", "enabled"]).to_owned();
        let to = [from.as_slice(), &[name]].concat();
        self.place(older, "move", from, to)
    }

    fn retype(&mut self, random: &mut Random, older: &Schema) -> Option<()> {
        let from = self.optional(random, older, &|schema| is_scalar(schema))?;
        let schema = at(older, &from)?;
        let other = match schema.get("type").and_then(Schema::as_str)? {
            "string" => random.word(&["integer", "number", "boolean"]),
            _ => "string",
        };
        let mut newer = json!({"type": other});
        if let (Some(newer), Some(nullable)) = (newer.as_object_mut(), schema.get("nullable")) {
            newer.insert("nullable".to_owned(), nullable.clone());
        }
        let required = is_required(older, &from);
        take(&mut self.newer, &from)?;
        let to = if random.percent(30) {
            self.target(random, older, from.get(..1)?)
        } else {
            from.clone()
        };
        put(&mut self.newer, &to, newer, required);
        let operation = match to == from {
            true => json!({"type": written(&from)}),
            false => json!({"type": {"from": written(&from), "to": written(&to)}}),
        };
        self.done(operation, &[from], &[to])
    }

    fn values(&mut self, random: &mut Random, older: &Schema) -> Option<()> {
        let from = self.field(random, older, &|schema| schema.get("enum").is_some())?;
        let mut newer = take(&mut self.newer, &from)?;
        let map = renamed(&mut newer)?;
        put(&mut self.newer, &from, newer, is_required(older, &from));
        let operation = json!({"values": {"field": written(&from), "map": map}});
        self.done(operation, std::slice::from_ref(&from), std::slice::from_ref(&from))
    }

    fn wrap(&mut self, random: &mut Random, older: &Schema) -> Option<()> {
        let from = self.field(random, older, &|_| true)?;
        let item = without_default(take(&mut self.newer, &from)?);
        let to = if random.percent(50) {
            self.target(random, older, from.get(..from.len() - 1)?)
        } else {
            from.clone()
        };
        put(
            &mut self.newer,
            &to,
            json!({"type": "array", "items": item}),
            is_required(older, &from),
        );
        let operation = match to == from {
            true => json!({"wrap": written(&from)}),
            false => json!({"wrap": {"from": written(&from), "to": written(&to)}}),
        };
        self.done(operation, &[from], &[to])
    }

    fn split(&mut self, random: &mut Random, older: &Schema) -> Option<()> {
        let from = self.optional(random, older, &|schema| is_text(schema))?;
        take(&mut self.newer, &from)?;
        let holder =
            if random.percent(40) { from.clone() } else { from.get(..from.len() - 1)?.to_vec() };
        let second = random.word(&["string", "integer", "string"]);
        let mut parts = Vec::new();
        for kind in ["string", second] {
            let part = self.target(random, older, &holder);
            put(&mut self.newer, &part, json!({"type": kind}), false);
            parts.push(part);
        }
        let into: Vec<String> = parts.iter().map(|part| written(part)).collect();
        let operation = json!({"split": {"field": written(&from), "into": into, "separator": ":"}});
        self.done(operation, &[from], &parts)
    }

    fn move_into_map(&mut self, random: &mut Random, older: &Schema) -> Option<()> {
        let from = self.optional(random, older, &|schema| is_text(schema))?;
        let of_strings = |schema: &Schema| map_values(schema).is_some_and(is_text);
        let map = self.field(random, older, &of_strings).filter(|map| !overlap(map, &from))?;
        take(&mut self.newer, &from)?;
        let key = random.word(&["role", "example.com/role", "a"]);
        let operation =
            json!({"moveIntoMap": {"field": written(&from), "map": written(&map), "key": key}});
        self.done(operation, &[from, map.clone()], &[map])
    }

    fn blank(&mut self, random: &mut Random, older: &Schema) -> Option<()> {
        let from = self.field(random, older, &|schema| is_text(schema))?;
        let operation = json!({"blank": {"field": written(&from), "spellings": ["", "-"]}});
        self.done(operation, std::slice::from_ref(&from), std::slice::from_ref(&from))
    }

    fn tighten(&mut self, random: &mut Random, older: &Schema) -> Option<()> {
        if !self.root {
            return None;
        }
        let from = self
            .field(random, older, &|schema| is_scalar(schema) && schema.get("default").is_none())?;
        let mut newer = take(&mut self.newer, &from)?;
        let (bound, limit) = match newer.get("type").and_then(Schema::as_str)? {
            "string" => ("maxLength", json!(3)),
            "integer" => ("maximum", json!(100)),
            _ => ("nullable", json!(true)),
        };
        let same = newer.get(bound) == Some(&limit);
        newer.as_object_mut()?.insert(bound.to_owned(), limit);
        put(&mut self.newer, &from, newer, is_required(older, &from));
        if same {
            return None;
        }
        let reason = "tightened on purpose";
        self.accept.push(json!({"path": written(&from), "difference": bound, "reason": reason}));
        self.taken.push(from.clone());
        self.made.push(from);
        Some(())
    }

    fn each(&mut self, random: &mut Random, older: &Schema) -> Option<()> {
        let from = self.field(random, older, &|schema| items(schema).is_some())?;
        let mut list = take(&mut self.newer, &from)?;
        let item = items(&list)?.clone();
        let mut inner = match item.get("properties") {
            Some(_) => {
                let mut inner = Self::new(&item, false, self.manner);
                if requires_name(&item) {
                    // What tells items apart is theirs.
                    inner.taken.push(vec!["name".to_owned()]);
                }
                let count = 1 + random.below(3);
                inner.fill(random, &item, count);
                inner
            }
            None => whole_item(random, &item, self.manner)?,
        };
        if inner.operations.is_empty() {
            put(&mut self.newer, &from, list, is_required(older, &from));
            return None;
        }
        let place = if list.get("items").is_some() { "items" } else { "additionalProperties" };
        list.as_object_mut()?.insert(place.to_owned(), inner.newer);
        if list
            .get("default")
            .is_some_and(|default| default.as_object().is_some_and(|all| !all.is_empty()))
        {
            list = without_default(list);
        }
        let to = if random.percent(30) {
            self.target(random, older, from.get(..1)?)
        } else {
            from.clone()
        };
        put(&mut self.newer, &to, list, is_required(older, &from));
        let operations = std::mem::take(&mut inner.operations);
        let operation = match to == from {
            true => json!({"each": {"in": written(&from), "operations": operations}}),
            false => {
                json!({"each": {"from": written(&from), "to": written(&to), "operations": operations}})
            }
        };
        self.done(operation, &[from], &[to])
    }
}

/// An operation on an item itself.
fn whole_item(random: &mut Random, item: &Schema, manner: Manner) -> Option<Step> {
    let mut step = Step::new(item, false, manner);
    let kind = item.get("type").and_then(Schema::as_str)?;
    let operation = match (random.below(3), kind) {
        (0, _) => {
            step.newer = json!({"type": "array", "items": item});
            json!({"wrap": "."})
        }
        (1, "string" | "integer" | "boolean" | "number") => {
            let other = if kind == "string" { "integer" } else { "string" };
            step.newer = json!({"type": other});
            json!({"type": "."})
        }
        _ => {
            step.newer = json!({"type": "object"});
            put(&mut step.newer, &["name".to_owned()], item.clone(), false);
            json!({"move": {"from": ".", "to": "name"}})
        }
    };
    step.operations.push(operation);
    Some(step)
}

/// Gives the options of a closed set other names.
fn renamed(schema: &mut Schema) -> Option<Schema> {
    let options = schema.get("enum")?.as_array()?.clone();
    let new = |option: &Schema| option.as_str().map(str::to_lowercase);
    let pairs: Option<Vec<(String, String)>> = options
        .iter()
        .take(2)
        .map(|option| Some((option.as_str()?.to_owned(), new(option)?)))
        .collect();
    let pairs = pairs?;
    let name = |value: &Schema| {
        let pair = pairs.iter().find(|(old, _)| Some(old.as_str()) == value.as_str());
        pair.map_or_else(|| value.clone(), |(_, new)| json!(new))
    };
    let object = schema.as_object_mut()?;
    object.insert("enum".to_owned(), options.iter().map(name).collect());
    if let Some(default) = object.get("default").map(name) {
        object.insert("default".to_owned(), default);
    }
    Some(
        pairs
            .iter()
            .map(|(old, new)| (old.clone(), json!(new)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
    )
}

fn items(schema: &Schema) -> Option<&Schema> {
    schema.get("items").or_else(|| map_values(schema))
}

fn requires_name(item: &Schema) -> bool {
    is_required(item, &["name".to_owned()])
}

fn is_scalar(schema: &Schema) -> bool {
    let kind = schema.get("type").and_then(Schema::as_str);
    matches!(kind, Some("string" | "integer" | "number" | "boolean"))
        && schema.get("enum").is_none()
}

fn is_text(schema: &Schema) -> bool {
    is_scalar(schema) && schema.get("type").and_then(Schema::as_str) == Some("string")
}

fn without_default(mut schema: Schema) -> Schema {
    if let Some(object) = schema.as_object_mut() {
        object.remove("default");
    }
    schema
}
