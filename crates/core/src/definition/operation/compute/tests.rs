//! Examples of expressions, and their limits.

use serde_json::{Value as Written, json};

use super::evaluation::Evaluation;
use super::meter::{Meter, NoValue};
use super::parser::Parser;
use super::types::Type;
use super::value::Value;
use crate::definition::schema::Schema;
use crate::json::Json;

fn types() -> Vec<(String, Type)> {
    let schema = |kind: Written| Type::of(&Schema::read(&kind));
    vec![
        ("text".to_owned(), schema(json!({"type": "string"}))),
        ("number".to_owned(), schema(json!({"type": "integer"}))),
        ("list".to_owned(), schema(json!({"type": "array", "items": {"type": "string"}}))),
        ("map".to_owned(), schema(json!({"type": "object", "additionalProperties": {"type": "string"}}))),
        ("nothing".to_owned(), schema(json!({"type": "string"}))),
        (
            "pairs".to_owned(),
            schema(json!({"type": "array", "items": {"type": "object", "properties": {
                "name": {"type": "string"}, "value": {"type": "string"}}}})),
        ),
    ]
}

fn values() -> Vec<Value> {
    let json = [
        json!("group/v1"),
        json!(300),
        json!(["b", "a"]),
        json!({"x": "1", "y": "2"}),
        Written::Null,
        json!([{"name": "x", "value": "1"}, {"name": "y"}]),
    ];
    let read = |(value, (_, kind)): (Written, (String, Type))| Value::read(&Json::owned(value.to_string()), &kind);
    json.into_iter().zip(types()).map(|pair| read(pair).unwrap()).collect()
}

fn evaluated(text: &str) -> Result<Written, NoValue> {
    let (expression, _) = Parser::new(types()).parse(text).unwrap();
    let mut meter = Meter::new(expression.nodes(), 64);
    let mut evaluation = Evaluation { variables: values(), meter: &mut meter };
    evaluation.value(&expression).map(|value| serde_json::from_str(&value.to_json().unwrap()).unwrap())
}

