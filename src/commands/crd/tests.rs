use super::*;

#[test]
fn addresses_are_what_the_api_server_takes() {
    assert_eq!(url("https://a:8443").unwrap(), "https://a:8443/convert");
    assert_eq!(url("https://a/b/c").unwrap(), "https://a/b/c");
    for bad in ["http://a", "https://", "https://u@a", "https://a?b", "a"] {
        url(bad).unwrap_err();
    }
    let service: Service = "ns/name".parse().unwrap();
    assert_eq!(
        (service.namespace.as_str(), service.name.as_str(), service.port),
        ("ns", "name", 443)
    );
    for bad in ["name", "ns/", "/name", "ns/name:0", "ns/name:x", "ns/name:65536", "Ns/name", ""] {
        bad.parse::<Service>().unwrap_err();
    }
}
