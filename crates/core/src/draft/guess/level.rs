//! The operations between two objects, or between the items of two lists.

use std::collections::BTreeSet;

use super::conversion::{Conversion, conversion};
use super::pool::{Candidate, Pairing, Pairings, Weights, candidates};
use super::reference::{namespace, reference};
use super::score::{LIKELY, NEARLY, POSSIBLE, Pair, SURE, pair};
use super::shape::{has_fields, only_scalar};
use super::version_names::versioned_pairs;
use super::words::words;
use crate::definition::{Path, Schema, Sides};
use crate::draft::entry::{Entry, Operation};
use crate::draft::question::Question;

/// The versions, and the lists around the level.
#[derive(Clone, Debug)]
pub(super) struct Surroundings<'a> {
    /// The names of the versions.
    pub(super) versions: Sides<&'a str>,
    /// The enclosing lists and maps, outermost first.
    pub(super) lists: Vec<Sides<Path>>,
}

/// The guesses between two schemas.
pub(super) struct Level<'s> {
    around: Surroundings<'s>,
    schemas: Sides<&'s Schema>,
    pairings: Sides<Pairings>,
    /// Objects with the same meaning, in the order of their discovery.
    related: Vec<Sides<Path>>,
    entries: Vec<Entry>,
    questions: Vec<Question>,
}

/// The guesses of a level.
pub(super) struct Guesses {
    pub(super) entries: Vec<Entry>,
    pub(super) questions: Vec<Question>,
}

/// The reason for a pair of one path.
const IN_PLACE: &str = "the field has another form in the same place";

impl<'s> Level<'s> {
    /// Guesses the operations between two schemas.
    pub(super) fn guess(schemas: Sides<&'s Schema>, around: Surroundings<'s>) -> Guesses {
        let (entries, questions) = (Vec::new(), Vec::new());
        let pairings = Sides::<Pairings>::default();
        let mut level = Self { around, schemas, pairings, related: Vec::new(), entries, questions };
        let is_whole = level.around.lists.is_empty();
        if is_whole {
            for head in ["apiVersion", "kind", "metadata"] {
                let path = Path::default().join(head);
                level.mark(&Sides { older: path.clone(), newer: path }, Pairing::Whole);
            }
        }
        for paths in versioned_pairs(schemas, &level.around.versions) {
            level.versioned(&paths);
        }
        level.relate(&Sides::default(), schemas, None);
        level.match_rest();
        level.namespaces();
        level.doubt_rest();
        Guesses { entries: level.entries, questions: level.questions }
    }

    fn mark(&mut self, paths: &Sides<Path>, pairing: Pairing) {
        self.pairings.older.insert(paths.older.clone(), pairing);
        self.pairings.newer.insert(paths.newer.clone(), pairing);
    }

    fn is_free(&self, paths: &Sides<Path>) -> bool {
        !self.pairings.older.contains_key(&paths.older) && !self.pairings.newer.contains_key(&paths.newer)
    }

    /// Pairs a field whose place is named after a version.
    fn versioned(&mut self, paths: &Sides<Path>) {
        let (Some(one), Some(two)) = (self.schemas.older.at(&paths.older), self.schemas.newer.at(&paths.newer)) else {
            return;
        };
        if self.is_free(paths) {
            self.field(paths, Sides { older: one, newer: two }, Some("a name in the path is the other version"));
        }
    }

    /// Pairs the fields of the same name in two objects.
    fn relate(&mut self, paths: &Sides<Path>, schemas: Sides<&'s Schema>, reason: Option<&str>) {
        if !paths.older.is_empty() || !paths.newer.is_empty() {
            self.mark(paths, Pairing::Fields);
        }
        self.related.push(paths.clone());
        self.reference(paths, &schemas);
        for (name, older) in &schemas.older.properties {
            let Some(newer) = schemas.newer.properties.get(name) else { continue };
            let inner = Sides { older: paths.older.join(name), newer: paths.newer.join(name) };
            if self.is_free(&inner) {
                self.field(&inner, Sides { older, newer }, reason);
            }
        }
    }

    /// Converts the fields of a reference to another object.
    fn reference(&mut self, paths: &Sides<Path>, schemas: &Sides<&'s Schema>) {
        let Some(found) = reference(schemas, paths, self.around.versions.older) else { return };
        let fields = Sides { older: found.older, newer: found.newer };
        if self.is_free(&fields) {
            self.mark(&fields, Pairing::Whole);
            self.entries.push(found.split);
        }
    }

    /// Fills in the namespaces of references, which only the older version has.
    fn namespaces(&mut self) {
        let free: Vec<Path> = candidates(self.schemas.older, &self.pairings.older)
            .into_iter()
            .filter(|field| field.name() == "namespace" && field.schema.is("string"))
            .map(|field| field.path)
            .collect();
        for field in free {
            let Some(parent) = field.parent() else { continue };
            let is_paired = |name: &str| self.pairings.older.contains_key(&parent.join(name));
            if ["apiVersion", "kind", "name"].into_iter().all(is_paired) {
                self.entries.push(namespace(&field));
                self.pairings.older.insert(field, Pairing::Whole);
            }
        }
    }

