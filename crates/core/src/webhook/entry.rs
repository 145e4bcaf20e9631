//! The entry point of the webhook: bytes in, bytes out.

use std::sync::Arc;

use super::admission::{self, Judgement, Settings, Write};
use super::convert::{self, Change, ConvertError, Converted, Facts, Metadata, Object, StringArena};
use super::costs::Costs;
use super::endpoint::Endpoint;
use super::facts::{FactUnknown, KnownFacts};
use super::handle_error::HandleError;
use super::kind_conversion::{self, OtherKind, ReplaceError};
use super::kinds::{DefinedTwice, Kinds};
use super::mutations::mutated;
use super::reply::{Conversions, Reply};
use super::request::Request;
use super::review::PatchOperation;
use super::weight::weight_with;
use super::{handlers, rollout_hash::Preimage};
use crate::definition::{Kind, MutatedKind, VersionIndex, WatchedFact};
use crate::json::{Json, Members};

/// A patch, and the warnings for the client.
type PatchAndWarnings = (Vec<PatchOperation>, Vec<String>);

/// The decisions of one server: its kinds and their rules. Immutable, and shared by all requests.
///
/// [`handle`](Self::handle) serves the three calls of an API server. The other functions decide about single objects,
/// for commands and tests.
#[derive(Debug)]
pub struct Webhook {
    kinds: Kinds,
    mutated: Vec<MutatedKind>,
    metadata: Metadata,
    settings: Settings,
    facts: Facts,
    /// The memory costs of the definitions.
    costs: Costs,
}

impl Webhook {
    /// Creates a webhook for these kinds.
    ///
    /// # Errors
    /// A duplicate kind or name.
    pub fn new(kinds: Vec<Kind>, metadata: Metadata) -> Result<Self, DefinedTwice> {
        let (settings, facts) = (Settings::default(), Facts::default());
        let kinds = Kinds::new(kinds)?;
        let costs = Costs::of(kinds.all());
        Ok(Self { kinds, mutated: Vec::new(), metadata, settings, facts, costs })
    }

    /// Adds mutations for objects of other kinds.
    ///
    /// # Errors
    /// A duplicate kind or name.
    pub fn with_mutations(mut self, mutated: Vec<MutatedKind>) -> Result<Self, DefinedTwice> {
        self.kinds.allows(&mutated)?;
        self.mutated = mutated;
        Ok(self)
    }

    /// Sets the facts for the conversion of objects.
    #[must_use]
    pub fn knowing(mut self, facts: Facts) -> Self {
        self.facts = facts;
        self
    }

    /// Sets the admission settings.
    #[must_use]
    pub fn admitting(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// The kinds of this webhook.
    #[must_use]
    pub fn kinds(&self) -> &[Kind] {
        self.kinds.all()
    }

    /// The kinds with mutations.
    #[must_use]
    pub fn mutated(&self) -> &[MutatedKind] {
        &self.mutated
    }

    /// The facts of all mutations, without duplicates.
    #[must_use]
    pub fn watched_facts(&self) -> Vec<WatchedFact> {
        let mut facts: Vec<WatchedFact> = Vec::new();
        for fact in self.mutated.iter().flat_map(MutatedKind::facts) {
            if !facts.contains(&fact) {
                facts.push(fact);
            }
        }
        facts
    }

    /// The kinds and their versions, for people: `Widget.example.com v1 v2, …`.
    #[must_use]
    pub fn names(&self) -> String {
        let names = self.kinds().iter().map(|kind| {
            let versions: Vec<&str> = kind.versions().collect();
            format!("{}.{} {}", kind.kind(), kind.group(), versions.join(" "))
        });
        let mutated = self.mutated.iter().map(|mutated| {
            let mutations: Vec<&str> = mutated.mutations().collect();
            format!("mutations of {}: {}", mutated.resource(), mutations.join(" "))
        });
        names.chain(mutated).collect::<Vec<_>>().join(", ")
    }

    /// Every possible conversion, with a count of zero, to initialize metrics.
    #[must_use]
    pub fn every_conversion(&self) -> Vec<Conversions> {
        let mut all = Vec::new();
        for kind in self.kinds.all() {
            for from in kind.versions.iter() {
                for to in kind.versions.iter().filter(|to| to.name != from.name) {
                    let [kind, from, to] = [&kind.name, &from.name, &to.name].map(Arc::clone);
                    all.push(Conversions { kind, from, to, objects: 0 });
                }
            }
        }
        all
    }

    /// Handles one request. Takes time in proportion to the body and does no I/O.
    ///
    /// Errors of an object or of the request are part of the reply, which is sent with HTTP 200.
    ///
    /// # Errors
    /// The body has no request uid for a response, a mutation needs an unknown fact, or the client has disconnected:
    /// see [`HandleError`].
    ///
    /// # Examples
    /// ```
    /// use pointsman_core::definition::Kind;
    /// use pointsman_core::webhook::{Endpoint, Metadata, Outcome, Request, Webhook};
    ///
    /// let webhook = Webhook::new(Kind::embedded()?, Metadata::Identity)?;
    /// let review = br#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": {
    ///     "uid": "705ab4f5", "desiredAPIVersion": "materialize.cloud/v1alpha2", "objects": [
    ///         {"apiVersion": "materialize.cloud/v1alpha1", "kind": "Materialize",
    ///          "metadata": {"name": "a"}, "spec": {}}
    ///     ]}}"#;
    /// let reply = webhook.handle(&Request::new(Endpoint::Convert, review))?;
    /// assert_eq!(reply.outcome, Outcome::Convert);
    /// assert_eq!(&*reply.conversions[0].to, "v1alpha2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn handle(&self, request: &Request<'_>) -> Result<Reply, HandleError> {
        let (kinds, settings, body, caller) = (&self.kinds, &self.settings, request.body, &request.caller());
        match request.endpoint {
            Endpoint::Convert => handlers::convert(kinds, self.metadata, caller, body),
            Endpoint::Validate => handlers::validate(kinds, settings, caller, body),
            Endpoint::Mutate => handlers::mutate((kinds, settings), (&self.mutated, request.facts), caller, body),
        }
    }

