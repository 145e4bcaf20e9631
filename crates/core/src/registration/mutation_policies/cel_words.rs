//! Flags of a command line, as patch expressions. The server processes one word after the other; the expressions
//! process all words at once. That is possible because the value of a flag is never another flag.

use super::cel_place::{CelPlace, add, bind, only_if, remove, replace};
use crate::definition::{FlagEntry, FlagForm, SCRIPT_OPTION_TAKING, SHELLS, SHELLS_OF_USER, is_truth};
use crate::registration::guards::cel::literal;

/// Ensures that a flag occurs once, with this value or without one.
pub(super) fn set(container: &CelPlace, name: &str, value: Option<&str>) -> String {
    let form = match value {
        None => FlagForm::Switch,
        Some(value) if is_truth(value) => FlagForm::Truth,
        Some(_) => FlagForm::Valued,
    };
    let flag = CelFlag { name, form };
    let written = literal(&written(name, value));
    // The value of the first remaining flag, or the flag itself.
    let word = match value {
        Some(value) => format!(
            "at == first ? ({} ? word : {written}) : at == first + 1 && {} ? {} : word",
            flag.has_value_behind("at"),
            flag.is_value("at"),
            literal(value)
        ),
        None => format!("at == first ? (word == {} ? word : {written}) : word", literal(&format!("{name}=true"))),
    };
    let stays = format!("!({} && at != first || {} && at - 1 != first)", flag.is_there("at"), flag.is_value("at"));
    let all = rewritten(container, &stays, &word);
    let first = format!("words.transformList(at, word, {}, at)", flag.is_there("at"));
    let patch = format!("(all.size() == 0 ? {} : {})", added(container, &written), bind("first", "all[0]", &all));
    on_line(container, &bind("all", &first, &patch))
}

/// Removes a flag and its values.
pub(super) fn unset(container: &CelPlace, name: &str, form: FlagForm) -> String {
    let flag = CelFlag { name, form };
    let is_removed = format!("{} || {}", flag.is_there("at"), flag.is_value("at"));
    let patch = rewritten(container, &format!("!({is_removed})"), "word");
    let is_any = format!("words.exists(word, {})", flag.is_named("word"));
    on_line(container, &only_if(&[is_any], &patch))
}

/// Ensures that the value of a flag, a comma-separated list, has this entry. A new flag gets all entries at once: its
/// name may turn the command line into that of a shell, which is left unchanged afterwards.
pub(super) fn set_entry(container: &CelPlace, name: &str, entry: &FlagEntry, all: &[FlagEntry]) -> String {
    let flag = CelFlag { name, form: FlagForm::Valued };
    let (key, text) = (literal(&entry.key), entry.text());
    let (wanted, joined) = (literal(&text), literal(&format!("{name}=")));
    let has = |value: &str| format!("{value}.split(\",\").exists(part, {KEY} == {key})");
    let with = |value: &str| {
        format!(
            "{value}.split(\",\").map(part, {KEY} == {key} && part.trim() != {wanted} ? {wanted} : part).join(\",\")"
        )
    };
    let behind = format!("{} && {}", flag.is_value("at"), has("word"));
    let joined_match = format!("{} && {}", flag.is_joined("at"), has(&flag.joined_value()));
    let replaced = rewritten(
        container,
        "true",
        &format!("{behind} ? {} : {joined_match} ? {joined} + {} : word", with("word"), with(&flag.joined_value())),
    );
    let comma = |value: &str| format!("{value} + ({value} == \"\" ? {wanted} : {})", literal(&format!(",{text}")));
    let given = format!(
        "at == last ? ({} ? word : word == {} ? {} : {joined} + {}) : at == last + 1 && {} ? {} : word",
        flag.has_value_behind("at"),
        literal(name),
        literal(&written(name, Some(&text))),
        comma(&flag.joined_value()),
        flag.is_value("at"),
        comma("word"),
    );
    let last = bind("last", "all[all.size() - 1]", &rewritten(container, "true", &given));
    let every: Vec<String> = all.iter().map(FlagEntry::text).collect();
    let new = added(container, &literal(&written(name, Some(&every.join(",")))));
    let missing = format!("words.transformList(at, word, {}, at)", flag.is_there("at"));
    let missing = bind("all", &missing, &format!("(all.size() == 0 ? {new} : {last})"));
    let is_found = format!("words.transformList(at, word, {behind} || {joined_match}, at).size() > 0");
    on_line(container, &format!("({is_found} ? {replaced} : {missing})"))
}