    /// Converts a field into another one. Returns whether their types have a conversion.
    fn field(&mut self, paths: &Sides<Path>, schemas: Sides<&'s Schema>, reason: Option<&str>) -> bool {
        let name = |path: &Path| path.names().last().map(ToString::to_string).unwrap_or_default();
        let (older, newer) = (name(&paths.older), name(&paths.newer));
        let names = Sides { older: older.as_str(), newer: newer.as_str() };
        let Some(found) = conversion(schemas.older, schemas.newer, &names) else { return false };
        self.convert(paths, schemas, &found, reason);
        true
    }

    fn convert(
        &mut self,
        paths: &Sides<Path>,
        schemas: Sides<&'s Schema>,
        conversion: &Conversion,
        reason: Option<&str>,
    ) {
        let is_divided = |pairings: &Pairings, path: &Path| pairings.keys().any(|other| other.strip(path).is_some());
        let divided = is_divided(&self.pairings.older, &paths.older) || is_divided(&self.pairings.newer, &paths.newer);
        let has_fields = has_fields(schemas.older) && has_fields(schemas.newer);
        if *conversion == Conversion::Fields || divided && has_fields {
            return self.relate(paths, schemas, reason);
        }
        self.mark(paths, Pairing::Whole);
        let in_place = paths.older == paths.newer;
        let operation = match conversion {
            Conversion::Items => return self.items(paths, schemas, reason),
            Conversion::Copy if in_place => return,
            Conversion::Copy | Conversion::Fields => {
                let is_renamed = paths.older.parent() == paths.newer.parent();
                Operation::between(if is_renamed { "rename" } else { "move" }, paths)
            }
            Conversion::Type => Operation::between("type", paths),
            Conversion::Measure(unit) => Operation::with("type", paths, "as", (*unit).into()),
            Conversion::Values(pairs) => {
                let rows =
                    pairs.iter().map(|(older, newer)| (older.as_str().unwrap_or_default().to_owned(), newer.clone()));
                Operation::with("values", paths, "map", serde_json::Value::Object(rows.collect()))
            }
            Conversion::Wrap => Operation::between("wrap", paths),
            Conversion::ItemMap(items) => {
                let [up, down] = items.expressions();
                let [from, to] = [&paths.older, &paths.newer].map(ToString::to_string);
                let argument = serde_json::json!({"from": from, "to": to, "up": up, "down": down});
                Operation::Line("compute".to_owned(), argument)
            }
        };
        self.entries.push(Entry::guess(operation, reason.unwrap_or(IN_PLACE)));
    }

    /// Guesses inside of the items of a list or map.
    fn items(&mut self, paths: &Sides<Path>, schemas: Sides<&'s Schema>, reason: Option<&str>) {
        let (Some(older), Some(newer)) = (&schemas.older.each, &schemas.newer.each) else { return };
        let lists = [self.around.lists.clone(), vec![paths.clone()]].concat();
        let around = Surroundings { lists, ..self.around.clone() };
        let Guesses { entries, questions } = match only_field(older, newer) {
            Some(entry) => Guesses { entries: vec![entry], questions: Vec::new() },
            None => Self::guess(Sides { older, newer }, around),
        };
        self.questions.extend(questions);
        let in_place = paths.older == paths.newer;
        if !in_place || !entries.is_empty() {
            let operation = Operation::Each(paths.clone(), entries);
            self.entries.push(Entry { reason: reason.map(str::to_owned), question: None, operation });
        }
    }

    /// The older path, with the parents as the newer version names them.
    fn mapped(&self, path: &Path) -> Path {
        let parents = self.related.iter().filter(|pair| path.strip(&pair.older).is_some());
        match parents.max_by_key(|pair| pair.older.len()) {
            Some(pair) => path.moved(&pair.older, &pair.newer),
            None => path.clone(),
        }
    }

