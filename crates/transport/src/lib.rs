//! Connections and certificates: sockets, TLS, HTTP/1.1 and HTTP/2.
//!
//! The meaning and authorization of requests are left to the [`Handler`](connections::Handler). No public function is
//! generic, so that hyper, rustls and x509-cert are compiled here, and not again after every change of a handler.
//!
//! Not intended for the open internet: the expected peers are kube-apiservers, and every limit is derived from their
//! behaviour (client-go and the API server's webhook packages, named at each constant).

pub mod certificates;
pub mod connections;
