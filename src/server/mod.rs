//! How requests reach us: sockets, TLS, files, clocks, metrics.
