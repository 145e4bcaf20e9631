//! The door: bytes in, bytes out.

use std::sync::Arc;

use super::admission::{self, Judgement, Settings, Write};
use super::caller::Caller;
use super::convert::{self, Change, ConvertError, Converted, Facts, Metadata, Object, StringArena};
use super::costs::Costs;
use super::endpoint::Endpoint;
use super::facts::{FactUnknown, KnownFacts};
use super::handle_error::HandleError;
use super::kind_conversion::{self, ReplaceError, OtherKind};
use super::kinds::{DefinedTwice, Kinds};
use super::mutations::mutated;
use super::reply::{Conversions, Reply};
use super::review::PatchOperation;
use super::weight::weight_with;
use super::{handlers, rollout_hash::Preimage};
use crate::definition::{Kind, MutatedKind, VersionIndex};
use crate::json::{Json, Members};

/// What is changed of an object, and what whoever writes it is warned of.
type PatchAndWarnings = (Vec<PatchOperation>, Vec<String>);

/// The decisions of one server: its kinds and their rules. Shared by all requests, never changed.
///
/// The three calls of an API server come through [`handle`](Self::handle). The other functions decide the same about
/// single objects, for commands and tests.
#[derive(Debug)]
pub struct Webhook {
    kinds: Kinds,
    mutated: Vec<MutatedKind>,
    metadata: Metadata,
    settings: Settings,
    facts: Facts,
    /// What the definitions take memory for.
    costs: Costs,
}

impl Webhook {
    /// A server for these kinds.
    ///
    /// # Errors
    /// A kind, or a name, that stands twice.
    pub fn new(kinds: Vec<Kind>, metadata: Metadata) -> Result<Self, DefinedTwice> {
        let (settings, facts) = (Settings::default(), Facts::default());
        let kinds = Kinds::new(kinds)?;
        let costs = Costs::of(kinds.all());
        Ok(Self { kinds, mutated: Vec::new(), metadata, settings, facts, costs })
    }

    /// The same server, with stages for objects of other kinds.
    ///
    /// # Errors
    /// A kind, or a name, that stands twice.
    pub fn with_mutations(mut self, mutated: Vec<MutatedKind>) -> Result<Self, DefinedTwice> {
        self.kinds.allows(&mutated)?;
        self.mutated = mutated;
        Ok(self)
    }

    /// The same server, where this is known beside the objects that it is asked to convert.
    #[must_use]
    pub fn knowing(mut self, facts: Facts) -> Self {
        self.facts = facts;
        self
    }

    /// The same server, admitting objects so.
    #[must_use]
    pub fn admitting(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// The kinds this server knows.
    #[must_use]
    pub fn kinds(&self) -> &[Kind] {
        self.kinds.all()
    }

    /// The kinds whose objects have stages here.
    #[must_use]
    pub fn mutated(&self) -> &[MutatedKind] {
        &self.mutated
    }

    /// Every conversion there can be, of no objects: what counts conversions begins with these.
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

    /// Answers one request body. Takes time in proportion to the body and does no I/O.
    ///
    /// What is wrong with an object, or with the request, is said in the reply, which goes out with HTTP 200.
    ///
    /// # Errors
    /// [`HandleError::BadReview`] where the body has no request uid that an answer could carry.
    ///
    /// # Examples
    /// ```
    /// use pointsman_core::definition::Kind;
    /// use pointsman_core::webhook::{Endpoint, Metadata, Outcome, Webhook};
    ///
    /// let webhook = Webhook::new(Kind::embedded()?, Metadata::Identity)?;
    /// let review = br#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": {
    ///     "uid": "705ab4f5", "desiredAPIVersion": "materialize.cloud/v1alpha2", "objects": [
    ///         {"apiVersion": "materialize.cloud/v1alpha1", "kind": "Materialize",
    ///          "metadata": {"name": "a"}, "spec": {}}
    ///     ]}}"#;
    /// let reply = webhook.handle(Endpoint::Convert, review)?;
    /// assert_eq!(reply.outcome, Outcome::Convert);
    /// assert_eq!(&*reply.conversions[0].to, "v1alpha2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn handle(&self, endpoint: Endpoint, body: &[u8]) -> Result<Reply, HandleError> {
        self.answer(endpoint, body, &Caller::patient())
    }

