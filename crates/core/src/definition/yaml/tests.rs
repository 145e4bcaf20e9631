use std::collections::BTreeMap;

use serde::Deserialize;

use super::{parse, parse_all};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only errors are read")]
enum Operation {
    Move(BTreeMap<String, String>),
    None,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "only errors are read")]
struct File {
    name: Option<String>,
    names: Option<Vec<String>>,
    texts: Option<BTreeMap<String, String>>,
    count: Option<u32>,
    share: Option<f64>,
    on: Option<bool>,
    operation: Option<Operation>,
    operations: Option<Vec<Operation>>,
    json: Option<serde_json::Map<String, serde_json::Value>>,
}

/// Words of serde and of the YAML library are for programmers: authors of a file read about lists, maps and values.
#[test]
fn wrong_types_are_named_in_yaml_terms() {
    let cases = [
        ("names: a", "expected a list: begin each entry with `- `"),
        ("texts: [a]", "expected a map: `key: value`"),
        ("names: [null]", "expected a string, found no value"),
        ("texts: {a: }", "expected a string, found no value"),
        ("name: {a: b}", "expected a single value, found a list or a map"),
        ("count: x", "expected an integer"),
        ("count: -1", "expected an integer"),
        ("count: [1]", "expected a single value, found a list or a map"),
        ("share: [1]", "expected a single value, found a list or a map"),
        ("on: 3", "expected true or false"),
        ("operation: [a]", "expected an operation as a map with one key: `- move: {…}`"),
        ("operations: [~]", "expected an operation as a map with one key: `- move: {…}`"),
        ("operation: {none: 3}", "expected a name without a value"),
        ("json: [a]", "expected a map: `key: value`"),
        ("- a", "expected a map: `key: value`"),
    ];
    let found = cases.map(|(text, _)| (text, parse(text).and_then(|node| node.read::<File>()).unwrap_err().message));
    assert_eq!(found, cases.map(|(text, message)| (text, message.to_owned())));
}

/// The type that is read decides what a scalar is, as its author means it.
#[test]
fn scalars_are_read_as_the_type_that_is_wanted() {
    let read = |text: &str| parse(text).and_then(|node| node.read::<File>()).unwrap();
    for (text, name) in
        [("1.10", "1.10"), ("0644", "0644"), ("yes", "yes"), ("true", "true"), ("'a'", "a"), ("1_000", "1_000")]
    {
        assert_eq!(read(&format!("name: {text}")).name.as_deref(), Some(name), "{text}");
    }
    assert_eq!(read("name: ~").name, None);
    assert_eq!(read("name: ''").name.as_deref(), Some(""));
    for (text, count) in [("3", 3), ("'3'", 3), ("0x1F", 31), ("0644", 420), ("1_000", 1000)] {
        assert_eq!(read(&format!("count: {text}")).count, Some(count), "{text}");
    }
    for (text, share) in [("1", 1.0), ("-1", -1.0), ("0.5", 0.5), ("'0.5'", 0.5), ("1e3", 1000.0)] {
        assert_eq!(read(&format!("share: {text}")).share, Some(share), "{text}");
    }
    for (text, on) in [("true", true), ("False", false), ("yes", true), ("'true'", true)] {
        assert_eq!(read(&format!("on: {text}")).on, Some(on), "{text}");
    }
    assert_eq!(read("names:").names, None);
}

/// Every error has the line of the innermost value, or of the key.
#[test]
fn errors_have_lines() {
    let cases = [
        ("name: a\nnames:\n- b\n- [c]\n", 4),
        ("name: a\ncount:\n  many\n", 3),
        ("name: a\noperation:\n  move:\n    a: []\n", 4),
        ("name: a\noperation:\n  mvoe: {}\n", 3),
        ("name: a\noperation:\n  move: {}\n  none:\n", 4),
        ("name: &a [x]\ncount: *a\n", 1),
        ("name: a\nname: b\n", 2),
        ("name: a\n- b\n", 2),
    ];
    for (text, line) in cases {
        let error = parse(text).and_then(|node| node.read::<File>()).unwrap_err();
        assert_eq!(error.line, line, "{text}: {error}");
    }
}

/// Aliases multiply, and depth needs stack: both are bounded.
#[test]
fn hostile_texts_are_bounded() {
    let mut text = "a: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for at in 1..8 {
        let aliases = vec![format!("*a{}", at - 1); 10].join(", ");
        text.push_str(&format!("b{at}: &a{at} [{aliases}]\n"));
    }
    let cases = [
        (text, "aliases expand to more than 100000 values: write the values out"),
        ("[".repeat(200) + &"]".repeat(200), "more than 128 nested lists and objects, the limit for an input file"),
        ("a: &a [*a]".to_owned(), "an alias contains itself"),
    ];
    for (text, message) in cases {
        assert_eq!(parse(&text).unwrap_err().message, message);
        assert_eq!(parse_all(&text).unwrap_err().message, message);
    }
}