/// Removes entries from the value of a flag. Removes the flag if no entry is left.
pub(super) fn unset_entries(container: &CelPlace, name: &str, keys: &[String]) -> String {
    let flag = CelFlag { name, form: FlagForm::Valued };
    let keys: Vec<String> = keys.iter().map(|key| literal(key)).collect();
    let keys = format!("[{}]", keys.join(", "));
    let has = |value: &str| format!("{value}.split(\",\").exists(part, {KEY} in {keys})");
    let left = |value: &str| format!("{value}.split(\",\").filter(part, !({KEY} in {keys})).join(\",\")");
    let emptied = |value: &str| format!("{} && {} == \"\"", has(value), left(value));
    let joined = flag.joined_value();
    let is_removed = format!(
        "{} && {} || {} && {} || {} && {}",
        flag.is_joined("at"),
        emptied(&joined),
        flag.is_value("at"),
        emptied("word"),
        flag.has_value_behind("at"),
        emptied("words[at + 1]"),
    );
    let word = format!(
        "{} && {} ? {} + {} : {} && {} ? {} : word",
        flag.is_joined("at"),
        has(&joined),
        literal(&format!("{name}=")),
        left(&joined),
        flag.is_value("at"),
        has("word"),
        left("word"),
    );
    let is_any = format!("words.exists(word, {})", flag.is_named("word"));
    on_line(container, &only_if(&[is_any], &rewritten(container, &format!("!({is_removed})"), &word)))
}

/// A flag among `words`, of which those before `end` may be flags. `word` is the word at an index.
struct CelFlag<'f> {
    name: &'f str,
    form: FlagForm,
}

impl CelFlag<'_> {
    /// An expression for whether a word is the flag, with or without a value.
    fn is_named(&self, word: &str) -> String {
        format!("({word} == {} || {word}.startsWith({}))", literal(self.name), literal(&format!("{}=", self.name)))
    }

    /// An expression for whether the word at an index is the flag.
    fn is_there(&self, at: &str) -> String {
        format!("({at} < end && {})", self.is_named("word"))
    }

    /// An expression for whether the word at an index is the flag with its value.
    fn is_joined(&self, at: &str) -> String {
        format!("({at} < end && word.startsWith({}))", literal(&format!("{}=", self.name)))
    }

    /// The value in the same word.
    fn joined_value(&self) -> String {
        format!("word.substring({})", self.name.chars().count() + 1)
    }

    /// An expression for whether the word at an index is the flag, and the next word its value.
    fn has_value_behind(&self, at: &str) -> String {
        let next = format!("words[{at} + 1]");
        format!("(word == {} && {at} + 1 < end && {})", literal(self.name), self.takes(&next))
    }

    /// An expression for whether the word at an index is the value of the flag before it.
    fn is_value(&self, at: &str) -> String {
        let before = format!("words[{at} - 1] == {}", literal(self.name));
        format!("({at} > 0 && {at} < end && {before} && {})", self.takes("word"))
    }

    /// An expression for whether the next word can be the value.
    fn takes(&self, word: &str) -> String {
        match self.form {
            FlagForm::Switch => "false".to_owned(),
            FlagForm::Valued => format!("!{word}.matches(\"^-[^0-9]\")"),
            FlagForm::Truth => format!("({word}.lowerAscii() in [\"true\", \"false\"] || {word} in [\"1\", \"0\"])"),
        }
    }
}

/// The key of an entry.
const KEY: &str = "part.split(\"=\")[0].trim()";

/// A patch of the command line of a container. `command` and `args` are its two lists, `sent` is both, `words` are
/// their texts, and `end` is the number of words before `--`. A command line of two programs is left unchanged.
fn on_line(container: &CelPlace, patch: &str) -> String {
    let list = |name: &str| {
        let value = container.member(name).value;
        format!("({} && {value} != null ? {value} : [])", container.has(name))
    };
    let of_one = [
        "(end == words.size() || end >= command.size())".to_owned(),
        format!("!words.transformList(at, word, at < end, {}).join(\"\").matches({})", letter(), literal(SCRIPT)),
    ];
    let end = "(words.indexOf(\"--\") < 0 ? words.size() : words.indexOf(\"--\"))";
    let end = bind("end", end, &only_if(&of_one, patch));
    let texts = format!("sent.map(word, type(word) == string ? string(word) : {})", literal(NO_WORD));
    let words = bind("sent", "(command + args)", &bind("words", &texts, &end));
    let are_lists = ["type(command) == list".to_owned(), "type(args) == list".to_owned()];
    bind("command", &list("command"), &bind("args", &list("args"), &only_if(&are_lists, &words)))
}

