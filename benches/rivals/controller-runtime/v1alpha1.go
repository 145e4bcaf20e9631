package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
)

const (
	nilUUID = "00000000-0000-0000-0000-000000000000"
	roleKey = "eks.amazonaws.com/role-arn"
	kept    = "materialize.cloud/kept-v1alpha1"
	force   = "materialize.cloud/force-rollout"
)

// SpecV1alpha1 is the older spec.
type SpecV1alpha1 struct {
	CommonSpec             `json:",inline"`
	RequestRollout         string  `json:"requestRollout,omitempty"`
	InPlaceRollout         bool    `json:"inPlaceRollout,omitempty"`
	EnvironmentdIamRoleArn *string `json:"environmentdIamRoleArn,omitempty"`
	ForcePromote           string  `json:"forcePromote,omitempty"`
}

// StatusV1alpha1 is the older status.
type StatusV1alpha1 struct {
	CommonStatus                `json:",inline"`
	LastCompletedRolloutRequest string `json:"lastCompletedRolloutRequest"`
	ResourcesHash               string `json:"resourcesHash"`
}

// MaterializeV1alpha1 is the spoke.
type MaterializeV1alpha1 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              SpecV1alpha1    `json:"spec,omitempty"`
	Status            *StatusV1alpha1 `json:"status,omitempty"`
}

// DeepCopyObject is generated in a real project. No conversion calls it.
func (*MaterializeV1alpha1) DeepCopyObject() runtime.Object { panic("a conversion copies nothing") }

// keptFields are the fields that v1alpha2 lacks.
type keptFields struct {
	RequestRollout              string  `json:"requestRollout,omitempty"`
	InPlaceRollout              bool    `json:"inPlaceRollout,omitempty"`
	EnvironmentdIamRoleArn      *string `json:"environmentdIamRoleArn,omitempty"`
	ForcePromote                string  `json:"forcePromote,omitempty"`
	LastCompletedRolloutRequest string  `json:"lastCompletedRolloutRequest,omitempty"`
	ResourcesHash               string  `json:"resourcesHash,omitempty"`
}

// ConvertTo writes the hub.
func (src *MaterializeV1alpha1) ConvertTo(hub conversion.Hub) error {
	dst := hub.(*MaterializeV1alpha2)
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec.CommonSpec = src.Spec.CommonSpec
	if role := src.Spec.EnvironmentdIamRoleArn; role != nil && *role != "" {
		annotations := map[string]string{roleKey: *role}
		for key, value := range src.Spec.ServiceAccountAnnotations {
			annotations[key] = value
		}
		dst.Spec.ServiceAccountAnnotations = annotations
	}
	if src.Spec.ForcePromote != "" && src.Spec.ForcePromote != nilUUID {
		dst.Spec.ForcePromote = &src.Spec.ForcePromote
	}
	keep := keptFields{
		RequestRollout:         src.Spec.RequestRollout,
		InPlaceRollout:         src.Spec.InPlaceRollout,
		EnvironmentdIamRoleArn: src.Spec.EnvironmentdIamRoleArn,
		ForcePromote:           src.Spec.ForcePromote,
	}
	if src.Status != nil {
		keep.LastCompletedRolloutRequest = src.Status.LastCompletedRolloutRequest
		keep.ResourcesHash = src.Status.ResourcesHash
		status := src.Status.CommonStatus
		hash, err := rolloutHash(dst)
		if err != nil {
			return err
		}
		status.RequestedRolloutHash = &hash
		if src.Status.LastCompletedRolloutRequest == src.Spec.RequestRollout {
			status.LastCompletedRolloutHash = &hash
		}
		dst.Status = &status
	}
	text, err := json.Marshal(keep)
	if err != nil {
		return err
	}
	annotations := map[string]string{kept: string(text)}
	for key, value := range src.Annotations {
		annotations[key] = value
	}
	dst.Annotations = annotations
	return nil
}

// ConvertFrom reads the hub.
func (dst *MaterializeV1alpha1) ConvertFrom(hub conversion.Hub) error {
	src := hub.(*MaterializeV1alpha2)
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec.CommonSpec = src.Spec.CommonSpec
	if src.Spec.ForcePromote != nil {
		dst.Spec.ForcePromote = *src.Spec.ForcePromote
	}
	var keep keptFields
	if text, ok := src.Annotations[kept]; ok {
		if err := json.Unmarshal([]byte(text), &keep); err != nil {
			return err
		}
		delete(dst.Annotations, kept)
	}
	dst.Spec.RequestRollout = keep.RequestRollout
	dst.Spec.InPlaceRollout = keep.InPlaceRollout
	if role := keep.EnvironmentdIamRoleArn; role != nil {
		dst.Spec.EnvironmentdIamRoleArn = role
		delete(dst.Spec.ServiceAccountAnnotations, roleKey)
	}
	if src.Status != nil {
		dst.Status = &StatusV1alpha1{
			CommonStatus:                *src.Status,
			LastCompletedRolloutRequest: keep.LastCompletedRolloutRequest,
			ResourcesHash:               keep.ResourcesHash,
		}
	}
	return nil
}

// rolloutHash hashes the fields that require a rollout.
func rolloutHash(object *MaterializeV1alpha2) (string, error) {
	spec := object.Spec
	spec.BalancerdExternalCertificateSpec = nil
	spec.BalancerdReplicas = nil
	spec.BalancerdResourceRequirements = nil
	spec.ConsoleExternalCertificateSpec = nil
	spec.ConsoleReplicas = nil
	spec.ConsoleResourceRequirements = nil
	spec.ForcePromote = nil
	text, err := json.Marshal(spec)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append(text, object.Annotations[force]...))
	return hex.EncodeToString(sum[:]), nil
}
