"""The fields of the older configuration versions and of the Policy file.

Written by tools/config_schema.py from the published modules k8s.io/kube-scheduler v0.18 to v0.28;
do not edit. Per version and type: the fields as `name:kind`. A kind is a scalar, another type of
the same version, `object` (a type of another API group, checked later) or `any`; `[]` before it
makes it a list.
"""

from __future__ import annotations

TABLE: dict[str, dict[str, str]] = {
    "v1beta3": {
        "KubeSchedulerConfiguration": (
            "kind:string apiVersion:string parallelism:int32 "
            "leaderElection:LeaderElectionConfiguration "
            "clientConnection:ClientConnectionConfiguration enableProfiling:bool "
            "enableContentionProfiling:bool percentageOfNodesToScore:int32 "
            "podInitialBackoffSeconds:int64 podMaxBackoffSeconds:int64 "
            "profiles:[]KubeSchedulerProfile extenders:[]Extender"
        ),
        "DefaultPreemptionArgs": (
            "kind:string apiVersion:string minCandidateNodesPercentage:int32 "
            "minCandidateNodesAbsolute:int32"
        ),
        "InterPodAffinityArgs": (
            "kind:string apiVersion:string hardPodAffinityWeight:int32 "
            "ignorePreferredTermsOfExistingPods:bool"
        ),
        "NodeAffinityArgs": ("kind:string apiVersion:string addedAffinity:object"),
        "NodeResourcesBalancedAllocationArgs": (
            "kind:string apiVersion:string resources:[]ResourceSpec"
        ),
        "NodeResourcesFitArgs": (
            "kind:string apiVersion:string ignoredResources:[]string "
            "ignoredResourceGroups:[]string scoringStrategy:ScoringStrategy"
        ),
        "PodTopologySpreadArgs": (
            "kind:string apiVersion:string defaultConstraints:[]object defaultingType:string"
        ),
        "VolumeBindingArgs": (
            "kind:string apiVersion:string bindTimeoutSeconds:int64 shape:[]UtilizationShapePoint"
        ),
        "LeaderElectionConfiguration": (
            "leaderElect:bool leaseDuration:duration renewDeadline:duration "
            "retryPeriod:duration resourceLock:string resourceName:string "
            "resourceNamespace:string"
        ),
        "ClientConnectionConfiguration": (
            "kubeconfig:string acceptContentTypes:string contentType:string qps:float32 burst:int32"
        ),
        "KubeSchedulerProfile": (
            "schedulerName:string plugins:Plugins pluginConfig:[]PluginConfig"
        ),
        "Extender": (
            "urlPrefix:string filterVerb:string preemptVerb:string prioritizeVerb:string "
            "weight:int64 bindVerb:string enableHTTPS:bool tlsConfig:ExtenderTLSConfig "
            "httpTimeout:duration nodeCacheCapable:bool "
            "managedResources:[]ExtenderManagedResource ignorable:bool"
        ),
        "ResourceSpec": ("name:string weight:int64"),
        "ScoringStrategy": (
            "type:string resources:[]ResourceSpec "
            "requestedToCapacityRatio:RequestedToCapacityRatioParam"
        ),
        "UtilizationShapePoint": ("utilization:int32 score:int32"),
        "Plugins": (
            "preEnqueue:PluginSet queueSort:PluginSet preFilter:PluginSet filter:PluginSet "
            "postFilter:PluginSet preScore:PluginSet score:PluginSet reserve:PluginSet "
            "permit:PluginSet preBind:PluginSet bind:PluginSet postBind:PluginSet "
            "multiPoint:PluginSet"
        ),
        "PluginConfig": ("name:string args:any"),
        "ExtenderTLSConfig": (
            "insecure:bool serverName:string certFile:string keyFile:string caFile:string "
            "certData:bytes keyData:bytes caData:bytes"
        ),
        "ExtenderManagedResource": ("name:string ignoredByScheduler:bool"),
        "RequestedToCapacityRatioParam": ("shape:[]UtilizationShapePoint"),
        "PluginSet": ("enabled:[]Plugin disabled:[]Plugin"),
        "Plugin": ("name:string weight:int32"),
    },
    "v1beta2": {
        "KubeSchedulerConfiguration": (
            "kind:string apiVersion:string parallelism:int32 "
            "leaderElection:LeaderElectionConfiguration "
            "clientConnection:ClientConnectionConfiguration healthzBindAddress:string "
            "metricsBindAddress:string enableProfiling:bool enableContentionProfiling:bool "
            "percentageOfNodesToScore:int32 podInitialBackoffSeconds:int64 "
            "podMaxBackoffSeconds:int64 profiles:[]KubeSchedulerProfile "
            "extenders:[]Extender"
        ),
        "DefaultPreemptionArgs": (
            "kind:string apiVersion:string minCandidateNodesPercentage:int32 "
            "minCandidateNodesAbsolute:int32"
        ),
        "InterPodAffinityArgs": (
            "kind:string apiVersion:string hardPodAffinityWeight:int32 "
            "ignorePreferredTermsOfExistingPods:bool"
        ),
        "NodeAffinityArgs": ("kind:string apiVersion:string addedAffinity:object"),
        "NodeResourcesBalancedAllocationArgs": (
            "kind:string apiVersion:string resources:[]ResourceSpec"
        ),
        "NodeResourcesFitArgs": (
            "kind:string apiVersion:string ignoredResources:[]string "
            "ignoredResourceGroups:[]string scoringStrategy:ScoringStrategy"
        ),
        "PodTopologySpreadArgs": (
            "kind:string apiVersion:string defaultConstraints:[]object defaultingType:string"
        ),
        "VolumeBindingArgs": (
            "kind:string apiVersion:string bindTimeoutSeconds:int64 shape:[]UtilizationShapePoint"
        ),
        "LeaderElectionConfiguration": (
            "leaderElect:bool leaseDuration:duration renewDeadline:duration "
            "retryPeriod:duration resourceLock:string resourceName:string "
            "resourceNamespace:string"
        ),
        "ClientConnectionConfiguration": (
            "kubeconfig:string acceptContentTypes:string contentType:string qps:float32 burst:int32"
        ),
        "KubeSchedulerProfile": (
            "schedulerName:string plugins:Plugins pluginConfig:[]PluginConfig"
        ),
        "Extender": (
            "urlPrefix:string filterVerb:string preemptVerb:string prioritizeVerb:string "
            "weight:int64 bindVerb:string enableHTTPS:bool tlsConfig:ExtenderTLSConfig "
            "httpTimeout:duration nodeCacheCapable:bool "
            "managedResources:[]ExtenderManagedResource ignorable:bool"
        ),
        "ResourceSpec": ("name:string weight:int64"),
        "ScoringStrategy": (
            "type:string resources:[]ResourceSpec "
            "requestedToCapacityRatio:RequestedToCapacityRatioParam"
        ),
        "UtilizationShapePoint": ("utilization:int32 score:int32"),
        "Plugins": (
            "preEnqueue:PluginSet queueSort:PluginSet preFilter:PluginSet filter:PluginSet "
            "postFilter:PluginSet preScore:PluginSet score:PluginSet reserve:PluginSet "
            "permit:PluginSet preBind:PluginSet bind:PluginSet postBind:PluginSet "
            "multiPoint:PluginSet"
        ),
        "PluginConfig": ("name:string args:any"),
        "ExtenderTLSConfig": (
            "insecure:bool serverName:string certFile:string keyFile:string caFile:string "
            "certData:bytes keyData:bytes caData:bytes"
        ),
        "ExtenderManagedResource": ("name:string ignoredByScheduler:bool"),
        "RequestedToCapacityRatioParam": ("shape:[]UtilizationShapePoint"),
        "PluginSet": ("enabled:[]Plugin disabled:[]Plugin"),
        "Plugin": ("name:string weight:int32"),
    },
    "v1beta1": {
        "KubeSchedulerConfiguration": (
            "kind:string apiVersion:string parallelism:int32 "
            "leaderElection:LeaderElectionConfiguration "
            "clientConnection:ClientConnectionConfiguration healthzBindAddress:string "
            "metricsBindAddress:string enableProfiling:bool enableContentionProfiling:bool "
            "percentageOfNodesToScore:int32 podInitialBackoffSeconds:int64 "
            "podMaxBackoffSeconds:int64 profiles:[]KubeSchedulerProfile "
            "extenders:[]Extender"
        ),
        "DefaultPreemptionArgs": (
            "kind:string apiVersion:string minCandidateNodesPercentage:int32 "
            "minCandidateNodesAbsolute:int32"
        ),
        "InterPodAffinityArgs": ("kind:string apiVersion:string hardPodAffinityWeight:int32"),
        "NodeAffinityArgs": ("kind:string apiVersion:string addedAffinity:object"),
        "NodeLabelArgs": (
            "kind:string apiVersion:string presentLabels:[]string absentLabels:[]string "
            "presentLabelsPreference:[]string absentLabelsPreference:[]string"
        ),
        "NodeResourcesBalancedAllocationArgs": (
            "kind:string apiVersion:string resources:[]ResourceSpec"
        ),
        "NodeResourcesFitArgs": (
            "kind:string apiVersion:string ignoredResources:[]string "
            "ignoredResourceGroups:[]string scoringStrategy:ScoringStrategy"
        ),
        "NodeResourcesLeastAllocatedArgs": (
            "kind:string apiVersion:string resources:[]ResourceSpec"
        ),
        "NodeResourcesMostAllocatedArgs": (
            "kind:string apiVersion:string resources:[]ResourceSpec"
        ),
        "PodTopologySpreadArgs": (
            "kind:string apiVersion:string defaultConstraints:[]object defaultingType:string"
        ),
        "RequestedToCapacityRatioArgs": (
            "kind:string apiVersion:string shape:[]UtilizationShapePoint resources:[]ResourceSpec"
        ),
        "ServiceAffinityArgs": (
            "kind:string apiVersion:string affinityLabels:[]string "
            "antiAffinityLabelsPreference:[]string"
        ),
        "VolumeBindingArgs": (
            "kind:string apiVersion:string bindTimeoutSeconds:int64 shape:[]UtilizationShapePoint"
        ),
        "LeaderElectionConfiguration": (
            "leaderElect:bool leaseDuration:duration renewDeadline:duration "
            "retryPeriod:duration resourceLock:string resourceName:string "
            "resourceNamespace:string"
        ),
        "ClientConnectionConfiguration": (
            "kubeconfig:string acceptContentTypes:string contentType:string qps:float32 burst:int32"
        ),
        "KubeSchedulerProfile": (
            "schedulerName:string plugins:Plugins pluginConfig:[]PluginConfig"
        ),
        "Extender": (
            "urlPrefix:string filterVerb:string preemptVerb:string prioritizeVerb:string "
            "weight:int64 bindVerb:string enableHTTPS:bool tlsConfig:ExtenderTLSConfig "
            "httpTimeout:duration nodeCacheCapable:bool "
            "managedResources:[]ExtenderManagedResource ignorable:bool"
        ),
        "ResourceSpec": ("name:string weight:int64"),
        "ScoringStrategy": (
            "type:string resources:[]ResourceSpec "
            "requestedToCapacityRatio:RequestedToCapacityRatioParam"
        ),
        "UtilizationShapePoint": ("utilization:int32 score:int32"),
        "Plugins": (
            "queueSort:PluginSet preFilter:PluginSet filter:PluginSet postFilter:PluginSet "
            "preScore:PluginSet score:PluginSet reserve:PluginSet permit:PluginSet "
            "preBind:PluginSet bind:PluginSet postBind:PluginSet"
        ),
        "PluginConfig": ("name:string args:any"),
        "ExtenderTLSConfig": (
            "insecure:bool serverName:string certFile:string keyFile:string caFile:string "
            "certData:bytes keyData:bytes caData:bytes"
        ),
        "ExtenderManagedResource": ("name:string ignoredByScheduler:bool"),
        "RequestedToCapacityRatioParam": ("shape:[]UtilizationShapePoint"),
        "PluginSet": ("enabled:[]Plugin disabled:[]Plugin"),
        "Plugin": ("name:string weight:int32"),
    },
    "v1alpha2": {
        "KubeSchedulerConfiguration": (
            "kind:string apiVersion:string "
            "leaderElection:KubeSchedulerLeaderElectionConfiguration "
            "clientConnection:ClientConnectionConfiguration healthzBindAddress:string "
            "metricsBindAddress:string enableProfiling:bool enableContentionProfiling:bool "
            "disablePreemption:bool percentageOfNodesToScore:int32 bindTimeoutSeconds:int64 "
            "podInitialBackoffSeconds:int64 podMaxBackoffSeconds:int64 "
            "profiles:[]KubeSchedulerProfile extenders:[]Extender"
        ),
        "KubeSchedulerLeaderElectionConfiguration": (
            "leaderElect:bool leaseDuration:duration renewDeadline:duration "
            "retryPeriod:duration resourceLock:string resourceName:string "
            "resourceNamespace:string"
        ),
        "ClientConnectionConfiguration": (
            "kubeconfig:string acceptContentTypes:string contentType:string qps:float32 burst:int32"
        ),
        "KubeSchedulerProfile": (
            "schedulerName:string plugins:Plugins pluginConfig:[]PluginConfig"
        ),
        "Extender": (
            "urlPrefix:string filterVerb:string preemptVerb:string prioritizeVerb:string "
            "weight:int64 bindVerb:string enableHttps:bool tlsConfig:ExtenderTLSConfig "
            "httpTimeout:nanoseconds nodeCacheCapable:bool "
            "managedResources:[]ExtenderManagedResource ignorable:bool"
        ),
        "Plugins": (
            "queueSort:PluginSet preFilter:PluginSet filter:PluginSet preScore:PluginSet "
            "score:PluginSet reserve:PluginSet permit:PluginSet preBind:PluginSet "
            "bind:PluginSet postBind:PluginSet unreserve:PluginSet"
        ),
        "PluginConfig": ("name:string args:any"),
        "ExtenderTLSConfig": (
            "insecure:bool serverName:string certFile:string keyFile:string caFile:string "
            "certData:bytes keyData:bytes caData:bytes"
        ),
        "ExtenderManagedResource": ("name:string ignoredByScheduler:bool"),
        "PluginSet": ("enabled:[]Plugin disabled:[]Plugin"),
        "Plugin": ("name:string weight:int32"),
    },
    "v1alpha1": {
        "KubeSchedulerConfiguration": (
            "kind:string apiVersion:string schedulerName:string "
            "algorithmSource:SchedulerAlgorithmSource hardPodAffinitySymmetricWeight:int32 "
            "leaderElection:KubeSchedulerLeaderElectionConfiguration "
            "clientConnection:ClientConnectionConfiguration healthzBindAddress:string "
            "metricsBindAddress:string enableProfiling:bool enableContentionProfiling:bool "
            "disablePreemption:bool percentageOfNodesToScore:int32 bindTimeoutSeconds:int64 "
            "podInitialBackoffSeconds:int64 podMaxBackoffSeconds:int64 plugins:Plugins "
            "pluginConfig:[]PluginConfig"
        ),
        "SchedulerAlgorithmSource": ("policy:SchedulerPolicySource provider:string"),
        "KubeSchedulerLeaderElectionConfiguration": (
            "leaderElect:bool leaseDuration:duration renewDeadline:duration "
            "retryPeriod:duration resourceLock:string resourceName:string "
            "resourceNamespace:string lockObjectNamespace:string lockObjectName:string"
        ),
        "ClientConnectionConfiguration": (
            "kubeconfig:string acceptContentTypes:string contentType:string qps:float32 burst:int32"
        ),
        "Plugins": (
            "queueSort:PluginSet preFilter:PluginSet filter:PluginSet postFilter:PluginSet "
            "score:PluginSet reserve:PluginSet permit:PluginSet preBind:PluginSet "
            "bind:PluginSet postBind:PluginSet unreserve:PluginSet"
        ),
        "PluginConfig": ("name:string args:any"),
        "SchedulerPolicySource": (
            "file:SchedulerPolicyFileSource configMap:SchedulerPolicyConfigMapSource"
        ),
        "PluginSet": ("enabled:[]Plugin disabled:[]Plugin"),
        "SchedulerPolicyFileSource": ("path:string"),
        "SchedulerPolicyConfigMapSource": ("namespace:string name:string"),
        "Plugin": ("name:string weight:int32"),
    },
    "Policy": {
        "Policy": (
            "kind:string apiVersion:string predicates:[]PredicatePolicy "
            "priorities:[]PriorityPolicy extenders:[]LegacyExtender "
            "hardPodAffinitySymmetricWeight:int32 alwaysCheckAllPredicates:bool"
        ),
        "PredicatePolicy": ("name:string argument:PredicateArgument"),
        "PriorityPolicy": ("name:string weight:int64 argument:PriorityArgument"),
        "LegacyExtender": (
            "urlPrefix:string filterVerb:string preemptVerb:string prioritizeVerb:string "
            "weight:int64 bindVerb:string enableHttps:bool tlsConfig:ExtenderTLSConfig "
            "httpTimeout:nanoseconds nodeCacheCapable:bool "
            "managedResources:[]ExtenderManagedResource ignorable:bool"
        ),
        "PredicateArgument": ("serviceAffinity:ServiceAffinity labelsPresence:LabelsPresence"),
        "PriorityArgument": (
            "serviceAntiAffinity:ServiceAntiAffinity labelPreference:LabelPreference "
            "requestedToCapacityRatioArguments:RequestedToCapacityRatioArguments"
        ),
        "ExtenderTLSConfig": (
            "insecure:bool serverName:string certFile:string keyFile:string caFile:string "
            "certData:bytes keyData:bytes caData:bytes"
        ),
        "ExtenderManagedResource": ("name:string ignoredByScheduler:bool"),
        "ServiceAffinity": ("labels:[]string"),
        "LabelsPresence": ("labels:[]string presence:bool"),
        "ServiceAntiAffinity": ("label:string"),
        "LabelPreference": ("label:string presence:bool"),
        "RequestedToCapacityRatioArguments": (
            "shape:[]UtilizationShapePoint resources:[]ResourceSpec"
        ),
        "UtilizationShapePoint": ("utilization:int32 score:int32"),
        "ResourceSpec": ("name:string weight:int64"),
    },
}