    /// The maximum memory, in bytes, that [`handle`](Self::handle) needs for this body at one time. Includes the
    /// response, excludes the body.
    ///
    /// The value is that of [`weight`](super::weight()), plus the growth by the definitions: each brace of the body may
    /// start an object or an item, and a long text in an item is temporarily copied for each enclosing list. If the sum
    /// is large, a closer scan considers the kinds of the objects and the fields that their conversions parse.
    ///
    /// # Examples
    /// ```
    /// use pointsman_core::definition::Kind;
    /// use pointsman_core::webhook::{Endpoint, Metadata, Webhook, weight};
    ///
    /// let webhook = Webhook::new(Kind::embedded()?, Metadata::Identity)?;
    /// let body = br#"{"request": {"objects": []}}"#;
    /// assert!(webhook.weight(Endpoint::Convert, body) >= weight(Endpoint::Convert, body));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn weight(&self, endpoint: Endpoint, body: &[u8]) -> u64 {
        weight_with(&self.costs, endpoint, body)
    }

    /// Converts one object to a version of its kind, given as `v2` or as `group/v2`, with all its metadata.
    ///
    /// # Errors
    /// The field that prevents the conversion.
    ///
    /// # Examples
    /// ```
    /// use pointsman_core::definition::Kind;
    /// use pointsman_core::webhook::{Metadata, Webhook};
    ///
    /// let webhook = Webhook::new(Kind::embedded()?, Metadata::Full)?;
    /// let object = r#"{"apiVersion":"materialize.cloud/v1alpha1","kind":"Materialize","metadata":{"name":"a"},"#;
    /// let object = format!(r#"{object}"spec":{{"environmentdImageRef":"materialize/environmentd:v26.0.0"}}}}"#);
    /// let newer = webhook.convert(&object, "v1alpha2")?;
    /// assert!(newer.text.contains("materialize.cloud/v1alpha2"));
    /// assert_eq!(webhook.convert(&newer.text, "materialize.cloud/v1alpha1")?.text, object);
    ///
    /// let error = webhook.convert(&object, "v2").unwrap_err();
    /// assert!(error.to_string().contains(r#""v2" is no version of Materialize; known versions:"#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn convert(&self, object: &str, to: &str) -> Result<Converted, ConvertError> {
        let texts = StringArena::default();
        let (kind, object, to) = self.conversion(object, to, &texts)?;
        convert::convert(kind, object, to, Metadata::Full)
    }

    /// Converts one object as [`Self::convert`] does, and returns the changed fields of each operation.
    ///
    /// # Errors
    /// The field that prevents the conversion.
    ///
    /// # Examples
    /// ```
    /// use pointsman_core::definition::Kind;
    /// use pointsman_core::webhook::{Metadata, Webhook};
    ///
    /// let webhook = Webhook::new(Kind::embedded()?, Metadata::Full)?;
    /// let object = r#"{"apiVersion": "materialize.cloud/v1alpha1", "kind": "Materialize", "metadata": {"name": "a"},
    ///     "spec": {"requestRollout": "8d0a7c5e-6f0b-4f3c-9d3a-6f3f2c1b0a99"}}"#;
    /// let (_, changes) = webhook.explain(object, "v1alpha2")?;
    /// let kept: Vec<&str> =
    ///     changes.iter().filter(|change| change.kept).map(|change| change.before[0].0.as_str()).collect();
    /// assert_eq!(kept, ["spec.requestRollout"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain(&self, object: &str, to: &str) -> Result<(Converted, Vec<Change>), ConvertError> {
        let texts = StringArena::default();
        let (kind, object, to) = self.conversion(object, to, &texts)?;
        convert::explain(kind, object, to, Metadata::Full)
    }

    /// Converts an object to another kind by the `replaces` block of a definition, in either direction. The new object
    /// has the name, namespace, labels and annotations of the given object, and no status, because no controller has
    /// observed it yet. Also returns the changed fields of each operation.
    ///
    /// # Errors
    /// Why the object cannot be converted: see [`ReplaceError`].
    pub fn convert_kind(
        &self,
        object: &str,
        to: OtherKind<'_>,
        facts: &Facts,
    ) -> Result<(Converted, Vec<Change>), ReplaceError> {
        let texts = StringArena::default();
        let object = Object::open(parse(object)?, &texts)?.knowing(facts);
        kind_conversion::convert(self.kinds.all(), object, to)
    }

    /// Converts an object to another kind by one definition, without the list of changes. Used by rollouts.
    ///
    /// # Errors
    /// Why the object cannot be converted: see [`ReplaceError`].
    pub fn convert_by(kind: &Kind, object: &str, to: OtherKind<'_>, facts: &Facts) -> Result<Converted, ReplaceError> {
        let texts = StringArena::default();
        let object = Object::open(parse(object)?, &texts)?.knowing(facts);
        Ok(kind_conversion::convert(std::slice::from_ref(kind), object, to)?.0)
    }

    /// The kind of an object, the object, and the desired version.
    fn conversion<'o>(
        &self,
        object: &'o str,
        to: &str,
        texts: &'o StringArena,
    ) -> Result<(&Kind, Object<'o>, VersionIndex), ConvertError> {
        let object = Object::open(parse(object)?, texts)?.knowing(&self.facts);
        let kind = self.kinds.of(&object)?;
        let version = kind.versions.find(|version| *version.name == *to || version.api_version == to);
        let to = version.ok_or_else(|| ConvertError::unknown_version("apiVersion", to, kind))?;
        Ok((kind, object, to))
    }

    /// The preimage of the rollout hash of an object.
    ///
    /// # Errors
    /// The object cannot be converted to the version that is hashed, or its kind has no rollout hash.
    pub fn preimage(&self, object: &str) -> Result<Preimage, ConvertError> {
        let texts = StringArena::default();
        let mut object = Object::open(parse(object)?, &texts)?;
        let kind = self.kinds.of(&object)?;
        let Some(rollout) = &kind.rollout_hash else {
            return Err(ConvertError::NoRolloutHash { kind: kind.kind.clone() });
        };
        object.convert_to_read(kind, rollout.at)?;
        Ok(object.preimage(rollout).into_owned())
    }

    /// The patch of `/mutate` for an object that is created, or updated from `old`.
    ///
    /// # Errors
    /// The object is not JSON, or its kind is unknown.
    ///
    /// # Examples
    /// ```
    /// use pointsman_core::definition::Kind;
    /// use pointsman_core::webhook::{Metadata, Settings, Webhook};
    ///
    /// let controller = Some("2.17.0".parse()?);
    /// let settings = Settings { controller, default: true, ..Settings::default() };
    /// let webhook = Webhook::new(Kind::embedded()?, Metadata::Full)?.admitting(settings);
    /// let object = r#"{"apiVersion": "materialize.cloud/v1alpha2", "kind": "Materialize",
    ///     "metadata": {"name": "production", "labels": {}}, "spec": {"backendSecretName": "backend"}}"#;
    /// let patch = webhook.patch(object, None)?;
    /// assert_eq!(patch[0].path, "/metadata/labels/materialize.cloud~1controller-version");
    /// assert_eq!((patch[0].op, patch[0].value.as_str()), ("add", "\"2.17.0\""));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn patch(&self, new: &str, old: Option<&str>) -> Result<Vec<PatchOperation>, ConvertError> {
        self.stamp(new, old).map(|(patch, _)| patch)
    }

    /// Like `patch`, with the warnings for the client about restored or overwritten values, at most 240 characters
    /// each.
    ///
    /// # Errors
    /// The object is not JSON, or its kind is unknown.
    pub fn stamp(&self, new: &str, old: Option<&str>) -> Result<(Vec<PatchOperation>, Vec<String>), ConvertError> {
        self.stamp_by(new, old, "")
    }

    /// Like `stamp`, for a client with a known field manager. [`crate::definition::ROLLOUT_MANAGER`] may remove
    /// annotations that are restored for other clients.
    ///
    /// # Errors
    /// The object is not JSON, or its kind is unknown.
    pub fn stamp_by(
        &self,
        new: &str,
        old: Option<&str>,
        manager: &str,
    ) -> Result<(Vec<PatchOperation>, Vec<String>), ConvertError> {
        let (kind, write) = self.write(new, old)?;
        Ok(admission::stamp(kind, &self.settings, &write.by(manager)))
    }

    /// The mutations of an object that is created, or updated from `old`. `None` if its kind has no mutations.
    ///
    /// # Errors
    /// The object is not JSON, or a required fact is unknown.
    pub fn mutation(
        &self,
        new: &str,
        old: Option<&str>,
        facts: &KnownFacts,
    ) -> Result<Option<Result<PatchAndWarnings, FactUnknown>>, ConvertError> {
        let write = Write::new(parse(new)?, old.map(parse).transpose()?);
        let text = |member: &str| write.new.json().get(member).and_then(|text| Some(text.as_str()?.into_owned()));
        let (api_version, kind) = (text("apiVersion").unwrap_or_default(), text("kind").unwrap_or_default());
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let of = self.mutated.iter().find(|of| of.group == group && of.kind == kind);
        Ok(of.map(|of| mutated(of, &write, facts)))
    }

    /// The verdict of `/validate` for an object that is created, or updated from `old`: the judgement, and the message
    /// of a denial as the API server would show it.
    ///
    /// # Errors
    /// The object is not JSON, or its kind is unknown.
    ///
    /// # Examples
    /// ```
    /// use pointsman_core::definition::Kind;
    /// use pointsman_core::webhook::{Metadata, Webhook};
    ///
    /// let webhook = Webhook::new(Kind::embedded()?, Metadata::Full)?;
    /// let old = r#"{"apiVersion": "materialize.cloud/v1alpha2", "kind": "Materialize",
    ///     "metadata": {"name": "production"}, "spec": {"consoleReplicas": 2}}"#;
    /// let (judgement, denial) = webhook.judge(&old.replace("2}", "-2}"), Some(old))?;
    /// assert_eq!(judgement.errors[0].path, "spec.consoleReplicas");
    /// assert!(denial.is_some_and(|message| message.contains("spec.consoleReplicas")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn judge(&self, new: &str, old: Option<&str>) -> Result<(Judgement, Option<String>), ConvertError> {
        let (kind, write) = self.write(new, old)?;
        let judgement = admission::judge(kind, &self.settings, &write);
        let message = judgement.status(kind, write.new.json()).map(|status| status.message().to_owned());
        Ok((judgement, message))
    }

    /// The verdict of `/validate` if this object were handed over to the controller version of this server. Covers only
    /// the checks of the new version; the server of the old version has its own checks. Without a controller version,
    /// and for an object that already belongs to it, the same as [`Self::judge`].
    ///
    /// # Errors
    /// The object is not JSON, or its kind is unknown.
    pub fn judge_as_flip(&self, new: &str, old: Option<&str>) -> Result<(Judgement, Option<String>), ConvertError> {
        let (kind, write) = self.write(new, old)?;
        let Some(own) = &self.settings.controller else {
            return self.judge(new, old);
        };
        let before = old.unwrap_or(new);
        let mut after = parse(new)?;
        let key = &kind.admission.version_label;
        if write.new.label(key).and_then(|label| label.as_str().map(|text| text == own.as_str())) == Some(true) {
            return self.judge(new, old);
        }
        relabel(&mut after, key, own.as_str());
        self.judge(&after.to_text(), Some(before))
    }

    fn write<'a>(&self, new: &'a str, old: Option<&'a str>) -> Result<(&Kind, Write<'a>), ConvertError> {
        let old = old.map(parse).transpose()?;
        let write = Write::new(parse(new)?, old);
        let kind = self.kinds.of(&write.new.object()?)?;
        Ok((kind, write))
    }
}

/// Sets a label of an object, if the metadata allows it.
fn relabel(object: &mut Json<'_>, key: &str, value: &str) {
    let mut here = object;
    for name in ["metadata", "labels"] {
        let Ok(Some(members)) = here.open() else { return };
        if members.get_mut(name).is_none_or(|inner| inner.is_null()) {
            members.set(name, Json::Object(Members::default()));
        }
        let Some(inner) = members.get_mut(name) else { return };
        here = inner;
    }
    if let Ok(Some(labels)) = here.open() {
        labels.set(key, Json::string(value));
    }
}

/// The levels of an object that are parsed in one pass: its own members, and those of its metadata, spec and status.
const OPENED: usize = 2;

/// Parses text of a user, which may be invalid JSON.
fn parse(text: &str) -> Result<Json<'_>, ConvertError> {
    Json::parse_open(text, OPENED).map_err(|error| ConvertError::NotJson { reason: error.to_string() })
}
