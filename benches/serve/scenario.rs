//! The requests and the way in which they are sent.

use clap::ValueEnum;
use hyper::body::Bytes;
use serde_json::Value;

use crate::Args;
use crate::reviews::{self, Version};

/// One of the three calls.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Call {
    Convert,
    Mutate,
    Validate,
}

impl Call {
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Convert => "/convert",
            Self::Mutate => "/mutate",
            Self::Validate => "/validate",
        }
    }
}

/// How requests are sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Protocol {
    Http1,
    Http2,
    Fresh,
}

impl Protocol {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Http1 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
            Self::Fresh => "new connection",
        }
    }
}

/// A load that all servers receive.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) call: Call,
    pub(crate) objects: usize,
    pub(crate) connections: usize,
    pub(crate) protocol: Protocol,
    pub(crate) body: Bytes,
}

impl Scenario {
    pub(crate) fn new(call: Call, objects: usize, connections: usize, protocol: Protocol) -> Self {
        let body = match call {
            Call::Convert => reviews::conversion(Version::Older, objects),
            Call::Mutate | Call::Validate => reviews::update(),
        };
        Self { call, objects, connections, protocol, body: body.into() }
    }

    /// The scenarios that the flags select, in order.
    pub(crate) fn all(args: &Args) -> Vec<Self> {
        let every = [Call::Convert, Call::Mutate, Call::Validate];
        let calls = if args.call.is_empty() { &every[..] } else { &args.call };
        let mut all = Vec::new();
        for &call in calls {
            for &objects in args.objects.iter().filter(|objects| call == Call::Convert || **objects == 1) {
                for &protocol in &args.protocol {
                    for &connections in &args.connections {
                        all.push(Self::new(call, objects, connections, protocol));
                    }
                }
            }
        }
        all
    }

    /// Panics if the response is not the expected one.
    pub(crate) fn check(&self, answer: &[u8]) {
        let review: Value = serde_json::from_slice(answer).expect("an answer in JSON");
        let response = &review["response"];
        match self.call {
            Call::Convert => {
                assert_eq!(response["result"]["status"], "Success", "{response}");
                let objects = response["convertedObjects"].as_array().expect("objects");
                assert_eq!(objects.len(), self.objects);
                for object in objects {
                    assert_eq!(object["apiVersion"], reviews::NEWER);
                    assert_eq!(object["spec"]["serviceAccountAnnotations"].as_object().map(|map| map.len()), Some(2));
                    assert!(object["status"]["requestedRolloutHash"].is_string());
                }
            }
            Call::Mutate | Call::Validate => assert_eq!(response["allowed"], true, "{response}"),
        }
    }

    pub(crate) fn name(&self) -> String {
        let Self { call, objects, connections, protocol, .. } = self;
        let objects = if *objects == 1 { String::new() } else { format!(" of {objects}") };
        format!("{}{objects}, {} x {connections}", call.path(), protocol.name())
    }
}
