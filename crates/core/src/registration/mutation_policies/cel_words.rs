//! Flags of a command line, as expressions of patches: what the server does with one word after the other is said of
//! all words at once. That is possible since a word that is the value of a flag is never another flag.

use super::cel_place::{CelPlace, add, bind, only_if, remove, replace};
use crate::definition::{FlagEntry, FlagForm, SCRIPT_OPTION_TAKING, SHELLS, SHELLS_OF_USER, is_truth};
use crate::registration::cel::literal;

/// A flag is there once, with this value or without one.
pub(super) fn set(container: &CelPlace, name: &str, value: Option<&str>) -> String {
    let form = match value {
        None => FlagForm::Switch,
        Some(value) if is_truth(value) => FlagForm::Truth,
        Some(_) => FlagForm::Valued,
    };
    let flag = CelFlag { name, form };
    let written = literal(&written(name, value));
    // The value behind the first of them that stays, or the flag itself.
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

/// A flag is not there, nor its values.
pub(super) fn unset(container: &CelPlace, name: &str, form: FlagForm) -> String {
    let flag = CelFlag { name, form };
    let goes = format!("{} || {}", flag.is_there("at"), flag.is_value("at"));
    let patch = rewritten(container, &format!("!({goes})"), "word");
    let is_any = format!("words.exists(word, {})", flag.is_named("word"));
    on_line(container, &only_if(&[is_any], &patch))
}

/// The value of a flag, a list with commas, has this one of some entries. A flag that is new gets all of them at once:
/// its name may make a command line one of a shell, which is left alone from then on.
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
    let beside = format!("{} && {}", flag.is_joined("at"), has(&flag.joined_value()));
    let replaced = rewritten(
        container,
        "true",
        &format!("{behind} ? {} : {beside} ? {joined} + {} : word", with("word"), with(&flag.joined_value())),
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
    let is_found = format!("words.transformList(at, word, {behind} || {beside}, at).size() > 0");
    on_line(container, &format!("({is_found} ? {replaced} : {missing})"))
}

/// The value of a flag has no entries of these keys. A flag of which nothing is left goes.
pub(super) fn unset_entries(container: &CelPlace, name: &str, keys: &[String]) -> String {
    let flag = CelFlag { name, form: FlagForm::Valued };
    let keys: Vec<String> = keys.iter().map(|key| literal(key)).collect();
    let keys = format!("[{}]", keys.join(", "));
    let has = |value: &str| format!("{value}.split(\",\").exists(part, {KEY} in {keys})");
    let left = |value: &str| format!("{value}.split(\",\").filter(part, !({KEY} in {keys})).join(\",\")");
    let emptied = |value: &str| format!("{} && {} == \"\"", has(value), left(value));
    let joined = flag.joined_value();
    let goes = format!(
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
    on_line(container, &only_if(&[is_any], &rewritten(container, &format!("!({goes})"), &word)))
}

/// A flag among `words`, of which those before `end` may be flags, where `word` is the one at some index.
struct CelFlag<'f> {
    name: &'f str,
    form: FlagForm,
}

impl CelFlag<'_> {
    /// Whether a word is the flag, with its value or without it.
    fn is_named(&self, word: &str) -> String {
        format!("({word} == {} || {word}.startsWith({}))", literal(self.name), literal(&format!("{}=", self.name)))
    }

    /// Whether the word at an index is.
    fn is_there(&self, at: &str) -> String {
        format!("({at} < end && {})", self.is_named("word"))
    }

    /// Whether it is, and has its value in it.
    fn is_joined(&self, at: &str) -> String {
        format!("({at} < end && word.startsWith({}))", literal(&format!("{}=", self.name)))
    }

    /// That value.
    fn joined_value(&self) -> String {
        format!("word.substring({})", self.name.chars().count() + 1)
    }

    /// Whether the word at an index is the flag, and the next one its value.
    fn has_value_behind(&self, at: &str) -> String {
        let next = format!("words[{at} + 1]");
        format!("(word == {} && {at} + 1 < end && {})", literal(self.name), self.takes(&next))
    }

    /// Whether the word at an index is the value of the flag before it.
    fn is_value(&self, at: &str) -> String {
        let before = format!("words[{at} - 1] == {}", literal(self.name));
        format!("({at} > 0 && {at} < end && {before} && {})", self.takes("word"))
    }

    /// Whether a word behind it can be its value.
    fn takes(&self, word: &str) -> String {
        match self.form {
            FlagForm::Switch => "false".to_owned(),
            FlagForm::Valued => format!("!{word}.matches(\"^-[^0-9]\")"),
            FlagForm::Truth => format!("({word}.lowerAscii() in [\"true\", \"false\"] || {word} in [\"1\", \"0\"])"),
        }
    }
}

/// What an entry is known by.
const KEY: &str = "part.split(\"=\")[0].trim()";

/// A patch of the command line of a container, for which `command` and `args` are its two lists, `sent` is both,
/// `words` their texts, and `end` is how many stand before the one from which on nothing is a flag. One that is for
/// two programs is left alone.
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

/// The text of what is no word: no flag, and no value of one. No program can be given it.
const NO_WORD: &str = "-\0";

/// What a word is to the search for a shell with a script, in one letter: an option that is a script, one that takes
/// the next word, any other option, a shell, a program that runs one for a user, or anything else. An option of a shell
/// that begins with a plus may be the path of such a program, where no shell is before it.
fn letter() -> String {
    // Nothing here takes longer for a longer word: a script may be one.
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

/// A shell with a script among such letters. Behind a shell there may be options, of which some take the next word;
/// behind anything else it is no longer the shell that is spoken to.
const SCRIPT: &str = "^(?:[CTAN]|[SP](?:[ASPQ]|T.)*N)*(?:[UQ].*C|[SP](?:[ASPQ]|T.)*(?:C|U.*C))";

/// Adds a word where the last flag may stand: in `args`, where there are any, else behind the words of `command`.
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

/// The words that stay, each as it is to be: those that are others are replaced, and what goes is taken away from
/// behind, so that each is still where it was found. A list that was emptied goes: it would hide the one of the image.
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
        let gone = format!("words.transformList(at, word, {range} && !({stays}), at)");
        let each = format!("{changed} + gone.reverse().map(at, {})", remove(&place));
        let all = format!("gone.size() > 0 && gone.size() == {name}.size()");
        only_if(&is_any, &bind("gone", &gone, &format!("({all} ? [{}] : {each})", remove(&list.pointer()))))
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