/// The API server reads a number with a fraction of 0 as an integer, and writes floats as Go does.
#[test]
fn doubles_are_written_as_the_api_server_stores_them() {
    for (number, stored) in
        [(1.0, "1"), (-0.0, "0"), (0.1, "0.1"), (1e20, "100000000000000000000"), (1e21, "1e+21"), (-1.5e-7, "-1.5e-7")]
    {
        assert_eq!(Value::Double(number).to_json().as_deref(), Some(stored), "{number}");
    }
    assert_eq!(Value::Double(f64::NAN).to_json(), None);
    let list = Value::List([Value::Null, Value::Text("a\"b".into())].into());
    let map = Value::map(vec![("b".into(), list), ("a".into(), Value::Null)]).unwrap();
    assert_eq!(map.to_json().as_deref(), Some(r#"{"b":[null,"a\"b"]}"#));
}

#[test]
fn expressions_have_the_values_of_cel() {
    for (text, value) in [
        (r#"text.split("/")[0]"#, json!("group")),
        (r#"text.contains("/") ? text.split("/", 2) : ["", text]"#, json!(["group", "v1"])),
        (r#"nothing == null ? "none" : nothing"#, json!("none")),
        (r#"{"a": text, "b": nothing, "c": [nothing]}"#, json!({"a": "group/v1", "c": [null]})),
        (r#"string(number) + "s""#, json!("300s")),
        ("number / 7 + number % 7", json!(48)),
        ("-number * 2", json!(-600)),
        (r#"int("12") + size(list) + list.size()"#, json!(16)),
        (r#"list.map(x, x + "!")"#, json!(["b!", "a!"])),
        (r#"list.map(x, x != "a", x + "!")"#, json!(["b!"])),
        (r#"list.filter(x, x == "a")"#, json!(["a"])),
        (r#"list.exists(x, x == "a") && !list.all(x, x == "a") && list.exists_one(x, x == "b")"#, json!(true)),
        (
            r#"map.map(k, {"name": k, "value": map[k]})"#,
            json!([{"name": "x", "value": "1"}, {"name": "y", "value": "2"}]),
        ),
        ("map.transformList(k, v, k + v)", json!(["x1", "y2"])),
        (r#"map.transformMap(k, v, k == "x", v + v)"#, json!({"x": "11"})),
        ("list.transformMapEntry(i, v, {v: i})", json!({"b": 0, "a": 1})),
        ("pairs.transformMapEntry(i, p, {p.name: has(p.value)})", json!({"x": true, "y": false})),
        (r#"list.join("+") + list.join()"#, json!("b+aba")),
        (r#"text.replace("/", "-") + text.substring(6) + text.substring(0, 2)"#, json!("group-v1v1gr")),
        (r#"[text.indexOf("/"), text.lastIndexOf("z"), text.size()]"#, json!([5, -1, 8])),
        (r#"" A ".trim().lowerAscii() + "b".upperAscii()"#, json!("aB")),
        (r#"text.startsWith("group/") && text.endsWith("v1") && text.matches("^[a-z]+/v[0-9]$")"#, json!(true)),
        (r#""a" in list && "x" in map && !("z" in map)"#, json!(true)),
        ("number > 299 && number >= 300.0 && number == 300.0 && number < 301", json!(true)),
        (r#"int("no") == 1 || true"#, json!(true)),
        (r#"["no", "1"].exists(x, int(x) == 1) && ["1", "no"].exists(x, int(x) == 1)"#, json!(true)),
        (r#"["no", "1"].all(x, int(x) == 2) || ["1", "no"].all(x, int(x) == 2)"#, json!(false)),
        (r#"{"a": number}.a"#, json!(300)),
        (r#"fromYaml("a: [1, 1.5, x, null]\nb:\n  c: true\n")"#, json!({"a": [1, 1.5, "x", null], "b": {"c": true}})),
        (r#"fromJson("{\"b\": [1e2], \"a\": {}}")"#, json!({"a": {}, "b": [100]})),
        ("toJson(pairs)", json!(r#"[{"name":"x","value":"1"},{"name":"y"}]"#)),
        ("toYaml(pairs)", json!("- name: x\n  value: \"1\"\n- name: \"y\"\n")),
        (r#"fromYaml(toYaml(pairs)) == pairs && fromJson(toJson(map)) == map"#, json!(true)),
        (r#"toYaml({"no": "on", "x": [], "z": "a\nb\n"})"#, json!("\"no\": \"on\"\nx: []\nz: |\n  a\n  b\n")),
    ] {
        assert_eq!(evaluated(text), Ok(value), "{text}");
    }
}

#[test]
fn operations_without_result_are_errors() {
    for text in [
        r#"int("no")"#,
        "list[2]",
        "map.z",
        "number / 0",
        "9223372036854775807 + number",
        "nothing.size()",
        r#"text.substring(9)"#,
        r#"{"a": 1, text: 2, "group/v1": 3}.a"#,
        r#"pairs.map(p, p.value)"#,
        r#"["no", "1"].exists(x, int(x) == 2)"#,
        r#"["no", "1"].all(x, int(x) == 1)"#,
        r#"["no", "1", "1"].exists_one(x, int(x) == 1)"#,
        r#"fromJson("{} x")"#,
        r#"fromJson("{\"a\": 1, \"a\": 2}")"#,
        r#"fromYaml("a: 1\na: 2")"#,
        r#"fromYaml("a: &x [1]\nb: *x")"#,
        r#"fromYaml("a: 1\n---\nb: 1\n")"#,
        r#"fromYaml("a: .nan")"#,
        r#"fromYaml("18446744073709551615")"#,
    ] {
        assert_eq!(evaluated(text), Err(NoValue::Error), "{text}");
    }
}

#[test]
fn work_is_limited() {
    let run = |text: &str, list: usize| {
        let (expression, _) = Parser::new(types()).parse(text).unwrap();
        let mut variables = values();
        variables[2] = Value::List((0..list).map(|_| Value::Text("a".into())).collect());
        let mut meter = Meter::new(expression.nodes(), 4 * list);
        Evaluation { variables, meter: &mut meter }.value(&expression).map(drop)
    };
    let grown = (0..10).fold("text".to_owned(), |text, _| format!("[{text}].map(t, t + t + t + t)[0]"));
    assert_eq!(run(&grown, 1), Err(NoValue::Limit));
    let pairs = "list.all(a, list.all(b, (a + b) != text))";
    assert_eq!(run(pairs, 20), Ok(()));
    assert_eq!(run(pairs, 4000), Err(NoValue::Limit));
    assert_eq!(run("list.map(a, a + text)", 4000), Ok(()));
    // A limit is final, also next to an operand that decides.
    assert_eq!(run(&format!("{grown} == text || true"), 1), Err(NoValue::Limit));
    assert_eq!(run(&format!("int(text) == 1 || {grown} == text"), 1), Err(NoValue::Limit));
    // What an item with an error has built is free again.
    assert_eq!(run("list.all(a, list.map(b, list[-1]) == [] || true)", 60), Ok(()));
    assert_eq!(run("list.map(a, list.map(b, b))", 60), Err(NoValue::Limit));
    // A text of many values needs more memory than its size allows, and nothing is built beyond the limit.
    let read = |function: &str, part: &str, count: usize| {
        let (expression, _) = Parser::new(types()).parse(&format!("{function}(text)")).unwrap();
        let text = format!("[{}1]", part.repeat(count));
        let mut variables = values();
        let mut meter = Meter::new(expression.nodes(), text.len());
        variables[0] = Value::Text(text.into());
        Evaluation { variables, meter: &mut meter }.value(&expression).map(drop)
    };
    for function in ["fromJson", "fromYaml"] {
        assert_eq!(read(function, "\"some text\", ", 5000), Ok(()));
        assert_eq!(read(function, "1,", 5000), Err(NoValue::Error));
        assert_eq!(read(function, "[1], ", 200), Ok(()));
        assert_eq!(read(function, "[", 500), Err(NoValue::Error));
    }
    let nested = "list.all(a, list.all(b, list.all(c, c == text)))";
    assert_eq!(Parser::new(types()).parse(nested).unwrap_err(), "macros are nested in at most 2 levels");
}

#[test]
fn types_are_checked() {
    for (text, message) in [
        ("text + number", "`+` cannot combine a string and an int"),
        ("numbr", "no variable \"numbr\", did you mean \"number\"?"),
        ("text.splitt(\"/\")", "no function `splitt`, did you mean \"split\"?"),
        ("text ? 1 : 2", "the condition of `? :` must be a bool, and is a string"),
        ("list.map(x, x + 1)", "`+` cannot combine a string and an int"),
        ("pairs.map(p, p.nam)", "no member \"nam\", did you mean \"name\"?"),
        ("number.name", "an int has no member \"name\""),
        ("text.contains()", "`contains` takes 2 to 2 arguments with its target, and got 1"),
        ("text == number", "`==` cannot combine a string and an int"),
        ("text.matches(text)", "the pattern of `matches` must be a literal"),
        ("b\"x\"", "bytes are not supported"),
    ] {
        assert_eq!(Parser::new(types()).parse(text).unwrap_err(), message, "{text}");
    }
    assert!(Parser::new(types()).parse("text +").unwrap_err().starts_with("no valid expression at character"));
}
