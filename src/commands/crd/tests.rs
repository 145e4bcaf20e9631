use super::*;

#[test]
fn base64_is_that_of_the_rfc() {
    let cases = [
        ("", ""),
        ("f", "Zg=="),
        ("fo", "Zm8="),
        ("foo", "Zm9v"),
        ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="),
    ];
    for (bytes, text) in cases {
        assert_eq!(base64(bytes.as_bytes()), text);
    }
    assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "+//+");
}

#[test]
fn addresses_are_what_the_api_server_takes() {
    assert_eq!(url("https://a:8443").unwrap(), "https://a:8443/convert");
    assert_eq!(url("https://a/b/c").unwrap(), "https://a/b/c");
    for bad in ["http://a", "https://", "https://u@a", "https://a?b", "a"] {
        url(bad).unwrap_err();
    }
    let service: Service = "ns/name".parse().unwrap();
    assert_eq!(
        (
            service.namespace.as_str(),
            service.name.as_str(),
            service.port
        ),
        ("ns", "name", 443)
    );
    for bad in [
        "name",
        "ns/",
        "/name",
        "ns/name:0",
        "ns/name:x",
        "ns/name:65536",
        "Ns/name",
        "",
    ] {
        bad.parse::<Service>().unwrap_err();
    }
}
