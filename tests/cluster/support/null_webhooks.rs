//! Webhooks that do nothing: the listener, TLS and HTTP of pointsman, with a trivial answer.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use pointsman_core::webhook::{Endpoint, Outcome, Reply};
use pointsman_server::{CertPaths, Options, RequestHandler};

/// Serves until the process is killed, in a separate process like every server.
pub(crate) fn serve(port: u16, certs: &Path) {
    let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let paths = CertPaths { cert: certs.join("tls.crt"), key: certs.join("tls.key") };
    let decide = RequestHandler::from_fn(|request| {
        let review = std::str::from_utf8(request.body()).unwrap();
        let (outcome, body) = match request.endpoint() {
            Endpoint::Convert => (Outcome::Convert, converted(review)),
            Endpoint::Mutate | Endpoint::Validate => (Outcome::Allow, allowed(review)),
        };
        Ok(reply(outcome, body))
    });
    pointsman_server::serve(Options::new(at(port), at(0), paths), decide, &mut |_, _| {}).unwrap();
}

/// The objects unchanged, with the desired `apiVersion`.
fn converted(review: &str) -> String {
    let (_, objects) = review.split_once("\"objects\":[").unwrap();
    let objects = &objects[..objects.rfind(']').unwrap()];
    let is = format!("\"apiVersion\":\"{}\"", after(objects, "\"apiVersion\":\""));
    let replaces = format!("\"apiVersion\":\"{}\"", after(review, "\"desiredAPIVersion\":\""));
    let (uid, objects) = (after(review, "\"uid\":\""), objects.replace(&is, &replaces));
    format!(
        "{{\"kind\":\"ConversionReview\",\"apiVersion\":\"apiextensions.k8s.io/v1\",\"response\":{{\"uid\":\"{uid}\",\
         \"convertedObjects\":[{objects}],\"result\":{{\"status\":\"Success\"}}}}}}"
    )
}

fn allowed(review: &str) -> String {
    let uid = after(review, "\"uid\":\"");
    format!(
        "{{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\
         \"response\":{{\"uid\":\"{uid}\",\"allowed\":true}}}}"
    )
}

/// The string that begins after the prefix `what`.
fn after<'a>(text: &'a str, what: &str) -> &'a str {
    text.split_once(what).unwrap().1.split('"').next().unwrap()
}

fn reply(outcome: Outcome, body: String) -> Reply {
    Reply {
        body: body.into_bytes(),
        outcome,
        uid: String::new(),
        message: None,
        failed: None,
        conversions: Vec::new(),
        failures: Vec::new(),
        notices: Vec::new(),
        verdicts: Vec::new(),
        flip: None,
    }
}
