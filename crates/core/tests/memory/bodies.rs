//! Review bodies by an attacker, and by a client with much data.

use std::fmt::Write as _;
use std::iter;

use pointsman_core::webhook::Endpoint;

/// Approximate size of each body, in bytes.
const SIZE: usize = 128 << 10;

/// All bodies, by name.
pub(crate) fn all() -> Vec<(String, Endpoint, String)> {
    let mut all = Vec::new();
    for (name, body) in conversions() {
        all.push((name.to_owned(), Endpoint::Convert, body));
    }
    for (name, kind, object, to) in items() {
        all.push((name.clone(), Endpoint::Convert, review(&format!("[{object}]"), to)));
        let judged =
            admission(&object).replace("materialize.cloud\",", "example.com\",").replace("Materialize\"},\"op", kind);
        all.push((format!("{name}, judged"), Endpoint::Validate, judged));
    }
    for (name, text) in texts() {
        for (place, body) in places(&text) {
            all.push((format!("{name} as {place}"), Endpoint::Convert, body));
        }
        for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
            let spec = object(&format!("\"spec\":{text}"), V1);
            all.push((format!("{name} as spec, {endpoint:?}"), endpoint, admission(&spec)));
            let annotations = object(&format!("\"metadata\":{{\"name\":\"a\",\"annotations\":{text}}}"), V1);
            all.push((format!("{name} as annotations, {endpoint:?}"), endpoint, admission(&annotations)));
        }
    }
    all
}

const V1: &str = "materialize.cloud/v1alpha1";
const V2: &str = "materialize.cloud/v1alpha2";

