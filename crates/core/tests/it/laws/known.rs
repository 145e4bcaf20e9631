//! Laws that the engine is known to break, in one place. The list only ever gets shorter: where a law on it holds again,
//! `what_is_known_is_still_broken` fails and says so.

/// A law that does not hold for a kind.
pub(super) struct Known {
    pub(super) law: &'static str,
    pub(super) kind: &'static str,
    /// A case that breaks it.
    pub(super) seed: u64,
}

/// By what is wrong.
pub(super) const KNOWN: [Known; 11] = [
    // A string becomes a number that the API server cannot decode, and a LIST fails for everybody.
    Known { law: "heavy-readers-never-pay", kind: "mailbox", seed: 10 },
    // What does not fit the annotation's budget fails the reader, not the writer.
    Known { law: "heavy-readers-never-pay", kind: "proxy", seed: 19 },
    // A number is text only until the API server reads our answer: "-0" comes home as "0".
    Known { law: "stored", kind: "mailbox", seed: 19 },
    Known { law: "no-op-write", kind: "mailbox", seed: 19 },
    Known { law: "stored", kind: "proxy", seed: 10 },
    // An element that the other version cannot say is answered as null, which its schema does not take.
    Known { law: "no-op-write", kind: "proxy", seed: 9 },
    // An object that was removed there comes back here, with what was kept in it.
    Known { law: "deleted-stays-deleted", kind: "mailbox", seed: 23 },
    // An item without a key loses what it kept when something in it is edited.
    Known { law: "items", kind: "proxy", seed: 17 },
    // A kept value comes back when its guard changes and changes back; /mutate even puts it back.
    Known { law: "stale", kind: "mailbox", seed: 3 },
    Known { law: "stale", kind: "materialize", seed: 1 },
    Known { law: "stale", kind: "proxy", seed: 0 },
];

/// A number that the API server cannot decode is believed where it is forged. `problem` is what is wrong with an answer.
pub(super) fn is_known_forgery(problem: &str) -> bool {
    problem.ends_with("has a wrong type: 1E400")
}
