//! The page of the chart's values, which the comments of `values.yaml` describe.
//!
//! `POINTSMAN_BLESS=1 cargo test --locked --test it -- chart_page` writes it.

use crate::bless::agrees;

const VALUES: &str = include_str!("../../../manifests/chart/values.yaml");

const HEAD: &str = "\
# The chart of pointsman

The chart installs the server: a Deployment and its objects. API servers call the server only after you register it, so neither
an upgrade nor an uninstall of the chart changes a CRD. [Install](../../docs/install.md) describes all steps.

<!-- not run: there are no containers; other tests check the rendered chart -->

```sh
helm install pointsman manifests/chart -n pointsman-system --create-namespace --set image.repository=registry.example/pointsman
```

The defaults need cert-manager. To use a certificate of your own, set `certificate.source=secret` and `certificate.secretName`.

## Values

| value | default | purpose |
|---|---|---|
";

/// A value with its default and its comment. A group of values has no default.
struct ChartValue {
    path: String,
    default: Option<String>,
    comment: String,
}

/// The values in their order.
fn values(text: &str) -> Vec<ChartValue> {
    let (mut found, mut path, mut comment) = (Vec::new(), Vec::<(usize, &str)>::new(), Vec::new());
    for line in text.lines() {
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        if let Some(words) = trimmed.strip_prefix('#') {
            comment.push(words.trim());
            continue;
        }
        let key = trimmed.split_once(':').filter(|(key, _)| key.chars().all(char::is_alphanumeric));
        let Some((key, value)) = key else {
            // An empty line ends the comment of the file; the rest are items of lists.
            comment.clear();
            continue;
        };
        path.retain(|(depth, _)| *depth < indent);
        path.push((indent, key));
        let names: Vec<&str> = path.iter().map(|(_, name)| *name).collect();
        let default = Some(value.trim().to_owned()).filter(|value| !value.is_empty());
        found.push(ChartValue { path: names.join("."), default, comment: comment.join(" ") });
        comment.clear();
    }
    found
}

fn row(ChartValue { path, default, comment }: &ChartValue) -> String {
    let default = default.as_ref().map_or_else(String::new, |value| format!("`{value}`"));
    format!("| `{path}` | {default} | {} |\n", comment.replace('|', "\\|"))
}

#[test]
fn chart_page_lists_all_values() {
    let values = values(VALUES);
    assert!(values.len() > 60, "{}", values.len());
    let rows = values.iter().filter(|value| value.default.is_some() || !value.comment.is_empty());
    agrees("manifests/chart/README.md", &(HEAD.to_owned() + &rows.map(row).collect::<String>()));
}
