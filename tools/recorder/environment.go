package main

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	resourceinformers "k8s.io/client-go/informers/resource/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	configscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

const defaultConfig = `{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration"}`

// environment is a real scheduler whose API server is a set of objects in memory. The recorder
// runs its cycles step by step; its queue is never popped.
type environment struct {
	ctx       context.Context
	cancel    context.CancelFunc
	scenario  *Scenario
	logger    klog.Logger
	client    *fake.Clientset
	informers informers.SharedInformerFactory
	handlers  []*handlers
	broadcast events.EventBroadcasterAdapter
	scheduler *scheduler.Scheduler
	snapshot  *internalcache.Snapshot

	mu      sync.Mutex
	changed *sync.Cond
	// what a preemption asked of the API server since the last reset
	deleted []string
	cleared []string
}

// handlers is an informer that remembers who listens to it.
type handlers struct {
	cache.SharedIndexInformer
	registered []cache.ResourceEventHandlerRegistration
}

func (h *handlers) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	registration, err := h.SharedIndexInformer.AddEventHandler(handler)
	h.registered = append(h.registered, registration)
	return registration, err
}

func newEnvironment(scenario *Scenario) (*environment, error) {
	ctx, cancel := context.WithCancel(context.Background())
	e := &environment{ctx: ctx, cancel: cancel, scenario: scenario, logger: klog.FromContext(ctx)}
	e.changed = sync.NewCond(&e.mu)
	if err := e.start(); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

func (e *environment) start() error {
	profiles, err := e.profiles()
	if err != nil {
		return err
	}
	e.client = fake.NewSimpleClientset(e.objects()...)
	e.client.PrependReactor("delete", "pods", e.swallow)
	e.client.PrependReactor("patch", "pods", e.swallow)
	e.informers = informers.NewSharedInformerFactory(e.client, 0)
	e.rememberHandlers()
	e.broadcast = events.NewEventBroadcasterAdapter(e.client)
	e.scheduler, err = scheduler.New(e.ctx, e.client, e.informers, nil,
		profile.RecorderFactory(func(name string) events.EventRecorderLogger { return e.broadcast.NewRecorder(name) }),
		scheduler.WithProfiles(profiles...), scheduler.WithParallelism(2))
	if err != nil {
		return err
	}
	for _, one := range e.scheduler.Profiles {
		sortBudgets(one)
	}
	e.snapshot = private(e.scheduler, "nodeInfoSnapshot").Interface().(*internalcache.Snapshot)
	e.informers.Start(e.ctx.Done())
	e.informers.WaitForCacheSync(e.ctx.Done())
	if err := e.scheduler.WaitForHandlersSync(e.ctx); err != nil {
		return err
	}
	for _, one := range e.handlers {
		for _, registration := range one.registered {
			for !registration.HasSynced() {
				time.Sleep(time.Millisecond)
			}
		}
	}
	e.waitForSlices()
	return nil
}

// waitForSlices waits until the plugins see all slices. The tracker of slices has a listener of its
// own, and the scheduler waits for it only if a plugin registers for events of slices.
func (e *environment) waitForSlices() {
	count := 0
	for _, object := range e.scenario.objects {
		if _, ok := object.(*resourcev1.ResourceSlice); ok {
			count++
		}
	}
	for _, one := range e.scheduler.Profiles {
		for count > 0 {
			found, err := one.SharedDRAManager().ResourceSlices().ListWithDeviceTaintRules()
			if err != nil || len(found) >= count {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// profiles returns the profiles of the scenario's configuration, with the defaults of the release.
func (e *environment) profiles() ([]schedulerconfig.KubeSchedulerProfile, error) {
	data := []byte(e.scenario.Config)
	if len(data) == 0 || string(data) == "null" {
		data = []byte(defaultConfig)
	}
	decoded, _, err := configscheme.Codecs.UniversalDecoder().Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	config, ok := decoded.(*schedulerconfig.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("config is a %T", decoded)
	}
	return config.Profiles, nil
}

// objects returns what the API server has. The scheduler's watch excludes pods that are finished;
// a pod to place that names a node is only handed to the plugins.
func (e *environment) objects() []runtime.Object {
	list := append([]runtime.Object{}, e.scenario.objects...)
	pods := append(append([]*v1.Pod{}, e.scenario.Pods...), e.scenario.PodSequence...)
	if pod := e.scenario.Pod; pod != nil && pod.Spec.NodeName == "" {
		pods = append(pods, pod)
	}
	for _, pod := range pods {
		if pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed {
			list = append(list, pod.DeepCopy())
		}
	}
	return list
}

// rememberHandlers makes the informers whose listeners the scheduler does not wait for.
func (e *environment) rememberHandlers() {
	indexers := func() cache.Indexers {
		return cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	}
	remember := func(object runtime.Object, informer cache.SharedIndexInformer) {
		wrapped := &handlers{SharedIndexInformer: informer}
		e.handlers = append(e.handlers, wrapped)
		e.informers.InformerFor(object, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer { return wrapped })
	}
	remember(&v1.PersistentVolume{}, coreinformers.NewPersistentVolumeInformer(e.client, 0, indexers()))
	remember(&v1.PersistentVolumeClaim{}, coreinformers.NewPersistentVolumeClaimInformer(e.client, metav1.NamespaceAll, 0, indexers()))
	remember(&resourcev1.ResourceClaim{}, resourceinformers.NewResourceClaimInformer(e.client, metav1.NamespaceAll, 0, indexers()))
}

// swallow notes what a preemption writes, and writes nothing.
func (e *environment) swallow(action clienttesting.Action) (bool, runtime.Object, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch request := action.(type) {
	case clienttesting.DeleteAction:
		e.deleted = append(e.deleted, request.GetNamespace()+"/"+request.GetName())
	case clienttesting.PatchAction:
		if strings.Contains(string(request.GetPatch()), "nominatedNodeName") {
			e.cleared = append(e.cleared, request.GetNamespace()+"/"+request.GetName())
		}
	}
	e.changed.Broadcast()
	return true, &v1.Pod{}, nil
}

func (e *environment) close() {
	e.cancel()
	if e.scheduler != nil {
		e.scheduler.SchedulingQueue.Close()
		for _, one := range e.scheduler.Profiles {
			_ = one.Close()
		}
	}
	if e.broadcast != nil {
		e.broadcast.Shutdown()
	}
	if e.informers != nil {
		e.informers.Shutdown()
	}
}

func (e *environment) framework(pod *v1.Pod) framework.Framework {
	found, ok := e.scheduler.Profiles[pod.Spec.SchedulerName]
	if !ok {
		panic(fmt.Sprintf("no profile for scheduler name %q", pod.Spec.SchedulerName))
	}
	return found
}

// plugin returns a plugin of a profile; the framework does not hand them out.
func plugin(of framework.Framework, name string) fwk.Plugin {
	return private(of, "pluginsMap").Interface().(map[string]fwk.Plugin)[name]
}

// plugins returns the plugins of a profile by extension point, and the weights of those that score.
func (e *environment) plugins(schedulerName string) (obj, obj) {
	listed := e.scheduler.Profiles[schedulerName].ListPlugins()
	points, weights := obj{}, obj{}
	sets := reflect.ValueOf(listed).Elem()
	for number := range sets.NumField() {
		point := sets.Type().Field(number).Name
		set, ok := sets.Field(number).Interface().(schedulerconfig.PluginSet)
		if !ok || len(set.Enabled) == 0 {
			continue
		}
		names := []string{}
		for _, one := range set.Enabled {
			names = append(names, one.Name)
		}
		points[strings.ToLower(point[:1])+point[1:]] = names
	}
	for _, one := range listed.Score.Enabled {
		weights[one.Name] = one.Weight
	}
	return points, weights
}

// private returns the value of an unexported field.
func private(of any, field string) reflect.Value {
	value := reflect.ValueOf(of).Elem().FieldByName(field)
	if !value.IsValid() {
		panic(fmt.Sprintf("this release has no %T.%s", of, field))
	}
	return reflect.NewAt(value.Type(), unsafe.Pointer(value.UnsafeAddr())).Elem()
}
