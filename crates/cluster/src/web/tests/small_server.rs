//! A server that answers as it is told, also in ways that no server should.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// How a question is answered.
pub(crate) enum Manner {
    /// With these bytes; then the connection is closed.
    Says(Vec<u8>),
    /// With these bytes, after which nothing comes, and the connection stays.
    Holds(Vec<u8>),
    /// With these bytes, and then with others, for as long as somebody reads.
    NeverEnds(Vec<u8>),
}

/// It ends with the process.
pub(crate) struct SmallServer {
    pub(crate) port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl SmallServer {
    /// Answers each question by its path and query.
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

    /// The head of every question so far.
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
    // What comes behind it is read as well: whoever closes before that takes the answer along.
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or_default()];
    if stream.read_exact(&mut body).is_err() {
        return;
    }
    heard.lock().unwrap().push(head);
    // Whoever goes away in the middle has heard enough.
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

/// An answer that says that the connection closes behind it: a client that kept it would ask the next question of one
/// that is closing.
fn once(answer: &[u8]) -> Vec<u8> {
    let head = answer.windows(2).position(|two| two == b"\r\n").map_or(answer.len(), |at| at + 2);
    let (status, rest) = answer.split_at(head);
    [status, b"connection: close\r\n", rest].concat()
}

/// An answer as it should be.
pub(crate) fn answer(code: u16, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {code} As it is\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
        .into()
}

/// Waits for work, as a command does.
pub(crate) fn waited<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}
