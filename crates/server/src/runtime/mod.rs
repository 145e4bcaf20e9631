//! The decisions of a server: the webhook with its definitions and facts, which are replaced while it serves.

mod definitions;
mod facts;
mod request_handler;
mod served;

pub(crate) use definitions::STACK;
pub use definitions::{DefinitionSource, Definitions};
pub use facts::{FactSource, FollowedFact, FollowedFacts};
pub(crate) use request_handler::HandlerError;
pub use request_handler::{Decide, RequestHandler};
pub use served::ServedWebhook;
