use super::*;

#[test]
fn split_keeps_inner_text() {
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
fn equality_ignores_spelling() {
    let same = |a: &str, b: &str| Json::borrowed(a).same(&Json::borrowed(b));
    assert!(same(r#"{"a":1,"b":[{}]}"#, r#"{ "b": [ {} ], "a": 1.0 }"#));
    assert!(same("100", "1e2"));
    assert!(same("-0", "0.0"));
    assert!(same("-0.0", "0"));
    assert!(same(r#""\u003c""#, r#""<""#));
    assert!(!same("9007199254740993", "9007199254740992"));
    assert!(!same("null", r#""null""#));
    assert!(!same("[]", "{}"));
    assert!(!same(r#"{"a":null}"#, "{}"));
    assert!(!same("1", r#""1""#));
    assert!(!same("[1,2]", "[2,1]"));
}

#[test]
fn canonical_form_sorts_and_drops_nulls() {
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
fn canonical_form_normalises_uuids() {
    let mut places = Canonical::default();
    places.members.insert("id".to_owned(), Canonical { uuid: true, ..Canonical::default() });
    assert_eq!(
        places.text(r#"{"id":"5C8A1F0E7F2B4B8E9D552F6F3C1B0A77","x":"5C8A1F0E7F2B4B8E9D552F6F3C1B0A77"}"#).unwrap(),
        r#"{"id":"5c8a1f0e-7f2b-4b8e-9d55-2f6f3c1b0a77","x":"5C8A1F0E7F2B4B8E9D552F6F3C1B0A77"}"#
    );
}

#[test]
fn string_respelling_matches_its_value() {
    let pieces = [
        "a/b",
        "é𝄞\u{7f}",
        r#"\""#,
        r"\\",
        r"\/",
        r"\b",
        r"\f",
        r"\n",
        r"\r",
        r"\t",
        r"\u0000",
        r"\u001F",
        r"\u0022",
        r"\u005c",
        r"\u00e9",
        r"\ud834\udd1e",
        r"\ud834",
        r"\udd1e",
    ];
    for (one, other) in pieces.iter().flat_map(|one| pieces.iter().map(move |other| (one, other))) {
        let quoted = format!("\"{one}{other}{one}\"");
        let (mut respelled, mut written) = (String::new(), String::new());
        scan::respell(&quoted, &mut respelled);
        scan::escape(&unescape(&quoted), &mut written);
        assert_eq!(respelled, written, "{quoted}");
    }
}

#[test]
fn spaced_member_name_is_found() {
    let (spaced, compact) = (r#"{  ":":"},[abc"}"#, r#"{":":"},[abc"}"#);
    assert!(Json::borrowed(spaced).same(&Json::borrowed(compact)));
    assert_eq!(Canonical::default().text(spaced).as_deref(), Some(compact));
    let mut written = String::new();
    assert!(Canonical::default().sorted_members().write("a", spaced, &mut written));
    assert_eq!(written, compact);
}

#[test]
fn strings_unescape_like_go() {
    assert_eq!(unescape(r#""a\n\u00e9\ud83d\ude00\ud800x\/""#), "a\né😀\u{fffd}x/");
}

#[test]
fn depth_cost_is_linear() {
    let deep =
        |levels: usize| format!("{}1{}", "{\"b\":".repeat(levels), ",\"a\":[{\"d\":1,\"c\":null}]}".repeat(levels));
    let levels = 200_000;
    let expected = format!("{}1{}", "{\"a\":[{\"d\":1}],\"b\":".repeat(levels), "}".repeat(levels));
    assert_eq!(Canonical::default().text(&deep(levels)).unwrap(), expected);
    let mixed = r#"{"z":{"y":2,"x":{"b":1,"a":2}},"n":null,"k":{"m":null},"c":[{"b":1,"a":{"f":1,"e":2}}],"a":0}"#;
    let sorted = r#"{"a":0,"c":[{"a":{"e":2,"f":1},"b":1}],"z":{"x":{"a":2,"b":1},"y":2}}"#;
    assert_eq!(Canonical::default().text(mixed).unwrap(), sorted);
}

/// The parser accepts the same texts as `serde_json`, also among texts that are nearly JSON.
#[test]
fn grammar_matches_serde_json() {
    let seeds = [
        r#"{"a":[1,-0.5e+10,{"b":"\u00e9\n\\\""},null,true,false,[],{}],"c":{"d":"é😀 12345678 plain text"}}"#,
        r#" [ 0 , 10 , -1 , 1.0 , 1e5 , "\ud800" , "" , {"":""} ] "#,
        r#""a string of more than eight bytes \/ \b\f\r\t and a quote \" in it""#,
    ];
    let signs = b"{}[]\",:\\ue0123456789.+-tfn \n\t\x01\x1f/aE";
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % limit as u64).unwrap()
    };
    let (mut good, mut bad) = (0, 0);
    for round in 0..6_000 {
        let mut bytes = seeds[round % seeds.len()].as_bytes().to_vec();
        for _ in 0..next(4) {
            let (at, sign) = (next(bytes.len()), signs[next(signs.len())]);
            match next(3) {
                0 => bytes[at] = sign,
                1 => bytes.insert(at, sign),
                _ => drop(bytes.remove(at)),
            }
        }
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        let levels = next(4);
        let ours = Json::read(&text, levels, None);
        assert_eq!(ours.is_some(), theirs, "{text:?}");
        let Some(ours) = ours else {
            bad += 1;
            continue;
        };
        good += 1;
        assert!(ours.same(&Json::borrowed(&text)), "{text:?} opened {levels} levels is {}", ours.to_text());
    }
    assert!(good > 1000 && bad > 1000, "{good} {bad}");
}

/// Strings are written as `serde_json` writes them: each character at each position of short and longer texts.
#[test]
fn each_character_is_written_anywhere() {
    for character in ('\0'..='\u{ff}').chain(['\u{2028}', '😀']) {
        for (before, after) in (0..18).flat_map(|before| (0..18).map(move |after| (before, after))) {
            let text = format!("{}{character}{}", "a".repeat(before), "b".repeat(after));
            let written = Json::string(&text).to_text();
            assert_eq!(written, serde_json::to_string(&text).unwrap());
            assert_eq!(Json::parse(&written).unwrap().as_str().unwrap(), text);
        }
    }
}

#[test]
fn deep_values_are_still_read() {
    for depth in [1, 128, 129, 130, 100_000] {
        let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(Json::read(&text, 0, None).is_some(), depth <= 129, "{depth}");
        assert_eq!(Json::parse(&text).unwrap().to_text(), text);
    }
    assert!(Json::parse(&"[".repeat(130)).is_err());
}

#[test]
fn duplicate_member_stays_unopened() {
    let json = Json::read(r#"{"b":{"a":1,"\u0061":2},"a":{"y":1,"x":2}}"#, 2, None).unwrap();
    let mut members = json.into_members();
    assert!(matches!(members[1].1, Json::Object(_)));
    assert_eq!(members[0].1.open().unwrap_err(), Duplicate("a".to_owned()));
}
