//! The built-in definitions.

/// File name, text, and text of the CRD.
pub(super) const EMBEDDED: [(&str, &str, &str); 1] = [(
    "materialize.yaml",
    include_str!("../../kinds/materialize/materialize.yaml"),
    include_str!("../../kinds/materialize/materializes.crd.yaml"),
)];

/// Returns the text of a built-in definition by its name.
#[must_use]
pub fn embedded_text(name: &str) -> Option<&'static str> {
    embedded(name).map(|(text, _)| text)
}

/// Returns the CRD of a built-in definition by the name of the definition.
#[must_use]
pub fn embedded_crd(name: &str) -> Option<&'static str> {
    embedded(name).map(|(_, crd)| crd)
}

fn embedded(name: &str) -> Option<(&'static str, &'static str)> {
    let file = format!("{name}.yaml");
    EMBEDDED.iter().find(|(known, _, _)| *known == file).map(|(_, text, crd)| (*text, *crd))
}
