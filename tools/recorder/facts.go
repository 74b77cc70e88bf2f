package main

import (
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	configscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	configv1 "k8s.io/kubernetes/pkg/scheduler/apis/config/v1"
	intree "k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

// printFacts writes what the linked release says of itself: gates, flags, default configuration,
// and what depends on gates also with all of them on.
func printFacts(to io.Writer) error {
	facts := obj{"flags": flags(), "gates": gates(), "registry": registry()}
	if err := addGated(facts); err != nil {
		return err
	}
	everything := obj{}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{"AllAlpha": true, "AllBeta": true}); err != nil {
		return err
	}
	if err := addGated(everything); err != nil {
		return err
	}
	facts["allGates"] = everything
	return json.NewEncoder(to).Encode(facts)
}

// addGated adds what depends on gates.
func addGated(facts obj) error {
	configuration, err := defaultConfiguration()
	if err != nil {
		return err
	}
	e, err := newEnvironment(&Scenario{})
	if err != nil {
		return err
	}
	defer e.close()
	points, weights := e.plugins("default-scheduler")
	facts["configuration"], facts["plugins"], facts["weights"] = configuration, points, weights
	facts["rights"] = rights()
	return nil
}

// rights returns what the roles of the scheduler allow, as "verb resource.group".
func rights() []string {
	found := map[string]bool{}
	for _, role := range bootstrappolicy.ClusterRoles() {
		if !strings.HasSuffix(role.Name, "-scheduler") {
			continue
		}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						found[strings.TrimSuffix(role.Name+": "+verb+" "+resource+"."+group, ".")] = true
					}
				}
			}
		}
	}
	return keys(found)
}

// flags returns the flags of the command. Defaults that depend on the machine are left out.
func flags() obj {
	found := obj{}
	app.NewSchedulerCommand().Flags().VisitAll(func(flag *pflag.Flag) {
		found[flag.Name] = obj{"type": flag.Value.Type(), "default": flag.DefValue, "deprecated": flag.Deprecated}
	})
	return found
}

// gates returns the feature gates of the command, at the default emulated version.
func gates() obj {
	known := utilfeature.DefaultMutableFeatureGate
	found := obj{}
	for name, spec := range known.GetAll() {
		stage := string(spec.PreRelease)
		if spec.PreRelease == featuregate.GA {
			stage = "GA"
		}
		found[string(name)] = obj{"stage": stage, "default": known.Enabled(name), "locked": spec.LockToDefault}
	}
	return found
}

// defaultConfiguration returns the v1 configuration with the defaults of the release.
func defaultConfiguration() (any, error) {
	decoded, _, err := configscheme.Codecs.UniversalDecoder().Decode([]byte(defaultConfig), nil, nil)
	if err != nil {
		return nil, err
	}
	info, ok := runtime.SerializerInfoForMediaType(configscheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok {
		return nil, fmt.Errorf("no serializer for JSON")
	}
	var text strings.Builder
	encoder := configscheme.Codecs.EncoderForVersion(info.Serializer, configv1.SchemeGroupVersion)
	if err := encoder.Encode(decoded, &text); err != nil {
		return nil, err
	}
	var value any
	return value, json.Unmarshal([]byte(text.String()), &value)
}

// registry returns the names of the plugins that a configuration may name.
func registry() []string {
	names := []string{}
	for name := range intree.NewInTreeRegistry() {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
