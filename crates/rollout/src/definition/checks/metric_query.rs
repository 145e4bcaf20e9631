//! Prometheus queries whose strings may contain the versions of a rollout.
//!
//! The parser recognizes only string literals and their escapes (prometheus.io/docs/prometheus/latest/querying/basics,
//! "String literals"). That guarantees that a version is part of a string, and never part of the surrounding query.

use crate::definition::rollout_versions::RolloutVersions;
use pointsman_core::definition::version_words::{
    Piece, is_version, names_version, pieces, unknown_placeholder_error, words,
};

/// A query with `{from}` and `{to}` in its strings.
#[derive(Clone, Debug)]
pub(crate) struct MetricQuery(Vec<QueryPart>);

/// A part of a query.
#[derive(Clone, Debug, Eq, PartialEq)]
enum QueryPart {
    /// Literal part of the query.
    Text(String),
    /// A version in a string that is compared as a whole.
    Version(String),
    /// A version in a string that is a regular expression.
    VersionOfPattern(String),
}

/// The use of a string.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum TextUse {
    Whole,
    Pattern,
}

impl MetricQuery {
    /// Parses a query, or returns why placeholders cannot be replaced.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let (mut rest, mut used_as) = (text, TextUse::Whole);
        while let Some(at) = rest.find(['"', '\'', '`', '#']) {
            let (code, behind) = rest.split_at(at);
            used_as = use_after(code, used_as);
            parts.push(outside(code)?);
            let (quote, inner) = behind.split_at(1);
            let end = end_of(quote, inner);
            let (inner, after) = inner.split_at(end.unwrap_or(inner.len()));
            parts.push(QueryPart::Text(quote.to_owned()));
            match quote {
                "#" => parts.push(QueryPart::Text(inner.to_owned())),
                "`" => parts.push(between_backquotes(inner)?),
                _ if end.is_none() && names_version(inner) => {
                    return Err("a string with a variable has no closing quote".to_owned());
                }
                _ if end.is_none() => parts.push(QueryPart::Text(inner.to_owned())),
                _ => parts.extend(in_quotes(inner, used_as)?),
            }
            if quote != "#" {
                used_as = TextUse::Whole;
            }
            let closed = after.strip_prefix(quote).filter(|_| quote != "#");
            parts.extend(closed.map(|_| QueryPart::Text(quote.to_owned())));
            rest = closed.unwrap_or(after);
        }
        parts.push(outside(rest)?);
        Ok(Self(parts))
    }

    /// The query for a rollout.
    pub(crate) fn filled(&self, versions: RolloutVersions<'_>) -> String {
        let part = |part: &QueryPart| match part {
            QueryPart::Text(text) => text.clone(),
            QueryPart::Version(word) => in_text(versions.of(word).unwrap_or_default()),
            QueryPart::VersionOfPattern(word) => in_text(&in_pattern(versions.of(word).unwrap_or_default())),
        };
        self.0.iter().map(part).collect()
    }

    /// Returns whether the query contains a placeholder.
    pub(super) fn mentions(&self, word: &str) -> bool {
        let is_it = |part: &QueryPart| match part {
            QueryPart::Version(it) | QueryPart::VersionOfPattern(it) => it == word,
            QueryPart::Text(_) => false,
        };
        self.0.iter().any(is_it)
    }
}

/// The use of the next string. Comments and white space do not affect it.
fn use_after(code: &str, before: TextUse) -> TextUse {
    match code.trim_end() {
        "" => before,
        code if code.ends_with("=~") || code.ends_with("!~") => TextUse::Pattern,
        _ => TextUse::Whole,
    }
}

/// The end of a string or comment. `None` if it is not terminated. Strings in single or double quotes have one line.
fn end_of(quote: &str, inner: &str) -> Option<usize> {
    if matches!(quote, "#" | "`") {
        return inner.find(if quote == "#" { "\n" } else { quote });
    }
    let mut signs = inner.char_indices();
    while let Some((at, sign)) = signs.next() {
        match sign {
            '\\' => {
                signs.next();
            }
            '\n' => return None,
            sign if quote.starts_with(sign) => return Some(at),
            _ => {}
        }
    }
    None
}

