// Print what kube-scheduler makes of configurations: the v1 form, or what is wrong with them.
//
// Usage: config_reference [FEATURE_GATES] < DOCUMENTS, separated by lines of %%%%
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sort"

	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	configv1 "k8s.io/kubernetes/pkg/scheduler/apis/config/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
)

func main() {
	if len(os.Args) > 1 {
		if err := utilfeature.DefaultMutableFeatureGate.Set(os.Args[1]); err != nil {
			fmt.Println("INVALID", err)
			os.Exit(1)
		}
	}
	data, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	for _, document := range bytes.Split(data, []byte("\n%%%%\n")) {
		answer(document)
		fmt.Println("%%%%")
	}
}

func answer(document []byte) {
	object, kind, err := scheme.Codecs.UniversalDecoder().Decode(document, nil, nil)
	if err != nil {
		fmt.Println("DECODE", err)
		return
	}
	loaded, ok := object.(*config.KubeSchedulerConfiguration)
	if !ok {
		fmt.Println("DECODE", kind)
		return
	}
	loaded.TypeMeta.APIVersion = kind.GroupVersion().String()
	if err := validation.ValidateKubeSchedulerConfiguration(loaded); err != nil {
		for _, one := range err.Errors() {
			fmt.Println("INVALID", one)
		}
		return
	}
	for i := range loaded.Profiles {
		keepNeeded(&loaded.Profiles[i])
	}
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeYAML)
	encoder := scheme.Codecs.EncoderForVersion(info.Serializer, configv1.SchemeGroupVersion)
	if err := encoder.Encode(loaded, os.Stdout); err != nil {
		panic(err)
	}
}

// keepNeeded does to pluginConfig what building the framework does before the profile is printed.
func keepNeeded(profile *config.KubeSchedulerProfile) {
	plugins := profile.Plugins
	needed := map[string]bool{}
	for _, set := range []config.PluginSet{
		plugins.PreEnqueue, plugins.QueueSort, plugins.PreFilter, plugins.Filter, plugins.PostFilter,
		plugins.PreScore, plugins.Score, plugins.Reserve, plugins.Permit, plugins.PreBind,
		plugins.Bind, plugins.PostBind, plugins.MultiPoint,
	} {
		for _, plugin := range set.Enabled {
			needed[plugin.Name] = true
		}
	}
	var kept []config.PluginConfig
	for _, one := range profile.PluginConfig {
		if needed[one.Name] && one.Args != nil {
			kept = append(kept, one)
		}
	}
	sort.Slice(kept, func(a, b int) bool { return kept[a].Name < kept[b].Name })
	profile.PluginConfig = kept
}
