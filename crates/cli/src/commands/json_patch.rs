//! Applies JSON Patches of pointsman.

use anyhow::Context;
use pointsman_core::pointer_names;
use pointsman_core::webhook::PatchOperation;

use super::json_tree::JsonTree;

/// The object after the patch (RFC 6902, limited to `add`, `remove` and `replace`).
pub(super) fn patched(mut object: JsonTree, patch: &[PatchOperation]) -> anyhow::Result<JsonTree> {
    for operation in patch {
        let value = match operation.op {
            "remove" => None,
            _ => Some(JsonTree::from_json(&operation.value)?),
        };
        let missing = || format!("{} leads nowhere", operation.path);
        let mut names = pointer_names(&operation.path);
        let Some(last) = names.pop() else {
            object = value.with_context(missing)?;
            continue;
        };
        let holder = names.iter().try_fold(&mut object, |here, name| inside(here, name)).with_context(missing)?;
        if let JsonTree::Array(elements) = holder {
            let at: usize = last.parse().ok().filter(|at| *at <= elements.len()).with_context(missing)?;
            if operation.op != "add" && at < elements.len() {
                elements.remove(at);
            }
            if let Some(value) = value {
                elements.insert(at, value);
            }
        } else if let Some(value) = value {
            holder.set(&last, value);
        } else if let JsonTree::Object(members) = holder {
            members.retain(|(name, _)| *name != last);
        }
    }
    Ok(object)
}

fn inside<'t>(holder: &'t mut JsonTree, name: &str) -> Option<&'t mut JsonTree> {
    match holder {
        JsonTree::Object(members) => members.iter_mut().find(|(key, _)| key == name).map(|(_, value)| value),
        JsonTree::Array(elements) => elements.get_mut(name.parse::<usize>().ok()?),
        _ => None,
    }
}
