//! The mapping of `each`: a list or map whose items are converted one by one.

use smallvec::smallvec;

use super::mapping::{Fragment, Items, Level, Mapping, Operation, Unexplained};
use crate::definition::frontier::Root;
use crate::definition::path::Path;
use crate::definition::place::Place;
use crate::definition::schema::Schema;
use crate::definition::side::{Side, Sides};
use crate::json::Json;

/// The operation on a list or map with the conversion of its items.
pub(super) fn each(places: Sides<Place>, items: Items) -> Operation {
    Operation::between("each", places, Each(items))
}

/// An `each` that is implied by the schemas of the items. Keys of a list are its `x-kubernetes-list-map-keys`, else a
/// required `name`. `None` if an operation concerns a key.
pub(super) fn implied(places: Sides<Place>, operations: Vec<Operation>) -> Option<Operation> {
    let (older, newer) = (places.older.schema.each.as_deref()?, places.newer.schema.each.as_deref()?);
    let items = Sides { older, newer };
    let touched = |path: &Path| operations.iter().any(|operation| operation.touches(Side::Older, path));
    let key = |name: String| {
        let path = Path::parse(&name).ok().filter(|path| !touched(path))?;
        let [one, two] = [older, newer].map(|item| Some(Place::new(path.clone(), item.at(&path)?.clone())));
        Some((one?, two?))
    };
    let keys: Option<Vec<_>> = key_names(&places.older.schema, items).into_iter().map(key).collect();
    let (one, two) = keys?.into_iter().unzip();
    let level = Level::new(older, newer, operations, Root::Item);
    Some(each(places, Items { level, keys: Sides { older: one, newer: two } }))
}

/// The names of the key fields of a list, if the definition names none.
pub(super) fn key_names(list: &Schema, items: Sides<&Schema>) -> Vec<String> {
    let is_scalar = |schema: &Schema| !schema.is("object") && !schema.is("array");
    let required = |schema: &Schema| schema.required.contains("name") && schema.member("name").is_some_and(is_scalar);
    match list.is("array") {
        true if !list.list_keys.is_empty() => list.list_keys.clone(),
        true if required(items.older) && required(items.newer) => vec!["name".to_owned()],
        _ => Vec::new(),
    }
}

/// A list or map on both sides. Its items are converted in place, so the value as a whole is the same.
#[derive(Debug)]
struct Each(Items);

impl Mapping for Each {
    fn map<'a>(&self, _: Side, _: &[Place], from: &[Option<Json<'a>>]) -> Fragment<'a> {
        smallvec![from.first().cloned().flatten()]
    }

    /// Compares the list or map itself. Its contents are compared under their own operations. Renamed keys count as
    /// equal.
    fn unexplained(&self, _: &str, older: &Place, newer: &Place) -> Unexplained {
        let Sides { older: one, newer: two } = &self.0.keys;
        let names = |keys: &[Place]| keys.iter().map(|key| key.id.clone()).collect::<Vec<_>>();
        let alike = older.schema.list_keys == names(one) && newer.schema.list_keys == names(two);
        let outside = |place: &Place| {
            let schema = place.schema.clone();
            let list_keys = if alike { Vec::new() } else { schema.list_keys };
            Schema { each: None, list_keys, ..schema }
        };
        Unexplained::schemas(outside(older), outside(newer))
    }

    fn items(&self) -> Option<&Items> {
        Some(&self.0)
    }
}
