//! The definitions that are built in.

/// File name, text, and the text of the CRD.
pub(super) const EMBEDDED: [(&str, &str, &str); 2] = [
    (
        "elasticsearch.yaml",
        include_str!("../../kinds/elasticsearch/elasticsearch.yaml"),
        include_str!("../../kinds/elasticsearch/elasticsearches.crd.yaml"),
    ),
    (
        "materialize.yaml",
        include_str!("../../kinds/materialize/materialize.yaml"),
        include_str!("../../kinds/materialize/materializes.crd.yaml"),
    ),
];

/// The text of a definition that is built in, by its name.
#[must_use]
pub fn embedded_text(name: &str) -> Option<&'static str> {
    let file = format!("{name}.yaml");
    EMBEDDED.iter().find(|(known, _, _)| *known == file).map(|(_, text, _)| *text)
}
