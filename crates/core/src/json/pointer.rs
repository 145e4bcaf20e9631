//! JSON Pointers (RFC 6901), as in JSON Patch.

/// A name as one step of a pointer (RFC 6901, section 3), without the leading `/`.
///
/// ```
/// assert_eq!(pointsman_core::pointer_token("example.com/tier~1"), "example.com~1tier~01");
/// ```
#[must_use]
pub fn pointer_token(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The names of a pointer, outermost first (RFC 6901, section 4). Empty for the whole document.
///
/// ```
/// let names = pointsman_core::pointer_names("/metadata/labels/example.com~1tier");
/// assert_eq!(names, ["metadata", "labels", "example.com/tier"]);
/// ```
#[must_use]
pub fn pointer_names(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~")).collect()
}
