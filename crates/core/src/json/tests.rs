use super::*;

#[test]
fn one_level_is_split_and_the_rest_stays_as_it_is_written() {
    let mut json = Json::parse(" { \"a\" : 1.0 , \"b\\u0061\":{\"x\": [1, 2]},\"c\":\"}\\\"]\" } ").unwrap();
    let members = json.open().unwrap().unwrap();
    let seen: Vec<_> = members.iter().map(|(name, value)| (name.to_owned(), value.to_text())).collect();
    assert_eq!(
        seen,
        [
            ("a".to_owned(), "1.0".to_owned()),
            ("ba".to_owned(), "{\"x\": [1, 2]}".to_owned()),
            ("c".to_owned(), "\"}\\\"]\"".to_owned())
        ]
    );
    assert_eq!(json.to_text(), "{\"a\":1.0,\"ba\":{\"x\": [1, 2]},\"c\":\"}\\\"]\"}");
}

#[test]
fn a_member_named_twice_is_refused() {
    assert_eq!(Json::borrowed(r#"{"a":1,"b":2,"\u0061":3}"#).open().unwrap_err(), Duplicate("a".to_owned()));
    let many: Vec<String> = (0..100).map(|i| format!("\"k{}\":1", i % 99)).collect();
    let many = format!("{{{}}}", many.join(","));
    assert_eq!(Json::borrowed(&many).open().unwrap_err(), Duplicate("k0".to_owned()));
}

#[test]
fn sameness_is_of_values_not_of_spellings() {
    let same = |a: &str, b: &str| Json::borrowed(a).same(&Json::borrowed(b));
    assert!(same(r#"{"a":1,"b":[{}]}"#, r#"{ "b": [ {} ], "a": 1.0 }"#));
    assert!(same("100", "1e2"));
    assert!(same("-0", "0.0"));
    assert!(same(r#""\u003c""#, r#""<""#));
    assert!(!same("9007199254740993", "9007199254740992"));
    assert!(!same("null", r#""null""#));
    assert!(!same("[]", "{}"));
    assert!(!same(r#"{"a":null}"#, "{}"));
    assert!(!same("1", r#""1""#));
    assert!(!same("[1,2]", "[2,1]"));
}

#[test]
fn canonical_form_sorts_and_drops_nothingness_from_objects_only() {
    let text = |text: &str| Canonical::default().text(text);
    assert_eq!(
        text(r#"{"b":1.0,"a":{"x":null,"y":{}},"c":[null,{},[],{"z":[]}]}"#).unwrap(),
        r#"{"b":1.0,"c":[null,{},[],{}]}"#
    );
    assert_eq!(text(r#"{"a":{"b":{"c":null}}}"#), None);
    assert_eq!(
        text(r#"{"z":{"b":1,"a":2},"y":"\u003c\u0001"}"#).unwrap(),
        "{\"y\":\"<\\u0001\",\"z\":{\"a\":2,\"b\":1}}"
    );
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(text(&deep).unwrap(), deep);
}

#[test]
fn canonical_form_spells_uuids_one_way_where_the_schema_says_uuid() {
    let mut places = Canonical::default();
    places.members.insert("id".to_owned(), Canonical { uuid: true, ..Canonical::default() });
    assert_eq!(
        places.text(r#"{"id":"5C8A1F0E7F2B4B8E9D552F6F3C1B0A77","x":"5C8A1F0E7F2B4B8E9D552F6F3C1B0A77"}"#).unwrap(),
        r#"{"id":"5c8a1f0e-7f2b-4b8e-9d55-2f6f3c1b0a77","x":"5C8A1F0E7F2B4B8E9D552F6F3C1B0A77"}"#
    );
}

#[test]
fn strings_are_unescaped_as_go_does() {
    assert_eq!(unescape(r#""a\n\u00e9\ud83d\ude00\ud800x\/""#), "a\né😀\u{fffd}x/");
}

#[test]
fn depth_and_disorder_cost_no_more_than_their_length() {
    let deep =
        |levels: usize| format!("{}1{}", "{\"b\":".repeat(levels), ",\"a\":[{\"d\":1,\"c\":null}]}".repeat(levels));
    let levels = 200_000;
    let expected = format!("{}1{}", "{\"a\":[{\"d\":1}],\"b\":".repeat(levels), "}".repeat(levels));
    assert_eq!(Canonical::default().text(&deep(levels)).unwrap(), expected);
    let mixed = r#"{"z":{"y":2,"x":{"b":1,"a":2}},"n":null,"k":{"m":null},"c":[{"b":1,"a":{"f":1,"e":2}}],"a":0}"#;
    let sorted = r#"{"a":0,"c":[{"a":{"e":2,"f":1},"b":1}],"z":{"x":{"a":2,"b":1},"y":2}}"#;
    assert_eq!(Canonical::default().text(mixed).unwrap(), sorted);
}