/// Parses the code between strings, where placeholders are not allowed.
fn outside(code: &str) -> Result<QueryPart, String> {
    match words(code).find(|word| is_version(word)) {
        Some(word) => Err(format!(
            "{{{word}}} is outside of a string, so its value could change the query: quote the variable, as in \
                 version=\"{{{word}}}\""
        )),
        None => Ok(QueryPart::Text(code.to_owned())),
    }
}

/// Backquoted strings have no escapes.
fn between_backquotes(inner: &str) -> Result<QueryPart, String> {
    match words(inner).find(|word| is_version(word)) {
        Some(word) => {
            Err(format!("{{{word}}} is between backquotes, where placeholders are not replaced: use double quotes"))
        }
        None => Ok(QueryPart::Text(inner.to_owned())),
    }
}

/// Parses a string in single or double quotes.
fn in_quotes(inner: &str, used_as: TextUse) -> Result<Vec<QueryPart>, String> {
    let mut parts = Vec::new();
    let mut before = String::new();
    for piece in pieces(inner) {
        match piece {
            Piece::Text(text) => {
                before.push_str(text);
                parts.push(QueryPart::Text(text.to_owned()));
            }
            Piece::Word(word) if !is_version(word) => {
                return Err(format!(
                    "{}. A brace itself is written as \\x7b, or between backquotes",
                    unknown_placeholder_error(word)
                ));
            }
            Piece::Word(word) => {
                if is_escaping(&before, used_as) {
                    return Err(format!("{{{word}}} follows a backslash, which would escape the version"));
                }
                before.clear();
                parts.push(match used_as {
                    TextUse::Whole => QueryPart::Version(word.to_owned()),
                    TextUse::Pattern => QueryPart::VersionOfPattern(word.to_owned()),
                });
            }
        }
    }
    Ok(parts)
}

/// Returns whether the preceding text ends in an incomplete escape, of the string or of the regular expression.
fn is_escaping(before: &str, used_as: TextUse) -> bool {
    let is_odd = |decoded: &str| decoded.chars().rev().take_while(|sign| *sign == '\\').count() % 2 == 1;
    decode_string(before).is_none_or(|decoded| used_as == TextUse::Pattern && is_odd(&decoded))
}

/// Decodes a string. `None` if it ends in an incomplete escape or contains an invalid one.
fn decode_string(text: &str) -> Option<String> {
    let mut decoded = String::new();
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        if sign != '\\' {
            decoded.push(sign);
            continue;
        }
        let (digits, base, mut code) = match signs.next()? {
            'x' => (2, 16, 0),
            'u' => (4, 16, 0),
            'U' => (8, 16, 0),
            first @ '0'..='7' => (2, 8, first.to_digit(8)?),
            // The other escapes decode to no backslash.
            other => (0, 16, u32::from(other)),
        };
        for _ in 0..digits {
            code = code.checked_mul(base)?.checked_add(signs.next()?.to_digit(base)?)?;
        }
        decoded.push(char::from_u32(code)?);
    }
    Some(decoded)
}

/// Encodes a version for a string in single or double quotes.
fn in_text(version: &str) -> String {
    let sign = |sign: char| match sign {
        '\\' => "\\\\".to_owned(),
        '"' | '\'' => format!("\\x{:02x}", u32::from(sign)),
        sign if sign.is_ascii_control() => format!("\\x{:02x}", u32::from(sign)),
        sign => sign.to_string(),
    };
    version.chars().map(sign).collect()
}

