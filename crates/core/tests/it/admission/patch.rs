//! A JSON Patch as the API server applies it (`gopkg.in/evanphx/json-patch.v4`).

use serde_json::Value;

/// Applies a patch as strictly as the API server's library: missing parents are not created.
pub(super) fn apply(object: &Value, patch: &[Value]) -> Result<Value, String> {
    let mut object = object.clone();
    for operation in patch {
        let path = operation["path"].as_str().ok_or("no path")?;
        let mut names = path.strip_prefix('/').ok_or("not below the root")?.split('/');
        let last = names.next_back().ok_or("no name")?;
        let plain = |name: &str| name.replace("~1", "/").replace("~0", "~");
        let mut here = &mut object;
        for name in names {
            here = here
                .get_mut(plain(name))
                .filter(|next| next.is_object())
                .ok_or_else(|| format!("{path}: a parent is missing"))?;
        }
        let here = here.as_object_mut().ok_or("the root is no object")?;
        let key = plain(last);
        let value = operation["value"].clone();
        match operation["op"].as_str() {
            Some("add") => {
                here.insert(key, value);
            }
            Some("replace") if here.contains_key(&key) => {
                here.insert(key, value);
            }
            Some("remove") if here.contains_key(&key) => {
                here.remove(&key);
            }
            Some("test") if here.get(&key) == Some(&value) => {}
            other => return Err(format!("{path}: {other:?} does not apply")),
        }
    }
    Ok(object)
}
