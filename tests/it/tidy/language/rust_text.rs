//! The strings of a Rust source.

/// The string literals outside of comments, `reason = "…"` and the module of tests, as the program prints them.
pub(super) fn literals(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let (mut found, mut rest) = (Vec::new(), source);
    while let Some(at) = rest.find(['/', '"', '\'', 'r']) {
        let here = &rest[at..];
        let before = &source[..source.len() - here.len()];
        let is_name = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let fence = here[1..].bytes().take_while(|byte| *byte == b'#').count();
        rest = if here.starts_with("//") {
            here.split_once('\n').map_or("", |(_, rest)| rest)
        } else if let Some(inside) = here.strip_prefix('"') {
            let (text, rest) = escaped(inside);
            if !before.ends_with("reason = ") {
                found.push(text);
            }
            rest
        } else if here.starts_with('r') && !is_name && here[1 + fence..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(fence));
            let (text, rest) = here[2 + fence..].split_once(&end).unwrap();
            found.push(text.to_owned());
            rest
        } else if here.starts_with('\'') {
            character(here)
        } else {
            &here[1..]
        };
    }
    found
}

/// The rest behind a character literal, or behind the quote of a lifetime.
fn character(here: &str) -> &str {
    let mut chars = here.char_indices().skip(1);
    match (chars.next(), chars.next(), chars.next()) {
        (Some((_, '\\')), _, _) => here[3..].split_once('\'').map_or("", |(_, rest)| rest),
        (_, Some((_, '\'')), Some((rest, _))) => &here[rest..],
        _ => &here[1..],
    }
}

/// A string without its escapes, and the rest behind its end.
fn escaped(text: &str) -> (String, &str) {
    let (mut out, mut chars) = (String::new(), text.char_indices());
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (out, &text[at + 1..]),
            '\\' => match chars.next() {
                Some((_, 'n')) => out.push('\n'),
                // A line that continues: its indentation does not count.
                Some((next, '\n')) => {
                    let skipped = text[next..].len() - text[next..].trim_start().len();
                    let end = next + skipped;
                    while chars.clone().next().is_some_and(|(at, _)| at < end) {
                        chars.next();
                    }
                }
                Some((_, other)) => out.push(other),
                None => {}
            },
            other => out.push(other),
        }
    }
    (out, "")
}

#[test]
fn literals_are_found() {
    let source = r##"// "no"
let a = "one \"two\" \
         three"; let b: &'static str = r#"raw "text""#; let c = ('"', '\'', "four");
#[allow(dead_code, reason = "no")]
let d = for_r"";
#[cfg(test)]
mod tests { "no" }"##;
    assert_eq!(literals(source), ["one \"two\" three", "raw \"text\"", "four", ""]);
}