/// Encodes a version as a regular expression that matches only the version. A backslash makes each character other than
/// a letter or digit literal (github.com/google/re2/wiki/Syntax, "Escape sequences").
fn in_pattern(version: &str) -> String {
    let is_plain = |sign: char| !sign.is_ascii() || sign.is_ascii_alphanumeric() || sign == '_';
    version.chars().flat_map(|sign| (!is_plain(sign)).then_some('\\').into_iter().chain([sign])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pointsman_core::laws::Random;

    fn filled(query: &str, to: &str) -> String {
        MetricQuery::parse(query).unwrap().filled(RolloutVersions { from: Some("v1.16.4"), to })
    }

    #[test]
    fn version_is_escaped_in_patterns() {
        for (query, to, wanted) in [
            ("up", "v1.17.1", "up"),
            ("up{v=\"{to}\"}", "v1.17.1", "up{v=\"v1.17.1\"}"),
            ("up{v='{from}-{to}'}", "v1", "up{v='v1.16.4-v1'}"),
            ("up{v=~\".*:{to}\", a!~ 'x{to}'}", "v1.17.1", "up{v=~\".*:v1\\\\.17\\\\.1\", a!~ 'xv1\\\\.17\\\\.1'}"),
            ("up{v=~ # {to} \"\n '{to}', b=\"{to}\"}", "1.2", "up{v=~ # {to} \"\n '1\\\\.2', b=\"1.2\"}"),
            ("up{v=\"{to}\"}", "a\"} or vector(0) #\\\n'", "up{v=\"a\\x22} or vector(0) #\\\\\\x0a\\x27\"}"),
            // A query without placeholders stays unchanged.
            ("up{a=~\"x{2,3}\", b=`{id}`}[5m]", "v1", "up{a=~\"x{2,3}\", b=`{id}`}[5m]"),
            ("up{a=\"not closed", "v1", "up{a=\"not closed"),
            ("up{a=\"\\x7bto}\"} # the end", "v1", "up{a=\"\\x7bto}\"} # the end"),
            ("a{b=\"\\\\{to}\"}", "v1", "a{b=\"\\\\v1\"}"),
        ] {
            assert_eq!(filled(query, to), wanted, "{query}");
        }
    }

    #[test]
    fn unexpected_placeholders_are_refused() {
        let escape = "{to} follows a backslash";
        for (query, decoded) in [
            ("up{to}", "{to} is outside of a string, so its value could change the query"),
            ("up_{from}", "quote the variable, as in version=\"{from}\""),
            ("up{a=\"b\"} == {to}", "{to} is outside of a string"),
            ("up{a=`{to}`}", "{to} is between backquotes, where placeholders are not replaced: use double quotes"),
            ("up{a=\"{form}\"}", "unknown placeholder {form}, did you mean \"from\"?"),
            ("up{a=\"/users/{id}\"}", "A brace itself is written as \\x7b, or between backquotes"),
            ("up{a=\"{to}", "a string with a variable has no closing quote"),
            ("up{a='{to}\n'}", "a string with a variable has no closing quote"),
            ("up{a=\"b\\{to}\"}", escape),
            ("up{a=\"b\\x4{to}\"}", escape),
            ("up{a=\"b\\u005{to}\"}", escape),
            ("up{a=\"b\\04{to}\"}", escape),
            ("up{a=~\"b\\\\{to}\"}", escape),
            ("up{a=~\"b\\x5c{to}\"}", escape),
            ("up{a!~\"b\\134{to}\"}", escape),
            ("up{a=~\"b\\u005c{to}\"}", escape),
        ] {
            let bad = MetricQuery::parse(query).map(|_| ()).unwrap_err();
            assert!(bad.contains(decoded), "{query}: {bad}");
        }
    }

    /// For any version, the query around its strings is the same. Each string contains the version, or is a pattern
    /// that matches only the version.
    #[test]
    fn version_cannot_change_the_query() {
        const SIGNS: [char; 18] =
            ['a', '1', '.', '"', '\'', '`', '\\', '#', '{', '}', '(', '|', '*', '$', '\n', '\0', '\u{e9}', ' '];
        const CODE: [&str; 6] = ["up{a=", "\t!=", "} + on() x{b=~ ", ",c !~", " # '\" {to}\n", "(`\\`,"];
        const TEXTS: [&str; 7] =
            ["\"{to}\"", "'{to}'", "\"a\\\"{to}:{to}\"", "'\\x41\"{to}'", "\"\\\\n{to}\"", "\"plain\"", "`raw{2}`"];
        let mut random = Random::new(7);
        for _ in 0..4_000 {
            let mut query = String::new();
            for _ in 0..=random.below(5) {
                query.push_str(random.word(&CODE));
                if random.percent(80) {
                    query.push_str(random.word(&TEXTS));
                }
            }
            let to: String = (0..random.below(7)).filter_map(|_| random.pick(&SIGNS)).collect();
            let template = MetricQuery::parse(&query).unwrap();
            let query_tokens = |to: &str| tokens(&template.filled(RolloutVersions { from: None, to }));
            let (marked, real) = (query_tokens(MARK), query_tokens(&to));
            assert_eq!(marked.len(), real.len(), "{query:?} {to:?}");
            for (marked, real) in marked.iter().zip(&real) {
                let is_same = match marked {
                    Token::Code(_) => marked == real,
                    Token::Text(text) => *real == Token::Text(text.replace(MARK, &to)),
                    Token::Pattern(text) => {
                        let Token::Pattern(real) = real else { panic!("{query:?} {to:?}: {real:?}") };
                        let mut rest = real.as_str();
                        let plain = text.split(MARK).enumerate().all(|(at, plain)| {
                            let version = if at == 0 { Some(rest) } else { matched_alone(rest, &to) };
                            rest = version.and_then(|rest| rest.strip_prefix(plain)).unwrap_or("not it");
                            rest != "not it"
                        });
                        plain && rest.is_empty()
                    }
                };
                assert!(is_same, "{query:?} {to:?}: {marked:?} {real:?}");
            }
        }
    }

    const MARK: &str = "theversion";

    #[derive(Debug, PartialEq)]
    enum Token {
        Code(String),
        Text(String),
        Pattern(String),
    }

    /// Tokenizes a query like the lexer of Prometheus, with decoded strings.
    fn tokens(query: &str) -> Vec<Token> {
        let mut tokens = Vec::new();
        let (mut code, mut last) = (String::new(), String::new());
        let mut signs = query.chars();
        while let Some(sign) = signs.next() {
            match sign {
                '#' => {
                    code.push('#');
                    code.extend(signs.by_ref().take_while(|sign| *sign != '\n'));
                }
                '`' => code.extend(signs.by_ref().take_while(|sign| *sign != '`')),
                '"' | '\'' => {
                    let text = text_until(sign, &mut signs);
                    let is_pattern = last.ends_with("=~") || last.ends_with("!~");
                    tokens.push(Token::Code(std::mem::take(&mut code)));
                    tokens.push(if is_pattern { Token::Pattern(text) } else { Token::Text(text) });
                }
                sign => code.push(sign),
            }
            match sign {
                '#' | ' ' | '\t' | '\n' => {}
                sign => last.push(sign),
            }
        }
        tokens.push(Token::Code(code));
        tokens
    }

    fn text_until(quote: char, signs: &mut std::str::Chars<'_>) -> String {
        let mut text = String::new();
        loop {
            match signs.next().unwrap() {
                sign if sign == quote => return text,
                '\n' => panic!("a text over two lines"),
                '\\' => text.push(match signs.next().unwrap() {
                    'x' => {
                        let digits: String = signs.by_ref().take(2).collect();
                        char::from(u8::from_str_radix(&digits, 16).unwrap())
                    }
                    sign if sign == quote || matches!(sign, '\\' | 'n') => {
                        if sign == 'n' {
                            '\n'
                        } else {
                            sign
                        }
                    }
                    other => panic!("no escape: {other}"),
                }),
                sign => text.push(sign),
            }
        }
    }

    /// The rest of a pattern after a part that matches only this text.
    fn matched_alone<'p>(pattern: &'p str, text: &str) -> Option<&'p str> {
        text.chars().try_fold(pattern, |rest, sign| match rest.strip_prefix('\\') {
            Some(rest) if !sign.is_ascii_alphanumeric() => rest.strip_prefix(sign),
            None if !".+*?()|[]{}^$\\".contains(sign) => rest.strip_prefix(sign),
            _ => None,
        })
    }
}
