//! A word of an incomplete command line.

/// Expands a word like a shell, as far as paths need it: quotes, backslashes, `~` and `$HOME`. Other text stays
/// unchanged.
pub(crate) fn read(word: &str, home: Option<&str>) -> String {
    let (mut read, mut quote, mut rest) = (String::new(), None, word);
    if let (Some(home), Some(after)) = (home, word.strip_prefix('~'))
        && (after.is_empty() || after.starts_with('/'))
    {
        read.push_str(home);
        rest = after;
    }
    while let Some(next) = rest.chars().next() {
        let named = ["$HOME", "${HOME}"].iter().find_map(|name| rest.strip_prefix(name));
        if let (Some(home), Some(after)) = (home, named)
            && quote != Some('\'')
        {
            read.push_str(home);
            rest = after;
            continue;
        }
        rest = &rest[next.len_utf8()..];
        match next {
            _ if quote == Some(next) => quote = None,
            '"' | '\'' if quote.is_none() => quote = Some(next),
            '\\' if quote != Some('\'') => {
                let meant = rest.chars().next();
                read.extend(meant);
                rest = &rest[meant.map_or(0, char::len_utf8)..];
            }
            _ => read.push(next),
        }
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_parse_like_a_shell() {
        for (word, path) in [
            ("kinds", "kinds"),
            ("~/kinds", "/home/a/kinds"),
            ("~", "/home/a"),
            ("~b/kinds", "~b/kinds"),
            ("$HOME/kinds", "/home/a/kinds"),
            ("\"${HOME}/my kinds\"", "/home/a/my kinds"),
            ("'$HOME/it'", "$HOME/it"),
            ("'~/it'", "~/it"),
            (r"my\ kinds", "my kinds"),
            ("\"it's\"", "it's"),
            // Unterminated.
            ("\"my kin", "my kin"),
            ("kinds\\", "kinds"),
            ("größe\\ö", "größeö"),
        ] {
            assert_eq!(read(word, Some("/home/a")), path, "{word}");
        }
        assert_eq!(read("~/kinds$HOME", None), "~/kinds$HOME");
    }
}
