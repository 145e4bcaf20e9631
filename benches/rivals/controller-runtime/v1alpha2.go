package main

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// CommonSpec has the fields of both versions.
type CommonSpec struct {
	EnvironmentdImageRef                        string                       `json:"environmentdImageRef"`
	EnvironmentdExtraArgs                       []string                     `json:"environmentdExtraArgs,omitempty"`
	EnvironmentdExtraEnv                        []corev1.EnvVar              `json:"environmentdExtraEnv,omitempty"`
	EnvironmentdConnectionRoleArn               *string                      `json:"environmentdConnectionRoleArn,omitempty"`
	EnvironmentdResourceRequirements            *corev1.ResourceRequirements `json:"environmentdResourceRequirements,omitempty"`
	EnvironmentdScratchVolumeStorageRequirement *resource.Quantity           `json:"environmentdScratchVolumeStorageRequirement,omitempty"`
	BalancerdResourceRequirements               *corev1.ResourceRequirements `json:"balancerdResourceRequirements,omitempty"`
	ConsoleResourceRequirements                 *corev1.ResourceRequirements `json:"consoleResourceRequirements,omitempty"`
	BalancerdReplicas                           *int32                       `json:"balancerdReplicas,omitempty"`
	ConsoleReplicas                             *int32                       `json:"consoleReplicas,omitempty"`
	ServiceAccountName                          *string                      `json:"serviceAccountName,omitempty"`
	ServiceAccountAnnotations                   map[string]string            `json:"serviceAccountAnnotations,omitempty"`
	ServiceAccountLabels                        map[string]string            `json:"serviceAccountLabels,omitempty"`
	PodAnnotations                              map[string]string            `json:"podAnnotations,omitempty"`
	PodLabels                                   map[string]string            `json:"podLabels,omitempty"`
	ForceRollout                                string                       `json:"forceRollout,omitempty"`
	RolloutStrategy                             string                       `json:"rolloutStrategy,omitempty"`
	RolloutRequestTimeout                       *string                      `json:"rolloutRequestTimeout,omitempty"`
	BackendSecretName                           string                       `json:"backendSecretName"`
	AuthenticatorKind                           string                       `json:"authenticatorKind,omitempty"`
	EnableRbac                                  bool                         `json:"enableRbac,omitempty"`
	EnvironmentID                               string                       `json:"environmentId,omitempty"`
	SystemParameterConfigmapName                *string                      `json:"systemParameterConfigmapName,omitempty"`
	BalancerdExternalCertificateSpec            *CertificateSpec             `json:"balancerdExternalCertificateSpec,omitempty"`
	ConsoleExternalCertificateSpec              *CertificateSpec             `json:"consoleExternalCertificateSpec,omitempty"`
	InternalCertificateSpec                     *CertificateSpec             `json:"internalCertificateSpec,omitempty"`
}

// CertificateSpec describes a certificate of cert-manager.
type CertificateSpec struct {
	DNSNames            []string        `json:"dnsNames,omitempty"`
	Duration            *string         `json:"duration,omitempty"`
	RenewBefore         *string         `json:"renewBefore,omitempty"`
	IssuerRef           *IssuerRef      `json:"issuerRef,omitempty"`
	SecretTemplate      *SecretTemplate `json:"secretTemplate,omitempty"`
	PrivateKeyAlgorithm *string         `json:"privateKeyAlgorithm,omitempty"`
	PrivateKeySize      *int64          `json:"privateKeySize,omitempty"`
}

// IssuerRef names an issuer.
type IssuerRef struct {
	Name  string `json:"name"`
	Kind  string `json:"kind,omitempty"`
	Group string `json:"group,omitempty"`
}

// SecretTemplate has the labels of a Secret.
type SecretTemplate struct {
	Annotations map[string]string `json:"annotations,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
}

// CommonStatus has the status fields of both versions.
type CommonStatus struct {
	ActiveGeneration                         uint64             `json:"activeGeneration"`
	Conditions                               []metav1.Condition `json:"conditions"`
	LastCompletedRolloutEnvironmentdImageRef *string            `json:"lastCompletedRolloutEnvironmentdImageRef,omitempty"`
	LastCompletedRolloutHash                 *string            `json:"lastCompletedRolloutHash,omitempty"`
	RequestedRolloutHash                     *string            `json:"requestedRolloutHash,omitempty"`
	ResourceID                               string             `json:"resourceId"`
}

// SpecV1alpha2 is the newer spec.
type SpecV1alpha2 struct {
	CommonSpec   `json:",inline"`
	ForcePromote *string `json:"forcePromote,omitempty"`
}

// MaterializeV1alpha2 is the hub.
type MaterializeV1alpha2 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              SpecV1alpha2  `json:"spec,omitempty"`
	Status            *CommonStatus `json:"status,omitempty"`
}

// Hub marks the version of the hub.
func (*MaterializeV1alpha2) Hub() {}

// DeepCopyObject is generated in a real project. No conversion calls it.
func (*MaterializeV1alpha2) DeepCopyObject() runtime.Object { panic("a conversion copies nothing") }
