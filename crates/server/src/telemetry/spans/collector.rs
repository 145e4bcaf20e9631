//! A span collector, and calls to it.

use std::io;
use std::str::FromStr;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::handshake;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The destination of spans: a collector for OTLP over HTTP (opentelemetry.io/docs/specs/otlp), such as
/// `http://127.0.0.1:4318`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Collector {
    /// As in `Host`.
    authority: String,
    host: String,
    port: u16,
    path: String,
}

/// The error of an invalid collector address.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("no address of a collector: give http://HOST:PORT, such as http://127.0.0.1:4318 (https is not spoken)")]
pub struct BadCollector;

impl FromStr for Collector {
    type Err = BadCollector;

    /// Parses a base address, to which `/v1/traces` is appended (same as the variable `OTEL_EXPORTER_OTLP_ENDPOINT`:
    /// opentelemetry.io/docs/specs/otel/protocol/exporter).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let uri: Uri = text.parse().map_err(|_| BadCollector)?;
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@')).ok_or(BadCollector)?;
        if uri.scheme_str() != Some("http") || authority.host().is_empty() || uri.query().is_some() {
            return Err(BadCollector);
        }
        Ok(Self {
            authority: authority.to_string(),
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(80),
            path: format!("{}/v1/traces", uri.path().trim_end_matches('/')),
        })
    }
}

/// The reason why spans were not accepted.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotTaken {
    #[error("failed to reach the collector")]
    Connection { source: io::Error },
    #[error("the collector returned an invalid HTTP response")]
    Http { source: hyper::Error },
    #[error("the response of the collector is invalid")]
    Answer { source: Box<dyn std::error::Error + Send + Sync> },
    #[error("the collector answered {code}")]
    Status { code: u16 },
    #[error("the collector did not answer within {CALL:?}")]
    Timeout,
}

impl Collector {
    /// Sends an encoded request once. Returns the number of refused spans.
    pub(super) async fn take(&self, spans: Vec<u8>) -> Result<u64, NotTaken> {
        timeout(CALL, self.post(spans)).await.unwrap_or(Err(NotTaken::Timeout))
    }

    /// One connection per call: at most one call per second.
    async fn post(&self, spans: Vec<u8>) -> Result<u64, NotTaken> {
        let address = (self.host.as_str(), self.port);
        let stream = TcpStream::connect(address).await.map_err(|source| NotTaken::Connection { source })?;
        let http = |source| NotTaken::Http { source };
        let (mut requests, connection) = handshake(TokioIo::new(stream)).await.map_err(http)?;
        let request = Request::post(&self.path)
            .header(HOST, &self.authority)
            .header(CONTENT_TYPE, "application/x-protobuf")
            .body(Full::new(Bytes::from(spans)))
            .map_err(|source| NotTaken::Answer { source: source.into() })?;
        let answer = async {
            let response = requests.send_request(request).await.map_err(http)?;
            let code = response.status().as_u16();
            if code != 200 {
                return Err(NotTaken::Status { code });
            }
            let answer = |source| NotTaken::Answer { source };
            let body = Limited::new(response.into_body(), ANSWER).collect().await.map_err(answer)?.to_bytes();
            let response = ExportTraceServiceResponse::decode(body).map_err(|source| answer(source.into()))?;
            Ok(response.partial_success.map_or(0, |partial| partial.rejected_spans.max(0).unsigned_abs()))
        };
        tokio::pin!(connection, answer);
        tokio::select! {
            answer = &mut answer => answer,
            // The connection may end with the last byte of the response, which is readable then.
            ended = &mut connection => match ended {
                Ok(()) => answer.await,
                Err(source) => Err(http(source)),
            },
        }
    }
}

/// A collector is near, and stores spans in memory. Half of the default timeout of exporters: spans that arrive during
/// a longer wait would be lost.
const CALL: Duration = Duration::from_secs(5);

/// A few numbers and a sentence.
const ANSWER: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_of_the_specification() {
        let path =
            |text: &str| text.parse::<Collector>().map(|collector| (collector.host, collector.port, collector.path));
        let of = |host: &str, port, path: &str| Ok((host.to_owned(), port, path.to_owned()));
        assert_eq!(path("http://127.0.0.1:4318"), of("127.0.0.1", 4318, "/v1/traces"));
        assert_eq!(path("http://otel.monitoring/"), of("otel.monitoring", 80, "/v1/traces"));
        assert_eq!(path("http://[::1]:4318/a/b/"), of("::1", 4318, "/a/b/v1/traces"));
        for bad in
            ["", "otel:4318", "https://otel:4318", "grpc://otel", "/v1/traces", "http://a:b@otel", "http://otel?x"]
        {
            assert_eq!(path(bad), Err(BadCollector), "{bad}");
        }
    }
}
