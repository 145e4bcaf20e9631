//! Equal input yields equal bytes, and numbers keep their text.

use super::objects::complete;
use super::{convert, on_every_trip, without_ours};
use crate::kinds::WEBHOOK;
use crate::value::{Value, Written, text};
use pointsman_core::laws::Random;

const SPELLINGS: [&str; 12] = [
    "9007199254740993",
    "1e21",
    "1.0",
    "-0",
    "1E400",
    "-0.0",
    "100",
    "1E+2",
    "0.10",
    "12345678901234567890123",
    "1.50e-7",
    "18446744073709551616",
];

/// Numbers that the API server rejects for an integer schema.
const NO_INTEGERS: [&str; 4] = ["1e21", "1E400", "12345678901234567890123", "18446744073709551616"];

#[test]
fn equal_input_gives_equal_bytes() {
    let seen = on_every_trip(4, &complete, &|trip, seen, object, seed| {
        let text = object.to_text();
        let converted =
            |text: &str| WEBHOOK.convert(text, trip.to).map(|done| done.text).map_err(|error| error.to_string());
        let (once, twice) = (converted(&text)?, converted(&text)?);
        seen.note("compared", true);
        if once != twice {
            return Err(format!("{once}\n{twice}"));
        }
        // The order of members has no meaning.
        let mut random = Random::new(seed);
        let mut shuffled = String::new();
        object.write(&mut shuffled, &mut |names| random.shuffle(names));
        let (one, other) = (Value::parse(&once), Value::parse(&converted(&shuffled)?));
        super::same("in another order", &one, &other)
    });
    seen.at_least(100, "compared");
}

#[test]
fn numbers_keep_their_text() {
    for number in SPELLINGS {
        let integral = !["0.10", "1.50e-7"].contains(&number);
        for (kind, from, to, field) in [
            ("Mailbox", "v1", "v2", "extra"), // carried inside an object
            ("Mailbox", "v1", "v2", "nowhere"),
            ("Mailbox", "v1", "v2", "box.size"),  // move
            ("Mailbox", "v1", "v2", "old.quota"), // drop
            ("Mailbox", "v2", "v1", "retention"), // add
            ("Mailbox", "v2", "v1", "period"),    // type
            ("Proxy", "v1beta1", "v1alpha1", "priority"),
            ("Proxy", "v1", "v1alpha1", "replicas"),
            ("Widget", "v2", "v1", "port"), // split
        ] {
            if !integral && !["extra", "nowhere", "old.quota"].contains(&field) {
                continue; // the field takes whole numbers only
            }
            let (kind, api) = (text(kind), text(&format!("example.com/{from}")));
            let mut object = Value::parse(r#"{"metadata":{},"spec":{"host":"h"}}"#);
            object.set("kind", kind);
            object.set("apiVersion", api);
            object.set(&format!("spec.{field}"), Value::Number(number.to_owned()));
            let there = convert(&object, to).unwrap();
            let home = convert(&there, from).unwrap();
            let at = format!("spec.{field}");
            // An annotation may contain numbers that no API server can decode, or that are no integers. They are not
            // trusted: no client could write them in that version, and a typed client would fail to read a whole list.
            let is_written = number != "1E400" && (field == "old.quota" || !NO_INTEGERS.contains(&number));
            let carried = without_ours(&there).to_text().contains(&format!("\":{number}"));
            if !is_written && !carried {
                assert_ne!(home.field(&at), object.field(&at), "{}", there.to_text());
                continue;
            }
            assert_eq!(home.field(&at), object.field(&at), "{}\n{}", object.to_text(), there.to_text());
        }
    }
}
