use proptest::prelude::*;

use super::{read, write};
use crate::commands::json_tree::{JsonTree, quoted};

fn json(yaml: &str) -> String {
    read(yaml).unwrap_or_else(|error| panic!("{yaml}: {}", error.message)).to_string()
}

#[test]
fn numbers_are_text() {
    for number in [
        "0",
        "-0",
        "1",
        "9007199254740993",
        "18446744073709551616",
        "-9223372036854775809",
        "1.0",
        "0.10",
        "1e21",
        "1E+2",
        "1.00000000000000000001",
        "123456789012345678901234567890.5",
    ] {
        let yaml = format!("a: {number} # why\nb: [{number}, x]\nc:\n- {number}\nd: &n {number}\ne: *n\n");
        let wanted =
            format!("{{\"a\":{number},\"b\":[{number},\"x\"],\"c\":[{number}],\"d\":{number},\"e\":{number}}}");
        assert_eq!(json(&yaml), wanted);
        assert_eq!(json(&write(&JsonTree::from_json(&wanted).unwrap())), wanted);
    }
    assert_eq!(json(number_at_the_root()), "1.10");
    // Numbers in a spelling that JSON lacks are written by value.
    assert_eq!(json("[0644, 0x1F, .5, 08, +3, 1_000, 0o17]"), "[420,31,0.5,8,3,1000,15]");
    // Behind characters of several bytes.
    assert_eq!(json("ä: ö\n\"🦀\": 1.50\n"), "{\"ä\":\"ö\",\"🦀\":1.50}");
}

fn number_at_the_root() -> &'static str {
    "1.10\n"
}

#[test]
fn strings_stay_strings() {
    for text in
        ["no", "0777", "1e3", "2026-01-01", "null", "~", "", "true", "1.0", "0x10", "a: b", "- a", "#a", "<<", "="]
    {
        let value =
            JsonTree::object([("a", JsonTree::string(text)), ("b", JsonTree::Array(vec![JsonTree::string(text)]))]);
        let yaml = write(&value);
        assert_eq!(yaml, format!("a: {0}\nb:\n- {0}\n", quoted(text)));
        assert_eq!(read(&yaml).unwrap(), value);
    }
    assert_eq!(json("a: \"no\"\nb: '0777'\nc: 2026-01-01\n"), r#"{"a":"no","b":"0777","c":"2026-01-01"}"#);
}

#[test]
fn layout_is_that_of_kubectl() {
    let yaml = "\
apiVersion: v1
items:
- kind: A
  list:
  - - 1
    - 2
  - []
  more: {}
  text: |
    one
    two
metadata:
  a.b/c: x
  \"n o\": arn:aws:iam::1:role/mz
";
    assert_eq!(write(&read(yaml).unwrap()), yaml);
}

#[test]
fn non_json_yaml_names_its_line() {
    for (yaml, line) in [("a: 1\nb: .inf\n", 2), ("a: 1\na: 2\n", 2), ("a: [\n", 1), ("a: 1\n b: 2\n", 2)] {
        let error = read(yaml).unwrap_err();
        assert_eq!(error.line, line, "{yaml}: {}", error.message);
    }
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    assert!(read(&deep).is_err());
    assert!(JsonTree::from_json(&deep).is_err());
}

fn text() -> impl Strategy<Value = String> {
    let spelt = [
        "no",
        "y",
        "0777",
        "1e3",
        "1_000",
        "2026-01-01",
        "12:30:45",
        "null",
        "~",
        "-",
        "?",
        "a: b",
        "a #b",
        " a",
        "a ",
        "\t",
        "a\nb",
        "a\n\nb\n",
        "a\n\n",
        "\n",
        "a \nb",
        " a\nb",
        "a\n b\n",
        "a\n\tb",
        "---",
        "--- a",
        "a\n---\nb",
        "...",
        "'",
        "\"",
        "\\",
        "&a",
        "*a",
        "!a",
        "%a",
        "@a",
        "`a",
        "|",
        ">",
        "{",
        "[",
        ",",
        "a,b",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "\u{0}",
        "\r",
        "a\r\nb",
        "🦀",
        "\u{7f}",
    ];
    prop_oneof![
        proptest::sample::select(spelt.to_vec()).prop_map(str::to_owned),
        ".{0,12}",
        "[ -~\n]{0,20}",
        "\\PC{0,8}"
    ]
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?(0|[1-9][0-9]{0,24})",
        "-?(0|[1-9][0-9]{0,4})\\.[0-9]{1,20}",
        "-?[1-9](\\.[0-9]{1,3})?[eE][+-]?[0-9]{1,2}"
    ]
}

fn value() -> impl Strategy<Value = JsonTree> {
    let leaf = prop_oneof![
        Just(JsonTree::Null),
        any::<bool>().prop_map(JsonTree::Bool),
        number().prop_map(JsonTree::Number),
        text().prop_map(JsonTree::String),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(JsonTree::Array),
            proptest::collection::btree_map(text(), inner, 0..5)
                .prop_map(|map| JsonTree::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn written_yaml_reads_back(value in value()) {
        let yaml = write(&value);
        let again = read(&yaml).map_err(|error| TestCaseError::fail(format!("{}\n{yaml}", error.message)))?;
        prop_assert_eq!(&again, &value, "{}", yaml);
        prop_assert_eq!(&JsonTree::from_json(&value.to_string()).unwrap(), &value);
        prop_assert_eq!(JsonTree::from_json(&format!("{value:#}")).unwrap(), value);
    }
}