fn conversions() -> Vec<(&'static str, String)> {
    let list = |object: &str| review(&format!("[{}]", joined(object)), V2);
    let minimal = object("\"metadata\":{\"name\":\"a\"},\"spec\":{}", V1);
    vec![
        ("objects that are empty", list("{}")),
        ("objects that are zeros", list("0")),
        ("objects that are empty lists", list("[]")),
        ("objects of no known kind", list(r#"{"apiVersion":"a/b","kind":"C"}"#)),
        ("objects of no known version", list(r#"{"apiVersion":"materialize.cloud/v9","kind":"Materialize"}"#)),
        ("objects that are there already", list(&minimal.replace(V1, V2))),
        ("objects that are as small as can be", list(&minimal)),
        ("objects that are small, downwards", review(&format!("[{}]", joined(&minimal.replace(V1, V2))), V1)),
        ("objects that are complete, downwards", review(&format!("[{}]", joined(&complete(V2))), V1)),
        ("objects that are complete", list(&complete(V1))),
        ("a desired version that is long", review("[{}]", &"v".repeat(SIZE))),
        (
            "a desired version that is long, and many objects",
            review(&format!("[{}]", joined("{}")), &"\\u0000".repeat(SIZE / 24)),
        ),
        ("a desired version that is long, and objects that fail by it", {
            let objects = format!("[{}]", joined(&minimal));
            review(&objects, &"\\u0000".repeat(SIZE / 24))
        }),
        ("a uid that is long", review("[{}]", V2).replace("\"u\"", &format!("\"{}\"", "\\u0001".repeat(SIZE / 6)))),
        ("a kind that is long", review("[]", V2).replace("ConversionReview", &"\\u0001".repeat(SIZE / 6))),
        ("members outside of the request", review("[]", V2).replacen('{', &format!("{{{},", members("0")), 1)),
        ("members in the request", review("[]", V2).replace("\"uid\"", &format!("{},\"uid\"", members("0")))),
        ("members of one name", review("[]", V2).replacen('{', &format!("{{{},", joined("\"\":0")), 1)),
        (
            "names that are long",
            review(
                &format!(
                    "[{}]",
                    object(
                        &format!(
                            "\"metadata\":{{\"name\":\"{0}\",\"namespace\":\"{0}\"}},\"metadata\":1",
                            "\\u0001".repeat(SIZE / 12)
                        ),
                        V1
                    )
                ),
                V2,
            ),
        ),
        ("no JSON", joined("[")),
    ]
}

/// Long JSON values.
fn texts() -> Vec<(&'static str, String)> {
    let half = SIZE / 2;
    vec![
        ("zeros", format!("[{}]", joined("0"))),
        ("empty objects", format!("[{}]", joined("{}"))),
        ("empty strings", format!("[{}]", joined("\"\""))),
        ("members", format!("{{{}}}", members("0"))),
        ("members that are strings", format!("{{{}}}", members("\"\""))),
        ("members that are objects", format!("{{{}}}", members("{}"))),
        ("members of one name", format!("{{{}}}", joined("\"a\":0"))),
        ("a string", format!("\"{}\"", "a".repeat(SIZE))),
        ("a string of escapes", format!("\"{}\"", "\\u0000".repeat(SIZE / 6))),
        ("a string of quotes", format!("\"{}\"", "\\\"".repeat(half))),
        ("a string of slashes", format!("\"{}\"", "\\\\".repeat(half))),
        ("a number", "1".repeat(SIZE)),
        ("depth", format!("{}{}", "[".repeat(100), "]".repeat(100))),
        ("white space", format!("[{}]", " ".repeat(SIZE))),
        ("lists of lists", format!("[{}]", joined("[[[]]]"))),
    ]
}

/// Locations for a value in a converted object: parsed, kept, moved or ignored by the conversion.
fn places(text: &str) -> Vec<(&'static str, String)> {
    let up = |rest: &str| review(&format!("[{}]", object(rest, V1)), V2);
    let down = |rest: &str| review(&format!("[{}]", object(rest, V2)), V1);
    let named = "\"metadata\":{\"name\":\"a\"}";
    let kept = |version: &str| {
        let mut quoted = String::new();
        for c in format!("{{\"fields\":{text}}}").chars() {
            if matches!(c, '"' | '\\') {
                quoted.push('\\');
            }
            quoted.push(c);
        }
        format!(
            "\"metadata\":{{\"name\":\"a\",\"annotations\":{{\"pointsman.dev/kept-{version}\":\"{quoted}\"}}}},\"spec\":{{}}"
        )
    };
    vec![
        ("an object", review(&format!("[{text}]"), V2)),
        ("the objects", review(text, V2)),
        ("metadata", up(&format!("\"metadata\":{text},\"spec\":{{}}"))),
        ("labels", up(&format!("\"metadata\":{{\"name\":\"a\",\"labels\":{text}}},\"spec\":{{}}"))),
        ("annotations", up(&format!("\"metadata\":{{\"name\":\"a\",\"annotations\":{text}}},\"spec\":{{}}"))),
        ("an annotation of ours, upwards", up(&kept("v1alpha2"))),
        ("an annotation of ours, downwards", down(&kept("v1alpha1"))),
        ("spec", up(&format!("{named},\"spec\":{text}"))),
        ("spec, downwards", down(&format!("{named},\"spec\":{text}"))),
        ("status", up(&format!("{named},\"spec\":{{}},\"status\":{text}"))),
        ("status, downwards", down(&format!("{named},\"spec\":{{}},\"status\":{text}"))),
        ("a field that is dropped", up(&format!("{named},\"spec\":{{\"requestRollout\":{text}}}"))),
        ("a field that is moved", up(&format!("{named},\"spec\":{{\"environmentdIamRoleArn\":{text}}}"))),
        ("a map that is moved into", up(&format!("{named},\"spec\":{{\"serviceAccountAnnotations\":{text}}}"))),
        ("a map that is moved out of", down(&format!("{named},\"spec\":{{\"serviceAccountAnnotations\":{text}}}"))),
        ("a field that is carried", up(&format!("{named},\"spec\":{{\"podLabels\":{text}}}"))),
        ("an unknown field", down(&format!("{named},\"spec\":{{\"x\":{text}}}"))),
        ("conditions", up(&format!("{named},\"spec\":{{}},\"status\":{{\"conditions\":{text}}}"))),
        ("a hashed field", {
            let complete = complete(V2).replace("\"spec\":{", &format!("\"spec\":{{\"podAnnotations\":{text},"));
            review(&format!("[{complete}]"), V1)
        }),
    ]
}

/// Objects with lists and maps of items, each of which is converted; their kinds; and their target versions.
fn items() -> Vec<(String, &'static str, String, &'static str)> {
    let mut all = Vec::new();
    for (name, text) in texts() {
        for field in ["routes", "rules", "zones", "modes", "groups"] {
            let object = format!(
                "{{\"apiVersion\":\"example.com/v1alpha1\",\"kind\":\"Proxy\",\"spec\":{{\"{field}\":{text}}}}}"
            );
            all.push((format!("{name} as {field}"), "Proxy\"},\"op", object, "example.com/v1"));
        }
        for (from, to, before, after) in [
            ("v1", "example.com/v2", "\"filters\":", ""),
            ("v2", "example.com/v1", "\"sieve\":{\"filters\":", "}"),
            ("v1", "example.com/v2", "\"aliases\":", ""),
        ] {
            let spec = format!("{{{before}{text}{after}}}");
            let object = format!("{{\"apiVersion\":\"example.com/{from}\",\"kind\":\"Mailbox\",\"spec\":{spec}}}");
            all.push((format!("{name} as {before} of {from}"), "Mailbox\"},\"op", object, to));
        }
    }
    all
}

/// A review of these objects.
pub(crate) fn review(objects: &str, desired: &str) -> String {
    format!(
        "{{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"ConversionReview\",\"request\":\
         {{\"uid\":\"u\",\"desiredAPIVersion\":\"{desired}\",\"objects\":{objects}}}}}"
    )
}

fn admission(object: &str) -> String {
    format!(
        "{{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{{\"uid\":\"u\",\
         \"kind\":{{\"group\":\"materialize.cloud\",\"version\":\"v1alpha1\",\"kind\":\"Materialize\"}},\
         \"operation\":\"UPDATE\",\"object\":{object},\"oldObject\":{}}}}}",
        complete(V1)
    )
}

fn object(rest: &str, version: &str) -> String {
    format!("{{\"apiVersion\":\"{version}\",\"kind\":\"Materialize\",{rest}}}")
}

/// An object with only the required fields of its kind.
fn complete(version: &str) -> String {
    object(
        "\"metadata\":{\"name\":\"a\",\"namespace\":\"b\"},\"spec\":\
         {\"environmentdImageRef\":\"materialize/environmentd:v1\",\"backendSecretName\":\"s\"}",
        version,
    )
}

/// Repeats the text, separated by commas, up to the size of a body.
fn joined(text: &str) -> String {
    let mut all = vec![text; SIZE / (text.len() + 1)].join(",");
    all.shrink_to_fit();
    all
}

/// Members with the shortest possible distinct names.
fn members(value: &str) -> String {
    let mut all = String::with_capacity(SIZE + 64);
    for number in iter::successors(Some(0_u32), |number| Some(number + 1)) {
        if all.len() >= SIZE {
            return all;
        }
        if number > 0 {
            all.push(',');
        }
        let _ = write!(all, "\"{number:x}\":{value}");
    }
    all
}
