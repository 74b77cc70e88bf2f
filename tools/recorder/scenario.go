package main

import (
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// kinds gives the API type of the objects of each field of a scenario, newest version first: a
// release serves one of them to its scheduler.
var kinds = map[string][]schema.GroupVersionKind{
	"nodes":                  {gvk("", "v1", "Node")},
	"namespaces":             {gvk("", "v1", "Namespace")},
	"services":               {gvk("", "v1", "Service")},
	"replicaSets":            {gvk("apps", "v1", "ReplicaSet")},
	"replicationControllers": {gvk("", "v1", "ReplicationController")},
	"statefulSets":           {gvk("apps", "v1", "StatefulSet")},
	"pvs":                    {gvk("", "v1", "PersistentVolume")},
	"pvcs":                   {gvk("", "v1", "PersistentVolumeClaim")},
	"storageClasses":         {gvk("storage.k8s.io", "v1", "StorageClass")},
	"csiNodes":               {gvk("storage.k8s.io", "v1", "CSINode")},
	"csiDrivers":             {gvk("storage.k8s.io", "v1", "CSIDriver")},
	"csiStorageCapacities":   {gvk("storage.k8s.io", "v1", "CSIStorageCapacity")},
	"volumeAttachments":      {gvk("storage.k8s.io", "v1", "VolumeAttachment")},
	"pdbs":                   {gvk("policy", "v1", "PodDisruptionBudget")},
	"resourceClaims":         {gvk("resource.k8s.io", "v1", "ResourceClaim")},
	"resourceSlices":         {gvk("resource.k8s.io", "v1", "ResourceSlice")},
	"deviceClasses":          {gvk("resource.k8s.io", "v1", "DeviceClass")},
	"deviceTaintRules": {
		gvk("resource.k8s.io", "v1", "DeviceTaintRule"),
		gvk("resource.k8s.io", "v1beta2", "DeviceTaintRule"),
	},
}

func gvk(group, version, kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
}

// Scenario is a small cluster, and the pod or the pods to place.
type Scenario struct {
	Config          json.RawMessage `json:"config"`
	FeatureGates    map[string]bool `json:"featureGates"`
	Pods            []*v1.Pod       `json:"pods"`
	Pod             *v1.Pod         `json:"pod"`
	PodSequence     []*v1.Pod       `json:"podSequence"`
	ApplyPreemption bool            `json:"applyPreemption"`

	raw     json.RawMessage
	objects []runtime.Object
}

// first returns the pod whose profile the scenario is about.
func (s *Scenario) first() *v1.Pod {
	if s.Pod != nil {
		return s.Pod
	}
	return s.PodSequence[0]
}

func readScenario(raw json.RawMessage) (*Scenario, error) {
	scenario := &Scenario{raw: append(json.RawMessage{}, raw...)}
	if err := json.Unmarshal(raw, scenario); err != nil {
		return nil, err
	}
	if scenario.Pod == nil && len(scenario.PodSequence) == 0 {
		return nil, fmt.Errorf("a scenario has neither pod nor podSequence")
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	for field, versions := range kinds {
		var list []json.RawMessage
		if len(fields[field]) == 0 {
			continue
		}
		if err := json.Unmarshal(fields[field], &list); err != nil {
			return nil, fmt.Errorf("%s: %w", field, err)
		}
		for _, one := range list {
			decoded, err := decode(one, versions)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", field, err)
			}
			scenario.objects = append(scenario.objects, decoded)
		}
	}
	return scenario, nil
}

// decode reads an object as the newest of the versions that the linked release has.
func decode(data []byte, versions []schema.GroupVersionKind) (runtime.Object, error) {
	for _, kind := range versions {
		if !scheme.Scheme.Recognizes(kind) {
			continue
		}
		decoded, err := scheme.Scheme.New(kind)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(data, decoded); err != nil {
			return nil, err
		}
		decoded.GetObjectKind().SetGroupVersionKind(kind)
		return decoded, nil
	}
	return nil, fmt.Errorf("this release has no %s", versions[0].Kind)
}