    /// All possible pairs of fields without a counterpart, the most likely first.
    fn pairs(&self) -> Vec<Pair> {
        let older = candidates(self.schemas.older, &self.pairings.older);
        let newer = candidates(self.schemas.newer, &self.pairings.newer);
        let weights = Weights::of(older.iter().chain(&newer));
        let is_whole = self.around.lists.is_empty();
        let mut pairs = Vec::new();
        for one in &older {
            let mapped = self.mapped(&one.path);
            // An object may move with its name inside an item. `spec` and `status` have nothing in common.
            let may_be = |two: &Candidate<'_>| {
                let keeps_name = |levels: usize| {
                    one.path.names().iter().rev().take(levels).eq(two.path.names().iter().rev().take(levels))
                };
                let moves = keeps_name(2) || has_fields(one.schema) && keeps_name(1);
                !are_apart(&mapped, &two.path) || !is_whole && moves
            };
            for two in newer.iter().filter(|two| may_be(two)) {
                let names = Sides { older: one.name(), newer: two.name() };
                pairs.extend(pair(one, two, &mapped, &weights, &names));
            }
        }
        pairs.sort_by(|one, two| two.score.total_cmp(&one.score));
        pairs
    }

    /// Pairs the remaining fields, the most likely pair first. Each pair of objects may make further pairs likely. A
    /// field with two equally likely counterparts has none.
    fn match_rest(&mut self) {
        let mut contested = Sides::<BTreeSet<Path>>::default();
        loop {
            let mut pairs = self.pairs();
            let is_contested = |Sides { older, newer }: &Sides<Path>| {
                contested.older.contains(older) || contested.newer.contains(newer)
            };
            pairs.retain(|pair| pair.score >= LIKELY && !is_contested(&pair.paths));
            let Some((best, others)) = pairs.split_first() else { return };
            if let Some(rival) = others.iter().find(|other| is_rival(best, other)) {
                let lists = self.around.lists.clone();
                let question = Question { lists, paths: best.paths.clone(), rival: Some(rival.paths.clone()) };
                self.questions.push(question);
                match best.paths.older == rival.paths.older {
                    true => _ = contested.older.insert(best.paths.older.clone()),
                    false => _ = contested.newer.insert(best.paths.newer.clone()),
                }
                continue;
            }
            let Sides { older, newer } = &best.paths;
            let (Some(one), Some(two)) = (self.schemas.older.at(older), self.schemas.newer.at(newer)) else { return };
            let before = self.entries.len();
            let reason = reason(&best.paths);
            self.convert(&best.paths, Sides { older: one, newer: two }, &best.conversion, Some(&reason));
            let parts = parts(older, self.schemas);
            if let Some(entry) = self.entries.get_mut(before).filter(|_| best.score < SURE || parts.is_some()) {
                entry.question = Some(parts.unwrap_or_else(|| {
                    format!("{older} and {newer} may be different fields: if so, write `drop` and `add`")
                }));
            }
        }
    }

    /// Names the most likely counterpart of each field that stays without one.
    fn doubt_rest(&mut self) {
        let mut asked: Vec<Sides<Path>> = self.questions.iter().map(|question| question.paths.clone()).collect();
        let known_before = asked.len();
        for Pair { paths, score, .. } in self.pairs() {
            let known = |other: &Sides<Path>| other.older == paths.older || other.newer == paths.newer;
            if score >= POSSIBLE && !asked.iter().any(known) {
                asked.push(paths);
            }
        }
        let lists = &self.around.lists;
        self.questions.extend(asked.into_iter().skip(known_before).map(|paths| Question {
            lists: lists.clone(),
            paths,
            rival: None,
        }));
    }
}

/// The question about a text that may have parts: in the newer version, an object with several scalars is in its place.
fn parts(older: &Path, schemas: Sides<&Schema>) -> Option<String> {
    let is_text = schemas.older.at(older)?.is("string");
    let members = &schemas.newer.at(older)?.properties;
    let are_scalars = members.len() > 1 && members.values().all(Schema::is_scalar);
    let parts: Vec<String> = members.keys().map(|name| older.join(name).to_string()).collect();
    (is_text && are_scalars).then(|| {
        format!(
            "{older} may be a text with several parts: if so, write `split: {{field: {older}, into: [{}], separator: \" \"}}` \
             with the parts in their order",
            parts.join(", ")
        )
    })
}

/// Returns whether another pair with one of the two fields is nearly as likely.
fn is_rival(best: &Pair, other: &Pair) -> bool {
    let shares = (best.paths.older == other.paths.older) != (best.paths.newer == other.paths.newer);
    shares && best.score - other.score < NEARLY
}

/// Returns whether two fields are in different objects at the top, such as `spec` and `status`.
fn are_apart(mapped: &Path, newer: &Path) -> bool {
    mapped.len() > 1 && newer.len() > 1 && mapped.names().first() != newer.names().first()
}

/// The operation between objects with one field and plain values, if the items are those.
fn only_field(older: &Schema, newer: &Schema) -> Option<Entry> {
    let item = Path::default();
    let paths = match (only_scalar(older), only_scalar(newer)) {
        (Some((name, field)), None) if field.kind == newer.kind => Sides { older: item.join(name), newer: item },
        (None, Some((name, field))) if field.kind == older.kind => {
            Sides { older: item.clone(), newer: item.join(name) }
        }
        _ => return None,
    };
    Some(Entry::guess(Operation::between("move", &paths), "the object has one field"))
}

fn reason(paths: &Sides<Path>) -> String {
    let name = |path: &Path| path.names().last().map(ToString::to_string).unwrap_or_default();
    let (older, newer) = (name(&paths.older), name(&paths.newer));
    if older == newer {
        return "the name and the type are equal in another object".to_owned();
    }
    let words_of = |path: &Path| path.names().iter().skip(1).flat_map(|name| words(name)).collect::<BTreeSet<String>>();
    let common: Vec<String> = words_of(&paths.older).intersection(&words_of(&paths.newer)).cloned().collect();
    match common.as_slice() {
        [] => "the types are equal, and the names are similar".to_owned(),
        [word] => format!("both paths contain the word {word}"),
        several => format!("both paths contain the words {}", several.join(", ")),
    }
}
