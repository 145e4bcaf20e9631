use semver::Version;

use super::{Graph, Hop, Neighbours, Range, Reach, Target, image_tag, version};

fn v(text: &str) -> Version {
    version(text).unwrap()
}

fn rule(from: &str, to: &str) -> Hop {
    let to = match to {
        "major" => Target::Reach(Reach::Major),
        "minor" => Target::Reach(Reach::Minor),
        "patch" => Target::Reach(Reach::Patch),
        range => Target::Range(Range::parse(range).unwrap()),
    };
    Hop { from: Range::parse(from).unwrap(), to, back: None }
}

#[test]
fn ranges_parse_as_documented() {
    for (range, inside, outside) in [
        ("*", "0.0.1", ""),
        ("8", "8.18.3", "9.0.0"),
        ("7.17", "7.17.9", "7.18.0"),
        (">=8.18 <9", "8.19.0", "8.17.9"),
        (">7", "8.0.0", "7.99.0"),
        ("<=7.17", "7.17.9", "7.18.0"),
        ("26", "26.0.0-rc.1", "25.9.9"),
    ] {
        let range = Range::parse(range).unwrap();
        assert!(range.contains(&v(inside)), "{range:?} {inside}");
        assert!(outside.is_empty() || !range.contains(&v(outside)), "{range:?} {outside}");
    }
    assert!(Range::parse(">=9 <8").unwrap_err().contains("contains no version"));
    assert!(Range::parse("latest").unwrap_err().contains("is no version"));
    assert!(Range::parse("").is_err());
}

#[test]
fn refusal_names_next_version() {
    let path = Graph { rules: vec![rule("7.17", "8"), rule(">=8.18 <9", "9"), rule("*", "minor")], exact: Vec::new() };
    let next = |from: &str, to: &str| path.allow(&v(from), &v(to)).unwrap_err().next.map(|version| version.to_string());
    assert_eq!(next("7.17.9", "9.0.0"), Some("8.18.0".to_owned()));
    assert_eq!(next("7.16.0", "8.0.0"), Some("7.17.0".to_owned()));
    assert_eq!(next("7.16.0", "9.0.0"), Some("7.17.0".to_owned()));
    assert_eq!(next("8.0.0", "7.0.0"), None);
    assert_eq!(
        path.allow(&v("7.17.9"), &v("9.0.0")).unwrap_err().to_string(),
        "no upgrade from 7.17.9 to 9.0.0 is allowed; first move to 8.18.0"
    );
}

#[test]
fn rule_limits_downgrade() {
    let mut path = Graph { rules: vec![rule("*", "major")], exact: Vec::new() };
    assert!(path.allow(&v("2.17.0"), &v("2.16.0")).is_err(), "not without being said");
    path.rules[0].back = Some(Reach::Minor);
    for (from, to, may) in [
        ("2.17.0", "2.16.3", true),
        ("2.17.1", "2.17.0", true),
        ("2.17.0", "2.15.0", false),
        ("3.0.0", "2.17.0", false),
        ("2.15.0", "2.17.0", true),
    ] {
        assert_eq!(path.allow(&v(from), &v(to)).is_ok(), may, "{from} to {to}");
    }
    let refused = path.allow(&v("2.17.0"), &v("2.15.0")).unwrap_err();
    assert_eq!(refused.next, Some(v("2.16.0")), "{refused}");
    // To an earlier patch version, and never to an earlier minor one.
    path.rules[0].back = Some(Reach::Patch);
    for (from, to, may) in [("2.17.4", "2.17.0", true), ("2.17.0", "2.16.9", false), ("3.0.1", "2.17.1", false)] {
        assert_eq!(path.allow(&v(from), &v(to)).is_ok(), may, "{from} to {to}");
    }
}

#[test]
fn exact_versions_know_their_neighbours() {
    let exact = |version: &str, from: &[&str], to: &[&str]| Neighbours {
        version: v(version),
        upgrade_from: from.iter().map(|text| v(text)).collect(),
        downgrade_to: to.iter().map(|text| v(text)).collect(),
    };
    let path = Graph {
        rules: Vec::new(),
        exact: vec![
            exact("2.15.0", &[], &[]),
            exact("2.16.0", &["2.15.0"], &[]),
            exact("2.17.0", &["2.16.0"], &["2.16.0"]),
            exact("3.0.0", &[], &[]),
        ],
    };
    assert!(path.allow(&v("2.16.0"), &v("2.17.0")).is_ok());
    assert!(path.allow(&v("2.17.0"), &v("2.16.0")).is_ok());
    assert_eq!(path.allow(&v("2.15.0"), &v("2.17.0")).unwrap_err().next, Some(v("2.16.0")));
    assert!(path.allow(&v("2.16.0"), &v("2.15.0")).is_err());
    assert_eq!(path.unreachable(), [&v("3.0.0")]);
    assert!(path.unknown().is_empty());
}

#[test]
fn image_tags_parse_as_versions() {
    assert_eq!(image_tag("materialize/environmentd:v26.12.0"), Some(v("26.12.0")));
    assert_eq!(image_tag("localhost:5000/environmentd:v0.147.20--dev.1").map(|v| v.minor), Some(147));
    for odd in
        ["environmentd", "environmentd:latest", "environmentd:26.1.0", "e@sha256:0123", "localhost:5000/environmentd"]
    {
        assert_eq!(image_tag(odd), None, "{odd}");
    }
}