    /// Answers one request body as [`Self::handle`] does, by what is known of the facts that stages wait for.
    ///
    /// # Errors
    /// As there; and an object whose stage hangs on a fact of which nothing is known yet.
    ///
    /// # Examples
    /// ```
    /// use pointsman_core::definition::StagedKind;
    /// use pointsman_core::webhook::{Endpoint, KnownFacts, Metadata, Outcome, Truth, Webhook};
    ///
    /// let mutations = "
    /// apiVersion: pointsman.dev/v1
    /// kind: KindDefinition
    /// resource: {group: apps, version: v1, kind: Deployment, plural: deployments}
    /// mutations:
    /// - name: moved
    ///   fact: {resource: namespaces, name: '{namespace}', label: moved, is: 'true'}
    ///   before: [{set: {field: spec.replicas, value: 1}}]
    ///   after: [{set: {field: spec.replicas, value: 0}}]
    /// ";
    /// let webhook = Webhook::new(Vec::new(), Metadata::Identity)?.with_mutations(vec![MutatedKind::load("s.yaml", mutations)?])?;
    /// let review = br#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1",
    ///     "operation": "CREATE", "kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
    ///     "object": {"metadata": {"name": "a", "namespace": "n"}, "spec": {"replicas": 1}}}}"#;
    /// let mut facts = KnownFacts::default();
    /// let unknown = webhook.handle_knowing(Endpoint::Mutate, review, &facts).unwrap_err();
    /// assert_eq!(
    ///     unknown.to_string(),
    ///     r#"whether label moved of namespaces is "true" is not known yet, and stage moved hangs on it, try again"#
    /// );
    /// facts.say("moved", Truth::False);
    /// assert_eq!(webhook.handle_knowing(Endpoint::Mutate, review, &facts)?.outcome, Outcome::Allow);
    /// facts.say("moved", Truth::True);
    /// assert_eq!(webhook.handle_knowing(Endpoint::Mutate, review, &facts)?.outcome, Outcome::Patch);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn handle_knowing(&self, endpoint: Endpoint, body: &[u8], facts: &KnownFacts) -> Result<Reply, HandleError> {
        self.answer_knowing(endpoint, body, facts, &Caller::patient())
    }

    /// The same for as long as somebody waits for it. That is asked between two objects, steps, items and rules, again
    /// and again, so it has to be cheap to say; once nobody waits, that is the end of it.
    ///
    /// # Errors
    /// As there, and [`HandleError::CallerGone`].
    ///
    /// # Examples
    /// ```
    /// use pointsman_core::definition::Kind;
    /// use pointsman_core::webhook::{Endpoint, KnownFacts, Metadata, Unanswered, Webhook};
    ///
    /// let webhook = Webhook::new(Kind::embedded()?, Metadata::Identity)?;
    /// let review = br#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": {
    ///     "uid": "705ab4f5", "desiredAPIVersion": "materialize.cloud/v1alpha2", "objects": [
    ///         {"apiVersion": "materialize.cloud/v1alpha1", "kind": "Materialize",
    ///          "metadata": {"name": "a"}, "spec": {}}
    ///     ]}}"#;
    /// let facts = KnownFacts::default();
    /// let gone = webhook.handle_while(Endpoint::Convert, review, &facts, &|| false).unwrap_err();
    /// assert_eq!(gone, Unanswered::CallerGone);
    /// assert!(webhook.handle_while(Endpoint::Convert, review, &facts, &|| true).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn handle_while(
        &self,
        endpoint: Endpoint,
        body: &[u8],
        facts: &KnownFacts,
        is_awaited: &dyn Fn() -> bool,
    ) -> Result<Reply, HandleError> {
        self.answer_knowing(endpoint, body, facts, &Caller::waiting_while(is_awaited))
    }

    fn answer_knowing(
        &self,
        endpoint: Endpoint,
        body: &[u8],
        facts: &KnownFacts,
        caller: &Caller<'_>,
    ) -> Result<Reply, HandleError> {
        match endpoint {
            Endpoint::Mutate if !self.mutated.is_empty() => {
                handlers::mutate_with_mutations((&self.kinds, &self.mutated), &self.settings, facts, caller, body)
            }
            endpoint => self.answer(endpoint, body, caller),
        }
    }

    fn answer(&self, endpoint: Endpoint, body: &[u8], caller: &Caller<'_>) -> Result<Reply, HandleError> {
        match endpoint {
            Endpoint::Convert => handlers::convert(&self.kinds, self.metadata, caller, body),
            Endpoint::Mutate => handlers::mutate(&self.kinds, &self.settings, caller, body),
            Endpoint::Validate => handlers::validate(&self.kinds, &self.settings, caller, body),
        }
    }

    /// The most memory, in bytes, that [`handle`](Self::handle) takes for this body at one time: the answer is
    /// included, the body itself is not.
    ///
    /// It is what [`weight`](super::weight()) says, and more for what the definitions give to objects and to the items
    /// of their lists: each brace of the body may begin one, and a long text in an item stands in each list that it is
    /// in for a moment. Where that is much, the body is looked at more closely: it counts whose objects these may be,
    /// and what their conversions look into.
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

    /// Converts one object to a version of its kind, named as `v2` or as `group/v2`, with all its metadata.
    ///
    /// # Errors
    /// The field that stands in the way.
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
    /// assert!(error.to_string().contains(r#""v2" is no version of Materialize; it has"#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn convert(&self, object: &str, to: &str) -> Result<Converted, ConvertError> {
        let texts = StringArena::default();
        let (kind, object, to) = self.conversion(object, to, &texts)?;
        convert::convert(kind, object, to, Metadata::Full)
    }

    /// Converts one object as [`Self::convert`] does, and says which operation changed which fields.
    ///
    /// # Errors
    /// The field that stands in the way.
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

    /// Makes of an object of one kind what it is as an object of another kind: what a definition says under `replaces`,
    /// in either direction. The new object has name, namespace, labels and annotations of the one that is given, and
    /// no status: nobody has seen it yet. Which operation changed which fields is told as well.
    ///
    /// # Errors
    /// Why there is no such object: see [`ReplaceError`].
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

    /// The same by one definition, without what changed: as rollouts make objects of another kind.
    ///
    /// # Errors
    /// Why there is no such object: see [`ReplaceError`].
    pub fn convert_by(kind: &Kind, object: &str, to: OtherKind<'_>, facts: &Facts) -> Result<Converted, ReplaceError> {
        let texts = StringArena::default();
        let object = Object::open(parse(object)?, &texts)?.knowing(facts);
        Ok(kind_conversion::convert(std::slice::from_ref(kind), object, to)?.0)
    }

    /// The kind of an object, the object, and the version that is asked for.
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

    /// What the rollout hash of an object is made of.
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
        object.convert(kind, rollout.at)?;
        Ok(object.preimage(rollout).into_owned())
    }

    /// What `/mutate` would change in an object that is created, or updated from `old`.
    ///
    /// # Errors
    /// The object is not JSON, or its kind is not known.
    ///
    /// # Examples
    /// ```
    /// use pointsman_core::definition::Kind;
    /// use pointsman_core::webhook::{Metadata, Settings, Webhook};
    ///
    /// let controller = Some("2.17.0".parse()?);
    /// let settings = Settings { controller, default: true, ..Settings::default() };
    /// let webhook = Webhook::new(Kind::embedded()?, Metadata::Full)?.admitting(settings);
    /// let object = r#"{"apiVersion": "elasticsearch.k8s.elastic.co/v1", "kind": "Elasticsearch",
    ///     "metadata": {"name": "logs", "labels": {}}, "spec": {"version": "8.13.0"}}"#;
    /// let patch = webhook.patch(object, None)?;
    /// assert_eq!(patch[0].path, "/metadata/labels/eaas.search.mercari.in~1desired-controller-version");
    /// assert_eq!((patch[0].op, patch[0].value.as_str()), ("add", "\"2.17.0\""));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn patch(&self, new: &str, old: Option<&str>) -> Result<Vec<PatchOperation>, ConvertError> {
        self.stamp(new, old).map(|(patch, _)| patch)
    }

    /// The same, and what the author of the write is told: what was put back or overwritten, at most 240 characters
    /// each.
    ///
    /// # Errors
    /// The object is not JSON, or its kind is not known.
    pub fn stamp(&self, new: &str, old: Option<&str>) -> Result<(Vec<PatchOperation>, Vec<String>), ConvertError> {
        self.stamp_by(new, old, "")
    }

    /// The same for an author whose field manager is known, as that of [`crate::definition::ROLLOUT_MANAGER`], who
    /// takes off what is put back of others.
    ///
    /// # Errors
    /// The object is not JSON, or its kind is not known.
    pub fn stamp_by(
        &self,
        new: &str,
        old: Option<&str>,
        manager: &str,
    ) -> Result<(Vec<PatchOperation>, Vec<String>), ConvertError> {
        let (kind, write) = self.write(new, old)?;
        Ok(admission::stamp(kind, &self.settings, &write.by(manager)))
    }

    /// What the stages of its kind would make of an object that is created, or updated from `old`. Nothing where no
    /// stage is about its kind.
    ///
    /// # Errors
    /// The object is not JSON; or nothing is known of a fact that it hangs on.
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

    /// What `/validate` would say of an object that is created, or updated from `old`: the judgement, and the message
    /// of a denial as the API server would show it.
    ///
    /// # Errors
    /// The object is not JSON, or its kind is not known.
    ///
    /// # Examples
    /// ```
    /// use pointsman_core::definition::Kind;
    /// use pointsman_core::webhook::{Metadata, Webhook};
    ///
    /// let webhook = Webhook::new(Kind::embedded()?, Metadata::Full)?;
    /// let old = r#"{"apiVersion": "elasticsearch.k8s.elastic.co/v1", "kind": "Elasticsearch",
    ///     "metadata": {"name": "logs"}, "spec": {"version": "7.10.2"}, "status": {"version": "7.10.2"}}"#;
    /// let new = old.replace(r#""spec": {"version": "7.10.2"}"#, r#""spec": {"version": "8.13.0"}"#);
    /// let (judgement, denial) = webhook.judge(&new, Some(old))?;
    /// assert_eq!(judgement.errors[0].path, "spec.version");
    /// assert!(denial.is_some_and(|message| message.ends_with("is allowed; go to 7.17.0 first")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn judge(&self, new: &str, old: Option<&str>) -> Result<(Judgement, Option<String>), ConvertError> {
        let (kind, write) = self.write(new, old)?;
        let judgement = admission::judge(kind, &self.settings, &write);
        let message = judgement.status(kind, write.new.json()).map(|status| status.message().to_owned());
        Ok((judgement, message))
    }

    /// What `/validate` would say if this object were handed over to the controller version of this server: how the
    /// version that is entered judges it. Whether the version that is left lets it go, its own server says. Without a
    /// controller version, and for an object that is its own already, the same as [`Self::judge`].
    ///
    /// # Errors
    /// The object is not JSON, or its kind is not known.
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

/// Sets a label of an object, where there is room for one.
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

/// The levels of an object that are opened in one pass: its own members, and those of its metadata, spec and status.
const OPENED: usize = 2;

/// Text from a person: JSON, or not.
fn parse(text: &str) -> Result<Json<'_>, ConvertError> {
    Json::parse_open(text, OPENED).map_err(|error| ConvertError::NotJson { reason: error.to_string() })
}
