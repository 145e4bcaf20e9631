//! Calls an endpoint over TLS like an API server.

use std::time::Duration;

use http::header::{CONTENT_TYPE, HOST};
use http::{Method, Request};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::time::timeout;

use super::client_stanza::ClientStanza;
use super::tls_client::TlsClient;

/// A review sent to an endpoint before any change.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The requested version.
    pub to: String,
    /// A `ConversionReview`.
    pub review: Value,
    /// The expected `response.convertedObjects`, computed here with the same definition.
    pub converted: Value,
}

/// A client with the trust settings of the API server.
pub(crate) struct SelfTest {
    tls: TlsClient,
    path: String,
}

impl SelfTest {
    /// A client for this stanza.
    pub(crate) fn new(stanza: &ClientStanza) -> Result<Self, String> {
        Ok(Self { tls: TlsClient::new(stanza)?, path: stanza.path.clone() })
    }

    /// Sends every review. Returns the problem of the first wrong response.
    pub(crate) async fn run(&self, endpoint: &str, probes: &[Probe]) -> Result<(), String> {
        for probe in probes {
            let answer = timeout(PATIENCE, self.call(endpoint, &probe.review)).await;
            let answer = answer.unwrap_or_else(|_| Err(format!("no answer within {} s", PATIENCE.as_secs())));
            let problem = answer.and_then(|answer| judge(probe, &answer)).err();
            if let Some(problem) = problem {
                return Err(format!("{endpoint}: {problem}"));
            }
        }
        Ok(())
    }

    async fn call(&self, endpoint: &str, review: &Value) -> Result<Value, String> {
        let stream = self.tls.connect(endpoint).await.map_err(|error| error.to_string())?;
        let text = |error: hyper::Error| error.to_string();
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(text)?;
        let connection = tokio::spawn(connection);
        let request = Request::builder()
            .method(Method::POST)
            .uri(&self.path)
            .header(HOST, self.tls.server_name().as_ref())
            .header(CONTENT_TYPE, "application/json")
            .body(Full::<Bytes>::from(review.to_string()))
            .map_err(|error| error.to_string())?;
        let response = sender.send_request(request).await.map_err(text)?;
        let code = response.status().as_u16();
        let body = Limited::new(response.into_body(), LARGEST).collect().await;
        connection.abort();
        let body = body.map_err(|error| format!("the answer ends early or never: {error}"))?.to_bytes();
        if code != 200 {
            return Err(format!("HTTP {code}"));
        }
        serde_json::from_slice(&body).map_err(|_| "the answer is not JSON".to_owned())
    }
}

/// Checks a response by the rules of an API server, and against the expected objects.
fn judge(probe: &Probe, answer: &Value) -> Result<(), String> {
    let text = |value: &Value, path: &str| value.pointer(path).and_then(Value::as_str).map(str::to_owned);
    for (of_answer, of_review) in
        [("/apiVersion", "/apiVersion"), ("/kind", "/kind"), ("/response/uid", "/request/uid")]
    {
        let (actual, expected) = (text(answer, of_answer), text(&probe.review, of_review));
        if actual != expected {
            let show = |text: Option<String>| text.unwrap_or_else(|| "nothing".to_owned());
            return Err(format!("answers {} in {of_answer}, not {}", show(actual), show(expected)));
        }
    }
    if text(answer, "/response/result/status").as_deref() != Some("Success") {
        let message = text(answer, "/response/result/message");
        let message = message.unwrap_or_else(|| "no reason given".to_owned());
        return Err(format!("cannot convert to {}: {message}", probe.to));
    }
    if answer.pointer("/response/convertedObjects") != Some(&probe.converted) {
        return Err(format!(
            "converts to {} differently from the local definition: compare its --kinds and its pointsman \
                 --version with the local ones",
            probe.to
        ));
    }
    Ok(())
}

/// More than any response to a few generated objects.
const LARGEST: usize = 64 << 20;

/// A third of the API server's timeout for a conversion.
const PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn invalid_response_fails_self_test() {
        let review =
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": {"uid": "u"}});
        let probe = Probe { to: "v2".to_owned(), review, converted: json!([{"a": 1}]) };
        let good = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
            "response": {"uid": "u", "result": {"status": "Success"}, "convertedObjects": [{"a": 1}]},
        });
        assert_eq!(judge(&probe, &good), Ok(()));
        let with = |path: &str, value: Value| {
            let mut answer = good.clone();
            *answer.pointer_mut(path).unwrap() = value;
            judge(&probe, &answer).unwrap_err()
        };
        assert_eq!(with("/response/uid", json!("w")), "answers w in /response/uid, not u");
        assert!(with("/kind", json!("AdmissionReview")).contains("in /kind"));
        assert!(with("/response/result/status", json!("Failure")).contains("no reason given"));
        assert!(with("/response/convertedObjects", json!([])).contains("differently from the local definition"));
        assert!(judge(&probe, &json!("half")).unwrap_err().contains("nothing in /apiVersion"));
    }
}
