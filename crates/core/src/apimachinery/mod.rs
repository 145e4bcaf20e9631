//! Conventions of Kubernetes for names, fields, labels, errors, durations and sizes (`k8s.io/apimachinery`).

mod did_you_mean;
mod duration;
mod excerpt;
mod field;
mod go_pattern;
mod integer;
mod names;
mod object_name;
mod quantity;
mod resource_name;
mod selector;
mod status;

pub use did_you_mean::did_you_mean;
pub(crate) use did_you_mean::meant_within;
pub use duration::{BadDuration, parse_duration};
pub(crate) use duration::{DURATION, go_duration, go_nanoseconds, is_duration};
pub use excerpt::excerpt;
pub use field::{FieldError, Reason};
pub(crate) use go_pattern::go_regex;
pub(crate) use integer::{INT64_END, is_integer_bound};
pub(crate) use names::is_service_name;
pub use names::{is_dns_label, is_dns_subdomain, is_label_value, is_qualified_name};
pub(crate) use object_name::ObjectName;
pub use quantity::{BadSize, parse_size};
pub(crate) use quantity::{QUANTITY, binary_quantity, milli_quantity, units_of_quantity};
pub use resource_name::ResourceName;
pub use selector::{Requirement, Selector, Wants};
pub(crate) use status::Status;
pub use status::refusal;