/// The text of an element that is no string: neither a flag nor a value. No program can receive it.
const NO_WORD: &str = "-\0";

/// Classifies a word for the search for a shell with a script, as one letter: a script option, an option with an
/// argument, another option, a shell, a program that runs a shell for a user, or any other word. A shell option that
/// starts with a plus may be the path of such a program, if no shell precedes it.
fn letter() -> String {
    // Takes constant time for a word, because a script may be long.
    let program = |names: &[&str]| {
        let called: Vec<String> = names.iter().map(|name| literal(name)).collect();
        let in_folder = names.iter().map(|name| format!(" || word.endsWith({})", literal(&format!("/{name}"))));
        format!("(word in [{}]{}) && !word.contains(\"=\")", called.join(", "), in_folder.collect::<String>())
    };
    let taking: Vec<String> = SCRIPT_OPTION_TAKING.iter().map(|option| literal(option)).collect();
    let one_of = |all: &[(&str, &str)]| {
        let each = all.iter().fold(String::new(), |all, (is_it, letter)| format!("{all}{is_it} ? \"{letter}\" : "));
        format!("({each}\"N\")")
    };
    let (shell, of_user, taking) =
        (program(&SHELLS), program(&SHELLS_OF_USER), format!("word in [{}]", taking.join(", ")));
    let long = one_of(&[("word.startsWith(\"--command\")", "C"), (&taking, "T"), ("true", "A")]);
    let short = one_of(&[
        ("word.contains(\"c\")", "C"),
        ("word.endsWith(\"o\") || word.endsWith(\"O\")", "T"),
        ("word != \"-\"", "A"),
    ]);
    let plus = one_of(&[
        ("word.endsWith(\"o\") || word.endsWith(\"O\")", "T"),
        (&shell, "P"),
        (&of_user, "Q"),
        ("word != \"+\"", "A"),
    ]);
    let other = one_of(&[(&shell, "S"), (&of_user, "U")]);
    format!(
        "type(sent[at]) != string ? \"N\" : word.startsWith(\"--\") ? {long} : word.startsWith(\"-\") ? {short} : \
         word.startsWith(\"+\") ? {plus} : {other}"
    )
}

/// Matches a shell with a script. Options may follow a shell, some with an argument. Any other word ends the options of
/// the shell.
const SCRIPT: &str = "^(?:[CTAN]|[SP](?:[ASPQ]|T.)*N)*(?:[UQ].*C|[SP](?:[ASPQ]|T.)*(?:C|U.*C))";

/// Adds a word at the last position for a flag: at the end of `args` if present, else at the end of `command`.
fn added(container: &CelPlace, word: &str) -> String {
    let (command, args) = (container.member("command"), container.member("args"));
    let before_end = add(&args.element("word", "end - command.size()").pointer(), word);
    let to_args = add(&args.end_pointer(), word);
    let to_command = add(&command.end_pointer(), word);
    let first = add(&args.pointer(), &format!("[{word}]"));
    format!(
        "(end < words.size() ? [{before_end}] : args.size() > 0 ? [{to_args}] : command.size() > 0 ? [{to_command}] : \
         [{first}])"
    )
}

/// Rewrites the words: replaces changed words, and removes words in reverse order, so that the indices stay valid.
/// Removes a list that became empty, because it would override that of the image.
fn rewritten(container: &CelPlace, stays: &str, word: &str) -> String {
    let part = |name: &str, range: &str, index: &str| {
        let list = container.member(name);
        let place = list.element("word", index).pointer();
        let changed = match word {
            "word" => "[]".to_owned(),
            word => {
                let is_other = format!("{range} && type(sent[at]) == string && {stays} && ({word}) != word");
                format!("words.transformList(at, word, {is_other}, {})", replace(&place, &format!("({word})")))
            }
        };
        let is_any = [format!("{name}.size() > 0")];
        if stays == "true" {
            return only_if(&is_any, &changed);
        }
        let removed = format!("words.transformList(at, word, {range} && !({stays}), at)");
        let each = format!("{changed} + gone.reverse().map(at, {})", remove(&place));
        let all = format!("gone.size() > 0 && gone.size() == {name}.size()");
        only_if(&is_any, &bind("gone", &removed, &format!("({all} ? [{}] : {each})", remove(&list.pointer()))))
    };
    let parts =
        [part("command", "at < command.size()", "at"), part("args", "at >= command.size()", "at - command.size()")];
    format!("({})", parts.join(" + "))
}

/// A flag as it is added.
fn written(name: &str, value: Option<&str>) -> String {
    match value {
        Some(value) => format!("{name}={value}"),
        None => name.to_owned(),
    }
}
