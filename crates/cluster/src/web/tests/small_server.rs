//! A server with configurable responses, also invalid ones.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The response to a request.
pub(crate) enum Manner {
    /// Sends these bytes, then closes the connection.
    Says(Vec<u8>),
    /// Sends these bytes, and keeps the connection open.
    Holds(Vec<u8>),
    /// Sends these bytes, then spaces until the client disconnects.
    NeverEnds(Vec<u8>),
}

/// The server ends with the process.
pub(crate) struct SmallServer {
    pub(crate) port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl SmallServer {
    /// Responds to each request by its path and query.
    pub(crate) fn start(manner: impl Fn(&str) -> Manner + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, heads) = (listener.local_addr().unwrap().port(), Arc::<Mutex<Vec<String>>>::default());
        let (heard, manner) = (heads.clone(), Arc::new(manner));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (heard, manner) = (heard.clone(), manner.clone());
                thread::spawn(move || serve(stream, &heard, &*manner));
            }
        });
        Self { port, heads }
    }

    pub(crate) fn url(&self, target: &str) -> String {
        format!("http://127.0.0.1:{}{target}", self.port)
    }

    /// The heads of all requests so far.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, heard: &Mutex<Vec<String>>, manner: &dyn Fn(&str) -> Manner) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    // The server reads the body as well: if it closed the connection earlier, the client would lose the response.
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or_default()];
    if stream.read_exact(&mut body).is_err() {
        return;
    }
    heard.lock().unwrap().push(head);
    // A client may disconnect during the response, so errors are ignored.
    match manner(&path) {
        Manner::Says(bytes) => drop(stream.write_all(&once(&bytes))),
        Manner::Holds(bytes) => {
            let _ = stream.write_all(&bytes);
            let _ = stream.read(&mut byte);
        }
        Manner::NeverEnds(bytes) => {
            let _ = stream.write_all(&bytes);
            while stream.write_all(&[b' '; 4096]).is_ok() {}
        }
    }
}

/// Adds a header that announces the end of the connection: otherwise a client would send its next request on a closing
/// connection.
fn once(answer: &[u8]) -> Vec<u8> {
    let head = answer.windows(2).position(|two| two == b"\r\n").map_or(answer.len(), |at| at + 2);
    let (status, rest) = answer.split_at(head);
    [status, b"connection: close\r\n", rest].concat()
}

/// A valid response.
pub(crate) fn answer(code: u16, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {code} As it is\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
        .into()
}

/// Runs a future to completion, as a command does.
pub(crate) fn waited<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}
