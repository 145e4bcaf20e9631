//! Connections, and the certificates they are made with: sockets, TLS, HTTP/1.1 and 2.
//!
//! What is asked on a connection, and by what right, is not known here: that is whoever hands over an
//! [`Handler`](connections::Handler). No function that a user calls is generic, so that hyper, rustls and x509-cert
//! are compiled here and not again with every change of what answers.
//!
//! Not made for the open internet: the peers we know are kube-apiservers, and every limit is derived from how they
//! behave (client-go and the API server's webhook packages, named beside each constant).

pub mod certificates;
pub mod connections;
